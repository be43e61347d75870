//! Labels that come late: classes may have joined since the prediction, and the model has moved on.

use super::Multiclass;
use crate::error::Result;
use crate::example::{Features, Rows};

impl Multiclass {
    /// The score of each class, and after them the one that every class has which is yet to join: together what
    /// [`Multiclass::learn_late`] has to know of a prediction.
    pub fn scores_to_keep(&self, x: Features<'_, f64>, z: &mut Vec<f64>) {
        self.scores_f64(x, z);
        z.push(self.scheme.rest(x));
    }

    /// Learns a row for which `z` was predicted some time ago, as [`Multiclass::scores_to_keep`] gave it. A class that
    /// has joined since had the last of these scores. The loss and the certificate are those of `z`; the step is the one
    /// for the slope at `z`, from where the model is now. Theorems say nothing of a run with such rounds any more.
    /// On an error nothing has changed.
    ///
    /// ```
    /// use noregret::engine::Config;
    /// use noregret::example::{Block, Features};
    /// use noregret::multiclass::Multiclass;
    ///
    /// let mut model = Multiclass::new("softmax", Config::new("", ""), None)?;
    /// model.learn_f64(Block::<f64>::from_rows(&[(0.0, vec![(0, 1.0)]), (1.0, vec![(1, 1.0)])]).rows())?;
    /// let x = Features { indices: &[1], values: &[1.0] };
    /// let mut told = Vec::new();
    /// model.scores_to_keep(x, &mut told);
    /// model.learn_late(x, &told, 2, 1.0)?;
    /// assert_eq!((model.classes(), model.examples(), model.late()), (3, 3, 1));
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn learn_late(&mut self, x: Features<'_, f64>, z: &[f64], y: usize, weight: f64) -> Result<()> {
        let rest = z.last().copied().unwrap_or(0.0);
        let known = z.len().saturating_sub(1);
        let classes = self.classes().max(y + 1);
        let mut scores = std::mem::take(&mut self.row);
        scores.clear();
        scores.extend((0..=classes).map(|k| if k < known { z[k] } else { rest }));
        let done = self.late_round(x, &scores, y, weight, y >= known);
        self.row = scores;
        done
    }

    fn late_round(
        &mut self,
        x: Features<'_, f64>,
        z: &[f64],
        y: usize,
        weight: f64,
        newcomer: bool,
    ) -> Result<()> {
        let row = Rows {
            offsets: &[0, x.indices.len()],
            indices: x.indices,
            values: x.values,
            labels: &[y as f64],
            weights: &[weight],
        };
        self.scheme.check_at(row.row(0), z)?;
        if y >= self.classes() {
            self.admit(y as f64, self.classes())?;
        }
        self.scheme.learn_late(x, z, y, weight)?;
        if self.scheme.pass() == 1 {
            self.tally.enter(&z[..self.scheme.classes()], y, weight, newcomer);
        }
        Ok(())
    }

    /// How many labels came late.
    pub fn late(&self) -> u64 {
        self.scheme.late()
    }
}
