//! The thread that writes: it gathers what has come in for all models, makes it durable with one fsync, and hands it to
//! the models' threads in the order in which it was written.

mod batch;
mod health;

pub use batch::Write;
pub use health::Health;

use crate::command::Entry;
use crate::error::Refusal;
use crate::model::Handle;
use crate::store::{Change, Place, Store, StoreError};
use crate::worker::Task;
use batch::{Batch, Group};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How the writer works.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Whether every answer waits for the fsync.
    pub sync: bool,
    /// How many predictions of a model may wait for their labels.
    pub most_pending: u64,
}

/// How long what can wait does.
const LAZY: Duration = Duration::from_millis(50);

/// How long an answer may be ahead of the disk when not every answer waits for it.
const RELAXED: Duration = Duration::from_millis(500);

/// How long after a failure the store is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Models by number, for the writer to find them after a failure.
pub(crate) type Handles = Arc<Mutex<HashMap<u64, Arc<Handle>>>>;

enum Disk {
    Up(Store),
    /// It failed, and could not be opened again.
    Down(Place, Instant),
}

/// The writer.
pub struct Committer {
    disk: Option<Disk>,
    manner: Manner,
    handles: Handles,
    health: Arc<Health>,
    /// Something is committed that is not on the disk yet.
    dirty: Option<Instant>,
}

impl Committer {
    pub(crate) fn new(store: Store, manner: Manner, handles: Handles, health: Arc<Health>) -> Self {
        Self { disk: Some(Disk::Up(store)), manner, handles, health, dirty: None }
    }

    /// Writes until the end.
    pub(crate) fn run(mut self, writes: &Receiver<Write>) {
        loop {
            let mut batch = Batch::default();
            // Of the first write: before it there may have been hours of nothing.
            let mut time = None;
            while !batch.is_full() {
                let write = if batch.is_urgent() {
                    writes.try_recv().ok()
                } else {
                    match self.wait(writes, &batch) {
                        Ok(write) => Some(write),
                        Err(RecvTimeoutError::Timeout) => None,
                        Err(RecvTimeoutError::Disconnected) => Some(Write::Stop),
                    }
                };
                match write {
                    Some(write) => batch.add(write, self.manner, *time.get_or_insert_with(crate::now)),
                    None => break,
                }
            }
            let stop = batch.stop;
            self.write(batch, time.unwrap_or_else(crate::now));
            if stop || self.dirty.is_some_and(|since| since.elapsed() >= RELAXED) {
                self.flush();
            }
            if stop {
                return;
            }
        }
    }

    /// The next write, if it comes before something that waits has waited long enough.
    fn wait(&self, writes: &Receiver<Write>, batch: &Batch) -> Result<Write, RecvTimeoutError> {
        let lazy = batch.lazy_since.map(|since| since + LAZY);
        let dirty = self.dirty.map(|since| since + RELAXED);
        let down = match &self.disk {
            Some(Disk::Down(_, tried)) => Some(*tried + RETRY),
            _ => None,
        };
        match [lazy, dirty, down].into_iter().flatten().min() {
            None => writes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => writes.recv_timeout(until.saturating_duration_since(Instant::now())),
        }
    }

