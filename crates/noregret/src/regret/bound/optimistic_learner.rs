//! The learner of the Optimistic Perceptron, against every vector of length 1.
//!
//! Optimistic follow the regularised leader with the regulariser `|w|^2/2` pays 1/2 for the length
//! of the comparator and `|x_t - x_{t-1}|^2/2` for each hint that was wrong, and
//! `|x_t - x_{t-1}| <= r |p_t - p_{t-1}|_1`.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "optimistic-learner",
    statement: "sum <u - w_t, x_t> <= 1/2 + (r^2/2) sum |p_t - p_{t-1}|_1^2 for every u of length 1",
    needs: "rows no longer than r; w_t from optimistic follow the regularised leader (separate)",
    source: "Hanashiro, Abernethy: Linear Separation via Optimism, theorem 1",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["speaks of separation: separate --method optimistic".to_owned()],
    value: |c| Some(0.5 + c.get("r")?.powi(2) / 2.0 * c.get("moved")?),
};
