//! The rows `m_i = y_i x_i` in compressed form, with f64 values, and the passes over them.
//!
//! Column 0 is the bias where there is one, so that features keep their place whatever their number
//! turns out to be. Rows whose columns follow one another without a gap are read as plain slices.

use crate::example::{Features, Value};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// Whether rows are brought to length 1 first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// As they are.
    #[default]
    None,
    /// Every row divided by its length, the bias included.
    Rows,
}

/// How an example becomes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// A constant feature, in column 0.
    pub bias: bool,
    /// Division by the length.
    pub normalize: Normalize,
}

/// One row: columns ascending, values without zeros, and its length.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Columns.
    pub columns: &'a [u32],
    /// Values.
    pub values: &'a [f64],
    /// The length, within a few roundings.
    pub norm: f64,
}

impl Row<'_> {
    /// `<w, m_i>`.
    #[inline]
    pub fn dot(self, w: &[f64]) -> f64 {
        dot(self.columns, self.values, w)
    }

    /// `x += a m_i`.
    #[inline]
    pub fn add_to(self, a: f64, x: &mut [f64]) {
        add(self.columns, self.values, a, x);
    }
}

#[inline]
fn contiguous(columns: &[u32]) -> bool {
    match (columns.first(), columns.last()) {
        (Some(&first), Some(&last)) => (last - first) as usize + 1 == columns.len(),
        _ => false,
    }
}

