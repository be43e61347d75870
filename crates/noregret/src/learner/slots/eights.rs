//! Rows by the eight and by the four, where the processor has wide registers: found out when the program runs, so that
//! one program serves all.
//!
//! Every sum has the same terms in the same four chains as the loops that run everywhere, and nothing is fused: no bit of a
//! model depends on the processor.

#![allow(
    unsafe_code,
    reason = "instructions that are there only on some processors, at addresses that are checked by the eight"
)]

use super::{Cell, NoMean, Slot, Weight};
use crate::example::{Features, Value};
use std::mem::offset_of;

/// A number of a cell that can be read as it lies.
///
/// # Safety
///
/// Where `AT` bytes into a cell an f64 begins, which is what `read` returns.
pub(in crate::learner) unsafe trait Field<T: Slot> {
    /// Where it begins.
    const AT: usize;
    /// The number.
    fn read(cell: &Cell<T>) -> f64;
}

/// The weight before the scale.
pub(in crate::learner) struct Own;

// SAFETY: the compiler computes the place of `v`, an f64.
unsafe impl<M: super::Mean> Field<Weight<M>> for Own {
    const AT: usize = offset_of!(Cell<Weight<M>>, state) + offset_of!(Weight<M>, v);
    #[inline(always)]
    fn read(cell: &Cell<Weight<M>>) -> f64 {
        cell.state.v
    }
}

/// A product without the bias, and the row's [rough squares](Features::rough_squares); none where the processor cannot, where
/// the row is short, and where a feature was never seen. Worth it where the cells have not just been written: what is
/// gathered waits until they are in the cache.
#[inline(always)]
pub(super) fn dot<T: Slot, F: Field<T>, V: Value>(
    cells: &[Cell<T>],
    x: Features<'_, V>,
) -> Option<(f64, f64)> {
    #[cfg(target_arch = "x86_64")]
    if x.indices.len() >= 8
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && let Some(values) = V::as_f32(x.values)
    {
        // SAFETY: the processor has these instructions.
        return unsafe { x86::dot::<T, F>(cells, x.indices, values) };
    }
    let _ = (cells, x, F::AT);
    None
}

/// `v += dv x` and `s += alpha x` for all features, the bias apart; or for none, where the processor cannot, where the row is
/// short, and where the cells are others. Whether it was done.
#[inline(always)]
pub(super) fn shift<T: Slot, V: Value>(
    cells: &mut [Cell<T>],
    x: Features<'_, V>,
    dv: f64,
    alpha: f64,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if x.indices.len() >= 4
        && is_x86_feature_detected!("avx2")
        && let (Some(pairs), Some(values)) = (pairs(cells), V::as_f32(x.values))
    {
        // SAFETY: the processor has these instructions.
        return unsafe { x86::shift(pairs, x.indices, values, dv, alpha) };
    }
    let _ = (cells, x, dv, alpha, pairs::<T>);
    false
}

