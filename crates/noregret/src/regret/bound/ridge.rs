//! Online ridge regression: an identity rather than an inequality. With `r_t` the residual of round
//! `t` after it has been folded in, the penalised minimum in hindsight is the sum of `r_t^2`, hence
//! `R_T(u) <= (alpha/2) |u|^2 + sum of (loss_t - r_t^2)` for every `u`, with equality at the minimiser.

use super::{Class, Entry};
use crate::learner::Constants;

pub(super) static ENTRY: Entry = Entry {
    name: "ridge",
    statement: "R_T(u) <= (alpha/2) |u|^2 + sum of (loss_t - r_t^2), r_t the residual after round t",
    needs: "the square loss",
    source: "Azoury, Warmuth 2001, theorem 4.6; the identity follows from the QR factorisation",
    class: Class::L2,
    linearised: false,
    conditions: |_| Vec::new(),
    value: |c| {
        let u = c.get("U")?;
        let excess = (c.get("sum_losses")? - c.get("sum_residuals")?).max(0.0);
        Some(c.get("alpha")? / 2.0 * u * u + excess + rounding(c)?)
    },
};

/// Rotations are backward stable: the residuals are those of rows and targets off by 3 (T + d) roundings
/// of their size, which moves the loss of a `u` in the ball by no more than this.
pub(super) fn rounding(c: &Constants) -> Option<f64> {
    let u = c.get("U")?;
    let size = c.get("sum_y2")? + c.get("sum_x2")? * u * u;
    Some(32.0 * f64::EPSILON * (c.get("T")? + c.get("d")?) * size)
}
