//! What labels mean: two classes, several, or numbers.

use super::quote::quote;
use super::{Block, Classes, Label, Value};
use crate::error::FormatError;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// How many reasons for skipped rows are kept per block.
const KEPT_REASONS: usize = 10;

/// A label of a class: a number, or a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Name {
    /// A number (`1` and `+1` are the same one).
    Number(f64),
    /// Anything else.
    Text(String),
}

impl Name {
    /// The name a text stands for: a number where it can be read as one.
    pub fn parse(text: &str) -> Self {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }

    fn is(&self, label: &Label) -> bool {
        match (self, label) {
            (Self::Number(a), Label::Number(b)) => a == b,
            (Self::Text(a), Label::Name(b)) => a.as_str() == &**b,
            _ => false,
        }
    }

    pub(super) fn of(label: &Label) -> Option<Self> {
        match label {
            Label::Number(number) => Some(Self::Number(*number)),
            Label::Name(name) => Some(Self::Text(name.to_string())),
            Label::Missing => None,
        }
    }

    /// Numbers by value, text by bytes; between a number and a text, 1 is the larger one.
    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Number(a), Self::Text(_)) if *a == 1.0 => Ordering::Greater,
            (Self::Text(_), Self::Number(b)) if *b == 1.0 => Ordering::Less,
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Gives raw labels their meaning, in the order of the stream. Stored in model files, so that
/// whoever resumes or predicts means the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum LabelMap {
    /// Labels are numbers.
    Real,
    /// Two classes: the negative becomes -1 and the positive +1. What has not been seen is `None`.
    Binary {
        /// The label that means -1.
        negative: Option<Name>,
        /// The label that means +1.
        positive: Option<Name>,
    },
    /// Any number of classes: a label becomes its place in the list.
    Classes(Classes),
    /// One class of several becomes +1, every other label -1.
    OneVersusRest {
        /// The class.
        positive: Name,
    },
}

/// What [`LabelMap::apply`] did beside filling the labels.
#[derive(Debug, Default)]
pub struct Applied {
    /// The first bad label; the block has been cut to the rows before it.
    pub problem: Option<FormatError>,
    /// Rows dropped because of a bad label.
    pub skipped: u64,
    /// The first few reasons.
    pub reasons: Vec<FormatError>,
}

impl LabelMap {
    /// Two classes, neither of them seen yet.
    pub fn binary() -> Self {
        Self::Binary { negative: None, positive: None }
    }

    /// Two classes, the positive one being `name`.
    pub fn with_positive(name: &str) -> Self {
        Self::Binary { negative: None, positive: Some(Name::parse(name)) }
    }

    /// The kind of labels that the first block of a stream has: numbers when there are more than
    /// two of them, or just one that is none of -1, 0, 1; two classes otherwise.
    pub fn detect<V: Value>(block: &Block<V>) -> Self {
        let mut seen: Vec<&Label> = Vec::new();
        let mut names = false;
        for label in block.raw_labels.iter().filter(|label| **label != Label::Missing) {
            names |= matches!(label, Label::Name(_));
            if seen.len() < 3 && !seen.contains(&label) {
                seen.push(label);
            }
        }
        let usual = |label: &Label| matches!(label, Label::Number(y) if [-1.0, 0.0, 1.0].contains(y));
        match seen[..] {
            _ if names => Self::binary(),
            [only] if !usual(only) => Self::Real,
            [_, _, _] => Self::Real,
            _ => Self::binary(),
        }
    }

    /// Fills `labels` of a block from its raw labels: -1 and +1, or the number, or NaN where the
    /// label is missing. A label that is refused (by the rules, or by `accepts` of the loss) cuts the
    /// block before its row, or with `skip` takes only its row out.
    pub fn apply<V: Value>(
        &mut self,
        block: &mut Block<V>,
        accepts: &dyn Fn(f64) -> bool,
        skip: bool,
    ) -> Applied {
        let raw = std::mem::take(&mut block.raw_labels);
        self.learn(&raw);
        let mut applied = Applied::default();
        let mut refused = Vec::new();
        block.labels.clear();
        for (row, label) in raw.iter().enumerate() {
            match self.value(label, accepts) {
                Ok(y) => block.labels.push(y),
                Err(message) => {
                    let error = FormatError { position: block.position(row), message };
                    if !skip {
                        applied.problem = Some(error);
                        truncate(block, row);
                        break;
                    }
                    block.labels.push(f64::NAN);
                    refused.push(row);
                    if applied.reasons.len() < KEPT_REASONS {
                        applied.reasons.push(error);
                    }
                }
            }
        }
        if !refused.is_empty() {
            applied.skipped = refused.len() as u64;
            remove(block, &refused);
        }
        block.raw_labels = raw;
        block.raw_labels.clear();
        applied
    }

