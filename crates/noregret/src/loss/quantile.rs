//! The quantile (pinball) loss: regression towards a quantile.

use super::{Entry, Kink, Loss, Task};
use crate::parameter::{Kind, Parameter};

/// `max(tau (y - z), (tau - 1)(y - z))`.
struct Quantile {
    tau: f64,
}

static PARAMETERS: [Parameter; 1] = [Parameter {
    name: "tau",
    kind: Kind::Fraction,
    default: Some("0.5"),
    meaning: "which quantile of the label is predicted",
}];

pub(super) static ENTRY: Entry = Entry {
    name: "quantile",
    formula: "max(tau (y - z), (tau - 1)(y - z))",
    summary: "regression towards a quantile of the label",
    task: Task::Real,
    parameters: &PARAMETERS,
    build: |given| {
        let tau = given.number(&PARAMETERS, "tau").unwrap_or(0.5);
        Ok(Box::new(Quantile { tau }))
    },
};

impl Loss for Quantile {
    // max(tau (y - z), (tau - 1)(y - z))
    fn value(&self, z: f64, y: f64) -> f64 {
        (self.tau * (y - z)).max((self.tau - 1.0) * (y - z))
    }

    // -tau if z < y, 1 - tau if z > y, 0 at a tie
    fn slope(&self, z: f64, y: f64) -> f64 {
        if z < y {
            -self.tau
        } else if z > y {
            1.0 - self.tau
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
        Some(self.tau.max(1.0 - self.tau))
    }

    // a y where -tau <= a <= 1 - tau
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        (-self.tau..=1.0 - self.tau).contains(&a).then_some(a * y)
    }

    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        (0.0, self.tau.max(1.0 - self.tau) * (z_max + y_max))
    }

    fn kink(&self, y: f64) -> Option<Kink> {
        Some(Kink { at: y, left: -self.tau, right: 1.0 - self.tau })
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
