//! Server-sent events: what changes, as it changes.

use super::App;
use crate::error::{ErrorBody, Refusal};
use crate::model::Handle;
use crate::models::Slot;
use crate::state::held::examples;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// No more often than this.
const PACE: Duration = Duration::from_millis(500);

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

fn overview(app: &App) -> Value {
    let now = crate::now();
    let models: Vec<Value> = app
        .models
        .list()
        .into_iter()
        .map(|(name, slot)| match slot {
            Slot::Damaged { message, .. } => json!({"name": name, "state": "damaged", "message": message}),
            Slot::Served(handle) => {
                let published = handle.published.load();
                json!({
                    "name": name,
                    "state": "served",
                    "examples": examples(&published.engine),
                    "average_loss": published.engine.average_loss(),
                    "examples_per_second": handle.throughput(now),
                    "errors": handle.recent_errors().first().map(|e| e.time),
                })
            }
        })
        .collect();
    json!({"models": models, "store": app.models.health.trouble()})
}

/// What happens to all models: an event `models` at once, and then whenever something has changed.
#[utoipa::path(get, path = "/v1/events", tag = "events",
    responses((status = 200, description = "Server-sent events `models`", content_type = "text/event-stream", body = String)))]
pub(crate) async fn all(State(app): State<Arc<App>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold((app, Value::Null), |(app, last)| async move {
        loop {
            if app.models.health.ending.load(Ordering::Relaxed) {
                return None;
            }
            let told = overview(&app);
            if told != last {
                return Some((Ok(event("models", &told)), (app, told)));
            }
            tokio::time::sleep(PACE).await;
        }
    });
    Sse::new(paced(events)).keep_alive(KeepAlive::default())
}

/// At most one item each half second.
fn paced<T>(items: impl Stream<Item = T>) -> impl Stream<Item = T> {
    let items = Box::pin(items);
    stream::unfold((items, true), |(mut items, first)| async move {
        use futures_util::StreamExt;
        if !first {
            tokio::time::sleep(PACE).await;
        }
        let item = items.next().await?;
        Some((item, (items, false)))
    })
}

async fn told(handle: &Handle) -> Option<Value> {
    let point = handle.point().await.ok()?;
    let now = crate::now();
    let asked = handle.ask(move |state| (state.pending(now), state.counts.labelled)).await;
    let ((pending, expired), labelled) = asked.ok()?;
    Some(json!({
        "name": handle.name,
        "point": point,
        "examples_per_second": handle.throughput(now),
        "pending": pending,
        "labelled": labelled,
        "expired": expired,
        "errors": handle.recent_errors(),
    }))
}

/// What happens to a model: an event `model` at once, and whenever something was learned; `deleted` at its end.
#[utoipa::path(get, path = "/v1/models/{name}/events", tag = "events", params(("name" = String, Path, description = "The model")),
    responses((status = 200, description = "Server-sent events `model` and `deleted`", content_type = "text/event-stream", body = String), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let handle = app.models.get(&name)?;
    let events = stream::unfold((app, handle, Value::Null, false), |(app, handle, last, over)| async move {
        loop {
            if over || app.models.health.ending.load(Ordering::Relaxed) {
                return None;
            }
            if handle.deleted.load(Ordering::Relaxed) {
                let gone = event("deleted", &json!({"name": handle.name}));
                return Some((Ok(gone), (app, handle, last, true)));
            }
            let now = told(&handle).await?;
            if now["point"]["examples"] != last["point"]["examples"]
                || now["errors"] != last["errors"]
                || now["examples_per_second"] != last["examples_per_second"]
                || now["pending"] != last["pending"]
            {
                return Some((Ok(event("model", &now)), (app, handle, now, false)));
            }
            tokio::time::sleep(PACE).await;
        }
    });
    Ok(Sse::new(paced(events)).keep_alive(KeepAlive::default()))
}
