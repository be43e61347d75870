use super::layout::tests::written;
use super::*;
use crate::example::lanes::tests::narrowly;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use std::fmt::Write;

fn decode(text: &[u8], options: &Options) -> (Block<f32>, Found) {
    let Ok(opened) = open(options, text) else { panic!("LIBSVM has no header to refuse") };
    let mut block = Block::new();
    let found = opened.decoder.decode(text, &mut block, &mut Scratch::default());
    (block, found)
}

fn problem(text: &str) -> String {
    let found = decode(text.as_bytes(), &Options::default()).1;
    let problem = found.problem.expect(text);
    format!("{}:{}: {}", problem.line + 1, problem.column, problem.message)
}

fn rows(block: &Block<f32>) -> Vec<(Label, Vec<(u32, f32)>)> {
    (0..block.len())
        .map(|k| {
            let range = block.offsets[k]..block.offsets[k + 1];
            let pairs = block.indices[range.clone()].iter().copied();
            (block.raw_labels[k].clone(), pairs.zip(block.values[range].iter().copied()).collect())
        })
        .collect()
}

#[test]
fn labels_features_comments_and_blank_lines_are_read() {
    let text = "# head\r\n\n+1 1:0.5\t3:-2 # tail\n  \nspam qid:7 2:1e-3\r\n-1\n0.25 7:5. 8:.5";
    let (block, found) = decode(text.as_bytes(), &Options::default());
    assert_eq!(found.problem, None);
    assert_eq!(found.lines, 7);
    assert_eq!(
        rows(&block),
        [
            (Label::Number(1.0), vec![(0, 0.5), (2, -2.0)]),
            (Label::Name("spam".into()), vec![(1, 1e-3)]),
            (Label::Number(-1.0), vec![]),
            (Label::Number(0.25), vec![(6, 5.0), (7, 0.5)]),
        ]
    );
    assert_eq!(block.lines, [2, 4, 5, 6]);
    assert_eq!(block.columns, [1, 1, 1, 1]);
}

#[test]
fn bad_numbers_are_errors_that_say_what_and_where() {
    for (text, expected) in [
        ("1 1:1\n1 2:nan\n", "2:5: the value `nan` is not a number"),
        ("1 2:-inf", "1:5: the value `-inf` is infinite"),
        ("1 2:1e39", "1:5: the value `1e39` is too large"),
        ("1 2:abc", "1:5: the value `abc` is not a number"),
        ("1 2:", "1:5: the value `` is not a number"),
        ("1 2:3:4", "1:5: the value `3:4` is not a number"),
        ("1 :3", "1:3: found `:3`"),
        ("1 -2:3", "1:3: found `-2:3`"),
        ("1 word", "1:3: found `word`, expected index:value"),
        ("1 1:1 qid:3", "1:7: found `qid:3`"),
        ("nan 1:1", "1:1: the label `nan` is not a number"),
        (" inf 1:1", "1:2: the label `inf` is infinite"),
        ("1e999 1:1", "1:1: the label `1e999` is too large"),
        ("1:1 2:1", "1:1: found `1:1`, expected a label"),
        ("a\u{1} 1:1", "1:1: the label `a\\u{1}` has control characters"),
    ] {
        let message = problem(text);
        assert!(message.starts_with(expected), "{message}");
    }
    let found = decode(b"1 1:1\nab\xff 1:1\n", &Options::default()).1.problem.unwrap();
    assert_eq!((found.line, found.column), (1, 3));
}

#[test]
fn indices_are_checked_for_order_range_and_base() {
    for (text, expected) in [
        ("1 3:1 2:1", "1:7: index 2 follows index 3"),
        ("1 3:1 3:1", "1:7: index 3 stands twice"),
        ("1 3:0 3:1", "1:7: index 3 stands twice"),
        ("1 0:1", "1:3: index 0, but indices count from 1; if they count from 0 here, use --zero-based"),
        ("1 4000000000:1", "1:3: index `4000000000` is beyond 16777216; fold"),
        ("1 99999999999999999999999:1", "1:3: index `9999"),
        ("1 18446744073709551615:1", "1:3: index `1844"),
    ] {
        let message = problem(text);
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains("beyond") || message.contains("--bits B, or allow more with --dimension"));
    }
    let options = Options { dimension: Some(10), ..Options::default() };
    assert_eq!(rows(&decode(b"1 10:1", &options).0)[0].1, [(9, 1.0)]);
    let message = decode(b"1 11:1", &options).1.problem.unwrap().message;
    assert!(message.contains("--dimension 10"), "{message}");
    let options = Options { zero_based: true, ..Options::default() };
    assert_eq!(rows(&decode(b"1 0:1 16777215:2", &options).0)[0].1, [(0, 1.0), (16777215, 2.0)]);
    assert!(decode(b"1 16777216:2", &options).1.problem.is_some());
    assert_eq!(rows(&decode(b"1 16777216:2", &Options::default()).0)[0].1, [(16777215, 2.0)]);
}

