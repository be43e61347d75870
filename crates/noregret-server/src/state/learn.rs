//! What examples and late labels do to a model.

use super::held::{self, examples};
use super::{Answer, State, Step};
use crate::command::{Key, Late, Learn};
use crate::error::Refusal;
use crate::wording::in_requests;
use axum::http::StatusCode;
use noregret::error::Error;
use noregret::example::{Block, Features, Label, LabelMap};
use noregret::multiclass::Pupil;
use std::collections::HashSet;
use std::sync::Arc;

impl State {
    pub(super) fn learn(&mut self, learn: Learn, time: u64, steps: &mut Vec<Step>) -> Answer {
        if let Some(answer) = self.known(learn.key.as_ref(), time) {
            return answer;
        }
        if let Some(offset) = &learn.offset {
            if self.offsets.get(&offset.source).is_some_and(|done| offset.position <= *done) {
                return Ok(self.told(0, None));
            }
            // Whatever becomes of the examples: a source goes on.
            self.counts.refused += offset.refused;
            self.offsets.insert(offset.source.clone(), offset.position);
            return self.learn_from_source(learn, steps);
        }
        let Learn { key, space, predict, names, mut block, .. } = learn;
        self.check_space(space)?;
        let mut labels = self.model.labels.clone();
        let engine = &*self.model.engine.0;
        whole(engine)?;
        block.labels.clear();
        for (k, label) in block.raw_labels.iter().enumerate() {
            block.labels.push(meaning(&mut labels, label, engine, self.most_classes).map_err(|r| r.at(k))?);
        }
        block.raw_labels.clear();
        let before = examples(engine);
        let Some(engine) = Arc::get_mut(&mut self.model.engine.0) else { return Err(shared()) };
        let mut scores = Vec::new();
        let done = if predict {
            let rows = block.rows();
            (0..rows.len()).try_for_each(|k| {
                let z = predicted(engine, rows.row(k).x);
                held::learn(engine, rows.slice(k, k + 1))?;
                scores.push(z);
                Ok(())
            })
        } else {
            held::learn(engine, block.rows())
        };
        let learned = examples(engine) - before;
        if learned == 0
            && let Err(error) = done
        {
            // Nothing has changed.
            return Err(why(&error).at(0));
        }
        self.model.labels = labels;
        self.forget_strangers();
        self.settle(space);
        for (index, name) in names {
            self.model.names.insert(index, &name);
        }
        steps.push(Step::Rows(block, learned as usize));
        if let Err(error) = done {
            return Err(why(&error).at(learned as usize).after(learned));
        }
        let predictions = predict.then(|| scores.iter().map(|z| self.prediction(z, None)).collect());
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
            self.model.names.insert(index, &name);
        }
        let most = self.most_classes;
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
            let done = whole(engine)
                .and_then(|()| meaning(&mut labels, &block.raw_labels[k], engine, most))
                .and_then(|y| held::learn(engine, row(y).rows()).map_err(|e| why(&e)).map(|()| y));
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

    pub(super) fn late(
        &mut self,
        key: Option<&Key>,
        list: &[Late],
        time: u64,
        steps: &mut Vec<Step>,
    ) -> Answer {
        if let Some(answer) = self.known(key, time) {
            return answer;
        }
        whole(self.engine())?;
        let mut labels = self.model.labels.clone();
        let mut ys = Vec::with_capacity(list.len());
        let mut seen = HashSet::with_capacity(list.len());
        for (k, late) in list.iter().enumerate() {
            if self.pending.get(late.id, time).is_none() || !seen.insert(late.id) {
                let message = format!(
                    "no prediction `{:016x}` waits for a label: it was never made, was labelled before, or its time \
                     (--label-ttl) is over",
                    late.id
                );
                return Err(Refusal::new(StatusCode::NOT_FOUND, "unknown_prediction", message).at(k));
            }
            let y = meaning(&mut labels, &late.label, self.engine(), self.most_classes);
            ys.push(y.map_err(|r| r.at(k))?);
        }
        self.model.labels = labels;
        let mut learned = 0;
        for (k, (late, y)) in list.iter().zip(ys).enumerate() {
            let Some(row) = self.pending.take(late.id) else { continue };
            self.settle(row.space);
            let Some(engine) = Arc::get_mut(&mut self.model.engine.0) else { return Err(shared()) };
            let x = Features { indices: &row.indices, values: &row.values };
            let mut z = row.scores;
            z.push(row.score);
            if let Err(error) = held::learn_late(engine, x, &z, y, late.weight) {
                self.forget_strangers();
                return Err(why(&error).at(k).after(learned));
            }
            learned += 1;
            let (indices, values) = (row.indices, row.values);
            steps.push(Step::Late { indices, values, z, y, weight: late.weight });
        }
        self.counts.labelled += learned;
        let answer = self.told(learned, None);
        if let Some(key) = key {
            self.keys.remember(key, time, &answer);
        }
        Ok(answer)
    }
}

impl State {
    /// A label of an example that was not learned has not become a class.
    fn forget_strangers(&mut self) {
        let count = self.several().map(noregret::multiclass::Multiclass::classes);
        if let (LabelMap::Classes(classes), Some(count)) = (&mut self.model.labels, count) {
            classes.truncate(count);
        }
    }
}

/// How long the name of a class may be, in bytes. A constant, because what is refused is part of what a log means.
pub(crate) const LONGEST_NAME: usize = 256;

/// What a label means to whoever learns; a new one may join, if there is room.
pub(crate) fn meaning(
    labels: &mut LabelMap,
    label: &Label,
    engine: &Pupil,
    most_classes: u64,
) -> Result<f64, Refusal> {
    if let (LabelMap::Classes(_), Label::Name(name)) = (&*labels, label)
        && name.len() > LONGEST_NAME
    {
        let message = format!("found a label of {} bytes, expected at most {LONGEST_NAME}", name.len());
        return Err(Refusal::bad("bad_label", message));
    }
    let y = labels.one(label, &|y| engine.accepts(y)).map_err(|m| Refusal::library("bad_label", &m))?;
    if engine.multiclass().is_some() && y as u64 >= most_classes {
        return Err(Refusal::too_large(
            "too_many_classes",
            format!(
                "the label would be class {} of the model, which may have {most_classes}: as many as fit into the memory \
                 allowed for a model (--max-model-memory), and 1000 at most; for more lower `bits` when the model is made, \
                 or choose a smaller learner",
                y + 1.0
            ),
        ));
    }
    Ok(y)
}

/// What is predicted before a row is learned.
fn predicted(engine: &Pupil, x: Features<'_, f64>) -> Vec<f64> {
    match engine {
        Pupil::One(engine) => vec![engine.predict_f64(x)],
        Pupil::Many(several) => {
            let mut z = Vec::new();
            several.scores_f64(x, &mut z);
            z
        }
    }
}

/// Refuses to go on where one class has learned an example that another could not.
fn whole(engine: &Pupil) -> Result<(), Refusal> {
    if engine.multiclass().is_none_or(noregret::multiclass::Multiclass::is_whole) {
        return Ok(());
    }
    Err(Refusal::conflict(
        "diverged",
        "one of the model's classes has diverged, and the model cannot learn any more: delete it, or upload a copy",
    ))
}

fn why(error: &Error) -> Refusal {
    match error {
        Error::Diverged(message) => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "diverged", in_requests(message))
        }
        other => {
            Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "cannot_learn", in_requests(&other.to_string()))
        }
    }
}

/// A mistake of the program, answered rather than panicked over.
fn shared() -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the engine is in use while it should learn")
}
