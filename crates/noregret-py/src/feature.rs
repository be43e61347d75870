//! Where features go: the columns of arrays are numbers, names have places as in the library's own formats.

use crate::borrowed::floats;
use crate::error::refuse;
use noregret::example::Block;
use noregret::example::format::{LARGEST_DIMENSION, Scratch};
use noregret::example::names::Schema;
use noregret::model::Reading;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashMap;

/// How deep dicts and lists may be nested, as in JSON lines.
const DEEPEST: usize = 64;

/// How many keys of the last dict are kept.
const MOST_KEYS: usize = 1 << 12;

/// How the features of a model are placed: fixed by the first thing that it meets.
pub(crate) enum Space {
    /// By number: arrays and matrices, and LIBSVM files.
    Numbers,
    /// By name: dicts and tables with named columns, CSV and JSON lines.
    Names(Names),
    /// In a way that only a file has.
    File(String),
}

/// Named features.
pub(crate) struct Names {
    pub(crate) schema: Schema,
    columns: HashMap<Box<str>, u32>,
}

impl Names {
    pub(crate) fn new(schema: Schema) -> Self {
        let columns = schema.columns.iter().map(|name| Box::from(name.as_str())).zip(0..).collect();
        Self { schema, columns }
    }

    /// The place of a name; whether it is hashed.
    pub(crate) fn place(&self, name: &str) -> Result<(u32, bool), String> {
        if !self.columns.is_empty()
            && let Some(&place) = self.columns.get(name)
        {
            return Ok((place, false));
        }
        match self.schema.hashed(name.as_bytes()) {
            Some(place) => Ok((place, true)),
            None => Err(format!("the feature `{name}` is unknown to the model")),
        }
    }
}

impl Space {
    /// That of a model; none if it has met nothing.
    pub(crate) fn of(reading: &Reading) -> Option<Self> {
        Some(match reading.format.as_str() {
            "" => return None,
            // Products of columns are made by the readers of files alone.
            format if !reading.selection.is_empty() => Self::File(format.to_owned()),
            "libsvm" if reading.bits.is_none() => Self::Numbers,
            "csv" | "tsv" | "jsonl" => Self::Names(Names::new(reading.schema.clone())),
            other => Self::File(other.to_owned()),
        })
    }

    /// The format of files whose features are placed like this, and the schema.
    pub(crate) fn reading(&self) -> (&str, Schema) {
        match self {
            Self::Numbers => ("libsvm", Schema::default()),
            Self::Names(names) if names.schema.columns.is_empty() => ("jsonl", names.schema.clone()),
            Self::Names(names) => ("csv", names.schema.clone()),
            Self::File(format) => (format, Schema::default()),
        }
    }

    pub(crate) fn numbers(&self) -> PyResult<()> {
        match self {
            Self::Numbers => Ok(()),
            Self::Names(_) => Err(refuse(
                "the model's features have names, and an array's have none: give it dicts or a table with \
                 named columns",
            )),
            Self::File(format) => Err(only_files(format)),
        }
    }

    pub(crate) fn names(&self) -> PyResult<&Names> {
        match self {
            Self::Names(names) => Ok(names),
            Self::Numbers => Err(refuse(
                "the model's features are numbered columns, and these have names: give it arrays or matrices",
            )),
            Self::File(format) => Err(only_files(format)),
        }
    }
}

fn only_files(format: &str) -> PyErr {
    refuse(format!(
        "the model was learned from {format}, whose features only such a file has: use learn_file, or the \
         command `noregret predict`"
    ))
}

/// The least index that is refused.
pub(crate) fn limit(dimension: Option<u32>) -> u32 {
    dimension.unwrap_or(LARGEST_DIMENSION)
}

/// Says that an index is too large.
pub(crate) fn beyond(index: u64, limit: u32) -> String {
    format!("the feature {index} is not below {limit}: say how many there may be with dimension=")
}

