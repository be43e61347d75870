//! A pool of learners on one stream, mixed by exponential weights: the default, with nothing to tune.
//!
//! Every feature has a scale `s`, its largest size so far (it at most doubles in a row, so that one
//! wild value cannot ruin the run); members see `x/s`, so columns may have any unit. `A` is the mean of
//! `|x/s|^2` over the rows so far. All of it is known before the label is. In units of `s`:
//!
//! ```text
//! descent(eta), eta = 0.5, 5, 50     G_i += g^2 x_i^2;  r_i = eta/(sqrt(A) sqrt(G_i));  kappa = sum r_i x_i^2
//!                                    w_i -= u r_i x_i,  u the mean slope on the way of length kappa
//! bayes(q), q = 0, 0.01              v_i = 1/(sqrt(A)/10 + P_i);  V = sum v_i x_i^2;  u = slope(z - V u)
//!                                    w_i -= u v_i x_i;  P_i <- (1 - q) P_i + h x_i^2,  h the curvature
//! coin                               w_i = (16 + W_i) z_i/(1 + G_i)/A;  b = -slope x_i
//!                                    W_i += b w_i A;  z_i += b;  G_i += |b|
//! ```
//!
//! Descent is normalised AdaGrad with steps that cannot overshoot (for the logistic loss the gradient
//! is followed for the whole weight, Karampatziakis and Langford 2011; for others the step is proximal,
//! Kulis and Bartlett 2010). Bayes is diagonal Bayesian regression; with q > 0 it forgets. The coin bets
//! per coordinate (Orabona and Tommasi 2017); its division by `A` is a deviation that voids its own
//! guarantee. For losses of `z - y` the steps are in units of the largest label so far, and predictions
//! stay within the labels seen. `auto/mixing.rs` makes one prediction of the six, `auto/rule.rs` has
//! what depends on the loss.
//!
//! State: 64 bytes a feature beside `S`. Cost: O(nonzeros) a round, three touches of the same cache line.
//!
//! Ledgers: the mixture's, and that of the slow descent: the member that moves least proves most about
//! fixed models (the others' would cost another 8 bytes a feature each).
//!
//! Theorem: `regret/bound/mixture.rs`: the loss is at most the best member's plus a constant.

mod lanes;
mod mixing;
mod mixture;
mod rule;
mod slot;
mod stack;
#[cfg(test)]
mod tests;

pub use mixture::{Member, Mixture, Moment};

use super::slots::{Cell, Slots};
use super::{Entry, Learner, Losses, Outcome, OwnBook, Setup, Theorem};
use crate::example::{Features, Value};
use crate::parameter::{Kind, Parameter};
use crate::round::{Machine, Vector, boxed, noticed};
use mixing::{Mixed, Mixing};
use rule::{Convex, Logistic, Moves, Rule};
use serde::{Deserialize, Serialize};
use slot::{Averages, Beside, COIN, DESCENTS, MEMBERS, Nothing, Pool, State, WEIGHTED};
use std::marker::PhantomData;
use wide::f32x4;

pub(super) static ENTRY: Entry = Entry {
    name: "auto",
    summary: "six learners without a rate to tune, mixed; never much worse than the best of them",
    update: "z = sum of v_k z_k (logistic: of probabilities), v_k ~ exp(-eta loss_k), fixed share and a stack beside",
    paper: "Vovk 1990; Herbster, Warmuth 1998; Ross, Mineiro, Langford 2013; Orabona, Tommasi 2017",
    bound: "mixture",
    bytes_per_feature: (72, Some(120)),
    losses: Losses::All,
    default_radius: None,
    default_comparator: "l2",
    penalised: false,
    largest_dimension: None,
    parameters: &[Parameter {
        name: "tracking",
        kind: Kind::Choice(&["no", "yes"]),
        default: Some("no"),
        meaning: "fixed share alone decides, for streams that drift",
    }],
    build: |setup| {
        let loss = setup.loss.entry();
        if loss.name == "logistic" {
            return Ok(either(setup, Logistic));
        }
        let loss = (loss.build)(setup.loss_parameters)?;
        Ok(either(setup, Convex::new(loss, setup.label_bound)))
    },
};

fn either<R: Rule>(setup: &Setup<'_>, rule: R) -> Box<dyn Machine> {
    let tracking = setup.parameters.word(ENTRY.parameters, "tracking") == "yes";
    if setup.average {
        boxed(Auto::<R, Averages>::new(rule, tracking), setup.bias)
    } else {
        boxed(Auto::<R, Nothing>::new(rule, tracking), setup.bias)
    }
}

