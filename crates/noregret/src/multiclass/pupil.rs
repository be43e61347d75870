//! Whoever learns: a model of one score, or of one for each class.

use super::Multiclass;
use crate::engine::{Certificate, Config, Engine};
use crate::error::Result;
use crate::example::Rows;
use crate::regret::Comparator;
use crate::regret::bound::Stated;
use crate::report::progress::Told;
use crate::report::{ProgressRow, Run, summary};
use serde_json::{Map, Value};

/// A model that learns, of either kind.
pub enum Pupil {
    /// Two classes, or numbers.
    One(Box<Engine>),
    /// Several classes.
    Many(Box<Multiclass>),
}

/// Asks whichever it is.
macro_rules! ask {
    ($pupil:expr, $it:ident => $answer:expr) => {
        match $pupil {
            Pupil::One($it) => $answer,
            Pupil::Many($it) => $answer,
        }
    };
}

impl Pupil {
    /// Learns rows in order. On an error the rows before it have been learned.
    pub fn learn(&mut self, rows: Rows<'_, f32>) -> Result<()> {
        ask!(self, it => it.learn(rows))
    }

    /// Learns rows of f64 values.
    pub fn learn_f64(&mut self, rows: Rows<'_, f64>) -> Result<()> {
        ask!(self, it => it.learn_f64(rows))
    }

    /// See [`Engine::is_linear`].
    pub fn is_linear(&self) -> bool {
        match self {
            Self::One(engine) => engine.is_linear(),
            Self::Many(several) => several.is_linear(),
        }
    }

    /// Whether a label, given its meaning, is one that can be learned from.
    pub fn accepts(&self, y: f64) -> bool {
        match self {
            Self::One(engine) => engine.loss().accepts(y),
            Self::Many(_) => true,
        }
    }

    /// Rows of the current pass in this run.
    pub fn pass_examples(&self) -> u64 {
        ask!(self, it => it.pass_examples())
    }

    /// The average loss of the first pass.
    pub fn average_loss(&self) -> Option<f64> {
        ask!(self, it => it.average_loss())
    }

    /// The average loss of the current pass.
    pub fn pass_loss(&self) -> Option<f64> {
        ask!(self, it => it.pass_loss())
    }

    /// Which pass this is, from 1.
    pub fn pass(&self) -> u32 {
        ask!(self, it => it.pass())
    }

    /// Ends a pass and begins the next one over the same stream.
    pub fn next_pass(&mut self) {
        ask!(self, it => it.next_pass());
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        ask!(self, it => it.config())
    }

    /// The class of comparators in force, and where its radius comes from.
    pub fn comparator(&self) -> (Comparator, Option<&'static str>) {
        ask!(self, it => it.comparator())
    }

    /// What the ledger proves.
    pub fn certificate(&self) -> Option<Certificate> {
        ask!(self, it => it.certificate())
    }

    /// What the learner's theorem says of the first pass.
    pub fn bound(&self) -> Option<Stated> {
        ask!(self, it => it.bound())
    }

    /// How many labels came late.
    pub fn late(&self) -> u64 {
        ask!(self, it => it.late())
    }

    /// How many passes over the data made the model before it was saved.
    pub fn passes_before(&self) -> u32 {
        ask!(self, it => it.passes_before())
    }

    /// The scheme of several classes.
    pub fn multiclass(&self) -> Option<&Multiclass> {
        match self {
            Self::One(_) => None,
            Self::Many(multiclass) => Some(multiclass),
        }
    }

    /// The JSON object of `learn`.
    pub fn summary(&self, run: &Run<'_>) -> Map<String, Value> {
        match self {
            Self::One(engine) => summary(engine, run),
            Self::Many(multiclass) => multiclass.summary(run),
        }
    }

    /// One more than the largest feature index seen.
    pub fn dimension(&self) -> usize {
        ask!(self, it => it.dimension())
    }
}

impl Told for Pupil {
    fn examples(&self) -> u64 {
        ask!(self, it => Told::examples(&**it))
    }

    fn totals(&self) -> (f64, f64) {
        ask!(self, it => it.totals())
    }

    fn row(&self) -> ProgressRow {
        ask!(self, it => it.row())
    }
}
