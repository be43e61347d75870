use proptest::prelude::*;

use super::*;
use crate::example::Label;
use crate::example::hash::{mask, murmur3};
use crate::example::text::check::{self, Seen};

fn read(text: &str) -> Vec<Seen> {
    check::read_well(&ENTRY, &Options::default(), text)
}

fn features(text: &str) -> Vec<(u32, f32)> {
    let rows = read(text);
    assert_eq!(rows.len(), 1);
    rows[0].2.clone()
}

fn problem(text: &str) -> (u64, u64, String) {
    check::problem(&ENTRY, &Options::default(), text)
}

fn label(key: &str) -> Options {
    Options { label: Some(key.into()), ..Options::default() }
}

fn schema(columns: &[&str], bits: Option<u32>) -> Schema {
    Schema { columns: columns.iter().map(ToString::to_string).collect(), bits }
}

fn hash(name: &str) -> u32 {
    murmur3(name.as_bytes(), 0) & mask(18)
}

fn sorted(names: &[(&str, f32)]) -> Vec<(u32, f32)> {
    let mut pairs: Vec<_> = names.iter().map(|&(name, value)| (hash(name), value)).collect();
    pairs.sort_unstable_by_key(|pair| pair.0);
    pairs
}

#[test]
fn nested_keys_and_positions_make_the_names() {
    let text = r#"{"y":1,"a":2.5,"b":{"c":-3,"d":[4,{"e":5}],"":{"f":6}},"g":[[7]]}"#;
    let expected =
        [("a", 2.5), ("b.c", -3.0), ("b.d.0", 4.0), ("b.d.1.e", 5.0), ("b..f", 6.0), ("g.0.0", 7.0)];
    assert_eq!(features(text), sorted(&expected));
}

#[test]
fn strings_are_one_hot_and_what_is_false_null_or_empty_is_absent() {
    let text = r#"{"y":1,"a":"x\ny","b":true,"c":false,"d":null,"e":"","f":"7","g":0,"h":["p"]}"#;
    assert_eq!(features(text), sorted(&[("a=x\ny", 1.0), ("b", 1.0), ("f=7", 1.0), ("h.0=p", 1.0)]));
}

