//! Several classes whose labels come late, while other classes join: the certificate holds, and one versus the rest is what it
//! would be had all labels been known.

use noregret::engine::Config;
use noregret::example::{Block, Features};
use noregret::multiclass::Multiclass;
use proptest::prelude::*;

type Row = Vec<(u32, f64)>;

const FEATURES: usize = 4;

fn row() -> impl Strategy<Value = Row> {
    prop::collection::btree_map(0..FEATURES as u32, -2.0..2.0f64, 0..4).prop_map(|m| m.into_iter().collect())
}

/// Rows with a class, and for how many rounds the label is waited for.
fn stream() -> impl Strategy<Value = Vec<(Row, usize, usize)>> {
    let item = (row(), 0..5usize, prop_oneof![Just(0), 1..6usize]);
    prop::collection::vec(item, 1..40).prop_map(|mut list| {
        // Classes have places in the order of their labels.
        let mut places: Vec<usize> = Vec::new();
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|&k| (k + list[k].2, k));
        for k in order {
            let known = places.iter().position(|p| *p == list[k].1);
            let place = known.unwrap_or(places.len());
            if known.is_none() {
                places.push(list[k].1);
            }
            list[k].1 = place;
        }
        list
    })
}

/// One label, when it came: the row, its class, and how many classes had been seen with it.
struct Seen {
    row: Row,
    y: usize,
    classes: usize,
}

fn run(scheme: &str, named: Option<usize>, rows: &[(Row, usize, usize)]) -> (Multiclass, Vec<Seen>) {
    let config = if scheme == "ovr" { Config::new("ogd", "logistic") } else { Config::new("", "") };
    let mut model = Multiclass::new(scheme, config, named).unwrap();
    let mut told: Vec<Option<Vec<f64>>> = vec![None; rows.len()];
    let mut seen = Vec::new();
    let most = rows.iter().map(|r| r.2).max().unwrap_or(0);
    for now in 0..rows.len() + most {
        if let Some((row, _, wait)) = rows.get(now).filter(|r| r.2 > 0) {
            let (indices, values): (Vec<u32>, Vec<f64>) = row.iter().copied().unzip();
            let mut z = Vec::new();
            model.scores_to_keep(Features { indices: &indices, values: &values }, &mut z);
            assert!(*wait > 0);
            told[now] = Some(z);
        }
        for (k, (row, y, wait)) in rows.iter().enumerate().filter(|(k, r)| k + r.2 == now) {
            let (indices, values): (Vec<u32>, Vec<f64>) = row.iter().copied().unzip();
            if *wait > 0 {
                let x = Features { indices: &indices, values: &values };
                model.learn_late(x, told[k].as_ref().unwrap(), *y, 1.0).unwrap();
            } else {
                let block = Block::<f64>::from_rows(&[(*y as f64, row.clone())]);
                model.learn_f64(block.rows()).unwrap();
            }
            seen.push(Seen { row: row.clone(), y: *y, classes: model.classes() });
        }
    }
    (model, seen)
}

fn scores(u: &[Vec<f64>], row: &Row) -> Vec<f64> {
    u.iter().map(|u| u[FEATURES] + row.iter().map(|(i, v)| u[*i as usize] * v).sum::<f64>()).collect()
}

fn norm<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    numbers.map(|v| v * v).sum::<f64>().sqrt() * (1.0 + 1e-12) + 1e-12
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_model_does_better_than_the_certificate_allows(
        rows in stream(),
        u in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, FEATURES + 1), 5),
    ) {
        for scheme in ["ovr", "softmax", "perceptron"] {
            let (model, seen) = run(scheme, None, &rows);
            let u = &u[..model.classes()];
            let lost = |s: &Seen| {
                let z = scores(u, &s.row);
                match scheme {
                    "ovr" => z.iter().enumerate().map(|(k, z)| if k == s.y { (-z).exp() } else { z.exp() }.ln_1p()).sum(),
                    "softmax" => z[..s.classes].iter().map(|z_k| (z_k - z[s.y]).exp()).sum::<f64>().ln(),
                    _ => z[..s.classes].iter().enumerate().filter(|(k, _)| *k != s.y)
                        .map(|(_, z_k)| (1.0 + z_k - z[s.y]).max(0.0)).fold(0.0, f64::max),
                }
            };
            let average = seen.iter().map(lost).sum::<f64>() / seen.len() as f64;
            let radius = if scheme == "ovr" {
                u.iter().map(|u| norm(u.iter())).fold(0.0, f64::max)
            } else {
                norm(u.iter().flatten())
            };
            let proved = model.certificate_within(radius).unwrap();
            prop_assert!(proved.best_at_least <= average + 1e-12, "{scheme}: {} > {average}", proved.best_at_least);
            let late = rows.iter().filter(|r| r.2 > 0).count() as u64;
            prop_assert_eq!((model.late(), model.examples()), (late, rows.len() as u64));
            if late > 0 {
                prop_assert_eq!(model.bound().and_then(|b| b.regret_at_most), None);
            }
        }
    }

    #[test]
    fn one_versus_the_rest_is_what_it_would_be_had_all_labels_been_known(rows in stream()) {
        let (open, _) = run("ovr", None, &rows);
        let (closed, _) = run("ovr", Some(open.classes()), &rows);
        prop_assert_eq!(open.average_loss(), closed.average_loss());
        prop_assert_eq!(open.certificate(), closed.certificate());
        for k in 0..open.classes() {
            prop_assert_eq!(open.weights(k), closed.weights(k));
        }
    }
}

#[test]
fn a_row_alone_that_is_too_large_changes_nothing_and_no_class_joins() {
    for scheme in ["ovr", "softmax", "perceptron"] {
        let config = if scheme == "ovr" { Config::new("auto", "logistic") } else { Config::new("", "") };
        let mut model = Multiclass::new(scheme, config, None).unwrap();
        for k in 0..20 {
            let row = vec![(k % 4, 1.0 + f64::from(k))];
            model.learn_f64(Block::<f64>::from_rows(&[(f64::from(k % 3), row)]).rows()).unwrap();
        }
        let before = (model.weights(1), model.examples(), model.average_loss(), model.classes());
        for y in [0.0, 3.0] {
            let large = Block::<f64>::from_rows(&[(y, vec![(0, 1e300)])]);
            assert!(model.learn_f64(large.rows()).is_err(), "{scheme}");
            let x = Features { indices: &[0], values: &[1e300] };
            assert!(model.learn_late(x, &[0.5, 0.0, -0.5, 0.0], y as usize, 1.0).is_err(), "{scheme}");
        }
        assert!(model.is_whole());
        assert_eq!(before, (model.weights(1), model.examples(), model.average_loss(), model.classes()));
    }
}
