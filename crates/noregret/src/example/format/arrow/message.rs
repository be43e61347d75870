//! Arrow IPC as a row of messages: a file at hand has a list of them in its footer, and they are used where they lie; in
//! a stream one follows the other. A file that comes as a stream is read as one, its footer last.
//!
//! Nothing is believed: lengths are compared with what is there before anything is made from them.

use super::{fenced, refuse};
use crate::bytes::{Content, Failure, Source, Whole};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Message, MetadataVersion, RecordBatch, root_as_footer, root_as_message};
use arrow_schema::Schema;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an IPC file begins and ends.
pub(super) const MAGIC: &[u8] = b"ARROW1";

/// What stands before the length of a message.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The most bytes that the description of one message may take.
const LONGEST_DESCRIPTION: i64 = 256 << 20;

/// The most bytes to which one compressed buffer may grow.
const LONGEST_BUFFER: i64 = 1 << 31;

/// How many bytes of a stream are asked for at once: a length that lies costs no more memory than this.
const STEP: usize = 16 << 20;

/// One message: where it begins, all its bytes, and where among them description and body are.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) at: usize,
    pub(super) bytes: Buffer,
    description: (usize, usize),
    body: usize,
}

impl Frame {
    /// The verified description.
    pub(super) fn message(&self) -> Result<Message<'_>, String> {
        let (from, length) = self.description;
        message(&self.bytes.as_slice()[from..from + length])
    }

    /// What the buffers of the batch lie in.
    pub(super) fn body(&self) -> Buffer {
        self.bytes.slice(self.body)
    }
}

fn message(description: &[u8]) -> Result<Message<'_>, String> {
    root_as_message(description).map_err(|error| format!("the description of a batch is damaged ({error})"))
}

/// What stands at the end of a file for whoever reads it whole.
pub(super) type Notes = HashMap<String, String>;

pub(super) struct Frames {
    from: Origin,
    /// Where the messages of a file at hand are: begin, length of the description with what is before it, of the body.
    blocks: Option<VecDeque<(i64, i32, i64)>>,
    at: usize,
    /// Whether there was a magic word, so that a footer must follow.
    file: bool,
    over: bool,
    read: Arc<AtomicU64>,
}

enum Origin {
    Whole(Arc<Whole>, Buffer),
    Stream(Source),
}

impl Frames {
    /// Begins to read, and finds the footer of a file at hand.
    pub(super) fn open(content: Content, read: &Arc<AtomicU64>) -> Result<(Self, Option<Footer>), Failure> {
        let from = match content {
            Content::Whole(whole) => {
                let buffer = Buffer::from(whole.bytes.clone());
                Origin::Whole(whole, buffer)
            }
            Content::Stream(source) => Origin::Stream(source),
        };
        let mut frames = Self { from, blocks: None, at: 0, file: false, over: false, read: read.clone() };
        let start = frames.take(8)?;
        frames.file = start.as_slice().starts_with(MAGIC);
        let mut footer = None;
        if !frames.file {
            frames.back(&start);
        } else if let Origin::Whole(_, buffer) = &mut frames.from {
            let end = footer_start(buffer)?;
            let mut found = Footer::read(&buffer.as_slice()[end..buffer.len() - 10])?;
            *buffer = buffer.slice_with_length(0, end);
            frames.blocks = Some(std::mem::take(&mut found.blocks));
            footer = Some(found);
        }
        Ok((frames, footer))
    }

    /// The whole input, where it is at hand.
    pub(super) fn whole(&self) -> Option<&Arc<Whole>> {
        match &self.from {
            Origin::Whole(whole, _) => Some(whole),
            Origin::Stream(_) => None,
        }
    }

