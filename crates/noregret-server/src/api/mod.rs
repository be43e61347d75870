//! The HTTP API: one file for each thing that can be asked, and the table of them.

mod body;
mod certificate;
mod events;
mod file;
mod gate;
mod label;
mod learn;
mod make;
mod metrics;
mod models;
mod openapi;
mod operations;
mod page;
mod predict;

pub use body::Room;
pub use metrics::Metrics;

use crate::auth::Tokens;
use crate::error::Refusal;
use crate::models::Models;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What every request can reach.
pub struct App {
    /// The models.
    pub models: Arc<Models>,
    /// Who may do what; nobody is asked where there are none.
    pub tokens: Option<Tokens>,
    /// What is counted.
    pub metrics: Metrics,
    /// How many requests may be under way.
    pub requests: Semaphore,
    /// Room for bodies that are read whole.
    pub bodies: Room,
    /// Model files are large: one at a time is taken in.
    pub uploads: Semaphore,
    /// Each text that is being read has a thread; others need some too.
    pub readers: Arc<Semaphore>,
    /// When the server started, in milliseconds since 1970.
    pub started: u64,
}

/// The table of requests.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .route("/metrics", get(operations::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/learners", get(operations::learners))
        .route("/v1/losses", get(operations::losses))
        .route("/v1/events", get(events::all))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{name}", get(models::describe).put(models::create).delete(models::delete))
        .route("/v1/models/{name}/learn", post(learn::learn))
        .route("/v1/models/{name}/predict", post(predict::predict))
        .route("/v1/models/{name}/label", post(label::label))
        .route("/v1/models/{name}/certificate", get(certificate::certificate))
        .route("/v1/models/{name}/history", get(certificate::history))
        .route("/v1/models/{name}/features", get(certificate::features))
        .route("/v1/models/{name}/errors", get(certificate::errors))
        .route("/v1/models/{name}/events", get(events::one))
        .route("/v1/models/{name}/model", get(file::download).put(file::upload))
        .merge(page::routes())
        .fallback(|| async {
            Refusal::new(StatusCode::NOT_FOUND, "unknown_path", "there is nothing here; see /openapi.json")
        })
        .method_not_allowed_fallback(|| async {
            Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "unknown_method",
                "this path is not asked like that; see /openapi.json",
            )
        })
        .layer(axum::middleware::from_fn_with_state(app.clone(), gate::gate))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(gate::panicked))
        .with_state(app)
}
