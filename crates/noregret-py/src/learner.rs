//! `noregret.Learner`: a model that learns, as a Python object.
//!
//! The model is behind a lock that is never held while Python code may run, so that whoever holds Python's
//! own lock can wait for it. Many rows are learned run by run: between two runs other threads may predict, and ^C
//! is heard.

use crate::error::{raise, refuse};
use crate::feature::Space;
use crate::file;
use crate::input::Input;
use crate::label::{self, Labels};
use crate::proof::{Certificate, Ledger};
use crate::rows::{Beside, Learning, Made, Memory, bad_weight, data, usable};
use crate::setting;
use noregret::engine::Config;
use noregret::example::format::Options;
use noregret::example::names::NameTable;
use noregret::example::{Label, LabelMap, Rows};
use noregret::learner;
use noregret::loss;
use noregret::model::{AnyModel, Reading};
use noregret::multiclass::Pupil;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, RwLock};

/// What the lock guards.
pub(crate) struct State {
    pub(crate) model: AnyModel,
    /// Feature values learned since the object was made.
    pub(crate) nonzeros: u64,
}

/// A linear model that learns online, with a certificate of its regret.
///
/// Learners, losses and their parameters are those of the command `noregret` (see `noregret.learners()`); a
/// parameter such as `--huber-delta` is the keyword `huber_delta`.
///
/// Labels of two classes are 1 (or True) and -1 or 0 (or False); classes of other names are given beforehand as
/// `classes=(negative, positive)`. With `multiclass="ovr"` (or `"softmax"`, `"perceptron"`) labels are any number of
/// classes, those of `classes` or all that come. Other losses take numbers.
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

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (learner="auto", loss=None, radius=None, *, comparator=None, l2=None, row_bound=None,
        label_bound=None, delta=0.05, average=false, bias=true, dimension=None, bits=None, columns=None, classes=None,
        multiclass=None, **parameters))]
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
        classes: Option<Vec<Bound<'_, PyAny>>>,
        multiclass: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let entry = learner::find(learner).map_err(raise)?;
        let places = setting::check_bits(bits)?;
        let mut config = Config {
            radius,
            comparator,
            l2,
            row_bound,
            label_bound,
            delta,
            average,
            bias,
            dimension: dimension.or(places),
            ..Config::new(learner, setting::loss_of(entry, loss)?)
        };
        setting::give(&mut config, parameters)?;
        let said = loss.is_some() || parameters.is_some_and(|given| !given.is_empty());
        let (engine, labels) = setting::build(config, multiclass, classes, said)?;
        let reading = Reading { bits, dimension, ..Reading::default() };
        let learner = Self::of(AnyModel { engine, reading, labels, names: NameTable::new() });
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
            let State { model, nonzeros } = &mut *state;
            let AnyModel { engine, labels, names, .. } = model;
            let y = [labels.one(&label, &|y| engine.accepts(y)).map_err(refuse)?];
            let weight = [weight];
            let weights: &[f64] = if weight[0] == 1.0 { &[] } else { &weight };
            match row {
                Made::Narrow(block) => {
                    *nonzeros += block.values.len() as u64;
                    engine.learn(Rows { labels: &y, weights, ..block.rows() })
                }
                Made::Wide(block, fresh) => {
                    for (index, name) in fresh {
                        names.insert(*index, name);
                    }
                    *nonzeros += block.values.len() as u64;
                    engine.learn_f64(Rows { labels: &y, weights, ..block.rows() })
                }
            }
            .map_err(raise)
        });
        self.give_back(memory);
        done
    }

    /// Learns many examples in order, as if one by one, to the last bit. `X` is a two-dimensional array, a SciPy
    /// sparse matrix, a table of pandas, polars, pyarrow or whatever speaks Arrow's C interface, or a list of dicts.
    /// On an error the rows before the bad one have been learned.
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
        with_labels(y, sample_weight, |beside| {
            let input = Input::new(X)?;
            let count = beside.labels.len();
            self.feed(py, &input, Some(count), &mut Learning { learner: self, beside, y: Vec::new() })
        })
    }

    /// The scores `<w, x>` of many examples, with a column for each of several classes; see `learn_many` for what `X`
    /// can be.
    #[pyo3(name = "score_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn score_many<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.score_many_of(py, X)
    }

    /// The score `<w, x>` of one example; an array of one for each of several classes.
    fn score_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.score_one_of(py, x)
    }

    /// The label that is predicted for one example: a class, or a number.
    fn predict_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.predict_one_of(py, x)
    }

    /// The labels that are predicted for many examples; see `learn_many` for what `X` can be.
    #[pyo3(name = "predict_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn predict_many<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.predict_many_of(py, X)
    }

    /// The probability of the positive class (logistic loss); a dict of those of several classes.
    fn predict_proba_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.proba_one_of(py, x)
    }

    /// The probabilities of the positive class for many examples (logistic loss); with a column for each of several
    /// classes.
    #[pyo3(name = "predict_proba_many")]
    #[allow(non_snake_case, reason = "as everybody calls it")]
    fn predict_proba_many<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.proba_many_of(py, X)
    }

    /// Learns the examples of files (LIBSVM, VW, CSV, TSV, JSON lines, Arrow, Parquet; gzip and zstd; patterns), read
    /// as the command does, and returns how many there were.
    ///
    /// Two labels of other names than 1, 0 and -1 are ordered, the larger being positive. Bad records end the
    /// reading, or are left out with `on_error="skip"`. With `header=False` a CSV begins with data, and its columns are
    /// called 1, 2, 3, ... `progress=True` shows a bar on standard error; a function is
    /// called with (bytes read, bytes in all or None, examples, average loss) instead.
    #[pyo3(signature = (path, *, format=None, label=None, weight=None, zero_based=false, header=true,
        on_error="fail", threads=None, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn learn_file(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        format: Option<&str>,
        label: Option<String>,
        weight: Option<String>,
        zero_based: bool,
        header: bool,
        on_error: &str,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
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
        let no_header = !header;
        let options =
            Options { zero_based, no_header, bits, dimension, label, weight, skip, ..Options::default() };
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let watch = file::Watch::new(py, progress)?;
        file::learn(py, self, &patterns, format, options, threads.unwrap_or_else(cores), watch)
    }

    /// Ends a pass and begins the next one over the same stream: from here on the same examples must follow in the
    /// same order. Losses and counts go on speaking of the first pass; the lower bound may gain.
    fn next_pass(&self) {
        self.write().model.engine.next_pass();
    }

    /// What is proved against every fixed model of a class: by default the learner's own.
    #[pyo3(signature = (radius=None, comparator=None))]
    fn certificate(&self, radius: Option<f64>, comparator: Option<&str>) -> PyResult<Certificate> {
        self.certificate_of(radius, comparator)
    }

    /// What no model of a radius can have lost less than, for many radii: pairs (radius, best_at_least), by default
    /// around the radius in force. The list has a method `plot`.
    ///
    /// >>> import noregret
    /// >>> learner = noregret.Learner("projected-ogd", "hinge", radius=2)
    /// >>> learner.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    /// >>> [radius for radius, best_at_least in learner.curve()]
    /// [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    #[pyo3(signature = (radii=None, comparator=None))]
    fn curve<'py>(
        slf: &Bound<'py, Self>,
        radii: Option<Vec<f64>>,
        comparator: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let pairs = slf.get().curve_of(radii, comparator)?;
        let loss = slf.get().average_loss();
        slf.py().import("noregret._display")?.call_method1("Curve", (pairs, loss))
    }

    /// A copy of the ledger; ledgers add.
    #[getter]
    fn ledger(&self) -> PyResult<Ledger> {
        let state = self.read();
        match &state.model.engine {
            Pupil::One(engine) => Ok(Ledger::new(engine, &state.model.labels, &state.model.reading)),
            Pupil::Many(_) => Err(refuse(
                "a model of several classes has a ledger for each of them; ask it for its certificate instead",
            )),
        }
    }

    /// What is known of the run: a dict with the keys of `noregret learn --json`.
    ///
    /// >>> import noregret
    /// >>> learner = noregret.Learner("projected-ogd", "hinge")
    /// >>> learner.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    /// >>> summary = learner.summary()
    /// >>> summary.get("certificate").get("comparator")
    /// 'l2'
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.summary_text(),))
    }

    /// A row of the progress table, as `noregret learn` prints it, in a dict.
    fn _row<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.row_text()?,))
    }

    /// Writes the model to a file, the same as the command's: whole or not at all.
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.whole()?;
        py.detach(|| self.read().model.save(&path)).map_err(raise)
    }

    /// Reads a model file, this package's or the command's.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| AnyModel::load(&path)).map(Self::of).map_err(raise)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.whole()?;
        let bytes = py.detach(|| self.read().model.to_bytes());
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        AnyModel::from_bytes(bytes).map(Self::of).map_err(refuse)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    /// The current weights of the features, a row for each of several classes; of a learner that is not linear, those
    /// of a model that stands for it (of a mixture, of its heaviest member).
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.weights_of(py)
    }

    /// The weight of the constant feature, for each of several classes; 0 if there is none.
    #[getter]
    fn bias<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.bias_of(py)
    }

    /// The weights of named features, as far as names are known. Names that share a place show the first.
    #[getter]
    fn named_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.named_weights_of(py)
    }

    /// Whether predictions are products with the weights.
    #[getter]
    fn is_linear(&self) -> bool {
        self.read().model.engine.is_linear()
    }

    /// Whether there is a linear model: the learner itself, or the heaviest member of a mixture.
    #[getter]
    fn _has_weights(&self) -> bool {
        let state = self.read();
        let engine = &state.model.engine;
        let mixed = match engine {
            Pupil::One(engine) => engine.mixture().is_some(),
            Pupil::Many(several) => several.is_mixture(),
        };
        engine.is_linear() || mixed
    }

    /// Examples learned in the first pass.
    #[getter]
    fn examples(&self) -> u64 {
        match &self.read().model.engine {
            Pupil::One(engine) => engine.examples(),
            Pupil::Many(several) => several.examples(),
        }
    }

    /// The average loss of the first pass, every example predicted before it was learned; None before the first. Of
    /// several classes learned one against the rest, the sum of their losses.
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

    /// How several classes are learned; None for two classes and for numbers.
    #[getter]
    fn multiclass(&self) -> Option<&'static str> {
        self.read().model.engine.multiclass().map(|several| several.entry().name)
    }

    /// The classes: the negative and the positive one (one not seen yet is -1 or 1), or all of several; None for losses
    /// of numbers.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if self.class_count().is_some() {
            return PyTuple::new(py, self.classes_list(py)?).map(Some);
        }
        let real = self.read().model.labels == LabelMap::Real;
        if real || !self.is_classifier() {
            return Ok(None);
        }
        let (negative, positive) = self.both(py)?;
        PyTuple::new(py, [negative, positive]).map(Some)
    }

    fn __repr__(&self) -> String {
        let (learner, loss, examples) = (self.learner(), self.loss(), self.examples());
        let classes = self.class_count().map_or(String::new(), |n| format!(", {n} classes"));
        let average = self.average_loss().map_or(String::new(), |l| format!(", average loss {l:.6}"));
        format!("<Learner {learner} with {loss} loss: {examples} examples{classes}{average}>")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("noregret._display")?.call_method1("learner_html", (slf,))
    }
}

