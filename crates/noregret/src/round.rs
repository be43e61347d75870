//! THE loop: predict, suffer, slope, enter the ledger, update.
//!
//! The loop is compiled once per learner and value type, so that the feature loops inside `predict`
//! and `update` are concrete. What does not depend on the learner (the loss, the ledger's scalars,
//! the counts) is asked once per row of the [`Judge`].

mod judge;
mod rounds;

pub use judge::Judge;
pub(crate) use rounds::MOST;
pub use rounds::Rounds;

use crate::example::{Features, Row, Rows, Value};
use crate::learner::{Cell, Learner, Mixture, Outcome, OwnBook, Part, Slot, Slots, Theorem};
use crate::loss::Told;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// One round, as the ledger and the counts see it.
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    /// The prediction.
    pub z: f64,
    /// The label.
    pub y: f64,
    /// The weight `c`.
    pub weight: f64,
    /// The loss before the weight.
    pub loss: f64,
    /// The slope before the weight.
    pub slope: f64,
    /// The floor of the loss before the weight.
    pub floor: f64,
    /// `|x|^2`, the bias included; in a round without slope it may be 0 instead, if another row of the
    /// stream is as long.
    pub norm_squared: f64,
    /// `|w_t|^2`, where it is known.
    pub model: Option<f64>,
}

/// Why a row is not learned.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// A number left the range of f64.
    Diverged {
        /// The prediction.
        z: f64,
        /// Its loss.
        loss: f64,
    },
    /// There is no memory for its features.
    NoRoom {
        /// One more than the largest of them.
        end: usize,
    },
}

/// Squares below this may have lost what matters to the ends of f64.
const SMALL: f64 = 1e-280;

/// `|x|^2` as the ledger takes it: a gradient whose square vanishes is not to be taken for none.
#[inline(always)]
pub(crate) fn noticed<V: Value>(norm_squared: f64, slope: f64, x: Features<'_, V>) -> f64 {
    if norm_squared < SMALL && slope != 0.0 { x.small_norm_squared() } else { norm_squared }
}

/// The protocol, for one learner and one run of rows. Of a row that is refused nothing is entered;
/// the number of rows done is returned with the error.
pub fn learn<L: Learner, V: Value>(
    learner: &mut L,
    slots: &mut Slots<L::Slot>,
    rows: Rows<'_, V>,
    judge: &mut Judge<'_>,
) -> Result<(), (usize, Refused)> {
    // Where a loss is flat, its slope is 0 in most rounds of a good model: there the row's rough length comes with the
    // prediction, by the values that are at hand.
    let kink = judge.loss.kink(1.0);
    let flat = !judge.loss.floored() && kink.is_some_and(|kink| kink.left == 0.0 || kink.right == 0.0);
    let done = if L::RESTS && flat {
        play::<L, V, true>(learner, slots, rows, judge)
    } else {
        play::<L, V, false>(learner, slots, rows, judge)
    };
    judge.finish();
    done
}

/// Has memory for a row's features, or says that there is none, before it would be wanted.
#[inline(always)]
fn make_room<T: Slot, V: Value>(slots: &mut Slots<T>, x: Features<'_, V>) -> Result<(), Refused> {
    let end = x.end();
    if slots.room(end) { Ok(()) } else { Err(Refused::NoRoom { end }) }
}

/// The rounds, which may be waiting to be entered when it ends.
#[inline(never)]
fn play<L: Learner, V: Value, const FLAT: bool>(
    learner: &mut L,
    slots: &mut Slots<L::Slot>,
    rows: Rows<'_, V>,
    judge: &mut Judge<'_>,
) -> Result<(), (usize, Refused)> {
    let floored = judge.loss.floored();
    let bias = if slots.bias.is_some() { 1.0 } else { 0.0 };
    // The longest row entered so far, bias apart. A row's own length is wanted where it has a slope (or
    // the loss a floor of its own, whose rounding is measured by it) or is longer.
    let mut longest = 0.0;
    for k in 0..rows.len() {
        let row = rows.row(k);
        make_room(slots, row.x).map_err(|refused| (k, refused))?;
        let next = if L::FETCHES && k + 1 < rows.len() { rows.row(k + 1).x.indices } else { &[] };
        // Else most rounds have a slope, and the length is wanted.
        let (z, rough, length) = if FLAT {
            slots.fetch(next);
            let (z, rough) = learner.foresee_roughly(slots, row.x);
            (z, rough, None)
        } else {
            let (z, length) = learner.foresee_and_norm(slots, row.x, next);
            (z, f64::INFINITY, Some(length))
        };
        let Told { value: loss, slope } = judge.begun(z, row.y);
        if FLAT && slope == 0.0 && loss == 0.0 && V::surely_at_most(rough, row.x.values.len(), longest) {
            judge
                .enter_quiet(z, row.y, row.weight, learner.norm_squared())
                .map_err(|refused| (k, refused))?;
            if row.weight > 0.0 {
                let Row { y, weight, .. } = row;
                let outcome = Outcome { z, now: z, y, weight, slope: 0.0, norm_squared: 0.0 };
                learner.update(slots, row.x, &outcome);
            }
            continue;
        }
        let floor = judge.floor(floored, row.y);
        let norm_squared = length.unwrap_or_else(|| row.x.norm_squared());
        if row.weight > 0.0 && norm_squared > longest {
            longest = norm_squared;
        }
        let norm_squared = norm_squared + bias;
        let model = learner.norm_squared();
        let Row { y, weight, .. } = row;
        let entered = noticed(norm_squared, slope, row.x);
        judge
            .enter(Entered { z, y, weight, loss, slope, floor, norm_squared: entered, model })
            .map_err(|refused| (k, refused))?;
        if weight > 0.0 {
            learner.update(
                slots,
                row.x,
                &Outcome { z, now: z, y, weight, slope: weight * slope, norm_squared },
            );
        }
    }
    Ok(())
}

