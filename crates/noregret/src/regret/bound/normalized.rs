//! Normalized adaptive gradient descent: the paper bounds its regret against comparators measured in
//! units of the features only if the iterates stay bounded; nothing here ensures that.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "normalized",
    statement: "none in advance: as for adagrad, in units of the features, if iterates stayed bounded",
    needs: "bounded iterates",
    source: "Ross, Mineiro, Langford 2013, section 4",
    class: Class::L2,
    linearised: true,
    conditions: |_| vec!["iterates are not bounded".to_owned()],
    value: |_| None,
};
