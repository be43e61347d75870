//! The description of the API, made from its types.
#![allow(
    clippy::struct_field_names,
    dead_code,
    reason = "examples are walked through without these types, which describe them"
)]

use super::{certificate, events, file, label, learn, models, operations, predict};
use axum::Json;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::{Modify, OpenApi, ToSchema};

/// An example with named features.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"features": {"temperature": 21.5, "city": "Rome"}, "label": 1, "weight": 1}))]
pub(crate) struct NamedExample {
    /// Names and values: a number as it is, a text as the feature `name=text`, more of them below joined by dots.
    pub(crate) features: Map<String, Value>,
    /// A number, a truth value, or the name of a class; needed to learn.
    pub(crate) label: Option<Value>,
    /// The importance, 1 when absent.
    #[schema(minimum = 0)]
    pub(crate) weight: Option<f64>,
}

/// An example with numbered features.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"indices": [3, 17], "values": [0.5, 2], "label": -1}))]
pub(crate) struct NumberedExample {
    /// Which features, from 0.
    pub(crate) indices: Vec<u32>,
    /// Their values.
    pub(crate) values: Vec<f64>,
    /// A number, a truth value, or the name of a class; needed to learn.
    pub(crate) label: Option<Value>,
    /// The importance, 1 when absent.
    #[schema(minimum = 0)]
    pub(crate) weight: Option<f64>,
}

/// An example.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Example {
    /// By names.
    Named(NamedExample),
    /// By numbers.
    Numbered(NumberedExample),
}

/// Several examples.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Examples {
    /// At least one.
    #[schema(min_items = 1)]
    pub(crate) examples: Vec<Example>,
    /// In `learn`: whether the predictions made before learning are told.
    pub(crate) predict: Option<bool>,
    /// In `predict`: whether ids for later labels are given, true when absent.
    pub(crate) id: Option<bool>,
}

/// What `learn` takes.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum LearnRequest {
    /// One.
    One(Example),
    /// Several.
    Several(Examples),
}

/// What `predict` takes; labels are not looked at.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PredictRequest {
    /// One.
    One(Example),
    /// Several.
    Several(Examples),
}

/// Tokens.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        document.security = Some(vec![
            SecurityRequirement::new::<_, [&str; 0], &str>("token", []),
            SecurityRequirement::default(),
        ]);
    }
}

#[derive(OpenApi)]
#[openapi(
    info(title = "noregret", description = "Models that keep learning, and prove how much better the best fixed model could have done"),
    modifiers(&Bearer),
    paths(
        operations::healthz, operations::readyz, operations::metrics, operations::learners, operations::losses,
        models::list, models::describe, models::create, models::delete,
        learn::learn, predict::predict, label::label,
        certificate::certificate, certificate::history, certificate::features, certificate::errors,
        events::all, events::one, file::download, file::upload,
    )
)]
struct Api;

/// The document.
pub(crate) async fn document() -> Json<Document> {
    Json(Api::openapi())
}
