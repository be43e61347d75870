//! The Python extension `noregret._noregret`: the engine, its model files and its certificates as Python
//! objects. What can be written in Python (scikit-learn's and River's manners, the many kinds of tables) is
//! in `python/noregret`; here are the rounds.

mod error;
mod feature;
mod file;
mod label;
mod learner;
mod matrix;
mod proof;
mod rows;

use pyo3::prelude::*;

#[pymodule]
fn _noregret(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<proof::Certificate>()?;
    module.add_class::<proof::Ledger>()?;
    module.add_function(wrap_pyfunction!(learner::registry, module)?)?;
    Ok(())
}