#[test]
fn folded_rows_are_sorted_and_what_falls_together_is_added() {
    let options = Options { bits: Some(2), ..Options::default() };
    let (block, found) = decode(b"1 1:1 4:2 5:0.5 4000000007:3 99999999999:-3\n", &options);
    assert_eq!(found.problem, None);
    assert_eq!(rows(&block)[0].1, [(0, 1.5), (3, 2.0)]);
    let found = decode(b"1 1:1\n 1 1:3e38 5:3e38\n", &options).1.problem.unwrap();
    assert_eq!((found.line, found.column), (1, 2));
    assert!(decode(b"1 18446744073709551615:1\n", &options).1.problem.is_some());
    assert!(decode(b"1 5:1 4:1\n", &options).1.problem.is_some());
}

#[test]
fn zeros_are_left_out_of_the_row() {
    let (block, _) = decode(b"1 1:0 2:0.000 3:-0 4:0e5 5:1\n", &Options::default());
    assert_eq!(rows(&block)[0].1, [(4, 1.0)]);
}

#[test]
fn labels_may_be_missing_where_that_is_allowed() {
    let options = Options { unlabelled: true, ..Options::default() };
    let (block, found) = decode(b"1:2 3:4\n1 2:3\nqid:4 2:2\n", &options);
    assert_eq!(found.problem, None);
    assert_eq!(
        rows(&block),
        [
            (Label::Missing, vec![(0, 2.0), (2, 4.0)]),
            (Label::Number(1.0), vec![(1, 3.0)]),
            (Label::Missing, vec![(1, 2.0)]),
        ]
    );
}

#[test]
fn skipping_drops_whole_rows_counts_them_and_keeps_ten_reasons() {
    let options = Options { skip: true, ..Options::default() };
    let text = "1 1:1\n1 1:1 2:nan 3:1\n1 2:2\n".repeat(30);
    let (block, found) = decode(text.as_bytes(), &options);
    assert_eq!((block.len(), found.skipped, found.lines), (60, 30, 90));
    assert_eq!(found.reasons.len(), KEPT_REASONS);
    assert_eq!((found.reasons[1].line, found.reasons[1].column), (4, 9));
    assert_eq!(rows(&block)[1].1, [(1, 2.0)]);
    assert_eq!(block.lines[..4], [0, 2, 3, 5]);
}

#[test]
fn an_error_stops_after_the_rows_before_it_and_all_lines_are_counted() {
    let (block, found) = decode(b"1 1:1\n1 x\n1 1:1\n1 1:1", &Options::default());
    assert_eq!((block.len(), found.lines, block.indices.len()), (1, 4, 1));
}

#[test]
fn a_model_of_named_features_is_refused() {
    let schema = Some(Schema { columns: vec!["age".into()], ..Schema::default() });
    let options = Options { schema, ..Options::default() };
    assert!(matches!(open(&options, b""), Err(OpenError::Usage(_))));
    let options = Options { schema: Some(Schema::default()), ..Options::default() };
    assert!(open(&options, b"").is_ok());
}

/// A value as it is where four are read at once.
fn at_once<V: Number>(millionths: u32) -> V {
    V::all_millionths([millionths])[0]
}

/// Every value the fused reader takes in its short way: one digit, a point, up to 6 digits.
#[test]
fn every_short_value_is_the_nearest_number() {
    let mut text = [b' '; WINDOW];
    for places in 1..=6usize {
        let step = if places == 6 { 7 } else { 1 };
        for m in (0..10usize.pow(places as u32 + 1)).step_by(step) {
            let scale = 10usize.pow(places as u32);
            let value = format!("{}.{:0places$}", m / scale, m % scale);
            text[1..3].copy_from_slice(b"1:");
            text[3..].fill(b' ');
            text[3..3 + value.len()].copy_from_slice(value.as_bytes());
            let feature = token::read::<f32>(&text).unwrap();
            assert_eq!(feature.value.to_bits(), value.parse::<f32>().unwrap().to_bits(), "{value}");
            let wide = token::read::<f64>(&text).unwrap();
            assert_eq!(wide.value.to_bits(), value.parse::<f64>().unwrap().to_bits(), "{value}");
            assert_eq!(feature.length, 3 + value.len());
            let millionths = (m * 10usize.pow(6 - places as u32)) as u32;
            assert_eq!(at_once::<f32>(millionths), feature.value);
            assert_eq!(at_once::<f64>(millionths), wide.value);
        }
    }
}

