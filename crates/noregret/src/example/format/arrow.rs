//! Arrow IPC, as a file or a stream: columns of numbers and text, read as CSV columns of the same names, or sparse
//! rows as lists `indices` and `values`. The latter, as `noregret convert` writes them, is the cache: rows are used
//! where they lie in the mapped file.

pub mod cells;
mod lists;
mod message;
pub(in crate::example) mod stored;

use super::{
    About, Decoder, Entry, Found, LARGEST_DIMENSION, OpenError, Options, Problem, Scratch, Table, csv, libsvm,
};
use crate::bytes::{Content, Failure, Whole};
use crate::error::UsageError;
use crate::example::Block;
use crate::example::hash::mask;
use crate::example::names::Schema;
use crate::example::number::Number;
use crate::example::{select, text};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_ipc::MessageHeader;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_schema::Schema as ArrowSchema;
use lists::Lists;
use message::{Frame, Frames, Notes};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use stored::Stored;
use xxhash_rust::xxh3::xxh3_64;

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "arrow",
    summary: "Arrow IPC file or stream: columns as CSV, or lists `indices` and `values`; the fast cache",
    endings: &["arrow", "arrows", "ipc", "feather"],
    sniff: |beginning| {
        beginning.starts_with(message::MAGIC)
            || beginning.starts_with(&message::CONTINUATION) && beginning.get(6..8) == Some(&[0, 0])
    },
    quoted: false,
    table: Some(open),
    open: super::no_lines,
};

/// Where the first message begins in a file: some writers fill up the room after the magic word with zeros.
pub(in crate::example) fn message_start(file: &[u8]) -> usize {
    file.chunks(8).skip(1).position(|chunk| chunk != [0; 8]).map_or(file.len(), |chunks| 8 * (chunks + 1))
}

/// What is wrong with the whole of an input.
pub(super) fn refuse(message: impl Into<String>) -> Failure {
    Failure::Bad(message.into())
}

/// A part that cannot be read at all.
fn problem(message: impl Into<String>) -> Found {
    let problem = Problem { line: 0, column: 1, message: message.into() };
    Found { problem: Some(problem), ..Found::default() }
}

/// Runs what the library does with bytes that somebody else wrote. It should refuse what is wrong with an error; should
/// it panic instead, that is an error here too.
pub(super) fn fenced<T, E: std::fmt::Display>(work: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| format!("the data is damaged ({error})")),
        Err(_) => Err("the data is damaged".to_owned()),
    }
}

/// A kind of value that Arrow stores as we do.
pub trait Native: Number + ArrowNativeType {
    /// Arrow's name for the kind.
    type Type: ArrowPrimitiveType<Native = Self>;
    /// The values of an array of this kind, without a copy.
    fn array(array: &ArrayRef) -> Option<ScalarBuffer<Self>>;
}

impl Native for f32 {
    type Type = Float32Type;

    fn array(array: &ArrayRef) -> Option<ScalarBuffer<Self>> {
        Some(array.as_primitive_opt::<Float32Type>()?.values().clone())
    }
}

impl Native for f64 {
    type Type = Float64Type;

    fn array(array: &ArrayRef) -> Option<ScalarBuffer<Self>> {
        Some(array.as_primitive_opt::<Float64Type>()?.values().clone())
    }
}

/// How the columns of a file become rows.
pub(super) enum Plan {
    /// Sparse rows.
    Lists(Box<Lists>),
    /// A feature or more per column.
    Columns(Box<csv::Csv>),
}

