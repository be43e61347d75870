//! The multiclass Perceptron's mistakes. `<U, W>` grows by at least `1 - h_t(U)` with each, `|W|^2` by at most
//! `2 |x|^2`, because the score of the demoted class was not below that of the promoted one. So
//! `M - H <= |U| X sqrt(2 M)`: the bound of two classes with `sqrt(2) X` in the place of `X`.

use super::{Class, Entry, most_mistakes};

pub(super) static ENTRY: Entry = Entry {
    name: "multiclass-perceptron",
    statement: "M <= H(U) + 2 (|U| X)^2 + |U| X sqrt(2 H(U)) for every U, H its total multiclass hinge loss",
    needs: "a comparator U, with its total multiclass hinge loss",
    source: "Block 1962; Novikoff 1962; Collins 2002, theorem 2",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs a comparator, and the audit knows none of several classes".to_owned()],
    value: |_| None,
};

/// The most mistakes against a comparator of Frobenius norm `u` and total multiclass hinge loss `h`, rows no
/// longer than `x`.
///
/// ```
/// // Class vectors of norm 1 together that separate by 1 on unit rows: at most 2 mistakes.
/// let most = noregret::regret::bound::most_multiclass_mistakes(1.0, 0.0, 1.0);
/// assert!((most - 2.0).abs() < 1e-15);
/// ```
pub fn most_multiclass_mistakes(u: f64, h: f64, x: f64) -> f64 {
    most_mistakes(u, h, std::f64::consts::SQRT_2 * x)
}
