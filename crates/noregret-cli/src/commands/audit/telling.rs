//! What an audit says: a text, a JSON object, a page, a picture.

use super::setting::{Run, Setting};
use crate::{output, picture};
use anyhow::Result;
use clap::ArgMatches;
use noregret::regret::Book;
use noregret::regret::audit::Bracket;
use noregret::regret::bound::most_mistakes_weighted;
use noregret::report::page::{Page, audit_figure};
use noregret::report::progress::decimal;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Everything that was found.
pub(super) struct Audited<'a> {
    pub(super) setting: &'a Setting,
    pub(super) run: Option<&'a Run>,
    pub(super) brackets: &'a [Bracket],
    pub(super) book: &'a Book,
    pub(super) dimension: usize,
    pub(super) nonzeros: u64,
    pub(super) skipped: u64,
    pub(super) in_memory: bool,
    pub(super) model_loss: Option<f64>,
    pub(super) tolerance: f64,
    pub(super) interrupted: bool,
    pub(super) seconds: f64,
}

/// The regret of a run, and how its certificate compares.
struct Regret {
    at_least: f64,
    at_most: f64,
    /// The certificate's `regret_at_most`, where it speaks of the same class.
    certified: Option<f64>,
}

impl Regret {
    /// The certificate over the middle of the bracket; none when the regret may be 0 or less.
    fn ratio(&self) -> Option<f64> {
        let certified = self.certified?;
        // The certificate bounds the regret too.
        let middle = f64::midpoint(self.at_least, self.at_most.min(certified));
        (self.at_least > 0.0).then(|| (certified / middle).max(1.0))
    }

    fn ratios(&self) -> Option<(f64, f64)> {
        let certified = self.certified?;
        let high = self.at_most.min(certified);
        (self.at_least > 0.0).then(|| (certified / high, certified / self.at_least))
    }
}

