//! Constrained subgradient descent with a known horizon.
//!
//! ```text
//! w <- P(w - eta g_t)       g_t = slope x, P the projection on the ball of radius B
//! eta = B / (lambda X sqrt(m))
//! ```
//!
//! `lambda` is the loss's Lipschitz constant, `X` the longest row promised (`--row-bound`, 1 when
//! absent), `m` the number of rounds promised (`--horizon`). All are fixed in advance; the bound is
//! withheld when the stream breaks a promise, except that the horizon may be missed: the bound for
//! the rounds seen then stands in place of the best one.
//!
//! State: `w`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/subgradient.rs`. Source: Dekel's notes, algorithm 2 and theorem 4 (whose
//! `eta` lacks a square root's closing: it is `B/(lambda X sqrt(m))`).

use super::iterate::Scaled;
use super::slots::{Cell, KeptMean, Mean, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem, required};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "subgradient",
    summary: "projected subgradient descent with a constant step chosen for a known horizon",
    update: "w <- P(w - eta g), eta = U/(lambda X sqrt(horizon))",
    paper: "Dekel, notes on constrained subgradient descent, algorithm 2 and theorem 4",
    bound: "subgradient",
    bytes_per_feature: (16, Some(24)),
    losses: Losses::All,
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "horizon",
            kind: Kind::Count,
            default: None,
            meaning: "m, the number of examples the step is chosen for (required)",
        },
        Parameter {
            name: "eta",
            kind: Kind::Positive,
            default: None,
            meaning: "the constant step; U/(lambda X sqrt(horizon)) when absent",
        },
    ],
    build: |setup| {
        Ok(if setup.average {
            boxed(Subgradient::<KeptMean>::new(setup)?, setup.bias)
        } else {
            boxed(Subgradient::<NoMean>::new(setup)?, setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Subgradient<M> {
    w: Scaled,
    radius: f64,
    eta: f64,
    horizon: f64,
    /// The loss's Lipschitz constant.
    lipschitz: Option<f64>,
    /// Longest row promised.
    row_bound: f64,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> Subgradient<M> {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let radius = setup.radius.unwrap_or(10.0);
        let horizon = required(&ENTRY, setup, "horizon")?;
        let lipschitz = setup.loss.lipschitz();
        let row_bound = setup.row_bound.unwrap_or(1.0);
        let eta = setup
            .parameters
            .number(ENTRY.parameters, "eta")
            .unwrap_or(radius / (lipschitz.unwrap_or(1.0) * row_bound * horizon.sqrt()));
        Ok(Self { w: Scaled::default(), radius, eta, horizon, lipschitz, row_bound, mean: PhantomData })
    }
}

impl<M: Mean> Learner for Subgradient<M> {
    type Slot = Weight<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Weight<M>>, x: Features<'_, V>, o: &Outcome) {
        self.w.begin();
        self.w.step(slots, x, o, self.eta * o.slope, Some(self.radius));
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

    fn ball(&self, _: f64) -> Option<f64> {
        Some(self.radius)
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Weight<M>>) -> Option<Self> {
        let first = &parts.first()?.learner;
        let w = Scaled::average_of(parts, slots, |learner| &learner.w);
        Some(Self {
            w,
            radius: first.radius,
            eta: first.eta,
            horizon: first.horizon,
            lipschitz: first.lipschitz,
            row_bound: first.row_bound,
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        let mut theorem = Theorem::new(
            "subgradient",
            &[("ball", self.radius), ("eta", self.eta), ("m", self.horizon), ("X", self.row_bound)],
        );
        if let Some(lambda) = self.lipschitz {
            theorem.constants.set("lambda", lambda);
        }
        theorem
    }
}