/// The members' names, in their order.
const NAMES: [&str; MEMBERS] = ["descent-slow", "descent", "descent-fast", "bayes", "bayes-drift", "coin"];
/// The vector of the slow descent's ledger, in model files.
const SLOW_S: &str = "s.descent-slow";
/// The descents' rates.
const RATES: [f64; DESCENTS] = [0.5, 5.0, 50.0];
/// Slopes below this are none: their squares would leave the range of f32.
const FLATTEST: f32 = 1e-18;
/// ... and so would those of slopes beyond this.
const STEEPEST: f32 = 1e15;
/// The variance a Bayesian starts with.
const VARIANCE: f64 = 10.0;

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Auto<R: Rule, B> {
    /// Rounds, the sum of their weights, and the largest.
    t: u64,
    weight: f64,
    largest_weight: f64,
    /// The sum of `|x/s|^2` over the rows.
    rows: f64,
    /// The sum of what multiplied the coin's bets, for its average.
    coin_scales: f64,
    memory: R::Memory,
    mixing: Mixing,
    /// The scalars of the slow descent's ledger: `K`, and what its rounding is measured by.
    slow: [f64; 3],
    /// Its vector, apart from the cells so that these fill a cache line, and the bias's part of it.
    #[serde(skip)]
    slow_s: Vec<f64>,
    slow_bias: f64,
    history: Vec<Moment>,
    #[serde(skip)]
    tracking: bool,
    #[serde(skip)]
    rule: R,
    #[serde(skip)]
    round: Round,
    #[serde(skip)]
    beside: PhantomData<B>,
}

/// What a row looks like before its label is known.
#[derive(Default)]
struct Round {
    /// What the members' weights say.
    margins: [f64; MEMBERS],
    /// What they predict.
    z: [f64; MEMBERS],
    mixed: Mixed,
    /// `|x/s|^2`.
    square: f64,
    /// What multiplies the coin's bets.
    coin_scale: f64,
    /// Whether a feature's scale is about to change.
    news: bool,
    /// What was found in the row's cells, feature by feature, the bias last.
    heard: Vec<Heard>,
}

/// What the members know of a feature of the row.
#[derive(Clone, Copy, Default)]
struct Heard {
    /// What a unit of slope moves the weights by, the last one's apart.
    rates: f32x4,
    last_rate: f32,
    /// `x/s`.
    v: f32,
    /// `1/s`.
    inverse: f32,
    /// What the coin bets.
    bet: f32,
}

impl<R: Rule, B: Beside> Auto<R, B> {
    fn new(rule: R, tracking: bool) -> Self {
        Self {
            t: 0,
            weight: 0.0,
            largest_weight: 0.0,
            rows: 0.0,
            coin_scales: 0.0,
            memory: R::Memory::default(),
            mixing: Mixing::new(rule.stacking().is_some()),
            slow: [0.0; 3],
            slow_s: Vec::new(),
            slow_bias: 0.0,
            history: Vec::new(),
            tracking,
            rule,
            round: Round::default(),
            beside: PhantomData,
        }
    }

    /// `A` with one more row.
    fn mean_square(&self, square: f64) -> f64 {
        let mean = (self.rows + square) / (self.t as f64 + 1.0);
        if mean > 0.0 { mean } else { 1.0 }
    }

    /// What a row's prediction is made of. `note` hears of every feature in turn, the bias last.
    #[inline(always)]
    fn ask<V: Value>(
        &self,
        slots: &Slots<Pool<B>>,
        x: Features<'_, V>,
        note: impl FnMut(f32, f32, f32),
    ) -> Round {
        if x.end() <= slots.cells.len() {
            return self.ask_of(slots, x, |i| &slots.cells[i as usize].state.state, note);
        }
        let unseen = State::default();
        self.ask_of(slots, x, |i| slots.cells.get(i as usize).map_or(&unseen, |c| &c.state.state), note)
    }

