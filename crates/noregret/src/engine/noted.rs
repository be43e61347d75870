//! One engine among several: its predictions are noted as they are made, and it can be doubled.

use super::Engine;
use crate::error::{Error, Result};
use crate::example::Rows;
use crate::report::Tally;
use crate::round::Machine;

impl Engine {
    /// Learns rows like [`Engine::learn`] and appends what it predicted for each of them.
    pub(crate) fn learn_noting(&mut self, rows: Rows<'_, f32>, z: &mut Vec<f64>) -> Result<()> {
        self.learn_by(rows, Some(z), <dyn Machine>::learn_f32)
    }

    /// The same for rows of f64 values.
    pub(crate) fn learn_noting_f64(&mut self, rows: Rows<'_, f64>, z: &mut Vec<f64>) -> Result<()> {
        self.learn_by(rows, Some(z), <dyn Machine>::learn_f64)
    }

    /// An engine in the same state, to the bit, in the first pass.
    pub(crate) fn doubled(&self) -> Result<Self> {
        let mut twin = Self::new(self.config.clone())?;
        twin.restore(self.snapshot(), self.machine.save()).map_err(Error::Diverged)?;
        twin.set_late(self.late);
        twin.set_averaged_from(self.averaged_from);
        Ok(twin)
    }

    /// Becomes what its twin has become by learning rows of these features since the two were equal: by copying what has
    /// changed, which takes less time than learning. `false` if the learner cannot; then nothing has changed.
    ///
    /// ```
    /// use noregret::engine::{Config, Engine};
    /// use noregret::example::Block;
    ///
    /// let mut twins = [Engine::new(Config::new("auto", "logistic"))?, Engine::new(Config::new("auto", "logistic"))?];
    /// let block = Block::<f32>::from_rows(&[(1.0, vec![(0, 1.0)]), (-1.0, vec![(3, 1.0)])]);
    /// let [first, second] = &mut twins;
    /// first.learn(block.rows())?;
    /// assert!(second.catch_up(first, &[0, 3]));
    /// assert_eq!(first.certificate(), second.certificate());
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn catch_up(&mut self, twin: &Self, features: &[u32]) -> bool {
        let done = self.pass == twin.pass && self.machine.catch_up(&*twin.machine, features);
        if done {
            self.blocks.clone_from(&twin.blocks);
            self.tally.clone_from(&twin.tally);
            self.late = twin.late;
        }
        done
    }

    /// Keeps no ranking of scores, which takes a quarter of a megabyte, and no recent parts, which take several
    /// vectors: too much for one class of many.
    pub(crate) fn without_ranking(mut self) -> Self {
        self.set_windows(false);
        self.tally = Tally::new(self.loss.entry().task, false);
        self
    }
}
