//! How the store does.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For how long a transaction that failed is told, if none is tried after it.
const LATELY: Duration = Duration::from_secs(10);

/// How the store does, for whoever looks after the server.
#[derive(Default)]
pub struct Health {
    /// What is wrong, if anything is.
    trouble: Mutex<Option<String>>,
    /// The last transaction that was tried, where it failed.
    failed: Mutex<Option<(String, Instant)>>,
    /// Transactions committed.
    pub commits: AtomicU64,
    /// Commands committed.
    pub commands: AtomicU64,
    /// Microseconds spent committing.
    pub microseconds: AtomicU64,
    /// Transactions that failed.
    pub failures: AtomicU64,
    /// The server is about to end.
    pub ending: AtomicBool,
}

impl Health {
    /// What is wrong with the store, if anything is.
    pub fn trouble(&self) -> Option<String> {
        let lasting = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        lasting.or_else(|| {
            // Whoever is told sends nothing more, and then nothing is tried: so it has to be forgotten.
            let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.as_ref().filter(|(_, when)| when.elapsed() < LATELY).map(|(error, _)| error.clone())
        })
    }

    /// What became of a transaction that was to be on the disk.
    pub(super) fn tried(&self, error: Option<String>) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) =
            error.map(|error| (error, Instant::now()));
    }

    pub(super) fn set(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}
