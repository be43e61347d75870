//! Many rows from Python: dense arrays and compressed sparse rows, cut into blocks that the engine learns
//! while other Python threads run.

use crate::error::refuse;
use crate::feature::beyond;
use noregret::engine::Engine;
use noregret::error::Result;
use noregret::example::format::Scratch;
use noregret::example::{Block, Features, Number, Rows};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// About how many values a block has: enough that handing over costs nothing, few enough that
/// interruptions and other threads wait for a moment only.
const BLOCK_VALUES: usize = 1 << 16;

/// The most rows of a block, for rows without values.
const BLOCK_ROWS: usize = 1 << 13;

/// A kind of value that the engine learns from.
pub(crate) trait Kind: Number + Element {
    fn learn(engine: &mut Engine, rows: Rows<'_, Self>) -> Result<()>;
    fn predict(engine: &Engine, x: Features<'_, Self>) -> f64;
}

impl Kind for f32 {
    fn learn(engine: &mut Engine, rows: Rows<'_, f32>) -> Result<()> {
        engine.learn(rows)
    }
    fn predict(engine: &Engine, x: Features<'_, f32>) -> f64 {
        engine.predict(x)
    }
}

impl Kind for f64 {
    fn learn(engine: &mut Engine, rows: Rows<'_, f64>) -> Result<()> {
        engine.learn_f64(rows)
    }
    fn predict(engine: &Engine, x: Features<'_, f64>) -> f64 {
        engine.predict_f64(x)
    }
}

/// Rows in memory that Python owns.
pub(crate) enum Matrix<'py, V: Kind> {
    Dense(PyReadonlyArray2<'py, V>),
    Sparse {
        offsets: PyReadonlyArray1<'py, i64>,
        indices: Indices<'py>,
        values: PyReadonlyArray1<'py, V>,
        columns: u64,
    },
}

/// Column numbers of either width.
pub(crate) enum Indices<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl<'py, V: Kind> Matrix<'py, V> {
    /// A two-dimensional array whose rows lie one after the other.
    pub(crate) fn dense(array: &Bound<'py, PyArray2<V>>) -> PyResult<Self> {
        if !array.is_c_contiguous() {
            return Err(refuse("the matrix does not have its rows one after the other in memory"));
        }
        Ok(Self::Dense(array.try_readonly()?))
    }

    /// Compressed sparse rows.
    pub(crate) fn sparse(
        offsets: &Bound<'py, PyArray1<i64>>,
        indices: &Bound<'py, PyAny>,
        values: &Bound<'py, PyArray1<V>>,
        columns: u64,
    ) -> PyResult<Self> {
        let indices = match indices.cast::<PyArray1<i32>>() {
            Ok(narrow) => Indices::Narrow(narrow.try_readonly()?),
            Err(_) => Indices::Wide(indices.cast::<PyArray1<i64>>()?.try_readonly()?),
        };
        let stored = match &indices {
            Indices::Narrow(narrow) => narrow.len(),
            Indices::Wide(wide) => wide.len(),
        };
        if stored != values.len() {
            return Err(refuse(format!(
                "the matrix has {stored} column numbers for {} values",
                values.len()
            )));
        }
        Ok(Self::Sparse {
            offsets: offsets.try_readonly()?,
            indices,
            values: values.try_readonly()?,
            columns,
        })
    }

    /// The rows, readable without Python. `places` says where the columns go; empty: each to its number.
    pub(crate) fn view<'a>(&'a self, places: &'a [u32], limit: u32) -> PyResult<View<'a, V>> {
        let contiguous = |_| refuse("the arrays do not lie one after the other in memory");
        let source = match self {
            Self::Dense(array) => {
                let width = array.shape()[1];
                let highest = if places.is_empty() { width as u64 } else { 0 };
                if highest > u64::from(limit) {
                    return Err(refuse(beyond(highest - 1, limit)));
                }
                Source::Dense {
                    rows: array.shape()[0],
                    width,
                    values: array.as_slice().map_err(contiguous)?,
                    places,
                }
            }
            Self::Sparse { offsets, indices, values, columns } => Source::Sparse {
                offsets: offsets.as_slice().map_err(contiguous)?,
                indices: match indices {
                    Indices::Narrow(narrow) => Columns::Narrow(narrow.as_slice().map_err(contiguous)?),
                    Indices::Wide(wide) => Columns::Wide(wide.as_slice().map_err(contiguous)?),
                },
                values: values.as_slice().map_err(contiguous)?,
                columns: *columns,
            },
        };
        let identity =
            if let Source::Dense { width, places: [], .. } = source { 0..width as u32 } else { 0..0 };
        Ok(View {
            source,
            limit,
            identity: identity.collect(),
            block: Block::new(),
            sorted: Block::new(),
            scratch: Scratch::default(),
        })
    }
}

enum Columns<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

enum Source<'a, V> {
    Dense { rows: usize, width: usize, values: &'a [V], places: &'a [u32] },
    Sparse { offsets: &'a [i64], indices: Columns<'a>, values: &'a [V], columns: u64 },
}

/// Appends one dense row; zeros are absent, as in a sparse row.
pub(crate) fn push_dense<V: Kind>(block: &mut Block<V>, values: &[V], limit: u32) -> PyResult<()> {
    if values.len() as u64 > u64::from(limit) {
        return Err(refuse(beyond(values.len() as u64 - 1, limit)));
    }
    // Nearly always all are numbers other than 0, which is soon told and soon copied.
    if values.iter().filter(|v| !v.is_finite() || **v == V::ZERO).count() == 0 {
        block.indices.extend(0..values.len() as u32);
        block.values.extend_from_slice(values);
    } else {
        for (place, &value) in (0..).zip(values) {
            if !value.is_finite() {
                return Err(refuse(not_finite(0, u64::from(place), value.f64())));
            }
            if value != V::ZERO {
                block.indices.push(place);
                block.values.push(value);
            }
        }
    }
    block.offsets.push(block.indices.len());
    Ok(())
}

/// See [`Matrix::view`].
pub(crate) struct View<'a, V: Kind> {
    source: Source<'a, V>,
    limit: u32,
    identity: Vec<u32>,
    block: Block<V>,
    /// Rows whose columns had to be sorted.
    sorted: Block<V>,
    scratch: Scratch<V>,
}

/// A run of rows without labels.
pub(crate) struct Run<'b, V> {
    pub(crate) offsets: &'b [usize],
    pub(crate) indices: &'b [u32],
    pub(crate) values: &'b [V],
    /// What is wrong with the row after them.
    pub(crate) problem: Option<String>,
}

