//! The loops over a row's features with AVX2: four features in a step, two in a register, or all members of one.
//!
//! Every product, sum, quotient and root is the one that `auto/slot.rs` makes, rounded by itself (no fused operation),
//! and features add to the sums in the same turn; so the bits are the same.

#![allow(
    unsafe_code,
    reason = "functions for AVX2 are called where it was found, which `Avx2` stands for; and a state, 14 numbers of \
              f32 in a row, is read and written by parts that lie within it"
)]

use super::super::super::Outcome;
use super::super::super::slots::{Cell, Slots, fetch};
use super::super::Auto;
use super::super::rule::Rule;
use super::super::slot::{Beside, ENDOWMENT, KEEP, Pool, State};
use super::{Noted, Rates, Said, Step, TURNS, hear_news};
use crate::example::{Features, Value};
#[allow(clippy::wildcard_imports, reason = "every name in it begins with `_mm` or `__m`")]
use std::arch::x86_64::*;
use wide::f32x4;

/// The processor has AVX2.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Avx2(());

#[allow(clippy::unused_self, reason = "whoever has the value may call what needs AVX2")]
impl Avx2 {
    /// Whether it has.
    pub(super) fn here() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// See [`Auto::begin`].
    #[inline(always)]
    pub(super) fn begin<R: Rule, B: Beside, V: Value>(
        self,
        auto: &mut Auto<R, B>,
        slots: &Slots<Pool<B>>,
        x: Features<'_, V>,
        next: &[u32],
    ) -> (f64, f64) {
        // SAFETY: the processor has AVX2.
        unsafe { begin(auto, slots, x, next) }
    }

    /// See [`Auto::end`].
    #[inline(always)]
    pub(super) fn end<R: Rule, B: Beside, V: Value>(
        self,
        auto: &mut Auto<R, B>,
        slots: &mut Slots<Pool<B>>,
        x: Features<'_, V>,
        outcome: &Outcome,
    ) {
        // SAFETY: the processor has AVX2.
        unsafe { end(auto, slots, x, outcome) }
    }

