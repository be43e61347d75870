//! Two ways to hold the iterate in O(nonzeros) a round: a scaled vector of its own, or a multiple
//! of the ledger's `S`.

use super::part::{average_count, gather};
use super::slots::{Cell, Dual, Mean, Slots, Weight};
use super::{Learner, Outcome, Part};
use crate::example::{Features, Value};
use serde::{Deserialize, Serialize};

/// Exact recomputation of a norm happens at multiples of this many rounds, and when a guard trips:
/// never because something is printed or saved. In a table of millions it is rarer, so that a round's part of it stays small.
const RECOMPUTE: u64 = 1 << 16;

/// Whether it is due after round `t`.
#[inline(always)]
pub(super) fn is_due(t: u64, slots: usize) -> bool {
    t.is_multiple_of(RECOMPUTE) && t.is_multiple_of((slots as u64 / 16).next_power_of_two())
}

/// Below this scale the vector is folded, so that `1/a` stays far from overflow.
const SMALLEST_SCALE: f64 = 1e-100;

/// A squared norm that rounding may have moved by this part of itself is computed anew.
const DRIFTED: f64 = 1e-9;

/// What one update of a squared norm may lose, relative to the numbers that enter it: the sums of
/// the prediction and of `|x|^2`, and a few operations. Long rows are summed in four chains.
const LOST: f64 = 16.0 * f64::EPSILON;

/// The average is a difference of two numbers; where both would outgrow it by more than this in one
/// step, or have, the sum of the iterates so far moves into `b` alone.
const OUTGROWN: f64 = 1e3;

/// `w = a v` with `q = |w|^2`: projection and shrinkage touch one number.
///
/// A step `w <- w - eta g` with `g = slope x` is `v -= (eta/a) slope x` and
/// `q <- q - 2 eta slope z + (eta slope)^2 |x|^2`; projection on the ball of radius `U` multiplies
/// `a` by `rho = min(1, U/sqrt(q))`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scaled {
    /// Rounds so far.
    pub(crate) t: u64,
    /// The scale.
    a: f64,
    /// `|w|^2`, up to `drift`.
    q: f64,
    /// How far rounding may have moved `q`.
    drift: f64,
    /// The largest `|w|^2` so far, where the average is kept.
    largest: f64,
    /// The sum of the scales of the iterates averaged since the last fold.
    sum_a: f64,
}

impl Default for Scaled {
    fn default() -> Self {
        Self { t: 0, a: 1.0, q: 0.0, drift: 0.0, largest: 0.0, sum_a: 0.0 }
    }
}

/// The features of a step. A function of its own, so that its loop has the registers that it wants.
#[inline(never)]
fn shift<M: Mean, V: Value>(
    slots: &mut Slots<Weight<M>>,
    x: Features<'_, V>,
    slope: f64,
    dv: f64,
    sum_a: f64,
) {
    slots.enter_shift(x, slope, dv, |cell, xi| {
        let change = dv * xi;
        cell.state.v += change;
        cell.state.mean.add(sum_a * change);
    });
}

