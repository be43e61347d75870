use proptest::prelude::*;

use super::*;
use crate::example::format::Options;
use crate::example::hash::{mask, murmur3};
use crate::example::text::check::{self, Seen};

fn label(name: &str) -> Options {
    Options { label: Some(name.into()), ..Options::default() }
}

fn read(text: &str) -> Vec<Seen> {
    check::read_well(&ENTRY, &Options::default(), text)
}

fn features(text: &str) -> Vec<Vec<(u32, f32)>> {
    read(text).into_iter().map(|row| row.2).collect()
}

fn problem(text: &str) -> (u64, u64, String) {
    check::problem(&ENTRY, &Options::default(), text)
}

fn schema(columns: &[&str], bits: Option<u32>) -> Schema {
    Schema { columns: columns.iter().map(ToString::to_string).collect(), bits }
}

/// Where a text cell goes in a file of so many feature columns.
fn hot(columns: u32, name: &str) -> u32 {
    columns + (murmur3(name.as_bytes(), 0) & mask(18))
}

#[test]
fn numbers_are_values_text_is_one_hot_and_an_empty_cell_is_absent() {
    let rows = read("age,label,city\n30,1,Rome\n,-1,\n-2.5e1,spam,Rome\r\n\n0,1,7");
    assert_eq!(
        rows,
        [
            (Label::Number(1.0), 1.0, vec![(0, 30.0), (hot(2, "city=Rome"), 1.0)]),
            (Label::Number(-1.0), 1.0, vec![]),
            (Label::Name("spam".into()), 1.0, vec![(0, -25.0), (hot(2, "city=Rome"), 1.0)]),
            (Label::Number(1.0), 1.0, vec![(1, 7.0)]),
        ]
    );
}

#[test]
fn spaces_around_a_cell_are_no_part_of_it() {
    assert_eq!(read(" a , y \n 1.5 , cat \n"), [(Label::Name("cat".into()), 1.0, vec![(0, 1.5)])]);
}

#[test]
fn quotes_hold_separators_newlines_and_doubled_quotes() {
    let rows = features("y,\"a,b\",c\n1,\"2\",\"x,\ny \"\"z\"\"\"\n1,\"\",3\n");
    assert_eq!(rows[0], [(0, 2.0), (hot(2, "c=x,\ny \"z\""), 1.0)]);
    assert_eq!(rows[1], [(1, 3.0)]);
}

#[test]
fn lines_and_columns_point_at_the_label() {
    let Ok((block, found)) = check::read(&ENTRY, &Options::default(), b"a,y\n\"x\ny\",1\n\n2,3\n\"p\",4\n")
    else {
        panic!()
    };
    assert_eq!(found.lines, 5);
    assert_eq!(block.lines, [1, 3, 4]);
    assert_eq!(block.columns, [4, 3, 5]);
}

#[test]
fn the_label_column_is_named_or_guessed_from_its_name() {
    assert_eq!(check::read_well(&ENTRY, &label("a"), "a,y\n3,1\n")[0].0, Label::Number(3.0));
    for name in ["label", "Target", "Y", "CLASS"] {
        assert_eq!(read(&format!("a,{name}\n3,1\n"))[0].0, Label::Number(1.0));
    }
    let none = check::usage(&ENTRY, &Options::default(), "a,b\n1,2\n");
    assert!(none.contains("--label") && none.contains("`a`, `b`"), "{none}");
    let two = check::usage(&ENTRY, &Options::default(), "y,label\n1,2\n");
    assert!(two.contains("more than one") && two.contains("--label"), "{two}");
    let absent = check::usage(&ENTRY, &label("z"), "a,b\n1,2\n");
    assert!(absent.contains("--label z") && absent.contains("`a`, `b`"), "{absent}");
}

#[test]
fn without_labels_every_label_is_missing_where_that_is_allowed() {
    let options = Options { unlabelled: true, ..Options::default() };
    assert_eq!(check::read_well(&ENTRY, &options, "a,b\n1,2\n")[0].0, Label::Missing);
    let rows = check::read_well(&ENTRY, &options, "a,y\n1,\n1,2\n");
    assert_eq!((&rows[0].0, &rows[1].0), (&Label::Missing, &Label::Number(2.0)));
    let options = Options { unlabelled: true, weight: Some("w".into()), ..label("z") };
    assert_eq!(check::read_well(&ENTRY, &options, "a,b\n1,2\n")[0].0, Label::Missing);
    assert!(problem("a,y\n1,\n").2.contains("no label"));
}

#[test]
fn a_weight_column_gives_the_importance() {
    let options = Options { weight: Some("w".into()), ..Options::default() };
    let rows = check::read_well(&ENTRY, &options, "w,y,a\n1,1,1\n0.5,1,1\n");
    assert_eq!((rows[0].1, rows[1].1), (1.0, 0.5));
    assert_eq!(rows[0].2, [(0, 1.0)]);
    for bad in ["-1", "nan", "", "x"] {
        let (line, column, message) = check::problem(&ENTRY, &options, &format!("y,w,a\n1,{bad},1\n"));
        assert_eq!((line, column), (0, 3));
        assert!(message.contains("importance weight"), "{message}");
    }
    assert!(check::usage(&ENTRY, &options, "y,a\n1,1\n").contains("--weight w"));
    let both = Options { weight: Some("y".into()), ..Options::default() };
    assert!(check::usage(&ENTRY, &both, "y,a\n1,1\n").contains("label and weight"));
}

