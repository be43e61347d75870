//! The same text read as f32 and as f64, in every format.

use crate::example::format::{self, Found, Opened, Options, Scratch};
use crate::example::number::Number;
use crate::example::{Block, Label};
use proptest::prelude::*;
use std::fmt::Write;

/// A decimal with its sign, as every format spells it: 1 to 20 digits, perhaps a point and an exponent.
fn decimal(exponents: std::ops::Range<i32>) -> impl Strategy<Value = String> {
    let digits = prop::collection::vec(0..10_u8, 1..=20);
    (digits, 1..=20_usize, any::<bool>(), prop::option::of(exponents)).prop_map(
        |(digits, point, negative, exponent)| {
            let point = point.min(digits.len());
            let mut text = String::from(if negative { "-" } else { "" });
            for (at, digit) in digits.iter().enumerate() {
                if at == point {
                    text.push('.');
                }
                // JSON has no zeros in front.
                let digit = if at == 0 && point > 1 { (*digit).max(1) } else { *digit };
                text.push(char::from(b'0' + digit));
            }
            if let Some(exponent) = exponent {
                let _ = write!(text, "e{exponent}");
            }
            text
        },
    )
}

/// The rows in every format.
fn texts(rows: &[Vec<String>]) -> Vec<(&'static str, String)> {
    let write = |name: &'static str, header: &str, record: &dyn Fn(&[String]) -> String| {
        (name, header.to_owned() + &rows.iter().map(|row| record(row) + "\n").collect::<String>())
    };
    let pairs = |row: &[String], before: &str, after: &str| -> String {
        let pair = |(k, value): (usize, &String)| format!("{before}{}{after}{value}", k + 1);
        row.iter().enumerate().map(pair).collect::<Vec<_>>().concat()
    };
    vec![
        write("libsvm", "", &|row| format!("1{}", pairs(row, " ", ":"))),
        write("vw", "", &|row| format!("1 |{}", pairs(row, " f", ":"))),
        write("csv", "y,a,b,c,d\n", &|row| format!("1,{}{}", row.join(","), ",".repeat(4 - row.len()))),
        write("tsv", "y\ta\tb\tc\td\n", &|row| {
            format!("1\t{}{}", row.join("\t"), "\t".repeat(4 - row.len()))
        }),
        write("jsonl", "", &|row| format!("{{\"y\":1{}}}", pairs(row, ",\"f", "\":"))),
    ]
}

fn read<V: Number>(format: &str, text: &str) -> (Block<V>, Found) {
    let options = Options { label: Some("y".into()), ..Options::default() };
    let entry = format::find(format).unwrap();
    let Ok(Opened { decoder, header_bytes, .. }) = (entry.open)(&options, text.as_bytes()) else {
        panic!("{format} cannot be opened")
    };
    let mut block = Block::new();
    let chunk = &text.as_bytes()[header_bytes..];
    let found = V::decode(&*decoder, chunk, &mut block, &mut Scratch::default());
    (block, found)
}

/// The values of each row as bits, sorted, as a format with hashes may bring them into another order.
fn bits<V: Number>(block: &Block<V>) -> Vec<Vec<u64>> {
    block.offsets.windows(2).map(|ends| sorted(block.values[ends[0]..ends[1]].iter().copied())).collect()
}

fn sorted<V: Number>(values: impl Iterator<Item = V>) -> Vec<u64> {
    let mut bits: Vec<u64> = values.filter(|value| value.f64() != 0.0).map(V::bits).collect();
    bits.sort_unstable();
    bits
}

/// What the standard library reads.
fn expected<V: Number + std::str::FromStr>(rows: &[Vec<String>]) -> Vec<Vec<u64>> {
    rows.iter().map(|row| sorted(row.iter().filter_map(|text| text.parse::<V>().ok()))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_kinds_have_one_structure_and_the_nearest_values(
        rows in prop::collection::vec(prop::collection::vec(decimal(-20..15), 1..=4), 1..6),
    ) {
        for (format, text) in texts(&rows) {
            let ((narrow, a), (wide, b)) = (read::<f32>(format, &text), read::<f64>(format, &text));
            prop_assert_eq!((&a.problem, &b.problem), (&None, &None), "{}", text);
            prop_assert_eq!((a.lines, a.names), (b.lines, b.names));
            prop_assert_eq!(&narrow.offsets, &wide.offsets, "{}", text);
            prop_assert_eq!(&narrow.indices, &wide.indices);
            prop_assert_eq!(&narrow.raw_labels, &wide.raw_labels);
            prop_assert_eq!(&narrow.weights, &wide.weights);
            prop_assert_eq!((&narrow.lines, &narrow.columns), (&wide.lines, &wide.columns));
            prop_assert_eq!(bits(&wide), expected::<f64>(&rows), "{} {}", format, text);
            // JSON goes through f64.
            if format != "jsonl" {
                prop_assert_eq!(bits(&narrow), expected::<f32>(&rows), "{} {}", format, text);
            }
        }
    }

    #[test]
    fn the_whole_range_of_f64_is_read(
        rows in prop::collection::vec(prop::collection::vec(decimal(-345..288), 1..=4), 1..4),
    ) {
        for (format, text) in texts(&rows) {
            let (block, found) = read::<f64>(format, &text);
            prop_assert_eq!(&found.problem, &None, "{}", text);
            prop_assert_eq!(bits(&block), expected::<f64>(&rows), "{} {}", format, text);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_does() {
    let long = |value: &str| texts(&[vec![value.to_owned()]]);
    for ((format, text), (_, longer)) in long("1e39").into_iter().zip(long("1e309")) {
        let message = |found: Found| found.problem.map_or(String::new(), |problem| problem.message);
        let narrow = message(read::<f32>(format, &text).1);
        assert!(narrow.contains("3.4e38"), "{format} {narrow}");
        assert_eq!(message(read::<f64>(format, &text).1), "", "{format}");
        let wide = message(read::<f64>(format, &longer).1);
        // Of JSON the parser itself refuses it.
        assert!(wide.contains(if format == "jsonl" { "out of range" } else { "1.8e308" }), "{format} {wide}");
    }
}

#[test]
fn what_falls_on_one_index_is_summed_in_its_kind() {
    let text = "1 | a:0.1 a:0.2\n1 |s:0.1 a:3\n";
    let (block, _) = read::<f64>("vw", text);
    assert_eq!(block.values, [0.1 + 0.2, 0.1 * 3.0]);
    let (block, _) = read::<f32>("vw", text);
    assert_eq!(block.values, [(f64::from(0.1_f32) + f64::from(0.2_f32)) as f32, 0.1_f32 * 3.0]);
    let options = Options { bits: Some(1), ..Options::default() };
    let Ok(opened) = (format::find("libsvm").unwrap().open)(&options, b"") else { panic!("not opened") };
    let mut block = Block::new();
    let found =
        opened.decoder.decode_f64(b"1 1:0.1 3:0.2\n1 1:1e308 3:1e308", &mut block, &mut Scratch::default());
    assert_eq!((&block.values[..], &block.raw_labels[..]), (&[0.1 + 0.2][..], &[Label::Number(1.0)][..]));
    assert!(found.problem.is_some_and(|problem| problem.message.contains("1.8e308")));
}
