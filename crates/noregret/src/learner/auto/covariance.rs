//! How the members' Bayesian that forgets nothing is sure of all weights together, while there are few: a covariance
//! for every pair of features.
//!
//! In units of the features' scales, the constant one in place 0 and the others as they come:
//!
//! ```text
//! V = v'Cv    w -= u C v, u = slope(z - V u)    C -= C v v'C h/(1 + h V), h the curvature there
//! ```
//!
//! A feature begins alone, with the variance that the diagonal form has then; when its scale grows, so does its deviation, up to
//! that of a weight of which nothing is known. Above [`MOST`] places, after [`MUCH`] has been done, or where rounding
//! has left no covariance, the Bayesian goes on with its diagonal, which is kept beside.

use super::super::slots::{Cell, Slots};
use super::row::Noted;
use super::slot::{BAYES, Beside, HEAVIEST, MEMBERS, Pool};
use crate::example::{Features, Value};

/// The most places: a round costs the square of their number.
const MOST: usize = 128;
/// The most entries that are gone through in all rounds together, some tenths of a second: of a short stream the
/// covariance makes most, and a long one is read as fast as ever.
const MUCH: u64 = 1 << 26;

/// No weight moves by more than this for a unit of slope.
const FARTHEST: f64 = 1e30;

/// So many numbers are computed together, in registers.
const WIDE: usize = 16;
/// Where the places of features are looked up.
const DOORS: usize = 4 * MOST;

/// The covariance, and what a round finds out about it.
#[derive(Clone, Debug)]
pub(super) struct Covariance {
    /// The features, from place 1 on.
    features: Vec<u32>,
    /// Their places, by a hash of the feature or behind it; 0 where there is none.
    doors: [u8; DOORS],
    /// Row by row, each filled up with zeros to whole blocks.
    entries: Vec<[f64; WIDE]>,
    /// Places and values of the row, other than 0.
    row: Vec<(usize, f64)>,
    /// `C v`, filled up in the same way.
    way: Vec<[f64; WIDE]>,
}

impl Default for Covariance {
    fn default() -> Self {
        Self {
            features: Vec::new(),
            doors: [0; DOORS],
            entries: vec![[0.0; WIDE]],
            row: Vec::new(),
            way: vec![[0.0; WIDE]],
        }
    }
}

impl Covariance {
    /// From its features and its entries row by row; none if they do not fit one another, or are too many.
    pub(super) fn read(features: &[f64], entries: &[f64]) -> Option<Self> {
        let side = features.len() + 1;
        if side > MOST || entries.len() != side * side {
            return None;
        }
        let mut read = Self::default();
        for &feature in features {
            let index = feature as u32;
            if f64::from(index) != feature || read.place(index).is_some() {
                return None;
            }
            read.join(index)?;
        }
        read.lay_out(entries.chunks_exact(side).map(<[f64]>::to_vec).collect());
        Some(read)
    }

    /// The features in the order of their places.
    pub(super) fn features(&self) -> &[u32] {
        &self.features
    }

    fn side(&self) -> usize {
        self.features.len() + 1
    }

    fn door(index: u32) -> usize {
        (index.wrapping_mul(0x9e37_79b1) >> 23) as usize % DOORS
    }

    /// The place of a feature.
    #[inline(always)]
    fn place(&self, index: u32) -> Option<usize> {
        let mut door = Self::door(index);
        // Most doors have nothing behind them.
        loop {
            let place = usize::from(self.doors[door]);
            if self.features.get(place.checked_sub(1)?) == Some(&index) {
                return Some(place);
            }
            door = (door + 1) % DOORS;
        }
    }

    /// A place for a feature that has none; none if there are too many.
    #[cold]
    fn join(&mut self, index: u32) -> Option<usize> {
        let place = self.side();
        if place == MOST {
            return None;
        }
        let mut door = Self::door(index);
        while self.doors[door] != 0 {
            door = (door + 1) % DOORS;
        }
        self.doors[door] = place as u8;
        let rows = self.rows().map(<[f64]>::to_vec).collect();
        self.features.push(index);
        self.lay_out(rows);
        Some(place)
    }

