//! The second-order Perceptron's mistake bound, for any stream and any `u`: with `A` the matrix after the
//! mistakes, `M - H(u) <= <u, v> <= sqrt(u' A u) sqrt(v' A^-1 v)` and `v' A^-1 v <= ln det(A/alpha)`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "second-order-perceptron",
    statement: "M <= H(u) + sqrt((alpha |u|^2 + sum over mistakes of <u,x>^2) ln det(A/alpha)) for every u",
    needs: "a comparator u, with its hinge loss and its products with the rows erred on",
    source: "Cesa-Bianchi, Conconi, Gentile 2005, the mistake bound with fixed a",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs a comparator, and its products with the rows erred on".to_owned()],
    value: |_| None,
};

/// The most mistakes against a comparator of squared norm `u_squared` and total hinge loss `h`, whose
/// squared products with the rows erred on sum to `products`; `log_det` is `ln det(A/alpha)`.
///
/// ```
/// # use noregret::regret::bound::most_mistakes_second_order;
/// // One unit row, erred on once, with u its separator of margin 1: A = 2, sqrt((1 + 1) ln 2) = 1.18.
/// assert!((most_mistakes_second_order(1.0, 0.0, 1.0, 1.0, 2f64.ln()) - 1.177).abs() < 1e-3);
/// ```
pub fn most_mistakes_second_order(u_squared: f64, h: f64, alpha: f64, products: f64, log_det: f64) -> f64 {
    h + ((alpha * u_squared + products) * log_det).sqrt()
}
