//! One input after the other, as chunks with the decoder that reads them.

use super::Item;
use crate::bytes::{Chunker, Content, Failure, Input, Source, Whole};
use crate::error::{FormatError, Position, UsageError};
use crate::example::format::{self, About, Decoder, Entry, OpenError, Options, Table};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// How much of an input is looked at to recognise its format.
const SNIFFED: usize = 1 << 16;

/// What a worker does next.
#[allow(clippy::large_enum_variant, reason = "one per chunk, and nearly always the large one")]
pub(super) enum Step<V> {
    /// Parse this chunk from the byte given on.
    Parse(Vec<u8>, usize, Arc<dyn Decoder>),
    /// Pass this on.
    Pass(Item<V>),
}

/// Inputs that are at hand as a whole, kept for further passes with what has been checked of them.
pub(super) type Kept = Arc<Mutex<HashMap<Input, Arc<Whole>>>>;

pub(super) struct Feed {
    inputs: VecDeque<Input>,
    entry: Option<&'static Entry>,
    options: Options,
    /// How large the first chunk of an input may be, and the others. What labels mean is decided by the first one, so it must not
    /// depend on the number of threads.
    chunk_bytes: (usize, usize),
    bytes_read: Arc<AtomicU64>,
    kept: Kept,
    file: Option<(Arc<str>, Open)>,
    over: bool,
}

enum Open {
    Text {
        chunker: Chunker,
        decoder: Arc<dyn Decoder>,
        /// The first chunk and where its header ends, until it is handed out.
        first: Option<(Vec<u8>, usize)>,
    },
    Table(Box<dyn Table>),
}

/// A chunk, from which byte on it counts, and what decodes it.
type Part = (Vec<u8>, usize, Arc<dyn Decoder>);

impl Open {
    /// The next part; `None` after the last.
    fn next(&mut self, buffer: Vec<u8>) -> Result<Option<Part>, Failure> {
        match self {
            Self::Text { chunker, decoder, first } => Ok(match first.take() {
                Some((chunk, start)) => Some((chunk, start, decoder.clone())),
                None => chunker.next(buffer)?.map(|chunk| (chunk, 0, decoder.clone())),
            }),
            Self::Table(table) => Ok(table.next()?.map(|decoder| (buffer, usize::MAX, decoder))),
        }
    }
}

impl Feed {
    pub(super) fn new(
        inputs: Vec<Input>,
        entry: Option<&'static Entry>,
        options: Options,
        chunk_bytes: (usize, usize),
        bytes_read: Arc<AtomicU64>,
        kept: Kept,
    ) -> Self {
        let inputs = inputs.into();
        Self { inputs, entry, options, chunk_bytes, bytes_read, kept, file: None, over: false }
    }

    /// The next step; `None` when nothing is left. `buffer` is used if a chunk is read.
    pub(super) fn next<V>(&mut self, mut buffer: Vec<u8>) -> Option<Step<V>> {
        while !self.over {
            let Some((name, file)) = &mut self.file else {
                match self.inputs.pop_front() {
                    Some(input) => match self.open(&input, std::mem::take(&mut buffer)) {
                        Ok(Some(item)) => return Some(Step::Pass(item)),
                        Ok(None) => continue,
                        Err(item) => return Some(self.stop(*item)),
                    },
                    None => return Some(self.stop(Item::End)),
                }
            };
            match file.next(std::mem::take(&mut buffer)) {
                Ok(Some((chunk, start, decoder))) => {
                    let start = start.min(chunk.len());
                    return Some(Step::Parse(chunk, start, decoder));
                }
                Ok(None) => self.file = None,
                Err(failure) => {
                    let name = name.clone();
                    return Some(self.stop(Item::Failure(name, failure)));
                }
            }
        }
        None
    }

    /// Whether the next step costs no more than a copy: an input is open, and not compressed.
    pub(super) fn is_quick(&self) -> bool {
        match &self.file {
            Some((_, Open::Text { chunker, .. })) => chunker.is_plain(),
            Some((_, Open::Table(_))) => true,
            None => false,
        }
    }

    fn stop<V>(&mut self, item: Item<V>) -> Step<V> {
        self.over = true;
        self.file = None;
        Step::Pass(item)
    }

