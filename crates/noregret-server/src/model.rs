//! A model as the rest of the server sees it: where to send work, and what predictors read.

use crate::command::Space;
use crate::error::Refusal;
use crate::parse::Context;
use crate::state::held::examples;
use crate::state::{Point, State, pace};
use crate::worker::Task;
use arc_swap::ArcSwap;
use noregret::example::LabelMap;
use noregret::example::hash::DEFAULT_BITS;
use noregret::example::names::Schema;
use noregret::model::Reading;
use noregret::multiclass::Pupil;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{oneshot, watch};
use utoipa::ToSchema;

/// What labels and features mean. Seldom changes.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// What labels mean.
    pub labels: LabelMap,
    /// How features are placed.
    pub reading: Reading,
}

impl About {
    /// What kind of features there are, once that is known.
    pub fn space(&self) -> Option<Space> {
        Space::of_format(&self.reading.format)
    }
}

/// One version of a model, for predictors. Nobody changes it.
pub struct Published {
    /// The engine after some record of the log.
    pub engine: Arc<Pupil>,
    /// What labels and features meant then.
    pub about: Arc<About>,
}

impl Published {
    /// Of a state; what it is about is shared with the version before, where it is the same.
    pub fn of(state: &State, before: Option<&Arc<About>>) -> Self {
        let (labels, reading) = (&state.model.labels, &state.model.reading);
        let about = match before {
            Some(about) if about.labels == *labels && about.reading == *reading => about.clone(),
            _ => Arc::new(About { labels: labels.clone(), reading: reading.clone() }),
        };
        Self { engine: state.engine().clone(), about }
    }
}

/// A request that went wrong, for whoever looks after the server.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentError {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// The status that was answered.
    pub status: u16,
    /// The code.
    pub code: String,
    /// The message.
    pub message: String,
}

/// How many recent errors are kept.
const ERRORS: usize = 50;

/// How many seconds the throughput is told over.
const SECONDS: u64 = 10;

/// A model that is served.
pub struct Handle {
    /// Its number in the store.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// What predictors read.
    pub published: ArcSwap<Published>,
    /// Changes whenever something was learned.
    pub changes: watch::Sender<u64>,
    /// Which hashed places have a name already, by place modulo the number of bits.
    seen: Vec<AtomicU64>,
    /// Features at and beyond this are refused: the model would take too much memory.
    pub limit: u32,
    /// The most classes that may join.
    pub most_classes: u64,
    /// The last record of the log that was committed; for the committer alone.
    pub committed: AtomicU64,
    /// Bytes of log since the last snapshot.
    pub log_bytes: AtomicU64,
    /// It has been deleted.
    pub deleted: AtomicBool,
    tasks: std::sync::mpsc::Sender<Task>,
    errors: Mutex<VecDeque<RecentError>>,
    rate: Mutex<Rate>,
    /// The last point that was asked for.
    point: Mutex<Option<Point>>,
    next_id: AtomicU64,
}

