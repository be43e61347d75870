//! Which namespaces, columns or keys are read, and which are multiplied with one another.
//!
//! [`Selection`] is what the user says; `Plan` is what a decoder makes of it once it knows what names are in
//! its format; [`Parts`] gathers the factors of one row, and `Plan::cross` multiplies them.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;

use super::hash::mask;
use super::names::Schema;
use super::number::Number;
use super::text::{self, Fault, Limit, Row};
use crate::error::UsageError;

/// `--interactions`, `--ignore` and `--keep`, as given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Products: names joined by `*`, or in VW text the first letters of namespaces.
    pub interactions: Vec<String>,
    /// What is left out.
    pub ignore: Vec<String>,
    /// What alone is read; everything where it is empty.
    pub keep: Vec<String>,
}

impl Selection {
    /// Whether everything is read and nothing multiplied.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|(_, list)| list.is_empty())
    }

    /// The lists with their flags.
    pub fn lists(&self) -> [(&'static str, &[String]); 3] {
        [("interactions", &self.interactions), ("ignore", &self.ignore), ("keep", &self.keep)]
    }

    /// The first flag of `said` that asks for something else than this, what it says and what is here. A
    /// flag that was not said asks for nothing.
    pub fn contradiction(&self, said: &Self) -> Option<(&'static str, String, String)> {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort();
            list
        };
        let pairs = self.lists().into_iter().zip(said.lists());
        let mut other = pairs.filter(|((_, is), (_, said))| !said.is_empty() && sorted(is) != sorted(said));
        other.next().map(|((flag, is), (_, said))| {
            let is = if is.is_empty() { "none".to_owned() } else { is.join(",") };
            (flag, said.join(","), is)
        })
    }
}

/// How many different names all flags together may have: a set of them is a word of bits.
const MOST_NAMES: usize = 64;

/// How many factors a product may have.
const MOST_FACTORS: usize = 8;

/// How many products a row may have: one hostile line must not take all the memory.
const MOST_PRODUCTS: usize = 1 << 24;

/// What names stand for, and so how products are placed.
#[derive(Clone, Debug)]
pub(super) enum Naming {
    /// VW text: a letter stands for every namespace that begins with it (a space for the one without a name), a longer
    /// name for the namespace of that name. Products are placed as VW places them.
    Spaces { bits: u32 },
    /// Columns and keys: a name stands for itself, and with a `.` at its end for all that begins so. A product
    /// has the name of its factors joined by `*`, and the place of that name.
    Columns { schema: Schema, fixed: HashMap<Box<[u8]>, u32> },
}

impl Naming {
    /// Names of columns and keys, with products placed by a schema.
    pub(super) fn columns(schema: &Schema) -> Self {
        let products = schema.columns.iter().zip(0..).filter(|(name, _)| name.contains('*'));
        let fixed = products.map(|(name, place)| (name.as_bytes().into(), place)).collect();
        Self::Columns { schema: schema.clone(), fixed }
    }

    fn matches(&self, pattern: &[u8], name: &[u8]) -> bool {
        match self {
            Self::Spaces { .. } => match pattern {
                [letter] => name.first().unwrap_or(&b' ') == letter,
                _ => name == pattern,
            },
            Self::Columns { .. } => name == pattern || pattern.ends_with(b".") && name.starts_with(pattern),
        }
    }

    /// The factors of a product.
    fn factors(&self, word: &str) -> Result<Vec<String>, String> {
        let found = |why: &str| format!("--interactions: found `{}`, {why}", text::excerpt(word.as_bytes()));
        let factors: Vec<String> = match self {
            _ if word.contains('*') => word.split('*').map(str::to_owned).collect(),
            Self::Columns { .. } => {
                return Err(found("expected names of columns or keys joined by `*`, as in `city*hour`"));
            }
            Self::Spaces { .. } if word.contains(':') => {
                return Err(found("where `:` would be any namespace: name the letters instead"));
            }
            Self::Spaces { .. } if !word.is_ascii() => {
                return Err(found(
                    "expected the first letters of namespaces (`ab`), or names joined by `*` (`user*item`)",
                ));
            }
            Self::Spaces { .. } => word.chars().map(String::from).collect(),
        };
        if factors.iter().any(String::is_empty) {
            return Err(found("where a name is empty: expected names joined by `*`, as in `city*hour`"));
        }
        if !(2..=MOST_FACTORS).contains(&factors.len()) {
            return Err(found(&format!("expected 2 to {MOST_FACTORS} factors")));
        }
        Ok(factors)
    }
}

