//! What is answered: predictions, and what was learned.

use crate::command::Space;
use crate::error::Refusal;
use noregret::example::LabelMap;
use noregret::example::label::Name;
use noregret::loss::Task;
use noregret::multiclass::{Multiclass, Pupil};
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
    /// The class, or the number; null where several classes are told apart and no label has been seen yet.
    pub label: Value,
    /// What the learner says: `<w, x>` where it is linear. Of several classes, the score of the one predicted.
    pub score: f64,
    /// The probability of the positive class (logistic loss); of several classes, that of the one predicted.
    pub probability: Option<f64>,
    /// Of several classes, what is said of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<ClassPredicted>>,
    /// By which a label may be given later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What is predicted for one of several classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassPredicted {
    /// The class.
    pub label: Value,
    /// Its score.
    pub score: f64,
    /// Its probability, where the loss has one.
    pub probability: Option<f64>,
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

/// The name of a class as it is told.
pub(crate) fn told_name(name: &Name) -> Value {
    match name {
        Name::Number(y) if y.fract() == 0.0 && y.abs() < 1e15 => json!(*y as i64),
        Name::Number(y) => json!(y),
        Name::Text(text) => json!(text),
    }
}

/// Scores as they are told: one, or one for each class.
pub fn prediction(pupil: &Pupil, labels: &LabelMap, z: &[f64], id: Option<u64>) -> Prediction {
    let id = id.map(|id| format!("{id:016x}"));
    match pupil {
        Pupil::Many(several) => Prediction { id, ..among(several, labels, z) },
        Pupil::One(engine) => {
            let z = z.first().copied().unwrap_or(0.0);
            let class = |name: &Option<Name>, usual: i64| name.as_ref().map_or(json!(usual), told_name);
            let label = match labels {
                LabelMap::Binary { positive, .. } if z >= 0.0 => class(positive, 1),
                LabelMap::Binary { negative, .. } => class(negative, -1),
                _ if engine.loss().entry().task == Task::Binary => json!(if z >= 0.0 { 1 } else { -1 }),
                _ => json!(z),
            };
            let probability = (engine.config().loss == "logistic").then(|| 1.0 / (1.0 + (-z).exp()));
            Prediction { label, score: z, probability, classes: None, id }
        }
    }
}

fn among(several: &Multiclass, labels: &LabelMap, z: &[f64]) -> Prediction {
    let mut shares = z.to_vec();
    let known = several.probabilities(&mut shares);
    let name = |k: usize| match labels {
        LabelMap::Classes(classes) => classes.names().get(k).map_or(Value::Null, told_name),
        _ => Value::Null,
    };
    let classes: Vec<ClassPredicted> = (0..z.len())
        .map(|k| ClassPredicted { label: name(k), score: z[k], probability: known.then_some(shares[k]) })
        .collect();
    let first = Multiclass::highest(z).map(|k| classes[k].clone());
    let ClassPredicted { label, score, probability } =
        first.unwrap_or(ClassPredicted { label: Value::Null, score: 0.0, probability: None });
    Prediction { label, score, probability, classes: Some(classes), id: None }
}
