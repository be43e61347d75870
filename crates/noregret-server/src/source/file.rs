//! Examples from a file that grows, one a line, as `tail -F` follows it: through rotation and truncation.
//!
//! A position is how many files came before, how much of this one has been learned, and a print of the bytes just before
//! that place. By its print a file is known again, whatever it is called by then: when the server was away while the
//! file was rotated, the rest of it is read from where it was moved to, and then the files after it.

use super::Feed;
use super::run::MOST_ROWS;
use crate::error::Refusal;
use std::fs::Metadata;
use std::io::{Result, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use xxhash_rust::xxh3::xxh3_64;

/// How often a file is looked at when there is nothing more in it.
const LOOK: Duration = Duration::from_millis(200);

/// A file that was moved may still be written to; it is left when it has been quiet for this long.
const QUIET: Duration = Duration::from_secs(1);

/// How many bytes before a place make its print.
const TAIL: usize = 1024;

/// What is read at a time.
const PIECE: u64 = 1 << 18;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// Files before this one: 32 bits.
    generation: u64,
    /// Bytes before the place: 48 bits.
    offset: u64,
    /// Of the bytes just before it: 48 bits.
    print: u64,
}

const LOW: u64 = (1 << 48) - 1;

impl Place {
    fn of(position: u128) -> Self {
        let print = position as u64 & LOW;
        Self { generation: (position >> 96) as u64, offset: (position >> 48) as u64 & LOW, print }
    }

    fn position(self) -> u128 {
        u128::from(self.generation) << 96 | u128::from(self.offset & LOW) << 48 | u128::from(self.print & LOW)
    }
}

fn print(tail: &[u8]) -> u64 {
    xxh3_64(tail) & LOW
}

/// What makes a file the same under another name.
#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn identity(about: &Metadata) -> (u64, u64) {
    let made = about.created().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
    (made.map_or(0, |t| t.as_nanos() as u64), 0)
}

/// A file that is being read.
struct Open {
    file: File,
    identity: (u64, u64),
    generation: u64,
    /// What is before this has been given.
    offset: u64,
    /// The bytes just before it.
    tail: Vec<u8>,
    /// Bytes after it that are not a whole line yet.
    rest: Vec<u8>,
    /// The line that `rest` began with is too long, and is passed over.
    passing: bool,
}

impl Open {
    async fn begin(path: &Path, generation: u64) -> Result<Self> {
        let file = File::open(path).await?;
        let identity = identity(&file.metadata().await?);
        Ok(Self { file, identity, generation, offset: 0, tail: Vec::new(), rest: Vec::new(), passing: false })
    }

    /// The file at `path`, if it holds what is before the place.
    async fn at(path: &Path, place: Place) -> Result<Option<Self>> {
        let mut open = Self::begin(path, place.generation).await?;
        open.offset = place.offset;
        open.tail = vec![0; place.offset.min(TAIL as u64) as usize];
        let found = open.before().await?;
        let same = found.len() == open.tail.len() && print(&found) == place.print;
        open.tail = found;
        Ok(same.then_some(open))
    }

    /// The bytes before the offset, as they are in the file now.
    async fn before(&mut self) -> Result<Vec<u8>> {
        let mut found = Vec::with_capacity(self.tail.len());
        self.file.seek(SeekFrom::Start(self.offset - self.tail.len() as u64)).await?;
        (&mut self.file).take(self.tail.len() as u64).read_to_end(&mut found).await?;
        Ok(found)
    }

    /// Reads on. None when the file is no longer what it was: what was read is not to be trusted.
    async fn more(&mut self) -> Result<Option<usize>> {
        let end = self.offset + self.rest.len() as u64;
        self.file.seek(SeekFrom::Start(end)).await?;
        let read = (&mut self.file).take(PIECE).read_to_end(&mut self.rest).await?;
        // Looked at after reading: if this is still there, so was the rest.
        let shorter = self.file.metadata().await?.len() < end;
        Ok((!shorter && self.before().await? == self.tail).then_some(read))
    }

