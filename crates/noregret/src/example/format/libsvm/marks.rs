//! Features, ` 123:0.456`, of whatever lengths, by the bytes in them that are no digits.
//!
//! Where values are printed with as many digits as they need, no feature looks like the one before it, and whatever
//! guesses lengths guesses wrong: that costs more than to read the feature. Here nothing is guessed. First all
//! marks in a stretch of text are found, sixty-four bytes in one step: spaces, colons, points, newlines, and whatever
//! else is no digit. Then the digits between them are made numbers, and these are divided by their powers of ten.
//! Neither step waits for the feature before it.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

use crate::example::digits::{POWERS, joined, quads};
use crate::example::number::Number;
use std::ops::Range;
use wide::u8x16;

/// Bytes before a stretch, whatever they are, so that sixteen bytes end wherever a number does.
pub(super) const BEFORE: usize = 16;

/// How many bytes are searched in a step, and in all.
const STEP: usize = 64;
const STRETCH: usize = 1024;

/// What a stretch needs of the text: what is before it, and after it room for sixteen bytes from any of its own.
pub(super) const WINDOW: usize = BEFORE + STRETCH + 16;

/// How many marks a step mostly has at most: so many are written, whether they are there or not.
const USUAL: usize = 12;

/// An index has at most this many digits, and a value this many after its point.
const DIGITS: usize = 8;
const PLACES: usize = 16;

/// A feature that has been found.
#[derive(Clone, Copy, Default)]
pub(super) struct Feature {
    /// The index, not yet counted from 0.
    pub(super) index: u32,
    /// The byte of the stretch that ends it.
    pub(super) end: u16,
    /// Digits after the point.
    places: u8,
    negative: bool,
    /// All digits of the value as one number.
    m: u64,
}

impl Feature {
    /// The value, and whether it is 0.
    #[inline(always)]
    pub(super) fn value<V: Number>(&self, window: &[u8; WINDOW]) -> (V, bool) {
        let value = V::unit(self.m, usize::from(self.places)).unwrap_or_else(|| {
            let end = BEFORE + usize::from(self.end);
            V::parse(&window[end - usize::from(self.places) - 2..end]).expect("a digit, a point and digits")
        });
        (value.signed(self.negative), self.m == 0)
    }
}

/// The marks of a stretch of text, and the features between them.
pub(super) struct Marks {
    /// Where in the chunk the stretch begins.
    base: usize,
    /// Where they are, counted from there.
    places: [u16; STRETCH + USUAL],
    count: usize,
    /// The next of them.
    next: usize,
    features: [Feature; STRETCH / 4],
}

impl Marks {
    pub(super) fn new() -> Self {
        let features = [Feature::default(); STRETCH / 4];
        Self { base: 0, places: [0; STRETCH + USUAL], count: 0, next: 0, features }
    }

