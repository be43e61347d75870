//! l1-regularised dual averaging: the weights are the average gradient, cut at the penalty.
//!
//! ```text
//! cut_t = lambda1 t + gamma rho sqrt(t)
//! w_{t+1,i} = 0                                             where |S_i| <= cut_t
//! w_{t+1,i} = -(S_i - sign(S_i) cut_t) / (gamma sqrt(t))    elsewhere
//! ```
//!
//! The paper writes the same with the average `S/t`. Since the penalty grows with `t` like the sum of
//! the gradients, a weight stays zero as long as its average gradient is below `lambda1`.
//!
//! State: `S`, which is the ledger's, and nothing else. Cost: O(nonzeros) a round. The bias is
//! penalised like every feature. Importance weights multiply the gradient, not the penalty.
//!
//! Theorem: `regret/bound/rda.rs`. Source: Xiao 2010, algorithm 2 (enhanced l1-RDA; `rho = 0` is
//! algorithm 1 with the l1 norm).

use super::slots::{Cell, Slots};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "rda",
    summary: "dual averaging with an l1 penalty in every round: sparse weights, 8 bytes a feature",
    update: "w_i <- -(S_i - sign(S_i) lambda1 t)+/(gamma sqrt(t))",
    paper: "Xiao 2010, algorithm 2",
    bound: "rda",
    bytes_per_feature: (8, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "lambda1",
            kind: Kind::Nonnegative,
            default: Some("0.0001"),
            meaning: "the l1 penalty of a round: weights whose average gradient is smaller are exactly 0",
        },
        Parameter {
            name: "gamma",
            kind: Kind::Positive,
            default: Some("1"),
            meaning: "the regulariser is (gamma sqrt(t)/2)|w|^2: a larger one makes shorter steps",
        },
        Parameter {
            name: "rho",
            kind: Kind::Nonnegative,
            default: Some("0"),
            meaning: "more zeros early: adds gamma rho sqrt(t) to the penalty so far",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let given = |name| setup.parameters.number(ENTRY.parameters, name).unwrap_or(0.0);
        let (lambda1, gamma, rho) = (given("lambda1"), given("gamma"), given("rho"));
        let rda = Rda { t: 0, lambda1, gamma, rho, a: 0.0, cut: 0.0, touched: 0.0, divided: 0.0 };
        Ok(boxed(rda, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct Rda {
    t: u64,
    lambda1: f64,
    gamma: f64,
    rho: f64,
    /// `-1/(gamma sqrt(t))`, 0 before the first round.
    a: f64,
    cut: f64,
    /// No fewer than the coordinates that have had a gradient, for the theorem.
    touched: f64,
    /// Sum of `|g_t|^2/beta_t`, `beta_t` the strength that `w_t` was chosen with, for the theorem.
    divided: f64,
}

impl Rda {
    #[inline(always)]
    fn of(&self, s: f64) -> f64 {
        if s.abs() <= self.cut { 0.0 } else { self.a * (s - s.signum() * self.cut) }
    }
}

impl Learner for Rda {
    type Slot = ();

    fn predict<V: Value>(&self, slots: &Slots<()>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| self.of(c.s))
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<()>, x: Features<'_, V>, o: &Outcome) {
        // The first iterate is 0 whatever the strength, so that of the second will do.
        let beta = self.gamma * (self.t.max(1) as f64).sqrt();
        self.divided += o.slope * o.slope * o.norm_squared / beta;
        self.t += 1;
        let root = (self.t as f64).sqrt();
        self.a = -1.0 / (self.gamma * root);
        self.cut = self.lambda1 * self.t as f64 + self.gamma * self.rho * root;
        if o.slope != 0.0 {
            slots.enter(x, o.slope, |cell, xi| {
                // It was 0, or so small that counting the coordinate twice is the safe side.
                let g = o.slope * xi;
                if g != 0.0 && cell.s == g {
                    self.touched += 1.0;
                }
            });
        }
    }

    fn weight(&self, cell: &Cell<()>) -> f64 {
        self.of(cell.s)
    }

    fn theorem(&self) -> Theorem {
        Theorem::new(
            "rda",
            &[
                ("gamma", self.gamma),
                ("cut", self.cut),
                ("d", self.touched),
                ("sum_g2_over_beta", self.divided),
            ],
        )
    }
}
