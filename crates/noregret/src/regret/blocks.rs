//! Ledgers of the recent past: the stream cut into blocks whose books are only ever added.
//!
//! Rounds are entered in the book of the last block. The book of any part of the stream that begins
//! with a block, the whole included, is the sum of the blocks' books; nothing is subtracted from a
//! running sum, whose rounding would be that of the whole stream. Two neighbours become one when all
//! that follows them is as long as they are together, so that `T` examples have O(log T) blocks, each
//! about as long as what follows it.
//!
//! The vector is another matter: the learner's slots hold the running `S`, which for dual averaging is
//! the state itself. A block remembers `S` as it was when the block began, and the vector of all that
//! came since is the difference. That is sound at little cost. The additions since then began at the
//! very numbers remembered, so whatever was rounded before them cancels; each of the `T` additions since
//! is off by at most a rounding of a partial sum, and no partial sum is larger than the start and the
//! terms together. The Euclidean error of the difference is at most `T 2^-53 (|start| + Q)`, with `T` and
//! `Q` of the part alone. [`Extra`] carries `|start|` there.

use super::comparator::norm2;
use super::ledger::Extra;
use super::{Book, Ledger};
use crate::round::Vector;
use std::sync::Arc;

/// Blocks end at multiples of so many examples.
pub const UNIT: u64 = 1024;

/// With more features than this, `S` is remembered only where that was asked for.
pub const LARGEST_DIMENSION: usize = 1 << 20;

/// What is added to a vector that was made by one subtraction: its rounding, and one to spare.
const SUBTRACTION: f64 = 2.0;

/// A run of examples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The scalars of its rounds.
    pub book: Book,
    /// The learner's `S` when it began; none where that is not remembered. Twins share it.
    pub start: Option<Arc<Vector>>,
}

/// A part of the stream, cut into blocks; rounds are entered in the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    closed: Vec<Block>,
    open: Block,
}

/// All examples since a block began.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    /// How many examples of the same part came before.
    pub after: u64,
    /// The ledger of those since.
    pub ledger: Ledger,
}

impl Blocks {
    /// Blocks in order, as they were kept; the last one is open.
    pub fn from_list(mut list: Vec<Block>) -> Self {
        let open = list.pop().unwrap_or_default();
        Self { closed: list, open }
    }

    /// All blocks, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Block> {
        self.closed.iter().chain([&self.open])
    }

    /// Where rounds are entered.
    #[inline]
    pub fn open(&mut self) -> &mut Book {
        &mut self.open.book
    }

    /// The book of all blocks.
    pub fn book(&self) -> Book {
        let mut book = Book::default();
        self.iter().for_each(|block| book.merge(&block.book));
        book
    }

    /// How many examples there are.
    pub fn examples(&self) -> u64 {
        self.iter().map(|block| block.book.examples).sum()
    }

    /// How many more examples until the open block may end.
    pub fn until_due(&self) -> u64 {
        UNIT - self.open.book.examples % UNIT
    }

    /// Whether the open block ends here. To remember `S` costs a visit to every feature, so a block is
    /// at least half as long as there are features.
    pub fn is_due(&self, dimension: usize) -> bool {
        let examples = self.open.book.examples;
        examples > 0 && examples.is_multiple_of(UNIT) && examples >= dimension as u64 / 2
    }

    /// Ends the open block, if it has any example, and begins another at `S = start`.
    pub fn begin(&mut self, start: Option<Vector>) {
        let open = Block { book: Book::default(), start: start.map(Arc::new) };
        let ended = std::mem::replace(&mut self.open, open);
        if ended.book.examples > 0 {
            self.closed.push(ended);
            self.merge();
        }
    }

    /// From here on nothing is remembered of `S`.
    pub fn forget(&mut self) {
        self.closed.iter_mut().chain([&mut self.open]).for_each(|block| block.start = None);
    }

    /// Whether any `S` is remembered.
    pub fn remembers(&self) -> bool {
        self.iter().any(|block| block.start.is_some())
    }

    /// Joins neighbours that together are no longer than all that follows them.
    fn merge(&mut self) {
        let mut follow = 0;
        let mut k = self.closed.len();
        while k >= 2 {
            let (older, newer) = (&self.closed[k - 2], &self.closed[k - 1]);
            if older.book.examples + newer.book.examples <= follow {
                let newer = self.closed.remove(k - 1);
                self.closed[k - 2].book.merge(&newer.book);
            } else {
                follow += newer.book.examples;
            }
            k -= 1;
        }
    }

    /// The ledgers since every block that remembers its beginning and has at least [`UNIT`] examples
    /// since; the longest first. `s` is the learner's `S` at the end.
    pub fn since<'a>(&'a self, s: &'a Vector) -> impl Iterator<Item = Since> + 'a {
        let books = self.iter().rev().scan(Book::default(), |since, block| {
            let mut book = block.book.clone();
            book.merge(since);
            since.clone_from(&book);
            Some((book, block.start.as_deref()))
        });
        let books: Vec<_> = books.collect();
        let all = self.examples();
        books.into_iter().rev().filter_map(move |(book, start)| {
            let start = start.filter(|_| book.examples >= UNIT)?;
            let mut part = s.clone();
            part.add(start, -1.0);
            let extra = Extra { rounds: SUBTRACTION, reach: norm2(start) };
            let after = all - book.examples;
            Some(Since { after, ledger: Ledger { book, s: part, extra, own: Vec::new() } })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(blocks: &Blocks) -> Vec<u64> {
        blocks.iter().map(|b| b.book.examples).collect()
    }

    #[test]
    fn lengths_are_powers_of_two_and_few() {
        let mut blocks = Blocks::default();
        for n in 1..=3000_u64 {
            blocks.open().examples = UNIT;
            blocks.begin(Some(Vector::default()));
            let lengths: Vec<u64> = lengths(&blocks).iter().map(|l| l / UNIT).collect();
            assert_eq!(lengths.iter().sum::<u64>(), n);
            assert!(lengths.iter().all(|l| *l == 0 || l.is_power_of_two()), "{lengths:?}");
            // The first block begins at 0; the others have a vector each.
            let vectors = lengths.len() - 1;
            assert!(vectors as f64 <= 1.0 + 2.0 * (n as f64).log2(), "{n}: {lengths:?}");
            // There is a recent part of every length, up to a factor of two.
            for k in 0..lengths.len() - 2 {
                let follow: u64 = lengths[k + 1..].iter().sum();
                assert!(lengths[k] <= follow, "{lengths:?}");
            }
        }
    }

    #[test]
    fn a_block_is_half_as_long_as_there_are_features() {
        let mut blocks = Blocks::default();
        assert!(!blocks.is_due(0));
        blocks.open().examples = UNIT;
        assert!(blocks.is_due(2 * UNIT as usize) && !blocks.is_due(2 * UNIT as usize + 2));
        blocks.open().examples = UNIT + 1;
        assert!(!blocks.is_due(1));
        assert_eq!(blocks.until_due(), UNIT - 1);
    }

    #[test]
    fn what_is_forgotten_is_not_told() {
        let mut blocks = Blocks::default();
        for _ in 0..5 {
            blocks.open().examples = UNIT;
            blocks.begin(Some(Vector::default()));
        }
        let s = Vector::default();
        assert!(blocks.since(&s).count() > 2);
        assert!(blocks.since(&s).all(|since| since.after + since.ledger.book.examples == 5 * UNIT));
        let book = blocks.book();
        blocks.forget();
        assert!(!blocks.remembers());
        assert_eq!((blocks.since(&s).count(), blocks.book()), (0, book));
    }
}
