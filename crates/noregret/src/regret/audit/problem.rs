//! The problem of an audit and the sweeps over its rows: what a model loses, with the gradient and a
//! ledger; products with the Hessian. Kept between sweeps: a few numbers per row and per feature.
//!
//! Vectors are plain slices here: the features in order, then the bias if there is one.

use super::source::Source;
use super::surrogate::{Shape, Surrogate};
use crate::error::Error;
use crate::example::{Row, Value};
use crate::loss::Loss;
use crate::regret::{Book, Comparator, Ledger, Sum, round_up};
use crate::round::{Entered, Vector, noticed};

/// Why a sweep did not come to its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// Somebody wants the answer so far.
    Stopped,
    /// The rows cannot be read, or a number left the range of f64.
    Failed(Error),
}

pub(super) type Flow<T> = Result<T, Halt>;

/// The rows, the loss, and what is known of every row.
pub(super) struct Problem<'a, V> {
    source: &'a mut dyn Source<V>,
    pub(super) loss: &'a dyn Loss,
    pub(super) bias: bool,
    /// Features; the bias apart.
    pub(super) features: usize,
    pub(super) nonzeros: u64,
    /// Sum of the squared lengths of rows in stored values: what a dense Hessian costs.
    pub(super) fill: f64,
    pub(super) labels: Vec<f64>,
    /// Empty when all are 1.
    weights: Vec<f64>,
    /// `|x|^2`, the bias included.
    norms: Vec<f64>,
    /// How often the rows were gone through.
    pub(super) sweeps: usize,
}

/// A model with all that a sweep tells about it.
pub(super) struct Point {
    pub(super) u: Vec<f64>,
    /// Its predictions.
    pub(super) z: Vec<f64>,
    /// `c` times the stand-in's curvature, by row.
    pub(super) curvature: Vec<f64>,
    /// The gradient of the stand-in's total.
    pub(super) gradient: Vec<f64>,
    /// The stand-in's total; without the penalty of `ridge`.
    pub(super) smooth: f64,
    /// No less than the total loss of `u`, whatever was rounded.
    pub(super) at_most: f64,
    /// By how much the stand-in's dual is below the loss's own.
    pub(super) waste: f64,
    pub(super) ledger: Ledger,
}

impl<'a, V: Value> Problem<'a, V> {
    /// Goes through the rows once, counting; the zero model's losses are entered on the way.
    pub(super) fn survey(
        source: &'a mut dyn Source<V>,
        loss: &'a dyn Loss,
        bias: bool,
    ) -> Flow<(Self, Ledger)> {
        let one = f64::from(u8::from(bias));
        let (mut labels, mut weights, mut norms) = (Vec::new(), Vec::new(), Vec::new());
        let (mut nonzeros, mut fill) = (0_u64, 0.0);
        let mut ledger = Ledger::default();
        let mut s: Vec<f64> = Vec::new();
        let mut at_bias = 0.0;
        let whole = source
            .sweep(&mut |rows| {
                for row in rows.iter() {
                    let norm_squared = noticed(row.x.norm_squared() + one, 1.0, row.x);
                    if row.weight != 1.0 && weights.is_empty() {
                        weights = vec![1.0; labels.len()];
                    }
                    if row.weight != 1.0 || !weights.is_empty() {
                        weights.push(row.weight);
                    }
                    labels.push(row.y);
                    norms.push(norm_squared);
                    let length = row.x.indices.len();
                    nonzeros += length as u64;
                    fill += ((length + 1) * (length + 1)) as f64;
                    if row.x.end() > s.len() {
                        s.resize(row.x.end(), 0.0);
                    }
                    if row.weight == 0.0 {
                        ledger.book.pass_over();
                        continue;
                    }
                    let entered = Entered {
                        z: 0.0,
                        y: row.y,
                        weight: row.weight,
                        loss: loss.value(0.0, row.y),
                        slope: loss.slope(0.0, row.y),
                        floor: loss.floor(row.y),
                        norm_squared,
                        model: None,
                    };
                    ledger.book.enter(&entered);
                    let alpha = row.weight * entered.slope;
                    for (i, v) in row.x.iter() {
                        s[i] += alpha * v;
                    }
                    at_bias += alpha;
                }
            })
            .map_err(Halt::Failed)?;
        if !whole {
            return Err(Halt::Stopped);
        }
        let features = s.len();
        ledger.s = Vector { features: s, bias: bias.then_some(at_bias) };
        let problem =
            Self { source, loss, bias, features, nonzeros, fill, labels, weights, norms, sweeps: 1 };
        Ok((problem, ledger))
    }

    /// The length of a vector.
    pub(super) fn dimension(&self) -> usize {
        self.features + usize::from(self.bias)
    }

