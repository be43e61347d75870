//! `noregret separate`: a separating hyperplane, or a proof that there is none above a margin.

use crate::screen::{Screen, stop_flag};
use crate::{arguments, output};
use anyhow::Result;
use clap::{ArgMatches, Command, value_parser};
use noregret::bytes;
use noregret::error::{Error, FormatError, UsageError};
use noregret::example::reader::{CHUNK_BYTES, Next};
use noregret::example::{LabelMap, Reader, Row};
use noregret::report::progress::decimal;
use noregret::separate::{
    self, Certificate, Data, Ended, Floor, Normalize, Outcome, Progress, Settings, Shape, Stop, Verdict,
    Verifier,
};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The answer is no.
const NO: u8 = 1;
/// There is no answer.
const UNDECIDED: u8 = 5;

/// What values are read as.
const VALUES: &str = "f64";

/// How many rows out of range are told of.
const TOLD: u64 = 10;

/// How often progress is told.
const EVERY: Duration = Duration::from_secs(1);

pub(crate) fn command() -> Command {
    let methods = separate::ENTRIES.iter().map(|e| e.name).collect::<Vec<_>>();
    let mut list = String::from("Methods:\n");
    for e in separate::ENTRIES {
        let _ = writeln!(list, "  {:13} {}: {}", e.name, e.summary, e.guarantee);
    }
    list += "\nExit codes: 0 separable, 1 proved not separable above the floor, 5 undecided; with --verify 0 a \
             valid separator, 1 a valid proof of non-separability, 3 refused.";
    let command = Command::new("separate")
        .about("Finds a separating hyperplane, or proves that there is none above a margin")
        .after_help(list)
        .arg(arguments::data())
        .arg(
            arguments::option("method", "NAME")
                .value_parser(clap::builder::PossibleValuesParser::new(methods))
                .default_value(separate::ENTRIES[0].name)
                .help("How"),
        )
        .arg(
            arguments::option("stop", "WHEN")
                .value_parser(["separated", "tolerance"])
                .help("Stop once it is known whether, or once the margin is known within --tolerance [default: separated; tolerance if --tolerance is given]"),
        )
        .arg(
            arguments::option("tolerance", "E")
                .value_parser(value_parser!(f64))
                .help("Width of the bracket on the margin, relative to its upper end [default: 0.01]"),
        )
        .arg(
            arguments::option("margin-floor", "M")
                .value_parser(value_parser!(f64))
                .help("Margins up to this count as none [default: 1e-12 times the length of the rows]"),
        )
        .arg(arguments::option("max-rounds", "N").value_parser(value_parser!(u64).range(1..)).help("The most rounds"))
        .arg(arguments::option("max-seconds", "S").value_parser(value_parser!(f64)).help("The most seconds"))
        .arg(
            arguments::option("normalize", "WHAT")
                .value_parser(["none", "rows"])
                .help("Divide each row by its length; margins are stated for the rows so made [default: none]"),
        )
        .arg(arguments::flag("no-bias").help("No constant feature"))
        .arg(arguments::option("positive", "NAME").help("The label that means +1"))
        .arg(arguments::option("certificate", "FILE").help("Write the separator or the proof here"))
        .arg(
            arguments::option("verify", "FILE")
                .conflicts_with_all(["certificate", "method", "stop", "tolerance", "max-rounds", "max-seconds"])
                .help("Check this certificate against the data in one pass"),
        );
    arguments::common(arguments::reading(command))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let screen = Screen::new(matches.get_flag("quiet"));
    let stop = stop_flag(&screen, "run without an answer");
    match matches.get_one::<String>("verify") {
        Some(path) => verify(matches, path, screen, &stop),
        None => search(matches, screen, &stop),
    }
}

/// What reading told beside the rows.
struct Read {
    format: String,
    labels: LabelMap,
    skipped: u64,
}

