//! Whether a row could be learned, asked before anybody learns it: of several engines all learn it, or none.

use super::{Engine, limit};
use crate::error::{Error, Result};
use crate::example::{Row, Rows, Value};

/// Half of what a round may bring at most: a learner may look at a row once more before it predicts.
const LARGEST: f64 = 0.5e200;

impl Engine {
    /// Whether a row with this label fits, if `z` is predicted for it.
    pub(crate) fn check<V: Value>(&self, row: Row<'_, V>, y: f64, z: f64) -> Result<()> {
        let alone = Rows {
            offsets: &[0, row.x.indices.len()],
            indices: row.x.indices,
            values: row.x.values,
            labels: &[y],
            weights: &[],
        };
        limit::check(self.entry.name, self.largest_dimension(), alone)?;
        let told = self.loss.told(z, y);
        let alpha = row.weight * told.slope;
        let norm_squared = row.x.norm_squared() + if self.config.bias { 1.0 } else { 0.0 };
        let sizes =
            z.abs() + (row.weight * told.value).abs() + (alpha * z).abs() + alpha * alpha * norm_squared;
        // A NaN is not below anything either.
        if sizes <= LARGEST {
            return Ok(());
        }
        Err(Error::Diverged(format!(
            "example {} is too large to learn from: prediction {z:.3e}, loss {:.3e}; scale its weight or features",
            self.examples() + 1,
            told.value
        )))
    }
}