    #[inline(always)]
    fn ask_of<'s, V: Value>(
        &self,
        slots: &'s Slots<Pool<B>>,
        x: Features<'_, V>,
        state_of: impl Fn(u32) -> &'s State,
        mut note: impl FnMut(f32, f32, f32),
    ) -> Round {
        // Of the first four members, the fifth, and the coin.
        let (mut four, mut fifth, mut coin) = (f32x4::ZERO, 0f32, 0f32);
        let (mut square, mut news) = (0f32, false);
        let mut hear = |state: &State, x: f64| {
            let (v, inverse, bet) = state.hear(x).unwrap_or_else(|| {
                news = true;
                state.hear_news(x)
            });
            let (weights, last) = state.weights();
            four += weights * f32x4::splat(v);
            fifth += last * v;
            coin += bet * v;
            square += v * v;
            note(v, inverse, bet);
        };
        for (&i, x) in x.indices.iter().zip(x.values) {
            hear(state_of(i), x.f64());
        }
        if let Some(bias) = &slots.bias {
            hear(&bias.state.state, 1.0);
        }
        let square = f64::from(square);
        let [first, second, third, fourth] = four.to_array();
        let mut margins = [first, second, third, fourth, fifth, coin].map(f64::from);
        let coin_scale = self.rule.unit(&self.memory) / self.mean_square(square);
        margins[COIN] *= coin_scale;
        let margins = margins.map(|m| self.rule.tamed(&self.memory, m));
        let z = margins.map(|m| self.rule.predicted(&self.memory, m));
        let mixed = self.mixing.mix(&self.rule, &self.memory, &z, self.tracking);
        Round { margins, z, mixed, square, coin_scale, news, heard: Vec::new() }
    }

    /// The mean of member `k`'s iterates.
    fn average_of(&self, k: usize, cell: &Cell<Pool<B>>) -> f64 {
        let sum = if k == COIN { self.coin_scales } else { self.t as f64 };
        (sum * cell.state.state.raw(k) - cell.state.beside.get(k)) / self.t as f64
    }

    /// What multiplies a coin's bet.
    fn coin_scale(&self) -> f64 {
        let mean = if self.t > 0 && self.rows > 0.0 { self.rows / self.t as f64 } else { 1.0 };
        self.rule.unit(&self.memory) / mean
    }
}

impl<R: Rule, B: Beside> Learner for Auto<R, B> {
    type Slot = Pool<B>;

    fn fetch<V: Value>(&self, slots: &Slots<Pool<B>>, x: Features<'_, V>) {
        slots.fetch(x);
    }

