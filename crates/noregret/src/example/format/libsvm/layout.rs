//! A whole feature, ` 123:0.456`, in one step of sixteen bytes.
//!
//! How many digits an index and a value have changes seldom from one feature to the next: indices ascend, and
//! values are printed in one way. So a row is read under the assumption that a feature looks as the one before
//! it, and a [`Layout`] has all that follows from that: which bytes must be digits, which must be signs, and
//! by what each digit counts. One comparison tells whether it is so; then three multiplications of eight lanes
//! give index and value together.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

#[cfg(test)]
pub(super) mod tests;

use crate::example::digits::{WINDOW, first, others, word};
use crate::example::lanes::Look;
use crate::example::number::Number;
use wide::{i16x8, i32x4, i32x8, u8x16, u16x8};

/// An index has at most this many digits.
const DIGITS: usize = 6;

/// A value has at most this many digits after its point, and this many of them in the first step.
const PLACES: usize = 14;
const SHORT: usize = 6;

/// A feature as it stands in the file.
pub(super) struct Feature<V> {
    /// The index, not yet counted from 0.
    pub(super) index: u32,
    /// The value.
    pub(super) value: V,
    /// Whether the value is 0.
    pub(super) zero: bool,
    /// How many bytes it took, the space before it included.
    pub(super) length: usize,
}

/// What a feature looks like. The value's first eight bytes are the low half of what is read, the index with the
/// space before it and the colon after it the high half.
pub(super) struct Layout {
    /// Makes a digit its number and any other byte 0, if it is the right one.
    zero: u8x16,
    /// The largest that each byte may be then.
    limit: u8x16,
    /// What makes each two digits a number up to 99, times 256; or one of them, or none.
    pairs: i16x8,
    /// By what these count among four digits.
    quads: i16x8,
    /// By what those count in the whole.
    whole: i16x8,
    /// Where the value begins, or the minus before it.
    value: usize,
    /// How many bytes it all takes, without a minus.
    length: usize,
    /// The digits after the point.
    places: usize,
    /// The same for several features at once, if it is not long.
    look: Look,
}

const fn look(digits: usize, places: usize) -> Look {
    let length = digits + 3 + if places > 0 { places + 1 } else { 0 };
    let mut look = Look { zero: [0; 16], limit: [u8::MAX; 16], order: [u8::MAX; 16], length };
    if places > SHORT {
        return look;
    }
    let mut at = 0;
    while at < length {
        (look.zero[at], look.limit[at]) = (b'0', 9);
        at += 1;
    }
    (look.zero[0], look.limit[0]) = (b' ', 0);
    (look.zero[digits + 1], look.limit[digits + 1]) = (b':', 0);
    let mut k = 0;
    while k < digits {
        look.order[16 - digits + k] = 1 + k as u8;
        k += 1;
    }
    look.order[1] = digits as u8 + 2;
    if places > 0 {
        (look.zero[digits + 3], look.limit[digits + 3]) = (b'.', 0);
    }
    k = 0;
    while k < places {
        look.order[2 + k] = (digits + 4 + k) as u8;
        k += 1;
    }
    look
}

const fn layout(digits: usize, places: usize) -> Layout {
    let mut zero = [0; 16];
    let mut limit = [u8::MAX; 16];
    let mut pairs = [0; 8];
    zero[0] = b'0';
    limit[0] = 9;
    // One digit before the point: the first of its pair. A pair `a, b` is `a + 256 b`, and of the product
    // with `256 * 10 + 1` the high byte is `10 a + b`.
    pairs[0] = 256;
    if places > 0 {
        zero[1] = b'.';
        limit[1] = 0;
    }
    let mut k = 0;
    while k < SHORT {
        if k < places {
            zero[2 + k] = b'0';
            limit[2 + k] = 9;
            // Digits that are not there count as zeros.
            pairs[1 + k / 2] = if k % 2 == 0 { 2560 } else { 2561 };
        }
        k += 1;
    }
    zero[8] = b' ';
    limit[8] = 0;
    zero[9 + digits] = b':';
    limit[9 + digits] = 0;
    k = 1;
    while k <= digits {
        zero[8 + k] = b'0';
        limit[8 + k] = 9;
        pairs[4 + k / 2] = match k {
            1 => 1,
            _ if k % 2 == 0 => 256,
            _ => 2561,
        };
        k += 1;
    }
    // The index is `(a * of_a + b) * of_ab + c * of_c + d` for its pairs: 1 digit, 2, 2, and 1.
    let of_a = [1, 1, 10, 100, 100, 100, 100][digits];
    let of_c = [0, 0, 0, 0, 1, 1, 10][digits];
    let of_ab = [1, 1, 1, 1, 10, 100, 1000][digits];
    Layout {
        zero: u8x16::new(zero),
        limit: u8x16::new(limit),
        pairs: i16x8::new(pairs),
        quads: i16x8::new([100, 1, 100, 1, of_a, 1, of_c, 1]),
        whole: i16x8::new([10_000, 1, of_ab, 1, 0, 0, 0, 0]),
        value: digits + 2,
        length: digits + 3 + if places > 0 { places + 1 } else { 0 },
        places,
        look: look(digits, places),
    }
}

