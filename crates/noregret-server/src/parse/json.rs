//! Examples as JSON, walked through without a tree being built.
//!
//! An example is `{"features": {name: number or text, ...}, "label": ..., "weight": ...}` or the same with
//! `"indices": [...], "values": [...]`; several are `{"examples": [...]}`.

mod features;
mod label;
mod quick;

pub use label::Said;

use super::{Context, Maker, NAMES_PER_BYTE, Parsed};
use crate::command::Space;
use crate::error::Refusal;
use features::Node;
use noregret::example::Label;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The examples of one JSON text.
pub fn body(context: &Context<'_>, text: &[u8]) -> Result<Parsed, Refusal> {
    let maker = read(Maker::new(context), text, true)?;
    if maker.is_empty() {
        return Err(Refusal::bad(
            "no_examples",
            "`examples` is empty, expected at least one example to learn or predict",
        ));
    }
    Ok(maker.parsed())
}

/// A line of a stream of examples. Blank lines are skipped.
pub fn line<'a>(maker: Maker<'a>, text: &[u8]) -> Result<Maker<'a>, Refusal> {
    if text.trim_ascii().is_empty() { Ok(maker) } else { read(maker, text, false) }
}

/// One example, or several where that is allowed.
fn read<'a>(mut maker: Maker<'a>, text: &[u8], several: bool) -> Result<Maker<'a>, Refusal> {
    maker.room = maker.room.saturating_add(NAMES_PER_BYTE * text.len());
    let mark = maker.mark();
    if quick::read(&mut maker, text, several).is_some() {
        return Ok(maker);
    }
    maker.go_back(mark);
    let mut walk = Walk::new(maker);
    walk.run(text, several)?;
    Ok(walk.maker)
}

struct Walk<'a> {
    maker: Maker<'a>,
    /// The name of where the walk is.
    path: String,
    depth: usize,
    refusal: Option<Refusal>,
}

/// The parts of one example, as they come.
#[derive(Default)]
struct Parts {
    features: bool,
    indices: Option<Vec<u32>>,
    values: Option<Vec<f64>>,
    label: Option<Label>,
    weight: Option<f64>,
}

impl<'a> Walk<'a> {
    fn new(maker: Maker<'a>) -> Self {
        Self { maker, path: String::new(), depth: 0, refusal: None }
    }

