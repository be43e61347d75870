//! A folder of its own for a test, and the program run inside it.

#![allow(dead_code, reason = "no test file needs all of it")]

use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A temporary folder. The program runs inside it, so that messages name files as they were given.
pub(crate) struct Folder(tempfile::TempDir);

/// What a run of the program left.
pub(crate) struct Ran {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// The program with these words, not yet started.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("noregret"));
        command.args(line.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// Runs the program with these words.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.feed(line, "")
    }

    /// Runs the program with these words and this standard input.
    pub(crate) fn feed(&self, line: &str, input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.as_ref().to_owned();
        // It may stop before it has read everything.
        let feeder = std::thread::spawn(move || pipe.write_all(&input).is_ok());
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Ran::new(&output)
    }

    /// Runs `learn` with these words and gives its JSON.
    pub(crate) fn learn(&self, line: &str) -> Value {
        self.run(&format!("learn {line} --quiet --json -")).ok().json()
    }
}

impl Ran {
    pub(crate) fn new(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// It succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "standard error:\n{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// All of these stand in standard error.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in:\n{}", self.err);
        }
        self
    }

    /// Standard output as JSON and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in:\n{}", self.out))
    }

    /// Standard output as numbers, one a line.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        self.out.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// Numbers in [0, 1) that look random and are always the same.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A noisy stream of `n` rows with five features, as (label, features).
fn rows(n: usize, seed: u64, label: impl Fn(f64) -> String) -> Vec<(String, Vec<(usize, f64)>)> {
    let mut dice = Dice::new(seed);
    let truth = [0.8, -0.5, 0.3, 0.0, -0.2];
    let mut row = || {
        let x: Vec<(usize, f64)> = (0..5)
            .filter_map(|i| {
                let (there, value) = (dice.roll() < 0.7, dice.roll() * 2.0 - 1.0);
                there.then_some((i, (value * 1e4).round() / 1e4))
            })
            .collect();
        let z: f64 = x.iter().map(|&(i, v)| v * truth[i]).sum::<f64>() + 0.2 + 0.6 * (dice.roll() - 0.5);
        (label(z), x)
    };
    (0..n).map(|_| row()).collect()
}

/// How a label is made from the noisy value of the stream's own model.
pub(crate) fn label_of(task: &str, z: f64) -> String {
    match task {
        "binary" => if z > 0.0 { "1" } else { "-1" }.to_owned(),
        "count" => ((2.0 * z + 1.0).max(0.0) as u32).to_string(),
        _ => format!("{z:.3}"),
    }
}

/// A LIBSVM stream with labels for `task`: `binary`, `count` or `real`.
pub(crate) fn libsvm(n: usize, seed: u64, task: &str) -> String {
    let mut text = String::new();
    for (y, x) in rows(n, seed, |z| label_of(task, z)) {
        text += &y;
        for (i, v) in x {
            write!(text, " {}:{v}", i + 1).unwrap();
        }
        text.push('\n');
    }
    text
}

/// The same stream in VW's format, with importance weights, some of them 0.
pub(crate) fn vw(n: usize, seed: u64, task: &str) -> String {
    let mut text = String::new();
    let mut dice = Dice::new(seed + 1000);
    for (y, x) in rows(n, seed, |z| label_of(task, z)) {
        let weight = (dice.roll() * 8.0).floor() / 2.0;
        write!(text, "{y} {weight} |").unwrap();
        for (i, v) in x {
            write!(text, " x{i}:{v}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// The kind of labels that a loss takes.
pub(crate) fn task_of(loss: &str) -> &'static str {
    match loss {
        "hinge" | "logistic" | "perceptron" | "squared-hinge" => "binary",
        "poisson" => "count",
        _ => "real",
    }
}

/// Every learner with every loss that it accepts, as the registries list them.
pub(crate) fn pairs(folder: &Folder) -> Vec<(String, String)> {
    let names = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let losses = folder.run("losses --json -").ok().json();
    let losses: Vec<Value> = losses["losses"].as_array().unwrap().iter().map(|l| l["name"].clone()).collect();
    let learners = folder.run("learners --json -").ok().json();
    let mut pairs = Vec::new();
    for learner in learners["learners"].as_array().unwrap() {
        let own = learner["losses"].get("only").map_or_else(|| names(&losses.clone().into()), names);
        let name = learner["name"].as_str().unwrap();
        pairs.extend(own.into_iter().map(|loss| (name.to_owned(), loss)));
    }
    pairs
}

/// Flags that a learner cannot do without.
pub(crate) fn needed(learner: &str) -> &'static str {
    match learner {
        "subgradient" => "--horizon 200",
        "strongly-convex-ogd" => "--l2 0.1",
        _ => "",
    }
}

/// Whether a learner keeps an averaged iterate.
pub(crate) fn averages(folder: &Folder, learner: &str) -> bool {
    let about = folder.run(&format!("learners {learner} --json -")).ok().json();
    !about["learners"][0]["bytes_per_feature"][1].is_null()
}
