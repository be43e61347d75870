//! The loop over the records of a chunk, and the making of a row from features in any order.

use memchr::{memchr, memchr_iter, memrchr};

use super::beyond;
use crate::example::format::{Found, KEPT_REASONS, Problem, Scratch};
use crate::example::number::Number;
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
    /// The features, in any order, none of them 0.
    pairs: &'a mut Vec<(u32, V)>,
    /// A place to build names.
    pub(in crate::example) text: &'a mut Vec<u8>,
    seen: &'a mut Vec<u64>,
    names: &'a mut Vec<(u32, Box<str>)>,
}

impl<V: Number> Row<'_, V> {
    /// Adds a feature that has a fixed place.
    #[inline]
    pub(in crate::example) fn place(&mut self, index: u32, value: V) {
        if value != V::ZERO {
            self.pairs.push((index, value));
        }
    }

    /// Adds a hashed feature; its name is made only if its index was never seen by this thread.
    #[inline]
    pub(in crate::example) fn push(&mut self, index: u32, value: V, name: impl FnOnce(&mut Vec<u8>)) {
        if value == V::ZERO {
            return;
        }
        self.pairs.push((index, value));
        let (word, bit) = (index as usize / 64, 1 << (index % 64));
        if self.seen.get(word).is_none_or(|seen| seen & bit == 0) {
            if word >= self.seen.len() {
                self.seen.resize(word + 1, 0);
            }
            self.seen[word] |= bit;
            name(self.text);
            self.names.push((index, String::from_utf8_lossy(self.text).into()));
        }
    }
}

/// The end of the line that begins at `from`, and 0 lines within it: records of one line.
#[inline]
pub(in crate::example) fn line(chunk: &[u8], from: usize) -> (usize, u64) {
    (memchr(b'\n', &chunk[from..]).map_or(chunk.len(), |length| from + length), 0)
}

/// Reads the records of a chunk into rows. `split` finds the end of the record that begins at a
/// byte (its newline, or the chunk's end) and how many newlines are within; `read` fills a row, or
/// says that the record is blank. A bad record leaves no trace, neither rows nor names.
pub(in crate::example) fn records<V: Number>(
    chunk: &[u8],
    skip: bool,
    block: &mut Block<V>,
    scratch: &mut Scratch<V>,
    mut split: impl FnMut(&[u8], usize) -> (usize, u64),
    mut read: impl FnMut(&[u8], &mut Row<'_, V>) -> Result<Option<Head>, Fault>,
) -> Found {
    let mut found = Found::default();
    let mut from = 0;
    while from < chunk.len() {
        let (end, inner) = split(chunk, from);
        let record = chunk[from..end].strip_suffix(b"\r").unwrap_or(&chunk[from..end]);
        let known = found.names.len();
        scratch.pairs.clear();
        let mut row = Row {
            pairs: &mut scratch.pairs,
            text: &mut scratch.text,
            seen: &mut scratch.seen,
            names: &mut found.names,
        };
        let read = read(record, &mut row).and_then(|head| match head {
            Some(head) => settle(row.pairs).map(|()| Some(head)),
            None => Ok(None),
        });
        match read {
            Ok(None) => {}
            Ok(Some(head)) => {
                let (lines, column) =
                    if inner == 0 { (0, head.label_at as u64 + 1) } else { place(record, head.label_at) };
                append(block, &scratch.pairs, head, found.lines + lines, column);
            }
            Err(fault) => {
                for (index, _) in found.names.drain(known..) {
                    scratch.seen[index as usize / 64] &= !(1 << (index % 64));
                }
                let problem = fault.problem(record, found.lines);
                if !skip {
                    found.problem = Some(problem);
                    let rest = &chunk[from..];
                    let open = u64::from(rest.last() != Some(&b'\n'));
                    found.lines += memchr_iter(b'\n', rest).count() as u64 + open;
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
    found
}

/// Sorts the features and sums those of one index. Features of one index are summed in the order of
/// their values, not of their appearance, so that a row does not depend on how its line is arranged.
fn settle<V: Number>(pairs: &mut Vec<(u32, V)>) -> Result<(), Fault> {
    if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
        pairs.sort_unstable_by_key(|&(index, value)| (index, value.bits()));
        let mut kept = 0;
        let mut next = 0;
        while next < pairs.len() {
            let index = pairs[next].0;
            let run = pairs[next..].iter().take_while(|pair| pair.0 == index).count();
            let sum: f64 = pairs[next..next + run].iter().map(|pair| pair.1.f64()).sum();
            let value = V::from_f64(sum);
            if !value.is_finite() {
                let message = format!("the {run} features of index {index} sum {}", beyond::<V>());
                return Err(Fault::new(0, message));
            }
            pairs[kept] = (index, value);
            kept += usize::from(value != V::ZERO);
            next += run;
        }
        pairs.truncate(kept);
    }
    Ok(())
}

fn append<V: Number>(block: &mut Block<V>, pairs: &[(u32, V)], head: Head, line: u64, column: u64) {
    if head.weight != 1.0 && block.weights.is_empty() {
        block.weights.resize(block.len(), 1.0);
    }
    if head.weight != 1.0 || !block.weights.is_empty() {
        block.weights.push(head.weight);
    }
    block.indices.extend(pairs.iter().map(|pair| pair.0));
    block.values.extend(pairs.iter().map(|pair| pair.1));
    block.offsets.push(block.indices.len());
    block.raw_labels.push(head.label);
    block.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
    block.columns.push(u32::try_from(column).unwrap_or(u32::MAX));
}
