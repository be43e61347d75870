//! What a learner may keep beside its scalars and its slots: a triangular factor, stored rows, the
//! average of surviving perceptrons. Shared by the learners that need it.

mod store;
mod survivors;
mod triangle;

pub(super) use store::{Spread, Store, add, distance_squared, product};
pub(super) use survivors::Survivors;
pub(super) use triangle::Triangle;

/// The most features of a learner with a full matrix, so that its factor stays below 70 MB.
pub(super) const LARGEST: u32 = 4096;
