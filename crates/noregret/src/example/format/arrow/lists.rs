//! Sparse rows as two columns of lists, `indices` and `values`. In the layout that is written here the lists are
//! handed on as they lie in the file; any other is copied row by row.

use super::Native;
use super::cells::{Column, finite, per_row};
use crate::example::format::{Found, Scratch};
use crate::example::text::{Fault, Head};
use crate::example::{Block, Label, Lender};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

/// Which columns are what, and what is asked of indices.
#[derive(Debug)]
pub(in crate::example::format) struct Lists {
    pub(super) indices: usize,
    pub(super) values: usize,
    pub(super) label: Option<usize>,
    pub(super) weight: Option<usize>,
    /// Indices must be below this.
    pub(super) limit: u32,
    /// Fold indices with this.
    pub(super) mask: Option<u32>,
    /// Whether values were rounded to f32 when they were stored.
    pub(super) rounded: bool,
    pub(super) skip: bool,
    pub(super) unlabelled: bool,
}

/// Features as they lie in Arrow buffers.
#[derive(Debug)]
struct Lent<V: Native> {
    indices: ScalarBuffer<u32>,
    values: ScalarBuffer<V>,
}

impl<V: Native> Lender<V> for Lent<V> {
    fn indices(&self) -> &[u32] {
        &self.indices
    }

    fn values(&self) -> &[V] {
        &self.values
    }
}

/// Whether a type is a list of numbers.
pub(super) fn is_list(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            item.data_type().is_numeric() && super::cells::is_plain(item.data_type())
        }
        _ => false,
    }
}

impl Lists {
    /// Reads a batch. What was `checked` before is not checked again; says whether it need not be in future.
    pub(super) fn rows<V: Native>(
        &self,
        record: &RecordBatch,
        checked: bool,
        block: &mut Block<V>,
        scratch: &mut Scratch<V>,
    ) -> (Found, bool) {
        if self.rounded && V::NAME == "f64" {
            let message = "the cache holds values rounded to f32, and f64 is needed here: convert the data again with --f64";
            return (super::problem(message), false);
        }
        match self.lend(record, checked, block) {
            Some(found) => (found, true),
            None => (self.copy(record, block, scratch), false),
        }
    }

    /// Hands the rows on as they lie, where nothing about them needs a change.
    fn lend<V: Native>(&self, record: &RecordBatch, checked: bool, block: &mut Block<V>) -> Option<Found> {
        let (indices, values) = (record.column(self.indices), record.column(self.values));
        let (indices, values) = (indices.as_list_opt::<i64>()?, values.as_list_opt::<i64>()?);
        let offsets = indices.value_offsets();
        let whole = indices.null_count() == 0 && values.null_count() == 0 && self.mask.is_none();
        let numbers = indices.values().as_primitive_opt::<UInt32Type>()?;
        let floats = V::array(values.values())?;
        if !whole
            || numbers.null_count() + values.values().null_count() > 0
            || values.value_offsets() != offsets
        {
            return None;
        }
        // The library has checked that offsets never fall, that the first is not negative and that the last is no more
        // than there are.
        let (from, to) = (*offsets.first()? as usize, *offsets.last()? as usize);
        let lent =
            Lent { indices: numbers.values().slice(from, to - from), values: floats.slice(from, to - from) };
        block.offsets.clear();
        block.offsets.extend(offsets.iter().map(|&offset| offset as usize - from));
        let sound = checked || sound(&block.offsets, &lent, self.limit);
        if !(sound && self.weights(record, &mut block.weights) && self.labels(record, &mut block.raw_labels))
        {
            block.clear();
            return None;
        }
        block.lines.extend(0..record.num_rows() as u32);
        let column = self.label.map_or(1, |label| label as u32 + 1);
        block.columns.resize(record.num_rows(), column);
        block.lent = Some(std::sync::Arc::new(lent));
        Some(Found { lines: record.num_rows() as u64, ..Found::default() })
    }

    /// Reads the weights; `false` if one of them is bad.
    fn weights(&self, record: &RecordBatch, weights: &mut Vec<f64>) -> bool {
        let Some(at) = self.weight else { return true };
        let array = record.column(at);
        let Some(numbers) = array.as_primitive_opt::<Float64Type>() else { return false };
        let numbers = numbers.values();
        if array.null_count() > 0 || !numbers.iter().all(|w| w.is_finite() && *w >= 0.0) {
            return false;
        }
        // As when text is read: a block whose weights are all 1 has none.
        if numbers.iter().any(|w| *w != 1.0) {
            weights.extend_from_slice(numbers);
        }
        true
    }

    /// Reads the labels; `false` if one of them is bad.
    fn labels(&self, record: &RecordBatch, labels: &mut Vec<Label>) -> bool {
        let Some(at) = self.label else {
            labels.resize(record.num_rows(), Label::Missing);
            return self.unlabelled;
        };
        let array = record.column(at);
        if let Some(numbers) = array.as_primitive_opt::<Float64Type>()
            && array.null_count() == 0
        {
            labels.extend(numbers.values().iter().map(|y| Label::Number(*y)));
            return numbers.values().iter().all(|y| y.is_finite());
        }
        let Some(column) = Column::new(array.as_ref()) else { return false };
        (0..record.num_rows()).all(|row| {
            let label = column.cell(row).label(self.unlabelled);
            label.map(|label| labels.push(label)).is_ok()
        })
    }

