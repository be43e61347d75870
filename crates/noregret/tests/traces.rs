//! Every learner, a few rounds at a time, against numbers worked out by hand from the mathematics.
//! Rows are (label, weight, features); `[w, z, loss]` stand before the update of their round.

mod common;

use common::traces::*;
use common::*;

const ROOT2: f64 = std::f64::consts::SQRT_2;

#[test]
fn the_perceptron_moves_by_c_y_x_on_a_mistake_and_zero_is_one() {
    // 1: z = 0, y z = 0 is a mistake: w = 0 + 2 (+1) (1, 2) = (2, 4).
    // 2: z = 2*3 - 4 = 2, y = -1: a mistake; w = (2, 4) - 0.5 (3, -1) = (0.5, 4.5). Hinge 1 + 2 = 3.
    // 3: z = 0.5 + 4.5 = 5, y = +1: right, hinge 0; w stays.
    // 4: z = 4.5, y = -1, but c = 0: w stays.
    // 5: z = -1, y = +1: a mistake; w = (0.5 - 2, 4.5) = (-1.5, 4.5). Hinge 2.
    let rows = [
        (1.0, 2.0, vec![(0, 1.0), (1, 2.0)]),
        (-1.0, 0.5, vec![(0, 3.0), (1, -1.0)]),
        (1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        (-1.0, 0.0, vec![(1, 1.0)]),
        (1.0, 1.0, vec![(0, -2.0)]),
    ];
    trace(
        &plain("perceptron", "hinge", &[]),
        &rows,
        &[
            (&[0.0, 0.0], 0.0, 1.0),
            (&[2.0, 4.0], 2.0, 3.0),
            (&[0.5, 4.5], 5.0, 0.0),
            (&[0.5, 4.5], 4.5, 5.5),
            (&[0.5, 4.5], -1.0, 2.0),
        ],
        &[-1.5, 4.5],
    );
}

#[test]
fn gradient_descent_with_a_constant_step() {
    // Square loss, eta = 1/4, g = 2 (z - y) x.
    // 1: x = (1, 0), y = 2: z = 0, loss 4, g = (-4, 0); w = (1, 0).
    // 2: x = (1, 1), y = 0, c = 2: z = 1, loss 1, g = 2*2*1*(1, 1) = (4, 4); w = (0, -1).
    // 3: x = (0, 2), y = 1: z = -2, loss 9, g = -6 (0, 2) = (0, -12); w = (0, 2).
    trace(
        &plain("ogd", "square", &[("schedule", "constant"), ("eta", "0.25")]),
        &[(2.0, 1.0, vec![(0, 1.0)]), (0.0, 2.0, vec![(0, 1.0), (1, 1.0)]), (1.0, 1.0, vec![(1, 2.0)])],
        &[(&[0.0, 0.0], 0.0, 4.0), (&[1.0, 0.0], 1.0, 1.0), (&[0.0, -1.0], -2.0, 9.0)],
        &[0.0, 2.0],
    );
}

#[test]
fn gradient_descent_with_a_step_that_falls_as_one_over_the_root_of_t() {
    // Absolute loss, eta = 1 so the steps are 1, 1/sqrt 2, 1/sqrt 3, 1/2. A round of weight 0 is none.
    // 1: z = 0 < 3: slope -1, w = 1.           loss 3
    // 2: x = 2: z = 2 > 0: g = 2, w = 1 - 2/sqrt 2 = 1 - sqrt 2.  loss 2
    // -: c = 0.
    // 3: z = 1 - sqrt 2 < 0.5: g = -1, w = 1 - sqrt 2 + 1/sqrt 3. loss sqrt 2 - 0.5
    // 4: y = z at x = 0: z = 0 = y: slope 0.    loss 0
    let third = 1.0 / 3f64.sqrt();
    trace(
        &plain("ogd", "absolute", &[("eta", "1")]),
        &[
            (3.0, 1.0, vec![(0, 1.0)]),
            (0.0, 1.0, vec![(0, 2.0)]),
            (9.0, 0.0, vec![(0, 1.0)]),
            (0.5, 1.0, vec![(0, 1.0)]),
            (0.0, 1.0, vec![(0, 0.0)]),
        ],
        &[
            (&[0.0], 0.0, 3.0),
            (&[1.0], 2.0, 2.0),
            (&[1.0 - ROOT2], 1.0 - ROOT2, 8.0 + ROOT2),
            (&[1.0 - ROOT2], 1.0 - ROOT2, ROOT2 - 0.5),
            (&[1.0 - ROOT2 + third], 0.0, 0.0),
        ],
        &[1.0 - ROOT2 + third],
    );
}

#[test]
fn projected_descent_takes_the_largest_gradient_so_far_the_current_one_included() {
    // Linear loss, U = 1: g = y x, eta_t = sqrt 2/(G_t sqrt t).
    // 1: g = (0.5, 0), G = 0.5, step sqrt 2/0.5: w - step g = (-sqrt 2, 0), projected to (-1, 0).
    // 2: g = (0, 2), G = 2 (now), step sqrt 2/(2 sqrt 2) = 1/2: (-1, -1), norm sqrt 2,
    //    projected to (-1, -1)/sqrt 2. z = 0.
    // 3: g = (-1, 0), G = 2, step sqrt 2/(2 sqrt 3) = 1/sqrt 6: (-1/sqrt 2 + 1/sqrt 6, -1/sqrt 2):
    //    inside. z = +1/sqrt 2 for x = (-1, 0), y = 1.
    let mut config = plain("projected-ogd", "linear", &[]);
    config.radius = Some(1.0);
    let h = 0.5f64.sqrt();
    trace(
        &config,
        &[(0.5, 1.0, vec![(0, 1.0)]), (2.0, 1.0, vec![(1, 1.0)]), (1.0, 1.0, vec![(0, -1.0)])],
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-1.0, 0.0], 0.0, 0.0), (&[-h, -h], h, h)],
        &[-h + 1.0 / 6f64.sqrt(), -h],
    );
}

