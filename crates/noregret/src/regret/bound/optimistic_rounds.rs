//! How many rounds the Optimistic Perceptron may need before the average of its hyperplanes separates.
//!
//! The two regrets add up to at most `1/2 + r^2 ln n`, as the movement of `p` cancels; divided by `T`
//! that must fall below the margin. Scaling all rows by `c` leaves every `p_t` as it was, so the
//! theorem holds with `c r` and `c margin` for every `c`; the best, `c r = 1/sqrt(2 ln n)`, gives the
//! scale-free form, never worse.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "optimistic-rounds",
    statement: "the average separates once T > (r/margin) sqrt(2 ln n), and T > (1 + 2 r^2 ln n)/(2 margin)",
    needs: "n rows no longer than r, separable with a positive margin (separate)",
    source: "Hanashiro, Abernethy: Linear Separation via Optimism, theorem 3; the first form by its scaling",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["speaks of separation: separate --method optimistic".to_owned()],
    value: |c| Some(rounds_scale_free(c.get("r")?, c.get("n")?, c.get("margin")?)),
};

/// Rounds after which `n` rows no longer than `r` are separated, in the paper's form.
///
/// ```
/// // The hard set with n = 7.
/// let rounds = noregret::regret::bound::rounds_of_the_paper(7_f64.sqrt(), 7.0, 0.013528);
/// assert!((rounds - 1044.0).abs() < 2.0, "{rounds}");
/// ```
pub fn rounds_of_the_paper(r: f64, n: f64, margin: f64) -> f64 {
    (1.0 + 2.0 * r * r * n.ln()) / (2.0 * margin)
}

/// The same in the form that does not change when all rows are scaled. A single row needs no more
/// than one round.
pub fn rounds_scale_free(r: f64, n: f64, margin: f64) -> f64 {
    r / margin * (2.0 * n.ln()).sqrt()
}