#[test]
fn a_header_with_a_name_twice_or_without_a_name_is_refused() {
    let (line, column, message) = problem("\na,y,a\n");
    assert_eq!((line, column), (1, 5));
    assert!(message.contains("`a` appears twice"), "{message}");
    let (line, column, message) = problem("a,,y\n");
    assert_eq!((line, column), (0, 3));
    assert!(message.contains("column 2 is empty"), "{message}");
    assert!(problem("").2.contains("empty"));
    assert!(problem("\n\r\n").2.contains("empty"));
    assert!(problem("a,\"y\n").2.contains("never closed"));
}

#[test]
fn what_cannot_be_read_is_refused_with_the_column_of_its_field() {
    for (record, column, part) in [
        ("1,2", 4, "2 fields, the header 3"),
        ("1,2,3,4", 7, "4 fields, the header 3"),
        ("\"1\",nan,3,4", 11, "4 fields, the header 3"),
        ("1,nan,3", 3, "`nan` is not finite"),
        ("1,2,-Infinity", 5, "not finite"),
        ("1,\"inf\",3", 3, "not finite"),
        ("1,1e39,3", 3, "beyond the range"),
        ("inf,1,3", 1, "the label `inf` is not finite"),
        ("1,\"2\"x,3", 3, "after the closing quote"),
        ("1,2\",3", 3, "quote within a field"),
        ("1,2,\"3", 5, "never closed"),
    ] {
        let (line, found, message) = problem(&format!("y,a,b\n1,1,1\n{record}\n"));
        assert_eq!((line, found), (1, column), "{record}: {message}");
        assert!(message.contains(part), "{record}: {message}");
    }
}

#[test]
fn a_problem_after_a_newline_in_quotes_has_its_own_line() {
    let (line, column, _) = problem("y,a,b\n1,\"x\n\n y\",nan\n");
    assert_eq!((line, column), (2, 5));
}

#[test]
fn bad_records_are_dropped_and_counted_where_asked() {
    let options = Options { skip: true, ..Options::default() };
    let text = b"y,a\n1,x\n1,nan\n2,\"p\"q\n3,y\n4\n";
    let Ok((block, found)) = check::read(&ENTRY, &options, text) else { panic!() };
    assert_eq!((block.len(), found.skipped, found.reasons.len()), (2, 3, 3));
    assert_eq!(block.lines, [0, 3]);
    let names: Vec<_> = found.names.iter().map(|name| name.1).collect();
    assert_eq!(names, ["a=x", "a=y"]);
}

#[test]
fn a_known_schema_gives_the_places_whatever_the_order() {
    let options = Options { schema: Some(schema(&["a", "b", "c"], Some(18))), ..Options::default() };
    let rows = check::read_well(&ENTRY, &options, "c,y,a\n3,1,red\n");
    assert_eq!(rows[0].2, [(2, 3.0), (hot(3, "a=red"), 1.0)]);
    let (_, column, message) = check::problem(&ENTRY, &options, "c,y,d\n3,1,red\n");
    assert_eq!((column, message.as_str()), (5, "the column `d` is unknown to the model"));
    let numbers = Options { schema: Some(schema(&["a"], None)), ..Options::default() };
    assert!(check::problem(&ENTRY, &numbers, "y,a\n1,red\n").2.contains("no place for text"));
}

#[test]
fn a_column_that_the_model_knows_is_not_guessed_to_be_the_label() {
    let schema = Some(schema(&["y", "a"], Some(18)));
    let options = Options { schema, unlabelled: true, ..Options::default() };
    let rows = check::read_well(&ENTRY, &options, "a,y\n1,2\n");
    assert_eq!(rows, [(Label::Missing, 1.0, vec![(0, 2.0), (1, 1.0)])]);
}

#[test]
fn the_schema_names_the_feature_columns_in_order() {
    let options = Options { bits: Some(5), weight: Some("w".into()), ..Options::default() };
    let Ok(opened) = (ENTRY.open)(&options, b"\xef\xbb\xbfb,w,y,a\r\n") else { panic!() };
    assert_eq!(opened.decoder.schema(), schema(&["b", "a"], Some(5)));
    assert_eq!((opened.header_bytes, opened.header_lines), (12, 1));
}

