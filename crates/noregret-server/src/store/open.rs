//! Where the database lies, and what can go wrong with it.

use redb::{Builder, Database, StorageBackend};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

/// How much of the database is kept in memory.
const CACHE: usize = 64 << 20;

/// Makes the storage that a database lies on, anew for each opening.
pub(super) type MakeBackend = Arc<dyn Fn() -> Box<dyn StorageBackend> + Send + Sync>;

/// Where a database lies.
#[derive(Clone)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// Anywhere else.
    Backend(MakeBackend),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Backend(_) => f.write_str("the store"),
        }
    }
}

/// What can go wrong with the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened.
    #[error("{place}: {message}")]
    Open {
        /// Where.
        place: String,
        /// Why, and what to do.
        message: String,
    },
    /// What it holds is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// It could not be read or written.
    #[error("{0}")]
    Failed(String),
}

impl StoreError {
    pub(super) fn failed(error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::Corrupted(message) => Self::Damaged(message),
            other => Self::Failed(other.to_string()),
        }
    }
}

#[derive(Debug)]
struct Boxed(Box<dyn StorageBackend>);

impl StorageBackend for Boxed {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.0.write(offset, data)
    }
    fn close(&self) -> Result<(), std::io::Error> {
        self.0.close()
    }
}

impl Place {
    pub(super) fn open(&self) -> Result<Database, StoreError> {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE);
        // The database trusts its file more than we do: one that was cut off makes it panic.
        let opened = catch_unwind(AssertUnwindSafe(|| match self {
            Self::File(path) => builder.create(path),
            Self::Backend(make) => builder.create_with_backend(Boxed(make())),
        }));
        let message = match opened {
            Ok(Ok(database)) => return Ok(database),
            Ok(Err(redb::DatabaseError::DatabaseAlreadyOpen)) => {
                "another process serves this folder; stop it, or choose another --data".to_owned()
            }
            Ok(Err(redb::DatabaseError::Storage(redb::StorageError::Corrupted(what)))) => {
                format!("the store is damaged ({what}); put back a copy of the file, or choose another --data")
            }
            Ok(Err(redb::DatabaseError::Storage(redb::StorageError::Io(error)))) => match error.kind() {
                std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof => format!(
                    "the store is damaged ({error}); put back a copy of the file, or choose another --data"
                ),
                _ => error.to_string(),
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the store is damaged: it is not as the database wrote it, perhaps cut off; put back a copy of \
                       the file, or choose another --data"
                .to_owned(),
        };
        Err(StoreError::Open { place: self.to_string(), message })
    }
}
