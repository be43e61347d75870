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
//! State: 64 bytes a feature beside `S`; for at most 127 features a covariance besides, of up to 128 KB. Cost: O(nonzeros) a
//! round, three touches of the same cache line; with the covariance O(d^2).
//!
//! Ledgers: the mixture's, and that of the slow descent: the member that moves least proves most about
//! fixed models (the others' would cost another 8 bytes a feature each).
//!
//! Theorem: `regret/bound/mixture.rs`: the loss is at most the best member's plus a constant.

mod covariance;
mod lanes;
mod mixing;
mod mixture;
mod row;
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
use covariance::Covariance;
use mixing::{Mixed, Mixing};
use row::{Noted, Said, Step, Width};
use rule::{Convex, LANES, Logistic, Moves, Rule};
use serde::{Deserialize, Serialize};
use slot::{Averages, BAYES, Beside, COIN, DESCENTS, MEMBERS, Nothing, Pool};
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
/// The Bayesian's covariance, there, and the features that it is about.
const COVARIANCE: [&str; 2] = ["covariance.bayes", "features.bayes"];
/// The descents' rates.
const RATES: [f64; DESCENTS] = [0.5, 5.0, 50.0];
/// Slopes below this are none: their squares would leave the range of f32.
const FLATTEST: f32 = 1e-18;
/// ... and so would those of slopes beyond this.
const STEEPEST: f32 = 1e15;
/// In a round in which no weight moves by more than this, none leaves its range.
const FARTHEST: f32 = 1e20;
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
    /// The Bayesian's, as long as there are few features.
    #[serde(skip)]
    covariance: Option<Covariance>,
    history: Vec<Moment>,
    #[serde(skip)]
    tracking: bool,
    #[serde(skip)]
    rule: R,
    #[serde(skip)]
    round: Round,
    #[serde(skip)]
    noted: Noted,
    #[serde(skip)]
    width: Width,
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
}

/// Whom a prediction is asked of.
struct Asked<'a, R: Rule> {
    rule: &'a R,
    memory: &'a R::Memory,
    mixing: &'a Mixing,
    tracking: bool,
    /// See [`Auto::t`] and [`Auto::rows`].
    t: u64,
    rows: f64,
}

