//! The second-order Perceptron: a Perceptron that sees rows through the inverse of the matrix of those it
//! erred on, so that a direction met often counts for less.
//!
//! ```text
//! z = < (A + x x')^-1 v, x > = <w, x> / (1 + x' A^-1 x)        w = A^-1 v
//! if y z <= 0:   v <- v + c y x,   A <- A + c x x'             A = alpha I at first, v = 0
//! ```
//!
//! The current row counts in the matrix it is predicted with, which changes the size of `z` and not its
//! sign. The prediction is not linear in `x`; the weights shown are those of `w`.
//!
//! State: a triangular factor `R'R = A` with `v` rotated along (`state/triangle.rs`), d(d+1)/2 numbers,
//! hence at most 4,096 features. Cost: O(d^2) a round.
//!
//! Theorem: `regret/bound/second_order_perceptron.rs`. Source: Cesa-Bianchi, Conconi, Gentile 2005;
//! importance weights are ours.

use super::slots::{Cell, NoMean, Slots, Weight};
use super::state::{LARGEST, Triangle};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "second-order-perceptron",
    summary: "a perceptron whitened by the rows it erred on, O(d^2) a row, at most 4,096 features",
    update: "z = <A^-1 v, x>/(1 + x' A^-1 x); if y z <= 0: v <- v + c y x, A <- A + c x x'",
    paper: "Cesa-Bianchi, Conconi, Gentile 2005",
    bound: "second-order-perceptron",
    bytes_per_feature: (16 + 4 * LARGEST as usize, None),
    losses: Losses::Only(&["hinge", "perceptron"]),
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: Some(LARGEST),
    parameters: &[Parameter {
        name: "alpha",
        kind: Kind::Positive,
        default: Some("1"),
        meaning: "the matrix is alpha I at first (the paper's a)",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let alpha = setup.parameters.number(ENTRY.parameters, "alpha").unwrap_or(1.0);
        let learner = SecondOrder {
            alpha,
            mistakes: 0.0,
            weighted: false,
            room: Vec::new(),
            triangle: Triangle::default(),
        };
        Ok(boxed(learner, setup.bias))
    },
};

#[derive(Serialize, Deserialize)]
struct SecondOrder {
    alpha: f64,
    /// Sum of the weights of the mistake rounds.
    mistakes: f64,
    /// Whether a mistake round had an importance other than 1.
    weighted: bool,
    #[serde(skip)]
    room: Vec<f64>,
    #[serde(skip)]
    triangle: Triangle,
}

impl SecondOrder {
    fn ask<V: Value>(&self, slots: &Slots<Weight<NoMean>>, x: Features<'_, V>, room: &mut Vec<f64>) -> f64 {
        let leverage = self.triangle.leverage(x, slots.bias.is_some(), self.alpha.sqrt(), room);
        slots.dot(x, |c| c.state.v) / (1.0 + leverage)
    }
}

impl Learner for SecondOrder {
    type Slot = Weight<NoMean>;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        self.ask(slots, x, &mut Vec::new())
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        let mut room = std::mem::take(&mut self.room);
        let z = self.ask(slots, x, &mut room);
        self.room = room;
        z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if o.slope != 0.0 {
            slots.enter_briefly(x, o.slope, |_, _| {});
        }
        // A mistake has a nonzero slope under both losses, so the slots know the row.
        if o.y * o.z <= 0.0 {
            self.mistakes += o.weight;
            self.weighted |= o.weight != 1.0;
            let root = o.weight.sqrt();
            self.triangle.fold(slots, x, self.alpha.sqrt(), root, root * o.y);
        }
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.v
    }

    fn is_linear(&self) -> bool {
        false
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new(
            "second-order-perceptron",
            &[
                ("alpha", self.alpha),
                ("M", self.mistakes),
                ("log_det", self.triangle.log_det(self.alpha.sqrt())),
            ],
        );
        if self.weighted { theorem.unmet("importance weights other than 1") } else { theorem }
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        self.triangle.arrays()
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        self.triangle.set_arrays(arrays)
    }
}
