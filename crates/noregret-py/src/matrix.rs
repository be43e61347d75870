//! Arrays and sparse matrices of NumPy and SciPy, borrowed from Python.

use crate::dense::Dense;
use crate::error::refuse;
use crate::runs::{Kind, Runs};
use crate::sparse::{Columns, Sparse};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// Rows in memory that Python owns.
pub(crate) enum Matrix<'py, V: Kind> {
    Dense(PyReadonlyArray2<'py, V>),
    Sparse {
        offsets: PyReadonlyArray1<'py, i64>,
        indices: Indices<'py>,
        values: PyReadonlyArray1<'py, V>,
        columns: u64,
    },
}

/// Column numbers of either width.
pub(crate) enum Indices<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl<'py, V: Kind> Matrix<'py, V> {
    /// A two-dimensional array whose rows lie one after the other.
    pub(crate) fn dense(array: &Bound<'py, PyArray2<V>>) -> PyResult<Self> {
        if !array.is_c_contiguous() {
            return Err(refuse("the matrix does not have its rows one after the other in memory"));
        }
        Ok(Self::Dense(array.try_readonly()?))
    }

    /// Compressed sparse rows.
    pub(crate) fn sparse(
        offsets: &Bound<'py, PyArray1<i64>>,
        indices: &Bound<'py, PyAny>,
        values: &Bound<'py, PyArray1<V>>,
        columns: u64,
    ) -> PyResult<Self> {
        let indices = match indices.cast::<PyArray1<i32>>() {
            Ok(narrow) => Indices::Narrow(narrow.try_readonly()?),
            Err(_) => Indices::Wide(indices.cast::<PyArray1<i64>>()?.try_readonly()?),
        };
        Ok(Self::Sparse {
            offsets: offsets.try_readonly()?,
            indices,
            values: values.try_readonly()?,
            columns,
        })
    }

    /// The rows, readable without Python. `places` says where the columns go; empty: each to its number.
    pub(crate) fn runs<'a>(&'a self, places: &'a [u32], limit: u32) -> PyResult<Box<dyn Runs<V> + 'a>> {
        let contiguous = |_| refuse("the arrays do not lie one after the other in memory");
        Ok(match self {
            Self::Dense(array) => {
                let [rows, width] = [array.shape()[0], array.shape()[1]];
                let values = array.as_slice().map_err(contiguous)?;
                Box::new(Dense::new(rows, width, values, places, limit).map_err(refuse)?)
            }
            Self::Sparse { offsets, indices, values, columns } => {
                let indices = match indices {
                    Indices::Narrow(narrow) => {
                        // A negative number becomes one beyond every limit.
                        Columns::Narrow(bytemuck::cast_slice(narrow.as_slice().map_err(contiguous)?))
                    }
                    Indices::Wide(wide) => Columns::Wide(wide.as_slice().map_err(contiguous)?),
                };
                let (offsets, values) =
                    (offsets.as_slice().map_err(contiguous)?, values.as_slice().map_err(contiguous)?);
                Box::new(Sparse::new(offsets.into(), indices, values, *columns, limit).map_err(refuse)?)
            }
        })
    }
}