impl<R: Rule> Asked<'_, R> {
    /// `A` with one more row.
    #[inline(always)]
    fn mean_square(&self, square: f64) -> f64 {
        let mean = (self.rows + square) / (self.t as f64 + 1.0);
        if mean > 0.0 { mean } else { 1.0 }
    }

    /// What a row's prediction is made of, where the members' weights say this of it.
    #[inline(always)]
    fn ask(&self, said: &Said, round: &mut Round) -> f64 {
        let (rule, memory) = (self.rule, self.memory);
        let square = said.square();
        let coin_scale = rule.unit(memory) / self.mean_square(square);
        let said = said.lanes();
        let (mut margins, mut z) = ([0.0; MEMBERS], [0.0; MEMBERS]);
        for k in 0..MEMBERS {
            let scale = if k == COIN { coin_scale } else { 1.0 };
            margins[k] = rule.tamed(memory, scale * f64::from(said[k]));
            z[k] = rule.predicted(memory, margins[k]);
        }
        self.mixing.mix(rule, memory, &z, self.tracking, &mut round.mixed);
        (round.margins, round.z, round.square, round.coin_scale) = (margins, z, square, coin_scale);
        round.mixed.z
    }
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
            covariance: Some(Covariance::default()),
            history: Vec::new(),
            tracking,
            rule,
            round: Round::default(),
            noted: Noted::default(),
            width: Width::default(),
            beside: PhantomData,
        }
    }

    /// A round until its label is known: the prediction, and the row's squared norm. The cells of the next row are asked for.
    #[inline(always)]
    fn begin<V: Value>(&mut self, slots: &Slots<Pool<B>>, x: Features<'_, V>, next: &[u32]) -> (f64, f64) {
        let mut said = Said::default();
        let norm_squared = row::hear::<true, _, _>(self.width, slots, (x, next), &mut self.noted, &mut said);
        let Self { rule, memory, mixing, tracking, t, rows, round, .. } = self;
        let asked = Asked { rule, memory, mixing, tracking: *tracking, t: *t, rows: *rows };
        (asked.ask(&said, round), norm_squared)
    }

    /// The rest of it.
    #[inline(always)]
    fn end<V: Value>(&mut self, slots: &mut Slots<Pool<B>>, x: Features<'_, V>, o: &Outcome) {
        let (rule, y, c) = (&self.rule, o.y, o.weight);
        let Round { margins, z, mixed, square, coin_scale } = &self.round;
        let (coin_scale, margins, z) = (*coin_scale, *margins, *z);
        let told: [_; MEMBERS] = std::array::from_fn(|k| rule.told(mixed.points.get(k), z[k], margins[k], y));
        rule.note(&mut self.memory, y);
        let mean_square = (self.rows + *square) / (self.t as f64 + 1.0);
        let root = if mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        let (unit, gain) = (rule.unit(&self.memory), rule.gain(&self.memory));
        let scale = RATES.map(|eta| eta * unit / root);

        // The iterates that predicted join the averages.
        self.coin_scales += coin_scale;
        let t = self.t as f64 + 1.0;
        let factors: [f64; MEMBERS] = std::array::from_fn(|k| if k == COIN { self.coin_scales } else { t });

        let known = (self.t, VARIANCE / root);
        let together = covariance::meet(&mut self.covariance, slots, x, &self.noted, known);
        row::rescale(slots, x, &self.noted, &factors);

        // First touch: sums of squares, and how far each member's prediction will move.
        // A fourth lane of nothing, so that four are computed at once; what is as good as no slope is none.
        let steep = |k: usize| {
            let slope = ((c * told[k].slope) as f32).clamp(-STEEPEST, STEEPEST);
            if slope.abs() > FLATTEST { slope } else { 0.0 }
        };
        let slopes = [steep(0), steep(1), steep(2), 0.0];
        let prior = (root / VARIANCE) as f32;
        if x.end() > self.slow_s.len() {
            self.slow_s.resize(slots.cells.len(), 0.0);
        }
        let four = f32x4::new(slopes);
        let ways = row::meet(self.width, slots, x, &mut self.noted, (four, prior), &self.slow_s);
        let (first_loss, entered_slope) = rule.at(z[0], y, &told[0]);
        let entered = c * entered_slope;
        // How far each moves.
        let gains = [scale[0], scale[1], scale[2], gain, gain, 0.0, 0.0, 0.0];
        let mut ways: [f64; LANES] = std::array::from_fn(|k| gains[k] * f64::from(ways[k]));
        if let Some(way) = together {
            ways[BAYES] = gain * way;
        }
        self.mixing.update(rule, mixed, &told, (y, c), self.tracking);
        let Moves { u, curvature } = rule.moves(&margins, y, c, &ways, &told);
        let mut moves: [f32; LANES] = std::array::from_fn(|k| {
            let rests = k < DESCENTS && slopes[k] == 0.0;
            if rests { 0.0 } else { (-u[k] * gains[k]) as f32 }
        });
        // A unit of slope moves no descent's weight by more than one over its own slope, and no Bayesian's by more than what is
        // known of nothing.
        let steepest = [slopes[0].abs(), slopes[1].abs(), slopes[2].abs(), prior, prior, 1.0, 1.0, 1.0];
        let mut far = false;
        for k in 0..LANES {
            let near = moves[k].abs() <= FARTHEST * steepest[k];
            far |= !near;
        }
        if far {
            // What is no number moves nothing, and no product is with an infinite one.
            moves = moves.map(|by| if by.is_nan() { 0.0 } else { by.clamp(-f32::MAX, f32::MAX) });
        }
        if let (Some(way), Some(covariance)) = (together, &mut self.covariance) {
            let by = -u[BAYES] * gain;
            covariance.follow(slots, if by.is_nan() { 0.0 } else { by }, &factors);
            let bend = curvature[BAYES].clamp(1e-20, f64::from(STEEPEST));
            covariance.learn(bend / (1.0 + bend * way));
            moves[BAYES] = 0.0;
        }
        // Precisions that fade away would end among the slowest of numbers.
        let bends = [curvature[3], curvature[4]].map(|h| (h as f32).clamp(1e-20, STEEPEST));
        let slope = c * told[COIN].slope;
        let toss = (-slope / rule.steepest(&mut self.memory, slope)).clamp(-1.0, 1.0) as f32;

        // Second touch: move.
        let (alpha, slow_alpha, slow_s) = (o.slope, entered, self.slow_s.as_mut_slice());
        let mut step = Step { moves, bends, toss, alpha, slow_alpha, slow_s, far, factors };
        row::follow(self.width, slots, x, &self.noted, &mut step);
        self.slow_bias += entered;

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
        if self.t.is_power_of_two() {
            self.history.push(self.moment());
        }
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

    fn predict<V: Value>(&self, slots: &Slots<Pool<B>>, x: Features<'_, V>) -> f64 {
        let mut said = Said::default();
        row::hear::<false, _, _>(self.width, slots, (x, &[]), &mut Noted::default(), &mut said);
        let Self { rule, memory, mixing, tracking, t, rows, .. } = self;
        let asked = Asked { rule, memory, mixing, tracking: *tracking, t: *t, rows: *rows };
        asked.ask(&said, &mut Round::default())
    }

    fn foresee<V: Value>(&mut self, slots: &Slots<Pool<B>>, x: Features<'_, V>) -> f64 {
        self.foresee_and_norm(slots, x, &[]).0
    }

    fn foresee_and_norm<V: Value>(
        &mut self,
        slots: &Slots<Pool<B>>,
        x: Features<'_, V>,
        next: &[u32],
    ) -> (f64, f64) {
        self.width.begin(self, slots, x, next)
    }

    fn update<V: Value>(&mut self, slots: &mut Slots<Pool<B>>, x: Features<'_, V>, o: &Outcome) {
        self.width.end(self, slots, x, o);
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
        let mut arrays = vec![(SLOW_S, self.slow_s.clone())];
        if let Some(covariance) = &self.covariance {
            let features = covariance.features().iter().map(|&i| i.into()).collect();
            arrays.extend([(COVARIANCE[0], covariance.entries()), (COVARIANCE[1], features)]);
        }
        arrays
    }

    fn set_arrays(&mut self, arrays: &[(String, Vec<f64>)]) -> bool {
        let Some(((name, s), more)) = arrays.split_first() else { return false };
        self.slow_s.clone_from(s);
        self.covariance = match more {
            [(_, entries), (_, features)] => Covariance::read(features, entries),
            _ => None,
        };
        let names = more.iter().map(|(name, _)| name.as_str());
        name == SLOW_S && (more.is_empty() || self.covariance.is_some() && names.eq(COVARIANCE))
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
        // Cells that moved together before that ended are known no more.
        if self.covariance.is_some() != twin.covariance.is_some() {
            return false;
        }
        self.covariance.clone_from(&twin.covariance);
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

    fn moves_together(&self) -> &[u32] {
        self.covariance.as_ref().map_or(&[], Covariance::features)
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
