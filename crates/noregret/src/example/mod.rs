//! From bytes to examples: sparse rows, their labels and their weights.

mod block;
mod classes;
mod digits;
pub mod format;
pub mod hash;
pub mod label;
mod lanes;
pub mod names;
pub mod number;
mod quote;
pub mod reader;
pub mod select;
mod text;
pub mod write;

pub use block::{Block, Features, Label, Lender, Row, Rows, Value};
pub(crate) use block::{Squares, pairs};
pub use classes::Classes;
pub use label::LabelMap;
pub use number::Number;
pub use reader::Reader;
