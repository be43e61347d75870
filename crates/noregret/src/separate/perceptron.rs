//! The Perceptron (Rosenblatt 1958; Novikoff 1962), over and over the rows in file order.
//!
//! ```text
//! data:     the next row with <w, m_i> <= 0
//! learner:  w += m_i
//! ```
//!
//! A round is one pass; it ends after a pass without mistakes. One iteration is one row looked at or
//! one update. After `M` mistakes `w = sum of mistakes_i m_i`, so `p_i = mistakes_i/M` bounds every
//! margin by `|w|/M`. Mistakes are at most `(r/margin)^2`.

use super::data::Data;
use super::game::norm;
use super::theorem::Checked;
use super::{Counts, Entry, Method, View, Which};
use crate::regret::bound::most_mistakes;

pub(super) static ENTRY: Entry = Entry {
    name: "perceptron",
    summary: "passes in file order, adding each row on the wrong side",
    guarantee: "at most (r/margin)^2 mistakes",
    paper: "Rosenblatt 1958; Novikoff 1962",
    build: |data| Box::new(Perceptron::new(data)),
};

pub(super) struct Perceptron {
    pub(super) w: Vec<f64>,
    pub(super) mistakes_of: Vec<f64>,
    mistakes: u64,
    passes: u64,
    r: f64,
    /// Of the last pass: its mistakes and its smallest `<w, m_i>`.
    last: (u64, f64),
}

impl Perceptron {
    pub(super) fn new(data: &Data) -> Self {
        Self {
            w: vec![0.0; data.width()],
            mistakes_of: vec![0.0; data.len()],
            mistakes: 0,
            passes: 0,
            r: data.longest(),
            last: (u64::MAX, f64::NEG_INFINITY),
        }
    }

    /// The data's step: the first row from `from` on that the learner has on the wrong side.
    fn data_step(&mut self, data: &Data, from: usize) -> Option<usize> {
        (from..data.len()).find(|&i| {
            let z = data.row(i).dot(&self.w);
            self.last.1 = self.last.1.min(z);
            z <= 0.0
        })
    }

    /// The learner's step: add it.
    fn learner_step(&mut self, data: &Data, i: usize) {
        data.row(i).add_to(1.0, &mut self.w);
        self.mistakes_of[i] += 1.0;
        self.last.0 += 1;
    }

    pub(super) fn is_clean(&self) -> bool {
        self.last.0 == 0
    }
}

impl Method for Perceptron {
    fn round(&mut self, data: &Data) {
        self.last = (0, f64::INFINITY);
        let mut from = 0;
        while let Some(i) = self.data_step(data, from) {
            self.learner_step(data, i);
            from = i + 1;
        }
        self.passes += 1;
        self.mistakes += self.last.0;
    }

    fn counts(&self) -> Counts {
        let rows = self.mistakes_of.len() as u64;
        Counts {
            rounds: self.passes,
            iterations: self.passes * rows + self.mistakes,
            mistakes: Some(self.mistakes),
        }
    }

    fn view(&self) -> View {
        let length = norm(&self.w);
        View {
            margin: [self.is_clean().then(|| self.last.1 / length), None],
            bound: [(self.mistakes > 0).then(|| length / self.mistakes as f64), None],
        }
    }

    fn hyperplane(&self, _: Which) -> Vec<f64> {
        self.w.clone()
    }

    fn weights(&self, _: Which) -> Vec<f64> {
        self.mistakes_of.clone()
    }

    fn theorems(&self, margin: (f64, f64)) -> Vec<Checked> {
        let at = |margin: f64| {
            (margin > 0.0).then(|| most_mistakes(1.0 / margin, 0.0, self.r)).filter(|m| m.is_finite())
        };
        let (allowed, used) = (at(margin.0), self.mistakes as f64);
        vec![Checked {
            theorem: "perceptron",
            form: None,
            what: "mistakes",
            allowed,
            allowed_at_least: at(margin.1),
            used,
            holds: allowed.is_none_or(|allowed| used <= allowed * (1.0 + 1e-9)),
        }]
    }
}
