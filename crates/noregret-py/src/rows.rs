//! How rows of all kinds come to the learner: one at a time, or many in runs.

use crate::borrowed::numbers;
use crate::dense::push_row;
use crate::error::{raise, refuse};
use crate::feature::{Maker, Names, Space, beyond, limit, places};
use crate::input::Input;
use crate::label;
use crate::learner::{Learner, State};
use crate::runs::{Kind, Run, Runs};
use crate::table::{Stored, Table};
use noregret::example::hash::DEFAULT_BITS;
use noregret::example::names::Schema;
use noregret::example::{Block, Rows};
use noregret::model::AnyModel;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many runs are learned before Python is asked whether somebody wants to stop.
const RUNS_AT_ONCE: usize = 16;

/// How many dicts are learned at once.
const RUN_DICTS: usize = 512;

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

/// Who is handed the runs of rows, of either kind of values, while Python's other threads go on.
pub(crate) trait Taker: Send {
    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()>;
    /// Whether names of features are to be remembered: what comes first decides how features are placed.
    const LEARNS: bool;
    /// Whether indices must be below what the learner has room for.
    const BOUNDED: bool = true;
}

impl Learner {
    pub(crate) fn of(model: AnyModel) -> Self {
        let space = OnceLock::new();
        if let Some(known) = Space::of(&model.reading) {
            let _ = space.set(known);
        }
        Self {
            dimension: model.engine.config().dimension,
            said_dimension: model.reading.dimension,
            state: RwLock::new(State { model, nonzeros: 0 }),
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
            let most = limit(self.dimension);
            if let Some(pushed) = numbers(wide, |values| push_row(&mut memory.maker.block, values, most)) {
                pushed?;
                return then(self, Made::Wide(&memory.maker.block, &[]));
            }
        } else if let Ok(narrow) = x.cast::<PyArray1<f32>>() {
            self.numbers(learning)?;
            let most = limit(self.dimension);
            if let Some(pushed) = numbers(narrow, |values| push_row(&mut memory.narrow, values, most)) {
                pushed?;
                return then(self, Made::Narrow(&memory.narrow));
            }
        }
        // Python turns it into one of the three.
        let x = data(x.py())?.call_method1("as_row", (x,))?;
        self.with_row(memory, &x, learning, then)
    }

    /// Hands all rows to a taker. `count` says how many there must be.
    pub(crate) fn feed<T: Taker>(
        &self,
        py: Python<'_>,
        input: &Input<'_>,
        count: Option<usize>,
        taker: &mut T,
    ) -> PyResult<()> {
        let most = self.most::<T>();
        match input {
            Input::Dicts(rows) => self.feed_dicts(py, rows, count, taker),
            Input::Narrow(matrix, names) => {
                let places = self.columns::<T>(names.as_deref())?;
                hand_over(py, &mut *matrix.runs(&places, most)?, count, taker)
            }
            Input::Wide(matrix, names) => {
                let places = self.columns::<T>(names.as_deref())?;
                hand_over(py, &mut *matrix.runs(&places, most)?, count, taker)
            }
            Input::Table(table) if table.is_narrow() => self.feed_table::<f32, T>(py, table, count, taker),
            Input::Table(table) => self.feed_table::<f64, T>(py, table, count, taker),
        }
    }

    fn most<T: Taker>(&self) -> u32 {
        if T::BOUNDED { limit(self.dimension) } else { u32::MAX }
    }

    fn feed_table<V: Kind + Stored, T: Taker>(
        &self,
        py: Python<'_>,
        table: &Table,
        count: Option<usize>,
        taker: &mut T,
    ) -> PyResult<()> {
        if table.is_lists() {
            self.numbers(T::LEARNS)?;
            let most = self.most::<T>();
            return hand_over(py, &mut *table.lists::<V>(most)?, count, taker);
        }
        self.names(T::LEARNS, table.names.clone(), |names| {
            let (places, fresh) = places(names, table.numbers())?;
            self.told::<T>(&places, fresh)?;
            let most = self.said_dimension.filter(|_| T::BOUNDED);
            hand_over(py, &mut *table.columns::<V>(names, &places, most)?, count, taker)
        })
    }

    fn feed_dicts<T: Taker>(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyList>,
        count: Option<usize>,
        taker: &mut T,
    ) -> PyResult<()> {
        same_length(rows.len(), count)?;
        let limit = self.said_dimension;
        let mut memory = self.remember();
        let done = self.names(T::LEARNS, Vec::new(), |names| {
            for from in (0..rows.len()).step_by(RUN_DICTS) {
                let maker = &mut memory.maker;
                maker.clear();
                let mut problem = None;
                for row in from..(from + RUN_DICTS).min(rows.len()) {
                    let made = rows
                        .get_item(row)
                        .and_then(|x| maker.row(names, x.cast::<PyDict>()?, limit, T::LEARNS));
                    if let Err(error) = made {
                        problem = Some(error);
                        break;
                    }
                }
                let fresh = std::mem::take(&mut maker.fresh);
                let Block { offsets, indices, values, .. } = &maker.block;
                py.detach(|| taker.take(from, Run { offsets, indices, values, fresh, problem: None }))?;
                if let Some(problem) = problem {
                    return Err(in_row(py, from + maker.block.len(), problem));
                }
                py.check_signals()?;
            }
            Ok(())
        });
        self.give_back(memory);
        done
    }

