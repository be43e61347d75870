//! Online ridge regression: regularised empirical risk minimisation for the square loss before
//! anything is linearised.
//!
//! ```text
//! w_{t+1} = argmin over w of  sum over s <= t of c_s (<w, x_s> - y_s)^2  +  (alpha/2) |w|^2
//! ```
//!
//! Kept as the triangular factor `R` of `R'R = (alpha/2) I + sum c x x'` with the right-hand side
//! rotated along: every row is folded in by Givens rotations, which is backward stable, and what is
//! left of its label afterwards is its residual `r_t`. The squares of the residuals sum to the
//! minimum itself: `min over u of [sum c (<u,x> - y)^2 + (alpha/2)|u|^2] = sum r_t^2`.
//!
//! State: `R`, d(d+1)/2 numbers, hence at most 4,096 features. Cost: O(d^2) a round.
//!
//! Theorem: `regret/bound/ridge.rs`. Source: Cesa-Bianchi's notes, "The need for regularization",
//! before the linearisation; Golub, Van Loan, section 6.5 for the update.

use super::slots::{Cell, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

/// The most features, so that `R` stays below 70 MB.
const LARGEST: u32 = 4096;

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
                rows: Vec::new(),
                side: Vec::new(),
                x: Vec::new(),
                w: Vec::new(),
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
    /// Row `k` of `R` from its diagonal on. The bias, where there is one, is coordinate 0.
    #[serde(skip)]
    rows: Vec<Vec<f64>>,
    /// The rotated right-hand side.
    #[serde(skip)]
    side: Vec<f64>,
    #[serde(skip)]
    x: Vec<f64>,
    #[serde(skip)]
    w: Vec<f64>,
}

impl Ridge {
    fn grow(&mut self, d: usize) {
        let old = self.rows.len();
        if d <= old {
            return;
        }
        for row in &mut self.rows {
            row.resize(row.len() + d - old, 0.0);
        }
        for k in old..d {
            let mut row = vec![0.0; d - k];
            row[0] = (self.alpha / 2.0).sqrt();
            self.rows.push(row);
            self.side.push(0.0);
        }
    }

    /// Folds the row `self.x` with label `y` into `R`; returns the residual.
    fn fold(&mut self, mut y: f64) -> f64 {
        let first = self.x.iter().position(|v| *v != 0.0).unwrap_or(self.x.len());
        for k in first..self.rows.len() {
            let xk = self.x[k];
            if xk == 0.0 {
                continue;
            }
            let row = &mut self.rows[k];
            let r = row[0].hypot(xk);
            let (c, s) = (row[0] / r, xk / r);
            for (entry, x) in row.iter_mut().zip(&mut self.x[k..]) {
                let (a, b) = (*entry, *x);
                *entry = c * a + s * b;
                *x = c * b - s * a;
            }
            let (a, b) = (self.side[k], y);
            self.side[k] = c * a + s * b;
            y = c * b - s * a;
        }
        y
    }

    /// `R w = side`.
    fn solve(&mut self) {
        let d = self.rows.len();
        self.w.clear();
        self.w.resize(d, 0.0);
        for k in (0..d).rev() {
            let row = &self.rows[k];
            let dot: f64 = row[1..].iter().zip(&self.w[k + 1..]).map(|(a, b)| a * b).sum();
            self.w[k] = (self.side[k] - dot) / row[0];
        }
    }
}

impl Learner for Ridge {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.v)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        slots.enter(x, o.slope, |_, _| {});
        let shift = usize::from(slots.bias.is_some());
        let d = slots.cells.len() + shift;
        self.grow(d);
        let root = o.weight.sqrt();
        self.x.clear();
        self.x.resize(d, 0.0);
        if shift == 1 {
            self.x[0] = root;
        }
        for (i, v) in x.iter() {
            self.x[i + shift] = root * v;
        }
        let residual = self.fold(root * o.y);
        self.residuals += residual * residual;
        self.suffered += o.weight * (o.z - o.y) * (o.z - o.y);
        self.labels += o.weight * o.y * o.y;
        self.lengths += o.weight * o.norm_squared;
        self.solve();
        if let Some(cell) = &mut slots.bias {
            cell.state.v = self.w[0];
        }
        for (cell, w) in slots.cells.iter_mut().zip(&self.w[shift..]) {
            cell.state.v = *w;
        }
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
                ("d", self.side.len() as f64),
            ],
        )
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        vec![("r", self.rows.concat()), ("side", self.side.clone())]
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let [(r_name, r), (side_name, side)] = arrays else { return false };
        let d = side.len();
        if r_name != "r" || side_name != "side" || d > LARGEST as usize + 1 {
            return false;
        }
        if r.len() != d * (d + 1) / 2 {
            return false;
        }
        let mut rest = r.as_slice();
        self.rows = (0..d)
            .map(|k| {
                let (row, tail) = rest.split_at(d - k);
                rest = tail;
                row.to_vec()
            })
            .collect();
        self.side.clone_from(side);
        true
    }
}
