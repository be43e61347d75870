//! The usual token, ` 123:0.456`, in a few words of eight bytes.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

use crate::example::number::Number;

/// How many bytes [`read`] looks at: a space, 6 digits, a colon, a sign, a digit, a point, 16
/// digits, and what ends them.
pub(super) const WINDOW: usize = 32;

/// A feature as it stands in the file.
pub(super) struct Feature<V> {
    /// The index, not yet counted from 0.
    pub index: u32,
    /// The value.
    pub value: V,
    /// How many bytes it took, the space before it included.
    pub length: usize,
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte that is not a digit. `word` has been xored with [`ZEROS`]. A carry
/// out of a byte beyond ASCII may mark the digit after it too, which only sends a rare token to the
/// exact reader.
#[inline(always)]
fn others(word: u64) -> u64 {
    (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH
}

/// The number written by 4 digits (0 to 9 each), the first in the lowest byte.
#[inline(always)]
fn four(word: u32) -> u32 {
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    (pairs & 0xff) * 100 + ((pairs >> 16) & 0xff)
}

/// The number written by `N` digits, at most 6, that begin at byte `FROM` of `word`.
#[inline(always)]
fn digits<const FROM: u32, const N: u32>(word: u64) -> u32 {
    let digit = |k: u32| (word >> (8 * (FROM + k))) as u32 & 0xff;
    let first = (word >> (8 * FROM)) as u32;
    match N {
        1 => digit(0),
        2 => digit(0) * 10 + digit(1),
        3 => digit(0) * 100 + digit(1) * 10 + digit(2),
        4 => four(first),
        5 => four(first) * 10 + digit(4),
        _ => four(first) * 100 + digit(4) * 10 + digit(5),
    }
}

/// Whether, of the bytes from `FROM` on, exactly the first `N` are digits. `others` is as above.
#[inline(always)]
fn run<const FROM: u32, const N: u32>(others: u64) -> bool {
    let window = (u64::MAX >> (8 * (8 - (N + 1)))) << (8 * FROM);
    others & window == 0x80 << (8 * (FROM + N))
}

/// Whether the bytes are a digit, something else (the point), `N` digits, something else.
#[inline(always)]
fn fraction<const N: u32>(others: u64) -> bool {
    others & (u64::MAX >> (8 * (5 - N))) == 0x8000 | 0x80 << (8 * (2 + N))
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
pub(super) fn read<V: Number>(bytes: &[u8; WINDOW]) -> Option<Feature<V>> {
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
    // Signs come in no order that could be guessed, so this is no branch.
    let negative = bytes[colon + 1] == b'-';
    let (value, end) = unsigned::<V>(bytes, colon + 1 + usize::from(negative))?;
    Some(Feature { index, value: value.signed(negative), length: end })
}

/// The value that begins at `at`, and where it ends.
#[inline(always)]
fn unsigned<V: Number>(bytes: &[u8; WINDOW], at: usize) -> Option<(V, usize)> {
    let raw = word(bytes, at);
    let value = raw ^ ZEROS;
    let mask = others(value);
    let whole = value as u32 & 0xff;
    if (raw >> 8) as u8 != b'.' {
        let end = (raw >> 8) as u8;
        let fits = mask & 0x80 == 0 && (end == b' ' || end == b'\n');
        return fits.then_some((V::digit(whole), at + 1));
    }
    let (m, tenth, places) = if fraction::<5>(mask) {
        (digits::<2, 5>(value) + whole * 100_000, 1e-5, 5)
    } else if fraction::<4>(mask) {
        (digits::<2, 4>(value) + whole * 10_000, 1e-4, 4)
    } else if mask == 0x8000 {
        if bytes[at + 8].is_ascii_digit() {
            return long(bytes, at, u64::from(whole));
        }
        (digits::<2, 6>(value) + whole * 1_000_000, 1e-6, 6)
    } else if fraction::<3>(mask) {
        (digits::<2, 3>(value) + whole * 1000, 1e-3, 3)
    } else if fraction::<2>(mask) {
        (digits::<2, 2>(value) + whole * 100, 1e-2, 2)
    } else if fraction::<1>(mask) {
        (digits::<2, 1>(value) + whole * 10, 1e-1, 1)
    } else {
        return None;
    };
    let end = bytes[at + 2 + places];
    (end == b' ' || end == b'\n').then_some((V::short(m, places, tenth), at + 2 + places))
}

/// The number written by 8 digits (0 to 9 each), the first in the lowest byte.
#[inline(always)]
fn eight(word: u64) -> u64 {
    u64::from(four(word as u32)) * 10_000 + u64::from(four((word >> 32) as u32))
}

/// A value with 7 to 16 digits after the point.
#[inline(never)]
fn long<V: Number>(bytes: &[u8; WINDOW], at: usize, whole: u64) -> Option<(V, usize)> {
    let mut m = whole;
    let mut f = 0;
    let first = word(bytes, at + 2) ^ ZEROS;
    if others(first) == 0 {
        m = m * 100_000_000 + eight(first);
        f = 8;
    }
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
    Some((V::ratio(m, f)?, at + 2 + f))
}
