//! `noregret.Learner`: a model that learns, as a Python object.
//!
//! The model is behind a lock that is never held while Python code may run, so that whoever holds Python's
//! own lock can wait for it. Many rows are learned block by block: between two blocks other threads may
//! predict, and ^C is heard.

use crate::error::{in_python, raise, refuse};
use crate::feature::Space;
use crate::file;
use crate::label::{self, Labels};
use crate::matrix::Matrix;
use crate::proof::{self, Certificate, Ledger};
use crate::rows::{Made, Memory, bad_weight, data, usable};
use noregret::engine::{Config, Engine};
use noregret::example::format::Options;
use noregret::example::hash::LARGEST_BITS;
use noregret::example::names::NameTable;
use noregret::example::{Label, LabelMap, Rows};
use noregret::learner::{self, Losses};
use noregret::loss::{self, Task};
use noregret::model::{Model, Reading};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, RwLock};

/// The loss where neither the user nor the learner says.
const DEFAULT_LOSS: &str = "logistic";

/// What the lock guards.
pub(crate) struct State {
    pub(crate) model: Model,
}

/// A linear model that learns online, with a certificate of its regret.
///
/// Learners, losses and their parameters are those of the command `noregret` (see `noregret.learners()`); a
/// parameter such as `--huber-delta` is the keyword `huber_delta`.
///
/// Labels of two classes are 1 (or True) and -1 or 0 (or False); classes of other names are given beforehand as
/// `classes=(negative, positive)`. Other losses take numbers.
///
/// Features are numbers (the columns of arrays and matrices) or names (the keys of dicts, the columns of
/// tables): what comes first decides. Names are hashed to `bits` bits, except `columns`, which have places of
/// their own; those of the first table become such columns.
///
/// >>> import noregret
/// >>> learner = noregret.Learner("auto", loss="logistic")
/// >>> learner.learn_one({"sun": 1.0, "clouds": 0.2}, True)
/// >>> learner.learn_one({"rain": 1.0, "city": "Bergen"}, False)
/// >>> learner.predict_one({"sun": 1.0})
/// 1
/// >>> learner.certificate(radius=1).best_at_least < learner.average_loss
/// True
#[pyclass(frozen, subclass, module = "noregret")]
pub(crate) struct Learner {
    /// How many features the model was made for, and how many the user allowed by that name.
    pub(crate) dimension: Option<u32>,
    pub(crate) said_dimension: Option<u32>,
    pub(crate) state: RwLock<State>,
    pub(crate) space: OnceLock<Space>,
    pub(crate) memory: Mutex<Option<Box<Memory>>>,
}