/// Memory to make rows of dicts in, kept from one row to the next.
#[derive(Default)]
pub(crate) struct Maker {
    pub(crate) block: Block<f64>,
    scratch: Scratch<f64>,
    path: String,
    /// The features of the row, in the dict's order.
    places: Vec<u32>,
    values: Vec<f64>,
    /// The keys of the last dict and their places: rows of a stream mostly have the same keys, as the very same
    /// objects, in the same order.
    keys: Vec<Option<(Py<PyString>, u32)>>,
    /// The places of the last row, and the order in which they ascend; whether no two are the same.
    last: Vec<u32>,
    order: Vec<u32>,
    ascending: Vec<u32>,
    distinct: bool,
    /// Whether the last dict had nothing but numbers other than 0 under the keys above, so that another with the
    /// same keys has the same places.
    plain: bool,
    seen: Seen,
    /// Hashed names told for the first time.
    pub(crate) fresh: Fresh,
}

impl Maker {
    pub(crate) fn clear(&mut self) {
        self.block.clear();
        self.fresh.clear();
    }

    /// Forgets the places of keys, which may have changed.
    pub(crate) fn forget(&mut self) {
        self.keys.clear();
        self.plain = false;
    }

    /// Appends a row. Names are remembered where `learning`.
    pub(crate) fn row(
        &mut self,
        names: &Names,
        x: &Bound<'_, PyDict>,
        limit: Option<u32>,
        learning: bool,
    ) -> PyResult<()> {
        let start = self.block.indices.len();
        if !self.same_keys(x) {
            self.plain = false;
            self.path.clear();
            self.places.clear();
            self.values.clear();
            self.dict(names, x, learning, 0)?;
            self.arrange(x.len());
        }
        self.block.indices.extend_from_slice(&self.ascending);
        self.block.values.extend(self.order.iter().map(|&k| self.values[k as usize]));
        if !self.distinct {
            // What falls on one place is summed.
            self.block.settle(start, &mut self.scratch).map_err(refuse)?;
        }
        self.block.offsets.push(self.block.indices.len());
        if let (Some(limit), Some(&last)) = (limit, self.block.indices[start..].last())
            && last >= limit
        {
            return Err(refuse(beyond(u64::from(last), limit)));
        }
        Ok(())
    }

    /// Takes the values of a dict whose keys are the very objects of the last one's, in the same order, if they are
    /// numbers other than 0; `false` otherwise.
    fn same_keys(&mut self, x: &Bound<'_, PyDict>) -> bool {
        if !self.plain || x.len() != self.last.len() {
            return false;
        }
        self.values.resize(self.last.len(), 0.0);
        let keys = self.keys.iter().map_while(|key| key.as_ref().map(|(key, _)| key));
        // Neither 0 nor infinite; what is tiny goes the long way too.
        floats(x, keys, &mut self.values) && self.values.iter().all(|value| value.is_normal())
    }

    /// Finds the order of the row's places, unless it is that of the row before.
    fn arrange(&mut self, items: usize) {
        if self.places != self.last {
            self.last.clone_from(&self.places);
            self.order.clear();
            self.order.extend(0..self.last.len() as u32);
            self.order.sort_unstable_by_key(|&k| (self.last[k as usize], k));
            self.ascending.clear();
            self.ascending.extend(self.order.iter().map(|&k| self.last[k as usize]));
            self.distinct = self.ascending.windows(2).all(|pair| pair[0] < pair[1]);
        }
        let known = self.keys.iter().take(items).map(|key| key.as_ref().map(|(_, place)| *place));
        self.plain = self.keys.len() >= items && known.eq(self.last.iter().map(|&place| Some(place)));
    }

    fn dict(&mut self, names: &Names, x: &Bound<'_, PyDict>, learning: bool, depth: usize) -> PyResult<()> {
        for (position, (key, value)) in x.iter().enumerate() {
            if depth == 0
                && let (Ok(key), Ok(value)) = (key.cast_exact::<PyString>(), value.cast_exact::<PyFloat>())
            {
                // What nearly all are.
                let value = value.value();
                match self.keys.get(position) {
                    Some(Some((known, place))) if known.is(key) && value.is_finite() => {
                        if value != 0.0 {
                            self.places.push(*place);
                            self.values.push(value);
                        }
                    }
                    _ => self.new_key(names, position, key, value, learning)?,
                }
                continue;
            }
            let key = key.str()?;
            self.member(names, key.to_str()?, &value, learning, depth)?;
        }
        Ok(())
    }

