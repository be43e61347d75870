//! What a model is made from.

use crate::error::Refusal;
use crate::models::MOST_CLASSES;
use crate::state::{Held, LONGEST_NAME};
use noregret::engine::{Config, Engine};
use noregret::example::hash::LARGEST_BITS;
use noregret::example::label::Name;
use noregret::example::names::NameTable;
use noregret::example::{Classes, LabelMap};
use noregret::learner::{self, Losses};
use noregret::loss::{self, Task};
use noregret::model::{ModelOf, Reading};
use noregret::multiclass::{self, Multiclass, Pupil};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::ToSchema;

/// The loss where neither the request nor the learner says.
const DEFAULT_LOSS: &str = "logistic";

/// What a model is made from. Parameters of the learner and of the loss stand beside these, by their names in
/// `/v1/learners` and `/v1/losses`.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ModelRequest {
    /// The learner; `auto` when absent.
    pub(crate) learner: Option<String>,
    /// The loss; the learner's own, or `logistic`, when absent.
    pub(crate) loss: Option<String>,
    /// The ball of a projected learner and the radius of the comparators.
    pub(crate) radius: Option<f64>,
    /// l2, l1, linf, simplex or ridge.
    pub(crate) comparator: Option<String>,
    /// The strength of a quadratic penalty.
    pub(crate) l2: Option<f64>,
    /// A promise that no row is longer.
    pub(crate) row_bound: Option<f64>,
    /// A promise that no label is larger.
    pub(crate) label_bound: Option<f64>,
    /// The probability with which the risk bound may fail.
    pub(crate) delta: Option<f64>,
    /// Whether the averaged iterate is kept.
    pub(crate) average: Option<bool>,
    /// Whether there is a constant feature.
    pub(crate) bias: Option<bool>,
    /// How many features there may be.
    pub(crate) dimension: Option<u32>,
    /// How many bits of the hash of a name are kept, 18 when absent.
    pub(crate) bits: Option<u32>,
    /// Whether recent parts of the stream are told.
    pub(crate) windows: Option<bool>,
    /// The negative and the positive class, where they are not called -1 (or 0) and 1; or several, and no others.
    pub(crate) classes: Option<Vec<Value>>,
    /// Several classes: `ovr` (one versus the rest, each by the learner and the loss), `softmax` or `perceptron`.
    pub(crate) multiclass: Option<String>,
    /// Parameters of the learner and of the loss.
    #[serde(flatten)]
    pub(crate) parameters: Map<String, Value>,
}

fn class(value: &Value) -> Result<Name, Refusal> {
    match value {
        Value::Number(n) => Ok(Name::Number(n.as_f64().unwrap_or_default())),
        Value::String(text) if text.len() > LONGEST_NAME => Err(Refusal::bad(
            "bad_parameter",
            format!("classes: found a name of {} bytes, expected at most {LONGEST_NAME}", text.len()),
        )),
        Value::String(text) if !text.is_empty() => Ok(Name::Text(text.clone())),
        Value::Bool(truth) => Ok(Name::Number(f64::from(u8::from(*truth)))),
        other => {
            Err(Refusal::bad("bad_parameter", format!("classes: found {other}, expected a number or a name")))
        }
    }
}

/// Refuses what means nothing to a way of learning several classes that has a learner and a loss of its own.
fn refuse_idle(request: &ModelRequest, scheme: &multiclass::Entry) -> Result<(), Refusal> {
    let own = [("learner", request.learner.is_some()), ("loss", request.loss.is_some())];
    let own = own.into_iter().chain([("delta", request.delta.is_some())]).filter(|(_, said)| *said);
    let own = own.map(|(name, _)| name);
    let given =
        request.parameters.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str());
    let Some(name) = own.chain(given).next() else { return Ok(()) };
    Err(Refusal::bad(
        "bad_parameter",
        format!(
            "`{name}` does not go with `multiclass` {0}, which has a learner and a loss of its own; leave it out, or use \
             `multiclass` ovr",
            scheme.name
        ),
    ))
}

