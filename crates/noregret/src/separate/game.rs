//! The game: the learner holds `w`, the data answers with a distribution `p` on the rows, and
//! `p^T M w` is paid. What the methods share is the data's answer: one pass in which each row, while
//! it is at hand, gives `z_i = <w, m_i>`, gets its weight from it, and enters `x = M^T p`.

use super::data::Data;

/// What is known after a pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// `M^T p`.
    pub(super) x: Vec<f64>,
    /// The smallest `z_i`.
    pub(super) least: f64,
    /// `p_i = exp(exponent_i - normaliser)`.
    pub(super) normaliser: f64,
}

/// Memory for the data's answers.
pub(super) struct Table {
    /// One number for each row that a method keeps (a sum of past `z_i`, for example).
    pub(super) memory: Vec<f64>,
    /// The logarithms of the weights of the last answer, not normalised.
    pub(super) exponents: Vec<f64>,
    parts: Vec<Part>,
}

struct Part {
    rows: std::ops::Range<usize>,
    x: Vec<f64>,
    /// Exponents are taken relative to this.
    top: f64,
    total: f64,
    least: f64,
}

/// An exponent this far above the reference makes a new reference.
const HEADROOM: f64 = 30.0;
/// A weight so far below the others does not change a digit of their sum.
const NEGLIGIBLE: f64 = 1e-24;
/// Below so many stored values a pass is shorter than starting a thread.
const WORTH_A_THREAD: usize = 1 << 19;

impl Table {
    /// For these rows.
    pub(super) fn new(data: &Data) -> Self {
        let parts = data
            .parts()
            .into_iter()
            .map(|rows| Part { rows, x: vec![0.0; data.width()], top: 0.0, total: 0.0, least: 0.0 })
            .collect();
        Self { memory: vec![0.0; data.len()], exponents: vec![0.0; data.len()], parts }
    }

    /// The data sees `w` and answers with `p_i` proportional to `exp(rule(z_i, memory_i))`.
    pub(super) fn answer(
        &mut self,
        data: &Data,
        w: &[f64],
        rule: impl Fn(f64, &mut f64) -> f64 + Sync,
        into: &mut Answer,
    ) {
        let threads = if data.nonzeros() < WORTH_A_THREAD { 1 } else { data.threads.min(self.parts.len()) };
        // Each part has its own stretch of the two vectors.
        let mut work: Vec<(&mut Part, &mut [f64], &mut [f64])> = Vec::with_capacity(self.parts.len());
        let (mut memory, mut exponents) = (&mut self.memory[..], &mut self.exponents[..]);
        for part in &mut self.parts {
            let (m, rest) = memory.split_at_mut(part.rows.len());
            let (e, others) = exponents.split_at_mut(part.rows.len());
            (memory, exponents) = (rest, others);
            work.push((part, m, e));
        }
        if threads <= 1 {
            for (part, m, e) in work {
                part.run(data, w, &rule, m, e);
            }
        } else {
            let share = work.len().div_ceil(threads);
            std::thread::scope(|scope| {
                let mut work = work.into_iter();
                let mine: Vec<_> = work.by_ref().take(share).collect();
                loop {
                    let theirs: Vec<_> = work.by_ref().take(share).collect();
                    if theirs.is_empty() {
                        break;
                    }
                    let rule = &rule;
                    scope.spawn(move || theirs.into_iter().for_each(|(p, m, e)| p.run(data, w, rule, m, e)));
                }
                for (part, m, e) in mine {
                    part.run(data, w, &rule, m, e);
                }
            });
        }
        self.gather(into);
    }

    /// Adds the parts, always in the same order.
    fn gather(&self, into: &mut Answer) {
        let top = self.parts.iter().map(|part| part.top).fold(f64::NEG_INFINITY, f64::max);
        let scales: Vec<f64> = self.parts.iter().map(|part| (part.top - top).exp()).collect();
        let total: f64 = self.parts.iter().zip(&scales).map(|(part, s)| part.total * s).sum();
        into.least = self.parts.iter().map(|part| part.least).fold(f64::INFINITY, f64::min);
        into.normaliser = top + total.ln();
        into.x.clear();
        into.x.resize(self.parts[0].x.len(), 0.0);
        for (part, s) in self.parts.iter().zip(&scales) {
            let s = s / total;
            into.x.iter_mut().zip(&part.x).for_each(|(x, v)| *x += s * v);
        }
    }

    /// The weights of the last answer.
    pub(super) fn weights(&self, answer: &Answer) -> Vec<f64> {
        self.exponents.iter().map(|e| (e - answer.normaliser).exp()).collect()
    }
}

impl Part {
    fn run(
        &mut self,
        data: &Data,
        w: &[f64],
        rule: &impl Fn(f64, &mut f64) -> f64,
        memory: &mut [f64],
        exponents: &mut [f64],
    ) {
        self.x.fill(0.0);
        (self.top, self.total, self.least) = (f64::NEG_INFINITY, 0.0, f64::INFINITY);
        for ((i, memory), exponent) in self.rows.clone().zip(memory).zip(exponents) {
            let row = data.row(i);
            let z = row.dot(w);
            self.least = self.least.min(z);
            let e = rule(z, memory);
            *exponent = e;
            if e > self.top + HEADROOM {
                let scale = (self.top - e).exp();
                self.x.iter_mut().for_each(|x| *x *= scale);
                self.total *= scale;
                self.top = e;
            }
            let weight = (e - self.top).exp();
            if weight > NEGLIGIBLE * self.total {
                self.total += weight;
                row.add_to(weight, &mut self.x);
            }
        }
    }
}

/// All `z_i = <w, m_i>`.
pub(super) fn margins(data: &Data, w: &[f64], z: &mut [f64]) {
    let fill = |from: usize, z: &mut [f64]| {
        z.iter_mut().enumerate().for_each(|(k, z)| *z = data.row(from + k).dot(w));
    };
    if data.nonzeros() < WORTH_A_THREAD || data.threads < 2 {
        return fill(0, z);
    }
    let share = z.len().div_ceil(data.threads).max(1);
    std::thread::scope(|scope| {
        let mut stretches = z.chunks_mut(share).enumerate();
        let mine = stretches.next();
        for (k, z) in stretches {
            scope.spawn(move || fill(k * share, z));
        }
        if let Some((_, z)) = mine {
            fill(0, z);
        }
    });
}

/// `<a, b>`.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut a, mut b) = (a.chunks_exact(4), b.chunks_exact(4));
    let mut sums = [0.0; 4];
    for (a, b) in (&mut a).zip(&mut b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// The length of a vector.
pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
