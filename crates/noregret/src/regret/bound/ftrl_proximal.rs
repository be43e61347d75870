//! FTRL-Proximal, for the losses without their penalties. With `n_i` the sum of a coordinate's squared
//! gradients, `A = max sqrt(n_i)/alpha`, `C = sum of sigma_i w_i^2` over all rounds and coordinates, and `d` the
//! coordinates that had a gradient,
//!
//! ```text
//! R_T(u) <= lambda1 sqrt(d) U + ((beta/alpha + lambda2)/2) U^2 + (1/2) (U sqrt(A) + sqrt(C))^2
//!           + (1/2) sum g_i^2/((beta + sqrt(n_i))/alpha + lambda2)
//! ```
//!
//! Theorem 2 of McMahan 2017 has the regularisers at `u` in place of the first line: the two penalties,
//! and `(1/2) sum of sigma_i (u_i - w_i)^2`. The latter is half the square of a distance in a weighted
//! norm; the triangle inequality splits it, and `|u|_1 <= sqrt(d) |u|_2` on the `d` coordinates that
//! matter.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "ftrl-proximal",
    statement: "R_T <= lambda1 sqrt(d) U + ((beta/alpha + lambda2)/2) U^2 + (1/2)(U sqrt(A) + sqrt(sum sigma_i w_i^2))^2 \
                + (1/2) sum g_i^2/((beta + sqrt(n_i))/alpha + lambda2), A = max sqrt(n_i)/alpha",
    needs: "nothing but convexity",
    source: "McMahan 2017, theorem 2",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let u = c.get("U")?;
        let penalty = c.get("lambda1")? * c.get("d")?.sqrt() * u + c.get("fixed")? / 2.0 * u * u;
        let distance = u * c.get("strongest")?.sqrt() + c.get("sum_sigma_w2")?.sqrt();
        Some(penalty + distance * distance / 2.0 + c.get("sum_g2_over_strength")? / 2.0)
    },
};
