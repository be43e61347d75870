//! The point of smallest norm in the hull of a few rows (Wolfe 1976), by whose length `|x|` no margin
//! exceeds, and which is the best hyperplane for those rows besides.
//!
//! ```text
//! x = sum lambda_i m_i over the corral, whose rows are affinely independent
//! major:  add the row of smallest <x, m_j>, if that is below |x|^2
//! minor:  go towards the smallest point of the corral's affine hull; drop rows whose weight
//!         reaches 0 on the way, until it is reached with all weights positive
//! ```
//!
//! With `G = M M^T` over the corral and `R^T R = G + s 1 1^T`, the step from `x` is the solution of
//! `G step + nu 1 = -M x`, `sum step = 0`. It starts from `x` itself, not from `G` alone, so repeating
//! it refines the point past the square root of the rounding that normal equations would stop at:
//! rows that cancel are brought to cancel to the last digits.

use super::data::Data;
use super::game::{dot, norm};

/// A corral and its point.
pub(super) struct Corral {
    /// Rows.
    pub(super) rows: Vec<usize>,
    /// Their weights, of sum 1.
    pub(super) lambda: Vec<f64>,
    /// The point.
    pub(super) x: Vec<f64>,
    /// Columns of the triangle `R`.
    factor: Vec<Vec<f64>>,
    /// What is added to each entry of `G`.
    shift: f64,
    /// A row written out.
    scatter: Vec<f64>,
}

/// A pivot this small relative to its row says that the row depends on the others.
const DEPENDENT: f64 = 1e-13;

impl Corral {
    /// One row.
    pub(super) fn new(data: &Data, row: usize, shift: f64) -> Self {
        let mut corral = Self {
            rows: Vec::new(),
            lambda: Vec::new(),
            x: vec![0.0; data.width()],
            factor: Vec::new(),
            shift,
            scatter: vec![0.0; data.width()],
        };
        corral.insert(data, row);
        corral.lambda[0] = 1.0;
        corral.rebuild(data);
        corral
    }

    /// The length of the point.
    pub(super) fn length(&self) -> f64 {
        norm(&self.x)
    }

    /// Adds a row with weight 0, and makes room for it if it depends on the others. `false` if it
    /// cannot be added.
    fn insert(&mut self, data: &Data, j: usize) -> bool {
        let row = data.row(j);
        row.add_to(1.0, &mut self.scatter);
        let mut column: Vec<f64> =
            self.rows.iter().map(|&i| data.row(i).dot(&self.scatter) + self.shift).collect();
        for &c in row.columns {
            self.scatter[c as usize] = 0.0;
        }
        let own = row.norm * row.norm + self.shift;
        self.forward(&mut column);
        let mut pivot = own - dot(&column, &column);
        if pivot <= DEPENDENT * own {
            // row = sum c_i m_i with sum c = 1: weight can go from those to the row without moving x.
            let mut c = column.clone();
            self.backward(&mut c);
            let Some((k, step)) = (0..c.len())
                .filter(|&k| c[k] > 1e-9)
                .map(|k| (k, self.lambda[k] / c[k]))
                .min_by(|a, b| a.1.total_cmp(&b.1))
            else {
                return false;
            };
            for (lambda, c) in self.lambda.iter_mut().zip(&c) {
                *lambda = (*lambda - step * c).max(0.0);
            }
            self.remove(k);
            row.add_to(1.0, &mut self.scatter);
            column = self.rows.iter().map(|&i| data.row(i).dot(&self.scatter) + self.shift).collect();
            for &c in row.columns {
                self.scatter[c as usize] = 0.0;
            }
            self.forward(&mut column);
            pivot = own - dot(&column, &column);
            if pivot <= DEPENDENT * own {
                self.settle(data);
                return false;
            }
            column.push(pivot.sqrt());
            self.factor.push(column);
            self.rows.push(j);
            self.lambda.push(step);
            self.settle(data);
            return true;
        }
        column.push(pivot.sqrt());
        self.factor.push(column);
        self.rows.push(j);
        self.lambda.push(0.0);
        true
    }

