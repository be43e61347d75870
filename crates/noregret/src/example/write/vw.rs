//! VW text: `label [importance] | number:value …`. Features keep their numbers, which VW takes as they are: those of
//! LIBSVM as they stood there, hashed names as their hashes.

use super::{Entry, Lines, Out, Raw, Refusal, Spell, Subject, Writer, decimal};
use crate::example::{Label, Number};
use std::io::Write;

/// The registry entry.
pub(super) static ENTRY: Entry = Entry {
    name: "vw",
    summary: "Vowpal Wabbit text: label importance | number:value …",
    endings: &["vw"],
    has_layout: false,
    open_f32: open,
    open_f64: open,
};

struct Vw {
    base: u64,
}

fn open<V: Number>(out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal> {
    let base = u64::from(subject.format == "libsvm" && !subject.options.zero_based);
    Ok(Lines::begin(out, b"", Vw { base })?)
}

impl<V: Number> Spell<V> for Vw {
    fn row(&mut self, line: &mut Vec<u8>, row: &Raw<'_, V>) -> Result<(), String> {
        match row.label {
            Label::Number(y) => decimal(line, y),
            Label::Name(name) => {
                let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '|';
                if name.is_empty() || name.starts_with('\'') || !name.chars().all(plain) {
                    return Err(format!(
                        "the label `{name}` cannot be written in VW text: convert to arrow or parquet"
                    ));
                }
                line.extend_from_slice(name.as_bytes());
            }
            Label::Missing if row.weight != 1.0 => {
                return Err(
                    "a weight without a label cannot be written in VW text: convert to arrow or parquet"
                        .into(),
                );
            }
            Label::Missing => {}
        }
        if row.weight != 1.0 {
            line.push(b' ');
            decimal(line, row.weight);
        }
        line.extend_from_slice(if line.is_empty() { b"|" } else { b" |" });
        for (index, value) in row.x.indices.iter().zip(row.x.values) {
            let _ = write!(line, " {}:", u64::from(*index) + self.base);
            decimal(line, value);
        }
        Ok(())
    }
}
