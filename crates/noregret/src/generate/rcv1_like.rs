//! Rows like those of a text collection: few of many features, some of them everywhere.

use super::{Dimension, Entry, Random, Request, Sink, scale};
use std::io;

pub(super) static ENTRY: Entry = Entry {
    name: "rcv1-like",
    summary: "sparse rows like text (Zipf features, about 75 a row, tf-idf values, unit norm), labels \
              by a hidden sparse hyperplane that errs at the noise rate",
    n: 20_000,
    d: Dimension::Default(47_236),
    noise: Some(0.05),
    classes: None,
    rows,
};

/// The median number of words of a row; with the default `d` about 75 of them are distinct.
const WORDS: f64 = 80.0;
/// How much the logarithm of that number varies.
const SPREAD: f64 = 0.5;
/// One feature in so many has a weight in the hidden hyperplane.
const WEIGHTED: f64 = 10.0;

fn rows(request: &Request, sink: Sink<'_>) -> io::Result<()> {
    let d = request.d as u32;
    let mut random = Random::new(request.seed);
    let w: Vec<f64> =
        (0..d).map(|_| if random.uniform() * WEIGHTED < 1.0 { random.normal() } else { 0.0 }).collect();
    let places = Places::new(d);
    let (mut words, mut counts, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..request.n {
        let length = (WORDS * (SPREAD * random.normal()).exp()).clamp(1.0, 100.0 * WORDS);
        words.clear();
        words.extend((0..length as usize).map(|_| rank(random.uniform(), d)));
        words.sort_unstable();
        counts.clear();
        let same = words.chunk_by(|a, b| a == b);
        counts.extend(same.map(|run| (places.of(run[0]), tf_idf(run.len(), run[0], d))));
        counts.sort_unstable_by_key(|&(i, _)| i);
        scale(&mut pairs, counts.iter().copied());
        let y = random.label(&w, &pairs, request.noise);
        sink(y, &pairs)?;
    }
    Ok(())
}

/// A rank from 0, uniform in its logarithm: rank `k` comes with probability
/// `ln(1 + 1/(k + 1)) / ln(d + 1)`, which is Zipf's law without a table.
fn rank(uniform: f64, d: u32) -> u32 {
    let k = (uniform * f64::from(d).ln_1p()).exp() as u32;
    k.clamp(1, d) - 1
}

/// `(1 + ln tf) ln(1 + 1/(expected number of occurrences))`: positive, and small for words that
/// are everywhere.
fn tf_idf(count: usize, rank: u32, d: u32) -> f64 {
    let frequency = WORDS * (1.0 / f64::from(rank + 1)).ln_1p() / f64::from(d).ln_1p();
    (1.0 + (count as f64).ln()) * (1.0 / frequency).ln_1p()
}

/// Scatters the ranks over the indices, since in a real collection (sorted by name) the frequent
/// words do not lie together.
struct Places {
    step: u64,
    d: u64,
}

impl Places {
    fn new(d: u32) -> Self {
        let d = u64::from(d);
        // A step without a common factor reaches every index; the golden section spreads well.
        let golden = (d as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden.max(1)..=d.max(2)).find(|&step| common_factor(step, d) == 1).unwrap_or(1);
        Self { step, d }
    }

    fn of(&self, rank: u32) -> u32 {
        (u64::from(rank) * self.step % self.d) as u32
    }
}

/// The greatest common divisor.
fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_look_like_text() {
        let request = ENTRY.request(Some(2000), None, None, 4).unwrap();
        let block = ENTRY.block(&request);
        let average = block.indices.len() as f64 / 2000.0;
        assert!((65.0..85.0).contains(&average), "{average}");
        assert!(block.values.iter().all(|v| *v > 0.0));
        let mut rows_with = vec![0u32; request.d as usize];
        block.indices.iter().for_each(|&i| rows_with[i as usize] += 1);
        assert!(rows_with.iter().any(|&k| k > 1500), "some words are nearly everywhere");
        assert!(rows_with.iter().filter(|&&k| k == 1).count() > 5000, "many occur once");
        let positive = block.labels.iter().filter(|y| **y == 1.0).count();
        assert!((500..1500).contains(&positive), "{positive}");
    }

    #[test]
    fn every_rank_has_its_own_place() {
        for d in [1, 2, 10, 47_236] {
            let places = Places::new(d);
            let mut seen: Vec<u32> = (0..d).map(|k| places.of(k)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..d));
        }
    }

    #[test]
    fn ranks_stay_in_range() {
        for d in [1, 7, 47_236] {
            assert_eq!(rank(0.0, d), 0);
            assert_eq!(rank(1.0 - f64::EPSILON / 2.0, d), d - 1);
        }
    }
}
