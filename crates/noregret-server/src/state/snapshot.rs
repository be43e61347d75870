//! A model's whole state as bytes, and back.

use super::{Counts, Held, State};
use crate::codec::{self, Damaged, Input, damaged};
use crate::state::history::History;
use crate::state::keys::{Answered, Keys};
use crate::state::pending::Pending;
use noregret::model::ModelOf;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is neither the model nor a row.
#[derive(Deserialize)]
struct Beside {
    version: u32,
    keys: Vec<Answered>,
    /// Positions as text: JSON has no whole numbers of this size.
    offsets: BTreeMap<String, String>,
    history: History,
    counts: Counts,
    #[serde(default)]
    most_classes: u64,
}

const VERSION: u32 = 1;

/// The first byte of a packed snapshot; one that is not begins with how long something not empty is.
const PACKED: u8 = 0;

/// How much a snapshot was before it was packed: what making it costs.
pub(crate) fn unpacked_length(bytes: &[u8]) -> u64 {
    bytes.split_first().map_or(0, |(_, packed)| codec::packed_length(packed))
}

fn beside(state: &State, keys: impl Serialize) -> Value {
    let offsets: BTreeMap<&String, String> = state.offsets.iter().map(|(s, p)| (s, p.to_string())).collect();
    json!({
        "version": VERSION,
        "keys": keys,
        "offsets": offsets,
        "history": state.history,
        "counts": state.counts,
        "most_classes": state.most_classes,
    })
}

impl State {
    /// Everything, as it can be read back.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.around(&self.model.to_bytes())
    }

    /// The same, if it can be read back.
    pub fn to_sound_bytes(&self) -> Option<Vec<u8>> {
        Some(self.around(&self.model.to_sound_bytes().ok()?))
    }

    fn around(&self, model: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        codec::put_bytes(&mut out, beside(self, self.keys.list()).to_string().as_bytes());
        self.pending.put(&mut out);
        out.extend_from_slice(model);
        let mut packed = vec![PACKED];
        packed.extend(codec::pack(&out));
        packed
    }

    /// What [`State::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let unpacked = match bytes {
            [PACKED, packed @ ..] => &codec::unpack(packed)?[..],
            plain => plain,
        };
        let mut input = Input(unpacked);
        let beside: Beside = serde_json::from_slice(input.bytes()?)
            .map_err(|e| Damaged(format!("the snapshot's beginning cannot be read: {e}")))?;
        if beside.version != VERSION {
            return Err(Damaged(format!(
                "the snapshot has version {}, and this program reads {VERSION}: use the noregret that wrote it, or a \
                 newer one",
                beside.version
            )));
        }
        let pending = Pending::read(&mut input)?;
        let model = ModelOf::<Held>::from_bytes(input.0)
            .map_err(|message| Damaged(format!("the model in the snapshot: {message}")))?;
        let mut offsets = BTreeMap::new();
        for (source, position) in beside.offsets {
            let Ok(position) = position.parse() else { return damaged("the position of a source") };
            offsets.insert(source, position);
        }
        Ok(Self {
            model,
            keys: Keys::from_list(beside.keys),
            pending,
            offsets,
            history: beside.history,
            counts: beside.counts,
            most_classes: beside.most_classes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noregret::engine::{Config, Engine};
    use noregret::example::names::NameTable;
    use noregret::example::{Block as Rows, LabelMap};
    use noregret::model::Reading;
    use noregret::multiclass::Pupil;
    use std::sync::Arc;

    #[test]
    fn a_snapshot_is_packed_and_one_that_is_not_is_read_too() {
        let mut engine = Engine::new(Config::new("auto", "logistic")).unwrap();
        engine.learn(Rows::<f32>::from_rows(&[(1.0, vec![(200_000, 1.0)])]).rows()).unwrap();
        let engine = Held(Arc::new(Pupil::One(Box::new(engine))));
        let (reading, labels, names) = (Reading::default(), LabelMap::binary(), NameTable::new());
        let state = State::new(ModelOf { engine, reading, labels, names }, 0);
        let bytes = state.to_bytes();
        let plain = codec::unpack(&bytes[1..]).unwrap();
        assert_eq!(unpacked_length(&bytes), plain.len() as u64);
        assert!(bytes.len() < plain.len() / 100, "{} of {}", bytes.len(), plain.len());
        for read in [&bytes, &plain] {
            assert!(State::from_bytes(read).map(|state| state.to_bytes()).unwrap() == bytes);
        }
    }
}
