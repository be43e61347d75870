//! Where per-feature state lives: what is touched together lies together.
//!
//! Every slot holds the learner's own state and, beside it, that coordinate of the ledger's
//! `S = sum of alpha_t x_t`. A learner changes a slot only through [`Slots::enter`], which adds to
//! `S` in the same touch, so that the certificate costs no second cache miss and cannot be forgotten.

mod fours;
mod pages;
#[cfg(test)]
mod tests;

use crate::example::{Features, Squares, Value, pairs};
use crate::round::Vector;
use std::fmt::Debug;
use wide::f64x2;

/// The state a learner keeps for one feature, as a fixed list of named numbers.
pub trait Slot: Copy + Default + Send + Sync + 'static {
    /// Names of the numbers, as they stand in a model file.
    const FIELDS: &'static [&'static str];
    /// How its cell lies in memory: `()` for one after the other, [`Line`] for the start of a cache line each.
    type Align: Copy + Debug + Default + Send + Sync + 'static;
    /// Number `k`.
    fn get(&self, k: usize) -> f64;
    /// Sets number `k`.
    fn set(&mut self, k: usize, value: f64);
}

impl Slot for () {
    type Align = ();
    const FIELDS: &'static [&'static str] = &[];
    fn get(&self, _: usize) -> f64 {
        0.0
    }
    fn set(&mut self, _: usize, _: f64) {}
}

/// Has a cell begin at a cache line: for cells that fill one, so that a feature is one line and not two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Line;

/// One feature: the learner's state and the ledger's `S_i`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Cell<T: Slot> {
    /// The learner's.
    pub state: T,
    /// The ledger's.
    pub s: f64,
    align: [T::Align; 0],
}

/// All features, and the constant one apart from them.
#[derive(Clone, Debug)]
pub struct Slots<T: Slot> {
    /// The constant feature, if there is one. Its value is 1 in every row.
    pub bias: Option<Cell<T>>,
    /// By feature index; grows as features appear.
    pub cells: Vec<Cell<T>>,
}

impl<T: Slot> Slots<T> {
    /// No feature yet.
    pub fn new(bias: bool) -> Self {
        Self { bias: bias.then(Cell::default), cells: Vec::new() }
    }

    /// `sum of read(cell_i) x_i`, the bias included. Features never seen count as 0.
    #[inline(always)]
    pub fn dot<V: Value>(&self, x: Features<'_, V>, read: impl Fn(&Cell<T>) -> f64) -> f64 {
        match self.dot_beside(x, &read, |_, _, _| ()) {
            Some(sum) => sum,
            None => self.dot_of_seen(x, read),
        }
    }

    /// The same number, and the row's [rough squares](Features::rough_squares) by the way.
    #[inline(always)]
    pub fn dot_roughly<V: Value>(&self, x: Features<'_, V>, read: impl Fn(&Cell<T>) -> f64) -> (f64, f64) {
        let mut lanes = V::Lanes::default();
        match self.dot_beside(x, &read, |four, _, _| V::add_squares(&mut lanes, four)) {
            Some(sum) => (sum, V::sum_squares(lanes)),
            None => (self.dot_of_seen(x, read), x.rough_squares()),
        }
    }

    /// The same number, and the row's [squared norm](Features::norm_squared), to the bit, by the way.
    #[inline(always)]
    pub fn dot_and_norm<V: Value>(&self, x: Features<'_, V>, read: impl Fn(&Cell<T>) -> f64) -> (f64, f64) {
        let mut squares = Squares::default();
        match self.dot_beside(x, &read, |_, ab, cd| squares.add(ab, cd)) {
            Some(sum) => (sum, squares.sum()),
            None => (self.dot_of_seen(x, read), x.norm_squared()),
        }
    }

