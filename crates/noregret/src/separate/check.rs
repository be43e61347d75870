//! What is claimed is checked here, from scratch, row by row, in compensated f64 with bounds on every
//! error. Nothing of a method's own bookkeeping enters. The same code checks a certificate as its
//! data streams by.
//!
//! With `u = 2^-53` and `k` products, a plain sum of products is within `k u |w| |m|` of the truth,
//! and a compensated one (Ogita, Rump, Oishi 2005: `dot2`) within `u |result| + (k u)^2 |w| |m|`.
//! Constants below are rounded up generously.

use super::data::{Normalize, Row, Shape};
use crate::regret::{round_down, round_up};

const UNIT: f64 = f64::EPSILON / 2.0;
/// What underflow can take from a sum of products of numbers in the range we allow.
const UNDERFLOW: f64 = 1e-280;

/// `a + b` exactly, as a sum and what it lost.
#[inline]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// `a b` exactly, as a product and what it lost (Dekker, Veltkamp).
#[inline]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let p = a * b;
    let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
    (p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2))
}

/// What normalising a row costs in accuracy: (each value, relative to the row; the whole row, relative).
fn distortion(shape: Shape, entries: usize) -> (f64, f64) {
    match shape.normalize {
        Normalize::None => (0.0, 0.0),
        Normalize::Rows => (2.0 * UNIT, (entries + 16) as f64 * UNIT),
    }
}

