//! Claims at the ends of what f64 can hold, and where a condition fails by a hair.

mod common;

use common::claims::*;
use common::*;
use noregret::engine::{Config, Engine};
use noregret::example::LabelMap;
use noregret::example::names::NameTable;
use noregret::loss;
use noregret::model::{Model, Reading};
use noregret::regret::{Comparator, Sum};

const D: u32 = 5;

#[test]
fn weights_that_are_no_binary_fractions_do_not_lift_the_mistake_ledger() {
    // Every round is a mistake, and u = 0 has hinge loss 1 in each. A plain sum of 0.3 runs ahead
    // by 3.5e-12 of itself.
    let rows: Vec<Row> =
        (0..200_000).map(|k| (if k % 2 == 0 { 1.0 } else { -1.0 }, 0.3, vec![(0, 1.0)])).collect();
    let mut config = Config::new("perceptron", "hinge");
    config.bias = false;
    let mut engine = Engine::new(config).unwrap();
    engine.learn_f64(block(&rows).rows()).unwrap();
    let best = engine.ledger().best_at_least(&Comparator::L2 { radius: 1e-9 }).unwrap();
    assert!(best <= 1.0 && best > 1.0 - 1e-8, "{best}");
}

#[test]
fn weights_near_the_end_of_f64_do_not_make_a_certificate_false() {
    for weight in [1e-170, 1e-300, 1e-310, 3e-323] {
        let rows: Vec<Row> = (0..3000)
            .map(|k| {
                (if k % 3 == 0 { 1.0 } else { -1.0 }, weight, vec![(0, 0.1), (1, f64::from(k % 7) / 3.0)])
            })
            .collect();
        for name in ["projected-ogd", "ftrl", "ogd", "adagrad", "exponentiated"] {
            let mut config = Config::new(name, "logistic");
            config.radius = Some(2.0);
            check_claims(&config, &rows, 2, 8);
        }
    }
}

#[test]
fn a_sum_that_grows_and_shrinks_back_keeps_the_iterates_in_the_ball() {
    // |S|^2 climbs to 10^7 and returns to about 1, while rounding leaves its traces in it.
    let mut rows: Vec<Row> = Vec::new();
    for k in 0..40_000 {
        let y = if k < 20_000 { 0.1 } else { -0.1 };
        rows.push((y, 1.0, vec![(0, 0.7 + 0.1 * (f64::from(k) * 0.37).sin()), (1, 1.3)]));
    }
    let run_with = |name: &str, given: &[(&'static str, &'static str)]| {
        let mut config = config(name, "linear", given);
        config.bias = false;
        config.radius = Some(1.0);
        let mut engine = Engine::new(config).unwrap();
        let block = block(&rows);
        for k in 0..rows.len() {
            engine.learn_f64(block.rows().slice(k, k + 1)).unwrap();
            if k + 100 > rows.len() || k % 1000 == 0 {
                let length = engine.weights().norm();
                // |S| > alpha in all of these rounds: both are on the sphere, not merely inside.
                assert!((length - 1.0).abs() <= 1e-9, "{name}: {length} at {k}");
            }
        }
    };
    run_with("follow-the-leader", &[]);
    run_with("ftrl", &[("alpha", "0.000001")]);
}

#[test]
fn exponential_weights_stay_on_their_set_when_the_scale_changes() {
    for class in ["l1", "simplex"] {
        let mut config = config("exponentiated", "linear", &[("eta", "1")]);
        config.comparator = Some(class.to_owned());
        config.radius = Some(1.0);
        config.dimension = Some(10);
        config.bias = false;
        let mut rows: Vec<Row> = vec![(1.0, 1.0, (0..10).map(|i| (i, 1.0)).collect())];
        rows.push((1.0, 1.0, vec![(3, 1e30)]));
        rows.push((-1.0, 1.0, vec![(4, 0.5)]));
        rows.push((-1.0, 1.0, vec![(3, 1e30)]));
        rows.push((-1.0, 1.0, vec![(2, 0.5), (3, 0.1)]));
        let run = run(&config, &rows, 10);
        for w in run.iterates.iter().skip(1).chain([&dense(&run.engine.weights(), 10)]) {
            let mass: f64 = w.iter().map(|v| v.abs()).sum();
            assert!(mass <= 1.0 + 1e-9, "{class}: {mass}");
            assert!(class == "l1" || (mass - 1.0).abs() < 1e-9, "{class}: {mass}");
        }
    }
}

