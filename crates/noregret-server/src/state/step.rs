//! What was done to one of a model's two engines, so that the other can do the same.

use super::held;
use noregret::example::{Block, Features};
use noregret::multiclass::Pupil;

/// What an engine had to do, for its twin to do the same.
pub enum Step {
    /// Learn the first so many rows.
    Rows(Block<f64>, usize),
    /// Learn from a label that came late.
    Late {
        /// The features.
        indices: Vec<u32>,
        /// Their values.
        values: Vec<f64>,
        /// What was predicted.
        z: Vec<f64>,
        /// The label.
        y: f64,
        /// The importance.
        weight: f64,
    },
}

impl Step {
    /// Does it; an error was met by the twin too.
    pub fn repeat(&self, engine: &mut Pupil) {
        let done = match self {
            Self::Rows(block, learned) => held::learn(engine, block.rows().slice(0, *learned)),
            Self::Late { indices, values, z, y, weight } => {
                held::learn_late(engine, Features { indices, values }, z, *y, *weight)
            }
        };
        // The first of the two has told.
        drop(done);
    }
}
