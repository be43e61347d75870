//! Loops in fours against loops one by one.

use super::*;
use rand::{RngExt, SeedableRng};

/// A table of 40 features, and rows of all lengths, some with features beyond it.
fn sweep(mut check: impl FnMut(Slots<Weight<NoMean>>, Features<'_, f32>)) {
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
    for k in 0..400 {
        let mut slots = Slots::<Weight<NoMean>>::new(k % 3 == 0);
        slots.grow(40);
        for cell in slots.iter_mut() {
            (cell.state.v, cell.s) = (random.random_range(-2.0..2.0), random.random_range(-2.0..2.0));
        }
        let end = if k % 5 == 0 { 50 } else { 40 };
        let indices: Vec<u32> = (0..end).filter(|_| random.random_range(0..40) < k % 41).collect();
        let values: Vec<f32> = indices.iter().map(|_| random.random_range(-3.0..3.0)).collect();
        check(slots, Features::new(&indices, &values));
    }
}

#[test]
fn a_product_is_four_sums() {
    sweep(|slots, x| {
        let seen: Vec<(usize, f64)> = x.iter().filter(|(i, _)| *i < slots.cells.len()).collect();
        let (n, mut sums) = (seen.len(), [0.0; 4]);
        for (k, (i, v)) in seen.into_iter().enumerate() {
            // What is left behind the last whole four are the last of a four.
            let lane = if n > 3 && k >= n / 4 * 4 { 4 - n % 4 + k % 4 } else { k % 4 };
            sums[lane] += slots.cells[i].state.v * v;
        }
        let bias = slots.bias.map_or(0.0, |c| c.state.v);
        let expected = (sums[0] + sums[1]) + (sums[2] + sums[3]) + bias;
        let (z, rough) = slots.dot_roughly(x, |c| c.state.v);
        assert_eq!((slots.dot(x, |c| c.state.v), z), (expected, expected));
        assert_eq!(slots.dot_and_norm(x, |c| c.state.v), (expected, x.norm_squared()));
        let squares: f64 = x.values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
        assert!((x.norm_squared() - squares).abs() <= 1e-14 * squares);
        let (exact, count) = (x.norm_squared(), x.values.len());
        assert!((rough - exact).abs() <= 1e-6 * exact);
        assert!(!<f32 as Value>::surely_at_most(rough, count, exact * (1.0 - 1e-12)) || exact == 0.0);
        assert!(<f32 as Value>::surely_at_most(rough, count, exact * 1.0001 + 1e-30));
    });
}

#[test]
fn every_feature_is_entered_once() {
    sweep(|mut slots, x| {
        let mut expected = slots.clone();
        expected.grow(x.end());
        for (i, v) in x.iter() {
            expected.cells[i].s += 0.7 * v;
            expected.cells[i].state.v += -0.3 * v;
        }
        if let Some(cell) = &mut expected.bias {
            cell.s += 0.7;
            cell.state.v += -0.3;
        }
        let (mut evenly, mut shifted) = (slots.clone(), slots.clone());
        slots.enter_briefly(x, 0.7, |cell, v| cell.state.v += -0.3 * v);
        evenly.enter_evenly(x, 0.7, |cell, v| cell.state.v += -0.3 * v);
        shifted.enter_shift(x, 0.7, -0.3, |cell, v| cell.state.v += -0.3 * v);
        let all = |slots: &Slots<Weight<NoMean>>| -> Vec<[u64; 2]> {
            slots.iter().map(|c| [c.state.v.to_bits(), c.s.to_bits()]).collect()
        };
        assert_eq!(all(&slots), all(&expected));
        assert_eq!(all(&evenly), all(&expected));
        assert_eq!(all(&shifted), all(&expected));
    });
}

#[test]
fn a_table_that_there_is_no_memory_for_is_refused_and_not_begun() {
    let mut slots = Slots::<Weight<NoMean>>::new(true);
    assert!(slots.room(1000) && slots.cells.capacity() >= 1000 && slots.cells.is_empty());
    assert!(!slots.room(usize::MAX / 8));
    assert!(slots.cells.capacity() < 1_000_000 && slots.room(2000));
}
