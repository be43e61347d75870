//! What can go wrong, one type per stage. A message says what was found, what was expected, and
//! what to do about it.

use std::path::PathBuf;

/// A place in an input: the file's name as the user gave it (`-` for standard input), and the line
/// and the column (both from 1, the column in bytes) of what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The input's name.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: u64,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Input that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {message}")]
pub struct FormatError {
    /// Where.
    pub position: Position,
    /// What was found, what was expected, what to do.
    pub message: String,
}

/// A parameter, flag or combination of them that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl UsageError {
    /// From anything that can be a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Everything that the library can refuse or fail at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller asked for something that does not exist or does not fit.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The input is wrong.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The system refused to read or write.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file (`-` for standard input).
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A number left the range of f64 while learning.
    #[error("{0}")]
    Diverged(String),
    /// A model file that cannot be used.
    #[error("{path}: {message}", path = path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        message: String,
    },
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
