//! Constrained subgradient descent with a constant step: `R_m <= B lambda X sqrt(m)` for the horizon
//! `m` it was tuned for, and `B^2/(2 eta) + T eta lambda^2 X^2/2` for the `T` rounds seen.
//!
//! (Dekel's theorem 4 prints the step where the regret belongs, and the step without its root over
//! `m` alone; lemma 6 and the telescoping sum, its inequalities turned the right way round, give what
//! stands here.)

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "subgradient",
    statement: "R_T <= U^2/(2 eta) + T eta (lambda X)^2/2; at T = horizon: U lambda X sqrt(T)",
    needs: "a Lipschitz loss, rows no longer than X (--row-bound), weights at most 1",
    source: "Dekel, notes on constrained subgradient descent, theorem 4",
    class: Class::L2,
    linearised: true,
    conditions: |c| {
        let mut unmet = Vec::new();
        let (x, lambda) = (c.get("X").unwrap_or(1.0), c.get("lambda"));
        let longest = c.get("longest").unwrap_or(0.0);
        if longest > x {
            unmet.push(format!("a row of length {longest} is longer than --row-bound {x}"));
        }
        match lambda {
            None => unmet.push("the loss has no Lipschitz constant".to_owned()),
            Some(lambda) => {
                let g = c.get("G").unwrap_or(0.0);
                if longest <= x && g > lambda * x * (1.0 + 1e-12) {
                    unmet.push(format!("a gradient of norm {g} is longer than lambda X = {}", lambda * x));
                }
            }
        }
        unmet
    },
    value: |c| {
        let (u, eta, t) = (c.get("ball")?, c.get("eta")?, c.get("T")?);
        let slope = c.get("lambda")? * c.get("X")?;
        Some(u * u / (2.0 * eta) + t * eta * slope * slope / 2.0)
    },
};
