//! Slips of the notes that change a number: each test fails if the slip had been implemented.

mod common;

use common::*;
use noregret::engine::{Config, Engine};
use noregret::learner::Constants;
use noregret::loss;
use noregret::regret::bound::{self, most_mistakes};

fn learned(config: &Config, rows: &[Row]) -> Engine {
    let mut engine = Engine::new(config.clone()).unwrap();
    engine.learn_f64(block(rows).rows()).unwrap();
    engine
}

fn constants(all: &[(&'static str, f64)]) -> Constants {
    let mut c = Constants::default();
    for (name, value) in all {
        c.set(name, *value);
    }
    c
}

// Written: (-y x)/(1 + e^(-y<w,x>)).
#[test]
fn the_logistic_gradient_has_plus_in_the_exponent() {
    let logistic = loss::build("logistic", []).unwrap();
    // At y z = ln 3 the slope is -1/(1 + 3); the slip gives -1/(1 + 1/3) = -3/4.
    let z = 3f64.ln();
    assert!(close(logistic.slope(z, 1.0), -0.25, 1e-15));
    assert!(close(logistic.slope(-z, -1.0), 0.25, 1e-15));
    // It is the derivative of the loss.
    let h = 1e-6;
    let difference = (logistic.value(z + h, 1.0) - logistic.value(z - h, 1.0)) / (2.0 * h);
    assert!((difference + 0.25).abs() < 1e-9);
}

// Written: eta = B/sqrt(m lambda X), and the regret is eta.
#[test]
fn the_step_of_subgradient_descent_has_the_root_over_the_horizon_alone() {
    let mut config = config("subgradient", "hinge", &[("horizon", "100")]);
    config.radius = Some(2.0);
    config.row_bound = Some(4.0);
    config.bias = false;
    // B/(lambda X sqrt m) = 2/(4 * 10) = 1/20; the slip gives 2/sqrt 400 = 1/10.
    let engine = learned(&config, &[(1.0, 1.0, vec![(0, 1.0)])]);
    assert!(close(engine.weights().features[0], 0.05, 1e-15));
    // At T = m the bound is B lambda X sqrt m = 2 * 4 * 10 in all.
    let rows: Vec<Row> =
        (0..100).map(|k| (if k % 2 == 0 { 1.0 } else { -1.0 }, 1.0, vec![(0, 4.0)])).collect();
    let stated = learned(&config, &rows).bound().unwrap();
    assert!(close(stated.regret_at_most.unwrap(), 0.8, 1e-11), "{stated:?}");
    assert!(stated.regret_at_most.unwrap() * 100.0 > stated.constants.get("eta").unwrap());
}

// Written: the first line of lemma 5 without its square, and the closing sum with its inequalities
// the wrong way round.
#[test]
fn half_the_squared_norm_is_above_the_telescoping_sum() {
    // Steps towards u within B: |w_t - u|^2/2 - |w_{t+1} - u|^2/2 >= eta (f_t(w_t) - f_t(u)) - eta^2 |g|^2/2
    // summed over t: B^2/2 >= |u|^2/2 >= eta R - T eta^2 (lambda X)^2/2. Without the square, B = 1/2 would
    // promise eta R <= B/2 + ... = 0.25 + ..., and B = 4 only 2 where 8 is needed.
    let entry = bound::find("subgradient").unwrap();
    for (b, eta, t) in [(0.5, 0.1, 50.0), (4.0, 0.1, 50.0), (4.0, 2.0, 7.0)] {
        let c =
            constants(&[("ball", b), ("eta", eta), ("T", t), ("lambda", 1.0), ("X", 1.0), ("longest", 1.0)]);
        let value = (entry.value)(&c).unwrap();
        assert!(close(value * eta, b * b / 2.0 + t * eta * eta / 2.0, 1e-14));
    }
    // A stream that needs more than B/(2 eta) + T eta/2: constant slope against u at distance B = 4.
    let mut config = config("subgradient", "absolute", &[("horizon", "4"), ("eta", "0.01")]);
    config.radius = Some(4.0);
    config.bias = false;
    let rows: Vec<Row> = (0..200).map(|_| (100.0, 1.0, vec![(0, 1.0)])).collect();
    let engine = learned(&config, &rows);
    let loss = loss::build("absolute", []).unwrap();
    let regret = engine.ledger().book.loss.value() - total(&rows, &*loss, &[4.0], false, None).value;
    assert!(regret > 4.0 / (2.0 * 0.01) + 200.0 * 0.01 / 2.0, "the slip's bound would be false");
    assert!(regret <= engine.bound().unwrap().regret_at_most.unwrap() * 200.0);
}

// Written: sum of 1/t <= ln(T + 1).
#[test]
fn the_harmonic_sum_is_above_ln_of_t_plus_one_and_below_one_plus_ln_t() {
    let mut sum = 0.0;
    for t in 1..=10_000 {
        let t = f64::from(t);
        sum += 1.0 / t;
        assert!((t + 1.0).ln() < sum && sum <= 1.0 + t.ln());
    }
    let entry = bound::find("strongly-convex").unwrap();
    let value = |t: f64| (entry.value)(&constants(&[("G", 3.0), ("sigma", 0.5), ("T", t)])).unwrap();
    // G^2/(2 sigma) = 9: at T = 1 the bound is 9 (the slip: 9 ln 2 = 6.2).
    assert!(close(value(1.0), 9.0, 1e-15) && close(value(100.0), 9.0 * (1.0 + 100f64.ln()), 1e-15));
}

#[test]
fn one_round_of_strongly_convex_descent_regrets_more_than_the_slip_allows() {
    // sigma = 1, linear loss with g = 1: w_1 = 0 loses 0; u = -1 loses -1 + 1/2. The regret is 1/2 =
    // G^2/(2 sigma), exactly the bound; ln 2/2 = 0.35 would be false.
    let mut config = config("strongly-convex-ogd", "linear", &[]);
    config.l2 = Some(1.0);
    config.bias = false;
    let rows = [(1.0, 1.0, vec![(0, 1.0)])];
    let stated = learned(&config, &rows).bound().unwrap().regret_at_most.unwrap();
    let loss = loss::build("linear", []).unwrap();
    let regret = 0.0 - total(&rows, &*loss, &[-1.0], false, Some(1.0)).value;
    assert!(close(regret, 0.5, 1e-15) && stated >= regret && stated < 0.5 + 1e-6);
}

// Written: |w_M| |u| >= M + sum of hinge losses.
#[test]
fn the_mistake_bound_subtracts_the_hinge_losses() {
    // x = 1 with labels +, -, +, -: every round is a mistake and |w| = 1, 0, 1, 0.
    let rows: Vec<Row> = (0..4).map(|k| (if k % 2 == 0 { 1.0 } else { -1.0 }, 1.0, vec![(0, 1.0)])).collect();
    let mut config = Config::new("perceptron", "hinge");
    config.bias = false;
    let engine = learned(&config, &rows);
    assert_eq!(engine.tally().mistakes(), Some(4));
    let (book, s) = engine.ledger().own.remove(0);
    let m = book.k;
    let w = s.norm();
    // u = 1: hinge losses 0, 2, 0, 2. |w||u| = 0 >= 4 - 4, but not >= 4 + 4.
    let hinge = loss::build("hinge", []).unwrap();
    let h = total(&rows, &*hinge, &[1.0], false, None).value;
    assert_eq!((m, h, w), (4.0, 4.0, 0.0));
    assert!(w >= m - h && w < m + h);
    // The final bound: 4 + 1 + sqrt 4 = 7.
    assert_eq!(most_mistakes(1.0, h, 1.0), 7.0);
    assert!(m <= most_mistakes(1.0, h, 1.0));
}

// Written: the hinge loss is not differentiable at z = 0.
#[test]
fn the_hinge_has_its_kink_at_one() {
    let hinge = loss::build("hinge", []).unwrap();
    let slope = |z: f64| (hinge.value(z + 1e-7, 1.0) - hinge.value(z - 1e-7, 1.0)) / 2e-7;
    assert!(close(slope(0.0), -1.0, 1e-6) && close(slope(1.0), -0.5, 1e-6) && close(slope(2.0), 0.0, 1e-6));
    assert_eq!(
        (hinge.slope(0.0, 1.0), hinge.slope(1.0 - 1e-9, 1.0), hinge.slope(1.0, 1.0)),
        (-1.0, -1.0, 0.0)
    );
}

// Written: Q uniform on h_0 .. h_m.
#[test]
fn the_average_is_of_the_iterates_that_predicted_and_not_of_the_last() {
    // Linear loss, x = 1, y = -1, eta = 1: w_1, w_2, w_3 = 0, 1, 2 and w_4 = 3. The average is 1; with w_4
    // it would be 3/2, and without w_1 too it would be 2.
    let mut config = config("ogd", "linear", &[("schedule", "constant"), ("eta", "1")]);
    config.bias = false;
    config.average = true;
    let engine = learned(&config, &vec![(-1.0, 1.0, vec![(0, 1.0)]); 3]);
    assert_eq!(engine.weights().features, [3.0]);
    assert_eq!(engine.averaged().unwrap().features, [1.0]);
}

// Written: the algorithm starts at w_1 after an update.
#[test]
fn every_learner_predicts_its_first_row_with_the_start() {
    for entry in noregret::learner::ENTRIES {
        for name in losses(entry) {
            for given in variants(entry.name) {
                let engine = Engine::new(config(entry.name, name, &given)).unwrap();
                let block = block(&[(1.0, 1.0, vec![(0, 2.0), (3, -1.0)])]);
                assert_eq!(engine.predict_f64(block.rows().row(0).x), 0.0, "{}", entry.name);
            }
        }
    }
}

// Written: strongly convex means a Hessian of full rank.
#[test]
fn strong_convexity_is_the_penalty_and_not_the_losses_rank() {
    // The square loss in one dimension has Hessian 2 x^2 > 0 in every round with x != 0, but no constant
    // below it: with sigma = 2 x^2 of the first row, rows ten times shorter break R <= (G^2/2 sigma)(1 + ln T).
    // So the learner takes no loss's curvature and wants the penalty's.
    assert!(Engine::new(Config::new("strongly-convex-ogd", "square")).is_err());
    let mut config = Config::new("strongly-convex-ogd", "square");
    config.l2 = Some(0.25);
    config.bias = false;
    // w_2 = -g/(sigma 1) with g = 2 (0 - 1) 0.5 = -1: w_2 = 4, whatever the loss's own curvature.
    let engine = learned(&config, &[(1.0, 1.0, vec![(0, 0.5)])]);
    assert!(close(engine.weights().features[0], 4.0, 1e-15));
    assert_eq!(engine.bound().unwrap().constants.get("sigma"), Some(0.25));
}

// Written: mistakes counted with < 0 once.
#[test]
fn a_score_of_zero_is_a_mistake() {
    let engine = learned(&Config::new("perceptron", "hinge"), &[(1.0, 1.0, vec![(0, 1.0)])]);
    assert_eq!(engine.tally().mistakes(), Some(1));
    assert_eq!(engine.weights().features, [1.0]);
    let perceptron = loss::build("perceptron", []).unwrap();
    assert_eq!((perceptron.slope(0.0, 1.0), perceptron.slope(0.0, -1.0)), (-1.0, 1.0));
}

// Written: max |x_t| over t <= M.
#[test]
fn the_longest_row_is_sought_in_all_rounds_or_in_the_mistake_rounds() {
    // Three right answers come between the first mistake and the second, whose row is long. Over t <= M = 2
    // the longest row would be 1, and u, a separator of norm 1, would allow only one mistake.
    let mut config = Config::new("perceptron", "hinge");
    config.bias = false;
    let mut rows = vec![(1.0, 1.0, vec![(0, 1.0)]); 4];
    rows.push((1.0, 1.0, vec![(0, -1.0), (1, 3.0)]));
    let engine = learned(&config, &rows);
    assert_eq!(engine.tally().mistakes(), Some(2));
    let u = [1.0, 2.0 / 3.0];
    let hinge = loss::build("hinge", []).unwrap();
    assert!(total(&rows, &*hinge, &u, false, None).value < 1e-15);
    assert!(most_mistakes(norm(&u), 0.0, 1.0) < 2.0, "the slip's bound would be false");
    assert!(most_mistakes(norm(&u), 0.0, 10f64.sqrt()) >= 2.0);
    assert!(close(engine.ledger().book.longest_squared, 10.0, 1e-15));
}
