//! The voted Perceptron: every vector the Perceptron ever was has as many votes as rounds it survived.
//!
//! ```text
//! z = sum of c_i sign(<v_i, x>) / sum of c_i          in -1..1; sign(0) = 0
//! if y <v_k, x> <= 0:  v_{k+1} = v_k + c y x, c_{k+1} = c,   else c_k += c
//! ```
//!
//! `z` is the margin of the vote, in the rounds and afterwards; the mistakes that move the Perceptron are
//! those of its last vector `v_k`. The vote is not linear in `x`: the weights shown are those of the
//! averaged Perceptron, `sum c_i v_i / sum c_i`. The certificate still holds against every linear model,
//! because any predicted numbers have a ledger.
//!
//! State: the rows it erred on, from which every `<v_i, x>` is a running sum, so memory grows with the
//! mistakes (16 bytes a nonzero in files, 12 in memory); and per feature what the average needs. Cost: a
//! prediction reads all stored rows.
//!
//! Theorem: `regret/bound/inner_perceptron.rs`. Source: Freund, Schapire 1999, figure 1.

use super::slots::{Cell, KeptMean, Slots, Weight};
use super::state::{Spread, Store, Survivors, product};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "voted-perceptron",
    summary: "the vote of all the vectors a perceptron ever was; keeps every row it erred on, and reads them all to predict",
    update: "z = sum c_i sign(<v_i,x>)/sum c_i; if y <v_k,x> <= 0: v_{k+1} = v_k + c y x, c_{k+1} = c, else c_k += c",
    paper: "Freund, Schapire 1999, figure 1",
    bound: "inner-perceptron",
    bytes_per_feature: (24, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(VotedPerceptron::default(), setup.bias))
    },
};

#[derive(Default, Serialize, Deserialize)]
struct VotedPerceptron {
    survivors: Survivors,
    /// Sum of the weights of the rounds in which the last vector erred.
    mistakes: f64,
    /// `<v_k, x>` of the row being learned.
    #[serde(skip)]
    current: f64,
    #[serde(skip)]
    spread: Spread,
    /// The rows it erred on, each with `c y`.
    #[serde(skip)]
    store: Store,
    /// The votes of the vector that each of them made. The first vector is 0 and has no say.
    #[serde(skip)]
    votes: Vec<f64>,
}

impl VotedPerceptron {
    /// The margin of the vote, and `<v_k, x>`, from the products with the stored rows.
    fn ask(&self, bias: bool, product: impl Fn(Features<'_, f64>) -> f64) -> (f64, f64) {
        let bias = f64::from(u8::from(bias));
        let (mut sum, mut current) = (0.0, 0.0);
        for ((row, factor), votes) in self.store.iter().zip(&self.votes) {
            current += factor * (product(row) + bias);
            if current > 0.0 {
                sum += votes;
            } else if current < 0.0 {
                sum -= votes;
            }
        }
        (if self.survivors.total() > 0.0 { sum / self.survivors.total() } else { 0.0 }, current)
    }
}

impl Learner for VotedPerceptron {
    type Slot = Weight<KeptMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.ask(slots.bias.is_some(), |row| product(x, row)).0
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        let mut spread = std::mem::take(&mut self.spread);
        let (z, current) = spread.of(x, |x| self.ask(slots.bias.is_some(), |row| x.product(row)));
        (self.spread, self.current) = (spread, current);
        z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        let mistake = o.y * self.current <= 0.0;
        self.survivors.round(slots, x, o, mistake);
        if mistake {
            self.mistakes += o.weight;
            self.store.push(x, o.weight * o.y);
            self.votes.push(o.weight);
        } else if let Some(votes) = self.votes.last_mut() {
            *votes += o.weight;
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        self.survivors.average(cell)
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("inner-perceptron", &[("M_inner", self.mistakes)])
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        let mut arrays = self.store.arrays();
        arrays.push(("votes", self.votes.clone()));
        arrays
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let Some(((name, votes), rows)) = arrays.split_last() else { return false };
        self.votes.clone_from(votes);
        name == "votes" && self.store.set_arrays(rows) && self.store.len() == votes.len()
    }
}
