//! FreeGrad: no step to choose and no radius. The weights follow the sum of the gradients, by a factor
//! that grows with what following it would have won.
//!
//! ```text
//! V = h_1^2 + sum of |g_s|^2,   h a bound on the next gradient, never falling,   h_1 the first
//! w = -epsilon S h_1^2 (2V + h|S|)/(2 (V + h|S|)^2 sqrt(V)) exp(|S|^2/(2V + 2h|S|))
//! ```
//!
//! `h` is `lambda` times the longest row, the row in hand included: it is seen before the label.
//! `lambda` is the loss's Lipschitz constant, or the largest slope so far where it has none (or where
//! an importance weight is above 1). A row longer than any before it shortens `w` before it is used.
//!
//! State: `S`, which is the ledger's, and nothing else. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/freegrad.rs`. Source: Mhammedi, Koolen 2020, FreeGrad with hints (their
//! section 3); the reductions to unknown hints and to bounded range ratios are not needed here.

use super::iterate::OfLedger;
use super::slots::{Cell, Dual, NoMean, Slots};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "freegrad",
    summary: "parameter-free: adapts to the gradients and to the norm of the best model, 8 bytes a feature",
    update: "w <- -epsilon S h1^2 (2V + h|S|)/(2 (V + h|S|)^2 sqrt(V)) exp(|S|^2/(2V + 2h|S|))",
    paper: "Mhammedi, Koolen 2020, section 3",
    bound: "freegrad",
    bytes_per_feature: (8, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "wealth",
        kind: Kind::Positive,
        default: Some("1"),
        meaning: "epsilon, what may be lost at first, in units of the first row's largest gradient",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let wealth = setup.parameters.number(ENTRY.parameters, "wealth").unwrap_or(1.0);
        let lambda = setup.loss.lipschitz().unwrap_or(0.0);
        let w = OfLedger::default();
        Ok(boxed(
            FreeGrad { w, wealth, lambda, longest: 0.0, first: 0.0, v: 0.0, exceeded: false },
            setup.bias,
        ))
    },
};

/// Beyond this exponent a prediction would leave the range that a round may have.
const HIGH: f64 = 460.0;

#[derive(Serialize, Deserialize)]
struct FreeGrad {
    w: OfLedger,
    /// `epsilon`.
    wealth: f64,
    lambda: f64,
    /// The length of the longest row.
    longest: f64,
    /// `h_1`; 0 before the first round with a bound.
    first: f64,
    /// `V`.
    v: f64,
    /// Whether a slope was beyond `lambda` when something was at stake.
    exceeded: bool,
}

impl FreeGrad {
    /// The multiple of `S` for rows no longer than `longest`.
    fn multiple(&self, longest: f64) -> f64 {
        if self.first == 0.0 {
            return 0.0;
        }
        // In units of h_1, so that nothing overflows on the way.
        let v = self.v / self.first / self.first;
        let y = self.w.q.max(0.0).sqrt() / self.first;
        let h = self.lambda * longest / self.first;
        let exponent = (y / (2.0 * (v / y + h))).min(HIGH);
        let damped = (2.0 * v + h * y) / (v + h * y) / (v + h * y) / 2.0 / v.sqrt();
        let a = -self.wealth * damped * exponent.exp() / self.first;
        if a.is_finite() { a } else { 0.0 }
    }

    /// The multiple that a row is predicted with.
    fn facing<V: Value, T: super::Slot>(&self, slots: &Slots<T>, x: Features<'_, V>) -> f64 {
        let bias = if slots.bias.is_some() { 1.0 } else { 0.0 };
        self.multiple(self.longest.max((x.norm_squared() + bias).sqrt()))
    }
}

impl Learner for FreeGrad {
    type Slot = Dual<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.facing(slots, x) * slots.dot(x, |c| c.s)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        self.w.a = self.facing(slots, x);
        self.w.step(slots, x, o);
        let size = o.slope.abs();
        self.exceeded |= self.first > 0.0 && size > self.lambda;
        self.lambda = self.lambda.max(size);
        self.longest = self.longest.max(o.norm_squared.sqrt());
        if self.first == 0.0 {
            self.first = self.lambda * self.longest;
            self.v = self.first * self.first;
        }
        self.v += size * size * o.norm_squared;
        self.w.a = self.multiple(self.longest);
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        self.w.weight(cell)
    }

    fn norm_squared(&self) -> Option<f64> {
        Some(self.w.norm_squared())
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new(
            "freegrad",
            &[("epsilon", self.wealth), ("h1", self.first), ("h", self.lambda * self.longest), ("V", self.v)],
        );
        if self.exceeded { theorem.unmet("a slope was larger than the bound before it") } else { theorem }
    }
}
