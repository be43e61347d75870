//! One pass over rows that are in memory already, certificate on: M features a second.
//!
//! `cargo bench --bench memory -- FILE [--hash BITS] [--reps N] [--only LEARNER/LOSS]` reads FILE once (without one, a generated
//! stream) and then learns it again and again, every time from nothing, with every pair of learner
//! and loss below; `plain` is the descent of `projected-ogd` written out by hand, without ledger, projection or counts, and `certified`
//! is that with a ledger: what the certificate costs is the difference of the two. The least CPU time
//! of all repetitions counts, and the runs are interleaved, so that ratios mean something on a machine
//! that does other things too: take a file of some megabytes and many repetitions there.

use noregret::bytes::Input;
use noregret::engine::{Config, Engine};
use noregret::example::{Block, Features, Reader, format::Options};
use noregret::generate;
use noregret::regret::Sum;
use std::time::Duration;
use wide::{f32x4, f64x2};

/// The time this thread has run, so that a machine that does other things too disturbs little.
#[cfg(unix)]
fn clock() -> Duration {
    let ran = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::from_secs(ran.tv_sec.unsigned_abs()) + Duration::from_nanos(ran.tv_nsec.unsigned_abs())
}

/// The time of day.
#[cfg(not(unix))]
fn clock() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

const RUNS: &[(&str, &str)] = &[
    ("plain", "hinge"),
    ("certified", "hinge"),
    ("projected-ogd", "hinge"),
    ("plain", "logistic"),
    ("certified", "logistic"),
    ("projected-ogd", "logistic"),
    ("ftrl", "logistic"),
    ("adagrad", "logistic"),
    ("auto", "logistic"),
];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut file, mut bits, mut reps, mut only) = (None, None, 5, String::new());
    while let Some(argument) = arguments.next() {
        if argument == "--only" {
            only = arguments.next().expect("a learner or a loss");
            continue;
        }
        let mut number = || arguments.next().and_then(|a| a.parse::<u32>().ok()).expect("a number");
        match argument.as_str() {
            "--hash" => bits = Some(number()),
            "--reps" => reps = number(),
            _ => file = Some(argument),
        }
    }
    let mut block = file.map_or_else(generated, |file| read(&file));
    if let Some(bits) = bits {
        block = hashed(&block, bits);
    }
    let nonzeros = block.rows().nonzeros();
    println!("{} rows, {nonzeros} features", block.len());
    let runs: Vec<_> = RUNS.iter().filter(|(a, b)| format!("{a}/{b}").contains(&only)).collect();
    let mut best = vec![u128::MAX; runs.len()];
    for _ in 0..reps {
        for (&&(learner, loss), best) in runs.iter().zip(&mut best) {
            let took = match learner {
                "plain" => plain::<1>(&block, loss == "logistic"),
                "certified" => plain::<2>(&block, loss == "logistic"),
                _ => learn(&block, learner, loss),
            };
            *best = (*best).min(took.as_nanos());
        }
    }
    for (&&(learner, loss), best) in runs.iter().zip(&best) {
        let ns = *best as f64 / nonzeros as f64;
        println!("{learner:14} {loss:9} {:8.2} ms  {:7.1} M features/s", *best as f64 / 1e6, 1e3 / ns);
    }
}

/// The table of slots is made before the clock starts, by a row that has the last feature.
fn learn(block: &Block<f32>, learner: &str, loss: &str) -> Duration {
    let mut engine = Engine::new(config(learner, loss)).expect("a learner that can be built");
    let last = block.indices.iter().copied().max().unwrap_or(0);
    engine.learn(Block::from_rows(&[(1.0, vec![(last, 1e-3)])]).rows()).expect("one row");
    let start = clock();
    engine.learn(block.rows()).expect("rows that can be learned");
    std::hint::black_box(engine.average_loss());
    clock().saturating_sub(start)
}

fn config(learner: &str, loss: &str) -> Config {
    let mut config = Config::new(learner, loss);
    config.radius = (learner == "projected-ogd").then_some(RADIUS);
    config
}

/// The ball that steps are made for, in which hinge loss is 0 in most rounds, as it is for a good model.
const RADIUS: f64 = 100.0;

/// The steps of `projected-ogd`, `w -= sqrt(2) U/(G sqrt(t)) slope x` with the longest gradient so far for `G`, in f64; and with a second number
/// in each slot the ledger: `S` in it, `K` and what their roundings are measured by. Nothing else.
fn plain<const N: usize>(block: &Block<f32>, logistic: bool) -> Duration {
    let rows = block.rows();
    let end = rows.indices.iter().max().map_or(0, |&i| i as usize + 1);
    let mut slots = vec![[0.0f64; N]; end];
    // Memory that was never written is not there yet.
    for slot in &mut slots {
        *slot = std::hint::black_box([0.0; N]);
    }
    let mut total = 0.0;
    let (mut largest, mut pace) = (0.0, 0.0);
    let (mut k, mut magnitude, mut reach) = (Sum::default(), 0.0, 0.0);
    let start = clock();
    for (t, row) in rows.iter().enumerate() {
        let (z, told) = product(&slots, row.x, logistic);
        let m = row.y * z;
        let (value, slope) = if logistic {
            let e = (-m.abs()).exp();
            ((1.0 + e).ln() + (-m).max(0.0), -row.y * (if m > 0.0 { e } else { 1.0 }) / (1.0 + e))
        } else {
            ((1.0 - m).max(0.0), if m < 1.0 { -row.y } else { 0.0 })
        };
        total += value;
        if slope != 0.0 {
            let squares = if logistic { told } else { squares(row.x.values) };
            let gradient = slope * slope * squares;
            if gradient > largest {
                (largest, pace) = (gradient, std::f64::consts::SQRT_2 * RADIUS / gradient.sqrt());
            }
            let step = pace / ((t + 1) as f64).sqrt() * slope;
            add(&mut slots, row.x, [-step, slope]);
            if N > 1 {
                k.add(value - slope * z);
                magnitude += value.abs() + (slope * z).abs();
                reach += slope.abs() * squares.sqrt();
            }
        }
    }
    std::hint::black_box((total, slots, k, magnitude, reach));
    clock().saturating_sub(start)
}

