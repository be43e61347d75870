//! Learners: one file per algorithm, and the registry of them.
//!
//! To add one: a file with a type that implements [`Learner`] and a `pub(super) static ENTRY`, its
//! `mod` line, and its line in [`ENTRIES`].

mod iterate;
mod part;
mod slots;
mod state;
mod theorem;

mod adagrad;
mod auto;
mod exponentiated;
mod follow_the_leader;
mod ftrl;
mod ogd;
mod perceptron;
mod projected_ogd;
mod ridge;
mod strongly_convex_ogd;
mod subgradient;

mod alma;
mod arow;
mod averaged_perceptron;
mod coin;
mod freegrad;
mod ftrl_proximal;
mod kernel_perceptron;
mod maxover;
mod newton;
mod normalized;
mod passive_aggressive;
mod rda;
mod scale_free;
mod second_order_perceptron;
mod truncated_gradient;
mod vaw;
mod voted_perceptron;
mod winnow;

pub use auto::{Member, Mixture, Moment};
pub use part::Part;
pub use slots::{Cell, Line, Slot, Slots};
pub use theorem::{Constants, Theorem};

use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::loss::Loss;
use crate::parameter::{Parameter, Parameters};
use crate::round::{Machine, Vector};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::borrow::Cow;

/// Every learner.
pub static ENTRIES: &[&Entry] = &[
    &auto::ENTRY,
    &perceptron::ENTRY,
    &ogd::ENTRY,
    &projected_ogd::ENTRY,
    &subgradient::ENTRY,
    &strongly_convex_ogd::ENTRY,
    &follow_the_leader::ENTRY,
    &ftrl::ENTRY,
    &ridge::ENTRY,
    &exponentiated::ENTRY,
    &adagrad::ENTRY,
    &ftrl_proximal::ENTRY,
    &rda::ENTRY,
    &truncated_gradient::ENTRY,
    &scale_free::ENTRY,
    &normalized::ENTRY,
    &coin::ENTRY,
    &freegrad::ENTRY,
    &passive_aggressive::ENTRY,
    &alma::ENTRY,
    &averaged_perceptron::ENTRY,
    &voted_perceptron::ENTRY,
    &kernel_perceptron::ENTRY,
    &maxover::ENTRY,
    &winnow::ENTRY,
    &second_order_perceptron::ENTRY,
    &arow::ENTRY,
    &newton::ENTRY,
    &vaw::ENTRY,
];

/// What happened in a round, told to the learner after it has predicted.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What was predicted.
    pub z: f64,
    /// What the current iterate predicts: `z`, unless the label came so late that the model has moved on.
    pub now: f64,
    /// The label.
    pub y: f64,
    /// The importance weight `c`, greater than 0.
    pub weight: f64,
    /// `c loss'(z, y)`: the gradient in `w` is `slope x`.
    pub slope: f64,
    /// `|x|^2`, the bias included; in a round without slope 0 may stand here for a learner that
    /// [rests](Learner::RESTS).
    pub norm_squared: f64,
}

/// An algorithm. Its scalars are the type itself (serialised into model files), its per-feature
/// state is in the slots.
pub trait Learner: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Per-feature state.
    type Slot: Slot;

    /// Whether a round without slope asks nothing of [`Outcome::norm_squared`], so that it need not be
    /// computed.
    const RESTS: bool = false;

    /// Whether the next row's slots are asked for before this one is learned: large ones had better be on their way by then.
    const FETCHES: bool = size_of::<Cell<Self::Slot>>() > 32;

    /// `<w, x>` for the current iterate. Asking never changes the model.
    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64;

    /// The same number, asked in the course of a round: what was found on the way may be kept for the
    /// update of the same row, which follows unless the row has no weight.
    fn foresee<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.predict(slots, x)
    }

    /// The same number, and the sum of squares that [`Value::surely_at_most`] judges.
    fn foresee_roughly<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> (f64, f64) {
        (self.foresee(slots, x), x.rough_squares())
    }

    /// The same number, and the row's squared norm. Told of the next row's features, where it [fetches](Learner::FETCHES).
    #[inline(always)]
    fn foresee_and_norm<V: Value>(
        &mut self,
        slots: &Slots<Self::Slot>,
        x: Features<'_, V>,
        next: &[u32],
    ) -> (f64, f64) {
        slots.fetch(next);
        (self.foresee(slots, x), x.norm_squared())
    }

    /// Moves to the next iterate. Must bring `outcome.slope * x` into the ledger by one call of
    /// [`Slots::enter`] whenever the slope is not 0.
    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, outcome: &Outcome);

    /// The current weight of a feature. Where predictions are not `<w, x>` (see
    /// [`Learner::is_linear`]) it is that of a linear model that stands for the learner.
    fn weight(&self, cell: &Cell<Self::Slot>) -> f64;

    /// Whether a prediction is `<w, x>` with the weights of [`Learner::weight`].
    fn is_linear(&self) -> bool {
        true
    }

    /// The most features it can hold as it was set up, when that is less than its entry says.
    fn largest_dimension(&self) -> Option<u32> {
        None
    }

    /// The average of the iterates predicted with so far, where it is kept.
    fn average(&self, _cell: &Cell<Self::Slot>) -> Option<f64> {
        None
    }

    /// A number that `|w|^2` does not exceed and hardly differs from, where it is known in O(1).
    fn norm_squared(&self) -> Option<f64> {
        None
    }

    /// A radius, fixed before the first round, that no iterate ever exceeds. `longest` is a length
    /// that no row exceeds (given or assumed).
    fn ball(&self, longest: f64) -> Option<f64> {
        let _ = longest;
        None
    }

    /// The theorem that speaks of this run.
    fn theorem(&self) -> Theorem;

    /// Ledgers besides the one in [`Cell::s`] that the learner keeps in its own state: their scalars and their
    /// vectors.
    fn own_ledgers(&self, _slots: &Slots<Self::Slot>) -> Vec<(OwnBook, Vector)> {
        Vec::new()
    }

    /// How the members of a mixture stand.
    fn mixture(&self) -> Option<Mixture> {
        None
    }

    /// State that is neither scalar nor per feature, for model files.
    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }

    /// Takes back what [`Learner::arrays`] gave. `false` if it does not fit.
    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        arrays.is_empty()
    }

    /// Whether learners of this kind that began alike can be averaged.
    const AVERAGES: bool = false;

    /// The average of learners that began alike, into empty slots: the weights are the average of theirs, and what
    /// `S` is matters only where it is the state.
    fn average_of(_parts: &[Part<Self>], _slots: &mut Slots<Self::Slot>) -> Option<Self> {
        None
    }

    /// Becomes what its twin has become by learning rows of these features, the cells apart. `false` from a learner that
    /// does not tell, or that changes cells of other features in a round; then nothing has changed.
    fn catch_up(&mut self, _twin: &Self, _features: &[u32]) -> bool {
        false
    }

    /// Features whose cells any round may change, in a learner that catches up.
    fn moves_together(&self) -> &[u32] {
        &[]
    }

    /// Takes what its own file does not hold from the learner that was built from the settings.
    fn take_over(&mut self, _built: Self) {}
}

