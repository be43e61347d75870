//! Usual features of VW text, ` name:0.123`, many at once.
//!
//! First the places are found where words may end, 64 bytes at a time, as bits. Then each feature is taken out of the text between
//! these, unseen: the bytes of its name, and those of its value. Whether they are what they should be is asked when many have
//! gathered, together with hashes and numbers ([`Lanes::hashes`], [`Lanes::numbers`]).
//!
//! Whatever is unusual ends the sweep, and is left to those who read anything.

// A call per feature would cost more than what is called.
#![allow(clippy::inline_always)]

use super::audit_name;
use crate::example::hash::vw_name;
use crate::example::lanes::{self, BLOCK, GROUP, Lanes, Width, Words, Work};
use crate::example::number::Number;
use crate::example::text::Row;

/// How many features gather.
const FEATURES: usize = 128;

/// How many blocks are looked at before their features are read: first, because a namespace may be short, and later.
const FEW: usize = 2;
const MANY: usize = 32;

/// How many features are taken in a step at most, if they have no more than a block together.
const TOGETHER: usize = 3;

/// What is looked at of a block and behind it: a feature ends within the block, and of its name and its value sixteen bytes are taken.
const WINDOW: usize = BLOCK + 32;

/// What stands for the value of a feature that has none, from its colon on.
const ONE: [u8; 16] = *b":1              ";

/// Where a length says that there is none.
const NONE: u32 = 1 << 16;

/// How many features are read one by one where one could not be read with others; and the most, where that happens time and again.
pub(super) const PATIENCE: u32 = 16;
const MOST_PATIENCE: u32 = 1 << 12;

/// Features on their way from text to a row.
#[derive(Debug)]
pub(in crate::example) struct Batch {
    /// The names, and what follows them in the text.
    names: [[u8; 16]; FEATURES],
    /// The values from their colons on, and what follows them.
    values: [[u8; 16]; FEATURES],
    /// The lengths of both, as [`Lanes`] takes them, with [`NONE`] where there is no value in the text.
    lengths: [u32; FEATURES],
    /// What comes of them.
    hashes: [Words; FEATURES / GROUP],
    numbers: [Words; FEATURES / GROUP],
    /// How many blocks the last sweep passed.
    passed: usize,
    /// How many features are to be read one by one before the next sweep, because in the last one the first was unusual; and how
    /// many after another such.
    pub(super) wait: u32,
    patience: u32,
    /// Which bytes of the text may end a word, and a word beyond them.
    stops: [u64; MANY + 1],
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            names: [[0; 16]; FEATURES],
            values: [ONE; FEATURES],
            lengths: [0; FEATURES],
            hashes: [Words::default(); FEATURES / GROUP],
            numbers: [Words::default(); FEATURES / GROUP],
            passed: 0,
            wait: 0,
            patience: PATIENCE,
            stops: [0; MANY + 1],
        }
    }
}

/// How a sweep of features ended.
enum Ended {
    /// What is known of the text ends, or the batch is full.
    Short,
    /// The line ends, or something unusual follows.
    Here,
}

/// Reads features of a namespace from the space at `from` on into a row, as long as they are usual.
pub(super) struct Sweep<'a, 'r, V> {
    pub(super) text: &'a [u8],
    pub(super) from: usize,
    /// Where the line ends, or somewhat earlier.
    pub(super) length: usize,
    pub(super) space: &'a [u8],
    pub(super) seed: u32,
    pub(super) mask: u32,
    pub(super) row: &'a mut Row<'r, V>,
}

impl<V: Number> Sweep<'_, '_, V> {
    /// Says where the first feature of another kind begins, or the line ends.
    #[inline]
    pub(super) fn read(self) -> usize {
        // There is one, unless a sweep did not end well.
        let Some(batch) = self.row.batch.take() else { return self.from };
        // For a few features wider lanes take longer to set up than they save.
        let widest = if batch.passed > FEW { Width::Avx512 } else { Width::Avx2 };
        lanes::run_within(widest, Reading { sweep: self, batch })
    }
}

