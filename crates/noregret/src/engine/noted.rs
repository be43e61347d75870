//! One engine among several: its predictions are noted as they are made, and it can be doubled.

use super::{Bench, Engine, limit};
use crate::error::{Error, Result};
use crate::example::Rows;
use crate::loss::Told;
use crate::report::Tally;
use crate::round::{Diverged, Entered, Judge};

/// A bench that notes every prediction.
struct Noted<'a> {
    bench: Bench<'a>,
    z: &'a mut Vec<f64>,
}

impl Judge for Noted<'_> {
    #[inline]
    fn told(&self, z: f64, y: f64) -> Told {
        self.bench.told(z, y)
    }

    #[inline]
    fn enter(&mut self, round: &Entered) -> Result<(), Diverged> {
        self.z.push(round.z);
        self.bench.enter(round)
    }
}

impl Engine {
    /// Learns rows like [`Engine::learn`] and appends what it predicted for each of them.
    pub(crate) fn learn_noting(&mut self, rows: Rows<'_, f32>, z: &mut Vec<f64>) -> Result<()> {
        limit::check(self.entry.name, self.largest_dimension(), rows)?;
        let bench = Bench { loss: &*self.loss, book: &mut self.book, tally: &mut self.tally };
        let done = self.machine.learn_f32(rows, &mut Noted { bench, z });
        self.explain(done)
    }

    /// The same for rows of f64 values.
    pub(crate) fn learn_noting_f64(&mut self, rows: Rows<'_, f64>, z: &mut Vec<f64>) -> Result<()> {
        limit::check(self.entry.name, self.largest_dimension(), rows)?;
        let bench = Bench { loss: &*self.loss, book: &mut self.book, tally: &mut self.tally };
        let done = self.machine.learn_f64(rows, &mut Noted { bench, z });
        self.explain(done)
    }

    /// An engine in the same state, to the bit, in the first pass.
    pub(crate) fn doubled(&self) -> Result<Self> {
        let mut twin = Self::new(self.config.clone())?;
        twin.restore(self.snapshot(), self.machine.save()).map_err(Error::Diverged)?;
        Ok(twin)
    }

    /// Keeps no ranking of scores: that takes a quarter of a megabyte, too much for one class of many.
    pub(crate) fn without_ranking(mut self) -> Self {
        self.tally = Tally::new(self.loss.entry().task, false);
        self
    }
}