/// A [`Selection`] as a decoder uses it. Sets of names are words of bits.
#[derive(Clone, Debug)]
pub struct Plan {
    naming: Naming,
    names: Vec<String>,
    ignore: u64,
    keep: u64,
    /// The factors of each product, as places in `names`. Equal ones are side by side.
    products: Vec<Vec<usize>>,
    /// All names that are factors.
    factors: u64,
    limit: Limit,
}

impl Plan {
    /// Checks what can be checked without having seen the input.
    pub(super) fn new(selection: &Selection, naming: Naming, limit: Limit) -> Result<Self, UsageError> {
        let mut plan =
            Self { naming, names: Vec::new(), ignore: 0, keep: 0, products: Vec::new(), factors: 0, limit };
        for word in &selection.interactions {
            let mut factors = plan.naming.factors(word).map_err(UsageError)?;
            let mut sorted = factors.clone();
            sorted.sort();
            // As VW does: equal factors must be neighbours, and the same product twice is once.
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                factors.clone_from(&sorted);
            }
            let product = factors.iter().map(|name| plan.place(name)).collect::<Result<Vec<_>, _>>()?;
            let sorted = |product: &[usize]| {
                let mut product = product.to_vec();
                product.sort_unstable();
                product
            };
            if !plan.products.iter().any(|other| sorted(other) == sorted(&product)) {
                plan.factors |= product.iter().fold(0, |set, &name| set | 1 << name);
                plan.products.push(product);
            }
        }
        for name in &selection.ignore {
            plan.ignore |= 1 << plan.place(name)?;
        }
        for name in &selection.keep {
            plan.keep |= 1 << plan.place(name)?;
        }
        plan.agrees()?;
        Ok(plan)
    }

    fn place(&mut self, name: &str) -> Result<usize, UsageError> {
        if name.is_empty() {
            let message = "--ignore and --keep: found an empty name, expected names separated by commas";
            return Err(UsageError::new(message));
        }
        if let Some(place) = self.names.iter().position(|known| known == name) {
            return Ok(place);
        }
        if self.names.len() == MOST_NAMES {
            return Err(UsageError(format!(
                "--interactions, --ignore and --keep: found more than {MOST_NAMES} different names; leave \
                 columns out of the input instead, or use --keep where --ignore is longer"
            )));
        }
        self.names.push(name.to_owned());
        Ok(self.names.len() - 1)
    }

    /// Refuses flags that take back what others ask for.
    fn agrees(&self) -> Result<(), UsageError> {
        if let Some(name) = self.of(self.ignore & self.keep).next() {
            return Err(UsageError(format!(
                "--ignore {name} contradicts --keep {name}: leave one of them out"
            )));
        }
        for factor in self.of(self.factors) {
            let set = self.matches(factor.as_bytes());
            let within = |name: &str| self.naming.matches(factor.as_bytes(), name.as_bytes());
            let flag = if set & self.ignore != 0 {
                "is left out by --ignore"
            } else if self.keep != 0 && set & self.keep == 0 && !self.of(self.keep).any(within) {
                "is not among those of --keep"
            } else {
                continue;
            };
            return Err(UsageError(format!(
                "--interactions: `{factor}` {flag}, so that there is nothing to multiply"
            )));
        }
        Ok(())
    }

    /// The names in a set.
    fn of(&self, set: u64) -> impl Iterator<Item = &str> {
        self.names.iter().enumerate().filter(move |(k, _)| set >> k & 1 == 1).map(|(_, name)| name.as_str())
    }

    /// Places products by a schema, which may name some of them.
    pub(super) fn place_by(&mut self, schema: &Schema) {
        self.naming = Naming::columns(schema);
    }

    /// Whether everything is read and nothing multiplied.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names that a namespace, column or key is meant by.
    #[inline]
    pub(super) fn matches(&self, name: &[u8]) -> u64 {
        let meant =
            |(k, pattern): (usize, &String)| u64::from(self.naming.matches(pattern.as_bytes(), name)) << k;
        self.names.iter().enumerate().map(meant).sum()
    }

    /// Whether what these names mean is left out.
    #[inline]
    pub(super) fn leaves_out(&self, set: u64) -> bool {
        set & self.ignore != 0 || self.keep != 0 && set & self.keep == 0
    }

    /// Those of the names that are factors.
    #[inline]
    pub(super) fn factors(&self, set: u64) -> u64 {
        set & self.factors
    }

    /// The names that are not in the set, each after its flag.
    pub(super) fn unmet(&self, met: u64) -> Vec<String> {
        let flags = [("interactions", self.factors), ("ignore", self.ignore), ("keep", self.keep)];
        let of = |(flag, set): (&'static str, u64)| {
            self.of(set & !met).map(move |name| format!("--{flag} {name}"))
        };
        flags.into_iter().flat_map(of).collect()
    }

    /// The names of products all of whose factors are single columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = String> {
        let single = |product: &&Vec<usize>| product.iter().all(|&k| !self.names[k].ends_with('.'));
        let name = |product: &Vec<usize>| {
            product.iter().map(|&k| self.names[k].as_str()).collect::<Vec<_>>().join("*")
        };
        self.products.iter().filter(single).map(name)
    }

    /// Adds the products to a row whose features have all been read.
    pub(super) fn cross<V: Number>(&self, row: &mut Row<'_, V>) -> Result<(), Fault> {
        if self.products.is_empty() || row.parts.features.is_empty() {
            return Ok(());
        }
        let mut parts = std::mem::take(row.parts);
        let mut left = MOST_PRODUCTS;
        let crossed = self.products.iter().try_for_each(|product| {
            let repeats = product.windows(2).any(|pair| pair[0] == pair[1]);
            if repeats && matches!(self.naming, Naming::Columns { .. }) {
                // The order of keys in a record must not matter.
                parts.sort(product);
            }
            let mut chosen = Chosen { parts: &parts, product, places: [0; MOST_FACTORS] };
            self.choose(&mut chosen, 0, 0, V::ONE, row, &mut left)
        });
        *row.parts = parts;
        crossed
    }

    /// Chooses a part for the factor `depth`, all after each other, and so on for the next factor.
    fn choose<V: Number>(
        &self,
        chosen: &mut Chosen<'_, V>,
        depth: usize,
        hash: u32,
        value: V,
        row: &mut Row<'_, V>,
        left: &mut usize,
    ) -> Result<(), Fault> {
        if depth == chosen.product.len() {
            return self.enter(chosen, hash, value, row, left);
        }
        let factor = chosen.product[depth];
        let again = depth > 0 && chosen.product[depth - 1] == factor;
        let from = if again { chosen.places[depth - 1] } else { 0 };
        let parts = chosen.parts;
        let Some(members) = parts.members.get(factor) else { return Ok(()) };
        for (place, &member) in members.iter().enumerate().skip(from) {
            let part = &parts.features[member as usize];
            chosen.places[depth] = place;
            // The first factor's hash is its own: nothing was there to be mixed with.
            let hash = hash.wrapping_mul(FNV_PRIME) ^ part.index;
            let value = if depth == 0 { part.value } else { value * part.value };
            self.choose(chosen, depth + 1, hash, value, row, left)?;
        }
        Ok(())
    }

    /// Enters one product.
    fn enter<V: Number>(
        &self,
        chosen: &Chosen<'_, V>,
        hash: u32,
        value: V,
        row: &mut Row<'_, V>,
        left: &mut usize,
    ) -> Result<(), Fault> {
        if !value.is_finite() {
            chosen.name(row.text);
            let name = text::excerpt(row.text);
            return Err(Fault::new(0, format!("the product `{name}` is {}", text::beyond::<V>())));
        }
        let Some(rest) = left.checked_sub(1) else {
            let message = format!("the row has more than {MOST_PRODUCTS} products: multiply fewer features");
            return Err(Fault::new(0, message));
        };
        *left = rest;
        let index = match &self.naming {
            Naming::Spaces { bits } => hash & mask(*bits),
            Naming::Columns { schema, fixed } => {
                chosen.name(row.text);
                let place = if chosen.numbers() { fixed.get(&row.text[..]) } else { None };
                if let Some(&place) = place {
                    self.limit.check(place, 0)?;
                    row.place(place, value);
                    return Ok(());
                }
                schema.hashed(row.text).ok_or_else(|| {
                    let name = text::excerpt(row.text);
                    Fault::new(0, format!("the model has no place for the product `{name}`"))
                })?
            }
        };
        self.limit.check(index, 0)?;
        row.push(index, value, |text| chosen.name(text));
        Ok(())
    }
}

