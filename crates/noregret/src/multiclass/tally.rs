//! What a run of several classes counts beside the loss. A row costs O(classes), and nothing is allocated
//! for it.

use serde::{Deserialize, Serialize};

/// The most classes for which it is counted which was taken for which.
const CONFUSED: usize = 20;

/// The place of the highest score, the earliest of equal ones; `without` is left out.
pub(super) fn highest(z: &[f64], without: Option<usize>) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (k, score) in z.iter().enumerate() {
        if Some(k) != without && best.is_none_or(|b| *score > z[b]) {
            best = Some(k);
        }
    }
    best
}

/// The counts of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassCount {
    /// Rows with this label.
    pub examples: u64,
    /// Their weights.
    pub weight: f64,
    /// Rows for which it was predicted.
    pub predicted: u64,
    /// Rows for which it was predicted and was the label.
    pub correct: u64,
}

/// The counts of a run; can be stored and continued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    rows: u64,
    mistakes: u64,
    errors: u64,
    previous: Option<usize>,
    previous_errors: u64,
    classes: Vec<ClassCount>,
    /// For each label and each predicted class the number of rows; `None` once there were too many.
    confusion: Option<Vec<Vec<u64>>>,
}

impl Tally {
    /// No row yet.
    pub fn new(classes: usize) -> Self {
        let mut tally = Self { confusion: Some(Vec::new()), ..Self::default() };
        for _ in 0..classes {
            tally.grow();
        }
        tally
    }

    /// One class more.
    pub(super) fn grow(&mut self) {
        self.classes.push(ClassCount::default());
        let count = self.classes.len();
        if count > CONFUSED {
            self.confusion = None;
        }
        if let Some(rows) = &mut self.confusion {
            rows.push(Vec::new());
            for row in rows {
                row.resize(count, 0);
            }
        }
    }

    /// Counts one row: its scores, its class and its weight. The class of a newcomer was not known when
    /// the prediction was made.
    pub(super) fn enter(&mut self, z: &[f64], y: usize, weight: f64, newcomer: bool) {
        self.rows += 1;
        let predicted = highest(z, newcomer.then_some(y));
        let rival = highest(z, Some(y));
        self.mistakes += u64::from(rival.is_some_and(|r| z[r] >= z[y]));
        self.errors += u64::from(predicted != Some(y));
        self.previous_errors += u64::from(self.previous != Some(y));
        self.previous = Some(y);
        self.classes[y].examples += 1;
        self.classes[y].weight += weight;
        if let Some(p) = predicted {
            self.classes[p].predicted += 1;
            self.classes[p].correct += u64::from(p == y);
            if let Some(rows) = &mut self.confusion {
                rows[y][p] += 1;
            }
        }
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many rows had a score that was not below that of their own label.
    pub fn mistakes(&self) -> u64 {
        self.mistakes
    }

    /// The fraction of rows that had another label than predicted, weights aside. A label that was not
    /// known yet could not be predicted: that is an error too.
    pub fn error_rate(&self) -> Option<f64> {
        self.rate(self.errors)
    }

    /// The error rate of repeating the last label.
    pub fn previous_label_error_rate(&self) -> Option<f64> {
        self.rate(self.previous_errors)
    }

    /// The error rate of the most frequent label, known in hindsight.
    pub fn majority_error_rate(&self) -> Option<f64> {
        let most = self.classes.iter().map(|c| c.examples).max()?;
        self.rate(self.rows - most)
    }

    fn rate(&self, count: u64) -> Option<f64> {
        (self.rows > 0).then(|| count as f64 / self.rows as f64)
    }

    /// The counts of each class.
    pub fn classes(&self) -> &[ClassCount] {
        &self.classes
    }

    /// For each label the number of rows for which each class was predicted; `None` with more than
    /// twenty classes. The rows for which nothing could be predicted are not in it.
    pub fn confusion(&self) -> Option<&[Vec<u64>]> {
        self.confusion.as_deref()
    }

    /// Whether it counts this many classes.
    pub(crate) fn fits(&self, classes: usize) -> bool {
        let square = |rows: &Vec<Vec<u64>>| rows.len() == classes && rows.iter().all(|r| r.len() == classes);
        self.classes.len() == classes
            && self.confusion.as_ref().is_none_or(square)
            && self.previous.is_none_or(|k| k < classes)
            && self.classes.iter().all(|c| c.examples <= self.rows && c.weight >= 0.0)
    }
}
