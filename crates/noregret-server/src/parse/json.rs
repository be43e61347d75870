//! Examples as JSON, walked through without a tree being built.
//!
//! An example is `{"features": {name: number or text, ...}, "label": ..., "weight": ...}` or the same with
//! `"indices": [...], "values": [...]`; several are `{"examples": [...]}`.

use super::{Context, Maker, Parsed};
use crate::command::Space;
use crate::error::Refusal;
use noregret::example::Label;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// How deep features may be nested.
const DEEPEST: usize = 64;

/// The examples of one JSON text.
pub fn body(context: &Context<'_>, text: &[u8]) -> Result<Parsed, Refusal> {
    let mut walk = Walk::new(Maker::new(context));
    walk.run(text, true)?;
    if walk.maker.is_empty() {
        return Err(Refusal::bad(
            "no_examples",
            "`examples` is empty, expected at least one example to learn or predict",
        ));
    }
    Ok(walk.maker.parsed())
}

/// A line of a stream of examples. Blank lines are skipped.
pub fn line<'a>(maker: Maker<'a>, text: &[u8]) -> Result<Maker<'a>, Refusal> {
    let mut walk = Walk::new(maker);
    if !text.trim_ascii().is_empty() {
        walk.run(text, false)?;
    }
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

/// Something among the features: a value, or more of them below. The flag says that it is the whole.
struct Node<'w, 'a>(&'w mut Walk<'a>, bool);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.1 { json.deserialize_map(self) } else { json.deserialize_any(self) }
    }
}

impl Node<'_, '_> {
    fn value<E: Error>(self, value: f64) -> Result<(), E> {
        let path = std::mem::take(&mut self.0.path);
        let done = self.0.maker.named(&path, value);
        self.0.path = path;
        done.map_err(|refusal| self.0.stop(refusal))
    }

    fn deeper<E: Error>(&mut self) -> Result<(), E> {
        self.0.depth += 1;
        if self.0.depth > DEEPEST {
            let message = format!("the features are nested deeper than {DEEPEST}");
            let refusal = self.0.maker.refuse("bad_feature", message);
            return Err(self.0.stop(refusal));
        }
        Ok(())
    }
}

