//! Keeps sources going: waits for their model, starts them, and starts them again.

use super::Feed;
use super::spec::{Origin, Spec};
use super::{file, nats, redis};
use crate::error::Refusal;
use crate::models::Models;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How often it is seen whether a model has been made.
const LOOK: Duration = Duration::from_millis(500);

/// How long a source that failed rests: from this, to twenty times this.
const REST: Duration = Duration::from_millis(500);

/// A source that has run for so long has not failed at once.
const WELL: Duration = Duration::from_secs(30);

/// What comes at a time.
pub(super) const MOST_ROWS: usize = 512;

/// Starts all sources. They end when the set is dropped; what they have given is durable or will be given again.
pub fn start(models: &Arc<Models>, specs: Vec<Spec>) -> JoinSet<()> {
    let mut sources = JoinSet::new();
    for spec in specs {
        sources.spawn(tend(models.clone(), spec));
    }
    sources
}

async fn tend(models: Arc<Models>, spec: Spec) {
    let name = spec.name();
    let (mut rest, mut told) = (REST, String::new());
    loop {
        let Ok(feed) = Feed::new(models.clone(), &spec.model, name.clone()) else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        tracing::info!(source = name, model = spec.model, "reading");
        let began = Instant::now();
        let ended = match &spec.origin {
            _ if !feed.handle.about().reading.selection.is_empty() => Err("the model multiplies or leaves out \
                 columns, which examples of a source cannot be: teach it over HTTP with the text it was learned from"
                .to_owned()),
            Origin::File(path) => file::run(&feed, path).await,
            Origin::Redis { server, stream, field } => redis::run(&feed, server, stream, field).await,
            Origin::Nats { server, stream, subject, credentials } => {
                nats::run(&feed, server, stream, subject.as_deref(), credentials.as_deref()).await
            }
        };
        if feed.is_over() {
            tokio::time::sleep(LOOK).await;
            continue;
        }
        if began.elapsed() >= WELL {
            (rest, told) = (REST, String::new());
        }
        if let Err(message) = ended {
            // The same again is not told again: what went wrong before it should stay in sight.
            if message != told {
                tracing::warn!(
                    source = name,
                    model = spec.model,
                    message,
                    "a source failed; it is tried again"
                );
                feed.note(&Refusal::unavailable("source_failed", format!("{name}: {message}")));
                told = message;
            }
        }
        tokio::time::sleep(rest).await;
        rest = (2 * rest).min(20 * REST);
    }
}

impl Feed {
    /// Gives lines, each an example, until they are durable. `place` says where a line is from. `false` when the model
    /// is gone.
    pub(super) async fn give(&self, lines: &[u8], position: u128, place: impl Fn(usize) -> String) -> bool {
        let (mut batch, refused) = self.parse(lines);
        for (k, refusal) in &refused {
            let message = format!("{}: {}", place(*k), refusal.message);
            self.leave_out(&Refusal { message, ..refusal.clone() });
        }
        let mut rest = REST;
        while !self.is_over() {
            match self.learn(batch, position).await {
                Err(refusal) if refusal.status.is_server_error() => {}
                answer => return answer.is_ok() || !self.is_over(),
            }
            tokio::time::sleep(rest).await;
            rest = (2 * rest).min(20 * REST);
            batch = self.parse(lines).0;
        }
        false
    }

    /// The longest example that is read.
    pub(super) fn most_bytes(&self) -> usize {
        self.models.settings().most_body
    }
}
