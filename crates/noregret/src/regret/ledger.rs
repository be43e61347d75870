//! The ledger: a regret certificate in one pass.
//!
//! Convexity alone gives `f_t(u) >= f_t(w_t) + <g_t, u - w_t>` for every `u`. With
//!
//! ```text
//! K = sum of (f_t(w_t) - alpha_t z_t)      S = sum of alpha_t x_t      alpha_t = c_t loss'(z_t, y_t)
//! ```
//!
//! and any convex penalty or constraint `Psi` on the comparator,
//! `min over u of [sum f_t(u) + Psi(u)] >= K - Psi*(-S)`: the best model in hindsight cannot have done
//! better, whatever algorithm made the predictions `z_t`. The scalars are here; `S` lies in the
//! learner's slots. Ledgers add.

#[cfg(test)]
mod tests;

use super::{Comparator, Sum, round_down, round_up};
use crate::learner::OwnBook;
use crate::round::{Entered, MOST, Numbers, Rounds, Vector};
use serde::{Deserialize, Serialize};

/// The unit roundoff of f64.
const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The least number above 0: what a product may lose where f64 ends.
const UNDERFLOW: f64 = f64::MIN_POSITIVE * f64::EPSILON;

/// The scalars of a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// Rows seen.
    pub examples: u64,
    /// `T`: rounds with a weight above 0.
    pub rounds: u64,
    /// `n`: sum of the weights.
    pub weight: Sum,
    /// `L`: sum of the losses suffered.
    pub loss: Sum,
    /// `K = L - D`, accumulated directly because `L` and `D` cancel.
    pub k: Sum,
    /// Sum of `|f_t| + |alpha_t z_t|`: what the rounding of `K` is measured by.
    pub magnitude: f64,
    /// `Q`: sum of `|alpha_t| |x_t|`: what the rounding of `S` is measured by.
    pub reach: f64,
    /// `F`: sum of the losses' floors; none when one is minus infinity.
    pub floor: Option<Sum>,
    /// Sum of `|w_t|^2/2`, where the learner knows its norm.
    pub penalty: Option<Sum>,
    /// The longest row, squared.
    pub longest_squared: f64,
    /// The largest gradient norm `|alpha_t| |x_t|`, squared.
    pub gradient_squared: f64,
    /// Sum of the squared gradient norms.
    pub squares: Sum,
    /// The largest and the smallest weight above 0 (1 before the first round).
    pub heaviest: f64,
    /// See `heaviest`.
    pub lightest: f64,
    /// The largest `|y|`.
    pub largest_label: f64,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            examples: 0,
            rounds: 0,
            weight: Sum::default(),
            loss: Sum::default(),
            k: Sum::default(),
            magnitude: 0.0,
            reach: 0.0,
            floor: Some(Sum::default()),
            penalty: Some(Sum::default()),
            longest_squared: 0.0,
            gradient_squared: 0.0,
            squares: Sum::default(),
            heaviest: 1.0,
            lightest: 1.0,
            largest_label: 0.0,
        }
    }
}

impl Book {
    /// Enters rounds in their order, as [`Book::enter`] and [`Book::pass_over`] would one by one, to the bit. What
    /// rounds of weight 1 have in common is done once for all of them.
    pub fn enter_all(&mut self, rounds: &Rounds) {
        // Every round is asked, without a jump for each.
        let others = |numbers: &[f64], this: f64| numbers.iter().map(|&x| u64::from(x != this)).sum::<u64>();
        let plain = others(rounds.weight(), 1.0) + others(rounds.floor(), 0.0) == 0;
        let Some(model) = rounds.model().filter(|_| plain) else {
            for r in rounds.iter() {
                if r.weight > 0.0 {
                    self.enter(&r);
                } else {
                    self.pass_over();
                }
            }
            return;
        };
        if rounds.len() == 0 {
            return;
        }
        let before = self.rounds;
        self.examples += rounds.len() as u64;
        self.rounds += rounds.len() as u64;
        self.weight.add_ones(rounds.len() as u64);
        self.meet_weight(before, 1.0);
        if let Some(penalty) = &mut self.penalty {
            let mut sum = *penalty;
            model.for_each(|q| sum.add(q / 2.0));
            *penalty = sum;
        }
        self.longest_squared = largest(self.longest_squared, rounds.norm_squared(), |x| x);
        self.largest_label = largest(self.largest_label, rounds.y(), f64::abs);
        self.enter_slopes(rounds);
    }

