//! What a run says of itself is never wrong: certificates, bounds and risks against comparators that
//! were found without them, for every learner, loss and class.

mod common;

use common::*;
use noregret::engine::{Config, Engine};
use noregret::loss;
use noregret::regret::{Comparator, Sum, bound};
use proptest::prelude::*;

const D: u32 = 5;

/// The class in force, its radius and its penalty.
fn class(engine: &Engine) -> (Comparator, f64, Option<f64>) {
    let (comparator, _) = engine.comparator();
    let sigma = match comparator {
        Comparator::Ridge { sigma } => Some(sigma),
        _ => None,
    };
    (comparator, comparator.radius().unwrap_or(1.0), sigma)
}

/// Checks everything that a finished run claims. `d` is the number of features of the space.
fn check_claims(config: &Config, rows: &[Row], d: usize, random: usize) {
    let run = run(config, rows, d);
    let engine = &run.engine;
    let name = format!("{config:?}");
    let loss = loss::build(&config.loss, []).unwrap();
    let n: Sum = run.rows.iter().map(|r| r.1).collect();
    let n = n.value();
    let stated = engine.bound();
    let risk = engine.risk();
    assert_eq!(risk.at_most.is_none(), !risk.unmet.is_empty(), "{name}: {risk:?}");
    let Some(certificate) = engine.certificate() else {
        assert!(n == 0.0 || run.diverged || config.loss == "linear", "{name}");
        return;
    };
    let stated = stated.unwrap();
    assert_eq!(stated.regret_at_most.is_none(), !stated.unmet.is_empty(), "{name}: {stated:?}");

    // L, S and the penalty, from the predictions alone.
    let (comparator, radius, sigma) = class(engine);
    let mut suffered = Sum::default();
    let mut terms = 0.0;
    let (mut s, mut reach, mut magnitude) = (vec![0.0; d + usize::from(config.bias)], 0.0, 0.0);
    for (k, (y, c, x)) in run.rows.iter().enumerate() {
        if *c == 0.0 {
            continue;
        }
        let f = c * loss.value(run.z[k], *y);
        suffered.add(f);
        if let Some(sigma) = sigma {
            let w = norm(&run.iterates[k]);
            suffered.add(sigma / 2.0 * w * w);
            terms += sigma / 2.0 * w * w;
        }
        let alpha = c * loss.slope(run.z[k], *y);
        for &(i, v) in x {
            s[i as usize] += alpha * v;
        }
        if config.bias {
            s[d] += alpha;
        }
        let length = (x.iter().map(|p| p.1 * p.1).sum::<f64>() + f64::from(u8::from(config.bias))).sqrt();
        reach += alpha.abs() * length;
        magnitude += f.abs() + (alpha * run.z[k]).abs();
    }
    let ledger = dense(&engine.ledger().s, d);
    for (a, b) in ledger.iter().zip(&s) {
        assert!(a == b || (a - b).abs() <= 1e-13 * reach, "{name}: S {a} {b}");
    }
    let average = suffered.value() / n;
    let own = match sigma {
        None => engine.average_loss().unwrap(),
        Some(sigma) => engine.ledger().book.penalised_loss(sigma).unwrap(),
    };
    // The losses and the penalty may cancel: what is left is as exact as they are.
    let scale = (terms + magnitude) / n;
    assert!((own - average).abs() <= 1e-9 * terms / n + 1e-14 * scale, "{name}: {own} {average}");
    let (regret, best) = (certificate.regret_at_most, certificate.best_at_least);
    let parts = regret.abs() + best.abs() + scale;
    assert!((regret + best - own).abs() <= 1e-12 * parts, "{name}: {certificate:?} {own}");

    // A prediction is the product with the iterate.
    for (k, w) in run.iterates.iter().enumerate() {
        // Its normaliser counts the coordinates of the row that is predicted, seen or not; a mixture's
        // weights are those of its heaviest member.
        if ["exponentiated", "auto"].contains(&&*config.learner) {
            continue;
        }
        let z = dot(w, &run.rows[k].2, config.bias);
        let scale: f64 = norm(w) * (1.0 + run.rows[k].2.iter().map(|p| p.1.abs()).sum::<f64>());
        assert!((z - run.z[k]).abs() <= 1e-11 * (1e-120 + scale), "{name}: round {k}: {z} {}", run.z[k]);
    }

    let mut starts = vec![dense(&engine.weights(), d), ledger.iter().map(|s| -s * 1e6).collect()];
    starts.retain(|u| u.iter().all(|v| v.is_finite()));
    let space = (d, config.bias);
    if d + usize::from(config.bias) == 0 {
        return;
    }
    let bound_total = stated.regret_at_most.map(|r| r * n);
    for u in rivals(&run.rows, &*loss, comparator.name(), (radius, sigma), space, &starts, random) {
        let rival = total(&run.rows, &*loss, &u, config.bias, sigma);
        if !rival.value.is_finite() {
            continue;
        }
        assert!(
            certificate.best_at_least * n <= rival.value + rival.error,
            "{name}: certified {} but {u:?} has {}, {run_rows:?}",
            certificate.best_at_least * n,
            rival.value,
            run_rows = run.rows,
        );
        let regret = suffered.value() - rival.value;
        let rounding = 2.0 * rival.error + 1e-15 * (magnitude + terms);
        assert!(certificate.regret_at_most * n >= regret - rounding, "{name}: {certificate:?} {regret}");
        if let Some(bound) = bound_total {
            assert!(bound >= regret - rounding - 1e-12 * bound, "{name}: bound {bound} regret {regret}");
        }
    }
    let entry = bound::find(&stated.name).unwrap();
    let same = serde_json::to_value(entry.class).unwrap() == comparator.name();
    if let (Some(bound), true, true) = (stated.regret_at_most, entry.linearised, same) {
        let slack = 1e-9 * bound + 1e-12 * (1.0 + magnitude + engine.ledger().book.reach * radius) / n;
        assert!(certificate.regret_at_most <= bound + slack, "{name}: {certificate:?} above {stated:?}");
    }
    check_ball(config, &run);
}

