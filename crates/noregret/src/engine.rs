//! Everything that belongs to one model: the loss, the learner with its slots, the ledger's scalars,
//! the counts; how it learns blocks, passes over the stream again, and what it can say of itself.

mod average;
mod certificate;
mod check;
mod class;
mod config;
mod late;
mod limit;
mod noted;
mod passes;
mod windows;

pub use average::AVERAGING;
pub use certificate::Certificate;
pub use config::Config;
pub(crate) use passes::Snapshot;
pub use windows::Window;

use crate::error::{Error, Result, UsageError};
use crate::example::{Features, Rows, Value};
use crate::learner::{self, Mixture, Setup, Theorem};
use crate::loss::{self, Loss};
use crate::regret::ledger::Extra;
use crate::regret::risk::{self, Risk};
use crate::regret::{Blocks, Book, Comparator, Ledger};
use crate::report::Tally;
use crate::round::{Judge, Machine, Refused, Rounds, Vector};
use average::AVERAGED;
pub(crate) use late::LATE;
use passes::FirstPass;

/// Where the largest squared gradient is below this, sums of squares may have lost what they are made of.
pub(crate) const SMALLEST_SQUARE: f64 = 1e-280;
pub(crate) const SMALL_GRADIENTS: &str =
    "the gradients are so small that their squares leave the range of f64";

/// A model that learns.
pub struct Engine {
    config: Config,
    entry: &'static learner::Entry,
    loss: Box<dyn Loss>,
    machine: Box<dyn Machine>,
    /// The current part of the stream.
    blocks: Blocks,
    tally: Tally,
    /// Room for rounds that are entered together; empty between calls.
    waiting: Box<Rounds>,
    /// A ledger of what came before the current part.
    base: Option<Ledger>,
    /// Another ledger of what came before: that of its last complete pass, which proves more.
    base_latest: Option<Ledger>,
    /// `S` and its history when the current part began; nothing when that was the start.
    origin: Option<(Vector, Extra)>,
    first: Option<FirstPass>,
    pass: u32,
    /// Passes over the data that made the model before it was saved and resumed.
    passes_before: u32,
    /// Rounds whose label came late.
    late: u64,
    /// How many models it is the average of, where it is one.
    averaged_from: u64,
}