#[test]
fn long_rows_of_one_look_agree_with_the_plain_rules() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(5);
    for round in 0..60 {
        let mut text = String::new();
        for _ in 0..3 {
            text += "1";
            let usual = random.random_range(0..11);
            let mut index = 0;
            for _ in 0..random.random_range(0..700) {
                index += random.random_range(1..200);
                let odd = random.random_bool(0.02);
                let places = if odd { random.random_range(0..16) } else { usual };
                let (_, value) = written(&mut random, 1, places);
                let _ = write!(text, " {index}:{value}");
                if odd && round % 5 == 0 && random.random_bool(0.1) {
                    text += [" ", "\t", " 3:1", "x", " 1:1:1"][random.random_range(0..5usize)];
                }
            }
            text += "\n";
        }
        for skip in [false, true] {
            agree(text.as_bytes(), &Options { skip, ..Options::default() });
        }
    }
}

/// Rows of many features without signs, which are read four at once, with what ends that: a sign, a zero, another
/// look, an index that does not ascend or is too large, a row's end anywhere among the four, and damage.
#[test]
fn rows_without_signs_agree_with_the_plain_rules() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(6);
    let strange = b" \t\n\r#:.-+0159/eE,\x00\xff\x80";
    for round in 0..400 {
        let mut text = String::new();
        for _ in 0..random.random_range(1..8) {
            text += ["1", "-1", "-0.5 qid:3", "spam"][random.random_range(0..4usize)];
            let places = random.random_range(0..8);
            let step = 10_u32.pow(random.random_range(1..5));
            let mut index = random.random_range(0..step);
            let odd = [0.0, 0.01, 0.2][random.random_range(0..3usize)];
            for _ in 0..random.random_range(0..400) {
                index += random.random_range(1..=step);
                let places = if random.random_bool(odd) { random.random_range(0..9) } else { places };
                let (_, mut value) = written(&mut random, 1, places);
                if !random.random_bool(odd) {
                    value = value.trim_start_matches('-').to_owned();
                }
                if random.random_bool(odd / 2.0) {
                    value = value.replace(|byte: char| byte.is_ascii_digit(), "0");
                }
                let _ = write!(text, " {index}:{value}");
                if random.random_bool(odd / 40.0) {
                    index = random.random_range(index.saturating_sub(20)..=index);
                }
            }
            text += ["\n", "\n", "\n", "\r\n", " \n", "\t\n"][random.random_range(0..6usize)];
        }
        let mut text = text.into_bytes();
        for _ in 0..round % 4 {
            let at = random.random_range(0..text.len());
            let byte = strange[random.random_range(0..strange.len())];
            match random.random_range(0..3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        if random.random_bool(0.2) {
            text.truncate(random.random_range(0..=text.len()));
        }
        for skip in [false, true] {
            agree(&text, &Options { skip, zero_based: round % 3 == 0, ..Options::default() });
        }
    }
}

/// Rows in which hardly a feature looks like the one before it, so that they are read by their marks.
#[test]
fn rows_of_many_looks_agree_with_the_plain_rules() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(7);
    let strange = b" \t\n\r#:.-+0159eE,\x00\xff\x80";
    for round in 0..400 {
        let mut text = String::new();
        for _ in 0..6 {
            text += ["1", "-1", "-0.5 qid:3", "spam"][random.random_range(0..4usize)];
            let mut index = u32::from(round % 3 == 0);
            for _ in 0..random.random_range(0..300) {
                let step = 10_u32.pow(random.random_range(1..5));
                index += random.random_range(1..step);
                let places = random.random_range(if round % 2 == 0 { 1..13 } else { 0..19 });
                let (_, mut value) = written(&mut random, 1, places);
                if round % 4 == 1 && random.random_bool(0.1) {
                    value = random.random_range(-1e4..1e4f32).to_string();
                }
                let zeros = if random.random_bool(0.05) { "00" } else { "" };
                let _ = write!(text, " {zeros}{index}:{value}");
            }
            text += ["\n", "\n", "\n", "\r\n", " \n"][random.random_range(0..5usize)];
        }
        let mut text = text.into_bytes();
        for _ in 0..round % 5 {
            let at = random.random_range(0..text.len());
            let byte = strange[random.random_range(0..strange.len())];
            match random.random_range(0..3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        for skip in [false, true] {
            agree(&text, &Options { skip, zero_based: round % 3 != 0, ..Options::default() });
        }
    }
}

/// Marks alone, against what each feature says, in both kinds of number.
#[test]
fn features_between_marks_are_read_exactly() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(8);
    let mut read = 0;
    for _ in 0..3_000 {
        let mut text = "0123456789abcdef".to_owned();
        let mut expected = Vec::new();
        let mut index = 0;
        while text.len() < 1100 {
            let step = 10_u32.pow(random.random_range(1..4));
            index += random.random_range(1..step);
            let places = random.random_range(1..17);
            let (_, value) = written(&mut random, 1, places);
            let _ = write!(text, " {index}:{value}");
            expected.push((index, value));
        }
        text += " ";
        let mut marks = marks::Marks::new();
        let beyond = random.random_range(1..2 * index);
        let (features, window, base) = marks.features(text.as_bytes(), 16, &(0..beyond)).unwrap();
        assert_eq!(base, 16);
        let right = expected.iter().take_while(|(index, _)| *index < beyond).count();
        assert!(features.len() <= right && (features.len() == right || features.len() > 30));
        for (feature, (index, value)) in features.iter().zip(&expected) {
            assert_eq!(feature.index, *index);
            let (narrow, zero) = feature.value::<f32>(window);
            assert_eq!(narrow.to_bits(), value.parse::<f32>().unwrap().to_bits(), "{value}");
            assert_eq!(zero, value.bytes().all(|byte| b"-.0".contains(&byte)), "{value}");
            let wide = feature.value::<f64>(window).0;
            assert_eq!(wide.to_bits(), value.parse::<f64>().unwrap().to_bits(), "{value}");
            read += 1;
        }
    }
    assert!(read > 50_000, "{read}");
}

#[test]
fn the_format_is_recognised() {
    for text in ["1 1:1\n-1 3:0.5\n", "# c\n+1 qid:3 1:1 # x", "a 1:2 4:5\nb", "1:3 4:5\n", "1\n1 2:3\n"] {
        assert!(sniff(text.as_bytes()), "{text}");
    }
    for text in ["", "1\n2\n", "a,b\n1,2\n", "1 |f a:1\n", "{\"a\": 1}\n", "1 2 3\n", "1 1:1\nx y\n"] {
        assert!(!sniff(text.as_bytes()), "{text}");
    }
}

type Line = Option<(Label, Vec<(u32, f32)>)>;

/// The rules again, as plainly as they can be said: a row, nothing, or the column of an error.
fn plain(line: &[u8], options: &Options) -> Result<Line, usize> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.split(|&b| b == b'#').next().unwrap();
    // A line that ends in `\r` only because a comment follows keeps it.
    let mut tokens = Vec::new();
    let mut start = 0;
    for part in line.split(|&b| b == b' ' || b == b'\t') {
        if !part.is_empty() {
            tokens.push((start + 1, part));
        }
        start += part.len() + 1;
    }
    let Some(&(column, first)) = tokens.first() else { return Ok(None) };
    let mut label = Label::Missing;
    if !first.contains(&b':') {
        tokens.remove(0);
        label = match std::str::from_utf8(first) {
            Err(error) => return Err(column + error.valid_up_to()),
            Ok(text) => match text.parse::<f64>() {
                Ok(v) if v.is_finite() => Label::Number(v),
                Ok(_) => return Err(column),
                Err(_) if text.contains(char::is_control) => return Err(column),
                Err(_) => Label::Name(text.into()),
            },
        };
    } else if !options.unlabelled {
        return Err(column);
    }
    if tokens.first().is_some_and(|(_, token)| token.starts_with(b"qid:")) {
        tokens.remove(0);
    }
    let base = u128::from(!options.zero_based);
    let (mut pairs, mut last) = (Vec::new(), None);
    for (column, token) in tokens {
        let text = String::from_utf8_lossy(token).into_owned();
        let (index, value) = text.split_once(':').ok_or(column)?;
        if index.starts_with('+') {
            return Err(column);
        }
        let index: u128 = index.parse().map_err(|_| column)?;
        if index < base || index >= base + (1 << 24) || last.is_some_and(|last| index <= last) {
            return Err(column);
        }
        last = Some(index);
        let at = column + text.split_once(':').unwrap().0.len() + 1;
        let value: f32 = value.parse().map_err(|_| at)?;
        if !value.is_finite() {
            return Err(at);
        }
        if value != 0.0 {
            pairs.push(((index - base) as u32, value));
        }
    }
    Ok(Some((label, pairs)))
}

