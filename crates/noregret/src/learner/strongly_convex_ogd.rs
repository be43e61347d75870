//! Online gradient descent for sigma-strongly convex losses: any loss plus `(sigma/2) |w|^2`. With
//! the hinge loss it is the online SVM, with the logistic loss regularised logistic regression.
//!
//! ```text
//! w <- w - (g_t + sigma w) / (sigma t)  =  (1 - 1/t) w - g_t / (sigma t)
//! ```
//!
//! Multiplied by `t` the recurrence reads `t w_{t+1} = (t-1) w_t - g_t/sigma`, hence
//! `w_{t+1} = -S/(sigma t)`: the state already is the ledger's `S`, and nothing else is kept.
//!
//! State: `S`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/strongly_convex.rs`. Source: Hazan, Agarwal, Kale 2007; "The OGD algorithm
//! for sigma-strongly convex functions" in Cesa-Bianchi's notes. The penalty is not multiplied by the
//! importance weight, so the step stands.

use super::iterate::OfLedger;
use super::part::{average_count, largest};
use super::slots::{Cell, Dual, KeptMean, Mean, NoMean, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "strongly-convex-ogd",
    summary: "gradient descent with step 1/(sigma t) on the loss plus (sigma/2)|w|^2; needs --l2 sigma",
    update: "w <- (1 - 1/t) w - g/(sigma t)",
    paper: "Hazan, Agarwal, Kale 2007; Cesa-Bianchi, notes on online gradient descent",
    bound: "strongly-convex",
    bytes_per_feature: (8, Some(16)),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "ridge",
    penalised: true,
    largest_dimension: None,
    parameters: &[],
    build: |setup| {
        Ok(if setup.average {
            boxed(StronglyConvexOgd::<KeptMean>::new(setup)?, setup.bias)
        } else {
            boxed(StronglyConvexOgd::<NoMean>::new(setup)?, setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct StronglyConvexOgd<M> {
    w: OfLedger,
    sigma: f64,
    lipschitz: Option<f64>,
    /// The largest `|g_t + sigma w_t|^2`.
    largest: f64,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> StronglyConvexOgd<M> {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let sigma = setup.l2.ok_or_else(|| {
            UsageError::new("learner `strongly-convex-ogd` needs --l2 SIGMA, a number greater than 0")
        })?;
        Ok(Self {
            w: OfLedger::default(),
            sigma,
            lipschitz: setup.loss.lipschitz(),
            largest: 0.0,
            mean: PhantomData,
        })
    }
}

impl<M: Mean> Learner for StronglyConvexOgd<M> {
    type Slot = Dual<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Dual<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Dual<M>>, x: Features<'_, V>, o: &Outcome) {
        // |g + sigma w|^2 with <g, w> = slope z.
        let gradient = o.slope * o.slope * o.norm_squared
            + 2.0 * self.sigma * o.slope * o.now
            + self.sigma * self.sigma * self.w.norm_squared();
        self.largest = self.largest.max(gradient);
        let t = self.w.step(slots, x, o);
        self.w.a = -1.0 / (self.sigma * t);
    }

    fn weight(&self, cell: &Cell<Dual<M>>) -> f64 {
        self.w.weight(cell)
    }

    fn average(&self, cell: &Cell<Dual<M>>) -> Option<f64> {
        self.w.average(cell)
    }

    fn norm_squared(&self) -> Option<f64> {
        Some(self.w.norm_squared())
    }

    /// `|w_t| <= lambda X/sigma`: an average of gradients divided by sigma.
    fn ball(&self, longest: f64) -> Option<f64> {
        Some(self.lipschitz? * longest / self.sigma)
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Dual<M>>) -> Option<Self> {
        let StronglyConvexOgd { sigma, lipschitz, .. } = parts.first()?.learner;
        let a = -1.0 / (sigma * average_count(parts, |learner| learner.w.t).max(1) as f64);
        let w = OfLedger::average_of(parts, slots, a, |learner| &learner.w);
        Some(Self {
            w,
            sigma,
            lipschitz,
            largest: largest(parts, |learner| learner.largest),
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("strongly-convex", &[("sigma", self.sigma), ("G", self.largest.sqrt())])
            .note("G is the largest norm observed of the gradient of the loss with its penalty")
    }
}