#[test]
fn projected_descent_with_a_given_bound_on_the_gradients() {
    // Hinge, U = 2, G = 4: steps sqrt 2 * 2/(4 sqrt t) = 1/sqrt(2 t): 1/sqrt 2, 1/2, 1/sqrt 6.
    // 1: x = (2, 0), y = 1: g = (-2, 0): w = (sqrt 2, 0).
    // 2: x = (0, 4), y = -1: z = 0, g = (0, 4): (sqrt 2, -2), norm sqrt 6 > 2:
    //    times 2/sqrt 6: (2 sqrt 2/sqrt 6, -4/sqrt 6) = (2/sqrt 3, -4/sqrt 6).
    // 3: x = (1, 0), y = 1: z = 2/sqrt 3 > 1: no slope, no loss; w stays.
    let mut config = plain("projected-ogd", "hinge", &[("gradient-bound", "4")]);
    config.radius = Some(2.0);
    let (a, b) = (2.0 / 3f64.sqrt(), -4.0 / 6f64.sqrt());
    trace(
        &config,
        &[(1.0, 1.0, vec![(0, 2.0)]), (-1.0, 1.0, vec![(1, 4.0)]), (1.0, 1.0, vec![(0, 1.0)])],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[ROOT2, 0.0], 0.0, 1.0), (&[a, b], a, 0.0)],
        &[a, b],
    );
}

