//! Names of features: which have fixed places, how the others are hashed, and a table that
//! remembers hashed names so that a report can print them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use super::hash;

/// Where a named feature goes: a column has the place of its order, any other name
/// `columns.len() + (hash mod 2^bits)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Names with fixed places, in order.
    pub columns: Vec<String>,
    /// How many bits of the hash are kept; `None` where features are numbers or every name has a
    /// fixed place.
    pub bits: Option<u32>,
}

impl Schema {
    /// The index of a name: the place of its column, otherwise its hash after the columns. `None`
    /// for a name that is no column where nothing is hashed. Looks through the columns one by one.
    ///
    /// ```
    /// use noregret::example::names::Schema;
    /// let schema = Schema { columns: vec!["age".into(), "height".into()], bits: Some(18) };
    /// assert_eq!(schema.index_of(b"height"), Some(1));
    /// assert!(schema.index_of(b"city=Milan").is_some_and(|i| i >= 2));
    /// ```
    pub fn index_of(&self, name: &[u8]) -> Option<u32> {
        match self.columns.iter().position(|column| column.as_bytes() == name) {
            Some(place) => Some(place as u32),
            None => self.hashed(name),
        }
    }

    /// The index of a name that is known not to be a column.
    #[inline]
    pub fn hashed(&self, name: &[u8]) -> Option<u32> {
        let bits = self.bits?;
        Some(self.columns.len() as u32 + (hash::murmur3(name, 0) & hash::mask(bits)))
    }
}

/// How many hashed names a table keeps unless told otherwise.
pub const MOST_NAMES: usize = 1_000_000;

/// How many bytes of names a table keeps unless told otherwise.
pub const MOST_NAME_BYTES: usize = 64 << 20;

/// Names of hashed features in the order in which they were met, one behind the other in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The index of each, and where it ends.
    ends: Vec<(u32, usize)>,
    text: String,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a name; what is no UTF-8 in it is replaced.
    #[inline]
    pub fn push(&mut self, index: u32, name: &[u8]) {
        match std::str::from_utf8(name) {
            Ok(name) => self.text.push_str(name),
            Err(_) => self.text.push_str(&String::from_utf8_lossy(name)),
        }
        self.ends.push((index, self.text.len()));
    }

    /// Keeps the first so many, and says of which indices the others were.
    pub fn keep(&mut self, count: usize) -> impl Iterator<Item = u32> {
        let others = self.ends.split_off(count.min(self.ends.len()));
        self.text.truncate(self.ends.last().map_or(0, |last| last.1));
        others.into_iter().map(|(index, _)| index)
    }

    /// The pairs (index, name).
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut begin = 0;
        self.ends.iter().map(move |&(index, end)| {
            let name = &self.text[begin..end];
            begin = end;
            (index, name)
        })
    }
}

impl<N: AsRef<str>> Extend<(u32, N)> for Names {
    fn extend<I: IntoIterator<Item = (u32, N)>>(&mut self, pairs: I) {
        for (index, name) in pairs {
            self.push(index, name.as_ref().as_bytes());
        }
    }
}

/// Remembers which name stands behind a hashed index. First come, first kept: when two names land
/// on one index the first stays, and when the table is full new names are counted and let go.
#[derive(Clone, Debug)]
pub struct NameTable {
    /// Where in the text the name of an index begins, and how long it is.
    places: HashMap<u32, (u32, u32), BuildHasherDefault<Mixed>>,
    text: String,
    most_names: usize,
    most_bytes: usize,
    dropped: u64,
    collisions: u64,
}

impl Default for NameTable {
    fn default() -> Self {
        Self::with_limits(MOST_NAMES, MOST_NAME_BYTES)
    }
}

impl NameTable {
    /// An empty table with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table that keeps at most so many names, of so many bytes (below 4 GiB) together.
    pub fn with_limits(most_names: usize, most_bytes: usize) -> Self {
        let most_bytes = most_bytes.min(u32::MAX as usize);
        let (places, text) = Default::default();
        Self { places, text, most_names, most_bytes, dropped: 0, collisions: 0 }
    }

    /// Remembers `name` for `index`, unless the index has one or there is no room.
    pub fn insert(&mut self, index: u32, name: &str) {
        let full = self.places.len() >= self.most_names;
        match self.places.entry(index) {
            Entry::Occupied(kept) => {
                let &(begin, length) = kept.get();
                let kept = &self.text.as_bytes()[begin as usize..][..length as usize];
                self.collisions += u64::from(kept != name.as_bytes());
            }
            Entry::Vacant(place) if !full && name.len() <= self.most_bytes - self.text.len() => {
                place.insert((self.text.len() as u32, name.len() as u32));
                self.text.push_str(name);
            }
            Entry::Vacant(_) => self.dropped += 1,
        }
    }

    fn read(&self, (begin, length): (u32, u32)) -> &str {
        &self.text[begin as usize..][..length as usize]
    }

    /// The name behind an index.
    pub fn get(&self, index: u32) -> Option<&str> {
        self.places.get(&index).map(|&place| self.read(place))
    }

