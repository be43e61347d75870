//! Features on their way from text into a block.

use super::Libsvm;
use super::layout::Layout;
use super::marks::Marks;
use crate::example::Block;
use crate::example::number::Number;

/// How many features are gathered before they move into a block.
pub(super) const RUN: usize = 256;

/// Why features of one look came to an end.
pub(super) enum Swept {
    /// The row has ended, its newline included.
    Row,
    /// The run is full.
    Run,
    /// What follows looks different.
    Other,
}

/// Features on their way into a block, in runs: cheaper than to ask two vectors for room per feature.
pub(super) struct Run<V> {
    /// As in the file, not yet counted from 0, nor folded.
    pub(super) indices: [u32; RUN],
    pub(super) values: [V; RUN],
    pub(super) count: usize,
    /// What the first feature of the row before looked like.
    pub(super) first: &'static Layout,
    /// Whether to guess that a feature looks like the one before it.
    pub(super) guess: Credit,
    /// Whether to read four at once where that is guessed.
    pub(super) fours: Credit,
    pub(super) marks: Marks,
}

/// Whether a way to read features pays where we are: it gains with each feature, and loses where it comes to an end before the row does.
pub(super) struct Credit {
    /// What such an end costs, in features.
    cost: i32,
    /// Above 0, it is not tried for so many rows; else it is, and may lose so much.
    debt: i32,
}

/// For so many rows what did not pay is left alone. Where it is tried anew, it has the one credit; it never has more than the other.
const ROWS: i32 = 64;
const TRIAL: i32 = -24;
const MOST: i32 = -64;

impl Credit {
    fn new(cost: i32) -> Self {
        Self { cost, debt: TRIAL }
    }

    #[inline]
    pub(super) fn is_left(&self) -> bool {
        self.debt <= 0
    }

    /// Remembers how many features were read so, and whether it ended before the row did.
    #[inline]
    pub(super) fn enter(&mut self, features: usize, ended: bool) {
        // A run has at most 256 features.
        let gain = i32::from(features as u16);
        self.debt = (self.debt + self.cost * i32::from(ended) - gain).max(MOST);
        if self.debt > 0 {
            self.debt = ROWS;
        }
    }

    /// A row goes by.
    #[inline]
    pub(super) fn pass_row(&mut self) {
        if self.debt > 0 {
            self.debt -= 1;
            if self.debt == 0 {
                self.debt = TRIAL;
            }
        }
    }
}

impl<V: Number> Run<V> {
    pub(super) fn new() -> Self {
        Self {
            indices: [0; RUN],
            values: [V::ZERO; RUN],
            count: 0,
            first: Layout::usual(),
            guess: Credit::new(2),
            fours: Credit::new(8),
            marks: Marks::new(),
        }
    }

    /// Sees to it that there is room for a feature, and mostly for many.
    #[inline]
    pub(super) fn make_room(&mut self, libsvm: &Libsvm, block: &mut Block<V>) {
        if self.count > RUN / 2 {
            self.flush(libsvm, block);
        }
    }

    /// Room for four features after so many.
    #[inline(always)]
    pub(super) fn room(&mut self, count: usize) -> Option<(&mut [u32; 4], &mut [V; 4])> {
        let indices = self.indices.get_mut(count..)?.first_chunk_mut()?;
        Some((indices, self.values.get_mut(count..)?.first_chunk_mut()?))
    }

    #[inline]
    pub(super) fn push(&mut self, index: u32, value: V) {
        self.indices[self.count] = index;
        self.values[self.count] = value;
        self.count += usize::from(value != V::ZERO);
    }

    #[inline(never)]
    pub(super) fn flush(&mut self, libsvm: &Libsvm, block: &mut Block<V>) {
        let places = self.indices[..self.count].iter();
        block.indices.extend(places.map(|index| index.wrapping_sub(libsvm.base as u32) & libsvm.mask));
        block.values.extend_from_slice(&self.values[..self.count]);
        self.count = 0;
    }
}
