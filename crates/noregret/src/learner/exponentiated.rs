//! Exponential weights: on the simplex scaled by `U`, or (EG+-) on the l1 ball of radius `U`.
//!
//! ```text
//! l1 ball:  w_i = U (exp(-eta S_i) - exp(eta S_i)) / Z     Z = sum of both over all i
//! simplex:  w_i = U exp(-eta S_i) / Z                      Z = sum over all i
//! ```
//!
//! `S` is the sum of the gradients, which the ledger keeps anyway; `Z` follows every change of an
//! `S_i` in O(1), relative to a reference exponent so that nothing overflows, and is computed anew at
//! fixed rounds and when it has fallen far below where it was. Without `--eta` the rate is
//! `sqrt(2 ln(n)/V)`, `V` the sum of `|g|_inf^2` rounded up to a power of two times the first one: it
//! changes a logarithmic number of times, never upward, and depends on the past alone.
//!
//! On the l1 ball the dimension may grow. A new coordinate joins with `exp(0)` twice; because the
//! mean of the exponentials is never below 1, that lowers the normalised potential, and the bound
//! holds with the last dimension. On the simplex the dimension is needed from the start.
//!
//! State: `S`. Cost: O(nonzeros) a round.
//!
//! Theorems: `regret/bound/exponentiated.rs`, `regret/bound/exponential_weights.rs`. Source:
//! Kivinen, Warmuth 1997 (EG+-); Freund, Schapire 1997 (Hedge).

use super::slots::{Cell, Slots};
use super::{Entry, Learner, Losses, Outcome, Setup, Theorem, refuse_average};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "exponentiated",
    summary: "exponential weights on the l1 ball (EG+-), or on the simplex with --comparator simplex",
    update: "w_i <- U (exp(-eta S_i) - exp(eta S_i))/Z",
    paper: "Kivinen, Warmuth 1997, EG+-; Freund, Schapire 1997, Hedge",
    bound: "exponentiated",
    bytes_per_feature: (8, None),
    losses: Losses::All,
    default_radius: Some(10.0),
    default_comparator: "l1",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "eta",
        kind: Kind::Positive,
        default: None,
        meaning: "a constant rate; from the dimension and the gradients so far when absent",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(Exponentiated::new(setup)?, setup.bias))
    },
};

/// `Z` is computed anew at multiples of this many rounds.
const RECOMPUTE: u64 = 1 << 16;
/// ... and when it has fallen below this part of where it was: what was subtracted leaves its error.
const FALLEN: f64 = 1.0 / 16.0;
/// ... and when rounding may have moved it by this part of itself.
const DRIFTED: f64 = 1e-10;
/// Exponents this far above the reference move the reference.
const HIGH: f64 = 200.0;

#[derive(Serialize, Deserialize)]
struct Exponentiated {
    t: u64,
    radius: f64,
    simplex: bool,
    /// Given by the user.
    constant: Option<f64>,
    /// How many coordinates there were to be, the bias included; 0 when that was not said.
    expected: f64,
    /// The rate for the next round.
    eta: f64,
    /// How many coordinates share the mass, the bias included.
    n: f64,
    /// The sum of the exponentials, each times `exp(-reference)`.
    z: f64,
    reference: f64,
    /// The largest `z` since it was last computed anew.
    peak: f64,
    /// How far rounding may have moved `z` since then.
    drift: f64,
    /// Sum of `|g|_inf^2`, and the level at which the rate changes next.
    squares: f64,
    ceiling: f64,
    /// Sum of `eta_t |g_t|_inf^2`, for the theorem.
    weighted_squares: f64,
}

impl Exponentiated {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let bias = f64::from(u8::from(setup.bias));
        let n = setup.dimension.map_or(0.0, f64::from) + bias;
        if setup.simplex && setup.dimension.is_none() {
            return Err(UsageError::new(
                "learner `exponentiated` on the simplex starts uniform and needs --dimension N",
            ));
        }
        let constant = setup.parameters.number(ENTRY.parameters, "eta");
        let each = if setup.simplex { 1.0 } else { 2.0 };
        Ok(Self {
            t: 0,
            radius: setup.radius.unwrap_or(10.0),
            simplex: setup.simplex,
            constant,
            expected: if setup.dimension.is_some() { n } else { 0.0 },
            eta: constant.unwrap_or(0.0),
            n,
            z: each * n,
            reference: 0.0,
            peak: each * n,
            drift: 0.0,
            squares: 0.0,
            ceiling: 0.0,
            weighted_squares: 0.0,
        })
    }

    /// The unnormalised mass of one coordinate.
    #[inline(always)]
    fn mass(&self, s: f64) -> f64 {
        let down = (-self.eta * s - self.reference).exp();
        if self.simplex { down } else { down + (self.eta * s - self.reference).exp() }
    }

    /// The unnormalised weight of one coordinate.
    #[inline(always)]
    fn lean(&self, s: f64) -> f64 {
        let down = (-self.eta * s - self.reference).exp();
        if self.simplex { down } else { down - (self.eta * s - self.reference).exp() }
    }

    /// How many coordinates of a row ending at `end` are not counted in `n` yet.
    fn newcomers(&self, slots_bias: bool, end: usize) -> f64 {
        (end as f64 + f64::from(u8::from(slots_bias)) - self.n).max(0.0)
    }

    fn recompute<T: super::Slot>(&mut self, slots: &Slots<T>) {
        let top = slots.iter().map(|c| if self.simplex { -c.s } else { c.s.abs() });
        self.reference = (self.eta * top.fold(0.0, f64::max)).max(0.0);
        let known: f64 = slots.iter().map(|c| self.mass(c.s)).sum();
        let unseen = (self.n - slots.len() as f64).max(0.0);
        self.z = known + unseen * self.mass(0.0);
        self.peak = self.z;
        self.drift = 0.0;
    }

    /// The mass of the coordinates that the theorem counts.
    fn count(&self) -> f64 {
        if self.simplex { self.n } else { 2.0 * self.n }
    }
}

