//! What the tests share: random streams, every way to set up every learner, comparators of every
//! class, and losses summed in the plainest way.

#![allow(dead_code, unreachable_pub, clippy::needless_for_each)]

pub mod claims;
pub mod traces;

use noregret::engine::{Config, Engine};
use noregret::example::Block;
use noregret::learner::{self, Losses};
use noregret::loss::{self, Loss, Task};
use noregret::parameter::Parameters;
use noregret::regret::Sum;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// So many cases, the same ones in every run unless `PROPTEST_RNG_SEED` asks for others.
pub fn cases(n: u32) -> ProptestConfig {
    let mut config = ProptestConfig { cases: n, failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(20260731);
    }
    config
}

/// A label, an importance weight, and the features of one row.
pub type Row = (f64, f64, Vec<(u32, f64)>);

/// A row whose label is taken to the loss later.
pub fn row(d: u32) -> impl Strategy<Value = Row> {
    let label = prop_oneof![Just(1.0), Just(-1.0), -2.0..2.0f64, Just(0.0)];
    let weight = prop_oneof![6 => Just(1.0), 1 => Just(0.0), 1 => 0.001..0.1f64, 1 => 2.0..40.0f64];
    let value = prop_oneof![Just(1.0), Just(-1.0), -1.5..1.5f64];
    (label, weight, prop::collection::btree_map(0..d, value, 0..(d as usize + 1)))
        .prop_map(|(y, c, x)| (y, c, x.into_iter().collect()))
}

/// A random sparse stream over `d` features; often every weight is 1.
pub fn stream(d: u32, longest: usize) -> impl Strategy<Value = Vec<Row>> {
    (prop::collection::vec(row(d), 0..longest), any::<bool>()).prop_map(|(mut rows, plain)| {
        if plain {
            rows.iter_mut().for_each(|r| r.1 = 1.0);
        }
        rows
    })
}

/// The same stream with labels that the loss takes.
pub fn labelled(rows: &[Row], loss: &dyn Loss) -> Vec<Row> {
    let mut rows = rows.to_vec();
    for (y, _, _) in &mut rows {
        if loss.entry().task == Task::Binary {
            *y = if *y >= 0.0 { 1.0 } else { -1.0 };
        } else if !loss.accepts(*y) {
            *y = -*y;
        }
    }
    rows
}

pub fn block(rows: &[Row]) -> Block<f64> {
    let mut block = Block::new();
    for (y, c, x) in rows {
        block.push(*y, *c, x.iter().copied());
    }
    block
}

pub fn block_f32(rows: &[Row]) -> Block<f32> {
    let mut block = Block::new();
    for (y, c, x) in rows {
        block.push(*y, *c, x.iter().map(|&(i, v)| (i, v as f32)));
    }
    block
}

/// The parameters that a learner is tried with; a new one is tried with its defaults.
pub fn variants(learner: &str) -> Vec<Vec<(&'static str, &'static str)>> {
    match learner {
        "ogd" => vec![vec![], vec![("schedule", "constant"), ("eta", "0.3")]],
        "projected-ogd" => vec![vec![], vec![("eta", "0.7")], vec![("gradient-bound", "3")]],
        "subgradient" => vec![vec![("horizon", "20")], vec![("horizon", "9"), ("eta", "2")]],
        "follow-the-leader" => vec![vec![], vec![("set", "box")]],
        "ftrl" => vec![vec![], vec![("alpha", "0.5")], vec![("ball", "no")], vec![("alpha", "0.001")]],
        "ridge" => vec![vec![], vec![("alpha", "0.01")]],
        "auto" => vec![vec![], vec![("tracking", "yes")]],
        "exponentiated" => vec![vec![], vec![("eta", "0.4")]],
        "ftrl-proximal" => vec![
            vec![],
            vec![("alpha", "2"), ("beta", "0"), ("lambda1", "0")],
            vec![("lambda1", "0.5"), ("lambda2", "3")],
        ],
        "rda" => vec![vec![], vec![("lambda1", "0.2"), ("gamma", "0.5"), ("rho", "0.3")]],
        "truncated-gradient" => vec![
            vec![],
            vec![("schedule", "constant"), ("eta", "0.3"), ("lambda1", "0.1"), ("period", "3")],
            vec![("schedule", "constant"), ("eta", "1"), ("lambda1", "0.05"), ("theta", "0.6")],
        ],
        "scale-free" => vec![vec![], vec![("eta", "0.2")]],
        "coin" | "freegrad" => vec![vec![], vec![("wealth", "0.1")]],
        "passive-aggressive" => {
            vec![vec![], vec![("variant", "0")], vec![("variant", "2"), ("aggressiveness", "0.1")]]
        }
        "alma" => vec![vec![], vec![("alpha", "0.4"), ("margin", "1"), ("eta", "0.7")]],
        "arow" => vec![vec![], vec![("r", "0.2")], vec![("matrix", "full")]],
        "newton" => vec![vec![], vec![("matrix", "full")], vec![("matrix", "full"), ("beta", "0.02")]],
        "kernel-perceptron" => vec![
            vec![],
            vec![("kernel", "linear"), ("budget", "3")],
            vec![("kernel", "rbf"), ("budget", "5"), ("gamma", "0.5")],
        ],
        "maxover" => vec![vec![], vec![("budget", "2"), ("kappa", "0.3")]],
        _ => vec![vec![]],
    }
}