/// Iterates of a learner with a ball never leave it.
fn check_ball(config: &Config, run: &Run) {
    let simplex = config.comparator.as_deref() == Some("simplex");
    let radius = config.radius.unwrap_or(if simplex { 1.0 } else { 10.0 });
    let given = format!("{:?}", config.parameters);
    let last: Vec<f64> = run.engine.weights().iter().collect();
    for w in run.iterates.iter().chain([&last]) {
        let length = match config.learner.as_str() {
            "follow-the-leader" if given.contains("box") => w.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
            "exponentiated" => w.iter().map(|v| v.abs()).sum(),
            "ftrl" if given.contains("no") => 0.0,
            "projected-ogd" | "subgradient" | "ftrl" | "follow-the-leader" => norm(w),
            _ => 0.0,
        };
        assert!(length <= radius * (1.0 + 1e-9), "{config:?}: {length} outside of {radius}");
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn certificates_and_bounds_hold_for_every_learner_loss_and_class(
        rows in stream(D, 24),
        bias in any::<bool>(),
        radius in prop_oneof![Just(None), (0.05..8.0f64).prop_map(Some)],
    ) {
        for config in every_config(bias, radius, D) {
            let loss = loss::build(&config.loss, []).unwrap();
            check_claims(&config, &labelled(&rows, &*loss), D as usize, 12);
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn no_comparator_of_a_hundred_beats_the_certificate(
        rows in stream(D, 60),
        bias in any::<bool>(),
        radius in prop_oneof![Just(None), (0.01..50.0f64).prop_map(Some)],
        which in any::<prop::sample::Index>(),
    ) {
        let all = every_config(bias, radius, D);
        let config = which.get(&all);
        let loss = loss::build(&config.loss, []).unwrap();
        check_claims(config, &labelled(&rows, &*loss), D as usize, 100);
    }
}

/// The bits of all that a run can say.
fn bits(engine: &Engine) -> Vec<u64> {
    let ledger = engine.ledger();
    let mut all: Vec<f64> = engine.weights().iter().chain(ledger.s.iter()).collect();
    all.extend([ledger.book.loss.value(), ledger.book.k.value(), ledger.book.weight.value()]);
    all.extend([ledger.book.reach, ledger.book.magnitude, engine.dimension() as f64]);
    if let Some(average) = engine.averaged() {
        all.extend(average.iter());
    }
    all.iter().map(|v| v.to_bits()).collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn rows_blocks_and_value_types_all_give_the_same_bits(
        rows in stream(D, 40),
        bias in any::<bool>(),
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let all = every_config(bias, Some(2.0), D);
        let mut config = which.get(&all).clone();
        config.average = true;
        if Engine::new(config.clone()).is_err() {
            config.average = false;
        }
        let loss = loss::build(&config.loss, []).unwrap();
        let mut rows = labelled(&rows, &*loss);
        for row in &mut rows {
            row.2.iter_mut().for_each(|p| p.1 = f64::from(p.1 as f32));
        }
        let slowly = run(&config, &rows, D as usize);
        prop_assume!(!slowly.diverged);
        let (wide, narrow) = (block(&rows), block_f32(&rows));
        let mut whole = Engine::new(config.clone()).unwrap();
        whole.learn_f64(wide.rows()).unwrap();
        let mut sliced = Engine::new(config.clone()).unwrap();
        let at = cut.index(rows.len() + 1);
        sliced.learn_f64(wide.rows().slice(0, at)).unwrap();
        // Reports do not touch state.
        let _ = (sliced.certificate(), sliced.bound(), sliced.risk(), sliced.averaged());
        sliced.learn_f64(wide.rows().slice(at, rows.len())).unwrap();
        let mut other = Engine::new(config).unwrap();
        other.learn(narrow.rows()).unwrap();
        prop_assert_eq!(bits(&slowly.engine), bits(&whole));
        prop_assert_eq!(bits(&sliced), bits(&whole));
        prop_assert_eq!(bits(&other), bits(&whole));
    }

    #[test]
    fn ledgers_add_and_the_sum_holds_for_one_model_on_both_streams(
        rows in stream(D, 50),
        bias in any::<bool>(),
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        radius in 0.05..5.0f64,
    ) {
        let all = every_config(bias, Some(radius), D);
        let config = which.get(&all);
        let loss = loss::build(&config.loss, []).unwrap();
        let rows = labelled(&rows, &*loss);
        let at = cut.index(rows.len() + 1);
        let (one, two) = (run(config, &rows[..at], D as usize), run(config, &rows[at..], D as usize));
        let (comparator, radius, sigma) = class(&one.engine);
        let (mut forth, mut back) = (one.engine.ledger(), two.engine.ledger());
        forth.merge(&two.engine.ledger());
        back.merge(&one.engine.ledger());
        let union: Vec<Row> = one.rows.iter().chain(&two.rows).cloned().collect();
        let n = union.iter().map(|r| r.1).collect::<Sum>().value();
        let (a, b) = (forth.best_at_least(&comparator), back.best_at_least(&comparator));
        prop_assert_eq!(a.is_some(), b.is_some());
        let Some(best) = a else { return Ok(()) };
        prop_assert!(close(best, b.unwrap(), 1e-12));
        let starts = [dense(&forth.s, D as usize).iter().map(|s| -1e3 * s).collect::<Vec<_>>()];
        for u in rivals(&union, &*loss, comparator.name(), (radius, sigma), (D as usize, bias), &starts, 40) {
            let rival = total(&union, &*loss, &u, bias, sigma);
            prop_assert!(best * n <= rival.value + rival.error || !rival.value.is_finite());
        }
    }

    #[test]
    fn features_may_appear_at_any_time(
        rows in stream(D, 30),
        bias in any::<bool>(),
        which in any::<prop::sample::Index>(),
    ) {
        let all = every_config(bias, Some(1.5), D);
        let config = which.get(&all);
        let loss = loss::build(&config.loss, []).unwrap();
        let rows = labelled(&rows, &*loss);
        // A row of weight 1 whose features all are 0 but known: a round like any other. The other
        // stream has the same round without features.
        let everything: Vec<(u32, f64)> = (0..D).map(|i| (i, 0.0)).collect();
        let first = |x: Vec<(u32, f64)>| vec![(1.0, 1.0, x)];
        let known: Vec<Row> = first(everything).into_iter().chain(rows.clone()).collect();
        let unknown: Vec<Row> = first(Vec::new()).into_iter().chain(rows).collect();
        let (known, unknown) = (run(config, &known, D as usize), run(config, &unknown, D as usize));
        if config.learner == "exponentiated" && config.dimension.is_none() {
            // The normaliser counts what it has seen; its bound is checked with all the others.
            return Ok(());
        }
        prop_assert_eq!(known.diverged, unknown.diverged);
        for (a, b) in known.z.iter().zip(&unknown.z) {
            prop_assert!(close(*a, *b, 1e-9), "{:?} {} {}", config, a, b);
        }
        let (a, b) = (known.engine.certificate(), unknown.engine.certificate());
        if let (Some(a), Some(b)) = (a, b) {
            // Where it is not known that all coordinates were seen, the simplex may hold another.
            let class = config.comparator.as_deref() == Some("simplex");
            prop_assert!(class || close(a.best_at_least, b.best_at_least, 1e-9));
        }
    }

    #[test]
    fn later_passes_only_raise_what_is_certified(
        rows in stream(D, 25),
        bias in any::<bool>(),
        which in any::<prop::sample::Index>(),
        radius in prop_oneof![Just(None), (0.05..5.0f64).prop_map(Some)],
    ) {
        let all = every_config(bias, radius, D);
        let config = which.get(&all);
        let loss = loss::build(&config.loss, []).unwrap();
        let rows = labelled(&rows, &*loss);
        let all = block(&rows);
        let mut engine = Engine::new(config.clone()).unwrap();
        prop_assume!(engine.learn_f64(all.rows()).is_ok());
        let Some(first) = engine.certificate() else { return Ok(()) };
        let (average, bound, risk) = (engine.average_loss(), engine.bound(), engine.risk());
        let n = rows.iter().map(|r| r.1).collect::<Sum>().value();
        let (comparator, from) = engine.comparator();
        let (_, radius, sigma) = class(&engine);
        let mut best = first.best_at_least;
        for _ in 0..4 {
            engine.next_pass();
            for k in 0..rows.len() {
                // A pass that has not ended proves nothing about the whole stream.
                let now = engine.certificate_for(&comparator, from).unwrap().best_at_least;
                if from != Some("model") {
                    prop_assert!(now >= best, "{:?} {} {}", config, now, best);
                    if k > 0 {
                        prop_assert_eq!(now, best);
                    }
                }
                prop_assume!(engine.learn_f64(all.rows().slice(k, k + 1)).is_ok());
            }
            let now = engine.certificate_for(&comparator, from).unwrap();
            if from != Some("model") {
                prop_assert!(now.best_at_least >= best);
                best = now.best_at_least;
            }
            prop_assert_eq!(engine.average_loss(), average);
            // The theorem is stated for the class in force, which a growing model makes larger.
            let stated = engine.bound();
            if from == Some("model") {
                let u = stated.as_ref().and_then(|b| b.constants.get("U"));
                prop_assert_eq!(u, engine.comparator().0.radius());
            } else {
                prop_assert_eq!(stated, bound.clone());
            }
            prop_assert_eq!(engine.risk(), risk.clone());
            let starts = [dense(&engine.weights(), D as usize)];
            for u in rivals(&rows, &*loss, comparator.name(), (radius, sigma), (D as usize, bias), &starts, 20) {
                let rival = total(&rows, &*loss, &u, bias, sigma);
                let certified = now.best_at_least.max(best);
                prop_assert!(certified * n <= rival.value + rival.error || !rival.value.is_finite(),
                    "{:?} {:?} {:?}", config, now, rival);
            }
        }
    }

    #[test]
    fn the_mistake_ledger_bounds_the_hinge_loss_of_every_separator(
        rows in stream(D, 80),
        bias in any::<bool>(),
        u in prop::collection::vec(-3.0..3.0f64, D as usize + 1),
    ) {
        let loss = loss::build("hinge", []).unwrap();
        let rows = labelled(&rows, &*loss);
        let mut config = Config::new("perceptron", "hinge");
        config.bias = bias;
        let run = run(&config, &rows, D as usize);
        let (book, s) = run.engine.ledger().own.remove(0);
        let m = book.k;
        let w = dense(&s, D as usize);
        let u = &u[..D as usize + usize::from(bias)];
        let hinge = total(&rows, &*loss, u, bias, None);
        prop_assert!(hinge.value >= m - norm(u) * norm(&w) - hinge.error);
        // If M > U |w| then nothing of norm U has margin 1 everywhere.
        if m > norm(u) * norm(&w) * (1.0 + 1e-12) {
            let separates = rows.iter().filter(|r| r.1 > 0.0).all(|(y, _, x)| y * dot(u, x, bias) >= 1.0);
            prop_assert!(!separates);
        }
    }
}

/// Values that leave the usual range: tiny, huge, duplicated, rescaled in the middle.
fn adversary() -> impl Strategy<Value = Vec<Row>> {
    let scale = prop_oneof![Just(1.0), Just(1e-30), Just(1e30), Just(1e8), Just(1e-8), Just(0.0), Just(1e15)];
    let weight = prop_oneof![8 => Just(1.0), 1 => Just(1e-12), 1 => Just(1e12), 1 => Just(0.0)];
    let part = (prop::collection::vec(row(3), 0..6), scale, weight, 1..4usize);
    prop::collection::vec(part, 1..6).prop_map(|parts| {
        let mut rows = Vec::new();
        for (part, scale, weight, times) in parts {
            for _ in 0..times {
                rows.extend(part.iter().map(|(y, c, x)| {
                    (*y, c * weight, x.iter().map(|&(i, v)| (i, v * scale)).collect::<Vec<_>>())
                }));
            }
        }
        rows
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn no_values_however_wild_make_a_claim_false(rows in adversary(), bias in any::<bool>(), radius in 0.1..5.0f64) {
        for config in every_config(bias, Some(radius), 3) {
            let loss = loss::build(&config.loss, []).unwrap();
            check_claims(&config, &labelled(&rows, &*loss), 3, 10);
        }
    }

    #[test]
    fn averages_under_wild_values_are_those_of_the_stored_iterates(
        rows in adversary(),
        bias in any::<bool>(),
    ) {
        // The average of `auto` is that of one member throughout, not of whoever was the heaviest.
        for entry in noregret::learner::ENTRIES.iter().filter(|e| e.name != "auto") {
            for name in ["hinge", "logistic", "absolute"] {
                for given in variants(entry.name) {
                    let mut config = config(entry.name, name, &given);
                    config.average = true;
                    config.bias = bias;
                    if Engine::new(config.clone()).is_err() {
                        continue;
                    }
                    let loss = loss::build(name, []).unwrap();
                    check_average(&config, &labelled(&rows, &*loss), 3);
                }
            }
        }
    }
}

/// The averaged iterate against the average of the iterates, kept one by one.
fn check_average(config: &Config, rows: &[Row], d: usize) {
    let run = run(config, rows, d);
    let predicted: Vec<&Vec<f64>> =
        run.iterates.iter().zip(&run.rows).filter(|(_, r)| r.1 > 0.0).map(|(w, _)| w).collect();
    let Some(average) = run.engine.averaged() else {
        assert!(predicted.is_empty());
        return;
    };
    let average = dense(&average, d);
    let largest = predicted.iter().map(|w| norm(w)).fold(0.0, f64::max);
    for (i, mean) in average.iter().enumerate() {
        let sum = predicted.iter().map(|w| w[i]).collect::<Sum>().value();
        let stored = sum / predicted.len() as f64;
        assert!(
            (mean - stored).abs() <= 1e-8 * largest,
            "{config:?}: {mean} {stored} of {largest} in {rows:?}"
        );
    }
}

#[test]
fn a_row_a_thousand_times_leaves_every_claim_true() {
    for (y, x) in [(1.0, vec![(0, 0.3), (2, -0.7)]), (-1.0, vec![]), (1.0, vec![(1, 0.0)])] {
        let rows: Vec<Row> = (0..1000).map(|_| (y, 1.0, x.clone())).collect();
        let flips: Vec<Row> = rows
            .iter()
            .enumerate()
            .map(|(k, r)| (if k % 2 == 0 { 1.0 } else { -1.0 }, 1.0, r.2.clone()))
            .collect();
        for bias in [false, true] {
            for config in every_config(bias, Some(1.5), 3).iter().step_by(3) {
                let loss = loss::build(&config.loss, []).unwrap();
                check_claims(config, &labelled(&rows, &*loss), 3, 4);
                check_claims(config, &labelled(&flips, &*loss), 3, 4);
            }
        }
    }
}

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
        if loss.floor(y) != 0.0 {
            assert!(best <= loss.floor(y) - f64::EPSILON * y, "{y}: {best:e} {:e}", loss.floor(y));
        }
    }
}