    /// Reads the rows one by one; features in any order, those of one index summed.
    fn copy<V: Native>(&self, record: &RecordBatch, block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        let [indices, values] = [self.indices, self.values].map(|at| Items::new(record.column(at)));
        let (Some(indices), Some(values)) = (indices, values) else {
            return super::problem("`indices` and `values` are not lists of numbers");
        };
        let column = |at: Option<usize>| at.and_then(|at| Column::new(record.column(at).as_ref()));
        let (label, weight) = (column(self.label), column(self.weight));
        per_row(record.num_rows(), self.skip, block, scratch, |k, row| {
            let fault = |name: &str, message: String| Fault::new(0, format!("column `{name}`: {message}"));
            let (from, to) = indices.range(k);
            let (first, last) = values.range(k);
            if to - from != last - first {
                let message = format!("a row has {} indices and {} values", to - from, last - first);
                return Err(Fault::new(0, message));
            }
            for (i, v) in (from..to).zip(first..last) {
                let index = match indices.cells.cell(i).number() {
                    Some(index) if index >= 0.0 && index.fract() == 0.0 && index <= f64::from(u32::MAX) => {
                        index as u32
                    }
                    Some(index) => {
                        return Err(fault(
                            "indices",
                            format!("found {index}, expected a whole number from 0 to 4294967295"),
                        ));
                    }
                    None => return Err(fault("indices", "an index is null".into())),
                };
                let index = self.mask.map_or(index, |mask| index & mask);
                if index >= self.limit {
                    let limit = self.limit;
                    return Err(fault(
                        "indices",
                        format!(
                            "the feature's index {index} is not below {limit}: say --dimension N to allow it, or fold features with --bits"
                        ),
                    ));
                }
                if let Some(value) = values.cells.cell(v).number() {
                    row.place(index, finite(value).map_err(|message| fault("values", message))?);
                }
            }
            let mut head = Head { label: Label::Missing, label_at: self.label.unwrap_or(0), weight: 1.0 };
            match &label {
                Some(label) => {
                    head.label =
                        label.cell(k).label(self.unlabelled).map_err(|message| Fault::new(0, message))?;
                }
                None if self.unlabelled => {}
                None => return Err(Fault::new(0, crate::example::text::NO_LABEL)),
            }
            if let Some(weight) = &weight {
                head.weight =
                    weight.cell(k).weight(self.unlabelled).map_err(|message| Fault::new(0, message))?;
            }
            Ok(head)
        })
    }
}

/// Whether rows keep the rules: indices ascend strictly within each row and are below `limit`, values are finite.
/// Where one row ends and the next begins, indices may fall; so all falls are counted in one plain sweep, and then those
/// at the ends of rows.
fn sound<V: Native>(offsets: &[usize], rows: &Lent<V>, limit: u32) -> bool {
    const RUN: usize = 1 << 12;
    let indices: &[u32] = &rows.indices;
    let (mut falls, mut top) = (0_usize, 0_u32);
    for from in (0..indices.len()).step_by(RUN) {
        let here = &indices[from..indices.len().min(from + RUN)];
        let next = &indices[from + 1..indices.len().min(from + RUN + 1)];
        falls += here.iter().zip(next).map(|(a, b)| u32::from(a >= b)).sum::<u32>() as usize;
        top = here.iter().fold(top, |top, index| top.max(*index));
    }
    let mut at_ends = 0;
    let mut last = 0;
    for &end in offsets {
        if end > last && end < indices.len() {
            at_ends += usize::from(indices[end - 1] >= indices[end]);
        }
        last = end;
    }
    let infinite = |run: &[V]| run.iter().map(|v| u32::from(!v.is_finite())).sum::<u32>();
    falls == at_ends
        && (indices.is_empty() || top < limit)
        && rows.values.chunks(RUN).map(infinite).all(|n| n == 0)
}

/// A column of lists: where the items of a row are among all items.
struct Items<'a> {
    kind: ItemKind<'a>,
    cells: Column<'a>,
}

enum ItemKind<'a> {
    List(&'a arrow_array::ListArray),
    LargeList(&'a arrow_array::LargeListArray),
    Fixed(&'a arrow_array::FixedSizeListArray),
}

impl<'a> Items<'a> {
    fn new(array: &'a ArrayRef) -> Option<Self> {
        let (kind, items) = if let Some(list) = array.as_list_opt::<i32>() {
            (ItemKind::List(list), list.values())
        } else if let Some(list) = array.as_list_opt::<i64>() {
            (ItemKind::LargeList(list), list.values())
        } else {
            let list = array.as_fixed_size_list_opt()?;
            (ItemKind::Fixed(list), list.values())
        };
        Some(Self { kind, cells: Column::new(items.as_ref())? })
    }

    /// A row that is null has no items.
    fn range(&self, row: usize) -> (usize, usize) {
        let (null, from, to) = match self.kind {
            ItemKind::List(list) => {
                let offsets = list.value_offsets();
                (list.is_null(row), offsets[row] as usize, offsets[row + 1] as usize)
            }
            ItemKind::LargeList(list) => {
                let offsets = list.value_offsets();
                (list.is_null(row), offsets[row] as usize, offsets[row + 1] as usize)
            }
            ItemKind::Fixed(list) => {
                let (from, length) = (list.value_offset_at(row), list.value_length() as usize);
                (list.is_null(row), from, from + length)
            }
        };
        if null { (0, 0) } else { (from, to) }
    }
}
