//! From the body of a request to rows: JSON shapes, and the library's own formats. Everything is hostile until checked.

pub mod json;
pub mod text;

use crate::command::Space;
use crate::error::Refusal;
use noregret::example::format::Scratch;
use noregret::example::names::Schema;
use noregret::example::{Block, Label};

/// What the rows of a request are checked against.
pub struct Context<'a> {
    /// Where names go.
    pub schema: Schema,
    /// Whether a hashed place has a name already.
    pub has_name: &'a dyn Fn(u32) -> bool,
    /// Features at and beyond this are refused.
    pub limit: u32,
    /// The most features of an example.
    pub most_features: usize,
    /// Whether examples need labels.
    pub learning: bool,
}

/// The rows of a request, or of a part of it.
#[derive(Debug, Default)]
pub struct Parsed {
    /// With raw labels.
    pub block: Block<f64>,
    /// What kind of features; none where there was no example.
    pub space: Option<Space>,
    /// Names behind hashed places that may be new.
    pub names: Vec<(u32, Box<str>)>,
    /// Whether predictions are wanted before learning.
    pub predict: bool,
    /// Whether ids for later labels are wanted.
    pub id: Option<bool>,
}

impl Parsed {
    /// Adds the rows of another, unless its features are of another kind.
    pub fn append(&mut self, other: Self) -> Result<(), Refusal> {
        match (self.space, other.space) {
            (Some(a), Some(b)) if a != b => {
                let message =
                    format!("the example has {}, and those before it have {}", b.words(), a.words());
                return Err(Refusal::bad("other_features", message));
            }
            (a, b) => self.space = a.or(b),
        }
        let (block, more) = (&mut self.block, other.block);
        if !(block.weights.is_empty() && more.weights.is_empty()) {
            block.weights.resize(block.len(), 1.0);
            block.weights.extend_from_slice(&more.weights);
            block.weights.resize(block.len() + more.len(), 1.0);
        }
        let start = block.indices.len();
        block.offsets.extend(more.offsets[1..].iter().map(|o| o + start));
        block.indices.extend(more.indices);
        block.values.extend(more.values);
        block.raw_labels.extend(more.raw_labels);
        self.names.extend(other.names);
        Ok(())
    }
}

/// Makes rows one after the other.
pub struct Maker<'a> {
    context: &'a Context<'a>,
    parsed: Parsed,
    scratch: Scratch<f64>,
    /// How many more bytes of names may be handed on.
    room: usize,
}

/// How long the name may be that stands before those of many features: a path of JSON, a column of a CSV, a namespace of
/// VW. A short text could otherwise stand for names of any length.
pub(crate) const LONGEST_PREFIX: usize = 1024;

/// How many bytes of names a text of some length may bring: more than any that is meant well. Those beyond are not told
/// in reports, until they come again.
pub(crate) fn room_for_names(text: usize) -> usize {
    (NAMES_PER_BYTE * text).saturating_add(1 << 20)
}

pub(crate) const NAMES_PER_BYTE: usize = 16;

/// How much a maker had made.
#[derive(Clone, Copy)]
struct Mark {
    rows: usize,
    features: usize,
    weights: usize,
    names: usize,
    space: Option<Space>,
    predict: bool,
    id: Option<bool>,
    room: usize,
}

impl<'a> Maker<'a> {
    /// No row yet.
    pub fn new(context: &'a Context<'a>) -> Self {
        Self { context, parsed: Parsed::default(), scratch: Scratch::default(), room: room_for_names(0) }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.parsed.block.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.parsed.block.is_empty()
    }

    /// About how much memory the rows take.
    pub fn bytes(&self) -> usize {
        self.parsed.block.indices.len() * 12 + self.len() * 40
    }

    /// What was made.
    pub fn parsed(self) -> Parsed {
        self.parsed
    }

    /// Makes room for so many features.
    fn expect(&mut self, features: usize) {
        self.parsed.block.indices.reserve(features);
        self.parsed.block.values.reserve(features);
    }

