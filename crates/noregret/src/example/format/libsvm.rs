//! LIBSVM: `label index:value ...`, one example a line.
//!
//! Separators are runs of spaces or tabs; `#` begins a comment; `qid:N` after the label is ignored.
//! Most tokens are read by `token`, which sees a feature in a few words of eight bytes;
//! whatever is unusual, and every error, goes to the exact reader beside it, which knows the place.

mod fours;
mod layout;
mod marks;
mod run;
pub(super) mod token;

use super::{
    Decoder, Entry, Found, KEPT_REASONS, LARGEST_DIMENSION, OpenError, Opened, Options, Problem, Scratch,
};
use crate::error::UsageError;
use crate::example::digits::WINDOW;
use crate::example::lanes;
use crate::example::names::Schema;
use crate::example::number::{Number, parse_f32, parse_f64, why_not_finite};
use crate::example::quote::quote;
use crate::example::text::sort;
use crate::example::{Block, Label};
use fours::Fours;
use layout::Layout;
use memchr::memchr;
use run::{RUN, Run, Swept};
use std::cmp::Ordering;

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "libsvm",
    summary: "`label index:value ...`, indices ascending; also known as SVMlight",
    endings: &["libsvm", "svm", "svmlight"],
    sniff,
    quoted: false,
    table: None,
    open,
};

fn open(options: &Options, _beginning: &[u8]) -> Result<Opened, OpenError> {
    if options.schema.as_ref().is_some_and(|schema| *schema != Schema::default()) {
        return Err(OpenError::Usage(UsageError::new(
            "the model was learned from named features, and LIBSVM has numbers only: give it the format that \
             it was learned from",
        )));
    }
    let base = u64::from(!options.zero_based);
    let places = match (options.dimension, options.bits) {
        (Some(dimension), _) => u64::from(dimension),
        (None, Some(_)) => u64::MAX - base,
        (None, None) => u64::from(LARGEST_DIMENSION),
    };
    let mask = options
        .bits
        .and_then(|bits| 1u64.checked_shl(bits))
        .map_or(u32::MAX, |places| u32::try_from(places - 1).unwrap_or(u32::MAX));
    let decoder = Libsvm {
        base,
        end: base + places,
        mask,
        folded: options.bits.is_some(),
        dimension: options.dimension,
        skip: options.skip,
        unlabelled: options.unlabelled,
    };
    Ok(Opened { decoder: Box::new(decoder), header_bytes: 0, header_lines: 0 })
}

