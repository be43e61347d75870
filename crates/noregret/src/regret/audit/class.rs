//! Moving a vector into a class of comparators: exactly, as a proof needs it, or by the shortest way
//! in a diagonal metric, as a method of first order needs it.

use crate::regret::{Comparator, round_up};

/// Scales or clips what rounding left outside, so that `u` belongs to the class beyond doubt.
pub(super) fn pull_inside(class: &Comparator, u: &mut [f64]) {
    match *class {
        Comparator::Ridge { .. } => {}
        Comparator::Linf { radius } => u.iter_mut().for_each(|x| *x = x.clamp(-radius, radius)),
        Comparator::L2 { radius } | Comparator::L1 { radius } => {
            let mut length = round_up(class.norm(&u[..]));
            while length > radius {
                let factor = radius / length * (1.0 - 4.0 * f64::EPSILON);
                for x in u.iter_mut() {
                    *x *= factor;
                }
                length = round_up(class.norm(&u[..]));
            }
        }
        // The sum of a simplex is met up to rounding; nothing can be nearer.
        Comparator::Simplex { radius, complete } => {
            for x in u.iter_mut() {
                *x = x.max(0.0);
            }
            let sum: f64 = u.iter().sum();
            if sum > radius || (complete && sum > 0.0) {
                for x in u.iter_mut() {
                    *x *= radius / sum;
                }
            }
        }
    }
}

/// The member of the class that is nearest to `v` when coordinate `i` counts `metric[i]` times.
pub(super) fn project(class: &Comparator, v: &[f64], metric: &[f64]) -> Vec<f64> {
    let mut u = match *class {
        Comparator::Ridge { .. } => v.to_vec(),
        Comparator::Linf { radius } => v.iter().map(|x| x.clamp(-radius, radius)).collect(),
        Comparator::L2 { radius } => threshold(
            v,
            metric,
            radius,
            (0.0, f64::INFINITY),
            |v, m, t| v * m / (m + t),
            |u| u.iter().map(|x| x * x).sum::<f64>().sqrt(),
        ),
        Comparator::L1 { radius } => threshold(
            v,
            metric,
            radius,
            (0.0, f64::INFINITY),
            |v, m, t| v.signum() * (v.abs() - t / m).max(0.0),
            |u| u.iter().map(|x| x.abs()).sum(),
        ),
        Comparator::Simplex { radius, complete } => {
            let low = if complete { f64::NEG_INFINITY } else { 0.0 };
            threshold(
                v,
                metric,
                radius,
                (low, f64::INFINITY),
                |v, m, t| (v - t / m).max(0.0),
                |u| u.iter().sum(),
            )
        }
    };
    pull_inside(class, &mut u);
    u
}

/// The `t` at which the size of the moved vector comes down to the radius.
fn threshold(
    v: &[f64],
    metric: &[f64],
    radius: f64,
    range: (f64, f64),
    moved: impl Fn(f64, f64, f64) -> f64,
    size: impl Fn(&[f64]) -> f64,
) -> Vec<f64> {
    let at = |t: f64| -> Vec<f64> { v.iter().zip(metric).map(|(v, m)| moved(*v, *m, t)).collect() };
    let begin = at(0.0);
    if range.0 == 0.0 && size(&begin) <= radius {
        return begin;
    }
    let unit = metric.iter().zip(v).fold(f64::MIN_POSITIVE, |a: f64, (m, v)| a.max(m * v.abs()))
        + metric.iter().fold(0.0, |a: f64, m| a.max(*m)) * radius;
    let (mut low, mut high) = (if range.0 == 0.0 { 0.0 } else { -unit }, unit);
    while size(&at(high)) > radius && high.is_finite() {
        high *= 2.0;
    }
    while range.0 < 0.0 && size(&at(low)) < radius && low.is_finite() {
        low *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high || high - low <= 1e-15 * high.abs() {
            break;
        }
        if size(&at(middle)) > radius {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projection_is_nearer_than_any_other_member() {
        let (v, metric) = ([1.5, -0.2, 0.9], [1.0, 3.0, 0.5]);
        let classes = [
            Comparator::L2 { radius: 1.0 },
            Comparator::L1 { radius: 1.0 },
            Comparator::Linf { radius: 0.7 },
            Comparator::Simplex { radius: 1.0, complete: true },
            Comparator::Simplex { radius: 4.0, complete: true },
            Comparator::Simplex { radius: 1.0, complete: false },
        ];
        let away = |u: &[f64]| -> f64 {
            u.iter().zip(&v).zip(&metric).map(|((a, b), m)| m * (a - b) * (a - b)).sum()
        };
        for class in classes {
            let u = project(&class, &v, &metric);
            let complete = matches!(class, Comparator::Simplex { complete: true, .. });
            for k in 0..8000_u32 {
                let grid = |shift: u32| f64::from((k / shift) % 20) / 10.0 - 1.0;
                let mut other = [grid(1), grid(20), grid(400)];
                pull_inside(&class, &mut other);
                let sum: f64 = other.iter().sum();
                if complete && (sum - class.radius().unwrap()).abs() > 1e-9 {
                    continue;
                }
                assert!(away(&u) <= away(&other) + 1e-9, "{class:?} {u:?} {other:?}");
            }
        }
    }
}