impl Plan {
    /// Finds out what the columns are, and how records are read altogether.
    pub(super) fn new(said: &Options, schema: &ArrowSchema) -> Result<(Self, About), OpenError> {
        let usage = |message: String| OpenError::Usage(UsageError(message));
        let bad = |message: String| OpenError::Failure(refuse(message));
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        for (k, name) in names.iter().enumerate() {
            if name.is_empty() || names[..k].contains(name) {
                let name = text::excerpt(name.as_bytes());
                return Err(bad(format!("the name `{name}` of column {} is empty or appears twice", k + 1)));
            }
        }
        let stored = Stored::of(schema).map_err(bad)?;
        let list = |name: &str| {
            names.iter().position(|n| n == name).filter(|&k| lists::is_list(schema.field(k).data_type()))
        };
        let sparse = list("indices").zip(list("values"));
        for (k, field) in schema.fields().iter().enumerate() {
            let kind = field.data_type();
            let known = sparse.is_some_and(|(i, v)| k == i || k == v);
            if !known && !cells::is_plain(kind) {
                let name = text::excerpt(field.name().as_bytes());
                return Err(bad(format!(
                    "column `{name}` has the type {kind}, expected numbers or text: cast it, or leave it out"
                )));
            }
        }
        let (Some((indices, values)), stored) = (sparse, stored) else {
            let refuse = |_, message| bad(message);
            let csv = csv::columns(said, &names, b',', refuse)?;
            let about = About { schema: csv.schema.clone(), options: said.clone(), meaning: &csv::ENTRY };
            return Ok((Self::Columns(Box::new(csv)), about));
        };
        let others: Vec<String> =
            (0..names.len()).filter(|k| *k != indices && *k != values).map(|k| names[k].clone()).collect();
        let place = |k: usize| names.iter().position(|name| *name == others[k]).unwrap_or(k);
        let named = |name: &str| others.iter().position(|other| other == name).map(place);
        let (label, weight, about) = if let Some(stored) = &stored {
            let options = stored.complete(said)?;
            let about = About { schema: stored.schema().clone(), options, meaning: stored.meaning()? };
            (named("label"), named("weight"), about)
        } else {
            let label = text::find_label(said, &others, "column")?.map(place);
            let weight = match &said.weight {
                Some(asked) => text::find_named(asked, "--weight", said, &others, "column")?.map(place),
                None => None,
            };
            let known = said.schema.as_ref().is_none_or(|schema| *schema == Schema::default());
            if !known {
                return Err(usage(
                        "the model was learned from named features, and the lists `indices` and `values` have numbers: \
                         give it the format that it was learned from"
                            .into(),
                    ));
            }
            (
                label,
                weight,
                About { schema: Schema::default(), options: said.clone(), meaning: &libsvm::ENTRY },
            )
        };
        if let Some(other) = others.iter().find(|name| {
            let at = named(name);
            at != label && at != weight
        }) {
            let name = text::excerpt(other.as_bytes());
            return Err(usage(format!(
                "column `{name}` stands beside the lists `indices` and `values` and is neither label nor weight: say \
                 which with --label and --weight, or leave it out"
            )));
        }
        let options = &about.options;
        let hashed = about.schema.bits.map(|bits| about.schema.columns.len() as u64 + (1 << bits));
        let limit = options
            .dimension
            .map(u64::from)
            .or(hashed)
            .or(options.bits.map(|bits| 1 << bits))
            .unwrap_or(u64::from(LARGEST_DIMENSION).max(about.schema.columns.len() as u64));
        let folded = stored.as_ref().is_some_and(|stored| stored.schema().bits.is_some() || stored.folds());
        let lists = Lists {
            indices,
            values,
            label,
            weight,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            mask: options.bits.filter(|_| !folded).map(mask),
            rounded: stored.is_some() && item_is_f32(schema, values),
            skip: options.skip,
            unlabelled: options.unlabelled,
        };
        Ok((Self::Lists(Box::new(lists)), about))
    }

    /// What was made of the flags that select columns.
    pub(super) fn selects(&self) -> Option<&select::Plan> {
        match self {
            Self::Lists(_) => None,
            Self::Columns(csv) => Some(&csv.plan),
        }
    }

