//! Parts of a stream that were learned apart, from a common start, become one model: the states are averaged, the
//! ledgers add.
//!
//! The certificate of the sum speaks of everything that was predicted while learning, in whatever part: it holds for one
//! common model on the whole stream. Theorems speak of a single run, and are withheld.

use super::{Engine, Extra};
use crate::error::{Error, Result, UsageError};
use crate::learner;
use crate::regret::comparator::norm2;
use crate::regret::{Blocks, Ledger};

/// Why theorems say nothing.
pub(super) const AVERAGED: &str = "the model is an average over parts of the stream";

/// The rounding of one subtraction, and one to spare, as in `regret/blocks.rs`.
const SUBTRACTION: f64 = 2.0;

/// The learners that can be averaged.
pub const AVERAGING: &[&str] = &[
    "perceptron",
    "ogd",
    "projected-ogd",
    "subgradient",
    "strongly-convex-ogd",
    "ftrl",
    "adagrad",
    "ftrl-proximal",
    "scale-free",
    "normalized",
    "passive-aggressive",
];

impl Engine {
    /// Whether models of this kind can be averaged; the error says which can.
    pub fn can_average(&self) -> Result<(), UsageError> {
        if !self.machine.averages() {
            let known = AVERAGING.iter().filter(|name| learner::find(name).is_ok());
            let known: Vec<&str> = known.copied().collect();
            return Err(UsageError(format!(
                "models of the learner `{}` cannot be averaged; those of {} can",
                self.entry.name,
                known.join(", ")
            )));
        }
        if self.config.average {
            return Err(UsageError::new(
                "a model that keeps the average of its iterates cannot be averaged with others: leave --average out",
            ));
        }
        Ok(())
    }

    /// An engine that goes on from the same state with an empty ledger: the ledger of what it learns is that of its
    /// part alone.
    ///
    /// ```
    /// use noregret::engine::{Config, Engine};
    /// use noregret::example::Block;
    ///
    /// let mut start = Engine::new(Config::new("projected-ogd", "hinge"))?;
    /// start.learn(Block::<f32>::from_rows(&[(1.0, vec![(0, 1.0)])]).rows())?;
    /// let mut parts = [start.forked()?, start.forked()?];
    /// parts[0].learn(Block::<f32>::from_rows(&[(1.0, vec![(1, 1.0)])]).rows())?;
    /// parts[1].learn(Block::<f32>::from_rows(&[(-1.0, vec![(2, 1.0)])]).rows())?;
    /// let mut all = Engine::average(&[&parts[0], &parts[1]])?;
    /// all.follow(&start);
    /// assert_eq!(all.examples(), 3);
    /// assert!(all.certificate().unwrap().best_at_least <= all.average_loss().unwrap());
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn forked(&self) -> Result<Self> {
        let mut fork = Self::new(self.config.clone())?;
        fork.machine.restore(self.machine.save()).map_err(Error::Diverged)?;
        fork.set_windows(false);
        // A new one begins like any other; not so one that was forked itself, though it has learned nothing yet.
        if self.examples() > 0 || self.origin.is_some() {
            fork.begin_at_nothing();
        }
        Ok(fork)
    }

    /// The average of models that began alike, weighted by what they learned, with the sum of their ledgers, in this
    /// order. One that alone has learned anything is taken as it is, to the last bit.
    pub fn average(parts: &[&Engine]) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(UsageError::new("there is no model to average").into());
        };
        let learned: Vec<&&Engine> = parts.iter().filter(|part| part.examples() > 0).collect();
        if let [] | [_] = learned[..] {
            return learned.first().map_or(*first, |only| **only).doubled();
        }
        first.can_average()?;
        for part in &learned {
            let mut config = part.config.clone();
            config.windows = first.config.windows;
            if config != first.config {
                return Err(UsageError::new("models of different settings cannot be averaged").into());
            }
        }
        let weights: Vec<f64> = learned.iter().map(|part| part.whole_book().weight.value()).collect();
        let total: f64 = weights.iter().sum();
        // Where nothing has any weight, nobody has moved.
        let even = 1.0 / learned.len() as f64;
        let share = |weight: f64| if total > 0.0 { weight / total } else { even };
        let shares = weights.iter().map(|weight| share(*weight));
        let states = shares.zip(&learned).map(|(share, part)| (share, part.machine.save())).collect();
        let mut all = Self::new(first.config.clone())?;
        all.machine.average(states).map_err(Error::Diverged)?;
        all.set_windows(false);
        let mut ledger = Ledger::default();
        for part in &learned {
            ledger.merge(&part.ledger());
            all.tally.merge(part.tally());
            all.late += part.late;
            all.averaged_from += part.averaged_from.max(1);
            all.passes_before = all.passes_before.max(part.passes_before);
        }
        all.settle(ledger, None);
        Ok(all)
    }

    /// Says that what this engine learned came after all that `start` had learned, from which it was
    /// [forked](Engine::forked): the ledgers add.
    pub fn follow(&mut self, start: &Engine) {
        let mut ledger = start.ledger();
        ledger.merge(&self.ledger());
        let mut tally = start.tally().clone();
        tally.merge(self.tally());
        self.tally = tally;
        self.late += start.late;
        self.averaged_from = self.averaged_from.max(start.averaged_from);
        self.passes_before = self.passes_before.max(start.passes_before);
        self.settle(ledger, None);
    }

    /// Says that this engine's state was reached in passes over the stream that `first` had passed over once: losses and
    /// counts are those of the first pass, and the ledger of the last pass may prove more.
    pub fn repeat(&mut self, first: &Engine, passes: u32) {
        let latest = self.ledger();
        self.tally.clone_from(first.tally());
        self.late = first.late;
        self.averaged_from = self.averaged_from.max(first.averaged_from);
        self.passes_before = passes;
        self.settle(first.ledger(), Some(latest));
    }

    /// What came before now is in these ledgers.
    fn settle(&mut self, base: Ledger, latest: Option<Ledger>) {
        self.base = Some(base);
        self.base_latest = latest;
        self.first = None;
        self.begin_at_nothing();
    }

    /// From here on the ledger of the current part starts at nothing. The learner's `S` may be anything: what is
    /// learned next adds to it, and the difference is off by roundings of partial sums as large as it is now.
    fn begin_at_nothing(&mut self) {
        let s = self.machine.s();
        let reach = norm2(&s);
        self.blocks = Blocks::default();
        self.origin = Some((s, Extra { rounds: SUBTRACTION, reach }));
    }

    /// How many models it is the average of, where it is one; otherwise 0.
    pub fn averaged_from(&self) -> u64 {
        self.averaged_from
    }

    pub(crate) fn set_averaged_from(&mut self, count: u64) {
        self.averaged_from = count;
    }
}
