//! Adaptive regularisation of weights: a Gaussian over models, moved no further than the row demands and
//! surer afterwards of the features it had.
//!
//! ```text
//! m = <w, x>,  v = x' Sigma x                       Sigma = I at first, w = 0
//! if y m < 1:   beta = 1/(v + r/c)
//!               w     <- w + beta (y - m) Sigma x
//!               Sigma <- Sigma - beta Sigma x x' Sigma
//! ```
//!
//! The diagonal form keeps the diagonal of `Sigma` alone: `Sigma_i <- Sigma_i (1 - beta Sigma_i x_i^2)`,
//! written `Sigma_i (v - Sigma_i x_i^2 + r/c)/(v + r/c)` so that it never reaches 0 by cancellation. The
//! full form is recursive least squares towards the labels over the rounds that moved it, hence
//! `Sigma^-1 = I + sum c x x'/r` and `w = Sigma sum c y x/r`, which is kept as a triangular factor
//! (`state/triangle.rs`) and never loses its symmetry.
//!
//! State: `w_i`, `Sigma_i`, and O(nonzeros) a round; with `--matrix full` d(d+1)/2 numbers, hence at most
//! 4,096 features, and O(d^2) a round that moves.
//!
//! Theorem: `regret/bound/arow.rs`. Source: Crammer, Kulesza, Dredze 2009, figure 1; importance weights,
//! as so many equal rows at once, are ours.

use super::slots::{Cell, NoMean, Slot, Slots, Weight};
use super::state::{LARGEST, Triangle};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "arow",
    summary: "adaptive regularisation of weights: a confidence for every feature, or a full matrix for few",
    update: "if y z < 1: w <- w + (y - z) Sigma x/(x' Sigma x + r/c), Sigma <- (Sigma^-1 + c x x'/r)^-1",
    paper: "Crammer, Kulesza, Dredze 2009, figure 1",
    bound: "arow",
    bytes_per_feature: (24, None),
    losses: Losses::Only(&["hinge", "squared-hinge"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "r",
            kind: Kind::Positive,
            default: Some("1"),
            meaning: "how little a single row is believed",
        },
        Parameter {
            name: "matrix",
            kind: Kind::Choice(&["diagonal", "full"]),
            default: Some("diagonal"),
            meaning: "what is kept of Sigma; full takes O(d^2) memory and time, at most 4,096 features",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let r = setup.parameters.number(ENTRY.parameters, "r").unwrap_or(1.0);
        let counts = Counts { r, mistakes: 0.0, margins: 0.0, weighted: false };
        Ok(if setup.parameters.word(ENTRY.parameters, "matrix") == "full" {
            boxed(Full { counts, triangle: Triangle::default() }, setup.bias)
        } else {
            boxed(Diagonal { counts }, setup.bias)
        })
    },
};

/// What both forms count for the theorem.
#[derive(Serialize, Deserialize)]
struct Counts {
    r: f64,
    /// Sum of the weights of the rounds with `y z <= 0`.
    mistakes: f64,
    /// ... and of those with `0 < y z < 1`.
    margins: f64,
    /// Whether a round that moved the model had an importance other than 1.
    weighted: bool,
}

impl Counts {
    /// Whether the round moves the model.
    fn moves(&mut self, o: &Outcome) -> bool {
        let margin = o.y * o.z;
        // Where the slope has left the range of f64 there is nothing to learn either.
        if margin >= 1.0 || o.slope == 0.0 {
            return false;
        }
        *(if margin <= 0.0 { &mut self.mistakes } else { &mut self.margins }) += o.weight;
        self.weighted |= o.weight != 1.0;
        true
    }

    fn theorem(&self, log_det: Option<f64>) -> Theorem {
        let mut theorem =
            Theorem::new("arow", &[("r", self.r), ("M", self.mistakes), ("margin_updates", self.margins)]);
        match log_det {
            Some(log_det) => {
                theorem.constants.set("log_det", log_det);
            }
            None => theorem = theorem.unmet("the theorem is that of the full matrix (--matrix full)"),
        }
        if self.weighted { theorem.unmet("importance weights other than 1") } else { theorem }
    }
}

/// A weight and its variance.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Belief {
    w: f64,
    sigma: f64,
}

impl Default for Belief {
    fn default() -> Self {
        Self { w: 0.0, sigma: 1.0 }
    }
}

impl Slot for Belief {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["w", "sigma"];
    fn get(&self, k: usize) -> f64 {
        [self.w, self.sigma][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *(if k == 0 { &mut self.w } else { &mut self.sigma }) = value;
    }
}

#[derive(Serialize, Deserialize)]
struct Diagonal {
    counts: Counts,
}

impl Learner for Diagonal {
    type Slot = Belief;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.w)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if !self.counts.moves(o) {
            return;
        }
        let r = self.counts.r / o.weight;
        // Features never seen have variance 1 and are in no slot yet.
        slots.grow(x.end());
        let mut v = slots.bias.as_ref().map_or(0.0, |c| c.state.sigma);
        for (i, xi) in x.iter() {
            v += slots.cells[i].state.sigma * xi * xi;
        }
        let step = (o.y - o.z) / (v + r);
        slots.enter(x, o.slope, |cell, xi| {
            let Belief { w, sigma } = &mut cell.state;
            let own = *sigma * xi * xi;
            *w += step * (*sigma * xi);
            *sigma *= ((v - own).max(0.0) + r) / (v + r);
        });
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.w
    }

    fn theorem(&self) -> Theorem {
        self.counts.theorem(None)
    }
}

#[derive(Serialize, Deserialize)]
struct Full {
    counts: Counts,
    #[serde(skip)]
    triangle: Triangle,
}

impl Learner for Full {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if self.counts.moves(o) {
            slots.enter_briefly(x, o.slope, |_, _| {});
            let scale = (o.weight / self.counts.r).sqrt();
            self.triangle.fold(slots, x, 1.0, scale, scale * o.y);
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn largest_dimension(&self) -> Option<u32> {
        Some(LARGEST)
    }

    fn theorem(&self) -> Theorem {
        self.counts.theorem(Some(self.triangle.log_det(1.0)))
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.triangle.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.triangle.set_arrays(arrays)
    }
}
