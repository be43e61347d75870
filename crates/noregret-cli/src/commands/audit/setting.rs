//! What is audited: the loss, the class and the labels, from flags, from a run's summary or from a
//! model, which must not contradict one another.

use crate::arguments;
use anyhow::Result;
use clap::ArgMatches;
use noregret::error::{Error, UsageError};
use noregret::example::label::Name;
use noregret::example::{Block, LabelMap};
use noregret::loss::{self, Loss, Task};
use noregret::model::Model;
use noregret::parameter::Parameters;
use noregret::regret::Comparator;
use serde_json::Value;
use std::path::Path;

/// A summary that `learn --json` wrote.
pub(super) struct Run {
    pub(super) summary: Value,
    path: String,
}

impl Run {
    pub(super) fn load(path: &str, class: Option<&String>) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Io { path: Path::new(path).to_owned(), source })?;
        let wrong = |message: String| Error::Model { path: path.into(), message };
        let summary: Value = serde_json::from_str(&text)
            .map_err(|e| wrong(format!("not a summary of `learn --json`: {e}")))?;
        if summary["average_loss"].as_f64().is_none() || summary["loss"].as_str().is_none() {
            return Err(wrong("not a summary of `learn --json`: no average_loss".to_owned()).into());
        }
        let summary = match (summary["multiclass"].as_str(), class) {
            (Some(_), class) => one_class(summary, class)?,
            (None, Some(class)) => {
                return Err(UsageError(format!(
                    "--class {class}: the run is not one of several classes; leave the flag out"
                ))
                .into());
            }
            (None, None) => summary,
        };
        Ok(Self { summary, path: path.to_owned() })
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.summary[key].as_f64()
    }

    pub(super) fn certificate(&self, key: &str) -> Option<f64> {
        self.summary["certificate"][key].as_f64()
    }

    /// Refuses a run on other data.
    pub(super) fn check(&self, examples: u64, weight: f64) -> Result<(), Error> {
        let seen = self.summary["examples"].as_u64().unwrap_or(0);
        let total = self.number("weight").unwrap_or(weight);
        if seen != examples || (total - weight).abs() > 1e-9 * weight.abs() {
            return Err(Error::Model {
                path: self.path.clone().into(),
                message: format!(
                    "the run saw {seen} examples of weight {total}, the data has {examples} of weight \
                     {weight}: audit the data that the run learned from"
                ),
            });
        }
        Ok(())
    }
}

/// A run of several classes, as one of its classes against the rest.
fn one_class(mut summary: Value, class: Option<&String>) -> Result<Value, UsageError> {
    if summary["multiclass"] != "ovr" {
        return Err(UsageError(format!(
            "the run learned several classes by {}, which an audit does not know; learn with --multiclass ovr to \
             audit each class",
            summary["multiclass"]
        )));
    }
    let classes = summary["classes"].as_array().cloned().unwrap_or_default();
    let labels: Vec<&str> = classes.iter().filter_map(|c| c["label"].as_str()).collect();
    let found = class.and_then(|name| labels.iter().position(|label| label == name));
    let Some(k) = found else {
        return Err(UsageError(format!(
            "the run has several classes: name the one to audit against the rest with --class, one of {}",
            labels.join(", ")
        )));
    };
    for key in ["average_loss", "certificate", "bound", "baseline"] {
        summary[key] = classes[k][key].clone();
    }
    // Counted of all classes together.
    summary["mistakes"] = Value::Null;
    summary["error_rate"] = Value::Null;
    summary["labels"] = serde_json::json!(LabelMap::OneVersusRest { positive: Name::parse(labels[k]) });
    Ok(summary)
}

/// What is audited.
pub(super) struct Setting {
    pub(super) loss: Box<dyn Loss>,
    pub(super) loss_parameters: Parameters,
    pub(super) labels: LabelMap,
    pub(super) bias: bool,
    /// One class for each radius, ascending.
    pub(super) classes: Vec<Comparator>,
    /// Which of them the run speaks of, or else the last.
    pub(super) chosen: usize,
    pub(super) l2: Option<f64>,
}

fn radii(matches: &ArgMatches) -> Result<Vec<f64>> {
    let Some(text) = matches.get_one::<String>("radius") else { return Ok(Vec::new()) };
    let mut radii = Vec::new();
    for part in text.split(',') {
        match part.trim().parse::<f64>() {
            Ok(radius) if radius > 0.0 && radius.is_finite() => radii.push(radius),
            _ => {
                return Err(UsageError(format!(
                    "--radius: found `{part}`, expected a number greater than 0, or several with commas \
                     between (without a bound some problems have no minimum)"
                ))
                .into());
            }
        }
    }
    radii.sort_by(f64::total_cmp);
    radii.dedup();
    Ok(radii)
}

/// The losses' parameters that a summary holds.
fn stored(summary: &Value) -> Option<Parameters> {
    serde_json::from_value(summary["loss_parameters"].clone()).ok()
}

