//! The multiclass Perceptron.
//!
//! ```text
//! r = the highest wrong class (the earliest of equal ones)
//! if z_r >= z_y: w_y <- w_y + c x, w_r <- w_r - c x
//! ```
//!
//! It is reported in the multiclass hinge loss `[1 + max over k != y of z_k - z_y]+`, whose gradient has
//! +1 at `r` and -1 at `y`: a move is a step along it in the rounds with a mistake.
//!
//! State: `W`, and `S` apart, because the ledger also takes the rounds that were right by less than 1.
//! Cost: O(nonzeros times classes) to predict, O(nonzeros) to move. Theorem:
//! `regret/bound/multiclass_perceptron.rs`. Source: Crammer, Singer 2003 (the update that demotes one class);
//! Collins 2002.

use super::stacked::{Judged, Rule, Scalars, Stacked};
use super::{Entry, Make, Tally, tally};
use crate::engine::Config;
use crate::error::UsageError;
use crate::learner::Theorem;

pub(super) static ENTRY: Entry = Entry {
    name: "perceptron",
    summary: "on a mistake the right class is promoted and the highest wrong one demoted; nothing to tune",
    make: Make::Stacked("perceptron", "multiclass-hinge", build),
};

fn build(config: Config) -> Result<Stacked, UsageError> {
    let scalars = Scalars { a: -1.0, passes: 1, ..Scalars::default() };
    Stacked::new(Box::new(Perceptron), config, scalars)
}

struct Perceptron;

impl Rule for Perceptron {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn judge(&self, z: &[f64], y: usize, alpha: &mut [f64]) -> Judged {
        alpha.fill(0.0);
        let right = Judged { loss: 0.0, constant: 0.0, roundings: 0.0, moves: false };
        let Some(rival) = tally::highest(z, Some(y)) else { return right };
        let loss = 1.0 + (z[rival] - z[y]);
        if loss <= 0.0 {
            return right;
        }
        (alpha[rival], alpha[y]) = (1.0, -1.0);
        Judged { loss, constant: 1.0, roundings: 0.0, moves: z[rival] >= z[y] }
    }

    fn apart(&self) -> bool {
        true
    }

    fn follow(&self, _: &mut Scalars, _: f64) {}

    fn probabilities(&self, _: &mut [f64]) -> bool {
        false
    }

    fn theorem(&self, s: &Scalars) -> Theorem {
        Theorem::new("multiclass-perceptron", &[("M", s.moved)])
    }

    fn best_constant(&self, _: &Tally) -> Option<f64> {
        None
    }

    fn default_radius(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Config;
    use crate::example::Block;
    use crate::multiclass::Multiclass;

    // Four rounds by hand, without a bias. Row 1: only class 0 is known, nothing to demote. Row 2: class 1
    // joins at 0 against 0, a tie: w1 += (0, 1), w0 -= (0, 1). Row 3, class 0, x = (1, 1): scores -1 and 1,
    // hinge 3: w0 = (1, 0), w1 = (-1, 0). Row 4, class 1, x = (-2, 0): scores -2 and 2: right by 4.
    #[test]
    fn a_stream_of_four_rows_by_hand() {
        let config = Config { bias: false, ..Config::new("", "") };
        let mut model = Multiclass::new("perceptron", config, None).unwrap();
        let block = Block::<f32>::from_rows(&[
            (0.0, vec![(0, 1.0)]),
            (1.0, vec![(1, 1.0)]),
            (0.0, vec![(0, 1.0), (1, 1.0)]),
            (1.0, vec![(0, -2.0)]),
        ]);
        model.learn(block.rows()).unwrap();
        assert_eq!(model.weights(0).features, [1.0, 0.0]);
        assert_eq!(model.weights(1).features, [-1.0, 0.0]);
        assert_eq!(model.average_loss(), Some((0.0 + 1.0 + 3.0 + 0.0) / 4.0));
        // Rows 1 and 2 have labels that nobody knew; row 3 was taken for class 1.
        assert_eq!(model.tally().error_rate(), Some(0.75));
        assert_eq!(model.tally().mistakes(), 2);
        assert_eq!(model.tally().confusion().unwrap(), [[0, 1], [1, 1]]);
        // M - U |W| with M = 2 and |W| = sqrt 2, over four rows.
        let best = model.certificate().unwrap().best_at_least;
        assert!(best <= 0.0 && model.best_at_least(0.1).unwrap() <= (2.0 - 0.2) / 4.0);
        assert!(model.best_at_least(0.1).unwrap() > (2.0 - 0.2) / 4.0 - 1e-12);
    }
}
