//! A few rounds of a learner against numbers worked out by hand.

use super::*;

/// Runs and compares iterates, predictions and losses, then the last iterate.
pub fn trace(config: &Config, rows: &[Row], expected: &[(&[f64], f64, f64)], last: &[f64]) {
    let run = run(config, rows, last.len());
    assert!(!run.diverged);
    let loss = loss::build(&config.loss, []).unwrap();
    for (k, (w, z, f)) in expected.iter().enumerate() {
        for (i, (have, want)) in run.iterates[k].iter().zip(*w).enumerate() {
            assert!(close(*have, *want, 1e-12), "round {}: w[{i}] is {have}, not {want}", k + 1);
        }
        assert!(close(run.z[k], *z, 1e-12), "round {}: z is {}, not {z}", k + 1, run.z[k]);
        let have = loss.value(run.z[k], rows[k].0);
        assert!(close(have, *f, 1e-12), "round {}: the loss is {have}, not {f}", k + 1);
    }
    let w = dense(&run.engine.weights(), last.len());
    for (have, want) in w.iter().zip(last) {
        assert!(close(*have, *want, 1e-12), "at the end: {have}, not {want}");
    }
    let n: f64 = rows.iter().map(|r| r.1).sum();
    let mean = expected.iter().zip(rows).map(|((_, _, f), r)| r.1 * f).sum::<f64>() / n;
    assert!(close(run.engine.average_loss().unwrap(), mean, 1e-12));
}

/// A learner without a bias.
pub fn plain(learner: &str, loss: &str, given: &[(&'static str, &'static str)]) -> Config {
    let mut config = config(learner, loss, given);
    config.bias = false;
    config
}
