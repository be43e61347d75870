//! Many rows in compressed form, and one row borrowed from them.

use crate::error::Position;
use std::fmt::Debug;
use std::sync::Arc;
use wide::{f32x4, f64x2};

/// A number type that feature values come in: f32 (text) or f64.
pub trait Value: Copy + Default + Send + Sync + 'static {
    /// The name used in reports: `f32` or `f64`.
    const NAME: &'static str;
    /// The value as f64, exactly.
    fn f64(self) -> f64;
    /// Sums of squares in this type.
    type Lanes: Copy + Default;
    /// Adds the squares of four values.
    fn add_squares(lanes: &mut Self::Lanes, values: &[Self; 4]);
    /// The sum of these.
    fn sum_squares(lanes: Self::Lanes) -> f64;
    /// The last `count` of four values, below four; the others are 0.
    fn last(values: &[Self; 4], count: usize) -> [Self; 4];
    /// The values, where they are f32.
    fn as_f32(values: &[Self]) -> Option<&[f32]>;
    /// Whether the sum of `count` squares is surely at most `this`, where it is `rough` in this type, summed in four
    /// chains or more.
    fn surely_at_most(rough: f64, count: usize, this: f64) -> bool;
}

/// By row, which of four values are the last ones: none, one, two, three.
const LAST: [[f32; 4]; 4] = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]];

/// See [`Value::surely_at_most`]: products and sums lose half an epsilon each, a square at most the least normal
/// number. The part is generous, so that a length computed in f64 is covered with its own rounding.
macro_rules! surely_at_most {
    ($float:ty) => {
        #[inline(always)]
        fn surely_at_most(rough: f64, count: usize, this: f64) -> bool {
            let n = count as f64;
            let (part, remainder) =
                ((n / 2.0 + 16.0) * f64::from(<$float>::EPSILON), n * f64::from(<$float>::MIN_POSITIVE));
            rough * (1.0 + part) + remainder <= this
        }
    };
}

impl Value for f32 {
    const NAME: &'static str = "f32";
    type Lanes = f32x4;
    #[inline(always)]
    fn add_squares(lanes: &mut f32x4, values: &[f32; 4]) {
        *lanes += f32x4::new(*values) * f32x4::new(*values);
    }
    #[inline(always)]
    fn sum_squares(lanes: f32x4) -> f64 {
        f64::from(lanes.reduce_add())
    }
    #[inline(always)]
    fn last(values: &[f32; 4], count: usize) -> [f32; 4] {
        (f32x4::new(*values) * f32x4::new(LAST[count % 4])).to_array()
    }
    #[inline(always)]
    fn as_f32(values: &[f32]) -> Option<&[f32]> {
        Some(values)
    }
    surely_at_most!(f32);
    #[inline(always)]
    fn f64(self) -> f64 {
        f64::from(self)
    }
}

impl Value for f64 {
    const NAME: &'static str = "f64";
    type Lanes = [f64x2; 2];
    #[inline(always)]
    fn add_squares(lanes: &mut [f64x2; 2], &[a, b, c, d]: &[f64; 4]) {
        let (low, high) = (f64x2::new([a, b]), f64x2::new([c, d]));
        lanes[0] += low * low;
        lanes[1] += high * high;
    }
    #[inline(always)]
    fn sum_squares(lanes: [f64x2; 2]) -> f64 {
        (lanes[0] + lanes[1]).reduce_add()
    }
    #[inline(always)]
    fn last(values: &[f64; 4], count: usize) -> [f64; 4] {
        std::array::from_fn(|k| values[k] * f64::from(LAST[count % 4][k]))
    }
    #[inline(always)]
    fn as_f32(_: &[f64]) -> Option<&[f32]> {
        None
    }
    surely_at_most!(f64);
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
}

/// Four values as f64, in two pairs.
#[inline(always)]
pub(crate) fn pairs<V: Value>([a, b, c, d]: &[V; 4]) -> (f64x2, f64x2) {
    (f64x2::new([a.f64(), b.f64()]), f64x2::new([c.f64(), d.f64()]))
}

/// A sum of squares, four at a time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Squares(f64x2, f64x2);

impl Squares {
    #[inline(always)]
    pub(crate) fn add(&mut self, ab: f64x2, cd: f64x2) {
        self.0 += ab * ab;
        self.1 += cd * cd;
    }

    #[inline(always)]
    pub(crate) fn sum(self) -> f64 {
        let ([a, b], [c, d]) = (self.0.to_array(), self.1.to_array());
        (a + b) + (c + d)
    }
}