    /// A slice as a vector with a name for its last coordinate.
    pub(super) fn vector(&self, u: &[f64]) -> Vector {
        Vector { features: u[..self.features].to_vec(), bias: self.bias.then(|| u[self.features]) }
    }

    /// The importance of row `k`.
    pub(super) fn weight(&self, k: usize) -> f64 {
        if self.weights.is_empty() { 1.0 } else { self.weights[k] }
    }

    /// Goes through the rows with their numbers.
    fn each(&mut self, mut visit: impl FnMut(usize, Row<'_, V>)) -> Flow<()> {
        let mut k = 0;
        let whole = self
            .source
            .sweep(&mut |rows| {
                for row in rows.iter() {
                    visit(k, row);
                    k += 1;
                }
            })
            .map_err(Halt::Failed)?;
        self.sweeps += 1;
        if !whole {
            return Err(Halt::Stopped);
        }
        if k != self.labels.len() {
            let message = format!("the input changed: {} rows became {k}", self.labels.len());
            return Err(Halt::Failed(Error::Diverged(message)));
        }
        Ok(())
    }

    /// All that a sweep can tell about `u`.
    pub(super) fn point(&mut self, u: Vec<f64>, surrogate: Surrogate<'_>) -> Flow<Point> {
        self.evaluate(u, surrogate.width, |_, z, y| surrogate.shape(z, y))
    }

    /// The same with the slope at the kink of row `k` given as `slopes[k]`.
    pub(super) fn point_with(&mut self, u: Vec<f64>, slopes: &[f64]) -> Flow<Point> {
        let loss = self.loss;
        self.evaluate(u, 0.0, |k, z, y| Shape {
            value: loss.value(z, y),
            slope: slopes[k],
            curvature: 0.0,
            entered: (loss.kink(y).map_or(0.0, |kink| kink.at), 0.0),
        })
    }

    fn evaluate(&mut self, u: Vec<f64>, width: f64, shape: impl Fn(usize, f64, f64) -> Shape) -> Flow<Point> {
        let n = self.labels.len();
        let (features, bias) = (self.features, self.bias);
        let norms = std::mem::take(&mut self.norms);
        let (mut z_all, mut curvature) = (vec![0.0; n], vec![0.0; n]);
        let mut gradient = vec![0.0; u.len()];
        let (mut smooth, mut above, mut book) = (Sum::default(), Sum::default(), Book::default());
        let (mut waste, mut size) = (0.0, 0.0);
        let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        let loss = self.loss;
        let at_bias = if bias { u[features] } else { 0.0 };
        let mut slope_sum = 0.0;
        let swept = self.each(|k, row| {
            let mut z = at_bias;
            for (i, v) in row.x.iter() {
                z += u[i] * v;
            }
            z_all[k] = z;
            if row.weight == 0.0 {
                book.pass_over();
                return;
            }
            let shape = shape(k, z, row.y);
            let c = row.weight;
            curvature[k] = c * shape.curvature;
            smooth.add(c * shape.value);
            waste += c * width * shape.slope * shape.slope / 2.0;
            // The true <u, x> is within `off` of z, and a convex loss is largest at an end.
            let off = (row.x.indices.len() + 3) as f64 * f64::EPSILON * length * norms[k].sqrt();
            let most = loss.value(z - off, row.y).max(loss.value(z + off, row.y));
            above.add(c * most);
            // A loss whose floor is not 0 may be a difference of larger terms, `exp(z) - y z`; others round in
            // proportion to themselves, `z - y` and `1 - y z` included.
            let floor = loss.floor(row.y);
            let terms = if floor == 0.0 { 0.0 } else { (1.0 + row.y.abs()) * (1.0 + z.abs()) };
            size += c * (most.abs() + terms);
            book.enter(&Entered {
                z: shape.entered.0,
                y: row.y,
                weight: c,
                loss: shape.entered.1,
                slope: shape.slope,
                floor,
                norm_squared: norms[k],
                model: None,
            });
            let alpha = c * shape.slope;
            if alpha != 0.0 {
                for (i, v) in row.x.iter() {
                    gradient[i] += alpha * v;
                }
                slope_sum += alpha;
            }
        });
        self.norms = norms;
        swept?;
        if bias {
            gradient[features] = slope_sum;
        }
        let ledger = Ledger { book, s: self.vector(&gradient), ..Ledger::default() };
        Ok(Point {
            u,
            z: z_all,
            curvature,
            gradient,
            smooth: smooth.value(),
            at_most: round_up(above.value() + 16.0 * f64::EPSILON * size),
            waste,
            ledger,
        })
    }

    /// `sum of curvature <x, v> x`, and with `diagonal` also the Hessian's diagonal.
    pub(super) fn product(
        &mut self,
        v: &[f64],
        curvature: &[f64],
        mut diagonal: Option<&mut Vec<f64>>,
    ) -> Flow<Vec<f64>> {
        let (features, bias) = (self.features, self.bias);
        let mut out = vec![0.0; v.len()];
        let at_bias = if bias { v[features] } else { 0.0 };
        let (mut sum, mut total) = (0.0, 0.0);
        if let Some(diagonal) = &mut diagonal {
            **diagonal = vec![0.0; v.len()];
        }
        self.each(|k, row| {
            let h = curvature[k];
            if h == 0.0 {
                return;
            }
            let mut z = at_bias;
            for (i, x) in row.x.iter() {
                z += v[i] * x;
            }
            let alpha = h * z;
            sum += alpha;
            total += h;
            if let Some(diagonal) = &mut diagonal {
                for (i, x) in row.x.iter() {
                    out[i] += alpha * x;
                    diagonal[i] += h * x * x;
                }
            } else {
                for (i, x) in row.x.iter() {
                    out[i] += alpha * x;
                }
            }
        })?;
        if bias {
            out[features] = sum;
            if let Some(diagonal) = diagonal {
                diagonal[features] = total;
            }
        }
        Ok(out)
    }

    /// `<u, x>` of every row.
    pub(super) fn predict(&mut self, u: &[f64]) -> Flow<Vec<f64>> {
        let at_bias = if self.bias { u[self.features] } else { 0.0 };
        let mut z = vec![0.0; self.labels.len()];
        self.each(|k, row| z[k] = at_bias + row.x.iter().map(|(i, x)| u[i] * x).sum::<f64>())?;
        Ok(z)
    }

    /// `sum of alpha x`.
    pub(super) fn combine(&mut self, alpha: &[f64]) -> Flow<Vec<f64>> {
        let mut out = vec![0.0; self.dimension()];
        let mut sum = 0.0;
        self.each(|k, row| {
            let a = alpha[k];
            if a != 0.0 {
                for (i, x) in row.x.iter() {
                    out[i] += a * x;
                }
                sum += a;
            }
        })?;
        if self.bias {
            out[self.features] = sum;
        }
        Ok(out)
    }

    /// The Hessian, by columns.
    pub(super) fn hessian(&mut self, curvature: &[f64]) -> Flow<Vec<f64>> {
        let (d, features, bias) = (self.dimension(), self.features, self.bias);
        let mut out = vec![0.0; d * d];
        let mut pairs: Vec<(usize, f64)> = Vec::new();
        self.each(|k, row| {
            let h = curvature[k];
            if h == 0.0 {
                return;
            }
            pairs.clear();
            pairs.extend(row.x.iter());
            if bias {
                pairs.push((features, 1.0));
            }
            for (at, &(j, xj)) in pairs.iter().enumerate() {
                let column = &mut out[j * d..(j + 1) * d];
                let factor = h * xj;
                for &(i, xi) in &pairs[at..] {
                    column[i] += factor * xi;
                }
            }
        })?;
        for j in 0..d {
            for i in 0..j {
                out[j * d + i] = out[i * d + j];
            }
        }
        Ok(out)
    }

    /// The strength of the quadratic penalty on `u`: `sigma T` for `ridge`, otherwise none.
    pub(super) fn penalty(&self, class: &Comparator) -> f64 {
        match class {
            Comparator::Ridge { sigma } => sigma * self.rounds() as f64,
            _ => 0.0,
        }
    }

    fn rounds(&self) -> u64 {
        let empty = self.weights.iter().filter(|w| **w == 0.0).count();
        (self.labels.len() - empty) as u64
    }

    /// The stand-in's total at the predictions `z`, plus `step` times those of a direction.
    pub(super) fn along(&self, z: &[f64], dz: &[f64], step: f64, surrogate: Surrogate<'_>) -> f64 {
        let value = |k: usize| self.weight(k) * surrogate.shape(z[k] + step * dz[k], self.labels[k]).value;
        (0..z.len()).filter(|&k| self.weight(k) > 0.0).map(value).collect::<Sum>().value()
    }

    /// The derivative of [`Problem::along`] by the step.
    pub(super) fn slope_along(&self, z: &[f64], dz: &[f64], step: f64, surrogate: Surrogate<'_>) -> f64 {
        let slope = |k: usize| self.weight(k) * surrogate.slope(z[k] + step * dz[k], self.labels[k]) * dz[k];
        (0..z.len()).filter(|&k| self.weight(k) > 0.0).map(slope).sum()
    }
}
