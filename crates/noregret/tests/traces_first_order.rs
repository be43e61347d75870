//! The first-order learners beyond the textbook's, a few rounds at a time, against numbers worked out by
//! hand from their papers. Rows are (label, weight, features); `[w, z, loss]` stand before the update of
//! their round.

mod common;

use common::traces::*;

#[test]
fn ftrl_proximal_keeps_weights_at_zero_until_their_gradients_add_up() {
    // Absolute loss, alpha = beta = lambda1 = lambda2 = 1.
    // 1: x = (3, -1/2), y = 10: g = (-3, 1/2), roots (3, 1/2), z = (-3, 1/2): |z_2| <= 1 is 0;
    //    w_1 = (3 - 1)/(1 + 3 + 1) = 2/5.
    // 2: x = (4, 0), y = -10: z = 8/5, g_1 = 4: the root goes from 3 to 5, sigma = 2;
    //    z_1 = -3 + 4 - 2 * 2/5 = 1/5: back to 0.
    // 3: x = (0, 6/5), y = -5: g_2 = 6/5: 1/4 + 36/25 = (13/10)^2; z_2 = 1/2 + 6/5 = 17/10;
    //    w_2 = -(7/10)/(1 + 13/10 + 1) = -7/33.
    // 4: x = (12, 0), y = 100: g_1 = -12, root 13, w_1 = 0 holds nothing back: z_1 = 1/5 - 12;
    //    w_1 = (59/5 - 1)/(1 + 13 + 1) = 18/25.
    let given = [("alpha", "1"), ("beta", "1"), ("lambda1", "1"), ("lambda2", "1")];
    trace(
        &plain("ftrl-proximal", "absolute", &given),
        &[
            (10.0, 1.0, vec![(0, 3.0), (1, -0.5)]),
            (-10.0, 1.0, vec![(0, 4.0)]),
            (-5.0, 1.0, vec![(1, 1.2)]),
            (100.0, 1.0, vec![(0, 12.0)]),
        ],
        &[
            (&[0.0, 0.0], 0.0, 10.0),
            (&[0.4, 0.0], 1.6, 11.6),
            (&[0.0, 0.0], 0.0, 5.0),
            (&[0.0, -7.0 / 33.0], 0.0, 100.0),
        ],
        &[0.72, -7.0 / 33.0],
    );
}

#[test]
fn dual_averaging_cuts_the_sum_of_gradients_at_the_penalty_so_far() {
    // Linear loss, lambda1 = 1, gamma = 2: w = -(S - sign(S) t)+/(2 sqrt t).
    // 1: g = (3, 1/2): w = (-(3 - 1)/2, 0).
    // 2: g = (0, 4): z = 0; S = (3, 9/2): w = -(1, 5/2)/(2 sqrt 2).
    // 3: x = (1, -1), y = 2: z = (3/2)/(2 sqrt 2); S = (5, 5/2): w = (-2/(2 sqrt 3), 0).
    let rows = [
        (1.0, 1.0, vec![(0, 3.0), (1, 0.5)]),
        (1.0, 1.0, vec![(1, 4.0)]),
        (2.0, 1.0, vec![(0, 1.0), (1, -1.0)]),
    ];
    let h = 0.5 / 2f64.sqrt();
    trace(
        &plain("rda", "linear", &[("lambda1", "1"), ("gamma", "2")]),
        &rows,
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-1.0, 0.0], 0.0, 0.0), (&[-h, -2.5 * h], 1.5 * h, 3.0 * h)],
        &[-1.0 / 3f64.sqrt(), 0.0],
    );
    // rho = 1/2 adds 2 * 1/2 * sqrt t: cuts of 2, 2 + sqrt 2.
    let cut = 2.0 + 2f64.sqrt();
    trace(
        &plain("rda", "linear", &[("lambda1", "1"), ("gamma", "2"), ("rho", "0.5")]),
        &rows[..2],
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-0.5, 0.0], 0.0, 0.0)],
        &[0.0, -(4.5 - cut) * h],
    );
}

