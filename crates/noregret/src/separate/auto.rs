//! Chooses by itself.
//!
//! 1. A few passes of the Perceptron settle easy rows at the price of little more than reading them.
//! 2. Where more rows can decide than a small linear system holds with ease, coordinate ascent, for as
//!    long as it makes good progress.
//! 3. The minimum-norm method, from the rows that have been difficult so far.
//! 4. Where that gives up (too many rows decide, or rounding), the smooth perceptron.

use super::coordinate::Coordinate;
use super::data::Data;
use super::minimum_norm::MinimumNorm;
use super::perceptron::Perceptron;
use super::{Counts, Entry, Method, View, Which, smooth};

pub(super) static ENTRY: Entry = Entry {
    name: "auto",
    summary: "a few passes of the Perceptron, then what suits the rows",
    guarantee: "that of the method that ends it",
    paper: "",
    build: |data| Box::new(Auto::new(data)),
};

/// Passes of the Perceptron.
const PASSES: u64 = 10;
/// Up to so many deciding rows the minimum-norm method has no rival.
const FEW: usize = 300;
/// Rounds of the last resort.
const LAST: u64 = 20_000;

enum Stage {
    Perceptron(Perceptron),
    Coordinate(Coordinate),
    MinimumNorm(MinimumNorm),
    Smooth(Box<dyn Method>),
}

struct Auto {
    stage: Stage,
    /// Of the stages before.
    before: Counts,
}

impl Auto {
    fn new(data: &Data) -> Self {
        Self { stage: Stage::Perceptron(Perceptron::new(data)), before: Counts::default() }
    }

    fn method(&self) -> &dyn Method {
        match &self.stage {
            Stage::Perceptron(method) => method,
            Stage::Coordinate(method) => method,
            Stage::MinimumNorm(method) => method,
            Stage::Smooth(method) => &**method,
        }
    }

    /// The next stage, when this one has done its part.
    fn advance(&mut self, data: &Data) {
        let next = match &self.stage {
            Stage::Perceptron(method) if method.is_clean() || method.counts().rounds >= PASSES => {
                if data.len().min(data.width()) <= FEW {
                    Stage::MinimumNorm(MinimumNorm::new(data, &method.mistakes_of))
                } else {
                    Stage::Coordinate(Coordinate::new(data, &method.mistakes_of))
                }
            }
            Stage::Coordinate(method) if method.stalls() || method.exhausted() => {
                Stage::MinimumNorm(MinimumNorm::new(data, &method.weights(Which::Last)))
            }
            Stage::MinimumNorm(method) if method.exhausted() => Stage::Smooth((smooth::ENTRY.build)(data)),
            _ => return,
        };
        self.before = self.counts();
        self.stage = next;
    }
}

impl Method for Auto {
    fn round(&mut self, data: &Data) {
        self.advance(data);
        match &mut self.stage {
            Stage::Perceptron(method) => method.round(data),
            Stage::Coordinate(method) => method.round(data),
            Stage::MinimumNorm(method) => method.round(data),
            Stage::Smooth(method) => method.round(data),
        }
    }

    fn counts(&self) -> Counts {
        let now = self.method().counts();
        Counts {
            rounds: self.before.rounds + now.rounds,
            iterations: self.before.iterations + now.iterations,
            mistakes: now.mistakes.or(self.before.mistakes),
        }
    }

    fn view(&self) -> View {
        self.method().view()
    }

    fn hyperplane(&self, which: Which) -> Vec<f64> {
        self.method().hyperplane(which)
    }

    fn weights(&self, which: Which) -> Vec<f64> {
        self.method().weights(which)
    }

    fn exhausted(&self) -> bool {
        matches!(&self.stage, Stage::Smooth(method) if method.counts().rounds >= LAST)
    }

    fn playing(&self) -> Option<&'static str> {
        Some(match &self.stage {
            Stage::Perceptron(_) => "perceptron",
            Stage::Coordinate(_) => "coordinate",
            Stage::MinimumNorm(_) => "minimum-norm",
            Stage::Smooth(_) => "smooth",
        })
    }
}
