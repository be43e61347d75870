//! A part of a Parquet file, as engines that read on many machines cut them: the row groups whose middle lies in a range of the
//! file's bytes. So every group is in one part, whichever machine reads which.
//!
//! A part belongs to a plan that was made before, and is read only if the file is still the one that was planned with: of that
//! size, changed last at that moment. It is asked again when the last row has been read. Bytes are read, not mapped: who
//! shortens a file that others have mapped ends their process.

use super::nested::{self, Column};
use super::{advised, within};
use crate::example::format::arrow::fenced;
use ::bytes::{Buf, Bytes};
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// About how many bytes of columns, as they are encoded, a batch has at most.
const BYTES: u64 = 8 << 20;

/// What was known of a file when its parts were planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its size.
    pub size: u64,
    /// When it was changed last, in milliseconds since 1970.
    pub modified: i64,
}

impl Planned {
    /// Refuses a file that is another by now.
    fn check(self, file: &File) -> Result<(), String> {
        let about = file.metadata().map_err(|error| error.to_string())?;
        let since = about.modified().map_err(|error| error.to_string())?.duration_since(UNIX_EPOCH);
        let since = since.map_err(|error| error.to_string())?;
        // Some file systems, and some of those who ask them, know whole seconds alone.
        let (exact, whole) = (since.as_millis(), u128::from(since.as_secs()) * 1000);
        let modified = u128::try_from(self.modified).unwrap_or(u128::MAX);
        if about.len() == self.size && (modified == exact || modified == whole) {
            return Ok(());
        }
        Err("the file was changed after it was planned to be read".to_owned())
    }
}

/// Some columns of a part of a file, in batches.
pub struct Part {
    file: File,
    planned: Planned,
    metadata: ArrowReaderMetadata,
    /// Which columns these are, ascending.
    roots: Vec<usize>,
    schema: SchemaRef,
    /// The row groups that are still to be read.
    groups: std::vec::IntoIter<usize>,
    rows: usize,
    group: Option<Group>,
}

/// A row group whose bytes are in memory.
struct Group {
    /// Columns that are read in a way of their own, by their position.
    nested: Vec<(usize, Box<dyn Column>)>,
    /// All others.
    plain: Option<ParquetRecordBatchReader>,
    /// How many rows are left, and how many a batch has.
    left: usize,
    rows: usize,
}

impl Group {
    fn batch(&mut self, schema: &SchemaRef) -> Result<RecordBatch, ParquetError> {
        let rows = self.left.min(self.rows);
        let other = || ParquetError::General("columns have different numbers of rows".to_owned());
        let mut columns = match &mut self.plain {
            Some(plain) => plain.next().transpose()?.ok_or_else(other)?.columns().to_vec(),
            None => Vec::new(),
        };
        for (position, column) in &mut self.nested {
            columns.insert(*position, column.read(rows)?);
        }
        if columns.iter().any(|column| column.len() != rows) {
            return Err(other());
        }
        self.left -= rows;
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}

impl Part {
    /// Opens the row groups of a file whose middle is in `range`. Batches have up to `rows` rows and end with their group.
    ///
    /// Each of `columns` must be there once, however it is spelled.
    pub fn open(
        path: &Path,
        planned: Planned,
        range: Range<u64>,
        columns: &[String],
        rows: usize,
    ) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        planned.check(&file)?;
        // Types are what the columns say; notes of Arrow's would make others of them.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = fenced(|| ArrowReaderMetadata::load(&file, options))?;
        within(&metadata, planned.size)?;
        let fields = metadata.schema().fields();
        let mut roots = Vec::new();
        for column in columns {
            let alike = |name: &str| name.to_lowercase() == column.to_lowercase();
            let mut found = fields.iter().enumerate().filter(|(_, field)| alike(field.name()));
            match (found.next(), found.next()) {
                (Some((root, field)), None) if field.name() == column => roots.push(root),
                (None, _) => return Err(format!("the file has no column `{column}`")),
                _ => return Err(format!("the file spells the column `{column}` in another way, or twice")),
            }
        }
        roots.sort_unstable();
        roots.dedup();
        let schema = metadata.schema().project(&roots).map_err(|error| error.to_string())?.into();
        let groups = metadata.metadata().row_groups().iter().enumerate();
        let groups: Vec<usize> =
            groups.filter(|(_, group)| range.contains(&middle(group))).map(|(k, _)| k).collect();
        let groups = groups.into_iter();
        Ok(Self { file, planned, metadata, roots, schema, groups, rows: rows.max(1), group: None })
    }

