//! Truncated gradient: gradient descent that pulls small weights towards zero and leaves them there.
//!
//! ```text
//! w <- w - eta_t g_t
//! every K rounds, where |w_i| <= theta:  w_i <- sign(w_i) (|w_i| - eta_t K lambda1)+
//! eta_t = eta               --schedule constant
//! eta_t = eta / sqrt(t)     --schedule sqrt
//! ```
//!
//! Truncations of a weight that no row touches add up: two of them by `a` and `b` are one by `a + b`,
//! below `theta` as above it. So a slot remembers how much had been truncated in all when it was last
//! touched, and the rest is made up for when it is read.
//!
//! State: `w_i` as of its last touch and the sum of the truncations by then. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/truncated_gradient.rs` for the constant step; none for the other. Source:
//! Langford, Li, Zhang 2009, section 3.3 and algorithm 1 (`lambda1` is their gravity `g`).

use super::slots::{Cell, Slot, Slots};
use super::{Entry, Learner, Losses, Outcome, Setup, Theorem, refuse_average};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "truncated-gradient",
    summary: "gradient descent that truncates small weights to exactly zero",
    update: "w <- w - eta g; every K rounds w_i <- sign(w_i) (|w_i| - eta K lambda1)+ where |w_i| <= theta",
    paper: "Langford, Li, Zhang 2009, algorithm 1",
    bound: "truncated-gradient",
    bytes_per_feature: (24, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "eta",
            kind: Kind::Positive,
            default: None,
            meaning: "the step; 0.5 with --schedule sqrt, required with --schedule constant",
        },
        Parameter {
            name: "schedule",
            kind: Kind::Choice(&["sqrt", "constant"]),
            default: Some("sqrt"),
            meaning: "how the step goes with time: eta/sqrt(t), or eta throughout",
        },
        Parameter {
            name: "lambda1",
            kind: Kind::Nonnegative,
            default: Some("0.0001"),
            meaning: "the gravity: how far a round's share of a truncation pulls, before the step",
        },
        Parameter {
            name: "period",
            kind: Kind::Count,
            default: Some("1"),
            meaning: "K: truncate every so many rounds, by so many rounds' gravity",
        },
        Parameter {
            name: "theta",
            kind: Kind::Positive,
            default: None,
            meaning: "weights beyond it are not truncated; all are when absent",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(TruncatedGradient::new(setup)?, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct TruncatedGradient {
    t: u64,
    eta: f64,
    constant: bool,
    lambda1: f64,
    period: u64,
    theta: Option<f64>,
    /// The sum of all truncations so far.
    truncated: f64,
    /// No fewer than the coordinates that have had a gradient, for the theorem.
    touched: f64,
}

/// A weight after its last touch, and the sum of all truncations by then.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Stamped {
    w: f64,
    truncated: f64,
}

impl Slot for Stamped {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["w", "truncated"];
    fn get(&self, k: usize) -> f64 {
        [self.w, self.truncated][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *[&mut self.w, &mut self.truncated][k] = value;
    }
}

impl TruncatedGradient {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let given = |name| setup.parameters.number(ENTRY.parameters, name);
        let constant = setup.parameters.word(ENTRY.parameters, "schedule") == "constant";
        let eta = match given("eta") {
            Some(eta) => eta,
            None if constant => {
                return Err(UsageError::new(
                    "learner `truncated-gradient` with --schedule constant needs --eta",
                ));
            }
            None => 0.5,
        };
        Ok(Self {
            t: 0,
            eta,
            constant,
            lambda1: given("lambda1").unwrap_or(0.0),
            period: given("period").unwrap_or(1.0) as u64,
            theta: given("theta"),
            truncated: 0.0,
            touched: 0.0,
        })
    }

    /// The weight now.
    #[inline(always)]
    fn now(&self, state: &Stamped) -> f64 {
        let w = state.w;
        if self.theta.is_some_and(|theta| w.abs() > theta) {
            return w;
        }
        let left = w.abs() - (self.truncated - state.truncated);
        if left > 0.0 { left.copysign(w) } else { 0.0 }
    }
}

impl Learner for TruncatedGradient {
    type Slot = Stamped;

    fn predict<V: Value>(&self, slots: &Slots<Stamped>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| self.now(&c.state))
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Stamped>, x: Features<'_, V>, o: &Outcome) {
        self.t += 1;
        let eta = if self.constant { self.eta } else { self.eta / (self.t as f64).sqrt() };
        if o.slope != 0.0 {
            let step = eta * o.slope;
            let mut touched = 0.0;
            slots.enter(x, o.slope, |cell, xi| {
                if cell.state.w == 0.0 && cell.state.truncated == 0.0 {
                    touched += 1.0;
                }
                cell.state = Stamped { w: self.now(&cell.state) - step * xi, truncated: self.truncated };
            });
            self.touched += touched;
        }
        if self.t.is_multiple_of(self.period) {
            self.truncated += eta * self.period as f64 * self.lambda1;
        }
    }

    fn weight(&self, cell: &Cell<Stamped>) -> f64 {
        self.now(&cell.state)
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new(
            "truncated-gradient",
            &[("eta", self.eta), ("d", self.touched), ("truncated", self.truncated)],
        );
        if self.constant { theorem } else { theorem.unmet("iterates are not bounded") }
    }
}
