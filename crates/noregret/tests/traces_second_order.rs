//! Learners that see rows through a matrix, a few rounds at a time, against numbers worked out by hand from
//! their papers; and the identities that tie them to one another.

mod common;

use common::*;
use noregret::loss;
use proptest::prelude::*;

/// Runs without a bias and compares `[w, z]` before each round, then the last iterate.
fn trace(
    (learner, loss): (&str, &str),
    given: &[(&'static str, &'static str)],
    rows: &[Row],
    expected: &[(&[f64], f64)],
    last: &[f64],
) {
    let mut config = config(learner, loss, given);
    config.bias = false;
    let run = run(&config, rows, last.len());
    assert!(!run.diverged);
    for (k, (w, z)) in expected.iter().enumerate() {
        for (i, (have, want)) in run.iterates[k].iter().zip(*w).enumerate() {
            assert!(close(*have, *want, 1e-12), "round {}: w[{i}] is {have}, not {want}", k + 1);
        }
        assert!(close(run.z[k], *z, 1e-12), "round {}: z is {}, not {z}", k + 1, run.z[k]);
    }
    for (have, want) in dense(&run.engine.weights(), last.len()).iter().zip(last) {
        assert!(close(*have, *want, 1e-12), "at the end: {have}, not {want}");
    }
}