    fn predict<V: Value>(&self, slots: &Slots<Pool<B>>, x: Features<'_, V>) -> f64 {
        self.ask(slots, x, |_, _, _| ()).mixed.z
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Pool<B>>, x: Features<'_, V>) -> f64 {
        let mut heard = std::mem::take(&mut self.round.heard);
        // Room once, so that to note is to write.
        heard.resize(x.indices.len() + 1, Heard::default());
        let mut next = heard.iter_mut();
        let round = self.ask(slots, x, |v, inverse, bet| {
            if let Some(heard) = next.next() {
                (heard.v, heard.inverse, heard.bet) = (v, inverse, bet);
            }
        });
        self.round = Round { heard, ..round };
        self.round.mixed.z
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Pool<B>>, x: Features<'_, V>, o: &Outcome) {
        let (rule, y, c) = (&self.rule, o.y, o.weight);
        let Round { margins, z, mixed, square, coin_scale, news, heard } = &mut self.round;
        let (coin_scale, margins, z) = (*coin_scale, *margins, *z);
        let told: [_; MEMBERS] = std::array::from_fn(|k| rule.told(mixed.points[k], z[k], margins[k], y));
        rule.note(&mut self.memory, y);
        let mean_square = (self.rows + *square) / (self.t as f64 + 1.0);
        let root = if mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        let (unit, gain) = (rule.unit(&self.memory), rule.gain(&self.memory));
        let scale = RATES.map(|eta| eta * unit / root);

        // The iterates that predicted join the averages.
        self.coin_scales += coin_scale;
        let t = self.t as f64 + 1.0;
        let factors: [f64; MEMBERS] = std::array::from_fn(|k| if k == COIN { self.coin_scales } else { t });

        if *news {
            slots.grow(x.end());
            let mut noted = heard.iter();
            slots.revisit(x, |cell| {
                let (Some(heard), state) = (noted.next(), &mut cell.state.state) else { return };
                if heard.inverse != state.inverse {
                    let before = *state;
                    state.rescale(heard.inverse);
                    if B::KEPT {
                        cell.state.beside.moved(&before, state, &factors);
                    }
                }
            });
        }

        // First touch: sums of squares, and how far each member's prediction will move.
        let (first_loss, entered_slope) = rule.at(z[0], y, &told[0]);
        let entered = c * entered_slope;
        // A fourth lane of nothing, so that four are computed at once; what is as good as no slope is none.
        let steep = |k: usize| {
            let slope = ((c * told[k].slope) as f32).clamp(-STEEPEST, STEEPEST);
            if slope.abs() > FLATTEST { slope } else { 0.0 }
        };
        let slopes: [f32; 4] = std::array::from_fn(|k| if k < DESCENTS { steep(k) } else { 0.0 });
        let lanes = f32x4::new(slopes);
        let prior = (root / VARIANCE) as f32;
        let (mut ways, mut last_way) = (f32x4::ZERO, 0f32);
        let mut noted = heard.iter_mut();
        slots.enter_briefly(x, o.slope, |cell, _| {
            let Some(heard) = noted.next() else { return };
            let v = heard.v;
            (heard.rates, heard.last_rate) = cell.state.state.meet(v, lanes, prior);
            ways += f32x4::splat(v * v) * heard.rates;
            last_way += v * v * heard.last_rate;
        });
        if x.end() > self.slow_s.len() {
            self.slow_s.resize(slots.cells.len(), 0.0);
        }
        let slow_s = self.slow_s.as_mut_slice();
        for (i, xi) in x.iter() {
            slow_s[i] += entered * xi;
        }
        self.slow_bias += entered;

        // How far each moves.
        let [w0, w1, w2, w3] = ways.to_array();
        let ways = [w0, w1, w2, w3, last_way].map(f64::from);
        let gains = [scale[0], scale[1], scale[2], gain, gain];
        let ways: [f64; WEIGHTED] = std::array::from_fn(|k| gains[k] * ways[k]);
        let Moves { u, curvature } = rule.moves(&margins, y, c, &ways, &told);
        let moves: [f32; WEIGHTED] = std::array::from_fn(|k| {
            let rests = k < DESCENTS && slopes[k] == 0.0;
            if rests { 0.0 } else { (-u[k] * gains[k]) as f32 }
        });
        // Precisions that fade away would end among the slowest of numbers.
        let bends = [curvature[3], curvature[4]].map(|h| (h as f32).clamp(1e-20, STEEPEST));
        let slope = c * told[COIN].slope;
        let toss = (-slope / rule.steepest(&mut self.memory, slope)).clamp(-1.0, 1.0) as f32;

        // Second touch: move.
        let moves = (f32x4::new([moves[0], moves[1], moves[2], moves[3]]), moves[4]);
        let mut noted = heard.iter();
        slots.revisit(x, |cell| {
            let Some(heard) = noted.next() else { return };
            if heard.v == 0.0 {
                return;
            }
            let state = &mut cell.state.state;
            let before = *state;
            state.follow(heard.v, (heard.rates, heard.last_rate), moves, bends);
            state.toss(toss * heard.v, heard.bet);
            if B::KEPT {
                cell.state.beside.moved(&before, state, &factors);
            }
        });

        self.t += 1;
        self.weight += c;
        self.largest_weight = self.largest_weight.max(c);
        self.rows += *square;
        let (loss, product) = (c * first_loss, entered * z[0]);
        self.slow[0] += loss - product;
        // A product of weight and slope near 0 is off by more than its own roundings.
        let size = if entered_slope == 0.0 { 0.0 } else { entered.abs().max(2.0 * f64::MIN_POSITIVE) };
        self.slow[1] += loss.abs() + size * z[0].abs();
        self.slow[2] += size * noticed(o.norm_squared, entered, x).sqrt();
        self.mixing.update(rule, mixed, &told, (y, c), self.tracking);
        if self.t.is_power_of_two() {
            self.history.push(self.moment());
        }
    }

    fn weight(&self, cell: &Cell<Pool<B>>) -> f64 {
        let k = self.mixing.heaviest(self.tracking);
        let scale = if k == COIN { self.coin_scale() } else { 1.0 };
        scale * cell.state.state.raw(k)
    }

    /// A mixture's prediction is no product with any one member's weights.
    fn is_linear(&self) -> bool {
        false
    }

    fn average(&self, cell: &Cell<Pool<B>>) -> Option<f64> {
        (B::KEPT && self.t > 0).then(|| self.average_of(self.mixing.heaviest(self.tracking), cell))
    }

