//! What the members keep for one feature: 56 bytes, so that with the ledger's number it fills one cache line.
//!
//! Everything is in the feature's own unit, its scale `s`: `x/s` lies in `[-1, 1]`, weights are
//! `w s`, sums of squared gradients are divided by `s^2`. So nothing depends on the unit a column is
//! measured in, and f32 is enough.

use super::super::{Line, Slot};
use std::fmt::Debug;
use wide::f32x4;

/// The members that keep a weight: three descents and two Bayesians.
pub(super) const WEIGHTED: usize = 5;
/// The descents among them.
pub(super) const DESCENTS: usize = 3;
/// Where the Bayesian that forgets nothing stands among them.
pub(super) const BAYES: usize = DESCENTS;
/// All members: those and the coin.
pub(super) const MEMBERS: usize = 6;
/// Where the coin stands among the members.
pub(super) const COIN: usize = 5;
/// What the Bayesians forget in a touch, and what they keep.
const FORGET: [f32; WEIGHTED - DESCENTS] = [0.0, 0.01];
pub(super) const KEEP: [f32; WEIGHTED - DESCENTS] = [1.0 - FORGET[0], 1.0 - FORGET[1]];
/// The wealth a coin starts with.
pub(super) const ENDOWMENT: f32 = 16.0;

/// The members' state for one feature.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct State {
    /// `w s` of the descents and the Bayesians.
    pub(super) w: [f32; WEIGHTED],
    /// Descents: sum of `(g x/s)^2`. Bayesians: precision in units of `s^2`.
    pub(super) sum: [f32; WEIGHTED],
    /// The coin: sum of the outcomes, of their sizes, and the reward so far.
    pub(super) coin: [f32; 3],
    /// `1/s`; 0 before the first value other than 0.
    pub(super) inverse: f32,
}

impl State {
    /// `x/s` and `1/s` as they stand once `x` has been seen. The scale follows the largest `|x|`, but at
    /// most doubles in a row, so that one wild value does not silence the column.
    pub(super) fn normalise(&self, x: f64) -> (f32, f32) {
        let x = (x as f32).clamp(-f32::MAX, f32::MAX);
        let v = x * self.inverse;
        if v.abs() <= 1.0 && self.inverse > 0.0 {
            return (v, self.inverse);
        }
        if x == 0.0 {
            (0.0, self.inverse)
        } else if self.inverse == 0.0 {
            (x.signum(), (1.0 / x.abs()).min(f32::MAX))
        } else {
            (x.signum(), self.inverse / v.abs().min(2.0))
        }
    }

    /// `x/s` and what the coin bets where `x` leaves the scale as it is: nearly always.
    #[inline(always)]
    pub(super) fn hear(&self, x: f64) -> Option<(f32, f32)> {
        let v = x as f32 * self.inverse;
        (v.abs() <= 1.0 && self.inverse > 0.0).then(|| (v, self.bet(1.0)))
    }

    /// `x/s`, `1/s` and the bet for any `x`.
    pub(super) fn hear_news(&self, x: f64) -> (f32, f32, f32) {
        let (v, inverse) = self.normalise(x);
        // What the scale is about to change by.
        let grown = inverse != self.inverse && self.inverse > 0.0;
        (v, inverse, self.bet(if grown { inverse / self.inverse } else { 1.0 }))
    }

    /// The members' weights but the last, and that.
    #[inline(always)]
    pub(super) fn weights(&self) -> (f32x4, f32) {
        (four(&self.w), self.w[4])
    }

    /// Takes the new scale: what was summed in the old unit is told in the new one.
    pub(super) fn rescale(&mut self, inverse: f32) {
        if self.inverse > 0.0 {
            let ratio = inverse / self.inverse;
            self.sum.iter_mut().for_each(|sum| *sum *= ratio * ratio);
            self.coin[0] *= ratio;
            self.coin[1] *= ratio;
        }
        self.inverse = inverse;
    }

    /// `w s` of the coin, before the division by the mean square of the rows: the wealth times the part
    /// of it that is bet. `ratio` is what the scale is about to change by.
    #[inline(always)]
    pub(super) fn bet(&self, ratio: f32) -> f32 {
        let [z, sizes, reward] = self.coin;
        (ENDOWMENT + reward) * (ratio * z) / (1.0 + ratio * sizes)
    }

    /// Weight `k` as a linear model has it; the coin's before its common scale.
    pub(super) fn raw(&self, k: usize) -> f64 {
        let w = if k == COIN { self.bet(1.0) } else { self.w[k] };
        f64::from(w) * f64::from(self.inverse)
    }

    /// The members meet a feature of value `v`: the descents' squares grow by their slopes', and what a
    /// unit of slope will move each weight by is returned, the last one's apart. Slope 3 is none: four lanes
    /// are computed at once.
    #[inline(always)]
    pub(super) fn meet(&mut self, v: f32, slopes: f32x4, prior: f32) -> (f32x4, f32) {
        let g = slopes * f32x4::splat(v);
        let sums = four(&self.sum) + g * g;
        self.sum[..4].copy_from_slice(sums.as_array());
        // A sum that is no number counts as the smallest.
        let mut lanes = sums.fast_max(f32x4::splat(f32::MIN_POSITIVE)).sqrt();
        lanes.as_mut_array()[3] = prior + self.sum[3];
        (f32x4::ONE / lanes, 1.0 / (prior + self.sum[4]))
    }

