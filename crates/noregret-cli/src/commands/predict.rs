//! `noregret predict`: one prediction a line.

mod answers;

use crate::screen::Screen;
use crate::{arguments, output};
use answers::{Answers, Kind};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use noregret::bytes;
use noregret::error::Error;
use noregret::example::Reader;
use noregret::example::reader::{CHUNK_BYTES, KEPT_REASONS};
use noregret::model::AnyModel;
use noregret::regret::Sum;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

pub(crate) fn command() -> Command {
    let command = Command::new("predict")
        .about("Predicts one line per example; with labels present, also tells the loss")
        .arg(Arg::new("model").value_name("MODEL").required(true).help("A model file"))
        .arg(arguments::data())
        .arg(arguments::flag("averaged").help("Use the averaged model (learned with --average)"))
        .arg(arguments::flag("scores").conflicts_with("proba").help(
            "Print <w, x>, the shortest decimal that reads back exactly; with several classes \
                     label:score for each, tabs between them",
        ))
        .arg(arguments::flag("proba").help(
            "Print the probability of the positive label (logistic loss); with several classes \
             label:probability for each (softmax, or ovr with logistic loss)",
        ))
        .arg(
            arguments::option("out", "FILE")
                .help("Where to write the predictions [default: standard output, or nowhere with --json -]"),
        );
    arguments::common(arguments::reading(command))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let path: &String = matches.get_one("model").expect("clap requires it");
    let model = AnyModel::load(Path::new(path))?;
    let kind = match (matches.get_flag("scores"), matches.get_flag("proba")) {
        (true, _) => Kind::Scores,
        (_, true) => Kind::Probabilities,
        _ => Kind::Label,
    };
    let mut answers = Answers::new(&model.engine, kind, matches.get_flag("averaged"))?;
    let loss = model.engine.config().loss.clone();
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let mut options = model.reading.again(arguments::options(matches))?;
    options.unlabelled = true;
    let skip = options.skip;
    let format = arguments::format_name(matches);
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(
        &inputs,
        &[("MODEL", Some(path))],
        &[("out", matches.get_one("out")), ("json", matches.get_one("json"))],
    )?;
    let mut reader = Reader::open(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    let target = matches.get_one::<String>("out").map(String::as_str);
    let json_target = matches.get_one::<String>("json").map(String::as_str);
    let mut out = match (target, json_target) {
        (None, Some("-")) => Box::new(std::io::sink()),
        _ => output::lines(target)?,
    };
    let mut screen = Screen::new(matches.get_flag("quiet"));
    let mut labels = model.labels.clone();
    let (mut total, mut weight, mut errors) = (Sum::default(), Sum::default(), 0_u64);
    let (mut examples, mut labelled) = (0_u64, 0_u64);
    let (mut skipped, mut reasons) = (0, 0);
    let (dimension, mut unknown) = (model.engine.dimension(), 0_u64);
    let write_error =
        |source| anyhow::Error::from(Error::Io { path: Path::new(target.unwrap_or("-")).to_owned(), source });
    screen.start_bar(reader.bytes_total());
    let mut problem: Option<Error> = None;
    while problem.is_none() {
        let mut block = match reader.next() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(error) => {
                problem = Some(error);
                break;
            }
        };
        model.reading.same_format(reader.format_name())?;
        let applied = labels.apply(&mut block, &|y| model.engine.accepts(y), skip);
        for reason in applied.reasons.iter().take(KEPT_REASONS.saturating_sub(reasons)) {
            reasons += 1;
            screen.say(&format!("skipped: {reason}"));
        }
        skipped += applied.skipped;
        for row in block.rows().iter() {
            if row.x.end() > dimension {
                let known = row.x.indices.partition_point(|&i| (i as usize) < dimension);
                unknown += (row.x.indices.len() - known) as u64;
            }
            examples += 1;
            answers.print(row.x, &labels, &mut out).map_err(write_error)?;
            if !row.y.is_nan() {
                labelled += 1;
                let (lost, wrong) = answers.judge(row.y);
                errors += u64::from(wrong);
                if let Some(lost) = lost {
                    total.add(row.weight * lost);
                    weight.add(row.weight);
                }
            }
        }
        screen.advance(reader.bytes_read(), || format!("{examples} examples"));
        problem = applied.problem.map(Error::from);
        reader.recycle(block);
    }
    out.flush().map_err(write_error)?;
    screen.end_bar();
    skipped += reader.skipped();
    for reason in reader.reasons() {
        screen.say(&format!("skipped: {reason}"));
    }
    if let Some(problem) = problem {
        return Err(problem.into());
    }
    let average = (weight.value() > 0.0).then(|| total.value() / weight.value());
    let error_rate = (answers.has_labels() && labelled > 0).then(|| errors as f64 / labelled as f64);
    if unknown > 0 {
        screen.say(&format!("{unknown} values of features that the model has not seen; they count as 0"));
    }
    if let Some(average) = average {
        let wrong = error_rate.map_or(String::new(), |e| format!(", error rate {e:.6}"));
        screen.say(&format!("{labelled} labelled examples: average {loss} loss {average:.6}{wrong}"));
    }
    if let Some(target) = json_target {
        let object = json!({
            "examples": examples,
            "labelled": labelled,
            "average_loss": average,
            "error_rate": error_rate,
            "loss": loss,
            "averaged": answers.is_averaged(),
            "unknown_values": unknown,
            "skipped": skipped,
        });
        if let Value::Object(map) = object {
            output::json(target, map)?;
        }
    }
    Ok(crate::OK)
}
