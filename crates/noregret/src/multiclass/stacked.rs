//! All classes in one model: a matrix with a row of weights for each class, learned on one loss of all
//! scores.
//!
//! ```text
//! z_k = <w_k, x>     f(z, y) convex in z     alpha = its gradient     W = a V,  V = sum of alpha x^T
//! ```
//!
//! The ledger is that of a single model, with the Frobenius norm for the Euclidean one: `S` is the matrix
//! of all gradients, and `K` the sum of `f(z) - <alpha, z>`, a number that the rule tells without
//! cancellation. Both rules keep the iterate as a multiple of a sum of gradients, so that (for softmax) the
//! certificate is free.
//!
//! A class that joins late has the score 0 until then. The loss of a row speaks of the classes seen up
//! to then, the row's own included, for the learner and for the comparators alike. Leaving classes out can
//! only lower these losses, so the certified lower bound also holds for comparators that must tell
//! all classes apart from the first row on.

use super::{AnyRows, Entry, Kept, Plane, Scheme, Tally};
use crate::engine::{Certificate, Config, LATE, SMALL_GRADIENTS, SMALLEST_SQUARE};
use crate::error::{Error, Result, UsageError};
use crate::example::{Features, Row, Rows, Value};
use crate::learner::{OwnBook, Theorem};
use crate::regret::bound::{self, Stated};
use crate::regret::{Book, Comparator, Ledger, Sum};
use crate::round::{Entered, Vector, noticed};
use serde::{Deserialize, Serialize};

/// What a round may bring at most, so that sums and squares over a whole stream stay finite.
const LARGEST: f64 = 1e200;

/// The sum's norm is computed anew at multiples of this many rounds, and when rounding may have moved it
/// by more than `DRIFTED` of itself.
const RECOMPUTE: u64 = 1 << 16;
const DRIFTED: f64 = 1e-9;

/// What a rule says of the scores of a row.
pub(super) struct Judged {
    /// The loss.
    pub(super) loss: f64,
    /// `f(z) - <alpha, z>`.
    pub(super) constant: f64,
    /// How many roundings the constant and the slopes may be off by, relative to themselves.
    pub(super) roundings: f64,
    /// Whether the model moves.
    pub(super) moves: bool,
}

/// A loss of all scores, and how the model follows its gradients.
pub(super) trait Rule: Send + Sync {
    fn entry(&self) -> &'static Entry;
    /// Judges the scores for class `y` and writes the gradient in them to `alpha`.
    fn judge(&self, z: &[f64], y: usize, alpha: &mut [f64]) -> Judged;
    /// Whether the ledger has a matrix of its own, because the model does not follow every gradient.
    fn apart(&self) -> bool;
    /// After a round of squared gradient `square`: sets the multiple `a` of the next one.
    fn follow(&self, scalars: &mut Scalars, square: f64);
    /// Scores become probabilities; `false` where they cannot.
    fn probabilities(&self, z: &mut [f64]) -> bool;
    fn theorem(&self, scalars: &Scalars) -> Theorem;
    /// The average loss of the best constant scores.
    fn best_constant(&self, tally: &Tally) -> Option<f64>;
    /// The radius when none is given; without one, that of the model.
    fn default_radius(&self) -> Option<f64>;
}

/// The state besides the matrices, as model files keep it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scalars {
    /// Rounds, all passes together.
    pub(crate) t: u64,
    /// The multiple: `W = a V`.
    pub(crate) a: f64,
    /// `|V|^2`, up to `drift`.
    pub(crate) q: f64,
    pub(crate) drift: f64,
    /// Sum of squared gradients, all passes together.
    pub(crate) squares: f64,
    /// Sum of squared gradients over the strength they met, for the theorem.
    pub(crate) divided: f64,
    /// The strength for the next round, and that of the last one.
    pub(crate) alpha: f64,
    pub(crate) last_alpha: f64,
    /// Sum of the weights of the rounds in which the model moved, in counted passes.
    pub(crate) moved: f64,
    /// Passes that made the model.
    pub(crate) passes: u32,
    /// Rounds whose label came late.
    #[serde(default)]
    pub(crate) late: u64,
}

