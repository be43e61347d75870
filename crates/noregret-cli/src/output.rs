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

/// Refuses files to be written that are also read (inputs, and files that flags name), or named for two purposes: one
/// would destroy the other. A model may be saved over the one that is resumed. A file whose folder does not exist is refused too:
/// better now than after hours of learning.
pub(crate) fn check_targets(
    inputs: &[Input],
    read: &[(&str, Option<&String>)],
    targets: &[(&str, Option<&String>)],
) -> Result<()> {
    let real = |path: &str| std::fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_owned());
    let regular = |path: &Path| std::fs::metadata(path).map_or(true, |m| m.is_file());
    let given = |files: &[(&str, Option<&String>)]| -> Vec<(String, String)> {
        let one = |(flag, path): &(&str, Option<&String>)| Some(((*flag).to_owned(), (*path)?.clone()));
        files.iter().filter_map(one).collect()
    };
    // An argument without a flag is named in capitals.
    let said =
        |name: &str| if name.starts_with(char::is_uppercase) { name.to_owned() } else { format!("--{name}") };
    let (read, named) = (given(read), given(targets));
    for (k, (flag, path)) in named.iter().enumerate() {
        if flag == "model" && path == "-" {
            return Err(UsageError::new("--model -: a model is saved to a file; name one").into());
        }
        if path == "-" || !regular(&real(path)) {
            continue;
        }
        if inputs
            .iter()
            .any(|input| matches!(input, Input::Path(p) if real(&p.to_string_lossy()) == real(path)))
        {
            let flag = said(flag);
            return Err(
                UsageError(format!("{flag} {path} would replace the input; name another file")).into()
            );
        }
        let over = |(other, from): &&(String, String)| {
            real(from) == real(path) && !(flag == "model" && other == "resume")
        };
        if let Some((other, _)) = read.iter().find(over) {
            let (flag, other) = (said(flag), said(other));
            let message = format!("{flag} {path} would replace what {other} names; name another file");
            return Err(UsageError(message).into());
        }
        if let Some((other, _)) = named[..k].iter().find(|(_, earlier)| real(earlier) == real(path)) {
            let (flag, other) = (said(flag), said(other));
            return Err(UsageError(format!("{flag} and {other} both name {path}; name two files")).into());
        }
        let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::metadata(folder).map_err(|source| Error::Io { path: path.into(), source })?;
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
