//! AdaGrad with a step for every coordinate: today's usual method, beside the textbook ones.
//!
//! ```text
//! G_i += g_i^2
//! w_i -= eta g_i / sqrt(G_i)       0/0 = 0
//! ```
//!
//! State: `w_i`, `G_i`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/adagrad.rs`; it needs bounded iterates, which nothing here ensures, so no
//! number is printed in advance of the run. Source: Duchi, Hazan, Singer 2011, figure 1 (diagonal,
//! without projection).

use super::part::{average_count, gather};
use super::slots::{Cell, KeptMean, Mean, NoMean, Slot, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Theorem};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

pub(super) static ENTRY: Entry = Entry {
    name: "adagrad",
    summary: "gradient descent with a step of its own for every feature",
    update: "G_i += g_i^2; w_i -= eta g_i/sqrt(G_i)",
    paper: "Duchi, Hazan, Singer 2011, figure 1",
    bound: "adagrad",
    bytes_per_feature: (24, Some(32)),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "eta",
        kind: Kind::Positive,
        default: Some("0.5"),
        meaning: "the step before it is divided by sqrt(G_i)",
    }],
    build: |setup| {
        let eta = setup.parameters.number(ENTRY.parameters, "eta").unwrap_or(0.5);
        Ok(if setup.average {
            boxed(AdaGrad::<KeptMean> { t: 0, eta, mean: PhantomData }, setup.bias)
        } else {
            boxed(AdaGrad::<NoMean> { t: 0, eta, mean: PhantomData }, setup.bias)
        })
    },
};

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct AdaGrad<M> {
    t: u64,
    eta: f64,
    #[serde(skip)]
    mean: PhantomData<M>,
}

/// A weight and the sum of its squared gradients.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Adaptive<M> {
    w: f64,
    squares: f64,
    mean: M,
}

impl<M: Mean> Slot for Adaptive<M> {
    type Align = ();
    const FIELDS: &'static [&'static str] = if M::KEPT { &["w", "squares", "b"] } else { &["w", "squares"] };
    fn get(&self, k: usize) -> f64 {
        [self.w, self.squares, self.mean.get()][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        match k {
            0 => self.w = value,
            1 => self.squares = value,
            _ => self.mean.set(value),
        }
    }
}

impl<M: Mean> Learner for AdaGrad<M> {
    type Slot = Adaptive<M>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        slots.dot(x, |c| c.state.w)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        self.t += 1;
        if o.slope == 0.0 {
            return;
        }
        let (eta, slope, t) = (self.eta, o.slope, self.t as f64);
        slots.enter_briefly(x, slope, |cell, xi| {
            let g = slope * xi;
            let state = &mut cell.state;
            state.squares += g * g;
            // A square that underflows to 0 leaves nothing to divide by.
            if state.squares > 0.0 {
                let change = -eta * g / state.squares.sqrt();
                state.w += change;
                state.mean.add(t * change);
            }
        });
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        cell.state.w
    }

    fn average(&self, cell: &Cell<Self::Slot>) -> Option<f64> {
        (M::KEPT && self.t > 0).then(|| cell.state.w - cell.state.mean.get() / self.t as f64)
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<Self::Slot>) -> Option<Self> {
        gather(parts, slots, |sum, part, cell| {
            sum.state.w += part.share * cell.state.w;
            sum.state.squares += part.share * cell.state.squares;
        });
        let t = average_count(parts, |learner| learner.t);
        Some(Self { t, eta: parts.first()?.learner.eta, mean: PhantomData })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("adagrad", &[("eta", self.eta)])
    }
}
