//! Online ridge regression: an identity rather than an inequality. With `r_t` the residual of round
//! `t` after it has been folded in, the penalised minimum in hindsight is the sum of `r_t^2`, hence
//! `R_T(u) <= (alpha/2) |u|^2 + sum of (loss_t - r_t^2)` for every `u`, with equality at the minimiser.

use super::{Class, Entry};

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
        // Rotations are backward stable: the residuals are those of data off by roundings.
        let rounding = 1e-10 * (c.get("sum_losses")? + c.get("sum_y2")?);
        Some(c.get("alpha")? / 2.0 * u * u + excess + rounding)
    },
};
