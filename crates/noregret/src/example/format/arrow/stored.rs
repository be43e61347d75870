//! What a file written here says of itself, so that reading it means the same as reading what it was made from.

use crate::error::UsageError;
use crate::example::format::{self, LARGEST_DIMENSION, OpenError, Options};
use crate::example::names::Schema;
use arrow_schema::Schema as ArrowSchema;
use serde::{Deserialize, Serialize};

/// The key of the settings in the schema's metadata.
pub(in crate::example) const SETTINGS: &str = "noregret";
/// The key of the names of hashed features in the file's own metadata.
pub(in crate::example) const NAMES: &str = "noregret.names";
/// The key of the checksums in the file's own metadata.
pub(in crate::example) const CHECKSUMS: &str = "noregret.checksums";

/// The version of the layout.
const VERSION: u32 = 1;

/// How the rows were read before they were stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::example) struct Stored {
    version: u32,
    /// The format they were read from.
    format: String,
    zero_based: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    no_header: bool,
    bits: Option<u32>,
    dimension: Option<u32>,
    label: Option<String>,
    weight: Option<String>,
    schema: Schema,
}

impl Stored {
    pub(in crate::example) fn new(format: &str, options: &Options, schema: &Schema) -> Self {
        Self {
            version: VERSION,
            format: format.to_owned(),
            zero_based: options.zero_based,
            no_header: options.no_header,
            bits: options.bits,
            dimension: options.dimension,
            label: options.label.clone(),
            weight: options.weight.clone(),
            schema: schema.clone(),
        }
    }

    pub(in crate::example) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain fields can be written")
    }

    /// The settings in a schema; `None` where the file is not from here.
    pub(super) fn of(schema: &ArrowSchema) -> Result<Option<Self>, String> {
        let Some(text) = schema.metadata().get(SETTINGS) else { return Ok(None) };
        let stored: Self = serde_json::from_str(text).map_err(|error| {
            format!("its settings (`{SETTINGS}`) cannot be read: {error}; convert it again")
        })?;
        if stored.version != VERSION {
            let version = stored.version;
            return Err(format!(
                "it is a cache of version {version}, and this program reads version {VERSION}: convert it again"
            ));
        }
        let bits = [stored.bits, stored.schema.bits].into_iter().flatten();
        if bits.into_iter().any(|bits| !(1..=crate::example::hash::LARGEST_BITS).contains(&bits)) {
            return Err("its settings name an impossible number of bits: convert it again".into());
        }
        Ok(Some(stored))
    }

    pub(super) fn meaning(&self) -> Result<&'static format::Entry, OpenError> {
        format::find(&self.format).map_err(OpenError::Usage)
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What the user (or a model) said, completed by what is stored. What contradicts it is refused.
    pub(super) fn complete(&self, said: &Options) -> Result<Options, OpenError> {
        let refuse = |flag: &str, said: String, is: String| {
            OpenError::Usage(UsageError(format!(
                "--{flag}{said} contradicts the cache, which was made with {is}; leave the flag out, or convert again"
            )))
        };
        let show = |value: Option<u32>| value.map_or("none".to_owned(), |value| value.to_string());
        let hashed = self.schema.bits.or(self.bits);
        if let (Some(asked), Some(bits)) = (said.bits, hashed)
            && asked != bits
        {
            return Err(refuse("bits", format!(" {asked}"), show(hashed)));
        }
        if let (Some(asked), Some(_)) = (said.dimension, self.dimension)
            && said.dimension != self.dimension
        {
            return Err(refuse("dimension", format!(" {asked}"), show(self.dimension)));
        }
        if said.zero_based && !self.zero_based {
            return Err(refuse("zero-based", String::new(), "indices from 1".into()));
        }
        for (flag, said, is) in [("label", &said.label, &self.label), ("weight", &said.weight, &self.weight)]
        {
            if let (Some(asked), Some(is)) = (said, is)
                && asked != is
            {
                return Err(refuse(flag, format!(" {asked}"), format!("`{is}`")));
            }
        }
        if let (Some(asked), None, false) = (&said.weight, &self.weight, said.unlabelled) {
            return Err(refuse("weight", format!(" {asked}"), "none".into()));
        }
        if let Some(known) = &said.schema
            && *known != self.schema
            && (*known != Schema::default() || self.schema != Schema::default())
        {
            return Err(OpenError::Usage(UsageError::new(
                "the features of this cache have other places than those already known (of the model, or of the file \
                 before): give it the data that the cache was made from",
            )));
        }
        let places = self.schema.columns.len() as u64
            + hashed.map_or(0, |bits| 1_u64 << bits).max(u64::from(self.dimension.unwrap_or(0)));
        if places > u64::from(LARGEST_DIMENSION) + self.schema.columns.len() as u64
            && said.bits.is_none()
            && said.dimension.is_none()
        {
            let flag = match self.dimension {
                Some(dimension) => format!("--dimension {dimension}"),
                None => format!("--bits {}", show(hashed)),
            };
            return Err(OpenError::Usage(UsageError(format!(
                "the cache asks for room for {places} features: say `{flag}` if that is right"
            ))));
        }
        Ok(Options {
            zero_based: self.zero_based,
            no_header: self.no_header,
            bits: said.bits.or(self.bits),
            dimension: said.dimension.or(self.dimension),
            label: said.label.clone().or_else(|| self.label.clone()),
            weight: said.weight.clone().or_else(|| self.weight.clone()),
            ..said.clone()
        })
    }
}

impl Stored {
    /// Whether indices have been folded already.
    pub(super) fn folds(&self) -> bool {
        self.bits.is_some()
    }
}
