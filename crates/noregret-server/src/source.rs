//! Examples that come by themselves: the way of a source (a queue, a followed file) into a model.
//!
//! A source reads on from [`Feed::position`], gives each batch with the position of its last example to
//! [`Feed::learn`], and acknowledges to wherever it reads from when that returns. The position is written in the same
//! transaction as the examples; a batch whose position is not beyond the last one is not learned again. So the source
//! may give a batch as often as it likes, and may be killed anywhere.
//!
//! `spec` reads what is wanted, `run` keeps it going; `file`, `redis` and `nats` are where examples come from.

pub mod file;
pub mod nats;
pub mod redis;
pub mod run;
pub mod spec;

use crate::command::{Command, Learn, Offset};
use crate::error::Refusal;
use crate::model::Handle;
use crate::models::Models;
use crate::parse::{Maker, Parsed, json};
use crate::state::Answer;
use noregret::example::Block;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The way of one source into one model.
pub struct Feed {
    models: Arc<Models>,
    handle: Arc<Handle>,
    source: String,
    /// How many examples were left out since the last batch.
    left_out: AtomicU64,
}

impl Feed {
    /// For a model and a source by its name, under which its position is kept.
    pub fn new(models: Arc<Models>, model: &str, source: impl Into<String>) -> Result<Self, Refusal> {
        let handle = models.get(model)?;
        Ok(Self { models, handle, source: source.into(), left_out: AtomicU64::new(0) })
    }

    /// The position of the last example that was learned; none before the first.
    pub async fn position(&self) -> Result<Option<u128>, Refusal> {
        let source = self.source.clone();
        self.handle.ask(move |state| state.offsets.get(&source).copied()).await
    }

    /// The rows of JSON lines, each an example. A line that cannot be read is told (by its number, from 0) and left out.
    pub fn parse(&self, lines: &[u8]) -> (Parsed, Vec<(usize, Refusal)>) {
        let about = self.handle.about();
        let most = self.models.settings().most_features;
        self.handle.with_context(&about, most, true, |context| {
            let mut all = Parsed { block: Block::new(), ..Parsed::default() };
            let mut refused = Vec::new();
            for (k, line) in lines.split(|b| *b == b'\n').enumerate() {
                match json::line(Maker::new(context), line).map(Maker::parsed) {
                    Ok(parsed) => {
                        if let Err(refusal) = all.append(parsed) {
                            refused.push((k, refusal));
                        }
                    }
                    Err(refusal) => refused.push((k, refusal)),
                }
            }
            (all, refused)
        })
    }

    /// Learns a batch whose last example is at `position`. On return it is durable and learned, or will never be: an
    /// error of status 4xx tells of examples that were left out, and the position has moved on all the same; at any
    /// other error the batch must be given again. A batch without rows moves the position. Examples that were left out
    /// before are counted with it.
    pub async fn learn(&self, batch: Parsed, position: u128) -> Answer {
        let Parsed { block, names, space, .. } = batch;
        let space = space.or(self.handle.about().space()).unwrap_or(crate::command::Space::Names);
        let refused = self.left_out.load(Ordering::Relaxed);
        let offset = Some(Offset { source: self.source.clone(), position, refused });
        let learn = Learn { key: None, offset, space, predict: false, names, block };
        let answer = self.models.submit(&self.handle, Command::Learn(learn)).await;
        if let Err(refusal) = &answer {
            self.handle.note_error(refusal, crate::now());
        }
        if !matches!(&answer, Err(refusal) if refusal.status.is_server_error()) {
            self.left_out.fetch_sub(refused, Ordering::Relaxed);
        }
        answer
    }

    /// Tells of an example that could not be read, and counts it with the next batch.
    pub fn leave_out(&self, refusal: &Refusal) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
        self.note(refusal);
    }

    /// Tells of something that went wrong, for whoever looks at recent errors.
    pub fn note(&self, refusal: &Refusal) {
        self.handle.note_error(refusal, crate::now());
    }

    /// Whether the model has been deleted: the source has nothing more to do.
    pub fn is_over(&self) -> bool {
        self.handle.deleted.load(Ordering::Relaxed)
    }
}
