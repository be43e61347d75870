//! Online gradient descent without projection.
//!
//! ```text
//! w <- w - eta_t g_t        g_t = slope x
//! eta_t = eta               --schedule constant
//! eta_t = eta / sqrt(t)     --schedule sqrt
//! ```
//!
//! State: `w`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/ogd_constant.rs` for the constant step; none for the other, whose iterates
//! are not bounded (`regret/bound/ogd_sqrt.rs` says so). Source: Cesa-Bianchi's notes, "The need for
//! regularization": the recurrence there with `eta = 1/alpha`.

use super::iterate::Scaled;
use super::slots::{Cell, KeptMean, Mean, NoMean, Slots, Weight};
use super::{Entry, Learner, Losses, Outcome, Part, Setup, Theorem};
use crate::error::UsageError;
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "ogd",
    summary: "online gradient descent without projection, constant or decreasing step",
    update: "w <- w - eta g (constant), w <- w - eta/sqrt(t) g (sqrt)",
    paper: "Zinkevich 2003; Cesa-Bianchi, notes on online gradient descent",
    bound: "ogd-constant",
    bytes_per_feature: (16, Some(24)),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "eta",
            kind: Kind::Positive,
            default: None,
            meaning: "the step; 0.5 with --schedule sqrt, required with --schedule constant",
        },
        Parameter {
            name: "schedule",
            kind: Kind::Choice(&["sqrt", "constant"]),
            default: Some("sqrt"),
            meaning: "how the step goes with time: eta/sqrt(t), or eta throughout",
        },
    ],
    build: |setup| {
        Ok(if setup.average {
            boxed(Ogd::<KeptMean>::new(setup)?, setup.bias)
        } else {
            boxed(Ogd::<NoMean>::new(setup)?, setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Ogd<M> {
    w: Scaled,
    eta: f64,
    constant: bool,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> Ogd<M> {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let constant = setup.parameters.word(ENTRY.parameters, "schedule") == "constant";
        let eta = match setup.parameters.number(ENTRY.parameters, "eta") {
            Some(eta) => eta,
            None if constant => {
                return Err(UsageError::new("learner `ogd` with --schedule constant needs --eta"));
            }
            None => 0.5,
        };
        Ok(Self { w: Scaled::default(), eta, constant, mean: PhantomData })
    }
}

impl<M: Mean> Learner for Ogd<M> {
    type Slot = Weight<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Weight<M>>, x: Features<'_, V>, o: &Outcome) {
        let t = self.w.begin();
        let eta = if self.constant || o.slope == 0.0 { self.eta } else { self.eta / t.sqrt() };
        self.w.step(slots, x, o, eta * o.slope, None);
    }

    fn weight(&self, cell: &Cell<Weight<M>>) -> f64 {
        self.w.weight(cell)
    }

    fn average(&self, cell: &Cell<Weight<M>>) -> Option<f64> {
        self.w.average(cell)
    }

    fn norm_squared(&self) -> Option<f64> {
        Some(self.w.norm_squared())
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Weight<M>>) -> Option<Self> {
        let first = &parts.first()?.learner;
        let w = Scaled::average_of(parts, slots, |learner| &learner.w);
        Some(Self { w, eta: first.eta, constant: first.constant, mean: PhantomData })
    }

    fn theorem(&self) -> Theorem {
        let bound = if self.constant { "ogd-constant" } else { "ogd-sqrt" };
        Theorem::new(bound, &[("eta", self.eta)])
    }
}
