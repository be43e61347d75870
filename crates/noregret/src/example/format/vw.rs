//! Vowpal Wabbit text: `[label [importance]] ['tag]|namespace[:scale] feature[:value] … |…`.
//!
//! Features have the indices that VW gives them (see [`crate::example::hash`]). What VW warns about
//! and guesses is refused here: a value that is no number, an empty value, a line without a bar, an
//! initial prediction other than 0.

use std::io::Write;

use memchr::memchr;

use super::{Decoder, Entry, Found, OpenError, Opened, Options, Scratch};
use crate::error::UsageError;
use crate::example::hash::{mask, vw_name, vw_namespace};
use crate::example::names::Schema;
use crate::example::text::{self, Fault, Head, Limit, Row};
use crate::example::{Block, Label};

/// VW text.
pub const ENTRY: Entry = Entry {
    name: "vw",
    summary: "Vowpal Wabbit text: label importance 'tag|namespace:scale feature:value …",
    endings: &["vw"],
    sniff,
    quoted: false,
    open,
};

struct Vw {
    bits: u32,
    limit: Limit,
    skip: bool,
    unlabelled: bool,
}

fn open(options: &Options, beginning: &[u8]) -> Result<Opened, OpenError> {
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
    let decoder = Vw { bits, limit, skip: options.skip, unlabelled: options.unlabelled };
    let header_bytes = text::byte_order_mark(beginning);
    Ok(Opened { decoder: Box::new(decoder), header_bytes, header_lines: 0 })
}

/// A bar with no more before it than a label, numbers and a tag.
fn sniff(beginning: &[u8]) -> bool {
    let line = text::first_line(beginning);
    let Some(bar) = memchr(b'|', line) else { return false };
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
fn number_after(line: &[u8], name_end: usize, what: &str) -> Result<(f32, usize), Fault> {
    if line.get(name_end) != Some(&b':') {
        return Ok((1.0, name_end));
    }
    let at = name_end + 1;
    let end = word_end(line, at);
    match text::number(&line[at..end]) {
        Some(value) => Ok((value, end)),
        None => Err(Fault::new(at, text::no_number(what, &line[at..end]))),
    }
}

impl Vw {
    fn read(&self, line: &[u8], row: &mut Row<'_>) -> Result<Option<Head>, Fault> {
        let Some(bar) = memchr(b'|', line) else {
            if line.trim_ascii().is_empty() {
                return Ok(None);
            }
            return Err(Fault::new(0, "there is no `|`: expected `label | feature feature:value …`"));
        };
        let head = self.head(line, bar)?;
        let mut at = bar;
        while at < line.len() {
            at = self.namespace(line, at + 1, row)?;
        }
        Ok(Some(head))
    }

    /// What is before the first bar. A word that touches the bar, or begins with a quote, is a tag.
    fn head(&self, line: &[u8], bar: usize) -> Result<Head, Fault> {
        let mut head = Head { label: Label::Missing, label_at: 0, weight: 1.0 };
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
                    let message = "too many words before the `|`: expected a label, an importance weight and a tag";
                    return Err(Fault::new(at, message));
                }
            }
            place += 1;
        }
        match touching {
            _ if place > 0 || self.unlabelled => Ok(head),
            None => Err(Fault::new(0, text::NO_LABEL)),
            Some(at) => {
                let message = format!("{}: a word that touches the `|` is a tag; write a space between", text::NO_LABEL);
                Err(Fault::new(at, message))
            }
        }
    }

    /// Reads the namespace that begins after a bar, to the next bar or the end.
    #[inline]
    fn namespace(&self, line: &[u8], from: usize, row: &mut Row<'_>) -> Result<usize, Fault> {
        let end = name_end(line, from);
        let space = &line[from..end];
        if space.is_empty() && line.get(end) == Some(&b':') {
            return Err(Fault::new(end, "a namespace needs a name before its scale: `|name:scale`"));
        }
        let seed = vw_namespace(space);
        let (scale, mut at) = number_after(line, end, "the namespace's scale")?;
        let mut nameless = 0_u32;
        loop {
            while at < line.len() && is_space(line[at]) {
                at += 1;
            }
            if at >= line.len() || line[at] == b'|' {
                return Ok(at);
            }
            let end = name_end(line, at);
            let name = &line[at..end];
            let (value, next) = number_after(line, end, "the value")?;
            let scaled = value * scale;
            if !scaled.is_finite() {
                let message = format!("the value {value} times the namespace's scale {scale} is beyond the range of f32");
                return Err(Fault::new(at, message));
            }
            let hash = if name.is_empty() { seed.wrapping_add(nameless) } else { vw_name(name, seed) };
            let index = hash & mask(self.bits);
            self.limit.check(index, at)?;
            row.push(index, scaled, |text| audit_name(text, space, name, nameless));
            nameless += u32::from(name.is_empty());
            at = next;
        }
    }
}

