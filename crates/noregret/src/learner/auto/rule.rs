//! How a loss moves the members and how their predictions are blended: the logistic loss by its own
//! formulas, every other convex loss by asking it for slopes.

use super::lanes;
use super::slot::{DESCENTS, MEMBERS, WEIGHTED};
use crate::loss::{self, Loss, Task, ln_1p};
use crate::parameter::Parameters;
use serde::{Deserialize, Serialize};

/// Margins beyond this are cut: `exp(-50)` is as good as never.
const FARTHEST: f64 = 50.0;

/// Predictions are computed in so many lanes, which any width of registers divides.
pub(super) const LANES: usize = 8;

/// What the members need to know of a loss.
pub(super) trait Rule: Default + Send + Sync + 'static {
    /// What a rule remembers of the labels, for model files.
    type Memory: Clone + Default + Serialize + for<'a> Deserialize<'a> + Send + Sync + 'static;

    /// What the weights say, cut where the loss's slope would know no measure.
    fn tamed(&self, _: &Self::Memory, m: f64) -> f64 {
        m
    }
    /// The number a member predicts, whose weights say `m`.
    fn predicted(&self, memory: &Self::Memory, m: f64) -> f64;
    /// The loss of a prediction.
    fn loss(&self, z: f64, y: f64) -> f64;
    /// Its slope.
    fn slope(&self, z: f64, y: f64) -> f64;
    /// What a member that predicted `z` is told, whose weights said `m`.
    fn told(&self, point: (f64, f64), z: f64, m: f64, y: f64) -> Told;
    /// The loss and its slope at the prediction itself, where `told` is what its member was told.
    fn at(&self, z: f64, y: f64, _told: &Told) -> (f64, f64) {
        (self.loss(z, y), self.slope(z, y))
    }
    /// Takes note of a label, before the members learn from it.
    fn note(&self, memory: &mut Self::Memory, y: f64);
    /// The unit of a weight that multiplies `x/s`: the size of the labels, or 1.
    fn unit(&self, memory: &Self::Memory) -> f64;
    /// The unit of weight over slope.
    fn gain(&self, memory: &Self::Memory) -> f64;
    /// No slope is larger (so far).
    fn steepest(&self, memory: &mut Self::Memory, slope: f64) -> f64;
    /// How the members with weights move, see [`Moves`]. `m` are their margins, `c` the weight, `ways` what `m` moves by
    /// for a unit of `u`, filled up with zeros.
    fn moves(&self, m: &[f64; MEMBERS], y: f64, c: f64, ways: &[f64; LANES], told: &[Told; MEMBERS])
    -> Moves;
    /// Predictions as pairs of numbers whose weighted means are what blending means.
    fn points(&self, z: &[f64; LANES]) -> Points;
    /// The prediction of a blended point.
    fn score(&self, point: (f64, f64)) -> f64;
    /// The rate at which exponential weights are known to cost a constant, where there is one.
    fn rate(&self) -> Option<f64>;
    /// Whether labels so far kept what [`Rule::rate`] rests on.
    fn kept(&self, memory: &Self::Memory) -> bool;
    /// Whether the loss is never below 0, so that its rounding is measured by itself.
    fn grounded(&self) -> bool;
    /// How the stack reads predictions; none where it is not worth its place.
    fn stacking(&self) -> Option<Stacking>;
}

/// What [`Rule::points`] makes of predictions: the first numbers side by side, and the second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Points {
    pub(super) first: [f64; LANES],
    pub(super) second: [f64; LANES],
}

impl Points {
    /// One of them.
    #[inline(always)]
    pub(super) fn get(&self, k: usize) -> (f64, f64) {
        (self.first[k], self.second[k])
    }
}

/// What a member is told of its prediction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The slope where the weights said `m`.
    pub(super) slope: f64,
    /// What the prediction cost.
    pub(super) cost: Cost,
}

/// What a prediction cost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cost {
    /// A loss.
    Loss(f64),
    /// The probability of what happened, whose logarithm is the loss: then the rate is 1, and weights are multiplied by
    /// it as it is.
    Right(f64),
}