    /// The next message; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Failure> {
        match &mut self.blocks {
            Some(blocks) => match blocks.pop_front() {
                Some(block) => self.listed(block).map(Some),
                None => Ok(None),
            },
            None => self.following(),
        }
    }

    /// The message at a place that the footer names.
    fn listed(&mut self, (at, description, body): (i64, i32, i64)) -> Result<Frame, Failure> {
        let damaged = || refuse("the footer names a batch that is not there: the file is damaged");
        let Origin::Whole(_, buffer) = &self.from else { return Err(damaged()) };
        let place = |number: i64| usize::try_from(number).map_err(|_| damaged());
        let (at, description, body) = (place(at)?, place(i64::from(description))?, place(body)?);
        let length = description
            .checked_add(body)
            .filter(|length| at.checked_add(*length).is_some_and(|end| end <= buffer.len()));
        let length = length.ok_or_else(damaged)?;
        let bytes = buffer.slice_with_length(at, length);
        let (prefix, said) = prefix(bytes.as_slice()).ok_or_else(damaged)?;
        let said = usize::try_from(said).unwrap_or(usize::MAX);
        if prefix.checked_add(said).is_none_or(|end| end > description) {
            return Err(damaged());
        }
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(Frame { at, bytes, description: (prefix, said), body: description })
    }

    /// The first message of a file at hand, which is its schema.
    pub(super) fn first(&mut self) -> Result<Option<Frame>, Failure> {
        let blocks = self.blocks.take();
        let first = self.following();
        self.blocks = blocks;
        first
    }

    /// The message that comes next in a stream; `None` after the last.
    fn following(&mut self) -> Result<Option<Frame>, Failure> {
        if self.over {
            return Ok(None);
        }
        let (at, first) = loop {
            let at = self.at;
            let first = self.take(8)?;
            // Some writers fill up the room after the magic word with zeros.
            let padding = self.file && at < 64 && first.as_slice() == [0; 8];
            if !padding {
                break (at, first);
            }
        };
        let (prefix, length) = match first.as_slice() {
            [] => (0, 0),
            first => prefix(first).ok_or_else(cut_off)?,
        };
        if length == 0 {
            self.over = true;
            return Ok(None);
        }
        if !(8..=LONGEST_DESCRIPTION).contains(&length) {
            return Err(refuse(format!(
                "found a message of {length} bytes: this is no Arrow IPC, or it is damaged"
            )));
        }
        self.back(&first);
        let description = prefix + length as usize;
        let head = self.take(description)?;
        if head.len() < description {
            return Err(cut_off());
        }
        let body = message(&head.as_slice()[prefix..]).map_err(refuse)?.bodyLength();
        let body =
            usize::try_from(body).map_err(|_| refuse("a batch has a negative length: it is damaged"))?;
        self.back(&head);
        let whole = description.checked_add(body).ok_or_else(cut_off)?;
        let bytes = self.take(whole)?;
        if bytes.len() < whole {
            return Err(cut_off());
        }
        if matches!(self.from, Origin::Whole(..)) {
            self.read.fetch_add(whole as u64, Ordering::Relaxed);
        }
        Ok(Some(Frame { at, bytes, description: (prefix, length as usize), body: description }))
    }

    /// The notes after the last message of a file that came as a stream.
    pub(super) fn notes_at_end(&mut self) -> Result<Option<Notes>, Failure> {
        let Origin::Stream(source) = &mut self.from else { return Ok(None) };
        if !self.file {
            return Ok(None);
        }
        let mut rest = Vec::new();
        source.take(LONGEST_DESCRIPTION as u64).read_to_end(&mut rest)?;
        let rest = Buffer::from_vec(rest);
        let start = footer_start(&rest)?;
        Ok(Some(Footer::read(&rest.as_slice()[start..rest.len() - 10])?.notes))
    }

    /// The next bytes, or as many as there are.
    fn take(&mut self, length: usize) -> Result<Buffer, Failure> {
        let taken = match &mut self.from {
            Origin::Whole(_, buffer) => {
                let from = self.at.min(buffer.len());
                buffer.slice_with_length(from, length.min(buffer.len() - from))
            }
            Origin::Stream(source) => stream(source, length)?,
        };
        self.at += taken.len();
        Ok(taken)
    }

    /// Puts the bytes that were just taken back.
    fn back(&mut self, bytes: &Buffer) {
        self.at -= bytes.len();
        if let Origin::Stream(source) = &mut self.from {
            source.unread(bytes.as_slice());
        }
    }
}

/// How many bytes are before a description, and how many it has. Before Arrow 0.15 nothing stood before the length.
fn prefix(bytes: &[u8]) -> Option<(usize, i64)> {
    let le = |bytes: &[u8; 4]| i64::from(i32::from_le_bytes(*bytes));
    match bytes.split_first_chunk::<4>()? {
        (&CONTINUATION, rest) => Some((8, le(rest.first_chunk()?))),
        (length, _) => Some((4, le(length))),
    }
}

