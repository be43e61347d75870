//! EG+- on the l1 ball of radius `U`: exponential weights over `2d` signed coordinates,
//! `R_T <= U (ln(2d)/eta_T + (1/2) sum of eta_t |g_t|_inf^2)`; `n` below is `2d`.
//!
//! The dimension may grow: a coordinate that joins late adds `exp(0)` twice to a sum whose mean is
//! never below 1, which lowers the potential of `exponential_weights.rs`.

use super::{Class, Entry};
use crate::learner::Constants;

pub(super) static ENTRY: Entry = Entry {
    name: "exponentiated",
    statement: "R_T <= U (ln(2d)/eta_T + (1/2) sum eta_t |g_t|_inf^2) on the l1 ball",
    needs: "a rate that depends on the past alone and never increases",
    source: "Kivinen, Warmuth 1997; Cesa-Bianchi, Lugosi 2006, theorem 2.2",
    class: Class::L1,
    linearised: true,
    conditions: |_| Vec::new(),
    value,
};

pub(super) fn value(c: &Constants) -> Option<f64> {
    let (u, eta, n) = (c.get("ball")?, c.get("eta")?, c.get("n")?);
    if c.get("sum_g2")? == 0.0 {
        // No gradient has been seen, so nothing can be regretted. A rate of 0 alone does not say so:
        // gradients beyond the range of f64 leave one too.
        return Some(0.0);
    }
    Some(u * (n.ln() / eta + c.get("sum_eta_g2")? / 2.0))
}
