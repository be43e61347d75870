//! What a run says of itself is never wrong: certificates, bounds and risks against comparators that
//! were found without them, for every learner, loss and class.

mod common;

use common::claims::*;
use common::*;
use noregret::engine::{Config, Engine};
use noregret::loss;
use noregret::regret::Sum;
use proptest::prelude::*;

const D: u32 = 5;

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
    fn what_is_predicted_beforehand_is_what_is_suffered_to_the_bit(
        rows in stream(D, 30),
        bias in any::<bool>(),
        which in any::<prop::sample::Index>(),
    ) {
        let all = every_config(bias, Some(2.0), D);
        let config = which.get(&all);
        let loss = loss::build(&config.loss, []).unwrap();
        let run = run(config, &labelled(&rows, &*loss), D as usize);
        let mut suffered = Sum::default();
        for ((y, c, _), z) in run.rows.iter().zip(&run.z).filter(|(r, _)| r.1 > 0.0) {
            suffered.add(c * loss.value(*z, *y));
        }
        prop_assert_eq!(run.engine.ledger().book.loss.value().to_bits(), suffered.value().to_bits());
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
