//! The loop over the records of a chunk, and the making of a row from features in any order.

use memchr::{memchr, memchr_iter, memrchr};

use super::beyond;
use super::order::order;
use crate::example::digits::{RUN, Written};
use crate::example::format::{Batch, Found, KEPT_REASONS, Place, Problem, Scratch};
use crate::example::names::Names;
use crate::example::number::Number;
use crate::example::select::Parts;
use crate::example::{Block, Label};

/// What is wrong within a record: how many bytes of the record are before it, and why.
#[derive(Debug)]
pub(in crate::example) struct Fault {
    pub(in crate::example) at: usize,
    pub(in crate::example) message: String,
}

impl Fault {
    pub(in crate::example) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The fault in a record that begins after `line` lines of the chunk.
    pub(in crate::example) fn problem(self, record: &[u8], line: u64) -> Problem {
        let (lines, column) = place(record, self.at);
        Problem { line: line + lines, column, message: self.message }
    }
}

/// The lines before a byte of a record, and its column from 1.
fn place(record: &[u8], at: usize) -> (u64, u64) {
    let before = &record[..at.min(record.len())];
    let line_start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let lines = memchr_iter(b'\n', before).count() as u64;
    (lines, (before.len() - line_start) as u64 + 1)
}

/// What a record says beside its features.
#[derive(Debug)]
pub(in crate::example) struct Head {
    pub(in crate::example) label: Label,
    /// How many bytes of the record are before the label.
    pub(in crate::example) label_at: usize,
    pub(in crate::example) weight: f64,
}

/// What a format fills while it reads a record.
pub(in crate::example) struct Row<'a, V> {
    /// The features, in any order, none of them 0: they go to the block's end.
    indices: &'a mut Vec<u32>,
    values: &'a mut Vec<V>,
    /// A place to build names.
    pub(in crate::example) text: &'a mut Vec<u8>,
    /// The features that are factors of products.
    pub(in crate::example) parts: &'a mut Parts<V>,
    /// How the last value was written: of each column, or in place 0 of any named feature.
    pub(in crate::example) written: &'a mut Vec<&'static Written>,
    /// Where features gather that are read many at once; taken out and put back by whoever reads them.
    pub(in crate::example) batch: Option<&'a mut Batch>,
    seen: &'a mut Vec<u64>,
    names: &'a mut Names,
}

impl<V: Number> Row<'_, V> {
    /// Adds a feature that has a fixed place.
    #[inline]
    pub(in crate::example) fn place(&mut self, index: u32, value: V) {
        if value != V::ZERO {
            self.indices.push(index);
            self.values.push(value);
        }
    }

    /// Adds a hashed feature; its name is made only if its index was never seen by this thread.
    #[inline]
    pub(in crate::example) fn push(&mut self, index: u32, value: V, name: impl FnOnce(&mut Vec<u8>)) {
        self.place(index, value);
        if value != V::ZERO {
            self.note(index, name);
        }
    }

    /// Adds hashed features that are not 0 and whose names have been noted.
    #[inline(always)]
    pub(in crate::example) fn extend(&mut self, indices: &[u32], values: &[V]) {
        self.indices.extend_from_slice(indices);
        self.values.extend_from_slice(values);
    }

    /// Takes note of a hashed feature's name, if its index was never seen by this thread.
    #[inline]
    pub(in crate::example) fn note(&mut self, index: u32, name: impl FnOnce(&mut Vec<u8>)) {
        if !self.knows(index) {
            let word = index as usize / 64;
            if word >= self.seen.len() {
                self.seen.resize(word + 1, 0);
            }
            self.seen[word] |= 1 << (index % 64);
            name(self.text);
            self.names.push(index, self.text);
        }
    }

    /// Whether the name of a hashed feature has been noted.
    #[inline]
    pub(in crate::example) fn knows(&self, index: u32) -> bool {
        self.seen.get(index as usize / 64).is_some_and(|seen| seen >> (index % 64) & 1 == 1)
    }
}

/// Features that gather before they move into a row: cheaper than to ask two vectors for room each time.
pub(in crate::example) struct Run<V> {
    indices: [u32; RUN],
    values: [V; RUN],
    count: usize,
}

impl<V: Number> Run<V> {
    pub(in crate::example) fn new() -> Self {
        Self { indices: [0; RUN], values: [V::ZERO; RUN], count: 0 }
    }

    /// Adds a feature that has a fixed place, or whose name has been noted.
    #[inline(always)]
    pub(in crate::example) fn push(&mut self, index: u32, value: V, row: &mut Row<'_, V>) {
        let k = self.count % RUN;
        self.indices[k] = index;
        self.values[k] = value;
        self.count = k + usize::from(value != V::ZERO);
        if self.count == RUN {
            self.flush(row);
        }
    }

