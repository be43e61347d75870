//! The point of smallest norm in the hull of the rows, on a working set.
//!
//! ```text
//! learner:  w = the smallest point in the hull of the working set (Wolfe, see wolfe.rs)
//! data:     the rows with the smallest <w, m_i> join the working set
//! ```
//!
//! `w` bounds every margin from above by `|w|`, as it is a mixture of rows, and from below by its own
//! margin; both meet at the largest margin after finitely many rounds. It needs few passes over all
//! rows, and is at its best where few of them decide, so in few dimensions. The factor of the working
//! set's corral is quadratic in its size: past a limit the method gives up.

use super::data::Data;
use super::game::{dot, margins};
use super::wolfe::{Corral, Target};
use super::{Counts, Entry, Method, View, Which};

pub(super) static ENTRY: Entry = Entry {
    name: "minimum-norm",
    summary: "the smallest point in the hull of a growing working set",
    guarantee: "the largest margin after finitely many rounds",
    paper: "Wolfe 1976: Finding the nearest point in a polytope",
    build: |data| Box::new(MinimumNorm::new(data, &[])),
};

/// The largest corral.
const LARGEST: usize = 4096;

pub(super) struct MinimumNorm {
    corral: Corral,
    pool: Vec<usize>,
    pooled: Vec<bool>,
    z: Vec<f64>,
    least: f64,
    /// By how much, relatively, the worst row is below the point.
    gap: f64,
    /// Rounds without progress.
    idle: u32,
    rounds: u64,
    iterations: u64,
    r: f64,
}

impl MinimumNorm {
    /// With a first working set: the heaviest rows of `p`, if it has any.
    pub(super) fn new(data: &Data, p: &[f64]) -> Self {
        let r = data.longest();
        let mut pool: Vec<usize> = (0..p.len()).filter(|&i| p[i] > 0.0).collect();
        let most = share(data) * 2;
        if pool.len() > most {
            pool.select_nth_unstable_by(most, |&a, &b| p[b].total_cmp(&p[a]));
            pool.truncate(most);
            pool.sort_unstable();
        }
        if pool.is_empty() {
            pool.push(
                (0..data.len()).min_by(|&a, &b| data.row(a).norm.total_cmp(&data.row(b).norm)).unwrap_or(0),
            );
        }
        let mut pooled = vec![false; data.len()];
        for &i in &pool {
            pooled[i] = true;
        }
        let first =
            *pool.iter().min_by(|&&a, &&b| data.row(a).norm.total_cmp(&data.row(b).norm)).unwrap_or(&0);
        Self {
            corral: Corral::new(data, first, r * r),
            pool,
            pooled,
            z: vec![0.0; data.len()],
            least: f64::NEG_INFINITY,
            gap: 1.0,
            idle: 0,
            rounds: 0,
            iterations: 0,
            r,
        }
    }

    /// The smallest point of the working set; the nearer the end, the more exactly.
    fn learner_step(&mut self, data: &Data) {
        let before = self.corral.length();
        let target = Target {
            enough: 1e-15 * self.r,
            gap: (0.1 * self.gap).clamp(1e-12, 0.1),
            most: 50 + 10 * self.pool.len() as u64,
            rows: LARGEST,
        };
        let majors = self.corral.minimise(data, &self.pool, &target);
        self.iterations += majors * (self.pool.len() + 3 * self.corral.rows.len()) as u64;
        let moved = self.corral.length() < before * (1.0 - 1e-13);
        self.idle = if moved || self.rounds == 0 { 0 } else { self.idle + 1 };
    }

    /// The worst rows join.
    fn data_step(&mut self, data: &Data) {
        margins(data, &self.corral.x, &mut self.z);
        self.iterations += data.len() as u64;
        self.least = self.z.iter().copied().fold(f64::INFINITY, f64::min);
        let square = dot(&self.corral.x, &self.corral.x);
        self.gap = 1.0 - self.least / square;
        let bar = square * (1.0 - (0.1 * self.gap).clamp(1e-13, 0.1));
        let mut worst: Vec<usize> =
            (0..self.z.len()).filter(|&i| self.z[i] < bar && !self.pooled[i]).collect();
        if !worst.is_empty() {
            self.idle = 0;
        }
        let most = share(data);
        if worst.len() > most {
            let z = &self.z;
            worst.select_nth_unstable_by(most, |&a, &b| z[a].total_cmp(&z[b]).then(a.cmp(&b)));
            worst.truncate(most);
        }
        worst.sort_unstable();
        if self.pool.len() > 20 * most {
            self.forget(10 * most);
        }
        for i in worst {
            self.pooled[i] = true;
            self.pool.push(i);
        }
    }

    /// Keeps the corral and the `most` worst of the working set.
    fn forget(&mut self, most: usize) {
        let z = &self.z;
        self.pool.select_nth_unstable_by(most, |&a, &b| z[a].total_cmp(&z[b]).then(a.cmp(&b)));
        for i in self.pool.drain(most..) {
            self.pooled[i] = false;
        }
        for &i in &self.corral.rows {
            if !self.pooled[i] {
                self.pooled[i] = true;
                self.pool.push(i);
            }
        }
        self.pool.sort_unstable();
    }

    pub(super) fn proof(&self) -> Vec<(usize, f64)> {
        let mut proof: Vec<(usize, f64)> =
            self.corral.rows.iter().copied().zip(self.corral.lambda.iter().copied()).collect();
        proof.sort_unstable_by_key(|(i, _)| *i);
        proof.retain(|(_, p)| *p > 0.0);
        proof
    }

    /// The mean length of the proof's rows.
    pub(super) fn mean_length(&self, data: &Data) -> f64 {
        self.corral.rows.iter().zip(&self.corral.lambda).map(|(&i, l)| l * data.row(i).norm).sum()
    }

    pub(super) fn length(&self) -> f64 {
        self.corral.length()
    }
}

/// Rows that join at once.
fn share(data: &Data) -> usize {
    (data.width() / 2).clamp(32, 256)
}

impl Method for MinimumNorm {
    fn round(&mut self, data: &Data) {
        self.learner_step(data);
        self.data_step(data);
        self.rounds += 1;
    }

    fn counts(&self) -> Counts {
        Counts { rounds: self.rounds, iterations: self.iterations, mistakes: None }
    }

    fn view(&self) -> View {
        let length = self.corral.length();
        let margin = (length > 0.0).then(|| self.least / length);
        View { margin: [margin, None], bound: [Some(length), None] }
    }

    fn hyperplane(&self, _: Which) -> Vec<f64> {
        self.corral.x.clone()
    }

    fn weights(&self, _: Which) -> Vec<f64> {
        let mut p = vec![0.0; self.z.len()];
        for (&i, &l) in self.corral.rows.iter().zip(&self.corral.lambda) {
            p[i] = l;
        }
        p
    }

    fn exhausted(&self) -> bool {
        self.idle >= 3 || self.corral.rows.len() >= LARGEST
    }
}
