//! `noregret inspect`: what a model is.

use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use noregret::error::UsageError;
use noregret::learner::Mixture;
use noregret::model::Model;
use noregret::round::Vector;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

pub(crate) fn command() -> Command {
    arguments::common(
        Command::new("inspect")
            .about("Tells what a model is: learner, parameters, certificate, heaviest weights")
            .arg(Arg::new("model").value_name("MODEL").required(true).help("A model file"))
            .arg(
                arguments::option("top", "N")
                    .value_parser(value_parser!(u32))
                    .default_value("20")
                    .help("How many of the heaviest weights"),
            )
            .arg(arguments::flag("averaged").help("Weights of the averaged model")),
    )
}

/// The name of a feature: its column, its hashed name where it was kept, or its number in the base
/// that the input had.
pub(crate) fn feature_name(model: &Model, index: usize) -> String {
    if let Some(column) = model.reading.schema.columns.get(index) {
        return column.clone();
    }
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    if let Some(name) = model.names.get(index) {
        return name.to_owned();
    }
    let base = u64::from(model.reading.format == "libsvm" && !model.reading.zero_based);
    (u64::from(index) + base).to_string()
}

fn heaviest(model: &Model, weights: &Vector, top: usize) -> Vec<(String, f64)> {
    let mut order: Vec<(usize, f64)> =
        weights.features.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect();
    order.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    order.truncate(top);
    order.into_iter().map(|(i, w)| (feature_name(model, i), w)).collect()
}

/// How many weights are not exactly 0, the bias's included.
fn nonzeros(weights: &Vector) -> usize {
    weights.iter().filter(|w| *w != 0.0).count()
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let path: &String = matches.get_one("model").expect("clap requires it");
    let model = Model::load(Path::new(path))?;
    let top = *matches.get_one::<u32>("top").expect("clap has a default") as usize;
    let weights = if matches.get_flag("averaged") {
        model
            .engine
            .averaged()
            .ok_or_else(|| UsageError::new("the model keeps no average: it was learned without --average"))?
    } else {
        model.engine.weights()
    };
    let list = heaviest(&model, &weights, top);
    if let Some(target) = matches.get_one::<String>("json") {
        let mut header = model.header();
        header.insert("model_norm".to_owned(), json!(weights.norm()));
        header.insert("nonzero_weights".to_owned(), json!(nonzeros(&weights)));
        header.insert("linear".to_owned(), json!(model.engine.is_linear()));
        header.insert("bias_weight".to_owned(), json!(weights.bias));
        header.insert("certificate".to_owned(), json!(model.engine.certificate()));
        if let Some(mixture) = model.engine.mixture() {
            header.insert("weights_of".to_owned(), json!(mixture.heaviest_member));
            header.insert("mixture".to_owned(), json!(mixture));
        }
        let list: Vec<Value> =
            list.iter().map(|(name, weight)| json!({"feature": name, "weight": weight})).collect();
        header.insert("heaviest".to_owned(), json!(list));
        output::json(target, header)?;
        if target == "-" {
            return Ok(crate::OK);
        }
    }
    output::text(&describe(&model, &weights, &list))?;
    Ok(crate::OK)
}

/// The members of a mixture, what each would have lost alone, and who won when.
fn members(mixture: &Mixture) -> String {
    let mut text = String::from("\nmembers            loss alone      weight\n");
    for member in &mixture.members {
        let marks = [(mixture.best_member, " best"), (mixture.heaviest_member, " heaviest")];
        let marks = marks.iter().filter(|(name, _)| *name == member.name).map(|(_, mark)| *mark);
        let marks = marks.collect::<Vec<_>>().join(",");
        let row =
            format!("  {:<14} {:>12.6} {:>11.6} {marks}", member.name, member.average_loss, member.weight);
        let _ = writeln!(text, "{}", row.trim_end());
    }
    let ways: Vec<String> = mixture.mixed_by.iter().map(|(name, w)| format!("{name} {w:.3}")).collect();
    let _ = writeln!(text, "  mixed by {}", ways.join(", "));
    match mixture.excess_at_most {
        Some(excess) => {
            let excess = noregret::report::progress::decimal(excess, f64::ceil);
            let _ = writeln!(
                text,
                "  together they lost at most {excess} more on average than the best of them (proved)"
            );
        }
        None => {
            let _ = writeln!(text, "  no bound on what mixing costs ({})", mixture.unmet.join("; "));
        }
    }
    let names: Vec<String> = mixture.members.iter().map(|m| format!("{:>13}", m.name)).collect();
    let _ = writeln!(text, "\nwho won when: average losses up to each number of rounds, * the least");
    let _ = writeln!(text, "  {:>10}{}", "rounds", names.concat());
    for (rounds, losses) in mixture.stretches() {
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let cell = |l: &f64| format!("{:>12.4}{}", l, if *l == least { '*' } else { ' ' });
        let _ = writeln!(text, "  {rounds:>10}{}", losses.iter().map(cell).collect::<String>().trim_end());
    }
    text
}

