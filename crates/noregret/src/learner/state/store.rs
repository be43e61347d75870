//! Rows kept by a learner, each with a factor, in the order they came. Values are kept as f64, so that
//! rows of either kind are kept exactly; the bias is not among them.

use super::super::slots::{NoMean, Slots, Weight};
use crate::example::{Features, Value};

/// Sparse rows in compressed form.
#[derive(Debug, Default)]
pub(in super::super) struct Store {
    /// Where each row ends.
    ends: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    factors: Vec<f64>,
}

impl Store {
    /// How many rows.
    pub(in super::super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a row.
    pub(in super::super) fn push<V: Value>(&mut self, x: Features<'_, V>, factor: f64) {
        self.indices.extend_from_slice(x.indices);
        self.values.extend(x.values.iter().map(|v| v.f64()));
        self.ends.push(self.indices.len());
        self.factors.push(factor);
    }

    /// Forgets the row that came first.
    pub(in super::super) fn drop_oldest(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let end = self.ends.remove(0);
        self.ends.iter_mut().for_each(|e| *e -= end);
        self.indices.drain(..end);
        self.values.drain(..end);
        self.factors.remove(0);
    }

    /// Every row with its factor.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (Features<'_, f64>, f64)> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).zip(&self.factors).map(|((&from, &to), &factor)| {
            (Features { indices: &self.indices[from..to], values: &self.values[from..to] }, factor)
        })
    }

    /// For model files.
    pub(in super::super) fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        vec![
            ("ends", self.ends.iter().map(|&e| e as f64).collect()),
            ("indices", self.indices.iter().map(|&i| f64::from(i)).collect()),
            ("values", self.values.clone()),
            ("factors", self.factors.clone()),
        ]
    }

    /// Takes back what [`Store::arrays`] gave; `false` if it cannot be that.
    pub(in super::super) fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let [(a, ends), (b, indices), (c, values), (d, factors)] = arrays else { return false };
        if [a, b, c, d] != ["ends", "indices", "values", "factors"] {
            return false;
        }
        let whole = |v: f64| v >= 0.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0;
        let rising = ends.is_sorted() && ends.iter().all(|&e| e >= 0.0 && e.fract() == 0.0);
        let last = ends.last().map_or(0.0, |&e| e);
        if !rising
            || last != indices.len() as f64
            || indices.len() != values.len()
            || ends.len() != factors.len()
            || !indices.iter().all(|&i| whole(i))
        {
            return false;
        }
        self.ends = ends.iter().map(|&e| e as usize).collect();
        self.indices = indices.iter().map(|&i| i as u32).collect();
        self.values.clone_from(values);
        self.factors.clone_from(factors);
        // Within a row indices ascend, as in every row that was ever read.
        self.iter().all(|(x, _)| x.indices.is_sorted_by(|i, j| i < j))
    }
}

