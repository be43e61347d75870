//! Balanced Winnow: two positive weights a feature, multiplied on a mistake; the model is their
//! difference. For many features of which few matter.
//!
//! ```text
//! w_i = a_i - b_i                              a_i = b_i = 1 at first
//! if y z <= 0:  a_i <- a_i exp(eta c y x_i)
//!               b_i <- b_i exp(-eta c y x_i)
//! ```
//!
//! With `v` the sum of `c y x` over the mistakes, `a_i = exp(eta v_i)` and `b_i = exp(-eta v_i)`, so that
//! `w_i = 2 sinh(eta v_i)` and one number a feature is kept. For features 0 or 1 this is the paper's
//! promotion by `exp(eta)` and demotion by `exp(-eta)`; a bias takes the threshold's place.
//! `exponentiated` (EG+-) is the same with every gradient instead of the mistakes, and normalised.
//!
//! Deviation: exponents end at 300, because f64 does; `|w_i|` stays below 1e131.
//!
//! State: `v_i`. Cost: O(nonzeros) a round, with an `exp` a feature. As for `perceptron`, the mistake rounds
//! are a hinge ledger of their own, whose vector is `-v`.
//!
//! Theorem: `regret/bound/winnow.rs`. Source: Littlestone 1988; Dagan, Karov, Roth 1997
//! (balanced); real-valued features as in Littlestone 1989.

use super::slots::{Cell, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, OwnBook, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::{Vector, boxed};
use serde::{Deserialize, Serialize};

/// Where exponents end.
const HIGHEST: f64 = 300.0;

pub(super) static ENTRY: Entry = Entry {
    name: "winnow",
    summary: "balanced Winnow: weights that are multiplied on a mistake, for many features of which few matter",
    update: "if y z <= 0: v <- v + c y x; w_i = exp(eta v_i) - exp(-eta v_i)",
    paper: "Littlestone 1988; Dagan, Karov, Roth 1997, balanced Winnow",
    bound: "winnow",
    bytes_per_feature: (16, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l1",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "eta",
        kind: Kind::Positive,
        default: Some("0.1"),
        meaning: "the logarithm of the factor of promotion, for a value of 1",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let eta = setup.parameters.number(ENTRY.parameters, "eta").unwrap_or(0.1);
        let hinge = setup.loss.entry().name == "hinge";
        Ok(boxed(Winnow { eta, mistakes: 0.0, squares: 0.0, hinge }, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct Winnow {
    eta: f64,
    /// Sum of the weights of the mistake rounds.
    mistakes: f64,
    /// Sum of `(c |x|_inf)^2` over them.
    squares: f64,
    /// Whether the slopes in the ledger are the hinge loss's.
    hinge: bool,
}

impl Learner for Winnow {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| self.weight(c))
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        // A mistake has a nonzero slope under both losses.
        let mistake = o.y * o.z <= 0.0;
        let step = if mistake { o.weight * o.y } else { 0.0 };
        let mut longest = 0.0_f64;
        slots.enter(x, o.slope, |cell, xi| {
            cell.state.v += step * xi;
            longest = longest.max(xi.abs());
        });
        if mistake {
            self.mistakes += o.weight;
            self.squares += (o.weight * longest) * (o.weight * longest);
        }
    }

    #[inline(always)]
    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        2.0 * (self.eta * cell.state.v).clamp(-HIGHEST, HIGHEST).sinh()
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("winnow", &[("eta", self.eta), ("M", self.mistakes), ("sum_x2_mistakes", self.squares)])
    }

    fn own_ledgers(&self, slots: &Slots<Self::Slot>) -> Vec<(OwnBook, Vector)> {
        let book = OwnBook { name: "mistakes".into(), k: self.mistakes, magnitude: None, reach: None };
        if self.hinge { vec![(book, slots.vector(|c| -c.state.v))] } else { Vec::new() }
    }
}
