//! LIBSVM, VW and CSV by the library's own readers, from a body that is still coming in.

use super::{Context, LONGEST_PREFIX, room_for_names};
use crate::command::Space;
use crate::error::Refusal;
use crate::parse::Parsed;
use noregret::bytes::{Chunker, Failure, Source};
use noregret::example::Block;
use noregret::example::format::{self, Decoder, Found, OpenError, Opened, Options, Problem, Scratch};
use noregret::model::Reading;
use std::io::Read;

/// How much of a body becomes one piece.
const PIECE: usize = 1 << 18;

/// The formats that a body may have, and what kind of features they bring.
pub const FORMATS: [(&str, Space); 4] =
    [("libsvm", Space::Numbers), ("vw", Space::Vw), ("csv", Space::Names), ("tsv", Space::Names)];

/// What a request says of its body.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The column of the label.
    pub label: Option<String>,
    /// The column of the importance.
    pub weight: Option<String>,
    /// Whether indices count from 0.
    pub zero_based: bool,
    /// Whether a CSV has no header.
    pub no_header: bool,
}

/// A body that is being read.
pub struct Reader {
    space: Space,
    chunker: Chunker,
    decoder: Box<dyn Decoder>,
    scratch: Scratch<f64>,
    /// The first chunk and where its header ends, until it is read.
    first: Option<(Vec<u8>, usize)>,
    /// The number of the next line, from 1.
    line: u64,
    most_features: usize,
    limit: u32,
    /// Where the columns of this body go, where a model hashes all names.
    hashed: Option<Vec<u32>>,
    /// Names that have not been told yet.
    names: Vec<(u32, Box<str>)>,
}

fn refuse(line: u64, message: &str) -> Refusal {
    Refusal::library("bad_input", &format!("line {line}: {message}"))
}

fn failed(failure: Failure, line: u64) -> Refusal {
    match failure {
        Failure::Bad(message) => refuse(line, &message),
        Failure::Io(error) => match error.kind() {
            std::io::ErrorKind::TimedOut => Refusal::new(
                axum::http::StatusCode::REQUEST_TIMEOUT,
                "too_slow",
                "the body stopped coming in; send it at once, or in smaller parts",
            ),
            _ => Refusal::bad("bad_body", format!("the body cannot be read: {error}")),
        },
    }
}

impl Reader {
    /// Begins to read. Blocks.
    pub fn open(
        body: impl Read + Send + 'static,
        format: &str,
        said: Said,
        reading: &Reading,
        context: &Context<'_>,
        longest_line: usize,
    ) -> Result<Option<Self>, Refusal> {
        let Some(&(_, space)) = FORMATS.iter().find(|(name, _)| *name == format) else {
            let known: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
            return Err(Refusal::new(
                axum::http::StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unknown_format",
                format!("found the format `{format}`, expected json, ndjson, {}", known.join(", ")),
            ));
        };
        let usage = |e: noregret::error::UsageError| Refusal::library("bad_input", &e.0);
        let entry = format::find(format).map_err(usage)?;
        // A CSV gives its columns places of their own; a model that hashes all names has them where JSON does.
        let hashing = space == Space::Names && context.schema.columns.is_empty();
        let options = Options {
            zero_based: said.zero_based || reading.zero_based,
            no_header: said.no_header || reading.no_header,
            bits: if space == Space::Numbers { reading.bits } else { context.schema.bits },
            dimension: (!hashing).then_some(context.limit),
            label: said.label.or_else(|| reading.label.clone()),
            weight: said.weight.or_else(|| reading.weight.clone()),
            selection: reading.selection.clone(),
            skip: false,
            unlabelled: !context.learning,
            schema: (space != Space::Numbers && !hashing).then(|| context.schema.clone()),
        };
        let source = Source::from_reader(body, std::sync::Arc::default());
        let source = source.map_err(|e| failed(e.into(), 1))?;
        let mut chunker = Chunker::new(source, PIECE, entry.quoted).longest(longest_line);
        let Some(chunk) = chunker.next(Vec::new()).map_err(|f| failed(f, 1))? else { return Ok(None) };
        let opened = (entry.open)(&options, &chunk);
        let Opened { decoder, header_bytes, header_lines } = opened.map_err(|error| match error {
            OpenError::Usage(error) => usage(error),
            OpenError::Problem(problem) => refuse(problem.line + 1, &problem.message),
            OpenError::Failure(failure) => failed(failure, 1),
        })?;
        let columns = if hashing { decoder.schema().columns } else { Vec::new() };
        if let Some(name) = decoder.schema().columns.iter().find(|name| name.len() > LONGEST_PREFIX) {
            let found = format!("the name of a column has {} bytes", name.len());
            return Err(refuse(1, &format!("{found}, expected at most {LONGEST_PREFIX}: use shorter names")));
        }
        let places: Option<Vec<u32>> =
            columns.iter().map(|name| context.schema.hashed(name.as_bytes())).collect();
        let names =
            columns.into_iter().zip(places.iter().flatten()).map(|(name, place)| (*place, name.into()));
        let names: Vec<(u32, Box<str>)> = names.collect();
        Ok(Some(Self {
            names,
            hashed: places.filter(|_| hashing),
            limit: context.limit,
            space,
            chunker,
            decoder,
            scratch: Scratch::default(),
            first: Some((chunk, header_bytes)),
            line: header_lines + 1,
            most_features: context.most_features,
        }))
    }

