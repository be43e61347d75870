use super::*;
use crate::example::hash::murmur3;
use rand::{RngExt, SeedableRng};
use std::cell::Cell;

thread_local! {
    /// The widest lanes that this thread takes.
    pub(in crate::example) static WIDEST: Cell<Width> = const { Cell::new(Width::Avx512) };
}

/// What `work` gives in every width below the widest.
pub(in crate::example) fn narrowly<T>(mut work: impl FnMut() -> T) -> [T; 2] {
    let done = [Width::Portable, Width::Avx2].map(|width| {
        WIDEST.set(width);
        work()
    });
    WIDEST.set(Width::Avx512);
    done
}

fn run<W: Work>(work: W) -> W::Output {
    run_within(Width::Avx512, work)
}

struct Stops<'a>(&'a [u8; BLOCK]);

impl Work for Stops<'_> {
    type Output = u64;
    fn run<L: Lanes>(self, lanes: L) -> u64 {
        lanes.stops(self.0)
    }
}

struct Read<'a>(&'a Sixteens, &'a Sixteens, &'a [u32; GROUP], u32, bool);

impl Work for Read<'_> {
    type Output = [Words; 2];
    fn run<L: Lanes>(self, lanes: L) -> [Words; 2] {
        [lanes.hashes(self.0, self.2, self.3, self.4), lanes.numbers(self.1, self.2, self.4)]
    }
}

#[test]
fn words_stop_where_they_should_in_lanes_of_any_width() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(3);
    for round in 0..20_000 {
        let block: [u8; BLOCK] = std::array::from_fn(|k| match round {
            0..4 => (64 * round + k) as u8,
            _ => random.random(),
        });
        let expected =
            (0..BLOCK).fold(0, |stops, k| stops | u64::from(matches!(block[k], 0..=b' ' | b':' | b'|')) << k);
        assert_eq!(run(Stops(&block)), expected);
        assert_eq!(narrowly(|| run(Stops(&block))), [expected; 2]);
    }
}

/// A value as text, and whether it is usual; mostly it is.
fn value(random: &mut rand_pcg::Pcg64) -> (String, bool) {
    let digits = random.random_range(0..8);
    let mut text = if random.random() { "-".to_owned() } else { String::new() };
    text.push((b'0' + random.random_range(0..10)) as char);
    if digits > 0 {
        text.push('.');
        (0..digits).for_each(|_| text.push((b'0' + random.random_range(0..10)) as char));
    }
    if random.random_range(0..20) == 0 {
        text = text.replace(|byte: char| byte.is_ascii_digit(), "0");
    }
    let unusual = [
        "", "-", "1.", "12", "1:5", "1,5", "a.5", "1.a", "1.5e3", "/.5", ":.5", "1.0/", "--1", "1.-5", ".5",
        "+1",
    ];
    match random.random_range(0..30) {
        0 => (unusual[random.random_range(0..unusual.len())].to_owned(), false),
        _ => (text, digits <= 6),
    }
}

#[test]
fn groups_are_hashed_and_read_alike_in_lanes_of_any_width() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(4);
    let mut met = [0; 2];
    for round in 0..20_000 {
        let seed = random.random();
        let longest = if round % 2 == 0 { 13 } else { 17 };
        let names: Sixteens = std::array::from_fn(|_| std::array::from_fn(|_| random.random()));
        let mut values: Sixteens = std::array::from_fn(|_| std::array::from_fn(|_| random.random()));
        let (mut lengths, mut expected, mut unusual_ones) = ([0; GROUP], [None; GROUP], 0);
        for k in 0..GROUP {
            let (text, mut usual) = value(&mut random);
            let end =
                if random.random_range(0..30) == 0 { b"\n|:\t\r"[random.random_range(0..5)] } else { b' ' };
            usual &= end == b' ' || end == b'\n';
            let length = random.random_range(usize::from(round % 7 != 0)..longest);
            usual &= matches!(length, 1..=15);
            for (place, byte) in values[k].iter_mut().zip(b":".iter().chain(text.as_bytes()).chain(&[end])) {
                *place = *byte;
            }
            lengths[k] = length as u32 | (text.len() as u32) << 8;
            met[usize::from(usual)] += 1;
            if usual {
                let whole =
                    (text.trim_start_matches('-').parse::<f64>().expect("a number") * 1e6).round() as u32;
                let hash = murmur3(&names[k][..length], seed);
                let odd = names[k][0].is_ascii_digit() || whole == 0;
                expected[k] = Some((hash, whole | u32::from(text.starts_with('-')) << 31, odd));
            } else {
                unusual_ones |= 1 << k;
            }
        }
        let few = round % 5 == 0;
        let read = || run(Read(&names, &values, &lengths, seed, few));
        let unusual_ones = unusual_ones & u32::MAX >> (32 - counting(few));
        let [portable, narrow] = narrowly(read);
        for [hashes, numbers] in [portable, narrow, read()] {
            assert_eq!(hashes.unusual | numbers.unusual, unusual_ones);
            for k in 0..counting(few) {
                let odd = (hashes.odd | numbers.odd) >> k & 1 == 1;
                let found = (hashes.all[k], numbers.all[k], odd);
                assert!(
                    expected[k].is_none_or(|expected| expected == found),
                    "{found:?}, not {:?}",
                    expected[k]
                );
            }
        }
    }
    assert!(met[0] > 10_000 && met[1] > 100_000, "{met:?}");
}
