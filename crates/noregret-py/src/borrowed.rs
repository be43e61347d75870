//! The numbers of a dict, read where they lie.
//!
//! An iterator of PyO3 counts references to each key and value, and asks the dict's length at each step, by calls into Python: seven
//! a feature, where two are enough. This is the only place of the crate that does without.

#![allow(unsafe_code, reason = "keys and values are borrowed from a dict while nobody can change it")]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ptr::null_mut;

/// Reads the values of a dict whose keys are these very objects, in this order, if they are floats. Whether they are; if not,
/// `values` may have some of them.
pub(crate) fn floats<'a, T: 'a>(
    x: &Bound<'_, PyDict>,
    keys: impl Iterator<Item = &'a Py<T>>,
    values: &mut [f64],
) -> bool {
    if x.len() != values.len() {
        return false;
    }
    let (mut position, mut key, mut value) = (0, null_mut(), null_mut());
    let mut read = 0;
    for (place, known) in values.iter_mut().zip(keys) {
        // SAFETY: whoever has a `Bound` has Python's lock, and nothing below lets it go or runs code of Python's: a float
        // that is exactly one has its number in it. So the dict stays as it is, and has its keys and values.
        unsafe {
            if ffi::PyDict_Next(x.as_ptr(), &raw mut position, &raw mut key, &raw mut value) == 0
                || key != known.as_ptr()
                || ffi::PyFloat_CheckExact(value) == 0
            {
                return false;
            }
            *place = ffi::PyFloat_AsDouble(value);
        }
        read += 1;
    }
    read == values.len()
}
