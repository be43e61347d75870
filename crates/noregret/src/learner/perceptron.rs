//! The Perceptron: moves only when it errs.
//!
//! ```text
//! z = <w, x>
//! if y z <= 0:  w <- w + c y x
//! ```
//!
//! State: `w`, and beside it the hinge ledger's `S`. Cost: O(nonzeros) a round. The mistake rounds
//! are a ledger of their own that needs no memory: with the hinge loss its vector is `-w` and its
//! constant the (weighted) number of mistakes, hence `H(u) >= M - |u| |w|` for every `u`.
//!
//! Theorem: `regret/bound/perceptron.rs`. Source: Rosenblatt 1958; the bound for any stream is
//! inequality (1) of Cesa-Bianchi's notes on online gradient descent.

use super::iterate::Scaled;
use super::part::average;
use super::slots::{Cell, KeptMean, Mean, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, OwnBook, Part, Theorem};
use crate::example::{Features, Value};
use crate::round::{Vector, boxed};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "perceptron",
    summary: "moves by y x on a mistake, and only then",
    update: "if y z <= 0: w <- w + c y x",
    paper: "Rosenblatt 1958; Cesa-Bianchi, notes on online gradient descent, inequality (1)",
    bound: "perceptron",
    bytes_per_feature: (16, Some(24)),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[],
    build: |setup| {
        let hinge = setup.loss.entry().name == "hinge";
        Ok(if setup.average {
            boxed(Perceptron::<KeptMean>::new(hinge), setup.bias)
        } else {
            boxed(Perceptron::<NoMean>::new(hinge), setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Perceptron<M> {
    w: Scaled,
    /// Sum of the weights of the mistake rounds.
    mistakes: f64,
    /// Whether the slopes in the ledger are the hinge loss's.
    hinge: bool,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> Perceptron<M> {
    fn new(hinge: bool) -> Self {
        Self { w: Scaled::default(), mistakes: 0.0, hinge, mean: PhantomData }
    }
}

impl<M: Mean> Learner for Perceptron<M> {
    type Slot = Weight<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Weight<M>>, x: Features<'_, V>, o: &Outcome) {
        self.w.begin();
        // A mistake has a nonzero slope under both losses, so the ledger is entered either way.
        let mistake = o.y * o.z <= 0.0;
        let step = if mistake { -o.weight * o.y } else { 0.0 };
        if mistake {
            self.mistakes += o.weight;
        }
        self.w.step(slots, x, o, step, None);
    }

    fn weight(&self, cell: &Cell<Weight<M>>) -> f64 {
        self.w.weight(cell)
    }

    fn average(&self, cell: &Cell<Weight<M>>) -> Option<f64> {
        self.w.average(cell)
    }

    fn norm_squared(&self) -> Option<f64> {
        Some(self.w.norm_squared())
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Weight<M>>) -> Option<Self> {
        let first = &parts.first()?.learner;
        let w = Scaled::average_of(parts, slots, |learner| &learner.w);
        Some(Self {
            w,
            mistakes: average(parts, |learner| learner.mistakes),
            hinge: first.hinge,
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("perceptron", &[("M", self.mistakes)])
    }

    fn own_ledgers(&self, slots: &Slots<Weight<M>>) -> Vec<(OwnBook, Vector)> {
        let book = OwnBook { name: "mistakes".into(), k: self.mistakes, magnitude: None, reach: None };
        if self.hinge { vec![(book, slots.vector(|c| -self.w.weight(c)))] } else { Vec::new() }
    }
}
