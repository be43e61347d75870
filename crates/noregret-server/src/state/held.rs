//! Whoever learns, shared with those who predict while nobody changes it.

use noregret::error::Result;
use noregret::example::{Features, LabelMap, Rows};
use noregret::model::{Header, Kept, Sections};
use noregret::multiclass::{Multiclass, Pupil};
use noregret::report::progress::Told;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Whoever learns, in a model.
pub struct Held(pub Arc<Pupil>);

impl Kept for Held {
    fn put(&self, sections: &mut Sections) -> Map<String, Value> {
        self.0.put(sections)
    }

    fn take(container: &mut Header, labels: &LabelMap) -> Result<Self, String> {
        Pupil::take(container, labels).map(|pupil| Self(Arc::new(pupil)))
    }
}

/// How many scores it tells of a row: one, or one for each class.
pub(crate) fn scores(pupil: &Pupil) -> usize {
    pupil.multiclass().map_or(1, Multiclass::classes)
}

/// Learns rows as far as they can be learned. Of several classes row by row: so all learn a row, or none.
pub(crate) fn learn(pupil: &mut Pupil, rows: Rows<'_, f64>) -> Result<()> {
    match pupil {
        Pupil::One(engine) => engine.learn_f64(rows),
        Pupil::Many(several) => (0..rows.len()).try_for_each(|k| several.learn_f64(rows.slice(k, k + 1))),
    }
}

/// Learns from a label that came late: the scores that were told, of several classes with that of the rest behind them.
pub(crate) fn learn_late(
    pupil: &mut Pupil,
    x: Features<'_, f64>,
    z: &[f64],
    y: f64,
    weight: f64,
) -> Result<()> {
    match pupil {
        Pupil::One(engine) => engine.learn_late(x, z.first().copied().unwrap_or(0.0), y, weight),
        Pupil::Many(several) => several.learn_late(x, z, y as usize, weight),
    }
}

/// How many examples it has learned.
pub(crate) fn examples(pupil: &Pupil) -> u64 {
    Told::examples(pupil)
}
