//! JSON lines: an object per line.
//!
//! Names of nested keys are joined by `.`, members of arrays are named by their position (`a.0`). A
//! number is the value of the feature of its name; a string is the feature `name=string` with the
//! value 1; `true` is 1; `false`, `null` and the empty string are absent. Names are hashed, except
//! those that are columns of the model.
//!
//! The column of a label, which a later stage may complain about, is that of its record: serde_json
//! tells places only in its errors.

mod walk;

use std::collections::HashMap;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Decoder, Entry, Found, OpenError, Opened, Options, Scratch};
use crate::error::UsageError;
use crate::example::Block;
use crate::example::names::Schema;
use crate::example::number::Number;
use crate::example::select::{Naming, Plan};
use crate::example::text::{self, Fault, Head, Limit, Row};
use walk::{Buffers, Walk};

/// JSON lines.
pub const ENTRY: Entry = Entry {
    name: "jsonl",
    summary: "JSON lines: an object per line; nested keys joined by `.`, text one-hot",
    endings: &["jsonl", "ndjson", "json"],
    sniff,
    quoted: false,
    table: None,
    open,
};

fn sniff(beginning: &[u8]) -> bool {
    text::first_line(beginning).starts_with(b"{")
}

struct Jsonl {
    schema: Schema,
    /// The places of the schema's columns.
    columns: HashMap<Box<[u8]>, u32>,
    label: Option<Box<[u8]>>,
    weight: Option<Box<[u8]>>,
    limit: Limit,
    plan: Plan,
    skip: bool,
    unlabelled: bool,
}

fn open(options: &Options, beginning: &[u8]) -> Result<Opened, OpenError> {
    let label = match &options.label {
        Some(asked) => Some(asked.clone()),
        None => guess_label(options, beginning)?,
    };
    if label.is_some() && label == options.weight {
        let message = format!("the key `{}` cannot be label and weight at once", label.unwrap_or_default());
        return Err(OpenError::Usage(UsageError(message)));
    }
    let bits = text::bits(options)?;
    let schema = options.schema.clone().unwrap_or(Schema { columns: Vec::new(), bits });
    let limit = Limit::new(options);
    let plan = Plan::new(&options.selection, Naming::columns(&schema), limit).map_err(OpenError::Usage)?;
    let bytes = |name: &str| Box::from(name.as_bytes());
    let decoder = Jsonl {
        columns: schema.columns.iter().map(|name| bytes(name)).zip(0..).collect(),
        schema,
        label: label.as_deref().map(bytes),
        weight: options.weight.as_deref().map(bytes),
        limit,
        plan,
        skip: options.skip,
        unlabelled: options.unlabelled,
    };
    let header_bytes = text::byte_order_mark(beginning);
    Ok(Opened { decoder: Box::new(decoder), header_bytes, header_lines: 0 })
}

/// The label's key from the first record. Where bad records are skipped, from the first good one.
fn guess_label(options: &Options, beginning: &[u8]) -> Result<Option<String>, OpenError> {
    let mark = text::byte_order_mark(beginning);
    let mut bad = false;
    for (line, record) in beginning[mark..].split(|&byte| byte == b'\n').enumerate() {
        if record.trim_ascii().is_empty() {
            continue;
        }
        match top_keys(record) {
            Ok(keys) => {
                return Ok(text::find_label(options, &keys, "key")?.map(|k| keys[k].clone()));
            }
            Err(_) if options.skip => bad = true,
            Err(fault) => {
                let mut problem = fault.problem(record, line as u64);
                problem.column += if line == 0 { mark as u64 } else { 0 };
                return Err(OpenError::Problem(problem));
            }
        }
    }
    if bad && !options.unlabelled {
        let message = "no record of the beginning can be read: name the label's key with `--label`";
        return Err(OpenError::Usage(UsageError::new(message)));
    }
    Ok(None)
}

fn top_keys(record: &[u8]) -> Result<Vec<String>, Fault> {
    struct Keys;
    impl<'de> Visitor<'de> for Keys {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut keys = Vec::new();
            while let Some((key, IgnoredAny)) = map.next_entry()? {
                keys.push(key);
            }
            Ok(keys)
        }
    }
    let mut json = serde_json::Deserializer::from_slice(record);
    let keys = json.deserialize_map(Keys).and_then(|keys| json.end().map(|()| keys));
    keys.map_err(|error| fault(record, &error))
}

/// What serde_json says, without the place, which goes its own way.
#[cold]
fn fault(record: &[u8], error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let message = match error.classify() {
        serde_json::error::Category::Eof => {
            format!("{message}; expected one whole JSON object a line")
        }
        _ if message.contains("expected an object") => {
            format!("{message}: each line holds one JSON object, not an array or a value")
        }
        _ => message.to_owned(),
    };
    Fault::new(error.column().saturating_sub(1).min(record.len()), message)
}

impl Jsonl {
    fn rows<V: Number>(&self, chunk: &[u8], block: &mut Block<V>, scratch: &mut Scratch<V>) -> Found {
        let mut buffers = Buffers::default();
        text::records(chunk, self.skip, block, scratch, text::line, |text, length, row| {
            self.read(&text[..length], row, &mut buffers)
        })
    }

    fn read<V: Number>(
        &self,
        record: &[u8],
        row: &mut Row<'_, V>,
        buffers: &mut Buffers,
    ) -> Result<Option<Head>, Fault> {
        if record.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut json = serde_json::Deserializer::from_slice(record);
        let mut walk = Walk::new(self, row, buffers);
        walk.object(&mut json).and_then(|()| json.end()).map_err(|error| fault(record, &error))?;
        let (label, weight) = walk.said();
        self.plan.cross(row)?;
        let lacks = |what: &str, key: Option<&[u8]>| {
            let key = key.map_or("no key was named".into(), |key| format!("`{}`", text::excerpt(key)));
            Fault::new(0, format!("the record has no {what} ({key})"))
        };
        match (label, weight) {
            (None, _) if !self.unlabelled => Err(lacks("label", self.label.as_deref())),
            (_, None) if !self.unlabelled && self.weight.is_some() => {
                Err(lacks("importance weight", self.weight.as_deref()))
            }
            (label, weight) => Ok(Some(Head {
                label: label.unwrap_or(crate::example::Label::Missing),
                label_at: 0,
                weight: weight.unwrap_or(1.0),
            })),
        }
    }
}

impl Decoder for Jsonl {
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
