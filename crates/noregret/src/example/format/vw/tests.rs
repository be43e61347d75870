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
        ("1 | a b 12 007 x:2.5", &[(7, 1.0), (12, 1.0), (92594, 1.0), (163331, 1.0), (170779, 2.5)]),
        (
            "1 |ns:2.5 a b:2 12 :3 :4 c",
            &[(50664, 5.0), (120344, 7.5), (120345, 10.0), (120356, 2.5), (180474, 2.5), (256306, 2.5)],
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
    let names: Vec<_> = found.names.iter().map(|name| name.1).collect();
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

    #[test]
    fn the_short_way_agrees_with_the_long_one(
        lines in prop::collection::vec((NAMES, prop::collection::vec((GAPS, NAMES, VALUES), 0..9), GAPS), 1..8),
        end in prop::sample::select(vec!["\n", "\r\n", " \n"]),
        changes in prop::collection::vec(any::<(usize, u8)>(), 0..4),
        skip: bool,
    ) {
        let line = |(space, features, gap): &(String, Vec<(String, String, String)>, String)| {
            let features = features.iter().map(|(gap, name, value)| match value.as_str() {
                "" => format!("{gap}{name}"),
                value => format!("{gap}{name}:{value}"),
            });
            format!("1 |{space}{}{gap}{end}", features.collect::<String>())
        };
        let text: String = lines.iter().map(line).collect();
        let options = Options { skip, bits: Some(6), ..Options::default() };
        let (Ok(short), Ok(mut long)) = (decoder(&options), decoder(&options)) else { panic!() };
        long.usual = false;
        check::agree(&short, &long, text.as_bytes());
        check::agree(&short, &long, &check::mutated(&text, &changes));
    }
}

/// Rows long enough to be swept, with little in them that is unusual.
#[test]
fn many_features_at_once_agree_with_one_by_one() {
    use rand::{RngExt, SeedableRng, seq::IndexedRandom};
    let mut random = rand_pcg::Pcg64::seed_from_u64(12);
    for round in 0..600 {
        let strange = [0.0, 0.01, 0.2][round % 3];
        let none = if random.random() { "" } else { ":2" };
        let mut text = String::new();
        for _ in 0..random.random_range(1..6) {
            text.push_str("1 |text");
            for _ in 0..random.random_range(0..150) {
                let odd = random.random_bool(strange);
                let name = match random.random_range(0..if odd { 6 } else { 3 }) {
                    0 => format!("word{}", random.random_range(0..100_000)),
                    1 => "abcdefghijklmno"[..random.random_range(1..16)].to_owned(),
                    2 => format!("w{}", random.random_range(0..30)),
                    3 => format!("{}", random.random_range(0..100_000)),
                    4 => format!("{}th", random.random_range(0..100_000)),
                    _ => "x".repeat(random.random_range(14..40)),
                };
                let value = f64::from(random.random_range(-1_000_000..10_000_000)) / 1e6;
                let value = match random.random_range(0..if odd { 8 } else { 4 }) {
                    0..3 => format!(":{value:.*}", [5, random.random_range(1..7)][round % 2]),
                    3 => [":1", ":0", none, ":0.0", ":-0.00"].choose(&mut random).unwrap().to_string(),
                    4 => format!(":{value:.*}", random.random_range(7..20)),
                    5 => format!(":{}", random.random_range(-99..1000)),
                    6 => [":", ":1.", ":.5", ":1e3", ":x", ":1:2", ":-", ":+1.5"]
                        .choose(&mut random)
                        .unwrap()
                        .to_string(),
                    _ => [":1.5 ", ":1.5\t", "|", " |b", ":1.5|b", ":1.5 :2", ":1.5\r", "\u{1}"]
                        .choose(&mut random)
                        .unwrap()
                        .to_string(),
                };
                text.push(' ');
                text.push_str(&name);
                text.push_str(&value);
            }
            text.push_str(["\n", "\n", " \n", "\r\n"].choose(&mut random).unwrap());
        }
        if random.random_bool(0.2) {
            text.pop();
        }
        let bits = *[6, 18, 25].choose(&mut random).unwrap();
        let options = Options { skip: random.random_bool(0.7), bits: Some(bits), ..Options::default() };
        let (Ok(short), Ok(mut long)) = (decoder(&options), decoder(&options)) else { panic!() };
        long.usual = false;
        check::agree(&short, &long, text.as_bytes());
        let changes: Vec<_> = (0..3).map(|_| (random.random_range(0..text.len()), random.random())).collect();
        check::agree(&short, &long, &check::mutated(&text, &changes));
    }
}

const NAMES: &str = "[0-9]{1,9}|[a-z0-9]{1,9}|[a-z_]{1,20}|[a-zé]{1,4}|";
const GAPS: &str = " | | | | |\t|  | \\|| \\|f ";
const VALUES: &str = "-?[0-9]\\.[0-9]{1,7}|-?[0-9]\\.[0-9]{4,5}|[-+]?[0-9]{1,10}(\\.[0-9]{0,18})?|1e-3|0|||";
