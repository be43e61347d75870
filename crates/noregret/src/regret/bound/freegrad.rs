//! FreeGrad with hints: for every `u`,
//!
//! ```text
//! R_T(u) <= max(2|u| sqrt(V ln+(2|u| V/(epsilon h1^2))), 4 h|u| ln+(4 h|u| sqrt(V)/(epsilon h1^2))) + epsilon h1
//! ```
//!
//! The potential `epsilon h1^2/sqrt(V) exp(|S|^2/(2V + 2h|S|))` never rises by more than the round's `-<g, w>`,
//! and the maximum bounds its conjugate. `ln+` is the logarithm, or 0 where that is negative.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "freegrad",
    statement: "R_T(u) <= max(2|u| sqrt(V ln+(2|u|V/(epsilon h1^2))), 4 h|u| ln+(4 h|u| sqrt(V)/(epsilon h1^2))) + epsilon h1, \
                V = h1^2 + sum |g_t|^2",
    needs: "gradients no longer than h = lambda times the longest row so far: a Lipschitz loss and weights at most 1, \
            or slopes that never set a record",
    source: "Mhammedi, Koolen 2020, theorem 5",
    class: Class::L2,
    linearised: true,
    conditions: |_| Vec::new(),
    value: |c| {
        let (u, v, h) = (c.get("U")?, c.get("V")?, c.get("h")?);
        let (epsilon, first) = (c.get("epsilon")?, c.get("h1")?);
        if first == 0.0 {
            // No gradient can have been seen, so nothing can be regretted.
            return (c.get("G")? == 0.0).then_some(0.0);
        }
        let log = |x: f64| x.ln().max(0.0);
        let unit = epsilon * first * first;
        let slow = 2.0 * u * (v * log(2.0 * u * v / unit)).sqrt();
        let fast = 4.0 * h * u * log(4.0 * h * u * v.sqrt() / unit);
        Some(slow.max(fast) + epsilon * first)
    },
};
