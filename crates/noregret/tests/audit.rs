//! Brackets around the best in hindsight, against answers found without them.

mod common;

use common::{block, cases, every_config, labelled, stream};
use noregret::engine::Engine;
use noregret::example::format::Options;
use noregret::example::reader::CHUNK_BYTES;
use noregret::example::{Block, LabelMap, Reader};
use noregret::loss::{self, Loss};
use noregret::regret::Comparator;
use noregret::regret::audit::{Auditor, Bracket, Search};
use proptest::prelude::*;

fn bracket(rows: &[common::Row], loss: &dyn Loss, bias: bool, class: Comparator, tolerance: f64) -> Bracket {
    let block = block(rows);
    let mut source = block.rows();
    let mut auditor = Auditor::new(&mut source, loss, bias).unwrap().unwrap();
    let search = Search { tolerance, most_sweeps: 20_000, ..Search::default() };
    auditor.bracket(class, &search, &mut |_| true).unwrap()
}

fn classes(radius: f64) -> [Comparator; 5] {
    [
        Comparator::L2 { radius },
        Comparator::L1 { radius },
        Comparator::Linf { radius },
        Comparator::Simplex { radius, complete: false },
        Comparator::Ridge { sigma: 0.3 },
    ]
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn brackets_close_for_every_loss_and_class(
        rows in stream(4, 30),
        radius in 0.2..4.0f64,
        bias in any::<bool>(),
    ) {
        for entry in loss::ENTRIES {
            let loss = loss::build(entry.name, []).unwrap();
            let rows = labelled(&rows, &*loss);
            if rows.iter().all(|r| r.1 == 0.0) {
                continue;
            }
            for class in classes(radius) {
                let tolerance = if matches!(class.name(), "l2" | "ridge") { 1e-6 } else { 1e-3 };
                let found = bracket(&rows, &*loss, bias, class, tolerance);
                prop_assert!(found.at_least <= found.at_most);
                prop_assert!(found.closed, "{} {class:?}: {found:?}", entry.name);
                // The upper end is the loss of a member of the class.
                let n: f64 = rows.iter().map(|r| r.1).sum();
                let t = rows.iter().filter(|r| r.1 > 0.0).count() as f64;
                let dot = |x: &[(u32, f64)]| x.iter().map(|(i, v)| found.u.features[*i as usize] * v).sum::<f64>();
                let total: f64 = rows
                    .iter()
                    .filter(|r| r.1 > 0.0)
                    .map(|(y, c, x)| c * loss.value(dot(x) + found.u.bias.unwrap_or(0.0), *y))
                    .sum();
                let penalty = if let Comparator::Ridge { sigma } = class { sigma * t / 2.0 * found.u.norm().powi(2) } else { 0.0 };
                let again = (total + penalty) / n;
                prop_assert!(again <= found.at_most + 1e-12 * again.abs());
                prop_assert!(again >= found.at_least - 1e-12 * again.abs());
                if let Some(radius) = class.radius() {
                    prop_assert!(class.norm(&found.u) <= radius * (1.0 + 1e-15));
                }
            }
        }
    }
}

/// A stored data set, as the command would read it.
fn stored(name: &str) -> Block<f32> {
    let path = format!("{}/tests/data/audit/{name}.svm.gz", env!("CARGO_MANIFEST_DIR"));
    let inputs = noregret::bytes::expand(&[path]).unwrap();
    let mut reader = Reader::open(inputs, None, Options::default(), 1, CHUNK_BYTES).unwrap();
    let mut whole = Block::new();
    while let Some(mut block) = reader.next().unwrap() {
        assert!(LabelMap::Real.apply(&mut block, &|_| true, false).problem.is_none());
        for row in block.rows().iter() {
            whole.push(row.y, row.weight, row.x.indices.iter().copied().zip(row.x.values.iter().copied()));
        }
    }
    whole
}

// The optima in references.json were found by Clarabel 0.11 through CVXPY on the data sets that are
// bundled with scikit-learn; scripts/audit_references.py made them and says how.
#[test]
fn brackets_contain_the_optima_that_another_solver_found() {
    let text = include_str!("data/audit/references.json");
    let answers: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
    assert!(answers.len() > 40);
    for name in ["breast_cancer", "digits", "diabetes"] {
        let block = stored(name);
        for answer in answers.iter().filter(|a| a["data"] == name) {
            let loss = loss::build(answer["loss"].as_str().unwrap(), []).unwrap();
            let size = answer["size"].as_f64().unwrap();
            let class = Comparator::new(answer["comparator"].as_str().unwrap(), size, Some(size)).unwrap();
            let mut source = block.rows();
            let mut auditor = Auditor::new(&mut source, &*loss, true).unwrap().unwrap();
            let search = Search { most_sweeps: 20_000, ..Search::default() };
            let found = auditor.bracket(class, &search, &mut |_| true).unwrap();
            let best = answer["best"].as_f64().unwrap();
            // The other solver stops at a relative gap of 1e-8; ten times that is its own error.
            let slack = 1e-7 * (1.0 + best.abs());
            assert!(found.closed, "{answer}: {} {}", found.at_least, found.at_most);
            assert!(found.at_least <= best + slack && best - slack <= found.at_most, "{answer}: {found:?}");
        }
    }
}

