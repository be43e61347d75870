//! `noregret.audit`: the best in hindsight, bracketed with the rows at hand.

use crate::error::{raise, refuse};
use crate::input::Input;
use crate::learner::{Learner, with_labels};
use crate::rows::{Beside, Taker};
use crate::runs::{Kind, Run};
use noregret::error::Error;
use noregret::example::{Block, LabelMap, Rows, Value};
use noregret::loss::{self, Loss};
use noregret::multiclass::Pupil;
use noregret::parameter::Value as Given;
use noregret::regret::audit::{Auditor, Bracket, Search, Source};
use noregret::regret::{Comparator, comparator};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;

/// Keeps the rows, checked and with their labels.
struct Keeping<'a> {
    learner: &'a Learner,
    beside: Beside<'a>,
    map: LabelMap,
    y: Vec<f64>,
    narrow: Block<f32>,
    wide: Block<f64>,
}

impl Taker for Keeping<'_> {
    // Features that the learner has not met count all the same, and it must not learn their names.
    const LEARNS: bool = false;

    fn take<V: Kind>(&mut self, from: usize, run: Run<'_, V>) -> PyResult<()> {
        let Self { learner, beside, map, y, narrow, wide } = self;
        let problem = {
            let state = learner.read();
            let engine = &state.model.engine;
            beside.labels(from, run.len(), map, &|y| engine.accepts(y), y)
        };
        let rows = Rows {
            offsets: &run.offsets[..=y.len()],
            indices: run.indices,
            values: run.values,
            labels: y,
            weights: beside.weights(from, y.len()),
        };
        let (narrow, wide): (&mut dyn Any, &mut dyn Any) = (narrow, wide);
        if let Some(block) = narrow.downcast_mut::<Block<V>>().or(wide.downcast_mut::<Block<V>>()) {
            append(block, rows);
        }
        problem.map_or(Ok(()), |problem| Err(refuse(problem)))
    }
}

fn append<V: Value>(block: &mut Block<V>, rows: Rows<'_, V>) {
    let (from, to) = (rows.offsets[0], rows.offsets[rows.len()]);
    let start = block.indices.len();
    block.indices.extend_from_slice(&rows.indices[from..to]);
    block.values.extend_from_slice(&rows.values[from..to]);
    block.offsets.extend(rows.offsets[1..].iter().map(|end| end - from + start));
    block.labels.extend_from_slice(rows.labels);
    block.weights.extend_from_slice(rows.weights);
}

/// What is asked.
struct Question {
    loss: Box<dyn Loss>,
    bias: bool,
    classes: Vec<Comparator>,
    tolerance: f64,
    most_sweeps: usize,
}

/// A stream's counts and its brackets.
struct Answer {
    examples: u64,
    weight: f64,
    dimension: usize,
    nonzeros: u64,
    model_loss: Option<f64>,
    brackets: Vec<Bracket>,
}

fn answer<V: Value>(
    source: &mut dyn Source<V>,
    question: &Question,
    start: Option<&noregret::round::Vector>,
    watch: &mut (dyn FnMut() -> bool + Send),
) -> Result<Answer, Error> {
    let Some(mut auditor) = Auditor::new(source, &*question.loss, question.bias)? else {
        return Err(Error::Diverged("the rows could not be gone through once".to_owned()));
    };
    let book = auditor.survey().book.clone();
    let model_loss = match start {
        Some(u) => auditor.loss_of(u)?,
        None => None,
    };
    let mut brackets: Vec<Bracket> = Vec::new();
    let mut going = true;
    for class in &question.classes {
        if !going {
            break;
        }
        let search = Search {
            tolerance: question.tolerance,
            most_sweeps: question.most_sweeps,
            start: brackets.last().map(|b| &b.u).or(start),
        };
        let bracket = auditor.bracket(*class, &search, &mut |_| {
            going = watch();
            going
        })?;
        brackets.push(bracket);
    }
    Ok(Answer {
        examples: book.examples,
        weight: book.weight.value(),
        dimension: auditor.dimension(),
        nonzeros: auditor.nonzeros(),
        model_loss,
        brackets,
    })
}