    /// Takes row number `k` of the corral out; rotations make the factor a triangle again.
    fn remove(&mut self, k: usize) {
        self.rows.remove(k);
        self.lambda.remove(k);
        self.factor.remove(k);
        for j in k..self.factor.len() {
            let (a, b) = (self.factor[j][j], self.factor[j][j + 1]);
            let length = a.hypot(b);
            let (c, s) = (a / length, b / length);
            for column in &mut self.factor[j..] {
                let (a, b) = (column[j], column[j + 1]);
                column[j] = c * a + s * b;
                column[j + 1] = c * b - s * a;
            }
            self.factor[j].truncate(j + 1);
        }
    }

    /// `R^T y = b`.
    fn forward(&self, b: &mut [f64]) {
        for j in 0..b.len() {
            let column = &self.factor[j];
            b[j] = (b[j] - dot(&column[..j], &b[..j])) / column[j];
        }
    }

    /// `R u = y`.
    fn backward(&self, y: &mut [f64]) {
        for j in (0..y.len()).rev() {
            let column = &self.factor[j];
            y[j] /= column[j];
            let value = y[j];
            y[..j].iter_mut().zip(column).for_each(|(y, r)| *y -= r * value);
        }
    }

    /// The step to the smallest point of the affine hull.
    fn step(&self, data: &Data) -> Vec<f64> {
        let mut a: Vec<f64> = self.rows.iter().map(|&i| data.row(i).dot(&self.x)).collect();
        // Only differences matter; this keeps them small.
        let mean = a.iter().sum::<f64>() / a.len() as f64;
        for a in &mut a {
            *a -= mean;
        }
        let mut b = vec![1.0; a.len()];
        for v in [&mut a, &mut b] {
            self.forward(v);
            self.backward(v);
        }
        let nu = -a.iter().sum::<f64>() / b.iter().sum::<f64>();
        a.iter().zip(&b).map(|(a, b)| -a - nu * b).collect()
    }

    /// Weights of sum 1, and the point from scratch.
    fn settle(&mut self, data: &Data) {
        let total: f64 = self.lambda.iter().sum();
        self.lambda.iter_mut().for_each(|l| *l /= total);
        self.rebuild(data);
    }

    fn rebuild(&mut self, data: &Data) {
        self.x.fill(0.0);
        for (&i, &l) in self.rows.iter().zip(&self.lambda) {
            data.row(i).add_to(l, &mut self.x);
        }
    }

    /// Minor cycles, until the point is the smallest of the affine hull and inside.
    fn minor(&mut self, data: &Data) {
        while self.rows.len() > 1 {
            let step = self.step(data);
            let mut reach = 1.0;
            for (l, s) in self.lambda.iter().zip(&step) {
                if l + s <= 0.0 {
                    reach = f64::min(reach, l / -s);
                }
            }
            let full = reach >= 1.0;
            for (l, s) in self.lambda.iter_mut().zip(&step) {
                *l += reach * s;
            }
            let smallest = self.lambda.iter().copied().fold(f64::INFINITY, f64::min).max(0.0);
            if !full {
                let gone = smallest + 1e-15;
                for k in (0..self.rows.len()).rev() {
                    if self.lambda[k] <= gone && self.rows.len() > 1 {
                        self.remove(k);
                    }
                }
            }
            self.settle(data);
            if full {
                break;
            }
        }
    }

