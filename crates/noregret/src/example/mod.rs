//! From bytes to examples: sparse rows, their labels and their weights.

mod block;
pub mod format;
pub mod hash;
pub mod names;
mod text;

pub use block::{Block, Features, Label, Row, Rows, Value};