    fn write(&mut self, batch: Batch, time: u64) {
        self.revive();
        if batch.writes == 0 {
            return;
        }
        let Some(Disk::Up(store)) = &self.disk else {
            return Self::fail(batch, "the store cannot be opened");
        };
        let mut changes = Vec::with_capacity(batch.groups.len() + batch.changes.len());
        let mut groups = batch.groups;
        for group in &mut groups {
            let number = group.model.committed.load(Ordering::Relaxed) + 1;
            changes.push(Change::Append {
                model: group.model.id,
                number,
                bytes: std::mem::take(&mut group.bytes),
            });
        }
        if !batch.changes.is_empty() {
            // A snapshot of a model that has been deleted must not bring it back.
            let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            changes.extend(batch.changes.into_iter().filter(|change| match change {
                Change::Snapshot { model, upto, .. } => *upto == 0 || handles.contains_key(model),
                _ => true,
            }));
        }
        let began = Instant::now();
        let committed = store.commit(&changes, self.manner.sync);
        self.health.microseconds.fetch_add(began.elapsed().as_micros() as u64, Ordering::Relaxed);
        if let Err(error) = committed {
            self.health.failures.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, "a transaction failed");
            self.health.tried(Some(error.to_string()));
            if !self.was_written_all_the_same(&changes, &error) {
                let batch = Batch { groups, done: batch.done, ..Batch::default() };
                return Self::fail(batch, &error.to_string());
            }
        }
        if self.manner.sync {
            self.health.tried(None);
        } else {
            self.dirty.get_or_insert_with(Instant::now);
        }
        self.health.commits.fetch_add(1, Ordering::Relaxed);
        let mut lengths =
            changes.iter().map(|c| if let Change::Append { bytes, .. } = c { bytes.len() } else { 0 });
        for Group { model, commands, waiting, .. } in groups {
            self.health.commands.fetch_add(commands.len() as u64, Ordering::Relaxed);
            let number = model.committed.fetch_add(1, Ordering::Relaxed) + 1;
            model.log_bytes.fetch_add(lengths.next().unwrap_or(0) as u64, Ordering::Relaxed);
            let entry = Entry { time, most_pending: self.manner.most_pending, commands };
            model.send(Task::Learn { number, entry, waiting });
        }
        for done in batch.done {
            let _ = done.send(Ok(()));
        }
    }

    /// After a failure nobody knows whether the transaction is on the disk, unless the store is opened again.
    fn was_written_all_the_same(&mut self, changes: &[Change], error: &StoreError) -> bool {
        let Some(Disk::Up(store)) = self.disk.take() else { return false };
        let trouble = match store.reopen() {
            Ok(store) if self.manner.sync => {
                // All of it, or nothing.
                let written = changes.first().is_some_and(|change| store.holds(change).unwrap_or(false));
                self.disk = Some(Disk::Up(store));
                return written;
            }
            Ok(store) => match self.reconcile(&store) {
                Ok(()) => {
                    self.disk = Some(Disk::Up(store));
                    return false;
                }
                Err(again) => (store.into_place(), again),
            },
            Err(trouble) => trouble,
        };
        self.health.set(Some(format!("{error}; and then: {}", trouble.1)));
        self.disk = Some(Disk::Down(trouble.0, Instant::now()));
        false
    }

    fn fail(batch: Batch, message: &str) {
        let full = message.contains("No space left") || message.contains("StorageFull");
        let advice = if full { "; make room on its disk" } else { "" };
        let refusal = Refusal::unavailable(
            "storage_failed",
            format!("nothing was learned, because the store could not be written: {message}{advice}"),
        );
        for group in batch.groups {
            for waiting in group.waiting {
                waiting.answer(Err(refusal.clone()));
            }
        }
        for done in batch.done {
            let _ = done.send(Err(refusal.clone()));
        }
    }

    /// Tries a store again that failed. What it holds beyond what the models know is learned now: it was written,
    /// although nobody could be told.
    fn revive(&mut self) {
        match self.disk.take() {
            Some(Disk::Down(place, tried)) if tried.elapsed() >= RETRY => match Store::open(place.clone()) {
                Ok(store) => match self.reconcile(&store) {
                    Ok(()) => {
                        tracing::info!("the store is back");
                        self.health.set(None);
                        self.disk = Some(Disk::Up(store));
                    }
                    Err(error) => {
                        self.health.set(Some(error.to_string()));
                        self.disk = Some(Disk::Down(place, Instant::now()));
                    }
                },
                Err(error) => {
                    self.health.set(Some(error.to_string()));
                    self.disk = Some(Disk::Down(place, Instant::now()));
                }
            },
            other => self.disk = other,
        }
    }

    /// Makes the models and the store the same again. What the store holds beyond what a model knows is learned; what
    /// a model knows beyond the store (answers were ahead of the disk) is written as a snapshot.
    fn reconcile(&self, store: &Store) -> Result<(), StoreError> {
        let handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for handle in handles.values() {
            let upto = handle.committed.load(Ordering::Relaxed);
            if store.last_number(handle.id)? < upto {
                let (tell, told) = std::sync::mpsc::channel();
                handle.send(Task::Ask(Box::new(move |state| {
                    let _ = tell.send(state.to_bytes());
                })));
                let Ok(bytes) = told.recv() else { continue };
                let (name, created) = (handle.name.clone(), handle.created);
                store.commit(&[Change::Snapshot { model: handle.id, name, created, upto, bytes }], true)?;
            }
            for (number, bytes) in store.log_after(handle.id, &handle.name, upto)? {
                let entry = Entry::read(&bytes).map_err(|e| StoreError::Damaged(e.0))?;
                handle.committed.store(number, Ordering::Relaxed);
                handle.log_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                handle.send(Task::Learn { number, entry, waiting: Vec::new() });
            }
        }
        Ok(())
    }

    /// Brings to the disk what is only committed.
    fn flush(&mut self) {
        if self.dirty.take().is_none() {
            return;
        }
        let Some(Disk::Up(store)) = &self.disk else { return };
        match store.commit(&[], true) {
            Ok(()) => self.health.tried(None),
            Err(error) => {
                self.health.failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(%error, "what was learned could not be brought to the disk");
                self.health.tried(Some(error.to_string()));
                // Opened again, it gets what the models know beyond it.
                self.was_written_all_the_same(&[], &error);
            }
        }
    }
}
