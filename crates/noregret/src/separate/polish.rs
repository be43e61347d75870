//! From weights that nearly cancel to weights that cancel: the heaviest rows are the first working set
//! of the minimum-norm method, which needs few rounds from there if the rows cannot be separated.
//! At most one row more than there are columns has weight in the end (Caratheodory).

use super::data::Data;
use super::minimum_norm::MinimumNorm;
use super::{Floor, Method};

/// Rounds that are tried.
const ROUNDS: usize = 20;

/// Weights whose bound is at most the floor, if polishing `p` finds some.
pub(super) fn polish(data: &Data, p: &[f64], floor: Floor) -> Option<(f64, Vec<(usize, f64)>)> {
    let mut method = MinimumNorm::new(data, p);
    for _ in 0..ROUNDS {
        method.round(data);
        if method.length() <= floor.at(method.mean_length(data)) {
            return Some((method.length(), method.proof()));
        }
        // A separator: nothing to prove.
        if method.separated().is_some() || method.exhausted() {
            return None;
        }
    }
    None
}
