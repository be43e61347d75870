//! Model files: everything that is needed to predict, to go on learning and to certify, in one
//! versioned and checksummed file.

mod container;
mod reading;

pub use reading::Reading;

use crate::engine::{Config, Engine, Snapshot};
use crate::error::{Error, Result};
use crate::example::LabelMap;
use crate::example::hash::LARGEST_BITS;
use crate::example::names::NameTable;
use crate::learner;
use crate::loss::{self, Task};
use crate::parameter::Parameters;
use crate::regret::ledger::Extra;
use crate::regret::{Book, Ledger};
use crate::round::{Saved, Vector};
use container::{Container, Section};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A model and how its examples were read.
pub struct Model {
    /// The learner, its loss and its ledger.
    pub engine: Engine,
    /// How examples were read.
    pub reading: Reading,
    /// What the labels mean.
    pub labels: LabelMap,
    /// Hashed names seen.
    pub names: NameTable,
}

#[derive(Serialize, Deserialize)]
struct Base {
    book: Book,
    extra: Extra,
}

impl Model {
    /// The header alone, for people and programs: what the model is.
    pub fn header(&self) -> Map<String, Value> {
        self.container().header
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes()
    }

    fn container(&self) -> Container {
        let snapshot = self.engine.snapshot();
        let saved = self.engine.machine().save();
        let mut sections = Vec::new();
        let mut put = |name: &str, vector: &Vector| {
            let numbers = vector.iter().collect();
            sections.push((name.to_owned(), Section::Numbers(numbers)));
        };
        for (name, vector) in &saved.fields {
            put(&format!("feature.{name}"), vector);
        }
        if let Some((vector, _)) = &snapshot.origin {
            put("origin", vector);
        }
        if let Some(base) = &snapshot.base {
            put("base", &base.s);
        }
        if let Some(latest) = &snapshot.latest {
            put("latest", &latest.s);
        }
        for (name, numbers) in &saved.arrays {
            sections.push((format!("array.{name}"), Section::Numbers(numbers.clone())));
        }
        let names: Vec<(u32, &str)> = self.names.iter().collect();
        sections.push(("names".to_owned(), Section::Text(json!(names).to_string())));
        let arrays: Vec<&str> = saved.arrays.iter().map(|(n, _)| n.as_str()).collect();
        let fields: Vec<&str> = saved.fields.iter().map(|(n, _)| n.as_str()).collect();
        let header = json!({
            "program": concat!("noregret ", env!("CARGO_PKG_VERSION")),
            "version": container::VERSION,
            "learner": self.engine.config().learner,
            "loss": self.engine.config().loss,
            "examples": self.engine.examples(),
            "dimension": self.engine.dimension(),
            "passes": snapshot.passes,
            "config": self.engine.config(),
            "reading": self.reading,
            "labels": self.labels,
            "fields": fields,
            "arrays": arrays,
            "state": saved.scalars,
            "book": snapshot.book,
            "tally": snapshot.tally,
            "origin": snapshot.origin.map(|(_, extra)| extra),
            "base": snapshot.base.map(|l| Base { book: l.book, extra: l.extra }),
            "latest": snapshot.latest.map(|l| Base { book: l.book, extra: l.extra }),
        });
        let Value::Object(header) = header else { unreachable!("json! made an object") };
        Container { header, sections }
    }

    /// Whether [`Model::save`] will find its folder, and may write there.
    pub fn can_save(path: &Path) -> Result<()> {
        container::can_write(path).map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Writes the file: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        container::write_atomically(path, &self.to_bytes())
            .map_err(|source| Error::Io { path: path.to_owned(), source })
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = container::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes).map_err(|message| Error::Model { path: path.to_owned(), message })
    }

    /// Reads the bytes of a file; a message says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let mut container = Container::from_bytes(bytes)?;
        let config: Config = container.header("config")?;
        let bias = config.bias;
        countable(&Value::Object(container.header.clone()))?;
        acceptable(&config)?;
        let mut engine = Engine::new(config).map_err(|e| format!("its settings: {e}"))?;
        let dimension: usize = container.header("dimension")?;
        let vector = |mut features: Vec<f64>, name: &str, whole: bool| {
            // A vector that was put aside earlier does not know the features that came later.
            let features_alone = features.len().checked_sub(usize::from(bias));
            if features_alone.is_none_or(|d| d > dimension || (whole && d < dimension)) {
                return Err(format!("section `{name}` does not have one number per feature"));
            }
            let bias = if bias { features.pop() } else { None };
            Ok(Vector { features, bias })
        };
        let mut fields = Vec::new();
        for name in container.header::<Vec<String>>("fields")? {
            let section = format!("feature.{name}");
            fields.push((name, vector(container.take_numbers(&section)?, &section, true)?));
        }
        let mut arrays = Vec::new();
        for name in container.header::<Vec<String>>("arrays")? {
            let numbers = container.take_numbers(&format!("array.{name}"))?;
            arrays.push((name, numbers));
        }
        let origin = match container.header::<Option<Extra>>("origin")? {
            Some(extra) => Some((vector(container.take_numbers("origin")?, "origin", false)?, extra)),
            None => None,
        };
        let mut ledger = |name: &str| {
            let Some(Base { book, extra }) = container.header::<Option<Base>>(name)? else { return Ok(None) };
            let s = vector(container.take_numbers(name)?, name, false)?;
            Ok::<_, String>(Some(Ledger { book, s, extra, own: Vec::new() }))
        };
        let (base, latest) = (ledger("base")?, ledger("latest")?);
        let scalars = container.header("state")?;
        let snapshot = Snapshot {
            book: container.header("book")?,
            tally: container.header("tally")?,
            base,
            latest,
            origin,
            passes: container.header("passes")?,
        };
        engine.restore(snapshot, Saved { scalars, fields, arrays })?;
        let mut names = NameTable::new();
        let listed = container.take_text("names")?;
        let listed: Vec<(u32, Box<str>)> =
            serde_json::from_str(&listed).map_err(|e| format!("section `names`: {e}"))?;
        for (index, name) in listed {
            names.insert(index, name);
        }
        let labels: LabelMap = container.header("labels")?;
        let task = if labels == LabelMap::Real { Task::Real } else { Task::Binary };
        if task != engine.loss().entry().task || task != engine.tally().task() {
            return Err("its labels do not fit its loss: the file is damaged".to_owned());
        }
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

/// Whether the parameters of learner and loss are ones that could have been given.
fn acceptable(config: &Config) -> Result<(), String> {
    let lists = [
        (&config.parameters, learner::find(&config.learner).map(|e| e.parameters)),
        (&config.loss_parameters, loss::find(&config.loss).map(|e| e.parameters)),
    ];
    for (given, known) in lists {
        let known = known.map_err(|e| format!("its settings: {e}; a newer noregret may know it"))?;
        let given: Vec<(String, String)> = given.0.iter().map(|(n, v)| (n.clone(), v.to_string())).collect();
        let given = given.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        Parameters::check("the model", known, given).map_err(|e| format!("its settings: {e}"))?;
    }
    Ok(())
}
