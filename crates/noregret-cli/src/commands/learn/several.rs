//! `learn --multiclass`: its flags, and what a person reads of several classes.

use crate::arguments;
use clap::{Arg, ArgMatches, Command};
use noregret::error::UsageError;
use noregret::example::Classes;
use noregret::multiclass::{self, Entry, Multiclass};
use noregret::report::Run;
use noregret::report::progress::decimal;
use std::fmt::Write;

/// The most classes that are listed one by one.
const LISTED: usize = 20;

/// Adds the flags.
pub(super) fn arguments(command: Command) -> Command {
    let schemes = multiclass::ENTRIES;
    let list: Vec<String> = schemes.iter().map(|e| format!("{}, {}", e.name, e.summary)).collect();
    command
        .arg(
            Arg::new("multiclass")
                .long("multiclass")
                .value_name("HOW")
                .num_args(0..=1)
                .default_missing_value(schemes[0].name)
                .value_parser(clap::builder::PossibleValuesParser::new(schemes.iter().map(|e| e.name)))
                .help(format!("More than two classes: {}", list.join("; "))),
        )
        .arg(
            arguments::option("classes", "A,B,...")
                .requires("multiclass")
                .allow_hyphen_values(true)
                .help("All labels, for --multiclass: any other is an error [default: new labels join]"),
        )
}

/// The scheme that was asked for.
pub(super) fn scheme(matches: &ArgMatches) -> Result<Option<&'static Entry>, UsageError> {
    matches.get_one::<String>("multiclass").map(|name| multiclass::find(name)).transpose()
}

/// The labels that were named in advance.
pub(super) fn classes(matches: &ArgMatches) -> Result<Classes, UsageError> {
    let Some(list) = matches.get_one::<String>("classes") else { return Ok(Classes::open()) };
    let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        return Err(UsageError(format!(
            "--classes {list}: found an empty name, expected names between commas"
        )));
    }
    Classes::closed(names).map_err(|problem| UsageError(format!("--classes {list}: {problem}")))
}

/// One line: what learns, and against whom it is measured.
pub(super) fn opening(model: &Multiclass) -> String {
    let config = model.config();
    let bias = if config.bias { ", the bias included" } else { "" };
    let what = if model.entry().is_composed() {
        format!("one versus the rest by {} with {} loss", config.learner, config.loss)
    } else {
        format!("{} by {}", config.loss, config.learner)
    };
    format!("{what}, measured against {}{bias}", model.against())
}

/// What a person reads at the end.
pub(super) fn closing(model: &Multiclass, run: &Run<'_>) -> String {
    let tally = model.tally();
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<18} {value}");
    };
    let earlier = model.examples() - run.examples;
    let more = if earlier > 0 { format!("; {} with those before", model.examples()) } else { String::new() };
    let rate = run.examples as f64 / run.seconds.max(1e-9);
    let stopped = if run.interrupted { ", interrupted" } else { "" };
    line("examples", format!("{} in {:.2} s ({rate:.0}/s){more}{stopped}", run.examples, run.seconds));
    line("classes", format!("{} ({})", model.classes(), model.entry().name));
    if let Some(loss) = model.average_loss() {
        let sum = if model.entry().is_composed() { ", the sum of the classes' losses" } else { "" };
        line("average loss", format!("{}{sum}", decimal(loss, f64::round)));
    }
    if model.pass() > 1
        && let Some(loss) = model.pass_loss()
    {
        line("last pass loss", decimal(loss, f64::round));
    }
    if let Some(rate) = tally.error_rate() {
        line("wrong labels", decimal(rate, f64::round));
    }
    if let Some(c) = model.certificate() {
        line("best in hindsight", format!("at least {}", decimal(c.best_at_least, f64::floor)));
        line("regret", format!("at most {} (proved)", decimal(c.regret_at_most, f64::ceil)));
    }
    if let Some(bound) = model.bound() {
        line(
            "theorem",
            match bound.regret_at_most {
                Some(value) => format!("{}: regret at most {}", bound.name, decimal(value, f64::ceil)),
                None => format!("{}: no bound ({})", bound.name, bound.unmet.join("; ")),
            },
        );
    }
    let mut baselines = Vec::new();
    if let Some(constant) = model.best_constant() {
        baselines.push(format!("constants lose {}", decimal(constant, f64::round)));
    }
    if let (Some(majority), Some(previous)) = (tally.majority_error_rate(), tally.previous_label_error_rate())
    {
        baselines.push(format!("the commonest label errs at {}", decimal(majority, f64::round)));
        baselines.push(format!("repeating the last one at {}", decimal(previous, f64::round)));
    }
    line("baselines", baselines.join("; "));
    line("model norm", decimal(model.norm(), f64::round));
    if model.classes() <= LISTED {
        let _ = writeln!(
            text,
            "\n{:<16} {:>10} {:>10} {:>10} {:>10}",
            "class", "examples", "predicted", "right", "loss"
        );
        for told in model.told(run.labels) {
            let cell = |key: &str| told[key].as_u64().map_or(String::new(), |n| n.to_string());
            let loss = told["average_loss"].as_f64().map_or("-".to_owned(), |l| decimal(l, f64::round));
            let _ = writeln!(
                text,
                "{:<16} {:>10} {:>10} {:>10} {loss:>10}",
                told["label"].as_str().unwrap_or(""),
                cell("examples"),
                cell("predicted"),
                cell("correct"),
            );
        }
    }
    if let Some(verdict) = model.verdict() {
        let _ = writeln!(text, "\n{verdict}");
    }
    text
}
