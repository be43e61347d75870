//! More than two classes: one score a class, and the highest one is predicted.
//!
//! - `ovr`, one versus the rest: any learner and any loss of two classes, once for each class;
//! - `softmax`: one multinomial logistic loss over all classes, learned by dual averaging;
//! - `perceptron`: the right class is promoted and the highest wrong one demoted.
//!
//! A row's label is the place of its name in a list (see [`Classes`](crate::example::Classes)). Unless all
//! labels were named in advance, a class joins when its label first appears; what that means for the loss
//! and for the certificate is said where each scheme is.
//!
//! To add one that learns a single loss of all scores: a file with a `Rule` of `stacked.rs`, its `mod` line and
//! its line in [`ENTRIES`].

mod late;
mod ovr;
mod perceptron;
mod plane;
mod pupil;
mod softmax;
mod stacked;
mod summary;
mod tally;

pub use pupil::Pupil;
pub use tally::{ClassCount, Tally};

pub(crate) use ovr::Ovr;
pub(crate) use plane::Plane;
pub(crate) use stacked::{Scalars, Stacked};

use crate::engine::{Certificate, Config};
use crate::error::{Error, Result, UsageError};
use crate::example::{Features, Row, Rows};
use crate::regret::Comparator;
use crate::regret::bound::Stated;
use crate::report::ProgressRow;
use crate::report::progress::Told;
use crate::round::Vector;
use serde_json::{Map, Value};

/// Rows that go through all classes together: their scores are kept that long.
const TOGETHER: usize = 256;

/// A way to learn several classes.
pub struct Entry {
    /// The name after `--multiclass`.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    pub(crate) make: Make,
}

/// How a scheme is made.
pub(crate) enum Make {
    /// From a learner and a loss of the registries, which the configuration names.
    Composed(fn(Config) -> Result<Ovr, UsageError>),
    /// With a learner and a loss of its own, by these names.
    Stacked(&'static str, &'static str, fn(Config) -> Result<Stacked, UsageError>),
}

impl Entry {
    /// Whether `--learner`, `--loss` and their parameters choose what it is made of.
    pub fn is_composed(&self) -> bool {
        matches!(self.make, Make::Composed(_))
    }

    fn build(&self, config: Config) -> Result<Box<dyn Scheme>, UsageError> {
        Ok(match self.make {
            Make::Composed(make) => Box::new(make(config)?),
            Make::Stacked(learner, loss, make) => {
                Box::new(make(Config { learner: learner.to_owned(), loss: loss.to_owned(), ..config })?)
            }
        })
    }
}

/// Every scheme; the first is the default.
pub static ENTRIES: &[&Entry] = &[&ovr::ENTRY, &softmax::ENTRY, &perceptron::ENTRY];

/// The entry of that name.
pub fn find(name: &str) -> Result<&'static Entry, UsageError> {
    ENTRIES.iter().copied().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
        UsageError(format!("--multiclass {name}: expected one of {}", names.join(", ")))
    })
}

/// Rows of either kind of values.
#[derive(Clone, Copy)]
pub(crate) enum AnyRows<'a> {
    /// f32, as text is read.
    F32(Rows<'a, f32>),
    /// f64.
    F64(Rows<'a, f64>),
}

impl AnyRows<'_> {
    fn labels(&self) -> &[f64] {
        match self {
            Self::F32(rows) => rows.labels,
            Self::F64(rows) => rows.labels,
        }
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        match self {
            Self::F32(rows) => Self::F32(rows.slice(from, to)),
            Self::F64(rows) => Self::F64(rows.slice(from, to)),
        }
    }

    fn weight(&self, row: usize) -> f64 {
        match self {
            Self::F32(rows) => rows.row(row).weight,
            Self::F64(rows) => rows.row(row).weight,
        }
    }
}

