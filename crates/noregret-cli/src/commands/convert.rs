//! `noregret convert`: from one format to another.

use crate::screen::{Screen, stop_flag};
use crate::{arguments, output};
use anyhow::Result;
use clap::{Arg, ArgMatches, Command};
use noregret::bytes;
use noregret::error::{Error, FormatError, UsageError};
use noregret::example::names::Schema;
use noregret::example::reader::{CHUNK_BYTES, Next};
use noregret::example::write::{self, Kind, Layout, Out, Refusal, Subject, Writer};
use noregret::example::{Block, Reader};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn command() -> Command {
    let mut list = String::from("Formats that can be written:\n");
    for e in write::ENTRIES {
        let _ = writeln!(list, "  {:8} {}", e.name, e.summary);
    }
    let command = Command::new("convert")
        .about("Converts between formats; learning from an Arrow file is many times faster than from text")
        .after_help(list)
        .arg(arguments::data().value_name("IN"))
        .arg(
            Arg::new("out")
                .value_name("OUT")
                .required(true)
                .help("The file to write, or - for standard output; its ending tells the format"),
        )
        .arg(
            arguments::option("to", "FORMAT")
                .value_parser(clap::builder::PossibleValuesParser::new(write::ENTRIES.iter().map(|e| e.name)))
                .help("The format to write [default: by the ending of OUT]"),
        )
        .arg(
            arguments::flag("f64")
                .help("Keep values as f64, for `separate` [default: f32, as learning takes them]"),
        )
        .arg(arguments::flag("unlabelled").help("Records may have no label"));
    arguments::common(arguments::reading(command))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    if matches.get_flag("f64") { convert::<f64>(matches) } else { convert::<f32>(matches) }
}

/// The next block; nothing at the end.
fn wait<V: Kind>(reader: &mut Reader<V>, stop: &AtomicBool) -> Result<Option<Block<V>>> {
    loop {
        if stop.load(Ordering::SeqCst) {
            anyhow::bail!("interrupted: nothing was written");
        }
        match reader.next_timeout(Duration::from_millis(100))? {
            Next::Block(block) => return Ok(Some(block)),
            Next::Pending => {}
            Next::End => return Ok(None),
        }
    }
}

/// What was written, of which kind.
#[derive(Default)]
struct Written {
    examples: u64,
    nonzeros: u64,
    /// One more than the largest index.
    dimension: usize,
    hashed: bool,
}

fn convert<V: Kind>(matches: &ArgMatches) -> Result<u8> {
    let began = Instant::now();
    let mut screen = Screen::new(matches.get_flag("quiet"));
    let stop = stop_flag(&screen, "conversion, and may leave a temporary file");
    let target: &String = matches.get_one("out").expect("clap requires it");
    let to = write::find(matches.get_one::<String>("to").map(String::as_str), target)?;
    let json = matches.get_one::<String>("json");
    if target == "-" && json.is_some_and(|json| json == "-") {
        return Err(
            UsageError::new("OUT and --json cannot both be standard output; name a file for one").into()
        );
    }
    let mut options = arguments::options(matches);
    if !options.selection.is_empty() {
        let message = "--interactions, --ignore and --keep are for learning: what is written here has all features; \
                       leave the flags out, and give them to `learn` with the source";
        return Err(UsageError::new(message).into());
    }
    options.unlabelled = matches.get_flag("unlabelled");
    let patterns: Vec<String> = matches.get_many("data").expect("clap requires it").cloned().collect();
    let inputs = bytes::expand(&patterns)?;
    output::check_targets(&inputs, &[], &[("OUT", Some(target)), ("json", json)])?;
    let format = arguments::format_name(matches);
    let mut reader = Reader::<V>::open_as(inputs, format, options, arguments::threads(matches), CHUNK_BYTES)?;
    let Some(mut block) = wait(&mut reader, &stop)? else {
        for reason in reader.reasons() {
            screen.say(&format!("skipped: {reason}"));
        }
        return Err(UsageError(format!("nothing to write: all {} records were bad", reader.skipped())).into());
    };
    arguments::refuse_idle(matches, reader.format_name().unwrap_or(""), reader.is_table())?;
    screen.start_bar(reader.bytes_total());
    let mut layout = Layout::of(&block);
    let (out, written) = 'anew: loop {
        let mut writer = begin::<V>(to, target, &reader, layout)?;
        let mut written = Written::default();
        loop {
            let needed = layout.or(Layout::of(&block));
            if to.has_layout && needed != layout {
                // The columns of a file are fixed at its beginning, and only now it is seen that more are needed.
                if reader.bytes_total().is_none() {
                    return Err(late(&block, needed, layout));
                }
                layout = needed;
                drop(writer);
                reader.rewind()?;
                let Some(first) = wait(&mut reader, &stop)? else { anyhow::bail!("the input has changed") };
                block = first;
                continue 'anew;
            }
            writer.write(&block).map_err(|refusal| refused(refusal, target, &block))?;
            written.count(&block, reader.schema());
            screen.advance(reader.bytes_read(), || format!("{} examples", written.examples));
            reader.recycle(block);
            block = match wait(&mut reader, &stop)? {
                Some(next) => next,
                None => break,
            };
        }
        let out = writer.finish(reader.names());
        break (out.map_err(|source| Error::Io { path: target.into(), source })?, written);
    };
    out.commit().map_err(|source| Error::Io { path: target.into(), source })?;
    screen.end_bar();
    for reason in reader.reasons() {
        screen.say(&format!("skipped: {reason}"));
    }
    if reader.skipped() > 0 {
        screen.say(&format!("{} bad records skipped", reader.skipped()));
    }
    written.tell(&screen, &reader, to.name, target);
    let seconds = began.elapsed().as_secs_f64();
    if let Some(json) = json {
        let object = json!({
            "examples": written.examples,
            "nonzeros": written.nonzeros,
            "dimension": written.dimension,
            "skipped": reader.skipped(),
            "from": reader.format_name(),
            "to": to.name,
            "values": V::NAME,
            "bytes": std::fs::metadata(target).ok().map(|about| about.len()),
            "seconds": seconds,
        });
        if let Value::Object(map) = object {
            output::json(json, map)?;
        }
    }
    Ok(crate::OK)
}

