//! `POST /v1/models/{name}/label`: labels that come after the prediction.

use super::App;
use super::body;
use super::learn::{json_response, key};
use crate::command::{Command, Key, Late};
use crate::error::{ErrorBody, Refusal};
use crate::parse::json::Said;
use crate::state::{Learned, meaning};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use xxhash_rust::xxh3::xxh3_64;

/// A label for a prediction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelOne {
    /// The prediction's id.
    pub(crate) id: String,
    /// The label: a number, a truth value, or the name of a class.
    pub(crate) label: Value,
    /// The importance, 1 when absent.
    pub(crate) weight: Option<f64>,
}

/// Labels for several predictions.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelSeveral {
    /// At least one.
    #[schema(min_items = 1)]
    pub(crate) labels: Vec<LabelOne>,
}

/// One label, or several.
#[allow(dead_code, reason = "for the description alone")]
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum LabelRequest {
    /// One.
    One(LabelOne),
    /// Several.
    Several(LabelSeveral),
}

fn late(one: &LabelOne) -> Result<Late, Refusal> {
    let id = u64::from_str_radix(&one.id, 16).ok().filter(|_| one.id.len() == 16);
    let id = id.ok_or_else(|| {
        Refusal::bad("bad_id", "the `id` is not one that `predict` has given: expected 16 hexadecimal digits")
    })?;
    let Said(label) = serde_json::from_value(one.label.clone())
        .map_err(|e: serde_json::Error| Refusal::bad("bad_label", e.to_string()))?;
    if label == noregret::example::Label::Missing {
        return Err(Refusal::bad("no_label", "the `label` is null, expected a number or a name"));
    }
    let weight = one.weight.unwrap_or(1.0);
    if !(weight >= 0.0 && weight.is_finite()) {
        return Err(Refusal::bad(
            "bad_weight",
            format!("the `weight` is {weight}, expected a number not below 0"),
        ));
    }
    Ok(Late { id, label, weight })
}

/// Label predictions.
///
/// The loss and the certificate use the score that was told with the id; the update applies the slope at that score to
/// the model of now.
#[utoipa::path(post, path = "/v1/models/{name}/label", tag = "learning", params(
        ("name" = String, Path, description = "The model"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same request with the same key is learned once"),
    ),
    request_body = LabelRequest,
    responses((status = 200, body = Learned), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn label(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let handle = app.models.get(&name)?;
    let settings = app.models.settings();
    let key = key(&headers)?;
    let text = body::whole(body, settings.most_body, settings.patience, Some(&app.bodies)).await?;
    let value: Value = serde_json::from_slice(&text)
        .map_err(|e| Refusal::bad("bad_json", format!("the JSON cannot be read: {e}")))?;
    let several = value.get("labels").is_some();
    let shape = |e: serde_json::Error| {
        Refusal::bad(
            "bad_shape",
            format!("{e}; expected `{{\"id\": ..., \"label\": ...}}` or `{{\"labels\": [...]}}`"),
        )
    };
    let list = if several {
        serde_json::from_value::<LabelSeveral>(value).map_err(shape)?.labels
    } else {
        vec![serde_json::from_value::<LabelOne>(value).map_err(shape)?]
    };
    if list.is_empty() {
        return Err(Refusal::bad("no_labels", "`labels` is empty, expected at least one"));
    }
    let list: Vec<Late> =
        list.iter().enumerate().map(|(k, one)| late(one).map_err(|r| r.at(k))).collect::<Result<_, _>>()?;
    {
        let published = handle.published.load();
        let mut labels = published.about.labels.clone();
        for (k, late) in list.iter().enumerate() {
            meaning(&mut labels, &late.label, &published.engine, handle.most_classes).map_err(|r| r.at(k))?;
        }
    }
    let key = key.map(|name| Key { name, digest: xxh3_64(&text) ^ 1 });
    Ok(json_response(app.models.submit(&handle, Command::Late(key, list)).await?))
}
