//! From examples back to files: one file per format that can be written, and the registry of them.
//!
//! Arrow and Parquet keep everything: raw labels, weights, where features are placed and what they are called. LIBSVM and VW
//! text keep the numbers of features; CSV, TSV and JSON lines the names of columns. What a format has no place for
//! is refused, never left out.

mod arrow;
mod csv;
mod jsonl;
mod libsvm;
#[cfg(feature = "parquet")]
mod parquet;
mod vw;

use super::format::Options;
use super::names::{NameTable, Schema};
use super::{Block, Features, Label};
use crate::bytes::Replacement;
use crate::error::UsageError;
use std::fmt::Debug;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub use super::format::arrow::Native;

/// Where a file goes.
pub enum Out {
    /// A file that appears once it is whole.
    File(BufWriter<Replacement>),
    /// Standard output.
    Stdout(BufWriter<io::Stdout>),
}

impl Out {
    /// Begins to write a file, or to standard output with `-`.
    pub fn create(target: &str) -> io::Result<Self> {
        const SIZE: usize = 1 << 18;
        Ok(match target {
            "-" => Self::Stdout(BufWriter::with_capacity(SIZE, io::stdout())),
            path => Self::File(BufWriter::with_capacity(SIZE, Replacement::create(Path::new(path))?)),
        })
    }

    /// Gives a file its name.
    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?.commit(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}

/// What there must be room for beside the features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Labels that are no numbers.
    pub names: bool,
    /// Rows without a label.
    pub missing: bool,
    /// Weights other than 1.
    pub weights: bool,
}

impl Layout {
    /// What a block needs.
    pub fn of<V: super::Value>(block: &Block<V>) -> Self {
        Self {
            names: block.raw_labels.iter().any(|label| matches!(label, Label::Name(_))),
            missing: block.raw_labels.contains(&Label::Missing),
            weights: !block.weights.is_empty(),
        }
    }

    /// Room for either.
    pub fn or(self, other: Self) -> Self {
        Self {
            names: self.names || other.names,
            missing: self.missing || other.missing,
            weights: self.weights || other.weights,
        }
    }
}

/// What is to be written, as far as it is known at the beginning.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The format it was read from.
    pub format: &'a str,
    /// How.
    pub options: &'a Options,
    /// The names with fixed places, and how others are hashed.
    pub schema: &'a Schema,
    /// What there must be room for. A block that needs more cannot be written.
    pub layout: Layout,
}

