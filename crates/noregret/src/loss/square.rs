//! The square loss: regression towards the mean.

use super::{Entry, Loss, Task};

/// `(z - y)^2`.
struct Square;

pub(super) static ENTRY: Entry = Entry {
    name: "square",
    formula: "(z - y)^2",
    summary: "regression towards the mean",
    task: Task::Real,
    parameters: &[],
    build: |_| Ok(Box::new(Square)),
};

impl Loss for Square {
    // (z - y)^2
    fn value(&self, z: f64, y: f64) -> f64 {
        (z - y) * (z - y)
    }

    // 2 (z - y)
    fn slope(&self, z: f64, y: f64) -> f64 {
        2.0 * (z - y)
    }

    fn accepts(&self, y: f64) -> bool {
        y.is_finite()
    }

    fn floor(&self, _y: f64) -> f64 {
        0.0
    }

    fn floored(&self) -> bool {
        false
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    // a y + a^2/4
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        Some(a * y + a * a / 4.0)
    }

    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        (0.0, (z_max + y_max) * (z_max + y_max))
    }

    // 2
    fn curvature(&self, _z: f64, _y: f64) -> Option<f64> {
        Some(2.0)
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
