//! The logistic loss: classification with probabilities.

use super::{Entry, Loss, Task, Told, is_sign, x_ln_x};

/// `ln(1 + e^(-y z))`. Only negative numbers are exponentiated, so nothing overflows and both tails
/// keep their relative accuracy.
struct Logistic;

pub(super) static ENTRY: Entry = Entry {
    name: "logistic",
    formula: "ln(1 + exp(-y z))",
    summary: "classification with probabilities",
    task: Task::Binary,
    parameters: &[],
    build: |_| Ok(Box::new(Logistic)),
};

/// `ln(1 + e)` for `e` from 0 to 1, to two roundings: the sum's own rounding is known, and its part of the logarithm is
/// added. In half the time of the standard library's.
#[inline]
pub(crate) fn ln_1p(e: f64) -> f64 {
    let sum = 1.0 + e;
    sum.ln() + (e - (sum - 1.0)) / sum
}

/// `ln(1 + e^-m)` from `e = e^-|m|`.
#[inline]
fn value(m: f64, e: f64) -> f64 {
    ln_1p(e) + (-m).max(0.0)
}

impl Loss for Logistic {
    fn value(&self, z: f64, y: f64) -> f64 {
        self.told(z, y).value
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        self.told(z, y).slope
    }

    fn told(&self, z: f64, y: f64) -> Told {
        let Told { value: e, slope } = self.begun(z, y);
        Told { value: value(y * z, e), slope }
    }

    // e^(-|y z|), and from it -y / (1 + e^(+y z))
    #[inline]
    fn begun(&self, z: f64, y: f64) -> Told {
        let m = y * z;
        let e = (-m.abs()).exp();
        Told { value: e, slope: -y * (if m > 0.0 { e } else { 1.0 }) / (1.0 + e) }
    }

    fn settle(&self, z: &[f64], y: &[f64], values: &mut [f64]) {
        for ((z, y), e) in z.iter().zip(y).zip(values) {
            *e = value(y * z, *e);
        }
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

    // b ln b + (1 - b) ln(1 - b) where b = -a y lies in [0, 1]
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        let b = -a * y;
        // ln_1p keeps the second term where b is tiny; at b = 1 that term is 0.
        let rest = if b == 1.0 { 0.0 } else { (1.0 - b) * (-b).ln_1p() };
        (0.0..=1.0).contains(&b).then(|| x_ln_x(b) + rest)
    }

    fn interval(&self, z_max: f64, _y_max: f64) -> (f64, f64) {
        (0.0, self.value(-z_max, 1.0))
    }

    // e / (1 + e)^2 with e = e^(-|z|)
    fn curvature(&self, z: f64, _y: f64) -> Option<f64> {
        let e = (-z.abs()).exp();
        Some(e / ((1.0 + e) * (1.0 + e)))
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
