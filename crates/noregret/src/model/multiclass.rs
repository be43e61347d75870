//! Several classes in a model file: an engine for each under a prefix, or the matrices of a stacked model.

use super::Sections;
use super::container::{Container, Section};
use super::engine::{self, value};
use crate::engine::Engine;
use crate::example::{Classes, LabelMap};
use crate::multiclass::{self, Kept, Make, Multiclass, Ovr, Plane, Scalars, Scheme, Stacked, Tally};
use crate::regret::Book;
use serde_json::{Map, Value, json};

/// The prefix of the sections of a class; the classes not seen come after the last.
fn prefix(class: usize) -> String {
    format!("class.{class}.")
}

/// Puts the numbers into sections and gives the rest.
pub(super) fn put(model: &Multiclass, sections: &mut Sections) -> Map<String, Value> {
    let scheme = model.scheme();
    let config = scheme.config();
    let state = match scheme.kept() {
        Kept::Ovr(ovr) => {
            let engines = ovr.classes.iter().chain(&ovr.unseen).enumerate();
            let engines: Vec<Map<String, Value>> =
                engines.map(|(k, engine)| engine::put(engine, &prefix(k), sections)).collect();
            json!({"engines": engines})
        }
        Kept::Stacked(stacked) => {
            let (v, s) = stacked.planes();
            sections.0.push(("sum".to_owned(), Section::Numbers(v.iter().collect())));
            if let Some(s) = s {
                sections.0.push(("ledger".to_owned(), Section::Numbers(s.iter().collect())));
            }
            json!({"scalars": stacked.scalars, "book": stacked.book, "apart": s.is_some()})
        }
    };
    let header = json!({
        "learner": config.learner,
        "loss": config.loss,
        "examples": model.examples(),
        "dimension": model.dimension(),
        "passes": model.pass().max(model.passes_before()),
        "config": config,
        "multiclass": {
            "scheme": model.entry().name,
            "classes": model.classes(),
            "state": state,
            "tally": model.tally(),
        },
    });
    let Value::Object(header) = header else { unreachable!("json! made an object") };
    header
}

/// The way back from [`put`].
pub(super) fn take(container: &mut Container, labels: &LabelMap) -> Result<Multiclass, String> {
    let header = Value::Object(container.header.clone());
    let kept = &header["multiclass"];
    let LabelMap::Classes(labels) = labels else {
        return Err("its labels are not those of several classes: the file is damaged".to_owned());
    };
    let classes: usize = value(kept, "classes")?;
    if labels.names().len() != classes {
        return Err(format!("it has {classes} classes and {} labels", labels.names().len()));
    }
    let tally: Tally = value(kept, "tally")?;
    if !tally.fits(classes) {
        return Err("its counts are not those of its classes".to_owned());
    }
    let name: String = value(kept, "scheme")?;
    let entry = multiclass::find(&name).map_err(|e| format!("{e}; a newer noregret may know it"))?;
    let scheme: Box<dyn Scheme> = match entry.make {
        Make::Composed(_) => Box::new(ovr(&kept["state"], classes, labels, container)?),
        Make::Stacked(_, _, make) => {
            let model = make(value(&header, "config")?).map_err(|e| format!("its settings: {e}"))?;
            Box::new(stacked(model, &header, classes, container)?)
        }
    };
    if scheme.examples() != tally.rows() {
        return Err("its classes and its counts disagree on how many examples they have seen".to_owned());
    }
    Ok(Multiclass::from_parts(scheme, labels.is_closed(), tally))
}

fn ovr(state: &Value, classes: usize, labels: &Classes, container: &mut Container) -> Result<Ovr, String> {
    let headers: Vec<Value> = value(state, "engines")?;
    if headers.len() != classes + usize::from(!labels.is_closed()) {
        return Err("it does not have one learner for each class".to_owned());
    }
    let mut engines: Vec<Engine> = Vec::new();
    for (k, header) in headers.iter().enumerate() {
        let engine = engine::take(header, &prefix(k), container)?;
        if engine.tally().task() != engine.loss().entry().task {
            return Err("its counts do not fit its loss: the file is damaged".to_owned());
        }
        engines.push(engine);
    }
    let weight = |engine: &Engine| (engine.examples(), engine.whole_book().weight, engine.passes_before());
    let same = |e: &Engine| weight(e) == weight(&engines[0]) && e.config() == engines[0].config();
    if !engines.iter().all(same) {
        return Err("its classes have not seen the same examples: the file is damaged".to_owned());
    }
    let unseen = if labels.is_closed() { None } else { engines.pop() };
    Ovr::from_engines(engines, unseen).map_err(|e| format!("its settings: {e}"))
}

fn stacked(
    mut model: Stacked,
    header: &Value,
    classes: usize,
    container: &mut Container,
) -> Result<Stacked, String> {
    let bias = model.config().bias;
    let kept = &header["multiclass"]["state"];
    let dimension: usize = value(header, "dimension")?;
    let mut plane = |name: &str| {
        let numbers = container.take_numbers(name)?;
        let plane = Plane::from_numbers(&numbers, classes, bias).filter(|p| p.dimension() == dimension);
        plane.ok_or_else(|| format!("section `{name}` does not have one number per feature and class"))
    };
    let v = plane("sum")?;
    let s = if value(kept, "apart")? { Some(plane("ledger")?) } else { None };
    let scalars: Scalars = value(kept, "scalars")?;
    let book: Book = value(kept, "book")?;
    model.restore(v, s, scalars, book)?;
    Ok(model)
}