/// Why a row whose largest value has this size cannot be taken.
fn out_of_range(size: f64, shape: Shape) -> Option<String> {
    if size > separate::LARGEST_VALUE {
        let most = separate::LARGEST_VALUE;
        return Some(format!(
            "found a value of the size {size:e}, expected at most {most:e}; scale the data"
        ));
    }
    let bare = !shape.bias && shape.normalize == Normalize::None;
    (bare && size > 0.0 && size < separate::SMALLEST_ROW).then(|| {
        let least = separate::SMALLEST_ROW;
        format!(
            "the largest value has the size {size:e}, expected at least {least:e}; scale the data, or use \
             --normalize rows"
        )
    })
}

/// Hands every example to `take`. `None` when somebody wanted to stop.
fn read(
    matches: &ArgMatches,
    screen: &mut Screen,
    stop: &AtomicBool,
    shape: Shape,
    mut take: impl FnMut(Row<'_, f64>),
) -> Result<Option<Read>> {
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let options = arguments::options(matches);
    let skip = options.skip;
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(
        &inputs,
        &[("verify", matches.get_one("verify"))],
        &[("json", matches.get_one("json")), ("certificate", matches.get_one("certificate"))],
    )?;
    let format = arguments::format_name(matches);
    let mut reader =
        Reader::<f64>::open_as(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    let mut labels = match matches.get_one::<String>("positive") {
        Some(name) => LabelMap::with_positive(name),
        None => LabelMap::binary(),
    };
    let (mut skipped, mut out) = (0, 0);
    screen.start_bar(reader.bytes_total());
    loop {
        if stop.load(Ordering::SeqCst) {
            screen.end_bar();
            return Ok(None);
        }
        let mut block = match reader.next_timeout(Duration::from_millis(100))? {
            Next::Block(block) => block,
            Next::Pending => continue,
            Next::End => break,
        };
        let applied = labels.apply(&mut block, &|y| y.abs() == 1.0, skip);
        for reason in &applied.reasons {
            screen.say(&format!("skipped: {reason}"));
        }
        skipped += applied.skipped;
        for (k, row) in block.rows().iter().enumerate() {
            let Some(message) = out_of_range(row.x.norm_max(), shape) else {
                take(row);
                continue;
            };
            let error = FormatError { position: block.position(k), message };
            if !skip {
                return Err(Error::from(error).into());
            }
            skipped += 1;
            out += 1;
            if out <= TOLD {
                screen.say(&format!("skipped: {error}"));
            }
        }
        screen.advance(reader.bytes_read(), || "reading".to_owned());
        reader.recycle(block);
        if let Some(problem) = applied.problem {
            return Err(Error::from(problem).into());
        }
    }
    screen.end_bar();
    screen.say_unmet(&reader.unmet());
    skipped += reader.skipped();
    for reason in reader.reasons() {
        screen.say(&format!("skipped: {reason}"));
    }
    screen.say(&labels.describe());
    Ok(Some(Read { format: reader.format_name().unwrap_or("").to_owned(), labels, skipped }))
}

fn settings(matches: &ArgMatches) -> Result<Settings> {
    let method: &String = matches.get_one("method").expect("clap has a default");
    let mut settings = Settings::new(separate::find(method)?);
    let number = |name: &str, zero: bool| -> Result<Option<f64>, UsageError> {
        match matches.get_one::<f64>(name) {
            Some(v) if !v.is_finite() || *v < 0.0 || *v == 0.0 && !zero => {
                let expected = if zero { "a number from 0 on" } else { "a number greater than 0" };
                Err(UsageError(format!("--{name}: found {v}, expected {expected}")))
            }
            found => Ok(found.copied()),
        }
    };
    let tolerance = number("tolerance", false)?;
    settings.stop = match matches.get_one::<String>("stop").map(String::as_str) {
        Some("tolerance") => Stop::Tolerance,
        None if tolerance.is_some() => Stop::Tolerance,
        _ => Stop::Separated,
    };
    settings.tolerance = tolerance.unwrap_or(settings.tolerance);
    settings.floor = number("margin-floor", true)?.map_or(Floor::Relative, Floor::Absolute);
    settings.max_rounds = matches.get_one("max-rounds").copied();
    settings.max_time = number("max-seconds", false)?.map(Duration::from_secs_f64);
    Ok(settings)
}

fn search(matches: &ArgMatches, mut screen: Screen, stop: &AtomicBool) -> Result<u8> {
    let began = Instant::now();
    let settings = settings(matches)?;
    let rows = matches.get_one::<String>("normalize").is_some_and(|w| w == "rows");
    let shape = Shape {
        bias: !matches.get_flag("no-bias"),
        normalize: if rows { Normalize::Rows } else { Normalize::None },
    };
    let mut data = Data::new(shape);
    data.threads = arguments::threads(matches);
    let read = read(matches, &mut screen, stop, shape, |row| data.push(row.x, row.y))?;
    let Some(read) = read.filter(|_| !data.is_empty()) else {
        screen.say("stopped before all rows were read: nothing is known");
        return Ok(UNDECIDED);
    };
    let read_seconds = began.elapsed().as_secs_f64();
    let solving = Instant::now();
    let mut told = Instant::now();
    let outcome = separate::separate(&data, &settings, &mut |progress| {
        if told.elapsed() >= EVERY {
            told = Instant::now();
            screen.say(&line(progress));
        }
        !stop.load(Ordering::Relaxed)
    });
    let seconds = solving.elapsed().as_secs_f64();
    if let Some(path) = matches.get_one::<String>("certificate") {
        match Certificate::new(&outcome, &data, VALUES) {
            Some(certificate) => {
                certificate.save(Path::new(path))?;
                screen.say(&format!("certificate written to {path}"));
            }
            None => screen.say("no certificate is written, as nothing was decided"),
        }
    }
    let target = matches.get_one::<String>("json");
    if let Some(target) = target {
        let object = summary(&outcome, &settings, &data, &read, (read_seconds, seconds));
        output::json(target, object)?;
    }
    if target.map(String::as_str) != Some("-") && !matches.get_flag("quiet") {
        output::text(&closing(&outcome, &data, seconds))?;
    }
    Ok(match outcome.separable {
        Some(true) => crate::OK,
        Some(false) => NO,
        None => UNDECIDED,
    })
}

fn line(progress: &Progress) -> String {
    let Progress { rounds, at_least, at_most } = progress;
    format!("round {rounds}: margin between {at_least:.6e} and {at_most:.6e}")
}

fn summary(
    outcome: &Outcome,
    settings: &Settings,
    data: &Data,
    read: &Read,
    (read_seconds, seconds): (f64, f64),
) -> Map<String, Value> {
    let value = json!({
        "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
        "separable": outcome.separable,
        "margin": {"at_least": outcome.verified.at_least, "at_most": outcome.verified.at_most},
        "exact": outcome.verified.exact,
        "margin_floor": outcome.floor,
        "method": settings.method.name,
        "decided_by": outcome.decided_by,
        "ended": outcome.ended,
        "rounds": outcome.counts.rounds,
        "iterations": outcome.counts.iterations,
        "mistakes": outcome.counts.mistakes,
        "first_separating_round": outcome.first_separating_round,
        "theorems": outcome.theorems,
        "examples": data.len(),
        "positives": data.positives(),
        "dimension": data.features(),
        "nonzeros": data.nonzeros(),
        "bias": data.shape().bias,
        "normalize": data.shape().normalize,
        "longest_row": data.longest(),
        "values": VALUES,
        "format": read.format,
        "labels": read.labels,
        "skipped": read.skipped,
        "interrupted": outcome.ended == Ended::Interrupted,
        "read_seconds": read_seconds,
        "seconds": seconds,
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What a person reads at the end.
fn closing(outcome: &Outcome, data: &Data, seconds: f64) -> String {
    let verified = &outcome.verified;
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<18} {value}");
    };
    let bias = if data.shape().bias { " and a bias" } else { "" };
    line("examples", format!("{} with {} features{bias}", data.len(), data.features()));
    let counts = outcome.counts;
    let mistakes = counts.mistakes.map_or(String::new(), |m| format!(", {m} mistakes"));
    line(
        "search",
        format!(
            "{}, {} rounds{mistakes}, {} iterations, {seconds:.3} s",
            outcome.decided_by, counts.rounds, counts.iterations
        ),
    );
    line("margin", format!("between {:e} and {:e} (checked)", verified.at_least, verified.at_most));
    for checked in &outcome.theorems {
        let form = checked.form.map_or(String::new(), |form| format!(" ({form})"));
        let show = |a: f64| decimal(a, f64::round);
        let allowed = match (checked.allowed_at_least, checked.allowed) {
            (Some(low), Some(high)) => format!("{} to {}", show(low), show(high)),
            (Some(low), None) => format!("{} or more", show(low)),
            (None, Some(allowed)) => show(allowed),
            (None, None) => "any number".to_owned(),
        };
        let verdict = if checked.holds { "" } else { "  VIOLATED" };
        line(
            checked.theorem,
            format!(
                "{}{form}: {} used, {allowed} allowed{verdict}",
                checked.what,
                decimal(checked.used, f64::round)
            ),
        );
    }
    let rows = match data.shape().normalize {
        Normalize::None => "",
        Normalize::Rows => " of the normalised rows",
    };
    let answer = match outcome.separable {
        Some(true) => format!(
            "Separable: the hyperplane found has a margin{rows} of at least {:e}.\n",
            verified.at_least
        ),
        Some(false) if verified.exact => {
            format!("Not separable: {} rows, weighted, cancel exactly.\n", verified.weights.len())
        }
        Some(false) => format!(
            "Not separable: no hyperplane has a margin{rows} above {:e} (the floor is {:e}); {} weighted rows prove it.\n",
            verified.at_most,
            outcome.floor,
            verified.weights.len()
        ),
        None => format!(
            "Undecided ({}): the best margin{rows} is between {:e} and {:e}.\n",
            match outcome.ended {
                Ended::Rounds => "the rounds are used up",
                Ended::Time => "the time is used up",
                Ended::Interrupted => "interrupted",
                _ => "rounding stands in the way",
            },
            verified.at_least,
            verified.at_most
        ),
    };
    text + "\n" + &answer
}

fn verify(matches: &ArgMatches, path: &str, mut screen: Screen, stop: &AtomicBool) -> Result<u8> {
    let refuse = |reason: String| Error::Model {
        path: path.into(),
        message: format!("the certificate is refused: {reason}"),
    };
    let certificate = Certificate::load(Path::new(path))?;
    let floor = matches.get_one::<f64>("margin-floor").map_or(Floor::Relative, |f| Floor::Absolute(*f));
    let mut verifier = Verifier::new(certificate.clone(), floor).map_err(refuse)?;
    if read(matches, &mut screen, stop, certificate.shape(), |row| verifier.row(row.x, row.y))?.is_none() {
        screen.say("stopped before all rows were read: nothing is known");
        return Ok(UNDECIDED);
    }
    let Verdict { separable, claimed, found, examples } = verifier.finish().map_err(refuse)?;
    if let Some(target) = matches.get_one::<String>("json") {
        let margin = if separable {
            json!({"at_least": found, "at_most": null})
        } else {
            json!({"at_least": 0.0, "at_most": found})
        };
        let object = json!({
            "valid": true,
            "separable": separable,
            "margin": margin,
            "claimed": claimed,
            "examples": examples,
            "dimension": certificate.dimension,
            "bias": certificate.bias,
            "normalize": certificate.normalize,
            "values": VALUES,
        });
        if let Value::Object(map) = object {
            output::json(target, map)?;
        }
    }
    if matches.get_one::<String>("json").map(String::as_str) != Some("-") && !matches.get_flag("quiet") {
        let said = if separable {
            format!(
                "Valid: the hyperplane separates all {examples} rows with a margin of at least {found:e}.\n"
            )
        } else {
            format!("Valid: no hyperplane separates the {examples} rows with a margin above {found:e}.\n")
        };
        output::text(&said)?;
    }
    Ok(if separable { crate::OK } else { NO })
}
