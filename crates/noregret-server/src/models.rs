//! All models: making, finding and ending them, and the way of a command from a request to its answer.

use crate::command::{Command, Entry};
use crate::committer::{Committer, Handles, Health, Manner, Write};
use crate::error::Refusal;
use crate::model::{Handle, Published};
use crate::settings::{Durability, Settings};
use crate::state::{Answer, Held, State};
use crate::store::{Change, Store, StoreError};
use crate::worker::{Task, Waiting, Worker, double};
use noregret::example::format::LARGEST_DIMENSION;
use noregret::example::hash::DEFAULT_BITS;
use noregret::learner;
use noregret::model::ModelOf;
use noregret::multiclass::Pupil;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::thread::JoinHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// A model under its name.
#[derive(Clone)]
pub enum Slot {
    /// It is served.
    Served(Arc<Handle>),
    /// What the store holds of it cannot be read.
    Damaged {
        /// Its number in the store.
        id: u64,
        /// What is wrong.
        message: String,
    },
}

/// All models.
pub struct Models {
    slots: RwLock<BTreeMap<String, Slot>>,
    handles: Handles,
    writes: Sender<Write>,
    /// For requests that wait to be learned, in kilobytes.
    room: Arc<Semaphore>,
    room_kilobytes: u32,
    settings: Settings,
    /// How the store does.
    pub health: Arc<Health>,
    /// Held while a model is made or ended.
    changing: tokio::sync::Mutex<()>,
    next: AtomicU64,
    threads: Mutex<Vec<JoinHandle<()>>>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

/// The least index that a model refuses, so that its two engines stay within the memory allowed.
pub(crate) fn limit(engine: &Pupil, settings: &Settings) -> u32 {
    let config = engine.config();
    if engine.multiclass().is_some() {
        // Classes share what is left.
        return config.dimension.unwrap_or_else(|| (engine.dimension() as u32).max(1 << DEFAULT_BITS));
    }
    let fits = settings.most_model_memory / (2 * bytes_per_feature(engine));
    u32::try_from(fits).unwrap_or(u32::MAX).min(config.dimension.unwrap_or(LARGEST_DIMENSION))
}

/// The most classes of any model: each has more to it than its features.
pub(crate) const MOST_CLASSES: u64 = 1000;

/// The most classes that a model may have, so that its two engines stay within the memory allowed.
pub(crate) fn most_classes(engine: &Pupil, settings: &Settings) -> u64 {
    let Some(several) = engine.multiclass() else { return 0 };
    let each = 2 * bytes_per_feature(engine) * u64::from(limit(engine, settings)).max(1);
    // Those that have not joined have a learner together.
    let fits = (settings.most_model_memory / each).saturating_sub(u64::from(!several.is_closed()));
    let fits = fits.min(MOST_CLASSES);
    if several.is_closed() { fits.min(several.classes() as u64) } else { fits }
}

/// What a feature takes in one engine; of several classes, for each.
fn bytes_per_feature(engine: &Pupil) -> u64 {
    let config = engine.config();
    let composed = engine.multiclass().is_none_or(|several| several.entry().is_composed());
    let Some(entry) = learner::find(&config.learner).ok().filter(|_| composed) else {
        // Two matrices, with room for classes up to the next power of two.
        return 32;
    };
    let (plain, averaged) = entry.bytes_per_feature;
    let bytes = if config.average { averaged.unwrap_or(plain) } else { plain };
    (bytes as u64).max(8)
}

impl Models {
    /// Opens the store and brings every model to where its log ends.
    pub fn open(settings: Settings) -> Result<Arc<Self>, StoreError> {
        let store = Store::open(settings.place.clone())?;
        let (writes, received) = mpsc::channel();
        let room_kilobytes = u32::try_from(settings.most_queued / 1024).unwrap_or(u32::MAX).max(64);
        let models = Self {
            slots: RwLock::default(),
            handles: Handles::default(),
            writes,
            room: Arc::new(Semaphore::new(room_kilobytes as usize)),
            room_kilobytes,
            health: Arc::default(),
            changing: tokio::sync::Mutex::default(),
            next: AtomicU64::new(1),
            threads: Mutex::default(),
            committer: Mutex::default(),
            settings,
        };
        for (id, record) in store.models()? {
            models.next.fetch_max(id + 1, Ordering::Relaxed);
            let name = record.as_ref().map_or_else(|_| format!("damaged-{id}"), |record| record.name.clone());
            let slot = match record.map_err(|e| e.to_string()).and_then(|r| models.load(&store, id, &r)) {
                Ok(handle) => Slot::Served(handle),
                Err(message) => {
                    tracing::error!(model = name, message, "a model cannot be read from the store");
                    Slot::Damaged { id, message }
                }
            };
            models.slots.write().unwrap_or_else(PoisonError::into_inner).insert(name, slot);
        }
        let manner = Manner {
            sync: models.settings.durability == Durability::Sync,
            most_pending: models.settings.most_pending,
        };
        let committer = Committer::new(store, manner, models.handles.clone(), models.health.clone());
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || committer.run(&received))
            .map_err(|e| StoreError::Failed(format!("no thread for the store: {e}")))?;
        *models.committer.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(Arc::new(models))
    }

