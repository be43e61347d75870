//! Passive-aggressive: stays where it is when the loss is 0, otherwise moves as little as makes it 0.
//!
//! ```text
//! tau = loss / |x|^2                     --variant 0
//! tau = min(c C, loss / |x|^2)           --variant 1
//! tau = loss / (|x|^2 + 1/(2 c C))       --variant 2
//! w <- w + tau y x                       classification: loss = [1 - y z]+
//! w <- w + tau sign(y - z) x             regression: loss = [|y - z| - epsilon]+
//! ```
//!
//! The importance weight `c` multiplies the aggressiveness `C`, as it multiplies the slack in the
//! objective `|w - w_t|^2/2 + c C slack`; variant 0 knows no slack and no weight. In regression with
//! `epsilon > 0` the update forgives small errors, while the loss that is reported stays the absolute.
//!
//! State: `w`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/passive_aggressive.rs`, which needs a comparator. Source: Crammer, Dekel,
//! Keshet, Shalev-Shwartz, Singer 2006, figures 1 and 2.

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
    name: "passive-aggressive",
    summary: "moves no more than the current example asks for; classification (hinge) and regression (absolute)",
    update: "w <- w + tau y x, tau = min(c C, loss/|x|^2)",
    paper: "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer 2006, figures 1 and 2",
    bound: "passive-aggressive",
    bytes_per_feature: (16, Some(24)),
    losses: Losses::Only(&["hinge", "absolute"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[
        Parameter {
            name: "variant",
            kind: Kind::Choice(&["0", "1", "2"]),
            default: Some("1"),
            meaning: "PA, PA-I or PA-II: no limit to a step, a limit C, a step that C softens",
        },
        Parameter {
            name: "aggressiveness",
            kind: Kind::Positive,
            default: Some("1"),
            meaning: "C of variants 1 and 2: a smaller one resists noise",
        },
        Parameter {
            name: "epsilon",
            kind: Kind::Nonnegative,
            default: None,
            meaning: "with --loss absolute: errors up to it move nothing; 0 when absent",
        },
    ],
    build: |setup| {
        Ok(if setup.average {
            boxed(PassiveAggressive::<KeptMean>::new(setup)?, setup.bias)
        } else {
            boxed(PassiveAggressive::<NoMean>::new(setup)?, setup.bias)
        })
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Variant {
    Unlimited,
    Limited,
    Softened,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct PassiveAggressive<M> {
    w: Scaled,
    variant: Variant,
    aggressiveness: f64,
    /// None in classification.
    epsilon: Option<f64>,
    #[serde(skip)]
    mean: PhantomData<M>,
}

impl<M> PassiveAggressive<M> {
    fn new(setup: &Setup<'_>) -> Result<Self, UsageError> {
        let given = |name| setup.parameters.number(ENTRY.parameters, name);
        let classification = setup.loss.entry().name == "hinge";
        let epsilon = given("epsilon");
        if classification && epsilon.is_some() {
            return Err(UsageError::new(
                "--epsilon forgives errors in regression: leave it out, or say --loss absolute",
            ));
        }
        Ok(Self {
            w: Scaled::default(),
            variant: match setup.parameters.word(ENTRY.parameters, "variant") {
                "0" => Variant::Unlimited,
                "2" => Variant::Softened,
                _ => Variant::Limited,
            },
            aggressiveness: given("aggressiveness").unwrap_or(1.0),
            epsilon: (!classification).then_some(epsilon.unwrap_or(0.0)),
            mean: PhantomData,
        })
    }

    /// How far to move along `x`, against the slope.
    fn step(&self, o: &Outcome) -> f64 {
        let (sign, loss) = match self.epsilon {
            None => (o.y, 1.0 - o.y * o.z),
            Some(epsilon) => ((o.y - o.z).signum(), (o.y - o.z).abs() - epsilon),
        };
        // A row whose square underflows cannot be divided by.
        if loss <= 0.0 || o.norm_squared == 0.0 {
            return 0.0;
        }
        let c = o.weight * self.aggressiveness;
        let tau = match self.variant {
            Variant::Unlimited => loss / o.norm_squared,
            Variant::Limited => (loss / o.norm_squared).min(c),
            Variant::Softened => loss / (o.norm_squared + 0.5 / c),
        };
        let moved = tau * tau * o.norm_squared;
        if moved.is_finite() { -tau * sign } else { 0.0 }
    }
}

impl<M: Mean> Learner for PassiveAggressive<M> {
    type Slot = Weight<M>;

    fn predict<V: Value>(&self, slots: &Slots<Weight<M>>, x: Features<'_, V>) -> f64 {
        self.w.dot(slots, x)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Weight<M>>, x: Features<'_, V>, o: &Outcome) {
        self.w.begin();
        let step = self.step(o);
        self.w.step(slots, x, o, step, None);
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
        Some(Self {
            w,
            variant: first.variant,
            aggressiveness: first.aggressiveness,
            epsilon: first.epsilon,
            mean: PhantomData,
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("passive-aggressive", &[("C", self.aggressiveness)])
    }
}