/// One sparse row. Indices ascend strictly and count from 0; values are finite. The constant
/// feature (bias) is not among them: learners that have one keep it apart.
#[derive(Clone, Copy, Debug)]
pub struct Features<'a, V> {
    /// Which features, ascending.
    pub indices: &'a [u32],
    /// Their values.
    pub values: &'a [V],
}

impl<'a, V: Value> Features<'a, V> {
    /// Two slices of the same length.
    #[inline]
    pub fn new(indices: &'a [u32], values: &'a [V]) -> Self {
        debug_assert_eq!(indices.len(), values.len());
        debug_assert!(indices.windows(2).all(|w| w[0] < w[1]));
        Self { indices, values }
    }

    /// The pairs (index, value as f64).
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (usize, f64)> + use<'a, V> {
        self.indices.iter().zip(self.values).map(|(&i, &v)| (i as usize, v.f64()))
    }

    /// One more than the largest index; 0 for an empty row.
    #[inline]
    pub fn end(self) -> usize {
        self.indices.last().map_or(0, |&i| i as usize + 1)
    }

    /// The features behind the last whole four, as the last of a four. What stands before them there are features of
    /// the row once more, with the value 0: so a row ends without a jump that depends on how long it is. None in an
    /// empty row.
    #[inline(always)]
    pub(crate) fn tail(self) -> Option<([u32; 4], [V; 4])> {
        let n = self.indices.len();
        match (self.indices.last_chunk(), self.values[..n].last_chunk()) {
            (Some(indices), Some(values)) => Some((*indices, V::last(values, n % 4))),
            _ => self.short_tail(),
        }
    }

    /// The same of a row of fewer than four.
    fn short_tail(self) -> Option<([u32; 4], [V; 4])> {
        let (mut indices, mut values) = ([*self.indices.first()?; 4], [V::default(); 4]);
        for (k, (&i, &v)) in self.indices.iter().zip(self.values).enumerate() {
            (indices[k], values[k]) = (i, v);
        }
        Some((indices, values))
    }

    /// The squared Euclidean norm.
    #[inline]
    pub fn norm_squared(self) -> f64 {
        let mut squares = Squares::default();
        for four in self.values.as_chunks::<4>().0 {
            let (ab, cd) = pairs(four);
            squares.add(ab, cd);
        }
        if let Some((_, four)) = self.tail() {
            let (ab, cd) = pairs(&four);
            squares.add(ab, cd);
        }
        squares.sum()
    }

    /// The sum of the squares in the type of the values.
    #[inline]
    pub fn rough_squares(self) -> f64 {
        let (mut even, mut odd) = (V::Lanes::default(), V::Lanes::default());
        let (pairs, one) = self.values.as_chunks::<4>().0.as_chunks::<2>();
        for [a, b] in pairs {
            V::add_squares(&mut even, a);
            V::add_squares(&mut odd, b);
        }
        for four in one {
            V::add_squares(&mut even, four);
        }
        if let Some((_, values)) = self.tail() {
            V::add_squares(&mut odd, &values);
        }
        V::sum_squares(even) + V::sum_squares(odd)
    }

    /// A number not below the squared norm where squares leave the range of f64 from below: there `norm_squared` may
    /// be 0 of a row that is not.
    #[cold]
    pub fn small_norm_squared(self) -> f64 {
        let least = f64::MIN_POSITIVE * f64::EPSILON;
        self.values.iter().map(|v| v.f64()).filter(|&v| v != 0.0).map(|v| v * v + least).sum()
    }

    /// The largest absolute value.
    #[inline]
    pub fn norm_max(self) -> f64 {
        self.values.iter().fold(0.0, |m, v| v.f64().abs().max(m))
    }
}

/// A label as it stands in the input, before it is given its meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A number (`1` and `+1` are the same one).
    Number(f64),
    /// Anything else.
    Name(Box<str>),
    /// No label: allowed only where predicting.
    Missing,
}

/// Features that lie in memory of somebody else, such as a mapped file. Whoever lends them has checked them: indices
/// ascend strictly within a row, values are finite, and there are as many of the ones as of the others.
pub trait Lender<V>: Debug + Send + Sync {
    /// All indices.
    fn indices(&self) -> &[u32];
    /// All values.
    fn values(&self) -> &[V];
}

