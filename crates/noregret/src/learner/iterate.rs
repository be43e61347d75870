//! Two ways to hold the iterate in O(nonzeros) a round: a scaled vector of its own, or a multiple
//! of the ledger's `S`.

use super::Outcome;
use super::slots::{Cell, Dual, Mean, Slots, Weight};
use crate::example::{Features, Value};
use serde::{Deserialize, Serialize};

/// Exact recomputation of a norm happens at multiples of this many rounds, and when a guard trips:
/// never because something is printed or saved.
const RECOMPUTE: u64 = 1 << 16;

/// Below this scale the vector is folded, so that `1/a` stays far from overflow.
const SMALLEST_SCALE: f64 = 1e-100;

/// A squared norm that has lost this much to cancellation is computed anew.
const CANCELLED: f64 = 1e-9;

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
    /// `|w|^2`.
    pub(crate) q: f64,
    /// The sum of the scales of the iterates averaged since the last fold.
    sum_a: f64,
}

impl Default for Scaled {
    fn default() -> Self {
        Self { t: 0, a: 1.0, q: 0.0, sum_a: 0.0 }
    }
}

impl Scaled {
    /// `<w, x>`.
    #[inline(always)]
    pub(crate) fn dot<M: Mean, V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.a * slots.dot(x, |c| c.state.v)
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
            let dv = -step / self.a;
            let sum_a = self.sum_a;
            slots.enter(x, outcome.slope, |cell, xi| {
                let change = dv * xi;
                cell.state.v += change;
                cell.state.mean.add(sum_a * change);
            });
            let before = self.q;
            let grown = step * step * outcome.norm_squared;
            self.q = before - 2.0 * step * outcome.z + grown;
            if self.q < CANCELLED * (before + grown) {
                self.recompute(slots);
            }
        }
        if self.t.is_multiple_of(RECOMPUTE) {
            self.recompute(slots);
        }
        if let Some(radius) = radius
            && self.q > radius * radius
        {
            self.a *= radius / self.q.sqrt();
            self.q = radius * radius;
            if self.a < SMALLEST_SCALE {
                self.fold(slots);
            }
        }
    }

    fn recompute<M: Mean>(&mut self, slots: &Slots<Weight<M>>) {
        self.q = self.a * self.a * slots.norm_squared(|c| c.state.v);
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
    /// `|S|^2`.
    pub(crate) q: f64,
    /// The sum of the multiples so far.
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
        self.sum_a += self.a;
        if outcome.slope != 0.0 {
            // <S, x> from the prediction where it can be had, else from S.
            let sx = if self.a == 0.0 { slots.dot(x, |c| c.s) } else { outcome.z / self.a };
            let sum_a = self.sum_a;
            let slope = outcome.slope;
            slots.enter(x, slope, |cell, xi| cell.state.0.add(sum_a * (slope * xi)));
            let before = self.q;
            let grown = slope * slope * outcome.norm_squared;
            self.q = before + 2.0 * slope * sx + grown;
            if self.q < CANCELLED * (before + grown) {
                self.recompute(slots);
            }
        }
        if self.t.is_multiple_of(RECOMPUTE) {
            self.recompute(slots);
        }
        self.t as f64
    }

    fn recompute<M: Mean>(&mut self, slots: &Slots<Dual<M>>) {
        self.q = slots.norm_squared(|c| c.s);
    }

    /// `w_i`.
    pub(crate) fn weight<M: Mean>(&self, cell: &Cell<Dual<M>>) -> f64 {
        self.a * cell.s
    }

    /// The average of `w_1 .. w_t` at one coordinate.
    pub(crate) fn average<M: Mean>(&self, cell: &Cell<Dual<M>>) -> Option<f64> {
        (M::KEPT && self.t > 0).then(|| (self.sum_a * cell.s - cell.state.0.get()) / self.t as f64)
    }

    /// `|w|^2`.
    pub(crate) fn norm_squared(&self) -> f64 {
        self.a * self.a * self.q
    }
}
