//! Regret: the ledger that every round enters, the comparators it speaks of, the theorems, and the
//! step from the stream to new data.

pub mod audit;
pub mod blocks;
pub mod bound;
pub mod comparator;
pub mod ledger;
pub mod risk;
mod sum;

pub use blocks::Blocks;
pub use comparator::Comparator;
pub use ledger::{Book, Ledger};
pub use sum::Sum;

/// A number no larger than the true value of which `x` is a rounding or two away.
pub(crate) fn round_down(x: f64) -> f64 {
    x - x.abs() * (4.0 * f64::EPSILON)
}

/// A number no smaller than the true value of which `x` is a rounding or two away.
pub(crate) fn round_up(x: f64) -> f64 {
    -round_down(-x)
}
