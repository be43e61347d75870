//! `noregret learn`: one pass of progressive validation, with a certificate.

mod settings;
mod several;

use crate::screen::{Screen, stop_flag};
use crate::{arguments, output, picture};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use noregret::bytes;
use noregret::engine::Engine;
use noregret::error::{Error, FormatError, Position, UsageError};
use noregret::example::names::NameTable;
use noregret::example::reader::{CHUNK_BYTES, KEPT_REASONS, Next};
use noregret::example::{Block, LabelMap, Reader};
use noregret::model::{AnyModel, Reading};
use noregret::multiclass::Pupil;
use noregret::report::progress::{HEADING, Told, decimal, line};
use noregret::report::{Progress, ProgressRow, Run, table, verdict};
use settings::Settings;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn command() -> Command {
    let command = Command::new("learn")
        .about("Learns from a stream in one pass and certifies its regret")
        .arg(arguments::data());
    let command = settings::arguments(command)
        .arg(
            arguments::option("passes", "N")
                .value_parser(value_parser!(u32).range(1..))
                .default_value("1")
                .help(
                    "Passes over the data; everything but the model and the lower bound speaks of the first",
                ),
        )
        .arg(windows())
        .arg(arguments::option("model", "FILE").help("Save the model here"))
        .arg(arguments::option("report", "FILE").help("Write a page with charts (HTML, works offline)"))
        .arg(
            arguments::option("resume", "MODEL")
                .help("Go on from this model; learner, loss and parameters come from it"),
        )
        .arg(arguments::option("positive", "NAME").allow_hyphen_values(true).help("The label that means +1"));
    let command = several::arguments(command);
    arguments::registry(arguments::common(arguments::reading(command)))
}

/// Without a value the flag means yes; with one it is `--windows=no`, so that a file may follow.
fn windows() -> Arg {
    arguments::option("windows", "yes|no")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("yes")
        .value_parser(["yes", "no"])
        .hide_possible_values(true)
        .help(
            "Certify recent parts of the stream too (`regret since`), in the first pass [default: yes up to \
             2^20 features]; each takes 8 bytes a feature in memory and in the model's file, and there are at \
             most 1 + 2 log2(examples/max(1024, features/2)) of them",
        )
}

