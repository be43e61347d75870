//! Work in lanes as wide as the processor at hand has them.
//!
//! The program is compiled for every processor of its kind, and these have lanes of sixteen bytes. Most have more. What gains by
//! that is written once, as [`Work`], and compiled for each width: [`run_within`] asks the processor which one it can take. All ways must
//! give the same bits; tests compare them.
//!
//! This folder is the only place where the compiler cannot check that the processor knows the instructions, hence the `unsafe` here.
#![allow(
    unsafe_code,
    reason = "instructions that not every processor has: see `run_within`, `Avx2` and `Avx512`"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(test)]
pub(super) mod tests;

use super::hash::murmur3_words;
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;
use wide::u8x16;

/// How many bytes are looked at together.
pub(super) const BLOCK: usize = 64;

/// How many features are read together.
pub(super) const GROUP: usize = 16;

/// Something to do that is compiled for several kinds of processors. All that it calls should melt into it
/// (`#[inline(always)]`), because what does not is compiled for the least of them.
pub(super) trait Work {
    type Output;
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// What is done in other ways on other processors.
pub(super) trait Lanes: Copy {
    /// The places of bytes that may end a word of VW text, from the first byte's on: a colon, a bar, a space or anything below it. Says
    /// how many there are; whatever is written behind them says nothing.
    fn stops(self, block: &[u8; BLOCK], first: u16, places: &mut [u16; BLOCK]) -> usize;

    /// How many bytes are between places that ascend, of each two the first in the lowest byte and the second in the next one; 255 is that
    /// many or more.
    fn lengths(self, places: &[u16; 2 * GROUP + 1]) -> [u32; GROUP];

    /// The hashes of names ([`murmur3_words`]), and those that begin with a digit. A name is the first bytes of its sixteen, whatever comes
    /// after them; in the lowest byte of its length is how many, usually from 1 to 15. Where there are but `few`, only the first half of the
    /// group counts.
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32, few: bool) -> Words;

    /// Values in millionths, with the highest bit set where they are negative, and those that are 0. Usually a value begins with a colon. In
    /// the second byte of a length is how many bytes follow it: usually perhaps a minus, then a digit, perhaps a point and up to 6 digits,
    /// and behind them a space or the end of a line.
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP], few: bool) -> Words;

    /// Four features of LIBSVM that look like this, one after the other, with indices from `least` on and below `end`.
    fn four(self, look: &Look, text: &[u8; FOUR], least: i32, end: i32) -> Four;
}

/// How much text four features may take, and a byte after them.
pub(super) const FOUR: usize = 65;

/// What a feature of LIBSVM looks like that takes at most sixteen bytes: a space, an index, a colon, a value without a sign.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Makes a digit its number and any other byte 0, if it is the right one.
    pub(super) zero: [u8; 16],
    /// The largest that each byte may be then.
    pub(super) limit: [u8; 16],
    /// Where the digits are: of the value eight, the last six of them after the point, and eight of the index. Above 127 is none.
    pub(super) order: [u8; 16],
    /// How many bytes it takes, at most 16.
    pub(super) length: usize,
}

/// Four features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Four {
    pub(super) millionths: [u32; 4],
    pub(super) indices: [u32; 4],
    /// A bit for each, up to the first that does not look as it should, is 0, or has an index out of the range or not above the one
    /// before it; the bits after that one say nothing. What comes after the last is not looked at.
    pub(super) right: u32,
}

/// Names or values, and what follows them.
pub(super) type Sixteens = [[u8; 16]; GROUP];

/// What comes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) all: [u32; GROUP],
    /// A bit for each that is to be looked at one by one.
    pub(super) odd: u32,
    /// A bit for each that is not as usual; nothing else is true of it.
    pub(super) unusual: u32,
}

/// The places of the bits that are 1, and how many there are.
#[inline(always)]
fn list(mut bits: u64, first: u16, places: &mut [u16; BLOCK]) -> usize {
    let count = bits.count_ones() as usize;
    // Always some of them together: how many there are is hard to guess.
    for (k, some) in places.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        for place in some {
            *place = first.wrapping_add(bits.trailing_zeros() as u16);
            bits &= bits.wrapping_sub(1);
        }
        if count <= 8 * (k + 1) {
            break;
        }
    }
    count
}

/// How many of a group count.
#[inline(always)]
fn counting(few: bool) -> usize {
    if few { GROUP / 2 } else { GROUP }
}

