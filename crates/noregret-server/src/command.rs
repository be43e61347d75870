//! What changes a model: the records of its log. A model is a function of its log alone, so everything that a
//! record's effect depends on (the time, limits that may be set anew) is written with it.

use crate::codec::{self, Damaged, Input, damaged};
use noregret::example::{Block, Label};

/// What kind of features a model has; the first thing it learns decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Numbered: index and value arrays, LIBSVM.
    Numbers,
    /// Named: JSON objects, CSV.
    Names,
    /// Named as Vowpal Wabbit does it.
    Vw,
}

impl Space {
    const ALL: [Self; 3] = [Self::Numbers, Self::Names, Self::Vw];

    /// The format that a model file calls this by.
    pub fn format(self) -> &'static str {
        match self {
            Self::Numbers => "libsvm",
            Self::Names => "jsonl",
            Self::Vw => "vw",
        }
    }

    /// That of a model file.
    pub fn of_format(format: &str) -> Option<Self> {
        match format {
            "libsvm" => Some(Self::Numbers),
            "csv" | "tsv" | "jsonl" => Some(Self::Names),
            "vw" => Some(Self::Vw),
            _ => None,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Names => "names",
            Self::Vw => "names of Vowpal Wabbit",
        }
    }
}

/// A request that may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What the client called it.
    pub name: String,
    /// A digest of what it asked for.
    pub digest: u64,
}

/// How far a source has been read: what is not beyond this has been learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Which source.
    pub source: String,
    /// Positions of a source ascend.
    pub position: u128,
    /// How many examples on the way there could not be read.
    pub refused: u64,
}

/// Examples to learn.
#[derive(Clone, Debug)]
pub struct Learn {
    /// Where the client gave one.
    pub key: Option<Key>,
    /// Where they are from a source.
    pub offset: Option<Offset>,
    /// The kind of their features.
    pub space: Space,
    /// Whether the predictions are told.
    pub predict: bool,
    /// Names behind hashed places that may be new.
    pub names: Vec<(u32, Box<str>)>,
    /// The rows with raw labels.
    pub block: Block<f64>,
}

/// A prediction whose label may come later.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Its id.
    pub id: u64,
    /// Until when a label is waited for, in milliseconds since 1970.
    pub deadline: u64,
    /// What was predicted; of several classes, for those that had not joined.
    pub score: f64,
    /// What was predicted for each of several classes.
    pub scores: Vec<f64>,
    /// The kind of its features.
    pub space: Space,
    /// Its features.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f64>,
}

/// A label for a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// The prediction.
    pub id: u64,
    /// The label.
    pub label: Label,
    /// The importance.
    pub weight: f64,
}

/// Something that changes a model.
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
#[derive(Clone, Debug)]
pub enum Command {
    /// Learn examples.
    Learn(Learn),
    /// Remember predictions.
    Predicted(Vec<Predicted>),
    /// Learn from predictions and their labels.
    Late(Option<Key>, Vec<Late>),
}

/// One record of a model's log: commands that became durable together.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// How many predictions may wait for their labels.
    pub most_pending: u64,
    /// What.
    pub commands: Vec<Command>,
}

/// The beginning of a record; commands follow.
pub(crate) fn begin_entry(time: u64, most_pending: u64) -> Vec<u8> {
    let mut out = Vec::new();
    codec::put_number(&mut out, time);
    codec::put_number(&mut out, most_pending);
    out
}

fn put_key(out: &mut Vec<u8>, key: Option<&Key>) {
    match key {
        None => out.push(0),
        Some(key) => {
            out.push(1);
            codec::put_bytes(out, key.name.as_bytes());
            codec::put_number(out, key.digest);
        }
    }
}

fn take_key(input: &mut Input<'_>) -> Result<Option<Key>, Damaged> {
    Ok(match input.byte()? {
        0 => None,
        _ => Some(Key { name: input.text()?.to_owned(), digest: input.number()? }),
    })
}

/// Beside the kind of features: the scores of several classes follow.
const SEVERAL: u8 = 0x80;

fn take_space(input: &mut Input<'_>) -> Result<Space, Damaged> {
    space_of(input.byte()?)
}

fn space_of(byte: u8) -> Result<Space, Damaged> {
    Space::ALL.get(usize::from(byte)).copied().map_or_else(|| damaged("the kind of features"), Ok)
}

impl Predicted {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.id);
        codec::put_number(out, self.deadline);
        codec::put_f64(out, self.score);
        if self.scores.is_empty() {
            out.push(self.space as u8);
        } else {
            out.push(self.space as u8 | SEVERAL);
            codec::put_number(out, self.scores.len() as u64);
            for score in &self.scores {
                codec::put_f64(out, *score);
            }
        }
        codec::put_row(out, &self.indices, &self.values);
    }

    pub(crate) fn take(input: &mut Input<'_>) -> Result<Self, Damaged> {
        let (id, deadline, score) = (input.number()?, input.number()?, input.f64()?);
        let byte = input.byte()?;
        let space = space_of(byte & !SEVERAL)?;
        let mut scores = Vec::new();
        if byte & SEVERAL != 0 {
            for _ in 0..input.number()? {
                scores.push(input.f64()?);
            }
        }
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        codec::take_row(input, &mut indices, &mut values)?;
        if !scores.iter().chain([&score]).all(|score| score.is_finite()) {
            return damaged("a score of the log");
        }
        Ok(Self { id, deadline, score, scores, space, indices, values })
    }
}

