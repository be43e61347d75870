//! Models that keep learning over HTTP, and lose nothing.

mod codec;
mod command;
mod committer;
mod error;
mod model;
mod models;
mod settings;
mod state;
mod store;
mod worker;

pub use error::Refusal;
pub use models::Models;
pub use settings::{Durability, Settings};
pub use store::{Place, StoreError};

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| d.as_millis() as u64)
}
