//! The squared hinge loss: a margin with a continuous slope.

use super::{Entry, Loss, Task, is_sign, positive_part};

/// `[1 - y z]+^2`.
struct SquaredHinge;

pub(super) static ENTRY: Entry = Entry {
    name: "squared-hinge",
    formula: "[1 - y z]+^2",
    summary: "classification with a margin and a continuous slope",
    task: Task::Binary,
    parameters: &[],
    build: |_| Ok(Box::new(SquaredHinge)),
};

impl Loss for SquaredHinge {
    // [1 - y z]+^2
    fn value(&self, z: f64, y: f64) -> f64 {
        let short = positive_part(1.0 - y * z);
        short * short
    }

    // -2 y [1 - y z]+
    fn slope(&self, z: f64, y: f64) -> f64 {
        -2.0 * y * positive_part(1.0 - y * z)
    }

    fn accepts(&self, y: f64) -> bool {
        is_sign(y)
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

    // -b + b^2/4 where b = -a y >= 0
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        let b = -a * y;
        (b >= 0.0).then(|| -b + b * b / 4.0)
    }

    fn interval(&self, z_max: f64, _y_max: f64) -> (f64, f64) {
        (0.0, (1.0 + z_max) * (1.0 + z_max))
    }

    // 2 if y z < 1, else 0
    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        Some(if y * z < 1.0 { 2.0 } else { 0.0 })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
