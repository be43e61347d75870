//! Usual features of VW text, ` name:0.123`, many at once.
//!
//! First the places are found where words may end, 64 bytes at a time, as bits. Then each feature is taken out of the text between
//! these: the bytes of its name, and the digits of its value, which one comparison of sixteen bytes checks together with what ends
//! them. What can be done for many features in one go, hashes and numbers, is done when many have gathered.
//!
//! Whatever is unusual ends the sweep, and is left to those who read anything.

// A call per feature would cost more than what is called.
#![allow(clippy::inline_always)]

use super::audit_name;
use crate::example::hash::vw_name;
use crate::example::lanes::{self, BLOCK, GROUP, Lanes, Work};
use crate::example::number::Number;
use crate::example::text::Row;
use wide::u8x16;

/// How many features gather.
const FEATURES: usize = 128;

/// How many blocks are looked at before their features are read: first, because a namespace may be short, and later.
const FEW: usize = 2;
const MANY: usize = 32;

/// How many features are taken in a step at most, if they have no more than a block together.
const TOGETHER: usize = 3;

/// The most bytes that a feature and what is read of it take, and so many features.
const WINDOW: usize = 40;
const WINDOWS: usize = BLOCK + WINDOW;

/// Features on their way from text to a row.
#[derive(Debug)]
pub(in crate::example) struct Batch {
    /// The names, and what follows them in the text.
    names: [[u8; 16]; FEATURES],
    /// What [`Lanes::group`] takes beside them.
    digits: [u64; FEATURES],
    lengths: [u32; FEATURES],
    /// Which bytes of the text may end a word, and a word beyond them.
    stops: [u64; MANY + 1],
}

impl Default for Batch {
    fn default() -> Self {
        // A name has at least one byte.
        Self {
            names: [[0; 16]; FEATURES],
            digits: [0; FEATURES],
            lengths: [1; FEATURES],
            stops: [0; MANY + 1],
        }
    }
}

/// What a value of a certain length looks like: a digit, and perhaps a point and up to 6 digits; then a space.
#[repr(align(64))]
struct Look {
    /// Makes a digit its number and any other byte 0, if it is the right one.
    zero: u8x16,
    /// The largest that each byte may be then.
    limit: u8x16,
    /// Where digits are.
    digits: u8x16,
}

const fn look(length: usize) -> Look {
    let (mut zero, mut limit, mut digits) = ([0; 16], [u8::MAX; 16], [0; 16]);
    if matches!(length, 1 | 3..=8) {
        let mut k = 0;
        while k < length {
            (zero[k], limit[k], digits[k]) = if k == 1 { (b'.', 0, 0) } else { (b'0', 9, u8::MAX) };
            k += 1;
        }
        (zero[length], limit[length]) = (b' ', 0);
    } else {
        // Nothing looks like this: what ends a value is no digit.
        (zero[length], limit[length]) = (b'0', 9);
    }
    Look { zero: u8x16::new(zero), limit: u8x16::new(limit), digits: u8x16::new(digits) }
}

/// By length.
static LOOKS: [Look; 9] = [look(0), look(1), look(2), look(3), look(4), look(5), look(6), look(7), look(8)];

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
        lanes::run(Reading { sweep: self, batch })
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
        let mut at = sweep.from;
        let (mut blocks, mut count) = (FEW, 0);
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
                sweep.enter(lanes, batch, count);
                count = 0;
            }
            if over {
                break;
            }
            blocks = MANY;
        }
        sweep.row.batch = Some(batch);
        at
    }
}

