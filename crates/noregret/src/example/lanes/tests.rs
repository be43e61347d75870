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
    type Output = Vec<u16>;
    fn run<L: Lanes>(self, lanes: L) -> Vec<u16> {
        let mut places = [0; BLOCK];
        let count = lanes.stops(self.0, 700, &mut places);
        places[..count].to_vec()
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
    for round in 0..20_000_u16 {
        // From few to many of them.
        let letters = f64::from(round % 11) / 10.0;
        let block: [u8; BLOCK] = std::array::from_fn(|k| match round {
            0..4 => (64 * round) as u8 + k as u8,
            _ if random.random_bool(letters) => b'a',
            _ => b"a\n\t :|;!{"[random.random_range(0..9)],
        });
        let stops = |k: &u16| matches!(block[usize::from(*k)], 0..=b' ' | b':' | b'|');
        let expected: Vec<u16> = (0..BLOCK as u16).filter(stops).map(|k| 700 + k).collect();
        assert_eq!(run(Stops(&block)), expected);
        assert_eq!(narrowly(|| run(Stops(&block))), [expected.clone(), expected]);
    }
}

struct Lengths<'a>(&'a [u16; 2 * GROUP + 1]);

impl Work for Lengths<'_> {
    type Output = [u32; GROUP];
    fn run<L: Lanes>(self, lanes: L) -> [u32; GROUP] {
        lanes.lengths(self.0)
    }
}

#[test]
fn what_is_between_places_is_measured_alike_in_lanes_of_any_width() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(6);
    for _ in 0..2_000 {
        let mut place = 0;
        let places = [(); 2 * GROUP + 1].map(|()| {
            place += if random.random_range(0..9) == 0 {
                random.random_range(1..600)
            } else {
                random.random_range(1..20)
            };
            place - 1
        });
        let between = |k: usize| u32::from((places[k + 1] - places[k] - 1).min(255));
        let expected: [u32; GROUP] = std::array::from_fn(|k| between(2 * k) | between(2 * k + 1) << 8);
        assert_eq!(run(Lengths(&places)), expected);
        assert_eq!(narrowly(|| run(Lengths(&places))), [expected; 2]);
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
            let colon =
                if random.random_range(0..30) == 0 { b" \n|;"[random.random_range(0..4)] } else { b':' };
            usual &= colon == b':';
            let length = random.random_range(usize::from(round % 7 != 0)..longest);
            usual &= matches!(length, 1..=15);
            for (place, byte) in values[k].iter_mut().zip([colon].iter().chain(text.as_bytes()).chain(&[end]))
            {
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

struct Fours<'a>(&'a Look, &'a [u8; FOUR], i32, i32);

impl Work for Fours<'_> {
    type Output = Four;
    fn run<L: Lanes>(self, lanes: L) -> Four {
        lanes.four(self.0, self.1, self.2, self.3)
    }
}

/// A feature of so many digits and places looks like this: the rule again, by its text.
fn look(digits: usize, places: usize) -> Look {
    let mut look = Look { zero: [0; 16], limit: [255; 16], order: [255; 16], length: 0 };
    let value = if places > 0 { format!("9.{}", "9".repeat(places)) } else { "9".to_owned() };
    let (mut index_at, mut value_at) = (16 - digits, 1);
    for (at, byte) in format!(" {}:{value}", "9".repeat(digits)).bytes().enumerate() {
        (look.zero[at], look.limit[at]) = if byte == b'9' { (b'0', 9) } else { (byte, 0) };
        if byte == b'9' {
            let place = if at <= digits { &mut index_at } else { &mut value_at };
            look.order[*place] = at as u8;
            *place += 1;
        }
        look.length = at + 1;
    }
    look
}

#[test]
fn four_features_are_read_alike_in_lanes_of_any_width() {
    let mut random = rand_pcg::Pcg64::seed_from_u64(5);
    let mut met = [0; 5];
    for round in 0..60_000 {
        let (digits, places) = (random.random_range(1..=6), random.random_range(0..=6));
        let look = look(digits, places);
        let mut text: [u8; FOUR] = std::array::from_fn(|_| b" 0159:.-/\n"[random.random_range(0..10)]);
        let (mut indices, mut millionths) = ([0; 4], [0; 4]);
        let most = 10_u32.pow(digits as u32);
        let mut index = random.random_range(0..most);
        for k in 0..4 {
            let m = if random.random_range(0..30) == 0 { 0 } else { random.random_range(0..10_000_000) };
            let unit = 10_u32.pow(6 - places as u32);
            millionths[k] = m / unit * unit;
            indices[k] = index;
            let step = (most / 10).max(1);
            index = (index + random.random_range(u32::from(round % 3 > 0)..=step)) % most;
            let value = format!("{}.{:06}", millionths[k] / 1_000_000, millionths[k] % 1_000_000);
            let value = &value[..if places > 0 { places + 2 } else { 1 }];
            let token = format!(" {:0digits$}:{value}", indices[k]);
            assert_eq!(token.len(), look.length);
            text[k * look.length..][..token.len()].copy_from_slice(token.as_bytes());
        }
        let damaged = (round % 4 == 0).then(|| {
            let at = random.random_range(0..4 * look.length);
            let was = text[at];
            text[at] = random.random();
            (at / look.length, was.is_ascii_digit() && text[at].is_ascii_digit() || was == text[at])
        });
        let least = random.random_range(0..=indices[0] + indices[0] / 64).cast_signed();
        let end = random.random_range(indices[3]..2 * most).cast_signed();
        let read = || run(Fours(&look, &text, least, end));
        let [portable, narrow] = narrowly(read);
        let right = (!portable.right).trailing_zeros().min(4) as usize;
        for found in [portable, narrow, read()] {
            // One that is wrong may be anything, and so what comes after it.
            assert_eq!((!found.right).trailing_zeros().min(4) as usize, right);
            assert_eq!(found.indices[..right], portable.indices[..right]);
            assert_eq!(found.millionths[..right], portable.millionths[..right]);
        }
        match damaged {
            Some((which, false)) => assert!(right <= which),
            Some((_, true)) => {}
            None => {
                assert_eq!((portable.indices, portable.millionths), (indices, millionths));
                let above = |k: usize| if k == 0 { least - 1 } else { indices[k - 1].cast_signed() };
                let is_right = |k: &usize| {
                    let index = indices[*k].cast_signed();
                    index > above(*k) && index < end && millionths[*k] > 0
                };
                assert_eq!((0..4).take_while(is_right).count(), right);
            }
        }
        met[right] += 1;
    }
    assert!(met[4] > 10_000 && met.iter().all(|&times| times > 1_000), "{met:?}");
}
