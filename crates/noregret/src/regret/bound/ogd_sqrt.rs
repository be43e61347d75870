//! Online gradient descent with the step `eta/sqrt(t)` and no projection: the proof of projected OGD
//! needs iterates within a known distance of the comparator, and nothing here ensures that.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "ogd-sqrt",
    statement: "none in advance: as for projected OGD if every iterate stayed within U",
    needs: "bounded iterates (use projected-ogd)",
    source: "Zinkevich 2003",
    class: Class::L2,
    linearised: true,
    conditions: |_| vec!["iterates are not bounded".to_owned()],
    value: |_| None,
};
