//! What a run says about itself.

mod baseline;
pub mod page;
pub mod progress;
mod scores;
mod summary;
mod tally;
mod windows;

pub use baseline::{LabelStats, MOST_DISTINCT_LABELS};
pub use progress::{Progress, ProgressRow};
pub use scores::CalibrationBin;
pub use summary::{Run, summary, verdict};
pub use tally::Tally;
pub use windows::table;
