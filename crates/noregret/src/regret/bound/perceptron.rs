//! The Perceptron's mistake bound, for any stream and any `u`.
//!
//! On the mistake rounds `|w| |u| >= <w, u> >= M - sum of [1 - y <u,x>]+` and `|w| <= X sqrt(M)`;
//! together `M <= H + |u| X sqrt(M)`, and solving for `M` gives the bound. Separable streams have
//! `H = 0` and `M <= (|u| X)^2`. The lower bound has a minus before the sum: two of the notes print
//! a plus, which would be false. With importance weights up to `c_max`,
//! `M_c <= H_c + c_max (|u| X)^2 + |u| X sqrt(c_max H_c)`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "perceptron",
    statement: "M <= H(u) + (|u| X)^2 + |u| X sqrt(H(u)) for every u, H its total hinge loss",
    needs: "a comparator u, with its total hinge loss",
    source: "Cesa-Bianchi, notes on online gradient descent, the display after (1)",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs a comparator: audit --loss hinge --radius U".to_owned()],
    value: |_| None,
};

/// The most mistakes against a comparator of norm `u` and total hinge loss `h`, rows no longer
/// than `x`.
///
/// ```
/// // A separator of norm 2 with margin 1 on unit rows: at most 4 mistakes.
/// assert_eq!(noregret::regret::bound::most_mistakes(2.0, 0.0, 1.0), 4.0);
/// ```
pub fn most_mistakes(u: f64, h: f64, x: f64) -> f64 {
    most_mistakes_weighted(u, h, x, 1.0)
}

/// The same for the sum of the weights of the mistake rounds, no weight above `heaviest`.
pub fn most_mistakes_weighted(u: f64, h: f64, x: f64, heaviest: f64) -> f64 {
    h + heaviest * (u * x).powi(2) + u * x * (heaviest * h).sqrt()
}
