//! The data of the Optimistic Perceptron, against every single row.
//!
//! Mirror descent that moves second, with the entropy (1-strongly convex in the l1 norm) and the rate
//! `1/r^2`: `D(p, p_0)/eta - (1/(2 eta)) sum |p_t - p_{t-1}|_1^2`. The divergence needs a bound from
//! the uniform `p_0` alone, `ln n`; the paper asks for one between any two points, which the entropy
//! does not have.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "optimistic-data",
    statement: "sum <w_t, x_t> - min_i sum <w_t, m_i> <= r^2 ln n - (r^2/2) sum |p_t - p_{t-1}|_1^2",
    needs: "n rows; p_t from mirror descent with the entropy and the rate 1/r^2 (separate)",
    source: "Hanashiro, Abernethy: Linear Separation via Optimism, theorem 2",
    class: Class::Simplex,
    linearised: false,
    conditions: |_| vec!["speaks of separation: separate --method optimistic".to_owned()],
    value: |c| {
        let square = c.get("r")?.powi(2);
        Some(square * c.get("n")?.ln() - square / 2.0 * c.get("moved")?)
    },
};
