//! Tables that come through Arrow's C interface (pyarrow, polars, and whoever else speaks it): columns of numbers and
//! text read where they lie, or sparse rows as the two lists `indices` and `values`.

use crate::error::refuse;
use crate::feature::{Fresh, Names, Seen, beyond};
use crate::runs::{Kind, RUN_ROWS, RUN_VALUES, Run, Runs};
use crate::sparse::{Columns, Sparse};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, RecordBatchReader};
use arrow_pyarrow::FromPyArrow;
use arrow_schema::DataType;
use noregret::example::Block;
use noregret::example::format::Scratch;
use noregret::example::format::arrow::cells::{Cell, Cells, is_plain};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A table in memory.
pub(crate) struct Table {
    pub(crate) names: Vec<String>,
    batches: Vec<RecordBatch>,
    /// For each column whether it holds text.
    texts: Vec<bool>,
    rows: usize,
}

impl Table {
    /// What a Python object hands over through Arrow's interface.
    pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // The import may panic where pyarrow, whose exceptions it would raise, is not there.
        let broken = |_| refuse("the table cannot be read through Arrow's interface");
        let imported = catch_unwind(AssertUnwindSafe(|| -> PyResult<_> {
            if object.hasattr("__arrow_c_stream__")? {
                let reader = RecordBatchStreamReader::from_pyarrow_bound(object)?;
                let schema = reader.schema();
                let batches = reader.collect::<Result<Vec<RecordBatch>, _>>();
                return Ok((schema, batches.map_err(|e| refuse(format!("the table cannot be read: {e}")))?));
            }
            let batch = RecordBatch::from_pyarrow_bound(object)?;
            Ok((batch.schema(), vec![batch]))
        }));
        let (schema, batches) = imported.map_err(broken)??;
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let lists = names.len() == 2 && names.iter().all(|name| name == "indices" || name == "values");
        let listed = |kind: &DataType| matches!(kind, DataType::List(_) | DataType::LargeList(_));
        let lists = lists && schema.fields().iter().all(|field| listed(field.data_type()));
        for field in schema.fields().iter().filter(|_| !lists) {
            if !is_plain(field.data_type()) {
                return Err(refuse(format!(
                    "column `{}` has the type {}, expected numbers or text: cast it, or leave it out",
                    field.name(),
                    field.data_type()
                )));
            }
        }
        let text = |kind: &DataType| match kind {
            DataType::Dictionary(_, values) => is_text(values),
            kind => is_text(kind),
        };
        let texts = schema.fields().iter().map(|field| text(field.data_type())).collect();
        Ok(Self { names, batches, texts, rows })
    }

    /// Whether the rows are lists `indices` and `values`: features that have numbers.
    pub(crate) fn is_lists(&self) -> bool {
        let list = |array: &ArrayRef| matches!(array.data_type(), DataType::List(_) | DataType::LargeList(_));
        self.batches.first().is_some_and(|batch| batch.num_columns() == 2 && batch.columns().iter().all(list))
    }

    /// Whether every number is an f32.
    pub(crate) fn is_narrow(&self) -> bool {
        let narrow = |array: &ArrayRef| match array.data_type() {
            DataType::Float32 => true,
            DataType::List(item) | DataType::LargeList(item) => *item.data_type() == DataType::Float32,
            _ => false,
        };
        let columns = self.batches.first().map_or(&[][..], RecordBatch::columns);
        if self.is_lists() {
            columns.iter().zip(&self.names).any(|(column, name)| name == "values" && narrow(column))
        } else {
            !columns.is_empty() && columns.iter().all(narrow)
        }
    }

    /// The columns of numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &String> {
        self.names.iter().zip(&self.texts).filter(|(_, text)| !**text).map(|(name, _)| name)
    }

    /// The rows of columns: `places` are those of the columns of numbers, texts are placed by `names`.
    pub(crate) fn columns<'a, V: Kind>(
        &'a self,
        names: &'a Names,
        places: &[u32],
        limit: Option<u32>,
    ) -> PyResult<Box<dyn Runs<V> + 'a>> {
        let mut places = places.iter().copied();
        let mut roles: Vec<(usize, Role)> = Vec::new();
        for (k, (name, text)) in self.names.iter().zip(&self.texts).enumerate() {
            roles.push((k, if *text { Role::Text(name) } else { Role::Number(places.next().unwrap_or(0)) }));
        }
        // Columns in the order of their places, texts at the end: so rows mostly ascend already.
        roles.sort_by_key(|(k, role)| match role {
            Role::Number(place) => (u64::from(*place), *k),
            Role::Text(_) => (u64::MAX, *k),
        });
        let mut parts = Vec::new();
        let mut first = 0;
        for batch in &self.batches {
            let cells = roles.iter().map(|(k, _)| Cells::new(batch.column(*k).as_ref()));
            let cells: Option<Vec<Cells<'a>>> = cells.collect();
            let cells = cells.ok_or_else(|| refuse("a column is neither of numbers nor of text"))?;
            parts.push(Part { first, rows: batch.num_rows(), cells });
            first += batch.num_rows();
        }
        let distinct = roles.windows(2).all(|pair| match (&pair[0].1, &pair[1].1) {
            (Role::Number(a), Role::Number(b)) => a < b,
            _ => false,
        });
        Ok(Box::new(Rows {
            table: self,
            names,
            roles,
            parts,
            distinct,
            limit,
            block: Block::new(),
            scratch: Scratch::default(),
            seen: Seen::default(),
            word: String::new(),
        }))
    }

    /// The rows of lists.
    pub(crate) fn lists<V: Kind + Stored>(&self, limit: u32) -> PyResult<Box<dyn Runs<V> + '_>> {
        let column = |name: &str| self.names.iter().position(|n| n == name).unwrap_or(0);
        let (indices, values) = (column("indices"), column("values"));
        let mut parts: Vec<(usize, Sparse<'_, V>)> = Vec::new();
        let mut first = 0;
        for batch in &self.batches {
            let part = match batch.column(indices).data_type() {
                DataType::List(_) => list::<i32, V>(batch, indices, values, limit),
                _ => list::<i64, V>(batch, indices, values, limit),
            };
            parts.push((first, part.map_err(refuse)?));
            first += batch.num_rows();
        }
        Ok(Box::new(Chain { parts, rows: self.rows }))
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// What a column is for.
enum Role<'a> {
    /// A number, at this place.
    Number(u32),
    /// A feature `name=text` for each text.
    Text(&'a str),
}

struct Part<'a> {
    first: usize,
    rows: usize,
    cells: Vec<Cells<'a>>,
}