    /// How many names are kept.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no name is kept.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether no further name has room.
    pub fn is_full(&self) -> bool {
        self.places.len() >= self.most_names || self.text.len() >= self.most_bytes
    }

    /// How many insertions found no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many insertions found their index taken by another name.
    pub fn collisions(&self) -> u64 {
        self.collisions
    }

    /// The pairs (index, name), by index: what a model file stores.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut pairs: Vec<_> =
            self.places.iter().map(|(&index, &place)| (index, self.read(place))).collect();
        pairs.sort_unstable_by_key(|&(index, _)| index);
        pairs.into_iter()
    }
}

/// Whether they keep the same names within the same limits and have refused as many, in whatever order these came.
impl PartialEq for NameTable {
    fn eq(&self, other: &Self) -> bool {
        let rest = |table: &Self| (table.most_names, table.most_bytes, table.dropped, table.collisions);
        rest(self) == rest(other) && self.iter().eq(other.iter())
    }
}

/// Indices are hashes already, or numbers: one multiplication mixes all bits into the highest ones, and a turn brings these to the lowest,
/// where a table looks first.
#[derive(Clone, Copy, Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

impl<N: AsRef<str>> Extend<(u32, N)> for NameTable {
    fn extend<I: IntoIterator<Item = (u32, N)>>(&mut self, pairs: I) {
        for (index, name) in pairs {
            self.insert(index, name.as_ref());
        }
    }
}

impl<N: AsRef<str>> FromIterator<(u32, N)> for NameTable {
    fn from_iter<I: IntoIterator<Item = (u32, N)>>(pairs: I) -> Self {
        let mut table = Self::new();
        table.extend(pairs);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_place_of_its_order_and_other_names_come_after() {
        let schema = Schema { columns: vec!["age".into(), "city".into()], bits: Some(4) };
        assert_eq!(schema.index_of(b"age"), Some(0));
        assert_eq!(schema.index_of(b"city"), Some(1));
        let hash = hash::murmur3(b"city=Rome", 0) % 16;
        assert_eq!(schema.index_of(b"city=Rome"), Some(2 + hash));
    }

    #[test]
    fn without_bits_an_unknown_name_has_no_place() {
        let schema = Schema { columns: vec!["age".into()], bits: None };
        assert_eq!(schema.index_of(b"age"), Some(0));
        assert_eq!(schema.index_of(b"height"), None);
    }

    #[test]
    fn the_first_name_of_an_index_stays_and_others_count_as_collisions() {
        let mut table = NameTable::new();
        table.insert(7, "first");
        table.insert(7, "first");
        assert_eq!(table.collisions(), 0);
        table.insert(7, "second");
        assert_eq!((table.get(7), table.collisions(), table.len()), (Some("first"), 1, 1));
        assert_eq!(table.get(8), None);
    }

    #[test]
    fn a_full_table_keeps_what_it_has_and_counts_the_rest() {
        let mut table = NameTable::with_limits(2, 100);
        for index in [5, 3, 9, 11] {
            table.insert(index, &format!("n{index}"));
        }
        assert!(table.is_full());
        assert_eq!(table.dropped(), 2);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(3, "n3"), (5, "n5")]);
        table.insert(3, "other");
        assert_eq!((table.dropped(), table.collisions()), (2, 1));
    }

    #[test]
    fn the_bytes_of_names_are_limited_too() {
        let mut table = NameTable::with_limits(100, 4);
        table.insert(1, "abc");
        table.insert(2, "de");
        assert_eq!((table.len(), table.dropped(), table.is_full()), (1, 1, false));
        table.insert(3, "f");
        assert_eq!((table.len(), table.is_full()), (2, true));
    }

    #[test]
    fn a_table_is_rebuilt_from_its_pairs() {
        let mut table = NameTable::new();
        table.insert(2, "b");
        table.insert(1, "a");
        let again: NameTable = table.iter().collect();
        assert_eq!(again, table);
    }

    #[test]
    fn tables_are_equal_whatever_the_order_in_which_names_came() {
        let [mut one, mut other] = [[(1, "a"), (2, "bc")], [(2, "bc"), (1, "a")]].map(NameTable::from_iter);
        assert_eq!(one, other);
        one.insert(3, "d");
        assert_ne!(one, other);
        other.insert(3, "e");
        assert_ne!(one, other);
    }

    #[test]
    fn names_are_kept_one_behind_the_other_and_the_last_ones_taken_back() {
        let mut names = Names::default();
        names.push(3, b"one");
        names.push(1, b"");
        names.push(2, b"t\xffo");
        let all = [(3, "one"), (1, ""), (2, "t\u{fffd}o")];
        assert_eq!(names.iter().collect::<Vec<_>>(), all);
        assert_eq!(names.keep(1).collect::<Vec<_>>(), [1, 2]);
        names.extend([(7, "x")]);
        assert_eq!((names.iter().collect::<Vec<_>>(), names.len()), (vec![(3, "one"), (7, "x")], 2));
        assert_eq!(names.keep(0).count(), 2);
        assert!(names.is_empty() && names == Names::default());
    }
}
