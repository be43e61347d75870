//! ALMA on rows that a unit vector separates with margin `g` after they are normalised: with the
//! paper's `B` and `C`, and weights of 1, it corrects at most `(2/g^2) (2/alpha - 1)^2 + 8/alpha - 4` times, and
//! then has a margin of at least `(1 - alpha) g` on all of them.
//!
//! The margin is not known in one pass, and this is no regret bound.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "alma",
    statement: "corrections <= (2/g^2) (2/alpha - 1)^2 + 8/alpha - 4 if a unit vector has margin g on normalised rows",
    needs: "the largest margin (separate); --margin and --eta at their defaults, importance weights of 1",
    source: "Gentile 2001, theorem 3 (p = 2)",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs the largest margin, and is no regret bound".to_owned()],
    value: |_| None,
};

/// The most corrections on a stream of margin `g`.
///
/// ```
/// // alpha = 1 would ask for no margin: 2/g^2 and a few.
/// assert_eq!(noregret::regret::bound::most_corrections(0.5, 1.0), 12.0);
/// ```
pub fn most_corrections(g: f64, alpha: f64) -> f64 {
    2.0 / (g * g) * (2.0 / alpha - 1.0).powi(2) + 8.0 / alpha - 4.0
}