    /// Takes these rows, and zeros where there is nothing.
    fn lay_out(&mut self, rows: Vec<Vec<f64>>) {
        let blocks = self.side().div_ceil(WIDE);
        self.entries = vec![[0.0; WIDE]; self.side() * blocks];
        self.way = vec![[0.0; WIDE]; blocks];
        for (new, old) in self.entries.chunks_exact_mut(blocks).zip(rows) {
            new.as_flattened_mut()[..old.len()].copy_from_slice(&old);
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.entries.chunks_exact(self.way.len()).map(|row| &row.as_flattened()[..self.side()])
    }

    /// Row by row.
    pub(super) fn entries(&self) -> Vec<f64> {
        self.rows().flatten().copied().collect()
    }

    /// The scale of the feature in a place is about to grow by a factor, or to begin (none); `prior` is the variance
    /// of a weight of which nothing is known.
    fn rescale(&mut self, place: usize, growth: Option<f64>, prior: f64) {
        let (side, width) = (self.side(), self.way.len() * WIDE);
        let entries = self.entries.as_flattened_mut();
        let variance = &mut entries[place * width + place];
        let Some(growth) = growth else {
            *variance = prior;
            return;
        };
        // No less is known than nothing.
        let growth = growth.min((prior / *variance).sqrt().max(1.0));
        *variance *= growth * growth;
        for k in (0..side).filter(|&k| k != place) {
            entries[place * width + k] *= growth;
            entries[k * width + place] *= growth;
        }
    }

    /// Takes the scales that were noted, which the row's cells are about to take; none if there are too many features.
    #[cold]
    #[inline(never)]
    fn hear_news<B: Beside>(
        &mut self,
        slots: &Slots<Pool<B>>,
        indices: &[u32],
        noted: &Noted,
        prior: f64,
    ) -> Option<()> {
        for &(k, inverse) in noted.news() {
            let (place, cell) = match indices.get(k) {
                Some(&i) => (self.place(i).or_else(|| self.join(i))?, slots.cells.get(i as usize)),
                None => (0, slots.bias.as_ref()),
            };
            let before = cell.map_or(0.0, |cell| cell.state.state.inverse);
            let growth = (before > 0.0).then(|| f64::from(before) / f64::from(inverse));
            self.rescale(place, growth, prior);
        }
        Some(())
    }

    /// How far a unit of slope moves what is said of the row whose features, the constant one last if there is one, were noted:
    /// `V`. None if that is no variance, or if a feature has no place.
    #[inline(always)]
    fn meet(&mut self, indices: &[u32], bias: bool, noted: &Noted) -> Option<f64> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        let values = noted.values(indices.len() + usize::from(bias));
        for (k, &v) in values.iter().enumerate() {
            if v != 0.0 {
                let place = indices.get(k).map_or(Some(0), |&i| self.place(i))?;
                row.push((place, f64::from(v)));
            }
        }
        self.row = row;
        let Self { entries, row, way, .. } = self;
        let blocks = way.len();
        for (k, block) in way.iter_mut().enumerate() {
            let mut sums = [0.0; WIDE];
            for &(place, v) in &*row {
                for (sum, entry) in sums.iter_mut().zip(&entries[place * blocks + k]) {
                    *sum += entry * v;
                }
            }
            *block = sums;
        }
        let way = way.as_flattened();
        let (mut variance, mut sound) = (0.0, way.iter().all(|way| way.abs() < FARTHEST));
        for &(place, v) in &*row {
            sound &= entries[place * blocks + place / WIDE][place % WIDE] >= 0.0;
            variance += way[place] * v;
        }
        (sound && (0.0..f64::INFINITY).contains(&variance)).then_some(variance)
    }

    /// All weights move by a slope of this size, whether the row that was met has their features or not.
    #[inline(always)]
    pub(super) fn follow<B: Beside>(&self, slots: &mut Slots<Pool<B>>, by: f64, factors: &[f64; MEMBERS]) {
        let Some((bias, ways)) = self.way.as_flattened().split_first() else { return };
        let step = |cell: &mut Cell<Pool<B>>, way: &f64| {
            let state = &mut cell.state.state;
            let before = *state;
            state.w[BAYES] = (state.w[BAYES] + (by * way) as f32).clamp(-HEAVIEST, HEAVIEST);
            if B::KEPT {
                cell.state.beside.moved(&before, state, factors);
            }
        };
        if let Some(cell) = &mut slots.bias {
            step(cell, bias);
        }
        for (&feature, way) in self.features.iter().zip(ways) {
            if let Some(cell) = slots.cells.get_mut(feature as usize) {
                step(cell, way);
            }
        }
    }

    /// Learns from the row that was met, for which this says how much: `h/(1 + h V)`. What was found out about the row is
    /// then gone.
    #[inline(always)]
    pub(super) fn learn(&mut self, share: f64) {
        let Self { entries, way, .. } = self;
        // On both sides of the product, so that the matrix stays its own transpose to the bit.
        let root = share.sqrt();
        way.as_flattened_mut().iter_mut().for_each(|way| *way *= root);
        for (row, &a) in entries.chunks_exact_mut(way.len().max(1)).zip(way.as_flattened()) {
            for (entries, way) in row.iter_mut().zip(way.iter()) {
                // All are read before any is written: else they would be computed one by one.
                *entries = std::array::from_fn(|k| entries[k] - a * way[k]);
            }
        }
    }
}

