//! One versus the rest: for each class a learner of its own that tells the class from all others.
//!
//! The loss of a row is the sum of the classes' losses. It is convex in all models together, and the
//! comparators are a model of the class in force for each label, so the sum of the classes' certificates is
//! the certificate of the sum.
//!
//! Labels may come late. Before its label appears, a class would have seen nothing but rows of others, and
//! so would every class yet to come: they all would stand where one learner stands that sees every row as
//! one of the rest. That learner is kept, and a class that joins begins as its double: from then on it is,
//! to the bit, what it would be had its label been known from the beginning.

use super::{AnyRows, Entry, Kept, Make, Scheme, Tally};
use crate::engine::{Certificate, Config, Engine};
use crate::error::{Error, Result, UsageError};
use crate::example::{Features, Row, Rows, Value};
use crate::loss::{self, Loss};
use crate::regret::bound::Stated;
use crate::regret::{Comparator, Sum, round_down, round_up};
use crate::round::Vector;
use serde_json::{Map, json};

pub(super) static ENTRY: Entry = Entry {
    name: "ovr",
    summary: "one versus the rest: --learner and --loss for each class; the highest score is predicted",
    make: Make::Composed(Ovr::new),
};

/// A learner for each class, and one for all classes that have not been seen.
pub(crate) struct Ovr {
    config: Config,
    pub(crate) classes: Vec<Engine>,
    /// Stands for every class that has not been seen; none when the list of classes is closed.
    pub(crate) unseen: Option<Engine>,
    /// -1 and +1 for the rows at hand.
    signs: Vec<f64>,
    /// The class that diverged: not all have learned the same rows.
    broken: Option<usize>,
}

/// A loss that pulls the score towards the label, whichever of the two it is.
fn fits(loss: &dyn Loss) -> bool {
    let pulls = |y: f64| loss.accepts(y) && loss.slope(0.0, y) * y < 0.0;
    pulls(1.0) && pulls(-1.0)
}

impl Ovr {
    fn new(config: Config) -> Result<Self, UsageError> {
        let unseen = Engine::new(config)?.without_ranking();
        Self::from_engines(Vec::new(), Some(unseen))
    }

    pub(crate) fn from_engines(classes: Vec<Engine>, unseen: Option<Engine>) -> Result<Self, UsageError> {
        let any = classes.first().or(unseen.as_ref());
        let any = any.ok_or_else(|| UsageError::new("a closed list of classes needs at least one"))?;
        if !fits(any.loss()) {
            let names: Vec<&str> = loss::ENTRIES
                .iter()
                .filter(|e| loss::build(e.name, []).is_ok_and(|l| fits(&*l)))
                .map(|e| e.name)
                .collect();
            return Err(UsageError(format!(
                "--multiclass ovr tells a class from the rest by labels -1 and +1, which the {} loss does not \
                 take; choose one of {}",
                any.loss().entry().name,
                names.join(", ")
            )));
        }
        Ok(Self { config: any.config().clone(), classes, unseen, signs: Vec::new(), broken: None })
    }

    /// One of the engines: all have seen the same rows, unless one stopped before the others.
    fn any(&self) -> &Engine {
        let any = self.classes.get(self.broken.unwrap_or(0)).or(self.unseen.as_ref());
        any.expect("a list that is closed has a class, one that is open the unseen class")
    }

