//! Numbers as they usually stand in text, in a few words of eight bytes.
//!
//! What is read here is read exactly; whatever is unusual is left to the reader beside, which takes
//! anything and is slower. So every function may say `None` to what is right.
//!
//! A [`Shape`] tells with one comparison whether a word has digits and signs where they should be. Lengths
//! are found by trying one shape after the other: the processor guesses them well, and then need not wait
//! for the end of one token to begin with the next.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

use super::number::Number;
use wide::{i16x8, i32x4, i32x8, u8x16, u16x8};

/// How many bytes are looked at for one value and what stands before it in a token: 8 bytes, a sign, a
/// digit, a point, 16 digits, and what ends them.
pub(super) const WINDOW: usize = 32;

/// How many features a decoder gathers before it moves them into a block.
pub(super) const RUN: usize = 32;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES * 0x80;

/// The word that begins at byte `at` of a window.
#[inline(always)]
pub(super) fn word(bytes: &[u8; WINDOW], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a place at least 8 bytes before the end"))
}

/// What the first bytes of a word should be: digits, and certain other bytes.
pub(super) struct Shape {
    /// Makes a digit its number and any other byte 0, if it is the right one.
    xor: u64,
    /// Lifts what is too large into a byte's high bit. A carry into the next byte comes only from a byte
    /// whose own high bit tells.
    add: u64,
    test: u64,
}

impl Shape {
    /// The shape of a pattern in which `0` is any digit.
    pub(super) const fn new(pattern: &[u8]) -> Self {
        let (mut xor, mut add, mut test) = (0, 0, 0);
        let mut k = 0;
        while k < pattern.len() {
            xor |= (pattern[k] as u64) << (8 * k);
            add |= (if pattern[k] == b'0' { 0x76 } else { 0x7f }) << (8 * k);
            test |= 0x80 << (8 * k);
            k += 1;
        }
        Self { xor, add, test }
    }

    /// The digits of a word of this shape, as numbers.
    #[inline(always)]
    pub(super) fn digits(&self, word: u64) -> Option<Digits> {
        let digits = word ^ self.xor;
        ((digits.wrapping_add(self.add) | digits) & self.test == 0).then_some(Digits(digits))
    }
}

/// Eight bytes of which those that were digits are numbers from 0 to 9.
#[derive(Clone, Copy)]
pub(super) struct Digits(u64);

impl Digits {
    #[inline(always)]
    pub(super) fn of(word: u64) -> Self {
        Self(word ^ (ONES * b'0' as u64))
    }

    /// The number written by `N` digits, at most 6, that begin at byte `FROM`.
    #[inline(always)]
    pub(super) fn number<const FROM: u32, const N: u32>(self) -> u32 {
        let digit = |k: u32| (self.0 >> (8 * (FROM + k))) as u32 & 0xff;
        let first = (self.0 >> (8 * FROM)) as u32;
        match N {
            1 => digit(0),
            2 => digit(0) * 10 + digit(1),
            3 => digit(0) * 100 + digit(1) * 10 + digit(2),
            4 => four(first),
            5 => four(first) * 10 + digit(4),
            _ => four(first) * 100 + digit(4) * 10 + digit(5),
        }
    }

    /// The number written by a digit, something else (the point), and `N` digits.
    #[inline(always)]
    fn decimal<const N: u32>(self) -> u32 {
        self.number::<2, N>() + (self.0 as u32 & 0xff) * 10_u32.pow(N)
    }
}

/// The number written by 4 digits (0 to 9 each), the first in the lowest byte.
#[inline(always)]
fn four(word: u32) -> u32 {
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00ff_00ff;
    pairs.wrapping_mul(100 << 16 | 1) >> 16
}

/// A value that begins at byte `at` (at most 8) of a window: perhaps a minus, a digit, a point, 1 to 6
/// digits, and then the byte `END`. Also where that byte is.
#[inline(always)]
pub(super) fn short<V: Number, const END: u8>(bytes: &[u8; WINDOW], at: usize) -> Option<(V, usize)> {
    // Signs come in no order that could be guessed, so this is no branch.
    let negative = bytes[at] == b'-';
    let at = at + usize::from(negative);
    let raw = word(bytes, at);
    if let Some(digits) = const { Shape::new(&[b'0', b'.', b'0', b'0', b'0', b'0', b'0', END]) }.digits(raw) {
        return Some((V::short(digits.decimal::<5>(), 5, 1e-5).signed(negative), at + 7));
    }
    if let Some(digits) = const { Shape::new(&[b'0', b'.', b'0', b'0', b'0', b'0', END]) }.digits(raw) {
        return Some((V::short(digits.decimal::<4>(), 4, 1e-4).signed(negative), at + 6));
    }
    const { Shape::new(b"0.") }.digits(raw)?;
    let digits = Digits::of(raw);
    let places = others(raw >> 16).trailing_zeros() as usize / 8;
    if bytes[at + 2 + places] != END {
        return None;
    }
    let value = match places {
        6 => V::short(digits.decimal::<6>(), 6, 1e-6),
        3 => V::short(digits.decimal::<3>(), 3, 1e-3),
        2 => V::short(digits.decimal::<2>(), 2, 1e-2),
        1 => V::short(digits.decimal::<1>(), 1, 1e-1),
        _ => return None,
    };
    Some((value.signed(negative), at + 2 + places))
}