/// How the classes learn. Sums and certificates speak of the first pass, earlier runs included.
pub(crate) trait Scheme: Send + Sync {
    fn entry(&self) -> &'static Entry;
    fn config(&self) -> &Config;
    /// How many classes there are.
    fn classes(&self) -> usize;
    /// One class more.
    fn grow(&mut self) -> Result<()>;
    /// No class joins any more.
    fn close(&mut self) {}
    /// Learns rows, whose labels are all below [`Scheme::classes`]. The scores predicted go to `z`: row
    /// `i` of `n` and class `k` at `k n + i`. An error comes with the number of rows learned before it.
    fn learn(&mut self, rows: AnyRows<'_>, z: &mut Vec<f64>) -> Result<(), (usize, Error)>;
    /// Whether a row could be learned. Its label may be that of a class which is yet to join.
    fn check(&self, row: AnyRows<'_>) -> Result<()>;
    /// The same for a row of which that is known, the class of its label among the others.
    fn check_at(&self, row: Row<'_, f64>, z: &[f64]) -> Result<()>;
    /// Learns a row whose label came late: `z` was predicted, a score for each class and one for all yet to join.
    fn learn_late(&mut self, x: Features<'_, f64>, z: &[f64], y: usize, weight: f64) -> Result<()>;
    /// How many labels came late.
    fn late(&self) -> u64;
    /// What the classes that have not joined are predicted.
    fn rest(&self, x: Features<'_, f64>) -> f64;
    /// The score of each class.
    fn scores(&self, x: Features<'_, f32>, z: &mut Vec<f64>);
    /// The same for f64 values.
    fn scores_f64(&self, x: Features<'_, f64>, z: &mut Vec<f64>);
    /// The model of a class.
    fn weights(&self, class: usize) -> Vector;
    /// The averaged model of a class, where it is kept.
    fn averaged(&self, class: usize) -> Option<Vector>;
    /// Whether every class's scores are linear in the features.
    fn is_linear(&self) -> bool {
        true
    }
    /// Whether a class's score is one of several models mixed.
    fn is_mixture(&self) -> bool {
        false
    }
    /// One more than the largest feature index seen.
    fn dimension(&self) -> usize;
    /// What scores cost when the label is class `y`, or one that the model does not know (if the loss
    /// can say so).
    fn loss(&self, z: &[f64], y: Option<usize>) -> Option<f64>;
    /// Scores become probabilities; `false` where they cannot.
    fn probabilities(&self, z: &mut [f64]) -> bool;
    fn examples(&self) -> u64;
    fn pass_examples(&self) -> u64;
    /// `L` and `n`.
    fn totals(&self) -> (f64, f64);
    /// The loss with its penalty, where there is one.
    fn penalised_loss(&self) -> Option<f64> {
        None
    }
    fn pass_loss(&self) -> Option<f64>;
    fn certificate(&self) -> Option<Certificate>;
    /// The same with another radius, for classes of comparators that have one.
    fn certificate_within(&self, radius: f64) -> Option<Certificate>;
    /// The lower bound with every radius multiplied by this.
    fn best_at_least(&self, factor: f64) -> Option<f64>;
    fn bound(&self) -> Option<Stated>;
    /// The class of comparators in force, and where its radius comes from.
    fn comparator(&self) -> (Comparator, Option<&'static str>);
    /// The average loss of the best constant scores, where it is known.
    fn best_constant(&self, tally: &Tally) -> Option<f64>;
    fn pass(&self) -> u32;
    fn passes_before(&self) -> u32;
    fn next_pass(&mut self);
    /// What is told of a class beside its counts.
    fn tell(&self, _class: usize) -> Map<String, Value> {
        Map::new()
    }
    /// Whom the certificate compares with, in words.
    fn against(&self) -> String;
    /// Whether the state is one that can be saved.
    fn is_whole(&self) -> bool {
        true
    }
    fn kept(&self) -> Kept<'_>;
}

/// The state of a scheme, for model files.
pub(crate) enum Kept<'a> {
    Ovr(&'a Ovr),
    Stacked(&'a Stacked),
}

/// Whether a label is the place of one of so many classes.
fn is_one_of(y: f64, classes: usize) -> bool {
    y >= 0.0 && y < classes as f64 && y.fract() == 0.0
}

/// A model of several classes that learns.
pub struct Multiclass {
    scheme: Box<dyn Scheme>,
    /// Whether the classes were named in advance.
    closed: bool,
    /// The first pass's counts.
    tally: Tally,
    z: Vec<f64>,
    row: Vec<f64>,
}

impl Multiclass {
    /// A model that has seen nothing. `classes` is how many were named in advance; without it every new
    /// label joins.
    ///
    /// ```
    /// use noregret::engine::Config;
    /// use noregret::example::Block;
    /// use noregret::multiclass::Multiclass;
    ///
    /// let mut model = Multiclass::new("ovr", Config::new("projected-ogd", "hinge"), None)?;
    /// let block = Block::<f32>::from_rows(&[
    ///     (0.0, vec![(0, 1.0)]),
    ///     (1.0, vec![(1, 1.0)]),
    ///     (2.0, vec![(2, 1.0)]),
    /// ]);
    /// model.learn(block.rows())?;
    /// assert_eq!(model.classes(), 3);
    /// assert!(model.certificate().unwrap().best_at_least <= model.average_loss().unwrap());
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn new(scheme: &str, config: Config, classes: Option<usize>) -> Result<Self> {
        let mut scheme = find(scheme)?.build(config)?;
        for _ in 0..classes.unwrap_or(0) {
            scheme.grow()?;
        }
        if classes.is_some() {
            scheme.close();
        }
        let tally = Tally::new(scheme.classes());
        Ok(Self { scheme, closed: classes.is_some(), tally, z: Vec::new(), row: Vec::new() })
    }

    pub(crate) fn from_parts(scheme: Box<dyn Scheme>, closed: bool, tally: Tally) -> Self {
        Self { scheme, closed, tally, z: Vec::new(), row: Vec::new() }
    }

    pub(crate) fn scheme(&self) -> &dyn Scheme {
        &*self.scheme
    }

    /// How it learns.
    pub fn entry(&self) -> &'static Entry {
        self.scheme.entry()
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        self.scheme.config()
    }

    /// Whether the classes were named in advance.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Learns rows in order; labels are places in the list of classes. On an error the rows before it
    /// have been learned. A row that comes alone is learned by all classes, or by none and then no class joins.
    pub fn learn(&mut self, rows: Rows<'_, f32>) -> Result<()> {
        self.learn_rows(AnyRows::F32(rows))
    }

    /// Learns rows of f64 values.
    pub fn learn_f64(&mut self, rows: Rows<'_, f64>) -> Result<()> {
        self.learn_rows(AnyRows::F64(rows))
    }

    fn learn_rows(&mut self, rows: AnyRows<'_>) -> Result<()> {
        let count = rows.labels().len();
        if count == 1 {
            self.scheme.check(rows)?;
        }
        let mut from = 0;
        while from < count {
            let known = self.scheme.classes();
            let newcomer = !is_one_of(rows.labels()[from], known);
            if newcomer {
                self.admit(rows.labels()[from], known)?;
            }
            let known = self.scheme.classes();
            let later = rows.labels()[from..count.min(from + TOGETHER)].iter();
            let to = from + later.take_while(|y| is_one_of(**y, known)).count();
            let part = rows.slice(from, to);
            self.z.clear();
            let done = self.scheme.learn(part, &mut self.z);
            let learned = done.as_ref().map_or_else(|(k, _)| *k, |()| to - from);
            if self.scheme.pass() == 1 {
                for i in 0..learned {
                    self.row.clear();
                    self.row.extend((0..known).map(|k| self.z[k * (to - from) + i]));
                    let y = part.labels()[i] as usize;
                    self.tally.enter(&self.row, y, part.weight(i), newcomer && i == 0);
                }
            }
            done.map_err(|(_, error)| error)?;
            from = to;
        }
        Ok(())
    }

    /// A class joins.
    fn admit(&mut self, y: f64, known: usize) -> Result<()> {
        let refused = |message: String| Err(Error::Usage(UsageError(message)));
        if y != known as f64 {
            return refused(format!(
                "class {y} is not the next of {known} classes: give classes their places in order"
            ));
        }
        if self.closed {
            return refused(format!("class {y}: only {known} classes were named in advance"));
        }
        if self.scheme.pass() > 1 {
            return refused(
                "a label appeared that the first pass did not have: the input has changed".to_owned(),
            );
        }
        self.scheme.grow()?;
        self.tally.grow();
        Ok(())
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.scheme.classes()
    }

    /// The score of each class for the current model.
    pub fn scores(&self, x: Features<'_, f32>, z: &mut Vec<f64>) {
        z.clear();
        self.scheme.scores(x, z);
    }

    /// The same for f64 values.
    pub fn scores_f64(&self, x: Features<'_, f64>, z: &mut Vec<f64>) {
        z.clear();
        self.scheme.scores_f64(x, z);
    }

    /// The place of the highest score, the earliest of equal ones.
    pub fn highest(z: &[f64]) -> Option<usize> {
        tally::highest(z, None)
    }

    /// Turns scores into probabilities that sum to 1: the softmax, or for one-versus-rest with logistic
    /// loss each class's own probability divided by their sum. `false` where the loss has none.
    pub fn probabilities(&self, z: &mut [f64]) -> bool {
        self.scheme.probabilities(z)
    }

    /// What scores cost when the label is class `y`. For a label that the model does not have
    /// one-versus-rest counts the loss of the classes there are; nothing otherwise.
    pub fn loss(&self, z: &[f64], y: usize) -> Option<f64> {
        self.scheme.loss(z, (y < self.classes()).then_some(y))
    }

    /// The model of a class.
    pub fn weights(&self, class: usize) -> Vector {
        self.scheme.weights(class)
    }

    /// The averaged model of a class, where it is kept.
    pub fn averaged(&self, class: usize) -> Option<Vector> {
        self.scheme.averaged(class)
    }

    /// Whether every class's scores are linear in the features.
    pub fn is_linear(&self) -> bool {
        self.scheme.is_linear()
    }

    /// Whether a class's score is one of several models mixed, and its weights are those of one of them.
    pub fn is_mixture(&self) -> bool {
        self.scheme.is_mixture()
    }

    /// The Euclidean norm of all classes' models together.
    pub fn norm(&self) -> f64 {
        (0..self.classes()).map(|k| self.weights(k).norm().powi(2)).sum::<f64>().sqrt()
    }

    /// One more than the largest feature index seen.
    pub fn dimension(&self) -> usize {
        self.scheme.dimension()
    }

    /// Rows of the first pass, earlier runs included.
    pub fn examples(&self) -> u64 {
        self.scheme.examples()
    }

    /// Rows of the current pass in this run.
    pub fn pass_examples(&self) -> u64 {
        self.scheme.pass_examples()
    }

    /// The average loss of the first pass; for one-versus-rest the sum of the classes' losses.
    pub fn average_loss(&self) -> Option<f64> {
        let (loss, weight) = self.scheme.totals();
        (weight > 0.0).then(|| loss / weight)
    }

    /// The same of the current pass.
    pub fn pass_loss(&self) -> Option<f64> {
        self.scheme.pass_loss()
    }

    /// What was counted beside the loss, in the first pass.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What the ledgers prove.
    pub fn certificate(&self) -> Option<Certificate> {
        self.scheme.certificate()
    }

    /// The same against models of this norm (for one-versus-rest, of each class); nothing for `ridge`.
    pub fn certificate_within(&self, radius: f64) -> Option<Certificate> {
        self.scheme.certificate_within(radius)
    }

    /// No comparator has a smaller average loss, every radius multiplied by `factor`.
    pub fn best_at_least(&self, factor: f64) -> Option<f64> {
        self.scheme.best_at_least(factor)
    }

    /// The class of comparators in force (for one-versus-rest, of each class), and where its radius comes
    /// from.
    pub fn comparator(&self) -> (Comparator, Option<&'static str>) {
        self.scheme.comparator()
    }

    /// What the learner's theorem says of the first pass.
    pub fn bound(&self) -> Option<Stated> {
        self.scheme.bound()
    }

    /// Which pass this is, from 1.
    pub fn pass(&self) -> u32 {
        self.scheme.pass()
    }

    /// How many passes over the data made the model before it was saved.
    pub fn passes_before(&self) -> u32 {
        self.scheme.passes_before()
    }

    /// Ends a pass and begins the next one over the same stream.
    pub fn next_pass(&mut self) {
        self.scheme.next_pass();
    }

    /// Whether all classes have learned the same rows; not after one of them diverged.
    pub fn is_whole(&self) -> bool {
        self.scheme.is_whole()
    }

    /// Whom the certificate compares with, in words.
    pub fn against(&self) -> String {
        self.scheme.against()
    }
}

impl Told for Multiclass {
    fn examples(&self) -> u64 {
        self.scheme.examples()
    }

    fn totals(&self) -> (f64, f64) {
        self.scheme.totals()
    }

    fn row(&self) -> ProgressRow {
        let certificate = self.certificate();
        ProgressRow {
            examples: self.examples(),
            average_loss: self.average_loss(),
            penalised_loss: self.scheme.penalised_loss(),
            since_last: None,
            radius: certificate.as_ref().and_then(|c| c.radius),
            best_at_least: certificate.as_ref().map(|c| c.best_at_least),
            regret_at_most: certificate.as_ref().map(|c| c.regret_at_most),
            bound: self.bound().and_then(|b| b.regret_at_most),
            error_rate: self.tally.error_rate(),
            model_norm: self.norm(),
        }
    }
}
