//! Theorems: one file each, with its conditions as code and its value from constants that were given
//! or observed. A number is never printed for a bound that does not apply.
//!
//! To add one: a file with a `pub(super) static ENTRY`, its `mod` line, and its line in [`ENTRIES`].

mod adagrad;
mod exponential_weights;
mod exponentiated;
mod follow_the_leader;
mod ftrl;
mod mixture;
mod multiclass_perceptron;
mod ogd_constant;
mod ogd_sqrt;
mod optimistic_data;
mod optimistic_learner;
mod optimistic_rounds;
mod perceptron;
mod projected_ogd;
mod projected_ogd_square;
mod ridge;
mod strongly_convex;
mod subgradient;

mod alma;
mod coin;
mod freegrad;
mod ftrl_proximal;
mod normalized;
mod passive_aggressive;
mod rda;
mod scale_free;
mod truncated_gradient;

mod arow;
mod inner_perceptron;
mod kernel_perceptron;
mod maxover;
mod newton;
mod second_order_perceptron;
mod vaw;
mod winnow;

pub use alma::most_corrections;
pub use arow::most_mistakes_arow;
pub use maxover::most_updates;
pub use multiclass_perceptron::most_multiclass_mistakes;
pub use optimistic_rounds::{rounds_of_the_paper, rounds_scale_free};
pub use passive_aggressive::{most_mistakes_passive_aggressive, most_squares_passive_aggressive};
pub use perceptron::{most_mistakes, most_mistakes_weighted};
pub use projected_ogd_square::square_bound;
pub use second_order_perceptron::most_mistakes_second_order;
pub use winnow::most_mistakes_winnow;

use super::{Comparator, round_up};
use crate::learner::{Constants, Theorem};
use serde::Serialize;

/// Every bound.
pub static ENTRIES: &[&Entry] = &[
    &perceptron::ENTRY,
    &multiclass_perceptron::ENTRY,
    &projected_ogd::ENTRY,
    &projected_ogd_square::ENTRY,
    &subgradient::ENTRY,
    &strongly_convex::ENTRY,
    &follow_the_leader::ENTRY,
    &ftrl::ENTRY,
    &ridge::ENTRY,
    &exponential_weights::ENTRY,
    &exponentiated::ENTRY,
    &ogd_constant::ENTRY,
    &ogd_sqrt::ENTRY,
    &adagrad::ENTRY,
    &optimistic_learner::ENTRY,
    &optimistic_data::ENTRY,
    &optimistic_rounds::ENTRY,
    &mixture::ENTRY,
    &ftrl_proximal::ENTRY,
    &rda::ENTRY,
    &truncated_gradient::ENTRY,
    &scale_free::ENTRY,
    &normalized::ENTRY,
    &coin::ENTRY,
    &freegrad::ENTRY,
    &passive_aggressive::ENTRY,
    &alma::ENTRY,
    &inner_perceptron::ENTRY,
    &kernel_perceptron::ENTRY,
    &maxover::ENTRY,
    &winnow::ENTRY,
    &second_order_perceptron::ENTRY,
    &arow::ENTRY,
    &newton::ENTRY,
    &vaw::ENTRY,
];

/// What comparators a theorem speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The Euclidean ball, and whatever lies in it: the l1 ball and the simplex of the same radius.
    L2,
    /// The l1 ball, and the simplex in it.
    L1,
    /// The simplex.
    Simplex,
    /// All models, with the quadratic penalty.
    Ridge,
}

impl Class {
    fn covers(self, comparator: &Comparator) -> bool {
        matches!(
            (self, comparator.name()),
            (Class::L2, "l2" | "l1" | "simplex")
                | (Class::L1, "l1" | "simplex")
                | (Class::Simplex, "simplex")
                | (Class::Ridge, "ridge")
        )
    }
}

/// A theorem in the registry.
#[derive(Serialize)]
pub struct Entry {
    /// Its name in reports.
    pub name: &'static str,
    /// What it says, in plain text.
    pub statement: &'static str,
    /// What it needs.
    pub needs: &'static str,
    /// Where it is proved.
    pub source: &'static str,
    /// The comparators it speaks of.
    pub class: Class,
    /// Whether it bounds the linearised regret, so that no certificate can exceed it.
    pub linearised: bool,
    /// The conditions that fail, each in a few words.
    #[serde(skip)]
    pub conditions: fn(&Constants) -> Vec<String>,
    /// The bound on the total regret, from constants that meet the conditions.
    #[serde(skip)]
    pub value: fn(&Constants) -> Option<f64>,
}

/// The entry of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().copied().find(|e| e.name == name)
}

/// What a theorem says of a run. `regret_at_most` is an average per unit of weight, and none exactly
/// when `unmet` is not empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stated {
    /// The theorem.
    pub name: String,
    /// The bound.
    pub regret_at_most: Option<f64>,
    /// Conditions that fail.
    pub unmet: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The constants it was computed from.
    pub constants: Constants,
}

/// Applies a learner's theorem to a run of total weight `n`, against a class. `certified` is asked where the theorem
/// bounds the linearised regret: the average regret that the ledger proves against the same class.
///
/// Such a theorem speaks of numbers without rounding, and may be met with equality. The ledger knows what was
/// predicted, roundings included: where the regret it leaves open is the larger one, roundings have added up to more
/// than the theorem has to spare. That number is stated then, and as `raised` how far the total was lifted.
pub fn state(
    theorem: Theorem,
    comparator: &Comparator,
    n: f64,
    certified: impl FnOnce() -> Option<f64>,
) -> Stated {
    let Theorem { bound, mut constants, mut unmet, notes } = theorem;
    if let Some(radius) = comparator.radius() {
        constants.set("U", radius);
    }
    let entry = find(bound);
    match entry {
        None => unmet.push(format!("no theorem is called {bound}")),
        Some(entry) => {
            if !entry.class.covers(comparator) {
                unmet.push(format!("the theorem does not speak of the comparator {}", comparator.name()));
            }
            if let (Some(ball), Some(radius)) = (constants.get("ball"), comparator.radius())
                && radius > ball
            {
                unmet.push(format!("a comparator of norm {radius} is outside the learner's ball {ball}"));
            }
            unmet.extend((entry.conditions)(&constants));
        }
    }
    let mut regret_at_most = None;
    if unmet.is_empty() {
        // The constants are rounded too; a part in 10^12 covers their error where there are few rounds.
        regret_at_most = entry
            .and_then(|e| (e.value)(&constants))
            .map(|total| round_up(total * (1.0 + 1e-12)) / n)
            .filter(|value| value.is_finite());
        if regret_at_most.is_none() {
            unmet.push("a constant of the theorem is not finite".to_owned());
        }
        // One that says 0 has seen no gradient, and there is nothing to round.
        if let Some(stated) = regret_at_most.filter(|stated| *stated > 0.0)
            && entry.is_some_and(|e| e.linearised)
            && let Some(proved) = certified().filter(|proved| *proved > stated)
        {
            regret_at_most = Some(proved);
            constants.set("raised", (proved - stated) * n);
        }
    }
    Stated { name: bound.to_owned(), regret_at_most, unmet, notes, constants }
}