struct Reading<'a, 'r, V> {
    sweep: Sweep<'a, 'r, V>,
    batch: &'r mut Batch,
}

impl<V: Number> Work for Reading<'_, '_, V> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> usize {
        let Self { mut sweep, batch } = self;
        let (mut at, mut begin) = (sweep.from, sweep.from);
        // A namespace is mostly as long as the last one.
        let (mut blocks, mut count) = (batch.passed.clamp(FEW, MANY), 0);
        loop {
            let ahead = sweep.text[at..].as_chunks::<BLOCK>().0;
            let ahead = &ahead[..ahead.len().min(sweep.length.saturating_sub(at) / BLOCK + 2).min(blocks)];
            for (stops, block) in batch.stops.iter_mut().zip(ahead) {
                *stops = lanes.stops(block);
            }
            let (length, ended) = batch.gather(ahead.as_flattened(), &mut count);
            at += length;
            let over = length == 0 || matches!(ended, Ended::Here);
            if over || count > FEATURES / 2 {
                let usual = sweep.enter(lanes, batch, count);
                if usual < count {
                    at = begin + batch.lengths[..usual].iter().map(|length| size(*length)).sum::<usize>();
                    break;
                }
                (begin, count) = (at, 0);
            }
            if over {
                break;
            }
            blocks = MANY;
        }
        batch.passed = (at - sweep.from) / BLOCK + 2;
        // Where nothing is usual, the next try comes later each time.
        if at > sweep.from {
            batch.patience = PATIENCE;
        } else {
            batch.wait = batch.patience;
            batch.patience = (2 * batch.patience).min(MOST_PATIENCE);
        }
        sweep.row.batch = Some(batch);
        at
    }
}

/// How many bytes of text a feature of these lengths has, the space before it included.
fn size(lengths: u32) -> usize {
    let (name, value) = (lengths & 0xff, lengths >> 8 & 0xff);
    1 + name as usize + if lengths & NONE == 0 { 1 + value as usize } else { 0 }
}

impl Batch {
    /// Gathers what may be features from the beginning of a text whose stops are known, and says how long they are.
    #[inline(always)]
    fn gather(&mut self, text: &[u8], count: &mut usize) -> (usize, Ended) {
        let (mut at, mut k) = (0, *count);
        let ended = 'text: loop {
            let Some(bytes) = text.get(at..).and_then(|text| text.first_chunk::<WINDOW>()) else {
                break Ended::Short;
            };
            if k > FEATURES - TOGETHER {
                break Ended::Short;
            }
            // Several features at a time: where the next one ends is known as soon as where this one does.
            let word = at / BLOCK % MANY;
            let stops = u128::from(self.stops[word + 1]) << 64 | u128::from(self.stops[word]);
            let mut stops = (stops >> (at % BLOCK)) as u64;
            let mut begin = 0;
            for _ in 0..TOGETHER {
                let name = stops & stops.wrapping_sub(1);
                let value = name & name.wrapping_sub(1);
                let (name_end, end) = (name.trailing_zeros() as usize, value.trailing_zeros() as usize);
                if name_end >= BLOCK {
                    break;
                }
                let sixteen = |at: usize| *bytes[at..].first_chunk().expect("a window that long");
                self.names[k % FEATURES] = sixteen(begin % BLOCK + 1);
                let length = name_end - begin - 1;
                if bytes[name_end] == b':' {
                    if end >= BLOCK {
                        break;
                    }
                    self.values[k % FEATURES] = sixteen(name_end);
                    self.lengths[k % FEATURES] = (length | (end - name_end - 1) << 8) as u32;
                    (stops, begin) = (value, end);
                } else if matches!(bytes[name_end], b' ' | b'\n') {
                    self.values[k % FEATURES] = ONE;
                    self.lengths[k % FEATURES] = length as u32 | 1 << 8 | NONE;
                    (stops, begin) = (name, name_end);
                } else {
                    at += begin;
                    break 'text Ended::Here;
                }
                k += 1;
                if bytes[begin] == b'\n' {
                    at += begin;
                    break 'text Ended::Here;
                }
            }
            // What does not end within a block is unusual.
            if begin == 0 {
                break Ended::Here;
            }
            at += begin;
        };
        *count = k;
        (at, ended)
    }
}

