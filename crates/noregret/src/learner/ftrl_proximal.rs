//! FTRL-Proximal: follow the regularised leader with a step for every coordinate, regularised around
//! the past iterates rather than the origin, and an l1 penalty that leaves weights exactly zero.
//!
//! ```text
//! n_i += g_i^2                                           g = slope x
//! sigma_i = (sqrt(n_i) - sqrt(n_i - g_i^2)) / alpha
//! z_i += g_i - sigma_i w_i
//! w_i = 0                                                where |z_i| <= lambda1
//! w_i = -(z_i - sign(z_i) lambda1) / ((beta + sqrt(n_i))/alpha + lambda2)      elsewhere
//! ```
//!
//! Both penalties are on the whole stream, not on every round, as in the paper: their share falls with
//! time. Names: `--lambda2` is the paper's, and not `--l2`, which adds a penalty to every round and
//! changes what the run is compared with.
//!
//! State: `z_i`, `n_i`, and `w_i` beside them so that predicting takes no root. Cost: O(nonzeros) a
//! round. The difference of roots is computed as `g_i^2` over their sum, which does not cancel.
//!
//! Theorem: `regret/bound/ftrl_proximal.rs`. Source: McMahan, Holt, Sculley et al. 2013, algorithm 1.

use super::part::{average, gather, largest};
use super::slots::{Cell, Slot, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "ftrl-proximal",
    summary: "a step of its own for every feature and an l1 penalty with exact zeros",
    update: "z_i += g_i - sigma_i w_i; w_i <- -(z_i - sign(z_i) lambda1)+/((beta + sqrt(n_i))/alpha + lambda2)",
    paper: "McMahan, Holt, Sculley et al. 2013, algorithm 1; McMahan 2017, theorem 2",
    bound: "ftrl-proximal",
    bytes_per_feature: (32, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "alpha",
            kind: Kind::Positive,
            default: Some("0.5"),
            meaning: "the step is alpha/(beta + sqrt(n_i)), n_i the sum of the feature's squared gradients",
        },
        Parameter {
            name: "beta",
            kind: Kind::Nonnegative,
            default: Some("1"),
            meaning: "keeps the first steps short",
        },
        Parameter {
            name: "lambda1",
            kind: Kind::Nonnegative,
            default: Some("0.1"),
            meaning: "the l1 penalty, once for the whole stream: weights whose gradients sum to less are exactly 0",
        },
        Parameter {
            name: "lambda2",
            kind: Kind::Nonnegative,
            default: Some("0"),
            meaning: "the quadratic penalty (lambda2/2)|w|^2, once for the whole stream (not --l2, a round's penalty)",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(FtrlProximal::new(setup), setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct FtrlProximal {
    alpha: f64,
    beta: f64,
    lambda1: f64,
    lambda2: f64,
    /// How many coordinates have had a gradient, for the theorem.
    touched: f64,
    /// The largest `sqrt(n_i)/alpha`, for the theorem.
    strongest: f64,
    /// Sum of `sigma_i w_i^2`, for the theorem.
    pulled: f64,
    /// Sum of `g_i^2` over the strength of its coordinate, for the theorem.
    divided: f64,
}

/// A weight, the sum of its gradients less what the past iterates hold back, and of their squares.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Proximal {
    w: f64,
    z: f64,
    n: f64,
}

impl Slot for Proximal {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["w", "z", "n"];
    fn get(&self, k: usize) -> f64 {
        [self.w, self.z, self.n][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *[&mut self.w, &mut self.z, &mut self.n][k] = value;
    }
}

impl FtrlProximal {
    fn new(setup: &Setup<'_>) -> Self {
        let given = |name| setup.parameters.number(ENTRY.parameters, name).unwrap_or(0.0);
        Self {
            alpha: given("alpha"),
            beta: given("beta"),
            lambda1: given("lambda1"),
            lambda2: given("lambda2"),
            touched: 0.0,
            strongest: 0.0,
            pulled: 0.0,
            divided: 0.0,
        }
    }
}

impl Learner for FtrlProximal {
    type Slot = Proximal;

    fn predict<V: Value>(&self, slots: &Slots<Proximal>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.w)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Proximal>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        slots.enter(x, o.slope, |cell, xi| {
            let Proximal { w, z, n } = &mut cell.state;
            let g = o.slope * xi;
            let square = g * g;
            // A square that underflows to 0 may leave nothing to divide by.
            if square == 0.0 {
                return;
            }
            if *n == 0.0 {
                self.touched += 1.0;
            }
            let before = n.sqrt();
            *n += square;
            let root = n.sqrt();
            let sigma = square / (before + root) / self.alpha;
            let strength = (self.beta + root) / self.alpha + self.lambda2;
            self.strongest = self.strongest.max(root / self.alpha);
            self.pulled += sigma * *w * *w;
            self.divided += square / strength;
            *z += g - sigma * *w;
            *w = if z.abs() <= self.lambda1 { 0.0 } else { (z.signum() * self.lambda1 - *z) / strength };
        });
    }

    fn weight(&self, cell: &Cell<Proximal>) -> f64 {
        cell.state.w
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Proximal>) -> Option<Self> {
        let FtrlProximal { alpha, beta, lambda1, lambda2, .. } = parts.first()?.learner;
        gather(parts, slots, |sum, part, cell| {
            sum.state.w += part.share * cell.state.w;
            sum.state.z += part.share * cell.state.z;
            sum.state.n += part.share * cell.state.n;
        });
        // The gradients' sum for which the averaged weight is the one of the rule.
        for Cell { state: Proximal { w, z, n }, .. } in slots.iter_mut() {
            let strength = (beta + n.sqrt()) / alpha + lambda2;
            *z = if *w == 0.0 { z.clamp(-lambda1, lambda1) } else { -*w * strength - lambda1.copysign(*w) };
        }
        Some(Self {
            alpha,
            beta,
            lambda1,
            lambda2,
            touched: largest(parts, |learner| learner.touched),
            strongest: largest(parts, |learner| learner.strongest),
            pulled: average(parts, |learner| learner.pulled),
            divided: average(parts, |learner| learner.divided),
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new(
            "ftrl-proximal",
            &[
                ("lambda1", self.lambda1),
                ("fixed", self.beta / self.alpha + self.lambda2),
                ("d", self.touched),
                ("strongest", self.strongest),
                ("sum_sigma_w2", self.pulled),
                ("sum_g2_over_strength", self.divided),
            ],
        )
    }
}
