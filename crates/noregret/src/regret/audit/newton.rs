//! Newton's method for the ball and for the quadratic penalty: every step minimises the quadratic
//! model of the losses over the class itself, so that the multiplier of the ball is part of the step,
//! and then searches the line to it. For losses with a continuous slope.

use super::class::pull_inside;
use super::problem::{Flow, Point, Problem};
use super::quadratic::{self, Limit, dot};
use super::surrogate::Surrogate;
use super::track::Track;
use crate::example::Value;

/// Closes the bracket as far as it can.
pub(super) fn solve<V: Value>(
    problem: &mut Problem<'_, V>,
    track: &mut Track<'_>,
    limit: Limit,
    start: Vec<f64>,
) -> Flow<()> {
    let surrogate = Surrogate { loss: problem.loss, width: 0.0 };
    let mut here = problem.point(start, surrogate)?;
    track.keep(problem, &here)?;
    let mut stuck = 0;
    while !track.done() && stuck < 10 {
        let before = track.stage_gap(problem, &here);
        here = step(problem, here, surrogate, limit, track)?;
        track.keep(problem, &here)?;
        let after = track.stage_gap(problem, &here);
        stuck = if after < 0.9 * before { 0 } else { stuck + 1 };
    }
    Ok(())
}

/// One step: the minimum of the model, then the line to it.
fn step<V: Value>(
    problem: &mut Problem<'_, V>,
    here: Point,
    surrogate: Surrogate<'_>,
    limit: Limit,
    track: &mut Track<'_>,
) -> Flow<Point> {
    let (mut v, multiplier) =
        quadratic::minimise(problem, &here.u, &here.gradient, &here.curvature, limit, 0.1)?;
    track.multiplier = Some(multiplier);
    pull_inside(track.class(), &mut v);
    let there = problem.point(v, surrogate)?;
    let strength = match limit {
        Limit::Penalty(strength) => strength,
        Limit::Ball(_) => 0.0,
    };
    let total = |p: &Point| p.smooth + strength / 2.0 * dot(&p.u, &p.u);
    // Downhill all the way: the derivative at the far end is not positive.
    let uphill: f64 = there
        .u
        .iter()
        .zip(&here.u)
        .zip(&there.gradient)
        .map(|((v, u), g)| (v - u) * (g + strength * v))
        .sum();
    let tiny = 1e-12 * (total(&here).abs() + total(&there).abs());
    if total(&there).is_finite()
        && (uphill <= 0.0 || total(&there) < total(&here) - 0.1 * uphill.abs() - tiny)
    {
        return Ok(there);
    }
    track.keep(problem, &there)?;
    let dz: Vec<f64> = there.z.iter().zip(&here.z).map(|(a, b)| a - b).collect();
    let du: Vec<f64> = there.u.iter().zip(&here.u).map(|(a, b)| a - b).collect();
    let (uu, dd) = (dot(&here.u, &du), dot(&du, &du));
    let slope = |s: f64| problem.slope_along(&here.z, &dz, s, surrogate) + strength * (uu + s * dd);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let value = slope(middle);
        if value.is_nan() || value > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
        if high - low < 0.02 * high {
            break;
        }
    }
    let mut u = here.u;
    super::quadratic::add(&mut u, if low > 0.0 { low } else { high }, &du);
    pull_inside(track.class(), &mut u);
    problem.point(u, surrogate)
}