    /// The sum, with something else done to the values by the way; none if a feature was never seen.
    #[inline(always)]
    fn dot_beside<V: Value>(
        &self,
        x: Features<'_, V>,
        read: &impl Fn(&Cell<T>) -> f64,
        mut beside: impl FnMut(&[V; 4], f64x2, f64x2),
    ) -> Option<f64> {
        let cells = self.cells.as_slice();
        // Four accumulators: one chain of additions would wait for each addition's latency. They are neighbours in
        // pairs, as the values are.
        let (mut low, mut high) = (f64x2::ZERO, f64x2::ZERO);
        let mut add = |i: &[u32; 4], v: &[V; 4]| {
            // Where one is beyond, so are all that follow it.
            let (a, b) = (cells.get(i[0] as usize)?, cells.get(i[1] as usize)?);
            let (c, d) = (cells.get(i[2] as usize)?, cells.get(i[3] as usize)?);
            let (ab, cd) = pairs(v);
            low += f64x2::new([read(a), read(b)]) * ab;
            high += f64x2::new([read(c), read(d)]) * cd;
            beside(v, ab, cd);
            Some(())
        };
        let fours = x.indices.as_chunks::<4>().0.iter().zip(x.values.as_chunks::<4>().0);
        for (i, v) in fours {
            add(i, v)?;
        }
        if let Some((i, v)) = x.tail() {
            add(&i, &v)?;
        }
        let sum = self.bias.as_ref().map_or(0.0, read);
        let ([a, b], [c, d]) = (low.to_array(), high.to_array());
        Some((a + b) + (c + d) + sum)
    }

    /// The same for a row with features that were never seen, which are its last.
    #[cold]
    fn dot_of_seen<V: Value>(&self, x: Features<'_, V>, read: impl Fn(&Cell<T>) -> f64) -> f64 {
        let seen = x.indices.partition_point(|&i| (i as usize) < self.cells.len());
        self.dot(Features { indices: &x.indices[..seen], values: &x.values[..seen] }, read)
    }

    /// Adds `alpha x` to `S` and lets the learner change the same cells: `step(cell, x_i)`.
    #[inline(always)]
    pub fn enter<V: Value>(
        &mut self,
        x: Features<'_, V>,
        alpha: f64,
        mut step: impl FnMut(&mut Cell<T>, f64),
    ) {
        self.grow(x.end());
        let cells = self.cells.as_mut_slice();
        let (n, indices) = (x.indices.len(), x.indices);
        let values = &x.values[..n];
        // One place that calls `step`, the bias included, so that a long one melts into the loop too.
        let mut bias = self.bias.as_mut();
        for k in 0..n + usize::from(bias.is_some()) {
            let (cell, v) = if k < n {
                (&mut cells[indices[k] as usize], values[k].f64())
            } else {
                let Some(cell) = bias.take() else { return };
                (cell, 1.0)
            };
            cell.s += alpha * v;
            step(cell, v);
        }
    }

    /// The same for a step of a few operations, which is compiled twice: features in a loop of their own take half as
    /// many instructions.
    #[inline(always)]
    pub fn enter_briefly<V: Value>(
        &mut self,
        x: Features<'_, V>,
        alpha: f64,
        mut step: impl FnMut(&mut Cell<T>, f64),
    ) {
        self.grow(x.end());
        let cells = self.cells.as_mut_slice();
        let (i4, i_rest) = x.indices.as_chunks::<4>();
        let (v4, v_rest) = x.values[..x.indices.len()].as_chunks::<4>();
        for (i, v) in i4.iter().zip(v4) {
            for k in 0..4 {
                let (cell, v) = (&mut cells[i[k] as usize], v[k].f64());
                cell.s += alpha * v;
                step(cell, v);
            }
        }
        for (&i, v) in i_rest.iter().zip(v_rest) {
            let (cell, v) = (&mut cells[i as usize], v.f64());
            cell.s += alpha * v;
            step(cell, v);
        }
        if let Some(cell) = &mut self.bias {
            cell.s += alpha;
            step(cell, 1.0);
        }
    }

    /// The same for a step that adds `dv x_i` to the weight before the scale, and perhaps to the average: `step` says it all.
    #[inline(always)]
    pub(super) fn enter_shift<V: Value>(
        &mut self,
        x: Features<'_, V>,
        alpha: f64,
        dv: f64,
        mut step: impl FnMut(&mut Cell<T>, f64),
    ) {
        self.grow(x.end());
        if !fours::shift(&mut self.cells, x, dv, alpha) {
            return self.enter_evenly(x, alpha, step);
        }
        if let Some(cell) = &mut self.bias {
            cell.s += alpha;
            step(cell, 1.0);
        }
    }

