//! The walk through one object: every number, string and truth becomes a feature, the label or the
//! weight, without a tree being built.

use std::fmt;
use std::io::Write;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Jsonl;
use crate::example::Label;
use crate::example::hash::murmur3;
use crate::example::number::Number;
use crate::example::text::{self, Row};

/// How deep objects and arrays may be nested.
const DEEPEST: usize = 64;

/// Memory for the walk, kept from one record to the next.
#[derive(Default)]
pub(super) struct Buffers {
    /// The name of where the walk is: keys and positions joined by `.`.
    path: Vec<u8>,
    /// The keys of the objects that the walk is in, one after the other.
    keys: Vec<u8>,
    /// Where each key is in `keys`.
    places: Vec<Range<usize>>,
    /// Hashes of the keys of one object.
    hashes: Vec<u32>,
}

pub(super) struct Walk<'a, 'r, V> {
    decoder: &'a Jsonl,
    row: &'a mut Row<'r, V>,
    buffers: &'a mut Buffers,
    depth: usize,
    label: Option<Label>,
    weight: Option<f64>,
}

/// What stands at the end of a path.
enum Scalar<'s, V> {
    /// The number as f64 and as the kind that values are read as.
    Number(f64, V),
    Text(&'s str),
    Truth(bool),
}

impl<'a, 'r, V: Number> Walk<'a, 'r, V> {
    pub(super) fn new(decoder: &'a Jsonl, row: &'a mut Row<'r, V>, buffers: &'a mut Buffers) -> Self {
        buffers.path.clear();
        buffers.keys.clear();
        buffers.places.clear();
        Self { decoder, row, buffers, depth: 0, label: None, weight: None }
    }

    /// Walks through the whole of a record.
    pub(super) fn object<'de, D: Deserializer<'de>>(&mut self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(Node(self))
    }

    /// The label and the weight, where the record has them.
    pub(super) fn said(self) -> (Option<Label>, Option<f64>) {
        (self.label, self.weight)
    }

    fn at(&self, key: Option<&[u8]>) -> bool {
        key == Some(&self.buffers.path[..])
    }

    fn path(&self) -> String {
        text::excerpt(&self.buffers.path)
    }

    fn scalar(&mut self, scalar: &Scalar<'_, V>) -> Result<(), String> {
        if self.at(self.decoder.label.as_deref()) {
            return self.set_label(scalar);
        }
        if self.at(self.decoder.weight.as_deref()) {
            return self.set_weight(scalar);
        }
        let plan = &self.decoder.plan;
        let mut factors = 0;
        if !plan.is_empty() {
            let names = plan.matches(&self.buffers.path);
            self.row.parts.meet(names);
            if plan.leaves_out(names) {
                return Ok(());
            }
            factors = plan.factors(names);
        }
        match *scalar {
            Scalar::Number(_, value) if value.is_finite() => self.value(value, factors),
            Scalar::Number(wide, _) => {
                Err(format!("the value {wide:e} of `{}` is {}", self.path(), text::beyond::<V>()))
            }
            Scalar::Truth(truth) => self.value(if truth { V::ONE } else { V::ZERO }, factors),
            Scalar::Text("") => Ok(()),
            Scalar::Text(text) => self.word(text, factors),
        }
    }

    fn set_label(&mut self, scalar: &Scalar<'_, V>) -> Result<(), String> {
        if self.label.is_some() {
            return Err(format!("the label `{}` is there twice", self.path()));
        }
        let label = match *scalar {
            Scalar::Number(value, _) => Label::Number(value),
            Scalar::Truth(truth) => Label::Number(f64::from(u8::from(truth))),
            Scalar::Text(text) => text::label(text.as_bytes())?,
        };
        self.label = (label != Label::Missing).then_some(label);
        Ok(())
    }

    fn set_weight(&mut self, scalar: &Scalar<'_, V>) -> Result<(), String> {
        if self.weight.is_some() {
            return Err(format!("the importance weight `{}` is there twice", self.path()));
        }
        match *scalar {
            Scalar::Number(value, _) if value >= 0.0 => self.weight = Some(value),
            _ => {
                return Err(format!("the importance weight `{}` is not a number of at least 0", self.path()));
            }
        }
        Ok(())
    }

    /// A feature with the name of the path, and a factor that these names mean.
    fn value(&mut self, value: V, factors: u64) -> Result<(), String> {
        if value == V::ZERO {
            return Ok(());
        }
        let path = &self.buffers.path;
        let columns = &self.decoder.columns;
        if let Some(&place) = if columns.is_empty() { None } else { columns.get(&path[..]) } {
            self.decoder.limit.check(place, 0).map_err(|fault| fault.message)?;
            self.row.place(place, value);
            self.row.parts.add(factors, (place, value), true, |text| text.extend_from_slice(path));
            return Ok(());
        }
        let Some(index) = self.decoder.schema.hashed(path) else {
            return Err(format!("the key `{}` is unknown to the model", self.path()));
        };
        self.decoder.limit.check(index, 0).map_err(|fault| fault.message)?;
        self.row.push(index, value, |text| text.clone_from(path));
        self.row.parts.add(factors, (index, value), true, |text| text.extend_from_slice(path));
        Ok(())
    }