#[test]
fn rows_far_longer_than_promised_leave_the_average_right() {
    let rows: Vec<Row> = (0..200)
        .map(|k: u32| {
            let scale = if k == 90 { 1e30 } else { 100.0 };
            let x = vec![(k % 3, scale * (0.3 + f64::from(k % 5))), (3, scale * f64::from(k % 2))];
            (if k % 7 < 3 { 1.0 } else { -1.0 }, 1.0, x)
        })
        .collect();
    for (name, given) in [
        ("subgradient", vec![("horizon", "4")]),
        ("projected-ogd", vec![("eta", "3")]),
        ("ftrl", vec![]),
        ("ftrl", vec![("alpha", "0.01")]),
    ] {
        let mut config = config(name, "hinge", &given);
        config.average = true;
        config.radius = Some(1.0);
        check_average(&config, &rows, 4);
    }
}

#[test]
fn the_bound_on_the_simplex_is_withheld_when_a_feature_is_beyond_the_dimension() {
    let mut config = Config::new("exponentiated", "linear");
    config.comparator = Some("simplex".to_owned());
    config.dimension = Some(1);
    config.bias = false;
    let mut engine = Engine::new(config).unwrap();
    engine.learn_f64(block(&[(1.0, 1.0, vec![(0, 1.0)])]).rows()).unwrap();
    assert!(engine.bound().unwrap().unmet.is_empty());
    engine.learn_f64(block(&[(1.0, 1.0, vec![(1, 1.0)])]).rows()).unwrap();
    assert!(engine.bound().unwrap().regret_at_most.is_none());
}

#[test]
fn gradients_whose_squares_could_not_be_summed_are_refused() {
    for class in ["l1", "simplex"] {
        let mut config = Config::new("exponentiated", "linear");
        config.comparator = Some(class.to_owned());
        config.dimension = Some(2);
        let mut engine = Engine::new(config).unwrap();
        // |g|^2 is a number in every round, but their sum might not be.
        for label in [9e153, 1e200] {
            assert!(engine.learn_f64(block(&[(label, 1.0, vec![(0, 1.0)])]).rows()).is_err());
            assert_eq!(engine.examples(), 0);
        }
        engine.learn_f64(block(&[(1.0, 1.0, vec![(0, 1.0)])]).rows()).unwrap();
        assert!(engine.bound().unwrap().regret_at_most.is_some());
    }
}

#[test]
fn a_norm_that_grew_and_shrank_is_not_understated_in_the_penalised_loss() {
    let mut config = config("ogd", "absolute", &[("schedule", "constant"), ("eta", "0.1")]);
    config.comparator = Some("ridge".to_owned());
    config.l2 = Some(1.0);
    config.bias = false;
    let mut rows: Vec<Row> = Vec::new();
    for scale in [1e3, 1e2, 3.0, 0.1] {
        for k in 0..50 {
            let y = if k < 25 { 1e9 } else { -1e9 };
            rows.push((y, 1.0, vec![(0, scale * 1.1), (1, scale / 3.0)]));
        }
    }
    let run = run(&config, &rows, 2);
    let loss = loss::build("absolute", []).unwrap();
    let mut exact = Sum::default();
    for (k, (y, _, _)) in rows.iter().enumerate() {
        exact.add(loss.value(run.z[k], *y));
        let w = norm(&run.iterates[k]);
        exact.add(w * w / 2.0);
    }
    let certificate = run.engine.certificate().unwrap();
    let best = certificate.best_at_least;
    assert!(certificate.regret_at_most >= exact.value() / rows.len() as f64 - best - 1e-13 * best.abs());
}

fn iid(weights: &[f64]) -> Vec<Row> {
    let row = |(k, c): (usize, &f64)| {
        let y = if k.is_multiple_of(3) { 1.0 } else { -1.0 };
        (y, *c, vec![(k as u32 % 2, 0.5)])
    };
    weights.iter().enumerate().map(row).collect()
}

#[test]
fn risk_needs_every_weight_to_be_one_and_zero_is_not_one() {
    let risk = |weights: &[f64]| {
        let mut engine = Engine::new(Config::new("projected-ogd", "hinge")).unwrap();
        engine.learn_f64(block(&iid(weights)).rows()).unwrap();
        engine.risk()
    };
    assert!(risk(&[1.0, 1.0, 1.0]).at_most.is_some());
    for weights in [[1.0, 0.0, 1.0], [1.0, 2.0, 1.0], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]] {
        let risk = risk(&weights);
        assert!(risk.at_most.is_none() && !risk.unmet.is_empty(), "{weights:?} {risk:?}");
    }
}

