//! Follow the leader for linear losses on a set: empirical risk minimisation without
//! regularisation, the notes' example of what not to do.
//!
//! ```text
//! w_{t+1} = argmin over the set of <w, S>       S = sum of the gradients
//! ball: -U S/|S|        box: -U sign(S_i)       0 while S = 0
//! ```
//!
//! State: `S`. Cost: O(nonzeros) a round.
//!
//! Theorem: none; its regret can be linear, see `generate leader-fails` and
//! `regret/bound/follow_the_leader.rs`. Source: Cesa-Bianchi's notes, "The need for regularization".

use super::iterate::OfLedger;
use super::slots::{Cell, Dual, NoMean, Slots};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "follow-the-leader",
    summary: "empirical risk minimisation on a ball or box, for linear losses: the counter-example",
    update: "w <- argmin over the set of <w, S>",
    paper: "Cesa-Bianchi, notes on online gradient descent, The need for regularization",
    bound: "follow-the-leader",
    bytes_per_feature: (8, None),
    losses: Losses::Only(&["linear"]),
    default_radius: Some(10.0),
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "set",
        kind: Kind::Choice(&["ball", "box"]),
        default: Some("ball"),
        meaning: "what the leader is chosen from: |w|_2 <= U, or |w_i| <= U for every i",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        Ok(boxed(
            FollowTheLeader {
                s: OfLedger::default(),
                radius: setup.radius.unwrap_or(10.0),
                in_box: setup.parameters.word(ENTRY.parameters, "set") == "box",
            },
            setup.bias,
        ))
    },
};

#[derive(Serialize, Deserialize)]
struct FollowTheLeader {
    s: OfLedger,
    radius: f64,
    in_box: bool,
}

impl FollowTheLeader {
    fn corner(&self, s: f64) -> f64 {
        if s == 0.0 { 0.0 } else { -self.radius * s.signum() }
    }
}

impl Learner for FollowTheLeader {
    type Slot = Dual<NoMean>;
    const RESTS: bool = true;

    fn predict<V: Value>(&self, slots: &Slots<Self::Slot>, x: Features<'_, V>) -> f64 {
        if self.in_box { slots.dot(x, |c| self.corner(c.s)) } else { self.s.dot(slots, x) }
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Self::Slot>, x: Features<'_, V>, o: &Outcome) {
        if self.in_box {
            if o.slope != 0.0 {
                slots.enter_briefly(x, o.slope, |_, _| {});
            }
            return;
        }
        self.s.step(slots, x, o);
        self.s.a = if self.s.q > 0.0 { -self.radius / self.s.q.sqrt() } else { 0.0 };
    }

    fn weight(&self, cell: &Cell<Self::Slot>) -> f64 {
        if self.in_box { self.corner(cell.s) } else { self.s.weight(cell) }
    }

    fn ball(&self, _: f64) -> Option<f64> {
        (!self.in_box).then_some(self.radius)
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("follow-the-leader", &[])
    }
}
