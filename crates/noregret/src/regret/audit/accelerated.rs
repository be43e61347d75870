//! Accelerated proximal gradient descent with restarts, in a diagonal metric (Nesterov 1983; Beck and
//! Teboulle 2009; O'Donoghue and Candes 2015): for every class that a vector can be projected on.

use super::class::project;
use super::problem::{Flow, Problem};
use super::surrogate::Surrogate;
use super::track::Track;
use crate::example::Value;

/// When to look for the first time whether sweeps still help: a kink is approached in stages of thousands.
const PATIENCE: usize = 1 << 16;

/// Closes the bracket as far as it can: where rounding holds it open no number of sweeps does, so that this ends when
/// twice as many have not narrowed it by a hundredth.
pub(super) fn solve<V: Value>(
    problem: &mut Problem<'_, V>,
    track: &mut Track<'_>,
    start: &[f64],
) -> Flow<()> {
    let class = *track.class();
    let strength = problem.penalty(&class);
    let kinked = problem.loss.kink(problem.labels.first().copied().unwrap_or(1.0)).is_some();
    let mut surrogate =
        Surrogate { loss: problem.loss, width: if kinked { track.first_width() } else { 0.0 } };
    // Features of every scale move alike: each coordinate counts by the squares of its values.
    let ones: Vec<f64> = (0..problem.labels.len()).map(|k| problem.weight(k)).collect();
    let mut metric = Vec::new();
    problem.product(start, &ones, Some(&mut metric))?;
    let largest = metric.iter().fold(0.0, |m: f64, x| m.max(*x)).max(f64::MIN_POSITIVE);
    for m in &mut metric {
        *m += 1e-9 * largest + strength;
    }
    let mut step = 1.0;
    let mut here = problem.point(project(&class, start, &metric), surrogate)?;
    track.keep(problem, &here)?;
    let (mut ahead, mut z) = (here.u.clone(), here.z.clone());
    let (mut smooth, mut gradient) = (here.smooth, here.gradient.clone());
    let mut momentum: f64 = 1.0;
    let mut quiet = 0;
    let (mut width, mut look) = (track.width(), problem.sweeps + PATIENCE);
    while !track.done() {
        if problem.sweeps >= look {
            let narrowed = track.width() < 0.99 * width;
            if !narrowed {
                break;
            }
            (width, look) = (track.width(), 2 * problem.sweeps);
        }
        // Backtracking: the quadratic model at `ahead` must lie above the total at the new point.
        let there = loop {
            let v: Vec<f64> = ahead
                .iter()
                .zip(&gradient)
                .zip(&metric)
                .map(|((a, g), m)| a - step / m * (g + strength * a))
                .collect();
            let there = problem.point(project(&class, &v, &metric), surrogate)?;
            track.keep(problem, &there)?;
            let (mut linear, mut square, mut penalty) = (0.0, 0.0, 0.0);
            for (i, a) in ahead.iter().enumerate() {
                let move_ = there.u[i] - a;
                linear += (gradient[i] + strength * a) * move_;
                square += metric[i] * move_ * move_ / (2.0 * step);
                penalty += strength / 2.0 * (there.u[i] * there.u[i] - a * a);
            }
            let rise = there.smooth - smooth + penalty;
            if rise <= linear + square + 1e-14 * smooth.abs() || step < 1e-18 {
                break there;
            }
            step /= 2.0;
        };
        let moved: f64 = there
            .u
            .iter()
            .zip(&here.u)
            .enumerate()
            .map(|(i, (a, b))| metric[i] * (ahead[i] - a) * (a - b))
            .sum();
        if moved > 0.0 {
            momentum = 1.0;
        }
        let faster = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
        let mut carry = (momentum - 1.0) / faster;
        momentum = faster;
        if kinked {
            quiet += 1;
            let gap = track.stage_gap(problem, &there);
            if gap <= 0.3 * there.waste || quiet > 2000 {
                surrogate.width *= 0.3;
                (quiet, momentum, carry) = (0, 1.0, 0.0);
            }
        }
        ahead = there.u.iter().zip(&here.u).map(|(a, b)| a + carry * (a - b)).collect();
        z.clone_from(&there.z);
        for (k, z) in z.iter_mut().enumerate() {
            *z += carry * (there.z[k] - here.z[k]);
        }
        let alpha: Vec<f64> =
            (0..z.len()).map(|k| problem.weight(k) * surrogate.slope(z[k], problem.labels[k])).collect();
        gradient = problem.combine(&alpha)?;
        smooth = problem.along(&z, &z, 0.0, surrogate);
        here = there;
        step *= 1.1;
    }
    Ok(())
}
