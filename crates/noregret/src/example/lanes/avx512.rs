//! Lanes of 64 bytes.

use super::avx2::{Avx2, TENS};
use super::{BLOCK, FOUR, Four, GROUP, Lanes, Look, Sixteens, Words, Work};
#[allow(clippy::wildcard_imports, reason = "by the names that Intel gave them")]
use std::arch::x86_64::*;

/// Does the work in lanes of 64 bytes.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi2")]
pub(super) fn run<W: Work>(work: W) -> W::Output {
    work.run(Avx512(()))
}

/// Lanes of 64 bytes. Nobody but [`run`] can make one, which asks for what [`Avx2`] needs, too.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Lanes for Avx512 {
    #[inline(always)]
    fn stops(self, block: &[u8; BLOCK], first: u16, places: &mut [u16; BLOCK]) -> usize {
        // SAFETY: as said of the type.
        unsafe { stops(block, first, places) }
    }

    #[inline(always)]
    fn lengths(self, places: &[u16; 2 * GROUP + 1]) -> [u32; GROUP] {
        // SAFETY: as said of the type.
        unsafe { lengths(places) }
    }

    #[inline(always)]
    fn hashes(self, names: &Sixteens, lengths: &[u32; GROUP], seed: u32, few: bool) -> Words {
        if few {
            return Avx2(()).hashes(names, lengths, seed, few);
        }
        // SAFETY: as said of the type.
        unsafe { hashes(names, lengths, seed) }
    }

    #[inline(always)]
    fn numbers(self, values: &Sixteens, lengths: &[u32; GROUP], few: bool) -> Words {
        if few {
            return Avx2(()).numbers(values, lengths, few);
        }
        // SAFETY: as said of the type.
        unsafe { numbers(values, lengths) }
    }

    #[inline(always)]
    fn four(self, look: &Look, text: &[u8; FOUR], least: i32, end: i32) -> Four {
        Avx2(()).four(look, text, least, end)
    }
}

/// Changes the rows and columns of four times four words.
const TURNED: [u32; GROUP] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

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
fn all(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn stops(block: &[u8; BLOCK], first: u16, places: &mut [u16; BLOCK]) -> usize {
    const PLACES: [u8; BLOCK] = {
        let mut places = [0; BLOCK];
        let mut k = 0;
        while k < BLOCK {
            places[k] = k as u8;
            k += 1;
        }
        places
    };
    let bytes = load(block);
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
    let stops = _mm512_cmple_epu8_mask(bytes, _mm512_set1_epi8(b' '.cast_signed())) | is(b':') | is(b'|');
    let listed = _mm512_maskz_compress_epi8(stops, load(&PLACES));
    let add = |half| _mm512_add_epi16(_mm512_cvtepu8_epi16(half), _mm512_set1_epi16(first.cast_signed()));
    let (low, high) = places.split_at_mut(BLOCK / 2);
    // SAFETY: there is room for all.
    unsafe { _mm512_storeu_si512(low.as_mut_ptr().cast(), add(_mm512_castsi512_si256(listed))) };
    let count = stops.count_ones() as usize;
    if count > BLOCK / 2 {
        let half = add(_mm512_extracti64x4_epi64::<1>(listed));
        // SAFETY: likewise.
        unsafe { _mm512_storeu_si512(high.as_mut_ptr().cast(), half) };
    }
    count
}

/// [`Lanes::lengths`] at once.
#[inline]
#[target_feature(enable = "avx512f")]
fn lengths(places: &[u16; 2 * GROUP + 1]) -> [u32; GROUP] {
    let pair = load(bytemuck::cast_ref(places.first_chunk::<{ 2 * GROUP }>().expect("so many")));
    let end = _mm512_srli_epi32::<16>(pair);
    // The place after each pair is the first one of the next.
    let next = _mm512_alignr_epi32::<1>(_mm512_set1_epi32(places[2 * GROUP].into()), pair);
    let between = |from, to| _mm512_min_epu32(_mm512_sub_epi32(_mm512_sub_epi32(to, from), all(1)), all(255));
    let name = between(_mm512_and_si512(pair, all(0xffff)), end);
    let value = between(end, _mm512_and_si512(next, all(0xffff)));
    words(_mm512_or_si512(name, _mm512_slli_epi32::<8>(value)))
}

/// The first of each sixteen bytes, and the second.
const FIRST: u64 = 0x0001_0001_0001_0001;
const SECOND: u64 = FIRST << 1;

/// [`Lanes::numbers`] at once. Of what is put together within quarters rows and columns have changed places: see [`TURNED`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn numbers(values: &Sixteens, lengths: &[u32; GROUP]) -> Words {
    // The length of a value is the second byte of a word.
    const LENGTH: [[u8; 16]; 4] = [[1; 16], [5; 16], [9; 16], [13; 16]];
    let lengths = load(bytemuck::cast_ref(lengths));
    let values: &[[u8; 64]; 4] = bytemuck::cast_ref(values);
    let second = load(bytemuck::cast_ref(&LENGTH));
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
    let whole = _mm512_madd_epi16(packed, all((1 << 16) + 10_000));
    let turned = load(bytemuck::cast_ref(&TURNED));
    let whole = _mm512_permutexvar_epi32(turned, whole);
    // One bit of each value's sixteen.
    let bits = |mask: u64| _pext_u64(mask, FIRST) as u16;
    let negative = bits(a.negative) | bits(b.negative) << 4 | bits(c.negative) << 8 | bits(d.negative) << 12;
    let signed = _mm512_mask_or_epi32(whole, negative, whole, all(1 << 31));
    // Lengths without the minus: 1, and from 3 to 8.
    let length = _mm512_and_si512(_mm512_srli_epi32::<8>(lengths), all(0xff));
    let length = _mm512_mask_sub_epi32(length, negative, length, all(1));
    let fits = _mm512_cmple_epu32_mask(_mm512_sub_epi32(length, all(1)), all(7));
    let mut unusual = u32::from(!_mm512_mask_cmpneq_epi32_mask(fits, length, all(2)));
    if a.wrong | b.wrong | c.wrong | d.wrong != 0 {
        for (k, wrong) in [a.wrong, b.wrong, c.wrong, d.wrong].into_iter().enumerate() {
            for j in 0..4 {
                unusual |= u32::from(wrong >> (16 * j) & 0xffff != 0) << (4 * k + j);
            }
        }
    }
    Words { all: words(signed), odd: _mm512_testn_epi32_mask(whole, whole).into(), unusual }
}

