//! What a model answers: scores, labels, probabilities; one number for a row, or one for each class.

use crate::error::refuse;
use crate::input::Input;
use crate::label;
use crate::learner::Learner;
use crate::rows::{Made, Taker, data};
use crate::runs::{Kind, Run};
use noregret::example::label::Name;
use noregret::example::{Features, LabelMap};
use noregret::loss::Task;
use noregret::multiclass::{Multiclass, Pupil};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The scores of one row.
enum Scores {
    One(f64),
    Many(Vec<f64>),
}

/// Asks for scores.
struct Asking<'a> {
    learner: &'a Learner,
    scores: Vec<f64>,
    row: Vec<f64>,
}

impl Taker for Asking<'_> {
    const LEARNS: bool = false;
    // A feature that the model does not know counts nothing.
    const BOUNDED: bool = false;

    fn take<V: Kind>(&mut self, _: usize, run: Run<'_, V>) -> PyResult<()> {
        let Self { learner, scores, row } = self;
        let state = learner.read();
        let rows = run
            .offsets
            .windows(2)
            .map(|w| Features { indices: &run.indices[w[0]..w[1]], values: &run.values[w[0]..w[1]] });
        match &state.model.engine {
            Pupil::One(engine) => scores.extend(rows.map(|x| V::score(engine, x))),
            Pupil::Many(several) => {
                for x in rows {
                    V::scores(several, x, row);
                    scores.extend_from_slice(row);
                }
            }
        }
        Ok(())
    }
}

/// The probability that goes with a score.
fn probability(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

impl Learner {
    fn scores_one(&self, x: &Bound<'_, PyAny>) -> PyResult<Scores> {
        let mut memory = self.remember();
        let z = self.with_row(&mut memory, x, false, &mut |learner, row| {
            let state = learner.read();
            Ok(match row {
                Made::Wide(b, _) => {
                    scores(&state.model.engine, Features { indices: &b.indices, values: &b.values })
                }
                Made::Narrow(b) => {
                    scores(&state.model.engine, Features { indices: &b.indices, values: &b.values })
                }
            })
        });
        self.give_back(memory);
        z
    }

    /// The scores of many rows, one after the other.
    fn scores_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let input = Input::new(rows)?;
        let mut asking = Asking { learner: self, scores: Vec::new(), row: Vec::new() };
        self.feed(py, &input, None, &mut asking)?;
        Ok(asking.scores)
    }

    /// An array of a number a row, or of one for each class.
    fn shaped<'py>(&self, py: Python<'py>, numbers: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let classes = self.class_count();
        let array = PyArray1::from_vec(py, numbers);
        match classes {
            None => Ok(array.into_any()),
            Some(0) => Ok(array.reshape([0, 0])?.into_any()),
            Some(classes) => {
                let rows = array.as_any().len()? / classes;
                Ok(array.reshape([rows, classes])?.into_any())
            }
        }
    }

    pub(crate) fn class_count(&self) -> Option<usize> {
        self.read().model.engine.multiclass().map(Multiclass::classes)
    }

    fn is_real(&self) -> bool {
        self.read().model.labels == LabelMap::Real
    }

    pub(crate) fn score_one_of<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.scores_one(x)? {
            Scores::One(z) => z.into_pyobject(py)?.into_any(),
            Scores::Many(z) => PyArray1::from_vec(py, z).into_any(),
        })
    }

    pub(crate) fn score_many_of<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.scores_many(py, rows)?;
        self.shaped(py, scores)
    }

    pub(crate) fn predict_one_of<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.scores_one(x)? {
            Scores::One(z) if self.is_real() => Ok(z.into_pyobject(py)?.into_any()),
            Scores::One(z) => {
                let (negative, positive) = self.both(py)?;
                Ok(if z >= 0.0 { positive } else { negative })
            }
            Scores::Many(z) => {
                let names = self.class_names();
                let name = Multiclass::highest(&z).and_then(|k| names.get(k));
                let name = name.ok_or_else(|| refuse("no class has been seen: nothing can be predicted"))?;
                label::class(py, Some(name), 0)
            }
        }
    }

    pub(crate) fn predict_many_of<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.scores_many(py, rows)?;
        if self.class_count().is_some() {
            let scores = self.shaped(py, scores)?;
            return data(py)?.call_method1("highest", (scores, self.classes_list(py)?));
        }
        let scores = PyArray1::from_vec(py, scores);
        if self.is_real() {
            return Ok(scores.into_any());
        }
        let (negative, positive) = self.both(py)?;
        data(py)?.call_method1("as_classes", (scores, negative, positive))
    }

    pub(crate) fn proba_one_of<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.probabilistic()?;
        match self.scores_one(x)? {
            Scores::One(z) => Ok(probability(z).into_pyobject(py)?.into_any()),
            Scores::Many(mut z) => {
                self.to_probabilities(&mut z);
                let dict = PyDict::new(py);
                for (name, p) in self.class_names().iter().zip(z) {
                    dict.set_item(label::class(py, Some(name), 0)?, p)?;
                }
                Ok(dict.into_any())
            }
        }
    }

    pub(crate) fn proba_many_of<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.probabilistic()?;
        let mut scores = self.scores_many(py, rows)?;
        match self.class_count() {
            None => scores.iter_mut().for_each(|z| *z = probability(*z)),
            Some(classes) => scores.chunks_mut(classes.max(1)).for_each(|z| self.to_probabilities(z)),
        }
        self.shaped(py, scores)
    }

    fn to_probabilities(&self, z: &mut [f64]) {
        if let Some(several) = self.read().model.engine.multiclass() {
            several.probabilities(z);
        }
    }

    fn probabilistic(&self) -> PyResult<()> {
        let state = self.read();
        let (loss, has) = match &state.model.engine {
            Pupil::One(engine) => (engine.loss().entry().name, engine.loss().entry().name == "logistic"),
            Pupil::Many(several) => (several.config().loss.as_str(), several.probabilities(&mut [])),
        };
        if has {
            return Ok(());
        }
        Err(refuse(format!("probabilities need the logistic loss; this model has the {loss} loss")))
    }

    /// The names of the classes of a model of several.
    pub(crate) fn class_names(&self) -> Vec<Name> {
        let state = self.read();
        label::names(&state.model.engine, &state.model.labels).unwrap_or_default()
    }

    /// The classes of a model of several as Python's.
    pub(crate) fn classes_list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.class_names().iter().map(|name| label::class(py, Some(name), 0)).collect()
    }

    /// The negative and the positive class.
    pub(crate) fn both<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (negative, positive) = match &self.read().model.labels {
            LabelMap::Binary { negative, positive } => (negative.clone(), positive.clone()),
            LabelMap::OneVersusRest { positive } => (None, Some(positive.clone())),
            _ => (None, None),
        };
        Ok((label::class(py, negative.as_ref(), -1)?, label::class(py, positive.as_ref(), 1)?))
    }

    /// Whether labels are classes.
    pub(crate) fn is_classifier(&self) -> bool {
        match &self.read().model.engine {
            Pupil::One(engine) => engine.loss().entry().task != Task::Real,
            Pupil::Many(_) => true,
        }
    }
}

fn scores<V: Kind>(pupil: &Pupil, x: Features<'_, V>) -> Scores {
    match pupil {
        Pupil::One(engine) => Scores::One(V::score(engine, x)),
        Pupil::Many(several) => {
            let mut z = Vec::new();
            V::scores(several, x, &mut z);
            Scores::Many(z)
        }
    }
}
