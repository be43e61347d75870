//! Truncated gradient with a constant step, for the losses without the penalty: with `d` the coordinates
//! that had a gradient,
//!
//! ```text
//! R_T(u) <= |u|^2/(2 eta) + (eta/2) sum |g_t|^2 + lambda1 T sqrt(d) |u|
//! ```
//!
//! Every truncation is a proximal step with a penalty of 0 or `lambda1` for a coordinate, depending on
//! where it stands; none costs `u` more than the last term. `lambda1 T` is counted from the truncations
//! that took place.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "truncated-gradient",
    statement: "R_T(u) <= |u|^2/(2 eta) + (eta/2) sum |g_t|^2 + lambda1 T sqrt(d) |u|",
    needs: "--schedule constant",
    source: "Langford, Li, Zhang 2009, theorem 3.1, with the gradients observed in place of their bound",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (u, eta) = (c.get("U")?, c.get("eta")?);
        let penalty = c.get("truncated")? / eta * c.get("d")?.sqrt() * u;
        Some(u * u / (2.0 * eta) + eta / 2.0 * c.get("sum_g2")? + penalty)
    },
};
