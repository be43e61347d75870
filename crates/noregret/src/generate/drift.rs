//! A planted direction that turns by a right angle in the middle of the stream.

use super::{Dimension, Entry, Random, Request, Sink, planted};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "drift",
    summary: "like planted, but the hyperplane turns by a right angle after half of the rows: a \
              fixed one errs on at least about a quarter of them",
    n: 10_000,
    d: Dimension::Default(20),
    noise: Some(0.1),
    classes: None,
    rows,
};

fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    let mut random = Random::new(request.seed);
    let (before, after) = directions(&mut random, request.d);
    let mut pairs = Vec::new();
    for t in 0..request.n {
        planted::row(&mut random, request.d, &mut pairs);
        let w = if t < request.n / 2 { &before } else { &after };
        let y = random.label(w, &pairs, request.noise);
        sink(y, &pairs)?;
    }
    Ok(())
}

/// Two directions at a right angle; on a line, where there is none, opposite ones.
fn directions(random: &mut Random, d: u64) -> (Vec<f64>, Vec<f64>) {
    let before = random.direction(d);
    if d == 1 {
        return (before.clone(), vec![-before[0]]);
    }
    let mut after = random.direction(d);
    let along: f64 = before.iter().zip(&after).map(|(a, b)| a * b).sum();
    after.iter_mut().zip(&before).for_each(|(b, a)| *b -= along * a);
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_follows_its_own_direction() {
        let request = ENTRY.request(Some(4000), None, Some(0.0), 3).unwrap();
        let (before, after) = directions(&mut Random::new(3), request.d);
        let block = ENTRY.block(&request);
        let wrong = |w: &[f64], from: usize, to: usize| {
            let rows = block.rows();
            let z = |k| rows.row(k).x.iter().map(|(i, v)| w[i] * v).sum::<f64>();
            (from..to).filter(|&k| (z(k) >= 0.0) != (rows.row(k).y > 0.0)).count()
        };
        assert_eq!((wrong(&before, 0, 2000), wrong(&after, 2000, 4000)), (0, 0));
        // At a right angle the other direction errs as often as a coin.
        assert!(wrong(&before, 2000, 4000).abs_diff(1000) < 112);
        let both: Vec<f64> = before
            .iter()
            .zip(&after)
            .map(|(a, b)| a + b / after.iter().map(|v| v * v).sum::<f64>().sqrt())
            .collect();
        assert!(wrong(&both, 0, 4000).abs_diff(1000) < 137);
    }
}
