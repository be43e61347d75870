//! What the first-order learners promise beyond their certificates: invariance to units, exact zeros,
//! laziness that nobody can see, and the mistake bounds of those that have no regret bound.

#![allow(clippy::needless_for_each)]

mod common;

use common::traces::plain;
use common::*;
use noregret::learner;
use noregret::loss;
use noregret::regret::bound::{
    self, most_corrections, most_mistakes_passive_aggressive, most_squares_passive_aggressive,
};
use proptest::prelude::*;

const D: u32 = 4;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_units_of_a_column_do_not_matter(
        rows in stream(D, 40),
        powers in prop::collection::vec(-40..40i32, D as usize),
        bias in any::<bool>(),
    ) {
        for name in ["normalized", "coin"] {
            for loss_name in ["logistic", "hinge", "square", "absolute"] {
                let mut config = config(name, loss_name, &[]);
                config.bias = bias;
                let rows = labelled(&rows, &*loss::build(loss_name, []).unwrap());
                let mut scaled = rows.clone();
                for (_, _, x) in &mut scaled {
                    x.iter_mut().for_each(|(i, v)| *v *= 2f64.powi(powers[*i as usize]));
                }
                let (one, other) = (run(&config, &rows, D as usize), run(&config, &scaled, D as usize));
                let bits = |z: &[f64]| z.iter().map(|z| z.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(&one.z), bits(&other.z), "{} {}", name, loss_name);
            }
        }
    }

    #[test]
    fn the_unit_of_the_losses_does_not_matter_to_the_scale_free_leader(
        rows in stream(D, 40),
        power in -40..40i32,
    ) {
        let rows = labelled(&rows, &*loss::build("hinge", []).unwrap());
        let mut heavier = rows.clone();
        heavier.iter_mut().for_each(|r| r.1 *= 2f64.powi(power));
        let config = config("scale-free", "hinge", &[]);
        let (one, other) = (run(&config, &rows, D as usize), run(&config, &heavier, D as usize));
        prop_assert_eq!(one.z, other.z);
    }

    #[test]
    fn truncating_when_read_is_truncating_every_time(
        rows in stream(D, 60),
        period in 1..4u32,
        gravity in 0.0..0.3f64,
        theta in prop_oneof![Just(None), (0.05..1.0f64).prop_map(Some)],
        constant in any::<bool>(),
    ) {
        let rows = labelled(&rows, &*loss::build("hinge", []).unwrap());
        let text = [gravity.to_string(), period.to_string(), theta.map_or(String::new(), |t: f64| t.to_string())];
        let mut given = vec![("eta", "0.3"), ("lambda1", &*text[0]), ("period", &*text[1])];
        given.push(("schedule", if constant { "constant" } else { "sqrt" }));
        if theta.is_some() {
            given.push(("theta", &*text[2]));
        }
        let entry = learner::find("truncated-gradient").unwrap();
        let mut config = plain("truncated-gradient", "hinge", &[]);
        config.parameters =
            noregret::parameter::Parameters::check(entry.name, entry.parameters, given).unwrap();
        let run = run(&config, &rows, D as usize);
        let mut w = [0.0; D as usize];
        let mut t = 0u32;
        for (k, (y, c, x)) in run.rows.iter().enumerate() {
            for (have, want) in run.iterates[k].iter().zip(&w) {
                prop_assert!(close(*have, *want, 1e-12), "round {}: {} {}", k, have, want);
            }
            if *c == 0.0 {
                continue;
            }
            t += 1;
            let eta = if constant { 0.3 } else { 0.3 / f64::from(t).sqrt() };
            if y * run.z[k] < 1.0 {
                x.iter().for_each(|&(i, v)| w[i as usize] += eta * c * y * v);
            }
            if t.is_multiple_of(period) {
                let amount = eta * gravity * f64::from(period);
                for w in w.iter_mut().filter(|w| theta.is_none_or(|theta| w.abs() <= theta)) {
                    *w = (w.abs() - amount).max(0.0) * w.signum();
                }
            }
        }
    }

    #[test]
    fn passive_aggressive_keeps_its_bounds_against_every_comparator(
        rows in stream(D, 60),
        u in prop::collection::vec(-3.0..3.0f64, D as usize),
        c in 0.01..5.0f64,
    ) {
        let hinge = loss::build("hinge", []).unwrap();
        let mut rows = labelled(&rows, &*hinge);
        rows.iter_mut().for_each(|r| r.1 = 1.0);
        let lost: Vec<f64> = rows.iter().map(|(y, _, x)| hinge.value(dot(&u, x, false), *y)).collect();
        let longest = rows.iter().map(|r| r.2.iter().map(|p| p.1 * p.1).sum::<f64>()).fold(0.0, f64::max).sqrt();
        let text = c.to_string();
        let entry = learner::find("passive-aggressive").unwrap();
        for variant in ["0", "1", "2"] {
            let mut config = plain("passive-aggressive", "hinge", &[]);
            let given = [("variant", variant), ("aggressiveness", &*text)];
            config.parameters =
                noregret::parameter::Parameters::check(entry.name, entry.parameters, given).unwrap();
            let run = run(&config, &rows, D as usize);
            // Rows without features teach nothing, and their loss is 1 for everybody.
            let rounds = || rows.iter().zip(&run.z).filter(|(r, _)| r.2.iter().any(|p| p.1 != 0.0));
            let squares: f64 = rounds().map(|(r, z)| hinge.value(*z, r.0).powi(2)).sum();
            let mistakes = rounds().filter(|(r, z)| r.0 * **z <= 0.0).count() as f64;
            let (h, h2) = (lost.iter().sum::<f64>(), lost.iter().map(|l| l * l).sum::<f64>());
            let slack = 1.0 + 1e-9;
            match variant {
                "1" => prop_assert!(mistakes <= most_mistakes_passive_aggressive(norm(&u), h, longest, c) * slack),
                "2" => prop_assert!(squares <= most_squares_passive_aggressive(norm(&u), h2, longest, c) * slack),
                _ if h == 0.0 => prop_assert!(squares <= (norm(&u) * longest).powi(2) * slack),
                _ => {}
            }
        }
    }

    #[test]
    fn alma_corrects_no_more_often_than_the_margin_allows(
        rows in stream(D, 60),
        u in prop::collection::vec(-1.0..1.0f64, D as usize),
        alpha in 0.1..0.9f64,
        passes in 1..8usize,
    ) {
        // Labels by a unit vector, and only rows that have some margin.
        let length = norm(&u);
        prop_assume!(length > 0.1);
        let margin = |x: &[(u32, f64)]| {
            let size = x.iter().map(|p| p.1 * p.1).sum::<f64>().sqrt();
            if size == 0.0 { 0.0 } else { dot(&u, x, false) / length / size }
        };
        let rows: Vec<Row> = rows.into_iter().map(|(_, _, x)| (margin(&x).signum(), 1.0, x))
            .filter(|r| margin(&r.2).abs() > 0.02).collect();
        let g = rows.iter().map(|r| margin(&r.2).abs()).fold(1.0, f64::min);
        let rows: Vec<Row> = (0..passes).flat_map(|_| rows.clone()).collect();
        let text = alpha.to_string();
        let entry = learner::find("alma").unwrap();
        let mut config = plain("alma", "hinge", &[]);
        config.parameters =
            noregret::parameter::Parameters::check(entry.name, entry.parameters, [("alpha", &*text)]).unwrap();
        let run = run(&config, &rows, D as usize);
        let Some(stated) = run.engine.bound() else { return Ok(()) };
        let corrections = stated.constants.get("corrections").unwrap();
        prop_assert!(corrections <= most_corrections(g, alpha), "{} at margin {}", corrections, g);
    }
}