impl Cost {
    /// The loss.
    pub(super) fn loss(self) -> f64 {
        match self {
            Self::Loss(loss) => loss,
            Self::Right(right) => (-right.ln()).max(0.0),
        }
    }
}

/// How the members with weights move; lanes that no member has mean nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moves {
    /// The slopes: a descent's margin becomes `m - kappa u`, with `u` the mean slope on the way; a Bayesian's
    /// `m - v u`, with `u = c slope(m - v u)`.
    pub(super) u: [f64; LANES],
    /// The curvatures where the Bayesians end; nothing for the descents.
    pub(super) curvature: [f64; LANES],
}

/// What kind of regression the stack is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stacking {
    /// Of probabilities on logits.
    Logistic,
    /// Of labels on predictions.
    Square,
}

/// `1/(1 + exp(-z))` and `1/(1 + exp(z))`.
#[inline(always)]
pub(super) fn probabilities(z: f64) -> (f64, f64) {
    split(z, (-z.abs()).exp())
}

/// The same, where `e` is `exp(-|z|)`.
#[inline(always)]
fn split(z: f64, e: f64) -> (f64, f64) {
    let large = 1.0 / (1.0 + e);
    let small = e * large;
    if z < 0.0 { (small, large) } else { (large, small) }
}

/// One of two numbers, without a jump: whoever guesses labels is wrong half of the time.
#[inline(always)]
fn either(first: bool, a: f64, b: f64) -> f64 {
    let mask = u64::from(first).wrapping_neg();
    f64::from_bits(a.to_bits() & mask | b.to_bits() & !mask)
}

/// Two numbers whose quotient is `exp(y m)`: where the margin was not cut, the member was told of the odds.
#[inline(always)]
fn odds(m: f64, y: f64, told: &Told) -> (f64, f64) {
    match told.cost {
        Cost::Right(right) if m.abs() < FARTHEST => (right, told.slope.abs()),
        _ => (far_odds(m, y), 1.0),
    }
}

/// Ten times as far the same is true of sums with 1, and of products with these.
#[cold]
fn far_odds(m: f64, y: f64) -> f64 {
    (y * m).clamp(-10.0 * FARTHEST, 10.0 * FARTHEST).exp()
}

/// The logistic loss: probabilities are blended, and the rate 1 costs `ln K` in all.
#[derive(Default)]
pub(super) struct Logistic;

impl Rule for Logistic {
    type Memory = ();

    #[inline(always)]
    fn predicted(&self, (): &(), m: f64) -> f64 {
        m.clamp(-FARTHEST, FARTHEST)
    }

    #[inline(always)]
    fn loss(&self, z: f64, y: f64) -> f64 {
        let m = y * z;
        ln_1p((-m.abs()).exp()) + (-m).max(0.0)
    }

    #[inline(always)]
    fn slope(&self, z: f64, y: f64) -> f64 {
        -y * probabilities(y * z).1
    }

    #[inline(always)]
    fn told(&self, (p, q): (f64, f64), _z: f64, _m: f64, y: f64) -> Told {
        let (right, wrong) = (either(y > 0.0, p, q), either(y > 0.0, q, p));
        Told { slope: -y * wrong, cost: Cost::Right(right) }
    }

    // The probabilities are known: a few roundings from the odds, whose logarithm keeps its digits also near 0.
    #[inline(always)]
    fn at(&self, z: f64, y: f64, told: &Told) -> (f64, f64) {
        let Cost::Right(right) = told.cost else { return (self.loss(z, y), self.slope(z, y)) };
        let wrong = told.slope.abs();
        let loss = if right >= wrong { ln_1p(wrong / right) } else { ln_1p(right / wrong) + z.abs() };
        (loss, told.slope)
    }

    #[inline(always)]
    fn note(&self, (): &mut (), _: f64) {}

    #[inline(always)]
    fn unit(&self, (): &()) -> f64 {
        1.0
    }

    #[inline(always)]
    fn gain(&self, (): &()) -> f64 {
        1.0
    }

