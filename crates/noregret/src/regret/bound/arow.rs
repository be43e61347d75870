//! The mistake bound of AROW with the full matrix, for any stream and any `u`. `N` rounds moved the model
//! without being mistakes (`0 < y z < 1`); with `A = r I + sum x x'` over all that moved it,
//! `M + N - H(u) <= sqrt(u' A u) sqrt(ln det(A/r) + N)`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "arow",
    statement: "M <= H(u) - N + sqrt((r |u|^2 + sum over updates of <u,x>^2) (ln det(A/r) + N)) for every u",
    needs: "the full matrix; a comparator u, with its hinge loss and its products with the rows that moved the model",
    source: "Crammer, Kulesza, Dredze 2009, theorem 2",
    class: Class::L2,
    linearised: false,
    conditions: |_| {
        vec!["needs a comparator, and its products with the rows that moved the model".to_owned()]
    },
    value: |_| None,
};

/// The most mistakes against a comparator of squared norm `u_squared` and total hinge loss `h`, whose
/// squared products with the rows that moved the model sum to `products`; `margins` is `N`.
pub fn most_mistakes_arow(u_squared: f64, h: f64, r: f64, products: f64, log_det: f64, margins: f64) -> f64 {
    h - margins + ((r * u_squared + products) * (log_det + margins)).sqrt()
}
