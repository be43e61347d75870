//! Parts of Parquet files for the tasks of a cluster, which read them without the engine that planned them.

use crate::error::refuse;
use arrow_pyarrow::ToPyArrow;
use noregret::example::format::parquet;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The row groups of a Parquet file whose middle is in a range of its bytes: some of its columns, in batches of Arrow's. Whatever keeps
/// it from being read is a `ValueError`; a file that is not of this size, or was changed at another time (milliseconds
/// since 1970), too.
#[pyclass(frozen, module = "noregret._noregret")]
pub(crate) struct Part(Mutex<parquet::Part>);

#[pymethods]
impl Part {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "made for the call")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        planned: (u64, i64),
        range: (u64, u64),
        columns: Vec<String>,
        rows: usize,
    ) -> PyResult<Self> {
        let planned = parquet::Planned { size: planned.0, modified: planned.1 };
        let part = py.detach(|| parquet::Part::open(&path, planned, range.0..range.1, &columns, rows));
        part.map(|part| Self(part.into())).map_err(refuse)
    }

    /// The columns, as a schema of `pyarrow`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.0.lock().unwrap_or_else(PoisonError::into_inner).schema().clone();
        schema.to_pyarrow(py)
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).batch());
        batch.map_err(refuse)?.map(|batch| batch.to_pyarrow(py)).transpose()
    }
}