    #[inline(always)]
    fn steepest(&self, (): &mut (), _: f64) -> f64 {
        1.0
    }

    /// With `a = y m`, `e = exp(a)` and `d` the way done, a descent follows the gradient for the whole weight instead of
    /// leaping along it: `m' = kappa s(-y m)` for a time `c` ends where `d + e (exp(d) - 1) = c kappa`. A Bayesian ends
    /// where `d = c v s(-a - d)`, which is `d + e d exp(d) = c v`. Both sides ascend and are convex. Their second
    /// derivatives have the same exponential in them, so Halley's steps cost hardly more than Newton's and are seldom more
    /// than two; all members take them at once.
    #[inline(always)]
    fn moves(
        &self,
        m: &[f64; MEMBERS],
        y: f64,
        c: f64,
        ways: &[f64; LANES],
        told: &[Told; MEMBERS],
    ) -> Moves {
        // Lanes that no member has begin at their end.
        let (mut right, mut wrong, mut ends, mut way) =
            ([1.0; LANES], [1.0; LANES], [0.0; LANES], [1.0; LANES]);
        for i in 0..WEIGHTED {
            (right[i], wrong[i]) = odds(m[i], y, &told[i]);
        }
        for i in 0..LANES {
            ends[i] = c * ways[i];
            // Where there is no way, none is divided by.
            way[i] = if ends[i] > 0.0 { ways[i] } else { 1.0 };
        }
        let mut e = [1.0; LANES];
        for i in 0..LANES {
            e[i] = right[i] / wrong[i];
        }
        // The root with `exp(d)` cut after its third (or second) term is beyond the root; so is a logarithm, which is
        // nearer where the way is long.
        let mut d = [0.0; LANES];
        for i in 0..LANES {
            let (once, twice) = (1.0 + e[i], if i < DESCENTS { 2.0 } else { 4.0 });
            let near = 2.0 * ends[i] / (once + (once * once + twice * e[i] * ends[i]).sqrt());
            let far = lanes::ln_from_above(1.0 + ends[i] / e[i]);
            d[i] = if far < near { far } else { near };
        }
        // The odds where they end.
        let mut ahead = e;
        for _ in 0..50 {
            let mut near = true;
            for i in 0..LANES {
                let more = lanes::exp_m1_nearly(d[i]);
                let odds = e[i] * (1.0 + more);
                let (height, slope, bend) = if i < DESCENTS {
                    (e[i] * more, odds, odds)
                } else {
                    (odds * d[i], odds * (1.0 + d[i]), odds * (2.0 + d[i]))
                };
                let (over, slope) = (d[i] + height - ends[i], 1.0 + slope);
                let square = slope * slope;
                let (under, least) = (square - 0.5 * over * bend, 0.5 * square);
                let step = over * slope / if under > least { under } else { least };
                d[i] -= step;
                ahead[i] = odds * (1.0 - step * (1.0 - 0.5 * step));
                // What is left is less than half of the step's cube.
                near &= (step * step * step).abs() <= 1e-7 * d[i];
            }
            if near {
                break;
            }
        }
        let (mut u, mut curvature) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            let wrong = 1.0 / (1.0 + ahead[i]);
            let steps = d[i] / way[i];
            u[i] = -y * if ends[i] > 0.0 { steps } else { c * wrong };
            curvature[i] = c * wrong * (ahead[i] * wrong);
        }
        curvature[..DESCENTS].fill(0.0);
        Moves { u, curvature }
    }

    #[inline(always)]
    fn points(&self, z: &[f64; LANES]) -> Points {
        let mut e = [0.0; LANES];
        for k in 0..LANES {
            e[k] = -z[k].abs();
        }
        let e = lanes::exp(e);
        let mut points = Points::default();
        for k in 0..LANES {
            (points.first[k], points.second[k]) = split(z[k], e[k]);
        }
        points
    }

    #[inline(always)]
    fn score(&self, (p, q): (f64, f64)) -> f64 {
        (p / q).ln()
    }

    #[inline(always)]
    fn rate(&self) -> Option<f64> {
        Some(1.0)
    }

    #[inline(always)]
    fn kept(&self, (): &()) -> bool {
        true
    }

    #[inline(always)]
    fn grounded(&self) -> bool {
        true
    }

    #[inline(always)]
    fn stacking(&self) -> Option<Stacking> {
        Some(Stacking::Logistic)
    }
}

