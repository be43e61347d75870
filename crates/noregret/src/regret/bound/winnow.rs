//! The mistake bound of balanced Winnow, for any stream and any `u`. With `v` the sum of `c y x` over the
//! mistakes, the potential `ln sum (exp(eta v_i) + exp(-eta v_i))` starts at `ln(2d)`, grows by at most
//! `(eta c |x|_inf)^2/2` at a mistake, and is never below `eta <u, v>/|u|_1`; and `M - H(u) <= <u, v>`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "winnow",
    statement: "M <= H(u) + |u|_1 (ln(2d)/eta + (eta/2) sum over mistakes of |x|_inf^2) for every u",
    needs: "a comparator u, with its total hinge loss",
    source: "Littlestone 1989; for any stream by the potential of exponential weights, above",
    class: Class::L1,
    linearised: false,
    conditions: |_| vec!["needs a comparator, with its total hinge loss".to_owned()],
    value: |_| None,
};

/// The most mistakes (weighted) against a comparator with `|u|_1 = u` and total hinge loss `h`, in `d`
/// coordinates; `squares` is the sum of `(c |x|_inf)^2` over the mistakes.
///
/// ```
/// # use noregret::regret::bound::most_mistakes_winnow;
/// // 1,000 features of which one decides: 7.6/0.5 + 0.25 M >= M, so M <= 20.
/// assert!(most_mistakes_winnow(1.0, 0.0, 1000.0, 0.5, 21.0) < 21.0);
/// ```
pub fn most_mistakes_winnow(u: f64, h: f64, d: f64, eta: f64, squares: f64) -> f64 {
    h + u * ((2.0 * d).ln() / eta + eta / 2.0 * squares)
}
