//! Losses: one file each. Every (sub)gradient in `w` is `slope(z, y) * x`, so a loss is one number
//! and its derivative.

use crate::error::UsageError;
use crate::parameter::{Parameter, Parameters};

/// What labels a loss speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Labels -1 and +1.
    Binary,
    /// Labels are numbers.
    Real,
}

/// A convex loss of a prediction `z` against a label `y`.
pub trait Loss: Send + Sync {
    /// The loss itself.
    fn value(&self, z: f64, y: f64) -> f64;
    /// A subgradient in `z`, sign as it is.
    fn slope(&self, z: f64, y: f64) -> f64;
    /// Whether `y` is a label this loss can take.
    fn accepts(&self, y: f64) -> bool;
    /// `inf` over `z` of the loss; minus infinity where there is none.
    fn floor(&self, y: f64) -> f64;
    /// The largest `|slope|`, where there is one.
    fn lipschitz(&self) -> Option<f64>;
    /// `sup_z (a z - value(z, y))`; `None` where it is infinite.
    fn conjugate(&self, a: f64, y: f64) -> Option<f64>;
    /// An interval that holds the loss whenever `|z| <= z_max` and `|y| <= y_max`.
    fn interval(&self, z_max: f64, y_max: f64) -> (f64, f64);
    /// The registry entry this loss was made from.
    fn entry(&self) -> &'static Entry;
}

/// A loss in the registry.
pub struct Entry {
    /// The name after `--loss`.
    pub name: &'static str,
    /// The formula in plain text.
    pub formula: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
    /// What labels it takes.
    pub task: Task,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes it.
    pub build: fn(&Parameters) -> Result<Box<dyn Loss>, UsageError>,
}
