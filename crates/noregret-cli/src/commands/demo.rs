//! `noregret demo`: a generated stream, learned in one pass, its certificate proved on the spot.

use super::learn::closing;
use crate::screen::Screen;
use crate::{arguments, output};
use anyhow::{Context, Result};
use clap::{ArgMatches, Command, value_parser};
use noregret::engine::{Config, Engine};
use noregret::example::{LabelMap, label::Name};
use noregret::generate;
use noregret::regret::Comparator;
use noregret::regret::audit::{Auditor, Search};
use noregret::report::progress::{HEADING, decimal, line};
use noregret::report::{Progress, Run, summary};
use serde_json::json;
use std::time::Instant;

pub(crate) fn command() -> Command {
    arguments::common(
        Command::new("demo")
            .about("Learns a generated stream in one pass and proves its certificate on the spot")
            .arg(arguments::option("n", "N").value_parser(value_parser!(u64)).help("Rows [default: 50000]"))
            .arg(arguments::option("d", "D").value_parser(value_parser!(u64)).help("Features [default: 20]"))
            .arg(arguments::number("noise", "P").help("Probability that a label is flipped [default: 0.1]")),
    )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let seed = *matches.get_one::<u64>("seed").expect("clap has a default");
    let entry = generate::find("planted")?;
    let request = entry.request(
        Some(matches.get_one("n").copied().unwrap_or(50_000)),
        matches.get_one("d").copied(),
        matches.get_one("noise").copied(),
        seed,
    )?;
    let screen = Screen::new(matches.get_flag("quiet"));
    screen.say(&format!(
        "a stream of {} examples with {} features; {} % of the labels are flipped (seed {seed})",
        request.n,
        request.d,
        (request.noise * 1e6).round() / 1e4
    ));
    let block = entry.block(&request);
    let began = Instant::now();
    let radius = 10.0;
    let mut config = Config::new("projected-ogd", "logistic");
    config.radius = Some(radius);
    config.average = true;
    let mut engine = Engine::new(config)?;
    let mut progress = Progress::new(&engine);
    let mut history = Vec::new();
    screen.say("projected-ogd with logistic loss, one pass, against every linear model of norm <= 10\n");
    screen.say(HEADING);
    let rows = block.rows();
    let mut from = 0;
    while from < rows.len() {
        let due = usize::try_from(progress.until_due(&engine)).unwrap_or(usize::MAX);
        let to = (from + due).min(rows.len());
        engine.learn(rows.slice(from, to))?;
        from = to;
        let row = progress.row(&engine);
        screen.say(&line(&row));
        history.push(row);
    }
    let labels = LabelMap::Binary { negative: Some(Name::Number(-1.0)), positive: Some(Name::Number(1.0)) };
    let run = Run {
        examples: engine.examples(),
        nonzeros: rows.nonzeros() as u64,
        skipped: 0,
        interrupted: false,
        seconds: began.elapsed().as_secs_f64(),
        history: &history,
        format: "generated",
        labels: &labels,
    };
    let target = matches.get_one::<String>("json");
    let told = target.map(String::as_str) != Some("-") && !matches.get_flag("quiet");
    if told {
        output::text(&format!("\n{}", closing(&engine, &run)))?;
    }
    let certificate = engine.certificate().context("the stream is empty")?;
    screen.say("\nProof: with the stream in memory, a solver brackets the best fixed model in hindsight.");
    let mut source = rows;
    let mut auditor = Auditor::new(&mut source, engine.loss(), true)?.context("the stream is empty")?;
    let search = Search { tolerance: 1e-6, ..Search::default() };
    let bracket = auditor.bracket(Comparator::L2 { radius }, &search, &mut |_| true)?;
    let average = engine.average_loss().context("the stream is empty")?;
    let holds = certificate.best_at_least <= bracket.at_most;
    let gap = (average - bracket.at_least).max(f64::MIN_POSITIVE);
    if told {
        let text = format!(
            "
  one pass claimed, without looking back:  best >= {}
  solver, after {:>4} reads of the data:    best >= {}
                                           best <= {}  (a model with this loss)
  one pass lost                                    {}

  The claim {}: the true regret is between {} and {}, certified at most {} ({:.2} times it).\n",
            decimal(certificate.best_at_least, f64::floor),
            bracket.sweeps,
            decimal(bracket.at_least, f64::floor),
            decimal(bracket.at_most, f64::ceil),
            decimal(average, f64::round),
            if holds { "holds" } else { "IS FALSE" },
            decimal(average - bracket.at_most, f64::floor),
            decimal(average - bracket.at_least, f64::ceil),
            decimal(certificate.regret_at_most, f64::ceil),
            certificate.regret_at_most / gap,
        );
        output::text(&text)?;
    }
    if let Some(target) = target {
        let mut object = summary(&engine, &run);
        object.insert(
            "proof".to_owned(),
            json!({
                "holds": holds,
                "best": {"at_least": bracket.at_least, "at_most": bracket.at_most},
                "regret": {"at_least": average - bracket.at_most, "at_most": average - bracket.at_least},
                "sweeps": bracket.sweeps,
            }),
        );
        output::json(target, object)?;
    }
    Ok(if holds { crate::OK } else { 1 })
}