/// How a machine learns rows of one type of values.
type Learn<V> = fn(&mut (dyn Machine + 'static), Rows<'_, V>, &mut Judge<'_>) -> Result<(), (usize, Refused)>;

impl Engine {
    /// A model that has seen nothing.
    ///
    /// ```
    /// use noregret::engine::{Config, Engine};
    /// use noregret::example::Block;
    ///
    /// let mut engine = Engine::new(Config::new("projected-ogd", "hinge"))?;
    /// let block = Block::<f32>::from_rows(&[
    ///     (1.0, vec![(0, 1.0)]),
    ///     (-1.0, vec![(1, 1.0)]),
    /// ]);
    /// engine.learn(block.rows())?;
    /// let certificate = engine.certificate().unwrap();
    /// assert!(certificate.best_at_least <= engine.average_loss().unwrap());
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn new(config: Config) -> Result<Self, UsageError> {
        let entry = learner::find(&config.learner)?;
        config.check(entry)?;
        let loss = (loss::find(&config.loss)?.build)(&config.loss_parameters)?;
        let simplex = config.comparator_name(entry) == "simplex";
        let radius = config.radius.or(if simplex { Some(1.0) } else { entry.default_radius });
        let machine = (entry.build)(&Setup {
            loss: &*loss,
            loss_parameters: &config.loss_parameters,
            label_bound: config.label_bound,
            radius,
            l2: config.l2,
            simplex,
            row_bound: config.row_bound,
            dimension: config.dimension,
            bias: config.bias,
            average: config.average,
            parameters: &config.parameters,
        })?;
        Comparator::new(config.comparator_name(entry), 0.0, config.l2)?;
        if config.comparator_name(entry) == "ridge" && machine.norm_squared().is_none() {
            return Err(UsageError(format!(
                "--comparator ridge needs a learner that knows its norm in every round; `{}` does not",
                entry.name
            )));
        }
        let tally = Tally::new(loss.entry().task, config.loss == "logistic");
        Ok(Self {
            config,
            entry,
            loss,
            machine,
            blocks: Blocks::default(),
            tally,
            waiting: Box::default(),
            base: None,
            base_latest: None,
            origin: None,
            first: None,
            pass: 1,
            passes_before: 0,
            late: 0,
            averaged_from: 0,
        })
    }

    /// What it was made from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The loss.
    pub fn loss(&self) -> &dyn Loss {
        &*self.loss
    }

    /// The learner's entry.
    pub fn entry(&self) -> &'static learner::Entry {
        self.entry
    }

    /// Learns rows in order. On an error the rows before it have been learned.
    pub fn learn(&mut self, rows: Rows<'_, f32>) -> Result<()> {
        self.learn_by(rows, None, <dyn Machine>::learn_f32)
    }

    /// Learns rows of f64 values.
    pub fn learn_f64(&mut self, rows: Rows<'_, f64>) -> Result<()> {
        self.learn_by(rows, None, <dyn Machine>::learn_f64)
    }

    /// Learns rows, cut where a block of the ledger may end; predictions are appended to `noted`.
    fn learn_by<V: Value>(
        &mut self,
        rows: Rows<'_, V>,
        mut noted: Option<&mut Vec<f64>>,
        learn: Learn<V>,
    ) -> Result<()> {
        limit::check(self.entry.name, self.largest_dimension(), rows)?;
        let mut from = 0;
        while from < rows.len() {
            let until = usize::try_from(self.blocks.until_due()).unwrap_or(usize::MAX);
            let to = from + until.min(rows.len() - from);
            let mut judge = Judge {
                loss: &*self.loss,
                waiting: &mut self.waiting,
                book: self.blocks.open(),
                tally: &mut self.tally,
                noted: noted.as_deref_mut(),
            };
            let done = learn(&mut *self.machine, rows.slice(from, to), &mut judge);
            self.explain(done)?;
            self.end_block();
            from = to;
        }
        Ok(())
    }

    /// The most features that the learner can hold, where that is less than anybody's.
    fn largest_dimension(&self) -> Option<u32> {
        self.machine.largest_dimension().or(self.entry.largest_dimension)
    }

    fn explain(&self, done: Result<(), (usize, Refused)>) -> Result<()> {
        done.map_err(|(_, refused)| {
            let remedy = match self.entry {
                e if e.parameters.iter().any(|p| p.name == "eta") => "a smaller --eta, or ",
                e if e.penalised => "a larger --l2, or ",
                _ => "",
            };
            let example = 1 + if self.pass == 1 { self.examples() } else { self.pass_examples() };
            let pass = if self.pass == 1 { String::new() } else { format!(" of pass {}", self.pass) };
            let (z, loss) = match refused {
                Refused::Diverged { z, loss } => (z, loss),
                Refused::NoRoom { end } => {
                    return limit::no_room(self.entry, end, &format!("example {example}{pass}"));
                }
            };
            if z.abs() <= 1e6 {
                return Error::Diverged(format!(
                    "example {example}{pass} is too large to learn from: prediction {z:.3e}, loss {loss:.3e}, and \
                     the gradient's square leaves the range of f64; scale its label, weight or features"
                ));
            }
            Error::Diverged(format!(
                "the learner diverged at example {example}{pass}: prediction {:.3e}, loss {:.3e}; choose {}{}\
                 scale the features",
                z,
                loss,
                remedy,
                if self.machine.ball(1.0).is_some() {
                    ""
                } else {
                    "a learner with a ball (--learner projected-ogd --radius U), or "
                }
            ))
        })
    }

    /// The learner with its slots.
    pub(crate) fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    /// How many passes over the data made the model before it was saved.
    pub fn passes_before(&self) -> u32 {
        self.passes_before
    }

    /// The learner's prediction: `<w, x>` for the current iterate, where it is linear.
    pub fn predict(&self, x: Features<'_, f32>) -> f64 {
        self.machine.predict_f32(x)
    }

    /// The same for f64 values.
    pub fn predict_f64(&self, x: Features<'_, f64>) -> f64 {
        self.machine.predict_f64(x)
    }

    /// The current iterate; of a learner that is not linear, the linear model that stands for it.
    pub fn weights(&self) -> Vector {
        self.machine.weights()
    }

    /// The Euclidean norm of the current iterate, and how many of its weights are not 0.
    pub fn weights_norm(&self) -> (f64, usize) {
        let (mut squares, mut count) = (0.0, 0);
        self.machine.each_weight(&mut |some| {
            for w in some {
                squares += w * w;
                count += usize::from(*w != 0.0);
            }
        });
        (f64::sqrt(squares), count)
    }

    /// Whether predictions are the products with [`Engine::weights`].
    pub fn is_linear(&self) -> bool {
        self.machine.is_linear()
    }

    /// The averaged iterate, where it is kept.
    pub fn averaged(&self) -> Option<Vector> {
        self.machine.averaged()
    }

    /// One more than the largest feature index seen.
    pub fn dimension(&self) -> usize {
        self.machine.dimension()
    }

    /// Rows of the first pass, earlier runs included.
    pub fn examples(&self) -> u64 {
        self.first.as_ref().map_or_else(|| self.blocks.examples(), |f| f.ledger.book.examples)
            + self.base.as_ref().map_or(0, |b| b.book.examples)
    }

    /// Rows of the current pass in this run.
    pub fn pass_examples(&self) -> u64 {
        self.blocks.examples()
    }

    /// Which pass this is, from 1.
    pub fn pass(&self) -> u32 {
        self.pass
    }

    /// What was counted beside the loss, in the first pass.
    pub fn tally(&self) -> &Tally {
        self.first.as_ref().map_or(&self.tally, |f| &f.tally)
    }

    /// The ledger of the current part of the stream alone.
    fn part(&self) -> Ledger {
        let mut s = self.machine.s();
        let mut extra = Extra::default();
        let mut own = self.machine.own_ledgers();
        if let Some((origin, before)) = &self.origin {
            s.add(origin, -1.0);
            extra = *before;
            own = Vec::new();
        }
        Ledger { book: self.blocks.book(), s, extra, own }
    }

    /// The ledger of the first pass, earlier runs included.
    pub fn ledger(&self) -> Ledger {
        let part = self.first.as_ref().map_or_else(|| self.part(), |f| f.ledger.clone());
        Self::joined(self.base.as_ref(), part)
    }

    /// A ledger of the current part or of a pass over it, with that of what came before.
    fn joined(base: Option<&Ledger>, part: Ledger) -> Ledger {
        let Some(base) = base else { return part };
        let mut all = base.clone();
        all.merge(&part);
        all
    }

    /// Every ledger that speaks of the whole stream: of its first pass and of its last complete one.
    fn ledgers(&self) -> Vec<Ledger> {
        let mut parts = Vec::new();
        match &self.first {
            None => parts.push(self.part()),
            Some(first) => {
                parts.push(first.ledger.clone());
                if self.pass_examples() == first.ledger.book.examples {
                    parts.push(self.part());
                } else {
                    parts.extend(first.latest.clone());
                }
            }
        }
        parts.into_iter().flat_map(|part| self.with_base(part)).collect()
    }

    /// A ledger of all that this engine has met by itself, with each of those of what came before.
    fn with_base(&self, part: Ledger) -> Vec<Ledger> {
        let latest = self.base_latest.as_ref().map(|latest| Self::joined(Some(latest), part.clone()));
        latest.into_iter().chain([Self::joined(self.base.as_ref(), part)]).collect()
    }

    /// `L/n` of the first pass.
    pub fn average_loss(&self) -> Option<f64> {
        self.whole_book().average_loss()
    }

    /// The scalars of the first pass, earlier runs included.
    pub fn whole_book(&self) -> Book {
        let mut book = self.base.as_ref().map(|b| b.book.clone()).unwrap_or_default();
        match &self.first {
            None => book.merge(&self.blocks.book()),
            Some(first) => book.merge(&first.ledger.book),
        }
        book
    }

    /// `L/n` of the current pass.
    pub fn pass_loss(&self) -> Option<f64> {
        self.blocks.book().average_loss()
    }

    /// What the ledger proves now, against the class in force.
    pub fn certificate(&self) -> Option<Certificate> {
        let (comparator, from) = self.comparator();
        self.certificate_for(&comparator, from)
    }

    /// No comparator of the class has a smaller average loss on the whole stream: the most that the
    /// ledger of any complete pass proves.
    pub fn best_at_least(&self, comparator: &Comparator) -> Option<f64> {
        let kept = self.first.as_ref().and_then(|first| first.later_best);
        let kept = kept.filter(|_| self.fixed_comparator().as_ref() == Some(comparator));
        if self.first.is_none() && self.base.is_none() && self.base_latest.is_none() && self.origin.is_none()
        {
            // The ledger is as it lies in the slots, and need not be brought out of them.
            let s = |take: &mut dyn FnMut(&[f64])| self.machine.each_s(take);
            let (d, own) = (self.dimension() + usize::from(self.config.bias), self.machine.own_ledgers());
            return self.blocks.book().best_at_least(comparator, (&s, d), &Extra::default(), &own);
        }
        let bounds = self.ledgers().into_iter().filter_map(|ledger| ledger.best_at_least(comparator));
        bounds.chain(kept).reduce(f64::max)
    }

    /// What the ledger proves against any class.
    pub fn certificate_for(
        &self,
        comparator: &Comparator,
        radius_from: Option<&'static str>,
    ) -> Option<Certificate> {
        let best = self.best_at_least(comparator)?;
        Certificate::new(comparator, radius_from, best, &self.whole_book())
    }

    /// The learner's theorem with what was observed in the first pass.
    fn theorem(&self) -> Theorem {
        let book = self.whole_book();
        let mut theorem = self.machine.theorem();
        if self.passes_before > 1 {
            theorem = theorem.unmet("the model was resumed after several passes");
        }
        if self.late > 0 {
            theorem = theorem.unmet(LATE);
        }
        if self.averaged_from > 0 {
            theorem = theorem.unmet(AVERAGED);
        }
        if book.reach > 0.0 && book.gradient_squared < SMALLEST_SQUARE {
            theorem = theorem.unmet(SMALL_GRADIENTS);
        }
        let c = &mut theorem.constants;
        c.set("T", book.rounds as f64).set("longest", book.longest_squared.sqrt());
        if c.get("G").is_none() {
            c.set("G", book.gradient_squared.sqrt());
        }
        c.set("sum_g2", book.squares.value());
        theorem
    }

    /// How the members of a mixture stood at the end of the first pass.
    pub fn mixture(&self) -> Option<Mixture> {
        if let Some(first) = &self.first {
            return first.mixture.clone();
        }
        let mut mixture = self.machine.mixture()?;
        if self.passes_before > 1 {
            mixture = mixture.unmet("the model was resumed after several passes");
        }
        if self.late > 0 {
            mixture = mixture.unmet(LATE);
        }
        Some(mixture)
    }

    /// What can be said about unseen examples.
    pub fn risk(&self) -> Risk {
        if let Some(first) = &self.first {
            return first.risk.clone();
        }
        let book = self.whole_book();
        let (comparator, from) = self.comparator();
        let regret = match comparator {
            Comparator::Ridge { .. } | Comparator::Linf { .. } => None,
            // The best of a ball that the examples chose is no fixed model, and the inequality is for those.
            _ if from == Some("model") => None,
            Comparator::L2 { radius } | Comparator::L1 { radius } | Comparator::Simplex { radius, .. } => {
                self.certificate().map(|c| (c.regret_at_most, radius))
            }
        };
        risk::risk(&risk::Facts {
            loss: &*self.loss,
            book: &book,
            delta: self.config.delta,
            row_bound: self.config.row_bound,
            label_bound: self.config.label_bound,
            ball: &|x| self.machine.ball(x),
            regret_at_most: regret,
            one_pass: self.passes_before <= 1,
            in_time: self.late == 0,
            in_one_piece: self.averaged_from == 0,
        })
    }
}
