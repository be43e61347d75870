//! The Huber loss: square near the label, absolute far from it.

use super::{Entry, Loss, Task};
use crate::parameter::{Kind, Parameter};

/// With `r = z - y`: `r^2/2` if `|r| <= delta`, else `delta |r| - delta^2/2`.
struct Huber {
    delta: f64,
}

static PARAMETERS: [Parameter; 1] = [Parameter {
    name: "huber-delta",
    kind: Kind::Positive,
    default: Some("1"),
    meaning: "the residual at which the loss turns from square to absolute",
}];

pub(super) static ENTRY: Entry = Entry {
    name: "huber",
    formula: "r^2/2 if |r| <= delta, else delta |r| - delta^2/2, with r = z - y",
    summary: "regression that outliers pull with bounded force",
    task: Task::Real,
    parameters: &PARAMETERS,
    build: |given| {
        let delta = given.number(&PARAMETERS, "huber-delta").unwrap_or(1.0);
        Ok(Box::new(Huber { delta }))
    },
};

impl Loss for Huber {
    // r^2/2 if |r| <= delta, else delta |r| - delta^2/2
    fn value(&self, z: f64, y: f64) -> f64 {
        let r = (z - y).abs();
        if r <= self.delta { r * r / 2.0 } else { self.delta * (r - self.delta / 2.0) }
    }

    // clip(r, -delta, delta)
    fn slope(&self, z: f64, y: f64) -> f64 {
        (z - y).clamp(-self.delta, self.delta)
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
        Some(self.delta)
    }

    // a y + a^2/2 where |a| <= delta
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        (a.abs() <= self.delta).then(|| a * y + a * a / 2.0)
    }

    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        (0.0, self.value(z_max + y_max, 0.0))
    }

    // 1 if |r| <= delta, else 0
    fn curvature(&self, z: f64, y: f64) -> Option<f64> {
        Some(if (z - y).abs() <= self.delta { 1.0 } else { 0.0 })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