/// Cells of a weight and `s` as the two numbers they are, in this order; none if the cells are others.
#[inline(always)]
fn pairs<T: Slot>(cells: &mut [Cell<T>]) -> Option<&mut [[f64; 2]]> {
    type Pair = Cell<Weight<NoMean>>;
    const { assert!(size_of::<Pair>() == 16 && align_of::<Pair>() == 8) }
    const {
        assert!(
            offset_of!(Pair, state) == 0 && offset_of!(Weight<NoMean>, v) == 0 && offset_of!(Pair, s) == 8
        );
    }
    if std::any::TypeId::of::<T>() != std::any::TypeId::of::<Weight<NoMean>>() {
        return None;
    }
    // SAFETY: `T` is that type, whose cells are `repr(C)` and two f64 without a gap, as checked above; every f64 is a
    // valid one in both.
    Some(unsafe { std::slice::from_raw_parts_mut(cells.as_mut_ptr().cast(), cells.len()) })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Cell, Field, Slot};
    #[allow(clippy::wildcard_imports, reason = "forty instructions, by the names that Intel gave them")]
    use std::arch::x86_64::*;

    /// By how many features are left behind the last whole eight, the places where they are summed: a whole four in the first
    /// four, and what is behind the last whole four at the end of the others, see [`Features::tail`](super::Features::tail).
    const PLACES: [u8; 8] = [0, 0x80, 0xc0, 0xe0, 0x0f, 0x8f, 0xcf, 0xef];

    /// See [`super::dot`].
    ///
    /// # Safety
    ///
    /// The processor has AVX-512F and AVX-512VL.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) unsafe fn dot<T: Slot, F: Field<T>>(
        cells: &[Cell<T>],
        indices: &[u32],
        values: &[f32],
    ) -> Option<(f64, f64)> {
        const { assert!(size_of::<Cell<T>>().is_multiple_of(8) && F::AT.is_multiple_of(8)) }
        let words = size_of::<Cell<T>>() / 8;
        // A gathered address is a signed number of 32 bits, in words.
        let (Ok(last), Ok(words)) = (i32::try_from(cells.len() * words), i32::try_from(words)) else {
            return None;
        };
        let (end, step) = (_mm256_set1_epi32(last / words), _mm256_set1_epi32(words));
        let (mut sums, mut squares) = (_mm256_setzero_pd(), _mm256_setzero_ps());
        let mut add = |i: __m256i, v: __m256, places: u8| {
            if _mm256_mask_cmplt_epu32_mask(places, i, end) != places {
                return None;
            }
            // SAFETY: where `places` has a bit, the index is below the number of cells, so `AT` bytes into that
            // cell, which are `words` words apart, there is an f64; nothing is read elsewhere.
            let w = unsafe {
                let first = cells.as_ptr().byte_add(F::AT).cast::<f64>();
                _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), places, _mm256_mullo_epi32(i, step), first)
            };
            let products = _mm512_mul_pd(w, _mm512_cvtps_pd(v));
            sums = _mm256_add_pd(sums, _mm512_castpd512_pd256(products));
            sums = _mm256_add_pd(sums, _mm512_extractf64x4_pd::<1>(products));
            squares = _mm256_add_ps(squares, _mm256_mul_ps(v, v));
            Some(())
        };
        let ((i8s, i_rest), (v8s, v_rest)) =
            (indices.as_chunks::<8>(), values[..indices.len()].as_chunks::<8>());
        for (i, v) in i8s.iter().zip(v8s) {
            // SAFETY: both arrays have eight numbers of four bytes.
            let (i, v) = unsafe { (_mm256_loadu_si256(i.as_ptr().cast()), _mm256_loadu_ps(v.as_ptr())) };
            add(i, v, u8::MAX)?;
        }
        let places = PLACES[i_rest.len() % 8];
        // SAFETY: `places` has as many bits as there are numbers left; so many are read.
        let (i, v) = unsafe {
            (
                _mm256_maskz_expandloadu_epi32(places, i_rest.as_ptr().cast()),
                _mm256_maskz_expandloadu_ps(places, v_rest.as_ptr()),
            )
        };
        add(i, v, places)?;
        let (mut chains, mut lanes) = ([0.0; 4], [0.0; 4]);
        // SAFETY: four numbers of eight bytes, and four of four.
        unsafe {
            _mm256_storeu_pd(chains.as_mut_ptr(), sums);
            let halves = _mm_add_ps(_mm256_castps256_ps128(squares), _mm256_extractf128_ps::<1>(squares));
            _mm_storeu_ps(lanes.as_mut_ptr(), halves);
        }
        let ([a, b, c, d], [e, f, g, h]): ([f64; 4], [f32; 4]) = (chains, lanes);
        Some(((a + b) + (c + d), f64::from((e + f) + (g + h))))
    }

    /// By how many features are left behind the last whole four, by what the last four values of the row are multiplied.
    const LAST: [[f64; 4]; 4] = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]];

    /// See [`super::shift`].
    ///
    /// # Safety
    ///
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn shift(
        cells: &mut [[f64; 2]],
        indices: &[u32],
        values: &[f32],
        dv: f64,
        alpha: f64,
    ) -> bool {
        let values = &values[..indices.len()];
        let (Some(last_indices), Some(last_values)) = (indices.last_chunk::<4>(), values.last_chunk::<4>())
        else {
            return false;
        };
        let Some(Ok(last)) = cells.len().checked_sub(1).map(u32::try_from) else { return false };
        let last = _mm_set1_epi32(last.cast_signed());
        let factors = _mm256_set_pd(alpha, dv, alpha, dv);
        let first = cells.as_mut_ptr().cast::<f64>();
        let enter = |four: &[u32; 4], v: __m256d| {
            // SAFETY: four numbers of four bytes.
            let i = unsafe { _mm_loadu_si128(four.as_ptr().cast()) };
            // Indices ascend and the last one has a cell; but a promise is no check.
            assert!(
                _mm_movemask_epi8(_mm_cmpeq_epi32(_mm_max_epu32(i, last), last)) == 0xffff,
                "a row's indices ascend"
            );
            let ab = _mm256_mul_pd(factors, _mm256_permute4x64_pd::<0b01_01_00_00>(v));
            let cd = _mm256_mul_pd(factors, _mm256_permute4x64_pd::<0b11_11_10_10>(v));
            let changes = [
                _mm256_castpd256_pd128(ab),
                _mm256_extractf128_pd::<1>(ab),
                _mm256_castpd256_pd128(cd),
                _mm256_extractf128_pd::<1>(cd),
            ];
            for (&i, change) in four.iter().zip(changes) {
                // SAFETY: none of the four indices is above the last cell's, and a cell has two f64.
                unsafe {
                    let cell = first.add(2 * i as usize);
                    _mm_storeu_pd(cell, _mm_add_pd(_mm_loadu_pd(cell), change));
                }
            }
        };
        for (four, v) in indices.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0) {
            // SAFETY: four numbers of four bytes.
            enter(four, _mm256_cvtps_pd(unsafe { _mm_loadu_ps(v.as_ptr()) }));
        }
        // What is left, as the last of a four; 0 for those that were entered before changes nothing.
        let left = &LAST[indices.len() % 4];
        // SAFETY: four numbers of four bytes, and four of eight.
        let v = unsafe {
            _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(last_values.as_ptr())), _mm256_loadu_pd(left.as_ptr()))
        };
        enter(last_indices, v);
        true
    }
}
