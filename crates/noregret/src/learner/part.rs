//! Learners that began alike and learned parts of one stream, each its own, become one: their average.
//!
//! ```text
//! w = sum over parts of share_k w_k        share_k = n_k/n, the part's share of the weight of all examples
//! ```
//!
//! What else a learner keeps (steps taken, sums of squares) is averaged likewise, so that the average goes on as one of
//! the parts would. Whatever was predicted is in the parts' ledgers, which add; no ledger is made from the average.

use super::{Cell, Learner, Slots};

/// One of several learners that began alike.
pub struct Part<L: Learner> {
    /// Its share of all examples, by their weights; the shares sum to 1.
    pub share: f64,
    /// Its scalars.
    pub learner: L,
    /// Its slots.
    pub slots: Slots<L::Slot>,
}

/// The average of a number.
pub(super) fn average<L: Learner>(parts: &[Part<L>], read: impl Fn(&L) -> f64) -> f64 {
    parts.iter().map(|part| part.share * read(&part.learner)).sum()
}

/// The average of a count.
pub(super) fn average_count<L: Learner>(parts: &[Part<L>], read: impl Fn(&L) -> u64) -> u64 {
    average(parts, |learner| read(learner) as f64).round() as u64
}

/// The largest of a number, which is not negative.
pub(super) fn largest<L: Learner>(parts: &[Part<L>], read: impl Fn(&L) -> f64) -> f64 {
    parts.iter().map(|part| read(&part.learner)).fold(0.0, f64::max)
}

/// Adds every cell of every part to the cell of the same feature in `slots`, part after part.
pub(super) fn gather<L: Learner>(
    parts: &[Part<L>],
    slots: &mut Slots<L::Slot>,
    mut add: impl FnMut(&mut Cell<L::Slot>, &Part<L>, &Cell<L::Slot>),
) {
    slots.grow(parts.iter().map(|part| part.slots.cells.len()).max().unwrap_or(0));
    for part in parts {
        for (sum, cell) in slots.cells.iter_mut().zip(&part.slots.cells) {
            add(sum, part, cell);
        }
        if let (Some(sum), Some(cell)) = (&mut slots.bias, &part.slots.bias) {
            add(sum, part, cell);
        }
    }
}
