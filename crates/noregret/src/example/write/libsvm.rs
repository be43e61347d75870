//! LIBSVM: `label index:value …`. Features keep their numbers, counted from 1, or from 0 where they were read so.

use super::{Entry, Lines, Out, Raw, Refusal, Spell, Subject, Writer, decimal};
use crate::example::{Label, Number};
use std::io::Write;

/// The registry entry.
pub(super) static ENTRY: Entry = Entry {
    name: "libsvm",
    summary: "`label index:value …`: numbers of features, no weights",
    endings: &["libsvm", "svm", "svmlight"],
    has_layout: false,
    open_f32: open,
    open_f64: open,
};

struct Libsvm {
    base: u64,
}

fn open<V: Number>(out: Out, subject: Subject<'_>) -> Result<Box<dyn Writer<V>>, Refusal> {
    Ok(Lines::begin(out, b"", Libsvm { base: u64::from(!subject.options.zero_based) })?)
}

impl<V: Number> Spell<V> for Libsvm {
    fn row(&mut self, line: &mut Vec<u8>, row: &Raw<'_, V>) -> Result<(), String> {
        if row.weight != 1.0 {
            return Err(format!(
                "the weight {} has no place in LIBSVM: convert to vw, arrow or parquet",
                row.weight
            ));
        }
        match row.label {
            Label::Number(y) => decimal(line, y),
            Label::Name(name) => {
                let plain = |c: char| !c.is_whitespace() && !c.is_control() && !":#".contains(c);
                if name.is_empty() || !name.chars().all(plain) {
                    return Err(format!(
                        "the label `{name}` cannot be written in LIBSVM: convert to arrow or parquet"
                    ));
                }
                line.extend_from_slice(name.as_bytes());
            }
            Label::Missing if row.x.indices.is_empty() => {
                return Err("a row with neither label nor features cannot be written in LIBSVM".into());
            }
            Label::Missing => {}
        }
        for (index, value) in row.x.indices.iter().zip(row.x.values) {
            if !line.is_empty() {
                line.push(b' ');
            }
            let _ = write!(line, "{}:", u64::from(*index) + self.base);
            decimal(line, value);
        }
        Ok(())
    }
}
