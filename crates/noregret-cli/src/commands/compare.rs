//! `noregret compare`: one read of the stream through several learners beside each other.

mod audits;
mod entrants;

use crate::screen::{Screen, stop_flag};
use crate::{arguments, output, picture};
use anyhow::Result;
use clap::{ArgMatches, Command};
use entrants::Entrants;
use noregret::bytes;
use noregret::engine::Engine;
use noregret::error::Error;
use noregret::example::reader::{CHUNK_BYTES, Next};
use noregret::example::{Block, LabelMap, Reader, Rows};
use noregret::loss::Task;
use noregret::report::page::{Page, runs_figure};
use noregret::report::progress::decimal;
use noregret::report::{Progress, ProgressRow, Run, summary};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn command() -> Command {
    let command = Command::new("compare")
        .about("Sends the same stream through several learners at once: a table and a page with charts")
        .arg(arguments::data());
    let command = entrants::arguments(command)
        .arg(arguments::multiclass())
        .arg(arguments::flag("audit").help("Read the data again and bracket each run's regret"))
        .arg(arguments::option("report", "FILE").help("Write a page with charts (HTML, works offline)"))
        .arg(arguments::option("plot", "FILE").help("Draw average loss and regret (.svg or .png)"));
    arguments::registry(arguments::common(arguments::reading(command)))
}

/// One learner on its way.
struct Contestant {
    name: String,
    engine: Engine,
    progress: Progress,
    history: Vec<ProgressRow>,
    spent: Duration,
    failed: Option<String>,
}

impl Contestant {
    fn new(name: String, engine: Engine) -> Self {
        let progress = Progress::new(&engine);
        Self { name, engine, progress, history: Vec::new(), spent: Duration::ZERO, failed: None }
    }

    fn learn(&mut self, rows: Rows<'_, f32>) {
        if self.failed.is_some() {
            return;
        }
        let began = Instant::now();
        let learned = self.engine.learn(rows);
        self.spent += began.elapsed();
        self.failed = learned.err().map(|e| e.to_string());
    }

    fn row(&mut self) {
        if self.failed.is_none() && self.history.last().is_none_or(|r| r.examples < self.engine.examples()) {
            self.history.push(self.progress.row(&self.engine));
        }
    }
}

