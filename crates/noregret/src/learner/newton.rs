//! The online Newton step: gradients measured by the matrix of gradients so far.
//!
//! ```text
//! B <- B + beta g g'          B = epsilon I at first
//! w <- w - B^-1 g
//! ```
//!
//! The paper's `A` is `B/beta` and its `epsilon` is ours over `beta`. A loss that curves at least as much as
//! `(beta/2) <g, u - w>^2` says regrets no more than `(epsilon/2)|u|^2 + (1/2) sum g' B^-1 g`, about
//! `d ln T`; whether it did is checked on the run, in the theorem's file.
//!
//! Deviation: the paper projects on a ball in the norm of `A`, O(d^3) a round, so that its conditions can
//! be promised beforehand. Here nothing is projected: the proof needs the conditions alone, and they are
//! looked at in every round. Without the projection `w_{t+1}` is the minimiser of the quadratics
//! `(1/2)(sqrt(beta) <g, u - w> + 1/sqrt(beta))^2` and of `(epsilon/2)|u|^2`: least squares, kept as a
//! triangular factor (`state/triangle.rs`), whose residuals also give the theorem's number.
//!
//! With `--matrix diagonal` the diagonal of `B` alone is kept: O(nonzeros) a round, and no theorem.
//! Without `--matrix` it is full where `--dimension` says at most 256 features, and diagonal otherwise.
//! Without `--beta` it is 0.5 for the logistic loss; for the square loss it is, in every round,
//! `1/(2 max c (z - y)^2)` over the rounds so far, the largest that the curvature allows: the proof takes
//! a rate of its own for every round.
//!
//! State: d(d+1)/2 numbers and at most 4,096 features (full), or `w_i`, `B_i` (diagonal).
//!
//! Theorem: `regret/bound/newton.rs`. Source: Hazan, Agarwal, Kale 2007, figure 2.

use super::slots::{Cell, NoMean, Slot, Slots, Weight};
use super::state::{LARGEST, Triangle};
use super::{Entry, Learner, Losses, Outcome, Setup, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

/// Up to this many features, said by `--dimension`, the matrix is full unless `--matrix` says otherwise.
const SMALL: u32 = 256;

pub(super) static ENTRY: Entry = Entry {
    name: "newton",
    summary: "the online Newton step, for losses that curve; a full matrix for few features, or its diagonal",
    update: "B <- B + beta g g'; w <- w - B^-1 g",
    paper: "Hazan, Agarwal, Kale 2007, figure 2, without the projection",
    bound: "newton",
    bytes_per_feature: (24, None),
    losses: Losses::Only(&["logistic", "square"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "beta",
            kind: Kind::Positive,
            default: None,
            meaning: "how much the loss is trusted to curve; 0.5 (logistic), or 1/(2 max c (z - y)^2) so far (square)",
        },
        Parameter {
            name: "epsilon",
            kind: Kind::Positive,
            default: None,
            meaning: "the matrix is epsilon I at first; 1/(4 beta U^2) with --beta and --radius, else 1",
        },
        Parameter {
            name: "matrix",
            kind: Kind::Choice(&["diagonal", "full"]),
            default: None,
            meaning: "what is kept of B; full (O(d^2), at most 4,096 features) when --dimension is at most 256, else diagonal",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let rate = Rate::new(setup);
        let full = match setup.parameters.word(ENTRY.parameters, "matrix") {
            "" => setup.dimension.is_some_and(|d| d <= SMALL),
            word => word == "full",
        };
        Ok(if full {
            boxed(Full { rate, ..Full::default() }, setup.bias)
        } else {
            boxed(Diagonal { rate }, setup.bias)
        })
    },
};

/// `beta`, and what is observed to judge it by.
#[derive(Default, Serialize, Deserialize)]
struct Rate {
    /// As given, or the loss's default; none where the rounds decide.
    constant: Option<f64>,
    epsilon: f64,
    logistic: bool,
    /// The largest `c (z - y)^2`.
    largest: f64,
}

impl Rate {
    fn new(setup: &Setup<'_>) -> Self {
        let logistic = setup.loss.entry().name == "logistic";
        let given = setup.parameters.number(ENTRY.parameters, "beta");
        let from_ball = given.zip(setup.radius).map(|(beta, radius)| 1.0 / (4.0 * beta * radius * radius));
        let epsilon = setup.parameters.number(ENTRY.parameters, "epsilon").or(from_ball).unwrap_or(1.0);
        Self { constant: given.or(logistic.then_some(0.5)), epsilon, logistic, largest: 0.0 }
    }

    /// `beta` for a round whose slope is not 0.
    fn beta(&mut self, o: &Outcome) -> f64 {
        // slope = 2 c (z - y).
        self.largest = self.largest.max(o.slope * o.slope / (4.0 * o.weight));
        self.constant.unwrap_or(0.5 / self.largest)
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Full {
    rate: Rate,
    /// Sum of `(1/beta - r^2)/2` over the residuals `r`: what the theorem adds to the penalty.
    excess: f64,
    /// Sums of the squared targets with `1/beta`, and of `beta |g|^2`: what the rounding is measured by.
    targets: f64,
    /// See `targets`.
    lengths: f64,
    /// The largest `beta c loss'(z)^2`.
    steepest: f64,
    /// The largest `|z|`.
    farthest: f64,
    #[serde(skip)]
    triangle: Triangle,
}

impl Learner for Full {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        slots.enter_briefly(x, o.slope, |_, _| {});
        let beta = self.rate.beta(o);
        let scale = beta.sqrt() * o.slope;
        let target = scale * o.z - 1.0 / beta.sqrt();
        let residual = self.triangle.fold(slots, x, self.rate.epsilon.sqrt(), scale, target);
        self.excess += (1.0 / beta - residual * residual) / 2.0;
        self.targets += target * target + 1.0 / beta;
        self.lengths += scale * scale * o.norm_squared;
        self.steepest = self.steepest.max(beta * (o.slope * o.slope / o.weight));
        self.farthest = self.farthest.max(o.z.abs());
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn largest_dimension(&self) -> Option<u32> {
        Some(LARGEST)
    }

    fn theorem(&self) -> Theorem {
        Theorem::new(
            "newton",
            &[
                ("epsilon", self.rate.epsilon),
                ("sum_excess", self.excess),
                ("steepest", self.steepest),
                ("farthest", self.farthest),
                ("logistic", f64::from(u8::from(self.rate.logistic))),
                ("sum_y2", self.targets),
                ("sum_x2", self.lengths),
                ("d", self.triangle.len() as f64),
            ],
        )
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.triangle.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.triangle.set_arrays(arrays)
    }
}

/// A weight and the sum of `beta g_i^2`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Curved {
    w: f64,
    squares: f64,
}

impl Slot for Curved {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["w", "squares"];
    fn get(&self, k: usize) -> f64 {
        [self.w, self.squares][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *(if k == 0 { &mut self.w } else { &mut self.squares }) = value;
    }
}

#[derive(Serialize, Deserialize)]
struct Diagonal {
    rate: Rate,
}

impl Learner for Diagonal {
    type Slot = Curved;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.w)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        let (root, epsilon, slope) = (self.rate.beta(o).sqrt(), self.rate.epsilon, o.slope);
        slots.enter(x, slope, |cell, xi| {
            let Curved { w, squares } = &mut cell.state;
            let g = slope * xi;
            *squares += (root * g) * (root * g);
            *w -= g / (epsilon + *squares);
        });
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.w
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("newton", &[("epsilon", self.rate.epsilon)])
            .unmet("the theorem is that of the full matrix (--matrix full)")
    }
}