#[test]
fn truncation_pulls_what_is_small_every_other_round_and_leaves_the_rest() {
    // Linear loss, eta = 1/2, lambda1 = 1/5, K = 2, theta = 1: every second round by 1/2 * 2 * 1/5 = 1/5.
    // 1: g = (-2, -3/5): w = (1, 3/10, 0).
    // 2: g_3 = -4: w_3 = 2; truncated: (4/5, 1/10, 2), for 2 is beyond theta.
    // 3: x = (1, 0, 0), y = -2/5: z = 4/5; w_1 = 4/5 + 1/5 = 1.
    // 4: x = (0, 0, 1), y = 1: z = 2; w_3 = 3/2; truncated: (4/5, 0, 3/2).
    let given =
        [("schedule", "constant"), ("eta", "0.5"), ("lambda1", "0.2"), ("period", "2"), ("theta", "1")];
    trace(
        &plain("truncated-gradient", "linear", &given),
        &[
            (-1.0, 1.0, vec![(0, 2.0), (1, 0.6)]),
            (-4.0, 1.0, vec![(2, 1.0)]),
            (-0.4, 1.0, vec![(0, 1.0)]),
            (1.0, 1.0, vec![(2, 1.0)]),
        ],
        &[
            (&[0.0, 0.0, 0.0], 0.0, 0.0),
            (&[1.0, 0.3, 0.0], 0.0, 0.0),
            (&[0.8, 0.1, 2.0], 0.8, -0.32),
            (&[1.0, 0.1, 2.0], 2.0, 2.0),
        ],
        &[0.8, 0.0, 1.5],
    );
}

#[test]
fn the_scale_free_leader_divides_by_the_root_of_the_squares() {
    // Linear loss, eta = 1, U = 2: w = -S/sqrt(Q).
    // 1: g = (3, 0): Q = 9: w = (-1, 0). 2: g = (0, 4): Q = 25: w = (-3/5, -4/5).
    // 3: x = (12, 0), y = -1: z = -36/5; S = (-9, 4), Q = 169: w = (9, -4)/13.
    let rows = [(3.0, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(1, 4.0)]), (-1.0, 1.0, vec![(0, 12.0)])];
    let mut config = plain("scale-free", "linear", &[("eta", "1")]);
    config.radius = Some(2.0);
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-1.0, 0.0], 0.0, 0.0), (&[-0.6, -0.8], -7.2, 7.2)],
        &[9.0 / 13.0, -4.0 / 13.0],
    );
    // The ball of radius 1/2 cuts each of these: -S/(2 |S|).
    config.radius = Some(0.5);
    let r = 97f64.sqrt();
    trace(
        &config,
        &rows,
        &[(&[0.0, 0.0], 0.0, 0.0), (&[-0.5, 0.0], 0.0, 0.0), (&[-0.3, -0.4], -3.6, 3.6)],
        &[4.5 / r, -2.0 / r],
    );
}

#[test]
fn normalized_descent_shrinks_a_weight_before_it_meets_a_record() {
    // Absolute loss, eta = 1, h = sqrt(1/2).
    // 1: x = (2, -1/2), y = 3: g = (-2, 1/2) = sqrt(G) (-1, 1), s = (2, 1/2), N = 2, sqrt(t/N) = h:
    //    w = (h/2, -2h).
    // 2: x = (4, 0), y = 0: w_1 shrinks to h/4, z = h. s_1 = 4, N = 3, G_1 = 4 + 16:
    //    w_1 = h/4 - sqrt(2/3) (4/sqrt 20)/4.
    // 3: x = (1, 1), y = 5: w_2 shrinks to -h, z = w_1 - h. s_2 = 1, N = 3 + 1/16 + 1 = 65/16, G = (21, 5/4):
    //    both move by sqrt(48/65)/(s sqrt G).
    let h = 0.5f64.sqrt();
    let w1 = h / 4.0 - (2f64 / 3.0).sqrt() / 20f64.sqrt();
    let r = (48f64 / 65.0).sqrt();
    trace(
        &plain("normalized", "absolute", &[("eta", "1")]),
        &[
            (3.0, 1.0, vec![(0, 2.0), (1, -0.5)]),
            (0.0, 1.0, vec![(0, 4.0)]),
            (5.0, 1.0, vec![(0, 1.0), (1, 1.0)]),
        ],
        &[(&[0.0, 0.0], 0.0, 3.0), (&[h / 2.0, -2.0 * h], h, h), (&[w1, -2.0 * h], w1 - h, 5.0 - w1 + h)],
        &[w1 + r / (4.0 * 21f64.sqrt()), -h + r / 1.25f64.sqrt()],
    );
}