/// How a value is written: a digit, and perhaps a point and up to 6 digits. Where values are mostly written in
/// one way, one comparison tells whether the next one is too, and three multiplications of several lanes give it.
/// The layouts of LIBSVM say more of how this works.
#[derive(Debug)]
pub struct Written {
    /// Makes a digit its number and the point 0.
    zero: u8x16,
    /// The largest that each byte may be then.
    limit: u8x16,
    /// What makes each two digits a number, times 256.
    pairs: i16x8,
    length: usize,
}

static WRITTEN: [Written; 7] =
    [written(0), written(1), written(2), written(3), written(4), written(5), written(6)];

const fn written(places: usize) -> Written {
    let (mut zero, mut limit, mut pairs) = ([0; 16], [u8::MAX; 16], [0; 8]);
    (zero[0], limit[0], pairs[0]) = (b'0', 9, 256);
    if places > 0 {
        (zero[1], limit[1]) = (b'.', 0);
    }
    let mut k = 0;
    while k < places {
        (zero[2 + k], limit[2 + k]) = (b'0', 9);
        pairs[1 + k / 2] = if k % 2 == 0 { 2560 } else { 2561 };
        k += 1;
    }
    let length = if places == 0 { 1 } else { 2 + places };
    Written { zero: u8x16::new(zero), limit: u8x16::new(limit), pairs: i16x8::new(pairs), length }
}

impl Written {
    /// How values are written where nothing is known yet.
    pub(super) fn usual() -> &'static Self {
        &WRITTEN[0]
    }

    /// How the value is written that begins at byte `at` (at most 8) of a window, if it is one of these.
    #[inline]
    pub(super) fn of(bytes: &[u8; WINDOW], at: usize) -> Option<&'static Self> {
        let at = at + usize::from(bytes[at] == b'-');
        if bytes[at + 1] != b'.' {
            return Some(&WRITTEN[0]);
        }
        WRITTEN.get(others(word(bytes, at + 2)).trailing_zeros() as usize / 8)
    }

    /// The value that begins at byte `at` (at most 8), and the byte after it, which is not looked at.
    #[inline(always)]
    pub(super) fn read<V: Number>(&self, bytes: &[u8; WINDOW], at: usize) -> Option<(V, usize)> {
        let negative = usize::from(bytes[at] == b'-');
        let text: u8x16 = bytemuck::cast([word(bytes, at + negative), 0]);
        let digits = text ^ self.zero;
        if digits.saturating_sub(self.limit).simd_eq(u8x16::ZERO).to_bitmask() != 0xffff {
            return None;
        }
        let pairs: u16x8 = bytemuck::cast(bytemuck::cast::<_, i16x8>(digits) * self.pairs);
        let quads = bytemuck::cast::<_, i16x8>(pairs >> 8_u32).dot(i16x8::new([100, 1, 100, 1, 0, 0, 0, 0]));
        let quads = i16x8::from_i32x8_saturate(bytemuck::cast::<[i32x4; 2], i32x8>([quads, quads]));
        let [both, _]: [u64; 2] = bytemuck::cast(quads.dot(i16x8::new([10_000, 1, 0, 0, 0, 0, 0, 0])));
        Some((V::millionths(both as u32, negative), at + negative + self.length % 16))
    }
}

/// The high bit of every byte that is not a digit. A carry out of a byte beyond ASCII may mark the digit
/// after it too.
#[inline(always)]
pub(super) fn others(word: u64) -> u64 {
    let digits = word ^ (ONES * b'0' as u64);
    (digits.wrapping_add(ONES * 0x76) | digits) & HIGH
}