/// The prime of the FNV hash, by which VW places products.
const FNV_PRIME: u32 = 16_777_619;

/// A feature that is a factor.
#[derive(Clone, Debug)]
struct Part<V> {
    index: u32,
    value: V,
    name: Range<usize>,
    /// Whether it is a number under its name, and not text.
    number: bool,
}

/// The factors of one row. Memory is kept from one row to the next.
#[derive(Debug)]
pub struct Parts<V> {
    features: Vec<Part<V>>,
    names: Vec<u8>,
    /// For each name of the flags, the features that it means.
    members: Vec<Vec<u32>>,
    /// The names of the flags that have meant something so far.
    met: u64,
}

impl<V> Default for Parts<V> {
    fn default() -> Self {
        Self { features: Vec::new(), names: Vec::new(), members: Vec::new(), met: 0 }
    }
}

impl<V: Number> Parts<V> {
    /// Forgets the row, not what has been met.
    #[inline]
    pub(super) fn clear(&mut self) {
        if !self.features.is_empty() {
            self.features.clear();
            self.names.clear();
            self.members.iter_mut().for_each(Vec::clear);
        }
    }

    /// The names of the flags that have meant something so far.
    pub(super) fn met(&self) -> u64 {
        self.met
    }

    /// Takes note that these names have meant something.
    #[inline]
    pub(super) fn meet(&mut self, set: u64) {
        self.met |= set;
    }

