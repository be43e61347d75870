//! Maximum stability, online: keeps the newest rows and in every round learns the one of them that is
//! served worst, not the one that just came.
//!
//! ```text
//! store (x, c y); if there are more than the budget, forget the oldest
//! j = the stored row of least y_j <w, x_j>      (the oldest of equals)
//! if y_j <w, x_j> < kappa:  w <- w + c_j y_j x_j
//! ```
//!
//! In the batch, repeated until every row has stability `kappa`, this is the rule of Krauth and Mezard
//! (minimal overlap), whose direction tends to that of the largest margin as `kappa` grows. Deviation: a
//! stream is not stored, so the least is sought among the newest `--budget` rows, one step a round.
//!
//! State: `w`, and at most `--budget` rows, 12 bytes a nonzero in memory and 16 in files. Cost: every round
//! reads all of them; a prediction O(nonzeros).
//!
//! Theorem: `regret/bound/maxover.rs`. Source: Krauth, Mezard 1987; Wendemuth 1995 for data
//! that cannot be separated, whose unlearning is not taken over.

use super::slots::{Cell, NoMean, Slots, Weight};
use super::state::{Store, add};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "maxover",
    summary: "keeps the newest --budget rows and learns, in every round, the one that is served worst",
    update: "j = argmin y_j <w,x_j> over the stored rows; if that is < kappa: w <- w + c_j y_j x_j",
    paper: "Krauth, Mezard 1987",
    bound: "maxover",
    bytes_per_feature: (16, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "budget",
            kind: Kind::Count,
            default: Some("100"),
            meaning: "the most rows that are kept; the oldest is forgotten first",
        },
        Parameter {
            name: "kappa",
            kind: Kind::Positive,
            default: Some("1"),
            meaning: "the stability y <w,x> below which a row is learned",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let number = |name| setup.parameters.number(ENTRY.parameters, name).unwrap_or(1.0);
        let learner = MaxOver {
            budget: number("budget") as u64,
            kappa: number("kappa"),
            updates: 0,
            weighted: false,
            store: Store::default(),
        };
        Ok(boxed(learner, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct MaxOver {
    budget: u64,
    kappa: f64,
    /// How often `w` moved.
    updates: u64,
    /// Whether a row had an importance other than 1.
    weighted: bool,
    /// The newest rows, each with `c y`.
    #[serde(skip)]
    store: Store,
}

impl Learner for MaxOver {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        slots.enter_briefly(x, o.slope, |_, _| {});
        self.weighted |= o.weight != 1.0;
        self.store.push(x, o.weight * o.y);
        while self.store.len() as u64 > self.budget {
            self.store.drop_oldest();
        }
        let mut least = (self.kappa, None);
        for (row, factor) in self.store.iter() {
            let stability = factor.signum() * slots.dot(row, |c| c.state.v);
            if stability < least.0 {
                least = (stability, Some((row, factor)));
            }
        }
        if let Some((row, factor)) = least.1 {
            self.updates += 1;
            add(slots, row, factor);
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new("maxover", &[("kappa", self.kappa), ("updates", self.updates as f64)]);
        if self.weighted { theorem.unmet("importance weights other than 1") } else { theorem }
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.store.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.store.set_arrays(arrays)
    }
}