struct Rows<'a, V: Kind> {
    table: &'a Table,
    names: &'a Names,
    roles: Vec<(usize, Role<'a>)>,
    parts: Vec<Part<'a>>,
    /// Whether rows ascend by themselves.
    distinct: bool,
    limit: Option<u32>,
    block: Block<V>,
    scratch: Scratch<V>,
    seen: Seen,
    word: String,
}

impl<V: Kind> Rows<'_, V> {
    /// Appends the row `k` of a part; what is wrong with it otherwise.
    fn push(&mut self, part: usize, k: usize, fresh: &mut Fresh) -> Result<(), String> {
        let Part { first, cells, .. } = &self.parts[part];
        let (row, block) = (first + k, &mut self.block);
        let start = block.indices.len();
        for ((column, role), cells) in self.roles.iter().zip(cells) {
            match (role, cells.cell(k)) {
                (_, Cell::Absent) => {}
                (Role::Text(name), Cell::Text(text)) if !text.is_empty() => {
                    self.word.clear();
                    self.word.extend([*name, "=", text]);
                    let (place, hashed) = self.names.place(&self.word)?;
                    if hashed {
                        self.seen.tell(place, &self.word, fresh);
                    }
                    if let Some(limit) = self.limit.filter(|limit| place >= *limit) {
                        return Err(format!("row {row}: {}", beyond(u64::from(place), limit)));
                    }
                    block.indices.push(place);
                    block.values.push(V::ONE);
                }
                (Role::Number(place), cell) => {
                    let number = cell.number().unwrap_or(0.0);
                    let value = V::from_f64(number);
                    if !value.is_finite() {
                        let name = &self.table.names[*column];
                        return Err(format!(
                            "row {row}, column `{name}`: found {number}, expected a finite number (rows from 0)"
                        ));
                    }
                    if value != V::ZERO {
                        block.indices.push(*place);
                        block.values.push(value);
                    }
                }
                (Role::Text(_), _) => {}
            }
        }
        if !self.distinct {
            block.settle(start, &mut self.scratch).map_err(|message| format!("row {row}: {message}"))?;
        }
        block.offsets.push(block.indices.len());
        Ok(())
    }
}

