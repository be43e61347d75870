//! One round of the Optimistic Perceptron over some of the rows, which may lie on many machines.
//!
//! The weight of a row `m_i = y_i x_i` after round `t` is `exp(-<W, m_i>/r^2)` up to a common factor, with `W` the sum
//! of all iterates so far: so nothing is kept for a row, and a round is one map and one sum. Any such weights prove an upper
//! end of the margin, and any hyperplane a lower one; so the exponentials need not be exact.

use crate::error::refuse;
use crate::input::Input;
use crate::learner::{Learner, with_labels};
use crate::rows::{Beside, Taker};
use crate::runs::{Kind, Run};
use noregret::example::{Features, LabelMap};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// When an exponent is beyond the shift by more than this, all that was summed is scaled down.
const BEYOND: f64 = 300.0;

/// A vector over the features, then the bias if there is one.
struct Plane<'a> {
    w: &'a [f64],
    at_bias: f64,
}

impl Plane<'_> {
    fn dot<V: Kind>(&self, x: Features<'_, V>, y: f64) -> f64 {
        let sum: f64 = x.iter().map(|(i, v)| self.w.get(i).map_or(0.0, |w| w * v)).sum();
        y * (sum + self.at_bias)
    }
}

struct Playing<'a> {
    beside: Beside<'a>,
    map: LabelMap,
    y: Vec<f64>,
    bias: bool,
    /// `W` and `1/r^2`.
    sum: Plane<'a>,
    over: f64,
    /// Hyperplanes whose margin is asked for.
    asked: Vec<Plane<'a>>,
    least: Vec<f64>,
    shift: Option<f64>,
    /// Sum of the rows' weights, and of the weighted rows.
    total: f64,
    mixed: Vec<f64>,
    mixed_bias: f64,
    rows: u64,
    longest: f64,
    shortest: f64,
    entries: usize,
}

impl Playing<'_> {
    fn row<V: Kind>(&mut self, x: Features<'_, V>, y: f64) {
        let one = f64::from(u8::from(self.bias));
        let norm = (x.norm_squared() + one).sqrt();
        self.rows += 1;
        self.longest = self.longest.max(norm);
        self.shortest = self.shortest.min(norm);
        self.entries = self.entries.max(x.indices.len());
        for (plane, least) in self.asked.iter().zip(&mut self.least) {
            *least = least.min(plane.dot(x, y));
        }
        let exponent = -self.sum.dot(x, y) * self.over;
        let shift = *self.shift.get_or_insert(exponent);
        if exponent > shift + BEYOND {
            let factor = (shift - exponent).exp();
            self.total *= factor;
            self.mixed.iter_mut().for_each(|v| *v *= factor);
            self.mixed_bias *= factor;
            self.shift = Some(exponent);
        }
        let p = (exponent - self.shift.unwrap_or(exponent)).exp();
        self.total += p;
        if x.end() > self.mixed.len() {
            self.mixed.resize(x.end(), 0.0);
        }
        let alpha = p * y;
        for (i, v) in x.iter() {
            self.mixed[i] += alpha * v;
        }
        self.mixed_bias += alpha * one;
    }
}

impl Taker for Playing<'_> {
    const LEARNS: bool = false;

    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()> {
        let mut y = std::mem::take(&mut self.y);
        let problem = self.beside.labels(from, run.len(), &mut self.map, &|y| y.abs() == 1.0, &mut y);
        for (w, &y) in run.offsets.windows(2).zip(&y) {
            self.row(Features { indices: &run.indices[w[0]..w[1]], values: &run.values[w[0]..w[1]] }, y);
        }
        self.y = y;
        problem.map_or(Ok(()), |problem| Err(refuse(problem)))
    }
}

/// Plays the data's half of a round: `sum` is the sum of the iterates so far, divided by `r^2` in the exponent; `asked` are
/// hyperplanes. Vectors have the bias at their end if there is one.
#[pyfunction]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called by one line of Python"
)]
pub(crate) fn play<'py>(
    py: Python<'py>,
    learner: &Learner,
    X: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    sum: PyReadonlyArray1<'py, f64>,
    over: f64,
    asked: Vec<PyReadonlyArray1<'py, f64>>,
    bias: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let input = Input::new(X)?;
    let map = learner.read().model.labels.clone();
    let whole = |vector: &'_ PyReadonlyArray1<'py, f64>| -> PyResult<Vec<f64>> {
        Ok(vector.as_slice().map_err(|e| refuse(e.to_string()))?.to_vec())
    };
    let vectors = asked.iter().chain([&sum]).map(whole).collect::<PyResult<Vec<_>>>()?;
    let mut planes: Vec<Plane<'_>> = vectors
        .iter()
        .map(|vector| match vector.split_last() {
            Some((&at_bias, w)) if bias => Plane { w, at_bias },
            _ => Plane { w: vector, at_bias: 0.0 },
        })
        .collect();
    let sum = planes.pop().ok_or_else(|| refuse("there is no vector"))?;
    with_labels(y, None, |beside| {
        let count = beside.labels.len();
        let mut playing = Playing {
            beside,
            map,
            y: Vec::new(),
            bias,
            sum,
            over,
            least: vec![f64::INFINITY; planes.len()],
            asked: planes,
            shift: None,
            total: 0.0,
            mixed: Vec::new(),
            mixed_bias: 0.0,
            rows: 0,
            longest: 0.0,
            shortest: f64::INFINITY,
            entries: 0,
        };
        learner.feed(py, &input, Some(count), &mut playing)?;
        let dict = PyDict::new(py);
        dict.set_item("rows", playing.rows)?;
        dict.set_item("longest", playing.longest)?;
        dict.set_item("shortest", playing.shortest)?;
        dict.set_item("entries", playing.entries)?;
        dict.set_item("shift", playing.shift.unwrap_or(f64::NEG_INFINITY))?;
        dict.set_item("total", playing.total)?;
        dict.set_item("mixed", PyArray1::from_vec(py, playing.mixed))?;
        dict.set_item("mixed_bias", playing.mixed_bias)?;
        dict.set_item("least", PyArray1::from_vec(py, playing.least))?;
        Ok(dict)
    })
}
