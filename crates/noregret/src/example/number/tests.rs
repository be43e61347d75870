use super::*;
use crate::example::digits::{self, WINDOW, Written};
use rand::{Rng, RngExt, SeedableRng};
use std::fmt::Write;

/// Every way to read a number against the standard library, bit by bit.
fn check(text: &str) {
    let f32_std = text.parse::<f32>().ok().map(f32::to_bits);
    assert_eq!(parse_f32(text.as_bytes()).map(f32::to_bits), f32_std, "{text}");
    let f64_std = text.parse::<f64>().ok().map(f64::to_bits);
    assert_eq!(parse_f64(text.as_bytes()).map(f64::to_bits), f64_std, "{text}");
    if text.len() > WINDOW - 2 {
        return;
    }
    let around = format!("0123456789abcdef{text}                  ");
    let whole = |end: usize| end == text.len() + 16;
    if let Some((value, ..)) = digits::decimal::<f32>(around.as_bytes(), 16).filter(|found| whole(found.1)) {
        assert_eq!(Some(value.to_bits()), f32_std, "{text}");
    }
    if let Some((value, ..)) = digits::decimal::<f64>(around.as_bytes(), 16).filter(|found| whole(found.1)) {
        assert_eq!(Some(value.to_bits()), f64_std, "{text}");
    }
    let mut window = [b' '; WINDOW];
    window[1..=text.len()].copy_from_slice(text.as_bytes());
    let whole = |end: usize| end == text.len() + 1;
    if let Some((value, end)) = digits::short::<f32, b' '>(&window, 1) {
        assert!(whole(end) && Some(value.to_bits()) == f32_std, "{text}");
    }
    if let Some((value, end)) = digits::short::<f64, b' '>(&window, 1) {
        assert!(whole(end) && Some(value.to_bits()) == f64_std, "{text}");
    }
    if let Some(written) = Written::of(&window, 1) {
        if let Some((value, end)) = written.read::<f32>(&window, 1).filter(|found| whole(found.1)) {
            assert_eq!(Some(value.to_bits()), f32_std, "{text} {end}");
        }
        if let Some((value, end)) = written.read::<f64>(&window, 1).filter(|found| whole(found.1)) {
            assert_eq!(Some(value.to_bits()), f64_std, "{text} {end}");
        }
    }
    if let Some((value, end)) = digits::long::<f32>(&window, 1).filter(|found| whole(found.1)) {
        assert_eq!(Some(value.to_bits()), f32_std, "{text} {end}");
    }
    if let Some((value, end)) = digits::long::<f64>(&window, 1).filter(|found| whole(found.1)) {
        assert_eq!(Some(value.to_bits()), f64_std, "{text} {end}");
    }
}

#[test]
fn every_spelling_is_read_as_the_standard_library_reads_it() {
    for text in [
        "1",
        "+1",
        "-1.5",
        ".5",
        "5.",
        "1e-3",
        "-0",
        "0",
        "00.10",
        "1e40",
        "1e999",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "",
        ".",
        "+",
        "-",
        "-.",
        "1..2",
        "1.2.3",
        "--1",
        "1e",
        "e5",
        "0x10",
        "1_000",
        " 1",
        "1 ",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "0.00000000000000000001",
        "16777217",
        "16777217.0000000001",
        "9007199254740993",
        "0.1",
        "3.4028235e38",
        "3.4028236e38",
        "1e-45",
        "1e-46",
    ] {
        check(text);
    }
    assert_eq!(parse_f32(b"\xff"), None);
}

/// Writes `count` digits with a point somewhere among them, or without one.
fn digits_and_point(random: &mut impl Rng, count: usize, text: &mut String) {
    let point = random.random_range(0..=count + 1);
    for at in 0..count {
        if at == point {
            text.push('.');
        }
        text.push(char::from(b'0' + random.random_range(0..10)));
    }
}

