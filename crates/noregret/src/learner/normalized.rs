//! Normalized adaptive gradient descent: no matter in which units a column is measured, the
//! predictions are the same.
//!
//! ```text
//! where |x_i| > s_i:   w_i <- w_i s_i/|x_i|;  s_i <- |x_i|        before predicting
//! z = <w, x>
//! N += sum over i of x_i^2/s_i^2
//! G_i += g_i^2                                                    g = slope x
//! w_i -= eta sqrt(t/N) g_i/(s_i sqrt(G_i))                        0/0 = 0
//! ```
//!
//! A value larger than any before it shrinks its own weight before it is used, so a prediction is
//! `<w, x>` with the weights as they are only where no value is a record. `t/N` is one over the average
//! number of features a row has, in units of their largest values.
//!
//! State: `w_i`, `G_i`, `s_i`. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/normalized.rs`; none in advance of the run. Source: Ross, Mineiro, Langford
//! 2013, algorithm 2 (NAG). Vowpal Wabbit's default descends from it.

use super::part::{average, average_count, gather};
use super::slots::{Cell, Slot, Slots};
use super::{Entry, Learner, Losses, Outcome, Part, Theorem, refuse_average, sum_over};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "normalized",
    summary: "adaptive gradient descent in whatever units the features have",
    update: "s_i <- max |x_i|; G_i += g_i^2; w_i -= eta sqrt(t/N) g_i/(s_i sqrt(G_i))",
    paper: "Ross, Mineiro, Langford 2013, algorithm 2",
    bound: "normalized",
    bytes_per_feature: (32, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "eta",
        kind: Kind::Positive,
        default: Some("0.5"),
        meaning: "the step, in units of one over a feature's largest value",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let eta = setup.parameters.number(ENTRY.parameters, "eta").unwrap_or(0.5);
        Ok(boxed(Normalized { t: 0, eta, total: 0.0, row: 0.0 }, setup.bias))
    },
};

/// A scale below this would take a weight out of the range of f64.
const SMALLEST_SCALE: f64 = 1e-200;

#[derive(Serialize, Deserialize)]
struct Normalized {
    t: u64,
    eta: f64,
    /// `N`.
    total: f64,
    /// What the row in hand adds to `N`.
    #[serde(skip)]
    row: f64,
}

/// A weight, the sum of its squared gradients, and its feature's largest value.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct InUnits {
    w: f64,
    squares: f64,
    scale: f64,
}

impl Slot for InUnits {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["w", "squares", "scale"];
    fn get(&self, k: usize) -> f64 {
        [self.w, self.squares, self.scale][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *[&mut self.w, &mut self.squares, &mut self.scale][k] = value;
    }
}

impl InUnits {
    /// The weight and the scale once `x_i` has been seen.
    #[inline(always)]
    fn seeing(&self, xi: f64) -> (f64, f64) {
        let size = xi.abs();
        if size > self.scale { (self.w * (self.scale / size), size) } else { (self.w, self.scale) }
    }
}

/// The prediction, and the row's part of `N`.
#[inline(always)]
fn look<V: Value>(slots: &Slots<InUnits>, x: Features<'_, V>) -> (f64, f64) {
    let mut row = 0.0;
    let z = sum_over(slots, x, |cell, xi| {
        let (w, scale) = cell.state.seeing(xi);
        if xi != 0.0 {
            row += (xi / scale) * (xi / scale);
        }
        w * xi
    });
    (z, row)
}

impl Learner for Normalized {
    type Slot = InUnits;

    fn predict<V: Value>(&self, slots: &Slots<InUnits>, x: Features<'_, V>) -> f64 {
        look(slots, x).0
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<InUnits>, x: Features<'_, V>) -> f64 {
        let (z, row) = look(slots, x);
        self.row = row;
        z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<InUnits>, x: Features<'_, V>, o: &Outcome) {
        self.t += 1;
        self.total += self.row;
        let eta = if self.total > 0.0 { self.eta * (self.t as f64 / self.total).sqrt() } else { 0.0 };
        // Entered in a round without a slope too: the largest values are part of the state.
        slots.enter(x, o.slope, |cell, xi| {
            let (w, scale) = cell.state.seeing(xi);
            let g = o.slope * xi;
            let squares = cell.state.squares + g * g;
            let moves = squares > 0.0 && scale > SMALLEST_SCALE;
            let change = if moves { -eta * (g / squares.sqrt()) / scale } else { 0.0 };
            cell.state = InUnits { w: w + change, squares, scale };
        });
    }

    fn weight(&self, cell: &Cell<InUnits>) -> f64 {
        cell.state.w
    }

    const AVERAGES: bool = true;

    fn average_of(parts: &[Part<Self>], slots: &mut Slots<InUnits>) -> Option<Self> {
        gather(parts, slots, |sum, part, cell| {
            sum.state.w += part.share * cell.state.w;
            sum.state.squares += part.share * cell.state.squares;
            sum.state.scale = sum.state.scale.max(cell.state.scale);
        });
        Some(Self {
            t: average_count(parts, |learner| learner.t),
            eta: parts.first()?.learner.eta,
            total: average(parts, |learner| learner.total),
            row: 0.0,
        })
    }

    fn theorem(&self) -> Theorem {
        Theorem::new("normalized", &[("eta", self.eta)])
    }
}
