//! Facts that the notes prove, seen to happen.

mod common;

use common::*;
use noregret::engine::{Config, Engine};
use noregret::generate;
use noregret::loss;
use noregret::regret::bound::{most_mistakes, most_mistakes_weighted};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn planted(n: u64, noise: f64, seed: u64) -> Vec<Row> {
    let entry = generate::find("planted").unwrap();
    let block = entry.block(&entry.request(Some(n), Some(6), Some(noise), seed).unwrap());
    block.rows().iter().map(|r| (r.y, 1.0, r.x.iter().map(|(i, v)| (i as u32, v)).collect())).collect()
}

fn mistakes(run: &Run) -> Vec<bool> {
    run.z.iter().zip(&run.rows).map(|(z, r)| r.0 * z <= 0.0).collect()
}

#[test]
fn the_perceptron_errs_in_the_same_rounds_whatever_its_step() {
    let rows = planted(600, 0.1, 4);
    let perceptron = run(&Config::new("perceptron", "hinge"), &rows, 6);
    for eta in ["0.25", "1", "8"] {
        // Powers of two scale w exactly, so even ties agree.
        let config = config("ogd", "perceptron", &[("schedule", "constant"), ("eta", eta)]);
        assert_eq!(mistakes(&run(&config, &rows, 6)), mistakes(&perceptron), "eta = {eta}");
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn a_mistake_costs_at_least_one_in_hinge_loss(z in -5.0..5.0f64, positive in any::<bool>()) {
        let y = if positive { 1.0 } else { -1.0 };
        let hinge = loss::build("hinge", []).unwrap();
        prop_assert!(f64::from(u8::from(y * z <= 0.0)) <= hinge.value(z, y));
        prop_assert!(hinge.value(0.0, y) >= 1.0);
    }

    #[test]
    fn the_perceptrons_norm_is_at_most_x_times_the_root_of_its_mistakes(rows in stream(5, 60)) {
        let hinge = loss::build("hinge", []).unwrap();
        let mut rows = labelled(&rows, &*hinge);
        for row in &mut rows {
            row.1 = 1.0;
        }
        let run = run(&Config::new("perceptron", "hinge"), &rows, 5);
        let (mut longest, mut m) = (0.0f64, 0.0f64);
        for (k, (_, _, x)) in rows.iter().enumerate() {
            prop_assert!(norm(&run.iterates[k]) <= longest * m.sqrt() * (1.0 + 1e-12));
            // The longest row of the mistake rounds is enough.
            if mistakes(&run)[k] {
                longest = longest.max((1.0 + x.iter().map(|p| p.1 * p.1).sum::<f64>()).sqrt());
                m += 1.0;
            }
        }
    }

    #[test]
    fn mistakes_are_bounded_by_the_hinge_loss_and_norm_of_every_comparator(
        rows in stream(4, 80),
        u in prop::collection::vec(-4.0..4.0f64, 5),
    ) {
        let hinge = loss::build("hinge", []).unwrap();
        let rows = labelled(&rows, &*hinge);
        let run = run(&Config::new("perceptron", "hinge"), &rows, 4);
        let (mut m, mut h, mut heaviest, mut longest) = (0.0, 0.0, 0.0f64, 0.0f64);
        let equal = rows.iter().all(|r| r.1 == 1.0);
        for (erred, (y, c, x)) in mistakes(&run).iter().zip(&rows) {
            if *erred && *c > 0.0 {
                m += c;
                h += c * hinge.value(dot(&u, x, true), *y);
                heaviest = heaviest.max(*c);
                longest = longest.max((1.0 + x.iter().map(|p| p.1 * p.1).sum::<f64>()).sqrt());
            }
        }
        prop_assert!(m <= most_mistakes_weighted(norm(&u), h, longest, heaviest) * (1.0 + 1e-12));
        // All rounds in place of the mistake rounds: more loss, longer rows, a larger bound.
        let all = total(&rows, &*hinge, &u, true, None).value;
        let reach = rows.iter().map(|r| (1.0 + r.2.iter().map(|p| p.1 * p.1).sum::<f64>()).sqrt());
        let reach = reach.fold(0.0, f64::max);
        let heaviest = rows.iter().map(|r| r.1).fold(0.0, f64::max);
        prop_assert!(m <= most_mistakes_weighted(norm(&u), all, reach, heaviest) * (1.0 + 1e-12));
        if equal {
            prop_assert!(m <= most_mistakes(norm(&u), h, longest) * (1.0 + 1e-12));
        }
    }
}

#[test]
fn a_separable_stream_has_at_most_the_squared_margin_ratio_in_mistakes() {
    // Labels by the sign of the first coordinate; |x_1| >= 0.2 and |x| <= X: u = (5, 0) has margin 1.
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let rows: Vec<Row> = (0..3000)
        .map(|_| {
            let y = if random.random::<bool>() { 1.0 } else { -1.0 };
            (y, 1.0, vec![(0, y * random.random_range(0.2..0.5)), (1, random.random_range(-1.0..1.0))])
        })
        .collect();
    let mut config = Config::new("perceptron", "hinge");
    config.bias = false;
    let run = run(&config, &rows, 2);
    let m = mistakes(&run).iter().filter(|e| **e).count() as f64;
    let x = rows.iter().map(|r| norm(&[r.2[0].1, r.2[1].1])).fold(0.0, f64::max);
    assert!(m >= 1.0 && m <= most_mistakes(5.0, 0.0, x), "{m}");
    assert_eq!(run.engine.tally().mistakes(), Some(m as u64));
}

fn leader_fails(n: u64) -> Vec<Row> {
    let entry = generate::find("leader-fails").unwrap();
    let block = entry.block(&entry.request(Some(n), None, None, 0).unwrap());
    block.rows().iter().map(|r| (r.y, 1.0, vec![(0, 1.0)])).collect()
}

fn total_loss(learner: &str, rows: &[Row]) -> f64 {
    let mut config = config(learner, "linear", &[]);
    config.radius = Some(1.0);
    config.bias = false;
    let mut engine = Engine::new(config).unwrap();
    engine.learn_f64(block(rows).rows()).unwrap();
    engine.ledger().book.loss.value()
}

#[test]
fn the_leader_loses_all_but_one_round_where_regularised_learners_lose_a_root() {
    for t in [10, 11, 1000, 10_000] {
        let rows = leader_fails(t);
        let root = (t as f64).sqrt();
        assert_eq!(total_loss("follow-the-leader", &rows), t as f64 - 1.0);
        // |g| <= 1, U = 1: sqrt(8 T) for projected descent; alpha_T/2 + sum 1/(2 alpha_t) for the
        // regularised leader, at most 1.5 sqrt(T + 1).
        assert!(total_loss("projected-ogd", &rows) <= 8f64.sqrt() * root);
        assert!(total_loss("ftrl", &rows) <= 1.5 * (t as f64 + 1.0).sqrt());
    }
}

#[test]
fn regret_grows_as_a_root_without_and_as_a_logarithm_with_strong_convexity() {
    let regrets = |learner: &str, t: u64| {
        let mut config = config(learner, "hinge", &[]);
        config.bias = false;
        if learner == "projected-ogd" {
            config.radius = Some(3.0);
        } else {
            config.l2 = Some(0.1);
        }
        let mut engine = Engine::new(config).unwrap();
        engine.learn_f64(block(&planted(t, 0.1, 7)).rows()).unwrap();
        let n = t as f64;
        let bound = engine.bound().unwrap().regret_at_most.unwrap() * n;
        (bound, engine.certificate().unwrap().regret_at_most * n)
    };
    let (few, many) = (500, 32_000);
    let (bound_few, _) = regrets("projected-ogd", few);
    let (bound_many, certified) = regrets("projected-ogd", many);
    // 64 times the rounds: 8 times the bound (the largest gradient, 1, has been seen).
    assert!((bound_many / bound_few - 8.0).abs() < 1e-3, "{}", bound_many / bound_few);
    assert!(certified <= bound_many);
    let (bound_few, _) = regrets("strongly-convex-ogd", few);
    let (bound_many, certified) = regrets("strongly-convex-ogd", many);
    // (1 + ln 32000)/(1 + ln 500) = 1.58, and G may grow a little.
    assert!(bound_many / bound_few < 2.0, "{}", bound_many / bound_few);
    assert!(certified <= bound_many);
}

#[test]
fn gradients_of_the_penalised_loss_are_at_most_twice_the_slope_times_the_longest_row() {
    // |w_t| <= lambda X/sigma, hence |g + sigma w| <= 2 lambda X; unit rows and a bias: X = sqrt 2.
    let rows = planted(2000, 0.3, 2);
    let mut config = config("strongly-convex-ogd", "logistic", &[]);
    config.l2 = Some(0.01);
    let run = run(&config, &rows, 6);
    let x = 2f64.sqrt() * (1.0 + 1e-6);
    assert!(run.iterates.iter().all(|w| norm(w) <= x / 0.01));
    assert!(run.engine.bound().unwrap().constants.get("G").unwrap() <= 2.0 * x);
}

#[test]
fn the_risk_of_the_averaged_iterate_is_above_its_bound_no_more_often_than_stated() {
    // 200 streams of 150 examples: y = sign of x_1 with probability 0.85, x uniform in the square.
    let draw = |random: &mut Pcg64Mcg| -> Row {
        let x = [random.random_range(-0.7..0.7), random.random_range(-0.7..0.7)];
        let right = random.random_range(0.0..1.0) < 0.85;
        let y = if (x[0] >= 0.0) == right { 1.0 } else { -1.0 };
        (y, 1.0, vec![(0, x[0]), (1, x[1])])
    };
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let fresh: Vec<Row> = (0..4000).map(|_| draw(&mut random)).collect();
    for name in ["hinge", "logistic"] {
        let loss = loss::build(name, []).unwrap();
        let (mut above, mut above_excess) = (0, 0);
        for seed in 0..200 {
            let mut random = Pcg64Mcg::seed_from_u64(1000 + seed);
            let rows: Vec<Row> = (0..150).map(|_| draw(&mut random)).collect();
            let mut config = config("projected-ogd", name, &[]);
            config.radius = Some(2.0);
            config.row_bound = Some(1.0);
            config.bias = false;
            config.average = true;
            config.delta = 0.1;
            let mut engine = Engine::new(config).unwrap();
            engine.learn_f64(block(&rows).rows()).unwrap();
            let stated = engine.risk();
            assert!(stated.unmet.is_empty() && stated.assumes.is_empty(), "{stated:?}");
            let average = dense(&engine.averaged().unwrap(), 2);
            let risk = |u: &[f64]| total(&fresh, &*loss, u, false, None).value / fresh.len() as f64;
            above += u32::from(risk(&average) > stated.at_most.unwrap());
            let excess = risk(&average) - risk(&[2.0, 0.0]);
            above_excess += u32::from(excess > stated.excess_at_most.unwrap());
        }
        // 20 expected at most; 32 is three standard deviations beyond.
        assert!(above <= 32 && above_excess <= 32, "{name}: {above} {above_excess}");
    }
}
