//! How the members' predictions become one.
//!
//! Three ways at once: exponential weights (for the logistic loss at rate 1: Bayes), fixed share, which
//! follows the best member when it changes, and the stack. Exponential weights over the three decide.
//!
//! ```text
//! weight_k ~ exp(-eta L_k)                        exponential weights, L_k the member's total loss
//! v_k ~ v_k exp(-eta loss_k); v <- (1 - a) v + a/K    fixed share, a = 1/(t + 2), t from 0
//! ```
//!
//! Where a rate is known at which exponential weights cost a constant, `eta` is that rate: then the
//! total loss exceeds the best member's by at most `ln K/eta + ln 3/eta`. Elsewhere it is `ln K`
//! divided by the mixability gap so far (nearly AdaHedge: de Rooij, van Erven, Grünwald, Koolen 2014). Fixed
//! share: Herbster, Warmuth 1998.

use super::rule::{Cost, LANES, Points, Rule, Told};
use super::slot::MEMBERS;
use super::stack::{Asked, Stack};
use serde::{Deserialize, Serialize};

/// The ways to mix.
const WAYS: usize = 3;
/// Where the stack stands behind the members.
const STACKED: usize = MEMBERS;
const _: () = assert!(STACKED + 1 < LANES);
/// Their names.
pub(super) const WAY_NAMES: [&str; WAYS] = ["exponential-weights", "fixed-share", "stack"];

/// Exponential weights over `N` experts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "[f64; N]: Serialize", deserialize = "[f64; N]: Deserialize<'de>"))]
struct Hedge<const N: usize> {
    losses: [f64; N],
    /// The probabilities of what happened that are not among the losses yet, multiplied: a logarithm for many rounds.
    #[serde(default = "nothing_fresh")]
    fresh: [f64; N],
    weights: [f64; N],
    /// The sum of `mean loss - mix loss`.
    gap: f64,
    /// Rounds so far.
    rounds: f64,
    /// How many of the experts there are; the others never get weight.
    among: usize,
}

impl<const N: usize> Hedge<N> {
    fn new(among: usize) -> Self {
        let mut weights = [0.0; N];
        weights[..among].fill(1.0 / among as f64);
        Self { losses: [0.0; N], fresh: nothing_fresh(), weights, gap: 0.0, rounds: 0.0, among }
    }

    /// The rate: given, or from the gap. A hundredth of the mean loss is added to the gap, so that a tie is
    /// not broken by rounding.
    fn eta(&self, given: Option<f64>) -> f64 {
        let n = self.among as f64;
        given.unwrap_or_else(|| {
            let mean = self.losses.iter().sum::<f64>().abs() / (n * self.rounds.max(1.0));
            n.ln() / (self.gap + 0.01 * mean).max(1e-300)
        })
    }

    /// The total losses.
    fn totals(&self) -> [f64; N] {
        std::array::from_fn(|k| self.losses[k] - self.fresh[k].ln())
    }

    /// Learns what every expert's prediction cost in a row of weight `c`.
    #[inline(always)]
    fn update(&mut self, costs: &[Cost; N], c: f64, given: Option<f64>) {
        if c == 1.0
            && let Some(right) = all_right(costs)
        {
            return self.multiply(&right);
        }
        self.add(costs, c, given);
    }

    /// The same for any losses.
    #[inline(never)]
    fn add(&mut self, costs: &[Cost; N], c: f64, given: Option<f64>) {
        self.losses = self.totals();
        self.fresh = nothing_fresh();
        let (n, losses) = (self.among, &costs.map(|cost| c * cost.loss()));
        if given.is_none() {
            // mix = -(1/eta) ln sum of weight exp(-eta loss)
            let eta = self.eta(None);
            let heard = || losses[..n].iter().zip(&self.weights).filter(|(_, w)| **w > 0.0);
            let least = heard().map(|(l, _)| *l).fold(f64::INFINITY, f64::min);
            let mean: f64 = heard().map(|(l, w)| w * (l - least)).sum();
            let sum: f64 = heard().map(|(l, w)| w * (-eta * (l - least)).exp()).sum();
            self.gap += (mean + sum.ln() / eta).max(0.0);
        }
        self.rounds += 1.0;
        for (total, loss) in self.losses[..n].iter_mut().zip(losses) {
            *total += loss;
        }
        self.weigh(self.eta(given));
    }

    /// The same for probabilities: exponential weights at rate 1 are multiplied by them.
    #[inline(always)]
    fn multiply(&mut self, right: &[f64; N]) {
        self.rounds += 1.0;
        // Written whole: parts would have to reach the cache before they could be read as one.
        let (mut fresh, mut weights) = (self.fresh, self.weights);
        for k in 0..N {
            let right = if k < self.among { right[k] } else { 1.0 };
            fresh[k] *= right;
            weights[k] *= right;
        }
        let (mut least, mut sum) = (1.0, 0.0);
        for k in 0..N {
            sum += weights[k];
            least = if fresh[k] < least { fresh[k] } else { least };
        }
        self.fresh = fresh;
        if least > SMALLEST {
            for weight in &mut weights {
                *weight /= sum;
            }
            self.weights = weights;
        } else {
            self.settle();
        }
    }

