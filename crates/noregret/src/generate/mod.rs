//! Streams with a known answer: one file each. Every stream is a function that hands over its rows
//! one by one, so it can be written as text or held in memory, and both hold the same numbers.

use crate::error::{Error, Result, UsageError};
use crate::example::Block;
use crate::example::format::LARGEST_DIMENSION;
use rand::{RngExt, SeedableRng};
use std::io::{self, Write};

mod classes;
mod drift;
mod hard;
mod leader_fails;
mod planted;
mod rcv1_like;

/// Every stream. A new one is a file in this folder, its `mod` line and its line here.
pub static ENTRIES: &[&Entry] =
    &[&hard::ENTRY, &leader_fails::ENTRY, &planted::ENTRY, &classes::ENTRY, &drift::ENTRY, &rcv1_like::ENTRY];

/// What is asked of a stream, checked by [`Entry::request`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// How many rows.
    pub n: u64,
    /// How many features.
    pub d: u64,
    /// The fraction of labels that are turned round.
    pub noise: f64,
    /// How many classes the labels have.
    pub classes: u64,
    /// The same seed gives the same stream.
    pub seed: u64,
}

/// Takes a label and the features (from 0, ascending) of one row.
pub type Sink<'a> = &'a mut dyn FnMut(f64, &[(u32, f32)]) -> io::Result<()>;

/// How many features a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// As many as `--d` says, and these without it.
    Default(u64),
    /// Always these.
    Fixed(u64),
    /// One for each row.
    Rows,
}

/// A stream in the registry.
#[derive(serde::Serialize)]
pub struct Entry {
    /// The name after `generate`.
    pub name: &'static str,
    /// One line: what it is and what is known about it.
    pub summary: &'static str,
    /// How many rows when `--n` is not given.
    pub n: u64,
    /// How many features.
    pub d: Dimension,
    /// The noise when `--noise` is not given; `None` where there is none.
    pub noise: Option<f64>,
    /// How many classes when `--k` is not given; `None` where there are always two, or none.
    pub classes: Option<u64>,
    /// Hands over the rows.
    #[serde(skip)]
    pub rows: fn(&Request, Sink<'_>) -> io::Result<()>,
}

impl Entry {
    /// Fills in the defaults and refuses what the stream cannot do.
    pub fn request(
        &self,
        n: Option<u64>,
        d: Option<u64>,
        noise: Option<f64>,
        seed: u64,
    ) -> Result<Request, UsageError> {
        let unused = |flag: &str| UsageError(format!("`{}` does not use --{flag}", self.name));
        if noise.is_some() && self.noise.is_none() {
            return Err(unused("noise"));
        }
        let n = n.unwrap_or(self.n);
        let d = match (self.d, d) {
            (Dimension::Default(default), d) => d.unwrap_or(default),
            (_, Some(_)) => return Err(unused("d")),
            (Dimension::Fixed(d), None) => d,
            (Dimension::Rows, None) => n,
        };
        let noise = noise.or(self.noise).unwrap_or(0.0);
        if n == 0 {
            return Err(UsageError::new("--n: found 0, expected at least 1 row"));
        }
        if d == 0 || d > u64::from(LARGEST_DIMENSION) {
            return Err(UsageError(format!(
                "`{}` with {d} features: expected 1 to {LARGEST_DIMENSION}",
                self.name
            )));
        }
        if !(0.0..=1.0).contains(&noise) {
            return Err(UsageError(format!("--noise: found {noise}, expected 0 to 1")));
        }
        Ok(Request { n, d, noise, classes: self.classes.unwrap_or(2), seed })
    }

    /// The same request with another number of classes, where the stream has several.
    pub fn with_classes(&self, request: Request, classes: Option<u64>) -> Result<Request, UsageError> {
        let Some(classes) = classes else { return Ok(request) };
        if self.classes.is_none() {
            return Err(UsageError(format!("`{}` does not use --k", self.name)));
        }
        if !(2..=10_000).contains(&classes) {
            return Err(UsageError(format!("--k: found {classes}, expected 2 to 10000 classes")));
        }
        Ok(Request { classes, ..request })
    }

    /// Writes the stream as LIBSVM text, indices from 1. A value is the shortest decimal that reads
    /// back as the same f32.
    pub fn run(&self, request: &Request, out: &mut dyn Write) -> io::Result<()> {
        let mut text = Vec::with_capacity(1 << 17);
        (self.rows)(request, &mut |y, pairs| {
            write!(text, "{y}")?;
            for (i, v) in pairs {
                write!(text, " {}:{v}", i + 1)?;
            }
            text.push(b'\n');
            if text.len() >= 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
            Ok(())
        })?;
        out.write_all(&text)?;
        out.flush()
    }

    /// The stream in memory, labels in place: what reading the text of [`Entry::run`] gives.
    pub fn block(&self, request: &Request) -> Block<f32> {
        let mut block = Block::new();
        let held = (self.rows)(request, &mut |y, pairs| {
            block.push(y, 1.0, pairs.iter().copied());
            Ok(())
        });
        debug_assert!(held.is_ok(), "memory does not fail as a file may");
        block
    }
}

/// The stream of that name.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES.iter().find(|entry| entry.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        UsageError(format!("no stream is called `{name}`; there are {}", names.join(", ")))
    })
}