/// Brackets the least average loss of classes of models on the rows, with the loss, the labels and the features of a
/// learner; `start` says whether to begin from its model.
#[pyfunction]
#[pyo3(signature = (learner, X, y, sample_weight, radii, comparator, l2, tolerance, max_sweeps, start))]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called by one line of Python"
)]
pub(crate) fn audit<'py>(
    py: Python<'py>,
    learner: &Learner,
    X: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    sample_weight: Option<&Bound<'py, PyAny>>,
    radii: Vec<f64>,
    comparator: &str,
    l2: Option<f64>,
    tolerance: f64,
    max_sweeps: Option<usize>,
    start: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (question, map, own) = {
        let state = learner.read();
        let Pupil::One(engine) = &state.model.engine else {
            return Err(refuse(
                "several classes are audited one against the rest: give y == class as labels",
            ));
        };
        let config = engine.config();
        let given = config.loss_parameters.0.iter().map(|(name, value)| (name.as_str(), shown(value)));
        let given: Vec<(&str, String)> = given.collect();
        let loss = loss::build(&config.loss, given.iter().map(|(name, value)| (*name, value.as_str())));
        let question = Question {
            loss: loss.map_err(raise)?,
            bias: config.bias,
            classes: classes(comparator, &radii, l2)?,
            tolerance,
            most_sweeps: max_sweeps.unwrap_or(usize::MAX),
        };
        let own = (start && engine.is_linear()).then(|| engine.weights());
        (question, state.model.labels.clone(), own)
    };
    let input = Input::new(X)?;
    let mut kept = with_labels(y, sample_weight, |beside| {
        let count = beside.labels.len();
        let (narrow, wide) = (Block::new(), Block::new());
        let mut keeping = Keeping { learner, beside, map, y: Vec::new(), narrow, wide };
        learner.feed(py, &input, Some(count), &mut keeping)?;
        Ok((keeping.narrow, keeping.wide))
    })?;
    let mut interrupt = None;
    let answered = py.detach(|| {
        let mut watch = || Python::attach(|py| py.check_signals().map_err(|e| interrupt = Some(e)).is_ok());
        match &mut kept {
            (narrow, wide) if wide.is_empty() => {
                answer(&mut narrow.rows(), &question, own.as_ref(), &mut watch)
            }
            (_, wide) => answer(&mut wide.rows(), &question, own.as_ref(), &mut watch),
        }
    });
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    told(py, &answered.map_err(raise)?)
}

fn shown(value: &Given) -> String {
    match value {
        Given::Number(number) => number.to_string(),
        Given::Word(word) => word.clone(),
    }
}

fn classes(name: &str, radii: &[f64], l2: Option<f64>) -> PyResult<Vec<Comparator>> {
    if !comparator::NAMES.iter().any(|(known, _)| *known == name) {
        let known: Vec<&str> = comparator::NAMES.iter().map(|(known, _)| *known).collect();
        return Err(refuse(format!("comparator: found `{name}`, expected one of {}", known.join(", "))));
    }
    let class = Comparator::new(name, 1.0, l2).map_err(raise)?;
    if class.radius().is_none() {
        return Ok(vec![class]);
    }
    Ok(radii.iter().map(|&radius| class.with_radius(radius)).collect())
}

fn told<'py>(py: Python<'py>, answer: &Answer) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("examples", answer.examples)?;
    dict.set_item("weight", answer.weight)?;
    dict.set_item("dimension", answer.dimension)?;
    dict.set_item("nonzeros", answer.nonzeros)?;
    dict.set_item("model_loss", answer.model_loss)?;
    let mut brackets = Vec::new();
    for bracket in &answer.brackets {
        let each = PyDict::new(py);
        each.set_item("radius", bracket.class.radius())?;
        each.set_item("at_least", bracket.at_least)?;
        each.set_item("at_most", bracket.at_most)?;
        each.set_item("closed", bracket.closed)?;
        each.set_item("sweeps", bracket.sweeps)?;
        each.set_item("norm", bracket.norm)?;
        each.set_item("weights", PyArray1::from_slice(py, &bracket.u.features))?;
        each.set_item("bias", bracket.u.bias.unwrap_or(0.0))?;
        brackets.push(each);
    }
    dict.set_item("brackets", brackets)?;
    Ok(dict)
}