    /// [`Book::enter_slope`] of rounds of weight 1.
    fn enter_slopes(&mut self, rounds: &Rounds) {
        let (z, loss, slope, norm_squared) =
            (rounds.z(), rounds.loss(), rounds.slope(), rounds.norm_squared());
        // Those that add anything, found without a jump that depends on them: nobody could guess it.
        let (mut busy, mut count) = ([0_u8; MOST], 0);
        for k in 0..rounds.len() {
            busy[count] = k as u8;
            count += usize::from(loss[k] != 0.0).max(usize::from(slope[k] != 0.0));
        }
        for k in busy[..count].iter().map(|&k| usize::from(k)) {
            self.enter_slope(z[k], loss[k], slope[k], slope[k], norm_squared[k]);
        }
    }

    /// Enters one round with a weight above 0.
    pub fn enter(&mut self, r: &Entered) {
        let before = self.rounds;
        self.examples += 1;
        self.rounds += 1;
        self.weight.add(r.weight);
        match (&mut self.penalty, r.model) {
            (Some(sum), Some(q)) => sum.add(q / 2.0),
            (penalty, None) => *penalty = None,
            (None, _) => {}
        }
        self.longest_squared = larger(self.longest_squared, r.norm_squared);
        self.meet_weight(before, r.weight);
        self.largest_label = larger(self.largest_label, r.y.abs());
        if r.floor != 0.0 {
            self.enter_floor(r);
        }
        self.enter_slope(r.z, r.weight * r.loss, r.weight * r.slope, r.slope, r.norm_squared);
    }

    fn meet_weight(&mut self, rounds_before: u64, weight: f64) {
        if rounds_before == 0 {
            (self.heaviest, self.lightest) = (weight, weight);
        }
        self.heaviest = self.heaviest.max(weight);
        self.lightest = self.lightest.min(weight);
    }

    /// What depends on the loss and its slope: `loss` and `alpha` with the weight, `slope` without.
    #[inline(always)]
    fn enter_slope(&mut self, z: f64, loss: f64, alpha: f64, slope: f64, norm_squared: f64) {
        // A round that lost nothing and has no slope adds 0 to every sum: with hinge loss, most rounds
        // of a good model.
        if loss == 0.0 && slope == 0.0 {
            return;
        }
        let size = steepness(alpha, slope);
        self.loss.add(loss);
        self.k.add(loss - alpha * z);
        self.magnitude += loss.abs() + size * z.abs();
        let gradient = alpha * alpha * norm_squared;
        self.gradient_squared = larger(self.gradient_squared, gradient);
        self.squares.add(gradient);
        // Not the root of `gradient`, whose square leaves the range of f64 first.
        self.reach += size * norm_squared.sqrt();
    }

    /// Counts a row of weight 0: it is predicted and reported, and changes nothing.
    #[inline]
    pub fn pass_over(&mut self) {
        self.examples += 1;
    }

    /// A floor other than 0 is that of a difference, `exp(z) - y z`: the loss, its slope and its
    /// floor may all be smaller than what the two terms lose. `exp(z)` is at most `|slope| + |y|`, and
    /// `|y ln y|` at most `|floor| + |y|`.
    #[cold]
    fn enter_floor(&mut self, r: &Entered) {
        if !r.floor.is_finite() {
            self.floor = None;
            return;
        }
        let y = r.y.abs();
        self.magnitude += r.weight * (r.slope.abs() + y * (1.0 + r.z.abs()));
        self.reach += r.weight * y * r.norm_squared.sqrt();
        if let Some(sum) = &mut self.floor {
            sum.add(r.weight * (r.floor - 8.0 * ROUNDOFF * (r.floor.abs() + 2.0 * y)));
        }
    }

