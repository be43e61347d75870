//! Many rows, cut into runs that the engine learns while other Python threads go on.

use noregret::error::Result;
use noregret::example::{Features, Number, Rows};
use noregret::multiclass::{Multiclass, Pupil};
use numpy::Element;

/// About how many values a run has: enough that handing over costs nothing, few enough that they stay in the
/// processor's cache between being checked and being learned.
pub(crate) const RUN_VALUES: usize = 1 << 14;

/// The most rows of a run, for rows without values.
pub(crate) const RUN_ROWS: usize = 1 << 12;

/// A kind of value that is learned from.
pub(crate) trait Kind: Number + Element {
    fn learn(pupil: &mut Pupil, rows: Rows<'_, Self>) -> Result<()>;
    fn score(engine: &noregret::engine::Engine, x: Features<'_, Self>) -> f64;
    fn scores(several: &Multiclass, x: Features<'_, Self>, z: &mut Vec<f64>);
}

impl Kind for f32 {
    fn learn(pupil: &mut Pupil, rows: Rows<'_, f32>) -> Result<()> {
        pupil.learn(rows)
    }
    fn score(engine: &noregret::engine::Engine, x: Features<'_, f32>) -> f64 {
        engine.predict(x)
    }
    fn scores(several: &Multiclass, x: Features<'_, f32>, z: &mut Vec<f64>) {
        several.scores(x, z);
    }
}

impl Kind for f64 {
    fn learn(pupil: &mut Pupil, rows: Rows<'_, f64>) -> Result<()> {
        pupil.learn_f64(rows)
    }
    fn score(engine: &noregret::engine::Engine, x: Features<'_, f64>) -> f64 {
        engine.predict_f64(x)
    }
    fn scores(several: &Multiclass, x: Features<'_, f64>, z: &mut Vec<f64>) {
        several.scores_f64(x, z);
    }
}

/// A run of rows without labels.
pub(crate) struct Run<'b, V> {
    pub(crate) offsets: &'b [usize],
    pub(crate) indices: &'b [u32],
    pub(crate) values: &'b [V],
    /// Hashed names met for the first time.
    pub(crate) fresh: Vec<(u32, Box<str>)>,
    /// What is wrong with the row after them.
    pub(crate) problem: Option<String>,
}

impl<V> Run<'_, V> {
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// Rows that are handed out in runs.
pub(crate) trait Runs<V>: Send {
    /// How many rows there are.
    fn rows(&self) -> usize;

    /// The rows from `from` on that fit in a run. It is shorter than that only before a bad row.
    fn run(&mut self, from: usize) -> Run<'_, V>;
}

/// Says where a number is that is none.
pub(crate) fn not_finite(row: usize, column: impl std::fmt::Display, value: f64) -> String {
    format!("row {row}, column {column}: found {value}, expected a finite number (rows and columns from 0)")
}
