//! Separation: every claim holds, whatever the rows and the method.

use noregret::example::{Block, Features};
use noregret::separate::{self, Data, Normalize, Outcome, Settings, Shape, Stop};
use proptest::prelude::*;
use std::time::Duration;

const PLAIN: Shape = Shape { bias: false, normalize: Normalize::None };

fn data(rows: &[(f64, Vec<f64>)], shape: Shape) -> Data {
    let mut data = Data::new(shape);
    for (y, x) in rows {
        let columns: Vec<u32> = (0..x.len() as u32).collect();
        data.push(Features::new(&columns, x), *y);
    }
    data
}

fn run(data: &Data, method: &str, stop: Stop, rounds: u64) -> Outcome {
    let mut settings = Settings::new(separate::find(method).unwrap());
    settings.stop = stop;
    settings.tolerance = 1e-6;
    settings.max_rounds = Some(rounds);
    settings.max_time = Some(Duration::from_secs(5));
    separate::separate(data, &settings, &mut |_| true)
}

/// The largest margin by brute force: it is the smallest norm in the hull of the rows, which is that
/// of the affine hull of some few of them. Small sets only.
fn largest_margin(rows: &[Vec<f64>]) -> f64 {
    let d = rows[0].len();
    let mut best = f64::INFINITY;
    for subset in 1_u32..1 << rows.len() {
        let chosen: Vec<&Vec<f64>> =
            (0..rows.len()).filter(|k| subset >> k & 1 == 1).map(|k| &rows[k]).collect();
        if chosen.len() > d + 1 {
            continue;
        }
        let Some(p) = affine_weights(&chosen) else { continue };
        if p.iter().any(|p| *p < -1e-9) {
            continue;
        }
        let x: Vec<f64> = (0..d).map(|j| chosen.iter().zip(&p).map(|(m, p)| p * m[j]).sum()).collect();
        best = best.min(x.iter().map(|v| v * v).sum::<f64>().sqrt());
    }
    best
}