impl<V: Number> Sweep<'_, '_, V> {
    /// Enters the first `count` features of a batch into the row, or those before the first one that is unusual, and says how many.
    #[inline(always)]
    fn enter<L: Lanes>(&mut self, lanes: L, batch: &mut Batch, count: usize) -> usize {
        let names = batch.names.as_chunks::<GROUP>().0;
        let values = batch.values.as_chunks::<GROUP>().0;
        let lengths = batch.lengths.as_chunks::<GROUP>().0;
        // One after the other: short loops, of which a processor does several turns at once.
        let (groups, few) = (count.div_ceil(GROUP), count <= GROUP / 2);
        for (hashes, (names, lengths)) in batch.hashes[..groups].iter_mut().zip(names.iter().zip(lengths)) {
            *hashes = lanes.hashes(names, lengths, self.seed, few);
        }
        for (numbers, (values, lengths)) in batch.numbers[..groups].iter_mut().zip(values.iter().zip(lengths))
        {
            *numbers = lanes.numbers(values, lengths, few);
        }
        let mut left = count;
        let words = batch.hashes[..groups].iter().zip(&batch.numbers);
        for ((hashes, numbers), (names, lengths)) in words.zip(names.iter().zip(lengths)) {
            let (odd, unusual) = (hashes.odd | numbers.odd, hashes.unusual | numbers.unusual);
            // What an earlier batch left behind is none of this.
            let here = left.min(GROUP).min(unusual.trailing_zeros() as usize);
            if here == 0 {
                break;
            }
            let numbers = V::all_millionths(numbers.all);
            let mut indices = [0; GROUP];
            for (index, hash) in indices.iter_mut().zip(hashes.all) {
                *index = hash & self.mask;
            }
            if odd & u32::MAX >> (32 - here) != 0 {
                self.enter_each(&names[..here], lengths, &numbers);
            } else if here == GROUP {
                // Of a length that is known beforehand: a few moves and no call.
                let mut known = true;
                for index in indices {
                    known &= self.row.knows(index);
                }
                self.row.extend(&indices, &numbers);
                if !known {
                    self.note(names, lengths, &indices);
                }
            } else {
                self.row.extend(&indices[..here], &numbers[..here]);
                if !indices[..here].iter().all(|&index| self.row.knows(index)) {
                    self.note(&names[..here], lengths, &indices);
                }
            }
            left -= here;
            if here < GROUP {
                break;
            }
        }
        count - left
    }

    /// Takes note of the names of features that were entered.
    #[inline(never)]
    fn note(&mut self, names: &[[u8; 16]], lengths: &[u32; GROUP], indices: &[u32; GROUP]) {
        for ((name, &length), &index) in names.iter().zip(lengths).zip(indices) {
            let name = &name[..length as usize % 16];
            self.row.note(index, |text| {
                text.clear();
                audit_name(text, self.space, name, 0);
            });
        }
    }

    /// Enters features one by one: some may be 0, or have a number for a name.
    #[inline(never)]
    fn enter_each(&mut self, names: &[[u8; 16]], lengths: &[u32; GROUP], numbers: &[V; GROUP]) {
        for ((name, &length), &number) in names.iter().zip(lengths).zip(numbers) {
            let name = &name[..length as usize % 16];
            self.row.push(vw_name(name, self.seed) & self.mask, number, |text| {
                text.clear();
                audit_name(text, self.space, name, 0);
            });
        }
    }
}
