//! Margin maximisation by dual acceleration (Ji, Srebro, Telgarsky 2021: Fast margin maximization via
//! dual acceleration, algorithm 1; Wang, Hanashiro, Guha, Abernethy 2023 as a game).
//!
//! With `a_i = m_i/r`:
//!
//! ```text
//! learner:  g = (t/(t+1)) (g + A p)         momentum over the data's answers
//!           w += g + A p
//! data:     p_i ~ exp(-<a_i, w>)
//! ```
//!
//! The margin of `w_t` is within `O(ln n ln t/(margin t^2))` of the largest. The data's average gives
//! `p_t` the weight `t`. A round is one fused pass, `2n + 4` iterations.

use super::data::Data;
use super::game::{Answer, Table, norm};
use super::{Counts, Entry, Method, View, Which};

pub(super) static ENTRY: Entry = Entry {
    name: "max-margin",
    summary: "momentum in the dual: the margin itself, accelerated",
    guarantee: "the margin's gap is O(1/t^2) up to logarithms",
    paper: "Ji, Srebro, Telgarsky 2021: Fast margin maximization via dual acceleration",
    build: |data| Box::new(MaxMargin::new(data)),
};

struct MaxMargin {
    table: Table,
    answer: Answer,
    w: Vec<f64>,
    g: Vec<f64>,
    /// Averages with weights 1, 2, 3, ...: of `M^T p_t` and of `p_t`.
    mixed: Vec<f64>,
    p: Vec<f64>,
    rounds: u64,
    r: f64,
}

impl MaxMargin {
    fn new(data: &Data) -> Self {
        let (n, d) = (data.len(), data.width());
        let mut table = Table::new(data);
        let mut answer = Answer::default();
        table.answer(data, &vec![0.0; d], |_, _| 0.0, &mut answer);
        Self {
            mixed: answer.x.clone(),
            table,
            answer,
            w: vec![0.0; d],
            g: vec![0.0; d],
            p: vec![1.0 / n as f64; n],
            rounds: 0,
            r: data.longest(),
        }
    }

    fn learner_step(&mut self) {
        let t = self.rounds as f64;
        let beta = t / (t + 1.0);
        for ((w, g), x) in self.w.iter_mut().zip(&mut self.g).zip(&self.answer.x) {
            let x = x / self.r;
            *g = beta * (*g + x);
            *w += *g + x;
        }
    }

    fn data_step(&mut self, data: &Data) {
        let rate = -1.0 / self.r;
        self.table.answer(data, &self.w, |z, _| z * rate, &mut self.answer);
        let share = 2.0 / (self.rounds as f64 + 2.0);
        for (mixed, x) in self.mixed.iter_mut().zip(&self.answer.x) {
            *mixed += share * (x - *mixed);
        }
        for (p, e) in self.p.iter_mut().zip(&self.table.exponents) {
            *p += share * ((e - self.answer.normaliser).exp() - *p);
        }
    }
}

impl Method for MaxMargin {
    fn round(&mut self, data: &Data) {
        self.learner_step();
        self.data_step(data);
        self.rounds += 1;
    }

    fn counts(&self) -> Counts {
        let n = self.p.len() as u64;
        Counts { rounds: self.rounds, iterations: n + self.rounds * (2 * n + 4), mistakes: None }
    }

    fn view(&self) -> View {
        View {
            margin: [Some(self.answer.least / norm(&self.w)), None],
            bound: [Some(norm(&self.answer.x)), Some(norm(&self.mixed))],
        }
    }

    fn hyperplane(&self, _: Which) -> Vec<f64> {
        self.w.clone()
    }

    fn weights(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.table.weights(&self.answer),
            Which::Average => self.p.clone(),
        }
    }
}
