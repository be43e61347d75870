//! CSV and TSV: a header, then a record per row; label first, weight second where there are weights. Data whose features are
//! all columns.

use super::{Entry, Lines, Out, Raw, Refusal, Spell, Subject, Writer, column, decimal, need_columns};
use crate::example::names::Schema;
use crate::example::{Label, Number};

/// CSV.
pub(super) static ENTRY: Entry = Entry {
    name: "csv",
    summary: "comma-separated values with a header: columns of numbers",
    endings: &["csv"],
    has_layout: true,
    open_f32: |out, subject| open(out, subject, b','),
    open_f64: |out, subject| open(out, subject, b','),
};

/// TSV.
pub(super) static TSV: Entry = Entry {
    name: "tsv",
    summary: "tab-separated values with a header: columns of numbers",
    endings: &["tsv", "tab"],
    has_layout: true,
    open_f32: |out, subject| open(out, subject, b'\t'),
    open_f64: |out, subject| open(out, subject, b'\t'),
};

struct Csv {
    separator: u8,
    schema: Schema,
    weights: bool,
}

fn open<V: Number>(out: Out, subject: Subject<'_>, separator: u8) -> Result<Box<dyn Writer<V>>, Refusal> {
    need_columns(subject, if separator == b',' { "CSV" } else { "TSV" })?;
    let mut header = Vec::new();
    text(&mut header, subject.options.label.as_deref().unwrap_or("label"), separator);
    if subject.layout.weights {
        header.push(separator);
        text(&mut header, subject.options.weight.as_deref().unwrap_or("weight"), separator);
    }
    for name in &subject.schema.columns {
        header.push(separator);
        text(&mut header, name, separator);
    }
    header.push(b'\n');
    let csv = Csv { separator, schema: subject.schema.clone(), weights: subject.layout.weights };
    Ok(Lines::begin(out, &header, csv)?)
}

/// Appends a field, in quotes where it needs them.
fn text(line: &mut Vec<u8>, field: &str, separator: u8) {
    let plain = |byte: &u8| ![b'"', b'\n', b'\r', separator].contains(byte);
    if field.as_bytes().iter().all(plain) && field.trim() == field && !field.is_empty() {
        line.extend_from_slice(field.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(field.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

impl<V: Number> Spell<V> for Csv {
    fn row(&mut self, line: &mut Vec<u8>, row: &Raw<'_, V>) -> Result<(), String> {
        match row.label {
            Label::Number(y) => decimal(line, y),
            Label::Name(name) => text(line, name, self.separator),
            Label::Missing => {}
        }
        if self.weights {
            line.push(self.separator);
            decimal(line, row.weight);
        }
        let mut features = row.x.indices.iter().zip(row.x.values).peekable();
        for place in 0..self.schema.columns.len() as u32 {
            line.push(self.separator);
            if let Some((_, value)) = features.next_if(|(index, _)| **index == place) {
                decimal(line, value);
            }
        }
        match features.next() {
            Some((index, _)) => column(&self.schema, *index).map(|_| ()),
            None => Ok(()),
        }
    }
}
