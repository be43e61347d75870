//! Who is compared: learners with their parameters, losses, and the flags that all share.

use crate::arguments;
use anyhow::Result;
use clap::{ArgMatches, Command, value_parser};
use noregret::engine::{Config, Engine};
use noregret::error::UsageError;
use noregret::example::format::Options;
use noregret::learner::{self, Losses};
use noregret::loss::{self, Task};
use noregret::parameter::Parameters;
use noregret::regret::comparator;

/// Adds the flags.
pub(super) fn arguments(command: Command) -> Command {
    let number = |name: &'static str, value: &'static str| {
        arguments::option(name, value).value_parser(value_parser!(f64))
    };
    command
        .arg(arguments::option("learners", "A,B,...").required(true).help(
            "The learners (see `noregret learners`); one may carry its own parameters, as in ogd:eta=0.1:radius=5",
        ))
        .arg(arguments::option("losses", "X,Y,...").help(
            "The losses, each with every learner that takes it [default: logistic for two labels, square for numbers]",
        ))
        .arg(number("radius", "U").help("The ball of projected learners and of the comparators"))
        .arg(arguments::option("comparator", "CLASS").help(format!(
            "Whom the certificates compare with: {}",
            comparator::NAMES.iter().map(|(n, m)| format!("{n}, {m}")).collect::<Vec<_>>().join("; ")
        )))
        .arg(number("l2", "SIGMA").help("Strength of the penalty (SIGMA/2)|w|^2 a round, for learners that minimise one"))
        .arg(number("delta", "D").help("The risk bounds may fail with this probability [default: 0.05]"))
        .arg(number("row-bound", "X").help("A promise: no row is longer (the bias included)"))
        .arg(number("label-bound", "Y").help("A promise: no label is larger in absolute value"))
        .arg(arguments::option("positive", "NAME").help("The label that means +1"))
        .arg(arguments::flag("no-bias").help("No constant feature"))
}

/// A learner as it was named.
pub(super) struct Entrant {
    /// As the user wrote it.
    text: String,
    entry: &'static learner::Entry,
    own: Vec<(String, String)>,
}

/// All that was asked to be compared.
pub(super) struct Entrants {
    list: Vec<Entrant>,
    losses: Option<Vec<&'static loss::Entry>>,
}

