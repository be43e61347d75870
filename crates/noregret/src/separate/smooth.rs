//! The smooth perceptron (Soheili, Pena 2012: A smooth perceptron algorithm, with the entropy).
//!
//! With `a_i = m_i/r`, `A x = sum x_i a_i` and `x_mu(y)` proportional to `exp(-<a_i, y>/mu)`:
//!
//! ```text
//! learner:  y = (1 - theta)(y + theta A x) + theta^2 A x_mu(y)      theta = 2/(k + 3)
//! data:     mu = (1 - theta) mu
//!           x = (1 - theta) x + theta x_mu(y)
//! ```
//!
//! It separates within `2 sqrt(2 ln n) r/margin` rounds or so, and goes on to the largest margin: `y`
//! tends to the point of smallest norm in the hull of the `a_i`, as does `A x`. A round is one fused
//! pass; counted as for the optimistic method it is `2n + 4` iterations.

use super::data::Data;
use super::game::{Answer, Table, norm};
use super::{Counts, Entry, Method, View, Which};

pub(super) static ENTRY: Entry = Entry {
    name: "smooth",
    summary: "the smooth perceptron: Nesterov's excessive gap on the game",
    guarantee: "separates after O((r/margin) sqrt(ln n)) rounds",
    paper: "Soheili, Pena 2012: A smooth perceptron algorithm",
    build: |data| Box::new(Smooth::new(data)),
};

struct Smooth {
    table: Table,
    /// `M^T x_mu(y)`, with `least` for `y`.
    answer: Answer,
    y: Vec<f64>,
    /// `M^T x`.
    mixed: Vec<f64>,
    x: Vec<f64>,
    mu: f64,
    rounds: u64,
    r: f64,
}

impl Smooth {
    fn new(data: &Data) -> Self {
        let (n, d, r) = (data.len(), data.width(), data.longest());
        let mut table = Table::new(data);
        let mut answer = Answer::default();
        table.answer(data, &vec![0.0; d], |_, _| 0.0, &mut answer);
        let y: Vec<f64> = answer.x.iter().map(|x| x / r).collect();
        let mut smooth =
            Self { table, answer, y, mixed: vec![0.0; d], x: vec![0.0; n], mu: 2.0, rounds: 0, r };
        smooth.data_step(data, 1.0);
        smooth
    }

    fn theta(&self) -> f64 {
        2.0 / (self.rounds as f64 + 3.0)
    }

    fn learner_step(&mut self, theta: f64) {
        for ((y, mixed), answer) in self.y.iter_mut().zip(&self.mixed).zip(&self.answer.x) {
            *y = (1.0 - theta) * (*y + theta * mixed / self.r) + theta * theta * answer / self.r;
        }
    }

    /// Answers `y` softly, and moves the fraction `theta` of the way to that answer.
    fn data_step(&mut self, data: &Data, theta: f64) {
        let rate = -1.0 / (self.r * self.mu);
        self.table.answer(data, &self.y, |z, _| z * rate, &mut self.answer);
        for (mixed, answer) in self.mixed.iter_mut().zip(&self.answer.x) {
            *mixed += theta * (answer - *mixed);
        }
        for (x, e) in self.x.iter_mut().zip(&self.table.exponents) {
            *x += theta * ((e - self.answer.normaliser).exp() - *x);
        }
    }
}

impl Method for Smooth {
    fn round(&mut self, data: &Data) {
        let theta = self.theta();
        self.learner_step(theta);
        self.mu *= 1.0 - theta;
        self.rounds += 1;
        self.data_step(data, theta);
    }

    fn counts(&self) -> Counts {
        let n = self.x.len() as u64;
        Counts { rounds: self.rounds, iterations: 3 * n + self.rounds * (2 * n + 4), mistakes: None }
    }

    fn view(&self) -> View {
        View {
            margin: [Some(self.answer.least / norm(&self.y)), None],
            bound: [Some(norm(&self.answer.x)), Some(norm(&self.mixed))],
        }
    }

    fn hyperplane(&self, _: Which) -> Vec<f64> {
        self.y.clone()
    }

    fn weights(&self, which: Which) -> Vec<f64> {
        match which {
            Which::Last => self.table.weights(&self.answer),
            Which::Average => self.x.clone(),
        }
    }
}
