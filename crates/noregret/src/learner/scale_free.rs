//! Scale-free follow the regularised leader: `ftrl` without the constant that gives the gradients a
//! unit. Multiplying all losses, or all importance weights, by the same number changes no prediction.
//!
//! ```text
//! w_t = P(-eta S_{t-1} / sqrt(Q_{t-1}))      Q_{t-1} = sum of |g_s|^2 over s < t, 0/0 = 0
//! eta = U / sqrt(2)
//! ```
//!
//! State: `S`, which is the ledger's. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/scale_free.rs`. Source: Orabona, Pal 2018, SOLO FTRL (their algorithm 2)
//! on the ball with the regulariser `|w|^2/(2 eta)`.

use super::iterate::OfLedger;
use super::part::average;
use super::slots::{Cell, Dual, KeptMean, Mean, NoMean, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "scale-free",
    summary: "follow the regularised leader, whatever the unit of the losses (SOLO FTRL)",
    update: "w <- P(-eta S/sqrt(sum |g|^2)), eta = U/sqrt(2)",
    paper: "Orabona, Pal 2018, algorithm 2",
    bound: "scale-free",
    bytes_per_feature: (8, Some(16)),
    losses: Losses::All,
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "eta",
        kind: Kind::Positive,
        default: None,
        meaning: "how far one gradient alone would move the weights; U/sqrt(2) when absent",
    }],
    build: |setup| {
        Ok(if setup.average {
            boxed(ScaleFree::<KeptMean>::new(setup), setup.bias)
        } else {
            boxed(ScaleFree::<NoMean>::new(setup), setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct ScaleFree<M> {
    w: OfLedger,
    radius: f64,
    eta: f64,
    /// `Q`.
    squares: f64,
    /// Sum of `min(eta |g_t|^2/(2 sqrt(Q_{t-1})), 2 U |g_t|)`, for the theorem.
    moved: f64,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> ScaleFree<M> {
    fn new(setup: &Setup<'_>) -> Self {
        let radius = setup.radius.unwrap_or(10.0);
        let eta = setup.parameters.number(ENTRY.parameters, "eta");
        Self {
            w: OfLedger::default(),
            radius,
            eta: eta.unwrap_or(radius / std::f64::consts::SQRT_2),
            squares: 0.0,
            moved: 0.0,
            mean: PhantomData,
        }
    }
}

impl<M: Mean> Learner for ScaleFree<M> {
    type Slot = Dual<M>;

    fn predict<V: Value>(&self, slots: &Slots<Dual<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Dual<M>>, x: Features<'_, V>, o: &Outcome) {
        self.w.step(slots, x, o);
        let square = o.slope * o.slope * o.norm_squared;
        let within = 2.0 * self.radius * square.sqrt();
        let stable =
            if self.squares > 0.0 { self.eta * square / (2.0 * self.squares.sqrt()) } else { within };
        self.moved += stable.min(within);
        self.squares += square;
        // Squares that underflow to 0 leave nothing to divide by.
        self.w.a = if self.squares > 0.0 { -self.eta / self.squares.sqrt() } else { 0.0 };
        let norm = self.w.q.max(0.0).sqrt();
        if norm * self.w.a.abs() > self.radius {
            self.w.a = -self.radius / norm;
        }
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

    fn ball(&self, _: f64) -> Option<f64> {
        Some(self.radius)
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Dual<M>>) -> Option<Self> {
        let ScaleFree { radius, eta, .. } = parts.first()?.learner;
        let squares = average(parts, |learner| learner.squares);
        let a = if squares > 0.0 { -eta / squares.sqrt() } else { 0.0 };
        let w = OfLedger::average_of(parts, slots, a, |learner| &learner.w);
        Some(Self {
            w,
            radius,
            eta,
            squares,
            moved: average(parts, |learner| learner.moved),
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("scale-free", &[("ball", self.radius), ("eta", self.eta), ("sum_moved", self.moved)])
    }
}
