//! How the store does.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// How the store does, for whoever looks after the server.
#[derive(Default)]
pub struct Health {
    /// What is wrong, if anything is.
    trouble: Mutex<Option<String>>,
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
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}
