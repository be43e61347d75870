//! The checks of one run: every claim it makes against comparators that were found without it.

use super::*;
use noregret::regret::{Comparator, bound};

/// The class in force, its radius and its penalty.
pub fn class(engine: &Engine) -> (Comparator, f64, Option<f64>) {
    let (comparator, _) = engine.comparator();
    let sigma = match comparator {
        Comparator::Ridge { sigma } => Some(sigma),
        _ => None,
    };
    (comparator, comparator.radius().unwrap_or(1.0), sigma)
}

/// Checks everything that a finished run claims. `d` is the number of features of the space.
pub fn check_claims(config: &Config, rows: &[Row], d: usize, random: usize) {
    let run = run(config, rows, d);
    let engine = &run.engine;
    let name = format!("{config:?}");
    let loss = loss::build(&config.loss, []).unwrap();
    let n: Sum = run.rows.iter().map(|r| r.1).collect();
    let n = n.value();
    let stated = engine.bound();
    let risk = engine.risk();
    assert_eq!(risk.at_most.is_none(), !risk.unmet.is_empty(), "{name}: {risk:?}");
    let Some(certificate) = engine.certificate() else {
        assert!(n == 0.0 || run.diverged || config.loss == "linear", "{name}");
        return;
    };
    let stated = stated.unwrap();
    assert_eq!(stated.regret_at_most.is_none(), !stated.unmet.is_empty(), "{name}: {stated:?}");

    // L, S and the penalty, from the predictions alone.
    let (comparator, radius, sigma) = class(engine);
    let mut suffered = Sum::default();
    let mut terms = 0.0;
    let (mut s, mut reach, mut magnitude) = (vec![0.0; d + usize::from(config.bias)], 0.0, 0.0);
    for (k, (y, c, x)) in run.rows.iter().enumerate() {
        if *c == 0.0 {
            continue;
        }
        let f = c * loss.value(run.z[k], *y);
        suffered.add(f);
        if let Some(sigma) = sigma {
            let w = norm(&run.iterates[k]);
            suffered.add(sigma / 2.0 * w * w);
            terms += sigma / 2.0 * w * w;
        }
        let alpha = c * loss.slope(run.z[k], *y);
        for &(i, v) in x {
            s[i as usize] += alpha * v;
        }
        if config.bias {
            s[d] += alpha;
        }
        let length = (x.iter().map(|p| p.1 * p.1).sum::<f64>() + f64::from(u8::from(config.bias))).sqrt();
        reach += alpha.abs() * length;
        magnitude += f.abs() + (alpha * run.z[k]).abs();
    }
    let ledger = dense(&engine.ledger().s, d);
    for (a, b) in ledger.iter().zip(&s) {
        assert!(a == b || (a - b).abs() <= 1e-13 * reach, "{name}: S {a} {b}");
    }
    let average = suffered.value() / n;
    let own = match sigma {
        None => engine.average_loss().unwrap(),
        Some(sigma) => engine.ledger().book.penalised_loss(sigma).unwrap(),
    };
    // The losses and the penalty may cancel: what is left is as exact as they are.
    let scale = (terms + magnitude) / n;
    assert!((own - average).abs() <= 1e-9 * terms / n + 1e-14 * scale, "{name}: {own} {average}");
    let (regret, best) = (certificate.regret_at_most, certificate.best_at_least);
    let parts = regret.abs() + best.abs() + scale;
    assert!((regret + best - own).abs() <= 1e-12 * parts, "{name}: {certificate:?} {own}");

    // A prediction is the product with the iterate.
    let records = records(&run, &*loss, d);
    for (k, w) in run.iterates.iter().enumerate() {
        // Its normaliser counts the coordinates of the row that is predicted, seen or not; a mixture's
        // weights are those of its heaviest member.
        if ["exponentiated", "auto"].contains(&&*config.learner) || !engine.is_linear() {
            continue;
        }
        // Weights that shrink before they meet a value, or a row, larger than any before.
        if ["normalized", "coin", "freegrad"].contains(&&*config.learner) && records[k] {
            continue;
        }
        let z = dot(w, &run.rows[k].2, config.bias);
        let scale: f64 = norm(w) * (1.0 + run.rows[k].2.iter().map(|p| p.1.abs()).sum::<f64>());
        assert!((z - run.z[k]).abs() <= 1e-11 * (1e-120 + scale), "{name}: round {k}: {z} {}", run.z[k]);
    }

    let mut starts = vec![dense(&engine.weights(), d), ledger.iter().map(|s| -s * 1e6).collect()];
    starts.retain(|u| u.iter().all(|v| v.is_finite()));
    let space = (d, config.bias);
    if d + usize::from(config.bias) == 0 {
        return;
    }
    let bound_total = stated.regret_at_most.map(|r| r * n);
    for u in rivals(&run.rows, &*loss, comparator.name(), (radius, sigma), space, &starts, random) {
        let rival = total(&run.rows, &*loss, &u, config.bias, sigma);
        if !rival.value.is_finite() {
            continue;
        }
        assert!(
            certificate.best_at_least * n <= rival.value + rival.error,
            "{name}: certified {} but {u:?} has {}, {run_rows:?}",
            certificate.best_at_least * n,
            rival.value,
            run_rows = run.rows,
        );
        let regret = suffered.value() - rival.value;
        let rounding = 2.0 * rival.error + 1e-15 * (magnitude + terms);
        assert!(certificate.regret_at_most * n >= regret - rounding, "{name}: {certificate:?} {regret}");
        if let Some(bound) = bound_total {
            assert!(bound >= regret - rounding - 1e-12 * bound, "{name}: bound {bound} regret {regret}");
        }
    }
    let entry = bound::find(&stated.name).unwrap();
    let same = serde_json::to_value(entry.class).unwrap() == comparator.name();
    if let (Some(bound), true, true) = (stated.regret_at_most, entry.linearised, same) {
        // What the theorem says by itself, before roundings raise it.
        let theorem = bound - stated.constants.get("raised").unwrap_or(0.0) / n;
        let slack = 1e-9 * theorem + 1e-12 * (1.0 + magnitude + engine.ledger().book.reach * radius) / n;
        assert!(certificate.regret_at_most <= theorem + slack, "{name}: {certificate:?} above {stated:?}");
    }
    check_ball(config, &run);
}