/// The examples at which rows are taken: four to a doubling.
fn after(examples: u64) -> u64 {
    let steps = ((examples.max(1) as f64).log2() * 4.0).floor() + 1.0;
    (2f64.powf(steps / 4.0).ceil() as u64).max(examples + 1)
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let began = Instant::now();
    picture::check(matches)?;
    arguments::refuse_multiclass(
        matches,
        "run `noregret learn --multiclass --learner NAME` for each and compare their error rates",
    )?;
    let mut screen = Screen::new(matches.get_flag("quiet"));
    let stop = stop_flag(&screen, "comparison without an answer");
    let entrants = Entrants::new(matches)?;
    // What can be refused is refused before anything is read.
    let options = arguments::options(matches);
    entrants.engines(matches, &options, entrants.task().unwrap_or(Task::Binary))?;
    let skip = options.skip;
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(
        &inputs,
        &[],
        &[
            ("json", matches.get_one("json")),
            ("report", matches.get_one("report")),
            ("plot", matches.get_one("plot")),
        ],
    )?;
    let format = arguments::format_name(matches);
    let mut reader = Reader::open(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    let mut next = wait(&mut reader, &stop)?;
    let positive = matches.get_one::<String>("positive");
    let detected = next.as_ref().map_or_else(LabelMap::binary, LabelMap::detect);
    let task = entrants.task().unwrap_or(match detected {
        LabelMap::Real if positive.is_none() => Task::Real,
        _ => Task::Binary,
    });
    let mut labels = match (task, positive) {
        (Task::Real, _) => LabelMap::Real,
        (Task::Binary, Some(name)) => LabelMap::with_positive(name),
        (Task::Binary, None) => LabelMap::binary(),
    };
    let mut list: Vec<Contestant> = entrants
        .engines(matches, reader.options(), task)?
        .into_iter()
        .map(|(name, engine)| Contestant::new(name, engine))
        .collect();
    screen.start_bar(reader.bytes_total());
    let (mut examples, mut nonzeros, mut skipped, mut due) = (0_u64, 0_u64, 0_u64, 1_u64);
    let mut problem: Option<Error> = None;
    while let Some(mut block) = next {
        let accepts = |y: f64| list.iter().all(|c| c.engine.loss().accepts(y));
        let applied = labels.apply(&mut block, &accepts, skip);
        skipped += applied.skipped;
        let rows = block.rows();
        nonzeros += rows.nonzeros() as u64;
        let mut from = 0;
        while from < rows.len() {
            let take = (rows.len() - from).min(usize::try_from(due - examples).unwrap_or(usize::MAX));
            for contestant in &mut list {
                contestant.learn(rows.slice(from, from + take));
            }
            from += take;
            examples += take as u64;
            if examples == due {
                list.iter_mut().for_each(Contestant::row);
                due = after(examples);
            }
        }
        screen.advance(reader.bytes_read(), || format!("{examples} examples"));
        reader.recycle(block);
        problem = applied.problem.map(Error::from);
        if problem.is_some() {
            break;
        }
        next = wait(&mut reader, &stop)?;
    }
    list.iter_mut().for_each(Contestant::row);
    screen.end_bar();
    if let Some(problem) = problem {
        return Err(problem.into());
    }
    screen.say_unmet(&reader.unmet());
    skipped += reader.skipped();
    if skipped > 0 {
        screen.say(&format!("{skipped} bad records skipped"));
    }
    let interrupted = stop.load(Ordering::SeqCst);
    let format = reader.format_name().unwrap_or("").to_owned();
    let mut runs: Vec<Value> = list
        .iter()
        .map(|c| {
            let run = Run {
                examples,
                nonzeros,
                skipped,
                interrupted,
                seconds: c.spent.as_secs_f64(),
                history: &c.history,
                format: &format,
                labels: &labels,
            };
            let mut object = summary(&c.engine, &run);
            object.insert("name".to_owned(), json!(c.name));
            let rate = c.engine.examples() as f64 / c.spent.as_secs_f64().max(1e-9);
            object.insert("examples_per_second".to_owned(), json!(rate));
            object.insert("error".to_owned(), json!(c.failed));
            Value::Object(object)
        })
        .collect();
    if matches.get_flag("audit") && !interrupted {
        audits::add(&mut runs, &list, reader, &labels, skip, &screen, &stop)?;
    }
    let key = |run: &Value| match run["error"].as_str() {
        Some(_) => f64::INFINITY,
        None => run["average_loss"].as_f64().unwrap_or(f64::INFINITY),
    };
    runs.sort_by(|a, b| key(a).total_cmp(&key(b)));
    for run in &runs {
        if let Some(error) = run["error"].as_str() {
            screen.say(&format!("{}: {error}", run["name"].as_str().unwrap_or("")));
        }
    }
    let title = format!("{examples} examples, {} learners", runs.len());
    let subtitle = format!("{}.", patterns.join(", "));
    let page = Page { title: &title, subtitle: &subtitle, runs: &runs, audit: None };
    picture::report(matches, &page)?;
    picture::plot(matches, &runs_figure(&runs))?;
    let target = matches.get_one::<String>("json").map(String::as_str);
    if target != Some("-") && !matches.get_flag("quiet") {
        output::text(&table(&runs))?;
    }
    if let Some(target) = target {
        let object = json!({
            "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
            "examples": examples,
            "runs": runs,
            "interrupted": interrupted,
            "seconds": began.elapsed().as_secs_f64(),
        });
        if let Value::Object(map) = object {
            output::json(target, map)?;
        }
    }
    Ok(if interrupted { crate::UNDECIDED } else { crate::OK })
}

/// The next block; nothing at the end of the stream or when the user wants to stop.
fn wait(reader: &mut Reader, stop: &AtomicBool) -> Result<Option<Block<f32>>, Error> {
    while !stop.load(Ordering::SeqCst) {
        match reader.next_timeout(Duration::from_millis(100))? {
            Next::Block(block) => return Ok(Some(block)),
            Next::Pending => {}
            Next::End => return Ok(None),
        }
    }
    Ok(None)
}

/// What a person reads.
fn table(runs: &[Value]) -> String {
    let width = runs.iter().filter_map(|r| r["name"].as_str()).map(str::len).max().unwrap_or(7).max(7);
    let audited = runs.iter().any(|r| r["audit"].is_object());
    let more = if audited { "  audited best" } else { "" };
    let mut text = format!(
        "{:<width$} {:<13} {:>10} {:>12} {:>10} {:>12} {:>8} {:>11}{more}\n",
        "learner", "loss", "average", "best at", "regret", "theorem's", "error", "examples"
    );
    let more = if audited { "  at most" } else { "" };
    let _ = writeln!(
        text,
        "{:<width$} {:<13} {:>10} {:>12} {:>10} {:>12} {:>8} {:>11}{more}",
        "", "", "loss", "least", "at most", "bound", "rate", "/s"
    );
    for run in runs {
        let cell =
            |v: &Value, round: fn(f64) -> f64| v.as_f64().map_or("-".to_owned(), |v| decimal(v, round));
        let failed = run["error"].as_str().is_some();
        let loss = if failed { "diverged".to_owned() } else { cell(&run["average_loss"], f64::round) };
        let _ = write!(
            text,
            "{:<width$} {:<13} {loss:>10} {:>12} {:>10} {:>12} {:>8} {:>11.0}",
            run["name"].as_str().unwrap_or(""),
            run["loss"].as_str().unwrap_or(""),
            cell(&run["certificate"]["best_at_least"], f64::floor),
            cell(&run["certificate"]["regret_at_most"], f64::ceil),
            cell(&run["bound"]["regret_at_most"], f64::ceil),
            run["error_rate"].as_f64().map_or("-".to_owned(), |v| format!("{v:.4}")),
            run["examples_per_second"].as_f64().unwrap_or(0.0),
        );
        if audited {
            let _ = write!(text, "  {}", cell(&run["audit"]["best"]["at_most"], f64::ceil));
        }
        text.push('\n');
    }
    text
}
