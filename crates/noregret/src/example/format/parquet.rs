//! Parquet: columns as in Arrow IPC. Pages are decompressed one row group after the other, by whoever feeds the parsing
//! threads; those turn columns into rows.

mod nested;
mod part;

pub use part::{Part, Planned};

use super::arrow::{Checks, Plan, digest, fenced, refuse, stored};
use super::{About, Decoder, Entry, Found, OpenError, Options, Problem, Scratch, Table};
use crate::bytes::{Content, Failure};
use crate::example::Block;
use crate::example::names::Schema;
use crate::example::select;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::file::metadata::RowGroupMetaData;
use arrow_array::RecordBatch;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How a Parquet file begins and ends.
const MAGIC: &[u8] = b"PAR1";

/// How many rows of a file from elsewhere are taken at once.
const ROWS: usize = 8192;

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "parquet",
    summary: "Parquet: columns as CSV, or lists `indices` and `values`",
    endings: &["parquet", "pq"],
    sniff: |beginning| beginning.starts_with(MAGIC),
    quoted: false,
    table: Some(open),
    open: super::no_lines,
};

/// Rows in columns, with the names that came with them.
struct Rows {
    plan: Arc<Plan>,
    record: RecordBatch,
    /// What its contents must sum to.
    sum: Option<u64>,
    names: Mutex<Vec<(u32, Box<str>)>>,
}

impl Rows {
    fn wrong(&self) -> Option<Found> {
        let message = "a row group is damaged (its checksum is wrong): convert the data again";
        let problem = Problem { line: 0, column: 1, message: message.into() };
        self.sum
            .is_some_and(|sum| sum != digest(&self.record))
            .then(|| Found { problem: Some(problem), ..Found::default() })
    }

    fn named(&self, mut found: Found) -> Found {
        found.names.extend(self.names.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        found
    }
}

impl Decoder for Rows {
    fn decode(&self, _: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        self.wrong().unwrap_or_else(|| self.named(self.plan.rows(&self.record, false, block, scratch).0))
    }

    fn decode_f64(&self, _: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found {
        self.wrong().unwrap_or_else(|| self.named(self.plan.rows(&self.record, false, block, scratch).0))
    }

    fn schema(&self) -> Schema {
        Schema::default()
    }
}

struct Groups {
    bytes: ::bytes::Bytes,
    metadata: ArrowReaderMetadata,
    plan: Arc<Plan>,
    about: About,
    /// For a file from here.
    checks: Option<Checks>,
    /// The next row group.
    next: usize,
    reader: Option<ParquetRecordBatchReader>,
    read: Arc<AtomicU64>,
}

fn open(said: &Options, content: Content, read: &Arc<AtomicU64>) -> Result<Box<dyn Table>, OpenError> {
    let bad = |message: String| OpenError::Failure(refuse(message));
    let whole = content.whole().map_err(|error| OpenError::Failure(error.into()))?;
    let bytes = whole.bytes.clone();
    if !(bytes.len() > 2 * MAGIC.len() && bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC)) {
        return Err(bad(
            "this is no Parquet file, or it was cut off: use a copy that was written whole".into()
        ));
    }
    let metadata = fenced(|| ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())).map_err(bad)?;
    within(&metadata, bytes.len() as u64).map_err(bad)?;
    let (plan, about) = Plan::new(said, metadata.schema())?;
    let mut checks = None;
    let notes = metadata.metadata().file_metadata().key_value_metadata();
    let notes: HashMap<String, String> = notes
        .into_iter()
        .flatten()
        .filter_map(|note| Some((note.key.clone(), note.value.clone()?)))
        .collect();
    // Notes of ours betray a file from here whose settings are damaged.
    if metadata.schema().metadata().contains_key(stored::SETTINGS) || notes.contains_key(stored::CHECKSUMS) {
        let found = Checks::new(&notes).map_err(bad)?;
        if found.sums.len() != metadata.metadata().num_row_groups() + 1 {
            return Err(bad("row groups are missing: convert the data again".into()));
        }
        if !found.is_schema(metadata.schema()) {
            return Err(bad("its schema is damaged: convert the data again".into()));
        }
        checks = Some(found);
    }
    let plan = Arc::new(plan);
    let read = read.clone();
    Ok(Box::new(Groups { bytes, metadata, plan, about, checks, next: 0, reader: None, read }))
}

/// Refuses columns that lie outside of a file of that size: the library takes places in it on trust.
fn within(metadata: &ArrowReaderMetadata, size: u64) -> Result<(), String> {
    let columns = metadata.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    for column in columns {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size()).and_then(|end| u64::try_from(end).ok());
        if start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end > size) {
            return Err("a column lies outside of the file: it is damaged".into());
        }
    }
    Ok(())
}

/// What the library says, with advice where a page is compressed in a way that was left out.
fn advised(message: String) -> String {
    if message.contains("Disabled feature") {
        "its pages are compressed in a way that is not read here: write it with zstd, snappy, gzip or lz4"
            .to_owned()
    } else {
        message
    }
}

fn explain(message: String) -> Failure {
    refuse(advised(message))
}

impl Groups {
    /// Opens the next row group; `None` after the last. A file from here has one for each block that was written, and
    /// gives it back as a whole.
    fn group(&mut self) -> Result<Option<ParquetRecordBatchReader>, String> {
        let groups = self.metadata.metadata().row_groups();
        let Some(group) = groups.get(self.next) else { return Ok(None) };
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let rows = if self.checks.is_some() { rows.clamp(1, 1 << 20) } else { ROWS };
        let size = u64::try_from(group.compressed_size()).unwrap_or(0);
        self.read.fetch_add(size, Ordering::Relaxed);
        self.next += 1;
        let (bytes, metadata, group) = (self.bytes.clone(), self.metadata.clone(), self.next - 1);
        fenced(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata)
                .with_row_groups(vec![group])
                .with_batch_size(rows)
                .build()
        })
        .map(Some)
    }
}

impl Table for Groups {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn selects(&self) -> Option<&select::Plan> {
        self.plan.selects()
    }

    fn next(&mut self) -> Result<Option<Arc<dyn Decoder>>, Failure> {
        loop {
            let Some(reader) = &mut self.reader else {
                self.reader = self.group().map_err(explain)?;
                if self.reader.is_none() {
                    return Ok(None);
                }
                continue;
            };
            let Some(record) = fenced(|| reader.next().transpose()).map_err(explain)? else {
                self.reader = None;
                continue;
            };
            let (mut sum, mut names) = (None, Vec::new());
            if let Some(checks) = &mut self.checks {
                // The first is the schema's.
                sum = Some(checks.sums[self.next]);
                names = std::mem::take(&mut checks.names);
            }
            return Ok(Some(Arc::new(Rows { plan: self.plan.clone(), record, sum, names: names.into() })));
        }
    }
}