    /// How much has been made.
    fn mark(&self) -> Mark {
        let Parsed { block, space, names, predict, id } = &self.parsed;
        let [features, weights, names] = [block.indices.len(), block.weights.len(), names.len()];
        Mark {
            rows: self.len(),
            features,
            weights,
            names,
            space: *space,
            predict: *predict,
            id: *id,
            room: self.room,
        }
    }

    /// Unmakes what was made since.
    fn go_back(&mut self, mark: Mark) {
        let Mark { rows, features, weights, names, space, predict, id, room } = mark;
        self.room = room;
        let block = &mut self.parsed.block;
        block.offsets.truncate(rows + 1);
        block.indices.truncate(features);
        block.values.truncate(features);
        block.raw_labels.truncate(rows);
        block.weights.truncate(weights);
        self.parsed.names.truncate(names);
        (self.parsed.space, self.parsed.predict, self.parsed.id) = (space, predict, id);
    }

    fn refuse(&self, code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal::bad(code, message).at(self.len())
    }

    /// A number under a name, in the row that is being made. Zeros are absent.
    fn named(&mut self, name: &str, value: f64) -> Result<(), Refusal> {
        if !value.is_finite() {
            return Err(self.refuse("bad_feature", format!("the value of `{name}` is not finite")));
        }
        let schema = &self.context.schema;
        let column = if schema.columns.is_empty() {
            None
        } else {
            schema.columns.iter().position(|c| c == name).map(|k| k as u32)
        };
        let Some(place) = column.or_else(|| schema.hashed(name.as_bytes())) else {
            return Err(self.refuse("bad_feature", format!("the feature `{name}` is unknown to the model")));
        };
        self.place(place, value)?;
        if column.is_none()
            && self.context.learning
            && name.len() <= self.room
            && !(self.context.has_name)(place)
        {
            self.room -= name.len();
            self.parsed.names.push((place, name.into()));
        }
        Ok(())
    }

    fn place(&mut self, place: u32, value: f64) -> Result<(), Refusal> {
        if place >= self.context.limit {
            return Err(self.refuse(
                "bad_feature",
                format!(
                    "the feature {place} is not below {}: the model allows no more (dimension, or the memory allowed \
                     for a model)",
                    self.context.limit
                ),
            ));
        }
        if value != 0.0 {
            // Told at once: a hostile body has room for millions.
            let most = self.context.most_features;
            if self.parsed.block.indices.len() - self.start() >= most {
                return Err(self.refuse(
                    "too_many_features",
                    format!("the example has more than {most} features, which is all that is allowed (--max-features)"),
                ));
            }
            self.parsed.block.indices.push(place);
            self.parsed.block.values.push(value);
        }
        Ok(())
    }

    /// Where the row that is being made begins.
    fn start(&self) -> usize {
        self.parsed.block.offsets.last().copied().unwrap_or(0)
    }

    /// Ends the row that is being made.
    fn end(&mut self, space: Space, label: Label, weight: f64) -> Result<(), Refusal> {
        let start = self.start();
        match self.parsed.space {
            Some(before) if before != space => {
                return Err(self.refuse(
                    "other_features",
                    format!("the example has {}, and those before it have {}", space.words(), before.words()),
                ));
            }
            _ => self.parsed.space = Some(space),
        }
        if self.context.learning && label == Label::Missing {
            return Err(self.refuse("no_label", "the example has no `label`, expected a number or a name"));
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(self.refuse(
                "bad_weight",
                format!("the `weight` is {weight}, expected a finite number not below 0"),
            ));
        }
        let block = &mut self.parsed.block;
        block.settle(start, &mut self.scratch).map_err(|m| Refusal::bad("bad_feature", m).at(block.len()))?;
        if weight != 1.0 && block.weights.is_empty() {
            block.weights.resize(block.len(), 1.0);
        }
        block.offsets.push(block.indices.len());
        if weight != 1.0 || !block.weights.is_empty() {
            block.weights.push(weight);
        }
        block.raw_labels.push(label);
        Ok(())
    }
}
