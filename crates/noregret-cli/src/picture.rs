//! Pages and pictures that the user asked for.

use anyhow::Result;
use clap::ArgMatches;
use noregret::error::{Error, UsageError};
use noregret::multiclass::Pupil;
use noregret::report::Run;
use noregret::report::page::{Chart, Page, html, png, svg};
use noregret::report::progress::Told;
use serde_json::{Value, json};
use std::path::Path;

/// Refuses a picture of an unknown kind, before anything is read.
pub(crate) fn check(matches: &ArgMatches) -> Result<()> {
    let Some(path) = matches.get_one::<String>("plot") else { return Ok(()) };
    let ending = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("");
    if ["svg", "png"].contains(&ending.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    Err(UsageError(format!("--plot {path}: expected a name that ends in .svg or .png")).into())
}

fn write(path: &str, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes)
        .map_err(|source| Error::Io { path: Path::new(path).to_owned(), source }.into())
}

/// Writes the page after `--report`, if there is one.
pub(crate) fn report(matches: &ArgMatches, page: &Page<'_>) -> Result<()> {
    matches.get_one::<String>("report").map_or(Ok(()), |path| write(path, html(page).as_bytes()))
}

/// Writes the page of one run, if it was asked for.
pub(crate) fn learned(matches: &ArgMatches, pupil: &Pupil, run: &Run<'_>) -> Result<()> {
    if !matches.contains_id("report") {
        return Ok(());
    }
    let mut object = pupil.summary(run);
    let config = pupil.config();
    object.insert("name".to_owned(), json!(config.learner));
    let several = pupil.multiclass().map_or(String::new(), |m| {
        let wrong = m.tally().error_rate().unwrap_or(0.0);
        format!(" {} classes ({}), wrong labels {wrong:.4}.", m.classes(), m.entry().name)
    });
    let title = format!("{}, {} loss", config.learner, config.loss);
    let subtitle = format!("{} examples.{several}", pupil.examples());
    let page = Page { title: &title, subtitle: &subtitle, runs: &[Value::Object(object)], audit: None };
    report(matches, &page)
}

/// Writes the picture after `--plot`, if there is one.
pub(crate) fn plot(matches: &ArgMatches, charts: &[Chart]) -> Result<()> {
    let Some(path) = matches.get_one::<String>("plot") else { return Ok(()) };
    if path.to_ascii_lowercase().ends_with(".png") {
        write(path, &png(charts))
    } else {
        write(path, svg(charts).as_bytes())
    }
}
