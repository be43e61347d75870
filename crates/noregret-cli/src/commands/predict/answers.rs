//! What a model answers for a row: a label, a number, or one for each class.

use anyhow::Result;
use noregret::engine::Engine;
use noregret::error::UsageError;
use noregret::example::{Features, LabelMap};
use noregret::loss::Task;
use noregret::multiclass::{Multiclass, Pupil};
use noregret::round::Vector;
use std::io::Write;

/// What is printed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// The label, or the number where labels are numbers.
    Label,
    /// The margin `<w, x>`, of each class if there are several.
    Scores,
    /// Probabilities.
    Probabilities,
}

/// A model with what was asked of it.
pub(super) struct Answers<'a> {
    pupil: &'a Pupil,
    kind: Kind,
    /// The averaged models, one a class, where they were asked for.
    averaged: Option<Vec<Vector>>,
    /// The scores of the row at hand, and what is printed of them.
    z: Vec<f64>,
    shown: Vec<f64>,
}

fn no_probabilities(loss: &str, several: bool) -> UsageError {
    let needs =
        if several { "the logistic loss (--multiclass ovr) or of softmax" } else { "the logistic loss" };
    UsageError(format!("--proba needs a model of {needs}; this one has the {loss} loss (use --scores)"))
}

impl<'a> Answers<'a> {
    pub(super) fn new(pupil: &'a Pupil, kind: Kind, averaged: bool) -> Result<Self, UsageError> {
        let all = match pupil {
            Pupil::One(engine) => vec![engine.averaged()],
            Pupil::Many(model) => (0..model.classes()).map(|k| model.averaged(k)).collect(),
        };
        let all: Option<Vec<Vector>> = all.into_iter().collect();
        if averaged && all.is_none() {
            let message = "--averaged: the model keeps no average; learn it with --average";
            return Err(UsageError::new(message));
        }
        if kind == Kind::Probabilities {
            let loss = &pupil.config().loss;
            match pupil {
                Pupil::One(_) if loss != "logistic" => return Err(no_probabilities(loss, false)),
                Pupil::Many(model) if !model.probabilities(&mut []) => {
                    return Err(no_probabilities(loss, true));
                }
                _ => {}
            }
        }
        let averaged = all.filter(|_| averaged);
        Ok(Self { pupil, kind, averaged, z: Vec::new(), shown: Vec::new() })
    }

    pub(super) fn is_averaged(&self) -> bool {
        self.averaged.is_some()
    }

    /// Whether a prediction is a label, which is right or wrong.
    pub(super) fn has_labels(&self) -> bool {
        match self.pupil {
            Pupil::One(engine) => engine.loss().entry().task == Task::Binary,
            Pupil::Many(_) => true,
        }
    }

    /// Predicts a row and prints it.
    pub(super) fn print(
        &mut self,
        x: Features<'_, f32>,
        labels: &LabelMap,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        match (&self.averaged, self.pupil) {
            (Some(all), _) => {
                self.z.clear();
                self.z.extend(all.iter().map(|w| w.dot(x)));
            }
            (None, Pupil::One(engine)) => {
                self.z.clear();
                self.z.push(engine.predict(x));
            }
            (None, Pupil::Many(model)) => model.scores(x, &mut self.z),
        }
        match self.pupil {
            Pupil::One(engine) => self.print_one(engine, labels, out),
            Pupil::Many(model) => self.print_many(model, labels, out),
        }
    }

    fn print_one(&self, engine: &Engine, labels: &LabelMap, out: &mut dyn Write) -> std::io::Result<()> {
        let z = self.z[0];
        match self.kind {
            Kind::Probabilities => writeln!(out, "{:?}", 1.0 / (1.0 + (-z).exp())),
            Kind::Label if engine.loss().entry().task == Task::Binary => {
                writeln!(out, "{}", labels.name_of(if z >= 0.0 { 1.0 } else { -1.0 }))
            }
            _ => writeln!(out, "{z:?}"),
        }
    }

    fn print_many(
        &mut self,
        model: &Multiclass,
        labels: &LabelMap,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        if self.kind == Kind::Label {
            let place = Multiclass::highest(&self.z).unwrap_or(0);
            return writeln!(out, "{}", labels.name_of(place as f64));
        }
        self.shown.clone_from(&self.z);
        if self.kind == Kind::Probabilities {
            model.probabilities(&mut self.shown);
        }
        for (k, number) in self.shown.iter().enumerate() {
            let tab = if k > 0 { "\t" } else { "" };
            write!(out, "{tab}{}:{number:?}", labels.name_of(k as f64))?;
        }
        writeln!(out)
    }

    /// What the row just printed costs with this label, where that can be said, and whether the predicted
    /// label is another.
    pub(super) fn judge(&self, y: f64) -> (Option<f64>, bool) {
        match self.pupil {
            Pupil::One(engine) => {
                let z = self.z[0];
                (Some(engine.loss().value(z, y)), self.has_labels() && (z >= 0.0) != (y > 0.0))
            }
            Pupil::Many(model) => {
                let y = y as usize;
                (model.loss(&self.z, y), Multiclass::highest(&self.z) != Some(y))
            }
        }
    }
}
