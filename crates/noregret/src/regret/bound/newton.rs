//! The online Newton step on losses that curve: if in every round
//!
//! ```text
//! loss_t(u) >= loss_t(w_t) + <g_t, u - w_t> + (beta_t/2) <g_t, u - w_t>^2         (1)
//! ```
//!
//! then `R_T(u) <= (epsilon/2)|u|^2 + (1/2) sum g_t' B_t^-1 g_t` for `B_t = epsilon I + sum beta_s g_s g_s'`.
//! The right-hand side of (1), summed, is a least-squares problem whose minimum the learner's residuals
//! give, hence `(1/2) sum g' B^-1 g = sum (1/beta_t - r_t^2)/2`; it is at most
//! `(1/(2 beta)) ln det(B_T/epsilon)`, the `d ln T` of the paper.
//!
//! (1) holds when `beta c loss'(z)^2` is at most the least second derivative of the loss between `z` and
//! `<u, x>`: 2 for the square loss; for the logistic loss `p (1 - p)` at the farthest point,
//! `p = 1/(1 + exp(-P))` with `P` the larger of `|z|` and `U X`.

use super::{Class, Entry, ridge::rounding};
use crate::learner::Constants;

pub(super) static ENTRY: Entry = Entry {
    name: "newton",
    statement: "R_T(u) <= (epsilon/2) |u|^2 + (1/2) sum g_t' B_t^-1 g_t, of the order (1/beta) d ln T",
    needs: "the full matrix; beta c loss'(z)^2 at most the least curvature: 2 (square), p(1-p) at max(|z|, U X) (logistic)",
    source: "Hazan, Agarwal, Kale 2007, theorem 2, with the conditions of its lemma 3 observed",
    class: Class::L2,
    linearised: false,
    conditions: |c| {
        let (Some(steepest), Some(curvature)) = (c.get("steepest"), curvature(c)) else {
            return Vec::new();
        };
        if steepest <= curvature {
            return Vec::new();
        }
        vec![format!(
            "beta is too large for the curvature by a factor of {:.1e}: a smaller --beta or --radius, or shorter rows",
            steepest / curvature
        )]
    },
    value: |c| {
        let u = c.get("U")?;
        let excess = c.get("sum_excess")?.max(0.0);
        Some(c.get("epsilon")? / 2.0 * u * u + excess + rounding(c)?)
    },
};

/// The least second derivative where predictions and comparators can be.
fn curvature(c: &Constants) -> Option<f64> {
    if c.get("logistic")? == 0.0 {
        // Met with equality by the learner's own rate, whose rounding `rounding` covers.
        return Some(2.0 * (1.0 + 8.0 * f64::EPSILON));
    }
    let farthest = c.get("farthest")?.max(c.get("U")? * c.get("longest")?);
    let e = (-farthest).exp();
    Some(e / ((1.0 + e) * (1.0 + e)) * (1.0 - 1e-9))
}
