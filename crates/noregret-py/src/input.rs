//! What Python gives as many rows: the kinds that `_data.as_matrix` brings all others to.

use crate::matrix::Matrix;
use crate::rows::data;
use crate::table::Table;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Many rows.
pub(crate) enum Input<'py> {
    /// A list of dicts.
    Dicts(Bound<'py, PyList>),
    /// float32, and the names of the columns, if they have any.
    Narrow(Matrix<'py, f32>, Option<Vec<String>>),
    /// The same of float64.
    Wide(Matrix<'py, f64>, Option<Vec<String>>),
    /// A table that came through Arrow's interface.
    Table(Table),
}

impl<'py> Input<'py> {
    pub(crate) fn new(rows: &Bound<'py, PyAny>) -> PyResult<Self> {
        let form = data(rows.py())?.call_method1("as_matrix", (rows,))?;
        if let Ok(dicts) = form.cast::<PyList>() {
            return Ok(Self::Dicts(dicts.clone()));
        }
        let Ok(form) = form.cast::<PyTuple>() else {
            return Table::import(&form).map(Self::Table);
        };
        let names = form.get_item(0)?.extract()?;
        let values = form.get_item(1)?;
        if form.len() == 3 {
            return match values.cast::<PyArray2<f32>>() {
                Ok(values) => Ok(Self::Narrow(Matrix::dense(values)?, names)),
                Err(_) => Ok(Self::Wide(Matrix::dense(values.cast::<PyArray2<f64>>()?)?, names)),
            };
        }
        let (indptr, indices, columns) = (form.get_item(2)?, form.get_item(3)?, form.get_item(4)?.extract()?);
        let indptr = indptr.cast::<PyArray1<i64>>()?;
        if let Ok(values) = values.cast::<PyArray1<f32>>() {
            return Ok(Self::Narrow(Matrix::sparse(indptr, &indices, values, columns)?, names));
        }
        let values = values.cast::<PyArray1<f64>>()?;
        Ok(Self::Wide(Matrix::sparse(indptr, &indices, values, columns)?, names))
    }
}