/// By the digits of the index, from 1, and those after the point.
static LAYOUTS: [[Layout; PLACES + 1]; DIGITS] = {
    const fn of(digits: usize) -> [Layout; PLACES + 1] {
        [
            layout(digits, 0),
            layout(digits, 1),
            layout(digits, 2),
            layout(digits, 3),
            layout(digits, 4),
            layout(digits, 5),
            layout(digits, 6),
            layout(digits, 7),
            layout(digits, 8),
            layout(digits, 9),
            layout(digits, 10),
            layout(digits, 11),
            layout(digits, 12),
            layout(digits, 13),
            layout(digits, 14),
        ]
    }
    [of(1), of(2), of(3), of(4), of(5), of(6)]
};

impl Layout {
    /// What a feature most likely looks like.
    pub(super) fn usual() -> &'static Self {
        &LAYOUTS[0][1]
    }

    /// What the feature here looks like, if it is one that has a layout.
    #[inline]
    pub(super) fn of(bytes: &[u8; WINDOW]) -> Option<&'static Self> {
        let digits = others(word(bytes, 1)).trailing_zeros() as usize / 8;
        let layouts = LAYOUTS.get(digits.wrapping_sub(1))?;
        let value = digits + 2 + usize::from(bytes[digits + 2] == b'-');
        if bytes[value + 1] != b'.' {
            return Some(&layouts[0]);
        }
        let mut places = others(word(bytes, value + 2)).trailing_zeros() as usize / 8;
        if places == 8 {
            places += others(word(bytes, value + 10)).trailing_zeros() as usize / 8;
        }
        layouts.get(places)
    }

    /// The feature here, if it looks like this, which is `LONG` or not. What comes after it is not looked at.
    #[inline(always)]
    pub(super) fn read<V: Number, const LONG: bool>(&self, bytes: &[u8; WINDOW]) -> Option<Feature<V>> {
        // Signs come in no order that could be guessed, so this is no branch. Masks spare comparisons.
        let value = self.value % 16;
        let negative = usize::from(bytes[value] == b'-');
        let text: u8x16 = bytemuck::cast([word(bytes, value + negative), word(bytes, 0)]);
        let digits = text ^ self.zero;
        if digits.saturating_sub(self.limit).simd_eq(u8x16::ZERO).to_bitmask() != 0xffff {
            return None;
        }
        let pairs: u16x8 = bytemuck::cast(bytemuck::cast::<_, i16x8>(digits) * self.pairs);
        let quads = bytemuck::cast::<_, i16x8>(pairs >> 8_u32).dot(self.quads);
        let quads = i16x8::from_i32x8_saturate(bytemuck::cast::<[i32x4; 2], i32x8>([quads, quads]));
        let [both, _]: [u64; 2] = bytemuck::cast(quads.dot(self.whole));
        let (index, millionths) = ((both >> 32) as u32, both as u32);
        let length = self.length % 32 + negative;
        if !LONG {
            let value = V::millionths(millionths, negative);
            return Some(Feature { index, value, zero: millionths == 0, length });
        }
        let more = (self.places - SHORT) as u32;
        let raw = word(bytes, value + negative + 8);
        if others(raw).trailing_zeros() / 8 < more {
            return None;
        }
        let m = u64::from(millionths) * 10_u64.pow(more) + first(raw, more);
        let value = V::unit(m, self.places)?.signed(negative == 1);
        Some(Feature { index, value, zero: m == 0, length })
    }

    /// How it looks to whoever reads several at once, unless it is long.
    #[inline]
    pub(super) fn look(&self) -> Option<&Look> {
        (!self.is_long()).then_some(&self.look)
    }

    /// Whether its values take more than one step.
    pub(super) fn is_long(&self) -> bool {
        self.places > SHORT
    }
}