impl Entrants {
    pub(super) fn new(matches: &ArgMatches) -> Result<Self> {
        let text: &String = matches.get_one("learners").expect("clap requires it");
        let mut list = Vec::new();
        for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            let mut parts = word.split(':');
            let entry = learner::find(parts.next().unwrap_or(""))?;
            let mut own = Vec::new();
            for part in parts {
                let (key, value) = part.split_once('=').ok_or_else(|| {
                    UsageError(format!("--learners: found `{part}` in `{word}`, expected NAME=VALUE"))
                })?;
                own.push((key.to_owned(), value.to_owned()));
            }
            list.push(Entrant { text: word.to_owned(), entry, own });
        }
        if list.is_empty() {
            return Err(UsageError::new("--learners: expected at least one learner").into());
        }
        let losses = match matches.get_one::<String>("losses") {
            None => None,
            Some(text) => Some(text.split(',').map(|w| loss::find(w.trim())).collect::<Result<Vec<_>, _>>()?),
        };
        Ok(Self { list, losses })
    }

    /// Whether a loss among them takes numbers or two classes; none when that follows from the data.
    pub(super) fn task(&self) -> Option<Task> {
        let named = self.losses.iter().flatten().map(|l| l.task);
        let bound = self.list.iter().filter_map(|e| match e.entry.losses {
            Losses::Only(names) if self.losses.is_none() => Some(loss::find(names[0]).ok()?.task),
            _ => None,
        });
        // One loss on two classes makes the labels -1 and +1, which losses on numbers take too.
        let tasks: Vec<Task> = named.chain(bound).collect();
        if tasks.contains(&Task::Binary) { Some(Task::Binary) } else { tasks.first().copied() }
    }

    /// An engine for every learner with every loss that it takes, and its name.
    pub(super) fn engines(
        &self,
        matches: &ArgMatches,
        options: &Options,
        task: Task,
    ) -> Result<Vec<(String, Engine)>> {
        let default = loss::find(if task == Task::Real { "square" } else { "logistic" })?;
        let mut engines: Vec<(String, Engine)> = Vec::new();
        for entrant in &self.list {
            let wanted = self.losses.clone();
            let losses: Vec<&'static loss::Entry> = match (entrant.entry.losses, wanted) {
                (Losses::All, Some(losses)) => losses,
                (Losses::All, None) => vec![default],
                (Losses::Only(names), None) => vec![loss::find(names[0])?],
                (Losses::Only(names), Some(losses)) => {
                    let mut fitting = losses;
                    fitting.retain(|l| names.contains(&l.name));
                    if fitting.is_empty() { vec![loss::find(names[0])?] } else { fitting }
                }
            };
            let several = self.losses.as_ref().is_some_and(|l| l.len() > 1);
            for loss in losses {
                let name =
                    if several { format!("{}, {}", entrant.text, loss.name) } else { entrant.text.clone() };
                engines.push((name, Engine::new(config(matches, options, entrant, loss)?)?));
            }
        }
        self.refuse_orphans(matches)?;
        Ok(engines)
    }

    /// A parameter that none of them has is refused.
    fn refuse_orphans(&self, matches: &ArgMatches) -> Result<()> {
        let all = learner::ENTRIES.iter().flat_map(|e| e.parameters);
        for parameter in all.chain(loss::ENTRIES.iter().flat_map(|e| e.parameters)) {
            let given = matches.get_one::<String>(parameter.name).is_some();
            let has = |list: &[noregret::parameter::Parameter]| list.iter().any(|p| p.name == parameter.name);
            let learners = self.list.iter().any(|e| has(e.entry.parameters));
            let losses = self.losses.iter().flatten().any(|l| has(l.parameters));
            if given && !learners && !losses {
                let message = format!("--{} belongs to none of the compared", parameter.name);
                return Err(UsageError(message).into());
            }
        }
        Ok(())
    }
}

fn config(
    matches: &ArgMatches,
    options: &Options,
    entrant: &Entrant,
    loss: &'static loss::Entry,
) -> Result<Config> {
    let entry = entrant.entry;
    let number = |name: &str| matches.get_one::<f64>(name).copied();
    let mut config = Config::new(entry.name, loss.name);
    config.radius = number("radius");
    config.comparator = matches.get_one::<String>("comparator").cloned();
    config.l2 = number("l2").filter(|_| entry.penalised || config.comparator.as_deref() == Some("ridge"));
    config.row_bound = number("row-bound");
    config.label_bound = number("label-bound");
    config.delta = number("delta").unwrap_or(0.05);
    config.bias = !matches.get_flag("no-bias");
    config.dimension = arguments::dimension(options);
    let mut given: Vec<(&str, &str)> = Vec::new();
    for parameter in entry.parameters {
        if let Some(text) = matches.get_one::<String>(parameter.name) {
            given.push((parameter.name, text));
        }
    }
    for (key, value) in &entrant.own {
        let parsed = value.parse::<f64>().ok();
        match (key.as_str(), parsed) {
            ("radius", Some(v)) => config.radius = Some(v),
            ("l2", Some(v)) => config.l2 = Some(v),
            ("radius" | "l2", None) => {
                return Err(UsageError(format!("--learners: {key}={value}: expected a number")).into());
            }
            _ => {
                given.retain(|(k, _)| k != key);
                given.push((key, value));
            }
        }
    }
    config.parameters = Parameters::check(entry.name, entry.parameters, given)?;
    let of_loss =
        loss.parameters.iter().filter_map(|p| Some((p.name, matches.get_one::<String>(p.name)?.as_str())));
    config.loss_parameters = Parameters::check(loss.name, loss.parameters, of_loss)?;
    Ok(config)
}