impl Handle {
    pub(crate) fn new(
        id: u64,
        name: String,
        created: u64,
        state: &State,
        limit: u32,
        tasks: std::sync::mpsc::Sender<Task>,
    ) -> Self {
        let bits =
            state.model.reading.bits.or(state.model.reading.schema.bits).unwrap_or(DEFAULT_BITS).min(22);
        let handle = Self {
            id,
            name,
            created,
            published: ArcSwap::from_pointee(Published::of(state, None)),
            changes: watch::Sender::new(0),
            seen: (0..(1usize << bits).div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            limit,
            most_classes: state.most_classes,
            committed: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            deleted: AtomicBool::new(false),
            tasks,
            errors: Mutex::default(),
            rate: Mutex::default(),
            point: Mutex::default(),
            next_id: AtomicU64::new(random_id()),
        };
        for (place, _) in state.model.names.iter() {
            handle.see(place);
        }
        handle
    }

    /// What labels and features mean now. Whoever holds it keeps nobody waiting.
    pub fn about(&self) -> Arc<About> {
        self.published.load().about.clone()
    }

    /// Runs something with what the rows of a request are checked against.
    pub fn with_context<T>(
        &self,
        about: &About,
        most_features: usize,
        learning: bool,
        then: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let reading = &about.reading;
        let schema = if reading.format.is_empty() {
            Schema { columns: Vec::new(), bits: Some(reading.bits.unwrap_or(DEFAULT_BITS)) }
        } else {
            reading.schema.clone()
        };
        let has_name = |place| self.has_name(place);
        then(&Context { schema, has_name: &has_name, limit: self.limit, most_features, learning })
    }

    /// Whether a hashed place has a name already.
    pub fn has_name(&self, place: u32) -> bool {
        self.seen[self.word(place)].load(Ordering::Relaxed) >> (place % 64) & 1 == 1
    }

    pub(crate) fn see(&self, place: u32) {
        self.seen[self.word(place)].fetch_or(1 << (place % 64), Ordering::Relaxed);
    }

    /// Where the bit of a place is; there is a power of two of words.
    fn word(&self, place: u32) -> usize {
        (place as usize / 64) & (self.seen.len() - 1)
    }

    /// The first of so many new ids for predictions.
    pub fn new_ids(&self, count: u64) -> u64 {
        self.next_id.fetch_add(count, Ordering::Relaxed)
    }

    /// Hands work to the model's thread. `false` if it is gone.
    pub(crate) fn send(&self, task: Task) -> bool {
        self.tasks.send(task).is_ok()
    }

    /// Asks the model's thread, between two records.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (tell, told) = oneshot::channel();
        self.send(Task::Ask(Box::new(move |state| {
            let _ = tell.send(question(state));
        })));
        told.await.map_err(|_| Refusal::unknown_model(&self.name))
    }

    /// What is known now, or was a moment ago: making it goes through all weights, and those who ask often should not
    /// keep the model from learning.
    pub async fn point(&self) -> Result<Point, Refusal> {
        let (examples, pace) = {
            let engine = &self.published.load().engine;
            (examples(engine), pace(engine))
        };
        let now = crate::now();
        let known = self.point.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(point) =
            known.filter(|p| p.examples == examples || (p.time..p.time + pace).contains(&now))
        {
            return Ok(point);
        }
        let point = self.ask(move |state| Point::now(state.engine(), now)).await?;
        *self.point.lock().unwrap_or_else(PoisonError::into_inner) = Some(point.clone());
        Ok(point)
    }

    pub(crate) fn note_error(&self, refusal: &Refusal, time: u64) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.push_front(RecentError {
            time,
            status: refusal.status.as_u16(),
            code: refusal.code.to_owned(),
            message: refusal.body().error.message,
        });
        errors.truncate(ERRORS);
    }

    /// The last requests that went wrong, the latest first.
    pub fn recent_errors(&self) -> Vec<RecentError> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn note_learned(&self, examples: u64, time: u64) {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner).add(examples, time / 1000);
    }

    /// Examples learned a second, over the last ten seconds.
    pub fn throughput(&self, time: u64) -> f64 {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner).at(time / 1000)
    }
}

/// Where ids begin: nobody knows, so that they are not used twice after a crash.
fn random_id() -> u64 {
    getrandom::u64().unwrap_or_else(|_| crate::now() << 20)
}

/// Counts what was learned in the last seconds.
#[derive(Default)]
struct Rate(VecDeque<(u64, u64)>);

impl Rate {
    fn add(&mut self, examples: u64, second: u64) {
        // Where the clock was set back, what is told of later has not happened yet.
        self.0.retain(|(s, _)| (second.saturating_sub(SECONDS)..=second).contains(s));
        match self.0.back_mut() {
            Some((last, count)) if *last == second => *count += examples,
            _ => self.0.push_back((second, examples)),
        }
    }

    fn at(&self, second: u64) -> f64 {
        let lately = second.saturating_sub(SECONDS - 1)..=second;
        let learned: u64 = self.0.iter().filter(|(s, _)| lately.contains(s)).map(|(_, n)| n).sum();
        learned as f64 / SECONDS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_ten_seconds_also_when_the_clock_is_set_back() {
        let mut rate = Rate::default();
        for second in (1000..1100).chain(500..600) {
            rate.add(30, second);
            rate.add(20, second);
        }
        assert_eq!((rate.at(599), rate.at(604), rate.at(700), rate.at(400)), (50.0, 25.0, 0.0, 0.0));
        assert!(rate.0.len() <= 11);
    }
}
