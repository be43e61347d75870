//! Coin betting per coordinate. A coordinate that bet in `n` rounds on gradients no larger than `L` ends
//! with at least `epsilon F_n(-S/L)`, `F_n` the Krichevsky-Trofimov potential; its conjugate gives
//! `R(u) <= |u| L sqrt(n ln(1 + 24 n^2 L^2 u^2/epsilon^2)) + epsilon`. With `L_i = lambda m_i`, Cauchy and Schwarz
//! over the `d` coordinates that had a gradient,
//!
//! ```text
//! R_T(u) <= lambda |u| sqrt(sum n_i m_i^2 ln(1 + 24 (lambda max n_i m_i |u|/epsilon)^2)) + d epsilon
//! ```
//!
//! `L` may grow from round to round as long as it is known before each: `F_n` falls when its argument
//! does, so what is owned stays enough. Computed predictions differ from these by roundings of what is owned, which
//! may be far more than the number above: they are added to it.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "coin",
    statement: "R_T(u) <= lambda |u| sqrt(sum n_i m_i^2 ln(1 + 24 (lambda max n_i m_i |u|/epsilon)^2)) + d epsilon, \
                n_i the rounds and m_i the largest value of feature i; and the rounding of what was at stake",
    needs: "slopes no larger than lambda: a Lipschitz loss and weights at most 1, or slopes that never set a record",
    source: "Orabona, Pal 2016, corollary 5, per coordinate",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (u, lambda, epsilon) = (c.get("U")?, c.get("lambda")?, c.get("epsilon")?);
        let inside = lambda * c.get("largest_n_m")? * u / epsilon;
        let root = (c.get("sum_n_m2")? * (24.0 * inside * inside).ln_1p()).sqrt();
        Some(lambda * u * root + c.get("d")? * epsilon + c.get("rounding")?)
    },
};