/// `f(x_i, x'_i)` summed over the features of either row, 0 standing for what a row does not have.
pub(in super::super) fn both<V: Value, W: Value>(
    x: Features<'_, V>,
    other: Features<'_, W>,
    mut each: impl FnMut(f64, f64),
) {
    let (mut i, mut j) = (0, 0);
    while i < x.indices.len() && j < other.indices.len() {
        let (a, b) = (x.indices[i], other.indices[j]);
        each(if a <= b { x.values[i].f64() } else { 0.0 }, if b <= a { other.values[j].f64() } else { 0.0 });
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    x.values[i..].iter().for_each(|v| each(v.f64(), 0.0));
    other.values[j..].iter().for_each(|v| each(0.0, v.f64()));
}

/// A row spread over all places up to its last, for products with many stored rows. The products are
/// those of [`product`] to the bit, because the same numbers are added in the same order, and zeros.
#[derive(Debug, Default)]
pub(in super::super) struct Spread(Vec<f64>);

impl Spread {
    /// Spreads `x` out for the time that `ask` takes.
    pub(in super::super) fn of<V: Value, T>(
        &mut self,
        x: Features<'_, V>,
        ask: impl FnOnce(&Self) -> T,
    ) -> T {
        if self.0.len() < x.end() {
            self.0.resize(x.end(), 0.0);
        }
        x.iter().for_each(|(i, v)| self.0[i] = v);
        let answer = ask(self);
        x.iter().for_each(|(i, _)| self.0[i] = 0.0);
        answer
    }

    /// `<x, x'>`.
    pub(in super::super) fn product(&self, other: Features<'_, f64>) -> f64 {
        let mut sum = 0.0;
        for (&i, v) in other.indices.iter().zip(other.values) {
            sum += self.0.get(i as usize).map_or(0.0, |x| x * v);
        }
        sum
    }
}

/// `<x, x'>`.
pub(in super::super) fn product<V: Value, W: Value>(x: Features<'_, V>, other: Features<'_, W>) -> f64 {
    let mut sum = 0.0;
    both(x, other, |a, b| sum += a * b);
    sum
}

/// `|x - x'|^2`.
pub(in super::super) fn distance_squared<V: Value, W: Value>(
    x: Features<'_, V>,
    other: Features<'_, W>,
) -> f64 {
    let mut sum = 0.0;
    both(x, other, |a, b| sum += (a - b) * (a - b));
    sum
}

/// `v <- v + factor x`, for rows whose features have slots; a damaged file's others are passed over.
pub(in super::super) fn add<V: Value>(slots: &mut Slots<Weight<NoMean>>, x: Features<'_, V>, factor: f64) {
    for (i, v) in x.iter() {
        if let Some(cell) = slots.cells.get_mut(i) {
            cell.state.v += factor * v;
        }
    }
    if let Some(cell) = &mut slots.bias {
        cell.state.v += factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<'a>(indices: &'a [u32], values: &'a [f64]) -> Features<'a, f64> {
        Features { indices, values }
    }

    #[test]
    fn products_and_distances_meet_every_feature_once() {
        let (x, other) = (row(&[0, 2, 5], &[1.0, 2.0, 3.0]), row(&[2, 3], &[4.0, -1.0]));
        assert_eq!(product(x, other), 8.0);
        // 1 + (2 - 4)^2 + 1 + 9.
        assert_eq!(distance_squared(x, other), 15.0);
        assert_eq!(distance_squared(row(&[], &[]), other), 17.0);
    }

    #[test]
    fn the_oldest_row_goes_first_and_a_file_gives_the_rest_back() {
        let mut store = Store::default();
        store.push(row(&[0, 1], &[1.0, 2.0]), 1.0);
        store.push(row(&[], &[]), -1.0);
        store.push(row(&[7], &[3.0]), 2.0);
        store.drop_oldest();
        let arrays: Vec<(String, Vec<f64>)> =
            store.arrays().into_iter().map(|(n, a)| (n.to_owned(), a)).collect();
        let mut back = Store::default();
        assert!(back.set_arrays(&arrays));
        let rows: Vec<(Vec<u32>, f64)> = back.iter().map(|(x, f)| (x.indices.to_vec(), f)).collect();
        assert_eq!(rows, [(vec![], -1.0), (vec![7], 2.0)]);
    }

    #[test]
    fn arrays_that_cannot_be_rows_are_refused() {
        let named = |parts: [&[f64]; 4]| -> Vec<(String, Vec<f64>)> {
            let names = ["ends", "indices", "values", "factors"];
            names.iter().zip(parts).map(|(n, a)| ((*n).to_owned(), a.to_vec())).collect()
        };
        let good: [&[f64]; 4] = [&[1.0, 3.0], &[4.0, 0.0, 1.0], &[1.0, 1.0, 1.0], &[1.0, -1.0]];
        assert!(Store::default().set_arrays(&named(good)));
        let bad: [(usize, &[f64]); 9] = [
            (0, &[2.0, 1.0]),
            (0, &[1.0, 4.0]),
            (0, &[-1.0, 3.0]),
            (0, &[0.5, 3.0]),
            (1, &[4.0, 1.0, 1.0]),
            (1, &[4.0, 0.5, 1.0]),
            (1, &[5e9, 0.0, 1.0]),
            (2, &[1.0, 1.0]),
            (3, &[1.0]),
        ];
        for (place, part) in bad {
            let mut parts = good;
            parts[place] = part;
            assert!(!Store::default().set_arrays(&named(parts)), "{place} {part:?}");
        }
        assert!(!Store::default().set_arrays(&[]));
    }
}
