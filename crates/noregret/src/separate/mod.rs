//! Separation: a hyperplane with every row on its right side, or a proof that there is none above a
//! margin.
//!
//! Rows are `m_i = y_i x_i`. A method plays a game between a learner, who holds `w`, and the data,
//! which holds a distribution `p` on the rows; every round narrows the bracket
//! `min_i <w, m_i>/|w| <= best margin <= |sum p_i m_i|` ([`bracket`]), whose two sides are a
//! separator and a proof that nothing better exists. What is answered has been checked from scratch
//! ([`check`]).
//!
//! To add a method: a file with a `pub(super) static ENTRY`, its `mod` line, and its line in
//! [`ENTRIES`].

mod auto;
pub mod bracket;
pub mod certificate;
mod cheap;
pub mod check;
mod coordinate;
pub mod data;
pub mod figure;
mod game;
mod max_margin;
mod minimum_norm;
mod mirror_prox;
mod optimistic;
mod perceptron;
mod polish;
mod smooth;
mod theorem;
mod wolfe;

pub use bracket::{Bracket, Verified};
pub use certificate::{Certificate, Verdict, Verifier};
pub use data::{Data, Normalize, Shape};
pub use theorem::Checked;

use crate::error::UsageError;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Every method; the first is the default.
pub static ENTRIES: &[&Entry] = &[
    &auto::ENTRY,
    &perceptron::ENTRY,
    &optimistic::ENTRY,
    &smooth::ENTRY,
    &mirror_prox::ENTRY,
    &max_margin::ENTRY,
    &coordinate::ENTRY,
    &minimum_norm::ENTRY,
];

/// A method in the registry.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The name after `--method`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What is proved about it.
    pub guarantee: &'static str,
    /// Where.
    pub paper: &'static str,
    /// Makes one for these rows, of which there is at least one, and none is zero.
    #[serde(skip)]
    pub build: fn(&Data) -> Box<dyn Method>,
}

/// The method of that name.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES.iter().copied().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
        UsageError(format!("there is no method `{name}`; there are {}", names.join(", ")))
    })
}

/// Which of a method's hyperplanes or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Of the last round.
    Last = 0,
    /// The average over the rounds.
    Average = 1,
}

impl Which {
    const BOTH: [Which; 2] = [Which::Last, Which::Average];
}

/// What a method shows after a round: estimates, in the order of [`Which`].
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// `min_i <w, m_i>/|w|`.
    pub margin: [Option<f64>; 2],
    /// `|sum p_i m_i|`.
    pub bound: [Option<f64>; 2],
}

/// What a method has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rounds; passes of the Perceptron.
    pub rounds: u64,
    /// Additions and inner products of two vectors.
    pub iterations: u64,
    /// Rows found on the wrong side, where the method works that way.
    pub mistakes: Option<u64>,
}

/// A way to play the game.
pub trait Method {
    /// One round: the learner moves, the data moves.
    fn round(&mut self, data: &Data);
    /// What has been done so far.
    fn counts(&self) -> Counts;
    /// How good the hyperplanes and the weights at hand are.
    fn view(&self) -> View;
    /// A hyperplane, of any length.
    fn hyperplane(&self, which: Which) -> Vec<f64>;
    /// Weights of all rows, of any positive sum.
    fn weights(&self, which: Which) -> Vec<f64>;

    /// The hyperplane that the method answers with, once it separates.
    fn separated(&self) -> Option<Which> {
        let view = self.view();
        Which::BOTH.into_iter().find(|&which| view.margin[which as usize].is_some_and(|m| m > 0.0))
    }

    /// Whether more rounds will not help: rounding stands in the way.
    fn exhausted(&self) -> bool {
        false
    }

    /// Which method did the last round, where several take turns.
    fn playing(&self) -> Option<&'static str> {
        None
    }

    /// What its theorems allow and what was used, the margin being between these two.
    fn theorems(&self, _margin: (f64, f64)) -> Vec<Checked> {
        Vec::new()
    }
}

/// The largest size of a value that methods and checks can bear: fourth powers of lengths are finite.
pub const LARGEST_VALUE: f64 = 1e70;

/// The smallest size that the largest value of a row may have for methods to bear it, unless the row
/// is zero, has a bias or is divided by its length: fourth powers of lengths do not vanish.
pub const SMALLEST_ROW: f64 = 1e-70;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Once it is known whether the rows can be separated.
    Separated,
    /// Once the bracket is narrow enough.
    Tolerance,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The method.
    pub method: &'static Entry,
    /// When to stop.
    pub stop: Stop,
    /// The width of the bracket, relative to its upper end, that is narrow enough.
    pub tolerance: f64,
    /// Margins up to this count as none.
    pub floor: Floor,
    /// The most rounds.
    pub max_rounds: Option<u64>,
    /// The most time.
    pub max_time: Option<Duration>,
}

impl Settings {
    /// The defaults, with this method.
    pub fn new(method: &'static Entry) -> Self {
        Self {
            method,
            stop: Stop::Separated,
            tolerance: 0.01,
            floor: Floor::Relative,
            max_rounds: None,
            max_time: None,
        }
    }
}

/// Margins up to the floor count as none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floor {
    /// This margin.
    Absolute(f64),
    /// `1e-12 r`, where `r` is the mean length of the rows that the proof weighs: among rows of
    /// different size the floor is that of the rows in question, never above that of the longest.
    Relative,
}

