//! l1-regularised dual averaging, for the losses without the penalty. With `beta_t` the strength that
//! `w_t` was chosen with and `d` the coordinates that had a gradient,
//!
//! ```text
//! R_T(u) <= (gamma sqrt(T)/2) U^2 + (1/2) sum |g_t|^2/beta_t + (lambda1 T + gamma rho sqrt(T)) sqrt(d) U
//! ```
//!
//! It is follow the regularised leader with a regulariser that grows, penalty included. The last term
//! is linear in `T`: whoever penalises every round pays for it in every round.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "rda",
    statement: "R_T <= (gamma sqrt(T)/2) U^2 + (1/2) sum |g_t|^2/beta_t + (lambda1 T + gamma rho sqrt(T)) sqrt(d) U",
    needs: "nothing but convexity",
    source: "Xiao 2010, theorem 1; McMahan 2017, theorem 1",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let u = c.get("U")?;
        let strength = c.get("gamma")? * c.get("T")?.sqrt() / 2.0 * u * u;
        Some(strength + c.get("sum_g2_over_beta")? / 2.0 + c.get("cut")? * c.get("d")?.sqrt() * u)
    },
};
