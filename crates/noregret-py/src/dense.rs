//! Dense rows, one after the other. Zeros are absent, as in a sparse row; a run without zeros is lent as it lies.

use crate::error::refuse;
use crate::feature::beyond;
use crate::runs::{Kind, RUN_ROWS, RUN_VALUES, Run, Runs, not_finite};
use noregret::example::Block;
use noregret::example::format::Scratch;
use pyo3::PyResult;

pub(crate) struct Dense<'a, V: Kind> {
    rows: usize,
    width: usize,
    values: &'a [V],
    /// Where the columns go, ascending, and which columns these are.
    places: Vec<u32>,
    order: Vec<usize>,
    /// Whether no two columns go to one place, and whether they stand in the order of their places.
    distinct: bool,
    ordered: bool,
    /// The places and offsets of a run without zeros.
    tiled: Block<V>,
    block: Block<V>,
    scratch: Scratch<V>,
}

impl<'a, V: Kind> Dense<'a, V> {
    /// `places` says where the columns go; empty: each to its number.
    pub(crate) fn new(
        rows: usize,
        width: usize,
        values: &'a [V],
        places: &[u32],
        limit: u32,
    ) -> Result<Self, String> {
        if places.is_empty() && width as u64 > u64::from(limit) {
            return Err(beyond(width as u64 - 1, limit));
        }
        let given: Vec<u32> = if places.is_empty() { (0..width as u32).collect() } else { places.to_vec() };
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by_key(|&column| given[column]);
        let places: Vec<u32> = order.iter().map(|&column| given[column]).collect();
        Ok(Self {
            rows,
            width,
            values,
            distinct: places.windows(2).all(|pair| pair[0] < pair[1]),
            ordered: order.is_sorted(),
            places,
            order,
            tiled: Block::new(),
            block: Block::new(),
            scratch: Scratch::default(),
        })
    }

    /// Makes the places and offsets of so many rows without zeros.
    fn tile(&mut self, count: usize) {
        while self.tiled.len() < count {
            self.tiled.indices.extend_from_slice(&self.places);
            self.tiled.offsets.push(self.tiled.indices.len());
        }
    }

    /// Appends one row to the block; what is wrong with it otherwise.
    fn push(&mut self, row: usize) -> Result<(), String> {
        let values = &self.values[row * self.width..(row + 1) * self.width];
        if let Some(column) = values.iter().position(|v| !v.is_finite()) {
            return Err(not_finite(row, column, values[column].f64()));
        }
        let block = &mut self.block;
        let start = block.indices.len();
        for (&place, &column) in self.places.iter().zip(&self.order) {
            if values[column] != V::ZERO {
                block.indices.push(place);
                block.values.push(values[column]);
            }
        }
        if !self.distinct {
            block.settle(start, &mut self.scratch).map_err(|message| format!("row {row}: {message}"))?;
        }
        block.offsets.push(block.indices.len());
        Ok(())
    }
}

impl<V: Kind> Runs<V> for Dense<'_, V> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn run(&mut self, from: usize) -> Run<'_, V> {
        let count = (RUN_VALUES / self.width.max(1)).clamp(1, RUN_ROWS).min(self.rows - from);
        let values = &self.values[from * self.width..(from + count) * self.width];
        if self.ordered && self.distinct && plain(values) {
            self.tile(count);
            let (offsets, indices) = (&self.tiled.offsets[..=count], &self.tiled.indices[..values.len()]);
            return Run { offsets, indices, values, fresh: Vec::new(), problem: None };
        }
        self.block.clear();
        let problem = (from..from + count).find_map(|row| self.push(row).err());
        let block = &self.block;
        Run {
            offsets: &block.offsets,
            indices: &block.indices,
            values: &block.values,
            fresh: Vec::new(),
            problem,
        }
    }
}

/// Whether all are finite and none is zero. Without a way out early, so that many are compared at once.
fn plain<V: Kind>(values: &[V]) -> bool {
    values.iter().map(|v| u32::from(!v.is_finite()) + u32::from(*v == V::ZERO)).sum::<u32>() == 0
}

/// Appends one row of numbers to a block.
pub(crate) fn push_row<V: Kind>(block: &mut Block<V>, values: &[V], limit: u32) -> PyResult<()> {
    if values.len() as u64 > u64::from(limit) {
        return Err(refuse(beyond(values.len() as u64 - 1, limit)));
    }
    // Nearly always all are numbers other than 0, which is soon told and soon copied.
    if plain(values) {
        block.indices.extend(0..values.len() as u32);
        block.values.extend_from_slice(values);
    } else {
        for (place, &value) in (0..).zip(values) {
            if !value.is_finite() {
                return Err(refuse(not_finite(0, place, value.f64())));
            }
            if value != V::ZERO {
                block.indices.push(place);
                block.values.push(value);
            }
        }
    }
    block.offsets.push(block.indices.len());
    Ok(())
}