#[test]
fn excess_risk_is_stated_only_for_comparators_inside_the_learners_ball() {
    let excess = |class: &str, learner: &str, l2: Option<f64>| {
        let mut config = Config::new(learner, "hinge");
        config.comparator = Some(class.to_owned());
        config.radius = Some(3.0);
        config.l2 = l2;
        config.row_bound = Some(1.2);
        let mut engine = Engine::new(config).unwrap();
        engine.learn_f64(block(&iid(&[1.0; 40])).rows()).unwrap();
        let risk = engine.risk();
        assert!(risk.at_most.is_some(), "{risk:?}");
        risk.excess_at_most
    };
    assert!(excess("l2", "projected-ogd", None).is_some());
    assert!(excess("l1", "projected-ogd", None).is_some());
    // A comparator with |u_i| <= 3 may have Euclidean norm 3 sqrt(d).
    assert!(excess("linf", "projected-ogd", None).is_none());
    // The iterates stay within 1.2/sigma = 1.2 < 3; with sigma = 0.1 within 12.
    assert!(excess("l2", "strongly-convex-ogd", Some(1.0)).is_none());
    assert!(excess("l2", "strongly-convex-ogd", Some(0.1)).is_some());
}

#[test]
fn nothing_is_claimed_before_the_first_round() {
    for config in every_config(true, None, D) {
        let mut engine = Engine::new(config.clone()).unwrap();
        for _ in 0..2 {
            assert!(engine.certificate().is_none(), "{config:?}");
            assert!(engine.bound().is_none(), "{config:?}");
            assert!(engine.risk().at_most.is_none(), "{config:?}");
            assert!(engine.average_loss().is_none() && engine.averaged().is_none());
            // A row of weight 0 is no round.
            engine.learn_f64(block(&[(1.0, 0.0, vec![(0, 1.0)])]).rows()).unwrap();
        }
    }
}

#[test]
fn what_cancels_inside_the_poisson_loss_is_covered() {
    // Near y = e and z = 1 the loss e^z - y z, its slope and its floor y - y ln y are differences of
    // numbers near e, each a rounding off; none of them is larger than that rounding itself.
    let loss = loss::build("poisson", []).unwrap();
    for k in 1..60u32 {
        let y = std::f64::consts::E + f64::from(k) * 4.4e-16;
        let mut config = config("ogd", "poisson", &[("schedule", "constant"), ("eta", "0.1")]);
        config.bias = false;
        config.radius = Some(2.0);
        let run = run(&config, &vec![(y, 1.0, vec![(0, 1.0)]); 40], 1);
        let best = run.engine.certificate().unwrap().best_at_least;
        assert!(best <= loss.floor(y) - f64::EPSILON * y, "{y}: {best:e} {:e}", loss.floor(y));
    }
}

#[test]
fn the_label_whose_poisson_floor_rounds_to_nothing_is_covered_too() {
    // On the simplex of one coordinate the model is its only comparator: the certificate must not exceed the
    // run's own loss, which is e (exp(d) - 1 - d) and the part of e that f64 does not hold.
    let (y, missing) = (std::f64::consts::E, 1.445_646_891_729_250_2e-16);
    let mut config = Config::new("exponentiated", "poisson");
    config.comparator = Some("simplex".to_owned());
    config.radius = Some(1.0);
    config.dimension = Some(1);
    config.bias = false;
    let mut engine = Engine::new(config).unwrap();
    let mut exact = Sum::default();
    let mut count = 0.0;
    for k in (1..400).flat_map(|k| [k, -k]) {
        let z = 1.0 + f64::from(k) * 1e-10;
        let d = z - 1.0;
        let true_loss = y * (d * d / 2.0 + d * d * d / 6.0) + missing * (1.0 + d);
        // Those that rounding makes dearer than they are.
        if z.exp() - y * z > true_loss {
            engine.learn_f64(block(&[(y, 1.0, vec![(0, z)])]).rows()).unwrap();
            exact.add(true_loss);
            count += 1.0;
        }
    }
    assert!(count > 100.0);
    let best = engine.certificate().unwrap().best_at_least;
    assert!(best <= exact.value() / count, "{best:e} {:e}", exact.value() / count);
}