fn agree(text: &[u8], options: &Options) {
    alike(text, options);
    narrowly(|| alike(text, options));
}

fn alike(text: &[u8], options: &Options) {
    let (block, found) = decode(text, options);
    let shown = String::from_utf8_lossy(text);
    let mut expected = Vec::new();
    let mut places = Vec::new();
    let mut lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    for (number, line) in lines.iter().enumerate() {
        match plain(line, options) {
            Ok(Some(row)) => expected.push(row),
            Ok(None) => {}
            Err(column) => {
                places.push((number as u64, column as u64));
                if !options.skip {
                    break;
                }
            }
        }
    }
    let found_places: Vec<_> =
        found.reasons.iter().chain(&found.problem).map(|p| (p.line, p.column)).collect();
    assert_eq!(found_places, places[..places.len().min(KEPT_REASONS)], "{shown}");
    assert_eq!(rows(&block), expected, "{shown}");
    assert_eq!(found.lines, lines.len() as u64, "{shown}");
    assert_eq!(block.len(), block.lines.len());
    assert_eq!(block.len(), block.columns.len());
}

fn line(random: &mut impl RngExt) -> String {
    let labels = ["1", "-1", "+1", "0", "0.5", "spam", "1e3", "12"];
    let mut line = labels[random.random_range(0..labels.len())].to_owned();
    if random.random_bool(0.05) {
        line += " qid:12";
    }
    let mut index = 0u32;
    for _ in 0..random.random_range(0..12) {
        let step = 10u32.pow(random.random_range(1..7));
        index += 1 + random.random_range(0..step);
        line += if random.random_bool(0.95) { " " } else { "\t" };
        let _ = write!(line, "{index}:");
        let sign = if random.random_bool(0.2) { "-" } else { "" };
        let places = random.random_range(0..18);
        let size = 10f64.powi(random.random_range(-3..3));
        let value = random.random_range(0.0..1.0f64) * size;
        let _ = match random.random_range(0..10) {
            0 => write!(line, "{sign}{}", random.random_range(0..20)),
            1 => write!(line, "{sign}{value:e}"),
            2 => write!(line, "{sign}{value}"),
            _ => write!(line, "{sign}{value:.places$}"),
        };
    }
    line += ["\n", "\n", "\n", "\r\n", " # c\n", " \n"][random.random_range(0..6usize)];
    line
}