    /// Finds usual features from byte `at` of the chunk on, which should be a space: those of the row that are in
    /// the stretch, while their indices ascend and are in a range. Also gives the text by which their values are to be read, and where in the chunk their ends
    /// are counted from.
    #[inline]
    pub(super) fn features<'a>(
        &mut self,
        chunk: &'a [u8],
        at: usize,
        indices: &Range<u32>,
    ) -> Option<(&[Feature], &'a [u8; WINDOW], usize)> {
        if self.base <= at {
            while self.next < self.count && self.base + usize::from(self.places[self.next]) < at {
                self.next += 1;
            }
        } else {
            self.count = 0;
        }
        if self.next + 4 > self.count {
            self.base = at;
            self.next = 0;
            let window = chunk[at.checked_sub(BEFORE)?..].first_chunk()?;
            self.search(window);
        }
        let window = chunk[self.base - BEFORE..].first_chunk()?;
        let marks = &self.places[self.next..self.count];
        if self.base + usize::from(*marks.first()?) != at {
            return None;
        }
        let found = find(window, marks, indices, &mut self.features);
        Some((&self.features[..found], window, self.base))
    }

    /// Leaves so many features behind.
    #[inline]
    pub(super) fn pass(&mut self, features: usize) {
        self.next += 3 * features;
    }

    /// Finds all marks.
    #[inline(never)]
    fn search(&mut self, window: &[u8; WINDOW]) {
        self.count = 0;
        let mut before = 0;
        for (k, text) in window[BEFORE..].as_chunks::<STEP>().0.iter().enumerate() {
            let quarters: &[[u8; 16]; 4] = bytemuck::cast_ref(text);
            let quarters = quarters.map(u8x16::new);
            let bits = |quarters: [u8x16; 4]| {
                let of = |k: usize| u64::from(quarters[k].to_bitmask()) << (16 * k);
                of(0) | of(1) | of(2) | of(3)
            };
            let digits = quarters.map(|text| {
                let digits = text ^ u8x16::splat(b'0');
                digits.min(u8x16::splat(9)).simd_eq(digits)
            });
            let mut marks = !bits(digits);
            let [a, b, c, d] = quarters.map(|text| text.simd_eq(u8x16::splat(b'-')));
            if (a | b | c | d).any() {
                // A minus after a colon is the sign of a number, and no mark.
                let colons = bits(quarters.map(|text| text.simd_eq(u8x16::splat(b':'))));
                marks &= !(bits([a, b, c, d]) & (colons << 1 | u64::from(before == b':')));
            }
            before = text[STEP - 1];
            let count = marks.count_ones() as usize;
            let here = (STEP * k) as u16;
            let usual: &mut [u16; USUAL] =
                self.places[self.count..].first_chunk_mut().expect("room for the usual number of marks");
            for place in usual {
                *place = here + marks.trailing_zeros() as u16;
                marks &= marks.wrapping_sub(1);
            }
            if count > USUAL {
                for place in &mut self.places[self.count + USUAL..self.count + count] {
                    *place = here + marks.trailing_zeros() as u16;
                    marks &= marks.wrapping_sub(1);
                }
            }
            self.count += count;
        }
    }
}

/// Reads features whose indices ascend and are in a range, from the first mark, a space, to the end of the row, of the
/// marks, or of what is usual.
#[inline(never)]
fn find(window: &[u8; WINDOW], marks: &[u16], indices: &Range<u32>, features: &mut [Feature]) -> usize {
    let byte = |at: u16| window[BEFORE + usize::from(at) % STRETCH];
    let mut space = marks[0];
    if byte(space) != b' ' {
        return 0;
    }
    let Range { start: mut least, end: beyond } = *indices;
    let mut found = 0;
    for (&[colon, point, end], feature) in marks[1..].as_chunks::<3>().0.iter().zip(features) {
        let digits = colon.wrapping_sub(space + 1);
        let places = end.wrapping_sub(point + 1);
        let negative = byte(colon + 1) == b'-';
        let usual = byte(colon) == b':' && byte(point) == b'.' && point - colon == 2 + u16::from(negative);
        let last = byte(end);
        if !usual
            || digits.wrapping_sub(1) >= DIGITS as u16
            || places.wrapping_sub(1) >= PLACES as u16
            || (last != b' ' && last != b'\n')
        {
            break;
        }
        let (index, fraction) = numbers(window, colon, digits, end, places);
        if index < least || index >= beyond {
            break;
        }
        least = index + 1;
        let m = u64::from(byte(point - 1) & 15) * POWERS[usize::from(places)] + fraction;
        *feature = Feature { index, end, places: places as u8, negative, m };
        space = end;
        found += 1;
        if last != b' ' {
            break;
        }
    }
    found
}

/// The numbers that are written by so many digits, at most 8, before byte `colon`, and at most 16 before byte `end`.
#[inline(always)]
fn numbers(window: &[u8; WINDOW], colon: u16, digits: u16, end: u16, places: u16) -> (u32, u64) {
    let quads = |end: u16, n: u16| {
        let text = window[usize::from(end) % STRETCH..].first_chunk().expect("sixteen bytes before the last");
        quads(*text, usize::from(n))
    };
    let (fraction, index) = joined(quads(end, places), quads(colon, digits));
    (index, fraction)
}
