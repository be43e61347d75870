//! Work in lanes as wide as the processor at hand has them.
//!
//! The program is compiled for every processor of its kind, and these have lanes of sixteen bytes. Most have more. What gains by
//! XX
//!
//! This is the only place where the compiler cannot check that the processor knows the instructions, hence the `unsafe` here.
#![allow(unsafe_code, reason = "instructions that not every processor has: see `run`, `Avx2` and `Avx512`")]

use super::hash::murmur3_words;
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
    /// One bit for each byte that may end a word of VW text: a colon, a bar, a space or anything below it.
    fn stops(self, block: &[u8; BLOCK]) -> u64;

    /// The hashes of names ([`murmur3_words`]), and those that begin with a digit. A name is the first bytes of its sixteen, whatever comes
    /// after them; in the lowest byte of its length is how many, usually from 1 to 15.
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words;

    /// Values in millionths, with the highest bit set where they are negative, and those that are 0. In the second byte of a length
    /// is how many bytes follow the colon that a value begins with: usually perhaps a minus, then a digit, perhaps a point and up to 6 digits,
    /// and behind them a space or the end of a line.
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP]) -> Words;
}

/// Names or values, and what follows them.
pub(super) type Sixteens = [[u8; 16]; GROUP];

/// What comes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) words: [u32; GROUP],
    /// A bit for each that is to be looked at one by one.
    pub(super) odd: u32,
    /// A bit for each that is not as usual; nothing else is true of it.
    pub(super) unusual: u32,
}