fn begin<V: Kind>(
    to: &'static write::Entry,
    target: &str,
    reader: &Reader<V>,
    layout: Layout,
) -> Result<Box<dyn Writer<V>>> {
    let subject = Subject {
        format: reader.format_name().unwrap_or(""),
        options: reader.options(),
        schema: reader.schema(),
        layout,
    };
    let out = Out::create(target).map_err(|source| Error::Io { path: target.into(), source })?;
    V::open(to, out, subject).map_err(|refusal| match refusal {
        Refusal::Io(source) => Error::Io { path: target.into(), source }.into(),
        Refusal::Row(_, message) => UsageError(message).into(),
    })
}

fn refused<V: Kind>(refusal: Refusal, target: &str, block: &Block<V>) -> anyhow::Error {
    match refusal {
        Refusal::Io(source) => Error::Io { path: Path::new(target).to_owned(), source }.into(),
        Refusal::Row(row, message) => {
            Error::from(FormatError { position: block.position(row), message }).into()
        }
    }
}

/// A pipe cannot be read again for columns that are needed late.
fn late<V: Kind>(block: &Block<V>, needed: Layout, layout: Layout) -> anyhow::Error {
    let what = match () {
        () if needed.weights != layout.weights => "the first weight other than 1",
        () if needed.names != layout.names => "the first label that is no number",
        () => "the first row without a label",
    };
    let message = format!(
        "{what} comes only here, after rows have been written, and standard input cannot be read again: write it to a \
         file first"
    );
    Error::from(FormatError { position: block.position(0), message }).into()
}

impl Written {
    fn count<V: Kind>(&mut self, block: &Block<V>, schema: &Schema) {
        let rows = block.rows();
        self.examples += block.len() as u64;
        self.nonzeros += rows.nonzeros() as u64;
        let top = rows.indices[rows.offsets[0]..rows.offsets[rows.len()]].iter().max();
        self.dimension = self.dimension.max(top.map_or(0, |top| *top as usize + 1));
        self.hashed |= schema.bits.is_some() && self.dimension > schema.columns.len();
    }

    /// Says what was written, and what one must know to read it.
    fn tell<V: Kind>(&self, screen: &Screen, reader: &Reader<V>, to: &str, target: &str) {
        let Self { examples, nonzeros, dimension, hashed } = self;
        screen.say(&format!("{examples} examples with {nonzeros} values written to {target}"));
        let named = *hashed || !reader.schema().columns.is_empty();
        match to {
            "libsvm" if named => {
                screen.say("features are numbers there: their names are left behind");
            }
            "libsvm" if reader.options().zero_based => {
                screen.say("indices count from 0, as in the input: read it with --zero-based");
            }
            "vw" if named => screen.say("features are numbers there: their names are left behind"),
            _ => {}
        }
        let places = noregret::example::hash::DEFAULT_BITS;
        if to == "vw" && *dimension >= 1 << places {
            let bits = usize::BITS - dimension.leading_zeros();
            screen.say(&format!("read it with --bits {bits}, so that no two features fall together"));
        }
    }
}