/// A learner and a loss with these parameters; the rest at its default.
pub fn config(learner: &str, loss: &str, given: &[(&'static str, &'static str)]) -> Config {
    let entry = learner::find(learner).unwrap();
    let mut config = Config::new(learner, loss);
    config.parameters = Parameters::check(learner, entry.parameters, given.iter().copied()).unwrap();
    if entry.penalised {
        config.l2 = Some(0.4);
    }
    config
}

/// The losses that a learner can suffer.
pub fn losses(entry: &learner::Entry) -> Vec<&'static str> {
    match entry.losses {
        Losses::All => loss::ENTRIES.iter().map(|e| e.name).collect(),
        Losses::Only(names) => names.to_vec(),
    }
}

pub const CLASSES: [&str; 5] = ["l2", "l1", "linf", "simplex", "ridge"];

/// Every learner, loss, class and variant that the engine takes.
pub fn every_config(bias: bool, radius: Option<f64>, dimension: u32) -> Vec<Config> {
    let mut all = Vec::new();
    for entry in learner::ENTRIES {
        let before = all.len();
        for name in losses(entry) {
            for class in CLASSES {
                for given in variants(entry.name) {
                    let mut config = config(entry.name, name, &given);
                    config.bias = bias;
                    config.comparator = Some(class.to_owned());
                    config.radius = radius;
                    if class == "ridge" {
                        config.l2 = Some(0.4);
                        config.radius = radius.filter(|_| entry.default_radius.is_some());
                    }
                    if class == "simplex" {
                        config.dimension = Some(dimension);
                    }
                    if Engine::new(config.clone()).is_ok() {
                        all.push(config);
                    }
                }
            }
        }
        assert!(all.len() > before, "no setting makes a {}", entry.name);
    }
    all
}

/// The coordinates of `u`: features below `d`, then the bias where there is one.
pub fn dot(u: &[f64], x: &[(u32, f64)], bias: bool) -> f64 {
    let mut sum: Sum = x.iter().map(|&(i, v)| u[i as usize] * v).collect();
    if bias {
        sum.add(u[u.len() - 1]);
    }
    sum.value()
}

/// A total loss and how far rounding may have moved it.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    pub value: f64,
    pub error: f64,
}

/// `sum of c loss(<u,x>, y)`, and with `sigma` the penalty `(sigma T/2)|u|^2`.
pub fn total(rows: &[Row], loss: &dyn Loss, u: &[f64], bias: bool, sigma: Option<f64>) -> Total {
    let mut sum = Sum::default();
    let (mut error, mut rounds) = (0.0, 0.0);
    for (y, c, x) in rows.iter().filter(|r| r.1 > 0.0) {
        let z = dot(u, x, bias);
        let reach: f64 = x.iter().map(|&(i, v)| (u[i as usize] * v).abs()).sum::<f64>() + 1.0;
        let f = c * loss.value(z, *y);
        sum.add(f);
        error += f.abs() + c * loss.slope(z, *y).abs() * reach + c * (y * z).abs();
        rounds += 1.0;
    }
    if let Some(sigma) = sigma {
        let penalty = sigma * rounds / 2.0 * u.iter().map(|v| v * v).sum::<f64>();
        sum.add(penalty);
        error += penalty;
    }
    // The last term: what products lose where f64 ends.
    Total { value: sum.value(), error: 2e-15 * error + 1e-322 * rounds }
}

/// The gradient of the above in `u`.
pub fn gradient(rows: &[Row], loss: &dyn Loss, u: &[f64], bias: bool, sigma: Option<f64>) -> Vec<f64> {
    let mut g = vec![0.0; u.len()];
    let mut rounds = 0.0;
    for (y, c, x) in rows.iter().filter(|r| r.1 > 0.0) {
        let slope = c * loss.slope(dot(u, x, bias), *y);
        for &(i, v) in x {
            g[i as usize] += slope * v;
        }
        if bias {
            *g.last_mut().unwrap() += slope;
        }
        rounds += 1.0;
    }
    if let Some(sigma) = sigma {
        g.iter_mut().zip(u).for_each(|(g, u)| *g += sigma * rounds * u);
    }
    g
}

