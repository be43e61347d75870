//! Lanes of 32 bytes.

use super::{BLOCK, FOUR, Four, GROUP, Lanes, Look, Sixteens, Words, Work, counting, list};
#[allow(clippy::wildcard_imports, reason = "by the names that Intel gave them")]
use std::arch::x86_64::*;

/// Does the work in lanes of 32 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn run<W: Work>(work: W) -> W::Output {
    work.run(Avx2(()))
}

/// Lanes of 32 bytes. Nobody makes one but [`run`], and those who are on a processor with wider lanes, so whoever has one is on a processor that has them.
#[derive(Clone, Copy)]
pub(super) struct Avx2(pub(super) ());

impl Lanes for Avx2 {
    #[inline(always)]
    fn stops(self, block: &[u8; BLOCK], first: u16, places: &mut [u16; BLOCK]) -> usize {
        // SAFETY: as said of the type.
        list(unsafe { stops(block) }, first, places)
    }

    #[inline(always)]
    fn lengths(self, places: &[u16; 2 * GROUP + 1]) -> [u32; GROUP] {
        // SAFETY: as said of the type.
        let half = |k: usize| unsafe { lengths(places[GROUP * k..].first_chunk().expect("half of them")) };
        bytemuck::cast([half(0), half(1)])
    }

    #[inline(always)]
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32, few: bool) -> Words {
        // SAFETY: as said of the type.
        halves(names, lengths, few, |names, lengths| unsafe { hashes(names, lengths, seed) })
    }

    #[inline(always)]
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP], few: bool) -> Words {
        // SAFETY: as said of the type.
        halves(values, lengths, few, |values, lengths| unsafe { numbers(values, lengths) })
    }

    #[inline(always)]
    fn four(self, look: &Look, text: &[u8; FOUR], least: i32, end: i32) -> Four {
        // SAFETY: as said of the type.
        unsafe { four(look, text, least, end) }
    }
}

/// Both halves of a group, one after the other.
#[inline(always)]
fn halves(
    sixteens: &Sixteens,
    lengths: &[u32; GROUP],
    few: bool,
    half: impl Fn(&[[u8; 16]; 8], &[u32; 8]) -> ([u32; 8], u32, u32),
) -> Words {
    let mut found = Words::default();
    let parts = sixteens.as_chunks::<8>().0.iter().zip(lengths.as_chunks::<8>().0);
    let words = found.all.as_chunks_mut::<8>().0.iter_mut().take(counting(few) / 8);
    for (k, ((part, lengths), words)) in parts.zip(words).enumerate() {
        let (odd, unusual);
        (*words, odd, unusual) = half(part, lengths);
        found.odd |= odd << (8 * k);
        found.unusual |= unusual << (8 * k);
    }
    found
}

/// By what digits count, two and two together.
pub(super) const TENS: i64 = i64::from_le_bytes([1, 0, 10, 1, 10, 1, 10, 1]);

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

/// [`Lanes::lengths`] of eight features.
#[inline]
#[target_feature(enable = "avx2")]
fn lengths(places: &[u16; GROUP + 1]) -> [u32; 8] {
    let words = |from: usize| -> __m256i {
        let words: &[u16; 16] = places[from..].first_chunk().expect("so many");
        bytemuck::cast(*words)
    };
    let (pair, first) = (words(0), all(0xffff));
    let end = _mm256_srli_epi32::<16>(pair);
    // The place after each pair is the first one of the next.
    let next = _mm256_permutevar8x32_epi32(pair, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
    let next = _mm256_insert_epi16::<14>(next, places[GROUP].cast_signed());
    let between = |from, to| {
        let length = _mm256_sub_epi32(_mm256_sub_epi32(to, from), all(1));
        _mm256_min_epu32(length, all(255))
    };
    let name = between(_mm256_and_si256(pair, first), end);
    let value = between(end, _mm256_and_si256(next, first));
    bytemuck::cast(_mm256_or_si256(name, _mm256_slli_epi32::<8>(value)))
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

/// What values are that should begin with a colon and have so many bytes after it.
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
    let usual = _mm256_and_si256(usual, is(_mm256_shuffle_epi8(value, bytes(0)), b':'));
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

/// [`Lanes::four`], two features to a register.
#[inline]
#[target_feature(enable = "avx2")]
fn four(look: &Look, text: &[u8; FOUR], least: i32, end: i32) -> Four {
    let length = look.length.min(16);
    let both = |of: &[u8; 16]| _mm256_broadcastsi128_si256(bytemuck::cast(*of));
    let (zero, limit, order) = (both(&look.zero), both(&look.limit), both(&look.order));
    let sixteen = |k: usize| -> __m128i {
        let bytes: &[u8; 16] = text[k * length..].first_chunk().expect("sixteen bytes for each");
        bytemuck::cast(*bytes)
    };
    // So that the four come out in order, where two and two are packed within halves.
    let two = |k: usize| {
        let digits = _mm256_xor_si256(_mm256_set_m128i(sixteen(k + 2), sixteen(k)), zero);
        let wrong = _mm256_subs_epu8(digits, limit);
        let pairs =
            _mm256_maddubs_epi16(_mm256_shuffle_epi8(digits, order), _mm256_set1_epi16((1 << 8) + 10));
        (_mm256_madd_epi16(pairs, all((1 << 16) + 100)), wrong)
    };
    let ((a, wrong_a), (b, wrong_b)) = (two(0), two(1));
    let numbers = _mm256_madd_epi16(_mm256_packus_epi32(a, b), all((1 << 16) + 10_000));
    let numbers = _mm256_permutevar8x32_epi32(numbers, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    let (millionths, indices) = (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
    let before = _mm_alignr_epi8::<12>(indices, _mm_set1_epi32(least - 1));
    let ascending = _mm_and_si128(
        _mm_cmpgt_epi32(indices, before),
        _mm_and_si128(
            _mm_cmpgt_epi32(_mm_set1_epi32(end), indices),
            _mm_cmpgt_epi32(millionths, _mm_setzero_si128()),
        ),
    );
    let mut right = _mm_movemask_ps(_mm_castsi128_ps(ascending)).cast_unsigned();
    let wrong = _mm256_or_si256(wrong_a, wrong_b);
    if _mm256_testz_si256(wrong, wrong) == 0 {
        let bits =
            |wrong| _mm256_movemask_epi8(_mm256_cmpeq_epi8(wrong, _mm256_setzero_si256())).cast_unsigned();
        let (a, b) = (bits(wrong_a), bits(wrong_b));
        for (k, halves) in [(0, a), (1, b)] {
            right &= !(u32::from(halves as u16 != u16::MAX) << k);
            right &= !(u32::from(halves >> 16 != 0xffff) << (k + 2));
        }
    }
    Four { millionths: bytemuck::cast(millionths), indices: bytemuck::cast(indices), right }
}
