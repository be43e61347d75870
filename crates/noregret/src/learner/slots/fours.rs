//! Steps by the four, where the processor has wide registers: found out when the program runs, so that one program serves
//! all.
//!
//! Nothing is fused: no bit of a model depends on the processor.

#![allow(
    unsafe_code,
    reason = "instructions that are there only on some processors, at addresses that are checked by the four"
)]

use super::{Cell, NoMean, Slot, Weight};
use crate::example::{Features, Value};
use std::mem::offset_of;

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
    #[allow(clippy::wildcard_imports, reason = "forty instructions, by the names that Intel gave them")]
    use std::arch::x86_64::*;

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
