//! Files that are written whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that takes its name only once it is whole: written to a temporary name beside it, synced, then renamed. If
/// it is dropped before [`Replacement::commit`], nothing is left of it. A device or a pipe is written to directly.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// The temporary name and the real one.
    names: Option<(PathBuf, PathBuf)>,
}

impl Replacement {
    /// Begins to write what will be `path`. A link stays, and the file it leads to is replaced.
    pub fn create(path: &Path) -> io::Result<Self> {
        let Some(path) = destination(path) else {
            return Ok(Self { file: File::options().write(true).open(path)?, names: None });
        };
        let temporary = beside(&path)?;
        Ok(Self { file: File::create(&temporary)?, names: Some((temporary, path)) })
    }

    /// Gives the file its name.
    pub fn commit(mut self) -> io::Result<()> {
        let Some((temporary, path)) = &self.names else { return self.file.flush() };
        self.file.sync_all()?;
        std::fs::rename(temporary, path)?;
        // The rename itself is durable once the folder is. Not every system lets a folder be synced.
        if let Ok(folder) = File::open(folder(path)) {
            let _ = folder.sync_all();
        }
        self.names = None;
        Ok(())
    }

    /// Whether [`Replacement::create`] will find its folder, and may write there.
    pub fn can_create(path: &Path) -> io::Result<()> {
        let Some(path) = destination(path) else { return Ok(()) };
        let temporary = beside(&path)?;
        File::create(&temporary)?;
        std::fs::remove_file(&temporary)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.names {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Where a file is really written. Nothing when the name belongs to a device or a pipe, which can only be written to.
fn destination(path: &Path) -> Option<PathBuf> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => None,
        Ok(_) => Some(path.canonicalize().unwrap_or_else(|_| path.to_owned())),
        Err(_) => Some(path.to_owned()),
    }
}

/// The temporary name beside a file.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(io::Error::other("is a directory, expected the name of a file"));
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    Ok(folder(path).join(temporary))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "old").unwrap();
        let mut half = Replacement::create(&path).unwrap();
        half.write_all(b"half").unwrap();
        drop(half);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        let mut whole = Replacement::create(&path).unwrap();
        whole.write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        whole.commit().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
