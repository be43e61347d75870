//! Labels that come late, for every learner in the registry: the loss is that of what was predicted, the certificate
//! holds against comparators found without it, theorems are withheld, and nothing changes where the label is in time.

mod common;

use common::claims::class;
use common::{cases, every_config, labelled, rivals, stream, total};
use noregret::engine::Engine;
use noregret::example::names::NameTable;
use noregret::example::{Features, LabelMap};
use noregret::loss::{self, Task};
use noregret::model::{Model, Reading};
use proptest::prelude::*;

const D: u32 = 4;

fn features(x: &[(u32, f64)]) -> (Vec<u32>, Vec<f64>) {
    x.iter().copied().unzip()
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn certificates_hold_with_labels_that_come_late(rows in stream(D, 24), delay in 1usize..6, bias: bool) {
        for config in every_config(bias, Some(1.5), D) {
            let loss = loss::build(&config.loss, []).unwrap();
            let rows = labelled(&rows, &*loss);
            let mut engine = Engine::new(config.clone()).unwrap();
            let (mut scores, mut learned, mut suffered) = (Vec::new(), Vec::new(), 0.0);
            for k in 0..rows.len() + delay {
                if let Some((_, _, x)) = rows.get(k) {
                    let (indices, values) = features(x);
                    scores.push(engine.predict_f64(Features::new(&indices, &values)));
                }
                let Some(at) = k.checked_sub(delay) else { continue };
                let Some((y, c, x)) = rows.get(at) else { continue };
                let (indices, values) = features(x);
                if engine.learn_late(Features::new(&indices, &values), scores[at], *y, *c).is_err() {
                    break;
                }
                suffered += c * loss.value(scores[at], *y);
                learned.push(rows[at].clone());
            }
            let name = format!("{config:?}");
            let n: f64 = learned.iter().map(|r| r.1).sum();
            let Some(certificate) = engine.certificate() else { continue };
            let average = engine.average_loss().unwrap();
            prop_assert!((average * n - suffered).abs() <= 1e-9 * (1.0 + suffered.abs()), "{name}");
            prop_assert!(engine.bound().unwrap().unmet.iter().any(|u| u == "labels came late"), "{name}");
            prop_assert!(engine.risk().at_most.is_none());
            let (comparator, radius, sigma) = class(&engine);
            let rivals =
                rivals(&learned, &*loss, comparator.name(), (radius, sigma), (D as usize, bias), &[], 8);
            for u in rivals {
                let t = total(&learned, &*loss, &u, bias, sigma);
                prop_assert!(certificate.best_at_least * n <= t.value + t.error, "{name}: {u:?} does better");
            }
            // Where the learner knows its norm, it is that of its weights.
            let labels = if loss.entry().task == Task::Real { LabelMap::Real } else { LabelMap::binary() };
            let (bytes, weights) = {
                let model = Model { engine, reading: Reading::default(), labels, names: NameTable::new() };
                (model.to_bytes(), model.engine.weights())
            };
            let again = Model::from_bytes(&bytes).unwrap();
            prop_assert_eq!(again.engine.late(), learned.len() as u64);
            prop_assert_eq!(again.engine.weights(), weights.clone());
            prop_assert!(again.to_bytes() == bytes);
            let round = config.comparator.as_deref() == Some("l2");
            if config.learner == "alma" || config.learner == "projected-ogd" && round {
                prop_assert!(weights.norm() <= 1.5 * (1.0 + 1e-9), "{name}: outside its ball");
            }
        }
    }

    #[test]
    fn a_label_in_time_is_learned_as_ever(rows in stream(D, 16)) {
        for config in every_config(true, Some(1.5), D) {
            let loss = loss::build(&config.loss, []).unwrap();
            let rows = labelled(&rows, &*loss);
            let (mut late, mut plain) = (Engine::new(config.clone()).unwrap(), Engine::new(config.clone()).unwrap());
            for (y, c, x) in &rows {
                let (indices, values) = features(x);
                let x = Features::new(&indices, &values);
                let z = late.predict_f64(x);
                let row = common::block(&[(*y, *c, indices.iter().copied().zip(values.iter().copied()).collect())]);
                let (a, b) = (late.learn_late(x, z, *y, *c).is_ok(), plain.learn_f64(row.rows()).is_ok());
                prop_assert_eq!(a, b);
                if !a {
                    break;
                }
            }
            prop_assert_eq!(late.weights(), plain.weights(), "{:?}", config);
            prop_assert_eq!(late.certificate(), plain.certificate(), "{:?}", config);
        }
    }
}
