//! One sweep over rows with a fixed model: what it loses, and the ledger of rounds in which it predicted throughout.
//! Audits of rows that lie on many machines are made of such sweeps.

use crate::error::refuse;
use crate::input::Input;
use crate::learner::{Learner, with_labels};
use crate::proof::Ledger;
use crate::rows::{Beside, Taker};
use crate::runs::{Kind, Run};
use noregret::engine::Engine;
use noregret::example::{Features, LabelMap, Rows};
use noregret::loss::Loss;
use noregret::multiclass::Pupil;
use noregret::regret::{self, Book, Sum};
use noregret::round::{Entered, Vector};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

/// The fixed model, and what has been found of it.
struct Sweep<'a> {
    learner: &'a Learner,
    engine: &'a Engine,
    beside: Beside<'a>,
    map: LabelMap,
    y: Vec<f64>,
    /// Another model than the learner's: its weights, its bias and its length.
    other: Option<(&'a [f64], f64, f64)>,
    /// How far the kink of a loss is rounded off.
    width: f64,
    book: Book,
    s: Vec<f64>,
    slopes: f64,
    above: Sum,
    smooth: Sum,
    size: f64,
    /// What the rows' squares sum to, by feature: the metric of a descent.
    squares: Vec<f64>,
}

impl Sweep<'_> {
    fn row<V: Kind>(&mut self, x: Features<'_, V>, y: f64, c: f64, loss: &dyn Loss, bias: f64) {
        let norm_squared = x.norm_squared() + bias;
        let (z, off) = match self.other {
            Some((u, at_bias, length)) => {
                let z = at_bias + x.iter().map(|(i, v)| u.get(i).map_or(0.0, |u| u * v)).sum::<f64>();
                // The true product is within `off` of what was computed.
                (z, (x.indices.len() + 3) as f64 * f64::EPSILON * length * norm_squared.sqrt())
            }
            None => (V::score(self.engine, x), 0.0),
        };
        if c == 0.0 {
            return self.book.pass_over();
        }
        let most = loss.value(z - off, y).max(loss.value(z + off, y));
        self.above.add(c * most);
        self.size += c * (most.abs() + (1.0 + y.abs()) * (1.0 + z.abs()));
        // At a kink any slope between those of its sides is a subgradient there, whatever was predicted.
        let (entered, value, slope, stand_in) = match loss.kink(y) {
            Some(kink) if self.width > 0.0 => {
                let apart = z - kink.at;
                let slope = (apart / self.width).clamp(kink.left, kink.right);
                (kink.at, 0.0, slope, slope * apart - self.width * slope * slope / 2.0)
            }
            _ => {
                let value = loss.value(z, y);
                (z, value, loss.slope(z, y), value)
            }
        };
        self.smooth.add(c * stand_in);
        let floor = loss.floor(y);
        let round =
            Entered { z: entered, y, weight: c, loss: value, slope, floor, norm_squared, model: None };
        self.book.enter(&round);
        let alpha = c * slope;
        if x.end() > self.s.len() {
            self.s.resize(x.end(), 0.0);
            self.squares.resize(x.end(), 0.0);
        }
        for (i, v) in x.iter() {
            self.s[i] += alpha * v;
            self.squares[i] += c * v * v;
        }
        self.slopes += alpha;
    }
}

impl Taker for Sweep<'_> {
    const LEARNS: bool = false;

    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()> {
        let mut y = std::mem::take(&mut self.y);
        let engine = self.engine;
        let loss = engine.loss();
        let bias = f64::from(u8::from(engine.config().bias));
        let problem = self.beside.labels(from, run.len(), &mut self.map, &|y| loss.accepts(y), &mut y);
        let weights = self.beside.weights(from, y.len()).to_vec();
        let rows = Rows {
            offsets: &run.offsets[..=y.len()],
            indices: run.indices,
            values: run.values,
            labels: &y,
            weights: &weights,
        };
        for row in rows.iter() {
            self.row(row.x, row.y, row.weight, loss, bias);
        }
        self.y = y;
        problem.map_or(Ok(()), |problem| Err(refuse(problem)))
    }
}

/// Goes through rows with the learner's model, or with another of the same features, and returns the ledger, the total
/// loss rounded up, the total of the stand-in that is rounded off at kinks by `width`, and the sums of squares by feature.
#[pyfunction]
#[pyo3(signature = (learner, X, y, sample_weight=None, weights=None, bias=0.0, width=0.0))]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::needless_pass_by_value,
    reason = "called by one line of Python"
)]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    learner: &Learner,
    X: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    sample_weight: Option<&Bound<'py, PyAny>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    bias: f64,
    width: f64,
) -> PyResult<(Ledger, f64, f64, Bound<'py, PyArray1<f64>>)> {
    let input = Input::new(X)?;
    let other = match &weights {
        Some(weights) => {
            let u = weights.as_slice().map_err(|e| refuse(e.to_string()))?;
            let square: f64 = u.iter().map(|v| v * v).sum::<f64>() + bias * bias;
            Some((u, bias, square.sqrt()))
        }
        None => None,
    };
    let state = learner.read();
    let Pupil::One(engine) = &state.model.engine else {
        return Err(refuse("a model of several classes has a ledger for each of them"));
    };
    let map = state.model.labels.clone();
    let (book, above, smooth, s, squares) = with_labels(y, sample_weight, |beside| {
        let count = beside.labels.len();
        let mut sweep = Sweep {
            learner,
            engine,
            beside,
            map,
            y: Vec::new(),
            other,
            width,
            book: Book::default(),
            s: Vec::new(),
            slopes: 0.0,
            above: Sum::default(),
            smooth: Sum::default(),
            size: 0.0,
            squares: Vec::new(),
        };
        sweep.learner.feed(py, &input, Some(count), &mut sweep)?;
        let above = sweep.above.value() + 16.0 * f64::EPSILON * sweep.size;
        let s = Vector { features: sweep.s, bias: engine.config().bias.then_some(sweep.slopes) };
        Ok((sweep.book, above.next_up(), sweep.smooth.value(), s, sweep.squares))
    })?;
    let ledger = regret::Ledger { book, s, ..regret::Ledger::default() };
    let ledger = Ledger::of(ledger, engine, &state.model.labels, &state.model.reading);
    Ok((ledger, above, smooth, PyArray1::from_vec(py, squares)))
}

/// Whether the model has a constant feature.
#[pyfunction]
pub(crate) fn has_bias(learner: &Learner) -> bool {
    learner.read().model.engine.config().bias
}

/// Whether the loss is made of two straight lines.
#[pyfunction]
pub(crate) fn has_kink(learner: &Learner) -> bool {
    match &learner.read().model.engine {
        Pupil::One(engine) => engine.loss().kink(1.0).is_some(),
        Pupil::Many(_) => false,
    }
}