/// Which rows are longer, or larger in a coordinate, than every earlier row that could be learned from.
fn records(run: &Run, loss: &dyn Loss, d: usize) -> Vec<bool> {
    let (mut longest, mut largest) = (0.0, vec![0.0; d]);
    let mut all = Vec::new();
    for ((y, c, x), z) in run.rows.iter().zip(&run.z) {
        let length: f64 = x.iter().map(|p| p.1 * p.1).sum();
        all.push(length > longest || x.iter().any(|p| p.1.abs() > largest[p.0 as usize]));
        if *c > 0.0 && loss.slope(*z, *y) != 0.0 {
            longest = length.max(longest);
            x.iter().for_each(|p| largest[p.0 as usize] = p.1.abs().max(largest[p.0 as usize]));
        }
    }
    all
}

/// Iterates of a learner with a ball never leave it.
pub fn check_ball(config: &Config, run: &Run) {
    let simplex = config.comparator.as_deref() == Some("simplex");
    let radius = config.radius.unwrap_or(if simplex { 1.0 } else { 10.0 });
    let given = format!("{:?}", config.parameters);
    let last: Vec<f64> = run.engine.weights().iter().collect();
    for w in run.iterates.iter().chain([&last]) {
        let length = match config.learner.as_str() {
            "follow-the-leader" if given.contains("box") => w.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
            "exponentiated" => w.iter().map(|v| v.abs()).sum(),
            "ftrl" if given.contains("no") => 0.0,
            "projected-ogd" | "subgradient" | "ftrl" | "scale-free" | "follow-the-leader" => norm(w),
            "alma" if config.radius.is_some() => norm(w),
            _ => 0.0,
        };
        assert!(length <= radius * (1.0 + 1e-9), "{config:?}: {length} outside of {radius}");
    }
}

/// The averaged iterate against the average of the iterates, kept one by one.
pub fn check_average(config: &Config, rows: &[Row], d: usize) {
    let run = run(config, rows, d);
    let predicted: Vec<&Vec<f64>> =
        run.iterates.iter().zip(&run.rows).filter(|(_, r)| r.1 > 0.0).map(|(w, _)| w).collect();
    let Some(average) = run.engine.averaged() else {
        assert!(predicted.is_empty());
        return;
    };
    let average = dense(&average, d);
    let largest = predicted.iter().map(|w| norm(w)).fold(0.0, f64::max);
    for (i, mean) in average.iter().enumerate() {
        let sum = predicted.iter().map(|w| w[i]).collect::<Sum>().value();
        let stored = sum / predicted.len() as f64;
        assert!(
            (mean - stored).abs() <= 1e-8 * largest,
            "{config:?}: {mean} {stored} of {largest} in {rows:?}"
        );
    }
}
