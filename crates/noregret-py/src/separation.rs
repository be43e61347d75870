//! `noregret.separate`: a separating hyperplane, or a proof that there is none above a margin.

use crate::error::{raise, refuse};
use crate::input::Input;
use crate::learner::{Learner, with_labels};
use crate::rows::{Beside, Taker};
use crate::runs::{Kind, Run};
use noregret::example::{Features, LabelMap};
use noregret::separate::{
    self as game, Certificate, Data, Floor, LARGEST_VALUE, Normalize, Outcome, SMALLEST_ROW, Settings, Shape,
    Stop,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Takes the rows into the game.
struct Dealing<'a> {
    beside: Beside<'a>,
    map: LabelMap,
    y: Vec<f64>,
    data: Data,
}

impl Taker for Dealing<'_> {
    const LEARNS: bool = true;

    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()> {
        let Self { beside, map, y, data } = self;
        let problem = beside.labels(from, run.len(), map, &|y| y.abs() == 1.0, y);
        for (k, (w, &y)) in run.offsets.windows(2).zip(&*y).enumerate() {
            let x = Features { indices: &run.indices[w[0]..w[1]], values: &run.values[w[0]..w[1]] };
            if let Some(message) = out_of_range(x.norm_max(), data.shape()) {
                return Err(refuse(format!("row {}: {message}", from + k)));
            }
            data.push(x, y);
        }
        problem.map_or(Ok(()), |problem| Err(refuse(problem)))
    }
}

/// Why a row whose largest value has this size cannot be taken.
fn out_of_range(size: f64, shape: Shape) -> Option<String> {
    if size > LARGEST_VALUE {
        return Some(format!(
            "found a value of the size {size:e}, expected at most {LARGEST_VALUE:e}; scale the data"
        ));
    }
    let bare = !shape.bias && shape.normalize == Normalize::None;
    (bare && size > 0.0 && size < SMALLEST_ROW).then(|| {
        format!(
            "the largest value has the size {size:e}, expected at least {SMALLEST_ROW:e}; scale the data, or use \
             normalize='rows'"
        )
    })
}

/// What was asked.
fn settings(
    method: &str,
    stop: Option<&str>,
    tolerance: Option<f64>,
    margin_floor: Option<f64>,
    max_rounds: Option<u64>,
    max_seconds: Option<f64>,
) -> PyResult<Settings> {
    let check = |name: &str, value: Option<f64>, zero: bool| match value {
        Some(v) if !v.is_finite() || v < 0.0 || v == 0.0 && !zero => {
            let expected = if zero { "a number from 0 on" } else { "a number greater than 0" };
            Err(refuse(format!("{name}: found {v}, expected {expected}")))
        }
        value => Ok(value),
    };
    let mut settings = Settings::new(game::find(method).map_err(raise)?);
    let tolerance = check("tolerance", tolerance, false)?;
    settings.stop = match stop {
        Some("tolerance") => Stop::Tolerance,
        None if tolerance.is_some() => Stop::Tolerance,
        Some("separated") | None => Stop::Separated,
        Some(other) => return Err(refuse(format!("stop: found `{other}`, expected separated or tolerance"))),
    };
    settings.tolerance = tolerance.unwrap_or(settings.tolerance);
    settings.floor = check("margin_floor", margin_floor, true)?.map_or(Floor::Relative, Floor::Absolute);
    if max_rounds == Some(0) {
        return Err(refuse("max_rounds: found 0, expected a whole number, at least 1"));
    }
    settings.max_rounds = max_rounds;
    settings.max_time = match check("max_seconds", max_seconds, false)? {
        Some(seconds) => Some(
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| refuse(format!("max_seconds: found {seconds}, expected fewer")))?,
        ),
        None => None,
    };
    Ok(settings)
}

/// Separates the rows, placed and labelled as by a learner that has learned nothing.
#[pyfunction]
#[pyo3(signature = (learner, X, y, method, stop, tolerance, margin_floor, max_rounds, max_seconds, normalize, bias,
    certificate))]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called by one line of Python"
)]
pub(crate) fn separate<'py>(
    py: Python<'py>,
    learner: &Learner,
    X: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    method: &str,
    stop: Option<&str>,
    tolerance: Option<f64>,
    margin_floor: Option<f64>,
    max_rounds: Option<u64>,
    max_seconds: Option<f64>,
    normalize: bool,
    bias: bool,
    certificate: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings(method, stop, tolerance, margin_floor, max_rounds, max_seconds)?;
    let normalize = if normalize { Normalize::Rows } else { Normalize::None };
    let input = Input::new(X)?;
    let map = learner.read().model.labels.clone();
    let data = with_labels(y, None, |beside| {
        let count = beside.labels.len();
        let mut dealing = Dealing { beside, map, y: Vec::new(), data: Data::new(Shape { bias, normalize }) };
        learner.feed(py, &input, Some(count), &mut dealing)?;
        Ok(dealing.data)
    })?;
    if data.is_empty() {
        return Err(refuse("X has no rows, expected at least one"));
    }
    let mut data = data;
    data.threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let began = Instant::now();
    let mut interrupt = None;
    let outcome = py.detach(|| {
        game::separate(&data, &settings, &mut |_| {
            Python::attach(|py| py.check_signals().map_err(|e| interrupt = Some(e)).is_ok())
        })
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let seconds = began.elapsed().as_secs_f64();
    if let Some(path) = certificate
        && let Some(proof) = Certificate::new(&outcome, &data, "f64")
    {
        py.detach(|| proof.save(&path)).map_err(raise)?;
    }
    told(py, &outcome, &data, settings.method.name, seconds)
}

fn told<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    data: &Data,
    method: &str,
    seconds: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let verified = &outcome.verified;
    let dict = PyDict::new(py);
    dict.set_item("separable", outcome.separable)?;
    dict.set_item("at_least", verified.at_least)?;
    dict.set_item("at_most", verified.at_most)?;
    dict.set_item("exact", verified.exact)?;
    dict.set_item("margin_floor", outcome.floor)?;
    dict.set_item("method", method)?;
    dict.set_item("decided_by", outcome.decided_by)?;
    dict.set_item("ended", serde_json::json!(outcome.ended).as_str())?;
    dict.set_item("rounds", outcome.counts.rounds)?;
    dict.set_item("iterations", outcome.counts.iterations)?;
    dict.set_item("mistakes", outcome.counts.mistakes)?;
    dict.set_item("examples", data.len())?;
    dict.set_item("seconds", seconds)?;
    if let Some(hyperplane) = &verified.hyperplane {
        let shift = usize::from(data.shape().bias);
        dict.set_item("weights", PyArray1::from_slice(py, &hyperplane[shift..]))?;
        dict.set_item("bias", if shift == 1 { hyperplane[0] } else { 0.0 })?;
        let length = hyperplane.iter().map(|v| v * v).sum::<f64>().sqrt();
        let margins: Vec<f64> = data.rows().map(|row| row.dot(hyperplane) / length).collect();
        dict.set_item("row_margins", PyArray1::from_vec(py, margins))?;
    }
    let rows: Vec<usize> = verified.weights.iter().map(|(row, _)| *row).collect();
    let weights: Vec<f64> = verified.weights.iter().map(|(_, weight)| *weight).collect();
    dict.set_item("proof_rows", PyArray1::from_vec(py, rows))?;
    dict.set_item("proof_weights", PyArray1::from_vec(py, weights))?;
    Ok(dict)
}
