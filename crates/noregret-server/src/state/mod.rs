//! A model as a function of its log: what each record does to it, and what is answered.
//!
//! Everything here is deterministic. The same records in the same order make the same model to the bit, so that what
//! was lost with a crash is what the log does not hold, and nothing else.

mod held;
mod history;
mod keys;
mod pending;
mod snapshot;

pub use held::Held;
pub use history::Point;

use crate::command::{Command, Entry, Key, Late, Learn, Space};
use crate::error::Refusal;
use axum::http::StatusCode;
use history::History;
use keys::{Keys, Known};
use noregret::engine::Engine;
use noregret::error::Error;
use noregret::example::hash::DEFAULT_BITS;
use noregret::example::label::Name;
use noregret::example::names::Schema;
use noregret::example::{Block, Features, LabelMap};
use noregret::loss::Task;
use noregret::model::ModelOf;
use pending::Pending;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
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

/// What an engine had to do, for its twin to do the same.
pub enum Step {
    /// Learn the first so many rows.
    Rows(Block<f64>, usize),
    /// Learn from a label that came late.
    Late {
        /// The features.
        indices: Vec<u32>,
        /// Their values.
        values: Vec<f64>,
        /// What was predicted.
        z: f64,
        /// The label.
        y: f64,
        /// The importance.
        weight: f64,
    },
}

impl Step {
    /// Does it; an error was met by the twin too.
    pub fn repeat(&self, engine: &mut Engine) {
        let done = match self {
            Self::Rows(block, learned) => engine.learn_f64(block.rows().slice(0, *learned)),
            Self::Late { indices, values, z, y, weight } => {
                engine.learn_late(Features { indices, values }, *z, *y, *weight)
            }
        };
        // The first of the two has told.
        drop(done);
    }
}

/// Counts beside the engine's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Predictions that can be labelled, ever.
    pub predicted: u64,
    /// Labels that came later.
    pub labelled: u64,
    /// Predictions whose label did not come in time.
    pub expired: u64,
    /// Predictions given up for lack of room.
    pub dropped: u64,
    /// Examples of sources that could not be learned.
    #[serde(default)]
    pub refused: u64,
}

/// A model with all that belongs to it.
pub struct State {
    /// The model.
    pub model: ModelOf<Held>,
    keys: Keys,
    pending: Pending,
    /// How far each source has been read.
    pub offsets: BTreeMap<String, u128>,
    history: History,
    /// Counts.
    pub counts: Counts,
}

/// What one command answers: a JSON text, or why not.
pub type Answer = Result<String, Refusal>;