    /// The columns that are read, in the order of the file.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Reads the bytes of a row group's columns.
    fn load(&self, number: usize) -> Result<Group, String> {
        let about = self.metadata.metadata().row_group(number);
        let schema = self.metadata.parquet_schema();
        let (mut pieces, mut uncompressed) = (Vec::new(), 0);
        for (leaf, column) in about.columns().iter().enumerate() {
            if self.roots.contains(&schema.get_column_root_idx(leaf)) {
                let (start, length) = column.byte_range();
                let length = usize::try_from(length).map_err(|error| error.to_string())?;
                pieces.push((start, self.file.get_bytes(start, length).map_err(|error| error.to_string())?));
                uncompressed += u64::try_from(column.uncompressed_size()).unwrap_or(0);
            }
        }
        let left = usize::try_from(about.num_rows()).map_err(|error| error.to_string())?;
        let fit = BYTES.saturating_mul(left as u64) / uncompressed.max(1);
        let rows = self.rows.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1);
        let chunks = Arc::new(Chunks { pieces, size: self.planned.size });
        fenced(|| self.group(number, &chunks, left, rows))
    }

    fn group(
        &self,
        number: usize,
        chunks: &Arc<Chunks>,
        left: usize,
        rows: usize,
    ) -> Result<Group, ParquetError> {
        let (mut nested, mut others) = (Vec::new(), Vec::new());
        for (position, root) in self.roots.iter().enumerate() {
            match nested::open(&self.metadata, *root, number, chunks)? {
                Some(column) => nested.push((position, column)),
                None => others.push(*root),
            }
        }
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), others.iter().copied());
        let read = || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(Chunks::clone(chunks), self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![number])
                .with_batch_size(rows)
                .build()
        };
        let plain = if others.is_empty() { None } else { Some(read()?) };
        Ok(Group { nested, plain, left, rows })
    }

    /// The next batch; `None` after the last.
    pub fn batch(&mut self) -> Result<Option<RecordBatch>, String> {
        loop {
            if let Some(group) = self.group.as_mut().filter(|group| group.left > 0) {
                return fenced(|| group.batch(&self.schema)).map(Some).map_err(advised);
            }
            let Some(number) = self.groups.next() else {
                self.planned.check(&self.file)?;
                return Ok(None);
            };
            self.group = Some(self.load(number).map_err(advised)?);
        }
    }
}

/// The middle of a row group, by which it belongs to a part: as `parquet-java` reckons, so that parts are those of the
/// engines built on it.
fn middle(group: &RowGroupMetaData) -> u64 {
    let Some(first) = group.columns().first() else { return 0 };
    let start = first.data_page_offset().min(first.dictionary_page_offset().unwrap_or(i64::MAX));
    u64::try_from(start.saturating_add(group.compressed_size() / 2)).unwrap_or(0)
}

/// The bytes of some columns, by where they lie in the file.
#[derive(Clone)]
pub(super) struct Chunks {
    pieces: Vec<(u64, Bytes)>,
    size: u64,
}

impl Chunks {
    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let found = self.pieces.iter().find_map(|(begin, bytes)| {
            let skip = usize::try_from(start.checked_sub(*begin)?).ok()?;
            (skip < bytes.len()).then(|| bytes.slice(skip..))
        });
        found.ok_or_else(|| ParquetError::General("a page lies outside of its column".to_owned()))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Chunks {
    type T = ::bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::General("a page ends outside of its column".to_owned()));
        }
        Ok(bytes.slice(..length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    use arrow_array::{ArrayRef, Float64Array, Int32Array};

    /// A hundred rows in groups of 16, the label in two spellings if wanted; and what is known of the file.
    fn file(folder: &Path, twice: bool) -> (std::path::PathBuf, Planned) {
        let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..100).map(f64::from)));
        let other: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
        let names = ["other", "x", if twice { "X" } else { "y" }];
        let columns = names.into_iter().zip([other, numbers.clone(), numbers]);
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let path = folder.join("rows.parquet");
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
        let mut out =
            ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
        out.write(&batch).unwrap();
        out.close().unwrap();
        let about = std::fs::metadata(&path).unwrap();
        let since = about.modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
        (path, Planned { size: about.len(), modified: i64::try_from(since.as_millis()).unwrap() })
    }

    fn read(path: &Path, planned: Planned, range: Range<u64>, rows: usize) -> Vec<f64> {
        let mut part = Part::open(path, planned, range, &["x".to_owned()], rows).unwrap();
        assert_eq!(part.schema().fields().len(), 1);
        let mut found = Vec::new();
        while let Some(batch) = part.batch().unwrap() {
            assert!(batch.num_rows() <= rows);
            found.extend_from_slice(batch.column(0).as_primitive::<Float64Type>().values());
        }
        found
    }

    #[test]
    fn parts_have_every_row_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (path, planned) = file(folder.path(), false);
        let all: Vec<f64> = (0..100).map(f64::from).collect();
        for step in [1, 7, 100, 333, planned.size] {
            let starts = (0..planned.size).step_by(usize::try_from(step).unwrap());
            let parts = starts.map(|start| read(&path, planned, start..start + step, 5));
            assert_eq!(parts.flatten().collect::<Vec<f64>>(), all);
        }
        assert_eq!(read(&path, planned, 0..planned.size, 1000), all);
    }

    #[test]
    fn a_file_that_is_another_by_now_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (path, planned) = file(folder.path(), false);
        let x = ["x".to_owned()];
        let open = |planned| Part::open(&path, planned, 0..planned.size, &x, 10);
        for other in [
            Planned { size: planned.size + 1, ..planned },
            Planned { modified: planned.modified - 1000, ..planned },
            Planned { modified: -1, ..planned },
        ] {
            assert!(open(other).err().unwrap().contains("changed"));
        }
        let whole = Planned { modified: planned.modified / 1000 * 1000, ..planned };
        assert!(open(whole).is_ok());
        let mut part = open(planned).unwrap();
        part.batch().unwrap().unwrap();
        File::options().append(true).open(&path).unwrap().set_len(planned.size + 1).unwrap();
        let told = std::iter::from_fn(|| part.batch().transpose()).find_map(Result::err);
        assert!(told.unwrap().contains("changed"));
    }

    #[test]
    fn columns_must_be_there_once_as_they_are_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let (path, planned) = file(folder.path(), true);
        for (name, what) in [("x", "twice"), ("OTHER", "spells"), ("z", "no column")] {
            let told = Part::open(&path, planned, 0..planned.size, &[name.to_owned()], 10).err().unwrap();
            assert!(told.contains(what), "{told}");
        }
    }
}
