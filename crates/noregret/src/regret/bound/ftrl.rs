//! Follow the regularised leader: for nondecreasing `alpha_t`, each fixed before `g_t`,
//! `R_T(u) <= (alpha_T/2) |u|^2 + (1/2) sum of |g_t|^2/alpha_t`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "ftrl",
    statement: "R_T(u) <= (alpha_T/2) |u|^2 + (1/2) sum |g_t|^2/alpha_t",
    needs: "nothing but convexity",
    source: "McMahan 2017, theorem 1; Cesa-Bianchi, notes on online gradient descent (constant alpha)",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let u = c.get("U")?;
        Some(c.get("alpha")? / 2.0 * u * u + c.get("sum_g2_over_alpha")? / 2.0)
    },
};