/// A run: what is read, what learns, what has happened.
struct Learning {
    reader: Reader,
    labels: LabelMap,
    engine: Pupil,
    progress: Progress,
    /// Whether anybody will see the rows of the progress table: each costs a walk over all weights.
    watched: bool,
    history: Vec<ProgressRow>,
    screen: Screen,
    stop: Arc<AtomicBool>,
    skip: bool,
    /// What has been said of the labels.
    announced: String,
    /// Reasons for skipped rows that have been said.
    reasons: usize,
    examples: u64,
    nonzeros: u64,
    skipped: u64,
    began: Instant,
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let began = Instant::now();
    let mut screen = Screen::new(matches.get_flag("quiet"));
    let stop = stop_flag(&screen, "run without saving");
    let resumed =
        matches.get_one::<String>("resume").map(|path| AnyModel::load(Path::new(path))).transpose()?;
    let passes = *matches.get_one::<u32>("passes").expect("clap has a default");
    let settings = Settings::new(matches, resumed.as_ref())?;
    if resumed.is_some() && passes > 1 {
        return Err(
            UsageError::new("--passes does not go with --resume: a resumed stream is read once").into()
        );
    }
    if let Some(path) = matches.get_one::<String>("model") {
        // Better now than after hours of learning.
        AnyModel::can_save(Path::new(path))?;
    }
    let mut options = arguments::options(matches);
    let mut names = NameTable::new();
    if let Some(model) = &resumed {
        options = model.reading.again(options)?;
    }
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(
        &inputs,
        &[("resume", matches.get_one("resume"))],
        &[
            ("model", matches.get_one("model")),
            ("json", matches.get_one("json")),
            ("report", matches.get_one("report")),
        ],
    )?;
    let format = arguments::format_name(matches);
    let skip = options.skip;
    let mut reader = Reader::open(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    if passes > 1 && reader.bytes_total().is_none() {
        return Err(UsageError::new("--passes needs files that can be read again, not standard input").into());
    }
    // The first block tells what the labels are, and so which loss is meant.
    let mut failed = None;
    let first = match wait(&mut reader, &stop) {
        Err(error) if resumed.is_some() => {
            // There is a model already, to be saved as ever.
            failed = Some(error);
            None
        }
        first => first?,
    };
    if first.is_some() {
        arguments::refuse_idle(matches, reader.format_name().unwrap_or(""), reader.is_table())?;
    }
    // A cache says how it was read.
    let options = reader.options();
    let reading = Reading {
        zero_based: options.zero_based,
        no_header: options.no_header,
        bits: options.bits,
        dimension: options.dimension,
        label: options.label.clone(),
        weight: options.weight.clone(),
        selection: options.selection.clone(),
        ..resumed.as_ref().map_or_else(Reading::default, |model| model.reading.clone())
    };
    let (mut engine, labels) = match resumed {
        Some(model) => {
            if first.is_some() {
                model.reading.same_format(reader.format_name())?;
            }
            names = model.names;
            (model.engine, model.labels)
        }
        None => settings.build(first.as_ref(), matches, options)?,
    };
    if let Some(said) = matches.get_one::<String>("windows") {
        match &mut engine {
            Pupil::One(engine) => engine.set_windows(said == "yes"),
            Pupil::Many(_) if said == "yes" => {
                let message =
                    "--windows: recent parts are told for two classes and for numbers; leave the flag out";
                return Err(UsageError::new(message).into());
            }
            Pupil::Many(_) => {}
        }
    }
    screen.start_bar(reader.bytes_total().map(|b| b * u64::from(passes)));
    if engine.examples() > 0 {
        screen.say(&format!("resumed after {} examples", engine.examples()));
    }
    screen.say(&match &engine {
        Pupil::One(engine) => opening(engine),
        Pupil::Many(multiclass) => several::opening(multiclass),
    });
    let mut learning = Learning {
        watched: !matches.get_flag("quiet") || matches.contains_id("json") || matches.contains_id("report"),
        progress: Progress::new(&engine),
        reader,
        labels,
        engine,
        history: Vec::new(),
        screen,
        stop,
        skip,
        announced: String::new(),
        reasons: 0,
        examples: 0,
        nonzeros: 0,
        skipped: 0,
        began,
    };
    let outcome = match failed {
        Some(error) => Err(error),
        None => learning.all_passes(first, passes),
    };
    learning.finish(matches, reading, names, outcome)
}

/// The next block; nothing at the end of the stream or when the user wants to stop.
fn wait(reader: &mut Reader, stop: &AtomicBool) -> Result<Option<Block<f32>>, Error> {
    loop {
        if stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        match reader.next_timeout(Duration::from_millis(100))? {
            Next::Block(block) => return Ok(Some(block)),
            Next::Pending => {}
            Next::End => return Ok(None),
        }
    }
}

/// One line: what learns, and against whom it is measured.
fn opening(engine: &Engine) -> String {
    let config = engine.config();
    let (comparator, from) = engine.comparator();
    let name = comparator.name();
    let class = match (comparator.radius(), from) {
        (None, _) => format!("every model, penalised by ({}/2)|u|^2 a round", config.l2.unwrap_or(0.0)),
        (Some(radius), _) if name == "simplex" => format!("every model on the simplex of sum {radius}"),
        (_, Some("model")) => format!("every model no larger in {name} norm than the one learned"),
        (Some(radius), _) => format!("every model of {name} norm at most {radius}"),
    };
    let bias = if config.bias { ", the bias included" } else { "" };
    format!("{} with {} loss, measured against {class}{bias}", config.learner, config.loss)
}

impl Learning {
    fn all_passes(&mut self, first: Option<Block<f32>>, passes: u32) -> Result<(), Error> {
        let mut next = first;
        for pass in 1..=passes {
            if pass > 1 {
                if self.stop.load(Ordering::SeqCst) {
                    break;
                }
                self.last_row();
                self.engine.next_pass();
                self.reader.rewind()?;
                next = wait(&mut self.reader, &self.stop)?;
            }
            while let Some(block) = next {
                self.learn(block, pass)?;
                next = wait(&mut self.reader, &self.stop)?;
            }
            if pass > 1 {
                let loss = self.engine.pass_loss().map_or("-".to_owned(), |l| decimal(l, f64::round));
                self.screen.say(&format!("pass {pass}: average loss {loss}"));
            }
        }
        Ok(())
    }

