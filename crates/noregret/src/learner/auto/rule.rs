//! How a loss moves the members and how their predictions are blended: the logistic loss by its own
//! formulas, every other convex loss by asking it for slopes.

use crate::loss::{self, Loss, Task};
use crate::parameter::Parameters;
use serde::{Deserialize, Serialize};

/// Margins beyond this are cut: `exp(-50)` is as good as never.
const FARTHEST: f64 = 50.0;

/// What the members need to know of a loss.
pub(super) trait Rule: Default + Send + Sync + 'static {
    /// What a rule remembers of the labels, for model files.
    type Memory: Clone + Default + Serialize + for<'a> Deserialize<'a> + Send + Sync + 'static;

    /// The number a member predicts, whose weights say `m`.
    fn predicted(&self, memory: &Self::Memory, m: f64) -> f64;
    /// The loss of a prediction.
    fn loss(&self, z: f64, y: f64) -> f64;
    /// Its slope.
    fn slope(&self, z: f64, y: f64) -> f64;
    /// What a member that predicted `z` is told, whose weights said `m`.
    fn told(&self, point: (f64, f64), z: f64, m: f64, y: f64) -> Told;
    /// The slope of the loss at the prediction itself, where `told` is what its member was told.
    fn slope_at(&self, z: f64, y: f64, _told: &Told) -> f64 {
        self.slope(z, y)
    }
    /// Takes note of a label, before the members learn from it.
    fn note(&self, memory: &mut Self::Memory, y: f64);
    /// The unit of a weight that multiplies `x/s`: the size of the labels, or 1.
    fn unit(&self, memory: &Self::Memory) -> f64;
    /// The unit of weight over slope.
    fn gain(&self, memory: &Self::Memory) -> f64;
    /// No slope is larger (so far).
    fn steepest(&self, memory: &mut Self::Memory, slope: f64) -> f64;
    /// The slope `u` by which a descent moves: `m` becomes `m - kappa u`. `c` is the weight, `told` what the member
    /// was told.
    fn descend(&self, m: f64, y: f64, c: f64, kappa: f64, told: &Told) -> f64;
    /// The same for a Bayesian, `u = c slope(m - v u)`, and the curvature there.
    fn condition(&self, m: f64, y: f64, c: f64, v: f64, told: &Told) -> (f64, f64);
    /// A prediction as a pair of numbers whose weighted means are what blending means.
    fn point(&self, z: f64) -> (f64, f64);
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

/// What a member is told of its prediction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The loss of the prediction.
    pub(super) loss: f64,
    /// The slope where the weights said `m`.
    pub(super) slope: f64,
    /// `exp(-eta loss)`, where that is known without a computation: the probability of the label.
    pub(super) right: Option<f64>,
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
#[inline]
pub(super) fn probabilities(z: f64) -> (f64, f64) {
    let e = (-z.abs()).exp();
    let (large, small) = (1.0 / (1.0 + e), e / (1.0 + e));
    if z < 0.0 { (small, large) } else { (large, small) }
}

