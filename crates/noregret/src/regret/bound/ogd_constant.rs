//! Online gradient descent with a constant step: `R_T(u) <= |u|^2/(2 eta) + (eta/2) sum of |g_t|^2`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "ogd-constant",
    statement: "R_T(u) <= |u|^2/(2 eta) + (eta/2) sum |g_t|^2",
    needs: "nothing but convexity",
    source: "Zinkevich 2003; Cesa-Bianchi, notes on online gradient descent, (6) with equal steps",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (u, eta) = (c.get("U")?, c.get("eta")?);
        Some(u * u / (2.0 * eta) + eta / 2.0 * c.get("sum_g2")?)
    },
};
