//! The thread of a model: it learns what has become durable, publishes a version for predictors, and answers.
//!
//! There are two engines in the same state. Predictors read one while the thread changes the other; then the two
//! change places, and the one that was read becomes equal to the other. So a prediction never waits, is always of one
//! version, and costs nothing more when the model is large, which a copy of all weights after every batch would.
//! Where the learner can tell, what many rows changed is copied; otherwise they are learned again, which is
//! deterministic to the bit. Either way the two never differ. They take twice the memory.

use crate::command::Entry;
use crate::committer::Write;
use crate::error::Refusal;
use crate::model::{Handle, Published};
use crate::state::held::examples;
use crate::state::{Answer, Held, State, Step, repeat, unpacked_length};
use crate::store::Change;
use noregret::model::ModelOf;
use noregret::multiclass::Pupil;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Whoever waits for the answer to a command, and the room that the request takes.
#[derive(Default)]
pub struct Waiting {
    /// Nobody, where the answer does not matter.
    pub reply: Option<oneshot::Sender<Answer>>,
    /// Given back when the work is done.
    pub room: Option<OwnedSemaphorePermit>,
}

impl Waiting {
    pub(crate) fn answer(self, answer: Answer) {
        if let Some(reply) = self.reply {
            let _ = reply.send(answer);
        }
    }
}

/// Work for a model's thread.
pub enum Task {
    /// A record of the log, durable now.
    Learn {
        /// Its number.
        number: u64,
        /// What it says.
        entry: Entry,
        /// Who waits, command by command.
        waiting: Vec<Waiting>,
    },
    /// A question.
    Ask(Box<dyn FnOnce(&State) + Send>),
    /// The end: a last snapshot if there is anything new, unless the model is deleted.
    Finish,
}

/// How many records are learned before a version is published.
const MOST_RECORDS: usize = 64;

/// A model with its twin.
pub struct Worker {
    handle: Weak<Handle>,
    state: State,
    /// The last record that was learned.
    number: u64,
    /// A snapshot is taken when the log has grown by this many bytes (and by its own length).
    snapshot_bytes: u64,
    snapshot_length: u64,
    committer: Sender<Write>,
}

/// An engine in the same state.
pub(crate) fn double(state: &State) -> Result<Arc<Pupil>, String> {
    let twin = ModelOf::<Held>::from_bytes(&state.model.to_bytes())?;
    Ok(twin.engine.0)
}

impl Worker {
    /// Starts the thread. `state` has learned everything up to record `number`; `handle` publishes its twin.
    pub(crate) fn start(
        handle: &Arc<Handle>,
        state: State,
        number: u64,
        snapshot_bytes: u64,
        committer: Sender<Write>,
        tasks: Receiver<Task>,
    ) -> std::io::Result<std::thread::JoinHandle<()>> {
        let worker = Self {
            handle: Arc::downgrade(handle),
            state,
            number,
            snapshot_bytes,
            snapshot_length: 0,
            committer,
        };
        let name = format!("model {}", handle.name);
        std::thread::Builder::new().name(name).spawn(move || worker.run(&tasks))
    }

    fn run(mut self, tasks: &Receiver<Task>) {
        let mut next = tasks.recv().ok();
        while let Some(task) = next.take() {
            match task {
                Task::Ask(question) => question(&self.state),
                Task::Finish => return self.finish(),
                Task::Learn { number, entry, waiting } => {
                    let mut records = vec![(number, entry, waiting)];
                    while records.len() < MOST_RECORDS {
                        match tasks.try_recv() {
                            Ok(Task::Learn { number, entry, waiting }) => {
                                records.push((number, entry, waiting));
                            }
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.learn(records);
                }
            }
            if next.is_none() {
                next = tasks.recv().ok();
            }
        }
    }

    fn learn(&mut self, records: Vec<(u64, Entry, Vec<Waiting>)>) {
        let Some(handle) = self.handle.upgrade() else { return };
        let before = examples(self.state.engine());
        let (mut steps, mut answers, mut waiters) = (Vec::new(), Vec::new(), Vec::new());
        let mut time = 0;
        for (number, entry, waiting) in records {
            time = entry.time;
            let names: Vec<u32> = entry.names().collect();
            self.state.apply(entry, &mut steps, &mut answers);
            for place in names {
                handle.see(place);
            }
            waiters.extend(waiting);
            self.number = number;
        }
        let learned = examples(self.state.engine()) - before;
        let old = (!steps.is_empty()).then(|| {
            let about = handle.about();
            handle.published.swap(Arc::new(Published::of(&self.state, Some(&about))))
        });
        for (waiting, answer) in waiters.into_iter().zip(answers) {
            waiting.answer(answer);
        }
        if let Some(old) = old {
            self.catch_up(old, &steps);
        }
        if learned > 0 {
            handle.note_learned(learned, time);
            handle.changes.send_replace(examples(self.state.engine()));
        }
        let grown = handle.log_bytes.load(Ordering::Relaxed);
        if grown > self.snapshot_bytes.max(self.snapshot_length) {
            self.snapshot(&handle);
        }
    }

    /// Waits until nobody reads the old version any more, and does to its engine what was done to the other.
    fn catch_up(&mut self, mut old: Arc<Published>, steps: &[Step]) {
        let mut patience = 0;
        let mut engine = loop {
            match Arc::try_unwrap(old) {
                Ok(published) => break published.engine,
                Err(still) => old = still,
            }
            patience += 1;
            if patience < 100 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_micros(50));
            }
        };
        // The worker's own engine was published; the other is its alone now.
        if let Some(alone) = Arc::get_mut(&mut engine) {
            repeat(steps, alone, self.state.engine());
            self.state.model.engine = Held(engine);
        } else {
            tracing::error!("a reader kept an engine; making another");
            if let Ok(engine) = double(&self.state) {
                self.state.model.engine = Held(engine);
            }
        }
    }

    fn snapshot(&mut self, handle: &Handle) {
        // What could not be read back is not written; the log says how it came to this.
        if self.state.several().is_some_and(|several| !several.is_whole()) {
            return;
        }
        let Some(bytes) = self.state.to_sound_bytes() else { return };
        self.snapshot_length = unpacked_length(&bytes);
        handle.log_bytes.store(0, Ordering::Relaxed);
        let _ = self.committer.send(Write::Change {
            changes: vec![Change::Snapshot {
                model: handle.id,
                name: handle.name.clone(),
                created: handle.created,
                upto: self.number,
                bytes,
            }],
            done: None,
        });
    }

    fn finish(mut self) {
        let Some(handle) = self.handle.upgrade() else { return };
        if !handle.deleted.load(Ordering::Relaxed) && handle.log_bytes.load(Ordering::Relaxed) > 0 {
            self.snapshot(&handle);
        }
    }
}

impl Entry {
    /// The places whose names it brings.
    fn names(&self) -> impl Iterator<Item = u32> + '_ {
        self.commands
            .iter()
            .flat_map(|command| match command {
                crate::command::Command::Learn(learn) => &learn.names[..],
                _ => &[],
            })
            .map(|(place, _)| *place)
    }
}

/// What is answered to whoever waits when the model is gone.
pub(crate) fn gone(name: &str) -> Answer {
    Err(Refusal::unknown_model(name))
}
