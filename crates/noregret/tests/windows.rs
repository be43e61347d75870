//! Certificates over recent parts of the stream are never wrong, cover what they say, and show a change
//! of regime.

mod common;

use common::claims::class;
use common::*;
use noregret::engine::{Config, Engine};
use noregret::error::Error;
use noregret::example::LabelMap;
use noregret::example::names::NameTable;
use noregret::generate;
use noregret::loss;
use noregret::model::{Model, Reading};
use noregret::regret::blocks::UNIT;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const D: u32 = 5;

/// A long stream whose labels follow one direction in its first part and the opposite one afterwards.
fn turning(seed: u64, n: usize, turn: usize, weighted: bool) -> Vec<Row> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let w: Vec<f64> = (0..D).map(|_| random.random_range(-1.0..1.0)).collect();
    let row = |t: usize| {
        let mut x: Vec<(u32, f64)> = Vec::new();
        for i in 0..D {
            if random.random_bool(0.7) {
                x.push((i, f64::from(random.random_range(-1.0..1.0_f32))));
            }
        }
        let z: f64 = x.iter().map(|&(i, v)| w[i as usize] * v).sum();
        let sign = if t < turn { 1.0 } else { -1.0 };
        let weight = if weighted { [1.0, 0.0, 0.01, 7.0][random.random_range(0..4)] } else { 1.0 };
        (sign * z + random.random_range(-0.2..0.2), weight, x)
    };
    (0..n).map(row).collect()
}

/// Learns as much as the learner can, and returns how many rows that were.
fn learn(engine: &mut Engine, rows: &[Row]) -> usize {
    match engine.learn_f64(block(rows).rows()) {
        Ok(()) | Err(Error::Diverged(_)) => usize::try_from(engine.pass_examples()).unwrap(),
        Err(other) => panic!("{other}"),
    }
}

/// Every window covers the end of the stream, and nobody of the class beats it there.
fn check(config: &Config, engine: &Engine, rows: &[Row], random: usize) -> usize {
    let windows = engine.windows();
    let loss = loss::build(&config.loss, []).unwrap();
    let (comparator, radius, sigma) = class(engine);
    if let Some(whole) = windows.first() {
        let certificate = engine.certificate().unwrap();
        assert_eq!((whole.from, whole.examples), (1, rows.len() as u64), "{config:?}");
        assert_eq!(whole.best_at_least, certificate.best_at_least);
        assert_eq!(whole.regret_at_most, certificate.regret_at_most);
    }
    assert!(windows.is_sorted_by(|a, b| a.from < b.from));
    for window in windows.iter().skip(1) {
        assert_eq!(window.from - 1 + window.examples, rows.len() as u64, "{config:?}");
        assert!(window.examples >= UNIT);
        let part = &rows[usize::try_from(window.from).unwrap() - 1..];
        let n: f64 = part.iter().map(|r| r.1).sum();
        let starts = vec![dense(&engine.weights(), D as usize)];
        let space = (D as usize, config.bias);
        for u in rivals(part, &*loss, comparator.name(), (radius, sigma), space, &starts, random) {
            let rival = total(part, &*loss, &u, config.bias, sigma);
            if !rival.value.is_finite() {
                continue;
            }
            let rounding = rival.error + 1e-12 * rival.value.abs();
            assert!(window.best_at_least * n <= rival.value + rounding, "{config:?}: {window:?} {u:?}");
            if sigma.is_none() {
                let regret = window.average_loss - rival.value / n;
                let slack = (rounding / n) + 1e-12 * (window.average_loss.abs() + rival.value.abs() / n);
                assert!(window.regret_at_most >= regret - slack, "{config:?}: {window:?} {regret}");
            }
        }
    }
    windows.len()
}

proptest! {
    #![proptest_config(cases(3))]

    #[test]
    fn nobody_beats_a_window_on_its_own_examples(
        seed in any::<u64>(),
        bias in any::<bool>(),
        weighted in any::<bool>(),
        n in 3000_usize..6000,
        pick in any::<prop::sample::Index>(),
    ) {
        let rows = turning(seed, n, n / 2, weighted);
        let all = every_config(bias, Some(1.5), D);
        let mut told = 0;
        for entry in noregret::learner::ENTRIES {
            // One setting of each learner a case: loss, class and variant at random.
            let own: Vec<&Config> = all.iter().filter(|c| c.learner == entry.name).collect();
            let config = *pick.get(&own);
            let loss = loss::build(&config.loss, []).unwrap();
            let rows = labelled(&rows, &*loss);
            let mut engine = Engine::new(config.clone()).unwrap();
            let done = learn(&mut engine, &rows);
            told += usize::from(check(config, &engine, &rows[..done], 4) > 1);
        }
        // Some setting may diverge early or prove nothing at all; most do not.
        prop_assert!(told * 2 > noregret::learner::ENTRIES.len());
    }
}

#[test]
fn a_change_of_regime_is_seen() {
    for (learner, quick) in [("auto", true), ("projected-ogd", true), ("ftrl", false), ("ogd", false)] {
        let entry = generate::find("drift").unwrap();
        let block = entry.block(&entry.request(Some(20_000), None, Some(0.05), 1).unwrap());
        let mut config = Config::new(learner, "hinge");
        config.radius = Some(3.0);
        let mut engine = Engine::new(config).unwrap();
        engine.learn(block.rows()).unwrap();
        let windows = engine.windows();
        let whole = &windows[0];
        let recent = windows.iter().find(|w| w.from > 10_000).unwrap();
        // On the whole every fixed model is bad; since the turn none is proved to be.
        assert!(recent.best_at_least < whole.best_at_least - 0.02, "{learner}: {windows:?}");
        // And a learner that turned quickly does better there than any fixed one on the whole.
        assert_eq!(recent.average_loss < whole.best_at_least, quick, "{learner}: {windows:?}");
    }
}