    fn rows<V: Value>(
        &mut self,
        rows: Rows<'_, V>,
        z: &mut Vec<f64>,
        learn: impl Fn(&mut Engine, Rows<'_, V>, &mut Vec<f64>) -> Result<()>,
    ) -> Result<(), (usize, Error)> {
        let mut failed = None;
        let before = self.any().pass_examples();
        for (k, engine) in self.classes.iter_mut().chain(&mut self.unseen).enumerate() {
            let place = k as f64;
            self.signs.clear();
            self.signs.extend(rows.labels.iter().map(|y| if *y == place { 1.0 } else { -1.0 }));
            let done = learn(engine, Rows { labels: &self.signs, ..rows }, z);
            if let Err(error) = done {
                failed = Some((k, error));
                break;
            }
        }
        let Some((k, error)) = failed else { return Ok(()) };
        // What was refused before a row was learned leaves the first class, and so all, where they were.
        if k > 0 || matches!(error, Error::Diverged(_)) || self.any().pass_examples() != before {
            self.broken = Some(k);
        }
        Err((0, error))
    }

    /// Whether all classes could learn a row, and the class too that may be yet to join, if each predicts its `z`.
    fn check_each<V: Value>(&self, row: Row<'_, V>, z: impl Fn(usize, &Engine) -> f64) -> Result<()> {
        for (k, engine) in self.classes.iter().chain(&self.unseen).enumerate() {
            let z = z(k, engine);
            engine.check(row, if row.y == k as f64 { 1.0 } else { -1.0 }, z)?;
            if k == self.classes.len() {
                engine.check(row, -1.0, z)?;
            }
        }
        Ok(())
    }

    /// The sum of something over the classes; nothing if one has nothing.
    fn sum(&self, value: impl Fn(&Engine) -> Option<f64>) -> Option<f64> {
        let all: Option<Sum> =
            self.classes.iter().map(value).collect::<Option<Vec<f64>>>().map(|v| v.into_iter().collect());
        all.filter(|_| !self.classes.is_empty()).map(Sum::value)
    }

    /// The certificate of the sum of the classes' losses.
    fn added(&self, certificate: impl Fn(&Engine) -> Option<Certificate>) -> Option<Certificate> {
        let all: Vec<Certificate> = self.classes.iter().map(certificate).collect::<Option<_>>()?;
        let first = all.first()?;
        let best: Sum = all.iter().map(|c| c.best_at_least).collect();
        let regret: Sum = all.iter().map(|c| c.regret_at_most).collect();
        Some(Certificate {
            comparator: first.comparator,
            radius: first.radius.filter(|_| first.radius_from != Some("model")),
            radius_from: first.radius_from,
            regret_at_most: round_up(regret.value()),
            best_at_least: round_down(best.value()),
        })
    }
}

impl Scheme for Ovr {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn classes(&self) -> usize {
        self.classes.len()
    }

    fn grow(&mut self) -> Result<()> {
        let unseen = self.unseen.as_ref().ok_or_else(|| UsageError::new("the list of classes is closed"))?;
        self.classes.push(unseen.doubled()?);
        Ok(())
    }

    fn close(&mut self) {
        if !self.classes.is_empty() {
            self.unseen = None;
        }
    }

    fn learn(&mut self, rows: AnyRows<'_>, z: &mut Vec<f64>) -> Result<(), (usize, Error)> {
        match rows {
            AnyRows::F32(rows) => self.rows(rows, z, Engine::learn_noting),
            AnyRows::F64(rows) => self.rows(rows, z, Engine::learn_noting_f64),
        }
    }

    fn check(&self, row: AnyRows<'_>) -> Result<()> {
        match row {
            AnyRows::F32(rows) => self.check_each(rows.row(0), |_, engine| engine.predict(rows.row(0).x)),
            AnyRows::F64(rows) => self.check_each(rows.row(0), |_, engine| engine.predict_f64(rows.row(0).x)),
        }
    }

    fn check_at(&self, row: Row<'_, f64>, z: &[f64]) -> Result<()> {
        self.check_each(row, |k, _| z[k])
    }

    fn learn_late(&mut self, x: Features<'_, f64>, z: &[f64], y: usize, weight: f64) -> Result<()> {
        for (k, engine) in self.classes.iter_mut().chain(&mut self.unseen).enumerate() {
            if let Err(error) = engine.learn_late(x, z[k], if k == y { 1.0 } else { -1.0 }, weight) {
                self.broken = Some(k);
                return Err(error);
            }
        }
        Ok(())
    }

    fn late(&self) -> u64 {
        self.any().late()
    }

    fn rest(&self, x: Features<'_, f64>) -> f64 {
        self.unseen.as_ref().map_or(0.0, |engine| engine.predict_f64(x))
    }

    fn scores(&self, x: Features<'_, f32>, z: &mut Vec<f64>) {
        z.extend(self.classes.iter().map(|engine| engine.predict(x)));
    }

    fn scores_f64(&self, x: Features<'_, f64>, z: &mut Vec<f64>) {
        z.extend(self.classes.iter().map(|engine| engine.predict_f64(x)));
    }

    fn weights(&self, class: usize) -> Vector {
        self.classes[class].weights()
    }

    fn averaged(&self, class: usize) -> Option<Vector> {
        self.classes[class].averaged()
    }

    fn is_linear(&self) -> bool {
        self.classes.iter().chain(&self.unseen).all(Engine::is_linear)
    }

    fn is_mixture(&self) -> bool {
        self.any().mixture().is_some()
    }

    fn dimension(&self) -> usize {
        self.classes.iter().chain(&self.unseen).map(Engine::dimension).max().unwrap_or(0)
    }

