//! What is known of the averaged and the voted Perceptron: the Perceptron inside obeys its own bound. What
//! the average and the vote get wrong is bounded in expectation only, for examples drawn independently
//! from one distribution, which nobody can check on a stream.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "inner-perceptron",
    statement: "the Perceptron inside errs M <= H(u) + (|u| X)^2 + |u| X sqrt(H(u)) times; of the vote's errors nothing is proved on a stream",
    needs: "a comparator u; for the vote, examples drawn independently from one distribution",
    source: "Freund, Schapire 1999, theorems 1 and 2",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["speaks of the perceptron inside, not of what was predicted".to_owned()],
    value: |_| None,
};
