//! The margin bracket: for every `w` and every distribution `p`,
//! `min_i <w, m_i>/|w|  <=  best margin  <=  |sum p_i m_i|`.
//!
//! While a method runs, the best of both sides are kept by their estimates; before anything is
//! claimed they are checked from scratch.

use super::check::{Hyperplane, Mixture, vanishes};
use super::data::{Data, Normalize};
use super::{Method, View, Which};

/// The best hyperplane and the best weights so far.
pub struct Bracket {
    /// The estimated margin of `w`.
    pub margin: f64,
    w: Option<Vec<f64>>,
    /// The estimated bound of `p`.
    pub bound: f64,
    p: Vec<(usize, f64)>,
}

/// Rows up to which a proof is also tried for an exact zero.
const EXACT_ROWS: usize = 4096;
/// A bound below this, relative to the longest row, may be an exact zero.
const NEARLY: f64 = 1e-9;

/// A bracket that has been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// The best margin is at least this, and never below 0.
    pub at_least: f64,
    /// No margin is above this.
    pub at_most: f64,
    /// `at_most` is 0 because the weighted rows cancel without any rounding.
    pub exact: bool,
    /// A hyperplane with the margin `at_least`, where that is positive.
    pub hyperplane: Option<Vec<f64>>,
    /// Weights of rows (not normalised) with the bound `at_most`.
    pub weights: Vec<(usize, f64)>,
    /// The mean length of those rows, so weighted.
    pub mean_length: f64,
}

impl Bracket {
    /// The shortest row alone is a first bound.
    pub fn new(data: &Data) -> Self {
        let shortest = (0..data.len()).min_by(|&a, &b| data.row(a).norm.total_cmp(&data.row(b).norm));
        let bound = shortest.map_or(f64::INFINITY, |i| data.row(i).norm);
        Self { margin: 0.0, w: None, bound, p: shortest.map(|i| (i, 1.0)).into_iter().collect() }
    }

    /// Takes what a method shows, where it is better. Copies are made only for a step that is worth
    /// it (a hundredth of the width), or always at the end.
    pub fn offer(&mut self, method: &dyn Method, view: &View, always: bool) {
        let step = if always { 0.0 } else { 0.01 * (self.bound - self.margin).max(0.0) };
        for which in Which::BOTH {
            if let Some(margin) = view.margin[which as usize]
                && (margin > self.margin + step || margin > 0.0 && self.margin <= 0.0)
                && margin.is_finite()
            {
                self.offer_hyperplane(margin, method.hyperplane(which));
            }
            if let Some(bound) = view.bound[which as usize]
                && bound < self.bound - step
            {
                let p = method.weights(which);
                self.offer_weights(bound, p.iter().copied().enumerate().filter(|(_, p)| *p > 0.0).collect());
            }
        }
    }

    /// Takes a hyperplane if it is better.
    pub fn offer_hyperplane(&mut self, margin: f64, w: Vec<f64>) {
        if margin > self.margin || self.w.is_none() {
            (self.margin, self.w) = (margin, Some(w));
        }
    }

    /// Takes weights of rows if they are better.
    pub fn offer_weights(&mut self, bound: f64, p: Vec<(usize, f64)>) {
        if bound < self.bound {
            (self.bound, self.p) = (bound, p);
        }
    }

    /// Checks both sides from scratch.
    pub fn verify(&self, data: &Data) -> Verified {
        let at_least = self.w.as_ref().map_or(0.0, |w| margin_of(data, w)).max(0.0);
        // Normalised rows are rounded, so nothing exact can be said of them, unless they are zero.
        let (bound, mean_length) = bound_of(data, &self.p);
        let exact = bound <= NEARLY * mean_length + f64::MIN_POSITIVE.sqrt()
            && (data.shape().normalize == Normalize::None
                || self.p.iter().all(|&(i, _)| data.row(i).columns.is_empty()))
            && self.p.len() <= EXACT_ROWS
            && vanishes(self.p.iter().map(|&(i, p)| (data.row(i), p)));
        let at_most = if exact { 0.0 } else { bound };
        Verified {
            at_least,
            at_most,
            exact,
            hyperplane: self.w.clone().filter(|_| at_least > 0.0),
            weights: self.p.clone(),
            mean_length,
        }
    }
}

/// A margin that `w` surely has; 0 or less if it does not surely separate.
pub fn margin_of(data: &Data, w: &[f64]) -> f64 {
    let Some(mut check) = Hyperplane::new(data.shape(), w) else { return 0.0 };
    data.rows().for_each(|row| check.row(row));
    check.margin()
}

/// A bound that `p` surely gives, and the mean length of its rows.
pub fn bound_of(data: &Data, p: &[(usize, f64)]) -> (f64, f64) {
    let mut check = Mixture::new(data.shape(), data.width());
    for &(i, p) in p {
        check.row(data.row(i), p);
    }
    (check.bound(), check.mean_length())
}