/// Many rows: offsets into indices and values, labels, weights. Recycled from one part of the
/// stream to the next, so that reading allocates nothing per row.
#[derive(Clone, Debug)]
pub struct Block<V> {
    /// Where each row begins in `indices` and `values`; one more entry than rows.
    pub offsets: Vec<usize>,
    /// Feature indices from 0, ascending strictly within a row.
    pub indices: Vec<u32>,
    /// Feature values.
    pub values: Vec<V>,
    /// The label of each row as read. Emptied once `labels` is filled.
    pub raw_labels: Vec<Label>,
    /// The label of each row as the loss takes it; NaN where there is none.
    pub labels: Vec<f64>,
    /// Importance of each row; empty when all are 1.
    pub weights: Vec<f64>,
    /// For each row the line it came from, counted from the block's first line (from 0).
    pub lines: Vec<u32>,
    /// For each row the column (from 1) of its label.
    pub columns: Vec<u32>,
    /// The number (from 1) of the block's first line in its file.
    pub first_line: u64,
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// Where indices and values are lent, the arrays above for them are empty.
    pub lent: Option<Arc<dyn Lender<V>>>,
}

impl<V: Value> Default for Block<V> {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            raw_labels: Vec::new(),
            labels: Vec::new(),
            weights: Vec::new(),
            lines: Vec::new(),
            columns: Vec::new(),
            first_line: 1,
            file: "".into(),
            lent: None,
        }
    }
}

impl<V: Value> Block<V> {
    /// An empty block.
    pub fn new() -> Self {
        Self::default()
    }

    /// A block from rows of (label, pairs): for tests, generators and small data.
    pub fn from_rows(rows: &[(f64, Vec<(u32, V)>)]) -> Self {
        let mut block = Self::new();
        for (label, pairs) in rows {
            block.push(*label, 1.0, pairs.iter().copied());
        }
        block
    }

    /// Appends one row whose label has its meaning already. Indices must ascend.
    pub fn push(&mut self, label: f64, weight: f64, pairs: impl IntoIterator<Item = (u32, V)>) {
        for (i, v) in pairs {
            self.indices.push(i);
            self.values.push(v);
        }
        self.offsets.push(self.indices.len());
        if weight != 1.0 && self.weights.is_empty() {
            self.weights = vec![1.0; self.labels.len()];
        }
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.push(weight);
        }
        self.labels.push(label);
        self.lines.push(self.lines.len() as u32);
        self.columns.push(1);
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.indices.clear();
        self.values.clear();
        self.raw_labels.clear();
        self.labels.clear();
        self.weights.clear();
        self.lines.clear();
        self.columns.clear();
        self.lent = None;
    }

    /// Copies what is lent, so that it can be changed.
    pub fn own(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.indices.extend_from_slice(lent.indices());
            self.values.extend_from_slice(lent.values());
        }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a row stands in its file: its line, and the column of its label.
    pub fn position(&self, row: usize) -> Position {
        Position {
            file: self.file.to_string(),
            line: self.first_line + self.lines.get(row).map_or(0, |&line| u64::from(line)),
            column: self.columns.get(row).map_or(1, |&column| u64::from(column)),
        }
    }

    /// The rows, borrowed. The labels must have been given their meaning.
    pub fn rows(&self) -> Rows<'_, V> {
        let (indices, values) = match &self.lent {
            Some(lent) => (lent.indices(), lent.values()),
            None => (&*self.indices, &*self.values),
        };
        Rows { offsets: &self.offsets, indices, values, labels: &self.labels, weights: &self.weights }
    }
}

/// Borrowed rows: the whole of a block or a run of its rows.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, V> {
    /// One more entry than rows.
    pub offsets: &'a [usize],
    /// All indices of the block.
    pub indices: &'a [u32],
    /// All values of the block.
    pub values: &'a [V],
    /// A label for each row.
    pub labels: &'a [f64],
    /// A weight for each row, or nothing when all are 1.
    pub weights: &'a [f64],
}

/// One row with its label and weight.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, V> {
    /// The features.
    pub x: Features<'a, V>,
    /// The label as the loss takes it.
    pub y: f64,
    /// The importance weight `c`.
    pub weight: f64,
}

impl<'a, V: Value> Rows<'a, V> {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows `from..to`.
    pub fn slice(&self, from: usize, to: usize) -> Self {
        Self {
            offsets: &self.offsets[from..=to],
            labels: &self.labels[from..to],
            weights: if self.weights.is_empty() { &[] } else { &self.weights[from..to] },
            ..*self
        }
    }

    /// Row `k`.
    #[inline(always)]
    pub fn row(&self, k: usize) -> Row<'a, V> {
        let (from, to) = (self.offsets[k], self.offsets[k + 1]);
        Row {
            x: Features::new(&self.indices[from..to], &self.values[from..to]),
            y: self.labels[k],
            weight: if self.weights.is_empty() { 1.0 } else { self.weights[k] },
        }
    }

    /// All rows in order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Row<'a, V>> {
        (0..self.len()).map(move |k| self.row(k))
    }

    /// How many stored values.
    pub fn nonzeros(&self) -> usize {
        self.offsets[self.len()] - self.offsets[0]
    }
}
