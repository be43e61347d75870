//! What a run says about itself.

mod baseline;
mod scores;
mod tally;

pub use baseline::{LabelStats, MOST_DISTINCT_LABELS};
pub use scores::CalibrationBin;
pub use tally::Tally;