    /// Reads a batch into rows. What was `checked` before is not checked again; says whether it need not be in future.
    pub(super) fn rows<V: Native>(
        &self,
        record: &RecordBatch,
        checked: bool,
        block: &mut Block<V>,
        scratch: &mut Scratch<V>,
    ) -> (Found, bool) {
        match self {
            Self::Lists(lists) => lists.rows(record, checked, block, scratch),
            Self::Columns(csv) => (cells::rows(csv, record, block, scratch), false),
        }
    }
}

fn item_is_f32(schema: &ArrowSchema, column: usize) -> bool {
    use arrow_schema::DataType::{Float32, LargeList};
    matches!(schema.field(column).data_type(), LargeList(item) if *item.data_type() == Float32)
}

/// What stands at the end of a file from here: the checksum of every message, and the names of features.
#[derive(Default)]
pub(super) struct Checks {
    pub(super) sums: Vec<u64>,
    pub(super) names: Vec<(u32, Box<str>)>,
}

/// A checksum of what the columns of a batch hold, whatever they are stored as.
#[cfg(feature = "parquet")]
pub(in crate::example) fn digest(record: &RecordBatch) -> u64 {
    use cells::{Cell, Column};
    use xxhash_rust::xxh3::Xxh3;
    let mut sum = Xxh3::new();
    let mut plain = |array: &ArrayRef| {
        sum.update(&(array.len() as u64).to_le_bytes());
        let cells = Column::new(array.as_ref());
        for row in 0..cells.as_ref().map_or(0, |_| array.len()) {
            match cells.as_ref().map(|cells| cells.cell(row)) {
                None | Some(Cell::Absent) => sum.update(b"-"),
                Some(Cell::Text(text)) => {
                    sum.update(&(text.len() as u64).to_le_bytes());
                    sum.update(text.as_bytes());
                }
                Some(cell) => sum.update(&cell.number().unwrap_or(0.0).to_bits().to_le_bytes()),
            }
        }
    };
    for array in record.columns() {
        match array.as_list_opt::<i64>() {
            Some(list) => {
                let from = list.value_offsets()[0];
                let lengths: ScalarBuffer<i64> = list.value_offsets().iter().map(|end| end - from).collect();
                let lengths: ArrayRef = Arc::new(arrow_array::Int64Array::new(lengths, None));
                plain(&lengths);
                plain(list.values());
            }
            None => plain(array),
        }
    }
    sum.digest()
}

/// A checksum of a schema and its settings.
#[cfg(feature = "parquet")]
pub(in crate::example) fn schema_digest(schema: &ArrowSchema) -> u64 {
    let settings = schema.metadata().get(stored::SETTINGS);
    let names: Vec<_> = schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    xxh3_64(format!("{names:?} {settings:?}").as_bytes())
}

impl Checks {
    /// Whether the first checksum is that of the schema.
    #[cfg(feature = "parquet")]
    pub(super) fn is_schema(&self, schema: &ArrowSchema) -> bool {
        self.sums.first() == Some(&schema_digest(schema))
    }

    /// Reads the notes. The last checksum is that of the names.
    pub(super) fn new(notes: &Notes) -> Result<Self, String> {
        let lacks =
            "its checksums are missing or damaged: another program has rewritten it; convert the data again";
        let sums: Option<Vec<u64>> = notes
            .get(stored::CHECKSUMS)
            .and_then(|text| text.split(' ').map(|sum| u64::from_str_radix(sum, 16).ok()).collect());
        let (Some(mut sums), Some(names)) = (sums, notes.get(stored::NAMES)) else {
            return Err(lacks.into());
        };
        if sums.pop() != Some(xxh3_64(names.as_bytes())) {
            return Err(lacks.into());
        }
        let names =
            serde_json::from_str(names).map_err(|error| format!("its names cannot be read: {error}"))?;
        Ok(Self { sums, names })
    }
}

