//! Pages and pictures that the user asked for.

use anyhow::Result;
use clap::ArgMatches;
use noregret::engine::Engine;
use noregret::error::{Error, UsageError};
use noregret::report::page::{Chart, Page, html, png, svg};
use noregret::report::{Run, summary};
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
pub(crate) fn learned(matches: &ArgMatches, engine: &Engine, run: &Run<'_>) -> Result<()> {
    if !matches.contains_id("report") {
        return Ok(());
    }
    let mut object = summary(engine, run);
    object.insert("name".to_owned(), json!(engine.config().learner));
    let title = format!("{}, {} loss", engine.config().learner, engine.config().loss);
    let subtitle = format!("{} examples.", engine.examples());
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
