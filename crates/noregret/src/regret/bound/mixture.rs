//! Exponential weights over `K` learners: the total loss is at most the best one's plus `ln K/eta`.
//!
//! With `W_t` the sum of the weights, `-ln(W_{t+1}/W_t)/eta` is the mix loss of the round, and a loss
//! that is `eta`-exp-concave (logistic in the probability: `eta = 1`; square within `+-B`:
//! `eta = 1/(8 B^2)`) suffers no more at the mean; the product telescopes to the best member's total.
//! A second layer over `J` such mixtures adds `ln J/eta`. A weight `c <= 1` keeps `c f` exp-concave; one
//! above 1 does not. Fixed share in place of the first layer costs `ln(T + 1)/eta` more.
//!
//! It compares with the members, which move, and so says nothing about a class of fixed models: that is
//! the certificate's part.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "mixture",
    statement: "L <= min over members k of L_k + (ln K + ln 3)/eta; with fixed share alone (ln K + ln(T + 1))/eta",
    needs: "logistic loss, or square loss with --label-bound; importance weights at most 1",
    source: "Vovk 1990; Cesa-Bianchi, Lugosi 2006, sections 3.3 and 5.2",
    class: Class::L2,
    linearised: false,
    conditions: |_| {
        vec!["the theorem compares with the best member, not with fixed models: see `mixture`".to_owned()]
    },
    value: |_| None,
};
