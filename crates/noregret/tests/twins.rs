//! A twin that copies what another engine has learned, for every learner in the registry: where it can, it is equal to
//! the bit, and goes on as the other does.

mod common;

use common::{cases, every_config, labelled, stream};
use noregret::engine::Engine;
use noregret::example::names::NameTable;
use noregret::example::{Features, LabelMap};
use noregret::loss;
use noregret::model::{Model, Reading};
use proptest::prelude::*;

fn bytes(engine: Engine) -> Vec<u8> {
    Model { engine, reading: Reading::default(), labels: LabelMap::Real, names: NameTable::new() }.to_bytes()
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_twin_that_caught_up_is_equal_to_the_bit(rows in stream(9, 40), bias: bool, piece in 1usize..9, late in 0usize..9) {
        for config in every_config(bias, Some(1.5), 9) {
            let loss = loss::build(&config.loss, []).unwrap();
            let rows = labelled(&rows, &*loss);
            let [mut first, mut second] = [(), ()].map(|()| Engine::new(config.clone()).unwrap());
            let mut copied = false;
            for (k, some) in rows.chunks(piece).enumerate() {
                let block = common::block(some);
                let features = block.indices.clone();
                let done = first.learn_f64(block.rows()).is_ok();
                if done && k == late {
                    let x = Features::new(&[1], &[0.5]);
                    let _ = first.learn_late(x, 0.25, some[0].0, 1.0);
                }
                copied = second.catch_up(&first, &[&features[..], &[1]].concat());
                if !copied || !done {
                    break;
                }
                // The two change places, as in a server.
                std::mem::swap(&mut first, &mut second);
            }
            prop_assert!(rows.is_empty() || copied == (config.learner == "auto"), "{:?}", config);
            if copied {
                prop_assert!(bytes(first) == bytes(second), "{:?}", config);
            }
        }
    }
}

#[test]
fn a_twin_shares_the_recent_parts_of_a_long_stream() {
    let config = noregret::engine::Config::new("auto", "logistic");
    let [mut first, mut second] = [(), ()].map(|()| Engine::new(config.clone()).unwrap());
    for k in 0..50u32 {
        let rows: Vec<common::Row> = (0..200u32)
            .map(|i| {
                let n = 200 * k + i;
                let y = if n % 3 == 0 { 1.0 } else { -1.0 };
                (y, 1.0, vec![(n % 7, 1.0), (7 + n % 11, f64::from(n % 5) - 2.5)])
            })
            .collect();
        let block = common::block(&rows);
        first.learn_f64(block.rows()).unwrap();
        assert!(second.catch_up(&first, &block.indices));
        assert_eq!(second.windows(), first.windows());
        std::mem::swap(&mut first, &mut second);
    }
    assert!(first.windows().len() > 3);
    assert!(bytes(first) == bytes(second));
}

/// Where the table grows out of what is copied whole, the rows are learned again, once.
#[test]
fn a_twin_follows_a_table_that_outgrows_its_covariance() {
    let config = noregret::engine::Config::new("auto", "logistic");
    let [mut first, mut second] = [(), ()].map(|()| Engine::new(config.clone()).unwrap());
    let mut again = 0;
    for k in 0..24u32 {
        let rows: Vec<common::Row> = (0..30u32)
            .map(|i| {
                let n = 30 * k + i;
                let y = if n * n % 7 < 3 { 1.0 } else { -1.0 };
                (y, 1.0, vec![(n % (6 * k + 3), 1.0), (6 * k + 3 + n % 4, f64::from(n % 5) - 2.5)])
            })
            .collect();
        let block = common::block(&rows);
        first.learn_f64(block.rows()).unwrap();
        if !second.catch_up(&first, &block.indices) {
            again += 1;
            second.learn_f64(block.rows()).unwrap();
        }
        std::mem::swap(&mut first, &mut second);
    }
    assert_eq!(again, 1);
    assert!(first.dimension() > 128 && bytes(first) == bytes(second));
}