    /// Goes on past the first so many bytes of the rest.
    fn pass(&mut self, bytes: usize) {
        self.tail.extend_from_slice(&self.rest[..bytes]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        self.offset += bytes as u64;
        self.rest.drain(..bytes);
    }

    fn place(&self) -> Place {
        Place { generation: self.generation, offset: self.offset, print: print(&self.tail) }
    }
}

/// The files that `path` may have been before: its name, then digits and what dates have between them. The oldest first,
/// `path` itself last among those of one time.
async fn family(path: &Path) -> Result<Vec<(SystemTime, PathBuf, (u64, u64))>> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    let mut list = tokio::fs::read_dir(folder).await?;
    while let Some(entry) = list.next_entry().await? {
        let other = entry.file_name().to_string_lossy().into_owned();
        let Some(ending) = other.strip_prefix(&name) else { continue };
        let dated = |ending: &str| {
            ending.starts_with(['.', '-', '_'])
                && ending.contains(|c: char| c.is_ascii_digit())
                && ending.chars().all(|c| c.is_ascii_digit() || ".-_:+TZ".contains(c))
        };
        if ending.is_empty() || dated(ending) {
            let Ok(about) = tokio::fs::metadata(entry.path()).await else { continue };
            if about.is_file() {
                found.push((about.modified()?, ending.is_empty(), other, identity(&about)));
            }
        }
    }
    // Of one time: x.2, x.1, x.
    found.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| b.2.cmp(&a.2)));
    Ok(found.into_iter().map(|(time, _, name, identity)| (time, folder.join(name), identity)).collect())
}

/// The file to go on with after a place, or to begin with. None as long as there is no such file.
async fn locate(feed: &Feed, path: &Path, place: Option<Place>) -> Result<Option<Open>> {
    if let Some(place) = place {
        for (_, name, _) in family(path).await?.into_iter().rev() {
            if let Some(open) = Open::at(&name, place).await? {
                return Ok(Some(open));
            }
        }
    }
    if !tokio::fs::try_exists(path).await? {
        return Ok(None);
    }
    if place.is_some() {
        feed.note(&Refusal::unavailable(
            "source_gap",
            format!(
                "{} no longer holds what was learned of it, nor does a file that it may have been moved to; it is read \
                 from its beginning, and what was in the other since is lost",
                path.display()
            ),
        ));
    }
    Open::begin(path, place.map_or(0, |p| p.generation + 1)).await.map(Some)
}

/// The file after one that has been read to its end, if there is one.
async fn after(path: &Path, open: &Open) -> Result<Option<PathBuf>> {
    let files = family(path).await?;
    let time = open.file.metadata().await?.modified()?;
    let next = match files.iter().position(|(_, _, identity)| *identity == open.identity) {
        Some(k) => files.get(k + 1),
        None => files.iter().find(|(modified, _, _)| *modified >= time),
    };
    Ok(next.map(|(_, name, _)| name.clone()))
}

/// Reads on until the model is gone, or something fails.
pub(super) async fn run(feed: &Feed, path: &Path) -> std::result::Result<(), String> {
    follow(feed, path).await.map_err(|e| e.to_string())
}