/// What every processor can do.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn stops(self, block: &[u8; BLOCK]) -> u64 {
        let mut stops = 0;
        for (k, bytes) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = u8x16::new(*bytes);
            let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
            let found = bytes.min(u8x16::splat(b' ')).simd_eq(bytes) | is(b':') | is(b'|');
            stops |= u64::from(found.to_bitmask() as u16) << (16 * k);
        }
        stops
    }

    #[inline(always)]
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words {
        let mut found = Words::default();
        for (k, (name, lengths)) in names.iter().zip(lengths).enumerate() {
            let length = (lengths & 0xff) as usize;
            let [first, second] =
                [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| name[at + byte])));
            found.words[k] = murmur3_words(first, second, length % 16, seed);
            found.odd |= u32::from(name[0].is_ascii_digit()) << k;
            found.unusual |= u32::from(!matches!(length, 1..=15)) << k;
        }
        found
    }

    #[inline(always)]
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP]) -> Words {
        let mut found = Words::default();
        for (k, (value, lengths)) in values.iter().zip(lengths).enumerate() {
            let negative = value[1] == b'-';
            let [_, length, ..] = lengths.to_le_bytes();
            let length = length.wrapping_sub(u8::from(negative));
            let text: [u8; 9] = std::array::from_fn(|byte| value[1 + usize::from(negative) + byte]);
            let mut usual = matches!(length, 1 | 3..=8);
            let mut whole = 0;
            for at in 0..8 {
                let (byte, there) = (text[at], at < usize::from(length));
                if at == 1 {
                    usual &= !there || byte == b'.';
                } else {
                    usual &= !there || byte.is_ascii_digit();
                    whole = 10 * whole + if there { u32::from(byte.wrapping_sub(b'0')) } else { 0 };
                }
            }
            usual &= matches!(text[usize::from(length).min(8)], b' ' | b'\n');
            found.words[k] = whole & u32::MAX >> 1 | u32::from(negative) << 31;
            found.odd |= u32::from(whole == 0) << k;
            found.unusual |= u32::from(!usual) << k;
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

/// Does the work in the widest lanes that the processor has.
#[inline]
pub(super) fn run<W: Work>(work: W) -> W::Output {
    run_within(Width::Avx512, work)
}

/// The same in lanes that are not wider than these.
#[inline]
pub(super) fn run_within<W: Work>(widest: Width, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    match x86::known().min(widest) {
        // SAFETY: the processor was asked just now.
        Width::Avx512 => return unsafe { x86::run_512(work) },
        // SAFETY: likewise.
        Width::Avx2 => return unsafe { x86::run(work) },
        Width::Portable => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = widest;
    work.run(Portable)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, GROUP, Lanes, Sixteens, Width, Words, Work};
    #[allow(clippy::wildcard_imports, reason = "thirty instructions, by the names that Intel gave them")]
    use std::arch::x86_64::*;
    use std::sync::LazyLock;

    /// The widest that the processor has all of what is compiled for.
    #[inline]
    pub(super) fn known() -> Width {
        static KNOWN: LazyLock<Width> = LazyLock::new(|| {
            let narrower = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let wider = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            match (narrower, wider) {
                (false, _) => Width::Portable,
                (true, false) => Width::Avx2,
                (true, true) => Width::Avx512,
            }
        });
        #[cfg(test)]
        return (*KNOWN).min(super::tests::WIDEST.get());
        #[cfg(not(test))]
        *KNOWN
    }

    /// Does the work in lanes of 32 bytes.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn run<W: Work>(work: W) -> W::Output {
        work.run(Avx2(()))
    }

    /// Does the work in lanes of 64 bytes.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl")]
    pub(super) fn run_512<W: Work>(work: W) -> W::Output {
        work.run(Avx512(()))
    }

    /// Lanes of 32 bytes. Nobody but [`run`] can make one, so whoever has one is on a processor that has them.
    #[derive(Clone, Copy)]
    pub(super) struct Avx2(());

    impl Lanes for Avx2 {
        #[inline(always)]
        fn stops(self, block: &[u8; BLOCK]) -> u64 {
            // SAFETY: as said of the type.
            unsafe { stops(block) }
        }

        #[inline(always)]
        fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words {
            // SAFETY: as said of the type.
            halves(names, lengths, |names, lengths| unsafe { hashes(names, lengths, seed) })
        }

        #[inline(always)]
        fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP]) -> Words {
            // SAFETY: as said of the type.
            halves(values, lengths, |values, lengths| unsafe { numbers(values, lengths) })
        }
    }

    /// Both halves of a group, one after the other.
    #[inline(always)]
    fn halves(
        sixteens: &Sixteens,
        lengths: &[u32; GROUP],
        half: impl Fn(&[[u8; 16]; 8], &[u32; 8]) -> ([u32; 8], u32, u32),
    ) -> Words {
        let mut found = Words::default();
        let parts = sixteens.as_chunks::<8>().0.iter().zip(lengths.as_chunks::<8>().0);
        for (k, ((part, lengths), words)) in parts.zip(found.words.as_chunks_mut::<8>().0).enumerate() {
            let (odd, unusual);
            (*words, odd, unusual) = half(part, lengths);
            found.odd |= odd << (8 * k);
            found.unusual |= unusual << (8 * k);
        }
        found
    }

    /// Lanes of 64 bytes. Nobody but [`run_512`] can make one.
    #[derive(Clone, Copy)]
    pub(super) struct Avx512(());

    impl Lanes for Avx512 {
        #[inline(always)]
        fn stops(self, block: &[u8; BLOCK]) -> u64 {
            // SAFETY: as said of the type.
            unsafe { stops_512(block) }
        }

        #[inline(always)]
        fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words {
            // SAFETY: as said of the type.
            unsafe { hashes_512(names, lengths, seed) }
        }

        #[inline(always)]
        fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP]) -> Words {
            // SAFETY: as said of the type.
            unsafe { numbers_512(values, lengths) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn stops(block: &[u8; BLOCK]) -> u64 {
        let halves: [__m256i; 2] = bytemuck::cast(*block);
        let [low, high] = halves.map(|bytes| {
            let is = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()));
            let least = _mm256_min_epu8(bytes, _mm256_set1_epi8(b' '.cast_signed()));
            let found = _mm256_or_si256(is(b':'), is(b'|'));
            _mm256_movemask_epi8(_mm256_or_si256(_mm256_cmpeq_epi8(least, bytes), found)).cast_unsigned()
        });
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(word: u32) -> __m256i {
        _mm256_set1_epi32(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotate<const LEFT: i32, const RIGHT: i32>(words: __m256i) -> __m256i {
        _mm256_or_si256(_mm256_slli_epi32::<LEFT>(words), _mm256_srli_epi32::<RIGHT>(words))
    }

    /// Which of eight words are not all zeros.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn which(words: __m256i) -> u32 {
        _mm256_movemask_ps(_mm256_castsi256_ps(words)).cast_unsigned()
    }

    /// Which of eight words are at most so large, as ones.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_most(words: __m256i, most: u32) -> __m256i {
        _mm256_cmpeq_epi32(_mm256_min_epu32(words, all(most)), words)
    }

    /// [`Lanes::numbers`] of eight values.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn numbers(values: &[[u8; 16]; 8], lengths: &[u32; 8]) -> ([u32; 8], u32, u32) {
        let lengths: __m256i = bytemuck::cast(*lengths);
        // Values 0 and 4 are side by side, 1 and 5, and so on: so what is put together within halves comes out in order.
        let two = |k: usize| {
            let value: __m256i = bytemuck::cast([values[k], values[k + 4]]);
            pair(value, _mm256_shuffle_epi8(lengths, bytes(4 * k as u8 + 1)))
        };
        let [a, b, c, d] = [two(0), two(1), two(2), two(3)];
        let packed = _mm256_packus_epi32(
            _mm256_unpacklo_epi64(a.digits, b.digits),
            _mm256_unpacklo_epi64(c.digits, d.digits),
        );
        let whole = _mm256_madd_epi16(packed, all((1 << 16) + 10_000));
        let negative = _mm256_unpacklo_epi64(
            _mm256_unpacklo_epi32(a.negative, b.negative),
            _mm256_unpacklo_epi32(c.negative, d.negative),
        );
        let signed = _mm256_or_si256(whole, _mm256_and_si256(negative, all(1 << 31)));
        let usual = [a.usual, b.usual, c.usual, d.usual].map(|usual| _mm256_movemask_epi8(usual));
        let mut unusual = 0;
        if usual != [-1; 4] {
            for (k, usual) in usual.into_iter().enumerate() {
                unusual |= u32::from(usual & 0xffff != 0xffff) << k;
                unusual |= u32::from(usual >> 16 != -1) << (k + 4);
            }
        }
        (bytemuck::cast(signed), which(_mm256_cmpeq_epi32(whole, all(0))), unusual)
    }

    /// The same byte in all places.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bytes(byte: u8) -> __m256i {
        _mm256_set1_epi8(byte.cast_signed())
    }

    /// Values in lanes of sixteen bytes.
    struct Pair {
        /// The digit before the point and the first two after it as one number, and the last four, in the two lowest words.
        digits: __m256i,
        /// Ones where there is a minus.
        negative: __m256i,
        /// Ones, if all is as it should be.
        usual: __m256i,
    }

    /// What values are that begin with a colon and have so many bytes after it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn pair(value: __m256i, length: __m256i) -> Pair {
        let is = |a, byte: u8| _mm256_cmpeq_epi8(a, bytes(byte));
        let places =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let negative = is(_mm256_shuffle_epi8(value, bytes(1)), b'-');
        // Without colon and minus.
        let from = _mm256_sub_epi8(_mm256_add_epi8(places, bytes(1)), negative);
        let (text, length) = (_mm256_shuffle_epi8(value, from), _mm256_add_epi8(length, negative));
        let there = _mm256_cmpgt_epi8(length, places);
        let digits = _mm256_sub_epi8(text, bytes(b'0'));
        let is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digits, bytes(9)), digits);
        let second = is(places, 1);
        let right = _mm256_blendv_epi8(is_digit, is(text, b'.'), second);
        let ended = _mm256_or_si256(is(text, b' '), is(text, b'\n'));
        let end = _mm256_cmpeq_epi8(length, places);
        let usual = _mm256_blendv_epi8(_mm256_blendv_epi8(all(u32::MAX), ended, end), right, there);
        // Lengths of 1 and from 3 to 8.
        let least = _mm256_sub_epi8(length, bytes(1));
        let fits = _mm256_cmpeq_epi8(_mm256_min_epu8(least, bytes(7)), least);
        let usual = _mm256_and_si256(usual, _mm256_andnot_si256(is(length, 2), fits));
        let digits = _mm256_and_si256(digits, _mm256_andnot_si256(second, there));
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi64x(TENS));
        Pair { digits: _mm256_madd_epi16(pairs, all((1 << 16) + 100)), negative, usual }
    }

    /// [`Lanes::hashes`] of eight names.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn hashes(names: &[[u8; 16]; 8], lengths: &[u32; 8], seed: u32) -> ([u32; 8], u32, u32) {
        let lengths = _mm256_and_si256(bytemuck::cast(*lengths), all(0xff));
        // In the order of [`numbers`].
        let two = |k: usize| -> __m256i { bytemuck::cast([names[k], names[k + 4]]) };
        let (a, b, c, d) = (two(0), two(1), two(2), two(3));
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        let quarters = [
            _mm256_unpacklo_epi64(ab, cd),
            _mm256_unpackhi_epi64(ab, cd),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ];
        let bits = _mm256_slli_epi32::<3>(lengths);
        let mut h = all(seed);
        let mut end = 32;
        // Of most names nothing is in the last quarter, which then changes nothing.
        let short = _mm256_testz_si256(_mm256_cmpgt_epi32(lengths, all(12)), all(u32::MAX)) == 1;
        for (k, quarter) in quarters.into_iter().enumerate() {
            if k == 3 && short {
                break;
            }
            // Of a quarter only what belongs to the name. A whole one is mixed; the part of one, or none, is the tail.
            let left = _mm256_max_epi32(_mm256_sub_epi32(all(end), bits), all(0));
            let quarter = _mm256_and_si256(quarter, _mm256_srlv_epi32(all(u32::MAX), left));
            let k = rotate::<15, 17>(_mm256_mullo_epi32(quarter, all(0xcc9e_2d51)));
            let tail = _mm256_xor_si256(h, _mm256_mullo_epi32(k, all(0x1b87_3593)));
            let mixed = rotate::<13, 19>(tail);
            let five = _mm256_add_epi32(_mm256_slli_epi32::<2>(mixed), mixed);
            let mixed = _mm256_add_epi32(five, all(0xe654_6b64));
            let whole = _mm256_cmpgt_epi32(bits, all(end - 1));
            h = _mm256_blendv_epi8(tail, mixed, whole);
            end += 32;
        }
        h = _mm256_xor_si256(h, lengths);
        h = _mm256_mullo_epi32(_mm256_xor_si256(h, _mm256_srli_epi32::<16>(h)), all(0x85eb_ca6b));
        h = _mm256_mullo_epi32(_mm256_xor_si256(h, _mm256_srli_epi32::<13>(h)), all(0xc2b2_ae35));
        h = _mm256_xor_si256(h, _mm256_srli_epi32::<16>(h));
        let digit = _mm256_sub_epi32(_mm256_and_si256(quarters[0], all(0xff)), all(u32::from(b'0')));
        let usual = at_most(_mm256_sub_epi32(lengths, all(1)), 14);
        (bytemuck::cast(h), which(at_most(digit, 9)), !which(usual) & 0xff)
    }

    /// Changes the rows and columns of four times four words.
    const TURNED: [u32; GROUP] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

    /// By what digits count, two and two together.
    const TENS: i64 = i64::from_le_bytes([1, 0, 10, 1, 10, 1, 10, 1]);

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: so many there are.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn words(lanes: __m512i) -> [u32; GROUP] {
        let mut words = [0; GROUP];
        // SAFETY: there is room for all.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), lanes) };
        words
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn all_512(word: u32) -> __m512i {
        _mm512_set1_epi32(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn stops_512(block: &[u8; BLOCK]) -> u64 {
        let bytes = load(block);
        let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
        _mm512_cmple_epu8_mask(bytes, _mm512_set1_epi8(b' '.cast_signed())) | is(b':') | is(b'|')
    }

    /// [`Lanes::numbers`] at once. Of what is put together within quarters rows and columns have changed places: see [`TURNED`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    fn numbers_512(values: &Sixteens, lengths: &[u32; GROUP]) -> Words {
        // The length of a value is the second byte of a word.
        const SECOND: [[u8; 16]; 4] = [[1; 16], [5; 16], [9; 16], [13; 16]];
        let lengths = load(bytemuck::cast_ref(lengths));
        let values: &[[u8; 64]; 4] = bytemuck::cast_ref(values);
        let second = load(bytemuck::cast_ref(&SECOND));
        let spread = |lengths| _mm512_shuffle_epi8(lengths, second);
        let a = spread(_mm512_shuffle_i32x4::<0b00_00_00_00>(lengths, lengths));
        let b = spread(_mm512_shuffle_i32x4::<0b01_01_01_01>(lengths, lengths));
        let c = spread(_mm512_shuffle_i32x4::<0b10_10_10_10>(lengths, lengths));
        let d = spread(_mm512_shuffle_i32x4::<0b11_11_11_11>(lengths, lengths));
        let [a, b] = [four(load(&values[0]), a), four(load(&values[1]), b)];
        let [c, d] = [four(load(&values[2]), c), four(load(&values[3]), d)];
        let packed = _mm512_packus_epi32(
            _mm512_unpacklo_epi64(a.digits, b.digits),
            _mm512_unpacklo_epi64(c.digits, d.digits),
        );
        let whole = _mm512_madd_epi16(packed, all_512((1 << 16) + 10_000));
        let turned = load(bytemuck::cast_ref(&TURNED));
        let whole = _mm512_permutexvar_epi32(turned, whole);
        // One bit of each value's sixteen.
        let bits = |mask: u64| _pext_u64(mask, 0x0001_0001_0001_0001) as u16;
        let negative =
            bits(a.negative) | bits(b.negative) << 4 | bits(c.negative) << 8 | bits(d.negative) << 12;
        let signed = _mm512_mask_or_epi32(whole, negative, whole, all_512(1 << 31));
        let mut unusual = 0;
        if a.usual & b.usual & c.usual & d.usual != u64::MAX {
            for (k, usual) in [a.usual, b.usual, c.usual, d.usual].into_iter().enumerate() {
                for j in 0..4 {
                    unusual |= u32::from(usual >> (16 * j) & 0xffff != 0xffff) << (4 * k + j);
                }
            }
        }
        Words { words: words(signed), odd: _mm512_testn_epi32_mask(whole, whole).into(), unusual }
    }

    /// See [`Pair`].
    struct Four {
        digits: __m512i,
        negative: u64,
        usual: u64,
    }

    /// See [`pair`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn four(value: __m512i, length: __m512i) -> Four {
        const SECOND: u64 = 0x0002_0002_0002_0002;
        let bytes = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
        let is = |a, byte: u8| _mm512_cmpeq_epi8_mask(a, bytes(byte));
        let places = _mm512_set4_epi32(0x0f0e_0d0c, 0x0b0a_0908, 0x0706_0504, 0x0302_0100);
        let negative = is(_mm512_shuffle_epi8(value, bytes(1)), b'-');
        let from = _mm512_add_epi8(places, bytes(1));
        let from = _mm512_mask_add_epi8(from, negative, from, bytes(1));
        let text = _mm512_shuffle_epi8(value, from);
        let length = _mm512_mask_sub_epi8(length, negative, length, bytes(1));
        let there = _mm512_cmplt_epi8_mask(places, length);
        let digits = _mm512_sub_epi8(text, bytes(b'0'));
        let is_digit = _mm512_cmple_epu8_mask(digits, bytes(9));
        let right = is_digit & !SECOND | is(text, b'.') & SECOND;
        let ended = is(text, b' ') | is(text, b'\n');
        let end = _mm512_cmpeq_epi8_mask(length, places);
        let fits = _mm512_cmple_epu8_mask(_mm512_sub_epi8(length, bytes(1)), bytes(7));
        let usual = (there & right | end & ended | !(there | end)) & fits & !is(length, 2);
        let digits = _mm512_maskz_mov_epi8(there & !SECOND, digits);
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi64(TENS));
        Four { digits: _mm512_madd_epi16(pairs, all_512((1 << 16) + 100)), negative, usual }
    }

    /// [`Lanes::hashes`] at once: see [`hashes`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn hashes_512(names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words {
        let lengths = _mm512_and_si512(load(bytemuck::cast_ref(lengths)), all_512(0xff));
        let usual = _mm512_cmple_epu32_mask(_mm512_sub_epi32(lengths, all_512(1)), all_512(14));
        let names: &[[u8; 64]; 4] = bytemuck::cast_ref(names);
        let [a, b, c, d] = [load(&names[0]), load(&names[1]), load(&names[2]), load(&names[3])];
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        let quarters = [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ];
        let turned = load(bytemuck::cast_ref(&TURNED));
        let lengths = _mm512_permutexvar_epi32(turned, lengths);
        let bits = _mm512_slli_epi32::<3>(lengths);
        let mut h = all_512(seed);
        let mut end = 32;
        let short = _mm512_cmpgt_epi32_mask(lengths, all_512(12)) == 0;
        for (k, quarter) in quarters.into_iter().enumerate() {
            if k == 3 && short {
                break;
            }
            let left = _mm512_max_epi32(_mm512_sub_epi32(all_512(end), bits), all_512(0));
            let quarter = _mm512_and_si512(quarter, _mm512_srlv_epi32(all_512(u32::MAX), left));
            let k = _mm512_rol_epi32::<15>(_mm512_mullo_epi32(quarter, all_512(0xcc9e_2d51)));
            let tail = _mm512_xor_si512(h, _mm512_mullo_epi32(k, all_512(0x1b87_3593)));
            let mixed = _mm512_rol_epi32::<13>(tail);
            let five = _mm512_add_epi32(_mm512_slli_epi32::<2>(mixed), mixed);
            let whole = _mm512_cmpgt_epi32_mask(bits, all_512(end - 1));
            h = _mm512_mask_add_epi32(tail, whole, five, all_512(0xe654_6b64));
            end += 32;
        }
        h = _mm512_xor_si512(h, lengths);
        h = _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h));
        h = _mm512_mullo_epi32(h, all_512(0x85eb_ca6b));
        h = _mm512_xor_si512(h, _mm512_srli_epi32::<13>(h));
        h = _mm512_mullo_epi32(h, all_512(0xc2b2_ae35));
        h = _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h));
        let first = _mm512_permutexvar_epi32(turned, quarters[0]);
        let digit = _mm512_sub_epi32(_mm512_and_si512(first, all_512(0xff)), all_512(u32::from(b'0')));
        Words {
            words: words(_mm512_permutexvar_epi32(turned, h)),
            odd: _mm512_cmple_epu32_mask(digit, all_512(9)).into(),
            unusual: (!usual).into(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::example::hash::murmur3;
    use rand::{RngExt, SeedableRng};
    use std::cell::Cell;

    thread_local! {
        /// The widest lanes that this thread takes.
        pub(in crate::example) static WIDEST: Cell<Width> = const { Cell::new(Width::Avx512) };
    }

    /// What `work` gives in every width below the widest.
    pub(in crate::example) fn narrowly<T>(mut work: impl FnMut() -> T) -> [T; 2] {
        let done = [Width::Portable, Width::Avx2].map(|width| {
            WIDEST.set(width);
            work()
        });
        WIDEST.set(Width::Avx512);
        done
    }

    struct Stops<'a>(&'a [u8; BLOCK]);

    impl Work for Stops<'_> {
        type Output = u64;
        fn run<L: Lanes>(self, lanes: L) -> u64 {
            lanes.stops(self.0)
        }
    }

    struct Read<'a>(&'a Sixteens, &'a Sixteens, &'a [u32; GROUP], u32);

    impl Work for Read<'_> {
        type Output = [Words; 2];
        fn run<L: Lanes>(self, lanes: L) -> [Words; 2] {
            [lanes.hashes(self.0, self.2, self.3), lanes.numbers(self.1, self.2)]
        }
    }

    #[test]
    fn words_stop_where_they_should_in_lanes_of_any_width() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(3);
        for round in 0..20_000 {
            let block: [u8; BLOCK] = std::array::from_fn(|k| match round {
                0..4 => (64 * round + k) as u8,
                _ => random.random(),
            });
            let expected = (0..BLOCK)
                .fold(0, |stops, k| stops | u64::from(matches!(block[k], 0..=b' ' | b':' | b'|')) << k);
            assert_eq!(run(Stops(&block)), expected);
            assert_eq!(narrowly(|| run(Stops(&block))), [expected; 2]);
        }
    }

    /// A value as text, and whether it is usual; mostly it is.
    fn value(random: &mut rand_pcg::Pcg64) -> (String, bool) {
        let digits = random.random_range(0..8);
        let mut text = if random.random() { "-".to_owned() } else { String::new() };
        text.push((b'0' + random.random_range(0..10)) as char);
        if digits > 0 {
            text.push('.');
            (0..digits).for_each(|_| text.push((b'0' + random.random_range(0..10)) as char));
        }
        if random.random_range(0..20) == 0 {
            text = text.replace(|byte: char| byte.is_ascii_digit(), "0");
        }
        let unusual = [
            "", "-", "1.", "12", "1:5", "1,5", "a.5", "1.a", "1.5e3", "/.5", ":.5", "1.0/", "--1", "1.-5",
            ".5", "+1",
        ];
        match random.random_range(0..30) {
            0 => (unusual[random.random_range(0..unusual.len())].to_owned(), false),
            _ => (text, digits <= 6),
        }
    }

    #[test]
    fn groups_are_hashed_and_read_alike_in_lanes_of_any_width() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(4);
        let mut met = [0; 2];
        for round in 0..20_000 {
            let seed = random.random();
            let longest = if round % 2 == 0 { 13 } else { 17 };
            let names: Sixteens = std::array::from_fn(|_| std::array::from_fn(|_| random.random()));
            let mut values: Sixteens = std::array::from_fn(|_| std::array::from_fn(|_| random.random()));
            let (mut lengths, mut expected, mut unusual_ones) = ([0; GROUP], [None; GROUP], 0);
            for k in 0..GROUP {
                let (text, mut usual) = value(&mut random);
                let end = if random.random_range(0..30) == 0 {
                    b"\n|:\t\r"[random.random_range(0..5)]
                } else {
                    b' '
                };
                usual &= end == b' ' || end == b'\n';
                let length = random.random_range(if round % 7 == 0 { 0 } else { 1 }..longest);
                usual &= matches!(length, 1..=15);
                for (place, byte) in
                    values[k].iter_mut().zip(b":".iter().chain(text.as_bytes()).chain(&[end]))
                {
                    *place = *byte;
                }
                lengths[k] = length as u32 | (text.len() as u32) << 8;
                met[usize::from(usual)] += 1;
                if usual {
                    let whole =
                        (text.trim_start_matches('-').parse::<f64>().expect("a number") * 1e6).round() as u32;
                    let hash = murmur3(&names[k][..length], seed);
                    let odd = names[k][0].is_ascii_digit() || whole == 0;
                    expected[k] = Some((hash, whole | u32::from(text.starts_with('-')) << 31, odd));
                } else {
                    unusual_ones |= 1 << k;
                }
            }
            let read = || run(Read(&names, &values, &lengths, seed));
            let [portable, narrow] = narrowly(read);
            for [hashes, numbers] in [portable, narrow, read()] {
                assert_eq!(hashes.unusual | numbers.unusual, unusual_ones);
                for k in 0..GROUP {
                    let odd = (hashes.odd | numbers.odd) >> k & 1 == 1;
                    let found = (hashes.words[k], numbers.words[k], odd);
                    assert!(
                        expected[k].is_none_or(|expected| expected == found),
                        "{found:?}, not {:?}",
                        expected[k]
                    );
                }
            }
        }
        assert!(met[0] > 10_000 && met[1] > 100_000, "{met:?}");
    }
}
