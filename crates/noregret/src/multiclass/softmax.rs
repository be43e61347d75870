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
    for e in z {
        *e /= 1.0 + others;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Softmax = Softmax { radius: 1.0 };

    fn judge(z: &[f64], y: usize) -> (Judged, Vec<f64>) {
        let mut alpha = vec![0.0; z.len()];
        (RULE.judge(z, y, &mut alpha), alpha)
    }

    // Scores 0, ln 2, ln 3: probabilities 1/6, 2/6, 3/6.
    #[test]
    fn three_scores_by_hand() {
        let z = [0.0, 2f64.ln(), 3f64.ln()];
        let (judged, alpha) = judge(&z, 1);
        assert!((judged.loss - 3f64.ln()).abs() < 1e-15);
        for (a, b) in alpha.iter().zip([1.0 / 6.0, -4.0 / 6.0, 3.0 / 6.0]) {
            assert!((a - b).abs() < 1e-15);
        }
        let entropy = 6f64.ln() - 2f64.ln() / 3.0 - 3f64.ln() / 2.0;
        assert!((judged.constant - entropy).abs() < 1e-15);
    }

    #[test]
    fn the_slopes_are_the_derivatives_and_the_constant_is_what_they_leave() {
        for (z, y) in [([0.3, -1.2, 2.0], 0), ([5.0, 5.0, -5.0], 2), ([0.0; 3], 1)] {
            let (judged, alpha) = judge(&z, y);
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut w = z;
                    w[k] += by;
                    judge(&w, y).0.loss
                };
                assert!(((moved(1e-6) - moved(-1e-6)) / 2e-6 - alpha[k]).abs() < 1e-8);
            }
            let product: f64 = alpha.iter().zip(&z).map(|(a, z)| a * z).sum();
            assert!((judged.loss - product - judged.constant).abs() < 1e-13);
            assert!(alpha.iter().sum::<f64>().abs() < 1e-15);
        }
    }

    #[test]
    fn scores_however_far_apart_stay_finite() {
        for z in [[1e5, -1e5, 0.0], [-1e5, -1e5, -1e5], [800.0, 0.0, -800.0], [1e-300, 0.0, -1e-300]] {
            for y in 0..3 {
                let (judged, alpha) = judge(&z, y);
                assert!(judged.loss.is_finite() && judged.loss >= 0.0 && judged.constant >= 0.0);
                assert!(alpha.iter().all(|a| a.is_finite() && a.abs() <= 1.0 + 1e-15));
            }
        }
        // A score ahead by 40 loses exp(-40), far below what 1 + x can hold.
        let (judged, _) = judge(&[40.0, 0.0], 0);
        assert!((judged.loss / (-40f64).exp() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_class_loses_nothing() {
        let (judged, alpha) = judge(&[3.0], 0);
        assert_eq!((judged.loss, judged.constant, alpha[0].abs()), (0.0, 0.0, 0.0));
    }
}
