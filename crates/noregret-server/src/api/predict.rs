//! `POST /v1/models/{name}/predict`. Reads a published version, and never waits for the learner.

use super::App;
use super::body::{self, Format};
use super::learn::{Asked, check, check_json, json_response, most_predictions, read_text, too_many};
use crate::command::{Command, Predicted, Space};
use crate::error::{ErrorBody, Refusal};
use crate::model::Handle;
use crate::parse::{Maker, Parsed, json};
use crate::state::{Prediction, prediction};
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use noregret::multiclass::Pupil;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// What `predict` answers.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Predictions {
    /// One for each example.
    pub(crate) predictions: Vec<Prediction>,
}

/// Predict examples.
///
/// With `"id": false` no ids are given, and nothing is kept. A prediction with an id can be labelled later, within the
/// time that the server allows; the last moments of ids are lost if the server dies.
#[utoipa::path(post, path = "/v1/models/{name}/predict", tag = "learning",
    params(("name" = String, Path, description = "The model"), Asked),
    request_body(content((super::openapi::PredictRequest = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"), (String = "text/x-libsvm"), (String = "text/x-vw"))),
    responses((status = 200, body = Predictions), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn predict(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    let handle = app.models.get(&name)?;
    let settings = app.models.settings();
    let mut predictions = Vec::new();
    match asked.format(&headers)? {
        Format::Text(format) => {
            let mut parts = read_text(&app, &handle, body, format, asked.said(), false).await?;
            while let Some(part) = parts.recv().await {
                answer(&app, &handle, &part?, &mut predictions)?;
                let engine = &handle.published.load().engine;
                if predictions.len() > most_predictions(engine) {
                    return Err(too_many(engine));
                }
            }
        }
        form => {
            let text = body::whole(body, settings.most_body, settings.patience, Some(&app.bodies)).await?;
            let about = handle.about();
            check_json(&about)?;
            let parsed = handle.with_context(&about, settings.most_features, false, |context| {
                if form == Format::Json {
                    return json::body(context, &text);
                }
                let mut maker = Maker::new(context);
                for line in text.split(|b| *b == b'\n') {
                    maker = json::line(maker, line)?;
                }
                Ok(maker.parsed())
            })?;
            answer(&app, &handle, &parsed, &mut predictions)?;
        }
    }
    if predictions.is_empty() {
        return Err(Refusal::bad("no_examples", "the body has no examples, expected at least one"));
    }
    let text = serde_json::to_string(&Predictions { predictions });
    Ok(json_response(text.unwrap_or_default()))
}

fn answer(
    app: &App,
    handle: &Arc<Handle>,
    parsed: &Parsed,
    predictions: &mut Vec<Prediction>,
) -> Result<(), Refusal> {
    let first = predictions.len();
    let ids = parsed.id.unwrap_or(true) && app.models.settings().most_pending > 0;
    let id = if ids { handle.new_ids(parsed.block.len() as u64) } else { 0 };
    let mut scores = Vec::with_capacity(parsed.block.len());
    let mut classes = 0;
    {
        let published = handle.published.load();
        check(handle, &published, parsed, false)?;
        let mut z = Vec::new();
        let block = &parsed.block;
        for (k, w) in block.offsets.windows(2).enumerate() {
            let x = noregret::example::Features {
                indices: &block.indices[w[0]..w[1]],
                values: &block.values[w[0]..w[1]],
            };
            let told = match &*published.engine {
                Pupil::One(engine) => {
                    z.clear();
                    z.push(engine.predict_f64(x));
                    1
                }
                Pupil::Many(several) => {
                    several.scores_to_keep(x, &mut z);
                    classes = several.classes();
                    classes
                }
            };
            if !z.iter().all(|z| z.is_finite()) {
                return Err(Refusal::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "diverged",
                    "the prediction leaves the range of f64; scale the features",
                )
                .at(first + k));
            }
            let id = ids.then_some(id.wrapping_add(k as u64));
            predictions.push(prediction(&published.engine, &published.about.labels, &z[..told], id));
            scores.append(&mut z);
        }
    }
    if ids && !remember(app, handle, parsed, id, &scores, classes) {
        // No room to keep them at the moment: said by giving none.
        predictions[first..].iter_mut().for_each(|p| p.id = None);
    }
    Ok(())
}

/// Keeps predictions for later labels. `scores` are those of `classes` and one more for each example.
fn remember(
    app: &App,
    handle: &Arc<Handle>,
    parsed: &Parsed,
    id: u64,
    scores: &[f64],
    classes: usize,
) -> bool {
    let settings = app.models.settings();
    let ttl = u64::try_from(settings.label_ttl.as_millis()).unwrap_or(u64::MAX);
    let deadline = crate::now().saturating_add(ttl);
    let block = &parsed.block;
    let space = parsed.space.unwrap_or(Space::Names);
    let each = scores.chunks_exact(classes + 1);
    let list = block.offsets.windows(2).zip(each).enumerate().map(|(k, (w, z))| Predicted {
        id: id.wrapping_add(k as u64),
        deadline,
        score: z[classes],
        scores: z[..classes].to_vec(),
        space,
        indices: block.indices[w[0]..w[1]].to_vec(),
        values: block.values[w[0]..w[1]].to_vec(),
    });
    app.models.submit_lazily(handle, Command::Predicted(list.collect()))
}