    /// The same for a step of a few operations, which is compiled twice: features in a loop of their own take half as
    /// many instructions. A step by 0 must change nothing: some features are met with that too.
    #[inline(always)]
    pub fn enter_evenly<V: Value>(
        &mut self,
        x: Features<'_, V>,
        alpha: f64,
        mut step: impl FnMut(&mut Cell<T>, f64),
    ) {
        self.grow(x.end());
        let cells = self.cells.as_mut_slice();
        let mut enter = |i: &[u32; 4], v: &[V; 4]| {
            // Converted in pairs: half the instructions of one by one.
            let ([a, b], [c, d]) = (pairs(v).0.to_array(), pairs(v).1.to_array());
            for (&i, v) in i.iter().zip([a, b, c, d]) {
                let cell = &mut cells[i as usize];
                cell.s += alpha * v;
                step(cell, v);
            }
        };
        let fours = x.indices.as_chunks::<4>().0.iter().zip(x.values.as_chunks::<4>().0);
        fours.for_each(|(i, v)| enter(i, v));
        if let Some((i, v)) = x.tail() {
            enter(&i, &v);
        }
        if let Some(cell) = &mut self.bias {
            cell.s += alpha;
            step(cell, 1.0);
        }
    }

    /// Has the cells of a row that comes later brought to the processor.
    #[inline]
    pub fn fetch(&self, indices: &[u32]) {
        fetch(&self.cells, indices);
    }

    /// The same cells in the same order once more, in a round that enters its row.
    #[inline(always)]
    pub fn revisit<V: Value>(&mut self, x: Features<'_, V>, mut step: impl FnMut(&mut Cell<T>)) {
        let cells = self.cells.as_mut_slice();
        for &i in x.indices {
            step(&mut cells[i as usize]);
        }
        if let Some(cell) = &mut self.bias {
            step(cell);
        }
    }

    /// Makes room for features below `end`.
    #[inline]
    pub fn grow(&mut self, end: usize) {
        if end > self.cells.len() {
            self.enlarge(end);
        }
    }

    /// Whether there is memory for features below `end`, which is taken.
    #[inline(always)]
    pub fn room(&mut self, end: usize) -> bool {
        end <= self.cells.capacity() || self.more_room(end)
    }

    #[cold]
    fn more_room(&mut self, end: usize) -> bool {
        let there = self.cells.try_reserve(pages::room::<Cell<T>>(end) - self.cells.len()).is_ok();
        if there {
            pages::ask(self.cells.spare_capacity_mut());
        }
        there
    }

    #[cold]
    fn enlarge(&mut self, end: usize) {
        if end > self.cells.capacity() {
            self.cells.reserve(pages::room::<Cell<T>>(end) - self.cells.len());
            pages::ask(self.cells.spare_capacity_mut());
        }
        self.cells.resize(end, Cell::default());
    }

    /// Takes the cells of these features, and the bias, from others that differ in nothing else.
    pub fn catch_up(&mut self, twin: &Self, features: &[u32]) {
        self.grow(twin.cells.len());
        for &i in features {
            // A row without weight has left no trace.
            if let Some(cell) = twin.cells.get(i as usize) {
                self.cells[i as usize] = *cell;
            }
        }
        self.bias = twin.bias;
    }

    /// Every cell, the features in order and then the bias.
    pub fn iter(&self) -> impl Iterator<Item = &Cell<T>> {
        self.cells.iter().chain(&self.bias)
    }