    fn run(&mut self, text: &[u8], several: bool) -> Result<(), Refusal> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let done = json.deserialize_any(Top(self, several)).and_then(|()| json.end());
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal);
        }
        done.map_err(|error| {
            let at = self.maker.len();
            let mut refusal = Refusal::bad("bad_json", format!("the JSON cannot be read: {error}"));
            if error.is_data() {
                refusal.code = "bad_shape";
                refusal.message = error.to_string();
            }
            if at > 0 { refusal.at(at) } else { refusal }
        })
    }

    /// Puts the refusal aside; serde has no room for it.
    fn stop<E: Error>(&mut self, refusal: Refusal) -> E {
        self.refusal.get_or_insert(refusal);
        E::custom("refused")
    }

    fn field<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        parts: &mut Parts,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let twice = match key {
            "features" => parts.features,
            "indices" => parts.indices.is_some(),
            "values" => parts.values.is_some(),
            "label" => parts.label.is_some(),
            "weight" => parts.weight.is_some(),
            _ => return Ok(false),
        };
        if twice {
            let refusal = self.maker.refuse("bad_shape", format!("the example has `{key}` twice"));
            return Err(self.stop(refusal));
        }
        match key {
            "features" => {
                parts.features = true;
                self.path.clear();
                map.next_value_seed(Node(self, true))?;
            }
            "indices" => parts.indices = Some(map.next_value()?),
            "values" => parts.values = Some(map.next_value()?),
            "weight" => parts.weight = Some(map.next_value::<Option<f64>>()?.unwrap_or(1.0)),
            _ => parts.label = Some(map.next_value::<Said>()?.0),
        }
        Ok(true)
    }

    fn end<E: Error>(&mut self, parts: Parts) -> Result<(), E> {
        let Parts { features, indices, values, label, weight } = parts;
        let space = match (features, indices, values) {
            (true, None, None) => Space::Names,
            (false, Some(indices), Some(values)) => {
                if let Err(refusal) = self.arrays(&indices, &values) {
                    return Err(self.stop(refusal));
                }
                Space::Numbers
            }
            (true, ..) => {
                let message = "the example has `features` and index arrays, expected one of the two";
                let refusal = self.maker.refuse("bad_shape", message);
                return Err(self.stop(refusal));
            }
            _ => {
                let message = "the example has no features: expected `features` (an object of names and values), or \
                               `indices` and `values` (two arrays)";
                let refusal = self.maker.refuse("bad_shape", message);
                return Err(self.stop(refusal));
            }
        };
        let ended = self.maker.end(space, label.unwrap_or(Label::Missing), weight.unwrap_or(1.0));
        ended.map_err(|refusal| self.stop(refusal))
    }

    fn arrays(&mut self, indices: &[u32], values: &[f64]) -> Result<(), Refusal> {
        if indices.len() != values.len() {
            return Err(self.maker.refuse(
                "bad_feature",
                format!("there are {} `indices` and {} `values`", indices.len(), values.len()),
            ));
        }
        for (&index, &value) in indices.iter().zip(values) {
            if !value.is_finite() {
                return Err(self.maker.refuse("bad_feature", format!("the value of {index} is not finite")));
            }
            self.maker.place(index, value)?;
        }
        Ok(())
    }
}

/// The whole of a text: one example, or several where that is allowed.
struct Top<'w, 'a>(&'w mut Walk<'a>, bool);

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an example `{\"features\": {...}, \"label\": ...}`")?;
        if self.1 { f.write_str(", or several `{\"examples\": [...]}`") } else { Ok(()) }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(walk, several) = self;
        let mut parts = Parts::default();
        let (mut single, mut examples) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "examples" if several && !examples => {
                    examples = true;
                    map.next_value_seed(List(walk))?;
                }
                "predict" if several => walk.maker.parsed.predict = map.next_value()?,
                "id" if several => walk.maker.parsed.id = Some(map.next_value()?),
                key => {
                    if !walk.field(key, &mut parts, &mut map)? {
                        let refusal = unknown(&walk.maker, key, several);
                        return Err(walk.stop(refusal));
                    }
                    single = true;
                }
            }
        }
        match (single, examples) {
            (true, true) => {
                let message = "expected either one example, or several in `examples`, not both";
                Err(walk.stop(Refusal::bad("bad_shape", message)))
            }
            (false, true) => Ok(()),
            _ => walk.end(parts),
        }
    }
}

fn unknown(maker: &Maker<'_>, key: &str, several: bool) -> Refusal {
    let key: String = key.chars().take(60).collect();
    let more = if several { ", or `examples`, `predict`, `id` for a request" } else { "" };
    maker.refuse(
        "unknown_key",
        format!("found the key `{key}`, expected `features`, `indices`, `values`, `label`, `weight`{more}"),
    )
}

/// The list of several.
struct List<'w, 'a>(&'w mut Walk<'a>);

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of examples")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(One(self.0))?.is_some() {}
        Ok(())
    }
}

/// One of several.
struct One<'w, 'a>(&'w mut Walk<'a>);

impl<'de> DeserializeSeed<'de> for One<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for One<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an example `{\"features\": {...}, \"label\": ...}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.0;
        let mut parts = Parts::default();
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if !walk.field(&key, &mut parts, &mut map)? {
                let refusal = unknown(&walk.maker, &key, false);
                return Err(walk.stop(refusal));
            }
        }
        walk.end(parts)
    }
}

#[cfg(test)]
mod tests;
