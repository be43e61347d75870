//! Parquet files in the layout of the cache, compressed with zstd: a row group for each block that was read.

use super::arrow::{batch, notes, schema};
use super::{Entry, Layout, Native, Out, Refusal, Subject, Writer};
use crate::example::Block;
use crate::example::format::arrow::{digest, schema_digest};
use crate::example::names::NameTable;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use arrow_schema::Schema;
use std::io;
use std::sync::Arc;

/// The registry entry.
pub(super) static ENTRY: Entry = Entry {
    name: "parquet",
    summary: "Parquet: everything, compressed",
    endings: &["parquet", "pq"],
    has_layout: true,
    open_f32: open,
    open_f64: open,
};

struct Groups {
    writer: ArrowWriter<Out>,
    schema: Arc<Schema>,
    layout: Layout,
    sums: Vec<u64>,
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn open<V: Native>(out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal> {
    let schema = Arc::new(schema::<V>(subject));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(None)
        .build();
    let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(failed)?;
    let sums = vec![schema_digest(&schema)];
    Ok(Box::new(Groups { writer, schema, layout: subject.layout, sums }))
}

impl<V: Native> Writer<V> for Groups {
    fn write(&mut self, block: &Block<V>) -> Result<(), Refusal> {
        let batch = batch(block, &self.schema, self.layout)?;
        self.sums.push(digest(&batch));
        self.writer.write(&batch).map_err(failed)?;
        Ok(self.writer.flush().map_err(failed)?)
    }

    fn finish(mut self: Box<Self>, names: &NameTable) -> io::Result<Out> {
        for (key, note) in notes(names, self.sums) {
            self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), note));
        }
        self.writer.into_inner().map_err(failed)
    }
}
