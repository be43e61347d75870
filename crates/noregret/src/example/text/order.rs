//! Rows of hashed names brought into order.
//!
//! A hash mixes indices so evenly that putting each on the heap of its leading bits leaves next to nothing to sort. What is left is
//! done without a jump that could be guessed wrongly: neighbours are exchanged, all even ones with the odd ones after them, then
//! all odd ones with the even ones after them, as often as the highest heap has features, which is enough to sort it.

use crate::example::lanes::{self, Lanes, Width, Work};
use crate::example::number::Number;

/// How many features a row may have, so that a byte counts them and there is room beyond the last.
const FEATURES: std::ops::RangeInclusive<usize> = 16..=238;
const HEAPS: usize = 256;
const HALF: usize = HEAPS / 2;

/// The most features on a heap for which exchanging neighbours is quick.
const HIGHEST: u8 = 8;

/// How many bits an index may have beside its place in a word.
const BITS: u32 = 23;

/// Room to bring a row into order, kept from one row to the next: to clear it would take as long as a part of the work.
#[derive(Debug)]
pub(in crate::example) struct Room<V> {
    keys: [i32; HEAPS],
    values: [V; HEAPS],
}

impl<V: Number> Default for Room<V> {
    fn default() -> Self {
        Self { keys: [0; HEAPS], values: [V::ZERO; HEAPS] }
    }
}

/// Brings the features of a row into the order of their indices, if they are all different and this is quick. Says whether it
/// did; otherwise the row is as it was.
#[inline]
pub(super) fn order<V: Number>(indices: &mut [u32], values: &mut [V], room: &mut Room<V>) -> bool {
    // In lanes of 64 bytes it takes a quarter longer: a row is short, and what was just written one by one is read together.
    lanes::run_within(Width::Avx2, Order { indices, values, room })
}

struct Order<'a, V> {
    indices: &'a mut [u32],
    values: &'a mut [V],
    room: &'a mut Room<V>,
}

impl<V: Number> Work for Order<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> bool {
        let Self { indices, values, room } = self;
        let n = indices.len();
        let any = indices.iter().fold(0, |any, index| any | index);
        if !FEATURES.contains(&n) || values.len() != n || any >> BITS != 0 {
            return false;
        }
        let bits = n.next_power_of_two().ilog2();
        let shift = (u32::BITS - any.leading_zeros()).saturating_sub(bits);
        let heap = |index: u32| (index >> shift) as usize % HEAPS;
        let mut heaps = [0_u8; HEAPS];
        for &index in &*indices {
            heaps[heap(index)] += 1;
        }
        let highest = heaps.iter().fold(0, |highest, &count| count.max(highest));
        if highest > HIGHEST {
            return false;
        }
        begins(&mut heaps[..1 << bits]);
        // An index and the place it has in the row, both in one word. Those at even places are in the first half.
        let keys = &mut room.keys;
        for (k, &index) in indices.iter().enumerate() {
            let at = &mut heaps[heap(index)];
            keys[usize::from(at.rotate_right(1))] = (index << 8 | k as u32).cast_signed();
            *at += 1;
        }
        let (even, odd) = keys.split_at_mut(HALF);
        let pairs = (n / 2 + 1).next_multiple_of(8);
        // Nothing beyond the last is before it.
        even[n.div_ceil(2)..=pairs].fill(i32::MAX);
        odd[n / 2..pairs].fill(i32::MAX);
        if highest > 1 {
            for phase in 0..highest {
                if phase % 2 == 0 {
                    exchange(&mut even[..pairs], &mut odd[..pairs]);
                } else {
                    exchange(&mut odd[..pairs], &mut even[1..=pairs]);
                }
            }
        }
        let mut twice = false;
        for ((a, b), c) in even[..n / 2].iter().zip(&odd[..n / 2]).zip(&even[1..=n / 2]) {
            twice |= a >> 8 == b >> 8;
            twice |= b >> 8 == c >> 8;
        }
        if twice {
            return false;
        }
        let old = &mut room.values;
        old[..n].copy_from_slice(values);
        let value = |key: i32| old[(key & 0xff) as usize];
        let (index_pairs, last_index) = indices.as_chunks_mut::<2>();
        let (value_pairs, last_value) = values.as_chunks_mut::<2>();
        for (((&a, &b), indices), values) in even.iter().zip(&*odd).zip(index_pairs).zip(value_pairs) {
            *indices = [a >> 8, b >> 8].map(i32::cast_unsigned);
            *values = [value(a), value(b)];
        }
        if let ([index], [last]) = (last_index, last_value) {
            let key = even[n / 2];
            (*index, *last) = ((key >> 8).cast_unsigned(), value(key));
        }
        true
    }
}

