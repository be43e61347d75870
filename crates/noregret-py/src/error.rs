//! The library's errors as Python's: what the system refused is an `OSError`, all else a `ValueError`.

use noregret::error::Error;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::io::ErrorKind;

/// A message of the library names flags of the command; here they are keyword arguments.
pub(crate) fn in_python(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let flag = &flag[2..];
        let end = flag.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(flag.len());
        text.push_str(before);
        if end == 0 {
            text.push_str("--");
        }
        text.push_str(&flag[..end].replace('-', "_"));
        rest = &flag[end..];
    }
    text + rest
}

/// A `ValueError`.
pub(crate) fn refuse(message: impl AsRef<str>) -> PyErr {
    PyValueError::new_err(in_python(message.as_ref()))
}

/// Any error of the library.
pub(crate) fn raise(error: impl Into<Error>) -> PyErr {
    match error.into() {
        Error::Io { path, source } => {
            // Python chooses the class, such as `FileNotFoundError`, by the number.
            let number = source.raw_os_error();
            let text = source.to_string();
            let path = path.display().to_string();
            match number {
                Some(number) => {
                    let text = text.trim_end_matches(&format!(" (os error {number})")).to_owned();
                    PyOSError::new_err((number, text, path))
                }
                None if source.kind() == ErrorKind::NotFound => {
                    PyFileNotFoundError::new_err(format!("{path}: {text}"))
                }
                None => PyOSError::new_err(format!("{path}: {text}")),
            }
        }
        other => refuse(other.to_string()),
    }
}
