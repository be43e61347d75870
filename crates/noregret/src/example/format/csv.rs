//! CSV and TSV: a header, then a record per line (RFC 4180: fields in double quotes may hold
//! separators, newlines and doubled quotes).
//!
//! A column has a fixed place, in the order of the header or of the model. A cell that spells a number is
//! that feature's value; any other text is the feature `column=value`, hashed, with the value 1; an
//! empty cell is absent. Spaces around a cell that is not in quotes are no part of it.

mod header;

pub(super) use header::columns;

use memchr::{memchr, memchr_iter};
use std::cell::Cell;

use super::{Decoder, Entry, Found, Scratch, jsonl, vw};
use crate::example::digits::{self, Written};
use crate::example::names::Schema;
use crate::example::number::Number;
use crate::example::select::Plan;
use crate::example::text::{self, Fault, Head, Limit, Row, Run};
use crate::example::{Block, Label};

/// CSV; a header with tabs or semicolons and without commas says what the separator is.
pub const ENTRY: Entry = Entry {
    name: "csv",
    summary: "comma-separated values with a header; numbers as they are, text one-hot",
    endings: &["csv"],
    sniff,
    quoted: true,
    table: None,
    open: |options, beginning| header::open(options, beginning, None),
};

/// Tab-separated values.
pub const TSV: Entry = Entry {
    name: "tsv",
    summary: "tab-separated values with a header; numbers as they are, text one-hot",
    endings: &["tsv", "tab"],
    sniff: |beginning| sniff(beginning) && header::separator(text::first_line(beginning)) == b'\t',
    quoted: true,
    table: None,
    open: |options, beginning| header::open(options, beginning, Some(b'\t')),
};

/// A separator, nothing that looks like `index:value`, and no other format with names.
fn sniff(beginning: &[u8]) -> bool {
    let line = text::first_line(beginning);
    let pair = |word: &[u8]| {
        memchr(b':', word).is_some_and(|colon| {
            let (index, value) = (&word[..colon], &word[colon + 1..]);
            !index.is_empty() && index.iter().all(u8::is_ascii_digit) && text::wide(value).is_some()
        })
    };
    line.iter().any(|byte| b",\t;".contains(byte))
        && !line.split(u8::is_ascii_whitespace).any(pair)
        && !(jsonl::ENTRY.sniff)(beginning)
        && !(vw::ENTRY.sniff)(beginning)
}

/// What a column is.
pub(super) enum Role {
    Label,
    Weight,
    Ignored,
    Feature {
        place: u32,
        /// The factors of products that it is.
        factors: u64,
        /// `column=`, before a text cell.
        prefix: Box<[u8]>,
    },
}

/// A place that no column has.
const SLOW: u32 = u32::MAX;

pub(super) struct Csv {
    separator: u8,
    /// What says how many columns there are.
    first: &'static str,
    pub(super) roles: Vec<Role>,
    /// The place of each column whose cells may be read as numbers without a further look; [`SLOW`] for
    /// the others.
    places: Vec<u32>,
    pub(super) schema: Schema,
    pub(super) limit: Limit,
    pub(super) plan: Plan,
    pub(super) skip: bool,
    pub(super) unlabelled: bool,
}

/// A field: where it begins and ends (without its quotes), and where the next one begins.
#[derive(Debug)]
struct Field {
    start: usize,
    end: usize,
    quoted: bool,
    doubled: bool,
    next: Option<usize>,
}

