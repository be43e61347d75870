//! Mirror-Prox (Nemirovski 2004; for this game Yu, Kilinc-Karzan, Carbonell 2014).
//!
//! With `a_i = m_i/r`, `w` in the unit ball, and steps `tau sigma = 1`:
//!
//! ```text
//! both look ahead:  p' ~ p exp(-sigma A w)      w' = ball(w + tau A^T p)
//! data:             p  ~ p exp(-sigma A w')
//! learner:          w  = ball(w + tau A^T p')
//! ```
//!
//! The averages of `w'` and `p'` are within `sqrt(2 ln n)/T` of each other. As `p_0` is uniform, the
//! logarithms of `p` are sums of `<a_i, w'>`. A round is two fused passes, `4n + 6` iterations.

use super::data::Data;
use super::game::{Answer, Table, norm};
use super::{Counts, Entry, Method, View, Which};

pub(super) static ENTRY: Entry = Entry {
    name: "mirror-prox",
    summary: "both players look one step ahead",
    guarantee: "the bracket of the averages is r sqrt(2 ln n)/T wide",
    paper: "Nemirovski 2004; Yu, Kilinc-Karzan, Carbonell 2014",
    build: |data| Box::new(MirrorProx::new(data)),
};

struct MirrorProx {
    table: Table,
    /// Of `p` and of `p'`.
    answer: Answer,
    ahead: Answer,
    w: Vec<f64>,
    w_ahead: Vec<f64>,
    w_sum: Vec<f64>,
    x_sum: Vec<f64>,
    p_sum: Vec<f64>,
    /// `p'` of the last round.
    p_ahead: Vec<f64>,
    least_sum: f64,
    rounds: u64,
    r: f64,
    sigma: f64,
}

/// `into = ball(w + tau x)`.
fn step(w: &[f64], tau: f64, x: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.extend(w.iter().zip(x).map(|(w, x)| w + tau * x));
    let length = norm(into);
    if length > 1.0 {
        for w in into {
            *w /= length;
        }
    }
}

impl MirrorProx {
    fn new(data: &Data) -> Self {
        let (n, d) = (data.len(), data.width());
        let mut table = Table::new(data);
        let mut answer = Answer::default();
        table.answer(data, &vec![0.0; d], |_, _| 0.0, &mut answer);
        Self {
            table,
            answer,
            ahead: Answer::default(),
            w: vec![0.0; d],
            w_ahead: vec![0.0; d],
            w_sum: vec![0.0; d],
            x_sum: vec![0.0; d],
            p_sum: vec![0.0; n],
            p_ahead: vec![0.0; n],
            least_sum: f64::NEG_INFINITY,
            rounds: 0,
            r: data.longest(),
            sigma: (2.0 * (n.max(2) as f64).ln()).sqrt(),
        }
    }

    /// Where each would go if the other stayed.
    fn look_ahead(&mut self, data: &Data) {
        let rate = -self.sigma / self.r;
        self.table.answer(data, &self.w, |z, s| (*s + z) * rate, &mut self.ahead);
        self.p_ahead = self.table.weights(&self.ahead);
        step(&self.w, 1.0 / (self.sigma * self.r), &self.answer.x, &mut self.w_ahead);
    }

    fn data_step(&mut self, data: &Data) {
        let rate = -self.sigma / self.r;
        self.table.answer(
            data,
            &self.w_ahead,
            |z, s| {
                *s += z;
                *s * rate
            },
            &mut self.answer,
        );
        self.least_sum = self.table.memory.iter().copied().fold(f64::INFINITY, f64::min);
    }

    fn learner_step(&mut self) {
        let w = std::mem::take(&mut self.w);
        let mut next = Vec::with_capacity(w.len());
        step(&w, 1.0 / (self.sigma * self.r), &self.ahead.x, &mut next);
        self.w = next;
    }
}

impl Method for MirrorProx {
    fn round(&mut self, data: &Data) {
        self.look_ahead(data);
        self.data_step(data);
        self.learner_step();
        self.w_sum.iter_mut().zip(&self.w_ahead).for_each(|(sum, w)| *sum += w);
        self.x_sum.iter_mut().zip(&self.ahead.x).for_each(|(sum, x)| *sum += x);
        self.p_sum.iter_mut().zip(&self.p_ahead).for_each(|(sum, p)| *sum += p);
        self.rounds += 1;
    }

    fn counts(&self) -> Counts {
        let n = self.p_sum.len() as u64;
        Counts { rounds: self.rounds, iterations: n + self.rounds * (4 * n + 6), mistakes: None }
    }

    fn view(&self) -> View {
        View {
            margin: [Some(self.answer.least / norm(&self.w_ahead)), Some(self.least_sum / norm(&self.w_sum))],
            bound: [Some(norm(&self.ahead.x)), Some(norm(&self.x_sum) / self.rounds as f64)],
        }
    }

    fn hyperplane(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.w_ahead.clone(),
            Which::Average => self.w_sum.clone(),
        }
    }

    fn weights(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.p_ahead.clone(),
            Which::Average => self.p_sum.clone(),
        }
    }
}
