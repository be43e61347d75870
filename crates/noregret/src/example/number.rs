//! Decimal text to the nearest binary number, exactly, and the kinds of number that are read.

use super::Block;
use super::block::Value;
use super::format::{Decoder, Found, Scratch};
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::Mul;

/// `10^f`, all of which f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The f32 nearest to `m / 10^f`; `None` where this cannot be told cheaply.
///
/// Below `2^53` and with `f <= 12` rounding twice (to f64, then to f32) is right: a midpoint of two
/// f32 that is not the quotient itself is further from it than f64's rounding moves it, because
/// `5^12 * 2^25 < 2^53`. Beyond that the f64 quotient is off by less than two units in its last
/// place, which matters only within that distance of a midpoint.
#[inline]
pub(crate) fn ratio_f32(m: u64, f: usize) -> Option<f32> {
    if m < 1 << 53 && f <= 12 {
        // With a sign because that conversion is one instruction.
        return Some((m.cast_signed() as f64 / POWERS[f]) as f32);
    }
    long_ratio_f32(m, f)
}

#[cold]
#[inline(never)]
fn long_ratio_f32(m: u64, f: usize) -> Option<f32> {
    let quotient = m as f64 / POWERS.get(f)?;
    let below = quotient.to_bits() & 0x1fff_ffff;
    (below.abs_diff(0x1000_0000) > 4).then_some(quotient as f32)
}

/// The f32 nearest to `m / 10^f` where that is below 10; `None` where this cannot be told cheaply.
///
/// With `f <= 11` a product tells, though the factor is not exact: what it says is off by less than `2^-51` of its size.
/// A midpoint of two f32 is an odd number of 25 bits divided by a power of two, and below 10 that power is above `2^f`.
/// So the quotient, of `f` decimals, is none itself, and differs from it by at least `1 / (5^f 2^25)` of its size, which
/// is above `2^-51`.
#[inline(always)]
#[allow(clippy::inline_always)]
fn unit_f32(m: u64, f: usize) -> Option<f32> {
    const TENTHS: [f64; 12] = [1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11];
    match TENTHS.get(f) {
        Some(tenth) => Some((m.cast_signed() as f64 * tenth) as f32),
        None => ratio_f32(m, f),
    }
}

/// The f64 nearest to `m / 10^f`, where both are exact, so that their quotient is rounded once.
#[inline]
fn ratio_f64(m: u64, f: usize) -> Option<f64> {
    if m >= 1 << 53 {
        return None;
    }
    Some(m as f64 / POWERS.get(f)?)
}

/// The parts of a plain decimal: sign, all digits as one number, digits after the point. `None` for
/// anything longer than 19 digits or not of this form.
fn plain(text: &[u8]) -> Option<(bool, u64, usize)> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut m = 0u64;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            // A twentieth digit can only be there without a point.
            m = m.checked_mul(10)?.checked_add(u64::from(digit))?;
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let fraction = point.map_or(0, |at| digits.len() - 1 - at);
    (digits.len() > usize::from(point.is_some())).then_some((negative, m, fraction))
}