    fn loss(&self, z: &[f64], y: Option<usize>) -> Option<f64> {
        let loss = self.any().loss();
        let each = z.iter().enumerate().map(|(k, z)| loss.value(*z, if Some(k) == y { 1.0 } else { -1.0 }));
        Some(each.sum())
    }

    fn probabilities(&self, z: &mut [f64]) -> bool {
        if self.config.loss != "logistic" {
            return false;
        }
        // Divided by the largest of them first: all may be too small for their sum.
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log = |z: f64| if z < -30.0 { z } else { -(-z).exp().ln_1p() };
        for z in z.iter_mut() {
            *z = (log(*z) - log(top)).exp();
        }
        let sum: f64 = z.iter().sum();
        for p in z {
            *p /= sum;
        }
        true
    }

    fn examples(&self) -> u64 {
        self.any().examples()
    }

    fn pass_examples(&self) -> u64 {
        self.any().pass_examples()
    }

    fn totals(&self) -> (f64, f64) {
        let loss: Sum = self.classes.iter().map(|e| e.whole_book().loss.value()).collect();
        (loss.value(), self.any().whole_book().weight.value())
    }

    fn penalised_loss(&self) -> Option<f64> {
        let sigma = self.config.l2?;
        self.sum(|e| e.whole_book().penalised_loss(sigma))
    }

    fn pass_loss(&self) -> Option<f64> {
        self.sum(Engine::pass_loss)
    }

    fn certificate(&self) -> Option<Certificate> {
        self.added(Engine::certificate)
    }

    fn certificate_within(&self, radius: f64) -> Option<Certificate> {
        self.added(|engine| {
            let (comparator, _) = engine.comparator();
            comparator.radius()?;
            engine.certificate_for(&comparator.with_radius(radius), Some("flag"))
        })
    }

    fn best_at_least(&self, factor: f64) -> Option<f64> {
        let best = self.sum(|engine| {
            let (comparator, _) = engine.comparator();
            let radius = comparator.radius()?;
            engine.best_at_least(&comparator.with_radius(factor * radius))
        });
        best.map(round_down)
    }

    fn bound(&self) -> Option<Stated> {
        let all: Vec<Stated> = self.classes.iter().map(Engine::bound).collect::<Option<_>>()?;
        let mut stated = all.first()?.clone();
        let mut unmet: Vec<String> = Vec::new();
        for condition in all.iter().flat_map(|s| &s.unmet) {
            if unmet.len() < 3 && !unmet.contains(condition) {
                unmet.push(condition.clone());
            }
        }
        stated.regret_at_most = all.iter().map(|s| s.regret_at_most).sum::<Option<f64>>().map(round_up);
        stated.unmet = unmet;
        stated.notes =
            vec!["the sum of the classes' bounds; their constants stand with the classes".to_owned()];
        stated.constants = crate::learner::Constants::default();
        Some(stated)
    }

    fn comparator(&self) -> (Comparator, Option<&'static str>) {
        self.any().comparator()
    }

    fn best_constant(&self, _: &Tally) -> Option<f64> {
        self.sum(|engine| engine.tally().labels().best_constant(engine.loss()))
    }

    fn pass(&self) -> u32 {
        self.any().pass()
    }

    fn passes_before(&self) -> u32 {
        self.any().passes_before()
    }

    fn next_pass(&mut self) {
        self.classes.iter_mut().for_each(Engine::next_pass);
        self.unseen.iter_mut().for_each(Engine::next_pass);
    }

    fn tell(&self, class: usize) -> Map<String, serde_json::Value> {
        let engine = &self.classes[class];
        let told = json!({
            "average_loss": engine.average_loss(),
            "certificate": engine.certificate(),
            "bound": engine.bound(),
            "risk": engine.risk(),
            "baseline": {"constant": engine.tally().labels().best_constant(engine.loss())},
        });
        told.as_object().cloned().unwrap_or_default()
    }

    fn against(&self) -> String {
        let (comparator, from) = self.comparator();
        let name = comparator.name();
        match (comparator.radius(), from) {
            (None, _) => format!(
                "a model for each class, penalised by ({}/2)|u|^2 a round",
                self.config.l2.unwrap_or(0.0)
            ),
            (Some(radius), _) if name == "simplex" => {
                format!("a model on the simplex of sum {radius} for each class")
            }
            (_, Some("model")) => {
                format!("a model for each class, no larger in {name} norm than the one learned for it")
            }
            (Some(radius), _) => format!("a model of {name} norm at most {radius} for each class"),
        }
    }

    fn is_whole(&self) -> bool {
        self.broken.is_none()
    }

    fn kept(&self) -> Kept<'_> {
        Kept::Ovr(self)
    }
}