/// A round whose label came late: what was predicted when the model was another, and what is known now.
#[derive(Clone, Copy, Debug)]
pub struct Late<'a, V> {
    /// The features.
    pub x: Features<'a, V>,
    /// What was predicted.
    pub z: f64,
    /// The label as the loss takes it.
    pub y: f64,
    /// The importance weight `c`.
    pub weight: f64,
}

/// The protocol for a label that came late: the loss and the ledger take the number that was predicted
/// (any number has a ledger), the update applies the slope there to the current iterate.
pub fn learn_late<L: Learner, V: Value>(
    learner: &mut L,
    slots: &mut Slots<L::Slot>,
    round: Late<'_, V>,
    judge: &mut Judge<'_>,
) -> Result<(), Refused> {
    let Late { x, z, y, weight } = round;
    make_room(slots, x)?;
    let now = learner.foresee(slots, x);
    let Told { value: loss, slope } = judge.begun(z, y);
    let floor = judge.loss.floor(y);
    let norm_squared = x.norm_squared() + if slots.bias.is_some() { 1.0 } else { 0.0 };
    let model = learner.norm_squared();
    let entered = noticed(norm_squared, slope, x);
    judge.enter(Entered { z, y, weight, loss, slope, floor, norm_squared: entered, model })?;
    judge.finish();
    if weight > 0.0 {
        learner.update(slots, x, &Outcome { z, now, y, weight, slope: weight * slope, norm_squared });
    }
    Ok(())
}

/// A vector over the features, and the bias apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector {
    /// By feature index.
    pub features: Vec<f64>,
    /// The constant feature's coordinate, if there is one.
    pub bias: Option<f64>,
}

impl Vector {
    /// All coordinates: the features in order, then the bias.
    pub fn iter(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.features.iter().copied().chain(self.bias)
    }

    /// How many coordinates there are.
    pub fn len(&self) -> usize {
        self.features.len() + usize::from(self.bias.is_some())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `<self, x>`; features beyond the vector count as 0.
    pub fn dot<V: Value>(&self, x: Features<'_, V>) -> f64 {
        let sum: f64 = x.iter().map(|(i, v)| self.features.get(i).map_or(0.0, |w| w * v)).sum();
        sum + self.bias.unwrap_or(0.0)
    }

    /// The Euclidean norm.
    pub fn norm(&self) -> f64 {
        norm(self)
    }

    /// Adds another, growing as needed.
    pub fn add(&mut self, other: &Vector, factor: f64) {
        if other.features.len() > self.features.len() {
            self.features.resize(other.features.len(), 0.0);
        }
        for (a, b) in self.features.iter_mut().zip(&other.features) {
            *a += factor * b;
        }
        if let Some(b) = other.bias {
            *self.bias.get_or_insert(0.0) += factor * b;
        }
    }
}

/// Numbers that can be gone through without being brought together: a table of features may be large.
pub trait Numbers {
    /// Hands over all of them in their order, some at a time.
    fn each(&self, take: &mut dyn FnMut(&[f64]));
}

impl Numbers for Vector {
    fn each(&self, take: &mut dyn FnMut(&[f64])) {
        take(&self.features);
        take(self.bias.as_slice());
    }
}

impl Numbers for [f64] {
    fn each(&self, take: &mut dyn FnMut(&[f64])) {
        take(self);
    }
}

impl<F: Fn(&mut dyn FnMut(&[f64]))> Numbers for F {
    fn each(&self, take: &mut dyn FnMut(&[f64])) {
        self(take);
    }
}

/// The Euclidean norm.
pub fn norm(numbers: &(impl Numbers + ?Sized)) -> f64 {
    let mut squares = 0.0;
    numbers.each(&mut |some| some.iter().for_each(|x| squares += x * x));
    squares.sqrt()
}

/// A learner's state, ready for a model file.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The scalars, as the learner serialises itself.
    pub scalars: serde_json::Value,
    /// Per-feature numbers by field name, `s` for the ledger's.
    pub fields: Vec<(String, Vector)>,
    /// What the learner keeps beside.
    pub arrays: Vec<(String, Vec<f64>)>,
}

