//! The progress table: a row at examples 1, 2, 4, 8, ...

use crate::engine::Engine;
use serde::Serialize;

/// How a run stands after some examples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgressRow {
    /// Rows so far.
    pub examples: u64,
    /// Average loss so far.
    pub average_loss: Option<f64>,
    /// The same with the penalty of `--l2`, where there is one.
    pub penalised_loss: Option<f64>,
    /// Average loss since the row before.
    pub since_last: Option<f64>,
    /// The radius of the comparators at that moment; none for `ridge`.
    pub radius: Option<f64>,
    /// No comparator's average loss is below this.
    pub best_at_least: Option<f64>,
    /// The average regret is at most this.
    pub regret_at_most: Option<f64>,
    /// What the learner's theorem allows.
    pub bound: Option<f64>,
    /// Part of wrong labels.
    pub error_rate: Option<f64>,
    /// The Euclidean norm of the model, the bias included.
    pub model_norm: f64,
}

/// Who can be asked for a row of the table.
pub trait Told {
    /// Rows of the first pass, earlier runs included.
    fn examples(&self) -> u64;
    /// The sums of losses and of weights over them.
    fn totals(&self) -> (f64, f64);
    /// Where it stands now; what has happened since the row before is left out.
    fn row(&self) -> ProgressRow;
}

impl Told for Engine {
    fn examples(&self) -> u64 {
        Engine::examples(self)
    }

    fn totals(&self) -> (f64, f64) {
        let book = self.whole_book();
        (book.loss.value(), book.weight.value())
    }

    fn row(&self) -> ProgressRow {
        let book = self.whole_book();
        let (comparator, radius_from) = self.comparator();
        let certificate = self.certificate_for(&comparator, radius_from);
        let regret_at_most = certificate.as_ref().map(|c| c.regret_at_most);
        ProgressRow {
            examples: self.examples(),
            average_loss: book.average_loss(),
            penalised_loss: self.config().l2.and_then(|sigma| book.penalised_loss(sigma)),
            since_last: None,
            radius: certificate.as_ref().and_then(|c| c.radius),
            best_at_least: certificate.as_ref().map(|c| c.best_at_least),
            regret_at_most,
            bound: self.bound_for(&comparator, regret_at_most).and_then(|b| b.regret_at_most),
            error_rate: self.tally().error_rate(),
            model_norm: self.weights_norm().0,
        }
    }
}

/// When the next row is due, and what the last one saw.
#[derive(Clone, Debug)]
pub struct Progress {
    due: u64,
    loss: f64,
    weight: f64,
}

impl Progress {
    /// From where a model stands: the next row is at the next power of two.
    pub fn new(model: &impl Told) -> Self {
        let (loss, weight) = model.totals();
        Self { due: (model.examples() + 1).next_power_of_two(), loss, weight }
    }

    /// How many more examples until the next row.
    pub fn until_due(&self, model: &impl Told) -> u64 {
        self.due.saturating_sub(model.examples())
    }

    /// A row of where a model stands now.
    pub fn row(&mut self, model: &impl Told) -> ProgressRow {
        let (loss, weight) = model.totals();
        let since = weight - self.weight;
        let since_last = (since > 0.0).then(|| (loss - self.loss) / since);
        (self.loss, self.weight) = (loss, weight);
        while self.due <= model.examples() {
            self.due = self.due.saturating_mul(2);
        }
        ProgressRow { since_last, ..model.row() }
    }
}

/// The heading that fits [`line()`]: every column ends where its numbers end.
pub const HEADING: &str = concat!(
    "  examples     average       since  best in hindsight      regret     error\n",
    "                  loss    last row           at least     at most      rate",
);

/// One row as text. What is claimed is rounded so that it stays true: the lower bound down, the
/// regret up.
pub fn line(row: &ProgressRow) -> String {
    let cell = |value: Option<f64>, round: fn(f64) -> f64| match value {
        Some(v) => decimal(v, round),
        None => "-".to_owned(),
    };
    format!(
        "{:>10} {:>11} {:>11} {:>18} {:>11} {:>9}",
        row.examples,
        cell(row.average_loss, f64::round),
        cell(row.since_last, f64::round),
        cell(row.best_at_least, f64::floor),
        cell(row.regret_at_most, f64::ceil),
        cell(row.error_rate, f64::round),
    )
}

/// Six decimals, rounded by `round`; an exponent for what does not fit.
pub fn decimal(value: f64, round: fn(f64) -> f64) -> String {
    let scaled = round(value * 1e6);
    if value.abs() >= 1e6 {
        // The sixth digit of the exponent form, rounded the same way.
        let exponent = value.abs().log10().floor() as i32;
        let unit = 10f64.powi(exponent - 5);
        return format!("{:.5e}", round(value / unit) * unit);
    }
    let text = format!("{:.6}", scaled / 1e6);
    if text == "-0.000000" { "0.000000".to_owned() } else { text }
}

/// A radius in a claim: six significant digits, rounded down, because what is proved for a ball is not
/// proved for one that is larger by a rounding.
pub fn radius(value: f64) -> String {
    if value <= 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let unit = 10f64.powi(value.log10().floor() as i32 - 5);
    let text = |v: f64| format!("{v:.5e}").parse::<f64>().unwrap_or(v);
    let nearest = text(value);
    let shown = if nearest <= value { nearest } else { text(nearest - unit) };
    if (1e-4..1e15).contains(&shown) { shown.to_string() } else { format!("{shown:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radius_is_shown_no_larger_than_it_is() {
        for (value, shown) in [
            (10.0, "10"),
            (9.880_832_98, "9.88083"),
            (1e-9, "1e-9"),
            (0.3, "0.3"),
            (123_456.789, "123456"),
            (0.0, "0"),
        ] {
            assert_eq!(radius(value), shown);
        }
        for k in 1..10_000 {
            let value = f64::from(k) * 0.001_234_567;
            let shown: f64 = radius(value).parse().unwrap();
            assert!(shown <= value && shown >= value * (1.0 - 3e-5), "{value} {shown}");
        }
    }
}