/// Four sums beside each other, so that additions need not wait for one another.
#[inline]
fn dot(columns: &[u32], values: &[f64], w: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    if contiguous(columns) {
        let from = columns[0] as usize;
        let w = &w[from..from + values.len()];
        let (mut a, mut b) = (values.chunks_exact(8), w.chunks_exact(8));
        for (v, w) in (&mut a).zip(&mut b) {
            for k in 0..8 {
                sums[k] += v[k] * w[k];
            }
        }
        let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(v, w)| v * w).sum();
        return ((sums[0] + sums[4]) + (sums[1] + sums[5]))
            + ((sums[2] + sums[6]) + (sums[3] + sums[7]))
            + rest;
    }
    let (mut a, mut b) = (values.chunks_exact(4), columns.chunks_exact(4));
    for (v, c) in (&mut a).zip(&mut b) {
        for k in 0..4 {
            sums[k] += v[k] * w[c[k] as usize];
        }
    }
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(v, &c)| v * w[c as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[inline]
fn add(columns: &[u32], values: &[f64], a: f64, x: &mut [f64]) {
    if contiguous(columns) {
        let from = columns[0] as usize;
        for (x, v) in x[from..from + values.len()].iter_mut().zip(values) {
            *x += a * v;
        }
    } else {
        for (&c, v) in columns.iter().zip(values) {
            x[c as usize] += a * v;
        }
    }
}

/// The length, and a power of two: times it, the values have squares that neither vanish nor overflow.
fn length(values: &[f64]) -> (f64, f64) {
    let square = values.iter().map(|v| v * v).sum::<f64>();
    if (1e-200..f64::INFINITY).contains(&square) || values.is_empty() {
        return (square.sqrt(), 1.0);
    }
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let power = 2.0_f64.powi(-(largest.log2().floor() as i32).clamp(-1000, 1000));
    let square = values.iter().map(|v| (v * power) * (v * power)).sum::<f64>();
    (square.sqrt() / power, power)
}

/// Makes rows one after the other, and the checksum of what they were made from.
pub struct Maker {
    shape: Shape,
    checksum: Xxh3,
    bytes: Vec<u8>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Maker {
    /// Rows of this shape.
    pub fn new(shape: Shape) -> Self {
        Self { shape, checksum: Xxh3::new(), bytes: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }

    /// The row `y x`; valid until the next one is made.
    pub fn row<V: Value>(&mut self, x: Features<'_, V>, y: f64) -> Row<'_> {
        self.columns.clear();
        self.values.clear();
        self.bytes.clear();
        self.bytes.push(u8::from(y > 0.0));
        self.bytes.extend([0; 4]);
        let shift = u32::from(self.shape.bias);
        let sign = if y > 0.0 { 1.0 } else { -1.0 };
        if self.shape.bias {
            self.columns.push(0);
            self.values.push(sign);
        }
        let mut count = 0_u32;
        for (i, v) in x.iter().filter(|(_, v)| *v != 0.0) {
            count += 1;
            self.bytes.extend((i as u32).to_le_bytes());
            self.bytes.extend(v.to_bits().to_le_bytes());
            self.columns.push(i as u32 + shift);
            self.values.push(sign * v);
        }
        self.bytes[1..5].copy_from_slice(&count.to_le_bytes());
        self.checksum.update(&self.bytes);
        let (mut norm, power) = length(&self.values);
        if self.shape.normalize == Normalize::Rows && norm > 0.0 {
            if power != 1.0 {
                self.values.iter_mut().for_each(|v| *v *= power);
                norm = length(&self.values).0;
            }
            let scale = 1.0 / norm;
            self.values.iter_mut().for_each(|v| *v *= scale);
            norm = length(&self.values).0;
        }
        Row { columns: &self.columns, values: &self.values, norm }
    }

    /// The checksum of all examples so far: labels, columns and values, zeros left out.
    pub fn checksum(&self) -> String {
        format!("xxh3:{:016x}", self.checksum.digest())
    }
}

/// All rows in memory.
pub struct Data {
    shape: Shape,
    maker: Maker,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    norms: Vec<f64>,
    width: usize,
    positives: usize,
    /// Threads that share a pass. No result depends on it.
    pub threads: usize,
}

impl Data {
    /// No rows yet.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            maker: Maker::new(shape),
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            norms: Vec::new(),
            width: usize::from(shape.bias),
            positives: 0,
            threads: 1,
        }
    }

    /// Adds one example, whose label is positive or negative.
    pub fn push<V: Value>(&mut self, x: Features<'_, V>, y: f64) {
        self.positives += usize::from(y > 0.0);
        self.width = self.width.max(x.end() + usize::from(self.shape.bias));
        let row = self.maker.row(x, y);
        self.columns.extend_from_slice(row.columns);
        self.values.extend_from_slice(row.values);
        self.norms.push(row.norm);
        self.offsets.push(self.columns.len());
    }

    /// Adds the rows of a block whose labels are in place.
    pub fn extend<V: Value>(&mut self, rows: crate::example::Rows<'_, V>) {
        rows.iter().for_each(|row| self.push(row.x, row.y));
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.norms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.norms.is_empty()
    }

    /// How examples became rows.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Columns, the bias included.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Features, the bias not included.
    pub fn features(&self) -> usize {
        self.width - usize::from(self.shape.bias)
    }

    /// Stored values.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// Examples with a positive label.
    pub fn positives(&self) -> usize {
        self.positives
    }

    /// The length `r` of the longest row.
    pub fn longest(&self) -> f64 {
        self.norms.iter().copied().fold(0.0, f64::max)
    }

    /// The checksum of the examples, see [`Maker::checksum`].
    pub fn checksum(&self) -> String {
        self.maker.checksum()
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let (from, to) = (self.offsets[i], self.offsets[i + 1]);
        Row { columns: &self.columns[from..to], values: &self.values[from..to], norm: self.norms[i] }
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|i| self.row(i))
    }

    /// Parts of the rows, about equally heavy. They depend on the data alone, and sums over parts are
    /// added in their order, so the number of threads changes nothing.
    pub fn parts(&self) -> Vec<std::ops::Range<usize>> {
        let nonzeros = self.nonzeros();
        let count = (nonzeros / (1 << 18).max(4 * self.width)).clamp(1, 16);
        let mut parts = Vec::with_capacity(count);
        let mut from = 0;
        for k in 1..=count {
            let end = self.offsets.partition_point(|&o| o < nonzeros * k / count);
            let to = if k == count { self.len() } else { end.clamp(from, self.len()) };
            parts.push(from..to);
            from = to;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_right_at_every_size() {
        for size in [1e-320, 1e-300, 1e-160, 1e-100, 1e-45, 1.0, 3e38, 1e150, 1e160, 1e300] {
            let values = [3.0 * size, -4.0 * size];
            for normalize in [Normalize::None, Normalize::Rows] {
                let mut maker = Maker::new(Shape { bias: false, normalize });
                let row = maker.row(Features::new(&[0, 1], &values), -1.0);
                // A size near the smallest number has few digits.
                let near = if size < 1e-310 { 1e-3 } else { 1e-15 };
                let (expected, first) = match normalize {
                    Normalize::None => (5.0 * size, -3.0 * size),
                    Normalize::Rows => (1.0, -0.6),
                };
                assert!((row.norm / expected - 1.0).abs() <= near, "{size:e} {}", row.norm);
                assert!((row.values[0] / first - 1.0).abs() <= near, "{size:e} {:?}", row.values);
            }
        }
    }
}