#[test]
fn subgradient_descent_with_the_step_of_the_horizon() {
    // Hinge (lambda = 1), B = 3, X = 2, m = 9: eta = 3/(1 * 2 * 3) = 1/2.
    // 1: x = (2, 0), y = 1: w = (1, 0).
    // 2: x = (1, 2), y = -1: z = 1, loss 2, g = (1, 2): w = (0.5, -1).
    // 3: x = (0, -8), y = 1 (longer than promised): z = 8, loss 0.
    // 4: x = (-8, 0), y = 1: z = -4, loss 5, g = (8, 0): (-3.5, -1), norm sqrt 13.25:
    //    times 3/sqrt 13.25.
    let mut config = plain("subgradient", "hinge", &[("horizon", "9")]);
    config.radius = Some(3.0);
    config.row_bound = Some(2.0);
    let rho = 3.0 / 13.25f64.sqrt();
    trace(
        &config,
        &[
            (1.0, 1.0, vec![(0, 2.0)]),
            (-1.0, 1.0, vec![(0, 1.0), (1, 2.0)]),
            (1.0, 1.0, vec![(1, -8.0)]),
            (1.0, 1.0, vec![(0, -8.0)]),
        ],
        &[
            (&[0.0, 0.0], 0.0, 1.0),
            (&[1.0, 0.0], 1.0, 2.0),
            (&[0.5, -1.0], 8.0, 0.0),
            (&[0.5, -1.0], -4.0, 5.0),
        ],
        &[-3.5 * rho, -rho],
    );
}

#[test]
fn the_online_support_vector_machine_shrinks_and_steps_by_one_over_sigma_t() {
    // sigma = 1/2: w <- (1 - 1/t) w - (2/t) g.
    // 1: x = (1, 0), y = 1: g = (-1, 0): w = 0 + 2 (1, 0) = (2, 0).
    // 2: x = (1, 1), y = -1: z = 2, loss 3, g = (1, 1): w = (1, 0) - (1, 1) = (0, -1).
    // 3: x = (0, -3), y = 1: z = 3, loss 0: w = (2/3)(0, -1) = (0, -2/3).
    // 4: x = (0, 1), y = 1, c = 3: z = -2/3, loss 5/3, g = 3 (0, -1):
    //    w = (3/4)(0, -2/3) + (1/2)(0, 3) = (0, -1/2 + 3/2) = (0, 1).
    let mut config = plain("strongly-convex-ogd", "hinge", &[]);
    config.l2 = Some(0.5);
    let rows = [
        (1.0, 1.0, vec![(0, 1.0)]),
        (-1.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        (1.0, 1.0, vec![(1, -3.0)]),
        (1.0, 3.0, vec![(1, 1.0)]),
    ];
    trace(
        &config,
        &rows,
        &[
            (&[0.0, 0.0], 0.0, 1.0),
            (&[2.0, 0.0], 2.0, 3.0),
            (&[0.0, -1.0], 3.0, 0.0),
            (&[0.0, -2.0 / 3.0], -2.0 / 3.0, 5.0 / 3.0),
        ],
        &[0.0, 1.0],
    );
    // Penalised: (L + (sigma/2) sum |w_t|^2)/n with L = 1 + 3 + 0 + 5, |w_t|^2 = 0, 4, 1, 4/9, n = 6.
    let run = run(&config, &rows, 2);
    let penalised = run.engine.ledger().book.penalised_loss(0.5).unwrap();
    assert!(close(penalised, (9.0 + 0.25 * (5.0 + 4.0 / 9.0)) / 6.0, 1e-8));
}

#[test]
fn one_round_of_regularised_logistic_regression() {
    // sigma = 2, w = 0: z = 0, loss ln 2, slope -y/(1 + e^0) = -1/2: w = -(1/2) (-1/2) (3) = 3/4.
    // 2: x = 4, y = -1: z = 3, loss ln(1 + e^3).
    let mut config = plain("strongly-convex-ogd", "logistic", &[]);
    config.l2 = Some(2.0);
    let slope = 1.0 / (1.0 + (-3f64).exp());
    trace(
        &config,
        &[(1.0, 1.0, vec![(0, 3.0)]), (-1.0, 1.0, vec![(0, 4.0)])],
        &[(&[0.0], 0.0, 2f64.ln()), (&[0.75], 3.0, (1.0 + 3f64.exp()).ln())],
        // w = (1 - 1/2) 3/4 - (1/(2*2)) slope 4
        &[0.375 - slope],
    );
}

#[test]
fn the_leader_on_the_ball_and_in_the_box() {
    // Linear loss, U = 2. S after the rounds: (3, 4), (3, 0), (0, 0).
    let rows =
        [(1.0, 1.0, vec![(0, 3.0), (1, 4.0)]), (-2.0, 1.0, vec![(1, 2.0)]), (-1.0, 1.0, vec![(0, 3.0)])];
    let mut config = plain("follow-the-leader", "linear", &[]);
    config.radius = Some(2.0);
    // -2 S/|S|: -(6/5, 8/5), then -(2, 0), then 0. z = -8/5 * 2 = -16/5, loss 32/5; z = -6, loss 6.
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-1.2, -1.6], -3.2, 6.4), (&[-2.0, 0.0], -6.0, 6.0)],
        &[0.0, 0.0],
    );
    let mut config = plain("follow-the-leader", "linear", &[("set", "box")]);
    config.radius = Some(2.0);
    // -2 sign(S_i): (-2, -2), then (-2, 0), then 0. z = -4, loss 8; z = -6, loss 6.
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-2.0, -2.0], -4.0, 8.0), (&[-2.0, 0.0], -6.0, 6.0)],
        &[0.0, 0.0],
    );
}