    /// Opens an input; `None` when there is nothing in it.
    fn open<V>(&mut self, input: &Input, buffer: Vec<u8>) -> Result<Option<Item<V>>, Box<Item<V>>> {
        let name: Arc<str> = input.name().into();
        let failure = |failure| Box::new(Item::Failure(name.clone(), failure));
        let mut source =
            Source::open(input, self.bytes_read.clone()).map_err(|error| failure(error.into()))?;
        let recognised = self.entry.or_else(|| {
            let beginning = source.peek(SNIFFED);
            format::ENTRIES.iter().copied().find(|entry| (entry.sniff)(beginning))
        });
        if let Some(entry) = recognised
            && let Some(open) = entry.table
        {
            let io = |error: std::io::Error| failure(Failure::from(error));
            let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let known = kept().get(input).cloned();
            let content = known.map_or_else(|| Content::of(input, source), |whole| Ok(Content::Whole(whole)));
            let content = content.map_err(io)?;
            if let Content::Whole(whole) = &content {
                kept().insert(input.clone(), whole.clone());
            }
            let table =
                open(&self.options, content, &self.bytes_read).map_err(|error| refused(&name, error))?;
            if table.selects().is_none() {
                self.no_selection(entry, "has lists of numbers for features here")?;
            }
            let about = table.about();
            return Ok(Some(self.enter(name, entry, about, None, 0, Open::Table(table))));
        }
        let quoted = recognised.is_some_and(|entry| entry.quoted);
        let mut chunker = Chunker::new(source, self.chunk_bytes.0, quoted);
        let Some(mut chunk) = chunker.next(buffer).map_err(failure)? else { return Ok(None) };
        chunker.resize(self.chunk_bytes.1);
        let Some(entry) = recognised else {
            // Blank lines alone are no examples of any format; damage comes before a guess.
            while chunk.iter().all(u8::is_ascii_whitespace) {
                match chunker.next(chunk).map_err(failure)? {
                    Some(next) => chunk = next,
                    None => return Ok(None),
                }
            }
            return Err(failure(Failure::Bad(format!(
                "the beginning looks like none of the formats {}; say which with --format",
                format::list()
            ))));
        };
        let opened = (entry.open)(&self.options, &chunk).map_err(|error| refused(&name, error))?;
        if opened.decoder.plan().is_none() {
            self.no_selection(entry, "has numbers for features")?;
        }
        let schema = opened.decoder.schema();
        let about = About { schema, options: self.options.clone(), meaning: entry };
        let decoder: Arc<dyn Decoder> = opened.decoder.into();
        let text =
            Open::Text { chunker, decoder: decoder.clone(), first: Some((chunk, opened.header_bytes)) };
        Ok(Some(self.enter(name, entry, about, Some(decoder), opened.header_lines, text)))
    }

    /// Refuses flags that select by names.
    fn no_selection<V>(&self, entry: &Entry, why: &str) -> Result<(), Box<Item<V>>> {
        let lists = self.options.selection.lists();
        let Some((flag, _)) = lists.into_iter().find(|(_, list)| !list.is_empty()) else { return Ok(()) };
        let message = format!(
            "--{flag} takes names of columns, keys or namespaces, and the input's format {} {why}; leave the flag out, or \
             give it with the data that this was made from",
            entry.name
        );
        Err(Box::new(Item::Error(UsageError(message).into())))
    }

    fn enter<V>(
        &mut self,
        name: Arc<str>,
        entry: &'static Entry,
        about: About,
        decoder: Option<Arc<dyn Decoder>>,
        header_lines: u64,
        file: Open,
    ) -> Item<V> {
        self.entry = Some(entry);
        self.file = Some((name.clone(), file));
        // Every file has its own header, and all mean the same features by a name.
        self.options = about.options.clone();
        self.options.schema.get_or_insert_with(|| about.schema.clone());
        Item::File { name, entry, about: Box::new(about), decoder, header_lines }
    }
}

/// The item for an input that cannot be opened.
fn refused<V>(name: &Arc<str>, error: OpenError) -> Box<Item<V>> {
    Box::new(match error {
        OpenError::Failure(failure) => Item::Failure(name.clone(), failure),
        OpenError::Usage(error) => Item::Error(error.into()),
        OpenError::Problem(problem) => Item::Error(
            FormatError {
                position: Position { file: name.to_string(), line: problem.line + 1, column: problem.column },
                message: problem.message,
            }
            .into(),
        ),
    })
}
