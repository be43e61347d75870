//! Coin betting: no step to choose. Every coordinate bets a fraction of what it has won so far on the
//! sign of its next gradient, the fraction being the Krichevsky-Trofimov estimate.
//!
//! ```text
//! m_i = largest |x_i| so far, the row in hand included         L_i = lambda m_i
//! w_i = -S_i/(L_i (n_i + 1)) W_i/L_i        n_i rounds with g_i != 0 so far, W_i the wealth, at first epsilon
//! W_i -= g_i w_i                            g = slope x
//! ```
//!
//! `lambda` bounds the slopes: the loss's Lipschitz constant, or the largest slope so far where it has
//! none (or where an importance weight is above 1). `L_i` bounds `g_i` before the label is known,
//! because the row is seen first. Unlike the paper's, it may grow: `S_i/L_i` then shrinks, the wealth
//! that theory promises for it falls, and what is owned stays enough. A slope beyond `lambda` counts as
//! `lambda` when the wealth is reckoned, so that no coordinate is ruined. `m_i` counts rounds with a
//! gradient alone, as `n_i` does.
//!
//! Wealth can double in every round and be lost again. What is bet is then rounded in units that dwarf
//! the theorem's number, so the stakes are added up and their roundings to that number.
//!
//! Predictions do not depend on the units of a column. A value larger than any before it shrinks its
//! own weight before it is used.
//!
//! State: `W_i`, `n_i`, `m_i`, and `S_i`, which is the ledger's. Cost: O(nonzeros) a round.
//!
//! Theorem: `regret/bound/coin.rs`. Source: Orabona, Pal 2016, algorithm 1, once per coordinate, with
//! scales as in Orabona, Tommasi 2017, algorithm 1 (COCOB) but taken from the rows.

use super::slots::{Cell, Slot, Slots};
use super::{Entry, Learner, Losses, Outcome, Theorem, refuse_average, sum_over};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::boxed;
use serde::{Deserialize, Serialize};

pub(super) static ENTRY: Entry = Entry {
    name: "coin",
    summary: "coin betting for every feature: no step to choose, whatever the units",
    update: "w_i <- -S_i/(L_i (n_i + 1)) W_i/L_i; W_i -= g_i w_i",
    paper: "Orabona, Pal 2016, algorithm 1, per coordinate; scales after Orabona, Tommasi 2017",
    bound: "coin",
    bytes_per_feature: (32, None),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "wealth",
        kind: Kind::Positive,
        default: Some("1"),
        meaning: "epsilon, what every feature may lose at first; matters little on long streams",
    }],
    build: |setup| {
        refuse_average(&ENTRY, setup)?;
        let wealth = setup.parameters.number(ENTRY.parameters, "wealth").unwrap_or(1.0);
        let lambda = setup.loss.lipschitz().unwrap_or(0.0);
        let coin =
            Coin { wealth, lambda, exceeded: false, squares: 0.0, reach: 0.0, touched: 0.0, staked: 0.0 };
        Ok(boxed(coin, setup.bias))
    },
};

/// A scale below this would take a weight out of the range of f64.
const SMALLEST_SCALE: f64 = 1e-200;

/// No wealth grows beyond this, so that its sums and products stay finite.
const LARGEST_WEALTH: f64 = 1e250;

#[derive(Serialize, Deserialize)]
struct Coin {
    /// `epsilon`.
    wealth: f64,
    lambda: f64,
    /// Whether a slope was beyond `lambda` when something was at stake.
    exceeded: bool,
    /// Sum of `n_i m_i^2`, for the theorem.
    squares: f64,
    /// The largest `n_i m_i`, for the theorem.
    reach: f64,
    /// How many coordinates have had a gradient, for the theorem.
    touched: f64,
    /// Sum over the rounds of what was owned by those who bet, times the roundings of a round.
    #[serde(default)]
    staked: f64,
}

