//! Regularised empirical risk minimisation on linearised losses: follow the regularised leader,
//! also called dual averaging.
//!
//! ```text
//! w_t = P(-S_{t-1} / alpha_t)      S_{t-1} = sum of g_s over s < t, P the projection on the ball
//! alpha_t = alpha                                          --alpha
//! alpha_t = sqrt(1 + sum over s < t of |g_s|^2) / U        otherwise
//! ```
//!
//! State: `S`, which is the ledger's. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/ftrl.rs`. Source: Cesa-Bianchi's notes, "The need for regularization"
//! (constant alpha); McMahan 2017, theorem 1 (nondecreasing alpha).

use super::iterate::OfLedger;
use super::part::average;
use super::slots::{Cell, Dual, KeptMean, Mean, NoMean, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "ftrl",
    summary: "regularised empirical risk minimisation on linearised losses (dual averaging)",
    update: "w <- P(-S/alpha), alpha = sqrt(1 + sum |g|^2)/U",
    paper: "Nesterov 2009; McMahan 2017; Cesa-Bianchi, notes on online gradient descent",
    bound: "ftrl",
    bytes_per_feature: (8, Some(16)),
    losses: Losses::All,
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "alpha",
            kind: Kind::Positive,
            default: None,
            meaning: "a constant strength of the regulariser; sqrt(1 + sum of |g|^2)/U when absent",
        },
        Parameter {
            name: "ball",
            kind: Kind::Choice(&["yes", "no"]),
            default: Some("yes"),
            meaning: "whether to project on the ball of radius U",
        },
    ],
    build: |setup| {
        Ok(if setup.average {
            boxed(Ftrl::<KeptMean>::new(setup), setup.bias)
        } else {
            boxed(Ftrl::<NoMean>::new(setup), setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Ftrl<M> {
    w: OfLedger,
    radius: f64,
    project: bool,
    /// Given by the user.
    constant: Option<f64>,
    /// The strength for the next round.
    alpha: f64,
    /// Sum of `|g_s|^2`.
    squares: f64,
    /// Sum of `|g_s|^2/alpha_s`, for the theorem.
    divided: f64,
    /// The strength of the last round, for the theorem.
    last_alpha: f64,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> Ftrl<M> {
    fn new(setup: &Setup<'_>) -> Self {
        let radius = setup.radius.unwrap_or(10.0);
        let constant = setup.parameters.number(ENTRY.parameters, "alpha");
        let alpha = constant.unwrap_or(1.0 / radius);
        Self {
            w: OfLedger::default(),
            radius,
            project: setup.parameters.word(ENTRY.parameters, "ball") == "yes",
            constant,
            alpha,
            squares: 0.0,
            divided: 0.0,
            last_alpha: alpha,
            mean: PhantomData,
        }
    }
}

impl<M: Mean> Learner for Ftrl<M> {
    type Slot = Dual<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Dual<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Dual<M>>, x: Features<'_, V>, o: &Outcome) {
        self.w.step(slots, x, o);
        let square = o.slope * o.slope * o.norm_squared;
        self.last_alpha = self.alpha;
        self.divided += square / self.alpha;
        self.squares += square;
        self.alpha = self.constant.unwrap_or((1.0 + self.squares).sqrt() / self.radius);
        self.w.a = -1.0 / self.alpha;
        if self.project {
            let norm = self.w.q.sqrt();
            if norm > self.radius * self.alpha {
                self.w.a = -self.radius / norm;
            }
        }
    }

    fn weight(&self, cell: &Cell<Dual<M>>) -> f64 {
        self.w.weight(cell)
    }

    fn average(&self, cell: &Cell<Dual<M>>) -> Option<f64> {
        self.w.average(cell)
    }

    fn norm_squared(&self) -> Option<f64> {
        Some(self.w.norm_squared())
    }

    fn ball(&self, _: f64) -> Option<f64> {
        self.project.then_some(self.radius)
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Dual<M>>) -> Option<Self> {
        let Ftrl { radius, project, constant, .. } = parts.first()?.learner;
        let squares = average(parts, |learner| learner.squares);
        let alpha = constant.unwrap_or((1.0 + squares).sqrt() / radius);
        let w = OfLedger::average_of(parts, slots, -1.0 / alpha, |learner| &learner.w);
        let divided = average(parts, |learner| learner.divided);
        Some(Self {
            w,
            radius,
            project,
            constant,
            alpha,
            squares,
            divided,
            last_alpha: alpha,
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        let mut theorem =
            Theorem::new("ftrl", &[("alpha", self.last_alpha), ("sum_g2_over_alpha", self.divided)]);
        if self.project {
            theorem.constants.set("ball", self.radius);
        }
        theorem
    }
}
