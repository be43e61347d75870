//! From the stream to new data (online to batch).
//!
//! If the examples are i.i.d. and the loss lies in an interval of length `c`, then with probability
//! at least `1 - delta` the risk of a uniformly drawn iterate, and for convex losses of the averaged
//! one, is at most `L_T/T + c sqrt(ln(1/delta)/(2T))`; and for every `u` of the comparator's ball
//! `risk(average) - risk(u) <= R_T/T + c sqrt(2 ln(1/delta)/T)`.

use super::{Book, round_up};
use crate::loss::{Loss, Task};
use serde::Serialize;

/// What is said about unseen examples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Risk {
    /// The statement fails with at most this probability.
    pub delta: f64,
    /// The bound; none exactly when `unmet` is not empty.
    pub at_most: Option<f64>,
    /// The bound on the excess over the best of the comparator's ball, where the regret is known.
    pub excess_at_most: Option<f64>,
    /// Conditions that fail.
    pub unmet: Vec<String>,
    /// What is taken for granted beside i.i.d. examples.
    pub assumes: Vec<String>,
}

/// What the user promised and how the run went.
pub struct Facts<'a> {
    /// The loss.
    pub loss: &'a dyn Loss,
    /// The first pass's book.
    pub book: &'a Book,
    /// `--delta`.
    pub delta: f64,
    /// `--row-bound`.
    pub row_bound: Option<f64>,
    /// `--label-bound`.
    pub label_bound: Option<f64>,
    /// The learner's ball, given the longest row.
    pub ball: &'a dyn Fn(f64) -> Option<f64>,
    /// The certified average regret against a class, and a Euclidean ball that holds the class.
    pub regret_at_most: Option<(f64, f64)>,
    /// Whether the iterates were made in one pass over the stream.
    pub one_pass: bool,
    /// Whether every label came before the next prediction.
    pub in_time: bool,
    /// Whether the model is that of one run, not the average of several.
    pub in_one_piece: bool,
}

/// The bound, or why there is none.
pub fn risk(facts: &Facts<'_>) -> Risk {
    let book = facts.book;
    let mut unmet = Vec::new();
    let mut assumes = Vec::new();
    let mut promise = |given: Option<f64>, seen: f64, what: &str, flag: &str| {
        let Some(bound) = given else {
            assumes.push(format!("no future {what} beyond {seen} (promise one with {flag})"));
            return seen;
        };
        if seen > bound {
            unmet.push(format!("a {what} of {seen} is beyond {flag} {bound}"));
        }
        bound
    };
    let x = promise(facts.row_bound, book.longest_squared.sqrt(), "row length", "--row-bound");
    let y = match facts.loss.entry().task {
        Task::Binary => 1.0,
        Task::Real => promise(facts.label_bound, book.largest_label, "label size", "--label-bound"),
    };
    if book.rounds == 0 {
        unmet.push("no example has been seen".to_owned());
    }
    let equal = book.heaviest == 1.0 && book.lightest == 1.0 && book.examples == book.rounds;
    if book.rounds > 0 && !equal {
        unmet.push("importance weights other than 1".to_owned());
    }
    if !facts.one_pass {
        unmet.push("the model was resumed after several passes".to_owned());
    }
    if !facts.in_time {
        unmet.push("labels came late".to_owned());
    }
    if !facts.in_one_piece {
        unmet.push("the model is an average over parts of the stream".to_owned());
    }
    let ball = (facts.ball)(x);
    let range = match ball {
        None => {
            unmet.push("the learner's iterates have no ball fixed in advance".to_owned());
            None
        }
        Some(ball) => {
            // Iterates leave the ball by no more than their rounding.
            let (low, high) = facts.loss.interval(ball * x * (1.0 + 1e-9), y);
            let range = high - low;
            if !range.is_finite() {
                unmet.push("the loss has no finite range on the learner's ball".to_owned());
            }
            Some(range)
        }
    };
    let mut at_most = None;
    let mut excess_at_most = None;
    if let (true, Some(c), Some(average)) = (unmet.is_empty(), range, book.average_loss()) {
        let t = book.rounds as f64;
        let log = (1.0 / facts.delta).ln();
        at_most = Some(round_up(average + c * (log / (2.0 * t)).sqrt()));
        // The range is that of losses in the learner's ball: the comparators must lie in it too.
        excess_at_most = facts
            .regret_at_most
            .filter(|(_, radius)| ball.is_some_and(|ball| *radius <= ball))
            .map(|(regret, _)| round_up(regret + c * (2.0 * log / t).sqrt()));
    }
    Risk { delta: facts.delta, at_most, excess_at_most, unmet, assumes }
}
