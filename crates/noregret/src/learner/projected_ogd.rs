//! Projected online gradient descent.
//!
//! ```text
//! w <- P(w - eta_t g_t)     g_t = slope x, P the projection on the ball of radius U
//! eta_t = eta / sqrt(t)     eta = sqrt(2) U / G
//! ```
//!
//! `G` bounds the gradients. When it is not given, `G_t`, the largest norm up to and including round
//! `t`, stands in its place: the steps still decrease, and the theorem holds with `G_T`.
//!
//! State: `w` (scaled, so that projecting is O(1)). Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/projected_ogd.rs`. Source: Zinkevich 2003; "Projected OGD" in
//! Cesa-Bianchi's notes. Deviation: the running maximum.

use super::iterate::Scaled;
use super::part::largest;
use super::slots::{Cell, KeptMean, Mean, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "projected-ogd",
    summary: "gradient descent with step eta/sqrt(t), projected on the ball of radius U",
    update: "w <- P(w - eta/sqrt(t) g), eta = sqrt(2) U/G",
    paper: "Zinkevich 2003; Cesa-Bianchi, notes on online gradient descent, Projected OGD",
    bound: "projected-ogd",
    bytes_per_feature: (16, Some(24)),
    losses: Losses::All,
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "eta",
            kind: Kind::Positive,
            default: None,
            meaning: "the step before it is divided by sqrt(t); sqrt(2) U/G when absent",
        },
        Parameter {
            name: "gradient-bound",
            kind: Kind::Positive,
            default: None,
            meaning: "G, a bound on every gradient's norm; the largest seen so far when absent",
        },
    ],
    build: |setup| {
        Ok(if setup.average {
            boxed(ProjectedOgd::<KeptMean>::new(setup), setup.bias)
        } else {
            boxed(ProjectedOgd::<NoMean>::new(setup), setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct ProjectedOgd<M> {
    w: Scaled,
    radius: f64,
    /// Given by the user.
    eta: Option<f64>,
    /// Given by the user.
    gradient_bound: Option<f64>,
    /// The largest `|g|^2` so far.
    largest: f64,
    /// The step's length for `t = 1` and a slope of 1, until `largest` grows.
    #[serde(skip)]
    pace: Option<f64>,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> ProjectedOgd<M> {
    fn new(setup: &Setup<'_>) -> Self {
        Self {
            w: Scaled::default(),
            radius: setup.radius.unwrap_or(10.0),
            eta: setup.parameters.number(ENTRY.parameters, "eta"),
            gradient_bound: setup.parameters.number(ENTRY.parameters, "gradient-bound"),
            largest: 0.0,
            pace: None,
            mean: PhantomData,
        }
    }

    /// A root and a division that hardly any round changes; in every round, the step would wait for them.
    #[cold]
    fn find_pace(&mut self) -> f64 {
        let pace = self.eta.unwrap_or_else(|| {
            let g = self.gradient_bound.unwrap_or(self.largest.sqrt());
            if g > 0.0 { std::f64::consts::SQRT_2 * self.radius / g } else { 0.0 }
        });
        self.pace = Some(pace);
        pace
    }
}

impl<M: Mean> Learner for ProjectedOgd<M> {
    type Slot = Weight<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    #[inline(always)]
    fn foresee<V: Value>(&mut self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    #[inline(always)]
    fn foresee_roughly<V: Value>(&mut self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> (f64, f64) {
        self.w.dot_roughly(slots, x)
    }

    #[inline(always)]
    fn foresee_and_norm<V: Value>(
        &mut self,
        slots: &Slots<Weight<M>>,
        x: Features<'_, V>,
        _: &[u32],
    ) -> (f64, f64) {
        self.w.dot_and_norm(slots, x)
    }

    #[inline(always)]
    fn update<V: Value>(&mut self, slots: &mut Slots<Weight<M>>, x: Features<'_, V>, o: &Outcome) {
        let t = self.w.begin();
        if o.slope == 0.0 {
            return self.w.step(slots, x, o, 0.0, Some(self.radius));
        }
        let gradient = o.slope * o.slope * o.norm_squared;
        if gradient > self.largest {
            self.largest = gradient;
            self.pace = None;
        }
        let pace = match self.pace {
            Some(pace) => pace,
            None => self.find_pace(),
        };
        self.w.step(slots, x, o, pace / t.sqrt() * o.slope, Some(self.radius));
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
            gradient_bound: first.gradient_bound,
            largest: largest(parts, |learner| learner.largest),
            pace: None,
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        let observed = self.largest.sqrt();
        let mut theorem = Theorem::new("projected-ogd", &[("ball", self.radius)]);
        match (self.eta, self.gradient_bound) {
            (Some(eta), _) => {
                theorem.constants.set("G", observed).set("eta", eta);
                theorem.note("G is the largest gradient norm observed; eta was given")
            }
            (None, Some(g)) => {
                theorem.constants.set("G", g);
                let theorem = theorem.note("G was given");
                if observed > g {
                    theorem
                        .unmet(format!("a gradient of norm {observed} is longer than --gradient-bound {g}"))
                } else {
                    theorem
                }
            }
            (None, None) => {
                theorem.constants.set("G", observed);
                theorem.note("G is the largest gradient norm observed (running maximum)")
            }
        }
    }
}
