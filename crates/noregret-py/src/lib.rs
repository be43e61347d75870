//! The Python extension `noregret._noregret`: the engine, its model files and its certificates as Python
//! objects. What can be written in Python (scikit-learn's and River's manners, the many kinds of tables, how results
//! are shown) is in `python/noregret`; here are the rounds.

mod answer;
mod borrowed;
mod cluster;
mod dense;
mod error;
mod feature;
mod file;
mod hindsight;
mod input;
mod label;
mod learner;
mod matrix;
mod part;
mod playing;
mod proof;
mod rows;
mod runs;
mod separation;
mod setting;
mod sparse;
mod summary;
mod sweep;
mod table;

use pyo3::prelude::*;

// With Python's lock: `borrowed.rs` reads what others must not change meanwhile.
#[pymodule(gil_used = true)]
fn _noregret(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<proof::Certificate>()?;
    module.add_class::<proof::Ledger>()?;
    module.add_class::<part::Part>()?;
    module.add_function(wrap_pyfunction!(learner::registry, module)?)?;
    module.add_function(wrap_pyfunction!(hindsight::audit, module)?)?;
    module.add_function(wrap_pyfunction!(separation::separate, module)?)?;
    for function in [
        wrap_pyfunction!(cluster::can_average, module)?,
        wrap_pyfunction!(cluster::fork, module)?,
        wrap_pyfunction!(cluster::average, module)?,
        wrap_pyfunction!(cluster::follow, module)?,
        wrap_pyfunction!(cluster::repeat, module)?,
        wrap_pyfunction!(cluster::averaged_from, module)?,
        wrap_pyfunction!(cluster::pack, module)?,
        wrap_pyfunction!(cluster::unpack, module)?,
        wrap_pyfunction!(sweep::sweep, module)?,
        wrap_pyfunction!(sweep::has_bias, module)?,
        wrap_pyfunction!(sweep::has_kink, module)?,
        wrap_pyfunction!(playing::play, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
