//! One input after the other, as chunks with the decoder that reads them.

use super::Item;
use crate::bytes::{Chunker, Failure, Input, Source};
use crate::error::{FormatError, Position, UsageError};
use crate::example::format::{self, Decoder, Entry, OpenError, Options};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How much of an input is looked at to recognise its format.
const SNIFFED: usize = 1 << 16;

/// What a worker does next.
#[allow(clippy::large_enum_variant, reason = "one per chunk, and nearly always the large one")]
pub(super) enum Step<V> {
    /// Parse this chunk from the byte given on.
    Parse(Vec<u8>, usize, Arc<dyn Decoder>),
    /// Pass this on.
    Pass(Item<V>),
    /// Nothing is left.
    Over,
}

pub(super) struct Feed {
    inputs: VecDeque<Input>,
    entry: Option<&'static Entry>,
    options: Options,
    chunk_bytes: usize,
    bytes_read: Arc<AtomicU64>,
    file: Option<Open>,
    over: bool,
}

struct Open {
    name: Arc<str>,
    chunker: Chunker,
    decoder: Arc<dyn Decoder>,
    /// The first chunk and where its header ends, until it is handed out.
    first: Option<(Vec<u8>, usize)>,
}

impl Feed {
    pub(super) fn new(
        inputs: Vec<Input>,
        entry: Option<&'static Entry>,
        options: Options,
        chunk_bytes: usize,
        bytes_read: Arc<AtomicU64>,
    ) -> Self {
        let inputs = inputs.into();
        Self { inputs, entry, options, chunk_bytes, bytes_read, file: None, over: false }
    }

    /// The next step. `buffer` is used if a chunk is read.
    pub(super) fn next<V>(&mut self, mut buffer: Vec<u8>) -> Step<V> {
        while !self.over {
            let Some(file) = &mut self.file else {
                match self.inputs.pop_front() {
                    Some(input) => match self.open(&input, std::mem::take(&mut buffer)) {
                        Ok(Some(item)) => return Step::Pass(item),
                        Ok(None) => continue,
                        Err(item) => return self.stop(*item),
                    },
                    None => return self.stop(Item::End),
                }
            };
            if let Some((chunk, start)) = file.first.take() {
                return Step::Parse(chunk, start, file.decoder.clone());
            }
            match file.chunker.next(std::mem::take(&mut buffer)) {
                Ok(Some(chunk)) => return Step::Parse(chunk, 0, file.decoder.clone()),
                Ok(None) => self.file = None,
                Err(failure) => {
                    let name = file.name.clone();
                    return self.stop(Item::Failure(name, failure));
                }
            }
        }
        Step::Over
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
        let mut source = Source::open(input, self.bytes_read.clone()).map_err(|error| {
            failure(match error.kind() {
                std::io::ErrorKind::InvalidData => Failure::Bad(error.to_string()),
                _ => Failure::Io(error),
            })
        })?;
        let recognised = self.entry.or_else(|| {
            let beginning = source.peek(SNIFFED);
            format::ENTRIES.iter().copied().find(|entry| (entry.sniff)(beginning))
        });
        let quoted = recognised.is_some_and(|entry| entry.quoted);
        let mut chunker = Chunker::new(source, self.chunk_bytes, quoted);
        let Some(mut chunk) = chunker.next(buffer).map_err(failure)? else { return Ok(None) };
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
        self.entry = Some(entry);
        let opened = (entry.open)(&self.options, &chunk).map_err(|error| {
            Box::new(Item::Error(match error {
                OpenError::Usage(error) => error.into(),
                OpenError::Problem(problem) => FormatError {
                    position: Position {
                        file: name.to_string(),
                        line: problem.line + 1,
                        column: problem.column,
                    },
                    message: problem.message,
                }
                .into(),
            }))
        })?;
        if opened.decoder.plan().is_none() && !self.options.selection.is_empty() {
            let lists = self.options.selection.lists();
            let (flag, _) = lists.into_iter().find(|(_, list)| !list.is_empty()).unwrap_or_default();
            let message = format!(
                "--{flag} takes names of columns, keys or namespaces, and the input's format {} has none; leave the flag out",
                entry.name
            );
            return Err(Box::new(Item::Error(UsageError(message).into())));
        }
        let decoder: Arc<dyn Decoder> = opened.decoder.into();
        // Every file has its own header, and all mean the same features by a name.
        self.options.schema.get_or_insert_with(|| decoder.schema());
        self.file = Some(Open {
            name: name.clone(),
            chunker,
            decoder: decoder.clone(),
            first: Some((chunk, opened.header_bytes)),
        });
        Ok(Some(Item::File { name, entry, decoder, header_lines: opened.header_lines }))
    }
}
