//! The linear loss: the label is the coefficient of the prediction.

use super::{Entry, Loss, Task};

/// `y z`.
struct Linear;

pub(super) static ENTRY: Entry = Entry {
    name: "linear",
    formula: "y z",
    summary: "the label is a coefficient: online linear optimisation",
    task: Task::Real,
    parameters: &[],
    build: |_| Ok(Box::new(Linear)),
};

impl Loss for Linear {
    // y z
    fn value(&self, z: f64, y: f64) -> f64 {
        y * z
    }

    // y
    fn slope(&self, _z: f64, y: f64) -> f64 {
        y
    }

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn floor(&self, y: f64) -> f64 {
        if y == 0.0 { 0.0 } else { f64::NEG_INFINITY }
    }

    // No constant: |slope| = |y|.
    fn lipschitz(&self) -> Option<f64> {
        None
    }

    // 0 at a = y only
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        (a == y).then_some(0.0)
    }

    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        (-(z_max * y_max), z_max * y_max)
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
