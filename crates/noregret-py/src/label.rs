//! Labels that come from Python: numbers, truth values and names.

use crate::error::refuse;
use noregret::example::label::Name;
use noregret::example::{Classes, Label, LabelMap};
use noregret::loss::Task;
use noregret::multiclass::Pupil;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

/// One label as the library has it.
pub(crate) fn label(y: &Bound<'_, PyAny>) -> PyResult<Label> {
    // Python would make a number of it first.
    if let Ok(truth) = y.cast_exact::<PyBool>() {
        return Ok(Label::Number(f64::from(u8::from(truth.is_true()))));
    }
    if let Ok(text) = y.cast::<PyString>() {
        return Ok(Label::Name(text.to_str()?.into()));
    }
    match y.extract::<f64>() {
        Ok(number) => Ok(Label::Number(number)),
        Err(_) => Err(refuse(format!("y is {}, expected a number, a truth value or a name", y.repr()?))),
    }
}

/// The name of a class: numbers stay numbers.
fn name(y: &Bound<'_, PyAny>) -> PyResult<Name> {
    match label(y)? {
        Label::Number(number) if number.is_finite() => Ok(Name::Number(number)),
        Label::Name(text) => Ok(Name::Text(text.into())),
        _ => Err(refuse(format!("classes= has {}, expected a finite number or a name", y.repr()?))),
    }
}

/// What labels mean for one score: numbers, or two classes, which the user may have named.
pub(crate) fn map(task: Task, classes: Option<Vec<Bound<'_, PyAny>>>) -> PyResult<LabelMap> {
    let Some(classes) = classes else {
        return Ok(if task == Task::Real { LabelMap::Real } else { LabelMap::binary() });
    };
    if task == Task::Real {
        return Err(refuse("classes= is for classes, and this loss takes numbers as labels"));
    }
    let [negative, positive] = &classes[..] else {
        return Err(refuse(format!(
            "classes= has {} labels, expected two: the negative one and the positive; for more say multiclass='ovr'",
            classes.len()
        )));
    };
    let (negative, positive) = (name(negative)?, name(positive)?);
    if negative == positive {
        return Err(refuse(format!("classes= has {negative} twice, expected two different labels")));
    }
    Ok(LabelMap::Binary { negative: Some(negative), positive: Some(positive) })
}

/// What labels mean where there are several classes: those named, or all that come.
pub(crate) fn several(classes: Option<Vec<Bound<'_, PyAny>>>) -> PyResult<(LabelMap, Option<usize>)> {
    let Some(classes) = classes else { return Ok((LabelMap::Classes(Classes::open()), None)) };
    if classes.len() < 2 {
        return Err(refuse(format!("classes= has {} labels, expected two or more", classes.len())));
    }
    let count = classes.len();
    let names = classes.iter().map(name).collect::<PyResult<Vec<Name>>>()?;
    let classes = Classes::named(names).map_err(|message| refuse(format!("classes=: {message}")))?;
    Ok((LabelMap::Classes(classes), Some(count)))
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

    /// Appends the labels of `count` rows from `from` on, as the loss takes them. What is wrong with the label
    /// after those appended, if that is fewer.
    pub(crate) fn fill(
        &self,
        from: usize,
        count: usize,
        map: &mut LabelMap,
        accepts: &dyn Fn(f64) -> bool,
        out: &mut Vec<f64>,
    ) -> Option<String> {
        for row in from..from + count {
            // Two classes that are numbers, which most are, need no looking up.
            if let (Self::Numbers(y), Some((negative, positive))) = (self, numbers(map)) {
                let known = y[row..from + count].iter().map_while(|&y| match y {
                    y if y == positive => Some(1.0),
                    y if y == negative => Some(-1.0),
                    _ => None,
                });
                out.extend(known);
                let done = out.len();
                if done == count {
                    return None;
                }
                return self.one(from + done, map, accepts).err();
            }
            match self.one(row, map, accepts) {
                Ok(value) => out.push(value),
                Err(message) => return Some(message),
            }
        }
        None
    }

    /// The label of one row.
    fn one(&self, row: usize, map: &mut LabelMap, accepts: &dyn Fn(f64) -> bool) -> Result<f64, String> {
        match self {
            Self::Numbers(y) if y[row].is_nan() => Err("the label is NaN, expected a number".to_owned()),
            Self::Numbers(y) => map.one(&Label::Number(y[row]), accepts),
            Self::Names { names, codes } => {
                let name = usize::try_from(codes[row]).ok().and_then(|code| names.get(code));
                map.one(name.unwrap_or(&Label::Missing), accepts)
            }
        }
    }
}

/// The two classes, where both are known and are numbers.
fn numbers(map: &LabelMap) -> Option<(f64, f64)> {
    match map {
        LabelMap::Binary { negative: Some(Name::Number(a)), positive: Some(Name::Number(b)) } => {
            Some((*a, *b))
        }
        _ => None,
    }
}

/// The names of the classes of a model of several; nothing otherwise.
pub(crate) fn names(pupil: &Pupil, map: &LabelMap) -> Option<Vec<Name>> {
    match (pupil, map) {
        (Pupil::Many(_), LabelMap::Classes(classes)) => Some(classes.names().to_vec()),
        _ => None,
    }
}