/// `1/(1 + exp(-z))`.
#[inline]
fn sigmoid(z: f64) -> f64 {
    let e = (-z.abs()).exp();
    (if z < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// `exp(y m)`: what the member was told of is the odds, where the margin was not cut.
#[inline]
fn odds(m: f64, y: f64, told: &Told) -> f64 {
    match told.right {
        Some(right) if m.abs() < FARTHEST => right / told.slope.abs(),
        _ => (y * m).exp(),
    }
}

/// `exp(d) - 1` for `d` above 0: by its series where the difference would lose more than nine digits.
#[inline]
fn exp_m1(d: f64) -> f64 {
    if d < 1e-3 { d * (1.0 + d / 2.0 * (1.0 + d / 3.0 * (1.0 + d / 4.0))) } else { d.exp() - 1.0 }
}

/// The logistic loss: probabilities are blended, and the rate 1 costs `ln K` in all.
#[derive(Default)]
pub(super) struct Logistic;

impl Rule for Logistic {
    type Memory = ();

    fn predicted(&self, (): &(), m: f64) -> f64 {
        m.clamp(-FARTHEST, FARTHEST)
    }

    #[inline]
    fn loss(&self, z: f64, y: f64) -> f64 {
        let m = y * z;
        (-m.abs()).exp().ln_1p() + (-m).max(0.0)
    }

    #[inline]
    fn slope(&self, z: f64, y: f64) -> f64 {
        -y * sigmoid(-y * z)
    }

    #[inline]
    fn told(&self, (p, q): (f64, f64), _z: f64, _m: f64, y: f64) -> Told {
        let (right, wrong) = if y > 0.0 { (p, q) } else { (q, p) };
        Told { loss: (-right.ln()).max(0.0), slope: -y * wrong, right: Some(right) }
    }

    // The probability of the other label, as `point` computed it.
    #[inline]
    fn slope_at(&self, _z: f64, _y: f64, told: &Told) -> f64 {
        told.slope
    }

    fn note(&self, (): &mut (), _: f64) {}

    fn unit(&self, (): &()) -> f64 {
        1.0
    }

    fn gain(&self, (): &()) -> f64 {
        1.0
    }

    fn steepest(&self, (): &mut (), _: f64) -> f64 {
        1.0
    }

    /// Follows the gradient for the whole weight instead of leaping along it: `m' = kappa s(-y m)` for
    /// a time `c` ends where `d + e^a (e^d - 1) = c kappa`, `a = y m`, `d` the way done.
    fn descend(&self, m: f64, y: f64, c: f64, kappa: f64, told: &Told) -> f64 {
        let k = c * kappa;
        if k <= 0.0 {
            return 0.0;
        }
        let e = odds(m, y, told);
        // Both are beyond the root of a convex function: Newton's steps fall towards it. A long way is shorter by the
        // second.
        let mut d = k / (1.0 + e);
        if d > 0.5 {
            d = d.min((k / e).ln_1p());
        }
        for _ in 0..20 {
            let grown = e * exp_m1(d);
            let step = (d + grown - k) / (1.0 + e + grown);
            d -= step;
            // The curvature is at most half of the slope: what is left is less than half of the step's square.
            if step * step <= 1e-7 * d {
                break;
            }
        }
        -y * d / kappa
    }

    fn condition(&self, m: f64, y: f64, c: f64, v: f64, told: &Told) -> (f64, f64) {
        let a = y * m;
        let slope = if m.abs() < FARTHEST { told.slope.abs() } else { sigmoid(-a) };
        let (mut low, mut high) = (0.0, c * slope);
        let mut u = high / (1.0 + v * high);
        let mut curvature = 0.0;
        for _ in 0..40 {
            let (s, q) = probabilities(-(a + v * u));
            let f = u - c * s;
            if f > 0.0 {
                high = u;
            } else {
                low = u;
            }
            let newton = u - f / (1.0 + v * c * s * q);
            let inside = newton > low && newton < high;
            let next = if inside { newton } else { f64::midpoint(low, high) };
            let moved = next - u;
            u = next;
            curvature = c * s * q * (1.0 - v * moved * q) * (1.0 + v * moved * s);
            // The function's slope is at least 1 and its curvature at most 0.1 v^2 c, so that after Newton's step less
            // than 0.05 v^2 c moved^2 is left.
            let left = if inside { (0.05 * v * v * c * moved * moved).min(moved.abs()) } else { moved.abs() };
            if left <= 1e-7 * u {
                break;
            }
        }
        (-y * u, curvature)
    }

    fn point(&self, z: f64) -> (f64, f64) {
        probabilities(z)
    }

    fn score(&self, (p, q): (f64, f64)) -> f64 {
        (p / q).ln()
    }

    fn rate(&self) -> Option<f64> {
        Some(1.0)
    }

    fn kept(&self, (): &()) -> bool {
        true
    }

    fn grounded(&self) -> bool {
        true
    }

    fn stacking(&self) -> Option<Stacking> {
        Some(Stacking::Logistic)
    }
}

/// Any other convex loss: predictions themselves are blended.
pub(super) struct Convex {
    loss: Box<dyn Loss>,
    /// The loss is a function of `z - y`, so predictions have the unit of labels.
    located: bool,
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
        Self { loss, located, smooth, square, bound: bound.filter(|_| square) }
    }
}

impl Default for Convex {
    fn default() -> Self {
        let square = (loss::ENTRIES[0].build)(&Parameters::default());
        Self::new(square.expect("the first loss has no parameters that could be wrong"), None)
    }
}

impl Convex {
    /// Where a proximal step from `m` of length `kappa c` ends: the root of
    /// `p - m + kappa c slope(p)`, which ascends.
    fn proximal(&self, m: f64, y: f64, k: f64) -> f64 {
        let slope = self.loss.slope(m, y);
        let far = m - k * slope;
        // A straight piece; or the lowest point of a kink, where a proximal step would rest for ever.
        if slope == 0.0 || self.loss.slope(far, y) == slope || self.loss.value(m, y) <= self.loss.floor(y) {
            return far;
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
        Told { loss: self.loss.value(z, y), slope: self.loss.slope(m, y), right: None }
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

    fn descend(&self, m: f64, y: f64, c: f64, kappa: f64, _told: &Told) -> f64 {
        let k = c * kappa;
        if k <= 0.0 {
            return 0.0;
        }
        if self.square {
            return c * 2.0 * (m - y) / (1.0 + 2.0 * k);
        }
        (m - self.proximal(m, y, k)) / kappa
    }

    fn condition(&self, m: f64, y: f64, c: f64, v: f64, told: &Told) -> (f64, f64) {
        let u = self.descend(m, y, c, v, told);
        if self.square {
            return (u, 2.0 * c);
        }
        if !self.smooth {
            // Straight pieces have no curvature; the square of the slope stands in for it.
            return (u, u * u / c);
        }
        let way = v * u;
        (u, if way == 0.0 { 0.0 } else { c * (self.slope(m, y) - self.slope(m - way, y)) / way })
    }

    fn point(&self, z: f64) -> (f64, f64) {
        (z, 1.0)
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
