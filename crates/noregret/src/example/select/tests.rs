use super::*;
use crate::example::format::{Options, csv, jsonl, libsvm, vw};
use crate::example::text::check::{self, Seen};
use proptest::prelude::*;
use std::fmt::Write as _;

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

fn options(interactions: &[&str], ignore: &[&str], keep: &[&str]) -> Options {
    let selection = Selection { interactions: words(interactions), ignore: words(ignore), keep: words(keep) };
    Options { selection, ..Options::default() }
}

fn crossed(interactions: &[&str]) -> Options {
    options(interactions, &[], &[])
}

/// The hashed names of a text, with their places.
fn names(entry: &crate::example::format::Entry, options: &Options, text: &str) -> Vec<(u32, String)> {
    let Ok((_, found)) = check::read(entry, options, text.as_bytes()) else { panic!("{text}") };
    let mut names: Vec<(u32, String)> = found.names.iter().map(|(k, name)| (k, name.into())).collect();
    names.sort();
    names
}

const LINE: &str = "1 |apple x:2 y z:0.5 |bike x:3 7 |apricot w:-1 | d:2\n";

const ALONE: [(u32, f32); 7] =
    [(72861, 2.0), (27898, 1.0), (36320, 0.5), (196852, -1.0), (112038, 3.0), (236945, 1.0), (70771, 2.0)];

/// The places and values that `vw --audit` of VW 9.11 prints for [`LINE`] with 18 bits.
fn as_in_vw(interactions: &[&str], products: &[(u32, f32)]) {
    let mut expected: Vec<(u32, f32)> = ALONE.iter().chain(products).copied().collect();
    expected.sort_by_key(|feature| feature.0);
    let rows = check::read_well(&vw::ENTRY, &crossed(interactions), LINE);
    assert_eq!(rows[0].2, expected, "{interactions:?}");
}

#[test]
fn pairs_of_namespaces_land_where_vw_puts_them() {
    let products = [
        (114305, 6.0),
        (235190, 2.0),
        (145448, 3.0),
        (4127, 1.0),
        (188934, 1.5),
        (51761, 0.5),
        (210362, -3.0),
        (73101, -1.0),
    ];
    as_in_vw(&["ab"], &products);
    as_in_vw(&["a*b"], &products);
    // The same product once more, whatever its order.
    as_in_vw(&["ab", "ba"], &products);
    as_in_vw(&["ab", "b*a", "ab"], &products);
    as_in_vw(
        &["ba"],
        &[
            (125135, 6.0),
            (39080, 3.0),
            (31154, 1.5),
            (259238, -3.0),
            (6110, 2.0),
            (92089, 1.0),
            (100003, 0.5),
            (134071, -1.0),
        ],
    );
    as_in_vw(&[" a"], &[(142740, 4.0), (220659, 2.0), (244969, 1.0), (12797, -2.0)]);
}

#[test]
fn a_namespace_times_itself_has_each_pair_once_and_the_squares() {
    as_in_vw(
        &["aa"],
        &[
            (71610, 4.0),
            (26589, 2.0),
            (34503, 1.0),
            (199635, -2.0),
            (254324, 1.0),
            (196718, 0.5),
            (36218, -1.0),
            (252480, 0.25),
            (22356, -0.5),
            (98536, 1.0),
        ],
    );
}

#[test]
fn three_factors_land_where_vw_puts_them() {
    let products = [
        (217269, 18.0),
        (96386, 6.0),
        (122131, 2.0),
        (250718, 9.0),
        (129897, 3.0),
        (195932, 1.0),
        (31444, 4.5),
        (152291, 1.5),
        (120498, 0.5),
        (9832, -9.0),
        (134751, -3.0),
        (137574, -1.0),
    ];
    as_in_vw(&["bab"], &products);
    as_in_vw(&["abb"], &products);
}

#[test]
fn a_longer_name_is_one_namespace_and_not_a_letter() {
    let rows = check::read_well(&vw::ENTRY, &crossed(&["apple*bike"]), LINE);
    assert_eq!(rows[0].2.len(), 7 + 6);
    let rows = check::read_well(&vw::ENTRY, &options(&[], &["apple"], &[]), LINE);
    assert_eq!(rows[0].2.len(), 4);
    let rows = check::read_well(&vw::ENTRY, &options(&[], &["a", " "], &[]), LINE);
    assert_eq!(rows[0].2, [(112038, 3.0), (236945, 1.0)]);
    let rows = check::read_well(&vw::ENTRY, &options(&[], &[], &["b"]), LINE);
    assert_eq!(rows[0].2, [(112038, 3.0), (236945, 1.0)]);
}