impl Command {
    /// Appends the command to a record.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Learn(learn) => {
                out.push(1);
                put_key(out, learn.key.as_ref());
                match &learn.offset {
                    None => out.push(0),
                    Some(offset) => {
                        out.push(if offset.refused == 0 { 1 } else { 2 });
                        codec::put_bytes(out, offset.source.as_bytes());
                        out.extend_from_slice(&offset.position.to_le_bytes());
                        if offset.refused > 0 {
                            codec::put_number(out, offset.refused);
                        }
                    }
                }
                out.push(learn.space as u8);
                out.push(u8::from(learn.predict));
                codec::put_number(out, learn.names.len() as u64);
                for (index, name) in &learn.names {
                    codec::put_number(out, u64::from(*index));
                    codec::put_bytes(out, name.as_bytes());
                }
                codec::put_block(out, &learn.block);
            }
            Self::Predicted(list) => {
                out.push(2);
                codec::put_number(out, list.len() as u64);
                for predicted in list {
                    predicted.put(out);
                }
            }
            Self::Late(key, list) => {
                out.push(3);
                put_key(out, key.as_ref());
                codec::put_number(out, list.len() as u64);
                for late in list {
                    codec::put_number(out, late.id);
                    codec::put_label(out, &late.label);
                    codec::put_f64(out, late.weight);
                }
            }
        }
    }

    fn take(input: &mut Input<'_>) -> Result<Self, Damaged> {
        Ok(match input.byte()? {
            1 => {
                let key = take_key(input)?;
                let kind = input.byte()?;
                let offset = if kind == 0 {
                    None
                } else {
                    let source = input.text()?.to_owned();
                    let mut position = [0; 16];
                    position.copy_from_slice(input.take(16)?);
                    let refused = if kind == 2 { input.number()? } else { 0 };
                    Some(Offset { source, position: u128::from_le_bytes(position), refused })
                };
                let space = take_space(input)?;
                let predict = input.byte()? == 1;
                let mut names = Vec::new();
                for _ in 0..input.number()? {
                    let Ok(index) = u32::try_from(input.number()?) else { return damaged("a name's place") };
                    names.push((index, input.text()?.into()));
                }
                let block = codec::take_block(input)?;
                Self::Learn(Learn { key, offset, space, predict, names, block })
            }
            2 => {
                let mut list = Vec::new();
                for _ in 0..input.number()? {
                    list.push(Predicted::take(input)?);
                }
                Self::Predicted(list)
            }
            3 => {
                let key = take_key(input)?;
                let mut list = Vec::new();
                for _ in 0..input.number()? {
                    let (id, label, weight) = (input.number()?, codec::take_label(input)?, input.f64()?);
                    list.push(Late { id, label, weight });
                }
                Self::Late(key, list)
            }
            _ => return damaged("a record of the log"),
        })
    }
}

impl Entry {
    /// Reads a record.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Damaged> {
        let mut input = Input(bytes);
        let (time, most_pending) = (input.number()?, input.number()?);
        let mut commands = Vec::new();
        while !input.is_empty() {
            commands.push(Command::take(&mut input)?);
        }
        Ok(Self { time, most_pending, commands })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_comes_back_whole() {
        let mut block = Block::<f64>::new();
        block.indices.extend([2, 7]);
        block.values.extend([0.1, -3.0]);
        block.offsets.push(2);
        block.raw_labels.push(Label::Name("spam".into()));
        let key = Some(Key { name: "k".to_owned(), digest: u64::MAX });
        let learn = Learn {
            key: key.clone(),
            offset: Some(Offset { source: "nats".to_owned(), position: u128::MAX - 1, refused: 3 }),
            space: Space::Names,
            predict: true,
            names: vec![(7, "city=Rome".into())],
            block,
        };
        let predicted = Predicted {
            id: 9,
            deadline: 10,
            score: 0.5,
            scores: Vec::new(),
            space: Space::Vw,
            indices: vec![1],
            values: vec![1.0],
        };
        let several = Predicted { id: 10, scores: vec![-1.5, 0.0, 2.0], ..predicted.clone() };
        let late = Late { id: 9, label: Label::Number(1.0), weight: 2.0 };
        let mut bytes = begin_entry(1234, 5);
        for command in [
            Command::Learn(learn.clone()),
            Command::Predicted(vec![predicted.clone(), several.clone()]),
            Command::Late(key, vec![late.clone()]),
        ] {
            command.put(&mut bytes);
        }
        let entry = Entry::read(&bytes).unwrap();
        assert_eq!((entry.time, entry.most_pending, entry.commands.len()), (1234, 5, 3));
        let Command::Learn(again) = &entry.commands[0] else { panic!() };
        assert_eq!((&again.key, &again.offset, &again.names), (&learn.key, &learn.offset, &learn.names));
        assert_eq!(again.block.values, [0.1, -3.0]);
        assert!(matches!(&entry.commands[1], Command::Predicted(list) if list[..] == [predicted, several]));
        assert!(matches!(&entry.commands[2], Command::Late(Some(_), list) if list[..] == [late]));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Entry::read(&bytes);
        }
    }
}
