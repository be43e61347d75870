//! The hinge loss: the support vector machine, and an upper bound on mistakes.

use super::{Entry, Kink, Loss, Task, is_sign, positive_part};

/// `[1 - y z]+`.
struct Hinge;

pub(super) static ENTRY: Entry = Entry {
    name: "hinge",
    formula: "[1 - y z]+",
    summary: "classification with a margin; never below the number of mistakes",
    task: Task::Binary,
    parameters: &[],
    build: |_| Ok(Box::new(Hinge)),
};

impl Loss for Hinge {
    // [1 - y z]+
    fn value(&self, z: f64, y: f64) -> f64 {
        positive_part(1.0 - y * z)
    }

    // -y if y z < 1, else 0
    fn slope(&self, z: f64, y: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
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
        Some(1.0)
    }

    // -b where b = -a y lies in [0, 1]
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        let b = -a * y;
        (0.0..=1.0).contains(&b).then_some(-b)
    }

    fn interval(&self, z_max: f64, _y_max: f64) -> (f64, f64) {
        (0.0, 1.0 + z_max)
    }

    // slope -1 of y z below y z = 1, 0 above; in z the sides change with the sign of y
    fn kink(&self, y: f64) -> Option<Kink> {
        Some(Kink { at: y, left: (-y).min(0.0), right: (-y).max(0.0) })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