#[test]
fn a_coin_bets_the_estimate_of_krichevsky_and_trofimov() {
    // Hinge (lambda = 1), epsilon = 1.
    // 1: x = (2, 0), y = 1: nothing is bet. S_1 = -2, n = 1, L = 2: the fraction 2/2/2 = 1/2 of 1: w_1 = 1/4.
    // 2: x = (1, 0), y = -1: z = 1/4, g = 1: W = 1 - 1/4 = 3/4; S_1 = -1, n = 2: 1/2/3 = 1/6: w_1 = 3/4/6/2.
    // 3: x = (4, 1), y = 1: L_1 = 4 from here: 1/4/3 of 3/4 over 4 is 1/64: z = 1/16, g = (-4, -1);
    //    W_1 = 3/4 + 4/64 = 13/16; S = (-5, -1), n = (3, 1): w = (5/4/4 * 13/16 / 4, 1/2).
    trace(
        &plain("coin", "hinge", &[]),
        &[(1.0, 1.0, vec![(0, 2.0)]), (-1.0, 1.0, vec![(0, 1.0)]), (1.0, 1.0, vec![(0, 4.0), (1, 1.0)])],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[0.25, 0.0], 0.25, 1.25), (&[0.0625, 0.0], 0.0625, 0.9375)],
        &[65.0 / 1024.0, 0.5],
    );
}

#[test]
fn freegrad_follows_its_potential() {
    // Hinge (lambda = 1), epsilon = 1.
    // 1: x = (3, 4), y = 1: h = h1 = 5, g = -(3, 4): V = 25 + 25, |S| = 5:
    //    w = (3, 4) * 25 * 125/(2 * 75^2 sqrt 50) * e^(25/150) = (3, 4) * 5/(18 sqrt 50) * e^(1/6).
    // 2: x = (0, 10), y = -1: h = 10 from here: w shrinks to (3, 4) * 25 * 150/(2 * 100^2 sqrt 50) * e^(25/200),
    //    z = 40 * (3/16)/sqrt 50 * e^(1/8); g = (0, 10): S = (-3, 6), V = 150.
    let root = 50f64.sqrt();
    let a = 5.0 / (18.0 * root) * (1f64 / 6.0).exp();
    let z = 40.0 * 0.1875 / root * 0.125f64.exp();
    let s = 45f64.sqrt();
    let (up, down) = (300.0 + 10.0 * s, 150.0 + 10.0 * s);
    let b = 25.0 * up / (2.0 * down * down * 150f64.sqrt()) * (45.0 / (2.0 * down)).exp();
    trace(
        &plain("freegrad", "hinge", &[]),
        &[(1.0, 1.0, vec![(0, 3.0), (1, 4.0)]), (-1.0, 1.0, vec![(1, 10.0)])],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[3.0 * a, 4.0 * a], z, 1.0 + z)],
        &[3.0 * b, -6.0 * b],
    );
}