impl State {
    /// A model as it is made or uploaded.
    pub fn new(model: ModelOf<Held>) -> Self {
        Self {
            model,
            keys: Keys::default(),
            pending: Pending::default(),
            offsets: BTreeMap::new(),
            history: History::default(),
            counts: Counts::default(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.model.engine.0
    }

    /// The points of the curves.
    pub fn points(&self) -> &[Point] {
        self.history.points()
    }

    /// How many predictions wait for their labels.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// What kind of features it has, once that is known.
    pub fn space(&self) -> Option<Space> {
        Space::of_format(&self.model.reading.format)
    }

    /// Does what a record says. Steps are appended for the engine's twin, answers in the order of the commands.
    /// The engine must not be shared.
    pub fn apply(&mut self, entry: Entry, steps: &mut Vec<Step>, answers: &mut Vec<Answer>) {
        self.counts.expired += self.pending.expire(entry.time);
        for command in entry.commands {
            let answer = match command {
                Command::Learn(learn) => self.learn(learn, entry.time, steps),
                Command::Predicted(list) => {
                    self.counts.predicted += list.len() as u64;
                    for predicted in list {
                        self.counts.dropped += self.pending.add(predicted, entry.most_pending);
                    }
                    Ok(String::new())
                }
                Command::Late(key, list) => self.late(key.as_ref(), &list, entry.time, steps),
            };
            answers.push(answer);
        }
        self.history.note(&self.model.engine.0, entry.time);
    }

    /// What was answered to the same request before, if it was.
    pub fn known(&self, key: Option<&Key>, time: u64) -> Option<Answer> {
        match self.keys.look(key?, time) {
            Known::New => None,
            Known::Same(answer) => Some(Ok(answer.to_owned())),
            Known::Other => Some(Err(Refusal::conflict(
                "key_reused",
                "this Idempotency-Key was used for another request; choose a new key for a new request",
            ))),
        }
    }

    fn learn(&mut self, learn: Learn, time: u64, steps: &mut Vec<Step>) -> Answer {
        if let Some(answer) = self.known(learn.key.as_ref(), time) {
            return answer;
        }
        if let Some(offset) = &learn.offset {
            if self.offsets.get(&offset.source).is_some_and(|done| offset.position <= *done) {
                return Ok(self.told(0, None));
            }
            // Whatever becomes of the examples: a source goes on.
            self.offsets.insert(offset.source.clone(), offset.position);
            return self.learn_from_source(learn, steps);
        }
        let Learn { key, space, predict, names, mut block, .. } = learn;
        self.check_space(space)?;
        let mut labels = self.model.labels.clone();
        let engine = &*self.model.engine.0;
        block.labels.clear();
        for (k, label) in block.raw_labels.iter().enumerate() {
            let y = labels.one(label, &|y| engine.loss().accepts(y));
            block.labels.push(y.map_err(|message| Refusal::bad("bad_label", message).at(k))?);
        }
        block.raw_labels.clear();
        let before = engine.examples();
        let Some(engine) = Arc::get_mut(&mut self.model.engine.0) else { return Err(shared()) };
        let mut scores = Vec::new();
        let done = if predict {
            let rows = block.rows();
            (0..rows.len()).try_for_each(|k| {
                let z = engine.predict_f64(rows.row(k).x);
                engine.learn_f64(rows.slice(k, k + 1))?;
                scores.push(z);
                Ok(())
            })
        } else {
            engine.learn_f64(block.rows())
        };
        let learned = engine.examples() - before;
        if learned == 0
            && let Err(error) = done
        {
            // Nothing has changed.
            return Err(why(&error).at(0));
        }
        self.model.labels = labels;
        self.settle(space);
        for (index, name) in names {
            self.model.names.insert(index, name);
        }
        steps.push(Step::Rows(block, learned as usize));
        if let Err(error) = done {
            return Err(why(&error).at(learned as usize).after(learned));
        }
        let predictions = predict.then(|| scores.iter().map(|z| self.prediction(*z, None)).collect());
        let answer = self.told(learned, predictions);
        if let Some(key) = &key {
            self.keys.remember(key, time, &answer);
        }
        Ok(answer)
    }

    /// Learns what can be learned, and counts the rest: nobody is there to correct an example.
    fn learn_from_source(&mut self, learn: Learn, steps: &mut Vec<Step>) -> Answer {
        let Learn { space, names, block, .. } = learn;
        if block.is_empty() {
            return Ok(self.told(0, None));
        }
        if let Err(refusal) = self.check_space(space) {
            self.counts.refused += block.len() as u64;
            return Err(refusal);
        }
        self.settle(space);
        for (index, name) in names {
            self.model.names.insert(index, name);
        }
        let Some(engine) = Arc::get_mut(&mut self.model.engine.0) else { return Err(shared()) };
        let mut learned = Block::<f64>::new();
        let mut refusal = None;
        for k in 0..block.len() {
            let (from, to) = (block.offsets[k], block.offsets[k + 1]);
            let weight = block.weights.get(k).copied().unwrap_or(1.0);
            let row = |y: f64| {
                let pairs =
                    block.indices[from..to].iter().copied().zip(block.values[from..to].iter().copied());
                let mut row = Block::<f64>::new();
                row.push(y, weight, pairs);
                row
            };
            let mut labels = self.model.labels.clone();
            let y = labels.one(&block.raw_labels[k], &|y| engine.loss().accepts(y));
            let done = y
                .map_err(|message| Refusal::bad("bad_label", message))
                .and_then(|y| engine.learn_f64(row(y).rows()).map_err(|e| why(&e)).map(|()| y));
            match done {
                Ok(y) => {
                    self.model.labels = labels;
                    learned.push(y, weight, row(y).indices.into_iter().zip(row(y).values));
                }
                Err(found) => {
                    self.counts.refused += 1;
                    refusal.get_or_insert(found.at(k));
                }
            }
        }
        let count = learned.len();
        steps.push(Step::Rows(learned, count));
        match refusal {
            None => Ok(self.told(count as u64, None)),
            Some(refusal) => Err(refusal.after(count as u64)),
        }
    }

    fn late(&mut self, key: Option<&Key>, list: &[Late], time: u64, steps: &mut Vec<Step>) -> Answer {
        if let Some(answer) = self.known(key, time) {
            return answer;
        }
        let mut labels = self.model.labels.clone();
        let mut ys = Vec::with_capacity(list.len());
        for (k, late) in list.iter().enumerate() {
            if self.pending.get(late.id, time).is_none() || list[..k].iter().any(|l| l.id == late.id) {
                let message = format!(
                    "no prediction `{:016x}` waits for a label: it was never made, was labelled before, or its time \
                     (--label-ttl) is over",
                    late.id
                );
                return Err(Refusal::new(StatusCode::NOT_FOUND, "unknown_prediction", message).at(k));
            }
            let loss = self.model.engine.0.loss();
            let y = labels.one(&late.label, &|y| loss.accepts(y));
            ys.push(y.map_err(|message| Refusal::bad("bad_label", message).at(k))?);
        }
        self.model.labels = labels;
        let mut learned = 0;
        for (k, (late, y)) in list.iter().zip(ys).enumerate() {
            let Some(row) = self.pending.take(late.id) else { continue };
            self.settle(row.space);
            let Some(engine) = Arc::get_mut(&mut self.model.engine.0) else { return Err(shared()) };
            let x = Features { indices: &row.indices, values: &row.values };
            if let Err(error) = engine.learn_late(x, row.score, y, late.weight) {
                return Err(why(&error).at(k).after(learned));
            }
            learned += 1;
            let (indices, values) = (row.indices, row.values);
            steps.push(Step::Late { indices, values, z: row.score, y, weight: late.weight });
        }
        self.counts.labelled += learned;
        let answer = self.told(learned, None);
        if let Some(key) = key {
            self.keys.remember(key, time, &answer);
        }
        Ok(answer)
    }

    fn told(&self, learned: u64, predictions: Option<Vec<Prediction>>) -> String {
        let engine = self.engine();
        let told = Learned {
            learned,
            examples: engine.examples(),
            average_loss: engine.average_loss(),
            predictions,
        };
        json!(told).to_string()
    }

    /// Refuses features of another kind than the model's.
    pub fn check_space(&self, space: Space) -> Result<(), Refusal> {
        check_space(self.space(), &self.model.reading.format, space)
    }

    fn settle(&mut self, space: Space) {
        let reading = &mut self.model.reading;
        if reading.format.is_empty() {
            space.format().clone_into(&mut reading.format);
            if space != Space::Numbers {
                let bits = Some(reading.bits.unwrap_or(DEFAULT_BITS));
                reading.schema = Schema { columns: Vec::new(), bits };
            }
        }
    }

    /// A score as it is told.
    pub fn prediction(&self, z: f64, id: Option<u64>) -> Prediction {
        prediction(self.engine(), &self.model.labels, z, id)
    }
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

fn why(error: &Error) -> Refusal {
    match error {
        Error::Diverged(message) => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "diverged", message.clone())
        }
        other => Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "cannot_learn", other.to_string()),
    }
}

/// A mistake of the program, answered rather than panicked over.
fn shared() -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the engine is in use while it should learn")
}