fn describe(model: &Model, weights: &Vector, list: &[(String, f64)]) -> String {
    let engine = &model.engine;
    let config = engine.config();
    let header = model.header();
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<12} {value}");
    };
    let with = |parameters: &noregret::parameter::Parameters| {
        parameters.0.iter().map(|(n, v)| format!(" --{n} {v}")).collect::<Vec<_>>().concat()
    };
    line(
        "written by",
        format!("{} (format {})", header["program"].as_str().unwrap_or("?"), header["version"]),
    );
    line("learner", format!("{}{}", config.learner, with(&config.parameters)));
    line("loss", format!("{}{}", config.loss, with(&config.loss_parameters)));
    let said = [
        ("radius", config.radius),
        ("l2", config.l2),
        ("row-bound", config.row_bound),
        ("label-bound", config.label_bound),
    ];
    let said: Vec<String> = said.iter().filter_map(|(n, v)| Some(format!("--{n} {}", (*v)?))).collect();
    if !said.is_empty() {
        line("settings", said.join(" "));
    }
    line(
        "examples",
        format!(
            "{} ({} pass{})",
            engine.examples(),
            engine.passes_before(),
            if engine.passes_before() == 1 { "" } else { "es" }
        ),
    );
    line("features", format!("{}{}", engine.dimension(), if config.bias { " and a bias" } else { "" }));
    let hashed = model.reading.schema.bits.map_or(String::new(), |b| format!(", names hashed to {b} bits"));
    line("format", format!("{}{hashed}", model.reading.format));
    for (flag, list) in model.reading.selection.lists() {
        if !list.is_empty() {
            line(flag, list.join(","));
        }
    }
    line("labels", model.labels.describe().trim_start_matches("labels: ").to_owned());
    line("norm", format!("{:.6}", weights.norm()));
    line("weights", format!("{} are not zero", nonzeros(weights)));
    if let Some(loss) = engine.average_loss() {
        line("loss so far", format!("{loss:.6}"));
    }
    if let Some(c) = engine.certificate() {
        let radius =
            c.radius.map_or(String::new(), |r| format!(", radius {}", noregret::report::progress::radius(r)));
        line(
            "certificate",
            format!(
                "best in hindsight at least {}, regret at most {} ({}{radius})",
                noregret::report::progress::decimal(c.best_at_least, f64::floor),
                noregret::report::progress::decimal(c.regret_at_most, f64::ceil),
                c.comparator
            ),
        );
    }
    let mixture = engine.mixture();
    if let Some(mixture) = &mixture {
        text += &members(mixture);
    }
    if !engine.is_linear() && weights.norm() == 0.0 {
        text += "\nno weights: its predictions are not linear in the features\n";
    } else if !list.is_empty() || weights.bias.is_some() {
        let stand_in = if engine.is_linear() { "" } else { " of the linear model that stands for it" };
        let whose = mixture.map_or(stand_in.to_owned(), |m| format!(" of {}", m.heaviest_member));
        let _ = writeln!(text, "\nheaviest weights{whose}");
        let largest = list.iter().map(|(_, w)| w.abs()).fold(weights.bias.unwrap_or(0.0).abs(), f64::max);
        let bias = weights.bias.map(|b| ("(bias)".to_owned(), b));
        for (name, weight) in list.iter().chain(&bias) {
            let bar = "#".repeat((weight.abs() / largest.max(f64::MIN_POSITIVE) * 30.0).round() as usize);
            let _ = writeln!(text, "  {weight:>12.6}  {name:<32} {bar}");
        }
    }
    text
}
