//! What must hold of every decoder, whatever bytes it is given: used by the tests of each format.

use crate::example::format::{Decoder, Entry, Found, KEPT_REASONS, OpenError, Opened, Options, Scratch};
use crate::example::lanes::tests::narrowly;
use crate::example::names::Names;
use crate::example::number::Number;
use crate::example::{Block, Label};

/// A row as a test wants to see it.
pub(in crate::example) type Seen = (Label, f64, Vec<(u32, f32)>);

/// The rows of a block that has raw labels.
pub(in crate::example) fn rows(block: &Block<f32>) -> Vec<Seen> {
    (0..block.len())
        .map(|k| {
            let (from, to) = (block.offsets[k], block.offsets[k + 1]);
            let pairs = block.indices[from..to].iter().copied();
            let weight = block.weights.get(k).copied().unwrap_or(1.0);
            (block.raw_labels[k].clone(), weight, pairs.zip(block.values[from..to].iter().copied()).collect())
        })
        .collect()
}

/// Opens a text and reads what is after its header as one chunk.
pub(in crate::example) fn read(
    entry: &Entry,
    options: &Options,
    text: &[u8],
) -> Result<(Block<f32>, Found), OpenError> {
    let Opened { decoder, header_bytes, .. } = (entry.open)(options, text)?;
    let mut block = Block::new();
    let found = decoder.decode(&text[header_bytes..], &mut block, &mut Scratch::default());
    Ok((block, found))
}

