use super::slot::State;
use super::*;
use crate::example::Block;

/// One feature, no bias: the members' weights after each row, in raw units, and their margins before.
fn follow<R: Rule>(rule: R, rows: &[(f64, f64, f64)]) -> Vec<([f64; MEMBERS], [f64; MEMBERS])> {
    let mut learner = Auto::<R, Nothing>::new(rule, false);
    let mut slots = Slots::new(false);
    let mut seen = Vec::new();
    for &(y, weight, x) in rows {
        let mut block = Block::<f64>::new();
        block.push(y, weight, [(0, x)]);
        let row = block.rows();
        let x = row.iter().next().expect("one row").x;
        let z = learner.foresee(&slots, x);
        assert_eq!(z.to_bits(), learner.predict(&slots, x).to_bits());
        let margins = learner.round.margins;
        let slope = weight * learner.rule.slope(z, y);
        let outcome = Outcome { z, now: z, y, weight, slope, norm_squared: x.norm_squared() };
        learner.update(&mut slots, x, &outcome);
        let state = &slots.cells[0].state.state;
        let scale = learner.coin_scale();
        let weights = std::array::from_fn(|k| state.raw(k) * if k == COIN { scale } else { 1.0 });
        seen.push((margins, weights));
    }
    seen
}

fn near(have: f64, want: f64) {
    assert!((have - want).abs() <= 2e-6 * want.abs().max(1.0), "{have}, not {want}");
}

/// The root of an ascending function, by halving.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 { high = middle } else { low = middle }
    }
    low
}

#[test]
fn logistic_members_by_hand() {
    // x = 4, then x = -2, both positive; s = 4 throughout, so x/s = 1 and -1/2.
    let seen = follow(Logistic, &[(1.0, 1.0, 4.0), (1.0, 1.0, -2.0)]);
    let (first, after) = seen[0];
    assert_eq!(first, [0.0; MEMBERS]);
    // Round 1: A = 1, g = 1/2, G = 1/4, so r = 2 eta = kappa: d + e^d - 1 = 2 eta, and w s = d.
    let mut descents = [0.0; 3];
    for k in 0..3 {
        let d = root(0.0, 2.0 * RATES[k], |d| d + d.exp() - 1.0 - 2.0 * RATES[k]);
        near(after[k], d / 4.0);
        descents[k] = d;
    }
    // v = 1/(1/10) = 10 = V: u = s(-10 u), w s = 10 u.
    let u = root(0.0, 0.5, |u| u - 1.0 / (1.0 + (10.0 * u).exp()));
    near(after[3], 10.0 * u / 4.0);
    near(after[4], 10.0 * u / 4.0);
    // The coin: b = 1/2, W = 0, z = G = 1/2: w s = 16 (1/2)/(3/2) = 16/3.
    near(after[5], 16.0 / 3.0 / 4.0);

    // Round 2: A = (1 + 1/4)/2 = 5/8, x/s = -1/2.
    let (before, after) = seen[1];
    for k in 0..3 {
        near(before[k], -descents[k] / 2.0);
        let m = before[k];
        let g = 1.0 / (1.0 + m.exp());
        let r = RATES[k] / (0.625f64.sqrt() * (0.25 + g * g / 4.0).sqrt());
        let kappa = r / 4.0;
        let d = root(0.0, kappa, |d| d + m.exp() * d.exp_m1() - kappa);
        // w moves by u r x with u = d/kappa.
        near(after[k], (descents[k] - d / kappa * r / 2.0) / 4.0);
    }
    // The covariance began with A = 1; the diagonal form counts as if it had begun with today's.
    for (k, a) in [(3, 1.0f64), (4, 0.625)] {
        // P = h of round 1: h = s' at 10 u = u (1 - u) there; nothing to forget yet.
        let p = u * (1.0 - u);
        let v = 1.0 / (a.sqrt() / 10.0 + p);
        let m = -10.0 * u / 2.0;
        let second = root(0.0, 1.0, |t| t - 1.0 / (1.0 + (m + v * t / 4.0).exp()));
        near(after[k], (10.0 * u - second * v / 2.0) / 4.0);
    }
    // Margin w x/A = (16/3)(-1/2)/(5/8); b = -g/2; W = b w s, z = 1/2 + b, G = 1/2 - b.
    near(before[5], -16.0 / 3.0 / 2.0 / 0.625);
    let b = -0.5 / (1.0 + before[5].exp());
    let bet = (16.0 + b * 16.0 / 3.0) * (0.5 + b) / (1.5 - b);
    near(after[5], bet / 4.0 / 0.625);
}

