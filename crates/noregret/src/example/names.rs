//! Names of features: which have fixed places, how the others are hashed, and a table that
//! remembers hashed names so that a report can print them.

use serde::{Deserialize, Serialize};

/// Where a named feature goes: a column has the place of its order, any other name
/// `columns.len() + (hash mod 2^bits)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Names with fixed places, in order.
    pub columns: Vec<String>,
    /// How many bits of the hash are kept; `None` where features are numbers or every name has a
    /// fixed place.
    pub bits: Option<u32>,
}

/// Names of hashed features, as far as they are remembered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameTable {
    names: std::collections::BTreeMap<u32, Box<str>>,
}

impl NameTable {
    /// Remembers a name, unless its place has one already.
    pub fn insert(&mut self, index: u32, name: Box<str>) {
        self.names.entry(index).or_insert(name);
    }
}
