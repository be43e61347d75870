//! `/v1/models/{name}/model`: the model file, the same as the command's.

use super::App;
use super::body;
use crate::error::{ErrorBody, Refusal};
use crate::state::{Held, held};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use noregret::model::ModelOf;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Download the model file.
#[utoipa::path(get, path = "/v1/models/{name}/model", tag = "models", params(("name" = String, Path, description = "The model")),
    responses((status = 200, description = "A file for `noregret predict`, `inspect`, `learn --resume`", content_type = "application/octet-stream", body = Vec<u8>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn download(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let bytes = app.models.get(&name)?.ask(|state| state.model.to_bytes()).await?;
    let file = format!("attachment; filename=\"{name}.model\"");
    Ok(([(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_DISPOSITION, file)], bytes)
        .into_response())
}

/// Whether another model makes room.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replace {
    /// Take the place of a model of this name, which is lost.
    replace: Option<bool>,
}

/// What was uploaded.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    /// The model's name.
    pub(crate) name: String,
    /// How many examples it had learned.
    pub(crate) examples: u64,
    /// Their average loss.
    pub(crate) average_loss: Option<f64>,
}

/// Upload a model file.
#[utoipa::path(put, path = "/v1/models/{name}/model", tag = "models", params(("name" = String, Path, description = "The model"), Replace),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = Uploaded), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Replace>, QueryRejection>,
    body: Body,
) -> Result<Response, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    super::models::good_name(&name)?;
    let settings = app.models.settings();
    let most = usize::try_from(settings.most_model_memory).unwrap_or(usize::MAX);
    let one = tokio::time::timeout(settings.patience, app.uploads.acquire()).await;
    let _one = one.map_err(|_| Refusal::unavailable("busy", "another model file is coming in; ask again"))?;
    let bytes = body::whole(body, most, settings.patience, None).await?.bytes;
    let read = tokio::task::spawn_blocking(move || ModelOf::<Held>::from_bytes(&bytes)).await;
    let model = read
        .map_err(|_| Refusal::bad("bad_model", "the model file made its reader stop; it is damaged"))?
        .map_err(|message| Refusal::library("bad_model", &message))?;
    let limit = crate::models::limit(&model.engine.0, settings);
    if model.engine.0.dimension() > limit as usize {
        return Err(Refusal::too_large(
            "too_large",
            format!(
                "the model has {} features, and the memory allowed for a model (--max-model-memory) is enough for \
                 {limit}",
                model.engine.0.dimension()
            ),
        ));
    }
    super::models::enough_for_classes(&model.engine.0, settings)?;
    let (examples, average_loss) = (held::examples(&model.engine.0), model.engine.0.average_loss());
    app.models.create(&name, model, asked.replace.unwrap_or(false)).await?;
    Ok((StatusCode::CREATED, Json(Uploaded { name, examples, average_loss })).into_response())
}
