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

    /// Keeps no ranking of scores, which takes a quarter of a megabyte, and no recent parts, which take several
    /// vectors: too much for one class of many.
    pub(crate) fn without_ranking(mut self) -> Self {
        self.set_windows(false);
        self.tally = Tally::new(self.loss.entry().task, false);
        self
    }
}