    /// The feature `path=word`.
    fn word(&mut self, word: &str, factors: u64) -> Result<(), String> {
        let name = &mut *self.row.text;
        name.clear();
        name.extend_from_slice(&self.buffers.path);
        name.push(b'=');
        name.extend_from_slice(word.as_bytes());
        let Some(index) = self.decoder.schema.hashed(name) else {
            return Err(format!("`{}` is not a number, and the model has no place for text", self.path()));
        };
        self.decoder.limit.check(index, 0).map_err(|fault| fault.message)?;
        self.row.push(index, V::ONE, |_| {});
        let Row { parts, text, .. } = &mut *self.row;
        parts.add(factors, (index, V::ONE), false, |name| name.extend_from_slice(text));
        Ok(())
    }

    /// Goes into an object or array, and says how long the path is there.
    fn enter<E: Error>(&mut self) -> Result<usize, E> {
        for (key, what) in [(&self.decoder.label, "label"), (&self.decoder.weight, "importance weight")] {
            if self.depth > 0 && self.at(key.as_deref()) {
                let path = self.path();
                return Err(E::custom(format!("the {what} `{path}` is an object or array")));
            }
        }
        if self.depth == DEEPEST {
            return Err(E::custom(format!("nested deeper than {DEEPEST} levels")));
        }
        self.depth += 1;
        if self.depth > 1 {
            self.buffers.path.push(b'.');
        }
        Ok(self.buffers.path.len())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether two keys of the object whose keys begin at `first` are the same; forgets them.
    fn repeated(&mut self, first: usize) -> Option<String> {
        let Buffers { keys, places, hashes, .. } = &mut *self.buffers;
        let mine = &mut places[first..];
        let begin = mine.first()?.start;
        let mut twice = None;
        hashes.clear();
        hashes.extend(mine.iter().map(|place| murmur3(&keys[place.clone()], 0)));
        hashes.sort_unstable();
        // Keys that are the same have the same hash, which is cheaper to sort.
        if !hashes.is_sorted_by(|a, b| a < b) {
            mine.sort_unstable_by(|a, b| keys[a.clone()].cmp(&keys[b.clone()]));
            let pair = mine.windows(2).find(|pair| keys[pair[0].clone()] == keys[pair[1].clone()]);
            twice = pair.map(|pair| text::excerpt(&keys[pair[0].clone()]));
        }
        places.truncate(first);
        keys.truncate(begin);
        twice
    }
}

/// A value anywhere in the record.
struct Node<'w, 'a, 'r, V>(&'w mut Walk<'a, 'r, V>);

impl<'de, V: Number> DeserializeSeed<'de> for Node<'_, '_, '_, V> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, V: Number> Visitor<'de> for Node<'_, '_, '_, V> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<(), E> {
        self.0.scalar(&Scalar::Truth(truth)).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.scalar(&Scalar::Number(value as f64, V::from_i64(value))).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.scalar(&Scalar::Number(value as f64, V::from_u64(value))).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.scalar(&Scalar::Number(value, V::from_f64(value))).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.scalar(&Scalar::Text(text)).map_err(E::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let walk = self.0;
        let base = walk.enter()?;
        for position in 0_u64.. {
            walk.buffers.path.truncate(base);
            // Writing to a vector cannot fail.
            let _ = write!(walk.buffers.path, "{position}");
            if members.next_element_seed(Node(walk))?.is_none() {
                break;
            }
        }
        walk.leave();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let walk = self.0;
        let base = walk.enter()?;
        let first = walk.buffers.places.len();
        loop {
            walk.buffers.path.truncate(base);
            if members.next_key_seed(Key(walk.buffers))?.is_none() {
                break;
            }
            members.next_value_seed(Node(walk))?;
        }
        walk.leave();
        match walk.repeated(first) {
            Some(key) => Err(A::Error::custom(format!("the key `{key}` is there twice"))),
            None => Ok(()),
        }
    }
}

/// A key: goes to the end of the path, and among the keys of its object.
struct Key<'b>(&'b mut Buffers);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        let Buffers { path, keys, places, .. } = self.0;
        path.extend_from_slice(key.as_bytes());
        let from = keys.len();
        keys.extend_from_slice(key.as_bytes());
        places.push(from..keys.len());
        Ok(())
    }
}
