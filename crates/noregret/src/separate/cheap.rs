//! Proofs that cost one look at the rows: a zero row, or two rows in opposite directions, to which
//! identical examples with opposite labels belong.

use super::data::{Data, Row};
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

/// Weights with which rows cancel, if the search sees any. They are still to be checked.
pub(super) fn proof(data: &Data) -> Option<Vec<(usize, f64)>> {
    if let Some(i) = data.rows().position(|row| row.columns.is_empty()) {
        return Some(vec![(i, 1.0)]);
    }
    // A look at three places of each row; only where both ways round have been seen, at all of it.
    let mut glances: Vec<(u64, u8)> = data.rows().map(|row| (glance(row), way(row))).collect();
    glances.sort_unstable();
    let both: HashSet<u64> = glances
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
        .map(|pair| pair[0].0)
        .collect();
    if both.is_empty() {
        return None;
    }
    let mut seen: HashMap<u64, [Option<usize>; 2]> = HashMap::new();
    let mut bytes = Vec::new();
    for (i, row) in data.rows().enumerate().filter(|(_, row)| both.contains(&glance(*row))) {
        let places = seen.entry(direction(row, &mut bytes)).or_default();
        let mine = usize::from(way(row) == 2);
        places[mine].get_or_insert(i);
        if let Some(j) = places[1 - mine]
            && row.columns == data.row(j).columns
        {
            // Weighted by each other's first value they meet in the first column, and in the others
            // if the directions are opposite indeed.
            let (a, b) = (data.row(j).values[0].abs(), row.values[0].abs());
            return Some(vec![(j, b), (i, a)]);
        }
    }
    None
}

/// 1 or 2 by the sign of the first value.
fn way(row: Row<'_>) -> u8 {
    if row.values[0] > 0.0 { 1 } else { 2 }
}

/// A number that rows on one line through 0 share, from their ends.
fn glance(row: Row<'_>) -> u64 {
    let last = row.columns.len() - 1;
    let ends = u64::from(row.columns[0]) << 32 | u64::from(row.columns[last]);
    let middle = row.values[last / 2] / row.values[0];
    let ratio = row.values[last] / row.values[0];
    let mut bytes = [0; 24];
    bytes[..8].copy_from_slice(&ends.to_le_bytes());
    bytes[8..16].copy_from_slice(&ratio.to_bits().to_le_bytes());
    bytes[16..].copy_from_slice(&middle.to_bits().to_le_bytes());
    xxh3_64(&bytes)
}

/// A number that rows on one line through 0 share, from all they hold. Quotients of proportional
/// values are equal to the last bit, as the division is rounded correctly.
fn direction(row: Row<'_>, bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    for (c, v) in row.columns.iter().zip(row.values) {
        bytes.extend(c.to_le_bytes());
        bytes.extend((v / row.values[0]).to_bits().to_le_bytes());
    }
    xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::check::vanishes;
    use super::super::data::{Normalize, Shape};
    use super::*;
    use crate::example::Block;

    fn data(rows: &[(f64, Vec<(u32, f32)>)], bias: bool) -> Data {
        let mut data = Data::new(Shape { bias, normalize: Normalize::None });
        data.extend(Block::from_rows(rows).rows());
        data
    }

    fn proves(rows: &[(f64, Vec<(u32, f32)>)], bias: bool) -> bool {
        let data = data(rows, bias);
        proof(&data).is_some_and(|p| vanishes(p.iter().map(|&(i, p)| (data.row(i), p))))
    }

    #[test]
    fn a_zero_row_is_a_proof_unless_there_is_a_bias() {
        let rows = [(1.0, vec![(0, 1.0)]), (-1.0, vec![(2, 0.0)])];
        assert!(proves(&rows, false));
        assert!(!proves(&rows, true));
    }

    #[test]
    fn opposite_directions_are_found_at_any_length() {
        let rows =
            [(1.0, vec![(0, 0.1), (3, 0.7)]), (1.0, vec![(1, 1.0)]), (1.0, vec![(0, -0.3), (3, -2.1)])];
        assert!(!proves(&rows, false), "0.3 as read is not three times 0.1");
        let rows =
            [(1.0, vec![(0, 0.1), (3, 0.7)]), (-1.0, vec![(1, 1.0)]), (1.0, vec![(0, -0.4), (3, -2.8)])];
        assert!(proves(&rows, false));
        assert!(!proves(&rows, true), "the bias does not turn round");
    }

    #[test]
    fn equal_examples_with_both_labels_are_a_proof() {
        let x = vec![(1, 0.1), (5, 1e-3)];
        assert!(proves(&[(1.0, x.clone()), (1.0, vec![(0, 1.0)]), (-1.0, x.clone())], true));
        assert!(!proves(&[(1.0, x.clone()), (1.0, x)], true));
    }
}