/// The f32 nearest to a decimal number. Also reads the spellings of `nan` and `inf` that Rust
/// reads, and gives an infinity for what is too large: see [`why_not_finite`].
pub fn parse_f32(text: &[u8]) -> Option<f32> {
    if let Some((negative, m, f)) = plain(text)
        && let Some(value) = ratio_f32(m, f)
    {
        return Some(if negative { -value } else { value });
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The f64 nearest to a decimal number, likewise.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    if let Some((negative, m, f)) = plain(text)
        && let Some(value) = ratio_f64(m, f)
    {
        return Some(if negative { -value } else { value });
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A kind of number that readers can give values as: f32, as learning takes them, or f64. The kind is
/// chosen once per reader, and each text is read to the nearest number of that kind.
///
/// ```
/// use noregret::example::number::Number;
/// assert_eq!(f32::parse(b"0.1"), Some(0.1_f32));
/// assert_eq!(f64::parse(b"0.1"), Some(0.1_f64));
/// ```
pub trait Number: Value + internal::Digits {
    /// About the largest number of this kind, for messages.
    const LARGEST: &'static str;
    /// The number nearest to a decimal one. Also reads the spellings of `nan` and `inf` that Rust
    /// reads, and gives an infinity for what is too large: see [`why_not_finite`].
    fn parse(text: &[u8]) -> Option<Self>;
    /// The nearest number of this kind; an infinity for what is too large.
    fn from_f64(value: f64) -> Self;
    /// Reads a chunk with this kind of values.
    fn decode(
        decoder: &dyn Decoder,
        chunk: &[u8],
        block: &mut Block<Self>,
        scratch: &mut Scratch<Self>,
    ) -> Found;
}

mod internal {
    use super::{Debug, Display, Mul, Sum};

    /// What the decoders of this crate need, and a seal: no other kinds of number are read.
    pub trait Digits: Copy + PartialEq + Debug + Display + Mul<Output = Self> + Sum {
        const ZERO: Self;
        const ONE: Self;
        /// A number from 0 to 9.
        fn digit(digit: u32) -> Self;
        /// `m / 10^places`, where `m` has at most 7 digits and `tenth` is `10^-places`, nearly.
        fn short(m: u32, places: usize, tenth: f64) -> Self;
        /// `m / 10^6` with its sign, where `m` has at most 7 digits and `negative` is 0 or 1.
        fn millionths(m: u32, negative: usize) -> Self;
        /// The same of eight, each with the highest bit set where it is negative.
        fn all_millionths<const N: usize>(m: [u32; N]) -> [Self; N];
        /// `m / 10^f`; `None` where the nearest number cannot be told cheaply.
        fn ratio(m: u64, f: usize) -> Option<Self>;
        /// The same, for a quotient below 10.
        fn unit(m: u64, f: usize) -> Option<Self>;
        /// A number that is not negative, with its sign.
        fn signed(self, negative: bool) -> Self;
        fn from_i64(value: i64) -> Self;
        fn from_u64(value: u64) -> Self;
        fn is_finite(self) -> bool;
        /// The number as bits, by which features of one index are brought into an order.
        fn bits(self) -> u64;
    }
}

impl Number for f32 {
    const LARGEST: &'static str = "3.4e38";
    #[inline]
    fn parse(text: &[u8]) -> Option<Self> {
        parse_f32(text)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn decode(decoder: &dyn Decoder, chunk: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        decoder.decode(chunk, block, scratch)
    }
}

impl Number for f64 {
    const LARGEST: &'static str = "1.8e308";
    #[inline]
    fn parse(text: &[u8]) -> Option<Self> {
        parse_f64(text)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    fn decode(
        decoder: &dyn Decoder,
        chunk: &[u8],
        block: &mut Block<f64>,
        scratch: &mut Scratch<f64>,
    ) -> Found {
        decoder.decode_f64(chunk, block, scratch)
    }
}

// A call per token would cost more than what is called.
#[allow(clippy::inline_always)]
impl internal::Digits for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline(always)]
    fn digit(digit: u32) -> Self {
        digit as f32
    }
    /// Exact, though `tenth` is not: with at most 7 digits `m / 10^places` is no midpoint of two
    /// f32 (a midpoint has 25 significant bits, m has fewer), and it keeps further away from one
    /// than `2^-25 / 5^6` of its size, while the product in f64 is off by less than `2^-52`.
    #[inline(always)]
    fn short(m: u32, _places: usize, tenth: f64) -> Self {
        (f64::from(m) * tenth) as f32
    }
    /// Exact for the same reason.
    #[inline(always)]
    fn millionths(m: u32, negative: usize) -> Self {
        static MILLIONTH: [f64; 2] = [1e-6, -1e-6];
        (f64::from(m.cast_signed()) * MILLIONTH[negative % 2]) as f32
    }
    #[inline(always)]
    fn all_millionths<const N: usize>(m: [u32; N]) -> [Self; N] {
        // A loop: `map` over many is a call.
        let mut all = [0.0; N];
        for (value, m) in all.iter_mut().zip(m) {
            let size = (f64::from((m & u32::MAX >> 1).cast_signed()) * 1e-6) as f32;
            *value = f32::from_bits(size.to_bits() | m & 1 << 31);
        }
        all
    }
    #[inline(always)]
    fn ratio(m: u64, f: usize) -> Option<Self> {
        ratio_f32(m, f)
    }
    #[inline(always)]
    fn unit(m: u64, f: usize) -> Option<Self> {
        unit_f32(m, f)
    }
    #[inline(always)]
    fn signed(self, negative: bool) -> Self {
        f32::from_bits(self.to_bits() | u32::from(negative) << 31)
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        value as f32
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        value as f32
    }
    #[inline]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

#[allow(clippy::inline_always)]
impl internal::Digits for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    #[inline(always)]
    fn digit(digit: u32) -> Self {
        f64::from(digit)
    }
    /// Both are exact, so their quotient is rounded once.
    #[inline(always)]
    fn short(m: u32, places: usize, _tenth: f64) -> Self {
        f64::from(m) / POWERS[places]
    }
    #[inline(always)]
    fn millionths(m: u32, negative: usize) -> Self {
        static MILLION: [f64; 2] = [1e6, -1e6];
        f64::from(m.cast_signed()) / MILLION[negative % 2]
    }
    #[inline(always)]
    fn all_millionths<const N: usize>(m: [u32; N]) -> [Self; N] {
        m.map(|m| Self::millionths(m & u32::MAX >> 1, (m >> 31) as usize))
    }
    #[inline(always)]
    fn ratio(m: u64, f: usize) -> Option<Self> {
        ratio_f64(m, f)
    }
    #[inline(always)]
    fn unit(m: u64, f: usize) -> Option<Self> {
        ratio_f64(m, f)
    }
    #[inline(always)]
    fn signed(self, negative: bool) -> Self {
        f64::from_bits(self.to_bits() | u64::from(negative) << 63)
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        value as f64
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        value as f64
    }
    #[inline]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Says what is wrong with a text that was read as NaN or an infinity.
pub fn why_not_finite(text: &[u8]) -> &'static str {
    if text.iter().any(u8::is_ascii_digit) {
        "too large a number"
    } else if text.iter().any(|byte| matches!(byte, b'a' | b'A')) {
        "not a number"
    } else {
        "infinite"
    }
}

#[cfg(test)]
mod tests;
