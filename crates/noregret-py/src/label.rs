//! Labels that come from Python: numbers, truth values and names.

use crate::error::refuse;
use noregret::example::label::Name;
use noregret::example::{Label, LabelMap};
use noregret::loss::{Loss, Task};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// One label as the library has it.
pub(crate) fn label(y: &Bound<'_, PyAny>) -> PyResult<Label> {
    if let Ok(text) = y.cast::<PyString>() {
        return Ok(Label::Name(text.to_str()?.into()));
    }
    match y.extract::<f64>() {
        Ok(number) => Ok(Label::Number(number)),
        Err(_) => Err(refuse(format!("y is {}, expected a number, a truth value or a name", y.repr()?))),
    }
}

/// The classes that the user named: numbers stay numbers.
pub(crate) fn map(task: Task, classes: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<LabelMap> {
    let Some((negative, positive)) = classes else {
        return Ok(if task == Task::Real { LabelMap::Real } else { LabelMap::binary() });
    };
    if task == Task::Real {
        return Err(refuse("classes= is for two classes, and this loss takes numbers as labels"));
    }
    let name = |y: &Bound<'_, PyAny>| match label(y)? {
        Label::Number(number) if number.is_finite() => Ok(Name::Number(number)),
        Label::Name(text) => Ok(Name::Text(text.into())),
        _ => Err(refuse(format!("classes= has {}, expected a finite number or a name", y.repr()?))),
    };
    let (negative, positive) = (name(&negative)?, name(&positive)?);
    if negative == positive {
        return Err(refuse(format!("classes= has {negative} twice, expected two different labels")));
    }
    Ok(LabelMap::Binary { negative: Some(negative), positive: Some(positive) })
}

/// A class as a Python object: whole numbers as `int`.
pub(crate) fn class<'py>(py: Python<'py>, name: Option<&Name>, usual: i64) -> PyResult<Bound<'py, PyAny>> {
    Ok(match name {
        None => usual.into_pyobject(py)?.into_any(),
        Some(Name::Number(y)) if y.fract() == 0.0 && y.abs() < 1e15 => {
            (*y as i64).into_pyobject(py)?.into_any()
        }
        Some(Name::Number(y)) => y.into_pyobject(py)?.into_any(),
        Some(Name::Text(text)) => text.into_pyobject(py)?.into_any(),
    })
}

/// The labels of many rows.
pub(crate) enum Labels<'py> {
    /// A number each.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// The names there are, and which of them each row has.
    Names(Vec<String>, PyReadonlyArray1<'py, i64>),
}

impl<'py> Labels<'py> {
    /// From what `_data.as_labels` gives: an array of numbers, or names and codes.
    pub(crate) fn new(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(numbers) = given.cast::<PyArray1<f64>>() {
            return Ok(Self::Numbers(numbers.try_readonly()?));
        }
        let (names, codes): (Vec<String>, Bound<'py, PyArray1<i64>>) = given.extract()?;
        Ok(Self::Names(names, codes.try_readonly()?))
    }

    /// The labels, readable without Python.
    pub(crate) fn view(&self) -> PyResult<View<'_>> {
        let contiguous = |_| refuse("the labels do not lie one after the other in memory");
        Ok(match self {
            Self::Numbers(y) => View::Numbers(y.as_slice().map_err(contiguous)?),
            Self::Names(names, codes) => View::Names {
                names: names.iter().map(|name| Label::Name(name.as_str().into())).collect(),
                codes: codes.as_slice().map_err(contiguous)?,
            },
        })
    }
}

/// See [`Labels::view`].
pub(crate) enum View<'a> {
    Numbers(&'a [f64]),
    Names { names: Vec<Label>, codes: &'a [i64] },
}

impl View<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(y) => y.len(),
            Self::Names { codes, .. } => codes.len(),
        }
    }

    /// The label of a row as the loss takes it.
    pub(crate) fn value(&self, row: usize, map: &mut LabelMap, loss: &dyn Loss) -> Result<f64, String> {
        let accepts = |y| loss.accepts(y);
        match self {
            Self::Numbers(y) => map.one(&Label::Number(y[row]), &accepts),
            Self::Names { names, codes } => {
                let name = usize::try_from(codes[row]).ok().and_then(|code| names.get(code));
                map.one(name.unwrap_or(&Label::Missing), &accepts)
            }
        }
    }
}
