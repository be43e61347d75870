//! What goes to standard output or to a file that the user named.

use anyhow::{Context, Result};
use noregret::bytes::Input;
use noregret::error::{Error, UsageError};
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

/// Refuses files to be written that are also read, or named for two purposes: one would destroy the
/// other.
pub(crate) fn check_targets(inputs: &[Input], targets: &[(&str, Option<&String>)]) -> Result<(), UsageError> {
    let real = |path: &str| std::fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_owned());
    let regular = |path: &Path| std::fs::metadata(path).map_or(true, |m| m.is_file());
    let named: Vec<(&str, &str)> =
        targets.iter().filter_map(|(flag, path)| Some((*flag, path.as_ref()?.as_str()))).collect();
    // An argument without a flag is named in capitals.
    let said =
        |name: &str| if name.starts_with(char::is_uppercase) { name.to_owned() } else { format!("--{name}") };
    for (k, (flag, path)) in named.iter().enumerate() {
        if *flag == "model" && *path == "-" {
            return Err(UsageError::new("--model -: a model is saved to a file; name one"));
        }
        if *path == "-" || !regular(&real(path)) {
            continue;
        }
        if inputs
            .iter()
            .any(|input| matches!(input, Input::Path(p) if real(&p.to_string_lossy()) == real(path)))
        {
            let flag = said(flag);
            return Err(UsageError(format!("{flag} {path} would replace the input; name another file")));
        }
        if let Some((other, _)) = named[..k].iter().find(|(_, earlier)| real(earlier) == real(path)) {
            let (flag, other) = (said(flag), said(other));
            return Err(UsageError(format!("{flag} and {other} both name {path}; name two files")));
        }
    }
    Ok(())
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
