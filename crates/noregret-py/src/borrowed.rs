//! The numbers of a dict or an array, read where they lie.
//!
//! An iterator of PyO3 counts references to each key and value, and asks the dict's length at each step, by calls into Python: seven
//! a feature, where two are enough. And that an array is read is written into a table that all extensions share. For a single
//! example this costs more than learning it. This is the only place of the crate that does without.

#![allow(unsafe_code, reason = "numbers are borrowed from Python's objects while nobody can change these")]

use numpy::{Element, PyArray1, PyArrayMethods};
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

/// Shows the numbers of an array, if they lie side by side, to `then`, which must not run code of Python's.
pub(crate) fn numbers<V: Element, R>(
    array: &Bound<'_, PyArray1<V>>,
    then: impl FnOnce(&[V]) -> R,
) -> Option<R> {
    // SAFETY: whoever has a `Bound` has Python's lock, and `then` does not let it go, so nobody who asks for that lock
    // writes meanwhile; whoever writes without it races with every reader that Python has.
    let values = unsafe { array.as_slice() }.ok()?;
    Some(then(values))
}
