//! What a run counts beside the loss: mistakes, errors, and for probabilities how well they rank
//! and how well they are calibrated. A row costs O(1), and nothing is allocated for it.

use super::LabelStats;
use super::scores::{CalibrationBin, Scores};
use crate::loss::Task;
use serde::{Deserialize, Serialize};

/// The counts of a run; can be stored and continued.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    task: Task,
    rows: u64,
    mistakes: u64,
    errors: u64,
    previous: Option<f64>,
    previous_errors: u64,
    labels: LabelStats,
    scores: Option<Box<Scores>>,
}

impl Clone for Tally {
    fn clone(&self) -> Self {
        Self { labels: self.labels.clone(), scores: self.scores.clone(), ..*self }
    }

    /// In the room that is there: the scores take a quarter of a megabyte.
    fn clone_from(&mut self, other: &Self) {
        let (mut labels, mut scores) = (std::mem::take(&mut self.labels), self.scores.take());
        labels.clone_from(&other.labels);
        scores.clone_from(&other.scores);
        *self = Self { labels, scores, ..*other };
    }
}

impl Tally {
    /// No row yet. `logistic` says that `z` is the logarithm of odds, so that ranking and
    /// calibration are kept too.
    pub fn new(task: Task, logistic: bool) -> Self {
        let scores = (task == Task::Binary && logistic).then(Box::default);
        Self {
            task,
            rows: 0,
            mistakes: 0,
            errors: 0,
            previous: None,
            previous_errors: 0,
            labels: LabelStats::new(),
            scores,
        }
    }

    /// A tally of the same kind, without a row.
    pub fn emptied(&self) -> Self {
        Self::new(self.task, self.scores.is_some())
    }

    /// Counts rows in their order, each as [`Tally::enter`] takes it.
    pub fn enter_all(&mut self, z: &[f64], y: &[f64], weight: &[f64], slope: &[f64]) {
        let rows = || {
            z.iter().zip(y).zip(weight).zip(slope).map(|(((z, y), weight), slope)| (*z, *y, *weight, *slope))
        };
        if self.task == Task::Real {
            return rows().for_each(|(z, y, weight, slope)| self.enter(z, y, weight, slope));
        }
        let (Some(&first), Some(&last)) = (y.first(), y.last()) else { return };
        // Without a jump for each.
        if weight.iter().map(|&weight| u64::from(weight != 1.0)).sum::<u64>() == 0 {
            let positive: u64 = y.iter().map(|&y| u64::from(y > 0.0)).sum();
            self.labels.enter_signs(y.len() as u64, positive);
        } else {
            rows().for_each(|(_, y, weight, _)| self.labels.enter_sign(y, weight));
        }
        self.rows += y.len() as u64;
        self.mistakes += z.iter().zip(y).map(|(&z, &y)| u64::from(y * z <= 0.0)).sum::<u64>();
        self.errors += z.iter().zip(y).map(|(&z, &y)| u64::from((z >= 0.0) != (y > 0.0))).sum::<u64>();
        let changes: u64 = y[1..].iter().zip(y).map(|(&y, &before)| u64::from(before != y)).sum();
        self.previous_errors += changes + u64::from(self.previous != Some(first));
        self.previous = Some(last);
        if let Some(scores) = &mut self.scores {
            rows().for_each(|(z, y, weight, slope)| scores.enter(z, y, weight, slope));
        }
    }

    /// Counts one row: its prediction, its label, its weight, and the slope of the loss before the
    /// weight. A row of weight 0 is a row, and may be a mistake or an error, but is no part of weighted
    /// statistics.
    #[inline]
    pub fn enter(&mut self, z: f64, y: f64, weight: f64, slope: f64) {
        self.rows += 1;
        if self.task == Task::Real {
            self.labels.enter(y, weight);
            return;
        }
        self.labels.enter_sign(y, weight);
        self.mistakes += u64::from(y * z <= 0.0);
        self.errors += u64::from((z >= 0.0) != (y > 0.0));
        self.previous_errors += u64::from(self.previous != Some(y));
        self.previous = Some(y);
        if let Some(scores) = &mut self.scores {
            scores.enter(z, y, weight, slope);
        }
    }