    /// The rows of the next piece; none after the last. Blocks.
    #[allow(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<Parsed>, Refusal> {
        let (chunk, start) = match self.first.take() {
            Some(first) => first,
            None => match self.chunker.next(Vec::new()).map_err(|f| failed(f, self.line))? {
                Some(chunk) => (chunk, 0),
                None => return Ok(None),
            },
        };
        if let Some(at) = long_namespace(&chunk[start..]).filter(|_| self.space == Space::Vw) {
            let before = chunk[start..start + at].split(|byte| *byte == b'\n').count() - 1;
            let line = self.line + before as u64;
            let found = format!("a namespace has more than {LONGEST_PREFIX} bytes");
            return Err(refuse(line, &format!("{found}, which is all that is allowed: use a shorter name")));
        }
        let mut block = Block::<f64>::new();
        let Found { lines, names, problem, .. } =
            self.decoder.decode_f64(&chunk[start..], &mut block, &mut self.scratch);
        let line = self.line;
        self.line += lines;
        if let Some(Problem { line: at, column, message }) = problem {
            return Err(refuse(line + at, &format!("column {column}: {message}")).at(block.len()));
        }
        let widest = block.offsets.windows(2).position(|w| w[1] - w[0] > self.most_features);
        if let Some(row) = widest {
            let most = self.most_features;
            return Err(Refusal::bad(
                "too_many_features",
                format!(
                    "line {}: more than {most} features, which is all that is allowed (--max-features)",
                    line + u64::from(block.lines[row])
                ),
            )
            .at(row));
        }
        block.own();
        let mut columns = Vec::new();
        let mut before = 0;
        if let Some(places) = &self.hashed {
            before = places.len() as u32;
            columns = std::mem::take(&mut self.names);
            block = rehashed(block, places, self.limit, &mut self.scratch)
                .map_err(|(row, message)| refuse(line, &message).at(row))?;
        }
        let mut room = room_for_names(chunk.len());
        let names = names.iter().map(|(index, name)| (index - before, name));
        let names = names.chain(columns.iter().map(|(place, name)| (*place, &**name)));
        let names = names.filter(|(_, name)| {
            let fits = name.len() <= room;
            room -= if fits { name.len() } else { 0 };
            fits
        });
        let names = names.map(|(index, name)| (index, name.into())).collect();
        Ok(Some(Parsed { block, space: Some(self.space), names, predict: false, id: None }))
    }
}

/// Where a namespace of VW begins that is too long. Looks at few of the bytes where no word is that long.
fn long_namespace(text: &[u8]) -> Option<usize> {
    let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'|' | b':');
    // What is before has been looked at.
    let mut from = 0;
    while let Some(window) = text.get(from..=from + LONGEST_PREFIX) {
        from += match window.iter().rposition(ends) {
            Some(last) => last + 1,
            None if from > 0 && text[from - 1] == b'|' => return Some(from),
            None => text[from..].iter().position(ends)? + 1,
        };
    }
    None
}

/// Rows with columns first and hashed names after them, as rows with all names hashed.
fn rehashed(
    block: Block<f64>,
    places: &[u32],
    limit: u32,
    scratch: &mut Scratch<f64>,
) -> Result<Block<f64>, (usize, String)> {
    let columns = places.len() as u32;
    let mut out = Block::<f64>::new();
    out.weights = block.weights;
    out.raw_labels = block.raw_labels;
    for (row, w) in block.offsets.windows(2).enumerate() {
        let start = out.indices.len();
        for (&index, &value) in block.indices[w[0]..w[1]].iter().zip(&block.values[w[0]..w[1]]) {
            let place = places.get(index as usize).copied().unwrap_or_else(|| index.saturating_sub(columns));
            if place >= limit {
                return Err((
                    row,
                    format!("the feature {place} is not below {limit}: the model allows no more"),
                ));
            }
            out.indices.push(place);
            out.values.push(value);
        }
        out.settle(start, scratch).map_err(|message| (row, message))?;
        out.offsets.push(out.indices.len());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_too_long_is_found_and_other_words_may_be_as_long_as_they_like() {
        let long = "n".repeat(LONGEST_PREFIX + 1);
        let fits = &long[1..];
        for before in ["", "1 |a b c\n", &format!("1 |a {long} {fits}:1 |{fits} x\n")] {
            for after in ["", " a b", ":2 a", "\n1 | a", "|b"] {
                assert_eq!(long_namespace(format!("{before}1 |{fits}{after}").as_bytes()), None);
                let found = long_namespace(format!("{before}1 |{long}{after}").as_bytes());
                assert_eq!(found, Some(before.len() + 3));
            }
        }
        assert_eq!(long_namespace(format!("1 | {long}").as_bytes()), None);
        assert_eq!(long_namespace(long.as_bytes()), None);
    }
}
