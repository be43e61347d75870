//! Threads that read and parse chunks, and the shelf where their blocks wait in order.
//!
//! One worker at a time reads. What it has decompressed it offers to one that has nothing to do, and reads on; only if all are busy does it
//! parse itself, and leaves reading to whoever is free first. What was read first is begun first. So a decompressor that is slower than parsing never waits, and
//! stays with one thread, whose processor has what it needs in its caches. What was only copied from a file is parsed by whoever read it, for the
//! same reason.
//!
//! Whoever takes the blocks is a worker too while the next one is not there yet: to sleep and be woken for each block costs more
//! than to do a part of the work. It opens no input and decompresses none, unless it is alone, so that its patience and the
//! decompressor's caches are kept; and it keeps out of all where reading may wait for somebody else's writing.

use super::Item;
use super::feed::{Feed, Step};
use crate::error::Error;
use crate::example::Block;
use crate::example::format::Scratch;
use crate::example::number::Number;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Owns the workers. They are never joined, because one may be waiting for a silent standard
/// input; dropping this tells them to stop as soon as they wake.
pub(super) struct Workers<V: Number> {
    shared: Arc<Shared<V>>,
    /// What the taker of the blocks needs to parse some itself, if it does.
    helper: Option<Helper<V>>,
}

/// A thread that parses.
struct Helper<V> {
    scratch: Scratch<V>,
    /// The last chunk it has begun.
    begun: u64,
    /// What it has parsed last, to be read into again: its processor has that in its caches.
    buffer: Option<Vec<u8>>,
}

impl<V: Number> Default for Helper<V> {
    fn default() -> Self {
        Self { scratch: Scratch::default(), begun: 0, buffer: None }
    }
}