impl Learner {
    /// Refuses to keep a state that no stream leads to.
    fn whole(&self) -> PyResult<()> {
        match self.read().model.engine.multiclass() {
            Some(several) if !several.is_whole() => Err(refuse(
                "one of the classes diverged, and they have not all learned the same rows: the model cannot be kept",
            )),
            _ => Ok(()),
        }
    }
}

/// Hands over labels and weights, readable without Python.
pub(crate) fn with_labels<R>(
    y: &Bound<'_, PyAny>,
    sample_weight: Option<&Bound<'_, PyAny>>,
    then: impl FnOnce(Beside<'_>) -> PyResult<R>,
) -> PyResult<R> {
    let data = data(y.py())?;
    let labels = Labels::new(&data.call_method1("as_labels", (y,))?)?;
    let weights: Option<PyReadonlyArray1<'_, f64>> = match sample_weight {
        Some(given) => {
            Some(data.call_method1("as_weights", (given,))?.cast::<PyArray1<f64>>()?.try_readonly()?)
        }
        None => None,
    };
    let numbers = match &weights {
        Some(weights) => weights.as_slice().map_err(|e| refuse(e.to_string()))?,
        None => &[],
    };
    let labels = labels.view()?;
    if weights.is_some() && numbers.len() != labels.len() {
        return Err(refuse(format!(
            "y has {} labels and sample_weight has {} numbers",
            labels.len(),
            numbers.len()
        )));
    }
    then(Beside { labels, weights: numbers })
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
