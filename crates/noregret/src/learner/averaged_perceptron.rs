//! The averaged Perceptron: learns as the Perceptron does, predicts with the average of its vectors, each
//! counted as often as it survived.
//!
//! ```text
//! z = <average, x>
//! if y <v, x> <= 0:  v <- v + c y x
//! average = sum over rounds of c v / sum of c          v as it stood after each round
//! ```
//!
//! Which of the two predicts in the rounds? The average: it is what is saved and used afterwards, so the
//! losses, the mistakes and the certificate of the run are those of the model one gets. The Perceptron
//! inside makes its own mistakes, and they alone move it; they are those of `--learner perceptron`.
//!
//! State: `v`, and what the average needs. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/inner_perceptron.rs`. Source: Freund, Schapire 1999 ("average");
//! Collins 2002.

use super::slots::{Cell, KeptMean, Slots, Weight};
use super::state::Survivors;
use super::{Entry, Learner, Losses, Outcome, Theorem};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "averaged-perceptron",
    summary: "a perceptron that predicts with the average of its vectors",
    update: "z = <average, x>; if y <v,x> <= 0: v <- v + c y x; average = sum c v/sum c",
    paper: "Freund, Schapire 1999; Collins 2002",
    bound: "inner-perceptron",
    bytes_per_feature: (24, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[],
    build: |setup| {
        if setup.average {
            return Err(UsageError::new(
                "`averaged-perceptron` predicts with its average as it is: leave --average out",
            ));
        }
        Ok(boxed(AveragedPerceptron { survivors: Survivors::default(), mistakes: 0.0 }, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct AveragedPerceptron {
    survivors: Survivors,
    /// Sum of the weights of the rounds in which the Perceptron inside erred.
    mistakes: f64,
}

impl Learner for AveragedPerceptron {
    type Slot = Weight<KeptMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| self.survivors.average(c))
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        let mistake = o.y * slots.dot(x, |c| c.state.v) <= 0.0;
        if mistake {
            self.mistakes += o.weight;
        }
        self.survivors.round(slots, x, o, mistake);
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        self.survivors.average(cell)
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("inner-perceptron", &[("M_inner", self.mistakes)])
    }
}
