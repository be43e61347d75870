//! Online gradient descent on sigma-strongly convex losses: `R_T <= (G^2/(2 sigma)) (1 + ln T)`.
//!
//! `sum of 1/t <= 1 + ln T`; two of the notes print `ln(T + 1)`, which is below the sum.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "strongly-convex",
    statement: "R_T <= (G^2/(2 sigma)) (1 + ln T) for the losses with their penalty (sigma/2)|w|^2",
    needs: "--l2 sigma; the comparator is ridge",
    source: "Hazan, Agarwal, Kale 2007; Cesa-Bianchi, notes on online gradient descent, after (10)",
    class: Class::Ridge,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (g, sigma, t) = (c.get("G")?, c.get("sigma")?, c.get("T")?);
        Some(g * g / (2.0 * sigma) * (1.0 + t.ln()))
    },
};