#[test]
fn penalties_leave_exact_zeros_and_a_larger_one_leaves_more() {
    // Two features of twenty matter.
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    };
    let rows: Vec<Row> = (0..4000)
        .map(|_| {
            let x: Vec<(u32, f64)> = (0..20).map(|i| (i, random())).collect();
            (if x[0].1 - x[1].1 + 0.2 * random() > 0.0 { 1.0 } else { -1.0 }, 1.0, x)
        })
        .collect();
    let nonzeros = |name: &str, lambda1: &'static str| {
        let mut given = vec![("lambda1", lambda1)];
        if name == "truncated-gradient" {
            // Every row has every feature, so each is moved a little after each truncation but the last.
            given.push(("period", "200"));
        }
        let run = run(&plain(name, "logistic", &given), &rows, 20);
        let w = run.engine.weights().features;
        assert!(w[0] > 0.0 && w[1] < 0.0, "{name} {lambda1}: {w:?}");
        w.iter().filter(|w| **w != 0.0).count()
    };
    for (name, lambdas) in [
        ("ftrl-proximal", ["0", "15", "60"]),
        ("rda", ["0", "0.005", "0.02"]),
        ("truncated-gradient", ["0", "0.01", "0.05"]),
    ] {
        let counts = lambdas.map(|lambda1| nonzeros(name, lambda1));
        assert_eq!(counts[0], 20, "{name}");
        assert!(counts[1] < 20 && counts[2] <= counts[1] && counts[2] <= 5, "{name}: {counts:?}");
    }
}