    /// Every cell, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Cell<T>> {
        self.cells.iter_mut().chain(&mut self.bias)
    }

    /// One number of every cell, some at a time: the features in order, then the bias.
    pub fn each(&self, read: impl Fn(&Cell<T>) -> f64, take: &mut dyn FnMut(&[f64])) {
        let mut some = [0.0; 256];
        for cells in self.cells.chunks(some.len()) {
            for (number, cell) in some.iter_mut().zip(cells) {
                *number = read(cell);
            }
            take(&some[..cells.len()]);
        }
        if let Some(bias) = &self.bias {
            take(&[read(bias)]);
        }
    }

    /// One number of every cell.
    pub fn vector(&self, read: impl Fn(&Cell<T>) -> f64) -> Vector {
        Vector { features: self.cells.iter().map(&read).collect(), bias: self.bias.as_ref().map(&read) }
    }

    /// `sum of read(cell)^2`, and how far rounding may have moved it: by no more for a large table than for a small one.
    pub fn norm_squared(&self, read: impl Fn(&Cell<T>) -> f64) -> (f64, f64) {
        let bias = self.bias.as_ref().map_or(0.0, |c| read(c) * read(c));
        let sum = halved(&self.cells, &|c| read(c) * read(c)) + bias;
        let roundings = 4 + self.len().min(PLAINLY + usize::BITS as usize);
        (sum, roundings as f64 * f64::EPSILON * sum)
    }

    /// How many coordinates there are, the bias included.
    pub fn len(&self) -> usize {
        self.cells.len() + usize::from(self.bias.is_some())
    }

    /// Whether there is no coordinate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Has what is kept of these features brought to the processor while other work goes on.
#[inline(always)]
pub(super) fn fetch<T>(kept: &[T], indices: &[u32]) {
    for &i in indices {
        pages::fetch(kept, i as usize);
    }
}

/// So many numbers are added up one after the other.
const PLAINLY: usize = 512;

/// A sum of two halves, and so on: no number goes through more additions than [`PLAINLY`] and one for each halving.
fn halved<T>(cells: &[T], read: &impl Fn(&T) -> f64) -> f64 {
    if cells.len() <= PLAINLY {
        return cells.iter().map(read).sum();
    }
    let (first, second) = cells.split_at(cells.len() / 2);
    halved(first, read) + halved(second, read)
}

/// Whether the sum of all iterates is kept, and its part in a slot.
///
/// With `w = a v`, `A_t` the sum of the scales `a_1 .. a_t` and `b += A_t dv` at every change of `v`,
/// the sum of the iterates is `A_t v - b`: an average in O(nonzeros) a round.
pub(super) trait Mean: Copy + Default + Send + Sync + 'static {
    /// Whether anything is kept.
    const KEPT: bool;
    /// `b += amount`.
    fn add(&mut self, amount: f64);
    /// `b`.
    fn get(&self) -> f64;
    /// Sets `b`.
    fn set(&mut self, b: f64);
}

/// No average.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NoMean;

impl Mean for NoMean {
    const KEPT: bool = false;
    #[inline(always)]
    fn add(&mut self, _: f64) {}
    fn get(&self) -> f64 {
        0.0
    }
    fn set(&mut self, _: f64) {}
}

/// The `b` of the averaged iterate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeptMean(f64);

impl Mean for KeptMean {
    const KEPT: bool = true;
    #[inline(always)]
    fn add(&mut self, amount: f64) {
        self.0 += amount;
    }
    fn get(&self) -> f64 {
        self.0
    }
    fn set(&mut self, b: f64) {
        self.0 = b;
    }
}

/// A slot of learners whose weights are a multiple of `S` itself: nothing but the average's part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dual<M>(pub(super) M);

impl<M: Mean> Slot for Dual<M> {
    type Align = ();
    const FIELDS: &'static [&'static str] = if M::KEPT { &["b"] } else { &[] };
    fn get(&self, _: usize) -> f64 {
        self.0.get()
    }
    fn set(&mut self, _: usize, value: f64) {
        self.0.set(value);
    }
}

/// A slot with a weight of its own (up to a common scale).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Weight<M> {
    /// The weight before the scale.
    pub v: f64,
    /// The average's part.
    pub mean: M,
}

impl<M: Mean> Slot for Weight<M> {
    type Align = ();
    const FIELDS: &'static [&'static str] = if M::KEPT { &["v", "b"] } else { &["v"] };
    fn get(&self, k: usize) -> f64 {
        if k == 0 { self.v } else { self.mean.get() }
    }
    fn set(&mut self, k: usize, value: f64) {
        if k == 0 { self.v = value } else { self.mean.set(value) }
    }
}
