//! Learning from files: the library's own reader, with Python's other threads running and ^C heard.

use crate::error::{raise, refuse};
use crate::feature::Space;
use crate::learner::Learner;
use noregret::bytes;
use noregret::error::{Error, UsageError};
use noregret::example::Reader;
use noregret::example::format::Options;
use noregret::example::reader::{CHUNK_BYTES, Next};
use noregret::report::progress::Told;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// What became of a step.
enum Step {
    Learned,
    Waited,
    Over,
}

/// How often progress is shown.
const EVERY: Duration = Duration::from_millis(100);

/// Who is told of progress.
pub(crate) struct Watch<'py> {
    told: Option<Bound<'py, PyAny>>,
    last: Instant,
}

impl<'py> Watch<'py> {
    /// From what the user gave: nothing or a truth value, or a function.
    pub(crate) fn new(py: Python<'py>, progress: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let told = match progress {
            Some(given) if given.is_callable() => Some(given.clone()),
            Some(given) if given.is_truthy()? => Some(py.import("noregret._progress")?.call_method0("Bar")?),
            _ => None,
        };
        Ok(Self { told, last: Instant::now() })
    }

    /// Tells where reading stands, if it is time to, or at the end.
    fn tell(&mut self, learner: &Learner, reader: &Reader, end: bool) -> PyResult<()> {
        let Some(told) = &self.told else { return Ok(()) };
        if !end && self.last.elapsed() < EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        let (examples, loss) = {
            let engine = &learner.read().model.engine;
            (engine.pass_examples(), engine.pass_loss())
        };
        told.call1((reader.bytes_read(), reader.bytes_total(), examples, loss))?;
        Ok(())
    }

    /// Takes the bar away.
    fn close(&self) -> PyResult<()> {
        match &self.told {
            Some(told) if told.hasattr("close")? => told.call_method0("close").map(drop),
            _ => Ok(()),
        }
    }
}

/// Learns all examples of some files; says how many.
pub(crate) fn learn(
    py: Python<'_>,
    learner: &Learner,
    patterns: &[String],
    format: Option<&str>,
    said: Options,
    threads: usize,
    mut watch: Watch<'_>,
) -> PyResult<u64> {
    let (before, options) = {
        let state = learner.read();
        let reading = &state.model.reading;
        let before = Told::examples(&state.model.engine);
        (before, if reading.format.is_empty() { said } else { reading.again(said).map_err(raise)? })
    };
    let skip = options.skip;
    let (zero_based, no_header) = (options.zero_based, options.no_header);
    let (label, weight) = (options.label.clone(), options.weight.clone());
    let inputs = bytes::expand(patterns).map_err(raise)?;
    let mut reader = Reader::open(inputs, format, options, threads, CHUNK_BYTES).map_err(raise)?;
    let (mut checked, mut dropped) = (false, 0);
    let outcome = loop {
        let step = py.detach(|| -> Result<Step, Error> {
            let mut block = match reader.next_timeout(Duration::from_millis(100))? {
                Next::Block(block) => block,
                Next::Pending => return Ok(Step::Waited),
                Next::End => return Ok(Step::Over),
            };
            let mut state = learner.write();
            let model = &mut state.model;
            if !checked {
                let found = reader.format_name().unwrap_or("");
                idle(found, reader.is_table(), label.is_some() || weight.is_some(), [zero_based, no_header])?;
                model.reading.same_format(reader.format_name())?;
                found.clone_into(&mut model.reading.format);
                model.reading.zero_based = zero_based;
                model.reading.no_header = no_header;
                model.reading.label.clone_from(&label);
                model.reading.weight.clone_from(&weight);
                checked = true;
            }
            model.reading.schema = reader.schema().clone();
            let engine = &model.engine;
            let applied = model.labels.apply(&mut block, &|y| engine.accepts(y), skip);
            dropped += applied.skipped;
            let done = model.engine.pass_examples();
            model.engine.learn(block.rows()).map_err(|error| match error {
                Error::Diverged(message) => {
                    let row = usize::try_from(model.engine.pass_examples() - done).unwrap_or(0);
                    Error::Diverged(format!("{}: {message}", block.position(row)))
                }
                error => error,
            })?;
            state.nonzeros += block.rows().nonzeros() as u64;
            reader.recycle(block);
            applied.problem.map_or(Ok(Step::Learned), |problem| Err(problem.into()))
        });
        match step {
            Ok(Step::Over) => break Ok(()),
            Ok(Step::Learned | Step::Waited) => {}
            Err(error) => break Err(raise(error)),
        }
        if let Err(interrupt) = py.check_signals().and_then(|()| watch.tell(learner, &reader, false)) {
            break Err(interrupt);
        }
    };
    let shown = if outcome.is_ok() { watch.tell(learner, &reader, true) } else { Ok(()) };
    let outcome = outcome.and(shown).and(watch.close());
    let after = {
        let mut state = learner.write();
        let model = &mut state.model;
        for (index, name) in reader.names().iter() {
            model.names.insert(index, name);
        }
        if checked && let Some(space) = Space::of(&model.reading) {
            let _ = learner.space.set(space);
        }
        Told::examples(&model.engine)
    };
    outcome?;
    dropped += reader.skipped();
    if dropped > 0 {
        let first = reader.reasons().first().map_or(String::new(), |reason| format!("; the first: {reason}"));
        let message = format!("{dropped} bad records skipped{first}");
        let message =
            std::ffi::CString::new(message.replace('\0', " ")).map_err(|e| refuse(e.to_string()))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)?;
    }
    Ok(after - before)
}

/// Refuses what means nothing in the format that was found.
fn idle(
    format: &str,
    table: bool,
    names: bool,
    [zero_based, no_header]: [bool; 2],
) -> Result<(), UsageError> {
    if names && !table && !matches!(format, "csv" | "tsv" | "jsonl") {
        return Err(UsageError(format!(
            "label= and weight= name columns or keys, and the input's format {format} has none"
        )));
    }
    if zero_based && format != "libsvm" {
        return Err(UsageError(format!("zero_based= is for LIBSVM; the input's format is {format}")));
    }
    if no_header && !matches!(format, "csv" | "tsv") {
        return Err(UsageError(format!("header=False is for CSV and TSV; the input's format is {format}")));
    }
    Ok(())
}