fn norm(x: &[f64]) -> f64 {
    // Scaled, so that no square overflows or vanishes.
    let largest = x.iter().fold(0.0_f64, |m, v| if v.is_nan() { f64::INFINITY } else { m.max(v.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let sum: crate::regret::Sum = x.iter().map(|v| (v / largest) * (v / largest)).collect();
    largest * sum.value().sqrt()
}

/// Checks that a hyperplane separates, and by how much.
pub struct Hyperplane {
    shape: Shape,
    w: Vec<f64>,
    /// No smaller than the length of `w`.
    norm: f64,
    /// No larger than the smallest `<w, m_i>` so far.
    least: f64,
    /// The most entries of a row so far.
    entries: usize,
}

impl Hyperplane {
    /// For rows of this shape. `None` when `w` is zero or not finite.
    pub fn new(shape: Shape, w: &[f64]) -> Option<Self> {
        let largest = w.iter().fold(0.0_f64, |m, v| if v.is_nan() { f64::NAN } else { m.max(v.abs()) });
        if !(largest > 0.0 && largest.is_finite()) || w.iter().any(|v| !v.is_finite()) {
            return None;
        }
        // A power of two changes no digit.
        let scale = 2.0_f64.powi(-(largest.log2().floor() as i32).clamp(-1000, 1000));
        let w: Vec<f64> = w.iter().map(|v| v * scale).collect();
        let norm = norm(&w) * (1.0 + 16.0 * UNIT);
        Some(Self { shape, w, norm, least: f64::INFINITY, entries: 0 })
    }

    /// Takes the next row.
    pub fn row(&mut self, row: Row<'_>) {
        let k = row.columns.len();
        self.entries = self.entries.max(k);
        let length = row.norm * (1.0 + (k + 8) as f64 * UNIT) * self.norm;
        let rough = (k + 16) as f64 * UNIT * length + UNDERFLOW;
        let value = if row.columns.last().is_none_or(|&c| (c as usize) < self.w.len()) {
            row.dot(&self.w)
        } else {
            self.compensated(row)
        };
        // Far from the smallest: nothing more to know.
        if value - rough >= self.least {
            return;
        }
        let value = self.compensated(row);
        let (each, _) = distortion(self.shape, k);
        let square = (k + 2) as f64 * UNIT;
        let error = 2.0 * UNIT * value.abs() + (2.0 * square * square + each) * length + UNDERFLOW;
        let lower = round_down(value - error * 1.01);
        self.least = if lower.is_nan() { f64::NEG_INFINITY } else { self.least.min(lower) };
    }

    fn compensated(&self, row: Row<'_>) -> f64 {
        let (mut sum, mut lost) = (0.0, 0.0);
        for (&c, &v) in row.columns.iter().zip(row.values) {
            // A column that the hyperplane does not know has weight 0.
            let w = self.w.get(c as usize).copied().unwrap_or(0.0);
            let (product, below) = two_product(w, v);
            let (total, rest) = two_sum(sum, product);
            sum = total;
            lost += below + rest;
        }
        sum + lost
    }

    /// A number that the margin of this hyperplane surely reaches; 0 or less when it does not surely
    /// separate.
    pub fn margin(&self) -> f64 {
        if !self.least.is_finite() {
            return 0.0;
        }
        let (_, whole) = distortion(self.shape, self.entries);
        let margin = round_down(self.least / self.norm);
        margin - margin.abs() * whole
    }
}

/// Checks the bound `|sum p_i m_i| / sum p_i` on every margin.
pub struct Mixture {
    shape: Shape,
    sum: Vec<f64>,
    lost: Vec<f64>,
    total: crate::regret::Sum,
    /// `sum p_i |m_i|`.
    lengths: f64,
    rows: usize,
    entries: usize,
}

impl Mixture {
    /// For rows of this shape and width.
    pub fn new(shape: Shape, width: usize) -> Self {
        Self {
            shape,
            sum: vec![0.0; width],
            lost: vec![0.0; width],
            total: crate::regret::Sum::default(),
            lengths: 0.0,
            rows: 0,
            entries: 0,
        }
    }

    /// Takes a row of weight `p > 0`.
    pub fn row(&mut self, row: Row<'_>, p: f64) {
        let needed = row.columns.last().map_or(0, |&c| c as usize + 1);
        if needed > self.sum.len() {
            self.sum.resize(needed, 0.0);
            self.lost.resize(needed, 0.0);
        }
        for (&c, &v) in row.columns.iter().zip(row.values) {
            let c = c as usize;
            let (product, below) = two_product(p, v);
            let (total, rest) = two_sum(self.sum[c], product);
            self.sum[c] = total;
            self.lost[c] += below + rest;
        }
        self.total.add(p);
        self.lengths += p * row.norm;
        self.rows += 1;
        self.entries = self.entries.max(row.columns.len());
    }

    /// The mean length of the rows, weighted as they are.
    pub fn mean_length(&self) -> f64 {
        let total = self.total.value();
        if total > 0.0 { self.lengths / total } else { 0.0 }
    }

    /// A number that no margin exceeds; infinite without rows.
    pub fn bound(&self) -> f64 {
        let total = self.total.value();
        if self.rows == 0 || !(total > 0.0 && total.is_finite()) {
            return f64::INFINITY;
        }
        let mixed: Vec<f64> = self.sum.iter().zip(&self.lost).map(|(s, l)| s + l).collect();
        let (each, whole) = distortion(self.shape, self.entries);
        let square = (self.rows + 2) as f64 * UNIT;
        let slack = (2.0 * square * square + each) * self.lengths * 1.01;
        let under = UNDERFLOW * (self.sum.len() as f64).sqrt();
        let length = norm(&mixed) * (1.0 + 16.0 * UNIT) + slack + under;
        let bound = round_up(length / (total * (1.0 - 4.0 * UNIT))) * (1.0 + whole + 8.0 * UNIT);
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}

/// Whether `sum p_i m_i` is zero exactly: every column is summed without any rounding (Shewchuk 1997).
pub fn vanishes<'a>(rows: impl IntoIterator<Item = (Row<'a>, f64)>) -> bool {
    let mut columns: std::collections::HashMap<u32, Vec<f64>> = std::collections::HashMap::new();
    for (row, p) in rows {
        for (&c, &v) in row.columns.iter().zip(row.values) {
            let (high, low) = two_product(p, v);
            // Below this, what a product lost may itself be lost.
            if !high.is_finite() || high.abs() < 1e-250 {
                return false;
            }
            let parts = columns.entry(c).or_default();
            grow(parts, low);
            grow(parts, high);
        }
    }
    columns.values().all(|parts| parts.iter().all(|&v| v == 0.0))
}

/// Adds a number to an expansion: numbers that do not overlap, smallest first.
fn grow(parts: &mut Vec<f64>, x: f64) {
    let mut carried = x;
    let mut kept = 0;
    for k in 0..parts.len() {
        let (sum, rest) = two_sum(carried, parts[k]);
        carried = sum;
        if rest != 0.0 {
            parts[kept] = rest;
            kept += 1;
        }
    }
    parts.truncate(kept);
    if carried != 0.0 {
        parts.push(carried);
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Data;
    use super::*;

    const PLAIN: Shape = Shape { bias: false, normalize: Normalize::None };

    fn data(rows: &[&[f64]]) -> Data {
        let mut data = Data::new(PLAIN);
        for row in rows {
            let columns: Vec<u32> = (0..row.len() as u32).collect();
            data.push(crate::example::Features::new(&columns, row), 1.0);
        }
        data
    }

    #[test]
    fn products_and_sums_lose_nothing() {
        let (a, b) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON / 2.0);
        let (p, below) = two_product(a, b);
        assert_eq!((p, below), (a * b, a.mul_add(b, -(a * b))));
        assert_eq!(two_sum(1e16, 1.0), (1e16, 1.0));
    }

    #[test]
    fn a_margin_is_rounded_down_and_a_bound_up() {
        let data = data(&[&[3.0, 1.0], &[1.0, 3.0]]);
        let mut plane = Hyperplane::new(PLAIN, &[0.1, 0.1]).unwrap();
        data.rows().for_each(|row| plane.row(row));
        let truth = 8.0_f64.sqrt();
        assert!(plane.margin() < truth && plane.margin() > truth * (1.0 - 1e-13));
        let mut mixture = Mixture::new(PLAIN, 2);
        data.rows().for_each(|row| mixture.row(row, 0.3));
        assert!(mixture.bound() > truth && mixture.bound() < truth * (1.0 + 1e-13));
    }

    #[test]
    fn cancellation_is_seen_through() {
        // <w, m> = 1e-20 exactly, far below the rounding of its terms.
        let data = data(&[&[1.0, -1.0, 1e-20]]);
        let mut plane = Hyperplane::new(PLAIN, &[1.0, 1.0, 1.0]).unwrap();
        plane.row(data.row(0));
        assert!(plane.margin() > 0.0);
        let mut plane = Hyperplane::new(PLAIN, &[1.0, 1.0, 0.0]).unwrap();
        plane.row(data.row(0));
        assert!(plane.margin() <= 0.0);
    }

    #[test]
    fn an_exact_zero_is_told_from_a_near_one() {
        let exact = data(&[&[0.1, 3.0], &[-0.1, -3.0]]);
        assert!(vanishes(exact.rows().map(|row| (row, 0.7))));
        let near = data(&[&[0.1, 3.0], &[-0.1, -3.0 - 1e-15]]);
        assert!(!vanishes(near.rows().map(|row| (row, 0.7))));
    }

    #[test]
    fn what_is_no_hyperplane_is_refused() {
        for w in [vec![0.0, 0.0], vec![f64::NAN], vec![1.0, f64::INFINITY], vec![f64::NAN, 1.0]] {
            assert!(Hyperplane::new(PLAIN, &w).is_none(), "{w:?}");
        }
    }
}
