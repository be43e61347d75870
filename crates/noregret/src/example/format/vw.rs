//! Vowpal Wabbit text: `[label [importance]] ['tag]|namespace[:scale] feature[:value] … |…`.
//!
//! Features have the indices that VW gives them (see [`crate::example::hash`]). What VW warns about
//! and guesses is refused here: a value that is no number, an empty value, a line without a bar, an
//! initial prediction other than 0.

mod sweep;

use std::io::Write;

use memchr::memchr;

use super::libsvm::token::{self, Feature};
use super::{Decoder, Entry, Found, OpenError, Opened, Options, Scratch};
use crate::error::UsageError;
use crate::example::digits::{self, WINDOW, Written, word};
use crate::example::hash::{mask, murmur3_words, vw_name, vw_namespace};
use crate::example::names::Schema;
use crate::example::number::Number;
use crate::example::select::{Naming, Plan};
use crate::example::text::{self, Fault, Head, Limit, Row, Run};
use crate::example::{Block, Label};
pub(in crate::example) use sweep::Batch;
use sweep::{PATIENCE, Sweep};
use wide::u8x16;

/// VW text.
pub const ENTRY: Entry = Entry {
    name: "vw",
    summary: "Vowpal Wabbit text: label importance 'tag|namespace:scale feature:value …",
    endings: &["vw"],
    sniff,
    quoted: false,
    table: None,
    open,
};

struct Vw {
    bits: u32,
    /// Whether features need no check of their indices, so that usual ones can be read in the short way.
    usual: bool,
    limit: Limit,
    plan: Plan,
    skip: bool,
    unlabelled: bool,
}

fn open(options: &Options, beginning: &[u8]) -> Result<Opened, OpenError> {
    let decoder = Box::new(decoder(options)?);
    Ok(Opened { decoder, header_bytes: text::byte_order_mark(beginning), header_lines: 0 })
}

fn decoder(options: &Options) -> Result<Vw, OpenError> {
    let usage = |message: &str| OpenError::Usage(UsageError::new(message));
    if options.schema.as_ref().is_some_and(|schema| !schema.columns.is_empty()) {
        return Err(usage(
            "the model was learned from named columns, which VW text has no place for: give it CSV or JSON lines",
        ));
    }
    let Some(bits) = text::bits(options)? else {
        return Err(usage("the model was learned from numbered features: give it LIBSVM"));
    };
    let limit = Limit::new(options);
    let usual = limit.allows(mask(bits));
    let plan = Plan::new(&options.selection, Naming::Spaces { bits }, limit).map_err(OpenError::Usage)?;
    Ok(Vw { bits, usual, limit, plan, skip: options.skip, unlabelled: options.unlabelled })
}

/// A bar with no more before it than a label, numbers and a tag.
fn sniff(beginning: &[u8]) -> bool {
    let line = text::first_line(beginning);
    let Some(bar) = memchr(b'|', line) else {
        return false;
    };
    let mut words: Vec<&[u8]> = words(&line[..bar]).map(|(_, word)| word).collect();
    let touches = bar > 0 && !is_space(line[bar - 1]);
    if words.last().is_some_and(|word| touches || word.starts_with(b"'")) {
        words.pop();
    }
    let plain = |word: &[u8]| !word.iter().any(|byte| b",;:\"{}[]<>".contains(byte));
    words.len() <= 3
        && line[..bar].iter().all(|byte| !b",;\"{".contains(byte))
        && words.first().is_none_or(|label| plain(label))
        && words.iter().skip(1).all(|word| text::wide(word).is_some())
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// The words of a text, each with its place.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].iter().position(|&byte| !is_space(byte))?;
        let from = at;
        at += text[at..].iter().position(|&byte| is_space(byte)).unwrap_or(text.len() - at);
        Some((from, &text[from..at]))
    })
}

/// The end of a word that begins at `at`: a space, a bar or the line's end.
#[inline]
fn word_end(line: &[u8], at: usize) -> usize {
    let stop = |&byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'|');
    line[at..].iter().position(stop).map_or(line.len(), |length| at + length)
}

