//! The Vovk–Azoury–Warmuth forecaster, for the square loss and labels within `Y`, which it need not know:
//!
//! ```text
//! sum loss_t <= sum (<u, x_t> - y_t)^2 + (alpha/2) |u|^2 + Y^2 ln det(A_T/A_0)      for every u
//! ln det(A_T/A_0) <= d ln(1 + 2 T X^2/(alpha d))
//! ```
//!
//! The number stated is the one with the determinant. The first line is an inequality between exact
//! numbers; that the computed ones obey it is looked at as well, by the minimum in hindsight that the
//! residuals give (`ridge.rs`), so that rounding cannot make it false.

use super::{Class, Entry, ridge::rounding};
use crate::learner::Constants;

pub(super) static ENTRY: Entry = Entry {
    name: "vaw",
    statement: "R_T(u) <= (alpha/2) |u|^2 + Y^2 ln det(A_T/A_0), at most d Y^2 ln(1 + 2 T X^2/(alpha d)) of it the second",
    needs: "the square loss, labels within Y (observed), importance weights of 1",
    source: "Vovk 2001; Azoury, Warmuth 2001, the forward algorithm",
    class: Class::L2,
    linearised: false,
    conditions: |c| match excess_fits(c) {
        Some(false) => vec!["rounding has outgrown what the theorem allows: scale the features".to_owned()],
        _ => Vec::new(),
    },
    value: |c| {
        let u = c.get("U")?;
        Some(c.get("alpha")? / 2.0 * u * u + curvature(c)? + rounding(c)?)
    },
};

/// `Y^2 ln det(A_T/A_0)`.
fn curvature(c: &Constants) -> Option<f64> {
    let y = c.get("Y")?;
    Some(y * y * c.get("log_det")?)
}

fn excess_fits(c: &Constants) -> Option<bool> {
    let excess = c.get("sum_losses")? - c.get("sum_residuals")?;
    Some(excess <= curvature(c)? + rounding(c)?)
}
