//! What a run says about itself.

mod baseline;
mod tally;

pub use baseline::{LabelStats, MOST_DISTINCT_LABELS};
pub use tally::{CalibrationBin, Tally};