async fn follow(feed: &Feed, path: &Path) -> Result<()> {
    let Ok(position) = feed.position().await else { return Ok(()) };
    let mut learned = position.map(Place::of);
    let mut current: Option<Open> = None;
    let mut quiet = Instant::now();
    while !feed.is_over() {
        let Some(open) = &mut current else {
            current = locate(feed, path, learned).await?;
            quiet = Instant::now();
            if current.is_none() {
                tokio::time::sleep(LOOK).await;
            }
            continue;
        };
        match open.more().await? {
            None if open.offset == 0 => {
                open.rest.clear();
                open.passing = false;
                continue;
            }
            None => {
                tracing::info!(path = %path.display(), "the file was cut");
                current = None;
                continue;
            }
            Some(0) => {}
            Some(_) => {
                quiet = Instant::now();
                if !give(feed, path, open, false, &mut learned).await {
                    return Ok(());
                }
                continue;
            }
        }
        let moved = match tokio::fs::metadata(path).await {
            Ok(about) => identity(&about) != open.identity,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        if moved
            && quiet.elapsed() >= QUIET
            && let Some(next) = after(path, open).await?
        {
            // Nobody will end its last line any more.
            if !give(feed, path, open, true, &mut learned).await {
                return Ok(());
            }
            tracing::info!(path = %next.display(), "the next file");
            let generation = open.generation + 1;
            match Open::begin(&next, generation).await {
                Ok(next) => current = Some(next),
                // Moved on meanwhile: looked for again.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            continue;
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Gives the whole lines of the rest; with `all` also what comes after the last newline. `false` when the model is gone.
async fn give(feed: &Feed, path: &Path, open: &mut Open, all: bool, learned: &mut Option<Place>) -> bool {
    loop {
        if open.passing {
            let end = memchr(&open.rest);
            open.passing = end.is_none();
            open.pass(end.map_or(open.rest.len(), |k| k + 1));
        }
        let mut rows = 0;
        let whole = open.rest.iter().position(|b| {
            rows += usize::from(*b == b'\n');
            rows == MOST_ROWS
        });
        let last = || open.rest.iter().rposition(|b| *b == b'\n');
        let end = match whole.or_else(last) {
            Some(k) => k + 1,
            None if all => open.rest.len(),
            None => 0,
        };
        if end == 0 {
            if open.rest.len() > feed.most_bytes() {
                let message = format!(
                    "{}, byte {}: the line has more than {} bytes, which is all that is allowed",
                    path.display(),
                    open.offset,
                    feed.most_bytes()
                );
                feed.leave_out(&Refusal::too_large("too_large", message));
                open.passing = true;
                continue;
            }
            return true;
        }
        let from = open.offset;
        let lines = open.rest[..end].to_vec();
        open.pass(end);
        let place = open.place();
        let at = |k: usize| {
            let before: usize = lines.split_inclusive(|b| *b == b'\n').take(k).map(<[u8]>::len).sum();
            format!("{}, byte {}", path.display(), from + before as u64)
        };
        if !feed.give(&lines, place.position(), at).await {
            return false;
        }
        *learned = Some(place);
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    proptest! {
        #[test]
        fn places_come_back_and_ascend_with_the_file_and_the_offset(g in 0u64..1 << 32, o in 0..LOW, p in 0..=LOW, q in 0..=LOW) {
            let place = Place { generation: g, offset: o, print: p };
            prop_assert_eq!(Place::of(place.position()), place);
            let further = Place { offset: o + 1, print: q, ..place };
            prop_assert!(further.position() > place.position());
            if g + 1 < 1 << 32 {
                let next = Place { generation: g + 1, offset: 0, print: q };
                prop_assert!(next.position() > further.position());
            }
        }
    }

    #[tokio::test]
    async fn a_file_is_known_by_what_is_before_the_place_and_its_family_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let text = "abc\n".repeat(1000);
        fs::write(&path, &text).unwrap();
        let mut open = Open::begin(&path, 3).await.unwrap();
        assert_eq!(open.more().await.unwrap(), Some(4000));
        open.pass(2000);
        let place = open.place();
        assert!(Open::at(&path, place).await.unwrap().is_some());
        fs::rename(&path, folder.path().join("x.jsonl.1")).unwrap();
        fs::write(&path, text.replace('b', "d")).unwrap();
        assert!(Open::at(&path, place).await.unwrap().is_none());
        for other in ["x.jsonl-20260101", "x.jsonl.2", "x.jsonl.bak", "x.jsonl.gz", "x.jsonl.1.gz", "y"] {
            fs::write(folder.path().join(other), "").unwrap();
        }
        let family = family(&path).await.unwrap();
        let mut names: Vec<_> = family.iter().map(|f| f.1.file_name().unwrap().to_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["x.jsonl", "x.jsonl-20260101", "x.jsonl.1", "x.jsonl.2"]);
    }

    #[tokio::test]
    async fn a_file_that_was_cut_is_noticed_even_when_it_has_grown_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut open = Open::begin(&path, 0).await.unwrap();
        open.more().await.unwrap();
        open.pass(8);
        fs::write(&path, "three\nfour\nfive\n").unwrap();
        assert_eq!(open.more().await.unwrap(), None);
    }
}