#[test]
fn the_regularised_leader_with_its_growing_strength() {
    // Linear loss, U = 2: alpha = 1/2, then sqrt(1 + sum |g|^2)/2.
    // 1: g = (sqrt 3, 0): S = (sqrt 3, 0), alpha = sqrt 4/2 = 1: -S has norm 1.73 < 2: w = (-sqrt 3, 0).
    // 2: g = (0, sqrt 5): sum 8, alpha = 3/2: w = -(2/3)(sqrt 3, sqrt 5), norm (2/3) sqrt 8 = 1.89.
    // 3: g = (4, 0): z = -(2/3) 4 sqrt 3. sum 24, alpha = 5/2: S = (sqrt 3 + 4, sqrt 5), norm 6.15,
    //    over alpha 2.46 > 2: w = -2 S/|S|.
    let (r3, r5) = (3f64.sqrt(), 5f64.sqrt());
    let rows = [(r3, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(1, r5)]), (1.0, 1.0, vec![(0, 4.0)])];
    let length = ((r3 + 4.0) * (r3 + 4.0) + 5.0).sqrt();
    let z3 = -8.0 / 3.0 * r3;
    let expected: [(&[f64], f64, f64); 3] =
        [(&[0.0, 0.0], 0.0, 0.0), (&[-r3, 0.0], 0.0, 0.0), (&[-2.0 / 3.0 * r3, -2.0 / 3.0 * r5], z3, z3)];
    let mut config = plain("ftrl", "linear", &[]);
    config.radius = Some(2.0);
    trace(&config, &rows, &expected, &[-2.0 * (r3 + 4.0) / length, -2.0 * r5 / length]);
    let mut config = plain("ftrl", "linear", &[("ball", "no")]);
    config.radius = Some(2.0);
    trace(&config, &rows, &expected, &[-0.4 * (r3 + 4.0), -0.4 * r5]);
}

#[test]
fn the_regularised_leader_with_a_constant_strength() {
    // Hinge, alpha = 2: w = -S/2, without the ball; with U = 1 projected.
    // 1: x = (2, 0), y = 1: S = (-2, 0): w = (1, 0), on the ball.
    // 2: x = (0, 3), y = -1: z = 0: S = (-2, 3): w = (1, -1.5); projected -S/|S| = (2, -3)/sqrt 13.
    // 3: x = (2, 0): z = 2 (loss 0 at y = 1); projected z = 4/sqrt 13 > 1, loss 0: nothing moves.
    let rows = [(1.0, 1.0, vec![(0, 2.0)]), (-1.0, 1.0, vec![(1, 3.0)]), (1.0, 1.0, vec![(0, 2.0)])];
    let mut config = plain("ftrl", "hinge", &[("alpha", "2"), ("ball", "no")]);
    config.radius = Some(1.0);
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 1.0), (&[1.0, 0.0], 0.0, 1.0), (&[1.0, -1.5], 2.0, 0.0)],
        &[1.0, -1.5],
    );
    let mut config = plain("ftrl", "hinge", &[("alpha", "2")]);
    config.radius = Some(1.0);
    let r = 13f64.sqrt();
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 1.0), (&[1.0, 0.0], 0.0, 1.0), (&[2.0 / r, -3.0 / r], 4.0 / r, 0.0)],
        &[2.0 / r, -3.0 / r],
    );
}

