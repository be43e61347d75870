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
    /// Above 0 where features look different so often that it is cheaper not to guess: for so many rows.
    variety: i32,
    /// The same where signs and zeros are so frequent that it is cheaper to read features one by one.
    signs: i32,
    pub(super) marks: Marks,
}

/// How many features that look alike make up for one that does not: what a wrong guess costs, in features.
const CHANGE: i32 = 2;

/// How many that have no sign make up for one that has.
const SIGN: i32 = 8;

/// For so many rows nothing is guessed then. Where guessing begins, it has this much credit.
const ROWS: i32 = 64;
const TRIAL: i32 = -24;

impl<V: Number> Run<V> {
    pub(super) fn new() -> Self {
        Self {
            indices: [0; RUN],
            values: [V::ZERO; RUN],
            count: 0,
            first: Layout::usual(),
            variety: TRIAL,
            signs: TRIAL,
            marks: Marks::new(),
        }
    }

    /// Whether features look alike so often that it is worth guessing how the next one does.
    #[inline]
    pub(super) fn guesses(&self) -> bool {
        self.variety <= 0
    }

    /// Whether it is worth reading four features at once.
    #[inline]
    pub(super) fn fours(&self) -> bool {
        self.signs <= 0
    }

    /// Remembers how many were read so, and whether they ended at one that has a sign or is 0.
    #[inline]
    pub(super) fn compare_fours(&mut self, features: usize, ended: bool) {
        self.signs = (self.signs + SIGN * i32::from(ended) - i32::from(features as u16)).max(-64);
        if self.signs > 0 {
            self.signs = ROWS;
        }
    }

    /// A row begins.
    #[inline]
    pub(super) fn begin_row(&mut self) {
        if self.signs > 0 {
            self.signs -= 1;
            if self.signs == 0 {
                self.signs = TRIAL;
            }
        }
    }

    /// A row was read without guessing.
    #[inline]
    pub(super) fn pass_row(&mut self) {
        self.variety -= 1;
        if self.variety == 0 {
            self.variety = TRIAL;
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

    /// Remembers how often features looked different.
    #[inline]
    pub(super) fn compare(&mut self, features: usize, changed: bool) {
        // A run has at most 256 features.
        let alike = features as u16;
        self.variety = (self.variety + CHANGE * i32::from(changed) - i32::from(alike)).max(-64);
        if self.variety > 0 {
            self.variety = ROWS;
        }
    }

    #[inline(never)]
    pub(super) fn flush(&mut self, libsvm: &Libsvm, block: &mut Block<V>) {
        let places = self.indices[..self.count].iter();
        block.indices.extend(places.map(|index| index.wrapping_sub(libsvm.base as u32) & libsvm.mask));
        block.values.extend_from_slice(&self.values[..self.count]);
        self.count = 0;
    }
}