/// A model of all classes together.
pub(crate) struct Stacked {
    rule: Box<dyn Rule>,
    config: Config,
    v: Plane,
    /// The ledger's matrix, where it is not `v`: for a rule that keeps it apart, and after several passes.
    s: Option<Plane>,
    /// The gradients that were followed, of the first pass alone: another ledger.
    followed: Option<Plane>,
    pub(crate) scalars: Scalars,
    pub(crate) book: Book,
    pass: u32,
    passes_before: u32,
    pass_examples: u64,
    pass_loss: Sum,
    pass_weight: Sum,
    /// The theorem of the first pass, kept while later ones go on.
    first_theorem: Option<Theorem>,
    /// For the row at hand: `<v_k, x>`, the scores, the slopes.
    work: [Vec<f64>; 3],
}

impl Stacked {
    pub(super) fn new(rule: Box<dyn Rule>, config: Config, scalars: Scalars) -> Result<Self, UsageError> {
        let name = rule.entry().name;
        let refuse = |flag: &str| {
            Err(UsageError(format!(
                "{flag} does not go with --multiclass {name}; use --multiclass ovr for that"
            )))
        };
        if config.l2.is_some() {
            return refuse("--l2");
        }
        if config.average {
            return refuse("--average");
        }
        if config.row_bound.is_some() || config.label_bound.is_some() {
            return refuse("a promise for the risk bound (--row-bound, --label-bound)");
        }
        if matches!(config.comparator.as_deref(), Some("ridge" | "simplex")) {
            return refuse("--comparator ridge or simplex");
        }
        Comparator::new(config.comparator.as_deref().unwrap_or("l2"), 0.0, None)?;
        if let Some(radius) = config.radius.filter(|r| !(*r > 0.0 && r.is_finite())) {
            return Err(UsageError(format!("--radius: found {radius}, expected a number greater than 0")));
        }
        let v = Plane::new(config.bias);
        let s = rule.apart().then(|| v.clone());
        Ok(Self {
            rule,
            config,
            v,
            s,
            followed: None,
            scalars,
            book: Book::default(),
            pass: 1,
            passes_before: 0,
            pass_examples: 0,
            pass_loss: Sum::default(),
            pass_weight: Sum::default(),
            first_theorem: None,
            work: Default::default(),
        })
    }

    /// The matrices, for model files: the sum that the model is a multiple of, and the ledger's.
    pub(crate) fn planes(&self) -> (&Plane, Option<&Plane>) {
        (&self.v, self.s.as_ref())
    }

    /// Takes back what a model file kept, on a model that has learned nothing.
    pub(crate) fn restore(
        &mut self,
        v: Plane,
        s: Option<Plane>,
        scalars: Scalars,
        book: Book,
    ) -> Result<(), String> {
        let several = scalars.passes > 1;
        if s.is_some() != (self.rule.apart() || several) {
            return Err("the ledger's numbers are missing, or not expected".to_owned());
        }
        if s.as_ref().is_some_and(|s| (s.classes(), s.dimension()) != (v.classes(), v.dimension())) {
            return Err("the ledger's numbers are not as many as the model's".to_owned());
        }
        let Scalars { a, q, drift, squares, divided, alpha, last_alpha, moved, .. } = scalars;
        let sizes = [q, drift, squares, divided, alpha, last_alpha, moved];
        let possible = a.is_finite() && sizes.iter().all(|x| x.is_finite() && *x >= 0.0);
        if !possible || (alpha == 0.0 && !self.rule.apart()) {
            return Err("its state holds a number that it cannot".to_owned());
        }
        (self.v, self.s, self.book) = (v, s, book);
        self.passes_before = scalars.passes.max(1);
        self.scalars = scalars;
        Ok(())
    }

    fn class(&self) -> (Comparator, &'static str) {
        let name = self.config.comparator.as_deref().unwrap_or("l2");
        let class = Comparator::new(name, 0.0, None).unwrap_or(Comparator::L2 { radius: 0.0 });
        let weights = |take: &mut dyn FnMut(&[f64])| {
            self.v.iter().for_each(|v| take(&[self.scalars.a * v]));
        };
        let (radius, from) = match (self.config.radius, self.rule.default_radius()) {
            (Some(radius), _) => (radius, "flag"),
            (None, Some(radius)) => (radius, "default"),
            (None, None) => (class.norm(&weights), "model"),
        };
        (class.with_radius(radius), from)
    }

