//! Certificates: the hyperplane that separates, or the weights with which rows cancel, in a file that
//! anybody can check against the data in one pass.
//!
//! A JSON object. `hyperplane` has pairs of a feature (from 0) and its weight, and the weight of the
//! bias; `proof` has pairs of a row (from 0) and its weight, of which only the ratios matter. The
//! checksum is of the examples as read: labels, columns and values.

use super::check::{Hyperplane, Mixture, vanishes};
use super::data::{Data, Maker, Normalize, Row, Shape};
use super::{Floor, Outcome, bracket::Verified};
use crate::error::{Error, Result};
use crate::example::{Features, Value};
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = "noregret separation certificate";
const VERSION: u32 = 1;
/// Rows of a proof that are kept to see whether they cancel exactly.
const EXACT_ROWS: usize = 4096;

/// What a certificate claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The hyperplane has every row on its right side.
    Separable,
    /// No hyperplane does, with a margin above a floor.
    NotSeparable,
}

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u32,
    /// What is claimed.
    pub claim: Claim,
    /// A margin that the hyperplane reaches, or that no hyperplane exceeds.
    pub margin: f64,
    /// Rows of the data.
    pub examples: u64,
    /// Features of the data.
    pub dimension: u64,
    /// Whether a constant feature was added.
    pub bias: bool,
    /// Whether rows were brought to length 1.
    pub normalize: Normalize,
    /// What values were read as.
    pub values: String,
    /// Of the data as read.
    pub checksum: String,
    /// The separator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplane: Option<Plane>,
    /// The weights of the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Vec<(u64, f64)>>,
}

/// A hyperplane in the words of features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    /// The weight of the constant feature.
    pub bias: f64,
    /// Feature and weight.
    pub weights: Vec<(u32, f64)>,
}

/// What a valid certificate proves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Separable or not.
    pub separable: bool,
    /// The margin claimed.
    pub claimed: f64,
    /// The margin found on checking: at least as good.
    pub found: f64,
    /// Rows seen.
    pub examples: u64,
}

impl Certificate {
    /// Of an answer; none where there was no answer.
    pub fn new(outcome: &Outcome, data: &Data, values: &str) -> Option<Self> {
        let Verified { at_least, at_most, hyperplane, weights, .. } = &outcome.verified;
        let separable = outcome.separable?;
        let shift = usize::from(data.shape().bias);
        let plane = |w: &Vec<f64>| Plane {
            bias: if data.shape().bias { w[0] } else { 0.0 },
            weights: w[shift..]
                .iter()
                .enumerate()
                .filter(|(_, w)| **w != 0.0)
                .map(|(i, w)| (i as u32, *w))
                .collect(),
        };
        Some(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            claim: if separable { Claim::Separable } else { Claim::NotSeparable },
            margin: if separable { *at_least } else { *at_most },
            examples: data.len() as u64,
            dimension: data.features() as u64,
            bias: data.shape().bias,
            normalize: data.shape().normalize,
            values: values.to_owned(),
            checksum: data.checksum(),
            hyperplane: hyperplane.as_ref().filter(|_| separable).map(plane),
            proof: (!separable).then(|| weights.iter().map(|&(i, p)| (i as u64, p)).collect()),
        })
    }

    /// Writes it.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string(self)
            .map_err(|problem| refused(path, format!("cannot be written: {problem}")))?;
        text.push('\n');
        std::fs::write(path, text).map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Reads one.
    pub fn load(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let certificate: Self = serde_json::from_str(&text)
            .map_err(|problem| refused(path, format!("is not a certificate: {problem}")))?;
        if certificate.format != FORMAT {
            return Err(refused(
                path,
                format!("is not a certificate: its format is `{}`", certificate.format),
            ));
        }
        if certificate.version != VERSION {
            let version = certificate.version;
            return Err(refused(path, format!("has version {version}; this program knows {VERSION}")));
        }
        Ok(certificate)
    }

    /// The shape of rows that it speaks of.
    pub fn shape(&self) -> Shape {
        Shape { bias: self.bias, normalize: self.normalize }
    }
}

fn refused(path: &Path, message: String) -> Error {
    Error::Model { path: path.to_owned(), message }
}

/// Checks a certificate while its data streams by.
pub struct Verifier {
    certificate: Certificate,
    maker: Maker,
    check: Check,
    examples: u64,
    features: usize,
    floor: Floor,
}

enum Check {
    Plane(Box<Hyperplane>),
    Rows { proof: Vec<(u64, f64)>, next: usize, mixture: Box<Mixture>, kept: Vec<Kept> },
}

struct Kept {
    columns: Vec<u32>,
    values: Vec<f64>,
    p: f64,
}