/// Why a block cannot be written.
#[derive(Debug)]
pub enum Refusal {
    /// The system refused.
    Io(io::Error),
    /// The format has no place for something in this row of the block.
    Row(usize, String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes blocks whose labels are still raw.
pub trait Writer<V> {
    /// Writes a block.
    fn write(&mut self, block: &Block<V>) -> Result<(), Refusal>;

    /// Writes what comes last, with the names of hashed features.
    fn finish(self: Box<Self>, names: &NameTable) -> io::Result<Out>;
}

/// Begins a file, or says why its format has no place for the subject.
type Open<V> = fn(Out, Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal>;

/// A format that can be written.
pub struct Entry {
    /// The name after `--to`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// File name endings without the dot.
    pub endings: &'static [&'static str],
    /// Whether a layout that turns out too narrow matters: text has none.
    pub has_layout: bool,
    /// Begins a file of f32 values.
    pub open_f32: Open<f32>,
    /// Begins a file of f64 values.
    pub open_f64: Open<f64>,
}

/// All formats that can be written.
pub static ENTRIES: &[&Entry] = &[
    &arrow::ENTRY,
    #[cfg(feature = "parquet")]
    &parquet::ENTRY,
    &libsvm::ENTRY,
    &vw::ENTRY,
    &csv::ENTRY,
    &csv::TSV,
    &jsonl::ENTRY,
];

/// A kind of value that can be written.
pub trait Kind: Native {
    /// Begins a file of this kind.
    fn open(entry: &Entry, out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<Self>>, Refusal>;
}

impl Kind for f32 {
    fn open(entry: &Entry, out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<Self>>, Refusal> {
        (entry.open_f32)(out, subject)
    }
}

impl Kind for f64 {
    fn open(entry: &Entry, out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<Self>>, Refusal> {
        (entry.open_f64)(out, subject)
    }
}

/// The format that a name after `--to` says, or else the ending of the file's name.
pub fn find(name: Option<&str>, target: &str) -> Result<&'static Entry, UsageError> {
    let list = || ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = name {
        let entry = ENTRIES.iter().copied().find(|entry| entry.name == name);
        return entry.ok_or_else(|| UsageError(format!("--to: found `{name}`, expected one of {}", list())));
    }
    let file = Path::new(target).file_name().and_then(|name| name.to_str()).unwrap_or(target);
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let entry =
        ENTRIES.iter().copied().find(|entry| ending.as_deref().is_some_and(|e| entry.endings.contains(&e)));
    entry.ok_or_else(|| {
        UsageError(format!(
            "the name `{target}` does not tell the format to write; say --to with one of {}",
            list()
        ))
    })
}

/// A row that has not been given its label's meaning.
struct Raw<'a, V> {
    label: &'a Label,
    weight: f64,
    x: Features<'a, V>,
}

/// The rows of a block, with their raw labels.
fn raw<V: super::Value>(block: &Block<V>) -> impl Iterator<Item = Raw<'_, V>> {
    let rows = block.rows();
    block.raw_labels.iter().enumerate().map(move |(k, label)| {
        let (from, to) = (rows.offsets[k], rows.offsets[k + 1]);
        let x = Features::new(&rows.indices[from..to], &rows.values[from..to]);
        Raw { label, weight: rows.weights.get(k).copied().unwrap_or(1.0), x }
    })
}

/// Appends the shortest decimal that reads back exactly.
fn decimal(line: &mut Vec<u8>, value: impl Debug) {
    // Writing to a vector cannot fail.
    let _ = write!(line, "{value:?}");
    if line.ends_with(b".0") {
        line.truncate(line.len() - 2);
    }
}

/// How a text format spells a row.
trait Spell<V>: Send {
    /// Appends the line, without its newline; says what there is no place for.
    fn row(&mut self, line: &mut Vec<u8>, row: &Raw<'_, V>) -> Result<(), String>;
}

/// A text format: a header and a line per row.
struct Lines<S> {
    out: Out,
    line: Vec<u8>,
    spell: S,
}

impl<S> Lines<S> {
    fn begin(mut out: Out, header: &[u8], spell: S) -> Result<Box<Self>, Refusal> {
        out.write_all(header)?;
        Ok(Box::new(Self { out, line: Vec::new(), spell }))
    }
}

impl<V: super::Value, S: Spell<V>> Writer<V> for Lines<S> {
    fn write(&mut self, block: &Block<V>) -> Result<(), Refusal> {
        for (k, row) in raw(block).enumerate() {
            self.line.clear();
            self.spell.row(&mut self.line, &row).map_err(|message| Refusal::Row(k, message))?;
            self.line.push(b'\n');
            self.out.write_all(&self.line)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &NameTable) -> io::Result<Out> {
        Ok(self.out)
    }
}

/// The column of a feature, by its index; what is hashed has none.
fn column(schema: &Schema, index: u32) -> Result<&str, String> {
    schema.columns.get(index as usize).map(String::as_str).ok_or_else(|| {
        "a feature is a hashed name, and a hash cannot be turned back into text: convert to arrow, parquet, libsvm or vw"
            .to_owned()
    })
}

/// Refuses features that have no names for a format that needs them.
fn need_columns(subject: Subject<'_>, to: &str) -> Result<(), Refusal> {
    if subject.schema.columns.is_empty() {
        return Err(Refusal::Row(
            0,
            format!(
                "{to} names features, and the features of this data are numbers or hashed names: convert to arrow, \
                 parquet, libsvm or vw"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
