//! Labels that come late: the model has moved on since it predicted.

use super::{Engine, limit};
use crate::error::Result;
use crate::example::{Features, Rows};
use crate::round::{Judge, Late};

/// Why theorems, which let every update come before the next prediction, say nothing.
pub(crate) const LATE: &str = "labels came late";

impl Engine {
    /// Learns a row for which `z` was predicted some time ago. The loss and the certificate are those of `z`; the
    /// step is the one for the slope at `z`, from where the model is now. Theorems and risk bounds do not
    /// speak of a run with such rounds any more.
    ///
    /// ```
    /// use noregret::engine::{Config, Engine};
    /// use noregret::example::Features;
    ///
    /// let mut engine = Engine::new(Config::new("ogd", "square"))?;
    /// let x = Features::new(&[0], &[1.0]);
    /// engine.learn_late(x, 0.25, 1.0, 1.0)?;
    /// assert_eq!(engine.average_loss(), Some(0.5625));
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn learn_late(&mut self, x: Features<'_, f64>, z: f64, y: f64, weight: f64) -> Result<()> {
        let row = Rows {
            offsets: &[0, x.indices.len()],
            indices: x.indices,
            values: x.values,
            labels: &[y],
            weights: &[weight],
        };
        limit::check(self.entry.name, self.largest_dimension(), row)?;
        let book = self.blocks.open();
        let mut judge = Judge {
            loss: &*self.loss,
            waiting: &mut self.waiting,
            book,
            tally: &mut self.tally,
            noted: None,
        };
        let done =
            self.machine.learn_late(Late { x, z, y, weight }, &mut judge).map_err(|refused| (0, refused));
        self.explain(done)?;
        self.late += 1;
        self.end_block();
        Ok(())
    }

    /// How many labels came late.
    pub fn late(&self) -> u64 {
        self.late
    }

    pub(crate) fn set_late(&mut self, late: u64) {
        self.late = late;
    }
}