impl Field {
    /// Finds the field that begins at `at`.
    fn find(record: &[u8], at: usize, separator: u8) -> Result<Self, Fault> {
        if record.get(at) != Some(&b'"') {
            let end = memchr(separator, &record[at..]).map_or(record.len(), |length| at + length);
            if memchr(b'"', &record[at..end]).is_some() {
                let message = "a quote within a field that is not in quotes: put the whole field in quotes and double the quote";
                return Err(Fault::new(at, message));
            }
            let next = (end < record.len()).then_some(end + 1);
            return Ok(Self { start: at, end, quoted: false, doubled: false, next });
        }
        let start = at + 1;
        let (mut from, mut doubled) = (start, false);
        loop {
            let Some(length) = memchr(b'"', &record[from..]) else {
                return Err(Fault::new(at, "the quote is never closed"));
            };
            let end = from + length;
            let next = match record.get(end + 1) {
                None => None,
                Some(&byte) if byte == separator => Some(end + 2),
                Some(b'"') => {
                    doubled = true;
                    from = end + 2;
                    continue;
                }
                Some(_) => {
                    let message = "text after the closing quote of a field: expected the separator";
                    return Err(Fault::new(at, message));
                }
            };
            return Ok(Self { start, end, quoted: true, doubled, next });
        }
    }

    /// What the field says. `buffer` is used where quotes are doubled.
    fn text<'a>(&self, record: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let text = &record[self.start..self.end];
        if !self.quoted {
            return text::trim(text);
        }
        if !self.doubled {
            return text;
        }
        buffer.clear();
        let mut from = 0;
        while let Some(length) = memchr(b'"', &text[from..]) {
            buffer.extend_from_slice(&text[from..=from + length]);
            from += length + 2;
        }
        buffer.extend_from_slice(&text[from..]);
        buffer
    }

    /// The byte of the record where the field begins, its quote included.
    fn at(&self) -> usize {
        self.start - usize::from(self.quoted)
    }
}

/// Finds the ends of records: a newline after an even number of quotes.
#[derive(Default)]
struct Splitter {
    /// A lower bound on the place of the next quote, so that text without quotes is searched once.
    quote: usize,
}

impl Splitter {
    #[inline]
    fn split(&mut self, chunk: &[u8], from: usize) -> (usize, u64) {
        let newline = |from: usize| text::line(chunk, from).0;
        let mut end = newline(from);
        if self.quote < from {
            self.quote = from;
        }
        if self.quote < end && chunk.get(self.quote) != Some(&b'"') {
            let next = memchr(b'"', &chunk[self.quote..]);
            self.quote = next.map_or(chunk.len(), |length| self.quote + length);
        }
        if self.quote >= end {
            return (end, 0);
        }
        let (mut start, mut odd, mut inner) = (self.quote, false, 0);
        loop {
            odd ^= memchr_iter(b'"', &chunk[start..end]).count() % 2 == 1;
            // The chunk's last newline ends its last line, even where a quote is never closed.
            if !odd || end + 1 >= chunk.len() {
                return (end, inner);
            }
            inner += 1;
            start = end + 1;
            end = newline(start);
        }
    }
}

impl Csv {
    fn rows<V: Number>(&self, chunk: &[u8], block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        let (mut splitter, mut buffer) = (Splitter::default(), Vec::new());
        let bare = Cell::new(true);
        let found = text::records(
            chunk,
            self.skip,
            block,
            scratch,
            |chunk, from| {
                let found = splitter.split(chunk, from);
                bare.set(splitter.quote >= found.0);
                found
            },
            |text, length, row| self.read((text, length), bare.get(), row, &mut buffer),
        );
        // The header was asked about names already.
        Found { met: u64::MAX, ..found }
    }

    /// Reads the record of that length which a text begins with; `bare` if there is no quote in it.
    fn read<V: Number>(
        &self,
        (text, length): (&[u8], usize),
        bare: bool,
        row: &mut Row<'_, V>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Head>, Fault> {
        let record = &text[..length];
        if record.is_empty() {
            return Ok(None);
        }
        let mut head = Head { label: Label::Missing, label_at: 0, weight: 1.0 };
        let read = if bare {
            match self.separator {
                b'\t' => self.plain::<V, b'\t'>(text, length, row, &mut head),
                b';' => self.plain::<V, b';'>(text, length, row, &mut head),
                _ => self.plain::<V, b','>(text, length, row, &mut head),
            }
        } else {
            self.quoted(record, row, &mut head, buffer)
        };
        // A field too many or too few is the cause of whatever else looks wrong.
        match read {
            Ok(count) if count == self.roles.len() => {
                self.plan.cross(row)?;
                Ok(Some(head))
            }
            Ok(_) => Err(self.miscounted(record).unwrap_or_else(|| Fault::new(0, "too few fields"))),
            Err(fault) => Err(self.miscounted(record).unwrap_or(fault)),
        }
    }