/// Makes of how high heaps are where each begins: of at least eight heaps, a multiple of eight.
#[inline(always)]
fn begins(heaps: &mut [u8]) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // In each byte of the product is the sum of the bytes up to it; none is above 255. What is before eight heaps is added last, so that no
    // product waits for another.
    let mut before = 0_u64;
    for eight in heaps.as_chunks_mut::<8>().0 {
        let sums = u64::from_le_bytes(*eight).wrapping_mul(ONES);
        *eight = (sums << 8).wrapping_add(before.wrapping_mul(ONES)).to_le_bytes();
        before += sums >> 56;
    }
}

/// Exchanges what is not in order, pair by pair.
#[inline(always)]
fn exchange(low: &mut [i32], high: &mut [i32]) {
    for (a, b) in low.as_chunks_mut::<8>().0.iter_mut().zip(high.as_chunks_mut::<8>().0) {
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (*a.min(b), *a.max(b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::lanes::tests::narrowly;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn rows_are_ordered_or_left_alone_in_lanes_of_any_width() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(18);
        let (mut done, mut left) = (0, 0);
        let mut room = Room::default();
        for round in 0..20_000 {
            let n = random.random_range(0..300);
            let bits = random.random_range(4..33_u32);
            let skewed = round % 4 == 0;
            let indices: Vec<u32> = (0..n)
                .map(|_| {
                    let index = random.random::<u32>() >> (32 - bits);
                    if skewed && random.random_bool(0.3) { index >> 6 } else { index }
                })
                .collect();
            let values: Vec<f32> = (0..n).map(|k| k as f32).collect();
            let mut expected: Vec<_> = indices.iter().copied().zip(values.iter().copied()).collect();
            expected.sort_by_key(|feature| feature.0);
            let different = expected.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let (mut wide_indices, mut wide_values) = (indices.clone(), values.clone());
            let ordered = order(&mut wide_indices, &mut wide_values, &mut room);
            for narrow in narrowly(|| {
                let (mut indices, mut values) = (indices.clone(), values.clone());
                (order(&mut indices, &mut values, &mut room), indices, values)
            }) {
                assert_eq!(narrow, (ordered, wide_indices.clone(), wide_values.clone()));
            }
            let found: Vec<_> = wide_indices.iter().copied().zip(wide_values).collect();
            if ordered {
                done += 1;
                assert!(different);
                assert_eq!(found, expected);
            } else {
                left += 1;
                assert_eq!(found, indices.into_iter().zip(values).collect::<Vec<_>>());
            }
        }
        assert!(done > 3_000 && left > 3_000, "{done} {left}");
    }

    /// Whatever the heaps: by the 0-1 principle it is enough to try zeros and ones.
    #[test]
    fn as_many_exchanges_as_features_sort_a_heap_wherever_it_begins() {
        for n in 1..=usize::from(HIGHEST) {
            for begin in 0..2 {
                for bits in 0..1_u32 << n {
                    let mut keys: [i32; 16] = std::array::from_fn(|k| if k < begin { -1 } else { 2 });
                    for k in 0..n {
                        keys[begin + k] = (bits >> k & 1).cast_signed();
                    }
                    for phase in 0..n {
                        for pair in keys[phase % 2..].chunks_exact_mut(2) {
                            pair.sort_unstable();
                        }
                    }
                    assert!(keys.is_sorted(), "{n} features from {begin} on: {bits:b}");
                }
            }
        }
    }
}