#[test]
fn passive_aggressive_classification_moves_just_far_enough() {
    // Variant 0. 1: x = (1, 2), y = 1: tau = 1/5: w = (1/5, 2/5).
    // 2: x = (2, -1), y = -1: z = 0, tau = 1/5: w = (-1/5, 3/5).
    // 3: x = (0, 1), y = 1: z = 3/5, tau = 2/5: w = (-1/5, 1). 4: the same row has margin 1: nothing.
    let up = vec![(1, 1.0)];
    let rows = [
        (1.0, 1.0, vec![(0, 1.0), (1, 2.0)]),
        (-1.0, 2.0, vec![(0, 2.0), (1, -1.0)]),
        (1.0, 1.0, up.clone()),
        (1.0, 1.0, up),
    ];
    trace(
        &plain("passive-aggressive", "hinge", &[("variant", "0")]),
        &rows,
        &[
            (&[0.0, 0.0], 0.0, 1.0),
            (&[0.2, 0.4], 0.0, 1.0),
            (&[-0.2, 0.6], 0.6, 0.4),
            (&[-0.2, 1.0], 1.0, 0.0),
        ],
        &[-0.2, 1.0],
    );
    // Variant 1, C = 1/10: tau = 1/10; then the weight 2 allows 1/5; then 1/10 of the 3/5 that are missing.
    trace(
        &plain("passive-aggressive", "hinge", &[("aggressiveness", "0.1")]),
        &rows[..3],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[0.1, 0.2], 0.0, 1.0), (&[-0.3, 0.4], 0.4, 0.6)],
        &[-0.3, 0.5],
    );
    // Variant 2, C = 1/2: 1/(2C) = 1. tau = 1/6: w = (1, 2)/6; then z = 1/3, tau = (2/3)/2.
    trace(
        &plain("passive-aggressive", "hinge", &[("variant", "2"), ("aggressiveness", "0.5")]),
        &[rows[0].clone(), rows[2].clone()],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[1.0 / 6.0, 1.0 / 3.0], 1.0 / 3.0, 2.0 / 3.0)],
        &[1.0 / 6.0, 2.0 / 3.0],
    );
}

#[test]
fn passive_aggressive_regression_forgives_errors_up_to_epsilon() {
    // Variant 1, C = 1, epsilon = 1/2. 1: x = 2, y = 3: 5/2 too far: tau = 5/8: w = 5/4.
    // 2: x = 1, y = 1: off by 1/4: nothing. 3: x = 1, y = -3: off by 17/4: tau = C = 1: w = 1/4.
    trace(
        &plain("passive-aggressive", "absolute", &[("epsilon", "0.5")]),
        &[(3.0, 1.0, vec![(0, 2.0)]), (1.0, 1.0, vec![(0, 1.0)]), (-3.0, 1.0, vec![(0, 1.0)])],
        &[(&[0.0], 0.0, 3.0), (&[1.25], 1.25, 0.25), (&[1.25], 1.25, 4.25)],
        &[0.25],
    );
}

#[test]
fn alma_corrects_small_margins_and_stays_in_its_ball() {
    // Hinge, alpha = 1/2, B = 2, C = 1: correction k asks for the margin 1/sqrt k and moves by 1/sqrt k.
    // 1: x = (3, 4): margin 0: v = (3/5, 4/5), of norm 1.
    // 2: x = (5, 0), y = 1: z = 3, hinge 0, but margin 3/5 < 1/sqrt 2 = h: v = (3/5 + h, 4/5)/rho.
    // 3: x = (0, -2), y = 1: margin -(4/5)/rho: v_2 -= 1/sqrt 3; the norm is now below 1.
    // 4: x = (10, 0), y = 1: margin v_1 = 0.85 > 1/2: nothing.
    let h = 0.5f64.sqrt();
    let rho = ((0.6 + h) * (0.6 + h) + 0.64).sqrt();
    let (a, b) = ((0.6 + h) / rho, 0.8 / rho);
    let c = b - 1.0 / 3f64.sqrt();
    let given = [("alpha", "0.5"), ("margin", "2"), ("eta", "1")];
    let rows = [
        (1.0, 1.0, vec![(0, 3.0), (1, 4.0)]),
        (1.0, 1.0, vec![(0, 5.0)]),
        (1.0, 1.0, vec![(1, -2.0)]),
        (1.0, 1.0, vec![(0, 10.0)]),
    ];
    trace(
        &plain("alma", "hinge", &given),
        &rows,
        &[
            (&[0.0, 0.0], 0.0, 1.0),
            (&[0.6, 0.8], 3.0, 0.0),
            (&[a, b], -2.0 * b, 1.0 + 2.0 * b),
            (&[a, c], 10.0 * a, 0.0),
        ],
        &[a, c],
    );
    // With U = 3 the same vector, three times as long.
    let mut config = plain("alma", "hinge", &given);
    config.radius = Some(3.0);
    trace(
        &config,
        &rows[..3],
        &[(&[0.0, 0.0], 0.0, 1.0), (&[1.8, 2.4], 9.0, 0.0), (&[3.0 * a, 3.0 * b], -6.0 * b, 1.0 + 6.0 * b)],
        &[3.0 * a, 3.0 * c],
    );
}
