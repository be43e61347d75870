//! Learners that hold only so many features say so before they meet the first one too many; and so does whoever has no
//! memory for them.

use crate::error::{Error, Result, UsageError};
use crate::example::{Rows, Value};
use crate::learner::Entry;

/// Refuses rows with a feature beyond what the learner can hold.
pub(super) fn check<V: Value>(learner: &str, largest: Option<u32>, rows: Rows<'_, V>) -> Result<()> {
    let Some(limit) = largest else { return Ok(()) };
    let end = rows.iter().map(|r| r.x.end()).max().unwrap_or(0);
    if end > limit as usize {
        return Err(Error::Usage(UsageError(format!(
            "learner `{learner}` as it is set up holds at most {limit} features, and the input has a feature \
             {end} (counted from 1): choose another learner, or fold the features with --bits"
        ))));
    }
    Ok(())
}

/// There is no memory for so many features.
pub(super) fn no_room(learner: &Entry, end: usize, row: &str) -> Error {
    let bytes = end as u64 * learner.bytes_per_feature.0 as u64;
    Error::Usage(UsageError(format!(
        "{row}: there is no memory for a table of {end} features, about {} GB with learner `{}`: fold the features into fewer \
         places with a smaller --bits, or choose a learner that keeps fewer bytes a feature (`noregret learners`)",
        bytes.div_ceil(1_000_000_000),
        learner.name
    )))
}