pub fn norm(u: &[f64]) -> f64 {
    u.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The projection on the simplex of sum `radius` (sort and threshold).
fn onto_simplex(u: &mut [f64], radius: f64) {
    let mut sorted = u.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (k, v) in sorted.iter().enumerate() {
        sum += v;
        let t = (sum - radius) / (k as f64 + 1.0);
        if *v > t {
            threshold = t;
        }
    }
    u.iter_mut().for_each(|v| *v = (*v - threshold).max(0.0));
    let sum: f64 = u.iter().sum();
    if sum > 0.0 {
        u.iter_mut().for_each(|v| *v *= radius / sum);
    } else if let Some(first) = u.first_mut() {
        *first = radius;
    }
}

/// Brings `u` into the class.
pub fn project(u: &mut [f64], class: &str, radius: f64) {
    // What rounding may leave outside.
    let inner = radius * (1.0 - 1e-15);
    match class {
        "l2" => {
            let length = norm(u);
            if length > inner {
                u.iter_mut().for_each(|v| *v *= inner / length);
            }
        }
        "linf" => u.iter_mut().for_each(|v| *v = v.clamp(-radius, radius)),
        "l1" if u.iter().map(|v| v.abs()).sum::<f64>() > inner => {
            let signs: Vec<f64> = u.iter().map(|v| v.signum()).collect();
            u.iter_mut().for_each(|v| *v = v.abs());
            onto_simplex(u, inner);
            u.iter_mut().zip(signs).for_each(|(v, s)| *v *= s);
        }
        "simplex" => onto_simplex(u, radius),
        _ => {}
    }
}

/// Random members of the class, many of them extreme, and better ones found by descent.
pub fn rivals(
    rows: &[Row],
    loss: &dyn Loss,
    class: &str,
    (radius, sigma): (f64, Option<f64>),
    (d, bias): (usize, bool),
    starts: &[Vec<f64>],
    random: usize,
) -> Vec<Vec<f64>> {
    let mut source = Pcg64Mcg::seed_from_u64(d as u64 + 31 * rows.len() as u64);
    let n = d + usize::from(bias);
    let mut all: Vec<Vec<f64>> = Vec::new();
    for k in 0..random {
        let scale = if class == "ridge" { [0.01, 0.3, 1.0, 5.0][k % 4] } else { radius };
        let mut u: Vec<f64> = (0..n).map(|_| source.random_range(-1.0..1.0)).collect();
        match k % 4 {
            0 => u.iter_mut().for_each(|v| *v = v.signum() * scale),
            1 if n > 0 => {
                let at = source.random_range(0..n);
                u.iter_mut()
                    .enumerate()
                    .for_each(|(i, v)| *v = if i == at { v.signum() * scale } else { 0.0 });
            }
            2 => u.iter_mut().for_each(|v| *v *= 3.0 * scale),
            _ => u.iter_mut().for_each(|v| *v *= scale / 3.0),
        }
        project(&mut u, class, radius);
        all.push(u);
    }
    let mut from: Vec<Vec<f64>> = starts.to_vec();
    from.push(vec![0.0; n]);
    from.extend(all.first().cloned());
    for start in from {
        let mut u = start;
        project(&mut u, class, radius);
        let mut best = total(rows, loss, &u, bias, sigma).value;
        all.push(u.clone());
        let mut kept = u.clone();
        let mut step = if class == "ridge" { 2.0 } else { radius };
        for _ in 0..24 {
            let g = gradient(rows, loss, &u, bias, sigma);
            let length = norm(&g);
            if length == 0.0 || !length.is_finite() {
                break;
            }
            u.iter_mut().zip(&g).for_each(|(u, g)| *u -= step * g / length);
            project(&mut u, class, radius);
            let value = total(rows, loss, &u, bias, sigma).value;
            if value < best {
                best = value;
                kept.clone_from(&u);
            } else {
                step *= 0.5;
                u.clone_from(&kept);
            }
        }
        all.push(kept);
    }
    all
}

/// A run, row by row, with what was predicted.
pub struct Run {
    pub engine: Engine,
    /// The rows that were learned.
    pub rows: Vec<Row>,
    /// What was predicted for each.
    pub z: Vec<f64>,
    /// The iterates that predicted.
    pub iterates: Vec<Vec<f64>>,
    /// Why it ended, if before the stream.
    pub diverged: bool,
}

/// All coordinates below `d`, then the bias.
pub fn dense(vector: &noregret::round::Vector, d: usize) -> Vec<f64> {
    let mut all = vector.features.clone();
    assert!(all.len() <= d);
    all.resize(d, 0.0);
    all.extend(vector.bias);
    all
}

/// Learns a stream row by row until it ends or the learner diverges.
pub fn run(config: &Config, rows: &[Row], d: usize) -> Run {
    let mut engine = Engine::new(config.clone()).unwrap();
    let block = block(rows);
    let (mut z, mut iterates, mut done) = (Vec::new(), Vec::new(), 0);
    let mut diverged = false;
    for (k, row) in block.rows().iter().enumerate() {
        let predicted = engine.predict_f64(row.x);
        let w = dense(&engine.weights(), d);
        match engine.learn_f64(block.rows().slice(k, k + 1)) {
            Ok(()) => {}
            Err(noregret::error::Error::Diverged(_)) => {
                diverged = true;
                break;
            }
            Err(other) => panic!("{other}"),
        }
        z.push(predicted);
        iterates.push(w);
        done += 1;
    }
    Run { engine, rows: rows[..done].to_vec(), z, iterates, diverged }
}

/// `a` and `b` agree to `tolerance`, relative to the larger one above 1.
pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}
