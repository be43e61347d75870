//! How tables of slots come to the processor: in large pages, and before they are wanted.
//!
//! With a table of hundreds of megabytes nearly every feature misses the processor's table of pages
//! besides its caches. Asking Linux for pages of 2 MB removes that miss: measured on 2^24 slots of 16
//! bytes, a pass of hinge loss takes about half the time (docs/performance.md).

#![allow(
    unsafe_code,
    reason = "a system call and an instruction that change no value: see `ask` and `fetch`"
)]

use std::mem::MaybeUninit;

/// Tables smaller than this stay on ordinary pages, which cost them little.
const LARGE: usize = 3 << 20;

/// The size of a large page, and where it may begin.
const PAGE: usize = 2 << 20;

/// How much room is to be reserved for so many values, so that all of them can be on large pages wherever the room begins. What is never
/// written to takes no memory, but for the rest of the last page.
pub(super) fn room<T>(values: usize) -> usize {
    let size = size_of::<T>().max(1);
    if values.saturating_mul(size) < LARGE { values } else { values.saturating_add(PAGE.div_ceil(size)) }
}

/// Asks for large pages below memory that is not used yet. Nothing else changes, and nothing fails: without
/// large pages the table is slower.
pub(super) fn ask<T>(spare: &mut [MaybeUninit<T>]) {
    let bytes = size_of_val(spare);
    if bytes < LARGE {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = spare.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(PAGE);
        let length = (bytes - skipped) / PAGE * PAGE;
        // SAFETY: the range lies inside memory that `spare` borrows exclusively (`skipped` is below PAGE and
        // `bytes` is far above it), and MADV_HUGEPAGE neither moves nor changes what is stored there.
        unsafe {
            libc::madvise(start.add(skipped).cast(), length, libc::MADV_HUGEPAGE);
        }
    }
}

/// Asks the processor to bring number `i` of some values into its caches while other work goes on. Nothing waits for it.
#[inline(always)]
pub(super) fn fetch<T>(values: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        // Where there is no such value this is the address of something else or of nothing: to look costs more.
        let start = values.as_ptr().wrapping_add(i).cast::<i8>();
        let last = start.wrapping_add(size_of::<T>().saturating_sub(1));
        // SAFETY: a prefetch reads and changes nothing that a program can see, whatever the address.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start);
            if size_of::<T>() > LINE {
                _mm_prefetch::<_MM_HINT_T0>(last);
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, i);
}