    fn load(&self, store: &Store, id: u64, record: &crate::store::Record) -> Result<Arc<Handle>, String> {
        let loaded = store.load(id, record).map_err(|e| e.to_string())?;
        let mut state = State::from_bytes(&loaded.snapshot)
            .map_err(|e| format!("the snapshot of model `{}`: {e}", record.name))?;
        let (mut number, mut log_bytes) = (record.upto, 0);
        let (mut steps, mut answers) = (Vec::new(), Vec::new());
        for (next, bytes) in loaded.log {
            let entry = Entry::read(&bytes)
                .map_err(|e| format!("record {next} of the log of model `{}`: {e}", record.name))?;
            state.apply(entry, &mut steps, &mut answers);
            steps.clear();
            answers.clear();
            number = next;
            log_bytes += bytes.len() as u64;
        }
        let handle = self.serve(id, record.name.clone(), record.created, state, number)?;
        handle.log_bytes.store(log_bytes, Ordering::Relaxed);
        Ok(handle)
    }

    /// Starts the thread of a model.
    fn serve(
        &self,
        id: u64,
        name: String,
        created: u64,
        state: State,
        number: u64,
    ) -> Result<Arc<Handle>, String> {
        let (tasks, received) = mpsc::channel();
        let limit = limit(state.engine(), &self.settings);
        let handle = Arc::new(Handle::new(id, name, created, &state, limit, tasks));
        handle.committed.store(number, Ordering::Relaxed);
        // Predictors read the twin.
        let twin = Published { engine: double(&state)?, ..Published::of(&state, None) };
        drop(handle.published.swap(Arc::new(twin)));
        let writes = self.writes.clone();
        let thread = Worker::start(&handle, state, number, self.settings.snapshot_bytes, writes, received)
            .map_err(|e| format!("no thread for model `{}`: {e}", handle.name))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).insert(id, handle.clone());
        Ok(handle)
    }

    /// What was set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All names, in order.
    pub fn list(&self) -> Vec<(String, Slot)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(name, slot)| (name.clone(), slot.clone())).collect()
    }

    /// A model that is served.
    pub fn get(&self, name: &str) -> Result<Arc<Handle>, Refusal> {
        match self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            Some(Slot::Served(handle)) => Ok(handle.clone()),
            Some(Slot::Damaged { message, .. }) => Err(Refusal::unavailable(
                "damaged",
                format!("model `{name}` cannot be read: {message}; upload a copy of it, or delete it"),
            )),
            None => Err(Refusal::unknown_model(name)),
        }
    }

    /// Makes a model, durably. With `replace` it takes the place of another of its name.
    pub async fn create(
        &self,
        name: &str,
        model: ModelOf<Held>,
        replace: bool,
    ) -> Result<Arc<Handle>, Refusal> {
        let _changing = self.changing.lock().await;
        let exists = self.slots.read().unwrap_or_else(PoisonError::into_inner).contains_key(name);
        if exists && !replace {
            return Err(Refusal::conflict("exists", format!("there is a model `{name}` already")));
        }
        let count = self.slots.read().unwrap_or_else(PoisonError::into_inner).len();
        if !exists && count >= self.settings.most_models {
            return Err(Refusal::new(
                axum::http::StatusCode::INSUFFICIENT_STORAGE,
                "too_many_models",
                format!(
                    "there are {count} models, and no more are allowed (--max-models): delete one that is not needed"
                ),
            ));
        }
        let (id, created) = (self.next.fetch_add(1, Ordering::Relaxed), crate::now());
        let most = most_classes(&model.engine.0, &self.settings);
        let state = State::new(model, most);
        let snapshot =
            Change::Snapshot { model: id, name: name.to_owned(), created, upto: 0, bytes: state.to_bytes() };
        if exists {
            self.end(name, vec![snapshot]).await?;
        } else {
            self.change(vec![snapshot]).await?;
        }
        let handle = self.serve(id, name.to_owned(), created, state, 0).map_err(|message| {
            Refusal::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
        })?;
        let slot = Slot::Served(handle.clone());
        self.slots.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), slot);
        Ok(handle)
    }

    /// Ends a model, durably.
    pub async fn delete(&self, name: &str) -> Result<(), Refusal> {
        let _changing = self.changing.lock().await;
        self.end(name, Vec::new()).await
    }

    /// Ends a model, and makes another change with it.
    async fn end(&self, name: &str, mut changes: Vec<Change>) -> Result<(), Refusal> {
        let slot = self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let Some(slot) = slot else { return Err(Refusal::unknown_model(name)) };
        let id = match &slot {
            Slot::Served(handle) => {
                handle.deleted.store(true, Ordering::Relaxed);
                handle.id
            }
            Slot::Damaged { id, .. } => *id,
        };
        changes.insert(0, Change::Delete { model: id });
        if let Err(refusal) = self.change(changes).await {
            if let Slot::Served(handle) = &slot {
                handle.deleted.store(false, Ordering::Relaxed);
            }
            return Err(refusal);
        }
        self.slots.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Slot::Served(handle) = slot {
            handle.send(Task::Finish);
            handle.changes.send_modify(|_| {});
        }
        Ok(())
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), Refusal> {
        let (done, wait) = oneshot::channel();
        let sent = self.writes.send(Write::Change { changes, done: Some(done) });
        if sent.is_err() {
            return Err(ending());
        }
        wait.await.unwrap_or_else(|_| Err(ending()))
    }

    /// Room for a request of so many bytes; waits until there is some.
    pub async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let kilobytes = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(self.room_kilobytes);
        self.room.clone().acquire_many_owned(kilobytes).await.map_err(|_| ending())
    }

    /// Makes a command durable, lets the model do it, and waits for the answer.
    pub async fn submit(&self, model: &Arc<Handle>, command: Command) -> Answer {
        let mut bytes = Vec::new();
        command.put(&mut bytes);
        let room = Some(self.room(2 * bytes.len()).await?);
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting { reply: Some(reply), room };
        let write = Write::Append { model: model.clone(), command, bytes, lazy: false, waiting };
        if self.writes.send(write).is_err() {
            return Err(ending());
        }
        answer.await.unwrap_or_else(|_| Err(ending()))
    }

    /// The same for a command whose answer nobody waits for. `false` where there is no room at the moment.
    pub fn submit_lazily(&self, model: &Arc<Handle>, command: Command) -> bool {
        let mut bytes = Vec::new();
        command.put(&mut bytes);
        let kilobytes = u32::try_from(2 * bytes.len() / 1024 + 1).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().try_acquire_many_owned(kilobytes) else { return false };
        let waiting = Waiting { reply: None, room: Some(room) };
        self.writes.send(Write::Append { model: model.clone(), command, bytes, lazy: true, waiting }).is_ok()
    }

    /// Ends everything: last snapshots, then the store. Blocks.
    pub fn finish(&self) {
        self.health.ending.store(true, Ordering::Relaxed);
        for (_, slot) in self.list() {
            if let Slot::Served(handle) = slot {
                handle.send(Task::Finish);
            }
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
        let _ = self.writes.send(Write::Stop);
        if let Some(thread) = self.committer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

fn ending() -> Refusal {
    Refusal::unavailable("ending", "the server is about to end; ask again when it is back")
}