/// The end of a name that begins at `at`: as a word, or a colon.
#[inline]
fn name_end(line: &[u8], at: usize) -> usize {
    let stop = |&byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'|' | b':');
    line[at..].iter().position(stop).map_or(line.len(), |length| at + length)
}

/// The number after a name, where there is a colon, and the end of both.
#[inline]
fn number_after<V: Number>(line: &[u8], name_end: usize, what: &str) -> Result<(V, usize), Fault> {
    if line.get(name_end) != Some(&b':') {
        return Ok((V::ONE, name_end));
    }
    let at = name_end + 1;
    let end = word_end(line, at);
    match text::number(&line[at..end]) {
        Some(value) => Ok((value, end)),
        None => Err(Fault::new(at, text::no_number::<V>(what, &line[at..end]))),
    }
}

impl Vw {
    /// Reads usual features of a namespace that has no scale, as long as there are any, from `from` on, and
    /// says where the first of another kind begins.
    #[inline(never)]
    fn usual<V: Number>(
        &self,
        text: &[u8],
        length: usize,
        from: usize,
        space: &[u8],
        seed: u32,
        row: &mut Row<'_, V>,
    ) -> usize {
        let mut usual = Usual { mask: mask(self.bits), space, run: Run::new(), row };
        let mut rest = &text[from..];
        let mut guess = true;
        loop {
            while let Some(feature) = rest.first_chunk().and_then(token::read::<V>) {
                rest = usual.enter(rest, feature.index.wrapping_add(seed), feature.value, feature.length);
            }
            let wait = |row: &Row<'_, V>| row.batch.as_deref().map_or(0, |batch| batch.wait);
            if let [b' ', byte, ..] = rest
                && !byte.is_ascii_digit()
                && wait(usual.row) == 0
            {
                usual.run.flush(usual.row);
                let from = text.len() - rest.len();
                let sweep = Sweep { text, from, length, space, seed, mask: usual.mask, row: usual.row };
                rest = &text[sweep.read()..];
            }
            // After so many that are read one by one, many at once are tried again.
            let wait = wait(usual.row);
            let mut patience = if wait > 0 { wait } else { PATIENCE };
            while patience > 0
                && let Some((hash, end)) = rest.first_chunk().and_then(|window| named(window, seed))
            {
                patience -= 1;
                if rest[end] == b' ' {
                    rest = usual.enter(rest, hash, V::ONE, end);
                    continue;
                }
                let Some(window) = rest[end..].first_chunk().filter(|window| window[0] == b':') else {
                    break;
                };
                if guess {
                    let written = usual.row.written[0];
                    let read = written.read::<V>(window, 1).filter(|read| window[read.1] == b' ');
                    if let Some((value, length)) = read {
                        rest = usual.enter(rest, hash, value, end + length);
                        continue;
                    }
                }
                let at = text.len() - rest.len();
                let read =
                    digits::decimal::<V>(text, at + end + 1).filter(|read| text.get(read.1) == Some(&b' '));
                if let Some((value, end, written)) = read {
                    // Values that are long are written in many ways.
                    guess = written.is_some();
                    if let Some(written) = written {
                        usual.row.written[0] = written;
                    }
                    rest = usual.enter(rest, hash, value, end - at);
                    continue;
                }
                guess = true;
                let other =
                    Written::of(window, 1).filter(|other| !std::ptr::eq(*other, usual.row.written[0]));
                let Some(other) = other else { break };
                usual.row.written[0] = other;
            }
            if wait > 0
                && let Some(batch) = &mut usual.row.batch
            {
                batch.wait = patience;
            }
            if patience == 0 {
                continue;
            }
            let Some(feature) = long(rest, seed) else { break };
            rest = usual.enter(rest, feature.index, feature.value, feature.length);
        }
        usual.run.flush(usual.row);
        text.len() - rest.len()
    }

    fn rows<V: Number>(&self, chunk: &[u8], block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        text::records(chunk, self.skip, block, scratch, text::line, |text, length, row| {
            self.read(text, length, row)
        })
    }