    /// Adds another book.
    pub fn merge(&mut self, other: &Book) {
        if other.rounds > 0 {
            let fresh = self.rounds == 0;
            self.heaviest = if fresh { other.heaviest } else { self.heaviest.max(other.heaviest) };
            self.lightest = if fresh { other.lightest } else { self.lightest.min(other.lightest) };
        }
        self.examples += other.examples;
        self.rounds += other.rounds;
        self.weight.merge(other.weight);
        self.loss.merge(other.loss);
        self.k.merge(other.k);
        self.magnitude += other.magnitude;
        self.reach += other.reach;
        let both = |a: Option<Sum>, b: Option<Sum>| {
            let mut sum = a?;
            sum.merge(b?);
            Some(sum)
        };
        self.floor = both(self.floor, other.floor);
        self.penalty = both(self.penalty, other.penalty);
        self.longest_squared = self.longest_squared.max(other.longest_squared);
        self.gradient_squared = self.gradient_squared.max(other.gradient_squared);
        self.squares.merge(other.squares);
        self.largest_label = self.largest_label.max(other.largest_label);
    }

    /// `L/n`.
    pub fn average_loss(&self) -> Option<f64> {
        (self.weight.value() > 0.0).then(|| self.loss.value() / self.weight.value())
    }

    /// `(L + sum of (sigma/2)|w_t|^2)/n`.
    pub fn penalised_loss(&self, sigma: f64) -> Option<f64> {
        let penalty = self.penalty?.value();
        (self.weight.value() > 0.0).then(|| (self.loss.value() + sigma * penalty) / self.weight.value())
    }

    /// The average regret against a class whose best average loss is at least `best`: negative when the
    /// moving model was better than every fixed one. None before the first round.
    pub fn regret_at_most(&self, comparator: &Comparator, best: f64) -> Option<f64> {
        // Losses may cancel in their sum, and against the penalty: each term leaves its rounding.
        let (from, terms) = match comparator {
            Comparator::Ridge { sigma } => {
                (self.penalised_loss(*sigma)?, self.magnitude + sigma * self.penalty?.value())
            }
            _ => (self.average_loss()?, self.magnitude),
        };
        let from = round_up(from) + 4.0 * f64::EPSILON * terms / self.weight.value();
        from.is_finite().then(|| round_up(from - best))
    }

    /// The best that this book proves with the vector `s` of `d` coordinates, and the learner's own ledgers with theirs.
    pub(crate) fn best_at_least(
        &self,
        comparator: &Comparator,
        (s, d): (&(impl Numbers + ?Sized), usize),
        extra: &Extra,
        own: &[(OwnBook, Vector)],
    ) -> Option<f64> {
        let Book { magnitude, reach, .. } = *self;
        let sums = Sums { k: self.k.value(), magnitude, reach };
        let first = self.lower(comparator, (s, d), sums, extra)?;
        let others = own.iter().filter_map(|(own, s)| {
            // The learner's own constant is a plain sum, off by at most a rounding of its terms in every
            // round.
            let magnitude = own.magnitude.unwrap_or(magnitude);
            let terms = if own.magnitude.is_some() { magnitude } else { own.k.abs() };
            let k = own.k - (self.rounds as f64 + 8.0) * ROUNDOFF * terms;
            let sums = Sums { k, magnitude, reach: own.reach.unwrap_or(reach) };
            self.lower(comparator, (s, s.len()), sums, extra)
        });
        Some(others.fold(first, f64::max))
    }

    /// The largest average loss that no comparator of the class can be below, from this book and a
    /// vector `s`; `extra` widens what `S` may be off by when it was made by subtraction. `sums` are
    /// the book's own or those of a learner's other ledger.
    fn lower(
        &self,
        comparator: &Comparator,
        (s, d): (&(impl Numbers + ?Sized), usize),
        sums: Sums,
        extra: &Extra,
    ) -> Option<f64> {
        let Sums { k, magnitude, reach } = sums;
        let n = self.weight.value();
        if n <= 0.0 || n.is_nan() {
            return None;
        }
        let rounds = self.rounds as f64;
        // The losses and slopes are a few roundings off, the products one: 16 cover all of them.
        // Each of the T additions to a coordinate of S is off by at most one rounding of a partial
        // sum, and the slopes by a few of their own: (T + 8) roundings of Q cover both.
        let additions = rounds + extra.rounds + 8.0;
        let error = additions * (ROUNDOFF * (reach + extra.reach) + UNDERFLOW * (d as f64).sqrt());
        let slack = 16.0 * ROUNDOFF * (magnitude + k.abs()) + 8.0 * additions * UNDERFLOW;
        let total = k - comparator.support(s, d, error, rounds) - slack;
        let floor = self.floor.map_or(f64::NEG_INFINITY, |f| round_down(f.value()));
        let best = round_down(round_down(total.max(floor)) / n);
        best.is_finite().then_some(best)
    }
}