impl Audited<'_> {
    /// The bracket that the run speaks of, or the last one reached.
    fn chosen(&self) -> Option<&Bracket> {
        self.brackets.get(self.setting.chosen).or(self.brackets.last())
    }

    fn regret(&self) -> Option<Regret> {
        let (run, bracket) = (self.run?, self.chosen()?);
        let ridge = bracket.class.name() == "ridge";
        let lost = run.number(if ridge { "penalised_loss" } else { "average_loss" })?;
        let slack = 4.0 * f64::EPSILON * lost.abs();
        let certificate = &run.summary["certificate"];
        let same = certificate["comparator"] == bracket.class.name()
            && run.certificate("radius") == bracket.class.radius();
        Some(Regret {
            at_least: lost - bracket.at_most - slack,
            at_most: lost - bracket.at_least + slack,
            certified: run.certificate("regret_at_most").filter(|_| same),
        })
    }

    /// The sum of the weights of the run's mistakes, which is what the Perceptron's theorem bounds; none where more than a
    /// comparator is missing.
    fn mistaken(&self) -> Option<f64> {
        let bound = &self.run?.summary["bound"];
        let waits = bound["name"] == "perceptron" && bound["unmet"].as_array().is_some_and(|u| u.len() == 1);
        bound["constants"]["M"].as_f64().filter(|_| waits)
    }

    /// The Perceptron's mistake bound, which waits for a comparator: with the `u` of a bracket, its norm
    /// and its total hinge loss.
    fn mistakes_by(&self, b: &Bracket) -> Option<(f64, f64, f64)> {
        let hinge = self.setting.loss.entry().name == "hinge" && b.class.name() != "ridge";
        if self.mistaken().is_none() || !hinge {
            return None;
        }
        let (norm, total) = (b.u.norm(), b.at_most * self.book.weight.value());
        let longest = self.book.longest_squared.sqrt();
        let most = most_mistakes_weighted(norm, total, longest, self.book.heaviest);
        // The run's sum is a plain one.
        let rounding = 1e-12 + f64::EPSILON * self.book.rounds as f64;
        Some((most * (1.0 + rounding), norm, total))
    }

    /// The least of them.
    fn mistakes(&self) -> Option<(f64, f64, f64)> {
        let all = self.brackets.iter().filter_map(|b| self.mistakes_by(b));
        all.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn json(&self) -> Map<String, Value> {
        let s = self.setting;
        let best = |b: &Bracket| json!({"at_least": b.at_least, "at_most": b.at_most});
        let chosen = self.chosen();
        let regret = self.regret();
        let curve: Vec<Value> = self
            .brackets
            .iter()
            .map(|b| {
                json!({
                    "radius": b.class.radius(),
                    "best": best(b),
                    "norm": b.norm,
                    "multiplier": b.multiplier,
                    "closed": b.closed,
                    "mistakes_at_most": self.mistakes_by(b).map(|(most, _, _)| most),
                })
            })
            .collect();
        let mistakes = self.mistakes().map(|(most, norm, total)| {
            json!({
                "name": "perceptron",
                "mistakes": self.mistaken(),
                "mistakes_at_most": most,
                "comparator_norm": norm,
                "comparator_loss_total": total,
                "longest_row": self.book.longest_squared.sqrt(),
            })
        });
        let value = json!({
            "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
            "examples": self.book.examples,
            "weight": self.book.weight.value(),
            "nonzeros": self.nonzeros,
            "dimension": self.dimension,
            "bias": s.bias,
            "values": "f32",
            "loss": s.loss.entry().name,
            "loss_parameters": s.loss_parameters,
            "comparator": chosen.map(|b| b.class.name()),
            "radius": chosen.and_then(|b| b.class.radius()),
            "l2": s.l2,
            "tolerance": self.tolerance,
            "best": chosen.map(best),
            "closed": chosen.is_some_and(|b| b.closed),
            "norm": chosen.map(|b| b.norm),
            "multiplier": chosen.and_then(|b| b.multiplier),
            "zero_model_loss": self.book.average_loss(),
            "regret": regret.as_ref().map(|r| json!({"at_least": r.at_least, "at_most": r.at_most})),
            "certificate_ratio": regret.as_ref().and_then(Regret::ratio),
            "certificate_ratio_range": regret
                .as_ref()
                .and_then(Regret::ratios)
                .map(|(low, high)| json!({"at_least": low, "at_most": high})),
            "bound": mistakes,
            "model": self.model_loss.map(|loss| json!({"average_loss": loss})),
            "curve": curve,
            "sweeps": self.brackets.last().map(|b| b.sweeps),
            "in_memory": self.in_memory,
            "skipped": self.skipped,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
        });
        match value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |label: &str, value: String| {
            let _ = writeln!(text, "{label:<18} {value}");
        };
        let (down, up) = (|v| decimal(v, f64::floor), |v| decimal(v, f64::ceil));
        let name = self.setting.loss.entry().name;
        line("examples", format!("{} in {:.2} s, {name} loss", self.book.examples, self.seconds));
        for b in self.brackets {
            let class = match b.class.radius() {
                Some(radius) => format!("{} {radius}", b.class.name()),
                None => format!("{} {}", b.class.name(), self.setting.l2.unwrap_or(0.0)),
            };
            let open = if b.closed { "" } else { "  (wider than asked)" };
            line(&format!("best, {class}"), format!("{} .. {}{open}", down(b.at_least), up(b.at_most)));
        }
        if let Some(zero) = self.book.average_loss() {
            line("zero model", decimal(zero, f64::round));
        }
        if let Some(loss) = self.model_loss {
            line("model", up(loss));
        }
        if let (Some(run), Some(regret)) = (self.run, self.regret()) {
            let lost = run.number("average_loss").unwrap_or(0.0);
            line("the run lost", decimal(lost, f64::round));
            line("regret", format!("{} .. {}", down(regret.at_least), up(regret.at_most)));
            match (regret.certified, regret.ratios()) {
                (Some(certified), Some((low, high))) => line(
                    "certificate",
                    format!("{}, between {low:.3} and {high:.3} times the regret", up(certified)),
                ),
                (Some(certified), None) => line("certificate", up(certified)),
                (None, _) => {}
            }
        }
        if let Some((most, norm, total)) = self.mistakes() {
            let seen = self.mistaken().unwrap_or(0.0);
            let weighted = self.book.heaviest != 1.0 || self.book.lightest != 1.0;
            let seen = if weighted { format!("of weight {seen:.4}") } else { format!("{seen}") };
            let places = if weighted { 4 } else { 1 };
            line(
                "mistakes",
                format!(
                    "{seen}, at most {most:.places$} by the theorem (|u| = {norm:.4}, its hinge loss {total:.4})"
                ),
            );
        }
        if name == "perceptron" {
            text += "\nAgainst the perceptron loss the best in hindsight is trivially u = 0, with loss 0.\n";
        }
        text
    }

    /// Tells it all; the answer is the exit code.
    pub(super) fn tell(&self, matches: &ArgMatches) -> Result<u8> {
        let target = matches.get_one::<String>("json").map(String::as_str);
        if let Some(target) = target {
            output::json(target, self.json())?;
        }
        if target != Some("-") && !matches.get_flag("quiet") {
            output::text(&self.text())?;
        }
        let object = Value::Object(self.json());
        let mut runs: Vec<Value> = self.run.iter().map(|r| r.summary.clone()).collect();
        for run in &mut runs {
            run["name"] = run["learner"].clone();
            run["audit"] = json!({"best": object["best"], "regret": object["regret"]});
        }
        let title = format!("The best in hindsight, {} loss", self.setting.loss.entry().name);
        let subtitle = format!("{} examples.", self.book.examples);
        let page = Page { title: &title, subtitle: &subtitle, runs: &runs, audit: Some(&object) };
        picture::report(matches, &page)?;
        picture::plot(matches, &audit_figure(&object, runs.first()))?;
        let closed =
            self.brackets.len() == self.setting.classes.len() && self.brackets.iter().all(|b| b.closed);
        Ok(if closed { crate::OK } else { crate::UNDECIDED })
    }
}
