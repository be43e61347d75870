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
    #![proptest_config(cases(40))]

    #[test]
    fn weights_are_averaged_and_ledgers_add(rows in stream(4, 40), parts in 1usize..5, u in prop::collection::vec(-1.0..1.0f64, 5)) {
        for name in AVERAGING {
            let entry = learner::find(name).unwrap();
            for given in variants(name) {
                for loss in losses(entry) {
                    check(&rows, parts, &u, name, loss, &given);
                }
            }
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
    let u = Vector { features: u[..4].to_vec(), bias: Some(u[4]) };
    let total: f64 = rows.iter().map(|r| r.1).sum();
    let lost = |(y, c, x): &common::Row| {
        let z = u.bias.unwrap() + x.iter().map(|&(i, v)| u.features[i as usize] * v).sum::<f64>();
        c * start.loss().value(z, *y)
    };
    let best: f64 = rows.iter().map(lost).sum::<f64>() / total;
    let ball = Comparator::L2 { radius: u.norm() * (1.0 + 1e-12) + 1e-12 };
    let (mut model, mut first): (Option<Engine>, Option<Engine>) = (None, None);
    for round in 1..=2 {
        let mut learned = Vec::new();
        for part in rows.chunks(rows.len().div_ceil(parts).max(1)) {
            let mut engine = model.as_ref().unwrap_or(&start).forked().unwrap();
            // A learner may diverge on what it was given: there is nothing to average then.
            if engine.learn_f64(block(part).rows()).is_err() {
                return;
            }
            learned.push(kept(engine));
        }
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