#[test]
fn rows_whose_squares_vanish_are_not_taken_for_rows_of_length_0() {
    // The later rows are lost in S one by one, and together are 5e-12 of it.
    let tiny = 1e-165;
    let mut rows: Vec<Row> = vec![(1.0, 1.0, vec![(0, tiny)])];
    rows.resize(100_001, (1.0, 1.0, vec![(0, tiny * 0.5e-16)]));
    let best = -(1.0 + 100_000.0 * 0.5e-16) / rows.len() as f64;
    for name in ["projected-ogd", "scale-free", "freegrad", "coin", "exponentiated", "auto"] {
        let mut config = Config::new(name, "linear");
        config.bias = false;
        config.radius = Some(1.0 / tiny);
        config.dimension = Some(1);
        let mut engine = Engine::new(config).unwrap();
        engine.learn_f64(block(&rows).rows()).unwrap();
        let certificate = engine.certificate().unwrap();
        assert!(certificate.best_at_least <= best * (1.0 - 1e-15), "{name}: {certificate:?}");
        // No gradient's square is above 0, and no theorem may take the gradients for 0.
        let stated = engine.bound().unwrap();
        assert!(stated.regret_at_most.is_none(), "{name}: {stated:?}");
    }
    // An empty row has no gradient, and is no small one.
    let mut config = Config::new("projected-ogd", "linear");
    config.bias = false;
    let mut engine = Engine::new(config).unwrap();
    engine.learn_f64(block(&[(1.0, 1.0, vec![])]).rows()).unwrap();
    assert_eq!(engine.bound().unwrap().regret_at_most, Some(0.0));
}

#[test]
fn a_fortune_won_and_lost_does_not_break_the_coins_bound() {
    // Wealth grows to 1e60 and beyond, and is bet away again: its roundings are regretted too.
    for (up, down) in [(20, 18), (60, 55), (150, 140), (220, 110), (398, 199)] {
        let rows: Vec<Row> =
            (0..up + down).map(|k| (if k < up { -1.0 } else { 1.0 }, 1.0, vec![(0, 1.0)])).collect();
        let mut config = Config::new("coin", "linear");
        config.bias = false;
        config.radius = Some(1.0);
        let run = run(&config, &rows, 1);
        let lost: Sum = rows.iter().zip(&run.z).map(|((y, _, _), z)| y * z).collect();
        let regret = (lost.value() + f64::from(up - down)) / rows.len() as f64;
        let stated = run.engine.bound().unwrap().regret_at_most.unwrap();
        assert!(regret <= stated, "{up} and {down}: {regret:e} {stated:e}");
        // Where nothing was risked nothing is added.
        assert!(up > 20 || stated < 1.0, "{stated}");
    }
}

#[test]
fn the_excess_is_not_told_over_a_ball_that_the_examples_chose() {
    let rows: Vec<Row> = (0..100)
        .map(|k| (if k % 3 == 0 { 1.0 } else { -1.0 }, 1.0, vec![(0, f64::from(k % 5) / 5.0)]))
        .collect();
    let excess = |radius: Option<f64>| {
        let mut config = Config::new("strongly-convex-ogd", "hinge");
        (config.l2, config.comparator, config.radius) = (Some(0.1), Some("l2".to_owned()), radius);
        let risk = run(&config, &rows, 1).engine.risk();
        assert!(risk.at_most.is_some(), "{risk:?}");
        risk.excess_at_most
    };
    assert!(excess(Some(1.0)).is_some());
    assert_eq!(excess(None), None);
}

/// Gradients that climb in steps of 1 and come down in steps of 2: their sum is 0, so that 0 is the best model of the
/// smallest ball and the theorems are equalities. The roundings of the way up do not cancel on the way down.
#[test]
fn roundings_that_add_up_do_not_break_a_bound_that_is_met_with_equality() {
    let constant = ("schedule", "constant");
    let mut raised = 0;
    for (n, y) in [(400, 1.0), (30_000, 1.0), (30_000, 0.1)] {
        let up = (0..n).map(|_| (y, 1.0, vec![(0, 1.0)]));
        let rows: Vec<Row> = up.chain((0..n / 2).map(|_| (-2.0 * y, 1.0, vec![(0, 1.0)]))).collect();
        for (name, given) in [
            ("ogd", vec![("eta", "1.1"), constant]),
            ("ogd", vec![("eta", "0.7"), constant]),
            ("truncated-gradient", vec![("eta", "0.7"), ("lambda1", "0"), constant]),
            ("ftrl", vec![("alpha", "3"), ("ball", "no")]),
        ] {
            let mut config = Config::new(name, "linear");
            for (key, value) in &given {
                config.give(key, value).unwrap();
            }
            (config.bias, config.radius) = (false, Some(1e-9));
            let run = run(&config, &rows, 1);
            let lost: Sum = rows.iter().zip(&run.z).map(|((y, _, _), z)| y * z).collect();
            let stated = run.engine.bound().unwrap();
            let (bound, lost) = (stated.regret_at_most.unwrap(), lost.value() / rows.len() as f64);
            assert!(lost <= bound, "{name} {given:?}: {lost:e} {bound:e}");
            // It is rounding that is added, and no more.
            let more = stated.constants.get("raised").unwrap_or(0.0) / rows.len() as f64;
            assert!(more <= 1e-7 * bound, "{name} {given:?}: {more:e} {bound:e}");
            raised += u32::from(more > 0.0);
        }
    }
    assert!(raised > 3, "the stream tests nothing");
}

