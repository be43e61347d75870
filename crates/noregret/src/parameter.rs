//! Parameters that losses and learners declare. Help texts, command-line flags, keyword arguments
//! and documentation tables all come from these lists.

use crate::error::UsageError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A number greater than zero.
    Positive,
    /// A number, zero or greater.
    Nonnegative,
    /// A number strictly between 0 and 1.
    Fraction,
    /// A whole number, at least 1.
    Count,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One parameter of a registry entry.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parameter {
    /// Its name, as a flag without the dashes.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// The value when none is given; `None` says that the entry decides (see `meaning`).
    pub default: Option<&'static str>,
    /// One line.
    pub meaning: &'static str,
}

impl Parameter {
    /// Checks a value given as text.
    pub fn parse(&self, text: &str) -> Result<Value, UsageError> {
        let bad =
            |expected: &str| UsageError(format!("--{}: found `{text}`, expected {expected}", self.name));
        match self.kind {
            Kind::Positive => match text.parse::<f64>() {
                Ok(v) if v > 0.0 && v.is_finite() => Ok(Value::Number(v)),
                _ => Err(bad("a number greater than 0")),
            },
            Kind::Nonnegative => match text.parse::<f64>() {
                Ok(v) if v >= 0.0 && v.is_finite() => Ok(Value::Number(v)),
                _ => Err(bad("a number not below 0")),
            },
            Kind::Fraction => match text.parse::<f64>() {
                Ok(v) if v > 0.0 && v < 1.0 => Ok(Value::Number(v)),
                _ => Err(bad("a number between 0 and 1")),
            },
            Kind::Count => match text.parse::<u64>() {
                Ok(v) if (1..=1 << 53).contains(&v) => Ok(Value::Number(v as f64)),
                _ => Err(bad("a whole number, at least 1")),
            },
            Kind::Choice(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Value::Word((*word).to_owned())),
                None => Err(bad(&format!("one of {}", words.join(", ")))),
            },
        }
    }
}

/// A checked value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word of a `Choice`.
    Word(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(v) => write!(f, "{v}"),
            Value::Word(w) => f.write_str(w),
        }
    }
}

/// The parameters that were given, by name. What is absent takes the entry's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, Value>);

impl Parameters {
    /// Checks `given` against the list of an entry: unknown names and bad values are refused.
    pub fn check<'a>(
        entry: &str,
        known: &[Parameter],
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, UsageError> {
        let mut checked = BTreeMap::new();
        for (name, text) in given {
            let Some(parameter) = known.iter().find(|p| p.name == name) else {
                let names: Vec<String> = known.iter().map(|p| format!("--{}", p.name)).collect();
                let has = if names.is_empty() {
                    "it has no parameters".to_owned()
                } else {
                    format!("it has {}", names.join(", "))
                };
                return Err(UsageError(format!("`{entry}` has no parameter --{name}; {has}")));
            };
            checked.insert(name.to_owned(), parameter.parse(text)?);
        }
        Ok(Self(checked))
    }

    /// The number given, or the default of `known`, or `None`.
    pub fn number(&self, known: &[Parameter], name: &str) -> Option<f64> {
        if let Some(Value::Number(v)) = self.0.get(name) {
            return Some(*v);
        }
        known.iter().find(|p| p.name == name)?.default?.parse().ok()
    }

    /// The word given, or the default of `known`, or the empty word.
    pub fn word<'a>(&'a self, known: &[Parameter], name: &str) -> &'a str {
        match self.0.get(name) {
            Some(Value::Word(w)) => w,
            _ => known.iter().find(|p| p.name == name).and_then(|p| p.default).unwrap_or(""),
        }
    }
}
