//! The summary of a run: one JSON object for machines, a few sentences for people.

use super::progress::{ProgressRow, decimal, radius};
use crate::engine::{Certificate, Engine};
use crate::example::LabelMap;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What the engine does not know of its run.
pub struct Run<'a> {
    /// Rows learned in this run (first pass).
    pub examples: u64,
    /// Feature values read in this run (first pass).
    pub nonzeros: u64,
    /// Records dropped.
    pub skipped: u64,
    /// Whether it was stopped before the end of its input.
    pub interrupted: bool,
    /// Wall time.
    pub seconds: f64,
    /// The rows of the progress table.
    pub history: &'a [ProgressRow],
    /// The input's format.
    pub format: &'a str,
    /// What the labels mean.
    pub labels: &'a LabelMap,
}

/// Radii, as multiples of the one in force, at which the summary tells the lower bound.
const CURVE: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// The JSON object of `learn`.
pub fn summary(engine: &Engine, run: &Run<'_>) -> Map<String, Value> {
    let config = engine.config();
    let tally = engine.tally();
    let book = engine.whole_book();
    let (comparator, _) = engine.comparator();
    let certificate = engine.certificate();
    let mut proved = json!(certificate);
    if let (Value::Object(map), Some(radius)) = (&mut proved, comparator.radius()) {
        map.insert("bias_inside".to_owned(), json!(config.bias));
        let radii: Vec<f64> = CURVE.iter().map(|m| m * radius).filter(|r| *r > 0.0).collect();
        let curve: Vec<Value> = radii
            .into_iter()
            .filter_map(|r| {
                let best = engine.best_at_least(&comparator.with_radius(r))?;
                Some(json!({"radius": r, "best_at_least": best}))
            })
            .collect();
        map.insert("curve".to_owned(), json!(curve));
    }
    let penalised = config.l2.and_then(|sigma| book.penalised_loss(sigma));
    let auc = tally.auc();
    let mixture = engine.mixture();
    let (model_norm, nonzero_weights) = engine.weights_norm();
    let value = json!({
        "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
        "examples": engine.examples(),
        "examples_this_run": run.examples,
        "weight": book.weight.value(),
        "nonzeros": run.nonzeros,
        "dimension": engine.dimension(),
        "bias": config.bias,
        "values": "f32",
        "format": run.format,
        "labels": run.labels,
        "loss": config.loss,
        "loss_parameters": config.loss_parameters,
        "learner": config.learner,
        "parameters": config.parameters,
        "passes": engine.pass().max(engine.passes_before()),
        "average_loss": book.average_loss(),
        "l2": config.l2,
        "penalised_loss": penalised,
        "last_pass_loss": if engine.pass() > 1 { engine.pass_loss() } else { book.average_loss() },
        "mistakes": tally.mistakes(),
        "error_rate": tally.error_rate(),
        "certificate": proved,
        "windows": engine.windows(),
        "bound": engine.bound(),
        "risk": engine.risk(),
        "baseline": {
            "constant": tally.labels().best_constant(engine.loss()),
            "previous_label": tally.previous_label_error_rate(),
        },
        "auc": auc.map(|(estimate, _)| estimate),
        "auc_error_at_most": auc.map(|(_, error)| error),
        "calibration": tally.calibration(),
        "mixture": mixture,
        "model_norm": model_norm,
        "nonzero_weights": nonzero_weights,
        "model_norm_of": mixture.as_ref().map(|m| m.heaviest_member),
        "linear": engine.is_linear(),
        "averaged_norm": engine.averaged().map(|w| w.norm()),
        "skipped": run.skipped,
        "interrupted": run.interrupted,
        "verdict": verdict(engine),
        "history": run.history,
        "seconds": run.seconds,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn class(certificate: &Certificate, sigma: Option<f64>) -> String {
    let radius = radius(certificate.radius.unwrap_or(0.0));
    match certificate.comparator {
        "l1" => format!("No linear model with |u|_1 <= {radius}"),
        "linf" => format!("No linear model with weights within {radius}"),
        "simplex" => format!("No linear model on the simplex of sum {radius}"),
        "ridge" => format!("No linear model, penalised by ({}/2)|u|^2 a round,", sigma.unwrap_or(0.0)),
        _ => format!("No linear model of norm <= {radius}"),
    }
}

/// The closing sentences: what the best could have lost, what was lost, what a constant loses, and
/// what follows.
pub fn verdict(engine: &Engine) -> Option<String> {
    let certificate = engine.certificate()?;
    let config = engine.config();
    let lost = certificate.best_at_least + certificate.regret_at_most;
    let constant = engine.tally().labels().best_constant(engine.loss());
    let mut text = format!(
        "{} on these features could have lost less than {}; you lost {}",
        class(&certificate, config.l2),
        decimal(certificate.best_at_least, f64::floor),
        decimal(lost, f64::round),
    );
    let ridge = certificate.comparator == "ridge";
    if let Some(constant) = constant {
        let penalty = if ridge { ", without the penalty" } else { "" };
        let _ = write!(text, "; a constant loses {}{penalty}", decimal(constant, f64::round));
    }
    text += ". ";
    // An a-posteriori theorem (online ridge) may prove more than the ledger.
    let stated = engine.bound().and_then(|bound| Some((bound.name, bound.regret_at_most?)));
    let stated = stated.filter(|(_, regret)| *regret < certificate.regret_at_most);
    let regret = stated.as_ref().map_or(certificate.regret_at_most, |(_, regret)| *regret);
    let by = stated.map_or(String::new(), |(name, _)| format!(", by the theorem `{name}`"));
    let norm = engine.model_norm(&engine.comparator().0);
    let larger = certificate.radius.is_some_and(|radius| norm > radius * (1.0 + 1e-9));
    if engine.loss().entry().name == "perceptron" {
        text += "Against the perceptron loss the best in hindsight is trivially u = 0, with loss 0.";
    } else if constant.is_some_and(|c| !ridge && c < certificate.best_at_least) {
        text += "A constant does better than every model of this class: allow a larger one (--radius).";
    } else if regret <= 0.0 {
        text += "The moving model did better than every fixed one of this class.";
    } else if regret <= 0.25 * lost.abs() {
        let _ = write!(
            text,
            "Within this class more tuning can gain at most {}{by}.",
            decimal(regret, f64::ceil)
        );
    } else {
        let _ = write!(
            text,
            "The certificate is loose: it leaves {} open{by}; run `noregret audit`.",
            decimal(regret, f64::ceil)
        );
        if certificate.comparator == "l2" && norm > 0.0 && certificate.radius.is_some_and(|r| r > 1.5 * norm)
        {
            let _ = write!(
                text,
                " It is tightest for a ball about as large as the model: --radius {} or a little more.",
                decimal(norm, f64::ceil)
            );
        }
    }
    if larger && !ridge {
        let _ = write!(
            text,
            " The model itself is larger (norm {}): a larger --radius speaks of its equals.",
            decimal(norm, f64::round)
        );
    }
    Some(text)
}