    fn ledger(&self) -> Ledger {
        let s = self.s.as_ref().unwrap_or(&self.v).stacked();
        let mut own = Vec::new();
        // The rounds in which the model moved are a ledger too, as long as they are all of the first pass.
        let first =
            if self.pass == 1 && self.passes_before <= 1 { Some(&self.v) } else { self.followed.as_ref() };
        if let Some(followed) = first.filter(|_| self.rule.apart()) {
            let book = OwnBook { name: "moves".into(), k: self.scalars.moved, magnitude: None, reach: None };
            own.push((book, followed.stacked()));
        }
        Ledger { book: self.book.clone(), s, extra: crate::regret::ledger::Extra::default(), own }
    }

    fn theorem(&self) -> Theorem {
        let theorem = self.rule.theorem(&self.scalars);
        if self.passes_before > 1 {
            return theorem.unmet("the model was resumed after several passes");
        }
        if self.scalars.late > 0 {
            return theorem.unmet(LATE);
        }
        if self.book.reach > 0.0 && self.book.gradient_squared < SMALLEST_SQUARE {
            return theorem.unmet(SMALL_GRADIENTS);
        }
        theorem
    }

    fn rows<V: Value>(&mut self, rows: Rows<'_, V>, z: &mut Vec<f64>) -> Result<(), (usize, Error)> {
        let (n, classes) = (rows.len(), self.v.classes());
        z.resize(n * classes, 0.0);
        let mut work = std::mem::take(&mut self.work);
        for w in &mut work {
            w.resize(classes, 0.0);
        }
        let mut done = Ok(());
        for (i, row) in rows.iter().enumerate() {
            self.v.dots(row.x, &mut work[0]);
            for k in 0..classes {
                work[1][k] = self.scalars.a * work[0][k];
                z[k * n + i] = work[1][k];
            }
            done = self.round(row.x, row.y as usize, row.weight, &mut work).map_err(|e| (i, e));
            if done.is_err() {
                break;
            }
        }
        self.work = work;
        done
    }

    /// The rest of a round, once the scores are there: suffer, enter the ledger, move.
    fn round<V: Value>(
        &mut self,
        x: Features<'_, V>,
        y: usize,
        weight: f64,
        [dots, z, alpha]: &mut [Vec<f64>; 3],
    ) -> Result<()> {
        let (judged, slope_squared, norm_squared) = self.judged(x, y, weight, z, alpha)?;
        if !(self.v.room(x.end()) && self.s.as_mut().is_none_or(|s| s.room(x.end()))) {
            return Err(self.no_room(x.end()));
        }
        let square = slope_squared * norm_squared;
        self.pass_examples += 1;
        let counted = self.pass == 1;
        if weight <= 0.0 {
            if counted {
                self.book.pass_over();
            }
            return Ok(());
        }
        self.pass_loss.add(weight * judged.loss);
        self.pass_weight.add(weight);
        let slope = slope_squared.sqrt();
        if counted {
            self.enter(&judged, weight, slope, noticed(norm_squared, slope, x));
        }
        self.v.reach(x.end());
        if let Some(s) = &mut self.s {
            s.reach(x.end());
            if counted {
                Self::add(s, x, alpha, self.rule.apart());
            }
        }
        self.scalars.t += 1;
        let moved = judged.moves && slope > 0.0;
        if moved {
            let product: f64 = alpha.iter().zip(dots.iter()).map(|(a, u)| a * u).sum();
            Self::add(&mut self.v, x, alpha, self.rule.apart());
            let before = self.scalars.q;
            self.scalars.q = (before + 2.0 * product + square).max(0.0);
            self.scalars.drift += (16.0 + alpha.len() as f64) * f64::EPSILON * (before + square);
            if counted {
                self.scalars.moved += weight;
            }
        }
        if self.scalars.drift > DRIFTED * self.scalars.q || self.scalars.t.is_multiple_of(RECOMPUTE) {
            self.scalars.q = self.v.norm_squared();
            self.scalars.drift = 4.0 * f64::EPSILON * self.scalars.q;
        }
        self.rule.follow(&mut self.scalars, square);
        Ok(())
    }

    /// There is no memory for so many features, or for one class more.
    fn no_room(&self, features: usize) -> Error {
        Error::Usage(UsageError(format!(
            "there is no memory for a table of {features} features and more than {} classes: fold the features into fewer places \
             with a smaller --bits, or give labels fewer names",
            self.v.classes().saturating_sub(1)
        )))
    }

