//! The passive-aggressive bounds compare with the losses of a fixed `u`, and are no regret bounds: for
//! rows no longer than `X`,
//!
//! ```text
//! variant 0:  sum loss_t^2 <= (|u| X)^2                                   if u loses nothing
//! variant 1:  mistakes <= max(X^2, 1/C) (|u|^2 + 2 C sum loss_t(u))
//! variant 2:  sum loss_t^2 <= (X^2 + 1/(2C)) (|u|^2 + 2 C sum loss_t(u)^2)
//! ```
//!
//! Without a comparator nothing follows, so no number is printed.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "passive-aggressive",
    statement: "variant 1: M <= max(X^2, 1/C) (|u|^2 + 2 C H(u)) for every u, H its total hinge loss",
    needs: "a comparator u, with its losses; importance weights of 1",
    source: "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006, theorems 2, 4 and 5",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs a comparator with its losses, and is no regret bound".to_owned()],
    value: |_| None,
};

/// Variant 1: the most mistakes against a comparator of norm `u` and total hinge loss `h`, rows no
/// longer than `x`, aggressiveness `c`, every weight 1.
pub fn most_mistakes_passive_aggressive(u: f64, h: f64, x: f64, c: f64) -> f64 {
    (x * x).max(1.0 / c) * (u * u + 2.0 * c * h)
}

/// Variant 2: the largest sum of squared losses against a comparator of norm `u` whose squared losses
/// sum to `squares`.
///
/// ```
/// // Nothing lost by u: as C grows, the bound becomes that of variant 0, (|u| X)^2.
/// let most = noregret::regret::bound::most_squares_passive_aggressive(2.0, 0.0, 1.0, 1e12);
/// assert!((most - 4.0).abs() < 1e-9);
/// ```
pub fn most_squares_passive_aggressive(u: f64, squares: f64, x: f64, c: f64) -> f64 {
    (x * x + 0.5 / c) * (u * u + 2.0 * c * squares)
}
