//! What a learner tells of itself: the keys of `noregret learn --json`, curves and weights.

use crate::error::refuse;
use crate::learner::{Learner, State};
use crate::proof;
use noregret::model::AnyModel;
use noregret::multiclass::Pupil;
use noregret::report::Run;
use noregret::report::progress::Told;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Radii of a curve, as multiples of the one in force.
const CURVE: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

impl Learner {
    /// The summary as JSON, without what only a run of the command has.
    pub(crate) fn summary_text(&self) -> String {
        let state = self.read();
        let State { model: AnyModel { engine, reading, labels, .. }, nonzeros } = &*state;
        let run = Run {
            examples: engine.pass_examples(),
            nonzeros: *nonzeros,
            skipped: 0,
            interrupted: false,
            seconds: 0.0,
            history: &[],
            format: &reading.format,
            labels,
        };
        let mut summary = engine.summary(&run);
        for key in ["skipped", "interrupted", "seconds", "history", "values", "nonzeros", "examples_this_run"]
        {
            summary.remove(key);
        }
        serde_json::Value::Object(summary).to_string()
    }

    /// A row of the progress table as JSON.
    pub(crate) fn row_text(&self) -> PyResult<String> {
        serde_json::to_string(&self.read().model.engine.row()).map_err(|e| refuse(e.to_string()))
    }

    /// Pairs of radius and lower bound.
    pub(crate) fn curve_of(
        &self,
        radii: Option<Vec<f64>>,
        comparator: Option<&str>,
    ) -> PyResult<Vec<(f64, f64)>> {
        let radii = if let Some(radii) = radii {
            radii
        } else {
            let radius = self.certificate_of(None, comparator)?.radius();
            let radius = radius.filter(|r| *r > 0.0);
            let radius = radius.ok_or_else(|| refuse("the class has no radius: say radii="))?;
            CURVE.iter().map(|factor| factor * radius).collect()
        };
        radii.iter().map(|&r| Ok((r, self.certificate_of(Some(r), comparator)?.best_at_least()))).collect()
    }

    pub(crate) fn certificate_of(
        &self,
        radius: Option<f64>,
        comparator: Option<&str>,
    ) -> PyResult<proof::Certificate> {
        match &self.read().model.engine {
            Pupil::One(engine) => proof::certificate(engine, comparator, radius),
            Pupil::Many(several) => proof::of_several(several, comparator, radius),
        }
    }

    /// The weights of the features; a row for each class where there are several.
    pub(crate) fn weights_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (all, shape) = match &self.read().model.engine {
            Pupil::One(engine) => (engine.weights().features, None),
            Pupil::Many(several) => {
                let (classes, dimension) = (several.classes(), several.dimension());
                let mut all = Vec::with_capacity(classes * dimension);
                for k in 0..classes {
                    all.extend(several.weights(k).features);
                    all.resize((k + 1) * dimension, 0.0);
                }
                (all, Some([classes, dimension]))
            }
        };
        let array = PyArray1::from_vec(py, all);
        match shape {
            Some(shape) => Ok(array.reshape(shape)?.into_any()),
            None => Ok(array.into_any()),
        }
    }

    /// The weight of the constant feature; one for each class where there are several.
    pub(crate) fn bias_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bias = match &self.read().model.engine {
            Pupil::One(engine) => Err(engine.weights().bias.unwrap_or(0.0)),
            Pupil::Many(several) => {
                Ok((0..several.classes()).map(|k| several.weights(k).bias.unwrap_or(0.0)).collect())
            }
        };
        Ok(match bias {
            Ok(each) => PyArray1::from_vec(py, each).into_any(),
            Err(one) => one.into_pyobject(py)?.into_any(),
        })
    }

    /// The weights by name, as far as names are known.
    pub(crate) fn named_weights_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.read();
        let AnyModel { engine, reading, names, .. } = &state.model;
        let columns = reading.schema.columns.iter().zip(0_u32..).map(|(name, k)| (k, name.clone()));
        let all: Vec<(u32, String)> =
            columns.chain(names.iter().map(|(k, name)| (k, name.to_owned()))).collect();
        let several = engine.multiclass().is_some();
        let vectors = match engine {
            Pupil::One(engine) => vec![engine.weights().features],
            Pupil::Many(several) => (0..several.classes()).map(|k| several.weights(k).features).collect(),
        };
        let dimension = engine.dimension();
        drop(state);
        let dict = PyDict::new(py);
        for (index, name) in all.into_iter().filter(|(index, _)| (*index as usize) < dimension) {
            let of = |v: &Vec<f64>| v.get(index as usize).copied().unwrap_or(0.0);
            if several {
                dict.set_item(name, PyArray1::from_vec(py, vectors.iter().map(of).collect()))?;
            } else {
                dict.set_item(name, of(&vectors[0]))?;
            }
        }
        Ok(dict)
    }
}