    /// Reads a record without quotes, of the length given, and says how many fields it has. Numbers are
    /// read as they stand in `text`; the end of a cell is looked for only where that fails.
    fn plain<V: Number, const SEPARATOR: u8>(
        &self,
        text: &[u8],
        length: usize,
        row: &mut Row<'_, V>,
        head: &mut Head,
    ) -> Result<usize, Fault> {
        let mut run = Run::new();
        let mut at = 0;
        let mut fields = 0;
        if row.written.len() < self.roles.len() {
            row.written.resize(self.roles.len(), Written::usual());
        }
        for (column, (role, &place)) in self.roles.iter().zip(&self.places).enumerate() {
            fields += 1;
            let window = if place == SLOW { None } else { text[at..].first_chunk() };
            let usual = window.and_then(|window| {
                let read = |written: &'static Written| {
                    let ends = |end: usize| window[end] == SEPARATOR || at + end == length;
                    written.read::<V>(window, 0).filter(|read| ends(read.1))
                };
                // Numbers of a column are mostly written in one way.
                read(row.written[column]).or_else(|| {
                    let other = Written::of(window, 0)?;
                    let found = read(other)?;
                    row.written[column] = other;
                    Some(found)
                })
            });
            if let Some((value, end)) = usual {
                run.push(place, value, row);
                at += end + 1;
                if at > length {
                    break;
                }
                continue;
            }
            if matches!(role, Role::Label)
                && let Some((value, end)) = usual_label::<SEPARATOR>(&text[at..])
            {
                (head.label, head.label_at) = (Label::Number(value), at);
                at += end + 1;
                continue;
            }
            let long = if place == SLOW { None } else { digits::decimal::<V>(text, at) };
            if let Some((value, end, _)) = long
                && text.get(end) == Some(&SEPARATOR)
            {
                run.push(place, value, row);
                at = end + 1;
                continue;
            }
            let long = window.and_then(|window| {
                let (value, end) = digits::long::<V>(window, 0)?;
                (window[end] == SEPARATOR || at + end == length).then_some((value, at + end))
            });
            let end = if let Some((value, end)) = long {
                run.push(place, value, row);
                end
            } else {
                run.flush(row);
                let end = memchr(SEPARATOR, &text[at..length]).map_or(length, |cell| at + cell);
                self.cell(role, at, text::trim(&text[at..end]), row, head)?;
                end
            };
            at = end + 1;
            if end == length {
                break;
            }
        }
        run.flush(row);
        // Whoever is not beyond the end has seen a separator with a field after it.
        Ok(fields + usize::from(at <= length))
    }

    fn quoted<V: Number>(
        &self,
        record: &[u8],
        row: &mut Row<'_, V>,
        head: &mut Head,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        let mut next = Some(0);
        let mut count = 0;
        while let Some(at) = next {
            let field = Field::find(record, at, self.separator)?;
            let Some(role) = self.roles.get(count) else {
                return Ok(count + 1);
            };
            self.cell(role, at, field.text(record, buffer), row, head)?;
            count += 1;
            next = field.next;
        }
        Ok(count)
    }

    /// The fault of a record whose fields, all well-formed, are not as many as the header's.
    #[cold]
    fn miscounted(&self, record: &[u8]) -> Option<Fault> {
        let (mut next, mut count, mut surplus) = (Some(0), 0, record.len());
        while let Some(at) = next {
            if count == self.roles.len() {
                surplus = at;
            }
            next = Field::find(record, at, self.separator).ok()?.next;
            count += 1;
        }
        let expected = self.roles.len();
        (count != expected).then(|| {
            Fault::new(surplus, format!("the record has {count} fields, the {} {expected}", self.first))
        })
    }

    #[inline]
    pub(super) fn cell<V: Number>(
        &self,
        role: &Role,
        at: usize,
        text: &[u8],
        row: &mut Row<'_, V>,
        head: &mut Head,
    ) -> Result<(), Fault> {
        match role {
            Role::Ignored => Ok(()),
            Role::Feature { .. } if text.is_empty() => Ok(()),
            Role::Feature { place, prefix, factors } => {
                let bare = text::trim(text);
                if !text::may_be_number(bare) {
                    return self.word(prefix, at, text, *factors, row);
                }
                match text::number::<V>(bare) {
                    Some(value) if value == V::ZERO => Ok(()),
                    Some(value) => {
                        self.limit.check(*place, at)?;
                        row.place(*place, value);
                        let name = &prefix[..prefix.len() - 1];
                        row.parts.add(*factors, (*place, value), true, |text| text.extend_from_slice(name));
                        Ok(())
                    }
                    None if text::wide(bare).is_some() => {
                        Err(Fault::new(at, text::no_number::<V>("the cell", bare)))
                    }
                    None => self.word(prefix, at, text, *factors, row),
                }
            }
            Role::Label => {
                head.label_at = at;
                head.label = text::label(text::trim(text)).map_err(|message| Fault::new(at, message))?;
                if head.label == Label::Missing && !self.unlabelled {
                    return Err(Fault::new(at, format!("{}: its cell is empty", text::NO_LABEL)));
                }
                Ok(())
            }
            Role::Weight if text.is_empty() && self.unlabelled => Ok(()),
            Role::Weight => {
                head.weight = text::weight(text::trim(text)).map_err(|message| Fault::new(at, message))?;
                Ok(())
            }
        }
    }

    /// A cell that is no number: one-hot.
    fn word<V: Number>(
        &self,
        prefix: &[u8],
        at: usize,
        text: &[u8],
        factors: u64,
        row: &mut Row<'_, V>,
    ) -> Result<(), Fault> {
        row.text.clear();
        row.text.extend_from_slice(prefix);
        row.text.extend_from_slice(text);
        let Some(index) = self.schema.hashed(row.text) else {
            let text = text::excerpt(text);
            let message = format!("`{text}` is not a number, and the model has no place for text");
            return Err(Fault::new(at, message));
        };
        self.limit.check(index, at)?;
        row.push(index, V::ONE, |_| {});
        let Row { parts, text, .. } = row;
        parts.add(factors, (index, V::ONE), false, |name| name.extend_from_slice(text));
        Ok(())
    }
}

/// A label as most are written, and where the separator behind it is.
#[inline(always)]
fn usual_label<const SEPARATOR: u8>(text: &[u8]) -> Option<(f64, usize)> {
    match *text {
        [b'-', b'1', end, ..] if end == SEPARATOR => Some((-1.0, 2)),
        [b'1', end, ..] if end == SEPARATOR => Some((1.0, 1)),
        [b'0', end, ..] if end == SEPARATOR => Some((0.0, 1)),
        _ => None,
    }
}

impl Decoder for Csv {
    fn decode(&self, chunk: &[u8], block: &mut Block<f32>, scratch: &mut Scratch) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn decode_f64(&self, chunk: &[u8], block: &mut Block<f64>, scratch: &mut Scratch<f64>) -> Found {
        self.rows(chunk, block, scratch)
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn plan(&self) -> Option<&Plan> {
        Some(&self.plan)
    }
}

#[cfg(test)]
mod tests;
