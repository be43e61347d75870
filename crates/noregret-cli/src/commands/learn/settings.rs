//! The flags of `learn` that define a model: checked, completed by the first block, and compared with
//! a model that is resumed.

use super::several;
use crate::arguments;
use anyhow::Result;
use clap::{ArgMatches, Command};
use noregret::engine::{Config, Engine};
use noregret::error::UsageError;
use noregret::example::format::Options;
use noregret::example::label::Name;
use noregret::example::{Block, LabelMap};
use noregret::learner::{self, Losses};
use noregret::loss::{self, Task};
use noregret::model::AnyModel;
use noregret::multiclass::{Entry, Multiclass, Pupil};
use noregret::regret::comparator;

/// The learner when none is named.
const DEFAULT_LEARNER: &str = "auto";

/// Adds the flags.
pub(super) fn arguments(command: Command) -> Command {
    let number = arguments::number;
    command
        .arg(
            arguments::option("loss", "NAME")
                .help("The loss (see `noregret losses`) [default: logistic for two labels, square for numbers]"),
        )
        .arg(
            arguments::option("learner", "NAME")
                .help(format!("The learner (see `noregret learners`) [default: {DEFAULT_LEARNER}]")),
        )
        .arg(number("radius", "U").help(
            "The ball of a projected learner and of the comparators [default: the learner's, or the model's norm]",
        ))
        .arg(arguments::option("comparator", "CLASS").help(format!(
            "Whom the certificate compares with: {}",
            comparator::NAMES.iter().map(|(n, m)| format!("{n}, {m}")).collect::<Vec<_>>().join("; ")
        )))
        .arg(number("l2", "SIGMA").help("Strength of the penalty (SIGMA/2)|w|^2 a round"))
        .arg(number("delta", "D").help("The risk bound may fail with this probability [default: 0.05]"))
        .arg(arguments::flag("average").help("Keep the averaged iterate, for `predict --averaged`"))
        .arg(number("row-bound", "X").help("A promise: no row is longer (the bias included)"))
        .arg(number("label-bound", "Y").help("A promise: no label is larger in absolute value"))
        .arg(arguments::flag("no-bias").help("No constant feature"))
}

/// What was said; the loss may still be open.
pub(super) struct Settings {
    config: Config,
    loss: Option<String>,
    multiclass: Option<&'static Entry>,
}