/// Calls a function with the matrix that a tuple of `_data.as_matrix` describes.
macro_rules! with_matrix {
    ($form:expr, |$matrix:ident| $then:expr) => {{
        let form: &Bound<'_, PyTuple> = $form;
        let values = form.get_item(1)?;
        if form.len() == 3 {
            if let Ok(values) = values.cast::<PyArray2<f32>>() {
                let $matrix = &Matrix::dense(values)?;
                $then
            } else {
                let $matrix = &Matrix::dense(values.cast::<PyArray2<f64>>()?)?;
                $then
            }
        } else {
            let (indptr, indices, columns) =
                (form.get_item(2)?, form.get_item(3)?, form.get_item(4)?.extract()?);
            let indptr = indptr.cast::<PyArray1<i64>>()?;
            if let Ok(values) = values.cast::<PyArray1<f32>>() {
                let $matrix = &Matrix::sparse(indptr, &indices, values, columns)?;
                $then
            } else {
                let $matrix = &Matrix::sparse(indptr, &indices, values.cast::<PyArray1<f64>>()?, columns)?;
                $then
            }
        }
    }};
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (learner="auto", loss=None, radius=None, *, comparator=None, l2=None, row_bound=None,
        label_bound=None, delta=0.05, average=false, bias=true, dimension=None, bits=None, columns=None, classes=None,
        **parameters))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        learner: &str,
        loss: Option<&str>,
        radius: Option<f64>,
        comparator: Option<String>,
        l2: Option<f64>,
        row_bound: Option<f64>,
        label_bound: Option<f64>,
        delta: f64,
        average: bool,
        bias: bool,
        dimension: Option<u32>,
        bits: Option<u32>,
        columns: Option<Vec<String>>,
        classes: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let entry = learner::find(learner).map_err(raise)?;
        let loss = match (loss, entry.losses) {
            (Some(name), _) => loss::find(name).map_err(raise)?.name,
            (None, Losses::Only(names)) => names[0],
            (None, Losses::All) => DEFAULT_LOSS,
        };
        if let Some(bits) = bits.filter(|bits| !(1..=LARGEST_BITS).contains(bits)) {
            return Err(refuse(format!("bits: found {bits}, expected 1 to {LARGEST_BITS}")));
        }
        let mut config = Config {
            radius,
            comparator,
            l2,
            row_bound,
            label_bound,
            delta,
            average,
            bias,
            dimension: dimension.or(bits.map(|bits| 1 << bits)),
            ..Config::new(learner, loss)
        };
        for (name, value) in parameters.into_iter().flatten() {
            let name: String = name.extract()?;
            let text = match value.cast::<PyBool>() {
                Ok(truth) => if truth.is_true() { "yes" } else { "no" }.to_owned(),
                Err(_) => value.str()?.to_str()?.to_owned(),
            };
            let known = learner::ENTRIES
                .iter()
                .map(|e| e.parameters)
                .chain(loss::ENTRIES.iter().map(|e| e.parameters));
            let flag = name.replace('_', "-");
            if !known.flatten().any(|p| p.name == flag) {
                let message = config.give(&flag, &text).err().map_or(String::new(), |e| e.0);
                return Err(PyTypeError::new_err(in_python(&message)));
            }
            config.give(&flag, &text).map_err(raise)?;
        }
        let labels = label::map(loss::find(loss).map_err(raise)?.task, classes)?;
        let engine = Engine::new(config).map_err(raise)?;
        let reading = Reading { bits, dimension, ..Reading::default() };
        let learner = Self::of(Model { engine, reading, labels, names: NameTable::new() });
        if let Some(columns) = columns {
            let mut sorted: Vec<&String> = columns.iter().collect();
            sorted.sort_unstable();
            if let Some([name, ..]) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(refuse(format!("columns= has `{name}` twice")));
            }
            learner.settle(|| Space::Names(learner.new_names(columns)));
        }
        Ok(learner)
    }

    /// Learns one example: a dict from names to values, or a one-dimensional array.
    ///
    /// Values of a dict are as in JSON lines: a text is the feature `name=text`, True is 1, None is absent, nested
    /// names are joined by dots.
    #[pyo3(signature = (x, y, weight=1.0))]
    fn learn_one(&self, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>, weight: f64) -> PyResult<()> {
        if !usable(weight) {
            return Err(refuse(bad_weight(weight)));
        }
        let label: Label = label::label(y)?;
        let mut memory = self.remember();
        let done = self.with_row(&mut memory, x, true, &mut |learner, row| {
            let mut state = learner.write();
            let Model { engine, labels, names, .. } = &mut state.model;
            let loss = engine.loss();
            let y = [labels.one(&label, &|y| loss.accepts(y)).map_err(refuse)?];
            let weight = [weight];
            let weights: &[f64] = if weight[0] == 1.0 { &[] } else { &weight };
            match row {
                Made::Narrow(block) => engine.learn(Rows { labels: &y, weights, ..block.rows() }),
                Made::Wide(block, fresh) => {
                    for (index, name) in fresh {
                        names.insert(*index, name.clone());
                    }
                    engine.learn_f64(Rows { labels: &y, weights, ..block.rows() })
                }
            }
            .map_err(raise)
        });
        self.give_back(memory);
        done
    }

    /// Learns many examples in order, as if one by one, to the last bit. `X` is a two-dimensional array, a SciPy
    /// sparse matrix, a table of pandas, polars or pyarrow, or a list of dicts. On an error the rows before the bad
    /// one have been learned.
    ///
    /// >>> import noregret
    /// >>> learner = noregret.Learner(loss="square")
    /// >>> learner.learn_many([[1.0, 2.0], [0.0, 1.0]], [3.5, 2.0])
    /// >>> learner.examples
    /// 2
    #[pyo3(name = "learn_many", signature = (X, y, sample_weight=None))]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn learn_many(
        &self,
        py: Python<'_>,
        X: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        sample_weight: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let data = data(py)?;
        let labels = Labels::new(&data.call_method1("as_labels", (y,))?)?;
        let weights: Option<PyReadonlyArray1<'_, f64>> = match sample_weight {
            Some(given) => {
                Some(data.call_method1("as_weights", (given,))?.cast::<PyArray1<f64>>()?.try_readonly()?)
            }
            None => None,
        };
        let weights = match &weights {
            Some(weights) => weights.as_slice().map_err(|e| refuse(e.to_string()))?,
            None => &[],
        };
        let labels = labels.view()?;
        if sample_weight.is_some() && weights.is_empty() && labels.len() > 0 {
            return Err(refuse(format!("y has {} labels and sample_weight has no numbers", labels.len())));
        }
        let form = data.call_method1("as_matrix", (X,))?;
        if let Ok(rows) = form.cast::<PyList>() {
            return self.learn_dicts(py, rows, &labels, weights);
        }
        let form = form.cast::<PyTuple>()?;
        let places = self.columns(true, form.get_item(0)?.extract()?)?;
        with_matrix!(form, |matrix| self.learn_matrix(py, matrix, &places, &labels, weights))
    }

    /// The scores `<w, x>` of many examples; see `learn_many` for what `X` can be.
    #[pyo3(name = "score_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn score_many<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let form = data(py)?.call_method1("as_matrix", (X,))?;
        let scores = if let Ok(rows) = form.cast::<PyList>() {
            rows.iter().map(|x| self.score(&x)).collect::<PyResult<Vec<f64>>>()?
        } else {
            let form = form.cast::<PyTuple>()?;
            let places = self.columns(false, form.get_item(0)?.extract()?)?;
            with_matrix!(form, |matrix| self.score_matrix(py, matrix, &places))?
        };
        Ok(PyArray1::from_vec(py, scores))
    }

    /// The score `<w, x>` of one example.
    fn score_one(&self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.score(x)
    }

    /// The label that is predicted for one example: a class, or a number.
    fn predict_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let z = self.score(x)?;
        if self.read().model.engine.loss().entry().task == Task::Real {
            return Ok(z.into_pyobject(py)?.into_any());
        }
        let (negative, positive) = self.classes_of(py)?;
        Ok(if z >= 0.0 { positive } else { negative })
    }

    /// The labels that are predicted for many examples; see `learn_many` for what `X` can be.
    #[pyo3(name = "predict_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn predict_many<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let scores = self.score_many(py, X)?;
        if self.read().model.engine.loss().entry().task == Task::Real {
            return Ok(scores.into_any());
        }
        let (negative, positive) = self.classes_of(py)?;
        data(py)?.call_method1("as_classes", (scores, negative, positive))
    }

    /// The probability of the positive class (logistic loss).
    fn predict_proba_one(&self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        self.probabilistic()?;
        Ok(probability(self.score(x)?))
    }

    /// The probabilities of the positive class for many examples (logistic loss).
    #[pyo3(name = "predict_proba_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn predict_proba_many<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.probabilistic()?;
        let scores = self.score_many(py, X)?.try_readonly()?.as_array().mapv(probability);
        Ok(PyArray1::from_vec(py, scores.to_vec()))
    }

    /// Learns the examples of files (LIBSVM, VW, CSV, TSV, JSON lines; gzip and zstd; patterns), read as the
    /// command does, and returns how many there were.
    ///
    /// Two labels of other names than 1, 0 and -1 are ordered, the larger being positive. Bad records end the
    /// reading, or are left out with `on_error="skip"`.
    #[pyo3(signature = (path, *, format=None, label=None, weight=None, zero_based=false, on_error="fail", threads=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn learn_file(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        format: Option<&str>,
        label: Option<String>,
        weight: Option<String>,
        zero_based: bool,
        on_error: &str,
        threads: Option<usize>,
    ) -> PyResult<u64> {
        if !["fail", "skip"].contains(&on_error) {
            return Err(refuse(format!("on_error: found `{on_error}`, expected fail or skip")));
        }
        let paths: Vec<PathBuf> = if path.is_instance_of::<PyList>() || path.is_instance_of::<PyTuple>() {
            path.extract()?
        } else {
            vec![path.extract()?]
        };
        let patterns: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let (bits, dimension) = {
            let state = self.read();
            (state.model.reading.bits, state.model.reading.dimension)
        };
        let skip = on_error == "skip";
        let options = Options { zero_based, bits, dimension, label, weight, skip, ..Options::default() };
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        file::learn(py, self, &patterns, format, options, threads.unwrap_or_else(cores))
    }

    /// Ends a pass and begins the next one over the same stream: from here on the same examples must follow in the
    /// same order. Losses and counts go on speaking of the first pass; the lower bound may gain.
    fn next_pass(&self) {
        self.write().model.engine.next_pass();
    }

    /// What is proved against every fixed model of a class: by default the learner's own.
    #[pyo3(signature = (radius=None, comparator=None))]
    fn certificate(&self, radius: Option<f64>, comparator: Option<&str>) -> PyResult<Certificate> {
        proof::certificate(&self.read().model.engine, comparator, radius)
    }

    /// A copy of the ledger; ledgers add.
    #[getter]
    fn ledger(&self) -> Ledger {
        let state = self.read();
        Ledger::new(&state.model.engine, &state.model.labels, &state.model.reading)
    }

    /// Writes the model to a file, the same as the command's: whole or not at all.
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.read().model.save(&path)).map_err(raise)
    }

    /// Reads a model file, this package's or the command's.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Model::load(&path)).map(Self::of).map_err(raise)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| self.read().model.to_bytes());
        PyBytes::new(py, &bytes)
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Model::from_bytes(bytes).map(Self::of).map_err(refuse)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    /// The current weights of the features; of a learner that is not linear, those of a model that stands for it.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let weights = self.read().model.engine.weights();
        PyArray1::from_vec(py, weights.features)
    }

    /// The weight of the constant feature; 0 if there is none.
    #[getter]
    fn bias(&self) -> f64 {
        self.read().model.engine.weights().bias.unwrap_or(0.0)
    }

    /// The weights of named features, as far as names are known. Names that share a place show the first.
    #[getter]
    fn named_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.read();
        let Model { engine, reading, names, .. } = &state.model;
        let weights = engine.weights().features;
        let columns = reading.schema.columns.iter().zip(0_u32..).map(|(name, k)| (k, name.as_str()));
        let pairs: Vec<(String, f64)> = columns
            .chain(names.iter())
            .filter_map(|(index, name)| Some((name.to_owned(), *weights.get(index as usize)?)))
            .collect();
        drop(state);
        let dict = PyDict::new(py);
        for (name, weight) in pairs {
            dict.set_item(name, weight)?;
        }
        Ok(dict)
    }

    /// Whether predictions are products with the weights.
    #[getter]
    fn is_linear(&self) -> bool {
        self.read().model.engine.is_linear()
    }

    /// Examples learned in the first pass.
    #[getter]
    fn examples(&self) -> u64 {
        self.read().model.engine.examples()
    }

    /// The average loss of the first pass, every example predicted before it was learned; None before the first.
    #[getter]
    fn average_loss(&self) -> Option<f64> {
        self.read().model.engine.average_loss()
    }

    /// The learner's name.
    #[getter]
    fn learner(&self) -> String {
        self.read().model.engine.config().learner.clone()
    }

    /// The loss's name.
    #[getter]
    fn loss(&self) -> String {
        self.read().model.engine.config().loss.clone()
    }

    /// The negative and the positive class; None for losses of numbers. One not seen yet is -1 or 1.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let real = self.read().model.labels == LabelMap::Real;
        if real { Ok(None) } else { self.classes_of(py).map(Some) }
    }

    fn __repr__(&self) -> String {
        let state = self.read();
        let engine = &state.model.engine;
        let config = engine.config();
        let loss = engine.average_loss().map_or(String::new(), |l| format!(", average loss {l:.6}"));
        format!(
            "<Learner {} with {} loss: {} examples{loss}>",
            config.learner,
            config.loss,
            engine.examples()
        )
    }
}

