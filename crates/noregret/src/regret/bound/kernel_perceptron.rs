//! The Perceptron's mistake bound in the space of a kernel, as long as no row has been forgotten.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "kernel-perceptron",
    statement: "M <= H(u) + (|u| X)^2 + |u| X sqrt(H(u)) for every u of the kernel's space, K(x,x) <= X^2",
    needs: "a comparator in the kernel's space; a budget that was never exceeded",
    source: "Freund, Schapire 1999, theorem 1",
    class: Class::L2,
    linearised: false,
    conditions: |c| {
        let mut unmet = vec!["needs a comparator in the kernel's space".to_owned()];
        if let Some(forgotten) = c.get("forgotten").filter(|f| *f > 0.0) {
            unmet.push(format!("{forgotten} rows were forgotten (--budget)"));
        }
        unmet
    },
    value: |_| None,
};
