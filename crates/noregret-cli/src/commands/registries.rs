//! `noregret learners`, `losses`, `bounds`: the registries, with parameters and papers.

use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use noregret::error::UsageError;
use noregret::learner::{self, Losses};
use noregret::parameter::{Kind, Parameter};
use noregret::{loss, regret::bound};
use serde_json::{Map, Value, json};
use std::fmt::Write;

pub(crate) fn learners() -> Command {
    list("learners", "Lists the learners, or tells about one")
}

pub(crate) fn losses() -> Command {
    list("losses", "Lists the losses, or tells about one")
}

pub(crate) fn bounds() -> Command {
    list("bounds", "Lists the theorems, or tells about one")
}

fn list(name: &'static str, about: &'static str) -> Command {
    arguments::common(
        Command::new(name).about(about).arg(Arg::new("name").value_name("NAME").help("Only this one")),
    )
}

/// What is told about one entry: its name, one line, and labelled lines.
struct Told {
    name: &'static str,
    summary: &'static str,
    details: Vec<(&'static str, String)>,
    parameters: &'static [Parameter],
    json: Value,
}

pub(crate) fn run_learners(matches: &ArgMatches) -> Result<u8> {
    let told = learner::ENTRIES.iter().map(|e| {
        let losses = match e.losses {
            Losses::All => "all".to_owned(),
            Losses::Only(names) => names.join(", "),
        };
        let bytes = match e.bytes_per_feature {
            (plain, Some(average)) => format!("{plain} a feature, {average} with --average"),
            (plain, None) => format!("{plain} a feature; keeps no average"),
        };
        let comparator = match e.default_radius {
            Some(radius) => format!("{}, radius {radius}", e.default_comparator),
            None if e.default_comparator == "ridge" => "ridge".to_owned(),
            None => format!("{}, as long as the model", e.default_comparator),
        };
        let details = vec![
            ("update", e.update.to_owned()),
            ("paper", e.paper.to_owned()),
            ("bound", e.bound.to_owned()),
            ("losses", losses),
            ("comparator", comparator),
            ("bytes", bytes),
        ];
        Told { name: e.name, summary: e.summary, details, parameters: e.parameters, json: json!(e) }
    });
    tell(matches, "learner", told.collect())
}

pub(crate) fn run_losses(matches: &ArgMatches) -> Result<u8> {
    let told = loss::ENTRIES.iter().map(|e| {
        let labels = match e.task {
            loss::Task::Binary => "two classes",
            loss::Task::Real => "numbers",
        };
        let lipschitz = (e.build)(&noregret::parameter::Parameters::default())
            .ok()
            .and_then(|l| l.lipschitz())
            .map_or("none".to_owned(), |c| c.to_string());
        let details =
            vec![("formula", e.formula.to_owned()), ("labels", labels.to_owned()), ("Lipschitz", lipschitz)];
        Told { name: e.name, summary: e.summary, details, parameters: e.parameters, json: json!(e) }
    });
    tell(matches, "loss", told.collect())
}

pub(crate) fn run_bounds(matches: &ArgMatches) -> Result<u8> {
    let told = bound::ENTRIES.iter().map(|e| {
        let details = vec![("needs", e.needs.to_owned()), ("source", e.source.to_owned())];
        Told { name: e.name, summary: e.statement, details, parameters: &[], json: json!(e) }
    });
    tell(matches, "bound", told.collect())
}

fn tell(matches: &ArgMatches, what: &str, mut told: Vec<Told>) -> Result<u8> {
    let one = matches.get_one::<String>("name");
    if let Some(name) = one {
        let names: Vec<&str> = told.iter().map(|t| t.name).collect();
        if !names.contains(&name.as_str()) {
            return Err(
                UsageError(format!("there is no {what} `{name}`; there are {}", names.join(", "))).into()
            );
        }
        told.retain(|t| t.name == name);
    }
    if let Some(target) = matches.get_one::<String>("json") {
        let mut object = Map::new();
        let key = if what == "loss" { "losses".to_owned() } else { format!("{what}s") };
        object.insert(key, told.iter().map(|t| t.json.clone()).collect());
        output::json(target, object)?;
        if target == "-" {
            return Ok(crate::OK);
        }
    }
    let mut text = String::new();
    let width = told.iter().map(|t| t.name.len()).max().unwrap_or(0);
    for t in &told {
        let _ = writeln!(text, "{:width$}  {}", t.name, t.summary);
        for (label, value) in &t.details {
            if one.is_some() || *label == "formula" {
                let _ = writeln!(text, "{:width$}    {label}: {value}", "");
            }
        }
        for p in t.parameters {
            let default = p.default.map_or(String::new(), |d| format!(" [default: {d}]"));
            let kind = match p.kind {
                Kind::Positive => "X > 0".to_owned(),
                Kind::Nonnegative => "X >= 0".to_owned(),
                Kind::Fraction => "0 < X < 1".to_owned(),
                Kind::Count => "N".to_owned(),
                Kind::Choice(words) => words.join("|"),
            };
            let _ = writeln!(text, "{:width$}    --{} {kind}: {}{default}", "", p.name, p.meaning);
        }
    }
    output::text(&text)?;
    Ok(crate::OK)
}
