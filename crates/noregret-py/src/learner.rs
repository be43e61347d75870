//! `noregret.Learner`: a model that learns, as a Python object.
//!
//! The model is behind a lock that is never held while Python code may run, so that whoever holds Python's
//! own lock can wait for it. Many rows are learned block by block: between two blocks other threads may
//! predict, and ^C is heard.

use crate::error::{raise, refuse};
use crate::feature::{Maker, Names, Space, limit, places};
use crate::label::{self, Labels};
use crate::matrix::{Kind, Matrix, push_dense};
use crate::proof::{self, Certificate, Ledger};
use crate::{feature, file};
use noregret::engine::{Config, Engine};
use noregret::example::format::Options;
use noregret::example::hash::{DEFAULT_BITS, LARGEST_BITS};
use noregret::example::names::{NameTable, Schema};
use noregret::example::{Block, Features, Label, LabelMap, Rows};
use noregret::learner::{self, Losses};
use noregret::loss::{self, Task};
use noregret::model::{Model, Reading};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The loss where neither the user nor the learner says.
const DEFAULT_LOSS: &str = "logistic";

/// How many dicts are learned at once.
const BLOCK_DICTS: usize = 512;

/// What the lock guards.
pub(crate) struct State {
    pub(crate) model: Model,
}

/// Memory for single rows, kept from one call to the next.
#[derive(Default)]
struct Memory {
    maker: Maker,
    narrow: Block<f32>,
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
    state: RwLock<State>,
    pub(crate) space: OnceLock<Space>,
    memory: Mutex<Option<Box<Memory>>>,
}

/// The part that is written in Python: what kinds of tables and labels there are.
fn data(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    MODULE.get_or_try_init(py, || Ok(py.import("noregret._data")?.into_any().unbind())).map(|m| m.bind(py))
}

impl Learner {
    fn of(model: Model) -> Self {
        let space = OnceLock::new();
        if let Some(known) = Space::of(&model.reading) {
            let _ = space.set(known);
        }
        Self { state: RwLock::new(State { model }), space, memory: Mutex::new(None) }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self) -> Box<Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    fn give_back(&self, memory: Box<Memory>) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    /// The space of features, which is now the given one unless it was another before.
    fn settle(&self, first: impl FnOnce() -> Space) -> &Space {
        if let Some(space) = self.space.get() {
            return space;
        }
        let space = first();
        let (format, schema) = space.reading();
        let mut state = self.write();
        if self.space.get().is_none() {
            let reading = &mut state.model.reading;
            format.clone_into(&mut reading.format);
            reading.schema = schema;
        }
        drop(state);
        self.space.get_or_init(|| space)
    }

    fn new_names(&self, columns: Vec<String>) -> Names {
        let bits = self.read().model.reading.bits.unwrap_or(DEFAULT_BITS);
        Names::new(Schema { columns, bits: Some(bits) })
    }

    /// The names to learn by; for a prediction before anything was learned, those that would be.
    fn names<R>(
        &self,
        learning: bool,
        columns: Vec<String>,
        then: impl FnOnce(&Names) -> PyResult<R>,
    ) -> PyResult<R> {
        match self.space.get() {
            Some(space) => then(space.names()?),
            None if learning => then(self.settle(|| Space::Names(self.new_names(columns))).names()?),
            None => then(&self.new_names(columns)),
        }
    }

    fn numbers(&self, learning: bool) -> PyResult<()> {
        match self.space.get() {
            Some(space) => space.numbers(),
            None if learning => self.settle(|| Space::Numbers).numbers(),
            None => Ok(()),
        }
    }

    fn dimension(&self) -> Option<u32> {
        self.read().model.engine.config().dimension
    }