impl Settings {
    pub(super) fn new(matches: &ArgMatches, resumed: Option<&AnyModel>) -> Result<Self> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let number = |name: &str| matches.get_one::<f64>(name).copied();
        if let Some(model) = resumed {
            return Self::resumed(matches, model);
        }
        let multiclass = several::scheme(matches)?;
        if let Some(scheme) = multiclass {
            refuse_idle(matches, scheme)?;
        }
        let learner = text("learner").unwrap_or_else(|| DEFAULT_LEARNER.to_owned());
        let entry = learner::find(&learner)?;
        let loss = match (text("loss"), entry.losses) {
            (Some(name), _) => Some(loss::find(&name)?.name.to_owned()),
            (None, Losses::Only(names)) => Some(names[0].to_owned()),
            (None, Losses::All) => None,
        };
        let dimension = arguments::dimension(&arguments::options(matches));
        let config = Config {
            radius: number("radius"),
            comparator: text("comparator"),
            l2: number("l2"),
            row_bound: number("row-bound"),
            label_bound: number("label-bound"),
            delta: number("delta").unwrap_or(0.05),
            average: matches.get_flag("average"),
            bias: !matches.get_flag("no-bias"),
            dimension,
            ..Config::new(&learner, "")
        };
        // Classes are told apart by the loss of two classes, whatever their names look like.
        let loss = loss.or_else(|| multiclass.map(|_| "logistic".to_owned()));
        let settings = Self { config, loss, multiclass };
        // What can be refused is refused before anything is read.
        match (&settings.loss, multiclass) {
            (_, Some(_)) => drop(settings.build(None, matches, &arguments::options(matches))?),
            (Some(loss), None) => drop(Engine::new(settings.complete(loss, matches)?)?),
            (None, None) => {}
        }
        Ok(settings)
    }

    fn complete(&self, loss: &str, matches: &ArgMatches) -> Result<Config> {
        let (parameters, loss_parameters) =
            arguments::given(matches, learner::find(&self.config.learner)?, loss::find(loss)?)?;
        Ok(Config { loss: loss.to_owned(), parameters, loss_parameters, ..self.config.clone() })
    }

    /// Who learns and the meaning of labels, once the first block is there.
    pub(super) fn build(
        &self,
        first: Option<&Block<f32>>,
        matches: &ArgMatches,
        options: &Options,
    ) -> Result<(Pupil, LabelMap)> {
        let dimension = arguments::dimension(options);
        if let Some(scheme) = self.multiclass {
            let classes = several::classes(matches)?;
            let named = classes.is_closed().then_some(classes.names().len());
            let config = self.complete(self.loss.as_deref().unwrap_or("logistic"), matches)?;
            let multiclass = Multiclass::new(scheme.name, Config { dimension, ..config }, named)?;
            return Ok((Pupil::Many(Box::new(multiclass)), LabelMap::Classes(classes)));
        }
        let positive = matches.get_one::<String>("positive");
        let detected = first.map_or_else(LabelMap::binary, LabelMap::detect);
        let loss = match (&self.loss, &detected) {
            (Some(loss), _) => loss.clone(),
            (None, LabelMap::Real) if positive.is_none() => "square".to_owned(),
            (None, _) => "logistic".to_owned(),
        };
        let task = loss::find(&loss)?.task;
        let labels = match (task, positive) {
            (Task::Real, None) => LabelMap::Real,
            (Task::Real, Some(_)) => {
                return Err(UsageError(format!(
                    "--positive is for two classes; the {loss} loss takes numbers as labels"
                ))
                .into());
            }
            (Task::Binary, Some(name)) => LabelMap::with_positive(name),
            (Task::Binary, None) => LabelMap::binary(),
        };
        let engine = Engine::new(Config { dimension, ..self.complete(&loss, matches)? })?;
        Ok((Pupil::One(Box::new(engine)), labels))
    }

    /// A resumed model decides; a flag that says otherwise is refused.
    fn resumed(matches: &ArgMatches, model: &AnyModel) -> Result<Self> {
        let config = model.engine.config();
        let refuse = |flag: &str, said: &str, is: &str| {
            let said = if said.is_empty() { String::new() } else { format!(" {said}") };
            UsageError(format!(
                "--{flag}{said} contradicts the model, which has {is}; leave the flag out, or start anew"
            ))
        };
        let scheme = model.engine.multiclass().map(Multiclass::entry);
        if let Some(said) = several::scheme(matches)?
            && scheme.is_none_or(|is| is.name != said.name)
        {
            let is = scheme.map_or("two classes or numbers", |is| is.name);
            return Err(refuse("multiclass", said.name, is).into());
        }
        if let Some(said) = matches.get_one::<String>("classes")
            && LabelMap::Classes(several::classes(matches)?) != model.labels
        {
            return Err(refuse("classes", said, &model.labels.describe()).into());
        }
        let (comparator, radius_from) = model.engine.comparator();
        let words =
            [("learner", &*config.learner), ("loss", &config.loss), ("comparator", comparator.name())];
        for (flag, is) in words {
            if let Some(said) = matches.get_one::<String>(flag)
                && said != is
            {
                return Err(refuse(flag, said, is).into());
            }
        }
        let reading = &model.reading;
        for (flag, is) in [("label", &reading.label), ("weight", &reading.weight)] {
            let Some(said) = matches.get_one::<String>(flag) else { continue };
            match is {
                Some(is) if is != said => return Err(refuse(flag, said, is).into()),
                None if reading.schema.columns.contains(said) => {
                    return Err(refuse(flag, said, "it as a feature").into());
                }
                _ => {}
            }
        }
        let default_radius = comparator.radius().filter(|_| radius_from == Some("default"));
        let numbers = [
            ("radius", config.radius.or(default_radius)),
            ("l2", config.l2),
            ("row-bound", config.row_bound),
            ("label-bound", config.label_bound),
            ("delta", Some(config.delta)),
        ];
        for (flag, is) in numbers {
            if let Some(said) = matches.get_one::<f64>(flag)
                && Some(*said) != is
            {
                let is = is.map_or("none".to_owned(), |v| v.to_string());
                return Err(refuse(flag, &said.to_string(), &is).into());
            }
        }
        if matches.get_flag("average") && !config.average {
            return Err(refuse("average", "", "no average").into());
        }
        if matches.get_flag("no-bias") && config.bias {
            return Err(refuse("no-bias", "", "a bias").into());
        }
        if let Some(said) = matches.get_one::<String>("positive") {
            let is = model.labels.name_of(1.0);
            if Name::parse(said).to_string() != is {
                return Err(refuse("positive", said, &is).into());
            }
        }
        if let Some(scheme) = scheme.filter(|scheme| !scheme.is_composed()) {
            refuse_idle(matches, scheme)?;
            return Ok(Self {
                config: config.clone(),
                loss: Some(config.loss.clone()),
                multiclass: Some(scheme),
            });
        }
        let (parameters, loss_parameters) =
            arguments::given(matches, learner::find(&config.learner)?, loss::find(&config.loss)?)?;
        let lists = [
            (&parameters, &config.parameters, learner::find(&config.learner)?.parameters),
            (&loss_parameters, &config.loss_parameters, loss::find(&config.loss)?.parameters),
        ];
        for (said, is, known) in lists {
            for (name, value) in &said.0 {
                let default = known.iter().find(|p| p.name == name).and_then(|p| p.parse(p.default?).ok());
                let is = is.0.get(name).cloned().or(default);
                if is.as_ref() != Some(value) {
                    let is = is.map_or("its own choice".to_owned(), |is| is.to_string());
                    return Err(refuse(name, &value.to_string(), &is).into());
                }
            }
        }
        Ok(Self { config: config.clone(), loss: Some(config.loss.clone()), multiclass: scheme })
    }
}

/// Refuses flags that mean nothing to a scheme of several classes.
fn refuse_idle(matches: &ArgMatches, scheme: &Entry) -> Result<(), UsageError> {
    if matches.contains_id("positive") {
        return Err(UsageError::new("--positive is for two classes; it does not go with --multiclass"));
    }
    if scheme.is_composed() {
        return Ok(());
    }
    let learner = arguments::parameter_names().into_iter().chain(["learner", "loss", "delta"]);
    for flag in learner {
        if matches.contains_id(flag) {
            return Err(UsageError(format!(
                "--{flag} does not go with --multiclass {}, which has a learner and a loss of its own; \
                 leave it out, or use --multiclass ovr",
                scheme.name
            )));
        }
    }
    Ok(())
}
