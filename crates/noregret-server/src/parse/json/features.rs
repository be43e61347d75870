//! The features of an example: an object of names and values, with more of them below.

use super::Walk;
use crate::parse::LONGEST_PREFIX;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// How deep features may be nested.
const DEEPEST: usize = 64;

/// Something among the features: a value, or more of them below. The flag says that it is the whole.
pub(super) struct Node<'w, 'a>(pub(super) &'w mut Walk<'a>, pub(super) bool);

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
        if self.0.path.len() > LONGEST_PREFIX {
            let message = format!(
                "a name with more below it has {} bytes, expected at most {LONGEST_PREFIX}, the names above it included: \
                 use shorter names",
                self.0.path.len()
            );
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
