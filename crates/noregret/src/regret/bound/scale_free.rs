//! Scale-free follow the regularised leader on the ball: with `Q_t` the sum of the squared gradients,
//!
//! ```text
//! R_T(u) <= sqrt(Q_T)/(2 eta) |u|^2 + sum min(eta |g_t|^2/(2 sqrt(Q_{t-1})), 2 U |g_t|)
//! ```
//!
//! A round costs no more than what one gradient moves the leader, which strong convexity bounds by the
//! first number and the ball by the second. (The paper bounds the sum further, by
//! `2.75 eta sqrt(Q_T) + 3.5 * 2U max |g_t|`.)

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "scale-free",
    statement: "R_T(u) <= sqrt(Q_T)/(2 eta) |u|^2 + sum min(eta |g_t|^2/(2 sqrt(Q_{t-1})), 2 U |g_t|), Q the sum of |g|^2",
    needs: "nothing but convexity",
    source: "Orabona, Pal 2018, theorem 1 and its proof",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let u = c.get("U")?;
        Some(c.get("sum_g2")?.sqrt() / (2.0 * c.get("eta")?) * u * u + c.get("sum_moved")?)
    },
};