    /// What the rule says of the scores, the squares of the slopes' and the row's lengths; or that the row is too large.
    fn judged<V: Value>(
        &self,
        x: Features<'_, V>,
        y: usize,
        weight: f64,
        z: &[f64],
        alpha: &mut [f64],
    ) -> Result<(Judged, f64, f64)> {
        let judged = self.rule.judge(z, y, alpha);
        let norm_squared = x.norm_squared() + if self.config.bias { 1.0 } else { 0.0 };
        for a in alpha.iter_mut() {
            *a *= weight;
        }
        let slope_squared: f64 = alpha.iter().map(|a| a * a).sum();
        let square = slope_squared * norm_squared;
        let largest = z.iter().fold(0.0, |m: f64, z| m.max(z.abs()));
        if !(largest <= LARGEST && weight * judged.loss <= LARGEST && square <= LARGEST) {
            return Err(Error::Diverged(format!(
                "example {} is too large to learn from: a score of {largest:.3e}, loss {:.3e}, squared gradient \
                 {square:.3e}; scale its weight or features",
                1 + if self.pass == 1 { self.book.examples } else { self.pass_examples },
                judged.loss
            )));
        }
        Ok((judged, slope_squared, norm_squared))
    }

    /// Whether a row that comes alone could be learned.
    fn check_row<V: Value>(&self, row: Row<'_, V>) -> Result<()> {
        let mut z = Vec::new();
        self.products(row.x, &mut z);
        z.resize(z.len().max(row.y as usize + 1), 0.0);
        let mut alpha = vec![0.0; z.len()];
        self.judged(row.x, row.y as usize, row.weight, &z, &mut alpha).map(drop)
    }

    fn products<V: Value>(&self, x: Features<'_, V>, z: &mut Vec<f64>) {
        z.resize(self.v.classes(), 0.0);
        self.v.dots(x, z);
        for z in z {
            *z *= self.scalars.a;
        }
    }

    /// `V += alpha x^T`; a rule that keeps its ledger apart has slopes in few classes.
    fn add<V: Value>(plane: &mut Plane, x: Features<'_, V>, alpha: &[f64], few: bool) {
        if few {
            for (k, a) in alpha.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                plane.add_to(k, x, *a);
            }
        } else {
            plane.add(x, alpha);
        }
    }

    /// The scalars of the ledger. A book knows one slope and one score: the slope is the length of
    /// `alpha`, and the score the one that leaves the constant. What the roundings of a rule exceed those
    /// of a single loss by widens the slack: the book allows 16 roundings of the magnitude, and 8 of the
    /// reach.
    fn enter(&mut self, judged: &Judged, weight: f64, slope: f64, norm_squared: f64) {
        let Judged { loss, constant, roundings, .. } = *judged;
        let slope = slope / weight;
        let z = if slope > 0.0 { (loss - constant) / slope } else { 0.0 };
        self.book.enter(&Entered { z, y: 0.0, weight, loss, slope, floor: 0.0, norm_squared, model: None });
        let wider = roundings / 8.0;
        self.book.magnitude += wider * weight * (loss + constant);
        self.book.reach += wider * weight * slope * norm_squared.sqrt();
    }
}

impl Scheme for Stacked {
    fn entry(&self) -> &'static Entry {
        self.rule.entry()
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn classes(&self) -> usize {
        self.v.classes()
    }

    fn grow(&mut self) -> Result<()> {
        if !self.v.grow() {
            return Err(self.no_room(self.v.dimension()));
        }
        if !self.s.as_mut().is_none_or(Plane::grow) {
            self.v.shrink();
            return Err(self.no_room(self.v.dimension()));
        }
        Ok(())
    }

    fn learn(&mut self, rows: AnyRows<'_>, z: &mut Vec<f64>) -> Result<(), (usize, Error)> {
        match rows {
            AnyRows::F32(rows) => self.rows(rows, z),
            AnyRows::F64(rows) => self.rows(rows, z),
        }
    }

    fn check(&self, row: AnyRows<'_>) -> Result<()> {
        // One that is not the next class is refused by its place.
        if !super::is_one_of(row.labels()[0], self.v.classes() + 1) {
            return Ok(());
        }
        match row {
            AnyRows::F32(rows) => self.check_row(rows.row(0)),
            AnyRows::F64(rows) => self.check_row(rows.row(0)),
        }
    }

    fn check_at(&self, row: Row<'_, f64>, z: &[f64]) -> Result<()> {
        let z = &z[..z.len() - 1];
        let mut alpha = vec![0.0; z.len()];
        self.judged(row.x, row.y as usize, row.weight, z, &mut alpha).map(drop)
    }

