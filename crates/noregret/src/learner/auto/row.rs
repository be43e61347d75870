//! The loops over a row's features, three a round: what the members say ([`hear`]), how far a unit of slope moves each
//! ([`meet`]), and the step itself ([`follow`]). What one finds out is noted for the next.
//!
//! Each is written twice: feature by feature for any processor, and four features at a time for those that
//! have AVX2, found out when the program runs (`row/avx2.rs`). Both do the same operations in the same order, so that the
//! bits are the same, and a test says so.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(test)]
mod tests;

use super::super::Outcome;
use super::super::slots::{Cell, Slots};
use super::Auto;
use super::rule::{LANES, Rule};
use super::slot::{Beside, MEMBERS, Pool, State};
use crate::example::{Features, Value};
use wide::f32x4;

/// How wide the processor's registers are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<avx2::Avx2>,
}

impl Default for Width {
    /// As wide as they are found to be.
    fn default() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: avx2::Avx2::here(),
        }
    }
}

impl Width {
    /// As every processor has them.
    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            avx2: None,
        }
    }

    /// See [`Auto::begin`].
    #[inline(always)]
    pub(super) fn begin<R: Rule, B: Beside, V: Value>(
        self,
        auto: &mut Auto<R, B>,
        slots: &Slots<Pool<B>>,
        x: Features<'_, V>,
        next: &[u32],
    ) -> (f64, f64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.begin(auto, slots, x, next);
        }
        auto.begin(slots, x, next)
    }

    /// See [`Auto::end`].
    #[inline(always)]
    pub(super) fn end<R: Rule, B: Beside, V: Value>(
        self,
        auto: &mut Auto<R, B>,
        slots: &mut Slots<Pool<B>>,
        x: Features<'_, V>,
        outcome: &Outcome,
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.end(auto, slots, x, outcome);
        }
        auto.end(slots, x, outcome);
    }
}

/// What was found in a row's cells, feature by feature, the bias last.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Whose scale is about to change, by the place in the row, and `1/s` from then on.
    news: Vec<(usize, f32)>,
    /// `x/s`.
    v: Vec<f32>,
    /// What the coin bets.
    bet: Vec<f32>,
    /// What a unit of slope moves the weights by.
    rates: Vec<Rates>,
}

/// What a unit of slope moves the weights of a feature by, filled up to a register.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Rates([f32; LANES]);

impl Rates {
    /// The first four, and the last.
    #[inline(always)]
    fn parts(&self) -> (f32x4, f32) {
        let [a, b, c, d, last, ..] = self.0;
        (f32x4::new([a, b, c, d]), last)
    }
}

impl Noted {
    /// Makes room for a row of `n` features.
    #[inline(always)]
    fn room(&mut self, n: usize) {
        if n >= self.v.len() {
            self.enlarge(n + 1);
        }
    }

    /// Whose scale is about to change, by the place in the row, and `1/s` from then on.
    #[inline(always)]
    pub(super) fn news(&self) -> &[(usize, f32)] {
        &self.news
    }

    /// `x/s` of a row of `n` features, the bias included.
    #[inline(always)]
    pub(super) fn values(&self, n: usize) -> &[f32] {
        &self.v[..n]
    }

    #[cfg(test)]
    pub(super) fn of(v: &[f32]) -> Self {
        Self { v: v.to_vec(), ..Self::default() }
    }

    #[cold]
    fn enlarge(&mut self, n: usize) {
        for numbers in [&mut self.v, &mut self.bet] {
            numbers.resize(n, 0.0);
        }
        self.rates.resize(n, Rates::default());
    }
}

/// What the members' weights say of a row, or how far a unit of slope moves what they say: four sums, to which features
/// add in turn, so that an addition need not wait for the one before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    /// Of the first four members, and the fifth.
    four: [f32x4; TURNS],
    fifth: [f32; TURNS],
    /// Of the coin, before its common scale.
    coin: [f32; TURNS],
    /// `|x/s|^2`.
    square: [f32; TURNS],
}

/// How many sums there are.
const TURNS: usize = 4;

/// `sum` of sums.
macro_rules! total {
    ($sums:expr) => {{
        let [a, b, c, d] = $sums;
        (a + b) + (c + d)
    }};
}

impl Said {
    /// The feature at place `k` joins.
    #[inline(always)]
    fn hear(&mut self, k: usize, state: &State, v: f32, bet: f32) {
        let k = k % TURNS;
        let (weights, last) = state.weights();
        self.four[k] += weights * f32x4::splat(v);
        self.fifth[k] += last * v;
        self.coin[k] += bet * v;
        self.square[k] += v * v;
    }

