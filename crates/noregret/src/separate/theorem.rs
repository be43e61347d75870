//! The three theorems of the Optimistic Perceptron, checked on a run.

use crate::learner::Constants;
use crate::regret::bound;
use serde::Serialize;

/// A theorem and what a run has to say about it.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Its name in the registry of bounds.
    pub theorem: &'static str,
    /// The form, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<&'static str>,
    /// What it bounds.
    pub what: &'static str,
    /// What it allows; none where the margin is not known to be positive.
    pub allowed: Option<f64>,
    /// What it would allow were the margin as large as the bracket leaves open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_at_least: Option<f64>,
    /// What was used.
    pub used: f64,
    /// Whether that is within it.
    pub holds: bool,
}

/// Rounds from the length of the longest row, the number of rows and the margin.
type Rounds = fn(f64, f64, f64) -> f64;

/// What the theorems need to know.
pub(super) struct Run {
    pub(super) n: f64,
    pub(super) r: f64,
    pub(super) rounds: f64,
    /// `sum |p_t - p_{t-1}|_1^2`.
    pub(super) moved: f64,
    /// Against the best vector of length 1.
    pub(super) learner_regret: f64,
    /// Against the best single row.
    pub(super) data_regret: f64,
    /// The first round whose average separated.
    pub(super) separated_after: Option<f64>,
}

impl Run {
    /// All of them, with the margin between the two numbers given.
    pub(super) fn check(&self, margin: (f64, f64)) -> Vec<Checked> {
        let mut constants = Constants::default();
        constants.set("r", self.r).set("n", self.n).set("moved", self.moved).set("T", self.rounds);
        let regret = |theorem: &'static str, what, used: f64| {
            let allowed = bound::find(theorem).and_then(|entry| (entry.value)(&constants));
            // The sums of a run are rounded, each round a little.
            let slack = 1e-12 * (1.0 + self.rounds) * (used.abs() + self.r * self.r);
            let holds = allowed.is_some_and(|allowed| used <= allowed + slack);
            Checked { theorem, form: None, what, allowed, allowed_at_least: None, used, holds }
        };
        let mut checked = vec![
            regret("optimistic-learner", "regret of the learner", self.learner_regret),
            regret("optimistic-data", "regret of the data", self.data_regret),
        ];
        let forms: [(&'static str, Rounds); 2] =
            [("paper", bound::rounds_of_the_paper), ("scale-free", bound::rounds_scale_free)];
        for (form, rounds) in forms {
            let at = |margin: f64| {
                (margin > 0.0).then(|| rounds(self.r, self.n, margin)).filter(|b| b.is_finite())
            };
            // Separated one round after the bound at the latest.
            let used = self.separated_after.map_or(self.rounds, |t| t - 1.0);
            let allowed = at(margin.0);
            checked.push(Checked {
                theorem: "optimistic-rounds",
                form: Some(form),
                what: "rounds before the average separates",
                allowed,
                allowed_at_least: at(margin.1),
                used,
                holds: allowed.is_none_or(|allowed| used <= allowed * (1.0 + 1e-9)),
            });
        }
        checked
    }
}
