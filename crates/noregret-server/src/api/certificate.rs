//! What a model says of itself: its certificate, curves, heaviest features, and recent errors.

use super::App;
use crate::error::{ErrorBody, Refusal};
use crate::model::RecentError;
use crate::state::held::examples;
use crate::state::{Point, State as ModelState, told_name};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use noregret::engine::Certificate;
use noregret::example::LabelMap;
use noregret::multiclass::{Multiclass, Pupil};
use noregret::regret::Comparator;
use noregret::round::Vector;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Against whom, and since when.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Against {
    /// The radius of the comparators; the model's own when absent.
    radius: Option<f64>,
    /// l2, l1, linf, simplex or ridge; the model's own when absent.
    comparator: Option<String>,
    /// Only the examples since: milliseconds since 1970, or a span before now such as `90s`, `15m`, `1h`, `7d`.
    since: Option<String>,
}

/// What the ledger proves.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CertificateTold {
    /// The class of comparators.
    pub(crate) comparator: String,
    /// Its radius; none for `ridge`.
    pub(crate) radius: Option<f64>,
    /// Whether the radius was said (`flag`), is the learner's `default`, or the norm of the `model`.
    pub(crate) radius_from: Option<String>,
    /// How many examples it speaks of.
    pub(crate) examples: u64,
    /// The first of them, from 1.
    pub(crate) from: u64,
    /// Their average loss.
    pub(crate) average_loss: Option<f64>,
    /// The average regret is at most this.
    pub(crate) regret_at_most: Option<f64>,
    /// No comparator's average loss is below this.
    pub(crate) best_at_least: Option<f64>,
}

fn span(text: &str, now: u64) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "" => return Some(number),
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    Some(now.saturating_sub(number.saturating_mul(seconds * 1000)))
}

/// Of several classes together.
fn of_classes(several: &Multiclass, proved: Option<&Certificate>) -> CertificateTold {
    let (comparator, from) = several.comparator();
    CertificateTold {
        comparator: comparator.name().to_owned(),
        radius: proved.and_then(|c| c.radius),
        radius_from: proved.map_or(from, |c| c.radius_from).map(str::to_owned),
        examples: several.examples(),
        from: 1,
        average_loss: several.average_loss(),
        regret_at_most: proved.map(|c| c.regret_at_most),
        best_at_least: proved.map(|c| c.best_at_least),
    }
}

/// The same against models of another radius.
fn of_classes_within(several: &Multiclass, asked: &Against) -> Result<CertificateTold, Refusal> {
    let bad = |message: String| Refusal::bad("bad_query", message);
    let (own, _) = several.comparator();
    if let Some(name) = asked.comparator.as_deref().filter(|name| *name != own.name()) {
        return Err(bad(format!(
            "comparator: found {name}, and of several classes only the model's own, {}, is told",
            own.name()
        )));
    }
    let Some(radius) = asked.radius else { return Ok(of_classes(several, several.certificate().as_ref())) };
    if !(radius > 0.0 && radius.is_finite()) {
        return Err(bad(format!("radius: found {radius}, expected a number greater than 0")));
    }
    if own.radius().is_none() {
        return Err(bad(format!("radius does not go with the comparator {}, which has none", own.name())));
    }
    Ok(of_classes(several, several.certificate_within(radius).as_ref()))
}

/// The certificate of the recent part that holds all examples since a time.
fn windowed(state: &ModelState, since: u64) -> CertificateTold {
    let engine = match &**state.engine() {
        Pupil::One(engine) => engine,
        // Its parts are not kept: the whole stream holds all examples since whenever.
        Pupil::Many(several) => return of_classes(several, several.certificate().as_ref()),
    };
    let known = state.points().iter().rev().find(|p| p.time <= since).map_or(0, |p| p.examples);
    let (comparator, from) = engine.comparator();
    let windows = engine.windows();
    let window = windows.iter().rev().find(|w| w.from <= known + 1).or(windows.first());
    CertificateTold {
        comparator: comparator.name().to_owned(),
        radius: comparator.radius(),
        radius_from: from.map(str::to_owned),
        examples: window.map_or(0, |w| w.examples),
        from: window.map_or(1, |w| w.from),
        average_loss: window.map(|w| w.average_loss),
        regret_at_most: window.map(|w| w.regret_at_most),
        best_at_least: window.map(|w| w.best_at_least),
    }
}

fn against(state: &ModelState, asked: &Against) -> Result<CertificateTold, Refusal> {
    let engine = match &**state.engine() {
        Pupil::One(engine) => engine,
        Pupil::Many(several) => return of_classes_within(several, asked),
    };
    let bad = |message: String| Refusal::bad("bad_query", message);
    let (own, own_from) = engine.comparator();
    let (comparator, from) = match (&asked.comparator, asked.radius) {
        (None, None) => (own, own_from),
        (name, radius) => {
            let name = name.as_deref().unwrap_or(own.name());
            let radius = radius.or(own.radius());
            if let Some(radius) = radius
                && !(radius > 0.0 && radius.is_finite())
            {
                return Err(bad(format!("radius: found {radius}, expected a number greater than 0")));
            }
            if name == "ridge" && asked.radius.is_some() {
                return Err(bad(
                    "radius does not go with the comparator ridge, which has models of every norm".to_owned(),
                ));
            }
            let comparator = Comparator::new(name, radius.unwrap_or(1.0), engine.config().l2);
            (comparator.map_err(|e| Refusal::library("bad_query", &e.0))?, Some("flag"))
        }
    };
    let certificate = engine.certificate_for(&comparator, from);
    Ok(CertificateTold {
        comparator: comparator.name().to_owned(),
        radius: comparator.radius(),
        radius_from: comparator.radius().and(from).map(str::to_owned),
        examples: engine.examples(),
        from: 1,
        average_loss: engine.average_loss(),
        regret_at_most: certificate.as_ref().map(|c| c.regret_at_most),
        best_at_least: certificate.as_ref().map(|c| c.best_at_least),
    })
}