/// A decimal of one of the kinds that go wrong.
fn decimal(random: &mut impl Rng, round: usize, text: &mut String) {
    text.clear();
    text.push_str(["", "", "-", "+"][random.random_range(0..4)]);
    match round % 8 {
        0 => {
            let count = random.random_range(1..=20);
            digits_and_point(random, count, text);
        }
        1 => {
            // Exactly between two f32, cut off or not.
            let bits = random.random_range(0x3000_0000..0x5000_0000u32);
            let (below, above) = (f32::from_bits(bits), f32::from_bits(bits + 1));
            let middle = f64::midpoint(f64::from(below), f64::from(above));
            let places = random.random_range(5..60);
            let _ = write!(text, "{middle:.places$}");
        }
        2 => {
            let value = random.random_range(0.0..10.0f64);
            let (places, exponent) = (random.random_range(0..20), random.random_range(-60..45));
            let _ = write!(text, "{value:.places$}e{exponent}");
        }
        3 => {
            let f = random.random_range(0..=12u32);
            let m = random.next_u64() >> random.random_range(11..60);
            let scale = 10u64.pow(f);
            let _ = write!(text, "{}.{:0w$}", m / scale, m % scale, w = f as usize);
        }
        4 => {
            // Zeros in front, and zeros after.
            let zeros = random.random_range(0..9);
            text.extend(std::iter::repeat_n('0', zeros));
            let count = random.random_range(1..=8);
            digits_and_point(random, count, text);
            text.extend(std::iter::repeat_n('0', random.random_range(0..9)));
        }
        5 => {
            // Anything an f32 can be, subnormal numbers too, as written or a hair beside the middle to the next.
            let bits = random.random_range(0..0x7f7f_ffffu32) >> random.random_range(0..24);
            let (below, above) = (f32::from_bits(bits), f32::from_bits(bits + 1));
            let middle = f64::midpoint(f64::from(below), f64::from(above));
            let beside = [middle.next_down(), middle, middle.next_up(), f64::from(below)];
            let value = beside[random.random_range(0..4)];
            let _ = if random.random_bool(0.5) { write!(text, "{value:e}") } else { write!(text, "{value}") };
        }
        6 => {
            // Anything an f64 can be.
            let value = f64::from_bits(random.next_u64() >> random.random_range(1..53));
            let _ = if value.is_finite() { write!(text, "{value:e}") } else { write!(text, "1e400") };
        }
        _ => {
            let count = random.random_range(20..60);
            digits_and_point(random, count, text);
            if random.random_bool(0.5) {
                let _ = write!(text, "E{:+}", random.random_range(-80..40));
            }
        }
    }
}

fn generated(rounds: usize, seed: u64) {
    let mut random = rand_pcg::Pcg64::seed_from_u64(seed);
    let mut text = String::new();
    for round in 0..rounds {
        decimal(&mut random, round, &mut text);
        check(&text);
    }
}

#[test]
fn ten_million_generated_numbers_are_rounded_as_the_standard_library_rounds_them() {
    // In parts, so that every processor has some.
    std::thread::scope(|scope| {
        for seed in 0..8 {
            scope.spawn(move || generated(1_250_000, seed));
        }
    });
}

/// What is next to the middle of two f32 with so many places, and below 10.
#[test]
fn short_numbers_beside_the_middle_of_two_others_are_rounded_to_the_nearer() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(23);
    let mut read = 0;
    for _ in 0..400_000 {
        let below = random.random_range(1e-6..10.0_f32.next_down());
        let middle = f64::midpoint(f64::from(below), f64::from(below.next_up()));
        let places = random.random_range(7..14);
        let scale = POWERS[places];
        for m in [(middle * scale).floor() - 1.0, (middle * scale).floor(), (middle * scale).ceil()] {
            let m = m as u64;
            let text = format!("{}.{:0places$}", m / scale as u64, m % scale as u64);
            if let Some(value) = unit_f32(m, places) {
                assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
                read += 1;
            }
        }
    }
    assert!(read > 1_000_000, "{read}");
}

#[test]
fn the_reason_for_refusing_is_told() {
    assert_eq!(why_not_finite(b"nan"), "not a number");
    assert_eq!(why_not_finite(b"-Infinity"), "infinite");
    assert_eq!(why_not_finite(b"1e40"), "too large a number");
}
