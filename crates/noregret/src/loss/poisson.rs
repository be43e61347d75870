//! The Poisson loss: counts, whose mean is modelled as `e^z`.

use super::{Entry, Loss, Task, x_ln_x};

/// `e^z - y z`.
struct Poisson;

pub(super) static ENTRY: Entry = Entry {
    name: "poisson",
    formula: "exp(z) - y z",
    summary: "counts, with mean exp(z)",
    task: Task::Real,
    parameters: &[],
    build: |_| Ok(Box::new(Poisson)),
};

impl Loss for Poisson {
    // e^z - y z
    fn value(&self, z: f64, y: f64) -> f64 {
        z.exp() - y * z
    }

    // e^z - y
    fn slope(&self, z: f64, y: f64) -> f64 {
        z.exp() - y
    }

    fn accepts(&self, y: f64) -> bool {
        y.is_finite() && y >= 0.0
    }

    // y - y ln y, at z = ln y. Never 0 where y is not: to the ledger a floor other than 0 says that the loss is
    // a difference, whose terms round more than it does.
    fn floor(&self, y: f64) -> f64 {
        let floor = y - x_ln_x(y);
        if floor == 0.0 && y > 0.0 { -f64::MIN_POSITIVE } else { floor }
    }

    fn lipschitz(&self) -> Option<f64> {
        None
    }

    // (a + y) ln(a + y) - (a + y) where a >= -y
    fn conjugate(&self, a: f64, y: f64) -> Option<f64> {
        let s = a + y;
        (s >= 0.0).then(|| x_ln_x(s) - s)
    }

    // Linear in y, so the extremes lie at y = 0 or y = y_max; in z it is convex with its least value
    // at ln y.
    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64) {
        let lowest = y_max.ln().clamp(-z_max, z_max);
        let least = (-z_max).exp().min(self.value(lowest, y_max));
        let most = z_max.exp().max(self.value(-z_max, y_max));
        (least, most)
    }

    // e^z
    fn curvature(&self, z: f64, _y: f64) -> Option<f64> {
        Some(z.exp())
    }

    fn entry(&self) -> &'static Entry {
        &ENTRY
    }
}