    #[inline]
    pub(in crate::example) fn flush(&mut self, row: &mut Row<'_, V>) {
        row.indices.extend_from_slice(&self.indices[..self.count]);
        row.values.extend_from_slice(&self.values[..self.count]);
        self.count = 0;
    }
}

/// The end of the line that begins at `from`, and 0 lines within it: records of one line.
#[inline]
pub(in crate::example) fn line(chunk: &[u8], from: usize) -> (usize, u64) {
    (memchr(b'\n', &chunk[from..]).map_or(chunk.len(), |length| from + length), 0)
}

/// Reads the records of a chunk into rows. `split` finds the end of the record that begins at a
/// byte (its newline, or the chunk's end) and how many newlines are within; `read` fills a row, or
/// says that the record is blank: it is given the record's length and all of the chunk from its first byte
/// on, because what is after a record may be looked at. A bad record leaves no trace, neither rows nor names.
pub(in crate::example) fn records<V: Number>(
    chunk: &[u8],
    skip: bool,
    block: &mut Block<V>,
    scratch: &mut Scratch<V>,
    mut split: impl FnMut(&[u8], usize) -> (usize, u64),
    mut read: impl FnMut(&[u8], usize, &mut Row<'_, V>) -> Result<Option<Head>, Fault>,
) -> Found {
    let mut found = Found::default();
    let mut from = 0;
    while from < chunk.len() {
        let (end, inner) = split(chunk, from);
        let record = chunk[from..end].strip_suffix(b"\r").unwrap_or(&chunk[from..end]);
        let known = found.names.len();
        let row_start = block.indices.len();
        scratch.parts.clear();
        let mut row = Row {
            indices: &mut block.indices,
            values: &mut block.values,
            text: &mut scratch.text,
            parts: &mut scratch.parts,
            written: &mut scratch.written,
            batch: Some(&mut scratch.batch),
            seen: &mut scratch.seen,
            names: &mut found.names,
        };
        let read = read(&chunk[from..], record.len(), &mut row).and_then(|head| match head {
            Some(head) => settle(block, row_start, scratch).map(|()| Some(head)),
            None => Ok(None),
        });
        match read {
            Ok(None) => {}
            Ok(Some(head)) => {
                let (lines, column) =
                    if inner == 0 { (0, head.label_at as u64 + 1) } else { place(record, head.label_at) };
                append(block, head, found.lines + lines, column);
            }
            Err(fault) => {
                block.indices.truncate(row_start);
                block.values.truncate(row_start);
                for index in found.names.keep(known) {
                    scratch.seen[index as usize / 64] &= !(1 << (index % 64));
                }
                let problem = fault.problem(record, found.lines);
                if !skip {
                    found.problem = Some(problem);
                    let rest = &chunk[from..];
                    let open = u64::from(rest.last() != Some(&b'\n'));
                    found.lines += memchr_iter(b'\n', rest).count() as u64 + open;
                    found.met = scratch.parts.met();
                    return found;
                }
                found.skipped += 1;
                if found.reasons.len() < KEPT_REASONS {
                    found.reasons.push(problem);
                }
            }
        }
        found.lines += inner + 1;
        from = end + 1;
    }
    found.met = scratch.parts.met();
    found
}

/// Sorts the features of the block's last row, which begin at `start`, and sums those of one index. Features
/// of one index are summed in the order of their values, not of their appearance, so that a row does not
/// depend on how its line is arranged.
#[inline]
fn settle<V: Number>(block: &mut Block<V>, start: usize, scratch: &mut Scratch<V>) -> Result<(), Fault> {
    let indices = &mut block.indices[start..];
    let Some(fall) = indices.windows(2).position(|pair| pair[0] >= pair[1]) else { return Ok(()) };
    let (before, after) = indices.split_at(fall + 1);
    // Numbers that ascend and are counted from a hash turn around at most once.
    if after.last() < before.first() && after.is_sorted_by(|a, b| a < b) {
        indices.rotate_left(fall + 1);
        block.values[start..].rotate_left(fall + 1);
        return Ok(());
    }
    if order(indices, &mut block.values[start..], &mut scratch.room) {
        return Ok(());
    }
    sort(indices, &block.values[start..], scratch);
    let Scratch { order, values, .. } = scratch;
    // Mostly all are different; then this is all.
    let (mut last, mut different) = (-1, true);
    for ((index, value), feature) in indices.iter_mut().zip(&mut block.values[start..]).zip(&*order) {
        *index = feature.index();
        *value = values[feature.position()];
        different &= i64::from(*index) > last;
        last = i64::from(*index);
    }
    if different {
        return Ok(());
    }
    block.indices.truncate(start);
    block.values.truncate(start);
    for group in order.chunk_by_mut(|a, b| a.index() == b.index()) {
        let index = group[0].index();
        group.sort_unstable_by_key(|feature| values[feature.position()].bits());
        let sum: f64 = group.iter().map(|feature| values[feature.position()].f64()).sum();
        let value = V::from_f64(sum);
        if !value.is_finite() {
            let message = format!("the {} features of index {index} sum {}", group.len(), beyond::<V>());
            return Err(Fault::new(0, message));
        }
        if value != V::ZERO {
            block.indices.push(index);
            block.values.push(value);
        }
    }
    Ok(())
}

impl<V: Number> Block<V> {
    /// Brings the features from `start` on, which are to be a row, into ascending order, and sums those of
    /// one index as every format does. A message says which sum leaves the range of the kind.
    pub fn settle(&mut self, start: usize, scratch: &mut Scratch<V>) -> Result<(), String> {
        settle(self, start, scratch).map_err(|fault| fault.message)
    }
}

/// Fills `order` and `values` of the scratch from a row's features.
pub(in crate::example) fn sort<V: Number>(indices: &[u32], values: &[V], scratch: &mut Scratch<V>) {
    scratch.order.clear();
    if !spread(indices, &mut scratch.order) {
        scratch.order.extend(indices.iter().enumerate().map(|(k, &index)| Place::new(index, k)));
        scratch.order.sort_unstable();
    }
    scratch.values.clear();
    scratch.values.extend_from_slice(values);
}

/// How many features are brought into order by spreading them, and over how many heaps at most.
const SPREAD: std::ops::RangeInclusive<usize> = 16..=256;
const HEAPS: usize = 256;

/// Brings a row into order by its indices' leading bits, which spreads what a hash has mixed so evenly that
/// next to nothing is left to do, and adds it to `order`. Says whether it did: other rows are left to others.
#[inline]
fn spread(indices: &[u32], order: &mut Vec<Place>) -> bool {
    let n = indices.len();
    if !SPREAD.contains(&n) {
        return false;
    }
    let largest = indices.iter().fold(0, |largest, &index| largest.max(index));
    let heaps = n.next_power_of_two().min(HEAPS);
    let shift = (u32::BITS - largest.leading_zeros()).saturating_sub(heaps.ilog2());
    let heap = |index: u32| (index >> shift) as usize % HEAPS;
    let mut begin = [0_u8; HEAPS];
    let mut highest = 0;
    for &index in indices {
        let count = &mut begin[heap(index)];
        *count = count.saturating_add(1);
        highest = highest.max(*count);
    }
    // Heaps are put in order by moving neighbours, which must not take long.
    if highest > 8 {
        return false;
    }
    let mut sum = 0_u8;
    for count in &mut begin[..heaps] {
        // Before the last heap there are fewer than 256.
        (*count, sum) = (sum, sum.wrapping_add(*count));
    }
    let mut spread = [Place::new(0, 0); *SPREAD.end()];
    for (k, &index) in indices.iter().enumerate() {
        let next = &mut begin[heap(index)];
        spread[usize::from(*next)] = Place::new(index, k);
        *next = next.wrapping_add(1);
    }
    let spread = &mut spread[..n];
    for k in 1..n {
        let place = spread[k];
        let mut at = k;
        while at > 0 && spread[at - 1] > place {
            spread[at] = spread[at - 1];
            at -= 1;
        }
        spread[at] = place;
    }
    order.extend_from_slice(spread);
    true
}

fn append<V: Number>(block: &mut Block<V>, head: Head, line: u64, column: u64) {
    if head.weight != 1.0 && block.weights.is_empty() {
        block.weights.resize(block.len(), 1.0);
    }
    if head.weight != 1.0 || !block.weights.is_empty() {
        block.weights.push(head.weight);
    }
    block.offsets.push(block.indices.len());
    block.raw_labels.push(head.label);
    block.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
    block.columns.push(u32::try_from(column).unwrap_or(u32::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn spreading_brings_any_row_into_the_order_of_its_places() {
        let mut random = rand_pcg::Pcg64::seed_from_u64(17);
        let mut done = 0;
        for round in 0..20_000 {
            let n = random.random_range(0..300);
            let bits = random.random_range(0..33_u32);
            let skewed = round % 4 == 0;
            let indices: Vec<u32> = (0..n)
                .map(|_| {
                    let index = random.random::<u32>().checked_shr(32 - bits).unwrap_or(0);
                    if skewed && random.random_bool(0.9) { index >> 9 } else { index }
                })
                .collect();
            let mut expected: Vec<_> = indices.iter().enumerate().map(|(k, &i)| Place::new(i, k)).collect();
            expected.sort_unstable();
            let mut order = Vec::new();
            if spread(&indices, &mut order) {
                done += 1;
                assert_eq!(order, expected);
            } else {
                assert!(order.is_empty());
            }
        }
        assert!(done > 5_000, "{done}");
    }
}
