//! Flags that several commands share, and flags made from the registries.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use noregret::error::UsageError;
use noregret::example::format::{self, Options};
use noregret::example::select::Selection;
use noregret::parameter::{Kind, Parameter, Parameters};
use noregret::{learner, loss, multiclass};
use std::ffi::OsString;
use std::path::Path;

/// The inputs of a command.
pub(crate) fn data() -> Arg {
    Arg::new("data").value_name("DATA").required(true).num_args(1..).help(
        "Files, patterns such as 'part-*.svm.gz', or - for standard input; gzip and zstd are recognised",
    )
}

/// How to read them, and flags that every command has.
pub(crate) fn reading(command: Command) -> Command {
    let formats = format::ENTRIES.iter().map(|e| e.name).collect::<Vec<_>>();
    command
        .arg(
            option("format", "NAME")
                .value_parser(clap::builder::PossibleValuesParser::new(formats))
                .help("Format of the input [default: by name, then by content]"),
        )
        .arg(option("label", "COLUMN").help("Column or key of the label (CSV, JSON lines, Arrow, Parquet)"))
        .arg(
            option("weight", "COLUMN")
                .help("Column or key of the importance weight (CSV, JSON lines, Arrow, Parquet)"),
        )
        .arg(flag("zero-based").help("LIBSVM indices count from 0"))
        .arg(flag("no-header").help("CSV and TSV begin with data: columns are called 1, 2, 3, ..."))
        .arg(
            option("bits", "B")
                .value_parser(value_parser!(u32).range(1..=31))
                .help("Fold features into 2^B places [default for hashed names: 18]"),
        )
        .arg(
            option("dimension", "N")
                .value_parser(value_parser!(u32).range(1..))
                .help("How many features there are; an index beyond is an error"),
        )
        .arg(names("interactions", "A*B").help(
            "Multiply columns, keys or namespaces: names joined by *, several separated by commas; in VW text \
             first letters too (ab)",
        ))
        .arg(names("ignore", "NAME").help("Leave out columns, keys or namespaces, separated by commas"))
        .arg(names("keep", "NAME").help("Read only these columns, keys or namespaces"))
        .arg(
            option("on-error", "WHAT")
                .value_parser(["fail", "skip"])
                .default_value("fail")
                .help("Stop at the first bad record, or skip and count them"),
        )
        .arg(
            option("threads", "N")
                .value_parser(value_parser!(u16).range(1..=256))
                .help("Threads that parse; the result does not depend on it [default: the cores]"),
        )
}

/// `--json`, `--quiet` and `--seed`, which every command has.
pub(crate) fn common(command: Command) -> Command {
    command
        .arg(option("json", "FILE").help("Write a JSON object to FILE, or to standard output with -"))
        .arg(flag("quiet").short('q').help("No progress and no messages but errors"))
        .arg(
            option("seed", "S")
                .value_parser(value_parser!(u64))
                .default_value("1")
                .help("Seed of whatever is random (learning itself never is)"),
        )
}

/// `--multiclass` where it is understood but not done: [`refuse_multiclass`] says what is.
pub(crate) fn multiclass() -> Arg {
    Arg::new("multiclass")
        .long("multiclass")
        .num_args(0..=1)
        .default_missing_value(multiclass::ENTRIES[0].name)
        .hide(true)
}

/// The words of a command, with a file behind `--multiclass` told apart from a way to learn several classes: both may
/// stand there.
pub(crate) fn told_apart(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    for k in 1..words.len() {
        let is_data = words[k] == "-" || Path::new(&words[k]).exists();
        let is_way = words[k].to_str().is_some_and(|word| multiclass::find(word).is_ok());
        if words[k - 1] == "--multiclass" && is_data && !is_way {
            words[k - 1] = format!("--multiclass={}", multiclass::ENTRIES[0].name).into();
        }
    }
    words
}

/// Refuses `--multiclass` with what to do in its place.
pub(crate) fn refuse_multiclass(matches: &ArgMatches, instead: &str) -> Result<(), UsageError> {
    if matches.contains_id("multiclass") {
        return Err(UsageError(format!(
            "--multiclass is for `noregret learn --multiclass`; here there are two classes or numbers: {instead}"
        )));
    }
    Ok(())
}

/// `--name VALUE`.
pub(crate) fn option(name: &'static str, value: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).num_args(1)
}

/// `--name VALUE,VALUE`, as often as one likes.
fn names(name: &'static str, value: &'static str) -> Arg {
    option(name, value).action(ArgAction::Append).value_delimiter(',')
}

/// `--name VALUE` for a number; what is negative is refused with the reason, not as an unknown flag.
pub(crate) fn number(name: &'static str, value: &'static str) -> Arg {
    option(name, value).value_parser(value_parser!(f64)).allow_negative_numbers(true)
}

/// `--name`.
pub(crate) fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

/// The name of the format, where it was said.
pub(crate) fn format_name(matches: &ArgMatches) -> Option<&str> {
    matches.get_one::<String>("format").map(String::as_str)
}

/// How many threads parse.
pub(crate) fn threads(matches: &ArgMatches) -> usize {
    matches.get_one::<u16>("threads").map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        |n| usize::from(*n),
    )
}

/// What was said about reading.
pub(crate) fn options(matches: &ArgMatches) -> Options {
    let list =
        |name: &str| matches.get_many::<String>(name).map_or_else(Vec::new, |all| all.cloned().collect());
    Options {
        zero_based: matches.get_flag("zero-based"),
        no_header: matches.get_flag("no-header"),
        bits: matches.get_one("bits").copied(),
        dimension: matches.get_one("dimension").copied(),
        label: matches.get_one("label").cloned(),
        weight: matches.get_one("weight").cloned(),
        selection: Selection {
            interactions: list("interactions"),
            ignore: list("ignore"),
            keep: list("keep"),
        },
        skip: matches.get_one::<String>("on-error").is_some_and(|w| w == "skip"),
        unlabelled: false,
        schema: None,
    }
}