    /// Has the losses up to date, and weighs by them.
    #[cold]
    fn settle(&mut self) {
        self.losses = self.totals();
        self.fresh = nothing_fresh();
        self.weigh(1.0);
    }

    /// `weight ~ exp(-eta loss)`.
    fn weigh(&mut self, eta: f64) {
        let n = self.among;
        let least = self.losses[..n].iter().copied().fold(f64::INFINITY, f64::min);
        for (w, total) in self.weights[..n].iter_mut().zip(&self.losses) {
            *w = shrink(eta * (total - least));
        }
        let sum: f64 = self.weights[..n].iter().sum();
        self.weights[..n].iter_mut().for_each(|w| *w /= sum);
    }
}

fn nothing_fresh<const N: usize>() -> [f64; N] {
    [1.0; N]
}

/// The probabilities, where all costs are such.
#[inline(always)]
fn all_right<const N: usize>(costs: &[Cost; N]) -> Option<[f64; N]> {
    let mut right = [0.0; N];
    for (right, cost) in right.iter_mut().zip(costs) {
        let Cost::Right(p) = *cost else { return None };
        *right = p;
    }
    Some(right)
}

/// Products of probabilities are told apart from the losses until they are below this.
const SMALLEST: f64 = 1e-50;

/// `exp(-x)`; nothing where that is too little to be seen in a sum with 1: no prediction of a probability is below
/// `exp(-50)` and weights are told anew when a product of them is below `exp(-115)`, so that even an expert who alone was
/// right since would add less than `exp(-80)` of what the others say.
#[inline]
fn shrink(x: f64) -> f64 {
    if x > 250.0 { 0.0 } else { (-x).exp() }
}

/// The state of all three, and of the weights over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mixing {
    members: Hedge<MEMBERS>,
    share: [f64; MEMBERS],
    stack: Option<Stack>,
    ways: Hedge<WAYS>,
    /// Rounds so far.
    t: u64,
}

/// What each way predicts, and what all predict together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixed {
    /// The members' points; behind them those of the stack, as it predicts and as it learns.
    pub(super) points: Points,
    ways: [f64; WAYS],
    way_points: [(f64, f64); WAYS],
    asked: Asked,
    /// The prediction.
    pub(super) z: f64,
}

impl Mixing {
    pub(super) fn new(stack: bool) -> Self {
        Self {
            members: Hedge::new(MEMBERS),
            share: [1.0 / MEMBERS as f64; MEMBERS],
            stack: stack.then(Stack::default),
            ways: Hedge::new(if stack { WAYS } else { WAYS - 1 }),
            t: 0,
        }
    }

    /// Blends the members' predictions `z`. With `tracking` fixed share alone decides.
    #[inline(always)]
    pub(super) fn mix<R: Rule>(
        &self,
        rule: &R,
        memory: &R::Memory,
        z: &[f64; MEMBERS],
        tracking: bool,
        mixed: &mut Mixed,
    ) {
        // One exponential for all who predict.
        let mut said = [0.0; LANES];
        said[..MEMBERS].copy_from_slice(z);
        let stack = self.stack.as_ref().zip(rule.stacking()).filter(|_| !tracking);
        if let Some((stack, kind)) = stack {
            let score = stack.predict(kind, z, rule.unit(memory), &mut mixed.asked);
            said[STACKED] = rule.predicted(memory, score);
            said[STACKED + 1] = mixed.asked.m;
        }
        mixed.points = rule.points(&said);
        let Points { first, second } = &mixed.points;
        let blend = |weights: &[f64; MEMBERS]| {
            let sum = |points: &[f64; LANES]| weights.iter().zip(points).map(|(w, p)| w * p).sum();
            (sum(first), sum(second))
        };
        let shared = blend(&self.share);
        if tracking {
            mixed.z = rule.score(shared);
            return;
        }
        let weighted = blend(&self.members.weights);
        let stacked = if stack.is_some() { mixed.points.get(STACKED) } else { (0.0, 1.0) };
        // Other than probabilities, points are the predictions themselves.
        let (ways, way_points) = ([weighted.0, shared.0, said[STACKED]], [weighted, shared, stacked]);
        let blended = self.ways.weights.iter().zip(&way_points);
        mixed.z = rule.score(blended.fold((0.0, 0.0), |(a, b), (w, p)| (a + w * p.0, b + w * p.1)));
        (mixed.ways, mixed.way_points) = (ways, way_points);
    }