#[test]
fn square_members_by_hand() {
    // x = 2, y = 3: s = 2, A = 1, labels have size 3, slope -6.
    let seen = follow(Convex::default(), &[(3.0, 1.0, 2.0), (3.0, 0.5, 2.0)]);
    let (_, after) = seen[0];
    for k in 0..3 {
        // G = 36, r = 3 eta/6 = eta/2 = kappa: z = 2 kappa 3/(1 + 2 kappa), w s = z.
        near(after[k], 3.0 * RATES[k] / (1.0 + RATES[k]) / 2.0);
    }
    // V = 10: w s = 3 * 20/21.
    near(after[3], 3.0 * 20.0 / 21.0 / 2.0);
    // The steepest slope so far is this one: b = 1, w s = 3 * 16 * 1/2.
    near(after[5], 3.0 * 16.0 / 2.0 / 2.0);
    // Round 2 with weight 1/2. Bayes: P = 2, v = 1/2.1, m = 60/21, residual 3/21,
    // m moves by 2 c v residual/(1 + 2 c v).
    let (before, after) = seen[1];
    near(before[3], 60.0 / 21.0);
    near(2.0 * after[3], 60.0 / 21.0 + 3.0 / 21.0 / 2.1 / (1.0 + 1.0 / 2.1));
}

/// The slope by which a descent on the hinge loss of the label 1 moves.
fn hinge_way(m: f64, kappa: f64) -> f64 {
    let hinge = Convex::new(crate::loss::build("hinge", []).expect("it exists"), None);
    hinge.descend(m, 1.0, 1.0, kappa)
}

#[test]
fn a_proximal_step_of_the_hinge_stops_at_the_kink() {
    // kappa = 1/2 does not reach the margin 1; kappa = 5 would pass it.
    near(hinge_way(0.0, 0.5), -1.0);
    near(5.0 * hinge_way(0.0, 5.0), -1.0);
    near(hinge_way(2.0, 5.0), 0.0);
    // A way beyond all numbers ends there too.
    let hinge = Convex::new(crate::loss::build("hinge", []).expect("it exists"), None);
    assert_eq!([(0.0, 1.0), (0.0, -1.0)].map(|(m, y)| hinge.proximal(m, y, f64::INFINITY)), [1.0, -1.0]);
    // From either side, exactly.
    let absolute = Convex::new(crate::loss::build("absolute", []).expect("it exists"), None);
    assert_eq!([3.0, -1.0].map(|m| m - 8.0 * absolute.descend(m, 1.0, 1.0, 8.0)), [1.0, 1.0]);
    assert_eq!([3.0, -1.0].map(|m| m - 0.5 * absolute.descend(m, 1.0, 1.0, 0.5)), [2.5, -0.5]);
}

#[test]
fn a_wild_value_doubles_the_scale_and_no_more() {
    let state = State { inverse: 0.5, ..State::default() };
    assert_eq!(state.normalise(1.0), (0.5, 0.5));
    assert_eq!(state.normalise(-3.0), (-1.0, 0.5 / 1.5));
    assert_eq!(state.normalise(2e9), (1.0, 0.25));
    assert_eq!(State::default().normalise(0.0), (0.0, 0.0));
    assert_eq!(State::default().normalise(-8.0), (-1.0, 0.125));
    let (v, inverse) = State::default().normalise(1e300);
    assert!(v == 1.0 && inverse > 0.0);
}