    /// Adds the counts of rows that were learned elsewhere; they follow those counted so far.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.mistakes += other.mistakes;
        self.errors += other.errors;
        self.previous_errors += other.previous_errors;
        self.previous = other.previous.or(self.previous);
        self.labels.merge(&other.labels);
        match (&mut self.scores, &other.scores) {
            (Some(scores), Some(others)) => scores.merge(others),
            (scores, _) => *scores = None,
        }
    }

    /// What the labels are.
    pub fn task(&self) -> Task {
        self.task
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum of weights.
    pub fn weight(&self) -> f64 {
        self.labels.weight()
    }

    /// How many rows had `y z <= 0`; `None` for real labels.
    pub fn mistakes(&self) -> Option<u64> {
        (self.task == Task::Binary).then_some(self.mistakes)
    }

    /// How many rows had another label than predicted (a score of exactly 0 predicts +1); `None`
    /// for real labels.
    pub fn errors(&self) -> Option<u64> {
        (self.task == Task::Binary).then_some(self.errors)
    }

    /// The fraction of rows that had another label than predicted, weights aside; `None` for real
    /// labels and before the first row.
    pub fn error_rate(&self) -> Option<f64> {
        self.rate(self.errors)
    }

    /// The error rate of repeating the last label. The first row has none before it and counts as
    /// an error. `None` for real labels and before the first row.
    pub fn previous_label_error_rate(&self) -> Option<f64> {
        self.rate(self.previous_errors)
    }

    fn rate(&self, count: u64) -> Option<f64> {
        (self.task == Task::Binary && self.rows > 0).then(|| count as f64 / self.rows as f64)
    }

    /// The labels seen, and what a constant would have lost on them.
    pub fn labels(&self) -> &LabelStats {
        &self.labels
    }

    /// The area under the ROC curve: the probability that a positive row scores above a negative
    /// one, ties counting one half. An estimate and how far it may be from the exact number: scores
    /// within about 3 % of one another are taken as ties. `None` without logistic loss and until
    /// both labels were seen.
    pub fn auc(&self) -> Option<(f64, f64)> {
        self.scores.as_ref()?.auc()
    }

    /// Ten bins of equal width of the predicted probability of the positive label; `None` without
    /// logistic loss.
    pub fn calibration(&self) -> Option<Vec<CalibrationBin>> {
        Some(self.scores.as_ref()?.calibration())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn tally(rows: &[(f64, f64, f64)]) -> Tally {
        let mut tally = Tally::new(Task::Binary, true);
        for &(z, y, c) in rows {
            tally.enter(z, y, c, -y / (1.0 + (y * z).exp()));
        }
        tally
    }

    /// Scores from narrow to wide, both signs, zeros and ties among them.
    fn random_rows(n: u64, seed: u64) -> Vec<(f64, f64, f64)> {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        let width = [1e-6, 0.01, 1.0, 50.0][seed as usize % 4];
        let row = |k: u64| {
            let z = if k.is_multiple_of(9) { 0.0 } else { width * random.random_range(-1.0..1.5) };
            let y = if random.random_range(-1.0..1.0) * width < z { 1.0 } else { -1.0 };
            (z, y, if k.is_multiple_of(11) { 0.0 } else { random.random_range(0.0..3.0) })
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn mistakes_and_errors_differ_at_a_score_of_zero() {
        let tally = tally(&[(0.0, 1.0, 1.0), (0.0, -1.0, 1.0), (2.0, -1.0, 0.0), (-2.0, -1.0, 1.0)]);
        assert_eq!((tally.rows(), tally.weight()), (4, 3.0));
        assert_eq!((tally.mistakes(), tally.errors()), (Some(3), Some(2)));
        assert_eq!(tally.error_rate(), Some(0.5));
        // No label before the first; then +1 before -1; then it repeats twice.
        assert_eq!(tally.previous_label_error_rate(), Some(0.5));
    }

    #[test]
    fn real_labels_have_no_mistakes_and_no_ranking() {
        let mut tally = Tally::new(Task::Real, false);
        tally.enter(0.0, 3.5, 1.0, -7.0);
        assert_eq!((tally.rows(), tally.mistakes(), tally.error_rate()), (1, None, None));
        assert_eq!((tally.auc(), tally.calibration()), (None, None));
    }

    #[test]
    fn auc_is_within_its_stated_error_of_the_exact_one() {
        for seed in 0..12 {
            let rows = random_rows(400, seed);
            let (mut won, mut pairs) = (0.0, 0.0);
            for (z, _, c) in rows.iter().filter(|row| row.1 > 0.0) {
                for (u, _, b) in rows.iter().filter(|row| row.1 < 0.0) {
                    pairs += b * c;
                    won += b
                        * c
                        * if z > u {
                            1.0
                        } else if z == u {
                            0.5
                        } else {
                            0.0
                        };
                }
            }
            let (estimate, error) = tally(&rows).auc().unwrap();
            assert!((estimate - won / pairs).abs() <= error + 1e-12, "{seed}");
            assert!(error < 0.05, "{seed}: {error}");
        }
        assert_eq!(tally(&[(1.0, 1.0, 1.0)]).auc(), None);
        assert_eq!(tally(&[(1.0, 1.0, 1.0), (-1.0, -1.0, 1.0)]).auc(), Some((1.0, 0.0)));
        assert_eq!(tally(&[(1.0, 1.0, 1.0), (1.0, -1.0, 1.0)]).auc(), Some((0.5, 0.5)));
    }

    // e^ln(3) = 3: the odds 3 to 1 are the probability 3/4.
    #[test]
    fn calibration_compares_predictions_with_labels() {
        let z = 3f64.ln();
        let rows = [(z, 1.0, 1.0), (z, -1.0, 3.0), (-z, -1.0, 1.0), (1e4, 1.0, 1.0), (-1e4, 1.0, 0.0)];
        let bins = tally(&rows).calibration().unwrap();
        assert_eq!(bins.len(), 10);
        assert_eq!((bins[7].from, bins[7].to, bins[7].weight), (0.7, 0.8, 4.0));
        assert!((bins[7].prediction.unwrap() - 0.75).abs() < 1e-15);
        assert_eq!((bins[7].positive, bins[2].positive), (Some(0.25), Some(0.0)));
        assert_eq!((bins[9].prediction, bins[9].positive), (Some(1.0), Some(1.0)));
        assert_eq!((bins[0].weight, bins[0].prediction, bins[0].positive), (0.0, None, None));
    }

    #[test]
    fn rows_counted_together_are_rows_counted_singly() {
        for task in [Task::Binary, Task::Real] {
            let rows = random_rows(333, 2);
            let told = |&(z, y, c): &(f64, f64, f64)| (z, y, c, -y / (1.0 + (y * z).exp()));
            let (mut together, mut singly) = (Tally::new(task, true), Tally::new(task, true));
            for part in rows.chunks(64) {
                let numbers = |k: usize| -> Vec<f64> {
                    part.iter().map(|row| <[f64; 4]>::from(told(row))[k]).collect()
                };
                together.enter_all(&numbers(0), &numbers(1), &numbers(2), &numbers(3));
                for (z, y, c, slope) in part.iter().map(told) {
                    singly.enter(z, y, c, slope);
                }
                together.enter_all(&[], &[], &[], &[]);
                assert_eq!(together, singly);
            }
        }
    }

    #[test]
    fn what_is_stored_continues_bit_for_bit() {
        let rows = random_rows(1000, 2);
        let text = serde_json::to_string(&tally(&rows[..400])).unwrap();
        let mut resumed: Tally = serde_json::from_str(&text).unwrap();
        for &(z, y, c) in &rows[400..] {
            resumed.enter(z, y, c, -y / (1.0 + (y * z).exp()));
        }
        assert_eq!(resumed, tally(&rows));
    }
}
