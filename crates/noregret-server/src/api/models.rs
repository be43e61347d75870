//! `/v1/models`: making, listing, describing and deleting models.

use super::App;
use super::body;
use super::certificate::heaviest;
use super::make::{ModelRequest, make};
use crate::error::{ErrorBody, Refusal};
use crate::models::Slot;
use crate::settings::Settings;
use crate::state::State as ModelState;
use crate::state::held::examples;
use crate::wording::reword;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use noregret::engine::Config;
use noregret::example::LabelMap;
use noregret::multiclass::{Multiclass, Pupil};
use noregret::report::Run;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// A model in the list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelListed {
    /// Its name.
    pub(crate) name: String,
    /// `served`, or `damaged`.
    pub(crate) state: String,
    /// What is wrong with it, where it is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Its learner.
    pub(crate) learner: Option<String>,
    /// Its loss.
    pub(crate) loss: Option<String>,
    /// How many examples it has learned.
    pub(crate) examples: Option<u64>,
    /// Their average loss.
    pub(crate) average_loss: Option<f64>,
    /// Examples learned a second, over the last ten seconds.
    pub(crate) examples_per_second: Option<f64>,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: Option<u64>,
}

/// All models.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelsTold {
    /// By name.
    pub(crate) models: Vec<ModelListed>,
}

/// A model, in full: these keys, and those of `noregret learn --json`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelTold {
    /// Its name.
    pub(crate) name: String,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: u64,
    /// Whether features are `numbers` or `names`; none before the first example.
    pub(crate) features: Option<String>,
    /// Examples learned a second, over the last ten seconds.
    pub(crate) examples_per_second: f64,
    /// Predictions that wait for their labels.
    pub(crate) pending: u64,
    /// Predictions that could be labelled, ever.
    pub(crate) predicted: u64,
    /// Labels that came later.
    pub(crate) labelled: u64,
    /// Predictions whose label did not come in time.
    pub(crate) expired: u64,
    /// Predictions given up for lack of room.
    pub(crate) dropped: u64,
    /// Examples of sources that could not be learned.
    pub(crate) refused: u64,
    /// How far each source has been read.
    pub(crate) sources: Map<String, Value>,
    /// The heaviest features.
    pub(crate) heaviest: Vec<super::certificate::FeatureTold>,
    /// The rest: `examples`, `average_loss`, `certificate`, `bound`, `risk`, `windows`, `verdict`, ...
    #[serde(flatten)]
    pub(crate) summary: Map<String, Value>,
}

pub(super) fn good_name(name: &str) -> Result<(), Refusal> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(good) && !name.starts_with('.') {
        return Ok(());
    }
    Err(Refusal::bad(
        "bad_name",
        "a model's name has 1 to 64 letters, digits, `-`, `_` or `.`, and does not begin with a dot",
    ))
}

/// Refuses a model of several classes that would not fit into the memory allowed.
pub(super) fn enough_for_classes(engine: &Pupil, settings: &Settings) -> Result<(), Refusal> {
    let Some(several) = engine.multiclass() else { return Ok(()) };
    let (least, most) = (several.classes().max(2) as u64, crate::models::most_classes(engine, settings));
    if most >= least {
        return Ok(());
    }
    Err(Refusal::too_large(
        "too_many_classes",
        format!(
            "a model of {least} classes and {} features does not fit into the memory allowed for a model \
             (--max-model-memory): lower `bits` or `dimension`, or choose a smaller learner",
            crate::models::limit(engine, settings)
        ),
    ))
}

/// What the model's thread knows, for `GET`.
fn told(
    state: &ModelState,
) -> (Map<String, Value>, Map<String, Value>, Vec<super::certificate::FeatureTold>) {
    let run = Run {
        examples: 0,
        nonzeros: 0,
        skipped: 0,
        interrupted: false,
        seconds: 0.0,
        history: &[],
        format: &state.model.reading.format,
        labels: &state.model.labels,
    };
    let mut summary = state.engine().summary(&run);
    for key in
        ["examples_this_run", "nonzeros", "skipped", "interrupted", "seconds", "history", "last_pass_loss"]
    {
        summary.remove(key);
    }
    summary.insert("values".to_owned(), json!("f64"));
    summary.insert("late".to_owned(), json!(state.engine().late()));
    summary.insert("config".to_owned(), json!(state.engine().config()));
    let heaviest = heaviest(state, 20);
    summary.insert("bias_weight".to_owned(), json!(heaviest.bias));
    for key in ["verdict", "bound", "risk", "mixture"] {
        summary.get_mut(key).into_iter().for_each(reword);
    }
    let sources = state.offsets.iter().map(|(s, p)| (s.clone(), json!(p.to_string()))).collect();
    (summary, sources, heaviest.features)
}

