//! Arrow IPC files in the layout of the cache: columns `label`, `weight` (where one is not 1), `indices` and `values`; the
//! settings in the schema; names of features and checksums in the footer. One batch for each block that was read, so that
//! labels are given the same meaning from the cache as from what it was made from.

use super::{Entry, Layout, Native, Out, Refusal, Subject, Writer, decimal};
use crate::example::format::arrow::message_start;
use crate::example::format::arrow::stored::{CHECKSUMS, NAMES, SETTINGS, Stored};
use crate::example::names::NameTable;
use crate::example::{Block, Label};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Float64Array, LargeListArray, PrimitiveArray, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The registry entry.
pub(super) static ENTRY: Entry = Entry {
    name: "arrow",
    summary: "Arrow IPC: everything, and the fast cache",
    endings: &["arrow", "ipc", "feather"],
    has_layout: true,
    open_f32: open,
    open_f64: open,
};

/// Counts the bytes that pass into a checksum.
struct Summed {
    out: Out,
    sum: Xxh3,
    /// Everything up to the end of the first message, which begins after a magic word and zeros.
    first: Option<Vec<u8>>,
}

impl Summed {
    /// The checksum of the message that just ended.
    fn cut(&mut self) -> u64 {
        match self.first.take() {
            Some(first) => xxh3_64(&first[message_start(&first)..]),
            None => std::mem::take(&mut self.sum).digest(),
        }
    }
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        match &mut self.first {
            Some(first) => first.extend_from_slice(&bytes[..written]),
            None => self.sum.update(&bytes[..written]),
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Ipc {
    writer: FileWriter<Summed>,
    schema: Arc<Schema>,
    layout: Layout,
    sums: Vec<u64>,
}

/// The system's own error where there is one.
pub(super) fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}

fn open<V: Native>(out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal> {
    let schema = schema::<V>(subject);
    let out = Summed { out, sum: Xxh3::new(), first: Some(Vec::new()) };
    let mut writer = FileWriter::try_new(out, &schema).map_err(failed)?;
    let sums = vec![writer.get_mut().cut()];
    Ok(Box::new(Ipc { writer, schema: Arc::new(schema), layout: subject.layout, sums }))
}

impl<V: Native> Writer<V> for Ipc {
    fn write(&mut self, block: &Block<V>) -> Result<(), Refusal> {
        let batch = batch(block, &self.schema, self.layout)?;
        self.writer.write(&batch).map_err(failed)?;
        self.sums.push(self.writer.get_mut().cut());
        Ok(())
    }

    fn finish(mut self: Box<Self>, names: &NameTable) -> io::Result<Out> {
        for (key, note) in notes(names, self.sums) {
            self.writer.write_metadata(key, note);
        }
        self.writer.finish().map_err(failed)?;
        Ok(self.writer.into_inner().map_err(failed)?.out)
    }
}

/// What stands at the end of a file: the names of hashed features, and the checksums, that of the names last.
pub(super) fn notes(names: &NameTable, mut sums: Vec<u64>) -> [(&'static str, String); 2] {
    let names = serde_json::json!(names.iter().collect::<Vec<_>>()).to_string();
    sums.push(xxh3_64(names.as_bytes()));
    let sums: Vec<String> = sums.iter().map(|sum| format!("{sum:016x}")).collect();
    [(NAMES, names), (CHECKSUMS, sums.join(" "))]
}

fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, false))
}

/// The columns, and the settings.
pub(super) fn schema<V: Native>(subject: Subject<'_>) -> Schema {
    let layout = subject.layout;
    let kind = if layout.names { DataType::Utf8 } else { DataType::Float64 };
    let mut fields = vec![Field::new("label", kind, layout.missing)];
    if layout.weights {
        fields.push(Field::new("weight", DataType::Float64, false));
    }
    fields.push(Field::new("indices", DataType::LargeList(item(DataType::UInt32)), false));
    fields.push(Field::new("values", DataType::LargeList(item(V::Type::DATA_TYPE)), false));
    let stored = Stored::new(subject.format, subject.options, subject.schema);
    Schema::new_with_metadata(fields, HashMap::from([(SETTINGS.to_owned(), stored.to_json())]))
}

/// The rows of a block as columns.
pub(super) fn batch<V: Native>(
    block: &Block<V>,
    schema: &Arc<Schema>,
    layout: Layout,
) -> Result<RecordBatch, Refusal> {
    let rows = block.rows();
    let offsets = OffsetBuffer::from_lengths(rows.offsets.windows(2).map(|ends| ends[1] - ends[0]));
    let indices: ArrayRef = Arc::new(UInt32Array::from(rows.indices.to_vec()));
    let values: ArrayRef = Arc::new(PrimitiveArray::<V::Type>::from_iter_values(rows.values.iter().copied()));
    let label: ArrayRef = if layout.names {
        Arc::new(block.raw_labels.iter().map(spelled).collect::<StringArray>())
    } else {
        let number = |label: &Label| if let Label::Number(y) = label { Some(*y) } else { None };
        Arc::new(block.raw_labels.iter().map(number).collect::<Float64Array>())
    };
    let mut columns = vec![label];
    if layout.weights {
        let weights = if block.weights.is_empty() { vec![1.0; block.len()] } else { block.weights.clone() };
        columns.push(Arc::new(Float64Array::from(weights)));
    }
    let list = |kind, items| LargeListArray::try_new(item(kind), offsets.clone(), items, None);
    columns.push(Arc::new(list(DataType::UInt32, indices).map_err(failed)?));
    columns.push(Arc::new(list(V::Type::DATA_TYPE, values).map_err(failed)?));
    Ok(RecordBatch::try_new(schema.clone(), columns).map_err(failed)?)
}

/// A label as text that reads back as the same label.
fn spelled(label: &Label) -> Option<String> {
    match label {
        Label::Number(y) => {
            let mut text = Vec::new();
            decimal(&mut text, y);
            String::from_utf8(text).ok()
        }
        Label::Name(name) => Some(name.to_string()),
        Label::Missing => None,
    }
}