impl Learner {
    fn classes_of<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (negative, positive) = match &self.read().model.labels {
            LabelMap::Binary { negative, positive } => (negative.clone(), positive.clone()),
            // Numbers; and files of several classes are refused when they are loaded.
            _ => (None, None),
        };
        Ok((label::class(py, negative.as_ref(), -1)?, label::class(py, positive.as_ref(), 1)?))
    }

    fn probabilistic(&self) -> PyResult<()> {
        let state = self.read();
        match state.model.engine.loss().entry().name {
            "logistic" => Ok(()),
            other => {
                Err(refuse(format!("probabilities need the logistic loss; this model has the {other} loss")))
            }
        }
    }
}

fn probability(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Learners and losses with their parameters: (group, name, summary, [(parameter, default, meaning)]).
#[pyfunction]
#[allow(clippy::type_complexity, reason = "read by one line of Python")]
pub(crate) fn registry()
-> Vec<(&'static str, &'static str, &'static str, Vec<(String, Option<&'static str>, &'static str)>)> {
    let parameters = |list: &[noregret::parameter::Parameter]| {
        list.iter().map(|p| (p.name.replace('-', "_"), p.default, p.meaning)).collect()
    };
    let learners = learner::ENTRIES.iter().map(|e| ("learner", e.name, e.summary, parameters(e.parameters)));
    let losses = loss::ENTRIES.iter().map(|e| ("loss", e.name, e.summary, parameters(e.parameters)));
    learners.chain(losses).collect()
}
