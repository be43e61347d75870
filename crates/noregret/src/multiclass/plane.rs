//! A number for each feature and class. The classes of a feature lie side by side, so that a row touches one
//! run of memory for each of its features.

use crate::example::{Features, Value};
use crate::regret::Sum;
use crate::round::Vector;

/// Feature `i`, class `k`: place `i * stride + k`. The bias is the feature after the last.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    classes: usize,
    /// Room for classes: a power of two, so that classes join without moving everything each time.
    stride: usize,
    features: Vec<f64>,
    bias: Option<Vec<f64>>,
}

impl Plane {
    pub(crate) fn new(bias: bool) -> Self {
        Self { classes: 0, stride: 1, features: Vec::new(), bias: bias.then(|| vec![0.0]) }
    }

    /// From numbers as [`Plane::iter`] gives them; nothing if they do not fit.
    pub(crate) fn from_numbers(numbers: &[f64], classes: usize, bias: bool) -> Option<Self> {
        let mut plane = Self::new(bias);
        if classes == 0 || !numbers.len().is_multiple_of(classes) {
            return (classes == 0 && numbers.is_empty()).then_some(plane);
        }
        let d = (numbers.len() / classes).checked_sub(usize::from(bias))?;
        plane.stride = classes.next_power_of_two();
        plane.classes = classes;
        plane.features = vec![0.0; d * plane.stride];
        plane.bias = bias.then(|| vec![0.0; plane.stride]);
        let rows = plane.features.chunks_exact_mut(plane.stride).chain(plane.bias.as_deref_mut());
        for (row, given) in rows.zip(numbers.chunks_exact(classes)) {
            row[..classes].copy_from_slice(given);
        }
        Some(plane)
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    pub(crate) fn dimension(&self) -> usize {
        self.features.len() / self.stride
    }

    /// One class more, all its numbers 0; or whether there is no memory for it, and all is as it was.
    #[must_use]
    pub(crate) fn grow(&mut self) -> bool {
        if self.classes < self.stride {
            self.classes += 1;
            return true;
        }
        let (old, new) = (self.stride, self.stride * 2);
        let mut features = Vec::new();
        let Some(length) = self.dimension().checked_mul(new) else { return false };
        if features.try_reserve_exact(length).is_err() {
            return false;
        }
        features.resize(length, 0.0);
        for (to, from) in features.chunks_exact_mut(new).zip(self.features.chunks_exact(old)) {
            to[..old].copy_from_slice(from);
        }
        self.features = features;
        if let Some(bias) = &mut self.bias {
            bias.resize(new, 0.0);
        }
        self.stride = new;
        self.classes += 1;
        true
    }

    /// The class that joined last, of which nothing was learned, leaves again.
    pub(crate) fn shrink(&mut self) {
        self.classes -= 1;
    }

    /// Whether there is memory for `d` features, which is taken.
    #[must_use]
    pub(crate) fn room(&mut self, d: usize) -> bool {
        d <= self.dimension() || {
            let length = d.checked_mul(self.stride);
            length.is_some_and(|length| self.features.try_reserve(length - self.features.len()).is_ok())
        }
    }

    /// Has `d` features.
    pub(crate) fn reach(&mut self, d: usize) {
        if d > self.dimension() {
            self.features.resize(d * self.stride, 0.0);
        }
    }

    /// `z_k = <v_k, x>` for every class; features beyond the plane count as 0.
    pub(crate) fn dots<V: Value>(&self, x: Features<'_, V>, z: &mut [f64]) {
        match &self.bias {
            Some(bias) => z.copy_from_slice(&bias[..self.classes]),
            None => z.fill(0.0),
        }
        for (i, v) in x.iter() {
            let from = i * self.stride;
            let Some(row) = self.features.get(from..from + self.classes) else { break };
            for (z, w) in z.iter_mut().zip(row) {
                *z += w * v;
            }
        }
    }

    /// `v_k += alpha_k x` for every class.
    pub(crate) fn add<V: Value>(&mut self, x: Features<'_, V>, alpha: &[f64]) {
        for (i, v) in x.iter() {
            let from = i * self.stride;
            for (w, a) in self.features[from..from + alpha.len()].iter_mut().zip(alpha) {
                *w += a * v;
            }
        }
        if let Some(bias) = &mut self.bias {
            for (w, a) in bias.iter_mut().zip(alpha) {
                *w += a;
            }
        }
    }

    /// `v_k += alpha x` for one class.
    pub(crate) fn add_to<V: Value>(&mut self, class: usize, x: Features<'_, V>, alpha: f64) {
        for (i, v) in x.iter() {
            self.features[i * self.stride + class] += alpha * v;
        }
        if let Some(bias) = &mut self.bias {
            bias[class] += alpha;
        }
    }

    /// Every number: by feature, then by class; the bias last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        let rows = self.features.chunks_exact(self.stride).chain(self.bias.as_deref());
        rows.flat_map(|row| row[..self.classes].iter().copied())
    }

    /// The square of the Euclidean norm of all numbers.
    pub(crate) fn norm_squared(&self) -> f64 {
        self.iter().map(|v| v * v).collect::<Sum>().value()
    }

    /// The numbers of one class, multiplied by `factor`.
    pub(crate) fn class(&self, k: usize, factor: f64) -> Vector {
        Vector {
            features: self.features.chunks_exact(self.stride).map(|row| factor * row[k]).collect(),
            bias: self.bias.as_ref().map(|row| factor * row[k]),
        }
    }

    /// All classes as one vector.
    pub(crate) fn stacked(&self) -> Vector {
        Vector { features: self.iter().collect(), bias: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_that_there_is_no_memory_for_is_refused_and_stays() {
        let mut plane = Plane::new(true);
        assert!(plane.grow() && plane.grow() && plane.grow());
        assert!(plane.room(10) && plane.dimension() == 0);
        assert!(!plane.room(usize::MAX / 32) && !plane.room(usize::MAX));
        plane.reach(2);
        assert_eq!((plane.classes(), plane.dimension(), plane.iter().count()), (3, 2, 9));
        plane.shrink();
        assert!(plane.grow());
        assert_eq!((plane.classes(), plane.iter().count()), (3, 9));
    }

    #[test]
    fn classes_and_features_may_come_in_any_order() {
        let x = Features { indices: &[0, 2], values: &[2.0f32, -1.0] };
        let mut plane = Plane::new(true);
        assert!(plane.grow());
        plane.reach(3);
        plane.add(x, &[1.5]);
        assert!(plane.grow());
        assert!(plane.grow());
        plane.reach(5);
        plane.add(x, &[0.0, 1.0, -1.0]);
        plane.add_to(2, Features { indices: &[4], values: &[1.0f32] }, 0.5);
        let mut z = [0.0; 3];
        plane.dots(x, &mut z);
        // 1.5 (4 + 1 + 1), 6, and -6 with the bias half undone.
        assert_eq!(z, [9.0, 6.0, -5.5]);
        assert_eq!(plane.class(2, 2.0).features, [-4.0, 0.0, 2.0, 0.0, 1.0]);
        let numbers: Vec<f64> = plane.iter().collect();
        let again = Plane::from_numbers(&numbers, 3, true).unwrap();
        assert_eq!((again.classes(), again.dimension()), (3, 5));
        assert!(again.iter().eq(plane.iter()));
        assert!(Plane::from_numbers(&numbers[1..], 3, true).is_none());
        assert!(Plane::from_numbers(&[], 3, true).is_none());
    }
}