impl Verifier {
    /// Refuses, with the reason, what cannot be right for any data. `floor` is the largest margin
    /// that still counts as none.
    pub fn new(certificate: Certificate, floor: Floor) -> Result<Self, String> {
        let shape = certificate.shape();
        if !certificate.margin.is_finite() || certificate.margin < 0.0 {
            return Err(format!("the margin {} is not a number from 0 on", certificate.margin));
        }
        let width = usize::try_from(certificate.dimension).unwrap_or(usize::MAX);
        if width > u32::MAX as usize - 1 {
            return Err(format!("{width} features are more than there can be"));
        }
        let check = match (certificate.claim, &certificate.hyperplane, &certificate.proof) {
            (Claim::Separable, Some(plane), None) => {
                let shift = usize::from(shape.bias);
                if !shape.bias && plane.bias != 0.0 {
                    return Err("the hyperplane has a bias, but the rows have none".to_owned());
                }
                if !plane.weights.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                    return Err("the features of the hyperplane do not ascend".to_owned());
                }
                let end = plane.weights.last().map_or(0, |(i, _)| *i as usize + 1);
                if end > width {
                    return Err(format!("the hyperplane has feature {}, of {width}", end - 1));
                }
                let mut w = vec![0.0; end + shift];
                if shape.bias {
                    w[0] = plane.bias;
                }
                for &(i, v) in &plane.weights {
                    w[i as usize + shift] = v;
                }
                let check = Hyperplane::new(shape, &w)
                    .ok_or_else(|| "the hyperplane is zero or not finite".to_owned())?;
                Check::Plane(Box::new(check))
            }
            (Claim::NotSeparable, None, Some(proof)) => {
                if proof.is_empty() {
                    return Err("the proof has no rows".to_owned());
                }
                if let Some((i, p)) = proof.iter().find(|(_, p)| !(*p >= 0.0 && p.is_finite())) {
                    return Err(format!("the weight {p} of row {i} is negative or not finite"));
                }
                if !proof.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                    return Err("the rows of the proof do not ascend".to_owned());
                }
                if let Some((i, _)) = proof.iter().find(|(i, _)| *i >= certificate.examples) {
                    return Err(format!("the proof has row {i}, of {}", certificate.examples));
                }
                let mixture = Box::new(Mixture::new(shape, 0));
                Check::Rows { proof: proof.clone(), next: 0, mixture, kept: Vec::new() }
            }
            _ => {
                return Err(
                    "a claim of separability needs a hyperplane alone, one of the contrary a proof alone"
                        .to_owned(),
                );
            }
        };
        Ok(Self { maker: Maker::new(shape), certificate, check, examples: 0, features: 0, floor })
    }

    /// Takes the next example.
    pub fn row<V: Value>(&mut self, x: Features<'_, V>, y: f64) {
        let row = self.maker.row(x, y);
        self.features = self.features.max(x.end());
        match &mut self.check {
            Check::Plane(check) => check.row(row),
            Check::Rows { proof, next, mixture, kept } => {
                if let Some(&(i, p)) = proof.get(*next)
                    && i == self.examples
                {
                    *next += 1;
                    if p > 0.0 {
                        mixture.row(row, p);
                        if kept.len() <= EXACT_ROWS {
                            kept.push(Kept { columns: row.columns.to_vec(), values: row.values.to_vec(), p });
                        }
                    }
                }
            }
        }
        self.examples += 1;
    }

    /// All examples have been seen: what is proved, or why nothing is.
    pub fn finish(self) -> Result<Verdict, String> {
        let said = &self.certificate;
        if self.examples != said.examples {
            return Err(format!("it speaks of {} rows, the data has {}", said.examples, self.examples));
        }
        if self.features as u64 != said.dimension {
            return Err(format!("it speaks of {} features, the data has {}", said.dimension, self.features));
        }
        let checksum = self.maker.checksum();
        if checksum != said.checksum {
            return Err(format!(
                "the data's checksum is {checksum}, the certificate's {}: other data, other labels, or read \
                 with other flags",
                said.checksum
            ));
        }
        let claimed = said.margin;
        let verdict = |separable, found| Verdict { separable, claimed, found, examples: self.examples };
        match &self.check {
            Check::Plane(check) => {
                let found = check.margin();
                if found <= 0.0 {
                    Err("claim not reached: a row is not surely on the right side of the hyperplane"
                        .to_owned())
                } else if found < claimed {
                    Err(format!("claim not reached: a margin of {claimed} is claimed, {found} is certain"))
                } else {
                    Ok(verdict(true, found))
                }
            }
            Check::Rows { mixture, kept, .. } => {
                let rows = kept
                    .iter()
                    .map(|kept| (Row { columns: &kept.columns, values: &kept.values, norm: 0.0 }, kept.p));
                // Normalised rows are rounded, so nothing exact can be said of them, unless they are zero.
                let whole = !kept.is_empty() && kept.len() <= EXACT_ROWS;
                let kept_as_read =
                    said.normalize == Normalize::None || kept.iter().all(|kept| kept.columns.is_empty());
                let exact = whole && kept_as_read && vanishes(rows);
                let found = if exact { 0.0 } else { mixture.bound() };
                let floor = self.floor.at(mixture.mean_length());
                if found > claimed {
                    Err(format!("claim not reached: at most {claimed} is claimed, {found} is certain"))
                } else if !exact && claimed > floor {
                    Err(format!(
                        "claim not reached: margins up to {claimed} are left open, above the floor {floor} \
                         (see --margin-floor)"
                    ))
                } else {
                    Ok(verdict(false, found))
                }
            }
        }
    }
}
