//! What the formats with names share: numbers and labels as text, which column or key is the label,
//! how many bits of hashes are kept, and in `records` the way from a chunk to rows.

#[cfg(test)]
pub(super) mod check;
#[cfg(test)]
mod kinds;
mod order;
mod records;

pub(super) use order::Room;
pub(super) use records::{Fault, Head, Row, Run, line, records, sort};

use super::Label;
use super::format::{OpenError, Options};
use super::hash;
use super::names::Schema;
use super::number::{Number, parse_f64, why_not_finite};
use crate::error::UsageError;

/// The finite number that `text` spells, rounded to the nearest one of its kind; `None` for anything else.
#[inline]
pub(super) fn number<V: Number>(text: &[u8]) -> Option<V> {
    V::parse(text).filter(|value| value.is_finite())
}

/// The number that `text` spells, `nan` and `inf` included.
pub(super) fn wide(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether `text` may spell a number, `nan` and `inf` included, by its first byte: most words need no
/// further look.
#[inline]
pub(super) fn may_be_number(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'i' | b'I' | b'n' | b'N'))
}

/// Why `text`, which is no finite number of its kind, cannot be a value: for messages.
pub(super) fn no_number<V: Number>(what: &str, text: &[u8]) -> String {
    let shown = excerpt(text);
    match wide(text) {
        Some(value) if value.is_finite() || why_not_finite(text) == "too large a number" => {
            format!("{what} `{shown}` is {}", beyond::<V>())
        }
        Some(_) => format!("{what} `{shown}` is not finite"),
        None => format!("{what} `{shown}` is not a number"),
    }
}

/// That something is too large for a kind of number, for messages.
pub(super) fn beyond<V: Number>() -> String {
    format!("beyond the range of {} (about {})", V::NAME, V::LARGEST)
}

/// The text for a message: readable, and short whatever the input holds.
pub(super) fn excerpt(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

/// Without the spaces and tabs around it.
#[inline]
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// A label: a finite number or a name. Empty text is no label.
pub(super) fn label(text: &[u8]) -> Result<Label, String> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(format!("the label `{}` is not UTF-8", excerpt(text)));
    };
    match parse_f64(text.as_bytes()) {
        Some(value) if value.is_finite() => Ok(Label::Number(value)),
        Some(_) => Err(format!("the label `{text}` is not finite")),
        None if text.is_empty() => Ok(Label::Missing),
        None => Ok(Label::Name(text.into())),
    }
}

/// An importance weight: a finite number that is not negative.
pub(super) fn weight(text: &[u8]) -> Result<f64, String> {
    match wide(text) {
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => {
            let text = excerpt(text);
            Err(format!("the importance weight `{text}` is not a finite number of at least 0"))
        }
    }
}

/// What is said of a record without a label, where one is needed.
pub(super) const NO_LABEL: &str = "the record has no label";

/// How many bits of hashes to keep: the model's, the user's or the default; `None` only where the
/// model hashes nothing.
pub(super) fn bits(options: &Options) -> Result<Option<u32>, OpenError> {
    let usage = |message: String| OpenError::Usage(UsageError(message));
    let known = options.schema.as_ref().map(|schema| schema.bits);
    let bits = match (known, options.bits) {
        (Some(Some(known)), Some(asked)) if known != asked => {
            return Err(usage(format!(
                "`--bits {asked}` contradicts the model, which was learned with {known} bits; leave the flag away"
            )));
        }
        (Some(known), _) => known,
        (None, asked) => Some(asked.unwrap_or(hash::DEFAULT_BITS)),
    };
    let columns = options.schema.as_ref().map_or(0, |schema| schema.columns.len());
    fits(columns, bits).map_err(usage)?;
    Ok(bits)
}

/// Whether columns and hashed names can all be numbered by a u32.
pub(super) fn fits(columns: usize, bits: Option<u32>) -> Result<(), String> {
    let Some(bits) = bits else { return Ok(()) };
    if !(1..=hash::LARGEST_BITS).contains(&bits) {
        return Err(format!("`--bits {bits}`: expected 1 to {}", hash::LARGEST_BITS));
    }
    if columns as u64 + (1_u64 << bits) > u64::from(u32::MAX) {
        return Err(format!("{columns} columns and 2^{bits} hashed names are too many: lower `--bits`"));
    }
    Ok(())
}

/// The limit on indices, and what to say beyond it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit(Option<u32>);

impl Limit {
    pub(super) fn new(options: &Options) -> Self {
        Self(options.dimension)
    }

    /// Whether all indices up to `largest` are allowed.
    #[inline]
    pub(super) fn allows(self, largest: u32) -> bool {
        self.0.is_none_or(|dimension| largest < dimension)
    }

    /// Refuses an index at or beyond the limit, with the byte of the record it comes from.
    #[inline]
    pub(super) fn check(self, index: u32, at: usize) -> Result<(), Fault> {
        match self.0 {
            Some(dimension) if !self.allows(index) => {
                let message = format!(
                    "the feature's index {index} is not below `--dimension {dimension}`: raise it, or lower `--bits`"
                );
                Err(Fault::new(at, message))
            }
            _ => Ok(()),
        }
    }
}

