//! What a ledger proves, as it is told.

use crate::regret::{Book, Comparator};
use serde::Serialize;

/// What the ledger proves: `best_at_least = (average or penalised loss) - regret_at_most`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Certificate {
    /// The class of comparators.
    pub comparator: &'static str,
    /// Its radius; none for `ridge`, and where each of several classes has its own.
    pub radius: Option<f64>,
    /// Whether the radius was said (`flag`), is the learner's default, or the norm of the `model`.
    pub radius_from: Option<&'static str>,
    /// The average regret is at most this.
    pub regret_at_most: f64,
    /// No comparator's average loss is below this.
    pub best_at_least: f64,
}

impl Certificate {
    /// The regret that follows from a lower bound and the book of the rounds it speaks of.
    pub(crate) fn new(
        comparator: &Comparator,
        radius_from: Option<&'static str>,
        best: f64,
        book: &Book,
    ) -> Option<Self> {
        // Of a class without a bound nothing is known, and nothing of one whose bound is no number.
        if comparator.radius().is_some_and(|radius| !radius.is_finite()) {
            return None;
        }
        // Negative when the moving model was better than every fixed one.
        Some(Self {
            comparator: comparator.name(),
            radius: comparator.radius(),
            radius_from,
            regret_at_most: book.regret_at_most(comparator, best)?,
            best_at_least: best,
        })
    }
}