/// What a coordinate has won, how often it has bet, and its feature's largest value.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Bettor {
    won: f64,
    rounds: f64,
    scale: f64,
}

impl Slot for Bettor {
    type Align = ();
    const FIELDS: &'static [&'static str] = &["won", "rounds", "scale"];
    fn get(&self, k: usize) -> f64 {
        [self.won, self.rounds, self.scale][k]
    }
    fn set(&mut self, k: usize, value: f64) {
        *[&mut self.won, &mut self.rounds, &mut self.scale][k] = value;
    }
}

impl Coin {
    /// The fraction of its wealth that a coordinate bets on `L_i = lambda scale`.
    #[inline(always)]
    fn fraction(&self, s: f64, rounds: f64, scale: f64) -> f64 {
        let bound = self.lambda * scale;
        if bound > SMALLEST_SCALE { -s / bound / (rounds + 1.0) } else { 0.0 }
    }
}

impl Learner for Coin {
    type Slot = Bettor;

    fn predict<V: Value>(&self, slots: &Slots<Bettor>, x: Features<'_, V>) -> f64 {
        let sum = sum_over(slots, x, |cell, xi| {
            let Bettor { won, rounds, scale } = cell.state;
            if rounds == 0.0 {
                return 0.0;
            }
            let scale = scale.max(xi.abs());
            self.fraction(cell.s, rounds, scale) * (self.wealth + won) * (xi / scale)
        });
        if self.lambda > SMALLEST_SCALE { sum / self.lambda } else { 0.0 }
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Bettor>, x: Features<'_, V>, o: &Outcome) {
        if o.slope == 0.0 {
            return;
        }
        let size = o.slope.abs();
        // What an outcome is of what it may be; more counts as all.
        let relative = if size > self.lambda { o.slope.signum() } else { o.slope / self.lambda };
        let (mut squares, mut reach, mut touched, mut owned) = (0.0, self.reach, 0.0, 0.0);
        slots.enter(x, o.slope, |cell, xi| {
            let g = o.slope * xi;
            if g == 0.0 {
                return;
            }
            let Bettor { won, rounds, scale: before } = cell.state;
            let scale = before.max(xi.abs());
            // S_i as it was when the bet was made.
            let bet = self.fraction(cell.s - g, rounds, scale);
            let outcome = -relative * (xi / scale);
            owned += self.wealth + won.abs();
            let won = (won + (self.wealth + won) * bet * outcome).min(LARGEST_WEALTH);
            if rounds == 0.0 {
                touched += 1.0;
            }
            squares += (rounds + 1.0) * scale * scale - rounds * before * before;
            reach = f64::max(reach, (rounds + 1.0) * scale);
            cell.state = Bettor { won, rounds: rounds + 1.0, scale };
        });
        self.squares += squares;
        self.reach = reach;
        self.touched += touched;
        // The sum that is predicted rounds once a feature, a bet and its outcome a few times more; nobody owns
        // more than twice as much after a round.
        self.staked += (x.indices.len() as f64 + 16.0) * owned;
        self.exceeded |= self.lambda > 0.0 && size > self.lambda;
        self.lambda = self.lambda.max(size);
    }

    fn weight(&self, cell: &Cell<Bettor>) -> f64 {
        let Bettor { won, rounds, scale } = cell.state;
        let fraction = self.fraction(cell.s, rounds, scale);
        if fraction == 0.0 { 0.0 } else { fraction * (self.wealth + won) / scale / self.lambda }
    }

    fn theorem(&self) -> Theorem {
        let theorem = Theorem::new(
            "coin",
            &[
                ("lambda", self.lambda),
                ("epsilon", self.wealth),
                ("d", self.touched),
                ("sum_n_m2", self.squares),
                ("largest_n_m", self.reach),
                ("rounding", f64::EPSILON * self.staked),
            ],
        );
        if self.exceeded { theorem.unmet("a slope was larger than the bound before it") } else { theorem }
    }
}
