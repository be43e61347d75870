//! A planted direction: the labels are its signs, but for the noise.

use super::{Dimension, Entry, Random, Request, Sink, scale};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "planted",
    summary: "unit rows in all directions, labels by a hidden hyperplane that errs at the noise rate",
    n: 10_000,
    d: Dimension::Default(20),
    noise: Some(0.1),
    classes: None,
    rows,
};

fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    let mut random = Random::new(request.seed);
    let w = random.direction(request.d);
    let mut pairs = Vec::new();
    for _ in 0..request.n {
        row(&mut random, request.d, &mut pairs);
        let y = random.label(&w, &pairs, request.noise);
        sink(y, &pairs)?;
    }
    Ok(())
}

/// A dense row, uniform on the unit sphere.
pub(super) fn row(random: &mut Random, d: u64, pairs: &mut Vec<(u32, f32)>) {
    let x = random.direction(d);
    scale(pairs, (0..).zip(x.iter().copied()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the planted direction errs.
    fn errors(noise: f64) -> usize {
        let request = ENTRY.request(Some(5000), None, Some(noise), 3).unwrap();
        let w = Random::new(3).direction(request.d);
        let wrong = |row: &crate::example::Row<'_, f32>| {
            let z: f64 = row.x.iter().map(|(i, v)| w[i] * v).sum();
            (z >= 0.0) != (row.y > 0.0)
        };
        ENTRY.block(&request).rows().iter().filter(wrong).count()
    }

    #[test]
    fn the_planted_direction_errs_at_the_noise_rate() {
        assert_eq!((errors(0.0), errors(1.0)), (0, 5000));
        // 500 expected; five standard deviations are 106.
        assert!(errors(0.1).abs_diff(500) < 106);
    }

    #[test]
    fn both_labels_are_about_equally_frequent() {
        let block = ENTRY.block(&ENTRY.request(Some(5000), None, None, 8).unwrap());
        let positive = block.labels.iter().filter(|y| **y == 1.0).count();
        assert!(positive.abs_diff(2500) < 177);
    }
}
