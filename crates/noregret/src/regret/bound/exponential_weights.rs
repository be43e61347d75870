//! Exponential weights on the simplex scaled by `U`, with a rate that never increases:
//! `R_T <= U (ln n/eta_T + (1/2) sum of eta_t |g_t|_inf^2)`.
//!
//! The potential `(1/eta) ln((1/n) sum of exp(-eta S_i))` does not grow when `eta` falls (it is the
//! logarithm of a power mean), and one round lowers it by `<p, g> - eta |g|_inf^2/2` at least.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "exponential-weights",
    statement: "R_T <= U (ln n/eta_T + (1/2) sum eta_t |g_t|_inf^2) on the simplex of n coordinates",
    needs: "--dimension; a rate that depends on the past alone and never increases",
    source: "Freund, Schapire 1997; Cesa-Bianchi, Lugosi 2006, theorem 2.2",
    class: Class::Simplex,
    linearised: true,
    conditions: |_| Vec::new(),
    value: super::exponentiated::value,
};