/// Writes a stream as LIBSVM text; what is `None` takes the stream's default.
///
/// ```
/// let mut text = Vec::new();
/// noregret::generate::write("hard", Some(2), None, None, 0, &mut text)?;
/// assert_eq!(text, b"1 1:1\n-1 1:1 2:-1\n");
/// # Ok::<(), noregret::error::Error>(())
/// ```
pub fn write(
    name: &str,
    n: Option<u64>,
    d: Option<u64>,
    noise: Option<f64>,
    seed: u64,
    out: &mut dyn Write,
) -> Result<()> {
    let entry = find(name)?;
    let request = entry.request(n, d, noise, seed)?;
    entry.run(&request, out).map_err(|source| Error::Io { path: "-".into(), source })
}

/// Random numbers that a seed fixes.
struct Random {
    source: rand_pcg::Pcg64Mcg,
    spare: Option<f64>,
}

impl Random {
    fn new(seed: u64) -> Self {
        Self { source: rand_pcg::Pcg64Mcg::seed_from_u64(seed), spare: None }
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.source.random()
    }

    /// Standard normal, in pairs by Box and Muller.
    fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        // 1 - u lies in (0, 1], so its logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// A unit vector, uniform on the sphere.
    fn direction(&mut self, d: u64) -> Vec<f64> {
        let w: Vec<f64> = (0..d).map(|_| self.normal()).collect();
        let norm = w.iter().map(|v| v * v).sum::<f64>().sqrt();
        w.into_iter().map(|v| v / norm).collect()
    }

    /// The sign of `<w, x>` (+1 at 0), turned round with probability `noise`. It is taken of the
    /// row as it will be read, so without noise `w` makes no mistake by rounding.
    fn label(&mut self, w: &[f64], x: &[(u32, f32)], noise: f64) -> f64 {
        let z: f64 = x.iter().map(|&(i, v)| w[i as usize] * f64::from(v)).sum();
        let turned = self.uniform() < noise;
        if (z >= 0.0) == turned { -1.0 } else { 1.0 }
    }
}

/// Makes `pairs` a row with a unit norm out of raw values.
fn scale(pairs: &mut Vec<(u32, f32)>, raw: impl Iterator<Item = (u32, f64)> + Clone) {
    let norm = raw.clone().map(|(_, v)| v * v).sum::<f64>().sqrt();
    pairs.clear();
    pairs.extend(raw.map(|(i, v)| (i, (v / norm) as f32)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, n: u64) -> String {
        let mut out = Vec::new();
        write(name, Some(n), None, None, 5, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_file_of_the_folder_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/generate");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| Some(name.strip_suffix(".rs")?.replace('_', "-")))
            .filter(|name| name != "mod")
            .collect();
        let mut names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn the_text_reads_back_as_what_memory_holds() {
        for entry in ENTRIES {
            let block = entry.block(&entry.request(Some(50), None, None, 5).unwrap());
            let text = text(entry.name, 50);
            assert_eq!(text.lines().count(), 50);
            for (line, row) in text.lines().zip(block.rows().iter()) {
                let mut words = line.split(' ');
                assert_eq!(words.next().unwrap().parse::<f64>().unwrap(), row.y);
                let pairs: Vec<(u32, f32)> = words
                    .map(|word| word.split_once(':').unwrap())
                    .map(|(i, v)| (i.parse().unwrap(), v.parse().unwrap()))
                    .collect();
                assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0), "{}", entry.name);
                assert!(pairs.iter().map(|p| p.0 - 1).eq(row.x.indices.iter().copied()));
                assert!(pairs.iter().map(|p| p.1).eq(row.x.values.iter().copied()));
            }
        }
    }

    #[test]
    fn the_seed_alone_decides_and_more_rows_continue_the_stream() {
        for entry in ENTRIES {
            let name = entry.name;
            assert_eq!(text(name, 30), text(name, 30));
            let random = entry.noise.is_some();
            let mut other = Vec::new();
            write(name, Some(30), None, None, 6, &mut other).unwrap();
            assert_eq!(other != text(name, 30).as_bytes(), random, "{name}");
            if name != "drift" {
                assert!(text(name, 60).starts_with(&text(name, 30)), "{name}");
            }
        }
    }

    #[test]
    fn random_rows_have_unit_norm() {
        for entry in ENTRIES.iter().filter(|entry| entry.noise.is_some()) {
            let block = entry.block(&entry.request(Some(100), None, None, 1).unwrap());
            assert!(block.rows().iter().all(|r| (r.x.norm_squared() - 1.0).abs() < 1e-5));
        }
    }

    #[test]
    fn what_a_stream_cannot_do_is_refused() {
        let mut out = Vec::new();
        let mut refuse = |name: &str, n, d, noise| {
            let answer = write(name, n, d, noise, 0, &mut out);
            assert!(matches!(answer, Err(Error::Usage(_))), "{name}");
        };
        refuse("easy", None, None, None);
        refuse("hard", Some(3), Some(4), None);
        refuse("leader-fails", None, None, Some(0.1));
        refuse("planted", Some(0), None, None);
        refuse("planted", None, Some(0), None);
        refuse("planted", None, Some(1 << 40), None);
        refuse("planted", None, None, Some(1.5));
        refuse("planted", None, None, Some(f64::NAN));
        refuse("hard", Some(1 << 40), None, None);
    }
}
