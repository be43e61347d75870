//! The labels of more than two classes, in the order of their first appearance.

use super::Label;
use super::label::Name;
use super::quote::quote;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The names that are listed before a long list is cut short.
const LISTED: usize = 12;

/// Names of classes. A label that is new joins the list, unless the list was closed by naming all
/// labels in advance.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Classes {
    names: Vec<Name>,
    closed: bool,
    /// Where each name stands: numbers by their bits, text by itself.
    numbers: HashMap<u64, usize>,
    texts: HashMap<String, usize>,
}

/// What a model file keeps.
#[derive(Clone, Serialize, Deserialize)]
struct Stored {
    names: Vec<Name>,
    closed: bool,
}

impl From<Classes> for Stored {
    fn from(classes: Classes) -> Self {
        Self { names: classes.names, closed: classes.closed }
    }
}

impl TryFrom<Stored> for Classes {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        let mut classes = Self::default();
        for name in stored.names {
            if !classes.add(name.clone()) {
                return Err(format!("the label {} is listed twice", quote(name.to_string().as_bytes())));
            }
        }
        classes.closed = stored.closed;
        Ok(classes)
    }
}

impl PartialEq for Classes {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.closed == other.closed
    }
}

impl Classes {
    /// No label yet; each joins when it first appears.
    pub fn open() -> Self {
        Self::default()
    }

    /// These labels and no others. The message says which one is listed twice.
    ///
    /// ```
    /// use noregret::example::{Classes, Label};
    /// let mut classes = Classes::closed(["cat", "dog"].map(str::to_owned))?;
    /// assert_eq!(classes.index_of(&Label::Name("dog".into())), Ok(Some(1)));
    /// assert!(classes.index_of(&Label::Name("cow".into())).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn closed(names: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let names = names.into_iter().map(|name| Name::parse(&name)).collect();
        Self::try_from(Stored { names, closed: true })
    }

    /// These names, numbers being numbers and texts texts, and no others. The message says which one is
    /// listed twice.
    pub fn named(names: Vec<Name>) -> Result<Self, String> {
        Self::try_from(Stored { names, closed: true })
    }

    /// Whether a label that is not listed is refused.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The names.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Keeps the first `count` names.
    pub fn truncate(&mut self, count: usize) {
        self.names.truncate(count);
        self.numbers.retain(|_, k| *k < count);
        self.texts.retain(|_, k| *k < count);
    }

    /// Adds a name at the end, unless it is there already.
    fn add(&mut self, name: Name) -> bool {
        let k = self.names.len();
        let (name, before) = match name {
            Name::Number(y) => {
                // One label of -0 and +0.
                let y = y + 0.0;
                (Name::Number(y), self.numbers.insert(y.to_bits(), k))
            }
            Name::Text(text) => (Name::Text(text.clone()), self.texts.insert(text, k)),
        };
        self.names.push(name);
        before.is_none()
    }

    /// Where a label stands; a new one joins an open list. Nothing for a missing one, and a message
    /// for one that a closed list does not have.
    pub fn index_of(&mut self, label: &Label) -> Result<Option<usize>, String> {
        let found = match label {
            Label::Missing => return Ok(None),
            Label::Number(y) => self.numbers.get(&(y + 0.0).to_bits()),
            Label::Name(text) => self.texts.get(&**text),
        };
        if found.is_some() {
            return Ok(found.copied());
        }
        let Some(name) = Name::of(label) else { return Ok(None) };
        if self.closed {
            return Err(self.refusal(name.to_string().as_bytes()));
        }
        self.add(name);
        Ok(Some(self.names.len() - 1))
    }

    fn refusal(&self, label: &[u8]) -> String {
        format!(
            "found the label {}, expected one of {}; name it in --classes, or leave --classes out to accept \
             new labels",
            quote(label),
            self.listed()
        )
    }

    fn listed(&self) -> String {
        let names: Vec<String> = self.names.iter().take(LISTED).map(Name::to_string).collect();
        let more = if self.names.len() > LISTED { ", ..." } else { "" };
        format!("{}{more}", names.join(", "))
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        let count = self.names.len();
        let classes = if count == 1 { "class" } else { "classes" };
        format!("labels: {count} {classes}{}{}", if count > 0 { ": " } else { "" }, self.listed())
    }
}
