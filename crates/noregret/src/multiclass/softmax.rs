//! Softmax: multinomial logistic regression by dual averaging.
//!
//! ```text
//! f(z, y) = ln(sum over k of exp(z_k)) - z_y     p_k = exp(z_k)/sum     alpha_k = p_k - [k = y]
//! W <- P(-S/strength)     strength = sqrt(1 + sum |g|^2)/U     g = alpha x^T, P on the ball |W|_F <= U
//! ```
//!
//! `f(z) - <alpha, z>` is the entropy of `p`, a sum of terms that are not negative: it is computed as that.
//!
//! State: `S`. Cost: O(nonzeros times classes) a round. Theorem: `regret/bound/ftrl.rs`, with the Frobenius
//! norm. Source: dual averaging as in `learner/ftrl.rs`, on the loss of McCullagh, Nelder 1989, chapter 5.

use super::stacked::{Judged, Rule, Scalars, Stacked};
use super::{Entry, Make, Tally};
use crate::engine::Config;
use crate::error::UsageError;
use crate::learner::Theorem;

pub(super) static ENTRY: Entry = Entry {
    name: "softmax",
    summary: "one loss over all classes, ln(sum of exp(z_k)) - z_y, learned by dual averaging in a ball",
    make: Make::Stacked("ftrl", "softmax", build),
};

fn build(config: Config) -> Result<Stacked, UsageError> {
        let radius = config.radius.unwrap_or(RADIUS);
        let strength = 1.0 / radius;
        let scalars = Scalars { alpha: strength, last_alpha: strength, passes: 1, ..Scalars::default() };
    Stacked::new(Box::new(Softmax { radius }), config, scalars)
}

/// `U` when none is given.
const RADIUS: f64 = 10.0;

/// `exp` is 0 below minus this.
const UNDERFLOW: f64 = 745.2;

struct Softmax {
    radius: f64,
}

/// Scores become probabilities. Returns the logarithm of the sum of `exp(z_k - top)`, and `top`.
fn normalise(z: &mut [f64]) -> (f64, f64) {
    let top = super::tally::highest(z, None).unwrap_or(0);
    let largest = z.get(top).copied().unwrap_or(0.0);
    let mut others = 0.0;
    for (k, z) in z.iter_mut().enumerate() {
        *z = (*z - largest).exp();
        if k != top {
            others += *z;
        }
    }
    z.iter_mut().for_each(|e| *e /= 1.0 + others);
    (others.ln_1p(), largest)
}

impl Rule for Softmax {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn judge(&self, z: &[f64], y: usize, alpha: &mut [f64]) -> Judged {
        alpha.copy_from_slice(z);
        let (log_sum, top) = normalise(alpha);
        let (mut entropy, mut others, mut widest) = (log_sum, 0.0, 0.0_f64);
        for (k, (z, p)) in z.iter().zip(alpha.iter()).enumerate() {
            entropy += p * (top - z);
            widest = widest.max(top - z);
            if k != y {
                others += p;
            }
        }
        alpha[y] = -others;
        // A difference of scores is rounded by its size before `exp` makes that relative, and sums of
        // as many terms as classes follow.
        let roundings = widest.min(UNDERFLOW) + 2.0 * z.len() as f64 + 16.0;
        Judged { loss: log_sum + (top - z[y]), constant: entropy, roundings, moves: true }
    }

    fn apart(&self) -> bool {
        false
    }

    fn follow(&self, s: &mut Scalars, square: f64) {
        s.last_alpha = s.alpha;
        s.divided += square / s.alpha;
        s.squares += square;
        s.alpha = (1.0 + s.squares).sqrt() / self.radius;
        let norm = s.q.sqrt();
        s.a = if norm > self.radius * s.alpha { -self.radius / norm } else { -1.0 / s.alpha };
    }

    fn probabilities(&self, z: &mut [f64]) -> bool {
        normalise(z);
        true
    }

    fn theorem(&self, s: &Scalars) -> Theorem {
        let constants = [("alpha", s.last_alpha), ("sum_g2_over_alpha", s.divided), ("ball", self.radius)];
        Theorem::new("ftrl", &constants).note("norms are Frobenius norms of all classes together")
    }

    /// The entropy of the labels, where all were known from the beginning.
    fn best_constant(&self, tally: &Tally) -> Option<f64> {
        let all: f64 = tally.classes().iter().map(|c| c.weight).sum();
        let shares = tally.classes().iter().map(|c| c.weight / all).filter(|p| *p > 0.0);
        (all > 0.0).then(|| -shares.map(|p| p * p.ln()).sum::<f64>())
    }

    fn default_radius(&self) -> Option<f64> {
        Some(RADIUS)
    }
}