    /// Makes one row of anything, and hands it on.
    fn with_row<R>(
        &self,
        memory: &mut Memory,
        x: &Bound<'_, PyAny>,
        learning: bool,
        then: &mut dyn FnMut(&Self, Made<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        memory.maker.clear();
        memory.narrow.clear();
        if let Ok(dict) = x.cast::<PyDict>() {
            let maker = &mut memory.maker;
            let limit = self.read().model.reading.dimension;
            self.names(learning, Vec::new(), |names| maker.row(names, dict, limit, learning))?;
            return then(self, Made::Wide(&maker.block, &maker.fresh));
        }
        if let Ok(wide) = x.cast::<PyArray1<f64>>() {
            self.numbers(learning)?;
            let wide = wide.try_readonly()?;
            if let Ok(values) = wide.as_slice() {
                push_dense(&mut memory.maker.block, values, limit(self.dimension()))?;
                return then(self, Made::Wide(&memory.maker.block, &[]));
            }
        } else if let Ok(narrow) = x.cast::<PyArray1<f32>>() {
            self.numbers(learning)?;
            let narrow = narrow.try_readonly()?;
            if let Ok(values) = narrow.as_slice() {
                push_dense(&mut memory.narrow, values, limit(self.dimension()))?;
                return then(self, Made::Narrow(&memory.narrow));
            }
        }
        // Python turns it into one of the three.
        let x = data(x.py())?.call_method1("as_row", (x,))?;
        self.with_row(memory, &x, learning, then)
    }

    /// The prediction `<w, x>`.
    fn score(&self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        let mut memory = self.remember();
        let z = self.with_row(&mut memory, x, false, &mut |learner, row| {
            let state = learner.read();
            let engine = &state.model.engine;
            Ok(match row {
                Made::Wide(b, _) => engine.predict_f64(Features { indices: &b.indices, values: &b.values }),
                Made::Narrow(b) => engine.predict(Features { indices: &b.indices, values: &b.values }),
            })
        });
        self.give_back(memory);
        z
    }

    fn learn_matrix<V: Kind>(
        &self,
        py: Python<'_>,
        matrix: &Matrix<'_, V>,
        places: &[u32],
        labels: &label::View<'_>,
        weights: &[f64],
    ) -> PyResult<()> {
        let mut view = matrix.view(places, limit(self.dimension()))?;
        same_length(view.rows(), labels.len(), weights.len())?;
        let mut y = Vec::new();
        let mut from = 0;
        while from < view.rows() {
            from += py.detach(|| {
                let mut run = view.run(from);
                let mut state = self.write();
                let model = &mut state.model;
                y.clear();
                for row in from..from + run.len() {
                    let weight = weights.get(row).copied().unwrap_or(1.0);
                    match labels.value(row, &mut model.labels, model.engine.loss()) {
                        _ if !usable(weight) => {
                            run.problem = Some(format!("row {row}: {}", bad_weight(weight)));
                            break;
                        }
                        Ok(value) => y.push(value),
                        Err(message) => {
                            run.problem = Some(format!("row {row}: {message}"));
                            break;
                        }
                    }
                }
                let rows = Rows {
                    offsets: &run.offsets[..=y.len()],
                    indices: run.indices,
                    values: run.values,
                    labels: &y,
                    weights: if weights.is_empty() { &[] } else { &weights[from..from + y.len()] },
                };
                V::learn(&mut model.engine, rows).map_err(raise)?;
                run.problem.map_or(Ok(y.len()), |problem| Err(refuse(problem)))
            })?;
            py.check_signals()?;
        }
        Ok(())
    }

    fn score_matrix<V: Kind>(
        &self,
        py: Python<'_>,
        matrix: &Matrix<'_, V>,
        places: &[u32],
    ) -> PyResult<Vec<f64>> {
        let mut view = matrix.view(places, u32::MAX)?;
        let mut scores = Vec::with_capacity(view.rows());
        while scores.len() < view.rows() {
            py.detach(|| {
                let run = view.run(scores.len());
                let state = self.read();
                scores.extend(run.offsets.windows(2).map(|w| {
                    let (indices, values) = (&run.indices[w[0]..w[1]], &run.values[w[0]..w[1]]);
                    V::predict(&state.model.engine, Features { indices, values })
                }));
                run.problem.map_or(Ok(()), |problem| Err(refuse(problem)))
            })?;
            py.check_signals()?;
        }
        Ok(scores)
    }

    fn learn_dicts(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyList>,
        labels: &label::View<'_>,
        weights: &[f64],
    ) -> PyResult<()> {
        same_length(rows.len(), labels.len(), weights.len())?;
        let limit = self.read().model.reading.dimension;
        let mut memory = self.remember();
        let done = self.names(true, Vec::new(), |names| {
            let mut from = 0;
            while from < rows.len() {
                let maker = &mut memory.maker;
                maker.clear();
                let to = (from + BLOCK_DICTS).min(rows.len());
                let mut problem = None;
                for row in from..to {
                    let made =
                        rows.get_item(row).and_then(|x| maker.row(names, x.cast::<PyDict>()?, limit, true));
                    if let Err(error) = made {
                        problem = Some(error);
                        break;
                    }
                }
                let block = &mut maker.block;
                let mut state = self.write();
                let model = &mut state.model;
                for row in from..from + block.len() {
                    let weight = weights.get(row).copied().unwrap_or(1.0);
                    let value = if usable(weight) {
                        labels.value(row, &mut model.labels, model.engine.loss())
                    } else {
                        Err(bad_weight(weight))
                    };
                    match value {
                        Ok(value) => block.labels.push(value),
                        Err(message) => {
                            problem = Some(refuse(format!("row {row}: {message}")));
                            break;
                        }
                    }
                }
                let n = block.labels.len();
                let rows = Rows {
                    offsets: &block.offsets[..=n],
                    weights: if weights.is_empty() { &[] } else { &weights[from..from + n] },
                    ..block.rows()
                };
                model.engine.learn_f64(rows).map_err(raise)?;
                for (index, name) in maker.fresh.drain(..) {
                    model.names.insert(index, name);
                }
                drop(state);
                if let Some(problem) = problem {
                    return Err(problem);
                }
                from = to;
                py.check_signals()?;
            }
            Ok(())
        });
        self.give_back(memory);
        done
    }

    /// The places of a table's columns; empty for numbers.
    fn columns(&self, learning: bool, columns: Option<Vec<String>>) -> PyResult<Vec<u32>> {
        let Some(columns) = columns else {
            self.numbers(learning)?;
            return Ok(Vec::new());
        };
        let (places, fresh) = self.names(learning, columns.clone(), |names| places(names, &columns))?;
        let dimension = self.read().model.reading.dimension;
        if let (Some(dimension), Some(&last)) = (dimension, places.iter().max())
            && last >= dimension
        {
            return Err(refuse(feature::beyond(u64::from(last), dimension)));
        }
        if learning && !fresh.is_empty() {
            self.write().model.names.extend(fresh);
        }
        Ok(places)
    }
}

/// A row that was made of something.
enum Made<'a> {
    Wide(&'a Block<f64>, &'a [(u32, Box<str>)]),
    Narrow(&'a Block<f32>),
}

fn usable(weight: f64) -> bool {
    weight >= 0.0 && weight.is_finite()
}

fn bad_weight(weight: f64) -> String {
    format!("the weight is {weight}, expected a finite number not below 0")
}

fn same_length(rows: usize, labels: usize, weights: usize) -> PyResult<()> {
    if rows != labels {
        return Err(refuse(format!("X has {rows} rows and y has {labels} labels")));
    }
    if weights != 0 && rows != weights {
        return Err(refuse(format!("X has {rows} rows and sample_weight has {weights} numbers")));
    }
    Ok(())
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
                return Err(PyTypeError::new_err(crate::error::in_python(&message)));
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
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(refuse(format!("columns= has `{}` twice", pair[0])));
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
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.read().model.save(&path)).map_err(raise)
    }

    /// Reads a model file, this package's or the command's.
    #[staticmethod]
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
            LabelMap::Real => (None, None),
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
