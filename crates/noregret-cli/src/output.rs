//! What goes to standard output or to a file that the user named.

use anyhow::{Context, Result};
use noregret::error::Error;
use serde_json::{Map, Value};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes one JSON object to `target`: a file, or `-` for standard output.
pub(crate) fn json(target: &str, object: Map<String, Value>) -> Result<()> {
    let mut text = serde_json::to_string_pretty(&Value::Object(object))?;
    text.push('\n');
    if target == "-" {
        std::io::stdout().lock().write_all(text.as_bytes()).context("standard output")
    } else {
        std::fs::write(target, text)
            .map_err(|source| Error::Io { path: Path::new(target).to_owned(), source }.into())
    }
}

/// Writes text to standard output.
pub(crate) fn text(text: &str) -> Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes()).context("standard output")
}

/// A buffered place for many lines: a file, or standard output.
pub(crate) fn lines(target: Option<&str>) -> Result<Box<dyn Write>> {
    match target {
        None | Some("-") => Ok(Box::new(std::io::BufWriter::with_capacity(1 << 16, std::io::stdout()))),
        Some(path) => {
            let file = std::fs::File::create(path)
                .map_err(|source| Error::Io { path: Path::new(path).to_owned(), source })?;
            Ok(Box::new(std::io::BufWriter::with_capacity(1 << 16, file)))
        }
    }
}

/// Whether writing failed because nobody reads any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match cause.downcast_ref::<Error>() {
        Some(Error::Io { source, .. }) => source.kind() == ErrorKind::BrokenPipe,
        _ => cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|source| source.kind() == ErrorKind::BrokenPipe),
    })
}