    fn read<V: Number>(
        &self,
        text: &[u8],
        length: usize,
        row: &mut Row<'_, V>,
    ) -> Result<Option<Head>, Fault> {
        let line = &text[..length];
        let Some(bar) = memchr(b'|', line) else {
            if line.trim_ascii().is_empty() {
                return Ok(None);
            }
            return Err(Fault::new(0, "there is no `|`: expected `label | feature feature:value …`"));
        };
        let head = self.head(line, bar)?;
        let mut at = bar;
        while at < line.len() {
            at = self.namespace(text, length, at + 1, row)?;
        }
        self.plan.cross(row)?;
        Ok(Some(head))
    }

    /// What is before the first bar. A word that touches the bar, or begins with a quote, is a tag.
    fn head(&self, line: &[u8], bar: usize) -> Result<Head, Fault> {
        let mut head = Head { label: Label::Missing, label_at: 0, weight: 1.0 };
        // What most lines have.
        let usual = match &line[..bar] {
            b"1 " | b"+1 " => 1.0,
            b"-1 " => -1.0,
            b"0 " => 0.0,
            _ => f64::NAN,
        };
        if usual.is_finite() {
            head.label = Label::Number(usual);
            return Ok(head);
        }
        let mut touching = None;
        let mut place = 0;
        for (at, word) in words(&line[..bar]) {
            let rest = at + word.len();
            if rest == bar {
                touching = Some(at);
                break;
            }
            if word.starts_with(b"'") && line[rest..bar].trim_ascii().is_empty() {
                break;
            }
            match place {
                0 => {
                    head.label = text::label(word).map_err(|message| Fault::new(at, message))?;
                    head.label_at = at;
                }
                1 => head.weight = text::weight(word).map_err(|message| Fault::new(at, message))?,
                2 if text::wide(word) == Some(0.0) => {}
                2 => {
                    let word = text::excerpt(word);
                    let message = format!("an initial prediction (`{word}`) is not supported: leave it away");
                    return Err(Fault::new(at, message));
                }
                _ => {
                    let message =
                        "too many words before the `|`: expected a label, an importance weight and a tag";
                    return Err(Fault::new(at, message));
                }
            }
            place += 1;
        }
        match touching {
            _ if place > 0 || self.unlabelled => Ok(head),
            None => Err(Fault::new(0, text::NO_LABEL)),
            Some(at) => {
                let message = format!(
                    "{}: a word that touches the `|` is a tag; write a space between",
                    text::NO_LABEL
                );
                Err(Fault::new(at, message))
            }
        }
    }

    /// Reads the namespace that begins after a bar, to the next bar or the end.
    #[inline]
    fn namespace<V: Number>(
        &self,
        text: &[u8],
        length: usize,
        from: usize,
        row: &mut Row<'_, V>,
    ) -> Result<usize, Fault> {
        let line = &text[..length];
        let end = name_end(line, from);
        let space = &line[from..end];
        if space.is_empty() && line.get(end) == Some(&b':') {
            return Err(Fault::new(end, "a namespace needs a name before its scale: `|name:scale`"));
        }
        let mut factors = 0;
        if !self.plan.is_empty() {
            let names = self.plan.matches(space);
            row.parts.meet(names);
            if self.plan.leaves_out(names) {
                return Ok(memchr(b'|', &line[end..]).map_or(length, |bar| end + bar));
            }
            factors = self.plan.factors(names);
        }
        let seed = vw_namespace(space);
        let (scale, mut at) = number_after::<V>(line, end, "the namespace's scale")?;
        let mut nameless = 0_u32;
        let usual = self.usual && scale == V::ONE && factors == 0;
        loop {
            if usual {
                at = self.usual(text, length, at, space, seed, row);
            }
            while at < line.len() && is_space(line[at]) {
                at += 1;
            }
            if at >= line.len() || line[at] == b'|' {
                return Ok(at);
            }
            let end = name_end(line, at);
            let name = &line[at..end];
            let (value, next) = number_after::<V>(line, end, "the value")?;
            let scaled = value * scale;
            if !scaled.is_finite() {
                let message = format!(
                    "the value {value} times the namespace's scale {scale} is {}",
                    text::beyond::<V>()
                );
                return Err(Fault::new(at, message));
            }
            let hash = if name.is_empty() { seed.wrapping_add(nameless) } else { vw_name(name, seed) };
            let index = hash & mask(self.bits);
            self.limit.check(index, at)?;
            row.push(index, scaled, |text| {
                text.clear();
                audit_name(text, space, name, nameless);
            });
            row.parts.add(factors, (index, scaled), true, |text| audit_name(text, space, name, nameless));
            nameless += u32::from(name.is_empty());
            at = next;
        }
    }
}