/// What the best fixed model could have done at best.
#[utoipa::path(get, path = "/v1/models/{name}/certificate", tag = "certificate",
    params(("name" = String, Path, description = "The model"), Against),
    responses((status = 200, body = CertificateTold), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn certificate(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Against>, QueryRejection>,
) -> Result<Json<CertificateTold>, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    let handle = app.models.get(&name)?;
    let Some(since) = &asked.since else {
        return handle.ask(move |state| against(state, &asked)).await?.map(Json);
    };
    if asked.radius.is_some() || asked.comparator.is_some() {
        return Err(Refusal::bad(
            "bad_query",
            "`since` goes with the model's own comparator: leave the others out",
        ));
    }
    let since = span(since, crate::now()).ok_or_else(|| {
        Refusal::bad(
            "bad_query",
            format!(
                "since: found `{since}`, expected milliseconds since 1970 or a span such as 90s, 15m, 1h, 7d"
            ),
        )
    })?;
    Ok(Json(handle.ask(move |state| windowed(state, since)).await?))
}

/// The points of the curves.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryTold {
    /// In the order of time.
    pub(crate) points: Vec<Point>,
}

/// Which points.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Since {
    /// Only those since: milliseconds since 1970, or a span before now such as `1h`.
    since: Option<String>,
}

/// The points of the curves, with one for now.
#[utoipa::path(get, path = "/v1/models/{name}/history", tag = "certificate",
    params(("name" = String, Path, description = "The model"), Since),
    responses((status = 200, body = HistoryTold), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn history(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Since>, QueryRejection>,
) -> Result<Json<HistoryTold>, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    let now = crate::now();
    let since = match &asked.since {
        None => 0,
        Some(text) => span(text, now).ok_or_else(|| {
            Refusal::bad(
                "bad_query",
                format!("since: found `{text}`, expected milliseconds since 1970 or a span such as 1h"),
            )
        })?,
    };
    let handle = app.models.get(&name)?;
    let points = handle.ask(move |state| {
        let mut points: Vec<Point> = state.points().iter().filter(|p| p.time >= since).cloned().collect();
        if points.last().is_some_and(|p| p.examples != examples(state.engine())) {
            points.push(Point::now(state.engine(), now));
        }
        points
    });
    Ok(Json(HistoryTold { points: points.await? }))
}

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Top {
    /// How many of the heaviest, 20 when absent.
    #[param(minimum = 0, maximum = 10000)]
    top: Option<u32>,
}

/// A feature and its weight.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeatureTold {
    /// Its name, or its number.
    pub(crate) feature: String,
    /// Its weight.
    pub(crate) weight: f64,
    /// For which of several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<Value>,
}

/// The heaviest features.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeaturesTold {
    /// The weight of the constant feature; of several classes it is not told.
    pub(crate) bias: Option<f64>,
    /// The heaviest first.
    pub(crate) features: Vec<FeatureTold>,
}

/// The heaviest of a vector, by their places.
fn heaviest_of(weights: &Vector, top: usize) -> Vec<(usize, f64)> {
    let mut order: Vec<(usize, f64)> =
        weights.features.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect();
    let heavier = |a: &(usize, f64), b: &(usize, f64)| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0));
    if order.len() > top && top > 0 {
        order.select_nth_unstable_by(top - 1, heavier);
    }
    order.truncate(top);
    order.sort_by(heavier);
    order
}

pub(super) fn heaviest(state: &ModelState, top: usize) -> FeaturesTold {
    let model = &state.model;
    let name = |index: usize| {
        let column = model.reading.schema.columns.get(index).cloned();
        let hashed = || model.names.get(index as u32).map(str::to_owned);
        column.or_else(hashed).unwrap_or_else(|| index.to_string())
    };
    let told =
        |(i, weight): (usize, f64), class: Option<Value>| FeatureTold { feature: name(i), weight, class };
    match &**state.engine() {
        Pupil::One(engine) => {
            let weights = engine.weights();
            let features = heaviest_of(&weights, top).into_iter().map(|f| told(f, None)).collect();
            FeaturesTold { bias: weights.bias, features }
        }
        Pupil::Many(several) => {
            let mut features = Vec::new();
            for k in 0..several.classes() {
                let class = match &model.labels {
                    LabelMap::Classes(classes) => classes.names().get(k).map(told_name),
                    _ => None,
                };
                let own = heaviest_of(&several.weights(k), top);
                features.extend(own.into_iter().map(|f| told(f, class.clone())));
            }
            features.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
            features.truncate(top);
            FeaturesTold { bias: None, features }
        }
    }
}

/// The heaviest features.
#[utoipa::path(get, path = "/v1/models/{name}/features", tag = "certificate",
    params(("name" = String, Path, description = "The model"), Top),
    responses((status = 200, body = FeaturesTold), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn features(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Top>, QueryRejection>,
) -> Result<Json<FeaturesTold>, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    let top = asked.top.unwrap_or(20).min(10_000) as usize;
    Ok(Json(app.models.get(&name)?.ask(move |state| heaviest(state, top)).await?))
}

/// The last requests that went wrong, the latest first.
#[utoipa::path(get, path = "/v1/models/{name}/errors", tag = "certificate",
    params(("name" = String, Path, description = "The model")),
    responses((status = 200, body = Vec<RecentError>), (status = "4XX", body = ErrorBody)))]
pub(crate) async fn errors(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    Ok(Json(json!(app.models.get(&name)?.recent_errors())))
}