/// `|alpha|`, where it is a weight times a slope: not so small that the product's own rounding, which near 0 is no part of
/// the product, is more than a rounding of this.
#[inline(always)]
fn steepness(alpha: f64, slope: f64) -> f64 {
    larger(alpha.abs(), if slope == 0.0 { 0.0 } else { UNDERFLOW / ROUNDOFF })
}

/// The larger of two numbers of which the first is one: an instruction, where `f64::max` takes five.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The largest of a number and of what is read of others, in four chains.
#[inline(always)]
fn largest(first: f64, others: &[f64], read: impl Fn(f64) -> f64) -> f64 {
    let (fours, rest) = others.as_chunks::<4>();
    let mut all = [first; 4];
    for four in fours {
        all = std::array::from_fn(|k| larger(all[k], read(four[k])));
    }
    all.into_iter().chain(rest.iter().map(|&x| read(x))).fold(first, larger)
}

/// What a lower bound is made of besides the vector, and what its rounding is measured by.
#[derive(Clone, Copy)]
struct Sums {
    k: f64,
    magnitude: f64,
    reach: f64,
}

/// What a vector made by subtraction may be off by besides: the history that was subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    /// Rounds entered before the subtraction's origin.
    pub rounds: f64,
    /// `Q` of those rounds.
    pub reach: f64,
}

/// A whole ledger: the scalars and the vector, brought out of the learner's slots to be added, saved
/// or asked. Ledgers of one loss, one labelling and one feature space add.
///
/// ```
/// use noregret::regret::{Book, Comparator, Ledger};
/// use noregret::round::Entered;
/// // One round of hinge loss at w = 0 with x = (2): loss 1, slope -1.
/// let mut ledger = Ledger::default();
/// ledger.book.enter(&Entered {
///     z: 0.0, y: 1.0, weight: 1.0, loss: 1.0, slope: -1.0, floor: 0.0, norm_squared: 4.0, model: None,
/// });
/// ledger.s.features = vec![-2.0];
/// // No u with |u| <= 1/4 can lose less than 1 - 1/4 * 2.
/// let best = ledger.best_at_least(&Comparator::L2 { radius: 0.25 }).unwrap();
/// assert!((best - 0.5).abs() < 1e-12 && best <= 0.5);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The scalars.
    pub book: Book,
    /// `S`.
    pub s: Vector,
    /// See [`Extra`].
    pub extra: Extra,
    /// Other ledgers over (some of) the same rounds, with their vectors: the Perceptron's mistakes, the
    /// members of a mixture.
    pub own: Vec<(OwnBook, Vector)>,
}

impl Ledger {
    /// Adds another ledger: the certificate then holds for one common `u` on both streams. Of the
    /// other ledgers those survive that both have.
    pub fn merge(&mut self, other: &Ledger) {
        if self.book.rounds == 0 {
            self.own.clone_from(&other.own);
        } else if other.book.rounds > 0 {
            self.own.retain_mut(|(book, s)| {
                let Some((book2, s2)) = other.own.iter().find(|(b, _)| b.name == book.name) else {
                    return false;
                };
                let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
                book.magnitude = both(book.magnitude, book2.magnitude);
                book.reach = both(book.reach, book2.reach);
                book.k += book2.k;
                s.add(s2, 1.0);
                true
            });
        }
        self.book.merge(&other.book);
        self.s.add(&other.s, 1.0);
        self.extra.rounds += other.extra.rounds;
        self.extra.reach += other.extra.reach;
    }

    /// A certified lower bound on the average loss of every comparator of the class: the best of what
    /// the ledgers prove. None before the first round.
    pub fn best_at_least(&self, comparator: &Comparator) -> Option<f64> {
        self.book.best_at_least(comparator, (&self.s, self.s.len()), &self.extra, &self.own)
    }

    /// The lower bound for many radii of one class: one ledger answers for all of them.
    pub fn curve(&self, comparator: &Comparator, radii: &[f64]) -> Vec<(f64, f64)> {
        radii.iter().filter_map(|&r| Some((r, self.best_at_least(&comparator.with_radius(r))?))).collect()
    }
}
