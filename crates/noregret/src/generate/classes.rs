//! Several classes: each has a planted direction, and a row belongs to the class whose direction is nearest.

use super::planted::row;
use super::{Dimension, Entry, Random, Request, Sink};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "classes",
    summary: "unit rows in all directions, labels 1 to k by the nearest of k hidden ones, wrong at the noise rate",
    n: 10_000,
    d: Dimension::Default(20),
    noise: Some(0.1),
    classes: Some(5),
    rows,
};

/// The hidden directions, one a class.
fn directions(random: &mut Random, request: &Request) -> Vec<Vec<f64>> {
    (0..request.classes).map(|_| random.direction(request.d)).collect()
}

/// The place of the direction with the largest inner product; it is taken of the row as it will be read.
fn nearest(w: &[Vec<f64>], x: &[(u32, f32)]) -> usize {
    let score = |w: &[f64]| x.iter().map(|(i, v)| w[*i as usize] * f64::from(*v)).sum::<f64>();
    let scores: Vec<f64> = w.iter().map(|w| score(w)).collect();
    (0..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}

fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    let mut random = Random::new(request.seed);
    let w = directions(&mut random, request);
    let mut pairs = Vec::new();
    for _ in 0..request.n {
        row(&mut random, request.d, &mut pairs);
        let mut label = nearest(&w, &pairs);
        if random.uniform() < request.noise {
            // One of the others, all equally likely.
            let step = 1 + (random.uniform() * (w.len() - 1) as f64) as usize;
            label = (label + step) % w.len();
        }
        sink((label + 1) as f64, &pairs)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hidden_directions_err_at_the_noise_rate() {
        for (noise, least, most) in [(0.0, 0, 0), (0.2, 294, 506), (1.0, 2000, 2000)] {
            let request = ENTRY.request(Some(2000), Some(6), Some(noise), 5).unwrap();
            let request = ENTRY.with_classes(request, Some(4)).unwrap();
            let w = directions(&mut Random::new(5), &request);
            let wrong = |row: &crate::example::Row<'_, f32>| {
                let pairs: Vec<(u32, f32)> =
                    row.x.indices.iter().copied().zip(row.x.values.iter().copied()).collect();
                (nearest(&w, &pairs) + 1) as f64 != row.y
            };
            let errors = ENTRY.block(&request).rows().iter().filter(wrong).count();
            assert!((least..=most).contains(&errors), "{noise}: {errors}");
        }
    }

    #[test]
    fn every_class_appears_and_no_other() {
        let request = ENTRY.request(Some(3000), None, None, 2).unwrap();
        let labels = ENTRY.block(&request).labels;
        assert!((1..=5).all(|k| labels.contains(&f64::from(k))));
        assert!(labels.iter().all(|y| (1.0..=5.0).contains(y)));
    }
}