#[test]
fn the_fused_reader_agrees_with_the_plain_rules_on_valid_and_on_mutated_lines() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(11);
    let strange = b" \t\n\r#:.-+0159eEnaif,\x00\xff\x80";
    for round in 0..6_000 {
        let mut text: Vec<u8> = (0..6).flat_map(|_| line(&mut random).into_bytes()).collect();
        for _ in 0..round % 4 {
            let at = random.random_range(0..text.len());
            let byte = strange[random.random_range(0..strange.len())];
            match random.random_range(0..3) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        if random.random_bool(0.2) {
            text.truncate(random.random_range(0..text.len()));
        }
        for skip in [false, true] {
            let options = Options {
                skip,
                zero_based: round % 8 >= 4,
                unlabelled: round % 3 == 0,
                ..Options::default()
            };
            agree(&text, &options);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_errors_lie_inside(
        text in proptest::collection::vec(any::<u8>(), 0..300),
        skip: bool, unlabelled: bool, zero_based: bool,
    ) {
        let options = Options { zero_based, skip, unlabelled, ..Options::default() };
        agree(&text, &options);
        let _ = decode(&text, &Options { bits: Some(3), ..options });
        let _ = sniff(&text);
    }

    #[test]
    fn rows_do_not_depend_on_what_follows_them(text in "[0-9 :.#\\-\n]{0,80}") {
        agree(text.as_bytes(), &Options::default());
        let padded = format!("{text}\n{}", " ".repeat(40));
        let options = Options { skip: true, ..Options::default() };
        prop_assert_eq!(
            rows(&decode(text.as_bytes(), &options).0),
            rows(&decode(padded.as_bytes(), &options).0)
        );
    }
}
