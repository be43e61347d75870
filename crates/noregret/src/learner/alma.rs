//! ALMA: an approximate large-margin classifier in the style of the Perceptron, whose weight vector
//! stays in a ball and whose margin and step fall with the number of corrections.
//!
//! ```text
//! k = 1
//! m = y <v, x> / |x|
//! if m <= (1 - alpha) B / sqrt(k):
//!     v <- v + c C / sqrt(k) y x/|x|;   v <- v / max(1, |v|);   k <- k + 1
//! w = U v
//! ```
//!
//! The paper's vector is `v`, in the unit ball. Predictions are multiplied by the radius `U`, which
//! changes no sign and lets the hinge loss be read on another scale. The importance weight `c`
//! multiplies the step, as for the Perceptron.
//!
//! State: `v` (scaled, so that normalising is O(1)). Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/alma.rs`, which needs a comparator. Source: Gentile 2001, ALMA_2(alpha; B, C)
//! of figure 1, with `B = sqrt(8)/alpha` and `C = sqrt(2)` as in theorem 3 unless they are given.

use super::iterate::is_due;
use super::slots::{Cell, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, Setup, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "alma",
    summary: "a Perceptron that asks for a margin, normalises rows and stays in the ball of radius U",
    update: "if y z/(U |x|) <= (1 - alpha) B/sqrt(k): v <- P(v + c C/sqrt(k) y x/|x|); w = U v",
    paper: "Gentile 2001, figure 1 (p = 2)",
    bound: "alma",
    bytes_per_feature: (16, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: Some(1.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "alpha",
            kind: Kind::Fraction,
            default: Some("0.9"),
            meaning: "the margin reached on separable data is 1 - alpha of the largest; smaller takes longer",
        },
        Parameter {
            name: "margin",
            kind: Kind::Positive,
            default: None,
            meaning: "B: correction k asks for the margin (1 - alpha) B/sqrt(k); sqrt(8)/alpha when absent",
        },
        Parameter {
            name: "eta",
            kind: Kind::Positive,
            default: None,
            meaning: "C: correction k moves by C/sqrt(k); sqrt(2) when absent",
        },
    ],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(Alma::new(setup), setup.bias))
    },
};

/// Below this scale the vector is folded, so that `1/a` stays far from overflow.
const SMALLEST_SCALE: f64 = 1e-100;

#[derive(Serialize, Deserialize)]
struct Alma {
    radius: f64,
    alpha: f64,
    margin: f64,
    eta: f64,
    /// One more than the corrections so far.
    k: u64,
    /// `v` is this multiple of what the slots hold.
    a: f64,
    /// `|v|^2`.
    q: f64,
}

impl Alma {
    fn new(setup: &Setup<'_>) -> Self {
        let given = |name| setup.parameters.number(ENTRY.parameters, name);
        let alpha = given("alpha").unwrap_or(0.9);
        Self {
            radius: setup.radius.unwrap_or(1.0),
            alpha,
            margin: given("margin").unwrap_or(8f64.sqrt() / alpha),
            eta: given("eta").unwrap_or(std::f64::consts::SQRT_2),
            k: 1,
            a: 1.0,
            q: 0.0,
        }
    }

    /// `v <- v + step y x/|x|` has been done: its norm, and the projection on the unit ball.
    fn project(&mut self, slots: &mut Slots<Weight<NoMean>>, margin: f64, step: f64) {
        self.q += step * (2.0 * margin + step);
        self.k += 1;
        if self.a < SMALLEST_SCALE {
            slots.iter_mut().for_each(|cell| cell.state.v *= self.a);
            self.a = 1.0;
        }
        if is_due(self.k, slots.len()) || self.q < 0.0 {
            self.q = self.a * self.a * slots.norm_squared(|c| c.state.v).0;
        }
        if self.q > 1.0 {
            self.a /= self.q.sqrt();
            self.q = 1.0;
        }
    }
}

impl Learner for Alma {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.radius * self.a * slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        let length = o.norm_squared.sqrt();
        let root = (self.k as f64).sqrt();
        let margin = o.y * o.z / (self.radius * length);
        // A row of length 0 has no margin: 0/0 is not below anything.
        let corrected = margin <= (1.0 - self.alpha) * self.margin / root;
        let step = if corrected { o.weight * self.eta / root } else { 0.0 };
        // The margin asked for may be missed where the hinge loss is 0, and the other way round.
        if corrected || o.slope != 0.0 {
            let dv = step * o.y / (self.a * length);
            let dv = if corrected { dv } else { 0.0 };
            slots.enter_briefly(x, o.slope, |cell, xi| cell.state.v += dv * xi);
        }
        if corrected {
            // The norm grows by the product with the vector that moves, also where the label came late.
            self.project(slots, o.y * o.now / (self.radius * length), step);
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        self.radius * self.a * cell.state.v
    }

    fn ball(&self, _: f64) -> Option<f64> {
        Some(self.radius)
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("alma", &[("ball", self.radius), ("corrections", (self.k - 1) as f64)])
    }
}
