//! Coordinate ascent in the dual of the largest margin (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008,
//! without a limit on the weights).
//!
//! ```text
//! data:     for the rows in random order: a_i = max(0, a_i + (1 - <w, m_i>)/|m_i|^2)
//! learner:  w = sum a_i m_i
//! ```
//!
//! A Perceptron that asks for the margin 1, takes the step that just reaches it, and takes steps back.
//! `p_i = a_i/sum a` bounds every margin by `|w|/sum a`. Rows that are far on the right side are left
//! out until the next look at all rows. The order is random with a fixed seed: runs repeat.

use super::data::Data;
use super::game::{margins, norm};
use super::{Counts, Entry, Method, View, Which};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

pub(super) static ENTRY: Entry = Entry {
    name: "coordinate",
    summary: "coordinate ascent in the dual, row by row",
    guarantee: "linear convergence to the largest margin",
    paper: "Hsieh, Chang, Lin, Keerthi, Sundararajan 2008",
    build: |data| Box::new(Coordinate::new(data, &[])),
};

/// All rows are looked at every so many rounds.
const LOOK: u64 = 3;

pub(super) struct Coordinate {
    weights: Vec<f64>,
    w: Vec<f64>,
    active: Vec<usize>,
    z: Vec<f64>,
    least: Option<f64>,
    random: Pcg64Mcg,
    rounds: u64,
    iterations: u64,
    /// The width of the bracket at the looks, relative to its upper end.
    widths: Vec<f64>,
}

impl Coordinate {
    /// From these weights, scaled as well as one number can.
    pub(super) fn new(data: &Data, p: &[f64]) -> Self {
        let mut w = vec![0.0; data.width()];
        for (i, &p) in p.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            data.row(i).add_to(p, &mut w);
        }
        let square = norm(&w).powi(2);
        let scale = if square > 0.0 { p.iter().sum::<f64>() / square } else { 0.0 };
        let mut weights: Vec<f64> = p.iter().map(|p| p * scale).collect();
        weights.resize(data.len(), 0.0);
        for w in &mut w {
            *w *= scale;
        }
        Self {
            weights,
            w,
            active: (0..data.len()).collect(),
            z: vec![0.0; data.len()],
            least: None,
            random: Pcg64Mcg::seed_from_u64(1),
            rounds: 0,
            iterations: 0,
            widths: Vec::new(),
        }
    }

    /// The best weight for one row; the learner's `w` follows.
    fn step(&mut self, data: &Data, i: usize) {
        let row = data.row(i);
        let z = row.dot(&self.w);
        self.z[i] = z;
        let old = self.weights[i];
        let new = (old + (1.0 - z) / (row.norm * row.norm)).max(0.0);
        if new != old {
            self.weights[i] = new;
            row.add_to(new - old, &mut self.w);
            self.iterations += 1;
        }
    }

    /// A look at all rows: the margin of `w`, and who takes part from here on.
    fn look(&mut self, data: &Data) {
        margins(data, &self.w, &mut self.z);
        self.iterations += data.len() as u64;
        let least = self.z.iter().copied().fold(f64::INFINITY, f64::min);
        self.least = Some(least);
        let width = 1.0 - least * self.weights.iter().sum::<f64>() / norm(&self.w).powi(2);
        self.widths.push(width);
        // As far above 1 as the worst is below it, a row is not expected to matter soon.
        let bar = 1.0 + (1.0 - least).max(0.05);
        self.active = (0..data.len()).filter(|&i| self.weights[i] > 0.0 || self.z[i] < bar).collect();
    }

    /// Whether the bracket has hardly narrowed over the last looks.
    pub(super) fn stalls(&self) -> bool {
        let k = self.widths.len();
        k >= 6 && self.widths[k - 1] > 0.5 * self.widths[k - 6]
    }
}

impl Method for Coordinate {
    fn round(&mut self, data: &Data) {
        let mut active = std::mem::take(&mut self.active);
        active.shuffle(&mut self.random);
        for &i in &active {
            self.step(data, i);
        }
        self.iterations += active.len() as u64;
        self.active = active;
        self.rounds += 1;
        self.least = None;
        if self.rounds.is_multiple_of(LOOK) {
            self.look(data);
        }
    }

    fn counts(&self) -> Counts {
        Counts { rounds: self.rounds, iterations: self.iterations, mistakes: None }
    }

    fn view(&self) -> View {
        let length = norm(&self.w);
        let total: f64 = self.weights.iter().sum();
        View {
            margin: [self.least.map(|least| least / length), None],
            bound: [(total > 0.0).then(|| length / total), None],
        }
    }

    fn hyperplane(&self, _: Which) -> Vec<f64> {
        self.w.clone()
    }

    fn weights(&self, _: Which) -> Vec<f64> {
        self.weights.clone()
    }

    fn exhausted(&self) -> bool {
        !self.w.iter().all(|w| w.is_finite() && w.abs() < 1e100)
    }
}
