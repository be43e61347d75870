//! The absolute loss: regression towards the median.

use super::{Entry, Kink, Loss, Task};

/// `|z - y|`.
struct Absolute;

pub(super) static ENTRY: Entry = Entry {
    name: "absolute",
    formula: "|z - y|",
    summary: "regression towards the median, indifferent to how far outliers lie",
    task: Task::Real,
    parameters: &[],
    build: |_| Ok(Box::new(Absolute)),
};

impl Loss for Absolute {
    // |z - y|
    fn value(&self, z: f64, y: f64) -> f64 {
        (z - y).abs()
    }

    // sign(z - y), 0 at 0
    fn slope(&self, z: f64, y: f64) -> f64 {
        if z > y {
            1.0
        } else if z < y {
            -1.0
        } else {
            0.0
        }
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
        Some(1.0)
    }

    // a y where |a| <= 1
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        (a.abs() <= 1.0).then_some(a * y)
    }

    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        (0.0, z_max + y_max)
    }

    fn kink(&self, y: f64) -> Option<Kink> {
        Some(Kink { at: y, left: -1.0, right: 1.0 })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