/// Solves `G p + nu = 0, sum p = 1` by elimination with pivots.
fn affine_weights(rows: &[&Vec<f64>]) -> Option<Vec<f64>> {
    let k = rows.len();
    let mut a = vec![vec![0.0; k + 2]; k + 1];
    for i in 0..k {
        for j in 0..k {
            a[i][j] = rows[i].iter().zip(rows[j]).map(|(x, y)| x * y).sum();
        }
        a[i][k] = 1.0;
        a[k][i] = 1.0;
    }
    a[k][k + 1] = 1.0;
    for c in 0..=k {
        let pivot = (c..=k).max_by(|&x, &y| a[x][c].abs().total_cmp(&a[y][c].abs()))?;
        if a[pivot][c].abs() < 1e-11 {
            return None;
        }
        a.swap(c, pivot);
        let source = a[c].clone();
        for (r, row) in a.iter_mut().enumerate() {
            if r != c {
                let factor = row[c] / source[c];
                row.iter_mut().zip(&source).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    Some((0..k).map(|i| a[i][k + 1] / a[i][i]).collect())
}

/// What is claimed follows from the two vectors handed over, computed plainly.
fn assert_claims(rows: &[(f64, Vec<f64>)], outcome: &Outcome, label: &str) {
    let verified = &outcome.verified;
    assert!(verified.at_least >= 0.0 && verified.at_least <= verified.at_most, "{label}: {verified:?}");
    if let Some(w) = &verified.hyperplane {
        let length = w.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (y, x) in rows {
            let z: f64 = x.iter().zip(w).map(|(x, w)| y * x * w).sum();
            let size: f64 = x.iter().zip(w).map(|(x, w)| (x * w).abs()).sum();
            assert!(z / length >= verified.at_least - 1e-13 * size / length, "{label}");
        }
    }
    match outcome.separable {
        Some(true) => assert!(verified.at_least > 0.0 && verified.hyperplane.is_some(), "{label}"),
        Some(false) => assert!(verified.at_most <= outcome.floor, "{label}"),
        None => assert!(verified.at_least == 0.0 && verified.at_most > outcome.floor, "{label}"),
    }
    assert!(outcome.theorems.iter().all(|t| t.holds), "{label}: {:?}", outcome.theorems);
}

#[test]
fn every_method_brackets_the_margin_of_small_sets() {
    let sets: [&[&[f64]]; 5] = [
        &[&[2.0, 1.0], &[2.0, -3.0], &[5.0, 0.0]],
        &[&[1.0, 0.2, 0.0], &[0.1, 1.0, 0.3], &[-0.5, 0.2, 1.0]],
        &[&[1.0, 1.0], &[1.0, 1.0], &[-0.9, 1.0]],
        &[&[1.0, 0.0], &[-0.5, 0.8], &[-0.5, -0.9]],
        &[&[3.0]],
    ];
    for rows in sets {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        let labelled: Vec<(f64, Vec<f64>)> = rows.iter().map(|row| (1.0, row.clone())).collect();
        let data = data(&labelled, PLAIN);
        let truth = largest_margin(&rows);
        for entry in separate::ENTRIES {
            for stop in [Stop::Separated, Stop::Tolerance] {
                let outcome = run(&data, entry.name, stop, 3000);
                assert_claims(&labelled, &outcome, entry.name);
                let (low, high) = (outcome.verified.at_least, outcome.verified.at_most);
                assert!(
                    low <= truth + 1e-12 && truth <= high + 1e-12,
                    "{}: {low} {truth} {high}",
                    entry.name
                );
                assert_eq!(outcome.separable, Some(truth > 1e-9), "{}", entry.name);
            }
        }
    }
}

#[test]
fn the_hard_set_is_within_the_theorems() {
    let entry = noregret::generate::find("hard").unwrap();
    let mut data = Data::new(PLAIN);
    data.extend(entry.block(&entry.request(Some(7), None, None, 0).unwrap()).rows());
    let margin = run(&data, "minimum-norm", Stop::Tolerance, 1000).verified;
    assert!(margin.at_most - margin.at_least < 1e-7);
    let outcome = run(&data, "optimistic", Stop::Separated, 10_000);
    assert!(outcome.counts.rounds.abs_diff(227) <= 1, "{:?}", outcome.counts);
    assert!(outcome.theorems.iter().all(|t| t.holds));
    let paper = noregret::regret::bound::rounds_of_the_paper(data.longest(), 7.0, margin.at_least);
    let free = noregret::regret::bound::rounds_scale_free(data.longest(), 7.0, margin.at_least);
    assert_eq!((paper.round(), free.round()), (1044.0, 386.0));
}

#[test]
fn sensible_answers_at_the_edges() {
    for entry in separate::ENTRIES {
        let name = entry.name;
        let one = data(&[(-1.0, vec![0.5, -2.0])], PLAIN);
        assert_eq!(run(&one, name, Stop::Separated, 100).separable, Some(true), "{name}");
        let one_class = data(
            &[(1.0, vec![1.0, 7.0]), (1.0, vec![-3.0, 1.0]), (1.0, vec![0.5, -9.0]), (1.0, vec![0.0, 0.0])],
            Shape { bias: true, normalize: Normalize::None },
        );
        assert_eq!(run(&one_class, name, Stop::Separated, 10_000).separable, Some(true), "{name}");
        let zero = data(&[(1.0, vec![1.0]), (1.0, vec![0.0])], PLAIN);
        let outcome = run(&zero, name, Stop::Separated, 100);
        assert_eq!((outcome.separable, outcome.verified.exact), (Some(false), true), "{name}");
        let xor = [
            (1.0, vec![1.0, 1.0]),
            (1.0, vec![-1.0, -1.0]),
            (-1.0, vec![1.0, -1.0]),
            (-1.0, vec![-1.0, 1.0]),
        ];
        for normalize in [Normalize::None, Normalize::Rows] {
            let outcome = run(&data(&xor, Shape { bias: true, normalize }), name, Stop::Separated, 10_000);
            assert_eq!(outcome.separable, Some(false), "{name}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    // Large enough for a pass to be shared.
    let mut block: Block<f32> = Block::new();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    for _ in 0..30_000 {
        let x: Vec<f32> = (0..20).map(|_| next()).collect();
        let y = if x[0] + 0.5 * x[1] > 0.0 { 1.0 } else { -1.0 };
        let shift = 0.01 * y as f32;
        block.push(
            y,
            1.0,
            x.iter().enumerate().map(|(i, v)| (i as u32, if i == 0 { v + shift } else { *v })),
        );
    }
    for method in ["optimistic", "smooth", "auto"] {
        let mut answers = Vec::new();
        for threads in [1, 2, 3] {
            let mut data = Data::new(PLAIN);
            data.threads = threads;
            data.extend(block.rows());
            let mut settings = Settings::new(separate::find(method).unwrap());
            settings.stop = Stop::Tolerance;
            settings.max_rounds = Some(6);
            let outcome = separate::separate(&data, &settings, &mut |_| true);
            answers.push((outcome.verified, outcome.counts));
        }
        assert!(answers[0] == answers[1] && answers[1] == answers[2], "{method}");
    }
}

/// Rows with values of very different sizes, some of them twice, some zero.
fn rows(d: usize) -> impl Strategy<Value = Vec<(f64, Vec<f64>)>> {
    let value = prop_oneof![
        4 => -1.0..1.0,
        2 => (-3_i32..4).prop_map(f64::from),
        1 => (-1.0..1.0).prop_map(|v: f64| v * 1e9),
        1 => (-1.0..1.0).prop_map(|v: f64| v * 1e-9),
    ];
    let row = (prop::bool::ANY, prop::collection::vec(value, d), 0..8).prop_map(
        |(y, x, kind): (bool, Vec<f64>, i32)| {
            let x = if kind == 0 { vec![0.0; x.len()] } else { x };
            (if y { 1.0 } else { -1.0 }, x)
        },
    );
    prop::collection::vec(row, 1..12).prop_map(|mut rows| {
        if rows.len() > 6 {
            rows.push(rows[0].clone());
        }
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn claims_hold_on_wild_rows(rows in rows(3), bias in prop::bool::ANY, unit in prop::bool::ANY) {
        let normalize = if unit { Normalize::Rows } else { Normalize::None };
        let data = data(&rows, Shape { bias, normalize });
        let mut answers = Vec::new();
        for entry in separate::ENTRIES {
            let outcome = run(&data, entry.name, Stop::Separated, 200);
            let verified = &outcome.verified;
            prop_assert!(verified.at_least <= verified.at_most);
            prop_assert!(outcome.theorems.iter().all(|t| t.holds), "{} {:?}", entry.name, outcome.theorems);
            answers.push((outcome.separable, verified.at_least, verified.at_most));
        }
        // No method contradicts another.
        let low = answers.iter().map(|a| a.1).fold(0.0, f64::max);
        let high = answers.iter().map(|a| a.2).fold(f64::INFINITY, f64::min);
        prop_assert!(low <= high, "{answers:?}");
        let no = answers.iter().any(|a| a.0 == Some(false));
        prop_assert!(!(no && low > 1e-12 * data.longest()), "{answers:?}");
    }

    #[test]
    fn planted_margins_are_found_or_left_open(
        w in prop::collection::vec(-1.0_f64..1.0, 4),
        points in prop::collection::vec(prop::collection::vec(-1.0_f64..1.0, 4), 2..30),
        exponent in 1_i32..10,
    ) {
        let length = w.iter().map(|v| v * v).sum::<f64>().sqrt();
        prop_assume!(length > 0.1);
        let margin = 10_f64.powi(-exponent);
        // Move every point to the distance `margin` or more from the plane.
        let rows: Vec<(f64, Vec<f64>)> = points
            .iter()
            .map(|x| {
                let z: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() / length;
                let y = if z > 0.0 { 1.0 } else { -1.0 };
                let far = if z.abs() > 0.3 { z } else { y * margin };
                let x: Vec<f64> = x.iter().zip(&w).map(|(x, w)| x + (far - z) * w / length).collect();
                (y, x)
            })
            .collect();
        let data = data(&rows, PLAIN);
        for method in ["auto", "optimistic", "smooth"] {
            let outcome = run(&data, method, Stop::Tolerance, 300);
            assert_claims(&rows, &outcome, method);
            // The planted plane has this margin, up to the rounding of the points.
            let rounding = 1e-6;
            prop_assert!(outcome.verified.at_most >= margin * (1.0 - rounding), "{:?}", outcome.verified);
            prop_assert!(outcome.separable != Some(false), "{:?}", outcome.verified);
            if method == "auto" && exponent <= 6 {
                prop_assert_eq!(outcome.separable, Some(true), "{:?} {:?}", outcome.ended, outcome.verified);
            }
        }
    }
}
