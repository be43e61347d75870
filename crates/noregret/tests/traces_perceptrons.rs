//! The family of the Perceptron, a few rounds at a time, against numbers worked out by hand from the papers;
//! and against its definitions, followed in the plainest way.

mod common;

use common::*;
use noregret::engine::Config;
use proptest::prelude::*;

const D: u32 = 4;

fn plain(learner: &str, given: &[(&'static str, &'static str)]) -> Config {
    let mut config = config(learner, "hinge", given);
    config.bias = false;
    config
}

/// Compares predictions, then the weights at the end.
fn trace(config: &Config, rows: &[Row], z: &[f64], last: &[f64]) {
    let run = run(config, rows, last.len());
    assert!(!run.diverged);
    for (k, (have, want)) in run.z.iter().zip(z).enumerate() {
        assert!(close(*have, *want, 1e-12), "round {}: z is {have}, not {want}", k + 1);
    }
    for (have, want) in dense(&run.engine.weights(), last.len()).iter().zip(last) {
        assert!(close(*have, *want, 1e-12), "at the end: {have}, not {want}");
    }
}

/// Four rows on which the plain Perceptron, without a bias, goes
/// (0, 0) -> (1, 0) at a mistake, -> (0, -1) at a mistake, stays for weight 2, -> (-1, -1) at a mistake.
fn four() -> Vec<Row> {
    vec![
        (1.0, 1.0, vec![(0, 1.0)]),
        (-1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        (-1.0, 2.0, vec![(1, 2.0)]),
        (-1.0, 1.0, vec![(0, 1.0)]),
    ]
}

#[test]
fn the_averaged_perceptron_predicts_with_vectors_counted_as_they_survived() {
    // After the rounds: v = (1, 0) | (0, -1) | (0, -1) twice | (-1, -1).
    // Averages: (1, 0), (1, -1)/2, (1, -3)/4, (0, -4)/5.
    // 1: z = 0. 2: <(1, 0), (1, 1)> = 1. 3: <(1/2, -1/2), (0, 2)> = -1. 4: <(1/4, -3/4), (1, 0)> = 1/4.
    trace(&plain("averaged-perceptron", &[]), &four(), &[0.0, 1.0, -1.0, 0.25], &[0.0, -0.8]);
}

#[test]
fn the_voted_perceptron_counts_signs() {
    // (1, 0) has 1 vote, (0, -1) has 1 + 2, (-1, -1) has 1. The weights shown are the average's.
    // 2: sign(1)/1 = 1. 3: x = (0, 2): (0 * 1 - 1)/2 = -1/2. 4: x = (1, 0): (1 + 0 * 3)/4 = 1/4.
    // 5: x = (-1, 1): (-1 - 3 + 0)/5 = -4/5. (-1, -1) has product 0, a mistake: (-1, -1) + (-1, 1) = (-2, 0);
    //    the sum of the vectors is (0, -4) + (-2, 0), over 6.
    let mut rows = four();
    rows.push((1.0, 1.0, vec![(0, -1.0), (1, 1.0)]));
    let z = [0.0, 1.0, -0.5, 0.25, -0.8];
    trace(&plain("voted-perceptron", &[]), &rows, &z, &[-1.0 / 3.0, -2.0 / 3.0]);
}

#[test]
fn the_kernel_perceptron_forgets_the_oldest() {
    // (1 + x x')^2, two rows.
    // 1: x = 1, y = 1: z = 0, stored. 2: x = 2, y = -1: z = 9, stored.
    // 3: x = -1, y = 1: 0 - (1 - 2)^2 = -1, stored; the first row goes.
    // 4: x = 1, y = -1: -(1 + 2)^2 + (1 - 1)^2 = -9: right. 5: x = 0: -1 + 1 = 0.
    let rows = [
        (1.0, 1.0, vec![(0, 1.0)]),
        (-1.0, 1.0, vec![(0, 2.0)]),
        (1.0, 1.0, vec![(0, -1.0)]),
        (-1.0, 1.0, vec![(0, 1.0)]),
        (-1.0, 1.0, vec![]),
    ];
    trace(&plain("kernel-perceptron", &[("budget", "2")]), &rows, &[0.0, 9.0, -1.0, -9.0, 0.0], &[0.0]);
    // exp(-ln 2 |x - x'|^2) = 2^-|x - x'|^2.
    // 1: stored. 2: x = 1: 1/2, stored with -1. 3: x = 2: 1/16 - 1/2.
    let rows = [(1.0, 1.0, vec![]), (-1.0, 1.0, vec![(0, 1.0)]), (-1.0, 1.0, vec![(0, 2.0)])];
    let rbf = plain("kernel-perceptron", &[("kernel", "rbf"), ("gamma", "0.6931471805599453")]);
    trace(&rbf, &rows, &[0.0, 0.5, 0.0625 - 0.5], &[0.0]);
}

#[test]
fn maxover_learns_the_stored_row_that_is_served_worst() {
    // kappa = 1, three rows.
    // 1: x = (1, 0), y = 1: z = 0 < 1: w = (1, 0).
    // 2: x = (1, 1), y = -1: z = 1; stabilities 1, -1: w = (0, -1).
    // 3: x = (0, 2), y = -1: z = -2; stabilities 0, 1, 2: the first row is learned, w = (1, -1).
    // 4: x = (2, 1), y = 1: z = 1; the first row goes; stabilities 0, 2, 1: the second, w = (0, -2).
    let rows = [
        (1.0, 1.0, vec![(0, 1.0)]),
        (-1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        (-1.0, 1.0, vec![(1, 2.0)]),
        (1.0, 1.0, vec![(0, 2.0), (1, 1.0)]),
    ];
    trace(&plain("maxover", &[("budget", "3")]), &rows, &[0.0, 1.0, -2.0, 1.0], &[0.0, -2.0]);
}

#[test]
fn winnow_promotes_and_demotes() {
    // eta = ln 2: the two weights of a feature are 2^v and 2^-v.
    // 1: x = (1, 1), y = 1: z = 0: promoted to 2 and 1/2, w = (3/2, 3/2).
    // 2: x = (1, 0), y = -1: z = 3/2: demoted, w = (0, 3/2).
    // 3: x = (0, 1), y = 1: z = 3/2: right.
    // 4: x = (2, 1), y = -1: z = 3/2: v = (-2, 0), w = (1/4 - 4, 0).
    let rows = [
        (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        (-1.0, 1.0, vec![(0, 1.0)]),
        (1.0, 1.0, vec![(1, 1.0)]),
        (-1.0, 1.0, vec![(0, 2.0), (1, 1.0)]),
    ];
    let winnow = plain("winnow", &[("eta", "0.6931471805599453")]);
    trace(&winnow, &rows, &[0.0, 1.5, 1.5, 1.5], &[-3.75, 0.0]);
}

/// The plain Perceptron: its vector after every round of weight above 0, with that weight.
fn vectors(rows: &[Row], bias: bool) -> Vec<(Vec<f64>, f64)> {
    let mut v = vec![0.0; D as usize + usize::from(bias)];
    let mut all = Vec::new();
    for (y, c, x) in rows.iter().filter(|r| r.1 > 0.0) {
        let z: f64 =
            x.iter().map(|&(i, a)| v[i as usize] * a).sum::<f64>() + if bias { v[D as usize] } else { 0.0 };
        if y * z <= 0.0 {
            for &(i, a) in x {
                v[i as usize] += c * y * a;
            }
            if bias {
                v[D as usize] += c * y;
            }
        }
        all.push((v.clone(), *c));
    }
    all
}

/// Values and weights whose sums are exact, so that no two ways to add them differ in a sign.
fn exact() -> impl Strategy<Value = Vec<Row>> {
    let label = prop_oneof![Just(1.0), Just(-1.0)];
    let weight = prop_oneof![6 => Just(1.0), 1 => Just(0.0), 1 => Just(0.5), 1 => Just(3.0)];
    let value = (-4i32..5).prop_map(|v| f64::from(v) / 4.0);
    let row = (label, weight, prop::collection::btree_map(0..D, value, 0..5))
        .prop_map(|(y, c, x)| (y, c, x.into_iter().collect()));
    prop::collection::vec(row, 0..60)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_vote_and_the_average_are_those_of_the_vectors_kept_one_by_one(
        rows in exact(),
        bias in any::<bool>(),
    ) {
        for learner in ["voted-perceptron", "averaged-perceptron"] {
            let mut config = config(learner, "hinge", &[]);
            config.bias = bias;
            let run = run(&config, &rows, D as usize);
            for (k, z) in run.z.iter().enumerate() {
                let before = vectors(&rows[..k], bias);
                let total: f64 = before.iter().map(|(_, c)| c).sum();
                let score = |v: &[f64]| {
                    let z = dot(v, &rows[k].2, bias);
                    if learner.starts_with("averaged") || z == 0.0 { z } else { z.signum() }
                };
                let sum: f64 = before.iter().map(|(v, c)| c * score(v)).sum();
                let want = if total > 0.0 { sum / total } else { 0.0 };
                prop_assert!(close(*z, want, 1e-12), "{}: {} {}", learner, z, want);
            }
        }
    }

    #[test]
    fn with_the_linear_kernel_and_room_for_all_it_is_the_perceptron(
        rows in stream(D, 60),
        bias in any::<bool>(),
    ) {
        let loss = noregret::loss::build("hinge", []).unwrap();
        let rows = labelled(&rows, &*loss);
        let mut kernel = config("kernel-perceptron", "hinge", &[("kernel", "linear")]);
        kernel.bias = bias;
        let mut perceptron = config("perceptron", "hinge", &[]);
        perceptron.bias = bias;
        let (one, other) = (run(&kernel, &rows, D as usize), run(&perceptron, &rows, D as usize));
        prop_assert_eq!(one.engine.tally().mistakes(), other.engine.tally().mistakes());
        prop_assert_eq!(one.z, other.z);
        prop_assert_eq!(one.iterates, other.iterates);
    }

    #[test]
    fn a_polynomial_of_degree_one_and_the_linear_kernel_on_a_budget_are_their_stored_rows(
        rows in exact(),
        budget in 1..6usize,
    ) {
        let words = ["1", "2", "3", "4", "5"];
        for (kernel, add) in [("linear", 0.0), ("polynomial", 1.0)] {
            let given = [("kernel", kernel), ("degree", "1"), ("budget", words[budget - 1])];
            let run = run(&plain("kernel-perceptron", &given), &rows, D as usize);
            let mut stored: Vec<&Row> = Vec::new();
            for (k, row) in rows.iter().enumerate() {
                let mut dense = vec![0.0; D as usize];
                for &(i, v) in &row.2 { dense[i as usize] = v; }
                let z: f64 = stored.iter().map(|(y, c, x)| c * y * (add + dot(&dense, x, false))).sum();
                prop_assert!(close(run.z[k], z, 1e-12), "{} {} {}", kernel, run.z[k], z);
                if row.1 > 0.0 && row.0 * z <= 0.0 {
                    stored.push(row);
                    if stored.len() > budget {
                        stored.remove(0);
                    }
                }
            }
        }
    }
}