impl Batch {
    /// Gathers features from the beginning of a text whose stops are known, and says how long they are.
    #[inline(always)]
    fn gather(&mut self, text: &[u8], count: &mut usize) -> (usize, Ended) {
        let (mut at, mut k) = (0, *count);
        let ended = loop {
            let Some(bytes) = text.get(at..).and_then(|text| text.first_chunk::<WINDOWS>()) else {
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
            let mut unusual = None;
            for _ in 0..TOGETHER {
                let name = stops & stops.wrapping_sub(1);
                let value = name & name.wrapping_sub(1);
                let (name_end, end) = (name.trailing_zeros() as usize, value.trailing_zeros() as usize);
                if end >= BLOCK && begin > 0 {
                    break;
                }
                let bytes: &[u8; WINDOW] = bytes[begin..].first_chunk().expect("a shorter window");
                if end >= BLOCK || !self.take(bytes, name_end - begin, end - begin, k) {
                    // Done with below, and not by another turn of the outer loop: where both ways lead to the same place, the
                    // compiler chooses without a jump, and whatever follows waits for this comparison instead of being guessed.
                    unusual = Some((bytes, name_end - begin, end - begin));
                    break;
                }
                k += 1;
                (stops, begin) = (value, end);
            }
            at += begin;
            let Some((bytes, name_end, end)) = unusual else { continue };
            let Some(length) = self.take_other(bytes, name_end, end, k) else { break Ended::Here };
            k += 1;
            at += length;
            if bytes[length] == b'\n' {
                break Ended::Here;
            }
        };
        *count = k;
        (at, ended)
    }

    /// Takes the feature that begins with a space, if it has a value of the usual kind with a space after it. Its name and it end
    /// where words may.
    #[inline(always)]
    fn take(&mut self, bytes: &[u8; WINDOW], name_end: usize, end: usize, k: usize) -> bool {
        if name_end.wrapping_sub(2) > 14 || bytes[name_end] != b':' {
            return false;
        }
        // Signs come in no order that could be guessed, so this is no branch.
        let negative = usize::from(bytes[name_end + 1] == b'-');
        let begin = name_end + 1 + negative;
        let Some(look) = LOOKS.get(end.wrapping_sub(begin)) else { return false };
        let value: &[u8; 16] = bytes[begin..].first_chunk().expect("a window that long");
        let digits = u8x16::new(*value) ^ look.zero;
        let [number, _]: [u64; 2] = bytemuck::cast(digits & look.digits);
        self.names[k % FEATURES] = *bytes[1..].first_chunk().expect("a window that long");
        self.digits[k % FEATURES] = number.to_le();
        self.lengths[k % FEATURES] = (name_end - 1 + (negative << 8)) as u32;
        digits.saturating_sub(look.limit).simd_eq(u8x16::ZERO).to_bitmask() == 0xffff
    }

    /// Takes a feature without a value, or the last one of the line, and says how long it is.
    #[inline(never)]
    fn take_other(&mut self, bytes: &[u8; WINDOW], name_end: usize, end: usize, k: usize) -> Option<usize> {
        if !(2..=16).contains(&name_end) {
            return None;
        }
        if matches!(bytes[name_end], b' ' | b'\n') {
            self.names[k % FEATURES] = *bytes[1..].first_chunk()?;
            self.digits[k % FEATURES] = 1;
            self.lengths[k % FEATURES] = name_end as u32 - 1;
            return Some(name_end);
        }
        let mut line = *bytes;
        let last = line.get_mut(end).filter(|last| **last == b'\n')?;
        *last = b' ';
        self.take(&line, name_end, end, k).then_some(end)
    }
}

impl<V: Number> Sweep<'_, '_, V> {
    /// Enters the first `count` features of a batch into the row.
    #[inline(always)]
    fn enter<L: Lanes>(&mut self, lanes: L, batch: &Batch, count: usize) {
        let names = batch.names.as_chunks::<GROUP>().0;
        let mut left = count;
        let numbers = batch.digits.as_chunks::<GROUP>().0.iter().zip(batch.lengths.as_chunks::<GROUP>().0);
        for (names, (digits, lengths)) in names.iter().zip(numbers) {
            if left == 0 {
                break;
            }
            let here = left.min(GROUP);
            left -= here;
            let (hashes, millionths, odd) = lanes.group(names, digits, lengths, self.seed);
            let numbers = V::all_millionths(millionths);
            let mut indices = hashes.map(|hash| hash & self.mask);
            // What an earlier batch left behind is none of this.
            for k in 1..GROUP {
                if k >= here {
                    indices[k] = indices[0];
                }
            }
            let mut known = true;
            for index in indices {
                known &= self.row.knows(index);
            }
            if odd & u32::MAX >> (32 - here) != 0 {
                self.enter_each(&names[..here], lengths, &numbers);
                continue;
            }
            if here == GROUP {
                // Of a length that is known beforehand: a few moves and no call.
                self.row.extend(&indices, &numbers);
            } else {
                self.row.extend(&indices[..here], &numbers[..here]);
            }
            if !known {
                self.note(&names[..here], lengths, &indices);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_looks_like_its_length_or_like_nothing() {
        let looks = |text: &str, length: usize| {
            let mut bytes = [b'x'; 16];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            let look = &LOOKS[length];
            let digits = u8x16::new(bytes) ^ look.zero;
            digits.saturating_sub(look.limit).simd_eq(u8x16::ZERO).to_bitmask() == 0xffff
        };
        for text in ["1", "1.5", "0.12", "9.999999"] {
            assert!(looks(&format!("{text} "), text.len()), "{text}");
            for other in ["\n", "|", ":", "5"] {
                assert!(!looks(&format!("{text}{other}"), text.len()), "{text}{other}");
            }
        }
        for text in ["", "1.", "12", "1:5", "1,5", "a.5", "1.a", "1.5e3", "/.5", ":.5", "1.0/"] {
            assert!(!looks(&format!("{text} "), text.len()), "{text}");
        }
    }
}
