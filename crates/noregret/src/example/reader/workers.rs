//! Threads that read and parse chunks, and the shelf where their blocks wait in order.
//!
//! One worker at a time reads. What it has read it offers to one that has nothing to do, and reads on; only if all are busy does it
//! parse itself, and leaves reading to whoever is free first. What was read first is begun first. So a decompressor that is slower than parsing never waits, and
//! stays with one thread, whose processor has what it needs in its caches.

use super::Item;
use super::feed::{Feed, Step};
use crate::error::Error;
use crate::example::Block;
use crate::example::format::Scratch;
use crate::example::number::Number;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Owns the workers. They are never joined, because one may be waiting for a silent standard
/// input; dropping this tells them to stop as soon as they wake.
pub(super) struct Workers<V: Number> {
    shared: Arc<Shared<V>>,
}

struct Shared<V> {
    feed: Mutex<(u64, Feed)>,
    shelf: Mutex<Shelf<V>>,
    /// An item came, or a worker died.
    filled: Condvar,
    /// An item was taken, or all is to stop.
    emptied: Condvar,
    /// A chunk was offered, or nobody reads any more, or all is to stop.
    offered: Condvar,
    /// How many numbers may be under way.
    window: u64,
}

#[derive(Default)]
struct Shelf<V> {
    items: BTreeMap<u64, Item<V>>,
    next: u64,
    stopped: bool,
    broken: bool,
    blocks: Vec<Block<V>>,
    buffers: Vec<Vec<u8>>,
    /// What was read and is for somebody else to parse.
    offers: VecDeque<Task<V>>,
    /// How many workers wait for an offer.
    idle: usize,
    /// Whether somebody reads.
    reading: bool,
}

/// A step, its number, and a block for its rows.
struct Task<V> {
    number: u64,
    block: Block<V>,
    step: Step<V>,
}

/// How many chunks may be under way: each thread has one, and as many wait to be taken.
pub(super) fn window(threads: usize) -> usize {
    2 * threads + 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<V: Number> Workers<V> {
    pub(super) fn start(feed: Feed, threads: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            feed: Mutex::new((0, feed)),
            shelf: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            offered: Condvar::new(),
            window: window(threads) as u64,
        });
        // Made first, so that the threads already running stop if one cannot be started.
        let workers = Self { shared: shared.clone() };
        for _ in 0..threads {
            let shared = shared.clone();
            std::thread::Builder::new().name("parse".into()).spawn(move || {
                let _alarm = Alarm(&shared);
                shared.work();
            })?;
        }
        Ok(workers)
    }

    /// Tells a test when all workers are gone.
    #[cfg(test)]
    pub(super) fn watch(&self) -> std::sync::Weak<impl Sized + use<V>> {
        Arc::downgrade(&self.shared)
    }

    /// The next item; `None` when there is none before `deadline`.
    pub(super) fn take(&self, deadline: Option<Instant>) -> Option<Item<V>> {
        let mut shelf = lock(&self.shared.shelf);
        loop {
            let next = shelf.next;
            if let Some(item) = shelf.items.remove(&next) {
                shelf.next += 1;
                self.shared.emptied.notify_all();
                return Some(item);
            }
            if shelf.broken {
                let source = io::Error::other("a parsing thread failed; please report this");
                return Some(Item::Error(Error::Io { path: "-".into(), source }));
            }
            let filled = &self.shared.filled;
            shelf = match deadline.map(|deadline| deadline.checked_duration_since(Instant::now())) {
                None => filled.wait(shelf).unwrap_or_else(PoisonError::into_inner),
                Some(None) => return None,
                Some(Some(left)) => {
                    filled.wait_timeout(shelf, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    pub(super) fn recycle(&self, mut block: Block<V>) {
        block.clear();
        let mut shelf = lock(&self.shared.shelf);
        if (shelf.blocks.len() as u64) < self.shared.window {
            shelf.blocks.push(block);
        }
    }
}

impl<V: Number> Drop for Workers<V> {
    fn drop(&mut self) {
        lock(&self.shared.shelf).stopped = true;
        self.shared.emptied.notify_all();
        self.shared.offered.notify_all();
    }
}

impl<V: Number> Shared<V> {
    fn work(&self) {
        let mut scratch = Scratch::default();
        let mut begun = 0;
        while let Some(Task { number, mut block, step }) = self.task() {
            // A name is told where a worker sees it first: that must not be after it has seen what comes later.
            assert!(begun <= number, "chunk {number} after chunk {begun}");
            begun = number;
            let (item, buffer) = match step {
                Step::Over => return,
                Step::Pass(item) => (item, None),
                Step::Parse(chunk, start, decoder) => {
                    let found = V::decode(&*decoder, &chunk[start..], &mut block, &mut scratch);
                    (Item::Rows(block, found), Some(chunk))
                }
            };
            let mut shelf = lock(&self.shelf);
            if shelf.stopped {
                return;
            }
            shelf.items.insert(number, item);
            shelf.buffers.extend(buffer);
            let due = shelf.next == number;
            drop(shelf);
            if due {
                self.filled.notify_one();
            }
        }
    }

    /// What to do next: what somebody offers, or else what is read. `None` when all is to stop.
    fn task(&self) -> Option<Task<V>> {
        let mut shelf = lock(&self.shelf);
        while shelf.offers.is_empty() && shelf.reading && !shelf.stopped {
            shelf.idle += 1;
            shelf = self.offered.wait(shelf).unwrap_or_else(PoisonError::into_inner);
            shelf.idle -= 1;
        }
        if shelf.stopped {
            return None;
        }
        let offer = shelf.offers.pop_front();
        if offer.is_some() {
            return offer;
        }
        shelf.reading = true;
        drop(shelf);
        let task = self.read();
        lock(&self.shelf).reading = false;
        // Somebody may have begun to wait for an offer just now.
        self.offered.notify_one();
        task
    }

    /// Reads, and offers what was read as long as somebody is there to take it.
    fn read(&self) -> Option<Task<V>> {
        let mut feed = lock(&self.feed);
        loop {
            let number = feed.0;
            let (block, buffer) = self.room(number)?;
            let step = feed.1.next(buffer);
            feed.0 += 1;
            let task = Task { number, block, step };
            if matches!(task.step, Step::Over) {
                return Some(task);
            }
            let mut shelf = lock(&self.shelf);
            shelf.offers.push_back(task);
            if shelf.idle < shelf.offers.len() {
                // The first of them, which may have been offered before.
                return shelf.offers.pop_front();
            }
            drop(shelf);
            self.offered.notify_one();
        }
    }

    /// Waits until `number` may be begun; `None` when all is to stop.
    fn room(&self, number: u64) -> Option<(Block<V>, Vec<u8>)> {
        let mut shelf = lock(&self.shelf);
        while !shelf.stopped && number >= shelf.next + self.window {
            shelf = self.emptied.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
        if shelf.stopped {
            return None;
        }
        Some((shelf.blocks.pop().unwrap_or_default(), shelf.buffers.pop().unwrap_or_default()))
    }
}

/// Wakes the consumer when a worker dies, so that it need not wait for ever.
struct Alarm<'a, V>(&'a Shared<V>);

impl<V> Drop for Alarm<'_, V> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.shelf).broken = true;
            self.0.filled.notify_all();
        }
    }
}