    /// Learns what happened. `told` has what each member's prediction cost.
    #[inline(always)]
    pub(super) fn update<R: Rule>(
        &mut self,
        rule: &R,
        mixed: &Mixed,
        told: &[Told; MEMBERS],
        (y, c): (f64, f64),
        tracking: bool,
    ) {
        let rate = rule.rate();
        let costs = told.map(|told| told.cost);
        let factors = all_right(&costs).filter(|_| c == 1.0).unwrap_or_else(|| {
            let losses = costs.map(|cost| c * cost.loss());
            let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
            let eta = self.members.eta(rate);
            losses.map(|loss| shrink(eta * (loss - least)))
        });
        let (mut share, mut sum) = (self.share, 0.0);
        for k in 0..MEMBERS {
            share[k] *= factors[k];
        }
        for v in share {
            sum += v;
        }
        let a = 1.0 / (self.t as f64 + 2.0);
        let (kept, given) = ((1.0 - a) / sum, a / MEMBERS as f64);
        for v in &mut share {
            *v = kept * *v + given;
        }
        self.share = share;
        self.t += 1;
        self.members.update(&costs, c, rate);
        if tracking {
            return;
        }
        let cost = |k: usize| rule.told(mixed.way_points[k], mixed.ways[k], mixed.ways[k], y).cost;
        self.ways.update(&std::array::from_fn(cost), c, rate);
        if let (Some(stack), Some(kind)) = (&mut self.stack, rule.stacking()) {
            stack.update(kind, &mixed.asked, mixed.points.get(STACKED + 1), y, c);
        }
    }

    /// Has as many experts as the mixing that was built.
    pub(super) fn limit(&mut self, built: &Mixing) {
        self.members.among = built.members.among;
        self.ways.among = built.ways.among;
    }

    /// Total losses of the members.
    pub(super) fn losses(&self) -> [f64; MEMBERS] {
        self.members.totals()
    }

    /// The member of the largest weight.
    pub(super) fn heaviest(&self, tracking: bool) -> usize {
        let weights = self.weights(tracking);
        (0..MEMBERS).rev().max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0)
    }

    /// The weights of the members: those of fixed share when it decides, else the exponential ones.
    pub(super) fn weights(&self, tracking: bool) -> &[f64; MEMBERS] {
        if tracking { &self.share } else { &self.members.weights }
    }

    /// Names and weights of the ways that decide.
    pub(super) fn ways(&self, tracking: bool) -> Vec<(&'static str, f64)> {
        if tracking {
            return vec![(WAY_NAMES[1], 1.0)];
        }
        WAY_NAMES.into_iter().zip(self.ways.weights).take(self.ways.among).collect()
    }

    /// The most that the total loss exceeds the best member's by, at rate `eta`.
    pub(super) fn excess(&self, eta: f64, tracking: bool) -> f64 {
        let k = (MEMBERS as f64).ln();
        let more = if tracking { (self.t as f64 + 1.0).ln() } else { (self.ways.among as f64).ln() };
        (k + more) / eta
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::Logistic;
    use super::*;

    fn mix(mixing: &Mixing, z: &[f64; MEMBERS], tracking: bool) -> Mixed {
        let mut mixed = Mixed::default();
        mixing.mix(&Logistic, &(), z, tracking, &mut mixed);
        mixed
    }

    #[test]
    fn two_rounds_by_hand() {
        // One member says 3 to 1, the others even odds; the positive label comes.
        let mut mixing = Mixing::new(false);
        let third = 3f64.ln();
        let z = [third, 0.0, 0.0, 0.0, 0.0, 0.0];
        let mixed = mix(&mixing, &z, false);
        // (3/4 + 5/2)/6 = 13/24.
        assert!((mixed.z - (13f64 / 11.0).ln()).abs() < 1e-14);
        let told = std::array::from_fn(|k| Logistic.told(mixed.points.get(k), 0.0, 0.0, 1.0));
        mixing.update(&Logistic, &mixed, &told, (1.0, 1.0), false);
        // Exponential weights 3:2:2:2:2:2, share half of that and half of uniform.
        let (weights, share) = (mixing.members.weights, mixing.share);
        assert!((weights[0] - 3.0 / 13.0).abs() < 1e-15 && (weights[1] - 2.0 / 13.0).abs() < 1e-15);
        assert!((share[0] - (3.0 / 26.0 + 1.0 / 12.0)).abs() < 1e-15);
        // The two ways predicted the same, so both keep one half; now
        // p = (3/13 + share_0)/2 * 3/4 + the rest / 2.
        let first = f64::midpoint(3.0 / 13.0, share[0]);
        let p = first * 0.75 + (1.0 - first) * 0.5;
        let mixed = mix(&mixing, &z, false);
        assert!((mixed.z - (p / (1.0 - p)).ln()).abs() < 1e-14);
        assert!((mix(&mixing, &[0.0; 6], true).z).abs() < 1e-15);
    }

    #[test]
    fn the_adaptive_rate_follows_the_leader_until_the_leader_fails() {
        let mut weights = Hedge::<2>::new(2);
        weights.update(&[Cost::Loss(1.0), Cost::Loss(0.0)], 1.0, None);
        // Even weights lost 1/2, the mix (rate beyond all bounds) 0.
        assert!((weights.gap - 0.5).abs() < 1e-12 && weights.weights[1] > weights.weights[0]);
        let eta = 2f64.ln() / 0.505;
        assert!((weights.weights[0] - 1.0 / (1.0 + eta.exp())).abs() < 1e-12);
    }
}
