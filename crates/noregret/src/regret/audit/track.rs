//! The bracket of an audit while it closes: the best of both ends seen so far.

use super::problem::{Flow, Halt, Point, Problem};
use super::{Bracket, Status};
use crate::example::Value;
use crate::regret::{Comparator, Ledger, Sum, round_down, round_up};

/// Both ends, and when to stop.
pub(super) struct Track<'a> {
    class: Comparator,
    tolerance: f64,
    most_sweeps: usize,
    /// The sum of weights.
    n: f64,
    /// The average loss of the zero model.
    zero: f64,
    /// What rounding alone may leave open, in totals.
    grain: f64,
    lipschitz: f64,
    at_least: f64,
    at_most: f64,
    u: Vec<f64>,
    pub(super) multiplier: Option<f64>,
    watch: &'a mut dyn FnMut(&Status) -> bool,
}

impl<'a> Track<'a> {
    /// `survey` is the ledger of the zero model.
    pub(super) fn new<V: Value>(
        problem: &Problem<'_, V>,
        survey: &Ledger,
        class: Comparator,
        tolerance: f64,
        most_sweeps: usize,
        watch: &'a mut dyn FnMut(&Status) -> bool,
    ) -> Self {
        let n = survey.book.weight.value();
        let zero = survey.book.average_loss().unwrap_or(0.0);
        // Predictions of the zero model are exact, so its losses are off by a few roundings alone.
        let inside = !matches!(class, Comparator::Simplex { complete: true, .. });
        let book = &survey.book;
        let reach = book.reach * class.radius().unwrap_or(1.0);
        let additions = (book.rounds as f64 + 8.0) * f64::EPSILON;
        let grain = 2.0 * additions * (reach + book.magnitude) + 1e-300;
        Self {
            class,
            grain,
            tolerance,
            most_sweeps,
            n,
            zero,
            lipschitz: problem.loss.lipschitz().unwrap_or(1.0),
            at_least: survey.best_at_least(&class).unwrap_or(f64::NEG_INFINITY),
            at_most: if inside { round_up(zero + 16.0 * f64::EPSILON * zero.abs()) } else { f64::INFINITY },
            u: vec![0.0; problem.dimension()],
            multiplier: None,
            watch,
        }
    }

    /// The best member so far.
    pub(super) fn best(&self) -> &[f64] {
        &self.u
    }

    pub(super) fn class(&self) -> &Comparator {
        &self.class
    }

    /// How much the kink of a loss is rounded off at first.
    pub(super) fn first_width(&self) -> f64 {
        0.2 * self.zero.abs().max(f64::MIN_POSITIVE) / (self.lipschitz * self.lipschitz)
    }

    /// Takes what is better at either end, and tells how it stands.
    pub(super) fn keep<V: Value>(&mut self, problem: &Problem<'_, V>, point: &Point) -> Flow<()> {
        let most = self.upper(problem, point);
        if most < self.at_most {
            self.at_most = most;
            self.u.clone_from(&point.u);
        }
        if let Some(least) = point.ledger.best_at_least(&self.class) {
            self.at_least = self.at_least.max(least);
        }
        let status = Status { at_least: self.at_least, at_most: self.at_most, sweeps: problem.sweeps };
        if (self.watch)(&status) && problem.sweeps < self.most_sweeps { Ok(()) } else { Err(Halt::Stopped) }
    }

    fn upper<V: Value>(&self, problem: &Problem<'_, V>, point: &Point) -> f64 {
        let penalty = problem.penalty(&self.class) / 2.0;
        let square = point.u.iter().map(|x| x * x).collect::<Sum>().value();
        round_up(round_up(point.at_most + round_up(penalty * square)) / round_down(self.n))
    }

    /// The width of the bracket that the stand-in's own problem has at a point, in totals.
    pub(super) fn stage_gap<V: Value>(&self, problem: &Problem<'_, V>, point: &Point) -> f64 {
        let penalty = problem.penalty(&self.class) / 2.0 * point.u.iter().map(|x| x * x).sum::<f64>();
        let Ledger { book, s, .. } = &point.ledger;
        let least = book.k.value() - self.class.support(s, point.u.len(), 0.0, book.rounds as f64);
        point.smooth + penalty - least + point.waste
    }

    /// The total that the tolerance leaves open.
    pub(super) fn allowed(&self) -> f64 {
        self.grain.max(self.n * self.tolerance * self.at_most.abs().max(1e-6 * self.zero.abs()))
    }

    /// The width of the bracket.
    pub(super) fn width(&self) -> f64 {
        self.at_most - self.at_least
    }

    /// Whether the bracket is narrow enough.
    pub(super) fn done(&self) -> bool {
        self.n * (self.at_most - self.at_least) <= self.allowed()
    }

    pub(super) fn bracket<V: Value>(self, problem: &Problem<'_, V>) -> Bracket {
        Bracket {
            class: self.class,
            at_least: self.at_least.min(self.at_most),
            at_most: self.at_most,
            closed: self.done(),
            norm: self.class.norm(&self.u[..]),
            u: problem.vector(&self.u),
            multiplier: self.multiplier,
            sweeps: problem.sweeps,
        }
    }
}