/// Whether all of the first lines are examples of this format, one of them with a feature.
fn sniff(beginning: &[u8]) -> bool {
    let is_feature = |token: &[u8]| {
        let Some(colon) = memchr(b':', token) else { return false };
        let (index, value) = (&token[..colon], &token[colon + 1..]);
        index == b"qid"
            || (!index.is_empty() && index.iter().all(u8::is_ascii_digit) && parse_f32(value).is_some())
    };
    let mut features = 0;
    let mut lines = beginning.split_inclusive(|&byte| byte == b'\n').peekable();
    for number in 0..20 {
        let Some(line) = lines.next() else { break };
        // The last line may be cut anywhere.
        let cut = lines.peek().is_none() && !line.ends_with(b"\n") && number > 0;
        let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut tokens = text.split(|&byte| is_space(byte)).filter(|token| !token.is_empty());
        match tokens.next() {
            Some(first) if is_feature(first) => features += 1,
            Some(first) if first.contains(&b':') && !cut => return false,
            _ => {}
        }
        let count = tokens.clone().count();
        for token in tokens.take(if cut { count.saturating_sub(1) } else { count }) {
            if !is_feature(token) {
                return false;
            }
            features += 1;
        }
    }
    features > 0
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// What is wrong, and at which byte of the chunk.
struct Fault {
    at: usize,
    message: String,
}

struct Libsvm {
    /// The lowest index in the file: 0 or 1.
    base: u64,
    /// Indices in the file are below this.
    end: u64,
    /// Applied to indices from 0.
    mask: u32,
    folded: bool,
    dimension: Option<u32>,
    skip: bool,
    unlabelled: bool,
}

impl Decoder for Libsvm {
    fn decode(&self, chunk: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn decode_f64(&self, chunk: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn schema(&self) -> Schema {
        Schema::default()
    }
}

fn rest_of_lines(bytes: &[u8]) -> u64 {
    let newlines = memchr::memchr_iter(b'\n', bytes).count();
    newlines as u64 + u64::from(bytes.last().is_some_and(|&byte| byte != b'\n'))
}

/// Where the line of `at` ends, its newline included.
fn line_end(chunk: &[u8], at: usize) -> usize {
    memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |newline| at + newline + 1)
}

/// The first byte at or after `at` that is no separator.
fn skip_spaces(chunk: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = chunk.get(at) {
        at += 1;
    }
    at
}

/// Whether nothing more of the line counts: it ends here, or a comment begins.
fn ends(chunk: &[u8], at: usize) -> bool {
    match chunk.get(at) {
        None | Some(b'\n' | b'#') => true,
        Some(b'\r') => matches!(chunk.get(at + 1), None | Some(b'\n')),
        _ => false,
    }
}

/// The token that begins at `at`.
fn token_at(chunk: &[u8], at: usize) -> &[u8] {
    let mut end = at;
    while !ends(chunk, end) && !matches!(chunk[end], b' ' | b'\t') {
        end += 1;
    }
    &chunk[at..end]
}

impl Libsvm {
    fn rows<V: Number>(&self, chunk: &[u8], block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        let mut found = Found::default();
        let mut run = Run::new();
        let mut start = 0;
        while start < chunk.len() {
            match self.line(chunk, start, found.lines, &mut run, block, scratch) {
                Ok(next) => start = next,
                Err(fault) => {
                    run.flush(self, block);
                    let features = block.offsets.last().copied().unwrap_or(0);
                    block.indices.truncate(features);
                    block.values.truncate(features);
                    let problem = Problem {
                        line: found.lines,
                        column: (fault.at - start) as u64 + 1,
                        message: fault.message,
                    };
                    if !self.skip {
                        found.problem = Some(problem);
                        found.lines += rest_of_lines(&chunk[start..]);
                        return found;
                    }
                    found.skipped += 1;
                    if found.reasons.len() < KEPT_REASONS {
                        found.reasons.push(problem);
                    }
                    start = line_end(chunk, fault.at);
                }
            }
            found.lines += 1;
        }
        run.flush(self, block);
        found
    }

    /// Reads the line that begins at `start` into a row, and says where the next line begins.
    #[inline]
    fn line<V: Number>(
        &self,
        chunk: &[u8],
        start: usize,
        number: u64,
        run: &mut Run<V>,
        block: &mut Block<V>,
        scratch: &mut Scratch<V>,
    ) -> Result<usize, Fault> {
        let at = skip_spaces(chunk, start);
        if ends(chunk, at) {
            return Ok(line_end(chunk, at));
        }
        let (label, after) = self.label(chunk, at)?;
        let next = self.features(chunk, after, run, block)?;
        if self.folded {
            run.flush(self, block);
            let row = block.offsets.last().copied().unwrap_or(0);
            fold(block, row, scratch).map_err(|message| Fault { at, message })?;
        }
        block.offsets.push(block.indices.len() + run.count);
        block.raw_labels.push(label);
        if !block.weights.is_empty() {
            block.weights.push(1.0);
        }
        block.lines.push(number as u32);
        block.columns.push((at - start) as u32 + 1);
        Ok(next)
    }

    fn label(&self, chunk: &[u8], at: usize) -> Result<(Label, usize), Fault> {
        match chunk[at..] {
            [b'1', b' ', ..] => return Ok((Label::Number(1.0), at + 1)),
            [b'0', b' ', ..] => return Ok((Label::Number(0.0), at + 1)),
            [b'-', b'1', b' ', ..] => return Ok((Label::Number(-1.0), at + 2)),
            [b'+', b'1', b' ', ..] => return Ok((Label::Number(1.0), at + 2)),
            _ => {}
        }
        let text = token_at(chunk, at);
        let after = at + text.len();
        if text.contains(&b':') {
            if self.unlabelled {
                return Ok((Label::Missing, at));
            }
            let message = format!("found {}, expected a label before the features", quote(text));
            return Err(Fault { at, message });
        }
        if let Some(number) = parse_f64(text) {
            if number.is_finite() {
                return Ok((Label::Number(number), after));
            }
            let message = format!(
                "the label {} is {}; expected a finite number or a name",
                quote(text),
                why_not_finite(text)
            );
            return Err(Fault { at, message });
        }
        match std::str::from_utf8(text) {
            Ok(name) if !name.contains(char::is_control) => Ok((Label::Name(name.into()), after)),
            Ok(_) => {
                let message =
                    format!("the label {} has control characters; is this a text file?", quote(text));
                Err(Fault { at, message })
            }
            Err(error) => {
                let message = format!("the label {} is not UTF-8 text; is this a text file?", quote(text));
                Err(Fault { at: at + error.valid_up_to(), message })
            }
        }
    }

    /// Reads features up to the end of the line, and says where the next line begins.
    #[inline(never)]
    fn features<V: Number>(
        &self,
        chunk: &[u8],
        first: usize,
        run: &mut Run<V>,
        block: &mut Block<V>,
    ) -> Result<usize, Fault> {
        let mut rest = &chunk[first..];
        let mut lowest = self.base;
        // Rows begin alike.
        let mut layout = run.first;
        run.fours.pass_row();
        let mut plain = lanes::wide();
        loop {
            run.make_room(self, block);
            let count = run.count;
            let guess = run.guess.is_left();
            let mut fours = false;
            let swept = if !guess {
                self.sweep_any(chunk, &mut rest, &mut lowest, run)
            } else if plain
                && run.fours.is_left()
                && let Some(look) = layout.look()
            {
                fours = true;
                let work = Fours { libsvm: self, look, rest: &mut rest, lowest: &mut lowest, run };
                lanes::run_within(lanes::Width::Avx2, work)
            } else if layout.is_long() {
                self.sweep::<V, true>(layout, &mut rest, &mut lowest, run)
            } else {
                self.sweep::<V, false>(layout, &mut rest, &mut lowest, run)
            };
            if guess {
                let (read, ended) = (run.count - count, matches!(swept, Swept::Other));
                run.guess.enter(read, ended);
                if fours {
                    run.fours.enter(read, ended);
                }
            }
            match swept {
                Swept::Row => return Ok(chunk.len() - rest.len()),
                Swept::Run => continue,
                Swept::Other => {}
            }
            if guess
                && let Some(other) = rest.first_chunk().and_then(Layout::of)
                && (fours || !std::ptr::eq(other, layout))
            {
                // Four at once end also where one has a sign.
                plain = !std::ptr::eq(other, layout) && lanes::wide();
                layout = other;
                if rest.len() == chunk.len() - first {
                    run.first = other;
                }
                continue;
            }
            if let Some(feature) = rest.first_chunk().and_then(token::read_long::<V>)
                && (lowest..self.end).contains(&u64::from(feature.index))
            {
                rest = &rest[feature.length..];
                lowest = u64::from(feature.index) + 1;
                run.push(feature.index, feature.value);
                if rest.first() == Some(&b'\n') {
                    return Ok(chunk.len() - rest.len() + 1);
                }
                continue;
            }
            let at = skip_spaces(chunk, chunk.len() - rest.len());
            if ends(chunk, at) {
                return Ok(line_end(chunk, at));
            }
            if chunk[at..].starts_with(b"qid:") && skip_spaces(chunk, first) == at {
                rest = &chunk[at + token_at(chunk, at).len()..];
                continue;
            }
            let (index, value, after) = self.feature::<V>(chunk, at, lowest)?;
            lowest = index + 1;
            // May be beyond 2^32 where it is folded.
            let place = (index - self.base) as u32 & self.mask;
            run.push(place.wrapping_add(self.base as u32), value);
            rest = &chunk[after..];
        }
    }

    /// Reads features that look like this, from a space to a space, until one does not, or the row ends.
    #[inline(never)]
    fn sweep<V: Number, const LONG: bool>(
        &self,
        layout: &Layout,
        rest: &mut &[u8],
        lowest: &mut u64,
        run: &mut Run<V>,
    ) -> Swept {
        let (mut text, mut least) = (*rest, *lowest);
        let mut count = run.count;
        let mut swept = Swept::Run;
        while count < RUN {
            swept = Swept::Other;
            let Some(window) = text.first_chunk() else { break };
            let Some(feature) = layout.read::<V, LONG>(window) else { break };
            let index = u64::from(feature.index);
            if index < least || index >= self.end {
                break;
            }
            let end = window[feature.length % WINDOW];
            if end != b' ' && end != b'\n' {
                break;
            }
            least = index + 1;
            run.indices[count] = feature.index;
            run.values[count] = feature.value;
            count += usize::from(!feature.zero);
            if end != b' ' {
                text = &text[feature.length % WINDOW + 1..];
                swept = Swept::Row;
                break;
            }
            text = &text[feature.length % WINDOW..];
            swept = Swept::Run;
        }
        (*rest, *lowest) = (text, least);
        run.count = count;
        swept
    }

    /// Reads features of any lengths, from a space to a space, until one is unusual, or the row ends.
    #[inline(never)]
    fn sweep_any<'a, V: Number>(
        &self,
        chunk: &'a [u8],
        rest: &mut &'a [u8],
        lowest: &mut u64,
        run: &mut Run<V>,
    ) -> Swept {
        let at = chunk.len() - rest.len();
        let bound = |index: u64| u32::try_from(index).unwrap_or(u32::MAX);
        let indices = bound(*lowest)..bound(self.end);
        let Some((features, window, base)) = run.marks.features(chunk, at, &indices) else {
            return Swept::Other;
        };
        let features = &features[..features.len().min(RUN - run.count)];
        let Some(last) = features.last() else { return Swept::Other };
        for feature in features {
            let (value, zero) = feature.value(window);
            run.indices[run.count] = feature.index;
            run.values[run.count] = value;
            run.count += usize::from(!zero);
        }
        let end = base + usize::from(last.end);
        *lowest = u64::from(last.index) + 1;
        let count = features.len();
        run.marks.pass(count);
        if chunk[end] == b' ' {
            *rest = &chunk[end..];
            return Swept::Run;
        }
        *rest = &chunk[end + 1..];
        run.guess.pass_row();
        Swept::Row
    }

    /// The exact reader: one feature that begins at `at`, or what is wrong with it.
    #[cold]
    #[inline(never)]
    fn feature<V: Number>(&self, chunk: &[u8], at: usize, lowest: u64) -> Result<(u64, V, usize), Fault> {
        let fault = |at, message| Err(Fault { at, message });
        let text = token_at(chunk, at);
        let Some(colon) = memchr(b':', text) else {
            return fault(at, format!("found {}, expected index:value", quote(text)));
        };
        let (digits, value) = (&text[..colon], &text[colon + 1..]);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            let message = format!("found {}, expected index:value with a whole number as index", quote(text));
            return fault(at, message);
        }
        let index = digits
            .iter()
            .try_fold(0u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        let Some(index) = index.filter(|index| *index < self.end) else {
            return fault(at, self.too_large(digits));
        };
        if index < lowest {
            let last = lowest - 1;
            return fault(
                at,
                match index.cmp(&last) {
                    _ if lowest == self.base => {
                        "index 0, but indices count from 1; if they count from 0 here, use --zero-based"
                            .to_owned()
                    }
                    Ordering::Equal => format!("index {index} stands twice; expected each index once"),
                    _ => format!("index {index} follows index {last}; expected ascending indices"),
                },
            );
        }
        match V::parse(value) {
            Some(number) if number.is_finite() => Ok((index, number, at + text.len())),
            Some(_) => {
                let message = format!(
                    "the value {} is {}; expected a finite number, at most {} in size",
                    quote(value),
                    why_not_finite(value),
                    V::LARGEST
                );
                fault(at + colon + 1, message)
            }
            None => {
                let message = format!("the value {} is not a number", quote(value));
                fault(at + colon + 1, message)
            }
        }
    }

    fn too_large(&self, digits: &[u8]) -> String {
        let digits = quote(digits);
        let last = self.end - 1;
        match self.dimension {
            Some(dimension) => format!(
                "index {digits} is beyond {last}, the last of --dimension {dimension}; \
                 raise --dimension, or fold indices with --bits"
            ),
            None => format!(
                "index {digits} is beyond {last}; fold indices into 2^B places with --bits B, \
                 or allow more with --dimension"
            ),
        }
    }
}

/// Sorts the row that begins at `row` after its indices were folded, and adds up what fell together.
fn fold<V: Number>(block: &mut Block<V>, row: usize, scratch: &mut Scratch<V>) -> Result<(), String> {
    if block.indices[row..].is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    sort(&block.indices[row..], &block.values[row..], scratch);
    block.indices.truncate(row);
    block.values.truncate(row);
    // Sums are taken in the order of the file.
    for group in scratch.order.chunk_by(|a, b| a.index() == b.index()) {
        let index = group[0].index();
        let sum: V = group.iter().map(|feature| scratch.values[feature.position()]).sum();
        if !sum.is_finite() {
            return Err(format!(
                "features that --bits folds into place {index} add up to more than {}",
                V::LARGEST
            ));
        }
        if sum != V::ZERO {
            block.indices.push(index);
            block.values.push(sum);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