/// Adds the values, times the first factor, to the first number of their slots, and times the second to a second one where
/// there is one.
#[inline(always)]
fn add<const N: usize>(slots: &mut [[f64; N]], x: Features<'_, f32>, factors: [f64; 2]) {
    let both = f64x2::new(factors);
    let mut one = |i: u32, v: f64| {
        let slot = &mut slots[i as usize];
        if let [w, s] = slot.as_mut_slice() {
            [*w, *s] = (f64x2::new([*w, *s]) + both * f64x2::splat(v)).to_array();
        } else {
            slot[0] += factors[0] * v;
        }
    };
    let (i4, i_rest) = x.indices.as_chunks::<4>();
    let (v4, v_rest) = x.values.as_chunks::<4>();
    for (i, v) in i4.iter().zip(v4) {
        let v = v.map(f64::from);
        for k in 0..4 {
            one(i[k], v[k]);
        }
    }
    for (&i, &v) in i_rest.iter().zip(v_rest) {
        one(i, v.into());
    }
}

/// The first numbers of the slots times the values, in four chains, and the sum of the values' squares where it is wanted.
#[inline(always)]
fn product<const N: usize>(slots: &[[f64; N]], x: Features<'_, f32>, squared: bool) -> (f64, f64) {
    let (mut low, mut high) = (f64x2::ZERO, f64x2::ZERO);
    let mut squares = f32x4::ZERO;
    let (i4, i_rest) = x.indices.as_chunks::<4>();
    let (v4, v_rest) = x.values.as_chunks::<4>();
    for (i, v) in i4.iter().zip(v4) {
        let [a, b, c, d] = i.map(|i| slots[i as usize][0]);
        let [e, f, g, h] = v.map(f64::from);
        low += f64x2::new([a, b]) * f64x2::new([e, f]);
        high += f64x2::new([c, d]) * f64x2::new([g, h]);
        if squared {
            squares += f32x4::new(*v) * f32x4::new(*v);
        }
    }
    let (mut sum, mut rest) = ((low + high).reduce_add(), 0.0);
    for (&i, &v) in i_rest.iter().zip(v_rest) {
        sum += slots[i as usize][0] * f64::from(v);
        rest += v * v;
    }
    (sum, at_most(squares, rest, x.values.len()))
}

/// The sum of the values' squares.
#[inline(always)]
fn squares(values: &[f32]) -> f64 {
    let (v4, v_rest) = values.as_chunks::<4>();
    let squares = v4.iter().fold(f32x4::ZERO, |sum, v| sum + f32x4::new(*v) * f32x4::new(*v));
    at_most(squares, v_rest.iter().map(|v| v * v).sum(), values.len())
}

/// What a sum of so many squares is at most, where each rounding took no more than its part: neither the steps nor the ledger's slack for
/// roundings suffer by a little too much.
#[inline(always)]
fn at_most(squares: f32x4, rest: f32, count: usize) -> f64 {
    f64::from(squares.reduce_add() + rest) * (1.0 + f64::from(f32::EPSILON) * count as f64)
}

fn generated() -> Block<f32> {
    let stream = generate::find("rcv1-like").expect("a stream of that name");
    stream.block(&stream.request(Some(20_000), None, None, 1).expect("a request"))
}

fn read(file: &str) -> Block<f32> {
    let mut reader = Reader::open(vec![Input::Path(file.into())], None, Options::default(), 1, 1 << 20)
        .expect("a file that can be read");
    let mut all = Block::new();
    while let Some(block) = reader.next().expect("rows that can be read") {
        for k in 0..block.len() {
            let range = block.offsets[k]..block.offsets[k + 1];
            let y = match block.raw_labels[k] {
                noregret::example::Label::Number(y) if y > 0.0 => 1.0,
                _ => -1.0,
            };
            let pairs = block.indices[range.clone()].iter().copied();
            all.push(y, 1.0, pairs.zip(block.values[range].iter().copied()));
        }
        reader.recycle(block);
    }
    all
}

/// The same rows with every index sent to one of `2^bits` places, in ascending order.
fn hashed(block: &Block<f32>, bits: u32) -> Block<f32> {
    let mut all = Block::new();
    for row in block.rows().iter() {
        let mut pairs: Vec<(u32, f32)> = row
            .x
            .indices
            .iter()
            .zip(row.x.values)
            .map(|(i, &v)| (i.wrapping_mul(2654435761) >> (32 - bits), v))
            .collect();
        pairs.sort_unstable_by_key(|&(i, _)| i);
        pairs.dedup_by_key(|(i, _)| *i);
        all.push(row.y, 1.0, pairs);
    }
    all
}
