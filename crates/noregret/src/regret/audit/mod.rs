//! The best in hindsight, to any tolerance.
//!
//! With the rows readable again, the least total loss over a class of models is bracketed. Both ends
//! are proofs: above, the loss of a member of the class, rounded up; below, the ledger of rounds in
//! which that member (or its stand-in at a kink) had predicted throughout, rounded down. The ledger's
//! slopes are a feasible point of the dual problem, and its bound is the dual value there. How the
//! member was found matters only for the width:
//!
//! - Euclidean balls and the quadratic penalty: Newton's method for losses with a continuous slope, an
//!   interior-point method for losses of two straight lines;
//! - the other classes: accelerated gradient descent;
//! - the linear loss has its answer in one sweep.

mod accelerated;
mod class;
mod interior;
mod linear;
mod newton;
mod problem;
mod quadratic;
mod source;
mod surrogate;
mod track;

pub use source::{Files, Source};

use super::{Comparator, Ledger};
use crate::error::{Error, Result};
use crate::example::Value;
use crate::loss::Loss;
use crate::round::Vector;
use problem::{Halt, Problem};
use surrogate::Surrogate;
use track::Track;

/// How far the bracket has closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// No member of the class has a smaller average loss.
    pub at_least: f64,
    /// Some member has this average loss or a smaller one.
    pub at_most: f64,
    /// How often the rows were gone through.
    pub sweeps: usize,
}

/// The least average loss of a class lies between two numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bracket {
    /// The class.
    pub class: Comparator,
    /// No member of the class has a smaller average loss (penalised, for `ridge`).
    pub at_least: f64,
    /// `u` has this average loss or a smaller one.
    pub at_most: f64,
    /// Whether it is as narrow as was asked.
    pub closed: bool,
    /// A member of the class.
    pub u: Vector,
    /// Its norm, as the class measures it.
    pub norm: f64,
    /// The multiplier of the ball in the last step: `u` nearly minimises the total loss plus half of
    /// it times `|u|^2`.
    pub multiplier: Option<f64>,
    /// How often the rows were gone through, all brackets of the auditor together.
    pub sweeps: usize,
}

/// How a bracket is sought.
pub struct Search<'a> {
    /// Stop when the width is at most this part of the upper end (or of a millionth of the zero
    /// model's loss, if that is larger).
    pub tolerance: f64,
    /// Stop after so many sweeps, all brackets together.
    pub most_sweeps: usize,
    /// Where to begin; the zero model otherwise.
    pub start: Option<&'a Vector>,
}

impl Default for Search<'_> {
    fn default() -> Self {
        Self { tolerance: 1e-3, most_sweeps: usize::MAX, start: None }
    }
}

/// Rows that have been gone through once, ready for brackets of several classes.
pub struct Auditor<'a, V> {
    problem: Problem<'a, V>,
    survey: Ledger,
}