#[test]
fn the_closed_form_of_freegrads_bound_is_never_below_the_conjugate_of_its_potential() {
    let entry = bound::find("freegrad").unwrap();
    let grid = |from: i32, to: i32| (from..=to).map(|k| 4f64.powi(k));
    for u in grid(-8, 8) {
        for v in grid(0, 10) {
            for h in grid(0, 5) {
                for epsilon in [0.01, 1.0, 20.0] {
                    let mut c = noregret::learner::Constants::default();
                    c.set("U", u).set("V", v).set("h", h).set("epsilon", epsilon).set("h1", 1.0);
                    let stated = (entry.value)(&c).unwrap();
                    let conjugate = (-60..160)
                        .map(|k| 1.3f64.powi(k))
                        .map(|y| u * y - epsilon / v.sqrt() * (y * y / (2.0 * v + 2.0 * h * y)).exp())
                        .fold(0.0, f64::max);
                    assert!(stated >= conjugate, "{u} {v} {h} {epsilon}: {stated} {conjugate}");
                }
            }
        }
    }
}

#[test]
fn bets_on_slopes_without_a_bound_are_withheld_once_a_record_comes_too_late() {
    for name in ["coin", "freegrad"] {
        let stated = |labels: &[f64]| {
            let rows: Vec<Row> = labels.iter().map(|y| (*y, 1.0, vec![(0, 1.0)])).collect();
            run(&plain(name, "linear", &[]), &rows, 1).engine.bound().unwrap()
        };
        // The first slope is a bound for the others, and nothing is at stake before it.
        assert!(stated(&[3.0, -2.0, 1.0]).regret_at_most.is_some(), "{name}");
        let late = stated(&[3.0, -2.0, 3.5]);
        assert!(late.regret_at_most.is_none() && late.unmet.len() == 1, "{name}: {late:?}");
        // So is a weight above 1 under a Lipschitz loss.
        let heavy = vec![(1.0, 1.0, vec![(0, 1.0)]), (-1.0, 2.0, vec![(0, 1.0)])];
        let stated = run(&plain(name, "hinge", &[]), &heavy, 1).engine.bound().unwrap();
        assert!(stated.regret_at_most.is_none(), "{name}");
    }
}

#[test]
fn epsilon_is_for_regression() {
    let config = plain("passive-aggressive", "hinge", &[("epsilon", "0.1")]);
    let message = noregret::engine::Engine::new(config).err().unwrap().to_string();
    assert!(message.contains("--epsilon") && message.contains("absolute"), "{message}");
}
