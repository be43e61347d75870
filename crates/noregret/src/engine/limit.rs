//! Learners that hold only so many features say so before they meet the first one too many.

use crate::error::{Error, Result, UsageError};
use crate::example::{Rows, Value};

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
