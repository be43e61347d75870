//! One engine in a model file: its part of the header, and its sections under a prefix.

use super::Sections;
use super::container::{Container, Section};
use crate::engine::{Config, Engine, Snapshot};
use crate::example::LabelMap;
use crate::learner;
use crate::loss::{self, Task};
use crate::parameter::Parameters;
use crate::regret::blocks::Block;
use crate::regret::ledger::Extra;
use crate::regret::{Blocks, Book, Ledger};
use crate::round::{Saved, Vector};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
struct Base {
    book: Book,
    extra: Extra,
}

/// A block of the ledger; `start` says whether there is a section with the `S` that it began at.
#[derive(Serialize, Deserialize)]
struct Part {
    book: Book,
    start: bool,
}

/// Puts the vectors into sections and gives the rest.
pub(super) fn put(engine: &Engine, prefix: &str, sections: &mut Sections) -> Map<String, Value> {
    let snapshot = engine.snapshot();
    let saved = engine.machine().save();
    let mut put = |name: &str, numbers: Vec<f64>| {
        sections.0.push((format!("{prefix}{name}"), Section::Numbers(numbers)));
    };
    for (name, vector) in &saved.fields {
        put(&format!("feature.{name}"), vector.iter().collect());
    }
    if let Some((vector, _)) = &snapshot.origin {
        put("origin", vector.iter().collect());
    }
    for (name, ledger) in [("base", &snapshot.base), ("latest", &snapshot.latest)] {
        if let Some(ledger) = ledger {
            put(name, ledger.s.iter().collect());
        }
    }
    for (k, block) in snapshot.blocks.iter().flat_map(Blocks::iter).enumerate() {
        if let Some(start) = &block.start {
            put(&format!("block.{k}"), start.iter().collect());
        }
    }
    for (name, numbers) in &saved.arrays {
        put(&format!("array.{name}"), numbers.clone());
    }
    let listed = |blocks: &Blocks| -> Vec<Part> {
        blocks.iter().map(|block| Part { book: block.book.clone(), start: block.start.is_some() }).collect()
    };
    let arrays: Vec<&str> = saved.arrays.iter().map(|(n, _)| n.as_str()).collect();
    let fields: Vec<&str> = saved.fields.iter().map(|(n, _)| n.as_str()).collect();
    let mut header = json!({
        "learner": engine.config().learner,
        "loss": engine.config().loss,
        "examples": engine.examples(),
        "dimension": engine.dimension(),
        "passes": snapshot.passes,
        "config": engine.config(),
        "fields": fields,
        "arrays": arrays,
        "state": saved.scalars,
        "book": snapshot.book,
        "blocks": snapshot.blocks.as_ref().map(listed),
        "tally": snapshot.tally,
        "origin": snapshot.origin.map(|(_, extra)| extra),
        "base": snapshot.base.map(|l| Base { book: l.book, extra: l.extra }),
        "latest": snapshot.latest.map(|l| Base { book: l.book, extra: l.extra }),
    });
    if engine.late() > 0 {
        header["late"] = json!(engine.late());
    }
    if engine.averaged_from() > 0 {
        header["averaged_from"] = json!(engine.averaged_from());
    }
    let Value::Object(header) = header else { unreachable!("json! made an object") };
    header
}

/// A value of a header, as its type.
pub(super) fn value<T: DeserializeOwned>(header: &Value, key: &str) -> Result<T, String> {
    serde_json::from_value(header[key].clone()).map_err(|e| format!("`{key}` in the header: {e}"))
}

/// The way back from [`put`].
pub(super) fn take(header: &Value, prefix: &str, container: &mut Container) -> Result<Engine, String> {
    let config: Config = value(header, "config")?;
    let bias = config.bias;
    acceptable(&config)?;
    let mut engine = Engine::new(config).map_err(|e| format!("its settings: {e}"))?;
    let dimension: usize = value(header, "dimension")?;
    let vector = |mut features: Vec<f64>, name: &str, whole: bool| {
        // A vector that was put aside earlier does not know the features that came later.
        let features_alone = features.len().checked_sub(usize::from(bias));
        if features_alone.is_none_or(|d| d > dimension || (whole && d < dimension)) {
            return Err(format!("section `{name}` does not have one number per feature"));
        }
        let bias = if bias { features.pop() } else { None };
        Ok(Vector { features, bias })
    };
    let mut section = |name: &str| container.take_numbers(&format!("{prefix}{name}"));
    let mut fields = Vec::new();
    for name in value::<Vec<String>>(header, "fields")? {
        let place = format!("feature.{name}");
        fields.push((name, vector(section(&place)?, &place, true)?));
    }
    let mut arrays = Vec::new();
    for name in value::<Vec<String>>(header, "arrays")? {
        let numbers = section(&format!("array.{name}"))?;
        arrays.push((name, numbers));
    }
    let origin = match value::<Option<Extra>>(header, "origin")? {
        Some(extra) => Some((vector(section("origin")?, "origin", false)?, extra)),
        None => None,
    };
    let blocks = match value::<Option<Vec<Part>>>(header, "blocks")? {
        None => None,
        Some(list) => {
            let mut blocks = Vec::new();
            for (k, Part { book, start }) in list.into_iter().enumerate() {
                let name = format!("block.{k}");
                let start = if start { Some(vector(section(&name)?, &name, false)?) } else { None };
                blocks.push(Block { book, start: start.map(Arc::new) });
            }
            Some(Blocks::from_list(blocks))
        }
    };
    let mut ledger = |name: &str| {
        let Some(Base { book, extra }) = value::<Option<Base>>(header, name)? else { return Ok(None) };
        let s = vector(section(name)?, name, false)?;
        Ok::<_, String>(Some(Ledger { book, s, extra, own: Vec::new() }))
    };
    let (base, latest) = (ledger("base")?, ledger("latest")?);
    let scalars = value(header, "state")?;
    let snapshot = Snapshot {
        blocks,
        book: value(header, "book")?,
        tally: value(header, "tally")?,
        base,
        latest,
        origin,
        passes: value(header, "passes")?,
    };
    engine.restore(snapshot, Saved { scalars, fields, arrays })?;
    engine.set_late(value::<Option<u64>>(header, "late")?.unwrap_or(0));
    engine.set_averaged_from(value::<Option<u64>>(header, "averaged_from")?.unwrap_or(0));
    Ok(engine)
}

/// Whether labels of this kind are the engine's.
pub(super) fn fits(engine: &Engine, labels: &LabelMap) -> Result<(), String> {
    let task = match labels {
        LabelMap::Real => Some(Task::Real),
        LabelMap::Binary { .. } => Some(Task::Binary),
        LabelMap::Classes(_) | LabelMap::OneVersusRest { .. } => None,
    };
    if task != Some(engine.loss().entry().task) || task != Some(engine.tally().task()) {
        return Err("its labels do not fit its loss: the file is damaged".to_owned());
    }
    Ok(())
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
