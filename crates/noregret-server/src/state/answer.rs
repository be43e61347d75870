//! What is answered: predictions, and what was learned.

use crate::command::Space;
use crate::error::Refusal;
use noregret::engine::Engine;
use noregret::example::LabelMap;
use noregret::example::label::Name;
use noregret::loss::Task;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// What `learn` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Learned {
    /// How many examples of the request were learned.
    pub learned: u64,
    /// How many the model has learned in all.
    pub examples: u64,
    /// Their average loss.
    pub average_loss: Option<f64>,
    /// What was predicted for each example before it was learned, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictions: Option<Vec<Prediction>>,
}

/// What is predicted for an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Prediction {
    /// The class, or the number.
    pub label: Value,
    /// What the learner says: `<w, x>` where it is linear.
    pub score: f64,
    /// The probability of the positive class (logistic loss).
    pub probability: Option<f64>,
    /// By which a label may be given later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Refuses features of another kind than a model's.
pub fn check_space(has: Option<Space>, format: &str, space: Space) -> Result<(), Refusal> {
    match has {
        None if !format.is_empty() => Err(Refusal::conflict(
            "other_features",
            format!("the model was learned from {format}, whose features cannot be given in a request"),
        )),
        Some(has) if has != space => Err(Refusal::conflict(
            "other_features",
            format!(
                "the model's features are {}, and the request's are {}: a model has one kind of features, the first \
                 that it learned",
                has.words(),
                space.words()
            ),
        )),
        _ => Ok(()),
    }
}

/// A score as it is told.
pub fn prediction(engine: &Engine, labels: &LabelMap, z: f64, id: Option<u64>) -> Prediction {
    let class = |name: &Option<Name>, usual: i64| match name {
        Some(Name::Number(y)) if y.fract() == 0.0 && y.abs() < 1e15 => json!(*y as i64),
        Some(Name::Number(y)) => json!(y),
        Some(Name::Text(text)) => json!(text),
        None => json!(usual),
    };
    let label = match labels {
        LabelMap::Binary { positive, .. } if z >= 0.0 => class(positive, 1),
        LabelMap::Binary { negative, .. } => class(negative, -1),
        _ if engine.loss().entry().task == Task::Binary => json!(if z >= 0.0 { 1 } else { -1 }),
        _ => json!(z),
    };
    let probability = (engine.config().loss == "logistic").then(|| 1.0 / (1.0 + (-z).exp()));
    Prediction { label, score: z, probability, id: id.map(|id| format!("{id:016x}")) }
}