/// How many features a model is told to expect.
pub(crate) fn dimension(options: &Options) -> Option<u32> {
    options.dimension.or(options.bits.map(|bits| 1_u32 << bits))
}

/// Refuses reading flags that mean nothing in the format that was found, rather than ignore them.
pub(crate) fn refuse_idle(matches: &ArgMatches, format: &str, table: bool) -> Result<(), UsageError> {
    let names = table || matches!(format, "csv" | "tsv" | "jsonl");
    for flag in ["label", "weight"] {
        if matches.contains_id(flag) && !names {
            return Err(UsageError(format!(
                "--{flag} names a column or key, and the input's format {format} has none; leave the flag out"
            )));
        }
    }
    if matches.get_flag("zero-based") && format != "libsvm" {
        return Err(UsageError(format!("--zero-based is for LIBSVM; the input's format is {format}")));
    }
    if matches.get_flag("no-header") && !matches!(format, "csv" | "tsv") {
        return Err(UsageError(format!("--no-header is for CSV and TSV; the input's format is {format}")));
    }
    Ok(())
}

/// Every parameter of every learner and loss, once each by name, with who has it.
fn parameters() -> Vec<(Parameter, Vec<&'static str>)> {
    let learners = learner::ENTRIES.iter().flat_map(|e| e.parameters.iter().map(|p| (*p, e.name)));
    let losses = loss::ENTRIES.iter().flat_map(|e| e.parameters.iter().map(|p| (*p, e.name)));
    let mut found: Vec<(Parameter, Vec<&'static str>)> = Vec::new();
    for (parameter, owner) in learners.chain(losses) {
        match found.iter_mut().find(|(p, _)| p.name == parameter.name) {
            Some((_, owners)) => owners.push(owner),
            None => found.push((parameter, vec![owner])),
        }
    }
    found
}

/// The names of their flags.
pub(crate) fn parameter_names() -> Vec<&'static str> {
    parameters().into_iter().map(|(parameter, _)| parameter.name).collect()
}

/// Flags for the parameters of learners and losses, from the registries.
pub(crate) fn registry(mut command: Command) -> Command {
    for (parameter, owners) in parameters() {
        let value = match parameter.kind {
            Kind::Choice(words) => words.join("|").to_uppercase(),
            Kind::Count => "N".to_owned(),
            Kind::Positive | Kind::Nonnegative | Kind::Fraction => "X".to_owned(),
        };
        let meaning = match (owners.as_slice(), parameter.default) {
            ([_], Some(default)) => format!("{} [default: {default}]", parameter.meaning),
            ([_], None) => parameter.meaning.to_owned(),
            // What it means differs from one to the other.
            _ => "see `noregret learners NAME`".to_owned(),
        };
        command = command.arg(
            Arg::new(parameter.name)
                .long(parameter.name)
                .value_name(value)
                .num_args(1)
                .allow_negative_numbers(true)
                .help_heading("Parameters of learners and losses")
                .help(format!("{}: {meaning}", owners.join(", "))),
        );
    }
    command
}

/// Flags for the parameters of losses alone.
pub(crate) fn loss_registry(mut command: Command) -> Command {
    for entry in loss::ENTRIES {
        for parameter in entry.parameters {
            let default = parameter.default.map_or(String::new(), |d| format!(" [default: {d}]"));
            command = command.arg(
                Arg::new(parameter.name)
                    .long(parameter.name)
                    .value_name("X")
                    .num_args(1)
                    .help_heading("Parameters of losses")
                    .help(format!("{}: {}{default}", entry.name, parameter.meaning)),
            );
        }
    }
    command
}

/// The parameters that were given to a loss; one of another loss is refused. None when there were none.
pub(crate) fn given_to_loss(matches: &ArgMatches, loss: &loss::Entry) -> Result<Option<Parameters>> {
    let mut given = Vec::new();
    for entry in loss::ENTRIES {
        for parameter in entry.parameters {
            let Some(text) = matches.get_one::<String>(parameter.name) else { continue };
            if entry.name != loss.name {
                return Err(UsageError(format!(
                    "--{} belongs to {}, not to loss `{}`",
                    parameter.name, entry.name, loss.name
                ))
                .into());
            }
            given.push((parameter.name, text.as_str()));
        }
    }
    if given.is_empty() {
        return Ok(None);
    }
    Ok(Some(Parameters::check(loss.name, loss.parameters, given)?))
}

/// The parameters that were given, sorted to the learner and to the loss. One that belongs to
/// neither is refused with the name of its owner.
pub(crate) fn given(
    matches: &ArgMatches,
    learner: &learner::Entry,
    loss: &loss::Entry,
) -> Result<(Parameters, Parameters)> {
    let (mut to_learner, mut to_loss) = (Vec::new(), Vec::new());
    for (parameter, owners) in parameters() {
        let Some(text) = matches.get_one::<String>(parameter.name) else { continue };
        let has = |list: &[Parameter]| list.iter().any(|p| p.name == parameter.name);
        if has(learner.parameters) {
            to_learner.push((parameter.name, text.as_str()));
        } else if has(loss.parameters) {
            to_loss.push((parameter.name, text.as_str()));
        } else {
            return Err(UsageError(format!(
                "--{} belongs to {}, not to learner `{}` or loss `{}`",
                parameter.name,
                owners.join(", "),
                learner.name,
                loss.name
            ))
            .into());
        }
    }
    Ok((
        Parameters::check(learner.name, learner.parameters, to_learner)?,
        Parameters::check(loss.name, loss.parameters, to_loss)?,
    ))
}
