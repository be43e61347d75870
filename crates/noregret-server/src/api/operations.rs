//! For whoever looks after the server; and the registries, for whoever makes models.

use super::App;
use crate::error::Refusal;
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, description = "It is")))]
pub(crate) async fn healthz(State(app): State<Arc<App>>) -> Json<Value> {
    let seconds = crate::now().saturating_sub(app.started) / 1000;
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "seconds": seconds}))
}

/// Whether requests should be sent here.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses((status = 200, description = "They should"), (status = 503, description = "The store cannot be written, or the server is about to end")))]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Json<Value>, Refusal> {
    let health = &app.models.health;
    if health.ending.load(Ordering::Relaxed) {
        return Err(Refusal::unavailable("ending", "the server is about to end"));
    }
    match health.trouble() {
        Some(trouble) => Err(Refusal::unavailable("storage_failed", trouble)),
        None => Ok(Json(json!({"status": "ready"}))),
    }
}

/// Counts for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations", responses((status = 200, description = "OpenMetrics text", content_type = "application/openmetrics-text", body = String)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app.metrics.text(&app.models).await;
    ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}

/// The learners, with their parameters.
#[utoipa::path(get, path = "/v1/learners", tag = "registries", responses((status = 200, description = "The registry", body = Value)))]
pub(crate) async fn learners() -> Json<Value> {
    Json(json!({"learners": noregret::learner::ENTRIES}))
}

/// The losses, with their parameters.
#[utoipa::path(get, path = "/v1/losses", tag = "registries", responses((status = 200, description = "The registry", body = Value)))]
pub(crate) async fn losses() -> Json<Value> {
    Json(json!({"losses": noregret::loss::ENTRIES}))
}
