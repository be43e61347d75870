//! Least squares, one row at a time: the triangular factor `R` of `R'R = A = start^2 I + sum a a'`
//! over the rows `a` folded in so far, and their targets rotated along, so that
//! `w = argmin sum (<w, a> - target)^2 + start^2 |w|^2` solves `R w = side`.
//!
//! Rows are folded in by Givens rotations, which are backward stable; what is left of a target is its
//! residual, and the squares of the residuals sum to that minimum. Memory: d(d+1)/2 numbers. A row costs
//! O(d^2). Source: Golub, Van Loan, section 6.5.

use super::super::slots::{NoMean, Slots, Weight};
use crate::example::{Features, Value};

/// `R` and the rotated targets. `start` stands in the learner's scalars, so it is passed in.
#[derive(Debug, Default)]
pub(in super::super) struct Triangle {
    /// Row `k` of `R` from its diagonal on. The bias, where there is one, is coordinate 0.
    rows: Vec<Vec<f64>>,
    /// The rotated right-hand side.
    side: Vec<f64>,
    x: Vec<f64>,
    w: Vec<f64>,
}

impl Triangle {
    /// How many coordinates it knows, the bias included.
    pub(in super::super) fn len(&self) -> usize {
        self.side.len()
    }

    fn grow(&mut self, d: usize, start: f64) {
        let old = self.rows.len();
        if d <= old {
            return;
        }
        for row in &mut self.rows {
            row.resize(row.len() + d - old, 0.0);
        }
        for k in old..d {
            let mut row = vec![0.0; d - k];
            row[0] = start;
            self.rows.push(row);
            self.side.push(0.0);
        }
    }

    /// Folds in the row `scale x` with the target `y`, and puts the new minimiser into the slots, which
    /// know the row's features already. Returns the residual.
    pub(in super::super) fn fold<V: Value>(
        &mut self,
        slots: &mut Slots<Weight<NoMean>>,
        x: Features<'_, V>,
        start: f64,
        scale: f64,
        y: f64,
    ) -> f64 {
        let shift = usize::from(slots.bias.is_some());
        self.grow(slots.cells.len() + shift, start);
        self.x.clear();
        self.x.resize(self.rows.len(), 0.0);
        if shift == 1 {
            self.x[0] = scale;
        }
        for (i, v) in x.iter() {
            self.x[i + shift] = scale * v;
        }
        let residual = self.rotate(y);
        self.solve();
        if let Some(cell) = &mut slots.bias {
            cell.state.v = self.w[0];
        }
        for (cell, w) in slots.cells.iter_mut().zip(&self.w[shift..]) {
            cell.state.v = *w;
        }
        residual
    }

    fn rotate(&mut self, mut y: f64) -> f64 {
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

    /// `x' A^-1 x`, by `R'q = x`. Coordinates never folded in stand in `A` with `start^2` alone. `q` is
    /// room to work in.
    pub(in super::super) fn leverage<V: Value>(
        &self,
        x: Features<'_, V>,
        bias: bool,
        start: f64,
        q: &mut Vec<f64>,
    ) -> f64 {
        let (d, shift) = (self.rows.len(), usize::from(bias));
        q.clear();
        q.resize(d, 0.0);
        let mut sum = 0.0;
        let constant = bias.then_some((0, 1.0));
        for (k, v) in constant.into_iter().chain(x.iter().map(|(i, v)| (i + shift, v))) {
            match q.get_mut(k) {
                Some(place) => *place = v,
                None => sum += (v / start) * (v / start),
            }
        }
        let first = q.iter().position(|v| *v != 0.0).unwrap_or(d);
        for k in first..d {
            let (done, rest) = q.split_at_mut(k + 1);
            let row = &self.rows[k];
            let t = done[k] / row[0];
            if t != 0.0 {
                for (r, v) in row[1..].iter().zip(rest) {
                    *v -= t * r;
                }
                sum += t * t;
            }
        }
        sum
    }

    /// `ln det(A/start^2)`.
    pub(in super::super) fn log_det(&self, start: f64) -> f64 {
        self.rows.iter().map(|row| 2.0 * (row[0] / start).ln()).sum()
    }

    /// For model files.
    pub(in super::super) fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        vec![("r", self.rows.concat()), ("side", self.side.clone())]
    }

    /// Takes back what [`Triangle::arrays`] gave; `false` if it cannot be that.
    pub(in super::super) fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let [(r_name, r), (side_name, side)] = arrays else { return false };
        let d = side.len();
        if r_name != "r" || side_name != "side" || d > super::LARGEST as usize + 1 {
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
