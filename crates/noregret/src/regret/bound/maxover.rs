//! How often the rule of least stability moves on separable rows, whatever it forgets: an update adds at
//! least 1 to `<u, w>` and at most `X^2 + 2 kappa` to `|w|^2`, because its row had stability below `kappa`.
//! A round with a mistake has an update, so mistakes are no more than updates.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "maxover",
    statement: "M <= updates <= |u|^2 (X^2 + 2 kappa) for every u with y <u,x> >= 1 on all rows",
    needs: "rows that can be separated, a separator u, importance weights of 1",
    source: "Krauth, Mezard 1987, whose proof needs no more than the least stability below kappa",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["needs a separator: noregret separate".to_owned()],
    value: |_| None,
};

/// The most updates, hence mistakes, with a separator of squared norm `u_squared` and margin 1, on rows no
/// longer than `x`.
pub fn most_updates(u_squared: f64, x: f64, kappa: f64) -> f64 {
    u_squared * (x * x + 2.0 * kappa)
}