/// A batch that is still bytes.
struct Batch {
    frame: Frame,
    schema: Arc<ArrowSchema>,
    plan: Arc<Plan>,
    dictionaries: Arc<HashMap<i64, ArrayRef>>,
    whole: Option<Arc<Whole>>,
    /// What its bytes must sum to.
    sum: Option<u64>,
    names: Mutex<Vec<(u32, Box<str>)>>,
}

impl Batch {
    fn record(&self) -> Result<RecordBatch, String> {
        let message = self.frame.message()?;
        let version = message::version(&message)?;
        let batch = message.header_as_record_batch().ok_or("a message is no batch of rows")?;
        let body = self.frame.body();
        message::check(&batch, &body)?;
        fenced(|| read_record_batch(&body, batch, self.schema.clone(), &self.dictionaries, None, &version))
    }

    fn rows<V: Native>(&self, block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        let at = self.frame.at;
        let checked = self.whole.as_ref().is_some_and(|whole| whole.is_checked(at));
        if !checked && self.sum.is_some_and(|sum| sum != xxh3_64(self.frame.bytes.as_slice())) {
            return problem(
                "a batch of the cache is damaged (its checksum is wrong): convert the data again",
            );
        }
        let record = match self.record() {
            Ok(record) => record,
            Err(message) => return problem(message),
        };
        let (mut found, sound) = self.plan.rows(&record, checked, block, scratch);
        if let Some(whole) = self.whole.as_ref().filter(|_| sound && !checked) {
            whole.check_off(at);
        }
        found.names.extend(self.names.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        found
    }
}

impl Decoder for Batch {
    fn decode(&self, _: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        self.rows(block, scratch)
    }

    fn decode_f64(&self, _: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found {
        self.rows(block, scratch)
    }

    fn schema(&self) -> Schema {
        Schema::default()
    }
}

/// Names without rows: what stands at the end of a file that came as a stream.
struct Names(Vec<(u32, Box<str>)>);

impl Names {
    fn found(&self) -> Found {
        let mut found = Found::default();
        found.names.extend(self.0.iter().map(|(index, name)| (*index, name)));
        found
    }
}

impl Decoder for Names {
    fn decode(&self, _: &[u8], _: &mut Block<f32>, _: &mut Scratch) -> Found {
        self.found()
    }

    fn decode_f64(&self, _: &[u8], _: &mut Block<f64>, _: &mut Scratch<f64>) -> Found {
        self.found()
    }

    fn schema(&self) -> Schema {
        Schema::default()
    }
}

/// An open file or stream.
struct Ipc {
    frames: Frames,
    schema: Arc<ArrowSchema>,
    plan: Arc<Plan>,
    about: About,
    dictionaries: Arc<HashMap<i64, ArrayRef>>,
    /// For a file from here at hand: what is expected.
    checks: Option<Checks>,
    /// For a file from here that comes as a stream: what was found.
    sums: Option<Vec<u64>>,
    batches: usize,
    ended: bool,
}

fn open(said: &Options, content: Content, read: &Arc<AtomicU64>) -> Result<Box<dyn Table>, OpenError> {
    let bad = |message: String| OpenError::Failure(refuse(message));
    let (mut frames, footer) = Frames::open(content, read).map_err(OpenError::Failure)?;
    let (mut checks, mut sums) = (None, None);
    let ours = |schema: &ArrowSchema| schema.metadata().contains_key(stored::SETTINGS);
    let schema = match footer {
        // Notes of ours betray a file from here whose settings are damaged.
        Some(footer) if !ours(&footer.schema) && !footer.notes.contains_key(stored::CHECKSUMS) => {
            footer.schema
        }
        footer => {
            let first = frames.first().map_err(OpenError::Failure)?;
            let first =
                first.ok_or_else(|| bad("the input is empty, or no Arrow IPC: expected a schema".into()))?;
            let message = first.message().map_err(bad)?;
            message::version(&message).map_err(bad)?;
            let schema = message.header_as_schema().ok_or_else(|| bad("expected a schema first".into()))?;
            let schema = fenced(|| arrow_ipc::convert::try_fb_to_schema(schema)).map_err(bad)?;
            let sum = xxh3_64(first.bytes.as_slice());
            match footer {
                Some(footer) => {
                    let mut found = Checks::new(&footer.notes).map_err(bad)?;
                    if !ours(&schema) || footer.schema != schema || found.sums.first() != Some(&sum) {
                        return Err(bad("the cache's schema is damaged: convert the data again".into()));
                    }
                    found.sums.remove(0);
                    checks = Some(found);
                }
                None if ours(&schema) => sums = Some(vec![sum]),
                None => {}
            }
            schema
        }
    };
    let (plan, about) = Plan::new(said, &schema)?;
    let (schema, plan) = (Arc::new(schema), Arc::new(plan));
    Ok(Box::new(Ipc {
        frames,
        schema,
        plan,
        about,
        dictionaries: Arc::default(),
        checks,
        sums,
        batches: 0,
        ended: false,
    }))
}

impl Table for Ipc {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn selects(&self) -> Option<&select::Plan> {
        self.plan.selects()
    }