impl<V> Run<'_, V> {
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

impl<V: Kind> View<'_, V> {
    pub(crate) fn rows(&self) -> usize {
        match self.source {
            Source::Dense { rows, .. } => rows,
            Source::Sparse { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// The rows from `from` on that fit in a block. It is shorter than that only before a bad row.
    pub(crate) fn run(&mut self, from: usize) -> Run<'_, V> {
        self.block.clear();
        match self.source {
            Source::Dense { rows, width, values, places } => {
                let count = (BLOCK_VALUES / width.max(1)).clamp(1, BLOCK_ROWS).min(rows - from);
                let places = if places.is_empty() { &self.identity[..] } else { places };
                let ascending = places.windows(2).all(|w| w[0] < w[1]);
                let block = &mut self.block;
                let mut problem = None;
                for row in from..from + count {
                    let start = block.indices.len();
                    let mut finite = true;
                    for (&place, &value) in places.iter().zip(&values[row * width..(row + 1) * width]) {
                        finite &= value.is_finite();
                        if value != V::ZERO {
                            block.indices.push(place);
                            block.values.push(value);
                        }
                    }
                    if !finite {
                        let row_values = &values[row * width..(row + 1) * width];
                        let column = row_values.iter().position(|v| !v.is_finite()).unwrap_or(0);
                        problem = Some(not_finite(row, column as u64, row_values[column].f64()));
                    } else if !ascending {
                        problem =
                            block.settle(start, &mut self.scratch).err().map(|m| format!("row {row}: {m}"));
                    }
                    if problem.is_some() {
                        break;
                    }
                    block.offsets.push(block.indices.len());
                }
                Run { offsets: &block.offsets, indices: &block.indices, values: &block.values, problem }
            }
            Source::Sparse { offsets, ref indices, values, columns } => {
                let limit = u32::try_from(columns).unwrap_or(u32::MAX).min(self.limit);
                let mut problem = None;
                let begin = usize::try_from(offsets[from]).unwrap_or(usize::MAX);
                let mut row = from;
                let most = (from + BLOCK_ROWS).min(offsets.len() - 1);
                // Where the rows end, as long as they do so in order.
                let mut end = begin;
                while row < most && end - begin < BLOCK_VALUES {
                    match usize::try_from(offsets[row + 1]) {
                        Ok(next) if next >= end && next <= values.len() => end = next,
                        _ => {
                            problem = Some(format!(
                                "row {row} ends at {} of {} values after beginning at {end}: indptr is damaged",
                                offsets[row + 1],
                                values.len()
                            ));
                            break;
                        }
                    }
                    self.block.offsets.push(end - begin);
                    row += 1;
                }
                if begin > values.len() {
                    return Run { offsets: &[0], indices: &[], values: &[], problem };
                }
                let values = &values[begin..end];
                let indices: &[u32] = match indices {
                    // A negative number becomes one beyond every limit.
                    Columns::Narrow(narrow) => bytemuck::cast_slice(&narrow[begin..end]),
                    Columns::Wide(wide) => {
                        let narrow = wide[begin..end].iter().map(|&i| u32::try_from(i).unwrap_or(u32::MAX));
                        self.block.indices.extend(narrow);
                        &self.block.indices
                    }
                };
                let finite = values.iter().fold(true, |good, v| good & v.is_finite());
                let inside = indices.iter().max().is_none_or(|&largest| largest < limit);
                if !finite || !inside {
                    let bad = (0..values.len()).find(|&k| !values[k].is_finite() || indices[k] >= limit);
                    let bad = bad.unwrap_or(0);
                    let count = self.block.offsets.partition_point(|&end| end <= bad) - 1;
                    self.block.offsets.truncate(count + 1);
                    let (row, index) = (from + count, indices[bad]);
                    problem = Some(if index < limit {
                        not_finite(row, u64::from(index), values[bad].f64())
                    } else if u64::from(index) < columns {
                        format!("row {row}: {}", beyond(u64::from(index), self.limit))
                    } else {
                        format!(
                            "row {row} has a column that is negative or not below the {columns} of the matrix"
                        )
                    });
                }
                let offsets = &self.block.offsets;
                // Without a way out early, so that many are compared at once.
                let ascending = |w: &[usize]| {
                    let row = &indices[w[0]..w[1]];
                    row.iter().zip(row.iter().skip(1)).filter(|(a, b)| a >= b).count() == 0
                };
                if offsets.windows(2).all(ascending) {
                    return Run { offsets, indices, values, problem };
                }
                // Rows whose columns do not ascend are sorted in a copy, doubles summed.
                let sorted = &mut self.sorted;
                sorted.clear();
                for (k, w) in offsets.windows(2).enumerate() {
                    let start = sorted.indices.len();
                    sorted.indices.extend_from_slice(&indices[w[0]..w[1]]);
                    sorted.values.extend_from_slice(&values[w[0]..w[1]]);
                    if let Err(message) = sorted.settle(start, &mut self.scratch) {
                        problem = Some(format!("row {}: {message}", from + k));
                        break;
                    }
                    sorted.offsets.push(sorted.indices.len());
                }
                Run { offsets: &sorted.offsets, indices: &sorted.indices, values: &sorted.values, problem }
            }
        }
    }
}

fn not_finite(row: usize, column: u64, value: f64) -> String {
    format!("row {row}, column {column}: found {value}, expected a finite number (rows and columns from 0)")
}