impl Learner for Exponentiated {
    type Slot = ();

    fn predict<V: Value>(&self, slots: &Slots<()>, x: Features<'_, V>) -> f64 {
        let z = self.z + self.newcomers(slots.bias.is_some(), x.end()) * self.mass(0.0);
        if z <= 0.0 {
            return 0.0;
        }
        let mut sum = slots.dot(x, |c| self.lean(c.s));
        if self.simplex {
            // Coordinates not seen yet hold their share too.
            let seen = x.indices.partition_point(|&i| (i as usize) < slots.cells.len());
            sum += x.values[seen..].iter().map(|v| v.f64()).sum::<f64>() * self.lean(0.0);
        }
        self.radius * sum / z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<()>, x: Features<'_, V>, o: &Outcome) {
        self.t += 1;
        let newcomers = self.newcomers(slots.bias.is_some(), x.end());
        self.z += newcomers * self.mass(0.0);
        self.n += newcomers;
        self.peak = self.peak.max(self.z);
        if o.slope != 0.0 {
            let (mut change, mut lost) = (0.0, 0.0);
            let mut top = f64::NEG_INFINITY;
            let slope = o.slope;
            slots.enter(x, slope, |cell, xi| {
                let old = cell.s - slope * xi;
                let left = self.mass(old);
                change += self.mass(cell.s) - left;
                // `old` is what addition and subtraction left of it; the exponential magnifies that.
                let error = self.eta * f64::EPSILON * (cell.s.abs() + (slope * xi).abs());
                lost += if error < 1e-3 { 2.0 * error * left } else { f64::INFINITY };
                let exponent = if self.simplex { -cell.s } else { cell.s.abs() };
                top = top.max(exponent);
            });
            self.z += change;
            self.drift += lost;
            self.peak = self.peak.max(self.z);
            let longest = x.norm_max().max(if slots.bias.is_some() { 1.0 } else { 0.0 });
            let square = slope * slope * longest * longest;
            self.squares += square;
            let first = self.ceiling == 0.0;
            let eta = self.eta;
            let mut anew = self.eta * top - self.reference > HIGH
                || !self.z.is_finite()
                || self.z < FALLEN * self.peak
                || self.drift > DRIFTED * self.z;
            if self.constant.is_none() && self.squares > self.ceiling {
                if first {
                    self.ceiling = square;
                }
                while self.squares > self.ceiling {
                    self.ceiling *= 2.0;
                }
                let rate = (2.0 * self.count().ln().max(1.0) / self.ceiling).sqrt();
                self.eta = if first { rate } else { rate.min(self.eta) };
                anew = true;
            }
            // Before the first gradient the iterate is the same whatever the rate.
            let used = if first && self.constant.is_none() { self.eta } else { eta };
            self.weighted_squares += used * square;
            if anew {
                self.recompute(slots);
            }
        }
        if self.t.is_multiple_of(RECOMPUTE) {
            self.recompute(slots);
        }
    }

    fn weight(&self, cell: &Cell<()>) -> f64 {
        if self.z > 0.0 { self.radius * self.lean(cell.s) / self.z } else { 0.0 }
    }

    fn ball(&self, _: f64) -> Option<f64> {
        Some(self.radius)
    }

    fn theorem(&self) -> Theorem {
        let bound = if self.simplex { "exponential-weights" } else { "exponentiated" };
        let theorem = Theorem::new(
            bound,
            &[
                ("ball", self.radius),
                ("eta", self.eta),
                ("n", self.count()),
                ("sum_eta_g2", self.weighted_squares),
            ],
        );
        // Where masses may be below their start, a newcomer's raises the potential.
        if self.simplex && self.n > self.expected {
            return theorem.unmet("a feature is beyond --dimension");
        }
        theorem
    }
}