/// The name as VW's audit prints it; a feature without a name gets its number within the namespace
/// (`space^:0`), which no name can look like.
fn audit_name(text: &mut Vec<u8>, space: &[u8], name: &[u8], nameless: u32) {
    text.clear();
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
        text::records(chunk, self.skip, block, scratch, text::line, |line, row| self.read(line, row))
    }

    fn schema(&self) -> Schema {
        Schema { columns: Vec::new(), bits: Some(self.bits) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::example::text::check::{self, Seen};

    fn read(text: &str) -> Vec<Seen> {
        check::read_well(&ENTRY, &Options::default(), text)
    }

    fn problem(text: &str) -> (u64, u64, String) {
        check::problem(&ENTRY, &Options::default(), text)
    }

    fn features(text: &str) -> Vec<(u32, f32)> {
        let rows = read(text);
        assert_eq!(rows.len(), 1);
        rows[0].2.clone()
    }

    /// Indices and values as `vw --audit` of VW 9.11 prints them, sorted.
    #[test]
    fn features_land_where_vw_puts_them() {
        let cases: [(&str, &[(u32, f32)]); 9] = [
            (
                "1 | a b 12 007 x:2.5",
                &[(7, 1.0), (12, 1.0), (92594, 1.0), (163331, 1.0), (170779, 2.5)],
            ),
            (
                "1 |ns:2.5 a b:2 12 :3 :4 c",
                &[
                    (50664, 5.0),
                    (120344, 7.5),
                    (120345, 10.0),
                    (120356, 2.5),
                    (180474, 2.5),
                    (256306, 2.5),
                ],
            ),
            ("-1 |3 a 12", &[(15, 1.0), (119066, 1.0)]),
            (
                "1 2 'tag|ns a |ns b |ns a:0.5 :7 | :3 :5 z",
                &[(0, 3.0), (1, 5.0), (50664, 1.0), (120344, 7.0), (170519, 1.0), (180474, 1.5)],
            ),
            ("1 |user^x height:1.5 weight=3", &[(151438, 1.0), (205547, 1.5)]),
            ("1 |A a| b", &[(163331, 1.0), (239656, 1.0)]),
            (
                "1 |é ünï |text hello_world foo|bar baz",
                &[(25932, 1.0), (67504, 1.0), (135611, 1.0), (195076, 1.0)],
            ),
            ("1 | :0 :5", &[(1, 5.0)]),
            ("1 |ns :1 a|ns :2 b :3", &[(50664, 1.0), (120344, 3.0), (120345, 3.0), (180474, 1.0)]),
        ];
        for (text, expected) in cases {
            assert_eq!(features(text), expected, "{text}");
        }
    }

    #[test]
    fn labels_are_numbers_or_names_and_importance_comes_second() {
        let rows = read("1 | a\n-1.5 2 | a\ncat 0.5 0 | a\n\n  \r\n+1 'tag | a\r\n2 tag| a\n");
        let heads: Vec<_> = rows.into_iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(
            heads,
            [
                (Label::Number(1.0), 1.0),
                (Label::Number(-1.5), 2.0),
                (Label::Name("cat".into()), 0.5),
                (Label::Number(1.0), 1.0),
                (Label::Number(2.0), 1.0),
            ]
        );
    }

    #[test]
    fn a_record_without_label_is_refused_unless_predicting() {
        assert_eq!(problem("1 | a\n| a"), (1, 1, text::NO_LABEL.into()));
        assert!(problem("1| a").2.contains("write a space"));
        let options = Options { unlabelled: true, ..Options::default() };
        let rows = check::read_well(&ENTRY, &options, "| a\n'tag| a\ntag| a\n'tag | a\n2 | a\n");
        let labels: Vec<_> = rows.into_iter().map(|row| row.0).collect();
        assert_eq!(labels[..4], [const { Label::Missing }; 4]);
        assert_eq!(labels[4], Label::Number(2.0));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, column, part) in [
            ("1 a b", 1, "no `|`"),
            ("nan | a", 1, "not finite"),
            ("1 -2 | a", 3, "at least 0"),
            ("1 inf | a", 3, "at least 0"),
            ("1 2 0.5 | a", 5, "initial prediction"),
            ("1 2 0 4 | a", 7, "too many words"),
            ("1 | a:x", 7, "`x` is not a number"),
            ("1 | a:1:2", 7, "`1:2` is not a number"),
            ("1 | a: b", 7, "`` is not a number"),
            ("1 | a:nan", 7, "not finite"),
            ("1 | a:1e39", 7, "beyond the range"),
            ("1 |:2 a", 4, "needs a name"),
            ("1 |n:x a", 6, "scale `x` is not a number"),
            ("1 |n:1e30 a:1e30", 11, "times the namespace's scale"),
            ("1 | a:3e38 a:3e38", 1, "sum beyond"),
        ] {
            let (line, found, message) = problem(&format!("1 | a\n{text}\n"));
            assert_eq!((line, found), (1, column), "{text}: {message}");
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn zeros_are_dropped_before_and_after_summing() {
        assert_eq!(features("1 | a:0 b:-0 c:1 c:-1"), []);
        assert_eq!(features("1 |n:0 a b"), []);
        assert_eq!(features("1 |"), []);
    }

    #[test]
    fn bits_fold_and_the_dimension_limits() {
        let options = Options { bits: Some(24), ..Options::default() };
        assert_eq!(check::read_well(&ENTRY, &options, "1 |x a")[0].2, [(4623465, 1.0)]);
        let options = Options { dimension: Some(100), ..Options::default() };
        let (_, column, message) = check::problem(&ENTRY, &options, "1 | 99 100");
        assert_eq!(column, 8);
        assert!(message.contains("--dimension 100"), "{message}");
        let options = Options { bits: Some(40), ..Options::default() };
        assert!(check::usage(&ENTRY, &options, "").contains("--bits 40"));
    }

    #[test]
    fn the_model_decides_the_bits() {
        let schema = |columns: &[&str], bits| {
            let columns = columns.iter().map(ToString::to_string).collect();
            Options { schema: Some(Schema { columns, bits }), ..Options::default() }
        };
        let options = schema(&[], Some(4));
        assert_eq!(check::read_well(&ENTRY, &options, "1 | 17")[0].2, [(1, 1.0)]);
        let contradicts = Options { bits: Some(5), ..options };
        assert!(check::usage(&ENTRY, &contradicts, "").contains("contradicts"));
        assert!(check::usage(&ENTRY, &schema(&[], None), "").contains("LIBSVM"));
        assert!(check::usage(&ENTRY, &schema(&["a"], Some(4)), "").contains("CSV"));
    }

    #[test]
    fn each_hashed_name_is_reported_once_and_not_from_a_bad_record() {
        let options = Options { skip: true, ..Options::default() };
        let text = b"1 |n bad a:x\n1 |n a :2 |m:0 zero\n1 |n a b | c bad\n";
        let Ok((block, found)) = check::read(&ENTRY, &options, text) else { panic!() };
        assert_eq!((block.len(), found.skipped, found.lines), (2, 1, 3));
        assert_eq!(block.lines, [1, 2]);
        let names: Vec<_> = found.names.iter().map(|name| &*name.1).collect();
        assert_eq!(names, ["n^a", "n^:0", "n^b", "c", "bad"]);
    }

    #[test]
    fn a_beginning_is_recognised() {
        for text in ["1 | a", "\n\n-1 2 'x|ns a", "| a", "tag| a:1", "cat 2 |n a", "\u{feff}1 |a b"] {
            assert!(sniff(text.as_bytes()), "{text}");
        }
        for text in ["", "1 1:2 3:4", "a,b|c", "{\"a\":\"|\"}", "the cat sat | on", "1 2:3 | a"] {
            assert!(!sniff(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_record() {
        assert_eq!(read("\u{feff}3 | a")[0].0, Label::Number(3.0));
    }

    const SAMPLE: &str = "1 2 'tag|ns:2.5 a b:2 :3 |m 12 c\n-1 | a:0.5 a:-1e3 b\ncat tag|x y z:.5\n";

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            check::holds(&ENTRY, &Options::default(), &bytes);
            check::holds(&ENTRY, &Options { unlabelled: true, bits: Some(3), ..Options::default() }, &bytes);
        }

        #[test]
        fn damaged_text_is_read_or_refused(changes in prop::collection::vec(any::<(usize, u8)>(), 0..6)) {
            check::holds(&ENTRY, &Options::default(), &check::mutated(SAMPLE, &changes));
        }

        #[test]
        fn the_order_of_features_does_not_change_the_row(
            (features, shuffled) in prop::collection::vec(("[ab]{1,2}|[0-3]", -9_i8..9), 0..20)
                .prop_flat_map(|features| (Just(features.clone()), Just(features).prop_shuffle()))
        ) {
            let line = |features: &[(String, i8)]| {
                let words: Vec<_> = features.iter().map(|(name, value)| format!("{name}:{value}.1")).collect();
                format!("1 |n {}", words.join(" "))
            };
            let options = Options { bits: Some(4), ..Options::default() };
            let rows = |text: &str| check::read_well(&ENTRY, &options, text);
            prop_assert_eq!(rows(&line(&features)), rows(&line(&shuffled)));
        }

        #[test]
        fn chunks_give_the_rows_of_the_whole(
            lines in prop::collection::vec("-?[1-9] ([1-9] )?\\|[a-c]{0,2}( [a-z0-9]{1,3}(:[0-9])?){0,5}\r?\n|\n", 0..12)
        ) {
            let records: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            check::splits_anywhere(&ENTRY, &Options::default(), &records);
        }
    }
}