#[test]
fn the_second_order_perceptron_divides_by_what_it_erred_on_and_by_the_row_itself() {
    // A = I at first (alpha = 1).
    // 1: x = (1, 1), y = 1: v = 0, z = 0, a mistake. v = (1, 1), A = [2 1; 1 2], A^-1 = [2 -1; -1 2]/3,
    //    w = A^-1 v = (1/3, 1/3).
    // 2: x = (1, 0), y = -1: <w, x> = 1/3, x'A^-1 x = 2/3, z = (1/3)/(5/3) = 1/5: a mistake.
    //    v = (0, 1), A = [3 1; 1 2], A^-1 = [2 -1; -1 3]/5, w = (-1/5, 3/5).
    // 3: x = (0, 2), y = 1: <w, x> = 6/5, x'A^-1 x = 12/5, z = (6/5)/(17/5) = 6/17: right, nothing moves.
    // 4: x = (-1, 1), y = -1: <w, x> = 4/5, x'A^-1 x = (2 + 2 + 3)/5 = 7/5, z = (4/5)/(12/5) = 1/3:
    //    a mistake. v = (1, 0), A = [4 0; 0 3], w = (1/4, 0).
    trace(
        ("second-order-perceptron", "hinge"),
        &[],
        &[
            (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
            (-1.0, 1.0, vec![(0, 1.0)]),
            (1.0, 1.0, vec![(1, 2.0)]),
            (-1.0, 1.0, vec![(0, -1.0), (1, 1.0)]),
        ],
        &[
            (&[0.0, 0.0], 0.0),
            (&[1.0 / 3.0, 1.0 / 3.0], 0.2),
            (&[-0.2, 0.6], 6.0 / 17.0),
            (&[-0.2, 0.6], 1.0 / 3.0),
        ],
        &[0.25, 0.0],
    );
}

#[test]
fn arow_with_a_diagonal_matrix() {
    // r = 1, Sigma = (1, 1) at first.
    // 1: x = (1, 1), y = 1: m = 0, v = 2, beta = 1/3. w = (1/3)(1, 1); Sigma_i = 1 - 1/3 = 2/3.
    // 2: x = (1, 0), y = -1: m = 1/3, v = 2/3, beta = 3/5, alpha = (1 + 1/3)(3/5) = 4/5:
    //    w_1 = 1/3 - (4/5)(2/3) = -1/5; Sigma_1 = 2/3 - (3/5)(4/9) = 2/5.
    // 3: x = (0, 6), y = 1: m = 2 >= 1: nothing moves.
    // 4: x = (1, 1), y = 1, c = 2: m = 2/15, v = 2/5 + 2/3 = 16/15, r/c = 1/2, beta = 30/47,
    //    beta (y - m) = (30/47)(13/15) = 26/47: w_1 = -1/5 + (26/47)(2/5) = (-47 + 52)/235 = 1/47,
    //    w_2 = 1/3 + (26/47)(2/3) = 99/141 = 33/47.
    trace(
        ("arow", "hinge"),
        &[],
        &[
            (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
            (-1.0, 1.0, vec![(0, 1.0)]),
            (1.0, 1.0, vec![(1, 6.0)]),
            (1.0, 2.0, vec![(0, 1.0), (1, 1.0)]),
        ],
        &[
            (&[0.0, 0.0], 0.0),
            (&[1.0 / 3.0, 1.0 / 3.0], 1.0 / 3.0),
            (&[-0.2, 1.0 / 3.0], 2.0),
            (&[-0.2, 1.0 / 3.0], 2.0 / 15.0),
        ],
        &[1.0 / 47.0, 33.0 / 47.0],
    );
}

#[test]
fn arow_with_a_full_matrix() {
    // r = 2, Sigma = I at first.
    // 1: x = (1, 1), y = 1: v = 2, beta = 1/4: w = (1/4, 1/4); Sigma = I - (1/4)[1 1; 1 1]
    //    = [3 -1; -1 3]/4.
    // 2: x = (1, 0), y = -1: m = 1/4, v = 3/4, beta = 4/11, alpha = (5/4)(4/11) = 5/11, Sigma x = (3, -1)/4:
    //    w = (1/4 - 15/44, 1/4 + 5/44) = (-1/11, 4/11).
    //    Sigma = [3 -1; -1 3]/4 - (4/11)(1/16)[9 -3; -3 1] = [24 -8; -8 32]/44 = [6 -2; -2 8]/11.
    // 3: x = (1, 1), y = 1: m = 3/11, v = 10/11, beta = 11/32, alpha = (8/11)(11/32) = 1/4, Sigma x =
    //    (4, 6)/11: w = (-1/11 + 1/11, 4/11 + 3/22) = (0, 1/2).
    trace(
        ("arow", "squared-hinge"),
        &[("r", "2"), ("matrix", "full")],
        &[
            (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
            (-1.0, 1.0, vec![(0, 1.0)]),
            (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        ],
        &[(&[0.0, 0.0], 0.0), (&[0.25, 0.25], 0.25), (&[-1.0 / 11.0, 4.0 / 11.0], 3.0 / 11.0)],
        &[0.0, 0.5],
    );
}

#[test]
fn the_newton_step_with_a_full_matrix() {
    // Square loss, beta = 1/2, epsilon = 2: B = 2 I at first, g = 2 (z - y) x.
    // 1: x = (1, 0), y = 1: z = 0, g = (-2, 0), B = [4 0; 0 2]; w = (1/2, 0).
    // 2: x = (1, 1), y = 1: z = 1/2, g = (-1, -1), B = [9/2 1/2; 1/2 5/2], det = 11,
    //    B^-1 g = -([5/2 -1/2; -1/2 9/2] (1, 1))/11 = -(2, 4)/11; w = (1/2 + 2/11, 4/11) = (15/22, 4/11).
    // 3: x = (0, 11), y = 5: z = 4, g = (0, -22), B = [9/2 1/2; 1/2 5/2 + 242], det = 9/2 * 489/2 - 1/4
    //    = 1100; B^-1 g = (1/1100)(11, -99) = (1/100, -9/100); w = (15/22 - 1/100, 4/11 + 9/100).
    trace(
        ("newton", "square"),
        &[("beta", "0.5"), ("epsilon", "2"), ("matrix", "full")],
        &[(1.0, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]), (5.0, 1.0, vec![(1, 11.0)])],
        &[(&[0.0, 0.0], 0.0), (&[0.5, 0.0], 0.5), (&[15.0 / 22.0, 4.0 / 11.0], 4.0)],
        &[15.0 / 22.0 - 0.01, 4.0 / 11.0 + 0.09],
    );
}

#[test]
fn the_newton_step_with_a_diagonal_matrix_and_a_rate_from_the_rounds() {
    // Square loss, epsilon = 1. beta = 1/(2 max c (z - y)^2) so far.
    // 1: x = (1, 0), y = 2: z = 0, (z - y)^2 = 4, beta = 1/8, g = (-4, 0), B_1 = 1 + 16/8 = 3; w_1 = 4/3.
    // 2: x = (1, 1), y = 1: z = 4/3, (z - y)^2 = 1/9 < 4, beta = 1/8, g = (2/3, 2/3),
    //    B_1 = 3 + 1/18 = 55/18, B_2 = 19/18; w = (4/3 - 12/55, -12/19).
    trace(
        ("newton", "square"),
        &[],
        &[(2.0, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(0, 1.0), (1, 1.0)])],
        &[(&[0.0, 0.0], 0.0), (&[4.0 / 3.0, 0.0], 4.0 / 3.0)],
        &[4.0 / 3.0 - 12.0 / 55.0, -12.0 / 19.0],
    );
}

#[test]
fn the_newton_step_on_the_logistic_loss() {
    // beta = 0.5, epsilon = 1, one feature.
    // 1: x = 2, y = 1: z = 0, slope -1/2, g = -1, B = 1 + 1/2; w = 2/3.
    // 2: x = 0: g = 0; w stays. z = 0.
    trace(
        ("newton", "logistic"),
        &[("matrix", "full")],
        &[(1.0, 1.0, vec![(0, 2.0)]), (-1.0, 1.0, vec![(0, 0.0)])],
        &[(&[0.0], 0.0), (&[2.0 / 3.0], 0.0)],
        &[2.0 / 3.0],
    );
}

#[test]
fn the_forecaster_counts_the_row_it_is_asked_about() {
    // alpha = 2: A = I at first.
    // 1: x = (1, 1), y = 3: z = 0. A = [2 1; 1 2], sum y x = (3, 3), w = (1, 1).
    // 2: x = (1, 0), y = 1: A_2 = [3 1; 1 2], A_2^-1 = [2 -1; -1 3]/5, A_2^-1 (3, 3) = (3/5, 6/5),
    //    z = 3/5. After it sum y x = (4, 3), w = A_2^-1 (4, 3) = (1, 1).
    // 3: x = (0, 1), y = 0: A_3 = [3 1; 1 3], A_3^-1 = [3 -1; -1 3]/8, A_3^-1 (4, 3) = (9/8, 5/8), z = 5/8.
    //    After it w = (9/8, 5/8).
    trace(
        ("vaw", "square"),
        &[("alpha", "2")],
        &[(3.0, 1.0, vec![(0, 1.0), (1, 1.0)]), (1.0, 1.0, vec![(0, 1.0)]), (0.0, 1.0, vec![(1, 1.0)])],
        &[(&[0.0, 0.0], 0.0), (&[1.0, 1.0], 0.6), (&[1.0, 1.0], 0.625)],
        &[1.125, 0.625],
    );
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_newton_step_on_the_square_loss_with_the_rate_of_each_round_is_what_its_definition_says(
        rows in stream(4, 30),
        bias in any::<bool>(),
    ) {
        // B and w followed in the plainest way: B^-1 by Sherman and Morrison.
        let loss = loss::build("square", []).unwrap();
        let rows = labelled(&rows, &*loss);
        let mut config = config("newton", "square", &[("matrix", "full")]);
        config.bias = bias;
        let run = run(&config, &rows, 4);
        let n = 4 + usize::from(bias);
        let mut inverse = vec![vec![0.0; n]; n];
        (0..n).for_each(|i| inverse[i][i] = 1.0);
        let (mut w, mut largest) = (vec![0.0; n], 0.0f64);
        for (k, (y, c, x)) in rows.iter().enumerate() {
            let mut full = vec![0.0; n];
            for &(i, v) in x { full[i as usize] = v; }
            if bias {
                full[4] = 1.0;
            }
            let z: f64 = full.iter().zip(&w).map(|(a, b)| a * b).sum();
            prop_assert!(close(z, run.z[k], 1e-7), "{} {}", z, run.z[k]);
            let slope = 2.0 * c * (z - y);
            if slope == 0.0 || *c == 0.0 {
                continue;
            }
            largest = largest.max(c * (z - y) * (z - y));
            let beta = 0.5 / largest;
            let g: Vec<f64> = full.iter().map(|v| slope * v).collect();
            let bg: Vec<f64> = inverse.iter().map(|r| r.iter().zip(&g).map(|(a, b)| a * b).sum()).collect();
            let down = 1.0 + beta * g.iter().zip(&bg).map(|(a, b)| a * b).sum::<f64>();
            for i in 0..n {
                for j in 0..n {
                    inverse[i][j] -= beta * bg[i] * bg[j] / down;
                }
                w[i] -= bg[i] / down;
            }
        }
    }

    #[test]
    fn the_forecaster_draws_ridges_predictions_towards_zero(rows in stream(4, 40), bias in any::<bool>()) {
        let mut one = config("vaw", "square", &[]);
        one.bias = bias;
        let mut other = config("ridge", "square", &[]);
        other.bias = bias;
        let (vaw, ridge) = (run(&one, &rows, 4), run(&other, &rows, 4));
        for (k, (a, b)) in vaw.z.iter().zip(&ridge.z).enumerate() {
            prop_assert_eq!(&vaw.iterates[k], &ridge.iterates[k]);
            prop_assert!(a.abs() <= b.abs() && a * b >= 0.0, "{} {}", a, b);
        }
    }
}
