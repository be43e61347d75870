//! The usual token, ` 123:0.456`, in a few words of eight bytes.

// A call per token would cost more than what is called.
#![allow(clippy::inline_always)]

use crate::example::digits::{self, Digits, Shape, WINDOW, others, word};
use crate::example::number::Number;

/// A feature as it stands in the file.
pub(in crate::example::format) struct Feature<V> {
    /// The index, not yet counted from 0.
    pub index: u32,
    /// The value.
    pub value: V,
    /// How many bytes it took, the space before it included.
    pub length: usize,
}

/// Reads a space, an index of 1 to 6 digits, a colon, and a usual value, followed by a space. `None` for
/// anything else, which may still be right.
#[inline(always)]
pub(in crate::example::format) fn read<V: Number>(bytes: &[u8; WINDOW]) -> Option<Feature<V>> {
    let (index, colon) = index(bytes)?;
    let (value, length) = digits::short::<V, b' '>(bytes, colon + 1)?;
    Some(Feature { index, value, length })
}

/// As [`read`], for a value of any length followed by a space or a newline.
#[inline(never)]
pub(in crate::example::format) fn read_long<V: Number>(bytes: &[u8; WINDOW]) -> Option<Feature<V>> {
    let (index, colon) = index(bytes)?;
    let (value, length) = digits::long::<V>(bytes, colon + 1)?;
    matches!(bytes[length], b' ' | b'\n').then_some(Feature { index, value, length })
}

/// The index in a token that begins with a space, and where the colon after it is.
#[inline(always)]
fn index(bytes: &[u8; WINDOW]) -> Option<(u32, usize)> {
    let raw = word(bytes, 0);
    if let Some(digits) = const { Shape::new(b" 00000:") }.digits(raw) {
        return Some((digits.number::<1, 5>(), 6));
    }
    let count = others(raw >> 8).trailing_zeros() as usize / 8;
    if bytes[0] != b' ' || bytes[count + 1] != b':' {
        return None;
    }
    let digits = Digits::of(raw);
    let index = match count {
        4 => digits.number::<1, 4>(),
        3 => digits.number::<1, 3>(),
        2 => digits.number::<1, 2>(),
        1 => digits.number::<1, 1>(),
        6 => digits.number::<1, 6>(),
        _ => return None,
    };
    Some((index, count + 1))
}