#[test]
fn products_have_names() {
    let names = names(&vw::ENTRY, &crossed(&["b d"]), "1 |b x 7 |d u | w\n");
    let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).filter(|n| n.contains('*')).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"b^x*w*d^u") && names.contains(&"b^7*w*d^u"), "{names:?}");
}

#[test]
fn columns_that_are_numbers_multiply_at_a_place_of_their_own() {
    let text = "y,a,city,b\n1,2,Rome,3\n0,4,,0.5\n1,x,Rome,2\n";
    let rows = check::read_well(&csv::ENTRY, &crossed(&["a*b"]), text);
    // Columns: a city b a*b.
    assert_eq!(rows[0].2[..3], [(0, 2.0), (2, 3.0), (3, 6.0)]);
    assert_eq!(rows[1].2, [(0, 4.0), (2, 0.5), (3, 2.0)]);
    // Text in a column makes the product a product with text.
    assert!(rows[2].2.iter().all(|&(place, _)| place != 3) && rows[2].2.len() == 4);
    let names = names(&csv::ENTRY, &crossed(&["a*b"]), text);
    assert!(names.iter().any(|(_, name)| name == "a=x*b"), "{names:?}");
}

#[test]
fn text_multiplies_as_the_name_of_both() {
    let text = "y,city,hour\n1,Rome,7\n";
    let schema = Schema { columns: words(&["city", "hour", "city*hour"]), bits: Some(18) };
    let place = |name: &str| schema.index_of(name.as_bytes()).unwrap();
    let rows = check::read_well(&csv::ENTRY, &crossed(&["city*hour"]), text);
    let mut expected = vec![(1, 7.0), (place("city=Rome"), 1.0), (place("city=Rome*hour"), 7.0)];
    expected.sort_by_key(|feature: &(u32, f32)| feature.0);
    assert_eq!(rows[0].2, expected);
    // A model of columns reads the same from JSON lines, in any order of the keys.
    for json in [r#"{"y":1,"city":"Rome","hour":7}"#, r#"{"hour":7,"y":1,"city":"Rome"}"#] {
        let options = Options { schema: Some(schema.clone()), ..crossed(&["city*hour"]) };
        assert_eq!(check::read_well(&jsonl::ENTRY, &options, json), rows, "{json}");
    }
}

#[test]
fn a_dot_at_the_end_means_all_that_is_beneath() {
    let text = r#"{"y":1,"user":{"id":"u","age":3},"tags":["a","b"],"hour":2}"#;
    let with = |options: Options| {
        let mut all = names(&jsonl::ENTRY, &options, text).into_iter().map(|(_, n)| n).collect::<Vec<_>>();
        all.sort();
        all
    };
    assert_eq!(with(options(&[], &["user."], &[])), ["hour", "tags.0=a", "tags.1=b"]);
    assert_eq!(with(options(&[], &[], &["user.age", "hour"])), ["hour", "user.age"]);
    let products: Vec<String> = with(options(&["user.*hour"], &["tags."], &[]));
    assert_eq!(products, ["hour", "user.age", "user.age*hour", "user.id=u", "user.id=u*hour"]);
    // The order of keys does not matter to a product of a thing with itself.
    let turned = r#"{"y":1,"hour":2,"tags":["a","b"],"user":{"age":3,"id":"u"}}"#;
    let options = crossed(&["user.*user."]);
    assert_eq!(
        check::read_well(&jsonl::ENTRY, &options, text),
        check::read_well(&jsonl::ENTRY, &options, turned)
    );
    assert!(with(options).contains(&"user.age*user.id=u".to_owned()));
}

#[test]
fn what_is_ignored_is_not_looked_at() {
    let text = "y,a,b\n1,2,1e99\n";
    assert_eq!(check::read_well(&csv::ENTRY, &options(&[], &["b"], &[]), text)[0].2, [(0, 2.0)]);
    let text = "1 |a x |b y:nonsense |c z:2\n";
    assert_eq!(check::read_well(&vw::ENTRY, &options(&[], &["b"], &[]), text)[0].2.len(), 2);
}

