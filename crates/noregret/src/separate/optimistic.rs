//! The Optimistic Perceptron (Hanashiro, Abernethy: Linear Separation via Optimism, algorithm 1).
//!
//! ```text
//! learner:  w_t = w_{t-1} + 2 x_{t-1} - x_{t-2}          optimistic follow the regularised leader
//! data:     p_t,i ~ p_{t-1,i} exp(-<w_t, m_i>/r^2)       mirror descent with the entropy
//!           x_t = sum p_t,i m_i
//! ```
//!
//! with `x_{-1} = x_0` the mean row. The answer is the average `w_1 .. w_T`. As `p_0` is uniform,
//! `p_t,i` is proportional to `exp(-s_i/r^2)` with `s_i` the sum of all `<w_t, m_i>` so far: the
//! logarithms of the weights are kept, and `s_i/T` are the margins of the average besides.
//!
//! State: `s` for each row and five vectors. A round is one fused pass; counted as in the paper it is
//! `2n + 3` iterations, after `n` to start. Theorems 1 to 3 are in `regret/bound/optimistic_*.rs`.

use super::data::Data;
use super::game::{Answer, Table, dot, norm};
use super::theorem::Checked;
use super::{Counts, Entry, Method, View, Which};

pub(super) static ENTRY: Entry = Entry {
    name: "optimistic",
    summary: "the Optimistic Perceptron: both players learn, the learner with a hint",
    guarantee: "separates after (r/margin) sqrt(2 ln n) rounds",
    paper: "Hanashiro, Abernethy: Linear Separation via Optimism, algorithm 1",
    build: |data| Box::new(Optimistic::new(data)),
};

struct Optimistic {
    table: Table,
    answer: Answer,
    /// `x_{t-2}`.
    before: Vec<f64>,
    w: Vec<f64>,
    w_sum: Vec<f64>,
    x_sum: Vec<f64>,
    p: Vec<f64>,
    p_sum: Vec<f64>,
    rounds: u64,
    /// The first round whose average separated.
    separated_after: Option<u64>,
    r: f64,
    /// The smallest `s_i`.
    least_sum: f64,
    /// Sums over the rounds, for the theorems: `<w_t, x_t>` and `|p_t - p_{t-1}|_1^2`.
    paid: crate::regret::Sum,
    moved: crate::regret::Sum,
}

impl Optimistic {
    fn new(data: &Data) -> Self {
        let (n, d) = (data.len(), data.width());
        let mut table = Table::new(data);
        let mut answer = Answer::default();
        table.answer(data, &vec![0.0; d], |_, _| 0.0, &mut answer);
        Self {
            before: answer.x.clone(),
            table,
            answer,
            w: vec![0.0; d],
            w_sum: vec![0.0; d],
            x_sum: vec![0.0; d],
            p: vec![1.0 / n as f64; n],
            p_sum: vec![0.0; n],
            rounds: 0,
            separated_after: None,
            r: data.longest(),
            least_sum: f64::NEG_INFINITY,
            paid: crate::regret::Sum::default(),
            moved: crate::regret::Sum::default(),
        }
    }

    /// Follows the leader of all past answers, the last one counted twice.
    fn learner_step(&mut self) {
        let steps = self.w.iter_mut().zip(&mut self.w_sum).zip(self.answer.x.iter().zip(&mut self.before));
        for ((w, sum), (&x, before)) in steps {
            *w += 2.0 * x - *before;
            *sum += *w;
            *before = x;
        }
    }

    /// Lowers the weight of the rows that the learner has right.
    fn data_step(&mut self, data: &Data) {
        let rate = -1.0 / (self.r * self.r);
        self.table.answer(
            data,
            &self.w,
            |z, s| {
                *s += z;
                *s * rate
            },
            &mut self.answer,
        );
        self.least_sum = self.table.memory.iter().copied().fold(f64::INFINITY, f64::min);
        let mut moved = 0.0;
        for ((e, p), sum) in self.table.exponents.iter().zip(&mut self.p).zip(&mut self.p_sum) {
            let new = (e - self.answer.normaliser).exp();
            moved += (new - *p).abs();
            *p = new;
            *sum += new;
        }
        self.moved.add(moved * moved);
        self.paid.add(dot(&self.w, &self.answer.x));
        self.x_sum.iter_mut().zip(&self.answer.x).for_each(|(sum, x)| *sum += x);
    }
}

impl Method for Optimistic {
    fn round(&mut self, data: &Data) {
        self.learner_step();
        self.data_step(data);
        self.rounds += 1;
        if self.least_sum > 0.0 {
            self.separated_after.get_or_insert(self.rounds);
        }
    }

    fn counts(&self) -> Counts {
        let n = self.p.len() as u64;
        Counts { rounds: self.rounds, iterations: n + self.rounds * (2 * n + 3), mistakes: None }
    }

    fn view(&self) -> View {
        let t = self.rounds as f64;
        View {
            margin: [Some(self.answer.least / norm(&self.w)), Some(self.least_sum / norm(&self.w_sum))],
            bound: [Some(norm(&self.answer.x)), Some(norm(&self.x_sum) / t)],
        }
    }

    /// The theorem speaks of the average.
    fn separated(&self) -> Option<Which> {
        (self.least_sum > 0.0).then_some(Which::Average)
    }

    fn hyperplane(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.w.clone(),
            Which::Average => self.w_sum.clone(),
        }
    }

    fn weights(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.p.clone(),
            Which::Average => self.p_sum.clone(),
        }
    }

    fn theorems(&self, margin: (f64, f64)) -> Vec<Checked> {
        let paid = self.paid.value();
        let run = super::theorem::Run {
            n: self.p.len() as f64,
            r: self.r,
            rounds: self.rounds as f64,
            moved: self.moved.value(),
            learner_regret: norm(&self.x_sum) - paid,
            data_regret: paid - self.least_sum,
            separated_after: self.separated_after.map(|t| t as f64),
        };
        run.check(margin)
    }
}
