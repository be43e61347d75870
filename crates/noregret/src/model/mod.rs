//! Model files: everything that is needed to predict, to go on learning and to certify, in one
//! versioned and checksummed file.

mod container;
mod engine;
mod multiclass;
mod reading;

pub use reading::Reading;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::example::LabelMap;
use crate::example::hash::LARGEST_BITS;
use crate::example::names::NameTable;
use crate::multiclass::Pupil;
use container::{Container, Section};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A model and how its examples were read.
pub struct ModelOf<E> {
    /// Whoever learns, with its ledger.
    pub engine: E,
    /// How examples were read.
    pub reading: Reading,
    /// What the labels mean.
    pub labels: LabelMap,
    /// Hashed names seen.
    pub names: NameTable,
}

/// A model of one score: two classes, or numbers.
pub type Model = ModelOf<Engine>;

/// A model of one score, or of several classes.
pub type AnyModel = ModelOf<Pupil>;

/// What a model file can hold.
pub trait Kept: Sized {
    /// What stands in the header; longer lists of numbers go to the sections.
    #[doc(hidden)]
    fn put(&self, sections: &mut Sections) -> Map<String, Value>;
    /// The same way back; a message says what is wrong. The labels must fit.
    #[doc(hidden)]
    fn take(container: &mut Header, labels: &LabelMap) -> Result<Self, String>;
}

/// The sections of a file that is being written.
#[derive(Default)]
pub struct Sections(Vec<(String, Section)>);

/// A file that is being read.
pub struct Header(Container);

impl Kept for Engine {
    fn put(&self, sections: &mut Sections) -> Map<String, Value> {
        engine::put(self, "", sections)
    }

    fn take(container: &mut Header, labels: &LabelMap) -> Result<Self, String> {
        if container.0.header.get("multiclass").is_some_and(|m| !m.is_null()) {
            return Err("the model has several classes, and this needs one of two classes or of numbers; \
                        use it with `predict`, `inspect` or `learn --resume`"
                .to_owned());
        }
        let header = Value::Object(container.0.header.clone());
        let engine = engine::take(&header, "", &mut container.0)?;
        engine::fits(&engine, labels).map(|()| engine)
    }
}

impl Kept for Pupil {
    fn put(&self, sections: &mut Sections) -> Map<String, Value> {
        match self {
            Self::One(engine) => engine.put(sections),
            Self::Many(multiclass) => multiclass::put(multiclass, sections),
        }
    }

    fn take(container: &mut Header, labels: &LabelMap) -> Result<Self, String> {
        if container.0.header.get("multiclass").is_some_and(|m| !m.is_null()) {
            return Ok(Self::Many(Box::new(multiclass::take(&mut container.0, labels)?)));
        }
        Ok(Self::One(Box::new(Engine::take(container, labels)?)))
    }
}

impl<E: Kept> ModelOf<E> {
    /// The header alone, for people and programs: what the model is.
    pub fn header(&self) -> Map<String, Value> {
        self.container().header
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes()
    }

    /// The same, if they can be read back: an error names the section whose numbers have left their range.
    pub fn to_sound_bytes(&self) -> Result<Vec<u8>> {
        let container = self.container();
        if let Some(section) = container.unsound() {
            return Err(Error::Diverged(format!(
                "the model cannot be saved: `{section}` holds a number that is not finite, and what stands in its place is \
                 left as it is; scale the labels, weights or features, or choose another learner"
            )));
        }
        Ok(container.to_bytes())
    }

    fn container(&self) -> Container {
        let mut sections = Sections::default();
        let mut header = self.engine.put(&mut sections);
        let Sections(mut sections) = sections;
        let names: Vec<(u32, &str)> = self.names.iter().collect();
        sections.push(("names".to_owned(), Section::Text(json!(names).to_string())));
        let mut say = |key: &str, value: Value| header.insert(key.to_owned(), value);
        say("program", json!(concat!("noregret ", env!("CARGO_PKG_VERSION"))));
        say("version", json!(container::VERSION));
        say("reading", json!(self.reading));
        say("labels", json!(self.labels));
        Container { header, sections }
    }

    /// Whether [`ModelOf::save`] will find its folder, and may write there.
    pub fn can_save(path: &Path) -> Result<()> {
        container::can_write(path).map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Writes the file: whole or not at all, and only what can be read back.
    pub fn save(&self, path: &Path) -> Result<()> {
        container::write_atomically(path, &self.to_sound_bytes()?)
            .map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = container::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes).map_err(|message| Error::Model { path: path.to_owned(), message })
    }

    /// Reads the bytes of a file; a message says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let container = Container::from_bytes(bytes)?;
        countable(&Value::Object(container.header.clone()))?;
        let labels: LabelMap = container.header("labels")?;
        let mut header = Header(container);
        let engine = E::take(&mut header, &labels)?;
        let Header(mut container) = header;
        let listed = container.take_text("names")?;
        let listed: Vec<(u32, Box<str>)> =
            serde_json::from_str(&listed).map_err(|e| format!("section `names`: {e}"))?;
        let names = listed.into_iter().collect();
        let reading: Reading = container.header("reading")?;
        for bits in [reading.bits, reading.schema.bits].into_iter().flatten() {
            if !(1..=LARGEST_BITS).contains(&bits) {
                return Err(format!("its features are hashed to {bits} bits, expected 1 to {LARGEST_BITS}"));
            }
        }
        Ok(Self { engine, reading, labels, names })
    }
}

/// Whether every whole number is one that can be counted on from: below 2^53.
fn countable(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(n) if n.as_u64().is_some_and(|n| n > 1 << 53) => {
            Err(format!("the number {n} in the header is no possible count: the file is damaged"))
        }
        Value::Array(list) => list.iter().try_for_each(countable),
        Value::Object(map) => map.values().try_for_each(countable),
        _ => Ok(()),
    }
}
