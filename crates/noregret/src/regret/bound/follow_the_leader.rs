//! Follow the leader has no regret bound: on the stream `w/2, -w, w, -w, ...` it loses 1 in every
//! round after the first, and the constant 0 loses nothing.

use super::{Class, Entry};

pub(super) static ENTRY: Entry = Entry {
    name: "follow-the-leader",
    statement: "none: the regret can be T - 1 (`noregret generate leader-fails`)",
    needs: "regularisation",
    source: "Cesa-Bianchi, notes on online gradient descent, The need for regularization",
    class: Class::L2,
    linearised: false,
    conditions: |_| vec!["follow the leader has no bound: its regret can grow as T".to_owned()],
    value: |_| None,
};
