//! Where the rows of an audit come from: memory, or files that are read again for every sweep.

use crate::error::{Error, Result};
use crate::example::reader::Next;
use crate::example::{Block, LabelMap, Reader, Rows, Value};
use crate::loss::Loss;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rows that can be gone through any number of times, always the same and in the same order.
pub trait Source<V: Value> {
    /// Hands over all rows, block by block. `false` when it was stopped before the end.
    fn sweep(&mut self, visit: &mut dyn FnMut(Rows<'_, V>)) -> Result<bool>;
}

/// A single run of rows.
impl<V: Value> Source<V> for Rows<'_, V> {
    fn sweep(&mut self, visit: &mut dyn FnMut(Rows<'_, V>)) -> Result<bool> {
        visit(*self);
        Ok(true)
    }
}

/// The rows of files. They are kept in memory as long as they fit in a budget; otherwise the files are
/// read again for every sweep.
pub struct Files<'a> {
    reader: Reader,
    labels: LabelMap,
    loss: &'a dyn Loss,
    skip: bool,
    stop: &'a AtomicBool,
    budget: usize,
    held: usize,
    kept: Vec<Block<f32>>,
    /// The block that was read ahead to see what the labels are.
    first: Option<Block<f32>>,
    state: State,
    skipped: u64,
    /// Called after every block that was read, with the bytes read so far.
    watch: Option<Box<dyn FnMut(u64) + 'a>>,
}

#[derive(PartialEq)]
enum State {
    /// Nothing has been gone through; whether the rows fit is open.
    Fresh,
    /// All rows are in `kept`.
    Held,
    /// They do not fit.
    Streamed,
}

impl<'a> Files<'a> {
    /// `first` is the block that was already taken from `reader`, if one was; `budget` is how many
    /// bytes of rows may be kept.
    pub fn new(
        reader: Reader,
        first: Option<Block<f32>>,
        labels: LabelMap,
        loss: &'a dyn Loss,
        skip: bool,
        budget: usize,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            reader,
            labels,
            loss,
            skip,
            stop,
            budget,
            held: 0,
            kept: Vec::new(),
            first,
            state: State::Fresh,
            skipped: 0,
            watch: None,
        }
    }

    /// Tells `watch` the bytes read, after every block.
    pub fn watched(mut self, watch: impl FnMut(u64) + 'a) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Whether all rows are in memory.
    pub fn in_memory(&self) -> bool {
        self.state == State::Held
    }

    /// What the labels mean; complete after the first sweep.
    pub fn labels(&self) -> &LabelMap {
        &self.labels
    }

    /// Records dropped in the first sweep.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What reads the files.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Gives the reader back.
    pub fn into_reader(self) -> Reader {
        self.reader
    }

    fn next(&mut self) -> Result<Option<Block<f32>>> {
        if let Some(block) = self.first.take() {
            return Ok(Some(block));
        }
        while !self.stop.load(Ordering::SeqCst) {
            match self.reader.next_timeout(Duration::from_millis(100))? {
                Next::Block(block) => return Ok(Some(block)),
                Next::Pending => {}
                Next::End => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Keeps a block if there is room, otherwise gives up keeping.
    fn keep(&mut self, mut block: Block<f32>, holding: &mut bool) {
        let bytes = 8 * block.rows().nonzeros() + 24 * block.len();
        if *holding && self.held + bytes <= self.budget {
            self.held += bytes;
            block.raw_labels = Vec::new();
            block.lines = Vec::new();
            block.columns = Vec::new();
            block.indices.shrink_to_fit();
            block.values.shrink_to_fit();
            self.kept.push(block);
        } else {
            *holding = false;
            self.kept = Vec::new();
            self.reader.recycle(block);
        }
    }
}

impl Source<f32> for Files<'_> {
    fn sweep(&mut self, visit: &mut dyn FnMut(Rows<'_, f32>)) -> Result<bool> {
        if self.state == State::Held {
            for block in &self.kept {
                if self.stop.load(Ordering::SeqCst) {
                    return Ok(false);
                }
                visit(block.rows());
            }
            return Ok(true);
        }
        let fresh = self.state == State::Fresh;
        if !fresh {
            self.reader.rewind()?;
        }
        let mut holding = fresh;
        while let Some(mut block) = self.next()? {
            let loss = self.loss;
            let applied = self.labels.apply(&mut block, &|y| loss.accepts(y), self.skip);
            if fresh {
                self.skipped += applied.skipped;
            }
            visit(block.rows());
            if let Some(watch) = &mut self.watch {
                watch(self.reader.bytes_read());
            }
            if let Some(problem) = applied.problem {
                return Err(Error::from(problem));
            }
            self.keep(block, &mut holding);
        }
        if self.stop.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if fresh {
            self.skipped += self.reader.skipped();
            self.state = if holding { State::Held } else { State::Streamed };
        }
        Ok(true)
    }
}
