//! A model as a function of its log: what each record does to it, and what is answered.
//!
//! Everything here is deterministic. The same records in the same order make the same model to the bit, so that what
//! was lost with a crash is what the log does not hold, and nothing else.

mod answer;
pub(crate) mod held;
mod history;
mod keys;
mod learn;
mod pending;
mod snapshot;
mod step;

pub use answer::{ClassPredicted, Learned, Prediction, check_space, prediction};
pub use held::Held;
pub use history::Point;
pub use step::{Step, repeat};

pub(crate) use answer::told_name;
pub(crate) use history::pace;
pub(crate) use learn::{LONGEST_NAME, meaning};
pub(crate) use snapshot::unpacked_length;

use crate::command::{Command, Entry, Key, Space};
use crate::error::Refusal;
use history::History;
use keys::{Keys, Known};
use noregret::example::hash::DEFAULT_BITS;
use noregret::example::names::Schema;
use noregret::model::ModelOf;
use noregret::multiclass::{Multiclass, Pupil};
use pending::Pending;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// Examples of sources that could not be read or learned.
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
    /// The most classes that may join. Kept with the model, because what is refused is part of what a log means.
    pub most_classes: u64,
}

/// What one command answers: a JSON text, or why not.
pub type Answer = Result<String, Refusal>;

impl State {
    /// A model as it is made or uploaded.
    pub fn new(model: ModelOf<Held>, most_classes: u64) -> Self {
        Self {
            model,
            most_classes,
            keys: Keys::default(),
            pending: Pending::default(),
            offsets: BTreeMap::new(),
            history: History::default(),
            counts: Counts::default(),
        }
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Pupil> {
        &self.model.engine.0
    }

    /// The same where it tells several classes apart.
    pub fn several(&self) -> Option<&Multiclass> {
        self.engine().multiclass()
    }

    /// The points of the curves.
    pub fn points(&self) -> &[Point] {
        self.history.points()
    }

    /// How many predictions wait for their labels now, and how many have done so for too long, ever. The next record
    /// gives them up; nobody has to wait for that to be told.
    pub fn pending(&self, now: u64) -> (u64, u64) {
        let overdue = self.pending.overdue(now) as u64;
        (self.pending.len() as u64 - overdue, self.counts.expired + overdue)
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

    fn told(&self, learned: u64, predictions: Option<Vec<Prediction>>) -> String {
        let engine = self.engine();
        let told = Learned {
            learned,
            examples: held::examples(engine),
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

    /// Scores as they are told.
    pub fn prediction(&self, z: &[f64], id: Option<u64>) -> Prediction {
        prediction(self.engine(), &self.model.labels, z, id)
    }
}
