//! A primal-dual interior-point method for losses of two straight lines, in the ball or with the
//! quadratic penalty (Mehrotra's family; the ball's multiplier is found inside every step).
//!
//! Row `t` has its kink at `k`, slopes `l` and `r`, weight `c`. With `p = c r - alpha`,
//! `q = alpha - c l` and `z - k = above - below`, the optimum has
//!
//! ```text
//! above p = 0      below q = 0      sum alpha x + l u = 0      |u| <= U
//! ```
//!
//! A step is Newton's for the same with `mu` in place of the two zeros, and `mu` goes to 0. Every
//! `alpha` on the way is feasible for the dual problem.

use super::class::pull_inside;
use super::problem::{Flow, Point, Problem};
use super::quadratic::{self, Limit, add};
use super::track::Track;
use crate::example::Value;
use crate::loss::Kink;

/// How far towards the boundary a step goes.
const MOST: f64 = 0.98;

/// What a row has in the method.
struct Inner {
    kinks: Vec<Kink>,
    weights: Vec<f64>,
    alpha: Vec<f64>,
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Inner {
    fn new<V: Value>(problem: &Problem<'_, V>, z: &[f64]) -> Self {
        let n = z.len();
        let kinks: Vec<Kink> = problem
            .labels
            .iter()
            .map(|y| problem.loss.kink(*y).unwrap_or(Kink { at: 0.0, left: 0.0, right: 0.0 }))
            .collect();
        let weights: Vec<f64> = (0..n).map(|k| problem.weight(k)).collect();
        let distance = z.iter().zip(&kinks).map(|(z, k)| (z - k.at).abs()).sum::<f64>() / n as f64;
        let room = 0.3 * distance.max(1e-100);
        let part = |k: usize, sign: f64| (sign * (z[k] - kinks[k].at)).max(0.0) + room;
        Self {
            alpha: (0..n).map(|k| weights[k] * f64::midpoint(kinks[k].left, kinks[k].right)).collect(),
            above: (0..n).map(|k| part(k, 1.0)).collect(),
            below: (0..n).map(|k| part(k, -1.0)).collect(),
            kinks,
            weights,
        }
    }

    fn slopes(&self) -> Vec<f64> {
        let slope = |k: usize| match self.weights[k] {
            0.0 => 0.0,
            c => (self.alpha[k] / c).clamp(self.kinks[k].left, self.kinks[k].right),
        };
        (0..self.alpha.len()).map(slope).collect()
    }

    /// `p` and `q` of row `k`.
    fn room(&self, k: usize) -> (f64, f64) {
        let (c, kink) = (self.weights[k], &self.kinks[k]);
        (c * kink.right - self.alpha[k], self.alpha[k] - c * kink.left)
    }

    /// Whether row `k` takes part: it has weight and a kink.
    fn counts(&self, k: usize) -> bool {
        self.weights[k] > 0.0 && self.kinks[k].right > self.kinks[k].left
    }

    /// The mean of the products that should vanish.
    fn mean(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for k in (0..self.alpha.len()).filter(|&k| self.counts(k)) {
            let (p, q) = self.room(k);
            sum += self.above[k] * p + self.below[k] * q;
            count += 2.0;
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// By row: the curvature `theta` and the target `alpha + theta (z - k - mu/p + mu/q)`.
    fn system(&self, z: &[f64], mu: f64) -> (Vec<f64>, Vec<f64>) {
        let n = z.len();
        let (mut theta, mut target) = (vec![0.0; n], vec![0.0; n]);
        for k in (0..n).filter(|&k| self.counts(k)) {
            let (p, q) = self.room(k);
            theta[k] = 1.0 / (self.above[k] / p + self.below[k] / q);
            target[k] = self.alpha[k] + theta[k] * (z[k] - self.kinks[k].at - mu / p + mu / q);
        }
        (theta, target)
    }

    /// Moves as far as it may with predictions going from `z` by `dz`; the part of the way is told.
    fn advance(&mut self, theta: &[f64], target: &[f64], dz: &[f64], mu: f64) -> f64 {
        let n = dz.len();
        let mut moves = vec![(0.0, 0.0, 0.0); n];
        let mut most: f64 = 1.0;
        for k in (0..n).filter(|&k| self.counts(k)) {
            let (p, q) = self.room(k);
            let da = target[k] - self.alpha[k] + theta[k] * dz[k];
            let up = mu / p - self.above[k] + self.above[k] / p * da;
            let down = mu / q - self.below[k] - self.below[k] / q * da;
            moves[k] = (da, up, down);
            for (room, change) in [(p, -da), (q, da), (self.above[k], up), (self.below[k], down)] {
                if change < 0.0 {
                    most = most.min(-MOST * room / change);
                }
            }
        }
        for (k, (da, up, down)) in moves.into_iter().enumerate() {
            self.alpha[k] += most * da;
            self.above[k] += most * up;
            self.below[k] += most * down;
        }
        most
    }

    /// Makes `above - below` equal to the true distance from the kink again.
    fn settle(&mut self, z: &[f64]) {
        for (k, z) in z.iter().enumerate() {
            let off = z - self.kinks[k].at - (self.above[k] - self.below[k]);
            if off > 0.0 {
                self.above[k] += off;
            } else {
                self.below[k] -= off;
            }
        }
    }
}

/// Closes the bracket as far as it can.
pub(super) fn solve<V: Value>(
    problem: &mut Problem<'_, V>,
    track: &mut Track<'_>,
    limit: Limit,
    start: Vec<f64>,
) -> Flow<()> {
    let z = problem.predict(&start)?;
    let mut inner = Inner::new(problem, &z);
    let mut here: Point = problem.point_with(start, &inner.slopes())?;
    track.keep(problem, &here)?;
    let mut toward = 0.2;
    for _ in 0..300 {
        if track.done() {
            return Ok(());
        }
        let mu = toward * inner.mean();
        let (theta, target) = inner.system(&here.z, mu);
        let gradient = problem.combine(&target)?;
        let (mut v, multiplier) = quadratic::minimise(problem, &here.u, &gradient, &theta, limit, 0.05)?;
        track.multiplier = Some(multiplier);
        pull_inside(track.class(), &mut v);
        let dz: Vec<f64> = problem.predict(&v)?.iter().zip(&here.z).map(|(a, b)| a - b).collect();
        let part = inner.advance(&theta, &target, &dz, mu);
        let mut u = here.u;
        for x in &mut u {
            *x *= 1.0 - part;
        }
        add(&mut u, part, &v);
        pull_inside(track.class(), &mut u);
        here = problem.point_with(u, &inner.slopes())?;
        inner.settle(&here.z);
        track.keep(problem, &here)?;
        // Long steps say that the path is straight: aim nearer to its end.
        toward = if part > 0.9 {
            0.1
        } else if part > 0.5 {
            0.3
        } else {
            0.6
        };
    }
    Ok(())
}