    /// Gives the classes their names, as far as `labels` shows them.
    fn learn(&mut self, labels: &[Label]) {
        let Self::Binary { negative, positive } = self else { return };
        if negative.is_some() && positive.is_some() {
            return;
        }
        let known = |name: &Option<Name>, label: &Label| name.as_ref().is_some_and(|n| n.is(label));
        let mut fresh = labels
            .iter()
            .filter(|label| **label != Label::Missing)
            .filter(|label| !known(negative, label) && !known(positive, label));
        let Some(first) = fresh.next() else { return };
        let second = fresh.find(|label| *label != first).and_then(Name::of);
        let first = Name::of(first);
        let one = |name: &Option<Name>| matches!(name, Some(Name::Number(y)) if *y == 1.0);
        match (negative.is_some(), positive.is_some(), first, second) {
            (true, _, first, _) => *positive = first,
            (_, true, first, _) => *negative = first,
            (_, _, Some(a), Some(b)) => {
                let (low, high) = if a.order(&b) == Ordering::Less { (a, b) } else { (b, a) };
                (*negative, *positive) = (Some(low), Some(high));
            }
            (_, _, first, _) if one(&first) => *positive = first,
            (_, _, first, _) => *negative = first,
        }
    }

    fn value(&mut self, label: &Label, accepts: &dyn Fn(f64) -> bool) -> Result<f64, String> {
        let y = match (&mut *self, label) {
            (_, Label::Missing) => return Ok(f64::NAN),
            (Self::Classes(classes), label) => {
                return Ok(classes.index_of(label)?.map_or(f64::NAN, |k| k as f64));
            }
            (Self::OneVersusRest { positive }, label) if positive.is(label) => 1.0,
            (Self::OneVersusRest { .. }, _) => -1.0,
            (Self::Real, Label::Number(y)) => *y,
            (Self::Real, Label::Name(name)) => {
                return Err(format!(
                    "found the label {}, expected a number; for two classes use a loss such as \
                     --loss logistic, for more `learn --multiclass`",
                    quote(name.as_bytes())
                ));
            }
            (Self::Binary { positive: Some(name), .. }, label) if name.is(label) => 1.0,
            (Self::Binary { negative: Some(name), .. }, label) if name.is(label) => -1.0,
            (Self::Binary { .. }, label) => {
                let third = Name::of(label).map_or(String::new(), |name| name.to_string());
                return Err(format!(
                    "found a third label {}; the two labels so far are {} and {}; for more than two \
                     classes use `learn --multiclass`, for labels that are real numbers --loss square",
                    quote(third.as_bytes()),
                    quote(self.name_of(-1.0).as_bytes()),
                    quote(self.name_of(1.0).as_bytes())
                ));
            }
        };
        if accepts(y) {
            Ok(y)
        } else {
            Err(format!("the label {y} is not one that this loss takes; choose another --loss"))
        }
    }

    /// The mapping in words, for announcing it.
    pub fn describe(&self) -> String {
        match self {
            Self::Real => "labels: numbers".to_owned(),
            Self::Classes(classes) => classes.describe(),
            Self::OneVersusRest { positive } => format!("labels: {positive} -> +1, any other -> -1"),
            Self::Binary { negative, positive } => {
                let arrow = |name: &Option<Name>, sign| match name {
                    Some(name) => format!("{name} -> {sign}"),
                    None => format!("(not seen yet) -> {sign}"),
                };
                format!("labels: {}, {}", arrow(negative, "-1"), arrow(positive, "+1"))
            }
        }
    }

    /// How a predicted label is printed: the class of this sign (zero is positive) or place, or the
    /// number.
    pub fn name_of(&self, y: f64) -> String {
        let (name, usual) = match self {
            Self::Real => return y.to_string(),
            Self::Classes(classes) => {
                return classes.names().get(y as usize).map_or_else(String::new, Name::to_string);
            }
            Self::OneVersusRest { positive } if y >= 0.0 => return positive.to_string(),
            Self::OneVersusRest { .. } => return "-1".to_owned(),
            Self::Binary { positive, .. } if y >= 0.0 => (positive, "1"),
            Self::Binary { negative, .. } => (negative, "-1"),
        };
        name.as_ref().map_or_else(|| usual.to_owned(), Name::to_string)
    }
}

