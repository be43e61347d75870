//! Columns of sparse rows, read straight from their levels: lists of numbers, and Spark's vectors, which are a struct
//! (type, size, indices, values).
//!
//! The library reads any nesting by going over the levels of every leaf several times and copying what it found into place. Here a list is
//! one leaf, all of whose numbers are there, so they already stand one after the other as Arrow wants them; all that has to be
//! found is where rows begin, and mostly that is the same for indices and values. What is not of this form is left to the library.

use super::part::Chunks;
use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::Repetition;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{DataType as Stored, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::serialized_reader::SerializedPageReader;
use ::parquet::schema::types::Type;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int32Type as Whole, Int64Type as Long,
};
use arrow_array::{ArrayRef, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields};
use std::marker::PhantomData;
use std::sync::Arc;

type Result<T> = std::result::Result<T, ParquetError>;

fn general(message: &str) -> ParquetError {
    ParquetError::General(message.to_owned())
}

/// A column that is read here.
pub(super) trait Column: Send {
    /// The next rows, which must be that many.
    fn read(&mut self, rows: usize) -> Result<ArrayRef>;
}

/// The column at a root of the schema; `None` if it is of another form.
pub(super) fn open(
    metadata: &ArrowReaderMetadata,
    root: usize,
    group: usize,
    chunks: &Arc<Chunks>,
) -> Result<Option<Box<dyn Column>>> {
    let Some(form) = Form::of(metadata, root) else { return Ok(None) };
    let leaves = Leaves { metadata, group, chunks };
    let field = metadata.schema().field(root);
    let first = form.first;
    Ok(Some(match field.data_type() {
        DataType::Struct(fields) => Box::new(Vectors {
            fields: fields.clone(),
            kind: Flat::open(&leaves, first)?,
            size: Flat::open(&leaves, first + 1)?,
            indices: Lists::open(&leaves, first + 2, form.lists[0], item(fields[2].data_type())?)?,
            values: Lists::open(&leaves, first + 3, form.lists[1], item(fields[3].data_type())?)?,
            present: form.present,
        }),
        DataType::List(item) => {
            let (at, item) = (form.lists[0], item.clone());
            match item.data_type() {
                DataType::Int32 => Box::new(Lists::<Int32Type, Whole>::open(&leaves, first, at, item)?),
                DataType::Int64 => Box::new(Lists::<Int64Type, Long>::open(&leaves, first, at, item)?),
                DataType::Float32 => {
                    Box::new(Lists::<FloatType, Float32Type>::open(&leaves, first, at, item)?)
                }
                _ => Box::new(Lists::<DoubleType, Float64Type>::open(&leaves, first, at, item)?),
            }
        }
        _ => return Ok(None),
    }))
}

/// The field of a list's items.
fn item(kind: &DataType) -> Result<FieldRef> {
    match kind {
        DataType::List(item) => Ok(item.clone()),
        _ => Err(general("a column is no list")),
    }
}

/// From which definition level on something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Levels {
    list: i16,
    item: i16,
    /// Whether an item may be null.
    holes: bool,
}

/// What is known of a column of the right form: its first leaf, and its lists.
struct Form {
    first: usize,
    /// From which level on a vector is there.
    present: i16,
    lists: Vec<Levels>,
}

impl Form {
    fn of(metadata: &ArrowReaderMetadata, root: usize) -> Option<Self> {
        let schema = metadata.parquet_schema();
        let leaves: Vec<usize> =
            (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root).collect();
        let first = *leaves.first()?;
        let kind = schema.root_schema().get_fields().get(root)?;
        let (present, lists) = match metadata.schema().field(root).data_type() {
            DataType::List(item) if is_number(item.data_type()) => (0, vec![list(kind, 0)?]),
            DataType::Struct(fields) if is_vector(fields) && leaves.len() == 4 => {
                let present = optional(kind)?;
                let parts = kind.get_fields();
                (present, vec![list(&parts[2], present)?, list(&parts[3], present)?])
            }
            _ => return None,
        };
        // The library's own reckoning must be the same.
        let ends = &leaves[leaves.len() - lists.len()..];
        let agreed = ends.iter().zip(&lists).all(|(leaf, levels)| {
            let leaf = schema.column(*leaf);
            leaf.max_rep_level() == 1 && leaf.max_def_level() == levels.item + i16::from(levels.holes)
        });
        agreed.then_some(Self { first, present, lists })
    }
}

