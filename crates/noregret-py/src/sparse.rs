//! Compressed sparse rows, lent as they lie where indices are narrow and ascend.

use crate::feature::beyond;
use crate::runs::{Kind, RUN_ROWS, RUN_VALUES, Run, Runs, not_finite};
use noregret::example::Block;
use noregret::example::format::Scratch;
use std::borrow::Cow;

/// Column numbers of either width. A negative narrow one is read as one beyond every limit.
pub(crate) enum Columns<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [i64]),
}

impl Columns<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(narrow) => narrow.len(),
            Self::Wide(wide) => wide.len(),
        }
    }
}

pub(crate) struct Sparse<'a, V: Kind> {
    offsets: Cow<'a, [i64]>,
    indices: Columns<'a>,
    values: &'a [V],
    columns: u64,
    limit: u32,
    /// Where the rows of the run end, and its column numbers where they were wide.
    block: Block<V>,
    /// Rows whose columns had to be sorted.
    sorted: Block<V>,
    scratch: Scratch<V>,
}

impl<'a, V: Kind> Sparse<'a, V> {
    pub(crate) fn new(
        offsets: Cow<'a, [i64]>,
        indices: Columns<'a>,
        values: &'a [V],
        columns: u64,
        limit: u32,
    ) -> Result<Self, String> {
        if indices.len() != values.len() {
            return Err(format!(
                "the matrix has {} column numbers for {} values",
                indices.len(),
                values.len()
            ));
        }
        let (block, sorted, scratch) = (Block::new(), Block::new(), Scratch::default());
        Ok(Self { offsets, indices, values, columns, limit, block, sorted, scratch })
    }

    /// Says what is wrong with a value or a column number.
    fn flaw(&self, row: usize, index: u32, value: f64) -> String {
        if u64::from(index) >= self.columns {
            let columns = self.columns;
            return format!(
                "row {row} has a column that is negative or not below the {columns} of the matrix"
            );
        }
        if index >= self.limit {
            return format!("row {row}: {}", beyond(u64::from(index), self.limit));
        }
        not_finite(row, index, value)
    }
}

impl<V: Kind> Runs<V> for Sparse<'_, V> {
    fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn run(&mut self, from: usize) -> Run<'_, V> {
        self.block.clear();
        let mut problem = None;
        let begin = usize::try_from(self.offsets[from]).unwrap_or(usize::MAX);
        let mut row = from;
        let most = (from + RUN_ROWS).min(self.offsets.len() - 1);
        // Where the rows end, as long as they do so in order.
        let mut end = begin;
        while row < most && end - begin < RUN_VALUES {
            match usize::try_from(self.offsets[row + 1]) {
                Ok(next) if next >= end && next <= self.values.len() => end = next,
                _ => {
                    problem = Some(format!(
                        "row {row} ends at {} of {} values after beginning at {}: indptr is damaged",
                        self.offsets[row + 1],
                        self.values.len(),
                        self.offsets[row]
                    ));
                    break;
                }
            }
            self.block.offsets.push(end - begin);
            row += 1;
        }
        if begin > self.values.len() {
            return Run { offsets: &[0], indices: &[], values: &[], fresh: Vec::new(), problem };
        }
        let values = &self.values[begin..end];
        if let Columns::Wide(wide) = self.indices {
            let narrow = wide[begin..end].iter().map(|&i| u32::try_from(i).unwrap_or(u32::MAX));
            self.block.indices.extend(narrow);
        }
        let indices: &[u32] = match self.indices {
            Columns::Narrow(narrow) => &narrow[begin..end],
            Columns::Wide(_) => &self.block.indices,
        };
        let limit = u32::try_from(self.columns).unwrap_or(u32::MAX).min(self.limit);
        let Flaws { falls, infinite } = sweep(indices, values);
        let offsets = &self.block.offsets;
        // Rows begin and end with numbers that are the same as signed ones, so no fall is hidden; and in rows that
        // ascend none is above the last.
        let mut ends = offsets.windows(2).filter(|w| w[0] < w[1]).map(|w| (indices[w[0]], indices[w[1] - 1]));
        let ascending = falls == falls_at_ends(offsets, indices)
            && ends.clone().all(|(first, last)| i32::try_from(first | last).is_ok());
        let beyond =
            if ascending { ends.any(|(_, last)| last >= limit) } else { indices.iter().any(|&i| i >= limit) };
        let bad = infinite > 0 || beyond;
        if bad {
            let bad = (0..values.len()).find(|&k| !values[k].is_finite() || indices[k] >= limit).unwrap_or(0);
            let count = self.block.offsets.partition_point(|&end| end <= bad) - 1;
            problem = Some(self.flaw(from + count, indices[bad], values[bad].f64()));
            self.block.offsets.truncate(count + 1);
        }
        let offsets = &self.block.offsets;
        if ascending && !bad {
            return Run { offsets, indices, values, fresh: Vec::new(), problem };
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
        let (offsets, indices, values) = (&sorted.offsets, &sorted.indices, &sorted.values);
        Run { offsets, indices, values, fresh: Vec::new(), problem }
    }
}

struct Flaws {
    /// How often a column number is not above the one before it, ends of rows included.
    falls: usize,
    /// How many values are not finite.
    infinite: usize,
}

/// Goes once through a run, by parts that stay at hand; without a way out early, so that many numbers are compared at
/// once.
fn sweep<V: Kind>(indices: &[u32], values: &[V]) -> Flaws {
    const PART: usize = 1 << 11;
    let mut flaws = Flaws { falls: 0, infinite: 0 };
    // Signed comparisons are the ones that processors do by the dozen.
    let signed: &[i32] = bytemuck::cast_slice(indices);
    for from in (0..indices.len()).step_by(PART) {
        let to = indices.len().min(from + PART);
        let next = &signed[from + 1..indices.len().min(to + 1)];
        let falls: i32 = signed[from..to].iter().zip(next).map(|(a, b)| i32::from(a >= b)).sum();
        let infinite: i32 = values[from..to].iter().map(|v| i32::from(!v.is_finite())).sum();
        flaws.falls += falls as usize;
        flaws.infinite += infinite as usize;
    }
    flaws
}

/// How many of the falls are where a row ends and the next begins.
fn falls_at_ends(offsets: &[usize], indices: &[u32]) -> usize {
    let (mut falls, mut last) = (0, 0);
    for &end in offsets {
        if end > last && end < indices.len() {
            falls += usize::from(indices[end - 1] >= indices[end]);
        }
        last = end;
    }
    falls
}