    /// Major cycles over the rows of `pool`, until none is worth adding or there were `most` of them.
    /// Returns how many there were.
    pub(super) fn minimise(&mut self, data: &Data, pool: &[usize], target: &Target) -> u64 {
        let mut majors = 0;
        let mut barred: Vec<usize> = Vec::new();
        let mut worst: Vec<(f64, usize)> = Vec::new();
        loop {
            let square = dot(&self.x, &self.x);
            if square.sqrt() <= target.enough || majors >= target.most || self.rows.len() >= target.rows {
                break;
            }
            let bar = square * (1.0 - target.gap);
            worst.clear();
            for &i in pool {
                let z = data.row(i).dot(&self.x);
                if z < bar && !barred.contains(&i) && !self.rows.contains(&i) {
                    worst.push((z, i));
                }
            }
            // Several at once while there is room for many: those that do not help are dropped again.
            let room =
                (data.width().min(target.rows).saturating_sub(self.rows.len()) / 8).min(worst.len() / 8);
            let count = room.clamp(1, 64).min(worst.len());
            if count == 0 {
                break;
            }
            worst.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            worst.truncate(count);
            majors += 1;
            let mut joined = false;
            for &(_, j) in &worst {
                joined |= self.insert(data, j);
            }
            if joined {
                self.minor(data);
            }
            let after = dot(&self.x, &self.x);
            if !joined || after >= square * (1.0 - 1e-14) {
                barred.extend(worst.iter().map(|(_, j)| *j));
                if barred.len() > 100 {
                    break;
                }
            } else {
                barred.clear();
            }
        }
        // Refine: the last digits, where they matter.
        for _ in 0..3 {
            if self.rows.len() < 2 || self.length() <= target.enough {
                break;
            }
            let step = self.step(data);
            if self.lambda.iter().zip(&step).any(|(l, s)| l + s <= 0.0) {
                break;
            }
            let (old_lambda, old) = (self.lambda.clone(), self.length());
            self.lambda.iter_mut().zip(&step).for_each(|(l, s)| *l += s);
            self.settle(data);
            if self.length() >= old {
                self.lambda = old_lambda;
                self.rebuild(data);
                break;
            }
        }
        majors
    }
}

/// When to be content.
pub(super) struct Target {
    /// A length this small.
    pub(super) enough: f64,
    /// No row more than this, relatively, below the point.
    pub(super) gap: f64,
    /// The most major cycles.
    pub(super) most: u64,
    /// The largest corral.
    pub(super) rows: usize,
}

#[cfg(test)]
mod tests {
    use super::super::data::{Normalize, Shape};
    use super::*;
    use crate::example::Features;

    fn data(rows: &[&[f64]]) -> Data {
        let mut data = Data::new(Shape { bias: false, normalize: Normalize::None });
        for row in rows {
            let columns: Vec<u32> = (0..row.len() as u32).collect();
            data.push(Features::new(&columns, row), 1.0);
        }
        data
    }

    fn minimised(data: &Data) -> Corral {
        let mut corral = Corral::new(data, 0, data.longest().powi(2));
        let pool: Vec<usize> = (0..data.len()).collect();
        corral.minimise(data, &pool, &Target { enough: 1e-15, gap: 1e-12, most: 1000, rows: 100 });
        corral
    }

    #[test]
    fn the_smallest_point_of_a_segment_and_of_a_triangle() {
        let corral = minimised(&data(&[&[2.0, 1.0], &[2.0, -3.0], &[5.0, 0.0]]));
        assert!((corral.length() - 2.0).abs() < 1e-14);
        let corral = minimised(&data(&[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]]));
        assert!((corral.length() - 3.0_f64.sqrt().recip()).abs() < 1e-15);
        assert!(corral.lambda.iter().all(|l| (l - 1.0 / 3.0).abs() < 1e-14));
    }

    #[test]
    fn a_hull_around_zero_is_brought_to_zero() {
        let corral = minimised(&data(&[&[1.0, 0.1], &[-0.3, 1.7], &[-0.9, -0.2], &[0.3, -0.9]]));
        assert!(corral.length() < 1e-15, "{}", corral.length());
    }

    #[test]
    fn dependent_rows_do_no_harm() {
        let corral = minimised(&data(&[
            &[1.0, 1.0],
            &[1.0, 1.0],
            &[1.0, -1.0],
            &[1.0, 0.0],
            &[2.0, 0.0],
            &[1.0, -1.0],
        ]));
        assert!((corral.length() - 1.0).abs() < 1e-14);
    }
}
