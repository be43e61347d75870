//! The perceptron loss: what the Perceptron descends. The best in hindsight is trivially `u = 0`.

use super::{Entry, Kink, Loss, Task, is_sign, positive_part};

/// `[-y z]+`.
struct Perceptron;

pub(super) static ENTRY: Entry = Entry {
    name: "perceptron",
    formula: "[-y z]+",
    summary: "what the Perceptron descends; the zero model loses nothing, so its regret says little",
    task: Task::Binary,
    parameters: &[],
    build: |_| Ok(Box::new(Perceptron)),
};

impl Loss for Perceptron {
    // [-y z]+
    fn value(&self, z: f64, y: f64) -> f64 {
        positive_part(-y * z)
    }

    // -y if y z <= 0, else 0: at the kink the step is taken, as the Perceptron does
    fn slope(&self, z: f64, y: f64) -> f64 {
        if y * z <= 0.0 { -y } else { 0.0 }
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

    // 0 where b = -a y lies in [0, 1]
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        let b = -a * y;
        (0.0..=1.0).contains(&b).then_some(0.0)
    }

    fn interval(&self, z_max: f64, _y_max: f64) -> (f64, f64) {
        (0.0, z_max)
    }

    fn kink(&self, y: f64) -> Option<Kink> {
        Some(Kink { at: 0.0, left: (-y).min(0.0), right: (-y).max(0.0) })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