impl Scaled {
    /// `<w, x>`.
    #[inline(always)]
    pub(crate) fn dot<M: Mean, V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.a * slots.dot(x, |c| c.state.v)
    }

    /// The same, and the row's rough squares.
    #[inline(always)]
    pub(crate) fn dot_roughly<M: Mean, V: Value>(
        &self,
        slots: &Slots<Weight<M>>,
        x: Features<'_, V>,
    ) -> (f64, f64) {
        let (sum, rough) = slots.dot_roughly(x, |c| c.state.v);
        (self.a * sum, rough)
    }

    /// The same, and the row's squared norm.
    #[inline(always)]
    pub(crate) fn dot_and_norm<M: Mean, V: Value>(
        &self,
        slots: &Slots<Weight<M>>,
        x: Features<'_, V>,
    ) -> (f64, f64) {
        let (sum, norm_squared) = slots.dot_and_norm(x, |c| c.state.v);
        (self.a * sum, norm_squared)
    }

    /// Opens round `t`: `w_t` joins the average. Returns `t`.
    #[inline(always)]
    pub(crate) fn begin(&mut self) -> f64 {
        self.t += 1;
        self.sum_a += self.a;
        self.t as f64
    }

    /// `w <- w - step x`, entering `slope x` in the ledger; then the projection.
    #[inline(always)]
    pub(crate) fn step<M: Mean, V: Value>(
        &mut self,
        slots: &mut Slots<Weight<M>>,
        x: Features<'_, V>,
        outcome: &Outcome,
        step: f64,
        radius: Option<f64>,
    ) {
        if outcome.slope != 0.0 {
            let grown = step * step * outcome.norm_squared;
            if M::KEPT {
                let most = OUTGROWN * self.t as f64 * self.a;
                self.largest = self.largest.max(self.q);
                if self.sum_a * self.sum_a * grown > most * most * self.largest {
                    self.fold(slots);
                }
            }
            let dv = -step / self.a;
            shift(slots, x, outcome.slope, dv, self.sum_a);
            let before = self.q;
            self.q = before - 2.0 * step * outcome.now + grown;
            self.drift += LOST * (before + grown);
            if self.drift > DRIFTED * self.q {
                self.recompute(slots);
            }
        }
        if is_due(self.t, slots.len()) {
            self.recompute(slots);
        }
        if let Some(radius) = radius
            && self.q > radius * radius
        {
            let rho = radius / self.q.sqrt();
            self.a *= rho;
            self.q = radius * radius;
            self.drift = self.drift * rho * rho + LOST * self.q;
            let outgrown = M::KEPT && self.sum_a > OUTGROWN * self.t as f64 * self.a;
            if self.a < SMALLEST_SCALE || outgrown {
                self.fold(slots);
            }
        }
    }

    fn recompute<M: Mean>(&mut self, slots: &Slots<Weight<M>>) {
        let (q, drift) = slots.norm_squared(|c| c.state.v);
        (self.q, self.drift) = (self.a * self.a * q, self.a * self.a * drift);
    }

    /// A number that `|w|^2` does not exceed, and hardly differs from.
    pub(crate) fn norm_squared(&self) -> f64 {
        self.q + self.drift
    }

    /// Puts the scale into the vector. The sum of the iterates so far moves into `b` alone, because
    /// a sum of scales divided by a tiny scale would swallow every later one.
    fn fold<M: Mean>(&mut self, slots: &mut Slots<Weight<M>>) {
        for cell in slots.iter_mut() {
            cell.state.mean.add(-self.sum_a * cell.state.v);
            cell.state.v *= self.a;
        }
        self.a = 1.0;
        self.sum_a = 0.0;
    }

    /// The average of several, for learners that keep no averaged iterate.
    pub(crate) fn average_of<M: Mean, L: Learner<Slot = Weight<M>>>(
        parts: &[Part<L>],
        slots: &mut Slots<Weight<M>>,
        read: impl Fn(&L) -> &Self,
    ) -> Self {
        gather(parts, slots, |sum, part, cell| {
            sum.state.v += part.share * read(&part.learner).weight(cell);
        });
        let mut all = Self { t: average_count(parts, |learner| read(learner).t), ..Self::default() };
        all.recompute(slots);
        all
    }

    /// `w_i`.
    pub(crate) fn weight<M: Mean>(&self, cell: &Cell<Weight<M>>) -> f64 {
        self.a * cell.state.v
    }

    /// The average of `w_1 .. w_t` at one coordinate.
    pub(crate) fn average<M: Mean>(&self, cell: &Cell<Weight<M>>) -> Option<f64> {
        (M::KEPT && self.t > 0).then(|| (self.sum_a * cell.state.v - cell.state.mean.get()) / self.t as f64)
    }
}

/// `w = a S`: dual averaging, where the state already is the ledger's vector. The learner chooses
/// `a` freely after every round; `q = |S|^2`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OfLedger {
    /// Rounds so far.
    pub(crate) t: u64,
    /// The multiple (0 before the first round).
    pub(crate) a: f64,
    /// `|S|^2`, up to `drift`.
    pub(crate) q: f64,
    /// How far rounding may have moved `q`.
    drift: f64,
    /// The largest `|w|^2` so far, where the average is kept.
    largest: f64,
    /// The sum of the multiples of the iterates averaged since the last fold.
    sum_a: f64,
}

impl OfLedger {
    /// `<w, x>`.
    #[inline(always)]
    pub(crate) fn dot<M: Mean, V: Value>(&self, slots: &Slots<Dual<M>>, x: Features<'_, V>) -> f64 {
        self.a * slots.dot(x, |c| c.s)
    }