/// Any other convex loss: predictions themselves are blended.
pub(super) struct Convex {
    loss: Box<dyn Loss>,
    /// The loss is a function of `z - y`, so predictions have the unit of labels.
    located: bool,
    /// The slope grows like an exponential: the best number for a label is its logarithm (Poisson).
    steep: bool,
    /// The slope changes gradually.
    smooth: bool,
    /// It is the square loss.
    square: bool,
    /// A bound on labels that was promised.
    bound: Option<f64>,
}

/// The labels so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Labels {
    lowest: f64,
    highest: f64,
    /// Their size, which at most doubles in a row.
    size: f64,
    /// The largest slope so far.
    steepest: f64,
    any: bool,
}

impl Convex {
    pub(super) fn new(loss: Box<dyn Loss>, bound: Option<f64>) -> Self {
        let at = |z: f64, y: f64| loss.slope(z, y);
        let located = loss.entry().task == Task::Real && [1.0, 3.0].iter().all(|&y| at(y, y) == 0.0);
        let smooth = at(0.31, 1.0) - at(0.29, 1.0) > 1e-6;
        // The only one whose slope is exactly 2 (z - y), at any distance.
        let square = located && [0.5, 64.0, 4096.0].iter().all(|&r| at(1.0 + r, 1.0) == 2.0 * r);
        let steep = [1.0f64, 3.0].iter().all(|&y| at(y.ln(), y).abs() < 1e-12) && at(9.0, 1.0) > 1e3;
        Self { loss, located, steep, smooth, square, bound: bound.filter(|_| square) }
    }
}

impl Default for Convex {
    fn default() -> Self {
        let square = (loss::ENTRIES[0].build)(&Parameters::default());
        Self::new(square.expect("the first loss has no parameters that could be wrong"), None)
    }
}

impl Convex {
    /// The slope by which a descent moves, which is also that of a Bayesian.
    pub(super) fn descend(&self, m: f64, y: f64, c: f64, kappa: f64) -> f64 {
        let k = c * kappa;
        if k <= 0.0 {
            return 0.0;
        }
        if self.square {
            return c * 2.0 * (m - y) / (1.0 + 2.0 * k);
        }
        (m - self.proximal(m, y, k)) / kappa
    }

    /// The curvature between `m` and `m - way`, where a Bayesian moved by the slope `u`.
    fn curvature(&self, m: f64, y: f64, c: f64, way: f64, u: f64) -> f64 {
        if self.square {
            return 2.0 * c;
        }
        if !self.smooth {
            // Straight pieces have no curvature; the square of the slope stands in for it.
            return u * u / c;
        }
        if way == 0.0 { 0.0 } else { c * (self.slope(m, y) - self.slope(m - way, y)) / way }
    }

    /// Where a proximal step from `m` of length `kappa c` ends: the root of
    /// `p - m + kappa c slope(p)`, which ascends.
    pub(super) fn proximal(&self, m: f64, y: f64, k: f64) -> f64 {
        let slope = self.loss.slope(m, y);
        let far = m - k * slope;
        // A straight piece; or the lowest point of a kink, where a proximal step would rest for ever.
        if slope == 0.0 || self.loss.slope(far, y) == slope || self.loss.value(m, y) <= self.loss.floor(y) {
            return far;
        }
        // Of two straight pieces the kink is where the step ends, unless it gets across.
        if let Some(kink) = self.loss.kink(y) {
            // Without a slope there is no way, however long: what is no number is passed over.
            return kink.at.max(m - k * kink.right).min(m - k * kink.left);
        }
        let height = |p: f64| p - m + k * self.loss.slope(p, y);
        let (mut low, mut high) = if far < m { (far, m) } else { (m, far) };
        let (mut under, mut over) = (height(low), height(high));
        let mut side = 0;
        for _ in 0..100 {
            let mut p = (low * over - high * under) / (over - under);
            // The secant, one of whose ends is pulled in when it rests (Illinois); else the middle.
            if !(p > low && p < high) {
                p = f64::midpoint(low, high);
            }
            let h = height(p);
            if h == 0.0 || high - low <= 1e-12 * (low.abs() + high.abs()) {
                return p;
            }
            if h > 0.0 {
                (high, over) = (p, h);
                if side == 1 {
                    under /= 2.0;
                }
                side = 1;
            } else {
                (low, under) = (p, h);
                if side == -1 {
                    over /= 2.0;
                }
                side = -1;
            }
        }
        f64::midpoint(low, high)
    }
}