/// The scalars of a ledger that a learner keeps besides: any numbers predicted in (some of) the same
/// rounds have one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnBook {
    /// Whose it is.
    pub name: Cow<'static, str>,
    /// `K`, a plain sum.
    pub k: f64,
    /// Sum of `|f_t| + |alpha_t z_t|`; none where the first ledger's is no smaller.
    pub magnitude: Option<f64>,
    /// Sum of `|alpha_t| |x_t|`; none where the first ledger's is no smaller.
    pub reach: Option<f64>,
}

/// What a learner is made from.
pub struct Setup<'a> {
    /// The loss it will suffer.
    pub loss: &'a dyn Loss,
    /// What it was made with.
    pub loss_parameters: &'a Parameters,
    /// `Y`: the user's promise that no label is larger.
    pub label_bound: Option<f64>,
    /// `U`: given, or the entry's default.
    pub radius: Option<f64>,
    /// `sigma` of `--l2`.
    pub l2: Option<f64>,
    /// The comparators are the scaled simplex, so the iterates should be too.
    pub simplex: bool,
    /// `X`: the user's promise that no row is longer.
    pub row_bound: Option<f64>,
    /// `--dimension`, or `2^bits`.
    pub dimension: Option<u32>,
    /// Whether there is a constant feature.
    pub bias: bool,
    /// Whether to keep the averaged iterate.
    pub average: bool,
    /// The learner's own parameters.
    pub parameters: &'a Parameters,
}

/// Which losses a learner can suffer.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Losses {
    /// Any in the registry.
    All,
    /// These; the first is the default.
    Only(&'static [&'static str]),
}

/// A learner in the registry.
#[derive(Serialize)]
pub struct Entry {
    /// The name after `--learner`.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// The update in plain text.
    pub update: &'static str,
    /// Where it is from, with the number of the algorithm.
    pub paper: &'static str,
    /// The name of its bound.
    pub bound: &'static str,
    /// Bytes of state per feature, the ledger's included; a second number with `--average`.
    pub bytes_per_feature: (usize, Option<usize>),
    /// Losses it can suffer.
    pub losses: Losses,
    /// `U` when none is given; `None` for a learner without a ball.
    pub default_radius: Option<f64>,
    /// The comparator when none is given.
    pub default_comparator: &'static str,
    /// Whether it minimises the loss with the penalty of `--l2`.
    pub penalised: bool,
    /// The most features it can hold, when that is less than anybody's.
    pub largest_dimension: Option<u32>,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes it.
    #[serde(skip)]
    pub build: fn(&Setup<'_>) -> Result<Box<dyn Machine>, UsageError>,
}

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES.iter().copied().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
        UsageError(format!("there is no learner `{name}`; the learners are {}", names.join(", ")))
    })
}

/// For entries that keep no average.
fn refuse_average(entry: &Entry, setup: &Setup<'_>) -> Result<(), UsageError> {
    if setup.average {
        return Err(UsageError(format!(
            "`{}` keeps no averaged iterate; leave --average out, or choose another learner \
             (see `noregret learners`)",
            entry.name
        )));
    }
    Ok(())
}

/// A required parameter.
fn required(entry: &Entry, setup: &Setup<'_>, name: &str) -> Result<f64, UsageError> {
    setup
        .parameters
        .number(entry.parameters, name)
        .ok_or_else(|| UsageError(format!("learner `{}` needs --{name}", entry.name)))
}

/// `sum of term(cell_i, x_i)`, the bias included, for weights that depend on the value they meet. A
/// feature never seen comes with an empty cell.
#[inline(always)]
fn sum_over<T: Slot, V: Value>(
    slots: &Slots<T>,
    x: Features<'_, V>,
    mut term: impl FnMut(&Cell<T>, f64) -> f64,
) -> f64 {
    let empty = Cell::default();
    let mut sum = slots.bias.as_ref().map_or(0.0, |cell| term(cell, 1.0));
    for (i, v) in x.iter() {
        sum += term(slots.cells.get(i).unwrap_or(&empty), v);
    }
    sum
}