    /// The weights move, and the Bayesians learn how sure they may be.
    #[inline(always)]
    pub(super) fn follow(&mut self, v: f32, rates: (f32x4, f32), moves: (f32x4, f32), bends: [f32; 2]) {
        let w = four(&self.w) + moves.0 * rates.0 * f32x4::splat(v);
        self.w[..4].copy_from_slice(w.as_array());
        self.w[4] += moves.1 * rates.1 * v;
        for k in 0..WEIGHTED - DESCENTS {
            let sum = &mut self.sum[DESCENTS + k];
            *sum = KEEP[k] * *sum + bends[k] * v * v;
        }
    }

    /// Keeps the weights within their range, after a step that may have led beyond it.
    pub(super) fn settle(&mut self) {
        for w in &mut self.w {
            *w = w.clamp(-HEAVIEST, HEAVIEST);
        }
    }

    /// The coin, which bet `bet`, came up `outcome`, within [-1, 1].
    #[inline(always)]
    pub(super) fn toss(&mut self, outcome: f32, bet: f32) {
        self.coin[2] += outcome * bet;
        self.coin[0] += outcome;
        self.coin[1] += outcome.abs();
    }
}

/// No weight is larger: beyond this, products and sums of them would leave f32.
pub(super) const HEAVIEST: f32 = 1e30;

/// The first four lanes of five.
#[inline(always)]
fn four(lanes: &[f32; WEIGHTED]) -> f32x4 {
    f32x4::new([lanes[0], lanes[1], lanes[2], lanes[3]])
}

/// What is kept in a slot beside the members' state: nothing, or the parts of their averages.
pub(super) trait Beside: Copy + Default + Send + Sync + 'static {
    /// Whether averages are kept.
    const KEPT: bool;
    /// The names of the numbers of a slot.
    const FIELDS: &'static [&'static str];
    /// How the cell lies: see [`Slot::Align`].
    type Align: Copy + Debug + Default + Send + Sync + 'static;
    /// `b` of member `k`.
    fn get(&self, k: usize) -> f64;
    /// Sets it.
    fn set(&mut self, k: usize, b: f64);

    /// The weights went from `before` to `after` in a round until which the scales sum to `sums`.
    fn moved(&mut self, before: &State, after: &State, sums: &[f64; MEMBERS]) {
        for (k, sum) in sums.iter().enumerate() {
            self.set(k, self.get(k) + sum * (after.raw(k) - before.raw(k)));
        }
    }
}

/// No averages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nothing;

impl Beside for Nothing {
    const KEPT: bool = false;
    const FIELDS: &'static [&'static str] = NAMES.split_at(STATE).0;
    type Align = Line;
    fn get(&self, _: usize) -> f64 {
        0.0
    }
    fn set(&mut self, _: usize, _: f64) {}
}

/// The `b` of every member's averaged iterate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Averages([f64; MEMBERS]);

impl Beside for Averages {
    const KEPT: bool = true;
    const FIELDS: &'static [&'static str] = &NAMES;
    type Align = ();
    fn get(&self, k: usize) -> f64 {
        self.0[k]
    }
    fn set(&mut self, k: usize, b: f64) {
        self.0[k] = b;
    }
}

/// A slot.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Pool<B> {
    pub(super) state: State,
    pub(super) beside: B,
}

/// How many numbers the members' state has.
const STATE: usize = 14;

const NAMES: [&str; STATE + MEMBERS] = [
    "w.descent-slow",
    "w.descent",
    "w.descent-fast",
    "w.bayes",
    "w.bayes-drift",
    "squares.descent-slow",
    "squares.descent",
    "squares.descent-fast",
    "precision.bayes",
    "precision.bayes-drift",
    "outcomes.coin",
    "sizes.coin",
    "reward.coin",
    "inverse-scale",
    "b.descent-slow",
    "b.descent",
    "b.descent-fast",
    "b.bayes",
    "b.bayes-drift",
    "b.coin",
];

impl<B: Beside> Slot for Pool<B> {
    const FIELDS: &'static [&'static str] = B::FIELDS;
    type Align = B::Align;

    fn get(&self, k: usize) -> f64 {
        let s = &self.state;
        match k {
            0..5 => s.w[k].into(),
            5..10 => s.sum[k - 5].into(),
            10..13 => s.coin[k - 10].into(),
            13 => s.inverse.into(),
            _ => self.beside.get(k - STATE),
        }
    }

    fn set(&mut self, k: usize, value: f64) {
        let s = &mut self.state;
        match k {
            0..5 => s.w[k] = value as f32,
            5..10 => s.sum[k - 5] = value as f32,
            10..13 => s.coin[k - 10] = value as f32,
            13 => s.inverse = value as f32,
            _ => self.beside.set(k - STATE, value),
        }
    }
}