#[test]
fn tabs_and_semicolons_are_recognised_in_the_header() {
    assert_eq!(features("a\ty\tb\n1\t2\t3\n"), [[(0, 1.0), (1, 3.0)]]);
    assert_eq!(features("a;\"y\";b\n1;2;3\n"), [[(0, 1.0), (1, 3.0)]]);
    assert_eq!(features("\"a,;\";y\n1;2\n"), [[(0, 1.0)]]);
    let rows = check::read_well(&TSV, &Options::default(), "a,b\ty\n1\t2\n\t3\n");
    assert_eq!(rows[0].2, [(0, 1.0)]);
    assert_eq!(rows[1], (Label::Number(3.0), 1.0, vec![]));
}

#[test]
fn the_dimension_limits_columns_and_hashes() {
    let options = Options { dimension: Some(1), ..Options::default() };
    for text in ["y,a,b\n1,2,3\n", "y,a,b\n1,2,red\n"] {
        let (_, column, message) = check::problem(&ENTRY, &options, text);
        assert_eq!(column, 5);
        assert!(message.contains("--dimension 1"), "{message}");
    }
}

#[test]
fn a_beginning_is_recognised() {
    for text in ["a,b\n1,2", "\r\na\tb", "a;b", "1,2:3"] {
        assert!(sniff(text.as_bytes()), "{text}");
    }
    for text in ["", "a b", "1\t1:2\t3:4", "{\"a\":1,\"b\":2}", "1 | a,b"] {
        assert!(!sniff(text.as_bytes()), "{text}");
    }
    assert!((TSV.sniff)(b"a\tb") && !(TSV.sniff)(b"a,b\tc"));
}

const SAMPLE: &str = "age,y,\"the city\"\n30,1,\"Rome, \"\"x\"\"\"\n-1e3,spam,\"a\nb\"\n,2,7\n\"5\",-1,\n";

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let body = [b"a,y,b\n", &bytes[..]].concat();
        check::holds(&ENTRY, &Options::default(), &body);
        check::holds(&ENTRY, &Options { unlabelled: true, ..Options::default() }, &bytes);
    }

    #[test]
    fn damaged_text_is_read_or_refused(changes in prop::collection::vec(any::<(usize, u8)>(), 0..6)) {
        check::holds(&ENTRY, &Options::default(), &check::mutated(SAMPLE, &changes));
        let options = Options { unlabelled: true, bits: Some(1), ..Options::default() };
        check::holds(&ENTRY, &options, &check::mutated(SAMPLE, &changes));
    }

    #[test]
    fn chunks_give_the_rows_of_the_whole(
        records in prop::collection::vec(
            "[0-9]{0,2},[0-9],(x|\"[a-z,\n]{0,3}(\"\"[a-z\n]?)?\"|-?[0-9]\\.5)?\r?\n|\n", 0..12)
    ) {
        let header = "a,y,b\n".to_string();
        let records: Vec<_> = std::iter::once(header).chain(records).map(String::into_bytes).collect();
        check::splits_anywhere(&ENTRY, &Options::default(), &records);
    }

    #[test]
    fn the_order_of_columns_does_not_change_the_row(
        columns in Just(vec!["a", "b", "c", "d", "y"]).prop_shuffle(),
        cells in prop::collection::vec("[0-9]{0,2}|red|\"blue\"", 4),
    ) {
        let cell = |name: &&str| match *name {
            "y" => "1",
            name => cells[(name.as_bytes()[0] - b'a') as usize].as_str(),
        };
        let line: Vec<_> = columns.iter().map(cell).collect();
        let ordered = format!("a,b,c,d,y\n{},1\n", cells.join(","));
        let shuffled = format!("{}\n{}\n", columns.join(","), line.join(","));
        let schema = Some(schema(&["a", "b", "c", "d"], Some(18)));
        let options = Options { schema, ..Options::default() };
        prop_assert_eq!(
            check::read_well(&ENTRY, &options, &shuffled),
            check::read_well(&ENTRY, &Options::default(), &ordered)
        );
    }

    #[test]
    fn the_short_way_agrees_with_the_long_one(
        cells in prop::collection::vec(prop::collection::vec(CELLS, 4), 1..8),
        separator in prop::sample::select(vec![",", "\t", ";"]),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        changes in prop::collection::vec(any::<(usize, u8)>(), 0..4),
        skip: bool,
        dimension in prop::option::of(1..4_u32),
    ) {
        let header = ["a", "y", "b", "c"].join(separator) + "\n";
        let body: String = cells.iter().map(|row| row.join(separator) + end).collect();
        let options = Options { skip, dimension, bits: Some(4), unlabelled: true, ..Options::default() };
        let Ok((short, ..)) = header::read(&options, header.as_bytes(), None) else { panic!() };
        let Ok((mut long, ..)) = header::read(&options, header.as_bytes(), None) else { panic!() };
        long.places.fill(SLOW);
        check::agree(&short, &long, body.as_bytes());
        check::agree(&short, &long, &check::mutated(&body, &changes));
    }
}

const CELLS: &str = "-?[0-9]\\.[0-9]{1,7}|-?[0-9]\\.[0-9]{4,5}|[-+]?[0-9]{1,10}(\\.[0-9]{0,18})?|[a-z]{0,2}| 1\\.5 ?|\"2\"|1e-3|0\\.0";