fn is_number(kind: &DataType) -> bool {
    matches!(kind, DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64)
}

fn is_vector(fields: &Fields) -> bool {
    let of = |kind: &DataType, wanted: DataType| matches!(kind, DataType::List(item) if *item.data_type() == wanted);
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names == ["type", "size", "indices", "values"]
        && *fields[0].data_type() == DataType::Int8
        && *fields[1].data_type() == DataType::Int32
        && of(fields[2].data_type(), DataType::Int32)
        && of(fields[3].data_type(), DataType::Float64)
}

/// How many levels it costs that a field may be absent; `None` for a repeated one.
fn optional(kind: &Type) -> Option<i16> {
    match kind.get_basic_info().repetition() {
        Repetition::OPTIONAL => Some(1),
        Repetition::REQUIRED => Some(0),
        Repetition::REPEATED => None,
    }
}

/// The levels of a list in three steps (a group, a repeated group, the item) that begins at a level.
fn list(kind: &Type, from: i16) -> Option<Levels> {
    let [repeated] = (kind.is_group()).then(|| kind.get_fields())? else { return None };
    if repeated.get_basic_info().repetition() != Repetition::REPEATED || !repeated.is_group() {
        return None;
    }
    let [item] = repeated.get_fields() else { return None };
    let holes = item.is_primitive().then(|| optional(item))??;
    let list = from + optional(kind)?;
    Some(Levels { list, item: list + 1, holes: holes == 1 })
}

/// Where leaves are read from.
struct Leaves<'a> {
    metadata: &'a ArrowReaderMetadata,
    group: usize,
    chunks: &'a Arc<Chunks>,
}

/// The numbers of a leaf with their levels.
struct Leaf<T: Stored> {
    reader: ColumnReaderImpl<T>,
    most: i16,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    /// How many numbers the rows before had.
    last: usize,
}

impl<T: Stored> Leaf<T> {
    fn open(leaves: &Leaves<'_>, leaf: usize) -> Result<Self> {
        let group = leaves.metadata.metadata().row_group(leaves.group);
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let pages = SerializedPageReader::new(leaves.chunks.clone(), group.column(leaf), rows, None)?;
        let about = leaves.metadata.parquet_schema().column(leaf);
        if about.physical_type() != T::get_physical_type() {
            return Err(general("a column has another type than its schema says"));
        }
        let most = about.max_def_level();
        let reader = ColumnReaderImpl::new(about, Box::new(pages));
        Ok(Self { reader, most, definition: Vec::new(), repetition: Vec::new(), last: 0 })
    }

    /// The numbers that are there in the next rows.
    fn read(&mut self, rows: usize) -> Result<Vec<T::T>> {
        self.definition.clear();
        self.repetition.clear();
        // About as many as last time.
        let mut values = Vec::with_capacity(self.last + self.last / 8);
        let (definition, repetition) = (Some(&mut self.definition), Some(&mut self.repetition));
        let (records, _, _) = self.reader.read_records(rows, definition, repetition, &mut values)?;
        self.last = values.len();
        if records == rows { Ok(values) } else { Err(general("a column has fewer rows than the others")) }
    }
}

/// One number a row, or none.
struct Flat {
    leaf: Leaf<Int32Type>,
}

impl Flat {
    fn open(leaves: &Leaves<'_>, leaf: usize) -> Result<Self> {
        Ok(Self { leaf: Leaf::open(leaves, leaf)? })
    }

    /// The numbers in their rows, 0 where there is none, and which rows have one.
    fn read(&mut self, rows: usize) -> Result<(Vec<i32>, Option<NullBuffer>)> {
        let values = self.leaf.read(rows)?;
        if values.len() == rows {
            return Ok((values, None));
        }
        let mut next = values.into_iter();
        let there: Vec<bool> = self.leaf.definition.iter().map(|level| *level == self.leaf.most).collect();
        let spread = there.iter().map(|there| if *there { next.next().unwrap_or(0) } else { 0 }).collect();
        Ok((spread, Some(there.into())))
    }
}

