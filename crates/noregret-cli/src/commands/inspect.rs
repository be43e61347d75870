//! `noregret inspect`: what a model is.

use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use noregret::error::UsageError;
use noregret::learner::Mixture;
use noregret::model::{AnyModel, ModelOf};
use noregret::multiclass::Pupil;
use noregret::report::progress::Told;
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
pub(crate) fn feature_name<E>(model: &ModelOf<E>, index: usize) -> String {
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

/// Weights that are shown: of the only model, or of a class.
struct Part {
    class: Option<String>,
    weights: Vector,
    heaviest: Vec<(String, f64)>,
}

impl Part {
    fn new(model: &AnyModel, class: Option<String>, weights: Vector, top: usize) -> Self {
        let mut order: Vec<(usize, f64)> =
            weights.features.iter().copied().enumerate().filter(|(_, w)| *w != 0.0).collect();
        order.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        order.truncate(top);
        let heaviest = order.into_iter().map(|(i, w)| (feature_name(model, i), w)).collect();
        Self { class, weights, heaviest }
    }

    fn list(&self) -> Vec<Value> {
        self.heaviest.iter().map(|(name, weight)| json!({"feature": name, "weight": weight})).collect()
    }
}

/// Every model that there is, with its heaviest weights.
fn parts(model: &AnyModel, averaged: bool, top: usize) -> Result<Vec<Part>, UsageError> {
    let all: Vec<(Option<String>, Option<Vector>)> = match &model.engine {
        Pupil::One(engine) if averaged => vec![(None, engine.averaged())],
        Pupil::One(engine) => vec![(None, Some(engine.weights()))],
        Pupil::Many(several) => (0..several.classes())
            .map(|k| {
                let weights = if averaged { several.averaged(k) } else { Some(several.weights(k)) };
                (Some(model.labels.name_of(k as f64)), weights)
            })
            .collect(),
    };
    let none = || UsageError::new("the model keeps no average: it was learned without --average");
    all.into_iter().map(|(class, w)| Ok(Part::new(model, class, w.ok_or_else(none)?, top))).collect()
}

/// The Euclidean norm of all of them together.
fn norm(parts: &[Part]) -> f64 {
    match parts {
        [only] => only.weights.norm(),
        all => all.iter().map(|part| part.weights.norm().powi(2)).sum::<f64>().sqrt(),
    }
}

fn mixture(model: &AnyModel) -> Option<Mixture> {
    match &model.engine {
        Pupil::One(engine) => engine.mixture(),
        Pupil::Many(_) => None,
    }
}

/// How many weights are not exactly 0, the biases included.
fn nonzeros(parts: &[Part]) -> usize {
    parts.iter().flat_map(|part| part.weights.iter()).filter(|w| *w != 0.0).count()
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let path: &String = matches.get_one("model").expect("clap requires it");
    output::check_targets(&[], &[("MODEL", Some(path))], &[("json", matches.get_one("json"))])?;
    let model = AnyModel::load(Path::new(path))?;
    let top = *matches.get_one::<u32>("top").expect("clap has a default") as usize;
    let parts = parts(&model, matches.get_flag("averaged"), top)?;
    if let Some(target) = matches.get_one::<String>("json") {
        let mut header = model.header();
        header.insert("model_norm".to_owned(), json!(norm(&parts)));
        header.insert("nonzero_weights".to_owned(), json!(nonzeros(&parts)));
        header.insert("linear".to_owned(), json!(model.engine.is_linear()));
        header.insert("certificate".to_owned(), json!(model.engine.certificate()));
        if let Some(mixture) = mixture(&model) {
            header.insert("weights_of".to_owned(), json!(mixture.heaviest_member));
            header.insert("mixture".to_owned(), json!(mixture));
        }
        if let (Pupil::One(_), [only]) = (&model.engine, &parts[..]) {
            header.insert("bias_weight".to_owned(), json!(only.weights.bias));
            header.insert("heaviest".to_owned(), json!(only.list()));
        } else if let Pupil::Many(several) = &model.engine {
            let mut classes = several.told(&model.labels);
            for (class, part) in classes.iter_mut().zip(&parts) {
                class["model_norm"] = json!(part.weights.norm());
                class["bias_weight"] = json!(part.weights.bias);
                class["heaviest"] = json!(part.list());
            }
            header.insert("classes".to_owned(), json!(classes));
        }
        output::json(target, header)?;
        if target == "-" {
            return Ok(crate::OK);
        }
    }
    output::text(&describe(&model, &parts))?;
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
    let _ = writeln!(
        text,
        "\nwho won when: average losses since the row before, up to each number of rounds, * the least"
    );
    let _ = writeln!(text, "  {:>10}{}", "rounds", names.concat());
    for (rounds, losses) in mixture.stretches() {
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let cell = |l: &f64| format!("{:>12.4}{}", l, if *l == least { '*' } else { ' ' });
        let _ = writeln!(text, "  {rounds:>10}{}", losses.iter().map(cell).collect::<String>().trim_end());
    }
    text
}

fn describe(model: &AnyModel, parts: &[Part]) -> String {
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
    if let Pupil::Many(several) = engine {
        line("multiclass", several.entry().name.to_owned());
    }
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
    line("norm", format!("{:.6}", norm(parts)));
    line("weights", format!("{} are not zero", nonzeros(parts)));
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
    let mixture = mixture(model);
    if let Some(mixture) = &mixture {
        text += &members(mixture);
    }
    for part in parts {
        text += &weights(part, engine.is_linear(), mixture.as_ref());
    }
    text
}

/// The heaviest weights, with bars.
fn weights(part: &Part, linear: bool, mixture: Option<&Mixture>) -> String {
    let Part { class, weights, heaviest } = part;
    let mut text = String::new();
    let of_class = class.as_ref().map_or(String::new(), |class| format!(" of class {class}"));
    if !linear && weights.norm() == 0.0 {
        return format!("\nno weights{of_class}: its predictions are not linear in the features\n");
    }
    if heaviest.is_empty() && weights.bias.is_none() {
        return text;
    }
    let stand_in = if linear { "" } else { " of the linear model that stands for it" };
    let whose = mixture.map_or(stand_in.to_owned(), |m| format!(" of {}", m.heaviest_member));
    let _ = writeln!(text, "\nheaviest weights{of_class}{whose}");
    let largest = heaviest.iter().map(|(_, w)| w.abs()).fold(weights.bias.unwrap_or(0.0).abs(), f64::max);
    let bias = weights.bias.map(|b| ("(bias)".to_owned(), b));
    for (name, weight) in heaviest.iter().chain(&bias) {
        let bar = "#".repeat((weight.abs() / largest.max(f64::MIN_POSITIVE) * 30.0).round() as usize);
        let _ = writeln!(text, "  {weight:>12.6}  {name:<32} {bar}");
    }
    text
}
