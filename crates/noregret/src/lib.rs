//! Online learning of linear models from a stream, in one pass, with a certificate of regret.
//!
//! The way of the data is the layout of this crate:
//!
//! ```text
//! bytes -> example -> learner -> loss -> regret -> report
//! ```
//!
//! - [`bytes`]: files, standard input and compressed streams become chunks that end at a newline;
//! - [`example`]: chunks become [`example::Block`]s of sparse rows with labels and weights;
//! - [`learner`]: one file per algorithm;
//! - [`loss`]: one file per loss;
//! - [`regret`]: the ledger, the comparators, the theorems;
//! - [`report`]: what a run says about itself.
//!
//! The protocol of every round (predict, suffer, slope, enter the ledger, update) is in [`round`].
//! [`separate`] finds a separating hyperplane of rows held in memory, or proves that there is none.
//! [`engine`] keeps all that belongs to one model, [`multiclass`] makes several classes of it; [`model`] writes it to a file and reads it back.

pub mod bytes;
pub mod engine;
pub mod error;
pub mod example;
pub mod generate;
pub mod learner;
pub mod loss;
pub mod model;
pub mod multiclass;
pub mod parameter;
pub mod regret;
pub mod report;
pub mod round;
pub mod separate;

/// The example in the README is compiled and run with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