/// The number written by the first `n` bytes, 1 to 8, of a word, which are digits.
#[inline(always)]
pub(super) fn first(word: u64, n: u32) -> u64 {
    let digits = (word ^ (ONES * b'0' as u64)) << (64 - 8 * n);
    // Each product adds ten (a hundred, ten thousand) times a number to the one after it.
    let pairs = digits.wrapping_mul(10 << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
    let quads = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
    quads.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// A value that begins at byte `at` (at most 8) of a window: perhaps a sign, digits, perhaps a point and
/// digits. Also what byte is after it; the caller sees whether that one may end a value.
#[inline(never)]
pub(super) fn long<V: Number>(bytes: &[u8; WINDOW], at: usize) -> Option<(V, usize)> {
    let negative = bytes[at] == b'-';
    let at = at + usize::from(negative || bytes[at] == b'+');
    let raw = word(bytes, at);
    let n = others(raw).trailing_zeros() / 8;
    if n == 0 {
        return None;
    }
    let mut m = first(raw, n);
    let point = at + n as usize;
    if bytes[point] != b'.' {
        let whole = n < 8 || !bytes[point].is_ascii_digit();
        return whole.then(|| (V::from_u64(m).signed(negative), point));
    }
    let begin = point + 1;
    let raw = word(bytes, begin);
    let k = others(raw).trailing_zeros() / 8;
    let mut end = begin + k as usize;
    if k > 0 {
        m = m * 10_u64.pow(k) + first(raw, k);
    }
    if k == 8 {
        // 19 digits at most, so that m fits, and at most 16 of them after the point.
        let last = begin + 16.min(19 - n as usize);
        while end < last && bytes[end].is_ascii_digit() {
            m = m * 10 + u64::from(bytes[end] - b'0');
            end += 1;
        }
        if bytes[end].is_ascii_digit() {
            return None;
        }
    }
    Some((V::ratio(m, end - begin)?.signed(negative), end))
}

/// Which of sixteen bytes count, if the last so many do.
pub(super) static LAST: [u8x16; 17] = {
    let mut masks = [u8x16::ZERO; 17];
    let mut count = 1;
    while count <= 16 {
        let mut mask = [0; 16];
        let mut k = 16 - count;
        while k < 16 {
            mask[k] = 0xff;
            k += 1;
        }
        masks[count] = u8x16::new(mask);
        count += 1;
    }
    masks
};

/// `10^k`.
pub(super) static POWERS: [u64; 17] = {
    let mut powers = [1; 17];
    let mut k = 1;
    while k < 17 {
        powers[k] = 10 * powers[k - 1];
        k += 1;
    }
    powers
};

/// The four numbers that sixteen bytes write of which the last `n`, at most 16, are digits and the others are not looked
/// at: four digits each.
#[inline(always)]
pub(super) fn quads(text: [u8; 16], n: usize) -> i32x4 {
    let digits = (u8x16::new(text) ^ u8x16::splat(b'0')) & LAST[n];
    // A pair `a, b` is `a + 256 b`, and of the product with `256 * 10 + 1` the high byte is `10 a + b`.
    let pairs: u16x8 = bytemuck::cast(bytemuck::cast::<_, i16x8>(digits) * i16x8::splat(2561));
    bytemuck::cast::<_, i16x8>(pairs >> 8_u32).dot(i16x8::new([100, 1, 100, 1, 100, 1, 100, 1]))
}

/// The two numbers of at most sixteen digits that two times four quads are. The second must have at most eight.
#[inline(always)]
pub(super) fn joined(first: i32x4, second: i32x4) -> (u64, u32) {
    let quads = i16x8::from_i32x8_saturate(bytemuck::cast([first, second]));
    let [first, second]: [u64; 2] =
        bytemuck::cast(quads.dot(i16x8::new([10_000, 1, 10_000, 1, 10_000, 1, 10_000, 1])));
    ((first & 0xffff_ffff) * 100_000_000 + (first >> 32), (second >> 32) as u32)
}

/// A value that begins at byte `at` of a text: perhaps a minus, a digit, a point, and 1 to 15 digits. Also what byte is
/// after it, and how it is written if there are others like it. Lengths are not guessed.
#[inline(always)]
pub(super) fn decimal<V: Number>(text: &[u8], at: usize) -> Option<(V, usize, Option<&'static Written>)> {
    let negative = *text.get(at)? == b'-';
    let at = at + usize::from(negative);
    let next: &[u8; 18] = text.get(at..)?.first_chunk()?;
    let digits = u8x16::new(*next.last_chunk()?) ^ u8x16::splat(b'0');
    let places = (!digits.min(u8x16::splat(9)).simd_eq(digits).to_bitmask()).trailing_zeros() as usize;
    let digit = next[0] ^ b'0';
    if next[1] != b'.' || digit > 9 || places.wrapping_sub(1) >= 15 {
        return None;
    }
    let end = at + 2 + places;
    let (fraction, _) = joined(quads(*text[..end].last_chunk()?, places), i32x4::ZERO);
    let m = u64::from(digit) * POWERS[places] + fraction;
    Some((V::unit(m, places)?.signed(negative), end, WRITTEN.get(places)))
}
