//! `noregret audit`: the best in hindsight, bracketed to a tolerance; with a run's summary, its regret.

mod setting;
mod telling;

use crate::output;
use crate::screen::{Screen, stop_flag};
use crate::{arguments, picture};
use anyhow::Result;
use clap::{ArgMatches, Command, value_parser};
use noregret::bytes;
use noregret::error::UsageError;
use noregret::example::Reader;
use noregret::example::reader::{CHUNK_BYTES, Next};
use noregret::model::Model;
use noregret::regret::audit::{Auditor, Files, Search, Status};
use noregret::regret::{Comparator, comparator};
use noregret::report::progress::decimal;
use setting::{Run, Setting};
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use telling::Audited;

pub(crate) fn command() -> Command {
    let number = |name: &'static str, value: &'static str| {
        arguments::option(name, value).value_parser(value_parser!(f64))
    };
    let command = Command::new("audit")
        .about("Brackets the best loss in hindsight by reading the data again; with --run, the regret too")
        .arg(arguments::data())
        .arg(arguments::option("loss", "NAME").help(
            "The loss (see `noregret losses`) [default: the run's or the model's; logistic for two labels, square for numbers]",
        ))
        .arg(arguments::option("radius", "U[,U...]").help(
            "The radius of the class, or several for a curve [default: the radius of the run's certificate]",
        ))
        .arg(
            number("tolerance", "E")
                .default_value("1e-3")
                .help("Stop when the bracket is narrower than this part of its upper end"),
        )
        .arg(arguments::option("comparator", "CLASS").help(format!(
            "The class of models: {}",
            comparator::NAMES.iter().map(|(n, m)| format!("{n}, {m}")).collect::<Vec<_>>().join("; ")
        )))
        .arg(number("l2", "SIGMA").help("Strength of the penalty (SIGMA/2)|u|^2 a round, for ridge"))
        .arg(arguments::option("run", "SUMMARY").help("The summary of `learn --json`: bracket its regret"))
        .arg(arguments::multiclass())
        .arg(
            arguments::option("class", "NAME")
                .help("Audit this class against the rest, as `learn --multiclass ovr` learns it"),
        )
        .arg(arguments::option("model", "MODEL").help("A model file: tell its loss, and begin from it"))
        .arg(arguments::option("report", "FILE").help("Write a page with charts (HTML, works offline)"))
        .arg(arguments::option("plot", "FILE").help("Draw the curve of best loss against U (.svg or .png)"))
        .arg(
            arguments::option("memory", "MB")
                .value_parser(value_parser!(u64))
                .default_value("4096")
                .help("Keep the rows in memory if they take no more than this; otherwise read the files again"),
        )
        .arg(
            arguments::option("max-sweeps", "N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Give up after going through the rows so often"),
        )
        .arg(arguments::option("positive", "NAME").allow_hyphen_values(true).help("The label that means +1"))
        .arg(arguments::flag("no-bias").help("No constant feature"));
    arguments::loss_registry(arguments::common(arguments::reading(command)))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let began = Instant::now();
    let mut screen = Screen::new(matches.get_flag("quiet"));
    let stop = stop_flag(&screen, "audit without an answer");
    let tolerance = *matches.get_one::<f64>("tolerance").expect("clap has a default");
    if !(tolerance > 0.0 && tolerance.is_finite()) {
        let message = format!("--tolerance: found {tolerance}, expected a number greater than 0");
        return Err(UsageError(message).into());
    }
    picture::check(matches)?;
    arguments::refuse_multiclass(matches, "audit each class against the rest with --class NAME")?;
    let past =
        matches.get_one::<String>("run").map(|path| Run::load(path, matches.get_one("class"))).transpose()?;
    let model = matches.get_one::<String>("model").map(|path| Model::load(Path::new(path))).transpose()?;
    let mut options = arguments::options(matches);
    if let Some(model) = &model {
        options = model.reading.again(options)?;
    }
    // What can be refused is refused before anything is read.
    Setting::new(matches, None, past.as_ref(), model.as_ref())?;
    let skip = options.skip;
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(
        &inputs,
        &[("run", matches.get_one("run")), ("model", matches.get_one("model"))],
        &[
            ("json", matches.get_one("json")),
            ("report", matches.get_one("report")),
            ("plot", matches.get_one("plot")),
        ],
    )?;
    let format = arguments::format_name(matches);
    let mut reader = Reader::open(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    let first = loop {
        match reader.next_timeout(Duration::from_millis(100))? {
            Next::Block(block) => break Some(block),
            Next::Pending if !stop.load(Ordering::SeqCst) => {}
            Next::Pending | Next::End => break None,
        }
    };
    let setting = Setting::new(matches, first.as_ref(), past.as_ref(), model.as_ref())?;
    // By a flag, or by a cache.
    let features = reader.options().dimension;
    screen.start_bar(reader.bytes_total());
    let megabytes = *matches.get_one::<u64>("memory").expect("clap has a default");
    let budget = usize::try_from(megabytes.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
    let standing: Cell<Option<Status>> = Cell::new(None);
    let mut source = Files::new(reader, first, setting.labels.clone(), &*setting.loss, skip, budget, &stop)
        .watched(|bytes| {
            screen.advance(bytes, || standing.get().map_or("reading".to_owned(), |s| bracket_text(&s)));
        });
    let undecided = "stopped before the data had been read once: nothing is known yet";
    let Some(mut auditor) = Auditor::new(&mut source, &*setting.loss, setting.bias)? else {
        screen.say(undecided);
        return Ok(crate::UNDECIDED);
    };
    let book = auditor.survey().book.clone();
    if let Some(run) = &past {
        run.check(book.examples, book.weight.value())?;
    }
    if let Some(class) = matches.get_one::<String>("class") {
        // At u = 0 all slopes have one size, and those of the rest are above 0: nobody is of the class.
        let rest = setting.loss.slope(0.0, -1.0) * book.weight.value();
        let sum = auditor.survey().s.bias.unwrap_or(f64::NEG_INFINITY);
        if rest > 0.0 && sum >= rest * (1.0 - 1e-9) {
            return Err(UsageError(format!("--class {class}: no example has that label")).into());
        }
    }
    let given = model.as_ref().filter(|m| m.engine.is_linear()).map(|m| m.engine.weights());
    if given.is_none() && model.is_some() {
        screen.say("the model is not linear in the features: its own loss is told by `noregret predict`");
    }
    let model_loss = match &given {
        Some(weights) => auditor.loss_of(weights)?,
        None => None,
    };
    let most_sweeps = matches
        .get_one::<u64>("max-sweeps")
        .map_or(usize::MAX, |n| usize::try_from(*n).unwrap_or(usize::MAX));
    // A feature that no row has is part of the simplex too, and loses nothing.
    let all_seen = features.is_some_and(|n| n as usize == auditor.dimension());
    let mut brackets = Vec::new();
    for class in &setting.classes {
        let class = match *class {
            Comparator::Simplex { radius, .. } => Comparator::Simplex { radius, complete: all_seen },
            other => other,
        };
        let name = class.radius().map_or(String::new(), |r| format!(" {r}"));
        screen.say(&format!("{}{name}", class.name()));
        screen.say("    sweeps     at least      at most");
        let mut told = f64::INFINITY;
        let mut last = None;
        let mut watch = |s: &Status| {
            standing.set(Some(*s));
            screen.tell(|| bracket_text(s));
            let width = s.at_most - s.at_least;
            // A line whenever the bracket has halved.
            if width <= told / 2.0 || told.is_infinite() {
                told = width;
                screen.say(&line(s));
                last = Some(s.sweeps);
            }
            !stop.load(Ordering::SeqCst)
        };
        let start = brackets.last().map(|b: &noregret::regret::audit::Bracket| &b.u).or(given.as_ref());
        let search = Search { tolerance, most_sweeps, start };
        let bracket = auditor.bracket(class, &search, &mut watch)?;
        if last != Some(bracket.sweeps) {
            let s = Status { at_least: bracket.at_least, at_most: bracket.at_most, sweeps: bracket.sweeps };
            screen.say(&line(&s));
        }
        brackets.push(bracket);
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    let (dimension, nonzeros) = (auditor.dimension(), auditor.nonzeros());
    drop(auditor);
    let (in_memory, skipped) = (source.in_memory(), source.skipped());
    let unmet = if model.is_none() { source.reader().unmet() } else { Vec::new() };
    drop(source);
    screen.end_bar();
    screen.say_unmet(&unmet);
    let audited = Audited {
        setting: &setting,
        run: past.as_ref(),
        brackets: &brackets,
        book: &book,
        dimension,
        nonzeros,
        skipped,
        in_memory,
        model_loss,
        tolerance,
        interrupted: stop.load(Ordering::SeqCst),
        seconds: began.elapsed().as_secs_f64(),
    };
    audited.tell(matches)
}

fn bracket_text(status: &Status) -> String {
    format!("{} .. {}", decimal(status.at_least, f64::floor), decimal(status.at_most, f64::ceil))
}

fn line(status: &Status) -> String {
    let (low, high) = (decimal(status.at_least, f64::floor), decimal(status.at_most, f64::ceil));
    format!("{:>10} {low:>12} {high:>12}", status.sweeps)
}