// What one pass certified never exceeds what the audit finds, for every learner, loss and class.
proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn certificates_never_cross_the_audited_best(rows in stream(3, 40), radius in 0.3..3.0f64) {
        for config in every_config(true, Some(radius), 3) {
            let loss = loss::build(&config.loss, []).unwrap();
            let rows = labelled(&rows, &*loss);
            let block = block(&rows);
            let mut engine = Engine::new(config.clone()).unwrap();
            if engine.learn_f64(block.rows()).is_err() {
                continue;
            }
            let (class, _) = engine.comparator();
            let Some(certificate) = engine.certificate() else { continue };
            let mut source = block.rows();
            let mut auditor = Auditor::new(&mut source, &*loss, true).unwrap().unwrap();
            let search = Search { tolerance: 1e-4, most_sweeps: 300, ..Search::default() };
            let found = auditor.bracket(class, &search, &mut |_| true).unwrap();
            prop_assert!(certificate.best_at_least <= found.at_most, "{config:?} {certificate:?} {found:?}");
        }
    }
}

#[test]
fn a_linear_loss_has_its_answer_in_closed_form() {
    // S = (3, -4): the best of the ball of radius 2 has the total -2 * 5 over 2 rounds.
    let rows = vec![(1.0, 1.0, vec![(0, 3.0)]), (-2.0, 1.0, vec![(1, 2.0)])];
    let loss = loss::build("linear", []).unwrap();
    let best = |class| bracket(&rows, &*loss, false, class, 1e-9);
    let found = best(Comparator::L2 { radius: 2.0 });
    assert!(found.closed && (found.at_most + 5.0).abs() < 1e-12 && (found.at_least + 5.0).abs() < 1e-12);
    let found = best(Comparator::L1 { radius: 2.0 });
    assert!(found.closed && (found.at_most + 4.0).abs() < 1e-12);
    let found = best(Comparator::Linf { radius: 2.0 });
    assert!(found.closed && (found.at_most + 7.0).abs() < 1e-12);
    // (S/(sigma T))^2 sigma T/2 = 25/(2 * 0.5 * 2) below 0.
    let found = best(Comparator::Ridge { sigma: 0.5 });
    assert!(found.closed && (found.at_most + 25.0 / 2.0 / 2.0).abs() < 1e-12);
}

#[test]
fn a_separable_stream_has_a_best_hinge_loss_of_nothing() {
    let rows = vec![(1.0, 1.0, vec![(0, 1.0), (1, 0.1)]), (-1.0, 1.0, vec![(0, -1.0), (1, 0.2)])];
    let loss = loss::build("hinge", []).unwrap();
    let found = bracket(&rows, &*loss, true, Comparator::L2 { radius: 5.0 }, 1e-3);
    assert!(found.closed && found.at_least == 0.0 && found.at_most <= 1e-9, "{found:?}");
}

#[test]
fn stopping_early_leaves_a_true_bracket() {
    let rows: Vec<common::Row> = (0..50)
        .map(|k| (if k % 3 == 0 { 1.0 } else { -1.0 }, 1.0, vec![(k % 7, 1.0), (7 + k % 5, 0.5)]))
        .collect();
    let loss = loss::build("logistic", []).unwrap();
    let whole = bracket(&rows, &*loss, true, Comparator::L2 { radius: 3.0 }, 1e-9);
    let block = block(&rows);
    for most in 1..12 {
        let mut source = block.rows();
        let mut auditor = Auditor::new(&mut source, &*loss, true).unwrap().unwrap();
        let search = Search { tolerance: 1e-9, most_sweeps: most, ..Search::default() };
        let early = auditor.bracket(Comparator::L2 { radius: 3.0 }, &search, &mut |_| true).unwrap();
        assert!(early.at_least <= whole.at_most && whole.at_least <= early.at_most);
    }
}

/// Two rows with small labels that a model fits exactly.
fn fitted(scale: f64) -> Vec<common::Row> {
    vec![(0.001 * scale, 1.0, vec![(0, 1.0), (1, 0.5)]), (-0.001 * scale, 1.0, vec![(0, 0.5), (1, 1.0)])]
}

#[test]
fn a_perfect_fit_of_small_labels_is_found_in_few_sweeps() {
    // The least loss is 0, and what rounding leaves of it is measured by the labels, not by 1.
    for name in ["square", "huber", "absolute", "quantile"] {
        for scale in [1.0, 1e-6, 1e6] {
            let loss = loss::build(name, []).unwrap();
            let class = Comparator::L2 { radius: scale };
            let block = block(&fitted(scale));
            let mut source = block.rows();
            let mut auditor = Auditor::new(&mut source, &*loss, false).unwrap().unwrap();
            let search = Search { tolerance: 1e-3, most_sweeps: 2000, ..Search::default() };
            let found = auditor.bracket(class, &search, &mut |_| true).unwrap();
            assert!(
                found.closed && found.at_least <= 0.0 && found.at_most >= 0.0,
                "{name} {scale}: {found:?}"
            );
        }
    }
}

#[test]
fn an_audit_that_cannot_close_its_bracket_ends() {
    // Rows of lengths that f64 cannot weigh against one another; nobody limits the sweeps.
    let rows: Vec<common::Row> = (0..12)
        .map(|k| {
            let x = 10f64.powi(24 * (k % 2) - 12);
            (if k % 3 == 0 { 1.0 } else { -0.5 }, 1.0, vec![(0, x), (1, x * f64::from(k - 5))])
        })
        .collect();
    for name in ["absolute", "huber", "logistic"] {
        let loss = loss::build(name, []).unwrap();
        let rows = labelled(&rows, &*loss);
        for class in classes(10.0) {
            let block = block(&rows);
            let mut source = block.rows();
            let mut auditor = Auditor::new(&mut source, &*loss, true).unwrap().unwrap();
            let search = Search { tolerance: 1e-9, ..Search::default() };
            let found = auditor.bracket(class, &search, &mut |_| true).unwrap();
            assert!(found.at_least <= found.at_most, "{name}: {found:?}");
        }
    }
}