/// As [`read`], for a text that must be without fault.
pub(in crate::example) fn read_well(entry: &Entry, options: &Options, text: &str) -> Vec<Seen> {
    let (block, found) = match read(entry, options, text.as_bytes()) {
        Ok(read) => read,
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(found.problem, None);
    rows(&block)
}

/// The problem of a text whose records have one: its line, its column and its message.
pub(in crate::example) fn problem(entry: &Entry, options: &Options, text: &str) -> (u64, u64, String) {
    match read(entry, options, text.as_bytes()) {
        Ok((_, Found { problem: Some(problem), .. })) | Err(OpenError::Problem(problem)) => {
            (problem.line, problem.column, problem.message)
        }
        Ok((block, _)) => panic!("no problem found, but rows {:?}", rows(&block)),
        Err(OpenError::Usage(usage)) => panic!("{usage}"),
        Err(OpenError::Failure(failure)) => panic!("{failure:?}"),
    }
}

/// The message of a text that cannot be opened with these options.
pub(in crate::example) fn usage(entry: &Entry, options: &Options, text: &str) -> String {
    match (entry.open)(options, text.as_bytes()) {
        Err(OpenError::Usage(usage)) => usage.0,
        Err(OpenError::Problem(problem)) => panic!("{problem:?}"),
        Err(OpenError::Failure(failure)) => panic!("{failure:?}"),
        Ok(_) => panic!("opened"),
    }
}

/// Reads any bytes, with and without skipping, and looks at all that a caller relies on.
pub(in crate::example) fn holds(entry: &Entry, options: &Options, text: &[u8]) {
    let _ = (entry.sniff)(text);
    let options = Options { skip: false, ..options.clone() };
    let strict = match (entry.open)(&options, text) {
        Ok(opened) => opened,
        Err(OpenError::Usage(usage)) => return assert!(!usage.0.is_empty()),
        Err(OpenError::Problem(problem)) => return inside(text, problem.line, problem.column),
        Err(OpenError::Failure(failure)) => panic!("{failure:?}"),
    };
    let chunk = &text[strict.header_bytes..];
    let header = &text[..strict.header_bytes];
    assert!(strict.header_lines <= lines(header));
    let mut block = Block::new();
    let found = strict.decoder.decode(chunk, &mut block, &mut Scratch::default());
    assert_eq!((found.skipped, found.reasons.len()), (0, 0));
    consistent(&block, &found, chunk);

    let options = Options { skip: true, ..options };
    let Ok(lax) = (entry.open)(&options, text) else { panic!("opened only without skipping") };
    let mut all = Block::new();
    let skipping = lax.decoder.decode(chunk, &mut all, &mut Scratch::default());
    assert_eq!(skipping.problem, None);
    assert_eq!(skipping.skipped > 0, found.problem.is_some());
    assert_eq!(skipping.reasons.len(), KEPT_REASONS.min(skipping.skipped as usize));
    assert_eq!(skipping.reasons.first(), found.problem.as_ref());
    assert!(rows(&all).starts_with(&rows(&block)));
    consistent(&all, &skipping, chunk);

    for decoder in [strict.decoder, lax.decoder] {
        let mut wide = Block::new();
        let found = decoder.decode_f64(chunk, &mut wide, &mut Scratch::default());
        consistent(&wide, &found, chunk);
    }
}

fn consistent<V: Number>(block: &Block<V>, found: &Found, chunk: &[u8]) {
    let rows = block.len();
    assert_eq!(found.lines, lines(chunk));
    assert_eq!(block.offsets[0], 0);
    assert!(block.offsets.is_sorted());
    assert_eq!(block.offsets[rows], block.indices.len());
    assert_eq!(block.indices.len(), block.values.len());
    assert_eq!((block.raw_labels.len(), block.labels.len()), (rows, 0));
    assert_eq!((block.lines.len(), block.columns.len()), (rows, rows));
    assert!(block.weights.is_empty() || block.weights.len() == rows);
    assert!(block.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
    assert!(block.lines.is_sorted());
    assert!(block.values.iter().all(|value| value.is_finite() && value.f64() != 0.0));
    for k in 0..rows {
        let row = &block.indices[block.offsets[k]..block.offsets[k + 1]];
        assert!(row.is_sorted_by(|a, b| a < b));
        inside(chunk, u64::from(block.lines[k]), u64::from(block.columns[k]));
        assert!(match &block.raw_labels[k] {
            Label::Number(value) => value.is_finite(),
            Label::Name(name) => !name.is_empty(),
            Label::Missing => true,
        });
    }
    for problem in found.problem.iter().chain(&found.reasons) {
        inside(chunk, problem.line, problem.column);
        assert!(!problem.message.is_empty());
    }
    let mut reported: Vec<u32> = found.names.iter().map(|name| name.0).collect();
    reported.sort_unstable();
    assert!(reported.is_sorted_by(|a, b| a < b), "a name is reported once");
}

fn lines(text: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', text).count() as u64;
    newlines + u64::from(text.last().is_some_and(|&byte| byte != b'\n'))
}

fn inside(text: &[u8], line: u64, column: u64) {
    let line = text.split(|&byte| byte == b'\n').nth(line as usize);
    let length = line.map(<[u8]>::len);
    assert!(length.is_some_and(|n| (1..=n as u64 + 1).contains(&column)), "{column} of {length:?}");
}

/// Reading record by record gives the rows, labels, lines and columns of reading all at once. The
/// text must be without fault, one record a line, after `header` bytes.
pub(in crate::example) fn splits_anywhere(entry: &Entry, options: &Options, records: &[Vec<u8>]) {
    let text = records.concat();
    let Ok(Opened { decoder, header_bytes, .. }) = (entry.open)(options, &text) else {
        panic!("cannot be opened")
    };
    let mut whole = Block::new();
    let found = decoder.decode(&text[header_bytes..], &mut whole, &mut Scratch::default());
    assert_eq!(found.problem, None);
    let (mut scratch, mut seen, mut names, mut lines) = (Scratch::default(), Vec::new(), Names::default(), 0);
    let mut from = 0;
    for record in records {
        from += record.len();
        if from <= header_bytes {
            continue;
        }
        let mut block = Block::new();
        let found = decoder.decode(record, &mut block, &mut scratch);
        assert_eq!(found.problem, None);
        seen.extend(rows(&block));
        names.extend(found.names.iter());
        lines += found.lines;
    }
    assert_eq!(seen, rows(&whole));
    assert_eq!(names, found.names);
    assert_eq!(lines, found.lines);
}

/// A text with some bytes replaced by bytes that mean something in one format or another.
pub(in crate::example) fn mutated(text: &str, changes: &[(usize, u8)]) -> Vec<u8> {
    const TELLING: &[u8] = b"|:' \t\r\n\",;{}[]0-.enif\\\xff";
    let mut bytes = text.as_bytes().to_vec();
    for &(at, by) in changes {
        let at = at % bytes.len();
        bytes[at] = TELLING[by as usize % TELLING.len()];
    }
    bytes
}

/// Two decoders that must agree on everything: rows, bits, places of errors. In wide lanes and in narrow ones.
pub(in crate::example) fn agree(one: &dyn Decoder, other: &dyn Decoder, chunk: &[u8]) {
    alike::<f32>(one, other, chunk);
    alike::<f64>(one, other, chunk);
    narrowly(|| alike::<f32>(one, other, chunk));
    narrowly(|| alike::<f64>(one, other, chunk));
}

fn alike<V: Number>(one: &dyn Decoder, other: &dyn Decoder, chunk: &[u8]) {
    let read = |decoder: &dyn Decoder| {
        let mut block = Block::<V>::new();
        let found = V::decode(decoder, chunk, &mut block, &mut Scratch::default());
        (block, found)
    };
    let ((a, found), (b, expected)) = (read(one), read(other));
    let text = String::from_utf8_lossy(chunk);
    assert_eq!(found.problem, expected.problem, "{text}");
    assert_eq!((found.lines, found.skipped), (expected.lines, expected.skipped), "{text}");
    assert_eq!((found.names, found.reasons), (expected.names, expected.reasons), "{text}");
    assert_eq!((&a.offsets, &a.indices), (&b.offsets, &b.indices), "{text}");
    let bits = |block: &Block<V>| block.values.iter().map(|value| value.bits()).collect::<Vec<_>>();
    assert_eq!(bits(&a), bits(&b), "{text}");
    assert_eq!((&a.raw_labels, &a.weights), (&b.raw_labels, &b.weights), "{text}");
    assert_eq!((&a.lines, &a.columns), (&b.lines, &b.columns), "{text}");
}