#[test]
fn features_of_one_index_are_summed() {
    assert_eq!(features(r#"{"y":1,"a.b":1,"a":{"b":2}}"#), [(hash("a.b"), 3.0)]);
    assert_eq!(features(r#"{"y":1,"a.b":1,"a":{"b":-1}}"#), []);
}

#[test]
fn a_label_is_a_number_a_string_or_a_truth() {
    let text = "{\"y\":-2.5}\n\n{\"y\":\"cat\"}\r\n{\"y\":\"1\"}\n{\"y\":true}\n{\"y\":false}\n{\"y\":3}";
    let labels: Vec<_> = read(text).into_iter().map(|row| row.0).collect();
    let number = Label::Number;
    assert_eq!(
        labels,
        [number(-2.5), Label::Name("cat".into()), number(1.0), number(1.0), number(0.0), number(3.0)]
    );
}

#[test]
fn the_label_is_named_by_its_path_or_guessed_from_the_first_record() {
    let rows = check::read_well(&ENTRY, &label("a.0.b"), r#"{"a":[{"b":7}],"y":1}"#);
    assert_eq!(rows, [(Label::Number(7.0), 1.0, vec![(hash("y"), 1.0)])]);
    assert_eq!(read("\n{\"a\":{\"y\":1},\"Target\":2}")[0].0, Label::Number(2.0));
    let none = check::usage(&ENTRY, &Options::default(), r#"{"a":1,"b":2}"#);
    assert!(none.contains("--label") && none.contains("`a`, `b`"), "{none}");
    let two = check::usage(&ENTRY, &Options::default(), r#"{"y":1,"label":2}"#);
    assert!(two.contains("more than one"), "{two}");
}

#[test]
fn without_labels_every_label_is_missing_where_that_is_allowed() {
    let options = Options { unlabelled: true, ..Options::default() };
    assert_eq!(check::read_well(&ENTRY, &options, r#"{"a":1}"#)[0].0, Label::Missing);
    let rows = check::read_well(&ENTRY, &options, "{\"y\":null}\n{}\n{\"y\":2}\n");
    let labels: Vec<_> = rows.into_iter().map(|row| row.0).collect();
    assert_eq!(labels, [Label::Missing, Label::Missing, Label::Number(2.0)]);
    let (line, column, message) = problem("{\"y\":1}\n{\"a\":1}\n");
    assert_eq!((line, column), (1, 1));
    assert!(message.contains("no label (`y`)"), "{message}");
}

#[test]
fn a_weight_key_gives_the_importance() {
    let options = Options { weight: Some("m.w".into()), ..Options::default() };
    let rows = check::read_well(&ENTRY, &options, "{\"y\":1,\"m\":{\"w\":1}}\n{\"y\":1,\"m\":{\"w\":0.5}}\n");
    assert_eq!((rows[0].1, rows[1].1), (1.0, 0.5));
    assert_eq!(rows[0].2, []);
    for bad in ["-1", "\"2\"", "true", "[1]", "null"] {
        let (_, _, message) = check::problem(&ENTRY, &options, &format!("{{\"y\":1,\"m\":{{\"w\":{bad}}}}}"));
        assert!(message.contains("importance weight"), "{message}");
    }
    let both = Options { weight: Some("y".into()), ..Options::default() };
    assert!(check::usage(&ENTRY, &both, r#"{"y":1}"#).contains("label and weight"));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    for (record, column, part) in [
        (r#"{"y":1,"a":}"#, 12, "expected value"),
        (r#"{"y":1,"a":1"#, 12, "EOF"),
        (r#"{"y":1} x"#, 9, "trailing characters"),
        ("[1]", 1, "expected an object"),
        ("7", 1, "expected an object"),
        (r#"{"y":1,"a":1e39}"#, 15, "beyond the range of f32"),
        (r#"{"y":1,"a":1e999}"#, 17, "out of range"),
        (r#"{"y":1,"a":{"b":1,"c":2,"b":1}}"#, 30, "the key `b` is there twice"),
        (r#"{"y":1,"y":2}"#, 13, "the label `y` is there twice"),
        (r#"{"y":[1]}"#, 6, "the label `y` is an object or array"),
        (r#"{"y":"nan"}"#, 10, "not finite"),
        (r#"{"y":1,"a":NaN}"#, 12, "expected value"),
        (r#"{"y":1,"a.b":3e38,"a":{"b":3e38}}"#, 1, "sum beyond"),
    ] {
        let (line, found, message) = problem(&format!("{{\"y\":1}}\n{record}\n"));
        assert!(message.contains(part), "{record}: {message}");
        assert!(!message.contains(" at line "), "{message}");
        assert_eq!(line, 1);
        assert!(found.abs_diff(column) <= 1, "{record}: {found}, not {column}: {message}");
    }
}

#[test]
fn the_first_record_is_refused_like_any_other() {
    let (line, column, message) = problem("\n{\"a\":1]\n");
    assert_eq!((line, column), (1, 7), "{message}");
}

#[test]
fn objects_and_arrays_may_be_nested_only_so_deep() {
    let nested = |depth: usize| format!("{{\"y\":1,\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(features(&nested(63)).len(), 1);
    assert!(problem(&nested(64)).2.contains("deeper than 64"));
    assert!(problem(&format!("{{\"y\":1}}\n{}", nested(5000))).2.contains("deeper than 64"));
}

#[test]
fn columns_of_the_model_keep_their_places() {
    let options = Options { schema: Some(schema(&["y", "age", "a.b"], Some(18))), ..label("t") };
    let rows = check::read_well(&ENTRY, &options, r#"{"t":1,"a":{"b":2},"age":30,"y":4,"city":"Rome"}"#);
    assert_eq!(rows[0].2, [(0, 4.0), (1, 30.0), (2, 2.0), (3 + hash("city=Rome"), 1.0)]);
    let options = Options { schema: Some(schema(&["age"], None)), ..label("t") };
    assert!(check::problem(&ENTRY, &options, r#"{"t":1,"b":2}"#).2.contains("`b` is unknown"));
    assert!(check::problem(&ENTRY, &options, r#"{"t":1,"age":"x"}"#).2.contains("no place for text"));
}

#[test]
fn the_dimension_limits_and_the_bits_fold() {
    let options = Options { dimension: Some(5), ..Options::default() };
    assert!(check::problem(&ENTRY, &options, r#"{"y":1,"a":2}"#).2.contains("--dimension 5"));
    let options = Options { bits: Some(1), ..Options::default() };
    assert!(check::read_well(&ENTRY, &options, r#"{"y":1,"a":2}"#)[0].2[0].0 < 2);
}

#[test]
fn bad_records_are_dropped_and_counted_where_asked() {
    let options = Options { skip: true, ..Options::default() };
    let text = b"{bad\n{\"y\":1,\"a\":\"x\"}\n{\"y\":1,\"b\":1,\"c\":}\n{\"y\":2,\"b\":1,\"a\":\"x\"}\n";
    let Ok((block, found)) = check::read(&ENTRY, &options, text) else { panic!() };
    assert_eq!((block.len(), found.skipped, found.lines), (2, 2, 4));
    assert_eq!(block.lines, [1, 3]);
    let names: Vec<_> = found.names.iter().map(|name| name.1).collect();
    assert_eq!(names, ["a=x", "b"]);
    assert!(check::usage(&ENTRY, &options, "{bad\n").contains("--label"));
}

#[test]
fn a_beginning_is_recognised() {
    assert!(sniff(b"\n  {\"a\":1}\n") && sniff(b"\xef\xbb\xbf{"));
    assert!(!sniff(b"") && !sniff(b"[1]") && !sniff(b"a,{b}"));
    assert_eq!(read("\u{feff}{\"y\":3}")[0].0, Label::Number(3.0));
}

const SAMPLE: &str =
    "{\"y\":1,\"a\":{\"b\":[1,-2.5e1,null]},\"c\":\"x\\n\"}\n{\"y\":\"cat\",\"a\":true,\"c\":\"é\"}\n";

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check::holds(&ENTRY, &Options::default(), &bytes);
        let body = [b"{\"y\":1}\n", &bytes[..]].concat();
        check::holds(&ENTRY, &Options::default(), &body);
    }

    #[test]
    fn damaged_text_is_read_or_refused(changes in prop::collection::vec(any::<(usize, u8)>(), 0..4)) {
        check::holds(&ENTRY, &label("y"), &check::mutated(SAMPLE, &changes));
        let options = Options { unlabelled: true, bits: Some(2), ..Options::default() };
        check::holds(&ENTRY, &options, &check::mutated(SAMPLE, &changes));
    }

    #[test]
    fn the_order_of_keys_does_not_change_the_row(
        (members, shuffled) in prop::collection::btree_map("[a-z]{1,2}", -9_i8..9, 0..20)
            .prop_map(|members| members.into_iter().collect::<Vec<_>>())
            .prop_flat_map(|members| (Just(members.clone()), Just(members).prop_shuffle()))
    ) {
        let line = |members: &[(String, i8)]| {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("\"_{key}\":{value}.1")).collect();
            format!("{{\"y\":1{}{}}}", if members.is_empty() { "" } else { "," }, members.join(","))
        };
        let options = Options { bits: Some(3), ..Options::default() };
        let rows = |text: &str| check::read_well(&ENTRY, &options, text);
        prop_assert_eq!(rows(&line(&members)), rows(&line(&shuffled)));
    }

    #[test]
    fn chunks_give_the_rows_of_the_whole(
        lines in prop::collection::vec("\\{\"y\":[0-9](,\"a\":(\"[a-z]\"|\\[[0-9],true\\]))?(,\"b\":[1-9])?\\}\r?\n|\n", 0..12)
    ) {
        let records: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
        check::splits_anywhere(&ENTRY, &Options::default(), &records);
    }
}
