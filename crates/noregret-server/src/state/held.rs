//! An engine that is shared with those who predict while nobody changes it.

use noregret::engine::Engine;
use noregret::example::LabelMap;
use noregret::model::{Header, Kept, Sections};
use serde_json::{Map, Value};
use std::sync::Arc;

/// An engine in a model.
pub struct Held(pub Arc<Engine>);

impl Kept for Held {
    fn put(&self, sections: &mut Sections) -> Map<String, Value> {
        self.0.put(sections)
    }

    fn take(container: &mut Header, labels: &LabelMap) -> Result<Self, String> {
        Engine::take(container, labels).map(|engine| Self(Arc::new(engine)))
    }
}