#[test]
fn ridge_regression_in_one_dimension_solves_the_normal_equation() {
    // alpha = 2: w = sum c x y/(1 + sum c x^2).
    // 1: x = 1, y = 4: w = 4/2 = 2. 2: x = 2, y = 1, c = 3: z = 4, loss 9; w = (4 + 6)/(2 + 12) = 5/7.
    // 3: x = -1, y = 0: z = -5/7, loss 25/49; w = 10/15 = 2/3.
    trace(
        &plain("ridge", "square", &[("alpha", "2")]),
        &[(4.0, 1.0, vec![(0, 1.0)]), (1.0, 3.0, vec![(0, 2.0)]), (0.0, 1.0, vec![(0, -1.0)])],
        &[(&[0.0], 0.0, 16.0), (&[2.0], 4.0, 9.0), (&[5.0 / 7.0], -5.0 / 7.0, 25.0 / 49.0)],
        &[2.0 / 3.0],
    );
}

#[test]
fn ridge_regression_in_two_dimensions_solves_the_normal_equations() {
    // alpha = 2, so I is added. 1: x = (1, 1), y = 3: A = [2 1; 1 2], b = (3, 3): w = (1, 1).
    // 2: x = (1, -2), y = 1: z = -1, loss 4; A = [3 -1; -1 6], b = (4, 1): det 17,
    //    w = (6*4 + 1, 4 + 3)/17 = (25, 7)/17.
    // 3: x = (0, 1), y = 0, c = 2: z = 7/17, loss 49/289; A = [3 -1; -1 8], b = (4, 1): det 23,
    //    w = (32 + 1, 4 + 3)/23 = (33, 7)/23.
    trace(
        &plain("ridge", "square", &[("alpha", "2")]),
        &[
            (3.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
            (1.0, 1.0, vec![(0, 1.0), (1, -2.0)]),
            (0.0, 2.0, vec![(1, 1.0)]),
        ],
        &[
            (&[0.0, 0.0], 0.0, 9.0),
            (&[1.0, 1.0], -1.0, 4.0),
            (&[25.0 / 17.0, 7.0 / 17.0], 7.0 / 17.0, 49.0 / 289.0),
        ],
        &[33.0 / 23.0, 7.0 / 23.0],
    );
}

#[test]
fn exponential_weights_on_the_l1_ball() {
    // eta = ln 2, U = 3, both features known from the start: w_i = 3 (2^-S_i - 2^S_i)/Z.
    // 1: g = (1, 0), S = (1, 0): Z = 1/2 + 2 + 1 + 1 = 9/2: w = 3 (1/2 - 2, 0)/(9/2) = (-1, 0).
    // 2: x = (1, -2), y = 1 (linear): z = -1; S = (2, -2): Z = 2 (1/4 + 4) = 17/2:
    //    w = 3 (-15/4, 15/4)/(17/2) = (-45/34, 45/34).
    // 3: x = (-1, 0), y = 2: z = 45/34, loss 45/17; S = (0, -2): Z = 2 + 17/4 = 25/4:
    //    w = 3 (0, 15/4)/(25/4) = (0, 9/5).
    let mut config = plain("exponentiated", "linear", &[("eta", "0.6931471805599453")]);
    config.radius = Some(3.0);
    config.dimension = Some(2);
    trace(
        &config,
        &[(1.0, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(0, 1.0), (1, -2.0)]), (2.0, 1.0, vec![(0, -1.0)])],
        &[
            (&[0.0, 0.0], 0.0, 0.0),
            (&[-1.0, 0.0], -1.0, -1.0),
            (&[-45.0 / 34.0, 45.0 / 34.0], 45.0 / 34.0, 45.0 / 17.0),
        ],
        &[0.0, 1.8],
    );
}