#[test]
fn averages_are_those_of_the_iterates() {
    let mut learner = Auto::<Logistic, Averages>::new(Logistic, false);
    let mut slots = Slots::new(true);
    let mut sums = [[0.0; 3]; MEMBERS];
    for t in 0..50u32 {
        let y = if t % 3 == 0 { 1.0 } else { -1.0 };
        let mut block = Block::<f64>::new();
        block.push(y, 1.0, [(t % 2, 1.0 + f64::from(t % 7))]);
        let row = block.rows();
        let x = row.iter().next().expect("one row").x;
        let z = learner.foresee(&slots, x);
        let coin = learner.round.coin_scale;
        for (k, sums) in sums.iter_mut().enumerate() {
            for (cell, sum) in slots.iter().zip(sums.iter_mut()) {
                *sum += cell.state.state.raw(k) * if k == COIN { coin } else { 1.0 };
            }
        }
        // The bias moves to its place once both features are there.
        if t == 0 {
            sums = [[0.0; 3]; MEMBERS];
        }
        let outcome = Outcome { z, now: z, y, weight: 1.0, slope: Logistic.slope(z, y), norm_squared: 2.0 };
        learner.update(&mut slots, x, &outcome);
        if t == 0 {
            slots.grow(2);
        }
    }
    for (k, sums) in sums.iter().enumerate() {
        for (cell, sum) in slots.iter().zip(sums) {
            let mean = learner.average_of(k, cell);
            assert!((mean - sum / 50.0).abs() <= 1e-9, "member {k}: {mean}, not {}", sum / 50.0);
        }
    }
}

/// Newton's steps end where the equations hold, wherever they begin.
#[test]
fn logistic_steps_solve_their_equations() {
    for m in [-80.0, -49.0, -12.0, -8.8, -7.1, -6.0, -3.0, -0.5, 0.0, 0.1, 2.0, 7.1, 9.0, 30.0] {
        for way in [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 7.0, 11.5, 12.5, 14.0, 50.0, 1e3, 1e6] {
            for (y, c) in [(1.0, 1.0), (-1.0, 0.25), (1.0, 40.0)] {
                let z = Logistic.predicted(&(), m);
                let told = Logistic.told(rule::probabilities(z), z, m, y);
                let a: f64 = y * m;
                let Moves { u, curvature } =
                    Logistic.moves(&[m; MEMBERS], y, c, &[way; LANES], &[told; MEMBERS]);
                let d = -y * way * u[0];
                // d + e^a (e^d - 1) = c way.
                let reached = d + a.exp() * d.exp_m1();
                let slope = 1.0 + (a + d).exp();
                assert!((reached - c * way).abs() <= 2e-7 * d * slope, "descend {m} {way} {y} {c}: {d}");
                let (u, h) = (u[3], curvature[3]);
                let s = Logistic.slope(m - way * u, y);
                assert!(
                    (u - c * s).abs() <= 3e-7 * u.abs() * (1.0 + way * c),
                    "condition {m} {way} {y} {c}: {u}"
                );
                let curvature = c * s.abs() * Logistic.slope(m - way * u, -y).abs();
                assert!(
                    (h - curvature).abs() <= 1e-5 * (1.0 + way * c) * curvature + 1e-12,
                    "{m} {way} {y} {c}: {h}"
                );
            }
        }
    }
}

/// What the entry says of memory: the cells, and the second ledger's vector.
#[test]
fn a_feature_is_one_cache_line() {
    let cell = |bytes: usize, align: usize| (bytes + size_of::<f64>(), align);
    let plain = cell(size_of::<Cell<Pool<Nothing>>>(), align_of::<Cell<Pool<Nothing>>>());
    let averaged = cell(size_of::<Cell<Pool<Averages>>>(), align_of::<Cell<Pool<Averages>>>());
    assert_eq!((plain, averaged), ((72, 64), (120, 8)));
    assert_eq!(ENTRY.bytes_per_feature, (72, Some(120)));
}