impl<'a, V: Value> Auditor<'a, V> {
    /// Goes through the rows once. None when it was stopped before the end.
    ///
    /// ```
    /// use noregret::example::Block;
    /// use noregret::regret::Comparator;
    /// use noregret::regret::audit::{Auditor, Search};
    ///
    /// let block = Block::<f32>::from_rows(&[(1.0, vec![(0, 1.0)]), (-1.0, vec![(0, -0.5)])]);
    /// let hinge = noregret::loss::build("hinge", [])?;
    /// let mut rows = block.rows();
    /// let mut auditor = Auditor::new(&mut rows, &*hinge, false)?.unwrap();
    /// let bracket = auditor.bracket(Comparator::L2 { radius: 1.0 }, &Search::default(), &mut |_| true)?;
    /// // u = 1 loses 0 on the first row and 1/2 on the second.
    /// assert!(bracket.at_least <= 0.25 && 0.25 <= bracket.at_most && bracket.closed);
    /// # Ok::<(), noregret::error::Error>(())
    /// ```
    pub fn new(source: &'a mut dyn Source<V>, loss: &'a dyn Loss, bias: bool) -> Result<Option<Self>> {
        match Problem::survey(source, loss, bias) {
            Ok((problem, survey)) => Ok(Some(Self { problem, survey })),
            Err(Halt::Stopped) => Ok(None),
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    /// The ledger of the zero model: the counts of the stream.
    pub fn survey(&self) -> &Ledger {
        &self.survey
    }

    /// One more than the largest feature index.
    pub fn dimension(&self) -> usize {
        self.problem.features
    }

    /// Stored values.
    pub fn nonzeros(&self) -> u64 {
        self.problem.nonzeros
    }

    /// The average loss of a model, rounded up; none when it was stopped before the end.
    pub fn loss_of(&mut self, u: &Vector) -> Result<Option<f64>> {
        let u = self.flat(u);
        let surrogate = Surrogate { loss: self.problem.loss, width: 0.0 };
        match self.problem.point(u, surrogate) {
            Ok(point) => Ok(Some(super::round_up(point.at_most / self.survey.book.weight.value()))),
            Err(Halt::Stopped) => Ok(None),
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    fn flat(&self, u: &Vector) -> Vec<f64> {
        let d = self.problem.features;
        let mut flat: Vec<f64> = u.features.iter().copied().take(d).collect();
        flat.resize(d, 0.0);
        if self.problem.bias {
            flat.push(u.bias.unwrap_or(0.0));
        }
        flat
    }

    /// Brackets the least average loss of a class. `watch` hears how it stands, and ends it by
    /// answering `false`: the bracket is then true and wide.
    pub fn bracket(
        &mut self,
        class: Comparator,
        search: &Search<'_>,
        watch: &mut dyn FnMut(&Status) -> bool,
    ) -> Result<Bracket> {
        if self.survey.book.weight.value() <= 0.0 {
            return Err(Error::Diverged("no example has a weight above 0: there is nothing to audit".into()));
        }
        let mut start = search.start.map_or_else(|| vec![0.0; self.problem.dimension()], |u| self.flat(u));
        class::pull_inside(&class, &mut start);
        let problem = &mut self.problem;
        let mut track = Track::new(problem, &self.survey, class, search.tolerance, search.most_sweeps, watch);
        let done = if problem.loss.entry().name == "linear" {
            let s: Vec<f64> = self.survey.s.iter().collect();
            let mut u = linear::best(&class, &s, problem.penalty(&class));
            class::pull_inside(&class, &mut u);
            let point = problem.point(u, Surrogate { loss: problem.loss, width: 0.0 });
            point.and_then(|point| track.keep(problem, &point))
        } else if track.done() {
            Ok(())
        } else {
            match class {
                Comparator::L2 { radius } => {
                    euclidean(problem, &mut track, quadratic::Limit::Ball(radius), start)
                }
                Comparator::Ridge { .. } => {
                    let strength = problem.penalty(&class);
                    euclidean(problem, &mut track, quadratic::Limit::Penalty(strength), start)
                }
                _ => accelerated::solve(problem, &mut track, &start),
            }
        };
        match done {
            Ok(()) | Err(Halt::Stopped) => Ok(track.bracket(problem)),
            Err(Halt::Failed(error)) => Err(error),
        }
    }
}

/// The ball or the quadratic penalty.
fn euclidean<V: Value>(
    problem: &mut Problem<'_, V>,
    track: &mut Track<'_>,
    limit: quadratic::Limit,
    start: Vec<f64>,
) -> problem::Flow<()> {
    if problem.loss.kink(problem.labels.first().copied().unwrap_or(1.0)).is_some() {
        interior::solve(problem, track, limit, start)?;
    } else {
        newton::solve(problem, track, limit, start)?;
    }
    if track.done() {
        return Ok(());
    }
    // Slower, and surer where curvature vanishes.
    let best = track.best().to_vec();
    accelerated::solve(problem, track, &best)
}
