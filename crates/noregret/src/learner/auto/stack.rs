//! A regression on the members' predictions: it may take more from two members than either gives.
//!
//! ```text
//! m = <beta, f>   V = f'C f        f: the predictions and a constant
//! beta += C f e/(r + V)   C -= C f f'C/(r + V)
//! ```
//!
//! Logistic: `f` are logits within 12, `e = (target - p)/h` and `r = 1/h` with `p = s(m)`,
//! `h = p (1 - p)`, and the prediction is `m/sqrt(1 + pi V/8)`: an extended Kalman filter. Square: `e`
//! is the error and `r` its mean square so far. Alone it can be worse than every member.

use super::rule::Stacking;
use super::slot::MEMBERS;
use serde::{Deserialize, Serialize};

const N: usize = MEMBERS + 1;
/// What is computed entry by entry is filled up with zeros to so many, which are whole registers.
const WIDE: usize = 8;
const _: () = assert!(N <= WIDE);
/// Logits beyond this say no more to the stack.
const LOUDEST: f64 = 12.0;

/// The regression.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stack {
    beta: [f64; N],
    /// `C`, row by row.
    #[serde(with = "square")]
    covariance: [[f64; WIDE]; N],
    /// Sum of squared errors, in the unit of labels, and of weights (square).
    errors: f64,
    rounds: f64,
}

/// What a prediction was made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    pub(super) m: f64,
    cf: [f64; WIDE],
    v: f64,
    unit: f64,
}

impl Default for Stack {
    fn default() -> Self {
        let each = 1.0 / MEMBERS as f64;
        let mut beta = [each; N];
        beta[MEMBERS] = 0.0;
        let mut covariance = [[0.0; WIDE]; N];
        for (k, row) in covariance.iter_mut().enumerate() {
            row[k] = 0.3 * each;
        }
        Self { beta, covariance, errors: 0.0, rounds: 0.0 }
    }
}

impl Stack {
    #[inline(always)]
    fn inputs(kind: Stacking, z: &[f64; MEMBERS], unit: f64) -> [f64; N] {
        let mut f = [1.0; N];
        for (f, &z) in f.iter_mut().zip(z) {
            *f = match kind {
                Stacking::Logistic => z.clamp(-LOUDEST, LOUDEST),
                Stacking::Square => z / unit,
            };
        }
        f
    }

    /// `m`, `C f` and `V`, for the update of the same round.
    #[inline(always)]
    fn ask(&self, f: &[f64; N], unit: f64, asked: &mut Asked) {
        let dot = |a: &[f64]| a.iter().zip(f).map(|(a, b)| a * b).sum::<f64>();
        let m = dot(&self.beta);
        let mut cf = [0.0; WIDE];
        // Column by column (`C` is its own transpose), so that the sums do not wait for one another.
        for (column, f) in self.covariance.iter().zip(f) {
            for (cf, entry) in cf.iter_mut().zip(column) {
                *cf += entry * f;
            }
        }
        *asked = Asked { m, v: dot(&cf).max(0.0), cf, unit };
    }

    /// The prediction; what it was made of is in `asked`. `unit` is the size of the labels.
    #[inline(always)]
    pub(super) fn predict(&self, kind: Stacking, z: &[f64; MEMBERS], unit: f64, asked: &mut Asked) -> f64 {
        self.ask(&Self::inputs(kind, z, unit), unit, asked);
        match kind {
            Stacking::Logistic => asked.m / (1.0 + std::f64::consts::PI * asked.v / 8.0).sqrt(),
            Stacking::Square => asked.m * unit,
        }
    }

    /// Learns from a label. Logistic: `p` and `q` are the probabilities that `m` stands for.
    #[inline(always)]
    pub(super) fn update(&mut self, kind: Stacking, asked: &Asked, (p, q): (f64, f64), y: f64, c: f64) {
        let Asked { m, ref cf, v, unit } = *asked;
        let (e, r) = match kind {
            Stacking::Logistic => {
                let h = (p * q).max(1e-12);
                ((f64::midpoint(1.0, y) - p) / h, 1.0 / h)
            }
            Stacking::Square => {
                let e = y / unit - m;
                self.errors += c * (e * unit) * (e * unit);
                self.rounds += c;
                (e, (self.errors / (unit * unit) + 1e-6) / (self.rounds + 1.0))
            }
        };
        let share = 1.0 / (r / c + v);
        if !(share.is_finite() && e.is_finite()) {
            return;
        }
        if c == 1.0 {
            return learn(&mut self.beta, &mut self.covariance, cf, e, share);
        }
        // A weight may be as large as numbers are.
        let (mut beta, mut covariance) = (self.beta, self.covariance);
        learn(&mut beta, &mut covariance, cf, e, share);
        if beta.iter().chain(covariance.as_flattened()).all(|x| x.is_finite()) {
            (self.beta, self.covariance) = (beta, covariance);
        }
    }
}

/// `beta += C f e share` and `C -= C f f'C share`.
#[inline(always)]
fn learn(beta: &mut [f64; N], covariance: &mut [[f64; WIDE]; N], cf: &[f64; WIDE], e: f64, share: f64) {
    for (beta, cf) in beta.iter_mut().zip(cf) {
        *beta += cf * e * share;
    }
    for (row, a) in covariance.iter_mut().zip(cf) {
        // All are read before any is written: else they would be computed one by one.
        *row = std::array::from_fn(|k| row[k] - a * cf[k] * share);
    }
}

/// In model files rows are as long as they are many.
mod square {
    use super::{N, WIDE};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        rows: &[[f64; WIDE]; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        rows.map(|row| -> [f64; N] { std::array::from_fn(|k| row[k]) }).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[[f64; WIDE]; N], D::Error> {
        let rows = <[[f64; N]; N]>::deserialize(deserializer)?;
        Ok(rows.map(|row| std::array::from_fn(|k| row.get(k).copied().unwrap_or(0.0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_stack_predicts_the_mean_of_what_it_hears() {
        let stack = Stack::default();
        let mut asked = Asked::default();
        let square = stack.predict(Stacking::Square, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2.0, &mut asked);
        assert!((square - 3.5).abs() < 1e-12, "{square}");
        // All logits 6: m = 6, V = 0.05 (6 * 36 + 1) = 10.85.
        let logistic = stack.predict(Stacking::Logistic, &[6.0; 6], 1.0, &mut asked);
        let damped = 6.0 / (1.0 + std::f64::consts::PI * 10.85 / 8.0).sqrt();
        assert!((logistic - damped).abs() < 1e-12, "{logistic}");
    }

    #[test]
    fn it_learns_whom_to_trust() {
        let (mut stack, mut asked) = (Stack::default(), Asked::default());
        for t in 0..200 {
            let y = f64::from(t % 5);
            stack.predict(Stacking::Square, &[y, 0.0, 1.0, -y, 2.0, 0.5], 4.0, &mut asked);
            stack.update(Stacking::Square, &asked, (0.0, 0.0), y, 1.0);
        }
        let guess = stack.predict(Stacking::Square, &[3.0, 0.0, 1.0, -3.0, 2.0, 0.5], 4.0, &mut asked);
        assert!((guess - 3.0).abs() < 0.01, "{guess}");
    }
}
