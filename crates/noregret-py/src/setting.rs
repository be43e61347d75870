//! What a learner is made from: the keyword arguments of `Learner`.

use crate::error::{in_python, raise, refuse};
use crate::label;
use noregret::engine::{Config, Engine};
use noregret::example::LabelMap;
use noregret::example::hash::LARGEST_BITS;
use noregret::learner::{self, Losses};
use noregret::loss;
use noregret::multiclass::{self, Multiclass, Pupil};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// The loss where neither the user nor the learner says.
const DEFAULT_LOSS: &str = "logistic";

/// The learner where the user does not say.
const DEFAULT_LEARNER: &str = "auto";

/// The loss that a learner has when none is said.
pub(crate) fn loss_of(learner: &learner::Entry, said: Option<&str>) -> PyResult<&'static str> {
    Ok(match (said, learner.losses) {
        (Some(name), _) => loss::find(name).map_err(raise)?.name,
        (None, Losses::Only(names)) => names[0],
        (None, Losses::All) => DEFAULT_LOSS,
    })
}

/// How many places hashing to so many bits has.
pub(crate) fn check_bits(bits: Option<u32>) -> PyResult<Option<u32>> {
    match bits {
        Some(bits) if !(1..=LARGEST_BITS).contains(&bits) => {
            Err(refuse(format!("bits: found {bits}, expected 1 to {LARGEST_BITS}")))
        }
        bits => Ok(bits.map(|bits| 1 << bits)),
    }
}

/// Gives a configuration the parameters of its learner and its loss.
pub(crate) fn give(config: &mut Config, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in parameters.into_iter().flatten() {
        let name: String = name.extract()?;
        let text = match value.cast::<PyBool>() {
            Ok(truth) => if truth.is_true() { "yes" } else { "no" }.to_owned(),
            Err(_) => value.str()?.to_str()?.to_owned(),
        };
        let known = learner::ENTRIES.iter().map(|e| e.parameters);
        let known = known.chain(loss::ENTRIES.iter().map(|e| e.parameters));
        let flag = name.replace('_', "-");
        if !known.flatten().any(|p| p.name == flag) {
            let message = config.give(&flag, &text).err().map_or(String::new(), |e| e.0);
            return Err(PyTypeError::new_err(in_python(&message)));
        }
        config.give(&flag, &text).map_err(raise)?;
    }
    Ok(())
}

/// Whoever learns, and what its labels mean.
pub(crate) fn build(
    config: Config,
    scheme: Option<&str>,
    classes: Option<Vec<Bound<'_, PyAny>>>,
    said: bool,
) -> PyResult<(Pupil, LabelMap)> {
    let Some(scheme) = scheme else {
        let task = loss::find(&config.loss).map_err(raise)?.task;
        let labels = label::map(task, classes)?;
        return Ok((Pupil::One(Box::new(Engine::new(config).map_err(raise)?)), labels));
    };
    let entry = multiclass::find(scheme).map_err(raise)?;
    if !entry.is_composed() && (said || config.learner != DEFAULT_LEARNER) {
        return Err(refuse(format!(
            "multiclass='{scheme}' has a learner and a loss of its own: leave learner, loss and their parameters \
             out, or use multiclass='ovr'"
        )));
    }
    let (labels, count) = label::several(classes)?;
    let several = Multiclass::new(entry.name, config, count).map_err(raise)?;
    Ok((Pupil::Many(Box::new(several)), labels))
}