/// Names that a label's column or key has where the user says nothing.
pub(super) const LABEL_NAMES: [&str; 4] = ["label", "target", "y", "class"];

/// Which of `names` is the label: the one the user named, else the only one with a usual name. A
/// column that the model knows as a feature is not guessed to be the label.
pub(super) fn find_label(
    options: &Options,
    names: &[String],
    what: &str,
) -> Result<Option<usize>, OpenError> {
    if let Some(asked) = &options.label {
        return find_named(asked, "--label", options, names, what);
    }
    let known: &[String] = options.schema.as_ref().map_or(&[], |schema: &Schema| &schema.columns);
    let usual = |name: &String| LABEL_NAMES.iter().any(|usual| name.eq_ignore_ascii_case(usual));
    let mut guesses = (0..names.len()).filter(|&k| usual(&names[k]) && !known.contains(&names[k]));
    match (guesses.next(), guesses.next()) {
        (Some(guess), None) => Ok(Some(guess)),
        _ if options.unlabelled => Ok(None),
        (first, _) => {
            let found = if first.is_some() { "more than one" } else { "no" };
            let data = what == "column"
                && !options.no_header
                && names.iter().filter(|name| wide(name.as_bytes()).is_some()).count() > names.len() / 2;
            let hint = if data {
                " (the first line looks like data; where there is no header, use --no-header, and `--label` 1 for the \
                 first column)"
            } else {
                ""
            };
            Err(OpenError::Usage(UsageError(format!(
                "{found} {what} is called label, target, y or class: say which holds the label with `--label`; there are {}{hint}",
                list(names)
            ))))
        }
    }
}

/// Which of `names` the user meant by a flag. Where labels may be absent, so may this.
pub(super) fn find_named(
    asked: &str,
    flag: &str,
    options: &Options,
    names: &[String],
    what: &str,
) -> Result<Option<usize>, OpenError> {
    match names.iter().position(|name| name == asked) {
        None if !options.unlabelled => Err(OpenError::Usage(UsageError(format!(
            "`{flag} {asked}`: there is no such {what}; there are {}",
            list(names)
        )))),
        place => Ok(place),
    }
}

pub(super) fn list(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 30;
    let shown: Vec<_> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", excerpt(name.as_ref().as_bytes()))).collect();
    match names.len() {
        0 => "none".into(),
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        _ => shown.join(", "),
    }
}

/// How many bytes a mark of UTF-8 takes at the beginning of an input: it is no part of the first record.
pub(super) fn byte_order_mark(beginning: &[u8]) -> usize {
    if beginning.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// The first line of an input that is not blank.
pub(super) fn first_line(beginning: &[u8]) -> &[u8] {
    beginning[byte_order_mark(beginning)..]
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_finite_or_none() {
        assert_eq!(number(b"-1.5e2"), Some(-150.0_f32));
        assert_eq!(number(b".5"), Some(0.5_f32));
        assert_eq!(number(b"1e39"), Some(1e39_f64));
        assert_eq!(number::<f64>(b"1e309"), None);
        for text in [&b""[..], b"x", b"nan", b"-inf", b"1e39", b" 1", b"\xff"] {
            assert_eq!(number::<f32>(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_range_is_that_of_the_kind() {
        let said = |text: &[u8]| (no_number::<f32>("it", text), no_number::<f64>("it", text));
        assert_eq!(said(b"1e39").0, "it `1e39` is beyond the range of f32 (about 3.4e38)");
        assert_eq!(said(b"1e999").0, "it `1e999` is beyond the range of f32 (about 3.4e38)");
        assert_eq!(said(b"1e999").1, "it `1e999` is beyond the range of f64 (about 1.8e308)");
        assert_eq!(said(b"-inf").1, "it `-inf` is not finite");
    }

    #[test]
    fn whatever_spells_a_number_may_be_one() {
        for text in ["1", "+1", "-1", ".5", "inf", "Infinity", "NaN", "nan", "-inf", "+NAN"] {
            assert!(wide(text.as_bytes()).is_some() && may_be_number(text.as_bytes()), "{text}");
        }
        for text in ["", "Rome", "x1", "é"] {
            assert!(!may_be_number(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_label_is_a_finite_number_or_a_name() {
        assert_eq!(label(b"+1"), Ok(Label::Number(1.0)));
        assert_eq!(label(b"spam"), Ok(Label::Name("spam".into())));
        assert_eq!(label(b""), Ok(Label::Missing));
        assert!(label(b"inf").is_err());
        assert!(label(b"\xff").is_err());
    }

    #[test]
    fn a_weight_is_finite_and_not_negative() {
        assert_eq!(weight(b"0.25"), Ok(0.25));
        for text in [&b""[..], b"-1", b"nan", b"inf", b"x"] {
            assert!(weight(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt(b"a\nb"), "a\\nb");
        assert_eq!(excerpt(&[b'x'; 1000]).chars().count(), 61);
    }

    #[test]
    fn a_missing_column_is_answered_with_the_list() {
        let names: Vec<String> = (0..40).map(|k| format!("c{k}")).collect();
        let Err(OpenError::Usage(usage)) = find_label(&Options::default(), &names, "column") else {
            panic!("found a label")
        };
        assert!(usage.0.contains("--label") && usage.0.contains("`c29` and 10 more"), "{usage}");
    }
}
