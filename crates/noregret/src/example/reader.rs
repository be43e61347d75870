//! The stream of examples: blocks in the order of the input, read and parsed in the background.
//!
//! Each worker takes the next chunk under a lock, parses it beside the others, and puts the block
//! under its number; whoever asks for the next block gets them by number, and parses too while that is not there.
//! So the stream is the same for any number of workers, and at most a few chunks per worker are in memory.

mod feed;
mod workers;

use super::format::{self, About, Decoder, Entry, Options};
use super::names::{NameTable, Schema};
use super::number::Number;
use super::{Block, format::Problem};
use crate::bytes::{Failure, Input, total_size};
use crate::error::{Error, FormatError, Position, Result, UsageError};
use feed::{Feed, Kept};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use workers::Workers;

/// The usual size of a chunk.
pub const CHUNK_BYTES: usize = 1 << 20;

/// About how much text may be under way, however many threads there are: with the blocks made from it
/// this is most of the memory that reading takes.
const UNDER_WAY: usize = 8 << 20;

/// Chunks are made no smaller than this, unless the caller wants it.
const SMALLEST: usize = 1 << 16;

/// How many reasons for skipped records are kept.
pub const KEPT_REASONS: usize = 10;

/// What is next in the stream.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per chunk, and nearly always the large one")]
pub enum Next<V = f32> {
    /// A block with at least one row.
    Block(Block<V>),
    /// Nothing yet.
    Pending,
    /// The stream is over.
    End,
}

/// What a place in the stream holds.
#[allow(clippy::large_enum_variant, reason = "one per chunk, and nearly always the large one")]
enum Item<V> {
    /// A file begins.
    File {
        name: Arc<str>,
        entry: &'static Entry,
        about: Box<About>,
        /// None where records are not lines.
        decoder: Option<Arc<dyn Decoder>>,
        header_lines: u64,
    },
    /// Rows, and what else their chunk held.
    Rows(Block<V>, format::Found),
    /// An input cannot be read on.
    Failure(Arc<str>, Failure),
    /// A header is wrong, or no header fits the flags.
    Error(Error),
    /// All inputs have been read.
    End,
}

/// The stream of blocks from several inputs, with values as f32 or, opened with [`Reader::open_as`], as f64.
///
/// ```
/// use noregret::example::{Reader, format::Options, reader::CHUNK_BYTES};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("data.svm");
/// # std::fs::write(&path, "+1 1:0.5 3:2\n-1 2:1\n")?;
/// let inputs = noregret::bytes::expand(&[path.display().to_string()])?;
/// let mut reader = Reader::open(inputs, None, Options::default(), 2, CHUNK_BYTES)?;
/// let mut rows = 0;
/// while let Some(block) = reader.next()? {
///     rows += block.len();
///     reader.recycle(block);
/// }
/// assert_eq!(rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reader<V: Number = f32> {
    inputs: Vec<Input>,
    entry: Option<&'static Entry>,
    options: Options,
    threads: usize,
    chunk_bytes: usize,
    bytes_total: Option<u64>,
    bytes_read: Arc<AtomicU64>,
    workers: Option<Workers<V>>,
    /// An error whose preceding rows have just been handed out.
    pending: Option<Error>,
    file: Arc<str>,
    /// The number of the next chunk's first line in its file.
    line: u64,
    records: u64,
    skipped: u64,
    reasons: Vec<FormatError>,
    names: NameTable,
    opened: Option<&'static Entry>,
    about: Option<Box<About>>,
    kept: Kept,
    decoder: Option<Arc<dyn Decoder>>,
    /// The names of the selection that were in the input.
    met: u64,
}

impl Reader {
    /// Begins to read `inputs` one after the other. Without `format`, it is told by the ending of
    /// the first file's name, and where that says nothing, by the first bytes.
    pub fn open(
        inputs: Vec<Input>,
        format: Option<&str>,
        options: Options,
        threads: usize,
        chunk_bytes: usize,
    ) -> Result<Self> {
        Self::open_as(inputs, format, options, threads, chunk_bytes)
    }
}