impl LabelMap {
    /// The value of a label that comes by itself, with no others beside it to be ordered with: until the
    /// classes have their names, 1 is the positive one, and -1 or 0 the negative one.
    ///
    /// ```
    /// use noregret::example::{Label, LabelMap};
    /// let mut labels = LabelMap::binary();
    /// assert_eq!(labels.one(&Label::Number(0.0), &|_| true), Ok(-1.0));
    /// assert_eq!(labels.one(&Label::Number(1.0), &|_| true), Ok(1.0));
    /// assert!(labels.one(&Label::Number(2.0), &|_| true).is_err());
    /// ```
    pub fn one(&mut self, label: &Label, accepts: &dyn Fn(f64) -> bool) -> Result<f64, String> {
        if let Self::Binary { negative, positive } = self
            && (negative.is_none() || positive.is_none())
            && ![&*negative, &*positive].into_iter().flatten().any(|name| name.is(label))
        {
            match label {
                Label::Number(y) if *y == 1.0 && positive.is_none() => *positive = Name::of(label),
                Label::Number(y) if [-1.0, 0.0].contains(y) && negative.is_none() => {
                    *negative = Name::of(label);
                }
                _ => {
                    let found = Name::of(label).map_or("nothing".to_owned(), |name| name.to_string());
                    return Err(format!(
                        "found the label {}, expected 1 for one class and -1 or 0 for the other; where the \
                         classes are called otherwise, say beforehand which is the negative one and which the \
                         positive",
                        quote(found.as_bytes())
                    ));
                }
            }
        }
        match label {
            Label::Missing => Err("found no label, expected one to learn from".to_owned()),
            label => self.value(label, accepts),
        }
    }
}

/// Keeps the first `rows` rows.
fn truncate<V: Value>(block: &mut Block<V>, rows: usize) {
    block.own();
    let end = block.offsets[rows];
    block.offsets.truncate(rows + 1);
    block.indices.truncate(end);
    block.values.truncate(end);
    block.labels.truncate(rows);
    block.weights.truncate(rows);
    block.lines.truncate(rows);
    block.columns.truncate(rows);
}

