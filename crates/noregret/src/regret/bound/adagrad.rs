//! AdaGrad: `R_T(u) <= (D^2/(2 eta) + eta) sum over i of |g_{1:T,i}|_2` when every iterate stays within
//! `D` of the comparator in every coordinate; nothing here ensures that.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "adagrad",
    statement: "none in advance: (D^2/(2 eta) + eta) sum_i |g_i|_2 if |w_t - u|_inf <= D throughout",
    needs: "bounded iterates",
    source: "Duchi, Hazan, Singer 2011, theorem 5",
    class: Class::L2,
    linearised: true,
    conditions: |_| vec!["iterates are not bounded".to_owned()],
    value: |_| None,
};
