//! The linear loss: its total is `<S, u>`, so the best of a class is known at once.

use crate::regret::Comparator;

/// The member of the class with the least `<s, u>` (plus the penalty `strength/2 |u|^2` of `ridge`).
pub(super) fn best(class: &Comparator, s: &[f64], strength: f64) -> Vec<f64> {
    let mut u = vec![0.0; s.len()];
    let largest = |key: fn(f64) -> f64| (0..s.len()).max_by(|a, b| key(s[*a]).total_cmp(&key(s[*b])));
    match *class {
        Comparator::L2 { radius } => {
            let length = class.norm(s);
            if length > 0.0 {
                u.iter_mut().zip(s).for_each(|(u, s)| *u = -radius * (s / length));
            }
        }
        Comparator::L1 { radius } => {
            if let Some(i) = largest(f64::abs) {
                u[i] = -radius * s[i].signum();
            }
        }
        Comparator::Linf { radius } => u.iter_mut().zip(s).for_each(|(u, s)| *u = -radius * s.signum()),
        Comparator::Simplex { radius, complete } => {
            if let Some(i) = largest(|x| -x)
                && (complete || s[i] < 0.0)
            {
                u[i] = radius;
            }
        }
        Comparator::Ridge { .. } => u.iter_mut().zip(s).for_each(|(u, s)| *u = -s / strength),
    }
    u
}
