//! How a learner names its theorem: the bound's name in the registry of bounds, the constants that
//! were given or observed, and what keeps the theorem from applying.

use serde::Serialize;

/// Constants of a theorem by their names in the mathematics, in the order they were set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constants(Vec<(&'static str, f64)>);

impl Constants {
    /// Sets one (again).
    pub fn set(&mut self, name: &'static str, value: f64) -> &mut Self {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
        self
    }

    /// The value of one, if it is known.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().copied()
    }
}

impl Serialize for Constants {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Which bound speaks of a run, and with which constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Theorem {
    /// The name in the registry of bounds.
    pub bound: &'static str,
    /// What the learner was given or observed.
    pub constants: Constants,
    /// Conditions that the learner itself sees fail.
    pub unmet: Vec<String>,
    /// What a reader of the number should know (for example: `G` was observed, not given).
    pub notes: Vec<String>,
}

impl Theorem {
    /// A theorem with these constants.
    pub fn new(bound: &'static str, constants: &[(&'static str, f64)]) -> Self {
        Self { bound, constants: Constants(constants.to_vec()), unmet: Vec::new(), notes: Vec::new() }
    }

    /// Adds a failed condition.
    pub fn unmet(mut self, condition: impl Into<String>) -> Self {
        self.unmet.push(condition.into());
        self
    }

    /// Adds a note.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}