    #[inline(always)]
    fn meet(&mut self, k: usize, v: f32, (rates, last): (f32x4, f32)) {
        let k = k % TURNS;
        self.four[k] += f32x4::splat(v * v) * rates;
        self.fifth[k] += v * v * last;
    }

    /// Of all members in their order, filled up.
    #[inline(always)]
    pub(super) fn lanes(&self) -> [f32; LANES] {
        let [a, b, c, d] = total!(self.four).to_array();
        [a, b, c, d, total!(self.fifth), total!(self.coin), 0.0, 0.0]
    }

    /// `|x/s|^2`.
    #[inline(always)]
    pub(super) fn square(&self) -> f64 {
        total!(self.square).into()
    }
}

/// Tables of no more cells than this are near anyway.
const NEAR: usize = 256;

/// What the members say of a row, in `said`, which begins with nothing. With `NOTE` what was found is noted for the
/// round, the cells of the next row are brought to the processor, and the row's squared norm is returned.
#[inline(always)]
pub(super) fn hear<const NOTE: bool, B: Beside, V: Value>(
    width: Width,
    slots: &Slots<Pool<B>>,
    (x, next): (Features<'_, V>, &[u32]),
    noted: &mut Noted,
    said: &mut Said,
) -> f64 {
    let next = if slots.cells.len() > NEAR { next } else { &[] };
    if NOTE {
        noted.room(x.indices.len());
        noted.news.clear();
    }
    if x.end() > slots.cells.len() {
        slots.fetch(next);
        hear_unseen::<NOTE, B, V>(slots, x, noted, said);
        return x.norm_squared();
    }
    let (mut done, mut norm_squared) = (0, None);
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = width.avx2 {
        let squares = avx2.hear::<NOTE, B, V>(&slots.cells, (x, next), noted, said);
        (done, norm_squared) = (x.indices.len() / 4 * 4, Some(squares));
    }
    if norm_squared.is_none() {
        slots.fetch(next);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = width;
    let Noted { news, v, bet, .. } = noted;
    let n = x.indices.len();
    let features = x.indices.iter().zip(x.values).enumerate().skip(done);
    if NOTE {
        let places = v[done..n].iter_mut().zip(&mut bet[done..n]);
        for ((k, (&i, x)), places) in features.zip(places) {
            let state = &slots.cells[i as usize].state.state;
            (*places.0, *places.1) = hear_one::<NOTE>(state, x.f64(), k, news, said);
        }
    } else {
        for (k, (&i, x)) in features {
            hear_one::<NOTE>(&slots.cells[i as usize].state.state, x.f64(), k, news, said);
        }
    }
    if let Some(bias) = &slots.bias {
        let heard = hear_one::<NOTE>(&bias.state.state, 1.0, n, news, said);
        if NOTE {
            (v[n], bet[n]) = heard;
        }
    }
    norm_squared.unwrap_or_else(|| if NOTE { x.norm_squared() } else { 0.0 })
}

/// The same for a row with features that were never seen.
#[cold]
fn hear_unseen<const NOTE: bool, B: Beside, V: Value>(
    slots: &Slots<Pool<B>>,
    x: Features<'_, V>,
    noted: &mut Noted,
    said: &mut Said,
) {
    let unseen = State::default();
    let cells = x.iter().map(|(i, x)| (slots.cells.get(i).map_or(&unseen, |cell| &cell.state.state), x));
    for (k, (state, x)) in cells.chain(slots.bias.iter().map(|bias| (&bias.state.state, 1.0))).enumerate() {
        let heard = hear_one::<NOTE>(state, x, k, &mut noted.news, said);
        if NOTE {
            (noted.v[k], noted.bet[k]) = heard;
        }
    }
}

/// `x/s` and the bet of the feature at place `k`, which join what is said.
#[inline(always)]
fn hear_one<const NOTE: bool>(
    state: &State,
    x: f64,
    k: usize,
    news: &mut Vec<(usize, f32)>,
    said: &mut Said,
) -> (f32, f32) {
    let (v, bet) = state.hear(x).unwrap_or_else(|| hear_news::<NOTE>(state, x, k, news));
    said.hear(k, state, v, bet);
    (v, bet)
}

/// The same of a feature whose scale may change.
#[cold]
fn hear_news<const NOTE: bool>(state: &State, x: f64, k: usize, news: &mut Vec<(usize, f32)>) -> (f32, f32) {
    let (v, inverse, bet) = state.hear_news(x);
    if NOTE && inverse != state.inverse {
        news.push((k, inverse));
    }
    (v, bet)
}

/// The cells take the scales that were noted.
#[inline]
pub(super) fn rescale<B: Beside, V: Value>(
    slots: &mut Slots<Pool<B>>,
    x: Features<'_, V>,
    noted: &Noted,
    factors: &[f64; MEMBERS],
) {
    slots.grow(x.end());
    for &(k, inverse) in &noted.news {
        let cell = match x.indices.get(k) {
            Some(&i) => slots.cells.get_mut(i as usize),
            None => slots.bias.as_mut(),
        };
        let Some(cell) = cell else { return };
        let before = cell.state.state;
        cell.state.state.rescale(inverse);
        if B::KEPT {
            cell.state.beside.moved(&before, &cell.state.state, factors);
        }
    }
}

/// The members meet the row: the descents' squares grow by those of `slopes`, and how far a unit of slope moves what
/// each says is returned. `slow_s` will be wanted by [`follow`].
#[inline(always)]
pub(super) fn meet<B: Beside, V: Value>(
    width: Width,
    slots: &mut Slots<Pool<B>>,
    x: Features<'_, V>,
    noted: &mut Noted,
    (slopes, prior): (f32x4, f32),
    slow_s: &[f64],
) -> [f32; LANES] {
    let mut said = Said::default();
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = width.avx2 {
        done = avx2.meet(&mut slots.cells, x.indices, noted, (slopes, prior), slow_s, &mut said);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (width, slow_s);
    let mut meet = |k: usize, cell: &mut Cell<Pool<B>>, v: f32| {
        let rates = cell.state.state.meet(v, slopes, prior);
        said.meet(k, v, rates);
        let ([a, b, c, d], last) = (rates.0.to_array(), rates.1);
        Rates([a, b, c, d, last, 0.0, 0.0, 0.0])
    };
    let n = x.indices.len();
    let Noted { v, rates, .. } = noted;
    for k in done..n {
        rates[k] = meet(k, &mut slots.cells[x.indices[k] as usize], v[k]);
    }
    if let Some(bias) = &mut slots.bias {
        rates[n] = meet(n, bias, v[n]);
    }
    said.lanes()
}

/// How all members move, and what the ledgers take.
#[derive(Debug)]
pub(super) struct Step<'a> {
    /// What multiplies the rates, filled up with zeros.
    pub(super) moves: [f32; LANES],
    /// What the Bayesians' precisions grow by.
    pub(super) bends: [f32; 2],
    /// What came up for the coin.
    pub(super) toss: f32,
    /// What multiplies the row in the mixture's ledger and in the slow descent's.
    pub(super) alpha: f64,
    pub(super) slow_alpha: f64,
    /// The vector of the latter.
    pub(super) slow_s: &'a mut [f64],
    /// Whether a step may lead beyond what weights may be.
    pub(super) far: bool,
    /// What multiplies the weights in their averages.
    pub(super) factors: [f64; MEMBERS],
}

/// The members move, and the row is entered in the ledgers.
#[inline(always)]
pub(super) fn follow<B: Beside, V: Value>(
    width: Width,
    slots: &mut Slots<Pool<B>>,
    x: Features<'_, V>,
    noted: &Noted,
    step: &mut Step<'_>,
) {
    let mut x = x;
    let mut k = 0;
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = width.avx2.filter(|_| !B::KEPT && !step.far) {
        avx2.follow(&mut slots.cells, x, noted, step);
        k = x.indices.len();
        x = Features { indices: &[], values: &[] };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = width;
    let [a, b, c, d, last, ..] = step.moves;
    let moves = (f32x4::new([a, b, c, d]), last);
    for (i, x) in x.iter() {
        step.slow_s[i] += step.slow_alpha * x;
    }
    let mut features = noted.v[k..].iter().zip(&noted.bet[k..]).zip(&noted.rates[k..]);
    slots.enter(x, step.alpha, |cell, _| {
        let Some(((&v, &bet), rates)) = features.next() else { return };
        if v == 0.0 {
            return;
        }
        let state = &mut cell.state.state;
        let before = *state;
        state.follow(v, rates.parts(), moves, step.bends);
        state.toss(step.toss * v, bet);
        if step.far {
            state.settle();
        }
        if B::KEPT {
            cell.state.beside.moved(&before, state, &step.factors);
        }
    });
}