impl Setting {
    pub(super) fn new(
        matches: &ArgMatches,
        first: Option<&Block<f32>>,
        run: Option<&Run>,
        model: Option<&Model>,
    ) -> Result<Self> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let learned = model.map(|m| m.engine.config());
        let detected = first.map_or_else(LabelMap::binary, LabelMap::detect);
        let name = text("loss")
            .or_else(|| run.and_then(|r| r.summary["loss"].as_str().map(str::to_owned)))
            .or_else(|| learned.map(|c| c.loss.clone()))
            .unwrap_or_else(|| {
                // A class against the rest is two classes, whatever the labels are.
                let real = detected == LabelMap::Real && text("class").is_none();
                if real { "square" } else { "logistic" }.to_owned()
            });
        let entry = loss::find(&name)?;
        if let Some(run) = run
            && run.summary["loss"] != entry.name
        {
            return Err(UsageError(format!(
                "--loss {name}, but the run suffered the {} loss; leave --loss out",
                run.summary["loss"]
            ))
            .into());
        }
        let loss_parameters = match arguments::given_to_loss(matches, entry)? {
            Some(given) => given,
            None => run
                .and_then(|r| stored(&r.summary))
                .or_else(|| learned.filter(|c| c.loss == name).map(|c| c.loss_parameters.clone()))
                .unwrap_or_default(),
        };
        let loss = (entry.build)(&loss_parameters)?;
        let kept = run
            .and_then(|r| serde_json::from_value::<LabelMap>(r.summary["labels"].clone()).ok())
            .or_else(|| model.map(|m| m.labels.clone()));
        let labels = match (entry.task, text("positive"), kept) {
            (_, None, Some(rest @ LabelMap::OneVersusRest { .. })) => rest,
            (_, None, _) if text("class").is_some() && run.is_none() => {
                LabelMap::OneVersusRest { positive: Name::parse(&text("class").unwrap_or_default()) }
            }
            (_, Some(_), _) if text("class").is_some() => {
                return Err(
                    UsageError::new("--class and --positive say the same: leave --positive out").into()
                );
            }
            (Task::Real, None, _) => LabelMap::Real,
            (Task::Real, Some(_), _) => {
                return Err(UsageError(format!(
                    "--positive is for two classes; the {name} loss takes numbers as labels"
                ))
                .into());
            }
            (Task::Binary, Some(name), _) => LabelMap::with_positive(&name),
            (Task::Binary, None, Some(map @ LabelMap::Binary { .. })) => map,
            (Task::Binary, None, _) => LabelMap::binary(),
        };
        let known = run.and_then(|r| r.summary["bias"].as_bool()).or(learned.map(|c| c.bias));
        let bias = known.unwrap_or(true) && !matches.get_flag("no-bias");
        if known == Some(true) && !bias {
            return Err(
                UsageError::new("--no-bias, but the run or the model has a bias; leave it out").into()
            );
        }
        let l2 = matches
            .get_one::<f64>("l2")
            .copied()
            .or_else(|| run.and_then(|r| r.number("l2")))
            .filter(|_| true);
        let (classes, chosen) = Self::classes(matches, &name, l2, run)?;
        Ok(Self { loss, loss_parameters, labels, bias, classes, chosen, l2 })
    }

    fn classes(
        matches: &ArgMatches,
        loss: &str,
        l2: Option<f64>,
        run: Option<&Run>,
    ) -> Result<(Vec<Comparator>, usize)> {
        if let Some(sigma) = l2
            && !(sigma > 0.0 && sigma.is_finite())
        {
            return Err(UsageError(format!("--l2: found {sigma}, expected a number greater than 0")).into());
        }
        let mut radii = radii(matches)?;
        let learned = run.and_then(|r| r.summary["certificate"]["comparator"].as_str());
        let name = match matches.get_one::<String>("comparator") {
            Some(name) => name.as_str(),
            None if matches.get_one::<f64>("l2").is_some() && radii.is_empty() => "ridge",
            None => learned.unwrap_or("l2"),
        };
        if name == "ridge" {
            if !radii.is_empty() {
                return Err(UsageError::new(
                    "--radius does not go with --comparator ridge, which compares with models of every norm",
                )
                .into());
            }
            return Ok((vec![Comparator::new(name, 0.0, l2)?], 0));
        }
        let certified = run.and_then(|r| r.certificate("radius")).filter(|r| *r > 0.0);
        if radii.is_empty() {
            radii.extend(certified.filter(|_| learned == Some(name)));
        }
        if radii.is_empty() {
            let why = if loss == "linear" {
                "the linear loss has no lower bound over all models"
            } else {
                "the best model of every norm may not exist"
            };
            return Err(UsageError(format!("{why}: say --radius U, or --l2 SIGMA for a penalty")).into());
        }
        let class = Comparator::new(name, 0.0, l2)?;
        let classes: Vec<Comparator> = radii.iter().map(|&radius| class.with_radius(radius)).collect();
        let same = |r: &f64| certified.is_some_and(|c| c == *r) && learned == Some(name);
        let chosen = radii.iter().position(same).unwrap_or(radii.len() - 1);
        Ok((classes, chosen))
    }
}
