//! The label of an example.

use noregret::example::Label;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

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
