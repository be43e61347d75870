//! Whom a model is compared with, and what its theorem says against them.

use super::Engine;
use crate::regret::Comparator;
use crate::regret::bound::{self, Stated};

impl Engine {
    /// The class of comparators in force, and where its radius comes from.
    pub fn comparator(&self) -> (Comparator, Option<&'static str>) {
        let name = self.config.comparator_name(self.entry);
        let class = Comparator::new(name, 0.0, self.config.l2).unwrap_or(Comparator::L2 { radius: 0.0 });
        if name == "ridge" {
            return (class, None);
        }
        let (radius, from) = match (self.config.radius, self.entry.default_radius) {
            (Some(radius), _) => (radius, "flag"),
            (None, _) if name == "simplex" => (1.0, "default"),
            (None, Some(radius)) => (radius, "default"),
            (None, None) => (self.model_norm(&class), "model"),
        };
        let complete = self.config.dimension.is_some_and(|d| d as usize == self.dimension());
        (
            match class {
                Comparator::Simplex { .. } => Comparator::Simplex { radius, complete },
                other => other.with_radius(radius),
            },
            Some(from),
        )
    }

    /// The norm of the current iterate that a class bounds.
    pub fn model_norm(&self, class: &Comparator) -> f64 {
        class.norm(&|take: &mut dyn FnMut(&[f64])| self.machine.each_weight(take))
    }

    pub(super) fn fixed_comparator(&self) -> Option<Comparator> {
        let (comparator, from) = self.comparator();
        (from != Some("model")).then_some(comparator)
    }

    /// What the learner's theorem says of the first pass.
    pub fn bound(&self) -> Option<Stated> {
        let (comparator, from) = self.comparator();
        self.state(&comparator, || self.certificate_for(&comparator, from).map(|c| c.regret_at_most))
    }

    /// The same against a class whose certificate has been asked for already.
    pub(crate) fn bound_for(&self, comparator: &Comparator, certified: Option<f64>) -> Option<Stated> {
        self.state(comparator, || certified)
    }

    fn state(&self, comparator: &Comparator, certified: impl FnOnce() -> Option<f64>) -> Option<Stated> {
        let n = self.whole_book().weight.value();
        let theorem = self.first.as_ref().map_or_else(|| self.theorem(), |first| first.theorem.clone());
        (n > 0.0).then(|| bound::state(theorem, comparator, n, certified))
    }
}