    /// A number under a key that did not stand at this position in the last dict.
    fn new_key(
        &mut self,
        names: &Names,
        position: usize,
        key: &Bound<'_, PyString>,
        value: f64,
        learning: bool,
    ) -> PyResult<()> {
        let name = key.to_str()?;
        let place = self.number(names, name, value, learning)?;
        // A name is told the first time it is learned; only then its place may be taken without looking.
        if learning && position < MOST_KEYS {
            if position >= self.keys.len() {
                self.keys.resize_with(position + 1, || None);
            }
            self.keys[position] = Some((key.clone().unbind(), place));
        }
        Ok(())
    }

    /// One value under a key, below the path so far.
    fn member(
        &mut self,
        names: &Names,
        key: &str,
        value: &Bound<'_, PyAny>,
        learning: bool,
        depth: usize,
    ) -> PyResult<()> {
        let length = self.path.len();
        if depth > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let done = self.value(names, value, learning, depth);
        self.path.truncate(length);
        done
    }

    fn value(
        &mut self,
        names: &Names,
        value: &Bound<'_, PyAny>,
        learning: bool,
        depth: usize,
    ) -> PyResult<()> {
        if value.is_none() {
            return Ok(());
        }
        if value.is_instance_of::<PyFloat>()
            || value.is_instance_of::<PyInt>()
            || value.is_instance_of::<PyBool>()
        {
            let path = std::mem::take(&mut self.path);
            let done =
                value.extract().and_then(|number| self.number(names, &path, number, learning).map(drop));
            self.path = path;
            return done;
        }
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_str()?;
            if text.is_empty() {
                return Ok(());
            }
            let name = format!("{}={text}", self.path);
            return self.number(names, &name, 1.0, learning).map(drop);
        }
        if depth + 1 >= DEEPEST {
            return Err(refuse(format!("`{}` is nested deeper than {DEEPEST}", self.path)));
        }
        if let Ok(inner) = value.cast::<PyDict>() {
            return self.dict(names, inner, learning, depth + 1);
        }
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for (k, item) in value.try_iter()?.enumerate() {
                self.member(names, &k.to_string(), &item?, learning, depth + 1)?;
            }
            return Ok(());
        }
        // NumPy's scalars and whatever else is a number.
        let path = std::mem::take(&mut self.path);
        let done = match value.extract::<f64>() {
            Ok(number) => self.number(names, &path, number, learning).map(drop),
            Err(_) => Err(refuse(format!(
                "the value of `{path}` is of type {}, expected a number, a text, a truth value, None, a dict or \
                 a list",
                value.get_type().name()?
            ))),
        };
        self.path = path;
        done
    }

    /// A number under a name; says where it goes. Zeros are absent, and their names told all the same.
    fn number(&mut self, names: &Names, name: &str, value: f64, learning: bool) -> PyResult<u32> {
        if !value.is_finite() {
            return Err(refuse(format!("the value of `{name}` is {value}, expected a finite number")));
        }
        let (place, hashed) = names.place(name).map_err(refuse)?;
        if hashed && learning {
            self.seen.tell(place, name, &mut self.fresh);
        }
        if value != 0.0 {
            self.places.push(place);
            self.values.push(value);
        }
        Ok(place)
    }
}

/// Which hashed names have been told: one bit per place.
#[derive(Default)]
pub(crate) struct Seen(Vec<u64>);

impl Seen {
    /// Tells a name the first time that something falls on its place.
    pub(crate) fn tell(&mut self, place: u32, name: &str, fresh: &mut Fresh) {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        if self.0[word] & bit == 0 {
            self.0[word] |= bit;
            fresh.push((place, name.into()));
        }
    }
}

/// Hashed names and their places.
pub(crate) type Fresh = Vec<(u32, Box<str>)>;

/// The places of named columns, and names that are hashed.
pub(crate) fn places<'a>(
    names: &Names,
    columns: impl Iterator<Item = &'a String>,
) -> PyResult<(Vec<u32>, Fresh)> {
    let mut fresh = Vec::new();
    let mut places = Vec::new();
    for name in columns {
        let (place, hashed) = names.place(name).map_err(refuse)?;
        if hashed {
            fresh.push((place, Box::from(name.as_str())));
        }
        places.push(place);
    }
    Ok((places, fresh))
}
