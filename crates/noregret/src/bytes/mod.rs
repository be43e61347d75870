//! Files, standard input and compressed streams as chunks of bytes.

mod chunk;
mod map;
mod open;
mod replace;

pub use chunk::{Chunker, Failure, LONGEST_LINE};
pub use map::{Content, Whole};
pub use open::{Compression, Source};
pub use replace::Replacement;

use crate::error::{Error, Result, UsageError};
use std::io;
use std::path::{Path, PathBuf};

/// Where bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input, written `-`.
    Stdin,
}

impl Input {
    /// The name as the user gave it: what messages call it.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "-".to_owned(),
        }
    }

    /// The size in bytes; `None` for what is not a regular file.
    pub fn size(&self) -> Option<u64> {
        match self {
            Input::Path(path) => {
                let about = std::fs::metadata(path).ok()?;
                about.is_file().then_some(about.len())
            }
            Input::Stdin => None,
        }
    }
}

/// The size of all inputs together; `None` when one of them is not a regular file.
pub fn total_size(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(Input::size).sum()
}

/// The inputs that names and patterns stand for, in the order given; the files of one pattern are
/// in sorted order. A name that exists is never taken as a pattern.
pub fn expand(patterns: &[String]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for pattern in patterns {
        if pattern == "-" {
            if inputs.contains(&Input::Stdin) {
                return Err(
                    UsageError::new("standard input (`-`) is named twice; it can be read only once").into()
                );
            }
            inputs.push(Input::Stdin);
            continue;
        }
        let literal = Path::new(pattern);
        if literal.exists() {
            inputs.push(file(literal.to_owned())?);
            continue;
        }
        let before = inputs.len();
        if pattern.contains(['*', '?', '[']) {
            let paths = glob::glob(pattern).map_err(|problem| {
                UsageError(format!("`{pattern}` is not a pattern of file names: {problem}"))
            })?;
            for path in paths {
                let path = path.map_err(|problem| Error::Io {
                    path: problem.path().to_owned(),
                    source: problem.into(),
                })?;
                // `data/*` means the files in data, whatever folders stand beside them.
                if !path.is_dir() {
                    inputs.push(Input::Path(path));
                }
            }
        }
        if inputs.len() == before {
            let what = if pattern.contains(['*', '?', '[']) {
                "no file has this name or matches this pattern"
            } else {
                "no such file"
            };
            return Err(Error::Io {
                path: pattern.into(),
                source: io::Error::new(io::ErrorKind::NotFound, what),
            });
        }
    }
    Ok(inputs)
}

fn file(path: PathBuf) -> Result<Input> {
    if path.is_dir() {
        let what = format!(
            "is a directory, expected a file; to read all files in it write '{}'",
            path.join("*").display()
        );
        return Err(Error::Io { path, source: io::Error::new(io::ErrorKind::IsADirectory, what) });
    }
    Ok(Input::Path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(patterns: &[String]) -> Result<Vec<String>> {
        Ok(expand(patterns)?.iter().map(Input::name).collect())
    }

    #[test]
    fn patterns_are_expanded_in_sorted_order_and_existing_names_are_taken_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["b.svm", "a.svm", "c[1].svm", "c1.svm"] {
            std::fs::write(path(name), "1 1:1\n").unwrap();
        }
        std::fs::create_dir(path("d.svm")).unwrap();
        let found = names(&[path("?.svm"), path("c[1].svm"), "-".into()]).unwrap();
        assert_eq!(found, [path("a.svm"), path("b.svm"), path("c[1].svm"), "-".into()]);
        assert_eq!(total_size(&expand(&[path("?.svm")]).unwrap()), Some(12));
        assert_eq!(total_size(&[Input::Stdin]), None);
    }

    #[test]
    fn what_matches_nothing_is_named() {
        for pattern in ["/nowhere/at/all.svm", "/nowhere/*.svm"] {
            let error = expand(&[pattern.to_owned()]).unwrap_err();
            assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound));
            assert!(error.to_string().starts_with(pattern), "{error}");
        }
    }

    #[test]
    fn a_directory_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let error = expand(&[folder.path().display().to_string()]).unwrap_err().to_string();
        assert!(error.contains("is a directory") && error.contains('*'), "{error}");
    }

    #[test]
    fn standard_input_is_read_only_once() {
        assert!(matches!(expand(&["-".into(), "-".into()]), Err(Error::Usage(_))));
    }
}