    /// The places of a table's columns; empty for numbers.
    fn columns<T: Taker>(&self, columns: Option<&[String]>) -> PyResult<Vec<u32>> {
        let Some(columns) = columns else {
            self.numbers(T::LEARNS)?;
            return Ok(Vec::new());
        };
        let (places, fresh) =
            self.names(T::LEARNS, columns.to_vec(), |names| places(names, columns.iter()))?;
        self.told::<T>(&places, fresh)?;
        Ok(places)
    }

    /// Checks the places of columns, and remembers the names of those that are hashed.
    fn told<T: Taker>(&self, places: &[u32], fresh: crate::feature::Fresh) -> PyResult<()> {
        if let (Some(dimension), Some(&last)) = (self.said_dimension, places.iter().max())
            && T::LEARNS
            && last >= dimension
        {
            return Err(refuse(beyond(u64::from(last), dimension)));
        }
        if T::LEARNS && !fresh.is_empty() {
            self.write().model.names.extend(fresh);
        }
        Ok(())
    }
}

/// An error of one dict, with its row.
fn in_row(py: Python<'_>, row: usize, problem: PyErr) -> PyErr {
    if problem.is_instance_of::<pyo3::exceptions::PyValueError>(py) {
        refuse(format!("row {row}: {}", problem.value(py)))
    } else {
        problem
    }
}

/// Hands the runs to a taker, with Python's other threads going on; ^C is heard between two of them.
fn hand_over<V: Kind, T: Taker>(
    py: Python<'_>,
    runs: &mut dyn Runs<V>,
    count: Option<usize>,
    taker: &mut T,
) -> PyResult<()> {
    same_length(runs.rows(), count)?;
    let mut from = 0;
    while from < runs.rows() {
        py.detach(|| {
            for _ in 0..RUNS_AT_ONCE {
                if from == runs.rows() {
                    break;
                }
                let mut run = runs.run(from);
                let (done, problem) = (run.len(), run.problem.take());
                taker.take(from, run)?;
                if let Some(problem) = problem {
                    return Err(refuse(problem));
                }
                from += done;
            }
            Ok(())
        })?;
        py.check_signals()?;
    }
    Ok(())
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

fn same_length(rows: usize, labels: Option<usize>) -> PyResult<()> {
    match labels {
        Some(labels) if labels != rows => Err(refuse(format!("X has {rows} rows and y has {labels} labels"))),
        _ => Ok(()),
    }
}

/// Labels and weights of many rows.
pub(crate) struct Beside<'a> {
    pub(crate) labels: label::View<'a>,
    pub(crate) weights: &'a [f64],
}

impl Beside<'_> {
    /// The labels of a run, as the loss takes them: fewer where one is bad or its weight is, and what is wrong.
    pub(crate) fn labels(
        &self,
        from: usize,
        count: usize,
        map: &mut noregret::example::LabelMap,
        accepts: &dyn Fn(f64) -> bool,
        y: &mut Vec<f64>,
    ) -> Option<String> {
        y.clear();
        let mut problem = self.labels.fill(from, count, map, accepts, y);
        if let Some(weights) = self.weights.get(from..from + count)
            && let Some(bad) = weights.iter().take(y.len()).position(|w| !usable(*w))
        {
            problem = Some(bad_weight(weights[bad]));
            y.truncate(bad);
        }
        problem.map(|problem| format!("row {}: {problem}", from + y.len()))
    }

    /// The weights of a run; nothing if all are 1.
    pub(crate) fn weights(&self, from: usize, count: usize) -> &[f64] {
        self.weights.get(from..from + count).unwrap_or(&[])
    }
}

/// Learns.
pub(crate) struct Learning<'a> {
    pub(crate) learner: &'a Learner,
    pub(crate) beside: Beside<'a>,
    pub(crate) y: Vec<f64>,
}

impl Taker for Learning<'_> {
    const LEARNS: bool = true;

    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()> {
        let Self { learner, beside, y } = self;
        let mut state = learner.write();
        let State { model, nonzeros } = &mut *state;
        let AnyModel { engine, labels, names, .. } = model;
        let problem = beside.labels(from, run.len(), labels, &|y| engine.accepts(y), y);
        let rows = Rows {
            offsets: &run.offsets[..=y.len()],
            indices: run.indices,
            values: run.values,
            labels: y,
            weights: beside.weights(from, y.len()),
        };
        V::learn(engine, rows).map_err(raise)?;
        *nonzeros += rows.nonzeros() as u64;
        names.extend(run.fresh);
        problem.map_or(Ok(()), |problem| Err(refuse(problem)))
    }
}