    fn learn(&mut self, mut block: Block<f32>, pass: u32) -> Result<(), Error> {
        let applied = self.labels.apply(&mut block, &|y| self.engine.accepts(y), self.skip);
        for reason in applied.reasons.iter().take(KEPT_REASONS - self.reasons.min(KEPT_REASONS)) {
            self.reasons += 1;
            self.screen.say(&format!("skipped: {reason}"));
        }
        if pass == 1 {
            self.skipped += applied.skipped;
        }
        self.announce();
        let rows = block.rows();
        let mut from = 0;
        while from < rows.len() {
            let left = rows.len() - from;
            let counted = pass == 1 && self.watched;
            let due = if counted { self.progress.until_due(&self.engine) } else { u64::MAX };
            let take = left.min(usize::try_from(due).unwrap_or(usize::MAX));
            let part = rows.slice(from, from + take);
            let before = self.engine.pass_examples();
            let learned = self.engine.learn(part);
            let done = usize::try_from(self.engine.pass_examples() - before).unwrap_or(part.len());
            if pass == 1 {
                self.examples += done as u64;
                self.nonzeros += part.slice(0, done).nonzeros() as u64;
            }
            learned.map_err(|error| match error {
                Error::Diverged(message) => {
                    Error::Diverged(format!("{}: {message}", block.position(from + done)))
                }
                error => error,
            })?;
            from += take;
            if counted && self.progress.until_due(&self.engine) == 0 {
                self.row();
            }
        }
        let done = self.reader.bytes_read() + u64::from(pass - 1) * self.reader.bytes_total().unwrap_or(0);
        self.screen.advance(done, || {
            let (what, loss) = match pass {
                1 => (format!("{} examples", self.engine.examples()), self.engine.average_loss()),
                _ => (format!("pass {pass}"), self.engine.pass_loss()),
            };
            format!("{what}, loss {:.4}", loss.unwrap_or(0.0))
        });
        self.reader.recycle(block);
        applied.problem.map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Says what the labels mean, when that is new; the first time the table's heading follows.
    fn announce(&mut self) {
        let meaning = self.labels.describe();
        if meaning == self.announced {
            return;
        }
        self.screen.say(&meaning);
        if self.announced.is_empty() {
            self.screen.say(HEADING);
        }
        self.announced = meaning;
    }

    fn row(&mut self) {
        let row = self.progress.row(&self.engine);
        self.screen.say(&line(&row));
        self.history.push(row);
    }

    /// The row of where the first pass ended, unless it was just printed.
    fn last_row(&mut self) {
        let shown = self.history.last().is_some_and(|r| r.examples == self.engine.examples());
        if self.engine.pass() == 1 && self.watched && !shown && self.engine.examples() > 0 {
            self.row();
        }
    }

    fn finish(
        mut self,
        matches: &ArgMatches,
        mut reading: Reading,
        mut names: NameTable,
        outcome: Result<(), Error>,
    ) -> Result<u8> {
        self.last_row();
        self.screen.end_bar();
        self.skipped += self.reader.skipped();
        for reason in self.reader.reasons() {
            self.screen.say(&format!("skipped: {reason}"));
        }
        self.screen.say_unmet(&self.reader.unmet());
        if self.skipped > 0 {
            let records = if self.skipped == 1 { "record" } else { "records" };
            self.screen.say(&format!("{} bad {records} skipped", self.skipped));
        }
        if self.examples > 0 {
            if names.is_empty() {
                names = self.reader.take_names();
            } else {
                names.extend(self.reader.names().iter());
            }
            self.reader.format_name().unwrap_or("").clone_into(&mut reading.format);
            reading.schema = self.reader.schema().clone();
        }
        let format = reading.format.clone();
        let interrupted = self.stop.load(Ordering::SeqCst);
        let seconds = self.began.elapsed().as_secs_f64();
        let whole = self.engine.multiclass().is_none_or(|m| {
            if let LabelMap::Classes(classes) = &mut self.labels {
                // A label that was read in a block that failed has not become a class.
                classes.truncate(m.classes());
            }
            m.is_whole()
        });
        let model = AnyModel { reading, labels: self.labels, names, engine: self.engine };
        let examples = model.engine.examples();
        // What grew beyond all bounds may be past saving.
        let sound =
            !matches!(outcome, Err(Error::Diverged(_))) || AnyModel::from_bytes(&model.to_bytes()).is_ok();
        match matches.get_one::<String>("model") {
            Some(_) if !whole => {
                self.screen
                    .say("no model saved: a class diverged before others had learned the same examples");
            }
            Some(_) if !sound => self.screen.say("no model saved: its numbers have left the range of f64"),
            Some(path) if examples > 0 => {
                model.save(Path::new(path))?;
                self.screen.say(&format!("model saved to {path} after {examples} examples"));
            }
            Some(_) => self.screen.say("no model saved: no example was learned"),
            None => {}
        }
        outcome?;
        if self.examples == 0 && !interrupted {
            let file = matches.get_one::<String>("data").cloned().unwrap_or_default();
            let position = Position { file, line: 1, column: 1 };
            let message = format!("no example is left: all {} records were bad and skipped", self.skipped);
            return Err(Error::Format(FormatError { position, message }).into());
        }
        let run = Run {
            examples: self.examples,
            nonzeros: self.nonzeros,
            skipped: self.skipped,
            interrupted,
            seconds,
            history: &self.history,
            format: &format,
            labels: &model.labels,
        };
        picture::learned(matches, &model.engine, &run)?;
        let target = matches.get_one::<String>("json");
        if let Some(target) = target {
            output::json(target, model.engine.summary(&run))?;
        }
        if target.map(String::as_str) != Some("-") && !matches.get_flag("quiet") {
            output::text(&match &model.engine {
                Pupil::One(engine) => closing(engine, &run),
                Pupil::Many(multiclass) => several::closing(multiclass, &run),
            })?;
        }
        Ok(crate::OK)
    }
}

/// What a person reads at the end.
pub(crate) fn closing(engine: &Engine, run: &Run<'_>) -> String {
    let tally = engine.tally();
    let mut text = String::new();
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "{label:<18} {value}");
    };
    let earlier = engine.examples() - run.examples;
    let more = if earlier > 0 { format!("; {} with those before", engine.examples()) } else { String::new() };
    let rate = run.examples as f64 / run.seconds.max(1e-9);
    line(
        "examples",
        format!(
            "{} in {:.2} s ({rate:.0}/s){more}{}",
            run.examples,
            run.seconds,
            if run.interrupted { ", interrupted" } else { "" }
        ),
    );
    if let Some(loss) = engine.average_loss() {
        line("average loss", decimal(loss, f64::round));
    }
    if let Some(sigma) = engine.config().l2
        && let Some(loss) = engine.whole_book().penalised_loss(sigma)
    {
        line("with penalty", decimal(loss, f64::round));
    }
    if engine.pass() > 1
        && let Some(loss) = engine.pass_loss()
    {
        line("last pass loss", decimal(loss, f64::round));
    }
    if let (Some(mistakes), Some(rate)) = (tally.mistakes(), tally.error_rate()) {
        line(
            "mistakes",
            format!("{mistakes} rounds with y z <= 0; wrong labels {}", decimal(rate, f64::round)),
        );
    }
    if let Some(c) = engine.certificate() {
        line("best in hindsight", format!("at least {}", decimal(c.best_at_least, f64::floor)));
        line("regret", format!("at most {} (proved)", decimal(c.regret_at_most, f64::ceil)));
    }
    if let Some(bound) = engine.bound() {
        let notes =
            if bound.notes.is_empty() { String::new() } else { format!("; {}", bound.notes.join("; ")) };
        line(
            "theorem",
            match bound.regret_at_most {
                Some(value) => format!("{}: regret at most {}{notes}", bound.name, decimal(value, f64::ceil)),
                None => format!("{}: no bound ({})", bound.name, bound.unmet.join("; ")),
            },
        );
    }
    let risk = engine.risk();
    line(
        "new data",
        match risk.at_most {
            Some(value) => format!(
                "{} risk at most {} with probability {}, if examples are i.i.d.{}",
                match (engine.config().average, engine.pass()) {
                    (true, 1) => "the averaged model's",
                    (true, _) => "the first pass's average (not the saved one) has",
                    (false, _) => "a random iterate's expected",
                },
                decimal(value, f64::ceil),
                ((1.0 - risk.delta) * 1e9).round() / 1e9,
                risk.assumes.iter().map(|a| format!(" and {a}")).collect::<Vec<_>>().concat()
            ),
            None => format!("no risk bound ({})", risk.unmet.join("; ")),
        },
    );
    if let Some(constant) = tally.labels().best_constant(engine.loss()) {
        let previous = tally.previous_label_error_rate().map_or(String::new(), |e| {
            format!("; repeating the last label errs at {}", decimal(e, f64::round))
        });
        line("baselines", format!("a constant loses {}{previous}", decimal(constant, f64::round)));
    }
    if let Some((auc, error)) = tally.auc() {
        line("AUC", format!("{auc:.4} (within {:.4})", (error * 1e4).ceil() / 1e4));
    }
    if let Some(bins) = tally.calibration() {
        let bins: Vec<String> =
            bins.iter().filter_map(|b| Some(format!("{:.2}:{:.2}", b.prediction?, b.positive?))).collect();
        line("calibration", format!("predicted:observed {}", bins.join(" ")));
    }
    if let Some(mixture) = engine.mixture() {
        let least = mixture.members.iter().map(|m| m.average_loss).fold(f64::INFINITY, f64::min);
        let cost = match mixture.excess_at_most {
            Some(excess) => format!("; mixing costs at most {} (proved)", decimal(excess, f64::ceil)),
            None => String::new(),
        };
        let best = mixture.best_member;
        line("members", format!("the best, {best}, lost {} alone{cost}", decimal(least, f64::round)));
        let norm = decimal(engine.weights_norm().0, f64::round);
        line("model norm", format!("{norm} (of the heaviest member, {})", mixture.heaviest_member));
    } else {
        let whose = if engine.is_linear() { "" } else { " (of the linear model that stands for it)" };
        line("model norm", format!("{}{whose}", decimal(engine.weights_norm().0, f64::round)));
    }
    if let Some(table) = table(&engine.windows()) {
        let _ = write!(text, "\n{table}");
    }
    if let Some(verdict) = verdict(engine) {
        let _ = writeln!(text, "\n{verdict}");
    }
    text
}