/// Appends a key to the path.
struct Key<'w>(&'w mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.0.push_str(key);
        Ok(())
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.1 {
            "an object of names and values"
        } else {
            "a number, a text, a truth value, null, or more of them"
        })
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<(), E> {
        self.value(v)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<(), E> {
        self.value(v as f64)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<(), E> {
        self.value(v as f64)
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<(), E> {
        self.value(if v { 1.0 } else { 0.0 })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if text.is_empty() {
            return Ok(());
        }
        let length = self.0.path.len();
        self.0.path.push('=');
        self.0.path.push_str(text);
        let Self(walk, whole) = self;
        let done = Node(walk, whole).value(1.0);
        walk.path.truncate(length);
        done
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.deeper()?;
        let walk = self.0;
        let length = walk.path.len();
        loop {
            if !self.1 {
                walk.path.push('.');
            }
            if map.next_key_seed(Key(&mut walk.path))?.is_none() {
                break;
            }
            map.next_value_seed(Node(walk, false))?;
            walk.path.truncate(length);
        }
        walk.path.truncate(length);
        walk.depth -= 1;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.deeper()?;
        let walk = self.0;
        let length = walk.path.len();
        for k in 0usize.. {
            let _ = fmt::Write::write_fmt(&mut walk.path, format_args!(".{k}"));
            let more = list.next_element_seed(Node(walk, false))?;
            walk.path.truncate(length);
            if more.is_none() {
                break;
            }
        }
        walk.depth -= 1;
        Ok(())
    }
}

/// A label: a number, a truth value, a name, or null.
pub struct Said(pub Label);

impl<'de> serde::Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Said;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a label: a number, a truth value or a name")
            }
            fn visit_f64<E: Error>(self, y: f64) -> Result<Said, E> {
                Ok(Said(Label::Number(y)))
            }
            fn visit_u64<E: Error>(self, y: u64) -> Result<Said, E> {
                Ok(Said(Label::Number(y as f64)))
            }
            fn visit_i64<E: Error>(self, y: i64) -> Result<Said, E> {
                Ok(Said(Label::Number(y as f64)))
            }
            fn visit_bool<E: Error>(self, y: bool) -> Result<Said, E> {
                Ok(Said(Label::Number(f64::from(u8::from(y)))))
            }
            fn visit_str<E: Error>(self, y: &str) -> Result<Said, E> {
                if y.is_empty() {
                    return Err(E::custom("the label is an empty text, expected a number or a name"));
                }
                Ok(Said(Label::Name(y.into())))
            }
            fn visit_unit<E: Error>(self) -> Result<Said, E> {
                Ok(Said(Label::Missing))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Err(A::Error::custom("the label is an object, expected a number, a truth value or a name"))
            }
        }
        json.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noregret::example::names::Schema;

    fn context(has_name: &dyn Fn(u32) -> bool) -> Context<'_> {
        Context {
            schema: Schema { columns: Vec::new(), bits: Some(18) },
            has_name,
            limit: 1 << 24,
            most_features: 5,
            learning: true,
        }
    }

    fn read(text: &str) -> Result<Parsed, Refusal> {
        body(&context(&|_| false), text.as_bytes())
    }

    #[test]
    fn both_shapes_become_rows() {
        let parsed = read(
            r#"{"features": {"t": 21.5, "city": "Rome", "no": null, "f": false}, "label": 1, "weight": 2}"#,
        )
        .unwrap();
        assert_eq!((parsed.block.len(), parsed.space), (1, Some(Space::Names)));
        assert_eq!(parsed.block.weights, [2.0]);
        let mut names: Vec<_> = parsed.names.iter().map(|(_, n)| &**n).collect();
        names.sort_unstable();
        assert_eq!(names, ["city=Rome", "f", "t"]);
        let parsed = read(r#"{"examples": [{"label": -1, "indices": [17, 3], "values": [0.5, 2]}, {"indices": [], "values": [], "label": "x"}]}"#).unwrap();
        assert_eq!(parsed.block.indices, [3, 17]);
        assert_eq!(parsed.block.values, [2.0, 0.5]);
        assert_eq!(parsed.block.raw_labels, [Label::Number(-1.0), Label::Name("x".into())]);
    }

    #[test]
    fn nested_names_are_joined_as_in_json_lines() {
        let parsed = read(r#"{"features": {"a": {"b": 1, "c": [2, "x"]}}, "label": 1}"#).unwrap();
        let mut names: Vec<_> = parsed.names.iter().map(|(_, n)| &**n).collect();
        names.sort_unstable();
        assert_eq!(names, ["a.b", "a.c.0", "a.c.1=x"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let code = |text: &str| {
            let refusal = read(text).map(drop).unwrap_err();
            assert_eq!(refusal.status.as_u16(), 400, "{refusal:?}");
            (refusal.code, refusal.example)
        };
        assert_eq!(code("[]").0, "bad_shape");
        assert_eq!(code("{").0, "bad_json");
        assert_eq!(code("1").0, "bad_shape");
        assert_eq!(code("{}").0, "bad_shape");
        assert_eq!(code(r#"{"examples": []}"#).0, "no_examples");
        assert_eq!(code(r#"{"examples": 3}"#).0, "bad_shape");
        assert_eq!(code(r#"{"features": [1], "label": 1}"#).0, "bad_shape");
        assert_eq!(code(r#"{"features": {}}"#), ("no_label", Some(0)));
        assert_eq!(code(r#"{"features": {}, "label": null}"#), ("no_label", Some(0)));
        assert_eq!(code(r#"{"features": {"a": 1e999}, "label": 1}"#).0, "bad_json");
        assert_eq!(code(r#"{"features": {}, "label": 1, "weight": -1}"#), ("bad_weight", Some(0)));
        assert_eq!(code(r#"{"features": {}, "label": 1, "extra": -1}"#), ("unknown_key", Some(0)));
        assert_eq!(code(r#"{"features": {}, "label": 1, "label": 1}"#), ("bad_shape", Some(0)));
        assert_eq!(code(r#"{"features": {}, "label": [1]}"#).0, "bad_shape");
        assert_eq!(code(r#"{"features": {}, "label": {}}"#).0, "bad_shape");
        assert_eq!(code(r#"{"indices": [1], "values": [], "label": 1}"#), ("bad_feature", Some(0)));
        assert_eq!(code(r#"{"indices": [99999999], "values": [1], "label": 1}"#), ("bad_feature", Some(0)));
        assert_eq!(code(r#"{"indices": [-1], "values": [1], "label": 1}"#).0, "bad_shape");
        assert_eq!(
            code(r#"{"features": {"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}, "label": 1}"#),
            ("too_many_features", Some(0))
        );
        let good = r#"{"features": {"a": 1}, "label": 1}"#;
        assert_eq!(
            code(&format!(r#"{{"examples": [{good}, {good}, {{"features": {{"a": 1}}}}]}}"#)),
            ("no_label", Some(2))
        );
        assert_eq!(code(&format!(r#"{{"examples": [{good}], "label": 1}}"#)).0, "bad_shape");
        let mixed = r#"{"examples": [{"features": {"a": 1}, "label": 1}, {"indices": [1], "values": [1], "label": 1}]}"#;
        assert_eq!(code(mixed), ("other_features", Some(1)));
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert_eq!(code(&format!(r#"{{"features": {deep}, "label": 1}}"#)).0, "bad_feature");
    }
}
