//! The usual token, ` 123:0.456`, in a few words of eight bytes.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

use crate::example::number::ratio_f32;

/// How many bytes [`read`] looks at: a space, 6 digits, a colon, a sign, a digit, a point, 16
/// digits, and what ends them.
pub(super) const WINDOW: usize = 32;

/// A feature as it stands in the file.
pub(super) struct Feature {
    /// The index, not yet counted from 0.
    pub index: u32,
    /// The value.
    pub value: f32,
    /// How many bytes it took, the space before it included.
    pub length: usize,
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte that is not a digit. `word` has been xored with [`ZEROS`].
#[inline(always)]
fn others(word: u64) -> u64 {
    (((word & !HIGH) + 0x7676_7676_7676_7676) | word) & HIGH
}

/// The number written by 8 digits (0 to 9 each), the first in the lowest byte.
#[inline(always)]
fn eight(word: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let word = word * 10 + (word >> 8);
    (word & PAIRS)
        .wrapping_mul(0x000f_4240_0000_0064)
        .wrapping_add(((word >> 16) & PAIRS).wrapping_mul(0x0000_2710_0000_0001))
        >> 32
}

/// The number written by `N` digits that begin at byte `FROM` of `word`.
#[inline(always)]
fn digits<const FROM: u32, const N: u32>(word: u64) -> u64 {
    let digit = |k: u32| (word >> (8 * (FROM + k))) & 0xff;
    match N {
        1 => digit(0),
        2 => digit(0) * 10 + digit(1),
        3 => digit(0) * 100 + digit(1) * 10 + digit(2),
        // Shifting up drops what follows the digits and leaves zeros before them.
        _ => eight((word >> (8 * FROM)) << (8 * (8 - N))),
    }
}

/// Whether, of the bytes from `FROM` on, exactly the first `N` are digits. `others` is as above.
#[inline(always)]
fn run<const FROM: u32, const N: u32>(others: u64) -> bool {
    let window = (u64::MAX >> (8 * (8 - (N + 1)))) << (8 * FROM);
    others & window == 0x80 << (8 * (FROM + N))
}

#[inline(always)]
fn word(bytes: &[u8; WINDOW], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Reads a space, an index of at most 6 digits, a colon, and a value `1`, `0.25`, `-3.125` (one
/// digit before the point, at most 16 after it), followed by a space or a newline. `None` for
/// anything else, which may still be right.
///
/// Lengths are told by comparing with one constant each: the processor guesses them well, and then
/// need not wait for the end of one token to begin with the next.
#[inline(always)]
pub(super) fn read(bytes: &[u8; WINDOW]) -> Option<Feature> {
    let raw = word(bytes, 0);
    let first = raw ^ ZEROS;
    let mask = others(first);
    let (index, colon) = if run::<1, 5>(mask) {
        (digits::<1, 5>(first), 6)
    } else if run::<1, 4>(mask) {
        (digits::<1, 4>(first), 5)
    } else if run::<1, 3>(mask) {
        (digits::<1, 3>(first), 4)
    } else if run::<1, 2>(mask) {
        (digits::<1, 2>(first), 3)
    } else if run::<1, 1>(mask) {
        (digits::<1, 1>(first), 2)
    } else if run::<1, 6>(mask) {
        (digits::<1, 6>(first), 7)
    } else {
        return None;
    };
    if raw as u8 != b' ' || (raw >> (8 * colon)) as u8 != b':' {
        return None;
    }
    let at = colon + 1;
    let (value, length) = if bytes[at] == b'-' {
        let (value, length) = unsigned(bytes, at + 1)?;
        (-value, length)
    } else {
        unsigned(bytes, at)?
    };
    Some(Feature { index: index as u32, value, length })
}

/// The value that begins at `at`, and where it ends.
#[inline(always)]
fn unsigned(bytes: &[u8; WINDOW], at: usize) -> Option<(f32, usize)> {
    const TENS: [f32; 7] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
    let raw = word(bytes, at);
    let value = raw ^ ZEROS;
    let mask = others(value);
    let whole = value & 0xff;
    if mask & 0x8080 != 0x8000 {
        return None;
    }
    if (raw >> 8) as u8 != b'.' {
        let end = (raw >> 8) as u8;
        return (end == b' ' || end == b'\n').then_some((whole as f32, at + 1));
    }
    let (m, f) = if run::<2, 4>(mask) {
        (digits::<2, 4>(value) + whole * 10_000, 4)
    } else if run::<2, 3>(mask) {
        (digits::<2, 3>(value) + whole * 1000, 3)
    } else if run::<2, 5>(mask) {
        (digits::<2, 5>(value) + whole * 100_000, 5)
    } else if run::<2, 2>(mask) {
        (digits::<2, 2>(value) + whole * 100, 2)
    } else if run::<2, 1>(mask) {
        (digits::<2, 1>(value) + whole * 10, 1)
    } else if mask == 0x8000 {
        let digits = digits::<2, 6>(value);
        if bytes[at + 8].is_ascii_digit() {
            return long(bytes, at, whole);
        }
        (digits + whole * 1_000_000, 6)
    } else {
        return None;
    };
    let end = bytes[at + 2 + f];
    // At most 7 digits and a power of ten that f32 holds: one division, rounded once.
    (end == b' ' || end == b'\n').then_some((m as f32 / TENS[f], at + 2 + f))
}

/// A value with 7 to 16 digits after the point.
#[inline(never)]
fn long(bytes: &[u8; WINDOW], at: usize, whole: u64) -> Option<(f32, usize)> {
    let mut m = whole;
    let mut f = 0;
    while f < 17 {
        let digit = bytes[at + 2 + f].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        m = m * 10 + u64::from(digit);
        f += 1;
    }
    let end = bytes[at + 2 + f];
    if end != b' ' && end != b'\n' {
        return None;
    }
    Some((ratio_f32(m, f)?, at + 2 + f))
}