impl<V: Kind> Runs<V> for Rows<'_, V> {
    fn rows(&self) -> usize {
        self.table.rows
    }

    fn run(&mut self, from: usize) -> Run<'_, V> {
        self.block.clear();
        let part = self.parts.partition_point(|part| part.first + part.rows <= from);
        let k = from - self.parts[part].first;
        let most = (RUN_VALUES / self.roles.len().max(1)).clamp(1, RUN_ROWS);
        let to = self.parts[part].rows.min(k + most);
        let mut fresh = Vec::new();
        let problem = (k..to).find_map(|k| self.push(part, k, &mut fresh).err());
        let block = &self.block;
        let (offsets, indices, values) = (&block.offsets, &block.indices, &block.values);
        // What a bad row left behind belongs to no row.
        let end = offsets.last().copied().unwrap_or(0);
        Run { offsets, indices: &indices[..end], values: &values[..end], fresh, problem }
    }
}

/// A kind of value that Arrow stores as we do.
pub(crate) trait Stored: Sized {
    /// The values of an array of this kind, where they lie.
    fn stored(array: &dyn Array) -> Option<&[Self]>;
}

impl Stored for f32 {
    fn stored(array: &dyn Array) -> Option<&[Self]> {
        array.as_primitive_opt::<Float32Type>().map(|floats| &**floats.values())
    }
}

impl Stored for f64 {
    fn stored(array: &dyn Array) -> Option<&[Self]> {
        array.as_primitive_opt::<Float64Type>().map(|floats| &**floats.values())
    }
}

/// One batch of lists as sparse rows, without a copy of either list.
fn list<O: OffsetSizeTrait, V: Kind + Stored>(
    batch: &RecordBatch,
    indices: usize,
    values: usize,
    limit: u32,
) -> Result<Sparse<'_, V>, String> {
    let wrong = |name: &str, column: usize, expected: &str| {
        format!("column `{name}` has the type {}, expected {expected}", batch.column(column).data_type())
    };
    let columns = batch.column(indices).as_list_opt::<O>().ok_or_else(|| {
        wrong("indices", indices, "lists of whole numbers whose offsets are as wide as those of `values`")
    })?;
    let numbers = batch
        .column(values)
        .as_list_opt::<O>()
        .ok_or_else(|| wrong("values", values, "lists whose offsets are as wide as those of `indices`"))?;
    if columns.null_count() + numbers.null_count() > 0 {
        return Err("a row of `indices` or `values` is null, expected a list, if an empty one".to_owned());
    }
    let widened = |offset: &O| i64::try_from(offset.as_usize()).unwrap_or(i64::MAX);
    let offsets: Vec<i64> = columns.value_offsets().iter().map(widened).collect();
    if columns.value_offsets() != numbers.value_offsets() {
        return Err("the lists `indices` and `values` have different lengths".to_owned());
    }
    let items = columns.values();
    let floats = V::stored(numbers.values().as_ref());
    let floats = floats.ok_or_else(|| wrong("values", values, "lists of float32 or float64"))?;
    if items.null_count() + numbers.values().null_count() > 0 {
        return Err("the lists `indices` and `values` hold nulls, expected numbers".to_owned());
    }
    let places = if let Some(unsigned) = items.as_primitive_opt::<UInt32Type>() {
        Columns::Narrow(unsigned.values())
    } else if let Some(narrow) = items.as_primitive_opt::<Int32Type>() {
        Columns::Narrow(bytemuck::cast_slice(narrow.values()))
    } else if let Some(wide) = items.as_primitive_opt::<Int64Type>() {
        Columns::Wide(wide.values())
    } else {
        return Err(wrong("indices", indices, "lists of uint32, int32 or int64"));
    };
    Sparse::new(offsets.into(), places, floats, u64::from(u32::MAX), limit)
}

/// Sparse rows, one part after the other.
struct Chain<'a, V: Kind> {
    parts: Vec<(usize, Sparse<'a, V>)>,
    rows: usize,
}

impl<V: Kind> Runs<V> for Chain<'_, V> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn run(&mut self, from: usize) -> Run<'_, V> {
        let k = self.parts.partition_point(|(first, part)| first + part.rows() <= from);
        let (first, part) = &mut self.parts[k];
        let first = *first;
        let mut run = part.run(from - first);
        if first > 0 {
            run.problem =
                run.problem.map(|problem| format!("in the batch that begins at row {first}: {problem}"));
        }
        run
    }
}
