//! `noregret reproduce`: experiments of the papers.

use crate::screen::Screen;
use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use noregret::error::Error;
use noregret::separate::figure;
use serde_json::{Map, json};
use std::path::Path;

pub(crate) fn command() -> Command {
    arguments::common(
        Command::new("reproduce")
            .about("Runs an experiment of a paper again: table, CSV and picture")
            .arg(
                Arg::new("what").value_name("WHAT").required(true).value_parser(["figure-1"]).help(
                    "figure-1: iterations of the Perceptron and the Optimistic Perceptron on the hard set",
                ),
            )
            .arg(
                arguments::option("n", "N")
                    .value_parser(value_parser!(u64).range(1..=figure::LARGEST))
                    .default_value("15")
                    .help("Run n = 1 .. N"),
            )
            .arg(
                arguments::option("out", "DIR")
                    .help("Write figure-1.csv and figure-1.svg into this directory"),
            ),
    )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let last = *matches.get_one::<u64>("n").expect("clap has a default");
    let screen = Screen::new(matches.get_flag("quiet"));
    let target = matches.get_one::<String>("json");
    let told = target.map(String::as_str) != Some("-") && !matches.get_flag("quiet");
    let say = |line: &str| if told { output::text(&format!("{line}\n")) } else { Ok(()) };
    say(figure::HEADING)?;
    let mut points = Vec::new();
    for n in 1..=last {
        let point = figure::point(n)?;
        say(&figure::line(&point))?;
        points.push(point);
    }
    if let Some(folder) = matches.get_one::<String>("out") {
        std::fs::create_dir_all(folder).map_err(|source| Error::Io { path: folder.into(), source })?;
        for (name, text) in [("figure-1.csv", figure::csv(&points)), ("figure-1.svg", figure::svg(&points))] {
            let path = Path::new(folder).join(name);
            std::fs::write(&path, text).map_err(|source| Error::Io { path: path.clone(), source })?;
            screen.say(&format!("written: {}", path.display()));
        }
    }
    if let Some(target) = target {
        let mut object = Map::new();
        object.insert("rows".to_owned(), json!(points));
        output::json(target, object)?;
    }
    Ok(crate::OK)
}