/// What every processor can do.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn stops(self, block: &[u8; BLOCK], first: u16, places: &mut [u16; BLOCK]) -> usize {
        let mut stops = 0;
        for (k, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let found = bytes.min(u8x16::splat(b' ')).simd_eq(bytes) | is(b':') | is(b'|');
            stops |= u64::from(found.to_bitmask() as u16) << (16 * k);
        }
        list(stops, first, places)
    }

    #[inline(always)]
    fn lengths(self, places: &[u16; 2 * GROUP + 1]) -> [u32; GROUP] {
        std::array::from_fn(|k| {
            let between =
                |k: usize| u32::from(places[k + 1].wrapping_sub(places[k]).wrapping_sub(1)).min(255);
            between(2 * k) | between(2 * k + 1) << 8
        })
    }

    #[inline(always)]
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32, few: bool) -> Words {
        let mut found = Words::default();
        for (k, (name, lengths)) in names.iter().zip(lengths).enumerate().take(counting(few)) {
            let length = (lengths & 0xff) as usize;
            let [first, second] =
                [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| name[at + byte])));
            found.all[k] = murmur3_words(first, second, length % 16, seed);
            found.odd |= u32::from(name[0].is_ascii_digit()) << k;
            found.unusual |= u32::from(!matches!(length, 1..=15)) << k;
        }
        found
    }

    #[inline(always)]
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP], few: bool) -> Words {
        let mut found = Words::default();
        for (k, (value, lengths)) in values.iter().zip(lengths).enumerate().take(counting(few)) {
            let negative = value[1] == b'-';
            let [_, length, ..] = lengths.to_le_bytes();
            let length = length.wrapping_sub(u8::from(negative));
            let text: [u8; 9] = std::array::from_fn(|byte| value[1 + usize::from(negative) + byte]);
            let mut usual = value[0] == b':' && matches!(length, 1 | 3..=8);
            let mut whole = 0;
            for (at, &byte) in text[..8].iter().enumerate() {
                let there = at < usize::from(length);
                if at == 1 {
                    usual &= !there || byte == b'.';
                } else {
                    usual &= !there || byte.is_ascii_digit();
                    whole = 10 * whole + if there { u32::from(byte.wrapping_sub(b'0')) } else { 0 };
                }
            }
            usual &= matches!(text[usize::from(length).min(8)], b' ' | b'\n');
            found.all[k] = whole & u32::MAX >> 1 | u32::from(negative) << 31;
            found.odd |= u32::from(whole == 0) << k;
            found.unusual |= u32::from(!usual) << k;
        }
        found
    }

    #[inline(always)]
    fn four(self, look: &Look, text: &[u8; FOUR], least: i32, end: i32) -> Four {
        let mut found = Four::default();
        let mut before = least - 1;
        for k in 0..4 {
            let digits: [u8; 16] = std::array::from_fn(|at| text[k * look.length + at] ^ look.zero[at]);
            let mut right = digits.iter().zip(look.limit).all(|(&digit, limit)| digit <= limit);
            let number = |order: &[u8]| {
                let digit = |&at: &u8| digits.get(usize::from(at)).map_or(0, |&digit| u32::from(digit));
                order.iter().fold(0_u32, |sum, at| sum.wrapping_mul(10).wrapping_add(digit(at)))
            };
            let (value, index) = look.order.split_at(8);
            (found.millionths[k], found.indices[k]) = (number(value), number(index));
            let index = found.indices[k].cast_signed();
            right &= found.millionths[k] > 0 && index > before && index < end;
            before = index;
            found.right |= u32::from(right) << k;
        }
        found
    }
}

/// How wide lanes are, in ascending order.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "others have one width"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Width {
    Portable,
    Avx2,
    Avx512,
}

/// Does the work in the widest lanes that the processor has, but none that are wider than these.
#[inline]
pub(super) fn run_within<W: Work>(widest: Width, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    match known().min(widest) {
        // SAFETY: the processor was asked just now.
        Width::Avx512 => return unsafe { avx512::run(work) },
        // SAFETY: likewise.
        Width::Avx2 => return unsafe { avx2::run(work) },
        Width::Portable => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = widest;
    work.run(Portable)
}

/// Whether the processor has lanes of more than sixteen bytes.
#[inline]
pub(super) fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return known() > Width::Portable;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The widest that the processor has all of what is compiled for.
#[cfg(target_arch = "x86_64")]
#[inline]
fn known() -> Width {
    static KNOWN: LazyLock<Width> = LazyLock::new(|| {
        let narrower = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let wider = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi2");
        match (narrower, wider) {
            (false, _) => Width::Portable,
            (true, false) => Width::Avx2,
            (true, true) => Width::Avx512,
        }
    });
    #[cfg(test)]
    return (*KNOWN).min(tests::WIDEST.get());
    #[cfg(not(test))]
    *KNOWN
}
