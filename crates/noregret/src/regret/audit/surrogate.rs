//! A smooth stand-in for a loss with a kink, so that one method of second order serves all losses.
//!
//! ```text
//! max(l (z - k), r (z - k))  ~  max over a in [l, r] of  a (z - k) - width a^2 / 2
//! ```
//!
//! The maximiser `a` is the stand-in's slope, and it lies between the slopes on the two sides of the
//! kink: it is a subgradient of the loss itself at the kink, so the round "`k` was predicted, the
//! subgradient there was `a`" enters a ledger, whatever `z` is. A smooth loss stands for itself.

use crate::loss::Loss;

/// What is needed of a row: the stand-in's value, slope and curvature, and the round for the ledger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) curvature: f64,
    /// The prediction, and the loss there, of which `slope` is a subgradient.
    pub(super) entered: (f64, f64),
}

/// A loss, rounded off at its kink by `width`.
#[derive(Clone, Copy)]
pub(super) struct Surrogate<'a> {
    pub(super) loss: &'a dyn Loss,
    pub(super) width: f64,
}

impl Surrogate<'_> {
    #[inline]
    pub(super) fn shape(&self, z: f64, y: f64) -> Shape {
        match self.loss.kink(y) {
            Some(kink) if self.width > 0.0 => {
                let r = z - kink.at;
                let free = r / self.width;
                let slope = free.clamp(kink.left, kink.right);
                let inside = free == slope;
                Shape {
                    value: slope * r - self.width * slope * slope / 2.0,
                    slope,
                    curvature: if inside { 1.0 / self.width } else { 0.0 },
                    entered: (kink.at, 0.0),
                }
            }
            _ => {
                let value = self.loss.value(z, y);
                Shape {
                    value,
                    slope: self.loss.slope(z, y),
                    curvature: self.loss.curvature(z, y).unwrap_or(0.0),
                    entered: (z, value),
                }
            }
        }
    }

    /// Value and slope alone, for searches along a line.
    #[inline]
    pub(super) fn slope(&self, z: f64, y: f64) -> f64 {
        match self.loss.kink(y) {
            Some(kink) if self.width > 0.0 => ((z - kink.at) / self.width).clamp(kink.left, kink.right),
            _ => self.loss.slope(z, y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss;

    #[test]
    fn the_stand_in_is_smooth_below_the_loss_and_never_far() {
        for name in ["hinge", "absolute", "perceptron", "quantile"] {
            let loss = loss::build(name, []).unwrap();
            let surrogate = Surrogate { loss: &*loss, width: 0.25 };
            for k in -40..40 {
                let (z, y) = (f64::from(k) / 10.0, 1.0);
                let shape = surrogate.shape(z, y);
                let value = loss.value(z, y);
                assert!(shape.value <= value + 1e-12 && value - shape.value <= 0.125 + 1e-12, "{name} {z}");
                let h = 1e-6;
                let slope = (surrogate.shape(z + h, y).value - surrogate.shape(z - h, y).value) / (2.0 * h);
                assert!((slope - shape.slope).abs() < 1e-5, "{name} {z}");
                assert_eq!(surrogate.slope(z, y), shape.slope);
            }
        }
    }
}
