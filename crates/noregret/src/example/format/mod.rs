//! Formats: one file each, and the registry of them.

pub mod arrow;
pub mod csv;
pub mod jsonl;
pub mod libsvm;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod vw;

use super::Block;
use super::digits::Written;
use super::names::{Names, Schema};
use super::number::Number;
use super::select::{Parts, Plan, Selection};
use super::text::Room;
use crate::bytes::{Content, Failure};
use crate::error::UsageError;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
pub(in crate::example) use vw::Batch;

/// How records are to be read. What the user set, or what a model was learned with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Indices count from 0 (formats with numbers for names).
    pub zero_based: bool,
    /// There is no header: columns are called 1, 2, 3, ... (CSV and TSV).
    pub no_header: bool,
    /// Fold features into `2^bits` places.
    pub bits: Option<u32>,
    /// Refuse features beyond this many.
    pub dimension: Option<u32>,
    /// The column or key that holds the label (formats with names).
    pub label: Option<String>,
    /// The column or key that holds the importance weight (formats with names).
    pub weight: Option<String>,
    /// Which names are read, and which are multiplied (formats with names).
    pub selection: Selection,
    /// Drop bad records and count them, rather than stop at the first.
    pub skip: bool,
    /// Records may have no label (predicting).
    pub unlabelled: bool,
    /// Names that a model knows already.
    pub schema: Option<Schema>,
}

/// Without `--bits` and `--dimension`, a feature index must be below this: one hostile line must not
/// make the model allocate gigabytes.
pub const LARGEST_DIMENSION: u32 = 1 << 24;

/// A record that cannot be read. Line and column are relative to the chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Lines before the bad one in the chunk (from 0).
    pub line: u64,
    /// Column in bytes, from 1.
    pub column: u64,
    /// What was found, what was expected, what to do.
    pub message: String,
}

/// What one chunk held beside its rows.
#[derive(Debug, Default)]
pub struct Found {
    /// How many lines the chunk has (a last line without a newline counts).
    pub lines: u64,
    /// Hashed names seen for the first time by this thread: (index, name).
    pub names: Names,
    /// The first record that could not be read; the rows before it are in the block.
    pub problem: Option<Problem>,
    /// The names of [`Selection`] that this thread has met, as bits.
    pub met: u64,
    /// Records dropped because of `Options::skip`, and the first few reasons.
    pub skipped: u64,
    /// At most [`KEPT_REASONS`] reasons.
    pub reasons: Vec<Problem>,
}

/// How many reasons for skipped records are kept per chunk.
pub const KEPT_REASONS: usize = 10;

/// Buffers that one parsing thread keeps, so that decoding allocates nothing per row.
#[derive(Debug)]
pub struct Scratch<V = f32> {
    /// The features of a row whose indices do not ascend, in the order in which they should.
    pub order: Vec<Place>,
    /// Their values, in the order in which they came.
    pub values: Vec<V>,
    /// The features of a row that are factors of products.
    pub parts: Parts<V>,
    /// A place to build names.
    pub text: Vec<u8>,
    /// One bit per hashed index: its name has been reported already.
    pub seen: Vec<u64>,
    /// How the last value was written: of each column, or in place 0 of any named feature.
    pub written: Vec<&'static Written>,
    /// Where features gather that are read many at once.
    pub(in crate::example) batch: Box<Batch>,
    /// Where rows of hashed names are brought into order.
    pub(in crate::example) room: Box<Room<V>>,
}

impl<V: Number> Default for Scratch<V> {
    fn default() -> Self {
        Self {
            order: Vec::new(),
            values: Vec::new(),
            parts: Parts::default(),
            text: Vec::new(),
            seen: Vec::new(),
            written: vec![Written::usual()],
            batch: Box::default(),
            room: Box::default(),
        }
    }
}

/// A feature of a row: its index, and how many came before it. Ordered by these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// Both must be below `2^32`.
    #[inline]
    pub fn new(index: u32, position: usize) -> Self {
        Self(u64::from(index) << 32 | position as u64)
    }

    /// The index of the feature.
    #[inline]
    pub fn index(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// How many came before it.
    #[inline]
    pub fn position(self) -> usize {
        self.0 as u32 as usize
    }
}

