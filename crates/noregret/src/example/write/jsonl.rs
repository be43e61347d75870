//! JSON lines: an object per row, its keys the label, the weight where it is not 1, and the columns. Data whose features are
//! all columns.

use super::{Entry, Lines, Out, Raw, Refusal, Spell, Subject, Writer, column, decimal, need_columns};
use crate::example::names::Schema;
use crate::example::{Label, Number};

/// The registry entry.
pub(super) static ENTRY: Entry = Entry {
    name: "jsonl",
    summary: "JSON lines: columns of numbers as keys",
    endings: &["jsonl", "ndjson", "json"],
    has_layout: true,
    open_f32: open,
    open_f64: open,
};

struct Jsonl {
    schema: Schema,
    /// `"key":` of the label, of the weight and of every column.
    label: Vec<u8>,
    weight: Option<Vec<u8>>,
    columns: Vec<Vec<u8>>,
}

fn key(name: &str) -> Vec<u8> {
    let mut key = serde_json::Value::from(name).to_string().into_bytes();
    key.push(b':');
    key
}

fn open<V: Number>(out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal> {
    need_columns(subject, "JSON lines")?;
    let named = |name: &Option<String>, usual: &str| key(name.as_deref().unwrap_or(usual));
    let jsonl = Jsonl {
        schema: subject.schema.clone(),
        label: named(&subject.options.label, "label"),
        weight: subject.layout.weights.then(|| named(&subject.options.weight, "weight")),
        columns: subject.schema.columns.iter().map(|name| key(name)).collect(),
    };
    Ok(Lines::begin(out, b"", jsonl)?)
}

impl<V: Number> Spell<V> for Jsonl {
    fn row(&mut self, line: &mut Vec<u8>, row: &Raw<'_, V>) -> Result<(), String> {
        line.push(b'{');
        match row.label {
            Label::Number(y) => {
                line.extend_from_slice(&self.label);
                decimal(line, y);
            }
            Label::Name(name) => {
                line.extend_from_slice(&self.label);
                line.extend_from_slice(serde_json::Value::from(&**name).to_string().as_bytes());
            }
            Label::Missing => {}
        }
        let comma = |line: &mut Vec<u8>| {
            if line.len() > 1 {
                line.push(b',');
            }
        };
        if let Some(weight) = &self.weight {
            comma(line);
            line.extend_from_slice(weight);
            decimal(line, row.weight);
        }
        for (index, value) in row.x.indices.iter().zip(row.x.values) {
            column(&self.schema, *index)?;
            comma(line);
            line.extend_from_slice(&self.columns[*index as usize]);
            decimal(line, value);
        }
        line.push(b'}');
        Ok(())
    }
}