fn stream(source: &mut Source, length: usize) -> io::Result<Buffer> {
    let mut buffer = MutableBuffer::new(length.min(STEP));
    let mut filled = 0;
    while filled < length {
        buffer.resize(length.min(filled + STEP), 0);
        match source.read(&mut buffer.as_slice_mut()[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(buffer.into())
}

fn cut_off() -> Failure {
    refuse("the data was cut off in the middle of a batch: use a copy that was written whole")
}

/// Where the footer of a file begins: its length and the magic word are the last ten bytes.
fn footer_start(bytes: &Buffer) -> Result<usize, Failure> {
    let bytes = bytes.as_slice();
    let cut = || refuse("the file has no footer: it was cut off, or is still being written");
    let Some((rest, magic)) = bytes.split_last_chunk::<6>() else { return Err(cut()) };
    let Some((rest, length)) = rest.split_last_chunk::<4>() else { return Err(cut()) };
    let length = usize::try_from(i32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if magic != MAGIC || length > rest.len() {
        return Err(cut());
    }
    Ok(rest.len() - length)
}

/// What stands at the end of a file.
pub(super) struct Footer {
    pub(super) schema: Schema,
    pub(super) notes: Notes,
    blocks: VecDeque<(i64, i32, i64)>,
}

impl Footer {
    fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let footer =
            root_as_footer(bytes).map_err(|error| refuse(format!("the footer is damaged ({error})")))?;
        let notes = footer.custom_metadata().into_iter().flatten();
        let notes =
            notes.filter_map(|note| Some((note.key()?.to_owned(), note.value()?.to_owned()))).collect();
        let schema = footer.schema().ok_or_else(|| refuse("the footer has no schema: it is damaged"))?;
        let schema = fenced(|| try_fb_to_schema(schema)).map_err(refuse)?;
        let batches = footer.recordBatches().into_iter().flatten();
        let blocks = footer.dictionaries().into_iter().flatten().chain(batches);
        let blocks =
            blocks.map(|block| (block.offset(), block.metaDataLength(), block.bodyLength())).collect();
        Ok(Self { schema, notes, blocks })
    }
}

/// Whether everything that a batch names lies within its body, so that the library can cut it out.
pub(super) fn check(batch: &RecordBatch<'_>, body: &Buffer) -> Result<(), String> {
    let damaged = |what: &str| format!("{what}: the batch is damaged");
    let compressed = batch.compression().is_some();
    // A bit is the smallest thing that a row can have.
    let most = if compressed {
        LONGEST_BUFFER
    } else {
        i64::try_from(body.len()).unwrap_or(i64::MAX).saturating_mul(8)
    };
    let most = most.max(batch.length());
    let rows =
        batch.nodes().into_iter().flatten().all(|node| {
            (0..=most).contains(&node.length()) && (0..=node.length()).contains(&node.null_count())
        });
    if !rows || !(0..=LONGEST_BUFFER).contains(&batch.length()) {
        return Err(damaged("a number of rows is impossible"));
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let (from, length) = (buffer.offset(), buffer.length());
        let end = from.checked_add(length).and_then(|end| usize::try_from(end).ok());
        if from < 0 || length < 0 || end.is_none_or(|end| end > body.len()) {
            return Err(damaged("a column lies outside of its batch"));
        }
        if compressed && length > 0 {
            let bytes = &body.as_slice()[from as usize..(from + length) as usize];
            let Some(size) = bytes.first_chunk::<8>() else { return Err(damaged("a column is too short")) };
            if !(-1..=LONGEST_BUFFER).contains(&i64::from_le_bytes(*size)) {
                return Err(damaged("a compressed column has an impossible size"));
            }
        }
    }
    if batch.variadicBufferCounts().into_iter().flatten().any(|count| !(0..=1 << 20).contains(&count)) {
        return Err(damaged("a column has an impossible number of parts"));
    }
    Ok(())
}

/// The version that a message declares, if it can be read.
pub(super) fn version(message: &Message<'_>) -> Result<MetadataVersion, String> {
    match message.version() {
        version @ (MetadataVersion::V4 | MetadataVersion::V5) => Ok(version),
        other => {
            Err(format!("found Arrow metadata of version {}, expected 4 or 5: write it anew", other.0 + 1))
        }
    }
}
