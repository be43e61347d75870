//! Online ridge regression: regularised empirical risk minimisation for the square loss before
//! anything is linearised.
//!
//! ```text
//! w_{t+1} = argmin over w of  sum over s <= t of c_s (<w, x_s> - y_s)^2  +  (alpha/2) |w|^2
//! ```
//!
//! Kept as the triangular factor `R` of `R'R = (alpha/2) I + sum c x x'` (`state/triangle.rs`). What
//! is left of a label when its row has been folded in is its residual `r_t`, and the squares of the
//! residuals sum to the minimum itself: `min over u of [sum c (<u,x> - y)^2 + (alpha/2)|u|^2] = sum r_t^2`.
//!
//! State: `R`, d(d+1)/2 numbers, hence at most 4,096 features. Cost: O(d^2) a round.
//!
//! Theorem: `regret/bound/ridge.rs`. Source: Cesa-Bianchi's notes, "The need for regularization",
//! before the linearisation; Golub, Van Loan, section 6.5 for the update.

use super::slots::{Cell, NoMean, Slots, Weight};
use super::state::{LARGEST, Triangle};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "ridge",
    summary: "exact online ridge regression, O(d^2) a round, at most 4,096 features",
    update: "w <- argmin sum c (<w,x> - y)^2 + (alpha/2) |w|^2",
    paper: "Hoerl, Kennard 1970; Cesa-Bianchi, notes on online gradient descent",
    bound: "ridge",
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
        Ok(boxed(
            Ridge {
                alpha,
                residuals: 0.0,
                suffered: 0.0,
                labels: 0.0,
                lengths: 0.0,
                triangle: Triangle::default(),
            },
            setup.bias,
        ))
    },
};

#[derive(Serialize, Deserialize)]
struct Ridge {
    alpha: f64,
    /// Sum of `r_t^2`, the minimum in hindsight with the penalty.
    residuals: f64,
    /// Sum of the losses suffered.
    suffered: f64,
    /// Sums of `c y^2` and of `c |x|^2`: what the rounding of the residuals is measured by.
    labels: f64,
    /// See `labels`.
    lengths: f64,
    #[serde(skip)]
    triangle: Triangle,
}

impl Learner for Ridge {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        slots.enter_briefly(x, o.slope, |_, _| {});
        let (start, root) = ((self.alpha / 2.0).sqrt(), o.weight.sqrt());
        let residual = self.triangle.fold(slots, x, start, root, root * o.y);
        self.residuals += residual * residual;
        self.suffered += o.weight * (o.z - o.y) * (o.z - o.y);
        self.labels += o.weight * o.y * o.y;
        self.lengths += o.weight * o.norm_squared;
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn theorem(&self) -> Theorem {
        Theorem::new(
            "ridge",
            &[
                ("alpha", self.alpha),
                ("sum_losses", self.suffered),
                ("sum_residuals", self.residuals),
                ("sum_y2", self.labels),
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