#[test]
fn exponential_weights_on_the_simplex_start_uniform_over_the_dimension() {
    // eta = ln 2, U = 1, n = 4: p = 1/4 each, though no feature has been seen.
    // 1: x = (1, 1, 0, 0), y = 1: z = 1/2; S = (1, 1, 0, 0): masses 1/2, 1/2, 1, 1, Z = 3.
    // 2: x = (0, 0, 0, 3), y = 1: z = 1; S = (1, 1, 0, 3): masses 1/2, 1/2, 1, 1/8, Z = 17/8.
    // 3: x = (0, 0, 1, 0), y = -1: z = 8/17, loss -8/17; S_3 = -1: masses 1/2, 1/2, 2, 1/8, Z = 25/8.
    let mut config = plain("exponentiated", "linear", &[("eta", "0.6931471805599453")]);
    config.comparator = Some("simplex".to_owned());
    config.dimension = Some(4);
    trace(
        &config,
        &[(1.0, 1.0, vec![(0, 1.0), (1, 1.0)]), (1.0, 1.0, vec![(3, 3.0)]), (-1.0, 1.0, vec![(2, 1.0)])],
        &[
            (&[], 0.5, 0.5),
            (&[1.0 / 6.0, 1.0 / 6.0], 1.0, 1.0),
            (&[4.0 / 17.0, 4.0 / 17.0, 8.0 / 17.0, 1.0 / 17.0], 8.0 / 17.0, -8.0 / 17.0),
        ],
        &[4.0 / 25.0, 4.0 / 25.0, 16.0 / 25.0, 1.0 / 25.0],
    );
}

#[test]
fn adagrad_divides_every_coordinate_by_its_own_root() {
    // Absolute loss, eta = 1. 1: x = (3, 0), y = 5: g = (-3, 0), G = (9, 0): w = (1, 0).
    // 2: x = (4, 2), y = 0: z = 4, g = (4, 2), G = (25, 4): w = (1 - 4/5, -1) = (1/5, -1). loss 4
    // 3: x = (0, -2), y = 3: z = 2, g = (0, 2), G_2 = 8: w_2 = -1 - 2/sqrt 8 = -1 - 1/sqrt 2. loss 1
    trace(
        &plain("adagrad", "absolute", &[("eta", "1")]),
        &[(5.0, 1.0, vec![(0, 3.0)]), (0.0, 1.0, vec![(0, 4.0), (1, 2.0)]), (3.0, 1.0, vec![(1, -2.0)])],
        &[(&[0.0, 0.0], 0.0, 5.0), (&[1.0, 0.0], 4.0, 4.0), (&[0.2, -1.0], 2.0, 1.0)],
        &[0.2, -1.0 - 0.5f64.sqrt()],
    );
}

#[test]
fn averages_under_projection_and_shrinkage_are_those_of_the_stored_iterates() {
    let rows: Vec<Row> = (0..400u32)
        .map(|k| {
            let x = vec![(k % 5, 1.0 + f64::from(k % 3)), (5 + k % 7, -0.5)];
            (if k % 4 < 2 { 1.0 } else { -1.0 }, [1.0, 2.0, 0.0, 0.25][k as usize % 4], x)
        })
        .collect();
    // A mixture's weights are those of whichever member is the heaviest; its average has a test of its own.
    for entry in noregret::learner::ENTRIES.iter().filter(|e| e.name != "auto") {
        for given in variants(entry.name) {
            let mut config = config(entry.name, "hinge", &given);
            config.average = true;
            config.radius = (!entry.penalised).then_some(0.7);
            if noregret::engine::Engine::new(config.clone()).is_err() {
                continue;
            }
            let run = run(&config, &rows, 12);
            let average = dense(&run.engine.averaged().unwrap(), 12);
            let kept: Vec<_> = run.iterates.iter().zip(&rows).filter(|p| p.1.1 > 0.0).map(|p| p.0).collect();
            for (i, have) in average.iter().enumerate() {
                let want = kept.iter().map(|w| w[i]).sum::<f64>() / kept.len() as f64;
                assert!(close(*have, want, 1e-12), "{}: {have} {want}", entry.name);
            }
        }
    }
}
