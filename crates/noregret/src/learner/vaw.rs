//! The Vovk–Azoury–Warmuth forecaster: ridge regression that counts the row it is asked about before
//! its label is known.
//!
//! ```text
//! A_t = (alpha/2) I + sum over s <= t of x_s x_s'          the current row included
//! z_t = < A_t^-1 (sum over s < t of y_s x_s), x_t >
//!     = <w_t, x_t> / (1 + x_t' A_{t-1}^-1 x_t)             w_t as in `ridge`
//! ```
//!
//! So it is `ridge` with every prediction drawn towards 0, the more the newer the row's direction. The
//! prediction is not linear in `x`; the weights shown are those of `w_t`. A row's importance is not known
//! when it is predicted: it counts once there and `c` times in the update, `A += c x x'`.
//!
//! State: a triangular factor, d(d+1)/2 numbers, hence at most 4,096 features. Cost: O(d^2) a round, and
//! O(d^2) a prediction.
//!
//! Theorem: `regret/bound/vaw.rs`. Source: Vovk 2001; Azoury, Warmuth 2001 (the forward algorithm).

use super::slots::{Cell, NoMean, Slots, Weight};
use super::state::{LARGEST, Triangle};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "vaw",
    summary: "the Vovk-Azoury-Warmuth forecaster: ridge that counts the row it predicts, O(d^2) a row, at most 4,096 features",
    update: "z = <w,x>/(1 + x' A^-1 x), w as in ridge, A = (alpha/2) I + sum c x x'",
    paper: "Vovk 2001; Azoury, Warmuth 2001, the forward algorithm",
    bound: "vaw",
    bytes_per_feature: (16 + 4 * LARGEST as usize, None),
    losses: Losses::Only(&["square"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: Some(LARGEST),
    parameters: &[Parameter {
        name: "alpha",
        kind: Kind::Positive,
        default: Some("1"),
        meaning: "the strength of the regulariser (alpha/2)|w|^2",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let alpha = setup.parameters.number(ENTRY.parameters, "alpha").unwrap_or(1.0);
        Ok(boxed(Vaw { alpha, ..Vaw::default() }, setup.bias))
    },
};

#[derive(Default, Serialize, Deserialize)]
struct Vaw {
    alpha: f64,
    /// Sum of the squared residuals: the minimum in hindsight with the penalty.
    residuals: f64,
    /// Sum of the losses suffered.
    suffered: f64,
    /// Sums of `c y^2` and of `c |x|^2`: what the rounding of the residuals is measured by.
    labels: f64,
    /// See `labels`.
    lengths: f64,
    /// The largest `|y|`.
    largest_label: f64,
    /// `ln det(A_T) - ln det(A_0)`, the sum of `ln(1 + x' A^-1 x)`.
    log_det: f64,
    /// Whether a row had an importance other than 1.
    weighted: bool,
    /// `x' A^-1 x` of the row being learned.
    #[serde(skip)]
    leverage: f64,
    #[serde(skip)]
    room: Vec<f64>,
    #[serde(skip)]
    triangle: Triangle,
}

impl Vaw {
    fn start(&self) -> f64 {
        (self.alpha / 2.0).sqrt()
    }

    /// The prediction and the row's leverage.
    fn ask<V: Value>(
        &self,
        slots: &Slots<Weight<NoMean>>,
        x: Features<'_, V>,
        room: &mut Vec<f64>,
    ) -> (f64, f64) {
        let leverage = self.triangle.leverage(x, slots.bias.is_some(), self.start(), room);
        (slots.dot(x, |c| c.state.v) / (1.0 + leverage), leverage)
    }
}

impl Learner for Vaw {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.ask(slots, x, &mut Vec::new()).0
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        let mut room = std::mem::take(&mut self.room);
        let (z, leverage) = self.ask(slots, x, &mut room);
        self.room = room;
        self.leverage = leverage;
        z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        slots.enter_briefly(x, o.slope, |_, _| {});
        let (start, root) = (self.start(), o.weight.sqrt());
        let residual = self.triangle.fold(slots, x, start, root, root * o.y);
        self.residuals += residual * residual;
        self.suffered += o.weight * (o.z - o.y) * (o.z - o.y);
        self.labels += o.weight * o.y * o.y;
        self.lengths += o.weight * o.norm_squared;
        self.largest_label = self.largest_label.max(o.y.abs());
        self.log_det += (o.weight * self.leverage).ln_1p();
        self.weighted |= o.weight != 1.0;
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new(
            "vaw",
            &[
                ("alpha", self.alpha),
                ("Y", self.largest_label),
                ("log_det", self.log_det),
                ("sum_losses", self.suffered),
                ("sum_residuals", self.residuals),
                ("sum_y2", self.labels),
                ("sum_x2", self.lengths),
                ("d", self.triangle.len() as f64),
            ],
        );
        if self.weighted { theorem.unmet("importance weights other than 1") } else { theorem }
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.triangle.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.triangle.set_arrays(arrays)
    }
}