impl<V: Number> Reader<V> {
    /// As [`Reader::open`], with values of the kind that the caller names.
    pub fn open_as(
        inputs: Vec<Input>,
        format: Option<&str>,
        options: Options,
        threads: usize,
        chunk_bytes: usize,
    ) -> Result<Self> {
        if inputs.is_empty() {
            return Err(UsageError::new("no input; name a file, or `-` for standard input").into());
        }
        let entry = match format {
            Some(name) => Some(format::find(name)?),
            None => by_endings(&inputs)?,
        };
        let mut reader = Self {
            bytes_total: total_size(&inputs),
            inputs,
            entry,
            options,
            threads: threads.max(1),
            chunk_bytes,
            bytes_read: Arc::default(),
            workers: None,
            pending: None,
            file: "".into(),
            line: 1,
            records: 0,
            skipped: 0,
            reasons: Vec::new(),
            names: NameTable::default(),
            opened: None,
            about: None,
            kept: Kept::default(),
            decoder: None,
            met: 0,
        };
        reader.start()?;
        Ok(reader)
    }

    fn start(&mut self) -> Result<()> {
        self.bytes_read = Arc::default();
        // Many threads have small chunks, but none so small that handing them over costs more than reading.
        let (mut first, mut largest) =
            (self.chunk_bytes, (UNDER_WAY / workers::window(self.threads)).max(SMALLEST));
        if !self.options.selection.interactions.is_empty() {
            // Products may take many times the room of their text.
            (first, largest) = (first.min(SMALLEST), SMALLEST);
        }
        let feed = Feed::new(
            self.inputs.clone(),
            self.entry,
            self.options.clone(),
            (first, self.chunk_bytes.min(largest)),
            self.bytes_read.clone(),
            self.kept.clone(),
        );
        // A file is there to be read; who writes into a pipe may have us wait for longer than the caller will.
        let helps = self.bytes_total.is_some();
        let workers = Workers::start(feed, self.threads, helps)
            .map_err(|source| Error::Io { path: self.inputs[0].name().into(), source })?;
        self.workers = Some(workers);
        Ok(())
    }

