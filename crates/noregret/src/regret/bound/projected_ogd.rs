//! Projected online gradient descent: `R_T <= U G sqrt(8 T)`.
//!
//! For any `eta` in the step `eta/sqrt(t)` the proof gives `2 U^2 sqrt(T)/eta + G^2 eta sqrt(T)`, and
//! `eta = sqrt(2) U/G` the bound. With the running maximum `G_t` in the step (the current round
//! included) the inverse steps still increase, `2 U^2/eta_T = sqrt(2) U G_T sqrt(T)`, and the sum of
//! `eta_t |g_t|^2/2` is at most `sqrt(2) U G_T sqrt(T)`: the same bound with `G_T`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "projected-ogd",
    statement: "R_T <= U G sqrt(8 T); with another eta, 2 U^2 sqrt(T)/eta + G^2 eta sqrt(T)",
    needs: "gradients no longer than G (given, or the largest observed)",
    source: "Zinkevich 2003; Cesa-Bianchi, notes on online gradient descent, (9)",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (u, g, t) = (c.get("ball")?, c.get("G")?, c.get("T")?);
        Some(match c.get("eta") {
            Some(eta) => 2.0 * u * u * t.sqrt() / eta + g * g * eta * t.sqrt(),
            None => u * g * (8.0 * t).sqrt(),
        })
    },
};