/// Weights at the end of f64 lose their digits when they are multiplied, whatever long rows make of them then.
#[test]
fn weights_at_the_end_of_the_numbers_prove_nothing_untrue() {
    for (name, y, x, u) in
        [("linear", 0.5, 1e10, -1.0), ("quantile", 1e11, 1e10, 1.0), ("absolute", 3.0, 1e8, 1.0)]
    {
        for learner in ["projected-ogd", "ogd", "auto"] {
            for weight in [4.946e-321, 5e-324, 1e-310, 3e-308] {
                let mut block = noregret::example::Block::<f64>::new();
                for _ in 0..3 {
                    block.push(y, weight, [(0, x)]);
                }
                let mut config = Config::new(learner, name);
                config.bias = false;
                config.radius = Some(1.0);
                let mut engine = Engine::new(config).unwrap();
                if engine.learn_f64(block.rows()).is_err() {
                    continue;
                }
                let Some(certificate) = engine.certificate() else { continue };
                let lost = engine.loss().value(u * x, y);
                assert!(
                    certificate.best_at_least <= lost,
                    "{learner} {name} {weight:e}: {} is above {lost}",
                    certificate.best_at_least
                );
            }
        }
    }
}

/// One row whose label or weight is nearly as large as numbers are is learned, or refused; either way the model can be saved
/// and read, and no class of models is named whose size is no number.
#[test]
fn a_row_at_the_end_of_the_numbers_leaves_a_model_of_auto_that_can_be_read() {
    let mut learned = 0;
    for (loss, two) in [
        ("square", false),
        ("absolute", false),
        ("huber", false),
        ("quantile", false),
        ("poisson", false),
        ("squared-hinge", true),
        ("logistic", true),
        ("hinge", true),
    ] {
        for features in [2_u32, 90] {
            for (average, extreme) in [1e20, 1e33, 1e36, 1e37, 1e38, 1e39, 1e45, 1e60, 1e90]
                .into_iter()
                .flat_map(|extreme| [(false, extreme), (true, extreme)])
            {
                let mut config = Config::new("auto", loss);
                config.average = average;
                let mut engine = Engine::new(config).unwrap();
                for t in 0..60_u32 {
                    let mut block = noregret::example::Block::<f64>::new();
                    let row = (0..features)
                        .map(|i| (i, f64::from((t * (i + 3)) % 7) * if t == 50 { 1e-20 } else { 1.0 }));
                    let (y, weight) = match (two, t == 40 || t == 50) {
                        (true, false) => (if t % 3 == 0 { 1.0 } else { -1.0 }, 1.0),
                        (true, true) => (1.0, extreme),
                        (false, false) => (f64::from(t % 7), 1.0),
                        (false, true) => (extreme, 1.0),
                    };
                    block.push(y, weight, row);
                    learned += u32::from(engine.learn_f64(block.rows()).is_ok());
                    if let Some(certificate) = engine.certificate() {
                        assert!(certificate.radius.is_none_or(f64::is_finite), "{loss} {extreme:e} row {t}");
                    }
                }
                let labels = if two { LabelMap::binary() } else { LabelMap::Real };
                let model = Model { engine, reading: Reading::default(), labels, names: NameTable::new() };
                let what = format!("{loss} {features} {extreme:e} {average}");
                let bytes = model.to_sound_bytes().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert!(Model::from_bytes(&bytes).is_ok(), "{what}: {:?}", Model::from_bytes(&bytes).err());
            }
        }
    }
    assert!(learned > 10_000, "only {learned} rows were learned");
}