    fn next(&mut self) -> Result<Option<Arc<dyn Decoder>>, Failure> {
        loop {
            let Some(frame) = self.frames.next()? else {
                let names = self.end()?;
                return Ok((!names.is_empty()).then(|| Arc::new(Names(names)) as Arc<dyn Decoder>));
            };
            if let Some(sums) = &mut self.sums {
                sums.push(xxh3_64(frame.bytes.as_slice()));
            }
            let message = frame.message().map_err(refuse)?;
            match message.header_type() {
                MessageHeader::RecordBatch => {}
                MessageHeader::DictionaryBatch => {
                    self.dictionary(&frame).map_err(refuse)?;
                    continue;
                }
                _ => return Err(refuse("expected a batch of rows")),
            }
            let (mut sum, mut names) = (None, Vec::new());
            if let Some(checks) = &mut self.checks {
                sum = Some(*checks.sums.get(self.batches).ok_or_else(|| {
                    refuse("the cache has more batches than checksums: convert the data again")
                })?);
                names = std::mem::take(&mut checks.names);
            }
            self.batches += 1;
            return Ok(Some(Arc::new(Batch {
                schema: self.schema.clone(),
                plan: self.plan.clone(),
                dictionaries: self.dictionaries.clone(),
                whole: self.frames.whole().cloned(),
                frame,
                sum,
                names: names.into(),
            })));
        }
    }
}

impl Ipc {
    fn dictionary(&mut self, frame: &Frame) -> Result<(), String> {
        let message = frame.message()?;
        let version = message::version(&message)?;
        let batch = message.header_as_dictionary_batch().ok_or("a dictionary cannot be read")?;
        let body = frame.body();
        message::check(&batch.data().ok_or("a dictionary is empty")?, &body)?;
        let mut dictionaries = (*self.dictionaries).clone();
        fenced(|| read_dictionary(&body, batch, &self.schema, &mut dictionaries, &version))?;
        self.dictionaries = Arc::new(dictionaries);
        Ok(())
    }

    /// After the last message: everything must have come. Gives the names that stand at the end of a stream.
    fn end(&mut self) -> Result<Vec<(u32, Box<str>)>, Failure> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(Vec::new());
        }
        if let Some(checks) = &self.checks
            && checks.sums.len() != self.batches
        {
            return Err(refuse("batches of the cache are missing: convert the data again"));
        }
        let notes = self.frames.notes_at_end()?;
        if let Some(sums) = self.sums.take() {
            let found = Checks::new(&notes.unwrap_or_default()).map_err(refuse)?;
            if found.sums != sums {
                return Err(refuse("the cache is damaged (a checksum is wrong): convert the data again"));
            }
            return Ok(found.names);
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests;
