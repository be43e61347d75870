//! How a model's examples were read, and how more of them are read the same way.

use crate::error::UsageError;
use crate::example::format::Options;
use crate::example::names::Schema;
use crate::example::select::Selection;
use serde::{Deserialize, Serialize};

/// How the examples were read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The format.
    pub format: String,
    /// Whether indices counted from 0.
    pub zero_based: bool,
    /// Whether there was no header, and columns are called by their numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_header: bool,
    /// `--bits`, as given.
    pub bits: Option<u32>,
    /// `--dimension`, as given.
    pub dimension: Option<u32>,
    /// The label's column or key.
    pub label: Option<String>,
    /// The weight's column or key.
    pub weight: Option<String>,
    /// Which names were read, and which multiplied.
    #[serde(default, skip_serializing_if = "Selection::is_empty")]
    pub selection: Selection,
    /// Names with fixed places, and how others are hashed.
    pub schema: Schema,
}

impl Reading {
    /// How more inputs are read: as before, and what is said must not contradict that.
    pub fn again(&self, said: Options) -> Result<Options, UsageError> {
        let contradiction = |flag: &str, said: String, is: String| {
            let said = if said.is_empty() { said } else { format!(" {said}") };
            UsageError(format!("--{flag}{said} contradicts the model, which was learned with {is}"))
        };
        let none = "none".to_owned();
        let show = |v: Option<u32>| v.map_or(none.clone(), |v| v.to_string());
        if said.bits.is_some() && said.bits != self.bits && said.bits != self.schema.bits {
            return Err(contradiction("bits", show(said.bits), show(self.bits)));
        }
        if said.dimension.is_some() && said.dimension != self.dimension {
            return Err(contradiction("dimension", show(said.dimension), show(self.dimension)));
        }
        if said.zero_based && !self.zero_based {
            return Err(contradiction("zero-based", String::new(), "indices from 1".to_owned()));
        }
        if let Some((flag, said, is)) = self.selection.contradiction(&said.selection) {
            return Err(contradiction(flag, said, is));
        }
        Ok(Options {
            zero_based: self.zero_based,
            no_header: said.no_header || self.no_header,
            bits: self.bits,
            dimension: self.dimension,
            label: said.label.or_else(|| self.label.clone()),
            weight: said.weight.or_else(|| self.weight.clone()),
            selection: self.selection.clone(),
            schema: (self.format != "libsvm").then(|| self.schema.clone()),
            ..said
        })
    }

    /// Refuses an input whose features cannot be those of the model: numbers, VW's names, or columns and
    /// keys.
    pub fn same_format(&self, found: Option<&str>) -> Result<(), UsageError> {
        let family = |format: &str| match format {
            "csv" | "tsv" | "jsonl" => "columns".to_owned(),
            other => other.to_owned(),
        };
        let learned = &self.format;
        match found {
            Some(found) if !learned.is_empty() && family(found) != family(learned) => {
                Err(UsageError(format!(
                    "the model was learned from {learned}, and this input is {found}: its features would not be \
                 the model's; give it {learned}, or say --format if it was not recognised"
                )))
            }
            _ => Ok(()),
        }
    }
}
