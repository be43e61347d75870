//! What a mixture says of its members.

use serde::{Deserialize, Serialize};

/// One member.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What it would have lost alone.
    pub average_loss: f64,
    /// Its weight now.
    pub weight: f64,
}

/// How the members stood at some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// After how many rounds.
    pub rounds: u64,
    /// The sum of the weights.
    pub weight: f64,
    /// The members' total losses.
    pub losses_total: Vec<f64>,
}

/// How a mixture of learners stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mixture {
    /// The members, in their order.
    pub members: Vec<Member>,
    /// The one with the smallest loss.
    pub best_member: &'static str,
    /// The one of the largest weight, which `model_norm`, the weights and the averaged model speak of.
    pub heaviest_member: &'static str,
    /// Who decides, with weights.
    pub mixed_by: Vec<(&'static str, f64)>,
    /// The average loss exceeds the best member's by at most this; none exactly when `unmet` is not
    /// empty.
    pub excess_at_most: Option<f64>,
    /// Conditions of that bound that fail.
    pub unmet: Vec<String>,
    /// At 1, 2, 4, 8, ... rounds.
    pub history: Vec<Moment>,
}

impl Mixture {
    /// The mixture with its bound withheld for one more reason.
    pub fn unmet(mut self, condition: impl Into<String>) -> Self {
        self.excess_at_most = None;
        self.unmet.push(condition.into());
        self
    }

    /// Who lost least in each stretch between the times of the history: the round it ended at, and the
    /// members' average losses in it.
    pub fn stretches(&self) -> Vec<(u64, Vec<f64>)> {
        let mut stretches = Vec::new();
        let mut before: Option<&Moment> = None;
        for moment in &self.history {
            let weight = moment.weight - before.map_or(0.0, |b| b.weight);
            let lost = |k: usize| moment.losses_total[k] - before.map_or(0.0, |b| b.losses_total[k]);
            if weight > 0.0 {
                let averages = (0..moment.losses_total.len()).map(|k| lost(k) / weight).collect();
                stretches.push((moment.rounds, averages));
            }
            before = Some(moment);
        }
        stretches
    }
}
