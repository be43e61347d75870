//! Models that keep learning over HTTP, and lose nothing.
//!
//! ```text
//! request -> parse -> committer (one fsync for all) -> a model's worker (learns, publishes) -> answer
//! ```
//!
//! - [`parse`]: bodies become rows, checked;
//! - [`command`]: what changes a model, in bytes: the records of its log;
//! - [`committer`]: the thread that makes records durable, for all models together;
//! - [`store`]: the database: snapshots and logs;
//! - [`state`]: what a record does to a model; the model is a function of its log;
//! - [`worker`]: the thread of a model: learns what is durable, publishes versions for predictors;
//! - [`models`]: all models, and the way of a command;
//! - [`source`]: examples that come by themselves;
//! - [`api`]: what can be asked over HTTP; [`serve`]: listening and ending; `connection`: one client, and how long it is
//!   waited for.

pub mod api;
pub mod auth;
pub mod codec;
pub mod command;
pub mod committer;
mod connection;
pub mod error;
pub mod model;
pub mod models;
pub mod parse;
pub mod serve;
pub mod settings;
pub mod source;
mod stall;
pub mod state;
pub mod store;
mod streams;
mod tls;
mod wording;
pub mod worker;

pub use serve::{Server, StartError};
pub use settings::{Durability, Settings};

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| d.as_millis() as u64)
}
