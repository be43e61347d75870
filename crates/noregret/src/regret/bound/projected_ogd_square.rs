//! Projected online gradient descent with the square loss, from what is known before the stream:
//! rows no longer than `X` and labels within `U X` give `G <= 4 U X^2`, hence
//! `R_T/T <= 8 (U X)^2 sqrt(2/T)`.

use super::{Class, Entry};
use crate::learner::Constants;

pub(super) static ENTRY: Entry = Entry {
    name: "projected-ogd-square",
    statement: "R_T/T <= 8 (U X)^2 sqrt(2/T) for the square loss",
    needs: "--gradient-bound 4 U X^2, rows no longer than X, labels within U X",
    source: "Cesa-Bianchi, notes on online gradient descent, the display after (9)",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value,
};

fn value(c: &Constants) -> Option<f64> {
    let t = c.get("T")?;
    Some(t * square_bound(c.get("ball")?, c.get("X")?, t))
}

/// `8 (U X)^2 sqrt(2/T)`: the average regret known in advance.
///
/// ```
/// let bound = noregret::regret::bound::square_bound(2.0, 0.5, 32.0);
/// assert_eq!(bound, 2.0);
/// ```
pub fn square_bound(u: f64, x: f64, t: f64) -> f64 {
    8.0 * (u * x).powi(2) * (2.0 / t).sqrt()
}