/// Where usual features go.
struct Usual<'a, 'r, V> {
    mask: u32,
    space: &'a [u8],
    run: Run<V>,
    row: &'a mut Row<'r, V>,
}

impl<V: Number> Usual<'_, '_, V> {
    /// Enters the feature that `rest` begins with, of the length given, and says what is after it.
    #[inline(always)]
    fn enter<'t>(&mut self, rest: &'t [u8], hash: u32, value: V, length: usize) -> &'t [u8] {
        let index = hash & self.mask;
        if !self.row.knows(index) {
            self.note(&rest[..length], index, value);
        }
        self.run.push(index, value, self.row);
        &rest[length..]
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, feature: &[u8], index: u32, value: V) {
        if value != V::ZERO {
            let name = &feature[1..name_end(feature, 1)];
            self.row.note(index, |text| {
                text.clear();
                audit_name(text, self.space, name, 0);
            });
        }
    }
}

/// The hash of a name after a space, of at most 15 bytes and no number, and the byte after it.
#[inline(always)]
fn named(window: &[u8; WINDOW], seed: u32) -> Option<(u32, usize)> {
    let name = u8x16::new(*window[1..].first_chunk()?);
    let is = |byte: u8| name.simd_eq(u8x16::splat(byte));
    let stops = (name.min(u8x16::splat(b' ')).simd_eq(name) | is(b':') | is(b'|')).to_bitmask();
    let length = stops.trailing_zeros() as usize;
    let digits = name ^ u8x16::splat(b'0');
    let others = !digits.min(u8x16::splat(9)).simd_eq(digits).to_bitmask();
    // Of what stops a name none is a digit: the first that is no digit is in the name, or is what stops it.
    if window[0] != b' ' || length >= 16 || others.trailing_zeros() as usize == length {
        return None;
    }
    let hash = murmur3_words(word(window, 1), word(window, 9), length, seed);
    Some((hash, length + 1))
}

/// A feature of the usual kind, at the end of a line too, and with a value of any length.
#[inline(never)]
fn long<V: Number>(rest: &[u8], seed: u32) -> Option<Feature<V>> {
    let window = rest.first_chunk()?;
    if let Some(feature) = token::read_long::<V>(window) {
        return Some(Feature { index: feature.index.wrapping_add(seed), ..feature });
    }
    let (hash, end) = named(window, seed)?;
    if rest[end] != b':' {
        return matches!(rest[end], b' ' | b'\n').then_some(Feature {
            index: hash,
            value: V::ONE,
            length: end,
        });
    }
    let window = rest[end..].first_chunk()?;
    let (value, length) = digits::long::<V>(window, 1)?;
    matches!(window[length], b' ' | b'\n').then_some(Feature { index: hash, value, length: end + length })
}

/// Writes the name as VW's audit prints it; a feature without a name gets its number within the namespace
/// (`space^:0`), which no name can look like.
fn audit_name(text: &mut Vec<u8>, space: &[u8], name: &[u8], nameless: u32) {
    if !space.is_empty() {
        text.extend_from_slice(space);
        text.push(b'^');
    }
    text.extend_from_slice(name);
    if name.is_empty() {
        // Writing to a vector cannot fail.
        let _ = write!(text, ":{nameless}");
    }
}

impl Decoder for Vw {
    fn decode(&self, chunk: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn decode_f64(&self, chunk: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn schema(&self) -> Schema {
        Schema { columns: Vec::new(), bits: Some(self.bits) }
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }
}

#[cfg(test)]
mod tests;