/// Takes out the rows listed, in ascending order.
fn remove<V: Value>(block: &mut Block<V>, rows: &[usize]) {
    block.own();
    let mut refused = rows.iter().copied().peekable();
    let (mut kept, mut end) = (0, 0);
    let mut from = block.offsets[0];
    for row in 0..block.len() {
        let to = block.offsets[row + 1];
        if refused.next_if_eq(&row).is_none() {
            block.indices.copy_within(from..to, end);
            block.values.copy_within(from..to, end);
            end += to - from;
            block.offsets[kept + 1] = end;
            block.labels[kept] = block.labels[row];
            if !block.weights.is_empty() {
                block.weights[kept] = block.weights[row];
            }
            block.lines[kept] = block.lines[row];
            block.columns[kept] = block.columns[row];
            kept += 1;
        }
        from = to;
    }
    block.offsets[kept] = end;
    truncate(block, kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with a row for each word, on lines from 10; row `k` has the feature `k` alone.
    fn block(words: &str) -> Block<f32> {
        let mut block = Block::new();
        for (k, word) in words.split_whitespace().enumerate() {
            block.push(0.0, 1.0 + k as f64, [(k as u32, 1.0)]);
            block.raw_labels.push(match Name::parse(word) {
                _ if word == "?" => Label::Missing,
                Name::Number(y) => Label::Number(y),
                Name::Text(text) => Label::Name(text.into()),
            });
        }
        block.labels.clear();
        block.first_line = 10;
        block.file = "f".into();
        block
    }

    fn signs(map: &mut LabelMap, words: &str) -> Vec<f64> {
        let mut block = block(words);
        let applied = map.apply(&mut block, &|_| true, false);
        assert_eq!(applied.problem, None, "{words}");
        assert!(block.raw_labels.is_empty());
        block.labels
    }

    #[test]
    fn two_labels_of_the_first_block_are_ordered() {
        for (words, expected) in [
            ("+1 -1 1", [1.0, -1.0, 1.0]),
            ("1 0 1", [1.0, -1.0, 1.0]),
            ("0 -1 0", [1.0, -1.0, 1.0]),
            ("2 1 2", [1.0, -1.0, 1.0]),
            ("10 9 10", [1.0, -1.0, 1.0]),
            ("spam ham spam", [1.0, -1.0, 1.0]),
            ("1 spam 1", [1.0, -1.0, 1.0]),
            ("spam 0 spam", [1.0, -1.0, 1.0]),
        ] {
            assert_eq!(signs(&mut LabelMap::binary(), words), expected, "{words}");
        }
    }

    #[test]
    fn a_second_label_that_comes_later_takes_the_place_that_is_left() {
        for (first, second, sign) in
            [("1", "2", 1.0), ("0", "-1", -1.0), ("-1", "1", -1.0), ("b", "a", -1.0), ("1", "-1", 1.0)]
        {
            let mut map = LabelMap::binary();
            assert_eq!(signs(&mut map, first), [sign]);
            assert_eq!(signs(&mut map, &format!("{first} {second}")), [sign, -sign]);
        }
    }

    #[test]
    fn the_user_may_say_which_is_positive() {
        let mut map = LabelMap::with_positive("ham");
        assert_eq!(signs(&mut map, "spam ham"), [-1.0, 1.0]);
        assert_eq!(map.describe(), "labels: spam -> -1, ham -> +1");
        assert_eq!((map.name_of(-0.5), map.name_of(0.0)), ("spam".into(), "ham".into()));
        let mut map = LabelMap::with_positive("+1");
        assert_eq!(signs(&mut map, "2 1"), [-1.0, 1.0]);
    }

    #[test]
    fn a_third_label_is_an_error_after_the_rows_before_it() {
        let mut block = block("b a c a");
        let applied = LabelMap::binary().apply(&mut block, &|_| true, false);
        let error = applied.problem.unwrap().to_string();
        assert!(error.starts_with("f:12:1: found a third label `c`"), "{error}");
        assert!(error.contains("`a` and `b`"), "{error}");
        assert_eq!((block.len(), block.labels.len(), block.indices.len()), (2, 2, 2));
        assert_eq!(block.rows().iter().map(|row| row.y).collect::<Vec<_>>(), [1.0, -1.0]);
    }

    #[test]
    fn several_classes_are_numbered_as_they_appear() {
        let mut map = LabelMap::Classes(Classes::open());
        assert_eq!(signs(&mut map, "b 7 b +7 a -0"), [0.0, 1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(signs(&mut map, "a 0 c ?")[..3], [2.0, 3.0, 4.0]);
        assert_eq!((map.name_of(1.0), map.name_of(4.0)), ("7".into(), "c".into()));
        assert_eq!(map.describe(), "labels: 5 classes: b, 7, a, 0, c");
        let mut closed = LabelMap::Classes(Classes::closed(["a", "2"].map(str::to_owned)).unwrap());
        assert_eq!(signs(&mut closed, "2 a 2.0"), [1.0, 0.0, 1.0]);
        let applied = closed.apply(&mut block("a z a"), &|_| true, false);
        let error = applied.problem.unwrap().to_string();
        assert!(error.contains("`z`, expected one of a, 2") && error.contains("--classes"), "{error}");
        assert!(Classes::closed(["1", "+1"].map(str::to_owned)).is_err());
    }

    #[test]
    fn skipping_takes_out_the_bad_rows_alone() {
        let mut block = block("c b a b a x b");
        let mut map = LabelMap::with_positive("b");
        let applied = map.apply(&mut block, &|_| true, true);
        assert_eq!((applied.skipped, applied.reasons.len()), (3, 3));
        let rows: Vec<_> = block.rows().iter().map(|row| (row.y, row.weight, row.x.indices[0])).collect();
        assert_eq!(rows, [(-1.0, 1.0, 0), (1.0, 2.0, 1), (1.0, 4.0, 3), (1.0, 7.0, 6)]);
        assert_eq!(block.lines, [0, 1, 3, 6]);
    }

    #[test]
    fn the_first_block_tells_numbers_from_classes() {
        let real = LabelMap::Real;
        for words in ["1 2 3", "0.5", "7 7 7", "-1 0 1"] {
            assert_eq!(LabelMap::detect(&block(words)), real, "{words}");
        }
        for words in ["1", "-1 -1", "0", "2 3 2", "a", "a b c", "1 2 x", "? ?"] {
            assert_eq!(LabelMap::detect(&block(words)), LabelMap::binary(), "{words}");
        }
    }

    #[test]
    fn real_labels_are_numbers_that_the_loss_takes() {
        let mut map = LabelMap::Real;
        assert_eq!(signs(&mut map, "0.5 7"), [0.5, 7.0]);
        let mut bad = block("1 -2 3");
        let applied = map.apply(&mut bad, &|y| y >= 0.0, false);
        assert_eq!(applied.problem.unwrap().position.line, 11);
        let applied = map.apply(&mut block("1 x"), &|_| true, false);
        assert!(applied.problem.unwrap().message.contains("expected a number"));
        let mut missing = block("? 1");
        map.apply(&mut missing, &|_| true, false);
        assert!(missing.labels[0].is_nan() && missing.labels[1] == 1.0);
    }

    #[test]
    fn the_mapping_survives_being_stored() {
        let mut map = LabelMap::binary();
        signs(&mut map, "2 x");
        let classes = LabelMap::Classes(Classes::closed(["x", "1"].map(str::to_owned)).unwrap());
        for map in [map, LabelMap::Real, LabelMap::binary(), LabelMap::with_positive("a"), classes] {
            let text = serde_json::to_string(&map).unwrap();
            assert_eq!(serde_json::from_str::<LabelMap>(&text).unwrap(), map, "{text}");
        }
    }
}
