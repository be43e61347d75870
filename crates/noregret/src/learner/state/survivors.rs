//! The average of a perceptron's vectors, each counted as often as it survived.
//!
//! With `C` the weight of the rounds so far, `v` the current vector and `b += C dv` at every change,
//! the sum of the vectors that stood after each round is `C v - b`.

use super::super::Outcome;
use super::super::slots::{Cell, KeptMean, Mean, Slots, Weight};
use crate::example::{Features, Value};
use serde::{Deserialize, Serialize};

/// See above.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Survivors {
    /// `C`.
    total: f64,
}

impl Survivors {
    /// `C`.
    pub(in super::super) fn total(&self) -> f64 {
        self.total
    }

    /// The average at one coordinate; 0 before the first round.
    #[inline(always)]
    pub(in super::super) fn average(&self, cell: &Cell<Weight<KeptMean>>) -> f64 {
        if self.total > 0.0 { cell.state.v - cell.state.mean.get() / self.total } else { 0.0 }
    }

    /// Ends a round: the slope enters the ledger, the vector moves by `c y x` on a mistake, and the
    /// vector that now stands has survived `c` rounds more.
    pub(in super::super) fn round<V: Value>(
        &mut self,
        slots: &mut Slots<Weight<KeptMean>>,
        x: Features<'_, V>,
        o: &Outcome,
        mistake: bool,
    ) {
        if mistake || o.slope != 0.0 {
            let (step, total) = (if mistake { o.weight * o.y } else { 0.0 }, self.total);
            slots.enter(x, o.slope, |cell, xi| {
                let change = step * xi;
                cell.state.v += change;
                cell.state.mean.add(total * change);
            });
        }
        self.total += o.weight;
    }
}