/// Turns chunks of whole records into rows. Shared by the parsing threads, so it holds no state
/// that changes.
pub trait Decoder: Send + Sync {
    /// Appends the rows of `chunk` to `block`: offsets, indices (ascending strictly), values
    /// (finite), raw labels, weights, lines, columns. Stops at the first bad record unless
    /// `Options::skip`. The chunk ends with a newline, except perhaps at the end of the input.
    fn decode(&self, chunk: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found;

    /// As [`Decoder::decode`], with values read to the nearest f64.
    fn decode_f64(&self, chunk: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found;

    /// The names that have fixed places, and how others are hashed.
    fn schema(&self) -> Schema;

    /// What was made of [`Options::selection`]; `None` where features have no names to select by.
    fn plan(&self) -> Option<&Plan> {
        None
    }
}

/// A decoder made from the beginning of an input.
pub struct Opened {
    /// The decoder.
    pub decoder: Box<dyn Decoder>,
    /// How many bytes of the beginning were a header, already consumed.
    pub header_bytes: usize,
    /// How many lines those were.
    pub header_lines: u64,
}

/// Records that are not lines: one part after the other, each with a decoder that has its bytes already (the chunk
/// it is given is empty). For the reader a row is a line.
pub trait Table: Send {
    /// What was found at the beginning.
    fn about(&self) -> About;

    /// What was made of [`Options::selection`]; `None` where features have no names to select by.
    fn selects(&self) -> Option<&Plan>;

    /// The next part; `None` after the last.
    fn next(&mut self) -> Result<Option<Arc<dyn Decoder>>, Failure>;
}

/// What an input says of itself.
#[derive(Clone)]
pub struct About {
    /// The names that have fixed places, and how others are hashed.
    pub schema: Schema,
    /// How the records are read: what the user said, completed by what the input says.
    pub options: Options,
    /// The format whose features these are: that from which a cache was made.
    pub meaning: &'static Entry,
}

/// Why a decoder could not be made.
#[derive(Debug)]
pub enum OpenError {
    /// The bytes cannot be read.
    Failure(Failure),
    /// A flag is missing or contradicts the input.
    Usage(UsageError),
    /// The header is wrong.
    Problem(Problem),
}

/// Opens a table.
pub type TableOpen = fn(&Options, Content, &Arc<AtomicU64>) -> Result<Box<dyn Table>, OpenError>;

/// A format in the registry.
pub struct Entry {
    /// The name after `--format`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// File name endings without the dot, after `.gz` and `.zst` have been taken off.
    pub endings: &'static [&'static str],
    /// Whether a beginning of an input looks like this format. Asked in the registry's order.
    pub sniff: fn(&[u8]) -> bool,
    /// Whether a newline inside double quotes does not end a record.
    pub quoted: bool,
    /// Opens an input whose records are not lines; what is read of a whole one is added to the counter.
    pub table: Option<TableOpen>,
    /// Makes a decoder. `beginning` holds the first bytes of the first file (at least the first
    /// record, unless the file is shorter).
    pub open: fn(&Options, beginning: &[u8]) -> Result<Opened, OpenError>,
}

/// All formats, in the order in which an input's beginning is shown to them.
pub static ENTRIES: &[&Entry] = &[
    &arrow::ENTRY,
    #[cfg(feature = "parquet")]
    &parquet::ENTRY,
    &jsonl::ENTRY,
    &vw::ENTRY,
    &libsvm::ENTRY,
    &csv::ENTRY,
    &csv::TSV,
];

/// What [`Entry::open`] says where records are not lines.
fn no_lines(_: &Options, _: &[u8]) -> Result<Opened, OpenError> {
    Err(OpenError::Usage(UsageError::new("this format has no lines")))
}

/// The format named `name`.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES
        .iter()
        .copied()
        .find(|entry| entry.name == name)
        .ok_or_else(|| UsageError(format!("--format: found `{name}`, expected one of {}", list())))
}

/// The names of all formats, for messages.
pub(crate) fn list() -> String {
    ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}