#[test]
fn a_wrong_flag_says_what_is_wrong() {
    let csv = "y,a,b,a.c\n1,2,3,4\n";
    let json = r#"{"y":1}"#;
    let cases: &[(&crate::example::format::Entry, &str, Options, &[&str])] = &[
        (&csv::ENTRY, csv, crossed(&["a*x"]), &["--interactions x", "`a`, `b`, `a.c`"]),
        (&csv::ENTRY, csv, options(&[], &["x"], &[]), &["--ignore x", "`a`, `b`, `a.c`"]),
        (&csv::ENTRY, csv, options(&[], &[], &["y"]), &["--keep y", "among the features"]),
        (&csv::ENTRY, csv, crossed(&["ab"]), &["--interactions", "`ab`", "joined by `*`"]),
        (&csv::ENTRY, csv, crossed(&["a*"]), &["`a*`", "empty"]),
        (&csv::ENTRY, csv, crossed(&["a*a*a*a*a*a*a*a*a"]), &["2 to 8"]),
        (&csv::ENTRY, csv, options(&["a*b"], &["b"], &[]), &["`b`", "--ignore"]),
        (&csv::ENTRY, csv, options(&["a*b"], &[], &["a"]), &["`b`", "--keep"]),
        (&csv::ENTRY, csv, options(&[], &["a"], &["a"]), &["--ignore a", "--keep a"]),
        (&csv::ENTRY, csv, options(&[], &[""], &[]), &["empty name"]),
        (&csv::ENTRY, "y,a,b,a*b\n", crossed(&["a*b"]), &["already"]),
        (&jsonl::ENTRY, json, options(&["user.id*b"], &["user."], &[]), &["`user.id`", "--ignore"]),
        (&jsonl::ENTRY, json, crossed(&["a"]), &["joined by `*`"]),
        (&vw::ENTRY, LINE, crossed(&["a"]), &["2 to 8"]),
        (&vw::ENTRY, LINE, crossed(&["::"]), &["name the letters"]),
        (&vw::ENTRY, LINE, crossed(&["éa"]), &["user*item"]),
        (&vw::ENTRY, LINE, options(&["ab"], &["b"], &[]), &["`b`", "--ignore"]),
    ];
    for (entry, text, options, parts) in cases {
        let message = check::usage(entry, options, text);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    let many: Vec<String> = (0..65).map(|k| format!("c{k}")).collect();
    let selection = Selection { ignore: many, ..Selection::default() };
    let message = check::usage(&jsonl::ENTRY, &Options { selection, ..Options::default() }, json);
    assert!(message.contains("64"), "{message}");
}

#[test]
fn a_product_beyond_the_range_is_a_fault_of_its_record() {
    let (line, _, message) = check::problem(&csv::ENTRY, &crossed(&["a*b"]), "y,a,b\n1,1,2\n1,1e30,1e30\n");
    assert_eq!(line, 1);
    assert!(message.contains("`a*b`") && message.contains("range of f32"), "{message}");
    let (_, _, message) = check::problem(&vw::ENTRY, &crossed(&["ab"]), "1 |a x:1e30 |b y:1e30\n");
    assert!(message.contains("`a^x*b^y`"), "{message}");
    let options = Options { skip: true, ..crossed(&["a*b"]) };
    assert_eq!(check::read_well(&csv::ENTRY, &options, "y,a,b\n1,1e30,1e30\n1,1,2\n").len(), 1);
}

#[test]
fn a_row_may_have_only_so_many_products() {
    let features: Vec<String> = (0..300).map(|k| k.to_string()).collect();
    let text = format!("1 |a {}\n", features.join(" "));
    let (_, _, message) = check::problem(&vw::ENTRY, &crossed(&["aaaa"]), &text);
    assert!(message.contains("products"), "{message}");
}

#[test]
fn a_selection_contradicts_another_that_says_otherwise() {
    let is = options(&["a*b", "c*d"], &["x"], &[]).selection;
    assert_eq!(is.contradiction(&Selection::default()), None);
    assert_eq!(is.contradiction(&options(&["c*d", "a*b"], &[], &[]).selection), None);
    let said = options(&[], &["x", "y"], &[]).selection;
    assert_eq!(is.contradiction(&said), Some(("ignore", "x,y".to_owned(), "x".to_owned())));
    let said = options(&[], &[], &["y"]).selection;
    assert_eq!(is.contradiction(&said), Some(("keep", "y".to_owned(), "none".to_owned())));
}

#[test]
fn a_format_without_names_has_no_plan() {
    let Ok(opened) = (libsvm::ENTRY.open)(&Options::default(), b"1 1:1\n") else { panic!() };
    assert!(opened.decoder.plan().is_none());
}

/// A row of small numbers in two columns and a few values of a column of text; halves multiply exactly.
fn cells() -> impl Strategy<Value = Vec<(i8, i8, usize)>> {
    prop::collection::vec((-8_i8..8, -8_i8..8, 0_usize..4), 1..20)
}

const CITIES: [&str; 4] = ["", "Rome", "Oslo", "a b"];

/// The rows with their features' names in place of their places.
fn named(rows: &[Seen], columns: &[&str], names: &[(u32, String)]) -> Vec<Vec<(String, f32)>> {
    let name = |place: u32| match columns.get(place as usize) {
        Some(column) => (*column).to_owned(),
        None => names.iter().find(|(k, _)| *k == place).unwrap().1.clone(),
    };
    let row = |row: &Seen| {
        let mut row: Vec<_> = row.2.iter().map(|&(place, value)| (name(place), value)).collect();
        row.sort_by(|a, b| a.0.cmp(&b.0));
        row
    };
    rows.iter().map(row).collect()
}

proptest! {
    #[test]
    fn products_by_flag_are_products_by_hand(cells in cells()) {
        let (mut by_flag, mut by_hand) = ("y,a,b,c\n".to_owned(), "y,a,b,c,a*b,b*c,c*c\n".to_owned());
        let mut json = String::new();
        for &(a, b, city) in &cells {
            let (a, b, c) = (f32::from(a) / 2.0, f32::from(b) / 2.0, CITIES[city]);
            writeln!(by_flag, "1,{a},{b},{c}").unwrap();
            writeln!(json, "{{\"y\":1,\"c\":\"{c}\",\"b\":{b},\"a\":{a}}}").unwrap();
            let text = city > 0;
            // Text times a number is written as the number under the name of both, further below.
            writeln!(by_hand, "1,{a},{b},{c},{},{},{}", a * b, if text { b } else { 0.0 }, u8::from(text)).unwrap();
        }
        let flags = crossed(&["a*b", "b*c", "c*c"]);
        let columns = ["a", "b", "c", "a*b", "b*c", "c*c"];
        let rows = check::read_well(&csv::ENTRY, &flags, &by_flag);
        let expected = check::read_well(&csv::ENTRY, &Options::default(), &by_hand);
        let found = named(&rows, &columns, &names(&csv::ENTRY, &flags, &by_flag));
        let mut expected = named(&expected, &columns, &names(&csv::ENTRY, &Options::default(), &by_hand));
        for (row, &(_, _, city)) in expected.iter_mut().zip(&cells) {
            let city = CITIES[city];
            for (name, _) in row.iter_mut() {
                match name.as_str() {
                    "b*c" => *name = format!("b*c={city}"),
                    "c*c" => *name = format!("c={city}*c={city}"),
                    _ => {}
                }
            }
            row.sort_by(|a, b| a.0.cmp(&b.0));
        }
        prop_assert_eq!(&found, &expected);
        // JSON lines have the same features, all of them hashed.
        let rows = check::read_well(&jsonl::ENTRY, &flags, &json);
        prop_assert_eq!(&named(&rows, &[], &names(&jsonl::ENTRY, &flags, &json)), &expected);
    }

    #[test]
    fn what_is_left_out_might_as_well_not_be_there(cells in cells()) {
        let (mut whole, mut part) = ("a,y,b,c\n".to_owned(), "a,y,c\n".to_owned());
        let (mut lines, mut fewer) = (String::new(), String::new());
        for &(a, b, city) in &cells {
            writeln!(whole, "{a},1,{b},{}", CITIES[city]).unwrap();
            writeln!(part, "{a},1,{}", CITIES[city]).unwrap();
            writeln!(lines, "1 |a x:{a} 3 |b:2 y:{b} |c c{city}").unwrap();
            writeln!(fewer, "1 |a x:{a} 3 |c c{city}").unwrap();
        }
        for options in [options(&[], &["b"], &[]), options(&[], &[], &["a", "c"])] {
            let plain = Options::default();
            prop_assert_eq!(
                check::read_well(&csv::ENTRY, &options, &whole),
                check::read_well(&csv::ENTRY, &plain, &part)
            );
            prop_assert_eq!(
                check::read_well(&vw::ENTRY, &options, &lines),
                check::read_well(&vw::ENTRY, &plain, &fewer)
            );
        }
    }

    #[test]
    fn any_bytes_are_rows_or_a_problem(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[|a-c0-9 :.,\n]{0,200}") {
        for bytes in [&bytes[..], text.as_bytes()] {
            let bits = Some(3);
            check::holds(&vw::ENTRY, &Options { bits, unlabelled: true, ..options(&["aab"], &["c"], &[]) }, bytes);
            let mut csv = b"a,b,c,y\n".to_vec();
            csv.extend_from_slice(bytes);
            check::holds(&csv::ENTRY, &Options { bits, ..options(&["a*a*b"], &["c"], &[]) }, &csv);
        }
    }
}