/// Values in lanes of sixteen bytes: as `Pair` of `avx2.rs`, but for their lengths.
struct Quad {
    digits: __m512i,
    negative: u64,
    /// A bit for each byte that is not as it should be.
    wrong: u64,
}

/// See `pair` of `avx2.rs`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn four(value: __m512i, length: __m512i) -> Quad {
    const ZERO: u64 = u64::from_le_bytes(*b"0.000000");
    const MOST: u64 = u64::from_le_bytes([9, 0, 9, 9, 9, 9, 9, 9]);
    let bytes = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let places = _mm512_set4_epi32(0x0f0e_0d0c, 0x0b0a_0908, 0x0706_0504, 0x0302_0100);
    let negative = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(value, bytes(1)), bytes(b'-'));
    let from = _mm512_add_epi8(places, bytes(1));
    let from = _mm512_mask_add_epi8(from, negative, from, bytes(1));
    let text = _mm512_shuffle_epi8(value, from);
    let length = _mm512_mask_sub_epi8(length, negative, length, bytes(1));
    let there = _mm512_cmplt_epu8_mask(places, length);
    let end = _mm512_cmpeq_epi8_mask(places, length);
    // Makes a digit its number and the point 0. Where lengths are as they should be, there is nothing beyond eight bytes.
    let digits = _mm512_xor_si512(text, _mm512_set1_epi64(ZERO.cast_signed()));
    let wrong = _mm512_mask_cmpgt_epu8_mask(there, digits, _mm512_set1_epi64(MOST.cast_signed()));
    let unended = _mm512_mask_cmpneq_epi8_mask(end, text, bytes(b' '));
    let unended = _mm512_mask_cmpneq_epi8_mask(unended, text, bytes(b'\n'));
    let unmarked = _mm512_mask_cmpneq_epi8_mask(FIRST, value, bytes(b':'));
    let digits = _mm512_maskz_mov_epi8(there & !SECOND, digits);
    let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi64(TENS));
    let digits = _mm512_madd_epi16(pairs, all((1 << 16) + 100));
    Quad { digits, negative, wrong: wrong | unended | unmarked }
}

/// [`Lanes::hashes`] at once: see that of `avx2.rs`.
#[inline]
#[target_feature(enable = "avx512f")]
fn hashes(names: &Sixteens, lengths: &[u32; GROUP], seed: u32) -> Words {
    let lengths = _mm512_and_si512(load(bytemuck::cast_ref(lengths)), all(0xff));
    let usual = _mm512_cmple_epu32_mask(_mm512_sub_epi32(lengths, all(1)), all(14));
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
    let mut h = all(seed);
    let mut end = 32;
    let short = _mm512_cmpgt_epi32_mask(lengths, all(12)) == 0;
    for (k, quarter) in quarters.into_iter().enumerate() {
        if k == 3 && short {
            break;
        }
        let left = _mm512_max_epi32(_mm512_sub_epi32(all(end), bits), all(0));
        let quarter = _mm512_and_si512(quarter, _mm512_srlv_epi32(all(u32::MAX), left));
        let k = _mm512_rol_epi32::<15>(_mm512_mullo_epi32(quarter, all(0xcc9e_2d51)));
        let tail = _mm512_xor_si512(h, _mm512_mullo_epi32(k, all(0x1b87_3593)));
        let mixed = _mm512_rol_epi32::<13>(tail);
        let five = _mm512_add_epi32(_mm512_slli_epi32::<2>(mixed), mixed);
        let whole = _mm512_cmpgt_epi32_mask(bits, all(end - 1));
        h = _mm512_mask_add_epi32(tail, whole, five, all(0xe654_6b64));
        end += 32;
    }
    h = _mm512_xor_si512(h, lengths);
    h = _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h));
    h = _mm512_mullo_epi32(h, all(0x85eb_ca6b));
    h = _mm512_xor_si512(h, _mm512_srli_epi32::<13>(h));
    h = _mm512_mullo_epi32(h, all(0xc2b2_ae35));
    h = _mm512_xor_si512(h, _mm512_srli_epi32::<16>(h));
    let first = _mm512_permutexvar_epi32(turned, quarters[0]);
    let digit = _mm512_sub_epi32(_mm512_and_si512(first, all(0xff)), all(u32::from(b'0')));
    Words {
        all: words(_mm512_permutexvar_epi32(turned, h)),
        odd: _mm512_cmple_epu32_mask(digit, all(9)).into(),
        unusual: (!usual).into(),
    }
}
