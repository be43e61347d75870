//! What becomes durable together.

use super::Manner;
use crate::command::{self, Command};
use crate::error::Refusal;
use crate::model::Handle;
use crate::store::Change;
use crate::worker::{self, Waiting};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::oneshot;

/// What is asked of the writer.
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Write {
    /// A command for a model.
    Append {
        /// The model.
        model: Arc<Handle>,
        /// What is to be done.
        command: Command,
        /// The same in bytes, made by whoever asks.
        bytes: Vec<u8>,
        /// Whether it can wait for others.
        lazy: bool,
        /// Who waits for the answer.
        waiting: Waiting,
    },
    /// Changes that are nobody's command.
    Change {
        /// Which, in order.
        changes: Vec<Change>,
        /// Who waits for it to be durable.
        done: Option<oneshot::Sender<Result<(), Refusal>>>,
    },
    /// The end.
    Stop,
}

/// What goes into one transaction at most.
const MOST_BYTES: usize = 8 << 20;
const MOST_WRITES: usize = 4096;

/// The commands of one model in a transaction.
pub(super) struct Group {
    pub(super) model: Arc<Handle>,
    pub(super) bytes: Vec<u8>,
    pub(super) commands: Vec<Command>,
    pub(super) waiting: Vec<Waiting>,
}

/// What goes into a transaction.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) groups: Vec<Group>,
    pub(super) changes: Vec<Change>,
    pub(super) done: Vec<oneshot::Sender<Result<(), Refusal>>>,
    pub(super) bytes: usize,
    pub(super) writes: usize,
    /// Nobody waits for it.
    pub(super) lazy_since: Option<Instant>,
    pub(super) stop: bool,
}

impl Batch {
    pub(super) fn is_full(&self) -> bool {
        self.stop || self.bytes > MOST_BYTES || self.writes >= MOST_WRITES
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.stop || (self.writes > 0 && self.lazy_since.is_none())
    }

    pub(super) fn add(&mut self, write: Write, manner: Manner, time: u64) {
        match write {
            Write::Stop => self.stop = true,
            Write::Change { changes, done } => {
                for change in &changes {
                    self.bytes += match change {
                        Change::Snapshot { bytes, .. } | Change::Append { bytes, .. } => bytes.len(),
                        Change::Delete { .. } => 0,
                    };
                }
                self.changes.extend(changes);
                self.done.extend(done);
                self.urgent();
            }
            Write::Append { model, command, bytes, lazy, waiting } => {
                if model.deleted.load(Ordering::Relaxed) {
                    return waiting.answer(worker::gone(&model.name));
                }
                self.bytes += bytes.len();
                let known = self.groups.iter().position(|g| g.model.id == model.id);
                let at = known.unwrap_or(self.groups.len());
                if known.is_none() {
                    let bytes = command::begin_entry(time, manner.most_pending);
                    self.groups.push(Group { model, bytes, commands: Vec::new(), waiting: Vec::new() });
                }
                let group = &mut self.groups[at];
                group.bytes.extend_from_slice(&bytes);
                group.commands.push(command);
                group.waiting.push(waiting);
                if lazy && (self.writes == 0 || self.lazy_since.is_some()) {
                    self.lazy_since.get_or_insert_with(Instant::now);
                    self.writes += 1;
                } else {
                    self.urgent();
                }
            }
        }
    }

    fn urgent(&mut self) {
        self.lazy_since = None;
        self.writes += 1;
    }
}