struct Shared<V> {
    feed: Mutex<Feed>,
    shelf: Mutex<Shelf<V>>,
    /// An item came, or a worker died.
    filled: Condvar,
    /// Enough items were taken for reading to go on, or all is to stop.
    emptied: Condvar,
    /// A chunk was offered, or nobody reads any more, or all is to stop.
    offered: Condvar,
    /// How many numbers may be under way.
    window: u64,
    /// Whether the taker of the blocks is the only thread.
    alone: bool,
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
    /// How many workers wait for an offer, the taker of the blocks not counted.
    idle: usize,
    /// Whether the taker waits, and would take an offer too.
    waiting: bool,
    /// Whether somebody reads.
    reading: bool,
    /// Whether whoever reads waits for room.
    full: bool,
    /// The number of what is read next, and whether to read it is quick: see [`Feed::is_quick`].
    unread: u64,
    quick: bool,
    /// Whether all was read.
    over: bool,
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
    /// So many threads, of which one is the caller's where it `helps`.
    pub(super) fn start(feed: Feed, threads: usize, helps: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            feed: Mutex::new(feed),
            shelf: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            offered: Condvar::new(),
            window: window(threads) as u64,
            alone: helps && threads == 1,
        });
        // Made first, so that the threads already running stop if one cannot be started.
        let workers = Self { shared: shared.clone(), helper: helps.then(Helper::default) };
        for _ in usize::from(helps)..threads {
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
    pub(super) fn take(&mut self, deadline: Option<Instant>) -> Option<Item<V>> {
        let shared = &*self.shared;
        let mut shelf = lock(&shared.shelf);
        loop {
            let next = shelf.next;
            if let Some(item) = shelf.items.remove(&next) {
                shelf.next += 1;
                // To sleep and be woken for each chunk costs more than to read on when half of them were taken.
                let roomy = shelf.unread <= shelf.next + shared.window / 2;
                let wanted = roomy && std::mem::take(&mut shelf.full);
                drop(shelf);
                if wanted {
                    shared.emptied.notify_one();
                }
                return Some(item);
            }
            if shelf.broken {
                let source = io::Error::other("a parsing thread failed; please report this");
                return Some(Item::Error(Error::Io { path: "-".into(), source }));
            }
            if let Some(helper) = &mut self.helper
                && (!shelf.offers.is_empty() || shared.may_read(&shelf))
            {
                let offer = shelf.offers.pop_front();
                shelf.reading |= offer.is_none();
                drop(shelf);
                // A fault of ours is an error here too, as it is where another thread finds it.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _alarm = Alarm(shared);
                    if let Some(task) = offer.or_else(|| shared.read(false, helper)) {
                        shared.perform(task, helper);
                    }
                }));
                shelf = lock(&shared.shelf);
                let late = deadline.is_some_and(|deadline| deadline <= Instant::now());
                if late && !shelf.broken && !shelf.items.contains_key(&shelf.next) {
                    return None;
                }
                continue;
            }
            shelf.waiting = self.helper.is_some();
            let filled = &shared.filled;
            shelf = match deadline.map(|deadline| deadline.checked_duration_since(Instant::now())) {
                None => filled.wait(shelf).unwrap_or_else(PoisonError::into_inner),
                Some(None) => {
                    shelf.waiting = false;
                    return None;
                }
                Some(Some(left)) => {
                    filled.wait_timeout(shelf, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            shelf.waiting = false;
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
        let mut helper = Helper::default();
        while let Some(task) = self.task(&mut helper) {
            if !self.perform(task, &mut helper) {
                return;
            }
        }
    }

    /// Does what there is to do, and puts the result on the shelf. Whether there may be more.
    fn perform(&self, task: Task<V>, helper: &mut Helper<V>) -> bool {
        let Task { number, mut block, step } = task;
        // A name is told where a worker sees it first: that must not be after it has seen what comes later.
        assert!(helper.begun <= number, "chunk {number} after chunk {}", helper.begun);
        helper.begun = number;
        let (item, buffer) = match step {
            Step::Pass(item) => (item, None),
            Step::Parse(chunk, start, decoder) => {
                let found = V::decode(&*decoder, &chunk[start..], &mut block, &mut helper.scratch);
                (Item::Rows(block, found), Some(chunk))
            }
        };
        let mut shelf = lock(&self.shelf);
        if shelf.stopped {
            return false;
        }
        shelf.items.insert(number, item);
        shelf.buffers.extend(helper.buffer.take());
        helper.buffer = buffer;
        let due = shelf.next == number;
        drop(shelf);
        if due {
            self.filled.notify_one();
        }
        true
    }

    /// What to do next: what somebody offers, or else what is read. `None` when all is to stop.
    fn task(&self, helper: &mut Helper<V>) -> Option<Task<V>> {
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
        if offer.is_some() || shelf.over {
            return offer;
        }
        shelf.reading = true;
        drop(shelf);
        self.read(true, helper)
    }

    /// Whether the taker may read something, and at once.
    fn may_read(&self, shelf: &Shelf<V>) -> bool {
        let quick = shelf.quick || self.alone;
        quick && !shelf.reading && !shelf.over && shelf.unread < shelf.next + self.window
    }

    /// Reads, and offers what was read as long as somebody is there to take it. Where there is no more room it waits, or
    /// else ends with nothing.
    fn read(&self, wait: bool, helper: &mut Helper<V>) -> Option<Task<V>> {
        let task = self.read_on(wait, helper);
        let mut shelf = lock(&self.shelf);
        shelf.reading = false;
        let work = !shelf.offers.is_empty() || self.may_read(&shelf);
        let (wanted, over) = (shelf.waiting && work, shelf.over);
        drop(shelf);
        // Somebody may have begun to wait for an offer just now.
        if over {
            self.offered.notify_all();
        } else {
            self.offered.notify_one();
        }
        if wanted {
            self.filled.notify_one();
        }
        task
    }

    fn read_on(&self, wait: bool, helper: &mut Helper<V>) -> Option<Task<V>> {
        let mut feed = lock(&self.feed);
        loop {
            let (number, block, buffer) = self.room(wait, helper)?;
            let step = feed.next(buffer);
            let quick = feed.is_quick();
            let mut shelf = lock(&self.shelf);
            shelf.quick = quick;
            let Some(step) = step else {
                shelf.over = true;
                return None;
            };
            shelf.unread += 1;
            shelf.offers.push_back(Task { number, block, step });
            let waiting = shelf.waiting;
            // The first of them, which may have been offered before. A copy is in this processor's caches: whoever has nothing to do
            // reads the next part himself.
            if quick || shelf.idle + usize::from(waiting) < shelf.offers.len() {
                return shelf.offers.pop_front();
            }
            let worker = shelf.idle >= shelf.offers.len();
            drop(shelf);
            if worker {
                self.offered.notify_one();
            } else {
                self.filled.notify_one();
            }
        }
    }

    /// Waits until something may be read; `None` when all is to stop, or it would have to wait and is not to.
    fn room(&self, wait: bool, helper: &mut Helper<V>) -> Option<(u64, Block<V>, Vec<u8>)> {
        let mut shelf = lock(&self.shelf);
        while wait && !shelf.stopped && shelf.unread >= shelf.next + self.window {
            shelf.full = true;
            shelf = self.emptied.wait(shelf).unwrap_or_else(PoisonError::into_inner);
        }
        // The taker has better things to do as soon as its block is there.
        let ready = !wait && shelf.items.contains_key(&shelf.next);
        if ready || shelf.stopped || shelf.unread >= shelf.next + self.window {
            return None;
        }
        let block = shelf.blocks.pop().unwrap_or_default();
        let buffer = helper.buffer.take().or_else(|| shelf.buffers.pop()).unwrap_or_default();
        Some((shelf.unread, block, buffer))
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