    fn learn_late(&mut self, x: Features<'_, f64>, z: &[f64], y: usize, weight: f64) -> Result<()> {
        let z = &z[..self.v.classes()];
        let mut work = std::mem::take(&mut self.work);
        work[0].resize(z.len(), 0.0);
        self.v.dots(x, &mut work[0]);
        work[1].clear();
        work[1].extend_from_slice(z);
        work[2].resize(z.len(), 0.0);
        let done = self.round(x, y, weight, &mut work);
        self.work = work;
        done?;
        self.scalars.late += 1;
        Ok(())
    }

    fn late(&self) -> u64 {
        self.scalars.late
    }

    fn rest(&self, _: Features<'_, f64>) -> f64 {
        0.0
    }

    fn scores(&self, x: Features<'_, f32>, z: &mut Vec<f64>) {
        self.products(x, z);
    }

    fn scores_f64(&self, x: Features<'_, f64>, z: &mut Vec<f64>) {
        self.products(x, z);
    }

    fn weights(&self, class: usize) -> Vector {
        self.v.class(class, self.scalars.a)
    }

    fn averaged(&self, _: usize) -> Option<Vector> {
        None
    }

    fn dimension(&self) -> usize {
        self.v.dimension()
    }

    fn loss(&self, z: &[f64], y: Option<usize>) -> Option<f64> {
        Some(self.rule.judge(z, y?, &mut vec![0.0; z.len()]).loss)
    }

    fn probabilities(&self, z: &mut [f64]) -> bool {
        self.rule.probabilities(z)
    }

    fn examples(&self) -> u64 {
        self.book.examples
    }

    fn pass_examples(&self) -> u64 {
        self.pass_examples
    }

    fn totals(&self) -> (f64, f64) {
        (self.book.loss.value(), self.book.weight.value())
    }

    fn pass_loss(&self) -> Option<f64> {
        (self.pass_weight.value() > 0.0).then(|| self.pass_loss.value() / self.pass_weight.value())
    }

    fn certificate(&self) -> Option<Certificate> {
        let (comparator, from) = self.class();
        let best = self.ledger().best_at_least(&comparator)?;
        Certificate::new(&comparator, Some(from), best, &self.book)
    }

    fn certificate_within(&self, radius: f64) -> Option<Certificate> {
        let (comparator, _) = self.class();
        comparator.radius()?;
        let comparator = comparator.with_radius(radius);
        let best = self.ledger().best_at_least(&comparator)?;
        Certificate::new(&comparator, Some("flag"), best, &self.book)
    }

    fn best_at_least(&self, factor: f64) -> Option<f64> {
        let (comparator, _) = self.class();
        self.ledger().best_at_least(&comparator.with_radius(factor * comparator.radius()?))
    }

    fn bound(&self) -> Option<Stated> {
        let n = self.book.weight.value();
        let mut theorem = self.first_theorem.clone().unwrap_or_else(|| self.theorem());
        theorem.constants.set("T", self.book.rounds as f64).set("longest", self.book.longest_squared.sqrt());
        let certified = || self.certificate().map(|c| c.regret_at_most);
        (n > 0.0).then(|| bound::state(theorem, &self.class().0, n, certified))
    }

    fn comparator(&self) -> (Comparator, Option<&'static str>) {
        let (comparator, from) = self.class();
        (comparator, Some(from))
    }

    fn best_constant(&self, tally: &Tally) -> Option<f64> {
        self.rule.best_constant(tally)
    }

    fn pass(&self) -> u32 {
        self.pass
    }

    fn passes_before(&self) -> u32 {
        self.passes_before
    }

    fn next_pass(&mut self) {
        if self.pass == 1 {
            self.first_theorem = Some(self.theorem());
            if self.rule.apart() && self.passes_before <= 1 {
                self.followed = Some(self.v.clone());
            }
            if self.s.is_none() {
                self.s = Some(self.v.clone());
            }
        }
        self.pass += 1;
        self.scalars.passes = self.pass;
        self.pass_examples = 0;
        (self.pass_loss, self.pass_weight) = (Sum::default(), Sum::default());
    }

    fn against(&self) -> String {
        let (comparator, from) = self.class();
        let name = if comparator.name() == "l2" { "Frobenius" } else { comparator.name() };
        match from {
            "model" => format!("every model of all classes no larger in {name} norm than the one learned"),
            _ => format!(
                "every model of all classes of {name} norm at most {}",
                comparator.radius().unwrap_or(0.0)
            ),
        }
    }

    fn kept(&self) -> Kept<'_> {
        Kept::Stacked(self)
    }
}
