//! What executors of a cluster need: to begin from a common model with an empty ledger, to average what they learned, and to
//! add their ledgers. All of it is deterministic: the same parts in the same order give the same bits.

use crate::error::{raise, refuse};
use crate::learner::{Learner, State};
use crate::proof::Ledger;
use noregret::engine::Engine;
use noregret::example::LabelMap;
use noregret::model::{AnyModel, Reading};
use noregret::multiclass::Pupil;
use pyo3::prelude::*;

/// The engine of a model of one score.
fn one(state: &State) -> PyResult<&Engine> {
    match &state.model.engine {
        Pupil::One(engine) => Ok(engine),
        Pupil::Many(_) => Err(refuse(
            "models of several classes cannot be averaged over parts: learn one class against the rest at a time",
        )),
    }
}

fn one_mut(state: &mut State) -> PyResult<&mut Engine> {
    match &mut state.model.engine {
        Pupil::One(engine) => Ok(engine),
        Pupil::Many(_) => Err(refuse("models of several classes cannot be averaged over parts")),
    }
}

/// Refuses a model that cannot be averaged with others.
#[pyfunction]
pub(crate) fn can_average(learner: &Learner) -> PyResult<()> {
    one(&learner.read())?.can_average().map_err(raise)
}

/// A model in the same state, whose ledger is empty.
#[pyfunction]
pub(crate) fn fork(learner: &Learner) -> PyResult<Learner> {
    let state = learner.read();
    let engine = one(&state)?.forked().map_err(raise)?;
    let AnyModel { reading, labels, names, .. } = &state.model;
    Ok(Learner::of(AnyModel {
        engine: Pupil::One(Box::new(engine)),
        reading: reading.clone(),
        labels: labels.clone(),
        names: names.clone(),
    }))
}

/// The average of models that began alike, weighted by the weight of what each has learned, with the sum of their
/// ledgers; in this order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "made for the call")]
pub(crate) fn average(py: Python<'_>, parts: Vec<PyRef<'_, Learner>>) -> PyResult<Learner> {
    let parts: Vec<&Learner> = parts.iter().map(|part| &**part).collect();
    py.detach(|| {
        let states: Vec<_> = parts.iter().map(|part| part.read()).collect();
        let engines = states.iter().map(|state| one(state)).collect::<PyResult<Vec<&Engine>>>()?;
        let engine = Engine::average(&engines).map_err(raise)?;
        let mut models = states.iter().map(|state| &state.model);
        let first = models.next().ok_or_else(|| refuse("there is no model to average"))?;
        let (mut reading, mut labels) = (first.reading.clone(), first.labels.clone());
        let mut names = first.names.clone();
        for model in models {
            reading = common(reading, &model.reading)?;
            labels = both(labels, &model.labels)?;
            for (index, name) in model.names.iter() {
                names.insert(index, name);
            }
        }
        Ok(Learner::of(AnyModel { engine: Pupil::One(Box::new(engine)), reading, labels, names }))
    })
}

/// Where features go in two parts; one that has met nothing goes along.
fn common(reading: Reading, other: &Reading) -> PyResult<Reading> {
    if other.format.is_empty() || reading == *other {
        Ok(reading)
    } else if reading.format.is_empty() {
        Ok(other.clone())
    } else {
        Err(refuse("the parts place their features in different ways: give all of them the same columns"))
    }
}

/// What labels mean in two parts, each of which may have met one class alone.
pub(crate) fn both(labels: LabelMap, other: &LabelMap) -> PyResult<LabelMap> {
    let (LabelMap::Binary { negative, positive }, LabelMap::Binary { negative: n, positive: p }) =
        (&labels, other)
    else {
        return if labels == *other { Ok(labels) } else { Err(refuse("the parts have different labels")) };
    };
    for (a, b) in [(negative, n), (positive, p)] {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            return Err(refuse(format!(
                "the parts have different labels for one class, {a} and {b}: use one of them throughout"
            )));
        }
    }
    let (negative, positive) = (negative.clone().or(n.clone()), positive.clone().or(p.clone()));
    Ok(LabelMap::Binary { negative, positive })
}

/// Says that what a model learned came after all that `start` had learned, from which it was forked.
#[pyfunction]
pub(crate) fn follow(learner: &Learner, start: &Learner) -> PyResult<()> {
    let begun = start.read();
    let mut state = learner.write();
    one_mut(&mut state)?.follow(one(&begun)?);
    Ok(())
}

/// Says that a model was reached in passes over what `first` had passed over once.
#[pyfunction]
pub(crate) fn repeat(learner: &Learner, first: &Learner, passes: u32) -> PyResult<()> {
    let begun = first.read();
    let mut state = learner.write();
    one_mut(&mut state)?.repeat(one(&begun)?, passes);
    Ok(())
}

/// How many models it is the average of; 0 for one that was learned in one piece.
#[pyfunction]
pub(crate) fn averaged_from(learner: &Learner) -> PyResult<u64> {
    Ok(one(&learner.read())?.averaged_from())
}

/// A ledger as bytes, its vector as it lies in memory.
#[pyfunction]
pub(crate) fn pack<'py>(py: Python<'py>, ledger: &Ledger) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
    Ok(pyo3::types::PyBytes::new(py, &ledger.pack()?))
}

/// The way back from `pack`.
#[pyfunction]
pub(crate) fn unpack(bytes: &[u8]) -> PyResult<Ledger> {
    Ledger::unpack(bytes)
}