    /// See [`super::hear`], for whole fours of features. The row's squared norm is that of all.
    #[inline(always)]
    pub(super) fn hear<const NOTE: bool, B: Beside, V: Value>(
        self,
        cells: &[Cell<Pool<B>>],
        row: (Features<'_, V>, &[u32]),
        noted: &mut Noted,
        said: &mut Said,
    ) -> f64 {
        // SAFETY: the processor has AVX2.
        unsafe { hear::<NOTE, B, V>(cells, row, noted, said) }
    }

    /// See [`super::meet`]: the number of features met, four at a time. What `slow_s` has of all features is asked for.
    #[inline(always)]
    pub(super) fn meet<B: Beside>(
        self,
        cells: &mut [Cell<Pool<B>>],
        indices: &[u32],
        noted: &mut Noted,
        (slopes, prior): (f32x4, f32),
        slow_s: &[f64],
        ways: &mut Said,
    ) -> usize {
        // SAFETY: the processor has AVX2.
        unsafe { meet(cells, indices, noted, (slopes, prior), slow_s, ways) }
    }

    /// See [`super::follow`]: all features.
    #[inline(always)]
    pub(super) fn follow<B: Beside, V: Value>(
        self,
        cells: &mut [Cell<Pool<B>>],
        x: Features<'_, V>,
        noted: &Noted,
        step: &mut Step<'_>,
    ) {
        // SAFETY: the processor has AVX2.
        unsafe { follow(cells, x, noted, step) }
    }
}

// What is written once, compiled for AVX2.

#[target_feature(enable = "avx2")]
fn begin<R: Rule, B: Beside, V: Value>(
    auto: &mut Auto<R, B>,
    slots: &Slots<Pool<B>>,
    x: Features<'_, V>,
    next: &[u32],
) -> (f64, f64) {
    auto.begin(slots, x, next)
}

#[target_feature(enable = "avx2")]
fn end<R: Rule, B: Beside, V: Value>(
    auto: &mut Auto<R, B>,
    slots: &mut Slots<Pool<B>>,
    x: Features<'_, V>,
    outcome: &Outcome,
) {
    auto.end(slots, x, outcome);
}

/// Where the coin's three numbers and the inverse of the scale stand in a state, and where its last eight begin.
const COIN_AT: usize = 10;
const LAST_EIGHT: usize = 6;
const _: () = assert!(
    std::mem::offset_of!(State, w) == 0
        && std::mem::offset_of!(State, sum) == 5 * 4
        && std::mem::offset_of!(State, coin) == COIN_AT * 4
        && std::mem::offset_of!(State, inverse) == 13 * 4
        && size_of::<State>() == 14 * 4
);

/// Four numbers of a state.
#[target_feature(enable = "avx2")]
#[inline]
fn four<const AT: usize>(state: &State) -> __m128 {
    const { assert!(AT + 4 <= 14) };
    // SAFETY: all of the numbers lie within the state.
    unsafe { _mm_loadu_ps(std::ptr::from_ref(state).cast::<f32>().add(AT)) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn set_four<const AT: usize>(state: &mut State, numbers: __m128) {
    const { assert!(AT + 4 <= 14) };
    // SAFETY: as above.
    unsafe { _mm_storeu_ps(std::ptr::from_mut(state).cast::<f32>().add(AT), numbers) }
}

/// Eight numbers of a state.
#[target_feature(enable = "avx2")]
#[inline]
fn eight<const AT: usize>(state: &State) -> __m256 {
    const { assert!(AT + 8 <= 14) };
    // SAFETY: as above.
    unsafe { _mm256_loadu_ps(std::ptr::from_ref(state).cast::<f32>().add(AT)) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn set_eight<const AT: usize>(state: &mut State, numbers: __m256) {
    const { assert!(AT + 8 <= 14) };
    // SAFETY: as above.
    unsafe { _mm256_storeu_ps(std::ptr::from_mut(state).cast::<f32>().add(AT), numbers) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(numbers: &[f32; 4]) -> __m128 {
    _mm_setr_ps(numbers[0], numbers[1], numbers[2], numbers[3])
}

/// The first four rates of a feature.
#[target_feature(enable = "avx2")]
#[inline]
fn set_rates(rates: &mut Rates, numbers: __m128) {
    // SAFETY: there is room for eight.
    unsafe { _mm_storeu_ps(rates.0.as_mut_ptr(), numbers) }
}

/// The last rates of four features.
#[target_feature(enable = "avx2")]
#[inline]
fn set_lasts(rates: &mut [Rates; 4], numbers: __m128) {
    let mut lasts = [0.0; 4];
    store(&mut lasts, numbers);
    for (rates, last) in rates.iter_mut().zip(lasts) {
        rates.0[4] = last;
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_eight(numbers: &[f32; 8]) -> __m256 {
    // SAFETY: there are eight.
    unsafe { _mm256_loadu_ps(numbers.as_ptr()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(place: &mut [f32; 4], numbers: __m128) {
    // SAFETY: there is room for four.
    unsafe { _mm_storeu_ps(place.as_mut_ptr(), numbers) }
}

#[target_feature(enable = "avx2")]
fn hear<const NOTE: bool, B: Beside, V: Value>(
    cells: &[Cell<Pool<B>>],
    (x, mut next): (Features<'_, V>, &[u32]),
    noted: &mut Noted,
    said: &mut Said,
) -> f64 {
    let (ones, nothing) = (_mm_set1_ps(1.0), _mm_setzero_ps());
    let unsigned = _mm_castsi128_ps(_mm_set1_epi32(i32::MAX));
    let mut weighted = [_mm256_setzero_ps(); TURNS];
    let (mut coin, mut square) = (nothing, nothing);
    let (indices, values) = (x.indices.as_chunks::<4>().0, x.values.as_chunks::<4>().0);
    let mut squares = _mm256_setzero_pd();
    let mut add_squares = |four: &[V; 4]| {
        let [a, b, c, d] = four.map(V::f64);
        let four = _mm256_setr_pd(a, b, c, d);
        squares = _mm256_add_pd(squares, _mm256_mul_pd(four, four));
    };
    // A few cells of the next row for every few of this one: all at once they would be more than a processor keeps count
    // of, and it would wait.
    let row = x;
    let Noted { news: noted_news, v: vs, bet: bets, .. } = noted;
    let mut places = vs.as_chunks_mut().0.iter_mut().zip(bets.as_chunks_mut().0);
    for (k, (i, x)) in indices.iter().zip(values).enumerate() {
        if NOTE {
            add_squares(x);
            if let Some((four, rest)) = next.split_first_chunk::<4>() {
                fetch(cells, four);
                next = rest;
            }
        }
        let states: [&State; 4] = std::array::from_fn(|j| &cells[i[j] as usize].state.state);
        let [a, b, c, d] = [
            four::<COIN_AT>(states[0]),
            four::<COIN_AT>(states[1]),
            four::<COIN_AT>(states[2]),
            four::<COIN_AT>(states[3]),
        ];
        let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        let (z, sizes) = (_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
        let (ab, cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        let (reward, inverse) = (_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));

        let mut v = _mm_mul_ps(load(&x.map(|x| x.f64() as f32)), inverse);
        let heard = _mm_and_ps(
            _mm_cmp_ps::<_CMP_LE_OQ>(_mm_and_ps(v, unsigned), ones),
            _mm_cmp_ps::<_CMP_GT_OQ>(inverse, nothing),
        );
        let wealth = _mm_add_ps(_mm_set1_ps(ENDOWMENT), reward);
        let mut bet = _mm_div_ps(_mm_mul_ps(wealth, z), _mm_add_ps(ones, sizes));
        let news = 0b1111 & !_mm_movemask_ps(heard);
        if news != 0 {
            let (mut vs, mut bets) = ([0.0; 4], [0.0; 4]);
            store(&mut vs, v);
            store(&mut bets, bet);
            for j in (0..4).filter(|j| news >> j & 1 == 1) {
                (vs[j], bets[j]) = hear_news::<NOTE>(states[j], x[j].f64(), 4 * k + j, noted_news);
            }
            (v, bet) = (load(&vs), load(&bets));
        }
        if NOTE && let Some(places) = places.next() {
            store(places.0, v);
            store(places.1, bet);
        }

        coin = _mm_add_ps(coin, _mm_mul_ps(bet, v));
        square = _mm_add_ps(square, _mm_mul_ps(v, v));
        let vs = _mm256_castps128_ps256(v);
        let each = [
            _mm256_broadcastss_ps(v),
            _mm256_permutevar8x32_ps(vs, _mm256_set1_epi32(1)),
            _mm256_permutevar8x32_ps(vs, _mm256_set1_epi32(2)),
            _mm256_permutevar8x32_ps(vs, _mm256_set1_epi32(3)),
        ];
        for j in 0..TURNS {
            weighted[j] = _mm256_add_ps(weighted[j], _mm256_mul_ps(eight::<0>(states[j]), each[j]));
        }
    }
    if NOTE {
        fetch(cells, next);
    }
    for (weighted, (four, fifth)) in weighted.into_iter().zip(said.four.iter_mut().zip(&mut said.fifth)) {
        store(four.as_mut_array(), _mm256_castps256_ps128(weighted));
        *fifth = _mm_cvtss_f32(_mm256_extractf128_ps::<1>(weighted));
    }
    store(&mut said.coin, coin);
    store(&mut said.square, square);
    if let Some((_, four)) = row.tail().filter(|_| NOTE) {
        add_squares(&four);
    }
    let (ab, cd) = (_mm256_castpd256_pd128(squares), _mm256_extractf128_pd::<1>(squares));
    let sum = |pair: __m128d| _mm_cvtsd_f64(pair) + _mm_cvtsd_f64(_mm_unpackhi_pd(pair, pair));
    sum(ab) + sum(cd)
}

#[target_feature(enable = "avx2")]
fn meet<B: Beside>(
    cells: &mut [Cell<Pool<B>>],
    indices: &[u32],
    noted: &mut Noted,
    (slopes, prior): (f32x4, f32),
    slow_s: &[f64],
    ways: &mut Said,
) -> usize {
    let slopes = load(slopes.as_array());
    let slopes = _mm256_set_m128(slopes, slopes);
    let (ones, least) = (_mm256_set1_ps(1.0), _mm256_set1_ps(f32::MIN_POSITIVE));
    let prior = _mm256_set1_ps(prior);
    let (first_two, last_two) =
        (_mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3));
    let (mut four_ways, mut last_way) = ([_mm256_setzero_ps(); 2], _mm_setzero_ps());
    let (fours, rest) = indices.as_chunks::<4>();
    fetch(slow_s, rest);
    let places = noted.v.as_chunks::<4>().0.iter().zip(noted.rates.as_chunks_mut::<4>().0);
    for (i, (v, rates)) in fours.iter().zip(places) {
        fetch(slow_s, i);
        let v = load(v);
        let vs = _mm256_castps128_ps256(v);
        let lasts = i.map(|i| cells[i as usize].state.state.sum[4]);
        let last = _mm_add_ps(_mm256_castps256_ps128(prior), load(&lasts));
        let last = _mm_div_ps(_mm256_castps256_ps128(ones), last);
        set_lasts(rates, last);
        for (half, lanes) in [(0, first_two), (2, last_two)] {
            let (a, b) = (i[half] as usize, i[half + 1] as usize);
            let sums = _mm256_set_m128(four::<5>(&cells[b].state.state), four::<5>(&cells[a].state.state));
            let v = _mm256_permutevar8x32_ps(vs, lanes);
            let g = _mm256_mul_ps(slopes, v);
            let sums = _mm256_add_ps(sums, _mm256_mul_ps(g, g));
            set_four::<5>(&mut cells[a].state.state, _mm256_castps256_ps128(sums));
            set_four::<5>(&mut cells[b].state.state, _mm256_extractf128_ps::<1>(sums));
            // A sum that is no number counts as the smallest.
            let roots = _mm256_sqrt_ps(_mm256_max_ps(sums, least));
            let under = _mm256_blend_ps::<0b1000_1000>(roots, _mm256_add_ps(prior, sums));
            let rate = _mm256_div_ps(ones, under);
            set_rates(&mut rates[half], _mm256_castps256_ps128(rate));
            set_rates(&mut rates[half + 1], _mm256_extractf128_ps::<1>(rate));
            let way = _mm256_mul_ps(_mm256_mul_ps(v, v), rate);
            four_ways[half / 2] = _mm256_add_ps(four_ways[half / 2], way);
        }
        last_way = _mm_add_ps(last_way, _mm_mul_ps(_mm_mul_ps(v, v), last));
    }
    for half in [0, 1] {
        store(ways.four[2 * half].as_mut_array(), _mm256_castps256_ps128(four_ways[half]));
        store(ways.four[2 * half + 1].as_mut_array(), _mm256_extractf128_ps::<1>(four_ways[half]));
    }
    store(&mut ways.fifth, last_way);
    4 * fours.len()
}

#[target_feature(enable = "avx2")]
fn follow<B: Beside, V: Value>(
    cells: &mut [Cell<Pool<B>>],
    x: Features<'_, V>,
    noted: &Noted,
    step: &mut Step<'_>,
) {
    let moves = load_eight(&step.moves);
    // Of the last eight numbers: two of the descents' squares and the scale stay, precisions grow by the square of v, the
    // coin's outcomes by v, their sizes by its size, and the reward by v and the bet.
    let ([b0, b1], toss) = (step.bends, step.toss);
    let grows = _mm256_setr_ps(0.0, 0.0, b0, b1, toss, toss, toss, 0.0);
    let keeps = _mm256_setr_ps(1.0, 1.0, KEEP[0], KEEP[1], 1.0, 1.0, 1.0, 1.0);
    let ones = _mm256_set1_ps(1.0);
    // All but the sign of the sizes.
    let sizes = _mm256_castsi256_ps(_mm256_setr_epi32(-1, -1, -1, -1, -1, i32::MAX, -1, -1));
    let (n, features) = (cells.len().min(step.slow_s.len()), x.indices.len());
    let (cells, slow_s) = (&mut cells[..n], &mut step.slow_s[..n]);
    let (values, v, bet, rates) =
        (&x.values[..features], &noted.v[..features], &noted.bet[..features], &noted.rates[..features]);
    for k in 0..features {
        let (i, x, v) = (x.indices[k] as usize, values[k].f64(), v[k]);
        let cell = &mut cells[i];
        cell.s += step.alpha * x;
        slow_s[i] += step.slow_alpha * x;
        if v == 0.0 {
            continue;
        }
        let state = &mut cell.state.state;
        let vs = _mm256_set1_ps(v);
        let way = _mm256_mul_ps(_mm256_mul_ps(moves, load_eight(&rates[k].0)), vs);
        let moved = _mm256_add_ps(eight::<0>(state), way);
        let by = _mm256_blend_ps::<0b0011_0000>(vs, ones);
        let by = _mm256_blend_ps::<0b0100_0000>(by, _mm256_set1_ps(bet[k]));
        let grown = _mm256_and_ps(_mm256_mul_ps(_mm256_mul_ps(grows, vs), by), sizes);
        let kept = _mm256_add_ps(_mm256_mul_ps(keeps, eight::<LAST_EIGHT>(state)), grown);
        set_eight::<0>(state, moved);
        set_eight::<LAST_EIGHT>(state, kept);
    }
}