/// A list a row.
struct Lists<T: Stored, A: ArrowPrimitiveType> {
    leaf: Leaf<T>,
    levels: Levels,
    item: FieldRef,
    kind: PhantomData<fn() -> A>,
}

/// Where the lists of some rows begin and end, and which rows have one.
type Ends = (OffsetBuffer<i32>, Option<NullBuffer>);

impl<T: Stored<T = A::Native>, A: ArrowPrimitiveType> Lists<T, A> {
    fn open(leaves: &Leaves<'_>, leaf: usize, levels: Levels, item: FieldRef) -> Result<Self> {
        Ok(Self { leaf: Leaf::open(leaves, leaf)?, levels, item, kind: PhantomData })
    }

    fn values(&mut self, rows: usize) -> Result<ScalarBuffer<A::Native>> {
        let values = self.leaf.read(rows)?;
        if self.levels.holes && self.leaf.definition.contains(&self.levels.item) {
            return Err(general("a list holds a null"));
        }
        Ok(values.into())
    }

    fn ends(&self, rows: usize) -> Result<Ends> {
        let Levels { list, item, .. } = self.levels;
        let (definition, repetition) = (&self.leaf.definition, &self.leaf.repetition);
        if i32::try_from(definition.len()).is_err() {
            return Err(general("a batch has too many values"));
        }
        let mut offsets = Vec::with_capacity(rows + 1);
        let mut count = 0;
        for (again, level) in repetition.iter().zip(definition) {
            if *again == 0 {
                offsets.push(count);
            }
            count += i32::from(*level >= item);
        }
        offsets.push(count);
        if offsets.len() != rows + 1 {
            return Err(general("the levels of a column make another number of rows"));
        }
        let nulls = definition.iter().any(|level| *level < list).then(|| {
            let begins = repetition.iter().zip(definition).filter(|(again, _)| **again == 0);
            begins.map(|(_, level)| *level >= list).collect::<Vec<bool>>().into()
        });
        Ok((OffsetBuffer::new(offsets.into()), nulls))
    }

    fn array(&self, values: ScalarBuffer<A::Native>, (offsets, nulls): Ends) -> Result<ListArray> {
        let values = Arc::new(PrimitiveArray::<A>::try_new(values, None)?);
        Ok(ListArray::try_new(self.item.clone(), offsets, values, nulls)?)
    }
}

impl<T: Stored<T = A::Native>, A: ArrowPrimitiveType> Column for Lists<T, A> {
    fn read(&mut self, rows: usize) -> Result<ArrayRef> {
        let values = self.values(rows)?;
        let ends = self.ends(rows)?;
        Ok(Arc::new(self.array(values, ends)?))
    }
}

/// Spark's vectors.
struct Vectors {
    fields: Fields,
    kind: Flat,
    size: Flat,
    indices: Lists<Int32Type, Whole>,
    values: Lists<DoubleType, Float64Type>,
    present: i16,
}

