//! How rows of all kinds come to the engine: one at a time, or many in blocks.

use crate::error::{raise, refuse};
use crate::feature::{Maker, Names, Space, beyond, limit, places};
use crate::label;
use crate::learner::{Learner, State};
use crate::matrix::{Kind, Matrix, push_dense};
use noregret::example::hash::DEFAULT_BITS;
use noregret::example::names::Schema;
use noregret::example::{Block, Features, Rows};
use noregret::model::Model;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many dicts are learned at once.
const BLOCK_DICTS: usize = 512;

/// Memory for single rows, kept from one call to the next.
#[derive(Default)]
pub(crate) struct Memory {
    maker: Maker,
    narrow: Block<f32>,
}

/// The part that is written in Python: what kinds of tables and labels there are.
pub(crate) fn data(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    MODULE.get_or_try_init(py, || Ok(py.import("noregret._data")?.into_any().unbind())).map(|m| m.bind(py))
}

impl Learner {
    pub(crate) fn of(model: Model) -> Self {
        let space = OnceLock::new();
        if let Some(known) = Space::of(&model.reading) {
            let _ = space.set(known);
        }
        Self {
            dimension: model.engine.config().dimension,
            said_dimension: model.reading.dimension,
            state: RwLock::new(State { model }),
            space,
            memory: Mutex::new(None),
        }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn remember(&self) -> Box<Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, memory: Box<Memory>) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
    }

    /// The space of features, which is now the given one unless it was another before.
    pub(crate) fn settle(&self, first: impl FnOnce() -> Space) -> &Space {
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

    pub(crate) fn new_names(&self, columns: Vec<String>) -> Names {
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

    /// Makes one row of anything, and hands it on.
    pub(crate) fn with_row<R>(
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
            if self.space.get().is_none() {
                maker.forget();
            }
            let limit = self.said_dimension;
            self.names(learning, Vec::new(), |names| maker.row(names, dict, limit, learning))?;
            return then(self, Made::Wide(&maker.block, &maker.fresh));
        }
        if let Ok(wide) = x.cast::<PyArray1<f64>>() {
            self.numbers(learning)?;
            let wide = wide.try_readonly()?;
            if let Ok(values) = wide.as_slice() {
                push_dense(&mut memory.maker.block, values, limit(self.dimension))?;
                return then(self, Made::Wide(&memory.maker.block, &[]));
            }
        } else if let Ok(narrow) = x.cast::<PyArray1<f32>>() {
            self.numbers(learning)?;
            let narrow = narrow.try_readonly()?;
            if let Ok(values) = narrow.as_slice() {
                push_dense(&mut memory.narrow, values, limit(self.dimension))?;
                return then(self, Made::Narrow(&memory.narrow));
            }
        }
        // Python turns it into one of the three.
        let x = data(x.py())?.call_method1("as_row", (x,))?;
        self.with_row(memory, &x, learning, then)
    }

    /// The prediction `<w, x>`.
    pub(crate) fn score(&self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
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

    pub(crate) fn learn_matrix<V: Kind>(
        &self,
        py: Python<'_>,
        matrix: &Matrix<'_, V>,
        places: &[u32],
        labels: &label::View<'_>,
        weights: &[f64],
    ) -> PyResult<()> {
        let mut view = matrix.view(places, limit(self.dimension))?;
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

    pub(crate) fn score_matrix<V: Kind>(
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

    pub(crate) fn learn_dicts(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyList>,
        labels: &label::View<'_>,
        weights: &[f64],
    ) -> PyResult<()> {
        same_length(rows.len(), labels.len(), weights.len())?;
        let limit = self.said_dimension;
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
    pub(crate) fn columns(&self, learning: bool, columns: Option<Vec<String>>) -> PyResult<Vec<u32>> {
        let Some(columns) = columns else {
            self.numbers(learning)?;
            return Ok(Vec::new());
        };
        let (places, fresh) = self.names(learning, columns.clone(), |names| places(names, &columns))?;
        let dimension = self.said_dimension;
        if let (Some(dimension), Some(&last)) = (dimension, places.iter().max())
            && last >= dimension
        {
            return Err(refuse(beyond(u64::from(last), dimension)));
        }
        if learning && !fresh.is_empty() {
            self.write().model.names.extend(fresh);
        }
        Ok(places)
    }
}

/// A row that was made of something.
pub(crate) enum Made<'a> {
    Wide(&'a Block<f64>, &'a [(u32, Box<str>)]),
    Narrow(&'a Block<f32>),
}

pub(crate) fn usable(weight: f64) -> bool {
    weight >= 0.0 && weight.is_finite()
}

pub(crate) fn bad_weight(weight: f64) -> String {
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