/// List all models.
#[utoipa::path(get, path = "/v1/models", tag = "models", responses((status = 200, body = ModelsTold)))]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<ModelsTold> {
    let now = crate::now();
    let listed = |(name, slot): (String, Slot)| match slot {
        Slot::Damaged { message, .. } => ModelListed {
            name,
            state: "damaged".to_owned(),
            message: Some(message),
            learner: None,
            loss: None,
            examples: None,
            average_loss: None,
            examples_per_second: None,
            created: None,
        },
        Slot::Served(handle) => {
            let published = handle.published.load();
            let config = published.engine.config();
            ModelListed {
                name,
                state: "served".to_owned(),
                message: None,
                learner: Some(config.learner.clone()),
                loss: Some(config.loss.clone()),
                examples: Some(examples(&published.engine)),
                average_loss: published.engine.average_loss(),
                examples_per_second: Some(handle.throughput(now)),
                created: Some(handle.created),
            }
        }
    };
    Json(ModelsTold { models: app.models.list().into_iter().map(listed).collect() })
}

async fn description(app: &App, name: &str) -> Result<Json<ModelTold>, Refusal> {
    let handle = app.models.get(name)?;
    let now = crate::now();
    let (counts, (pending, expired), (summary, sources, heaviest), space) = handle
        .ask(move |state| (state.counts.clone(), state.pending(now), told(state), state.space()))
        .await?;
    Ok(Json(ModelTold {
        name: handle.name.clone(),
        created: handle.created,
        features: space.map(|space| space.words().to_owned()),
        examples_per_second: handle.throughput(now),
        pending,
        predicted: counts.predicted,
        labelled: counts.labelled,
        expired,
        dropped: counts.dropped,
        refused: counts.refused,
        sources,
        heaviest,
        summary,
    }))
}

/// Describe a model.
#[utoipa::path(get, path = "/v1/models/{name}", tag = "models", params(("name" = String, Path, description = "The model")),
    responses((status = 200, body = ModelTold), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn describe(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<ModelTold>, Refusal> {
    description(&app, &name).await
}

/// Make a model.
///
/// The same request again changes nothing; another one for the same name is refused.
#[utoipa::path(put, path = "/v1/models/{name}", tag = "models", params(("name" = String, Path, description = "1 to 64 letters, digits, `-`, `_`, `.`")),
    request_body = ModelRequest,
    responses((status = 201, body = ModelTold), (status = 200, body = ModelTold), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    good_name(&name)?;
    let settings = app.models.settings();
    let text = body::whole(body, settings.most_body, settings.patience, Some(&app.bodies)).await?;
    let request: ModelRequest = if text.trim_ascii().is_empty() {
        ModelRequest::default()
    } else {
        serde_json::from_slice(&text).map_err(|e| {
            let code = if e.is_data() { "bad_shape" } else { "bad_json" };
            Refusal::bad(code, format!("what the model is made from cannot be read: {e}"))
        })?
    };
    let model = make(request)?;
    enough_for_classes(&model.engine.0, settings)?;
    let limit = u64::from(crate::models::limit(&model.engine.0, settings));
    let wanted = model.reading.bits.map(|bits| 1u64 << bits).or(model.reading.dimension.map(u64::from));
    if let Some(wanted) = wanted.filter(|wanted| *wanted > limit) {
        return Err(Refusal::bad(
            "bad_parameter",
            format!(
                "the model could have {wanted} features, and the memory allowed for a model (--max-model-memory) is \
                 enough for {limit}: lower `bits` or `dimension`"
            ),
        ));
    }
    let scheme = |several: Option<&Multiclass>| several.map(|several| several.entry().name);
    let asked = scheme(model.engine.0.multiclass());
    let same = move |state: &ModelState, config: &Config, labels: &LabelMap, bits: Option<u32>| {
        let unnamed = match (labels, &state.model.labels) {
            (LabelMap::Binary { negative: None, positive: None }, _) => true,
            (LabelMap::Classes(asked), LabelMap::Classes(has)) => !asked.is_closed() && !has.is_closed(),
            _ => false,
        };
        *state.engine().config() == *config
            && scheme(state.several()) == asked
            && state.model.reading.bits == bits
            && (unnamed || state.model.labels == *labels)
    };
    if let Ok(handle) = app.models.get(&name) {
        let (config, labels, bits) =
            (model.engine.0.config().clone(), model.labels.clone(), model.reading.bits);
        if handle.ask(move |state| same(state, &config, &labels, bits)).await? {
            return Ok(description(&app, &name).await?.into_response());
        }
        let message = format!(
            "there is a model `{name}` made from something else; delete it first, or choose another name"
        );
        return Err(Refusal::conflict("exists", message));
    }
    app.models.create(&name, model, false).await?;
    Ok((StatusCode::CREATED, description(&app, &name).await?).into_response())
}

/// Delete a model.
#[utoipa::path(delete, path = "/v1/models/{name}", tag = "models", params(("name" = String, Path, description = "The model")),
    responses((status = 204), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<StatusCode, Refusal> {
    app.models.delete(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