    fn theorem(&self) -> Theorem {
        let least = self.mixing.losses().iter().copied().fold(f64::INFINITY, f64::min);
        let mut theorem = Theorem::new("mixture", &[("K", MEMBERS as f64), ("best_member_total", least)]);
        if let Some(eta) = self.rule.rate() {
            theorem.constants.set("eta", eta);
            if self.conditions().is_empty() {
                theorem.constants.set("excess_total", self.mixing.excess(eta, self.tracking));
            }
        }
        theorem.unmet.extend(self.conditions());
        theorem
    }

    fn own_ledgers(&self, slots: &Slots<Pool<B>>) -> Vec<(OwnBook, Vector)> {
        if !self.rule.grounded() {
            return Vec::new();
        }
        let [k, magnitude, reach] = self.slow;
        let book = OwnBook { name: NAMES[0].into(), k, magnitude: Some(magnitude), reach: Some(reach) };
        let mut features = self.slow_s.clone();
        features.resize(slots.cells.len(), 0.0);
        vec![(book, Vector { features, bias: slots.bias.is_some().then_some(self.slow_bias) })]
    }

    fn arrays(&self) -> Vec<(&'static str, Vec<f64>)> {
        vec![(SLOW_S, self.slow_s.clone())]
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let [(name, s)] = arrays else { return false };
        self.slow_s.clone_from(s);
        name == SLOW_S
    }

    fn mixture(&self) -> Option<Mixture> {
        let (losses, weights) = (self.mixing.losses(), self.mixing.weights(self.tracking));
        if self.t == 0 {
            return None;
        }
        let best = (0..MEMBERS).min_by(|&a, &b| losses[a].total_cmp(&losses[b]))?;
        let member =
            |k: usize| Member { name: NAMES[k], average_loss: losses[k] / self.weight, weight: weights[k] };
        let unmet = self.conditions();
        let excess = self.rule.rate().filter(|_| unmet.is_empty());
        let mut history = self.history.clone();
        if !self.t.is_power_of_two() {
            history.push(self.moment());
        }
        Some(Mixture {
            members: (0..MEMBERS).map(member).collect(),
            best_member: NAMES[best],
            heaviest_member: NAMES[self.mixing.heaviest(self.tracking)],
            mixed_by: self.mixing.ways(self.tracking),
            excess_at_most: excess.map(|eta| self.mixing.excess(eta, self.tracking) / self.weight),
            unmet,
            history,
        })
    }

    fn catch_up(&mut self, twin: &Self, features: &[u32]) -> bool {
        let Self { t, weight, largest_weight, rows, coin_scales, memory, mixing, .. } = twin;
        (self.t, self.weight, self.largest_weight) = (*t, *weight, *largest_weight);
        (self.rows, self.coin_scales) = (*rows, *coin_scales);
        self.memory.clone_from(memory);
        self.mixing.clone_from(mixing);
        let Self { slow, slow_s, slow_bias, history, tracking: _, rule: _, round: _, beside: _, .. } = twin;
        (self.slow, self.slow_bias) = (*slow, *slow_bias);
        self.slow_s.resize(slow_s.len(), 0.0);
        for &i in features {
            if let Some(s) = slow_s.get(i as usize) {
                self.slow_s[i as usize] = *s;
            }
        }
        self.history.clone_from(history);
        true
    }

    fn take_over(&mut self, built: Self) {
        self.rule = built.rule;
        self.tracking = built.tracking;
        self.history.retain(|m| m.losses_total.len() == MEMBERS);
        self.mixing.limit(&built.mixing);
    }
}

impl<R: Rule, B: Beside> Auto<R, B> {
    fn moment(&self) -> Moment {
        Moment { rounds: self.t, weight: self.weight, losses_total: self.mixing.losses().to_vec() }
    }

    /// What keeps the mixture's guarantee from applying.
    fn conditions(&self) -> Vec<String> {
        let mut unmet = Vec::new();
        if self.rule.rate().is_none() {
            unmet.push(
                "no rate with a constant cost is known for this loss (square: --label-bound)".to_owned(),
            );
        }
        if self.largest_weight > 1.0 {
            unmet.push("importance weights above 1".to_owned());
        }
        if !self.rule.kept(&self.memory) {
            unmet.push("a label is beyond --label-bound".to_owned());
        }
        unmet
    }
}