#[test]
fn windows_do_not_depend_on_how_the_rows_are_handed_over() {
    let rows = turning(3, 8000, 3000, true);
    let block = block(&rows);
    for learner in ["auto", "ftrl", "adagrad"] {
        let mut whole = Engine::new(Config::new(learner, "square")).unwrap();
        whole.learn_f64(block.rows()).unwrap();
        let mut sliced = Engine::new(Config::new(learner, "square")).unwrap();
        for from in (0..rows.len()).step_by(77) {
            sliced.learn_f64(block.rows().slice(from, rows.len().min(from + 77))).unwrap();
            let _ = sliced.windows();
        }
        assert_eq!(whole.windows(), sliced.windows());
        assert!(whole.windows().len() > 3);
    }
}

#[test]
fn windows_or_none_everything_else_is_the_same_to_the_bit() {
    let rows = turning(4, 5000, 2000, true);
    let learned = |windows: Option<bool>| {
        let mut engine = Engine::new(Config { windows, ..Config::new("adagrad", "square") }).unwrap();
        engine.learn_f64(block(&rows).rows()).unwrap();
        engine
    };
    let (with, without) = (learned(None), learned(Some(false)));
    assert_eq!(without.windows(), with.windows()[..1]);
    assert_eq!(with.ledger(), without.ledger());
    assert_eq!(with.certificate(), without.certificate());
}

#[test]
fn many_features_have_windows_only_when_asked() {
    let mut rows = turning(5, 3000, 1500, false);
    rows[0].2.push((1 << 20, 1.0));
    for (windows, told) in [(None, false), (Some(true), true), (Some(false), false)] {
        let mut engine = Engine::new(Config { windows, ..Config::new("ogd", "square") }).unwrap();
        // Blocks are as long as half of the features, which is more than there are rows.
        engine.learn_f64(block(&rows).rows()).unwrap();
        assert_eq!(engine.windows().len(), 1);
        engine.set_windows(told);
        engine.learn_f64(block(&rows).rows()).unwrap();
        let from: Vec<u64> = engine.windows().iter().map(|w| w.from).collect();
        assert_eq!(from, if told { vec![1, 3001] } else { vec![1] });
    }
    // They end with the feature that is one too many.
    let mut engine = Engine::new(Config::new("ogd", "square")).unwrap();
    let block = block(&rows);
    engine.learn_f64(block.rows().slice(1, 2500)).unwrap();
    assert!(engine.windows().len() > 1);
    engine.learn_f64(block.rows()).unwrap();
    assert_eq!(engine.windows().len(), 1);
}

#[test]
fn later_passes_leave_the_windows_of_the_first() {
    let rows = turning(6, 4000, 2000, false);
    let block = block(&rows);
    let mut engine = Engine::new(Config::new("projected-ogd", "square")).unwrap();
    engine.learn_f64(block.rows()).unwrap();
    let once = engine.windows();
    for _ in 0..2 {
        engine.next_pass();
        engine.learn_f64(block.rows()).unwrap();
    }
    let config = engine.config().clone();
    assert_eq!(engine.windows()[1..], once[1..]);
    check(&config, &engine, &rows, 6);
    // Resumed, they begin where the resumed rows do, and a file says the same when it is written again.
    let model =
        Model { engine, reading: Reading::default(), labels: LabelMap::Real, names: NameTable::new() };
    let bytes = model.to_bytes();
    let mut model = Model::from_bytes(&bytes).unwrap();
    assert!(model.to_bytes() == bytes);
    assert_eq!(model.engine.windows().len(), 1);
    model.engine.learn_f64(block.rows()).unwrap();
    let windows = model.engine.windows();
    assert_eq!((windows[1].from, windows[1].examples), (4001, 4000));
    let twice: Vec<Row> = rows.iter().chain(&rows).cloned().collect();
    check(&config, &model.engine, &twice, 6);
}

#[test]
fn what_is_lost_beside_a_huge_history_is_not_claimed() {
    let row = |v: f64| (1.0, 1.0, vec![(0, v)]);
    // Beside 1e15 an addition of 0.03 leaves nothing.
    let rows: Vec<Row> = (0..2048).map(|t| row(if t < 1024 { 1e12 } else { 0.03 })).collect();
    for learner in ["ogd", "ftrl", "adagrad"] {
        let config = Config { radius: Some(1.0), bias: false, ..Config::new(learner, "linear") };
        let mut engine = Engine::new(config).unwrap();
        engine.learn_f64(block(&rows).rows()).unwrap();
        let windows = engine.windows();
        assert_eq!(windows[1].from, 1025, "{learner}");
        // u = -1 loses -0.03 in every round since; the difference of the vectors alone would say 0.
        assert!(windows[1].best_at_least <= -0.03, "{learner}: {windows:?}");
        assert!(windows[1].best_at_least >= -0.2, "{learner}: {windows:?}");
    }
}
