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

    /// The hashes of names ([`murmur3_words`]), and values in millionths, with the highest bit set where they are negative.
    ///
    /// A name is its first bytes, whatever comes after them. The digits of a value are numbers, the one before the point in the lowest
    /// byte, then a 0, then the six after the point. A length is that of the name, from 1 to 15, and has in bit 8 whether the value
    /// is negative.
    ///
    /// Third, a bit for each feature that is not as usual: its name begins with a digit, or its value is 0. What is no feature gives
    /// something, too.
    fn group(self, names: &Names, digits: &[u64; GROUP], lengths: &[u32; GROUP], seed: u32) -> Group;
}

/// See [`Lanes::group`].
pub(super) type Names = [[u8; 16]; GROUP];
pub(super) type Group = ([u32; GROUP], [u32; GROUP], u32);

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
    fn group(self, names: &Names, digits: &[u64; GROUP], lengths: &[u32; GROUP], seed: u32) -> Group {
        let mut group: Group = Default::default();
        for (k, (name, (&digits, &length))) in names.iter().zip(digits.iter().zip(lengths)).enumerate() {
            let [first, second] =
                [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|byte| name[at + byte])));
            group.0[k] = murmur3_words(first, second, length as usize % 16, seed);
            // Pairs of digits, and the one before the point; then each two of these, and then both.
            let tens = digits.wrapping_mul(10) & 0x00ff_00ff_00ff_0000;
            let pairs = tens.wrapping_add(digits >> 8 & 0x00ff_00ff_00ff_0000) | digits & 0xff;
            let quads = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
            let whole = quads.wrapping_mul(10_000 << 32 | 1) >> 32;
            group.1[k] = whole as u32 | length << 23 & 1 << 31;
            group.2 |= u32::from(name[0].is_ascii_digit() || whole == 0) << k;
        }
        group
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
    #[cfg(target_arch = "x86_64")]
    match x86::known() {
        // SAFETY: the processor was asked just now.
        Width::Avx512 => return unsafe { x86::run_512(work) },
        // SAFETY: likewise.
        Width::Avx2 => return unsafe { x86::run(work) },
        Width::Portable => {}
    }
    work.run(Portable)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, GROUP, Group, Lanes, Names, Width, Work};
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
        fn group(self, names: &Names, digits: &[u64; GROUP], lengths: &[u32; GROUP], seed: u32) -> Group {
            let mut group = Group::default();
            let parts = names.as_chunks::<8>().0.iter().zip(digits.as_chunks::<8>().0);
            let results = group.0.as_chunks_mut::<8>().0.iter_mut().zip(group.1.as_chunks_mut::<8>().0);
            for (k, ((part, lengths), results)) in
                parts.zip(lengths.as_chunks::<8>().0).zip(results).enumerate()
            {
                let odd;
                // SAFETY: as said of the type.
                (*results.0, *results.1, odd) = unsafe { eight(part.0, part.1, lengths, seed) };
                group.2 |= odd << (8 * k);
            }
            group
        }
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
        fn group(self, names: &Names, digits: &[u64; GROUP], lengths: &[u32; GROUP], seed: u32) -> Group {
            // SAFETY: as said of the type.
            unsafe { sixteen(names, digits, lengths, seed) }
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

    /// [`Lanes::group`] of eight features.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn eight(
        names: &[[u8; 16]; 8],
        digits: &[u64; 8],
        lengths: &[u32; 8],
        seed: u32,
    ) -> ([u32; 8], [u32; 8], u32) {
        let lengths: __m256i = bytemuck::cast(*lengths);
        let digits: [__m256i; 2] = bytemuck::cast(*digits);
        let tens = _mm256_set1_epi64x(TENS);
        let [low, high] = digits
            .map(|digits| _mm256_madd_epi16(_mm256_maddubs_epi16(digits, tens), all((1 << 16) + 100)));
        let whole = _mm256_madd_epi16(_mm256_packus_epi32(low, high), all((1 << 16) + 10_000));
        // Each half has two features of the first four and two of the others.
        let whole = _mm256_permute4x64_epi64::<0b11_01_10_00>(whole);
        let signs = _mm256_and_si256(_mm256_slli_epi32::<23>(lengths), all(1 << 31));
        let (hashes, first) = hashes(names, _mm256_and_si256(lengths, all(0xff)), seed);
        let digit = _mm256_sub_epi32(_mm256_and_si256(first, all(0xff)), all(u32::from(b'0')));
        let digit = _mm256_cmpeq_epi32(_mm256_min_epu32(digit, all(9)), digit);
        let odd = _mm256_or_si256(digit, _mm256_cmpeq_epi32(whole, all(0)));
        let odd = _mm256_movemask_ps(_mm256_castsi256_ps(odd)).cast_unsigned();
        (bytemuck::cast(hashes), bytemuck::cast(_mm256_or_si256(whole, signs)), odd)
    }

    /// MurmurHash3 of eight names of 1 to 15 bytes, and their first four bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn hashes(names: &[[u8; 16]; 8], lengths: __m256i, seed: u32) -> (__m256i, __m256i) {
        // Names 0 and 4 are side by side, 1 and 5, and so on: so what is put together within halves comes out in order.
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
        (_mm256_xor_si256(h, _mm256_srli_epi32::<16>(h)), quarters[0])
    }

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

    /// [`Lanes::group`] at once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn sixteen(names: &Names, digits: &[u64; GROUP], lengths: &[u32; GROUP], seed: u32) -> Group {
        let lengths = load(bytemuck::cast_ref(lengths));
        let digits: &[[u8; 64]; 2] = bytemuck::cast_ref(digits);
        let tens = _mm512_set1_epi64(TENS);
        let half = |bytes: &[u8; 64]| {
            _mm512_madd_epi16(_mm512_maddubs_epi16(load(bytes), tens), all_512((1 << 16) + 100))
        };
        let packed = _mm512_packus_epi32(half(&digits[0]), half(&digits[1]));
        let whole = _mm512_madd_epi16(packed, all_512((1 << 16) + 10_000));
        // Each quarter has two features of the first eight and two of the others.
        let whole = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), whole);
        let signs = _mm512_and_si512(_mm512_slli_epi32::<23>(lengths), all_512(1 << 31));
        let (hashes, first) = hashes_512(names, _mm512_and_si512(lengths, all_512(0xff)), seed);
        let digit = _mm512_sub_epi32(_mm512_and_si512(first, all_512(0xff)), all_512(u32::from(b'0')));
        let odd = _mm512_cmple_epu32_mask(digit, all_512(9)) | _mm512_testn_epi32_mask(whole, whole);
        (words(hashes), words(_mm512_or_si512(whole, signs)), odd.into())
    }

    /// MurmurHash3 of sixteen names of 1 to 15 bytes, and their first four bytes: see [`hashes`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn hashes_512(names: &Names, lengths: __m512i, seed: u32) -> (__m512i, __m512i) {
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
        // The rows and columns of four times four names have changed places; this changes them back.
        let turned = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
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
        (_mm512_permutexvar_epi32(turned, h), _mm512_permutexvar_epi32(turned, quarters[0]))
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

    struct Read<'a>(&'a Names, &'a [u64; GROUP], &'a [u32; GROUP], u32);

    impl Work for Read<'_> {
        type Output = Group;
        fn run<L: Lanes>(self, lanes: L) -> Group {
            lanes.group(self.0, self.1, self.2, self.3)
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

    #[test]
    fn groups_are_hashed_and_read_alike_in_lanes_of_any_width() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(4);
        for round in 0..20_000 {
            let seed = random.random();
            let longest = if round % 2 == 0 { 13 } else { 16 };
            let names: Names = std::array::from_fn(|_| std::array::from_fn(|_| random.random()));
            let mut millionths = [0; GROUP];
            let mut lengths = [0; GROUP];
            let digits: [u64; GROUP] = std::array::from_fn(|k| {
                let m = match round {
                    0 => 9_999_999,
                    1..1000 => random.random_range(0..2),
                    _ => random.random_range(0..10_000_000_u32),
                };
                let text = format!("{m:07}");
                let mut digits = [0; 8];
                for (k, digit) in text.bytes().enumerate() {
                    digits[if k == 0 { 0 } else { k + 1 }] = digit - b'0';
                }
                let negative: bool = random.random();
                millionths[k] = m | u32::from(negative) << 31;
                lengths[k] = random.random_range(1..longest) | u32::from(negative) << 8;
                u64::from_le_bytes(digits)
            });
            let hashes = std::array::from_fn(|k| murmur3(&names[k][..lengths[k] as usize & 0xff], seed));
            let odd = |k: usize| names[k][0].is_ascii_digit() || millionths[k] << 1 == 0;
            let odd = (0..GROUP).fold(0, |odds, k| odds | u32::from(odd(k)) << k);
            let read = || run(Read(&names, &digits, &lengths, seed));
            assert_eq!(read(), (hashes, millionths, odd));
            assert_eq!(narrowly(read), [(hashes, millionths, odd); 2]);
        }
    }
}