impl Rule for Convex {
    type Memory = Labels;

    // No prediction is worth more than the logarithm of the largest label, and one row too high would cost more than all others.
    fn tamed(&self, memory: &Labels, m: f64) -> f64 {
        if self.steep { m.clamp(-FARTHEST, memory.highest.max(1.0).ln()) } else { m }
    }

    fn predicted(&self, memory: &Labels, m: f64) -> f64 {
        if !self.located {
            m.clamp(-FARTHEST, FARTHEST)
        } else if let Some(bound) = self.bound {
            m.clamp(-bound, bound)
        } else {
            m.clamp(memory.lowest, memory.highest)
        }
    }

    fn loss(&self, z: f64, y: f64) -> f64 {
        self.loss.value(z, y)
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        self.loss.slope(z, y)
    }

    fn told(&self, _: (f64, f64), z: f64, m: f64, y: f64) -> Told {
        Told { slope: self.loss.slope(m, y), cost: Cost::Loss(self.loss.value(z, y)) }
    }

    fn note(&self, memory: &mut Labels, y: f64) {
        if !memory.any {
            *memory = Labels { lowest: y, highest: y, any: true, ..Labels::default() };
        }
        memory.lowest = memory.lowest.min(y);
        memory.highest = memory.highest.max(y);
        let size = y.abs();
        if memory.size == 0.0 {
            memory.size = size;
        }
        memory.size = memory.size.max(size.min(2.0 * memory.size));
    }

    fn unit(&self, memory: &Labels) -> f64 {
        if self.located && memory.size > 0.0 { memory.size } else { 1.0 }
    }

    fn gain(&self, memory: &Labels) -> f64 {
        if self.smooth { 1.0 } else { self.unit(memory) }
    }

    fn steepest(&self, memory: &mut Labels, slope: f64) -> f64 {
        if let Some(bound) = self.loss.lipschitz() {
            return bound;
        }
        memory.steepest = memory.steepest.max(slope.abs());
        if memory.steepest > 0.0 { memory.steepest } else { 1.0 }
    }

    fn moves(&self, m: &[f64; MEMBERS], y: f64, c: f64, ways: &[f64; LANES], _: &[Told; MEMBERS]) -> Moves {
        let mut moves = Moves::default();
        for i in 0..WEIGHTED {
            moves.u[i] = self.descend(m[i], y, c, ways[i]);
            if i >= DESCENTS {
                moves.curvature[i] = self.curvature(m[i], y, c, ways[i] * moves.u[i], moves.u[i]);
            }
        }
        moves
    }

    fn points(&self, z: &[f64; LANES]) -> Points {
        Points { first: *z, second: [1.0; LANES] }
    }

    fn score(&self, (z, _): (f64, f64)) -> f64 {
        z
    }

    fn rate(&self) -> Option<f64> {
        self.bound.map(|b| 1.0 / (8.0 * b * b))
    }

    fn kept(&self, memory: &Labels) -> bool {
        self.bound.is_none_or(|b| memory.lowest >= -b && memory.highest <= b)
    }

    fn grounded(&self) -> bool {
        self.located || self.loss.entry().task == Task::Binary
    }

    fn stacking(&self) -> Option<Stacking> {
        (self.located && self.smooth).then_some(Stacking::Square)
    }
}