    /// Adds a factor that these names mean.
    pub(super) fn add(
        &mut self,
        set: u64,
        (index, value): (u32, V),
        number: bool,
        name: impl FnOnce(&mut Vec<u8>),
    ) {
        if value == V::ZERO || set == 0 {
            return;
        }
        let from = self.names.len();
        name(&mut self.names);
        let place = self.features.len() as u32;
        self.features.push(Part { index, value, name: from..self.names.len(), number });
        let mut rest = set;
        while rest != 0 {
            let k = rest.trailing_zeros() as usize;
            if k >= self.members.len() {
                self.members.resize_with(k + 1, Vec::new);
            }
            self.members[k].push(place);
            rest &= rest - 1;
        }
    }

    /// Brings the features of a product's factors into the order of their names.
    fn sort(&mut self, product: &[usize]) {
        let Self { features, names, members, .. } = self;
        let name = |&k: &u32| &names[features[k as usize].name.clone()];
        for &factor in product {
            if let Some(members) = members.get_mut(factor) {
                members.sort_unstable_by(|a, b| name(a).cmp(name(b)));
            }
        }
    }
}

/// A part for each factor of a product.
struct Chosen<'a, V> {
    parts: &'a Parts<V>,
    product: &'a [usize],
    /// Which of the members of each factor.
    places: [usize; MOST_FACTORS],
}

impl<V> Chosen<'_, V> {
    fn iter(&self) -> impl Iterator<Item = &Part<V>> {
        let member = |(&factor, &place): (&usize, &usize)| self.parts.members[factor][place] as usize;
        self.product.iter().zip(&self.places).map(member).map(|k| &self.parts.features[k])
    }

    fn numbers(&self) -> bool {
        self.iter().all(|part| part.number)
    }

    fn name(&self, text: &mut Vec<u8>) {
        text.clear();
        for (k, part) in self.iter().enumerate() {
            if k > 0 {
                text.push(b'*');
            }
            text.extend_from_slice(&self.parts.names[part.name.clone()]);
        }
    }
}

#[cfg(test)]
mod tests;
