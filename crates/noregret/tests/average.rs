//! Models that learned parts of a stream become one: the weights are averaged, the ledgers add, and the certificate holds for one
//! model on all parts.

mod common;

use common::{block, cases, config, labelled, losses, stream, variants};
use noregret::engine::{AVERAGING, Engine};
use noregret::learner;
use noregret::model::{Model, Reading};
use noregret::regret::Comparator;
use noregret::round::Vector;
use proptest::prelude::*;

fn kept(engine: Engine) -> Engine {
    let labels = if engine.loss().entry().task == noregret::loss::Task::Binary {
        noregret::example::LabelMap::binary()
    } else {
        noregret::example::LabelMap::Real
    };
    let names = noregret::example::names::NameTable::new();
    let bytes = Model { engine, reading: Reading::default(), labels, names }.to_bytes();
    Model::from_bytes(&bytes).unwrap().engine
}

#[test]
fn the_list_of_those_that_average_is_right() {
    let able = learner::ENTRIES.iter().filter(|entry| {
        let given = variants(entry.name).remove(0);
        let mut config = config(entry.name, losses(entry)[0], &given);
        config.dimension = Some(4);
        Engine::new(config).unwrap().can_average().is_ok()
    });
    let mut able: Vec<&str> = able.map(|entry| entry.name).collect();
    let mut listed = AVERAGING.to_vec();
    able.sort_unstable();
    listed.sort_unstable();
    assert_eq!(able, listed);
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn weights_are_averaged_and_ledgers_add(rows in stream(4, 40), parts in 1usize..5, u in prop::collection::vec(-1.0..1.0f64, 5)) {
        for name in AVERAGING {
            let entry = learner::find(name).unwrap();
            for given in variants(name) {
                for loss in losses(entry) {
                    check(&rows, parts, &u, name, loss, &given);
                    check_batches(&rows, parts, &u, name, loss, &given);
                }
            }
        }
    }
}

/// What `u` loses on average, and a ball that it is just inside of.
fn rival(rows: &[common::Row], u: &[f64], engine: &Engine) -> (f64, Comparator) {
    let u = Vector { features: u[..4].to_vec(), bias: Some(u[4]) };
    let lost = |(y, c, x): &common::Row| {
        let z = u.bias.unwrap() + x.iter().map(|&(i, v)| u.features[i as usize] * v).sum::<f64>();
        c * engine.loss().value(z, *y)
    };
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let ball = Comparator::L2 { radius: u.norm() * (1.0 + 1e-12) + 1e-12 };
    (rows.iter().map(lost).sum::<f64>() / total, ball)
}

/// What learned so many parts of these rows from a common start, each stored and read again; none where a learner
/// diverges on what it was given.
fn learned(rows: &[common::Row], parts: usize, start: &Engine) -> Option<Vec<Engine>> {
    let learn = |part| {
        let mut engine = start.forked().unwrap();
        engine.learn_f64(block(part).rows()).ok()?;
        Some(kept(engine))
    };
    rows.chunks(rows.len().div_ceil(parts).max(1)).map(learn).collect()
}

/// Batch after batch, each in parts from the average before it: nothing proved of all of them is too much.
fn check_batches(
    rows: &[common::Row],
    parts: usize,
    u: &[f64],
    name: &str,
    loss: &str,
    given: &[(&'static str, &'static str)],
) {
    let mut model = Engine::new(config(name, loss, given)).unwrap();
    let rows = labelled(rows, model.loss());
    let mut done = 0;
    for batch in rows.chunks(rows.len().div_ceil(3).max(1)) {
        let Some(learned) = learned(batch, parts, &model) else { return };
        let mut average = Engine::average(&learned.iter().collect::<Vec<_>>()).unwrap();
        average.follow(&model);
        model = kept(average);
        done += batch.len();
        assert_eq!(model.examples(), done as u64);
        let (best, ball) = rival(&rows[..done], u, &model);
        if let Some(proved) = model.best_at_least(&ball)
            && best.is_finite()
        {
            let told = format!("{name} {loss} {given:?}: {proved} > {best} after {done} rows");
            assert!(proved <= best + 1e-9 * (1.0 + best.abs()), "{told}");
        }
    }
}

fn check(
    rows: &[common::Row],
    parts: usize,
    u: &[f64],
    name: &str,
    loss: &str,
    given: &[(&'static str, &'static str)],
) {
    let start = Engine::new(config(name, loss, given)).unwrap();
    let rows = labelled(rows, start.loss());
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let (best, ball) = rival(&rows, u, &start);
    let (mut model, mut first): (Option<Engine>, Option<Engine>) = (None, None);
    for round in 1..=2 {
        let Some(learned) = learned(&rows, parts, model.as_ref().unwrap_or(&start)) else { return };
        if learned.is_empty() {
            return;
        }
        let all: Vec<&Engine> = learned.iter().collect();
        let mut average = Engine::average(&all).unwrap();
        assert_eq!(average.examples(), rows.len() as u64);
        if total > 0.0 {
            let mut expected = Vector::default();
            for part in &learned {
                expected.add(&part.weights(), part.whole_book().weight.value() / total);
            }
            let found = average.weights();
            for (a, b) in expected.iter().zip(found.iter()) {
                let close = (a - b).abs() <= 1e-9 * (1.0 + a.abs());
                assert!(close, "{name} {loss} {given:?}: {a} and {b}");
            }
            let proved = average.best_at_least(&ball);
            if let Some(proved) = proved {
                assert!(
                    proved <= best + 1e-9 * (1.0 + best.abs()),
                    "{name} {loss} {given:?}: {proved} > {best} in round {round}"
                );
            }
        }
        if let Some(first) = &first {
            average.repeat(first, round);
            assert_eq!(average.average_loss(), first.average_loss());
        }
        let average = kept(average);
        model = Some(average.forked().unwrap());
        first = first.or(Some(average));
    }
}