    /// The next block; `None` at the end. An error comes after the rows before it, and ends the
    /// stream.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Block<V>>> {
        match self.take(None)? {
            Next::Block(block) => Ok(Some(block)),
            Next::Pending | Next::End => Ok(None),
        }
    }

    /// The next block, if there is one within `patience`.
    pub fn next_timeout(&mut self, patience: Duration) -> Result<Next<V>> {
        self.take(Some(Instant::now() + patience))
    }

    fn take(&mut self, deadline: Option<Instant>) -> Result<Next<V>> {
        if let Some(error) = self.pending.take() {
            return self.fail(error);
        }
        loop {
            let Some(workers) = &mut self.workers else { return Ok(Next::End) };
            let Some(item) = workers.take(deadline) else { return Ok(Next::Pending) };
            match item {
                Item::File { name, entry, about, decoder, header_lines } => {
                    self.file = name;
                    self.line = header_lines + 1;
                    self.opened.get_or_insert(entry);
                    self.about = Some(about);
                    self.decoder = decoder;
                }
                Item::Rows(block, found) => {
                    if let Some(block) = self.enter(block, found) {
                        return Ok(Next::Block(block));
                    }
                    if let Some(error) = self.pending.take() {
                        return self.fail(error);
                    }
                }
                Item::Failure(file, failure) => {
                    let line = if Arc::ptr_eq(&file, &self.file) { self.line } else { 1 };
                    return self.fail(failure.at(&file, line));
                }
                Item::Error(error) => return self.fail(error),
                Item::End => {
                    self.workers = None;
                    if self.records == 0 {
                        let error = FormatError {
                            position: Position { file: self.inputs[0].name(), line: 1, column: 1 },
                            message: "the input is empty: expected at least one example".into(),
                        };
                        return self.fail(error.into());
                    }
                    return Ok(Next::End);
                }
            }
        }
    }

    /// Gives a parsed block its place, and takes note of what else was found.
    fn enter(&mut self, mut block: Block<V>, found: format::Found) -> Option<Block<V>> {
        block.file = self.file.clone();
        block.first_line = self.line;
        self.names.extend(found.names.iter());
        self.met |= found.met;
        self.records += block.len() as u64 + found.skipped;
        self.skipped += found.skipped;
        for reason in found.reasons {
            if self.reasons.len() < KEPT_REASONS {
                self.reasons.push(self.place(reason));
            }
        }
        self.pending = found.problem.map(|problem| self.place(problem).into());
        self.line += found.lines;
        if block.is_empty() {
            self.recycle(block);
            return None;
        }
        Some(block)
    }

    fn place(&self, problem: Problem) -> FormatError {
        FormatError {
            position: Position {
                file: self.file.to_string(),
                line: self.line + problem.line,
                column: problem.column,
            },
            message: problem.message,
        }
    }

    fn fail(&mut self, error: Error) -> Result<Next<V>> {
        self.workers = None;
        Err(error)
    }

    /// Hands a block back, so that its memory is used again.
    pub fn recycle(&mut self, block: Block<V>) {
        if let Some(workers) = &self.workers {
            workers.recycle(block);
        }
    }

    /// Begins again, for another pass: the same format and the same names; counts start from 0.
    /// Refused when an input is not a regular file.
    pub fn rewind(&mut self) -> Result<()> {
        if let Some(input) = self.inputs.iter().find(|input| input.size().is_none()) {
            let name = match input {
                Input::Stdin => "standard input".to_owned(),
                Input::Path(path) => path.display().to_string(),
            };
            return Err(UsageError(format!(
                "{name} can be read only once; for several passes write it to a file first"
            ))
            .into());
        }
        self.workers = None;
        self.pending = None;
        self.records = 0;
        self.skipped = 0;
        self.reasons.clear();
        if self.opened.is_some() {
            self.entry = self.opened;
            self.options.schema = Some(self.schema().clone());
        }
        self.start()
    }

    /// Records dropped so far because of [`Options::skip`].
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Why, for the first [`KEPT_REASONS`] of them.
    pub fn reasons(&self) -> &[FormatError] {
        &self.reasons
    }

    /// Names of hashed features seen so far.
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// As [`Reader::names`], and leaves none behind.
    pub fn take_names(&mut self) -> NameTable {
        std::mem::take(&mut self.names)
    }

    /// The names with fixed places; known once the first block has come.
    pub fn schema(&self) -> &Schema {
        const NONE: &Schema = &Schema { columns: Vec::new(), bits: None };
        self.about.as_ref().map_or(NONE, |about| &about.schema)
    }

    /// The names of [`Options::selection`] that nothing in the input had so far, each after its flag.
    pub fn unmet(&self) -> Vec<String> {
        let plan = self.decoder.as_ref().and_then(|decoder| decoder.plan());
        plan.map_or_else(Vec::new, |plan| plan.unmet(self.met))
    }

    /// How records are read: what was asked for, completed by what a cache says of itself once the first block has
    /// come.
    pub fn options(&self) -> &Options {
        self.about.as_ref().map_or(&self.options, |about| &about.options)
    }

    /// The format whose features these are; known once the first block has come. A cache has that of the data it
    /// was made from.
    pub fn format_name(&self) -> Option<&'static str> {
        let meaning = self.about.as_ref().map(|about| about.meaning);
        meaning.or(self.entry).map(|entry| entry.name)
    }

    /// Whether the records are not lines of text; known once the first block has come.
    pub fn is_table(&self) -> bool {
        self.opened.is_some_and(|entry| entry.table.is_some())
    }

    /// Bytes read so far, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Bytes of all inputs, when all are regular files.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }
}

/// The format that the endings of file names tell, which must be one for all.
fn by_endings(inputs: &[Input]) -> Result<Option<&'static Entry>, UsageError> {
    let mut told: Option<(&Input, &'static Entry)> = None;
    for input in inputs {
        let Some(entry) = by_ending(input) else { continue };
        match told {
            Some((first, other)) if !std::ptr::eq(other, entry) => {
                return Err(UsageError(format!(
                    "{} looks like {}, but {} like {}; read them apart, or say --format",
                    first.name(),
                    other.name,
                    input.name(),
                    entry.name
                )));
            }
            _ => told = Some((input, entry)),
        }
    }
    Ok(told.map(|(_, entry)| entry))
}

fn by_ending(input: &Input) -> Option<&'static Entry> {
    let Input::Path(path) = input else { return None };
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|e| name.strip_suffix(e)).unwrap_or(&name);
    let (_, ending) = name.rsplit_once('.')?;
    format::ENTRIES.iter().copied().find(|entry| entry.endings.contains(&ending))
}

#[cfg(test)]
mod tests;
