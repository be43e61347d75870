//! `noregret generate`: streams with a known answer.

use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command, value_parser};
use noregret::error::{Error, UsageError};
use noregret::generate::{self, Dimension};
use serde_json::{Map, json};
use std::fmt::Write;
use std::path::Path;

pub(crate) fn command() -> Command {
    let mut list = String::from("Streams:\n");
    for e in generate::ENTRIES {
        let d = match e.d {
            Dimension::Default(d) => format!(", d = {d}"),
            Dimension::Fixed(d) => format!(", d is {d}"),
            Dimension::Rows => ", d = n".to_owned(),
        };
        let noise = e.noise.map_or(String::new(), |p| format!(", noise = {p}"));
        let k = e.classes.map_or(String::new(), |k| format!(", k = {k}"));
        let _ = writeln!(list, "  {:13} {} [n = {}{d}{k}{noise}]", e.name, e.summary, e.n);
    }
    arguments::common(
        Command::new("generate")
            .about("Writes a stream with a known answer, in LIBSVM format")
            .after_help(list)
            .arg(Arg::new("name").value_name("NAME").required(true).help("Which stream"))
            .arg(arguments::option("n", "N").value_parser(value_parser!(u64)).help("Rows"))
            .arg(arguments::option("d", "D").value_parser(value_parser!(u64)).help("Features"))
            .arg(arguments::option("k", "K").value_parser(value_parser!(u64)).help("Classes"))
            .arg(arguments::number("noise", "P").help("Probability that a label is flipped"))
            .arg(arguments::option("out", "FILE").help("Where to write [default: standard output]")),
    )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    let name: &String = matches.get_one("name").expect("clap requires it");
    let entry = generate::find(name)?;
    let seed = *matches.get_one::<u64>("seed").expect("clap has a default");
    let request = entry.request(
        matches.get_one("n").copied(),
        matches.get_one("d").copied(),
        matches.get_one("noise").copied(),
        seed,
    )?;
    let request = entry.with_classes(request, matches.get_one("k").copied())?;
    let target = matches.get_one::<String>("out").map(String::as_str);
    let json = matches.get_one::<String>("json");
    if target.is_none_or(|t| t == "-") && json.is_some_and(|j| j == "-") {
        let message =
            "--json - and the stream cannot both go to standard output; write the stream with --out FILE";
        return Err(UsageError::new(message).into());
    }
    output::check_targets(&[], &[], &[("out", matches.get_one("out")), ("json", json)])?;
    let mut out = output::lines(target)?;
    entry.run(&request, &mut out).map_err(|source| {
        let path = Path::new(target.unwrap_or("-")).to_owned();
        Error::Io { path, source }
    })?;
    if let Some(json) = json {
        let object = json!({"name": entry.name, "n": request.n, "d": request.d, "classes": request.classes, "noise": request.noise, "seed": seed});
        let map = object.as_object().cloned().unwrap_or_else(Map::new);
        output::json(json, map)?;
    }
    Ok(crate::OK)
}
