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
    /// How many rows it is about, and their features.
    fn about(&self) -> (usize, &[u32]) {
        match self {
            Self::Rows(block, learned) => (*learned, &block.indices),
            Self::Late { indices, .. } => (1, indices),
        }
    }

    /// Does it; an error was met by the twin too.
    fn repeat(&self, engine: &mut Pupil) {
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

/// From so many rows on it is cheaper to copy what they changed than to learn them again: counts of a quarter of a
/// megabyte are copied too.
const MANY: usize = 64;

/// Does to an engine what was done to its twin.
pub fn repeat(steps: &[Step], engine: &mut Pupil, twin: &Pupil) {
    if let (Pupil::One(engine), Pupil::One(twin)) = (&mut *engine, twin)
        && steps.iter().map(|step| step.about().0).sum::<usize>() >= MANY
    {
        let features: Vec<u32> = steps.iter().flat_map(|step| step.about().1).copied().collect();
        if engine.catch_up(twin, &features) {
            return;
        }
    }
    for step in steps {
        step.repeat(engine);
    }
}