/// How far a unit of slope moves what the Bayesian says of the row, if it has a covariance. Features are about to take the
/// scales that were noted; a weight of which nothing is known has the variance `prior`.
#[inline(always)]
pub(super) fn meet<B: Beside, V: Value>(
    covariance: &mut Option<Covariance>,
    slots: &Slots<Pool<B>>,
    x: Features<'_, V>,
    noted: &Noted,
    (t, prior): (u64, f64),
) -> Option<f64> {
    let known = covariance.as_mut()?;
    let mut fits = t.saturating_mul((known.side() * known.side()) as u64) < MUCH;
    if fits && !noted.news().is_empty() {
        fits = known.hear_news(slots, x.indices, noted, prior).is_some();
    }
    let way = if fits { known.meet(x.indices, slots.bias.is_some(), noted) } else { None };
    if way.is_none() {
        *covariance = None;
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_covariance_grows_by_features_and_keeps_what_it_knows() {
        let mut c = Covariance::default();
        assert_eq!(c.join(700), Some(1));
        c.rescale(0, None, 10.0);
        c.rescale(1, None, 5.0);
        assert_eq!(c.entries(), [10.0, 0.0, 0.0, 5.0]);
        let noted = Noted::of(&[0.5, 1.0]);
        // V = 10 + 5/4, C v = (10, 2.5).
        assert_eq!(c.meet(&[700], true, &noted), Some(11.25));
        assert_eq!(c.way.as_flattened()[..3], [10.0, 2.5, 0.0]);
        assert_eq!(c.meet(&[701], true, &noted), None);
        assert_eq!(c.meet(&[700], true, &noted), Some(11.25));
        c.learn(1.0 / 12.25);
        let [a, b, d] = [10.0 - 100.0 / 12.25, -25.0 / 12.25, 5.0 - 6.25 / 12.25];
        for (have, want) in c.entries().into_iter().zip([a, b, b, d]) {
            assert!((have - want).abs() < 1e-12, "{have}, not {want}");
        }
        assert_eq!(c.join(3), Some(2));
        let grown = c.entries();
        assert!(grown.len() == 9 && (grown[0] - a).abs() < 1e-12 && (grown[4] - d).abs() < 1e-12);
        assert_eq!([2, 5, 6, 7, 8].map(|k| grown[k]), [0.0; 5]);
        for k in 3..MOST {
            assert_eq!(c.join(256 * k as u32), Some(k));
        }
        assert_eq!(
            (c.join(5), c.place(700), c.place(256 * 120), c.place(5)),
            (None, Some(1), Some(120), None)
        );
    }

    #[test]
    fn a_scale_that_grows_loosens_a_weight_up_to_the_prior() {
        let mut c = Covariance::read(&[0.0], &[4.0, 1.0, 1.0, 4.0]).expect("a square");
        c.rescale(1, Some(1.25), 10.0);
        assert_eq!(c.entries(), [4.0, 1.25, 1.25, 6.25]);
        c.rescale(1, Some(2.0), 9.0);
        assert_eq!(c.entries(), [4.0, 1.5, 1.5, 9.0]);
        c.rescale(1, Some(2.0), 8.0);
        assert_eq!(c.entries(), [4.0, 1.5, 1.5, 9.0]);
    }

    #[test]
    fn what_is_no_covariance_is_refused() {
        assert!(Covariance::read(&[], &[1.0, 2.0]).is_none());
        assert!(Covariance::read(&[1.0, 1.0], &[0.0; 9]).is_none());
        assert!(Covariance::read(&[-1.0], &[0.0; 4]).is_none());
        assert!(Covariance::read(&[0.5], &[0.0; 4]).is_none());
        let many: Vec<f64> = (0..MOST).map(|k| k as f64).collect();
        assert!(Covariance::read(&many, &vec![0.0; (MOST + 1) * (MOST + 1)]).is_none());
        let noted = Noted::of(&[1.0, 1.0]);
        for entries in
            [[-1.0, 0.0, 0.0, 5.0], [1.0, -3.0, -3.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0], [1.0, 1e31, 1e31, 1.0]]
        {
            let mut c = Covariance::read(&[9.0], &entries).expect("a square");
            assert_eq!(c.meet(&[9], true, &noted), None, "{entries:?}");
        }
    }
}