    /// Round `t`: `w_t` joins the average, `slope x` enters the ledger, `q` follows. The caller then
    /// sets `a`. Returns `t`.
    #[inline(always)]
    pub(crate) fn step<M: Mean, V: Value>(
        &mut self,
        slots: &mut Slots<Dual<M>>,
        x: Features<'_, V>,
        outcome: &Outcome,
    ) -> f64 {
        self.t += 1;
        let grown = outcome.slope * outcome.slope * outcome.norm_squared;
        if M::KEPT {
            let most = OUTGROWN * self.t as f64;
            if self.sum_a.abs() > most * self.a.abs() {
                self.fold(slots);
            }
            self.sum_a += self.a;
            self.largest = self.largest.max(self.a * self.a * self.q);
            if self.sum_a * self.sum_a * grown > most * most * self.largest {
                self.fold(slots);
            }
        }
        if outcome.slope != 0.0 {
            // <S, x> from the prediction where it can be had, else from S.
            let sx = if self.a == 0.0 { slots.dot(x, |c| c.s) } else { outcome.now / self.a };
            let sum_a = self.sum_a;
            let slope = outcome.slope;
            slots.enter_evenly(x, slope, |cell, xi| cell.state.0.add(sum_a * (slope * xi)));
            let before = self.q;
            self.q = before + 2.0 * slope * sx + grown;
            self.drift += LOST * (before + grown);
            if self.drift > DRIFTED * self.q {
                self.recompute(slots);
            }
        }
        if is_due(self.t, slots.len()) {
            self.recompute(slots);
        }
        self.t as f64
    }

    fn recompute<M: Mean>(&mut self, slots: &Slots<Dual<M>>) {
        (self.q, self.drift) = slots.norm_squared(|c| c.s);
    }

    /// Moves the sum of the iterates so far into `b` alone.
    fn fold<M: Mean>(&mut self, slots: &mut Slots<Dual<M>>) {
        for cell in slots.iter_mut() {
            let s = cell.s;
            cell.state.0.add(-self.sum_a * s);
        }
        self.sum_a = 0.0;
    }

    /// The average of several with the multiple `a`, for learners that keep no averaged iterate. The ledger's
    /// vector becomes what the weights are `a` times, and is no ledger's any more.
    pub(crate) fn average_of<M: Mean, L: Learner<Slot = Dual<M>>>(
        parts: &[Part<L>],
        slots: &mut Slots<Dual<M>>,
        a: f64,
        read: impl Fn(&L) -> &Self,
    ) -> Self {
        gather(parts, slots, |sum, part, cell| {
            sum.s += part.share * read(&part.learner).weight(cell);
        });
        for cell in slots.iter_mut() {
            cell.s = if a == 0.0 { 0.0 } else { cell.s / a };
        }
        let mut all = Self { t: average_count(parts, |learner| read(learner).t), a, ..Self::default() };
        all.recompute(slots);
        all
    }

    /// `w_i`.
    pub(crate) fn weight<M: Mean>(&self, cell: &Cell<Dual<M>>) -> f64 {
        self.a * cell.s
    }

    /// The average of `w_1 .. w_t` at one coordinate.
    pub(crate) fn average<M: Mean>(&self, cell: &Cell<Dual<M>>) -> Option<f64> {
        (M::KEPT && self.t > 0).then(|| (self.sum_a * cell.s - cell.state.0.get()) / self.t as f64)
    }

    /// A number that `|w|^2` does not exceed, and hardly differs from.
    pub(crate) fn norm_squared(&self) -> f64 {
        self.a * self.a * (self.q + self.drift)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slots::NoMean;
    use super::*;

    #[test]
    fn a_norm_is_computed_anew_at_multiples_of_two_to_the_sixteenth() {
        let due = |slots: usize| (1..=1 << 21).filter(|&t| is_due(t, slots)).collect::<Vec<u64>>();
        let sixteen: Vec<u64> = (1..=32).map(|k| k << 16).collect();
        assert_eq!(due(0), sixteen);
        assert_eq!(due(1 << 20), sixteen);
        assert_eq!(due(1 << 24), [1 << 20, 1 << 21]);
    }

    /// A guard that tripped again right after it was served would make every round cost O(dimension).
    #[test]
    fn a_norm_computed_anew_is_known_well_in_a_large_table_too() {
        let mut slots = Slots::<Weight<NoMean>>::new(true);
        slots.grow(6_000_000);
        for (k, cell) in slots.iter_mut().enumerate() {
            cell.state.v = (k % 1000) as f64 / 7.0;
            cell.s = 1.0;
        }
        let mut scaled = Scaled { a: 0.5, ..Scaled::default() };
        scaled.recompute(&slots);
        assert!(scaled.drift > 0.0 && scaled.drift < DRIFTED / 1e3 * scaled.q);
        let mut slots = Slots::<Dual<NoMean>>::new(true);
        slots.grow(6_000_000);
        slots.iter_mut().for_each(|cell| cell.s = 0.1);
        let mut ledger = OfLedger::default();
        ledger.recompute(&slots);
        assert!((ledger.q - 60_000.01).abs() <= ledger.drift && ledger.drift < DRIFTED / 1e3 * ledger.q);
    }
}