/// A learner with its slots, behind one pointer: called once per block, never per feature.
pub trait Machine: Any + Send + Sync {
    /// Learns rows of f32 values.
    fn learn_f32(&mut self, rows: Rows<'_, f32>, judge: &mut Judge<'_>) -> Result<(), (usize, Refused)>;
    /// Learns rows of f64 values.
    fn learn_f64(&mut self, rows: Rows<'_, f64>, judge: &mut Judge<'_>) -> Result<(), (usize, Refused)>;
    /// Learns a row whose label came late.
    fn learn_late(&mut self, round: Late<'_, f64>, judge: &mut Judge<'_>) -> Result<(), Refused>;
    /// Predicts one row of f32 values.
    fn predict_f32(&self, x: Features<'_, f32>) -> f64;
    /// Predicts one row of f64 values.
    fn predict_f64(&self, x: Features<'_, f64>) -> f64;
    /// The current iterate.
    fn weights(&self) -> Vector;
    /// The same, see [`Numbers::each`].
    fn each_weight(&self, take: &mut dyn FnMut(&[f64]));
    /// See [`Learner::is_linear`].
    fn is_linear(&self) -> bool;
    /// See [`Learner::largest_dimension`].
    fn largest_dimension(&self) -> Option<u32>;
    /// The averaged iterate, where it is kept.
    fn averaged(&self) -> Option<Vector>;
    /// The ledger's `S`.
    fn s(&self) -> Vector;
    /// The same, see [`Numbers::each`].
    fn each_s(&self, take: &mut dyn FnMut(&[f64]));
    /// See [`Learner::own_ledgers`].
    fn own_ledgers(&self) -> Vec<(OwnBook, Vector)>;
    /// See [`Learner::mixture`].
    fn mixture(&self) -> Option<Mixture>;
    /// One more than the largest feature index seen.
    fn dimension(&self) -> usize;
    /// See [`Learner::norm_squared`].
    fn norm_squared(&self) -> Option<f64>;
    /// See [`Learner::ball`].
    fn ball(&self, longest: f64) -> Option<f64>;
    /// See [`Learner::theorem`].
    fn theorem(&self) -> Theorem;
    /// For a model file.
    fn save(&self) -> Saved;
    /// From a model file; an error says what does not fit.
    fn restore(&mut self, saved: Saved) -> Result<(), String>;
    /// Becomes what its twin has become by learning rows of these features. `false` if it cannot; then nothing has changed.
    fn catch_up(&mut self, twin: &dyn Machine, features: &[u32]) -> bool;
    /// See [`Learner::AVERAGES`].
    fn averages(&self) -> bool;
    /// Becomes the average of several, each with its share; an error says why it cannot.
    fn average(&mut self, parts: Vec<(f64, Saved)>) -> Result<(), String>;
}

struct Boxed<L: Learner> {
    learner: L,
    slots: Slots<L::Slot>,
}

/// Puts a learner and empty slots behind one pointer.
pub fn boxed<L: Learner>(learner: L, bias: bool) -> Box<dyn Machine> {
    Box::new(Boxed { learner, slots: Slots::new(bias) })
}

impl<L: Learner> Machine for Boxed<L> {
    fn learn_f32(&mut self, rows: Rows<'_, f32>, judge: &mut Judge<'_>) -> Result<(), (usize, Refused)> {
        learn(&mut self.learner, &mut self.slots, rows, judge)
    }

    fn learn_f64(&mut self, rows: Rows<'_, f64>, judge: &mut Judge<'_>) -> Result<(), (usize, Refused)> {
        learn(&mut self.learner, &mut self.slots, rows, judge)
    }

    fn learn_late(&mut self, round: Late<'_, f64>, judge: &mut Judge<'_>) -> Result<(), Refused> {
        learn_late(&mut self.learner, &mut self.slots, round, judge)
    }

    fn predict_f32(&self, x: Features<'_, f32>) -> f64 {
        self.learner.predict(&self.slots, x)
    }

    fn predict_f64(&self, x: Features<'_, f64>) -> f64 {
        self.learner.predict(&self.slots, x)
    }

    fn weights(&self) -> Vector {
        self.slots.vector(|c| self.learner.weight(c))
    }

    fn each_weight(&self, take: &mut dyn FnMut(&[f64])) {
        self.slots.each(|c| self.learner.weight(c), take);
    }

    fn is_linear(&self) -> bool {
        self.learner.is_linear()
    }

    fn largest_dimension(&self) -> Option<u32> {
        self.learner.largest_dimension()
    }

    fn averaged(&self) -> Option<Vector> {
        let probe = Cell::default();
        self.learner.average(&probe)?;
        Some(self.slots.vector(|c| self.learner.average(c).unwrap_or(0.0)))
    }

    fn s(&self) -> Vector {
        self.slots.vector(|c| c.s)
    }

    fn each_s(&self, take: &mut dyn FnMut(&[f64])) {
        self.slots.each(|c| c.s, take);
    }

    fn own_ledgers(&self) -> Vec<(OwnBook, Vector)> {
        self.learner.own_ledgers(&self.slots)
    }

    fn mixture(&self) -> Option<Mixture> {
        self.learner.mixture()
    }

    fn dimension(&self) -> usize {
        self.slots.cells.len()
    }

    fn norm_squared(&self) -> Option<f64> {
        self.learner.norm_squared()
    }

    fn ball(&self, longest: f64) -> Option<f64> {
        self.learner.ball(longest)
    }

    fn theorem(&self) -> Theorem {
        self.learner.theorem()
    }

    fn save(&self) -> Saved {
        let mut fields: Vec<(String, Vector)> = <L::Slot as Slot>::FIELDS
            .iter()
            .enumerate()
            .map(|(k, name)| ((*name).to_owned(), self.slots.vector(|c| c.state.get(k))))
            .collect();
        fields.push(("s".to_owned(), self.s()));
        Saved {
            scalars: serde_json::to_value(&self.learner).unwrap_or_default(),
            fields,
            arrays: self.learner.arrays().into_iter().map(|(n, a)| (n.to_owned(), a)).collect(),
        }
    }

    fn restore(&mut self, saved: Saved) -> Result<(), String> {
        let (learner, slots) = self.read(saved)?;
        let built = std::mem::replace(&mut self.learner, learner);
        self.learner.take_over(built);
        self.slots = slots;
        Ok(())
    }

    fn catch_up(&mut self, twin: &dyn Machine, features: &[u32]) -> bool {
        let twin: &dyn Any = twin;
        let Some(twin) = twin.downcast_ref::<Self>() else { return false };
        let done = self.learner.catch_up(&twin.learner, features);
        if done {
            self.slots.catch_up(&twin.slots, features);
            self.slots.catch_up(&twin.slots, self.learner.moves_together());
        }
        done
    }

    fn averages(&self) -> bool {
        L::AVERAGES
    }

    fn average(&mut self, parts: Vec<(f64, Saved)>) -> Result<(), String> {
        let mut read = Vec::new();
        for (share, saved) in parts {
            let (learner, slots) = self.read(saved)?;
            read.push(Part { share, learner, slots });
        }
        let mut slots = Slots::new(self.slots.bias.is_some());
        self.learner = L::average_of(&read, &mut slots).ok_or("such learners cannot be averaged")?;
        self.slots = slots;
        Ok(())
    }
}

impl<L: Learner> Boxed<L> {
    /// The scalars and slots of a model file.
    fn read(&self, saved: Saved) -> Result<(L, Slots<L::Slot>), String> {
        let mut learner: L =
            serde_json::from_value(saved.scalars).map_err(|e| format!("the learner's state: {e}"))?;
        if !learner.set_arrays(&saved.arrays) {
            return Err("the learner's arrays have the wrong names or lengths".to_owned());
        }
        let names = <L::Slot as Slot>::FIELDS;
        let expected = names.iter().copied().chain(["s"]);
        if !saved.fields.iter().map(|(n, _)| n.as_str()).eq(expected) {
            return Err("the per-feature fields are not this learner's".to_owned());
        }
        let bias = self.slots.bias.is_some();
        let d = saved.fields[0].1.features.len();
        if saved.fields.iter().any(|(_, v)| v.features.len() != d || v.bias.is_some() != bias) {
            return Err("the per-feature fields have different lengths".to_owned());
        }
        let mut slots: Slots<L::Slot> = Slots::new(bias);
        slots.grow(d);
        for (k, (_, vector)) in saved.fields.iter().enumerate() {
            let values = vector.features.iter().chain(&vector.bias);
            for (cell, &value) in slots.iter_mut().zip(values) {
                if k < names.len() {
                    cell.state.set(k, value);
                } else {
                    cell.s = value;
                }
            }
        }
        Ok((learner, slots))
    }
}