impl Floor {
    /// The margin, for a proof whose rows have this mean length.
    pub fn at(self, mean_length: f64) -> f64 {
        match self {
            Floor::Absolute(margin) => margin,
            Floor::Relative => 1e-12 * mean_length,
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Rounds so far.
    pub rounds: u64,
    /// The bracket by its estimates.
    pub at_least: f64,
    /// Its upper end.
    pub at_most: f64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// A separator was found.
    Separated,
    /// The bracket is narrow enough.
    Tolerance,
    /// No margin above the floor is possible.
    Floor,
    /// The rounds are used up.
    Rounds,
    /// The time is used up.
    Time,
    /// Somebody wanted to stop.
    Interrupted,
    /// Rounding keeps the method from going on.
    Exhausted,
}

/// The answer, checked.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Yes, no margin above the floor, or not known.
    pub separable: Option<bool>,
    /// The bracket and its two proofs.
    pub verified: Verified,
    /// The floor in force.
    pub floor: f64,
    /// What was done.
    pub counts: Counts,
    /// The first round after which some hyperplane at hand separated.
    pub first_separating_round: Option<u64>,
    /// The method that found the answer.
    pub decided_by: &'static str,
    /// Why it ended.
    pub ended: Ended,
    /// The theorems.
    pub theorems: Vec<Checked>,
}

/// The round after which weights are polished for the first time; then at every fourfold.
const FIRST_POLISH: u64 = 16;

/// Plays until something is known. `watch` is told after every round where things stand, and ends
/// the run by answering `false`.
pub fn separate(data: &Data, settings: &Settings, watch: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    let began = Instant::now();
    let floor = settings.floor;
    let mut bracket = Bracket::new(data);
    if let Some(p) = cheap::proof(data) {
        bracket.offer_weights(0.0, p);
        let verified = bracket.verify(data);
        if decide(&verified, floor) == Some(false) {
            return Outcome {
                separable: Some(false),
                floor: floor.at(verified.mean_length),
                verified,
                counts: Counts::default(),
                first_separating_round: None,
                decided_by: "opposite-rows",
                ended: Ended::Floor,
                theorems: Vec::new(),
            };
        }
        bracket = Bracket::new(data);
    }
    let mut method = (settings.method.build)(data);
    let mut first_separating_round = None;
    // A check that failed by a hair is not repeated every round.
    let mut next_check = 0;
    let mut next_floor = 0;
    let mut next_polish = FIRST_POLISH;
    let (ended, verified) = loop {
        method.round(data);
        let rounds = method.counts().rounds;
        let view = method.view();
        if first_separating_round.is_none() && view.margin.iter().flatten().any(|m| *m > 0.0) {
            first_separating_round = Some(rounds);
        }
        bracket.offer(&*method, &view, false);
        if rounds >= next_polish && bracket.margin <= 0.0 {
            next_polish = rounds * 4;
            let best = view.bound[1].map_or(Which::Last, |_| Which::Average);
            if let Some((bound, p)) = polish::polish(data, &method.weights(best), floor) {
                bracket.offer_weights(bound, p);
                next_floor = rounds;
            }
        }
        let due = match stopping(settings, &*method, &bracket) {
            Some(_) if rounds >= next_check => true,
            None if bracket.bound <= floor.at(data.longest()) && rounds >= next_floor => true,
            _ => false,
        };
        if due {
            bracket.offer(&*method, &view, true);
            let verified = bracket.verify(data);
            if let Some(ended) = agreed(settings, &*method, &verified) {
                break (ended, Some(verified));
            }
            next_check = rounds + 1 + rounds / 8;
            next_floor = 2 * rounds;
        }
        let progress = Progress { rounds, at_least: bracket.margin, at_most: bracket.bound };
        if !watch(&progress) {
            break (Ended::Interrupted, None);
        }
        if settings.max_rounds.is_some_and(|most| rounds >= most) {
            break (Ended::Rounds, None);
        }
        if settings.max_time.is_some_and(|most| began.elapsed() >= most) {
            break (Ended::Time, None);
        }
        if method.exhausted() {
            break (Ended::Exhausted, None);
        }
    };
    let verified = verified.unwrap_or_else(|| {
        bracket.offer(&*method, &method.view(), true);
        bracket.verify(data)
    });
    Outcome {
        separable: decide(&verified, floor),
        theorems: method.theorems((verified.at_least, verified.at_most)),
        floor: floor.at(verified.mean_length),
        verified,
        counts: method.counts(),
        first_separating_round,
        decided_by: method.playing().unwrap_or(settings.method.name),
        ended,
    }
}

/// The answer that a checked bracket gives.
fn decide(verified: &Verified, floor: Floor) -> Option<bool> {
    if verified.at_least > 0.0 {
        Some(true)
    } else if verified.exact || verified.at_most <= floor.at(verified.mean_length) {
        Some(false)
    } else {
        None
    }
}

fn narrow(settings: &Settings, low: f64, high: f64) -> bool {
    low > 0.0 && high - low <= settings.tolerance * high
}

/// Why the run may end by the estimates.
fn stopping(settings: &Settings, method: &dyn Method, bracket: &Bracket) -> Option<Ended> {
    match settings.stop {
        Stop::Separated => method.separated().map(|_| Ended::Separated),
        Stop::Tolerance => narrow(settings, bracket.margin, bracket.bound).then_some(Ended::Tolerance),
    }
}

/// Why it does end, by what has been checked.
fn agreed(settings: &Settings, method: &dyn Method, verified: &Verified) -> Option<Ended> {
    if !decide(verified, settings.floor)? {
        return Some(Ended::Floor);
    }
    match settings.stop {
        Stop::Separated => method.separated().map(|_| Ended::Separated),
        Stop::Tolerance => narrow(settings, verified.at_least, verified.at_most).then_some(Ended::Tolerance),
    }
}
