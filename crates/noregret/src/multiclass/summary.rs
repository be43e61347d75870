//! The summary of a run of several classes.

use super::Multiclass;
use crate::example::LabelMap;
use crate::regret::risk::Risk;
use crate::report::Run;
use crate::report::progress::{decimal, radius};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Radii, as multiples of the one in force, at which the summary tells the lower bound.
const CURVE: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

impl Multiclass {
    /// The JSON object of `learn`.
    pub fn summary(&self, run: &Run<'_>) -> Map<String, Value> {
        let config = self.config();
        let tally = self.tally();
        let certificate = self.certificate();
        let mut proved = json!(certificate);
        if let Value::Object(map) = &mut proved {
            map.insert("bias_inside".to_owned(), json!(config.bias));
            let best = |factor: f64| {
                let radius = certificate.as_ref()?.radius? * factor;
                Some(json!({"radius": radius, "best_at_least": self.best_at_least(factor)?}))
            };
            let curve: Vec<Value> = CURVE.iter().filter_map(|m| best(*m)).collect();
            map.insert("curve".to_owned(), json!(curve));
        }
        let (_, weight) = self.scheme.totals();
        let value = json!({
            "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
            "multiclass": self.entry().name,
            "examples": self.examples(),
            "examples_this_run": run.examples,
            "weight": weight,
            "nonzeros": run.nonzeros,
            "dimension": self.dimension(),
            "bias": config.bias,
            "values": "f32",
            "format": run.format,
            "labels": run.labels,
            "loss": config.loss,
            "loss_parameters": config.loss_parameters,
            "learner": config.learner,
            "parameters": config.parameters,
            "passes": self.pass().max(self.passes_before()),
            "average_loss": self.average_loss(),
            "l2": config.l2,
            "penalised_loss": self.scheme.penalised_loss(),
            "last_pass_loss": if self.pass() > 1 { self.pass_loss() } else { self.average_loss() },
            "mistakes": tally.mistakes(),
            "error_rate": tally.error_rate(),
            "certificate": proved,
            "bound": self.bound(),
            "risk": self.risk(),
            "baseline": {
                "constant": self.best_constant(),
                "previous_label": tally.previous_label_error_rate(),
                "majority": tally.majority_error_rate(),
            },
            "classes": self.told(run.labels),
            "confusion": tally.confusion(),
            "model_norm": self.norm(),
            "skipped": run.skipped,
            "interrupted": run.interrupted,
            "verdict": self.verdict(),
            "history": run.history,
            "seconds": run.seconds,
        });
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// Each class with its label, its counts and, for one-versus-rest, its own certificate.
    pub fn told(&self, labels: &LabelMap) -> Vec<Value> {
        let each = self.tally().classes().iter().enumerate().map(|(k, counts)| {
            let mut told = json!({"label": labels.name_of(k as f64)});
            if let (Value::Object(all), Value::Object(counts)) = (&mut told, json!(counts)) {
                all.extend(counts);
                all.extend(self.scheme.tell(k));
            }
            told
        });
        each.collect()
    }

    /// The average loss of the best constant scores, where it is known.
    pub fn best_constant(&self) -> Option<f64> {
        // With classes that join late it would have to be one that knew them.
        let known = self.closed || self.entry().is_composed();
        self.scheme.best_constant(self.tally()).filter(|_| known)
    }

    /// Nothing is said about new data of several classes together.
    fn risk(&self) -> Risk {
        let why = if self.entry().is_composed() {
            "stated for each class alone, with the classes"
        } else {
            "no risk bound is stated for a loss of several classes"
        };
        Risk {
            delta: self.config().delta,
            at_most: None,
            excess_at_most: None,
            unmet: vec![why.to_owned()],
            assumes: Vec::new(),
        }
    }

    /// The closing sentences: what the best could have lost, what was lost, and what follows.
    pub fn verdict(&self) -> Option<String> {
        let c = self.certificate()?;
        let lost = c.best_at_least + c.regret_at_most;
        let class = match (c.comparator, c.radius) {
            ("ridge", _) => format!(
                "No model for each class, penalised by ({}/2)|u|^2 a round,",
                self.config().l2.unwrap_or(0.0)
            ),
            (_, None) => "No model for each class, none larger than the one learned for it,".to_owned(),
            (name, Some(r)) if self.entry().is_composed() => {
                format!("No model of {name} norm <= {} for each class", radius(r))
            }
            ("l2", Some(r)) => format!("No model of all classes with Frobenius norm <= {}", radius(r)),
            (name, Some(r)) => format!("No model of all classes with {name} norm <= {}", radius(r)),
        };
        let mut text = format!(
            "{class} could have lost less than {}; you lost {}",
            decimal(c.best_at_least, f64::floor),
            decimal(lost, f64::round)
        );
        if let Some(constant) = self.best_constant() {
            let _ = write!(text, "; constants lose {}", decimal(constant, f64::round));
        }
        text += ". ";
        if c.regret_at_most <= 0.0 {
            text += "The moving model did better than every fixed one of this class.";
        } else if c.regret_at_most <= 0.25 * lost.abs() {
            let gain = decimal(c.regret_at_most, f64::ceil);
            let _ = write!(text, "Within this class more tuning can gain at most {gain}.");
        } else {
            let open = decimal(c.regret_at_most, f64::ceil);
            let _ = write!(text, "The certificate is loose: it leaves {open} open.");
        }
        Some(text)
    }
}