impl Column for Vectors {
    fn read(&mut self, rows: usize) -> Result<ArrayRef> {
        let (kinds, kinds_nulls) = self.kind.read(rows)?;
        let kinds = kinds.into_iter().map(i8::try_from).collect::<std::result::Result<Vec<i8>, _>>();
        let kinds = kinds.map_err(|_| general("the type of a vector is no small number"))?;
        let (sizes, sizes_nulls) = self.size.read(rows)?;
        let indices = self.indices.values(rows)?;
        let values = self.values.values(rows)?;
        let ends = self.indices.ends(rows)?;
        let alike = self.indices.levels == self.values.levels
            && self.indices.leaf.repetition == self.values.leaf.repetition
            && self.indices.leaf.definition == self.values.leaf.definition;
        let others = if alike { ends.clone() } else { self.values.ends(rows)? };
        let levels = &self.kind.leaf.definition;
        let present = self.present;
        let nulls = levels
            .iter()
            .any(|level| *level < present)
            .then(|| levels.iter().map(|level| *level >= present).collect::<Vec<bool>>().into());
        // Where a number must be there, only a missing vector can lack it.
        let own =
            |field: usize, nulls: Option<NullBuffer>| nulls.filter(|_| self.fields[field].is_nullable());
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(PrimitiveArray::<Int8Type>::try_new(kinds.into(), own(0, kinds_nulls))?),
            Arc::new(PrimitiveArray::<Whole>::try_new(sizes.into(), own(1, sizes_nulls))?),
            Arc::new(self.indices.array(indices, ends)?),
            Arc::new(self.values.array(values, others)?),
        ];
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), arrays, nulls)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, Planned};
    use super::*;
    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use ::parquet::file::properties::WriterProperties;
    use arrow_array::RecordBatch;
    use arrow_array::builder::{Float64Builder, Int8Builder, Int32Builder, ListBuilder};
    use arrow_schema::Field;
    use rand::{RngExt, SeedableRng};
    use std::fs::File;

    /// Vectors, dense and sparse, empty and absent; `strict` says that what is there is whole, as Spark writes it.
    fn vectors(random: &mut rand_pcg::Pcg64, rows: usize, strict: bool) -> StructArray {
        let whole = Field::new("element", DataType::Int32, !strict);
        let real = Field::new("element", DataType::Float64, !strict);
        let mut indices = ListBuilder::new(Int32Builder::new()).with_field(whole.clone());
        let mut values = ListBuilder::new(Float64Builder::new()).with_field(real.clone());
        let (mut kinds, mut sizes, mut there) = (Int8Builder::new(), Int32Builder::new(), Vec::new());
        for row in 0..rows {
            let (kind, length) =
                (random.random_range(0..4), random.random_range(0..9) * random.random_range(0..9));
            there.push(kind != 3);
            kinds.append_option((strict || kind != 3).then_some(i8::from(kind == 1)));
            sizes.append_option((kind == 0).then_some(1000));
            for k in 0..length {
                if kind == 0 {
                    indices.values().append_value(3 * k);
                }
                if kind != 3 {
                    values
                        .values()
                        .append_value(f64::from(k % 5) + if row % 3 == 0 { 0.0 } else { random.random() });
                }
            }
            indices.append(kind == 0);
            values.append(kind != 3);
        }
        let fields = vec![
            Field::new("type", DataType::Int8, !strict),
            Field::new("size", DataType::Int32, true),
            Field::new("indices", DataType::List(Arc::new(whole)), true),
            Field::new("values", DataType::List(Arc::new(real)), true),
        ];
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(kinds.finish()),
            Arc::new(sizes.finish()),
            Arc::new(indices.finish()),
            Arc::new(values.finish()),
        ];
        StructArray::try_new(fields.into(), arrays, Some(there.into())).unwrap()
    }

    #[test]
    fn columns_are_read_as_the_library_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        for seed in 0..8 {
            let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
            let rows = random.random_range(1..400);
            let vectors = vectors(&mut random, rows, seed % 2 == 0);
            let columns: Vec<(&str, ArrayRef)> = vec![
                ("values", vectors.column(3).clone()),
                ("label", vectors.column(1).clone()),
                ("features", Arc::new(vectors.clone())),
                ("indices", vectors.column(2).clone()),
            ];
            let batch =
                RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)));
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(150))
                .set_data_page_row_count_limit(20)
                .set_write_batch_size(7)
                .set_dictionary_enabled(seed % 3 > 0)
                .build();
            let batch = batch.unwrap();
            let file = File::create(&path).unwrap();
            let mut out = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
            out.write(&batch).unwrap();
            out.close().unwrap();
            let about = std::fs::metadata(&path).unwrap();
            let since = about.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
            let planned = Planned { size: about.len(), modified: i64::try_from(since.as_millis()).unwrap() };
            let names = ["features", "label", "values", "indices"].map(str::to_owned);
            let mut part = Part::open(&path, planned, 0..planned.size, &names, 31).unwrap();
            let mut at = 0;
            while let Some(read) = part.batch().unwrap() {
                let file = File::open(&path).unwrap();
                let theirs =
                    ParquetRecordBatchReaderBuilder::try_new(file).unwrap().with_batch_size(1000).build();
                let theirs: Vec<RecordBatch> = theirs.unwrap().map(|batch| batch.unwrap()).collect();
                let [theirs] = &theirs[..] else { panic!("a batch goes over all groups") };
                for (own, other) in read.columns().iter().zip(theirs.columns()) {
                    assert_eq!(own, &other.slice(at, read.num_rows()), "seed {seed}, row {at}");
                }
                at += read.num_rows();
            }
            assert_eq!(at, rows);
        }
    }
}
