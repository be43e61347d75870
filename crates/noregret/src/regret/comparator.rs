//! Classes of models that a learner is compared with. Each is a convex function `Psi` of the
//! comparator `u`, known here by its Fenchel conjugate at `-S`.

use super::Sum;
use crate::error::UsageError;
use crate::round::Numbers;
use serde::Serialize;

/// A class of comparators.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "comparator", rename_all = "lowercase")]
pub enum Comparator {
    /// `|u|_2 <= radius`.
    L2 {
        /// The radius.
        radius: f64,
    },
    /// `|u|_1 <= radius`.
    L1 {
        /// The radius.
        radius: f64,
    },
    /// `|u_i| <= radius` for every `i`.
    Linf {
        /// The radius.
        radius: f64,
    },
    /// `u >= 0` with sum `radius`.
    Simplex {
        /// The sum of the coordinates.
        radius: f64,
        /// Whether every coordinate of the space has been seen; otherwise one with `S_i = 0` may be
        /// missing from the vector.
        complete: bool,
    },
    /// All models, with `(sigma T/2) |u|^2` added to their losses.
    Ridge {
        /// The strength of the penalty a round.
        sigma: f64,
    },
}

/// The names after `--comparator`, each with one line.
pub const NAMES: &[(&str, &str)] = &[
    ("l2", "every model with Euclidean norm at most U"),
    ("l1", "every model whose absolute weights sum to at most U"),
    ("linf", "every model with no weight beyond -U..U"),
    ("simplex", "every model with nonnegative weights that sum to U"),
    ("ridge", "every model, its loss increased by (sigma/2)|u|^2 a round (--l2 sigma)"),
];

impl Comparator {
    /// A class by name. `ridge` takes `sigma` from `l2`, the others `radius`.
    pub fn new(name: &str, radius: f64, l2: Option<f64>) -> Result<Self, UsageError> {
        Ok(match name {
            "l2" => Comparator::L2 { radius },
            "l1" => Comparator::L1 { radius },
            "linf" => Comparator::Linf { radius },
            "simplex" => Comparator::Simplex { radius, complete: false },
            "ridge" => {
                let sigma = l2.ok_or_else(|| UsageError::new("--comparator ridge needs --l2 SIGMA"))?;
                Comparator::Ridge { sigma }
            }
            _ => {
                let names: Vec<&str> = NAMES.iter().map(|(n, _)| *n).collect();
                return Err(UsageError(format!(
                    "there is no comparator `{name}`; the comparators are {}",
                    names.join(", ")
                )));
            }
        })
    }

    /// The name after `--comparator`.
    pub fn name(&self) -> &'static str {
        match self {
            Comparator::L2 { .. } => "l2",
            Comparator::L1 { .. } => "l1",
            Comparator::Linf { .. } => "linf",
            Comparator::Simplex { .. } => "simplex",
            Comparator::Ridge { .. } => "ridge",
        }
    }

    /// `U`; none for `ridge`.
    pub fn radius(&self) -> Option<f64> {
        match *self {
            Comparator::L2 { radius }
            | Comparator::L1 { radius }
            | Comparator::Linf { radius }
            | Comparator::Simplex { radius, .. } => Some(radius),
            Comparator::Ridge { .. } => None,
        }
    }

    /// The same class with another radius.
    pub fn with_radius(mut self, new: f64) -> Self {
        match &mut self {
            Comparator::L2 { radius }
            | Comparator::L1 { radius }
            | Comparator::Linf { radius }
            | Comparator::Simplex { radius, .. } => *radius = new,
            Comparator::Ridge { .. } => {}
        }
        self
    }

    /// The norm of the class: what `U` bounds.
    pub fn norm(&self, u: &(impl Numbers + ?Sized)) -> f64 {
        match self {
            Comparator::L2 { .. } | Comparator::Ridge { .. } => sum(u, |x| x * x).sqrt(),
            Comparator::L1 { .. } | Comparator::Simplex { .. } => sum(u, f64::abs),
            Comparator::Linf { .. } => largest(u, 0.0, f64::abs),
        }
    }

    /// An upper bound of `Psi*(-S)` for a true `S` that is within `error` (in Euclidean norm) of the
    /// vector `s` of `d` coordinates. `rounds` is `T`.
    pub fn support(&self, s: &(impl Numbers + ?Sized), d: usize, error: f64, rounds: f64) -> f64 {
        let value = match *self {
            Comparator::L2 { radius } => radius * (norm2(s) + error),
            Comparator::L1 { radius } => radius * (largest(s, 0.0, f64::abs) + error),
            Comparator::Linf { radius } => radius * (sum(s, f64::abs) + error * (d as f64).sqrt()),
            Comparator::Simplex { radius, complete } => {
                let least = if complete { f64::NEG_INFINITY } else { 0.0 };
                radius * (largest(s, least, |x| -x) + error)
            }
            Comparator::Ridge { sigma } => {
                let norm = norm2(s) + error;
                norm * norm / (2.0 * sigma * rounds)
            }
        };
        super::round_up(value)
    }
}

/// A compensated sum of something of every number.
fn sum(numbers: &(impl Numbers + ?Sized), of: impl Fn(f64) -> f64) -> f64 {
    let mut sum = Sum::default();
    numbers.each(&mut |some| some.iter().for_each(|&x| sum.add(of(x))));
    sum.value()
}

/// The largest of something of every number, or `least`.
fn largest(numbers: &(impl Numbers + ?Sized), least: f64, of: impl Fn(f64) -> f64) -> f64 {
    let mut largest = least;
    numbers.each(&mut |some| largest = some.iter().fold(largest, |m, &x| m.max(of(x))));
    largest
}

/// The Euclidean norm, not below the true one. Where the squares would leave the range of f64 from
/// below, the numbers are scaled first; from above, infinity is no lie.
pub(crate) fn norm2(s: &(impl Numbers + ?Sized)) -> f64 {
    let largest = largest(s, 0.0, f64::abs);
    let norm = if largest > 0.0 && largest < 1e-100 {
        sum(s, |x| (x / 1e-200) * (x / 1e-200)).sqrt() * 1e-200
    } else {
        sum(s, |x| x * x).sqrt()
    };
    // A NaN among the numbers is one in the sum, though not in the largest.
    super::round_up(norm)
}