pub(super) fn make(request: ModelRequest) -> Result<ModelOf<Held>, Refusal> {
    let bad = |e: noregret::error::UsageError| Refusal::library("bad_parameter", &e.0);
    let learner = request.learner.as_deref().unwrap_or("auto");
    // A learner of two classes may be called the same.
    if learner::find(learner).is_err() && multiclass::find(learner).is_ok() {
        return Err(Refusal::bad(
            "bad_parameter",
            format!("`{learner}` is a way to learn several classes: say `\"multiclass\": \"{learner}\"`"),
        ));
    }
    let several = request.classes.as_ref().is_some_and(|classes| classes.len() > 2);
    if request.classes.as_ref().is_some_and(|classes| classes.len() as u64 > MOST_CLASSES) {
        return Err(Refusal::too_large(
            "too_many_classes",
            format!("classes: found more than {MOST_CLASSES}, which is all that a model may have"),
        ));
    }
    let scheme = request.multiclass.as_deref().or(several.then_some("ovr"));
    let scheme = scheme.map(multiclass::find).transpose().map_err(bad)?;
    if let Some(scheme) = scheme.filter(|scheme| !scheme.is_composed()) {
        refuse_idle(&request, scheme)?;
    }
    let entry = learner::find(learner).map_err(bad)?;
    let loss = match (&request.loss, entry.losses) {
        (Some(name), _) => loss::find(name).map_err(bad)?,
        (None, Losses::Only(names)) => loss::find(names[0]).map_err(bad)?,
        (None, Losses::All) => loss::find(DEFAULT_LOSS).map_err(bad)?,
    };
    if let Some(bits) = request.bits.filter(|bits| !(1..=LARGEST_BITS).contains(bits)) {
        return Err(Refusal::bad(
            "bad_parameter",
            format!("bits: found {bits}, expected 1 to {LARGEST_BITS}"),
        ));
    }
    if request.dimension == Some(0) {
        return Err(Refusal::bad("bad_parameter", "dimension: found 0, expected at least 1"));
    }
    let mut config = Config {
        radius: request.radius,
        comparator: request.comparator,
        l2: request.l2,
        row_bound: request.row_bound,
        label_bound: request.label_bound,
        delta: request.delta.unwrap_or(0.05),
        average: request.average.unwrap_or(false),
        bias: request.bias.unwrap_or(true),
        dimension: request.dimension.or(request.bits.map(|bits| 1 << bits)),
        windows: request.windows,
        ..Config::new(learner, loss.name)
    };
    for (name, value) in &request.parameters {
        let text = match value {
            Value::Bool(truth) => if *truth { "yes" } else { "no" }.to_owned(),
            Value::String(text) => text.clone(),
            Value::Null => continue,
            other => other.to_string(),
        };
        config.give(&name.replace('_', "-"), &text).map_err(bad)?;
    }
    let reading = Reading { bits: request.bits, dimension: request.dimension, ..Reading::default() };
    if let Some(scheme) = scheme {
        let classes = match &request.classes {
            None => Classes::open(),
            Some(list) => {
                let names: Vec<Name> = list.iter().map(class).collect::<Result<_, _>>()?;
                if names.len() < 2 {
                    return Err(Refusal::bad("bad_parameter", "classes: expected at least two"));
                }
                Classes::named(names).map_err(|m| Refusal::bad("bad_parameter", format!("classes: {m}")))?
            }
        };
        let named = classes.is_closed().then_some(classes.names().len());
        let model = Multiclass::new(scheme.name, config, named)
            .map_err(|e| Refusal::library("bad_parameter", &e.to_string()))?;
        let engine = Held(Arc::new(Pupil::Many(Box::new(model))));
        return Ok(ModelOf { engine, reading, labels: LabelMap::Classes(classes), names: NameTable::new() });
    }
    let labels = match (loss.task, &request.classes) {
        (Task::Real, None) => LabelMap::Real,
        (_, None) => LabelMap::binary(),
        (Task::Real, Some(_)) => {
            let message = "classes are for two classes, and this loss takes numbers as labels";
            return Err(Refusal::bad("bad_parameter", message));
        }
        (_, Some(list)) => {
            let [negative, positive] = &list[..] else {
                let message = "classes: expected two, the negative and the positive one";
                return Err(Refusal::bad("bad_parameter", message));
            };
            let (negative, positive) = (class(negative)?, class(positive)?);
            if negative == positive {
                return Err(Refusal::bad("bad_parameter", "classes: expected two different ones"));
            }
            LabelMap::Binary { negative: Some(negative), positive: Some(positive) }
        }
    };
    let engine = Pupil::One(Box::new(Engine::new(config).map_err(bad)?));
    Ok(ModelOf { engine: Held(Arc::new(engine)), reading, labels, names: NameTable::new() })
}
