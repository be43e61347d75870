//! The keys of the JSON of `learn`, and what must be true between them and of the models: every
//! learner, every loss it accepts.

mod support;

use serde_json::Value;
use support::{Folder, averages, libsvm, needed, pairs, task_of, vw};

const KEYS: [&str; 19] = [
    "examples",
    "examples_this_run",
    "weight",
    "nonzeros",
    "dimension",
    "values",
    "loss",
    "learner",
    "average_loss",
    "mistakes",
    "error_rate",
    "certificate",
    "bound",
    "risk",
    "model_norm",
    "baseline",
    "auc",
    "calibration",
    "seconds",
];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// What the certificate starts from: with `ridge` the loss with its penalty.
fn suffered(summary: &Value) -> f64 {
    let ridge = summary["certificate"]["comparator"] == "ridge";
    number(&summary[if ridge { "penalised_loss" } else { "average_loss" }])
}

fn check(summary: &Value, what: &str) {
    for key in KEYS {
        assert!(summary.get(key).is_some(), "{what}: no key {key}");
    }
    assert_eq!(summary["values"], "f32");
    let real = task_of(summary["loss"].as_str().unwrap()) != "binary";
    assert_eq!(summary["mistakes"].is_null(), real, "{what}");
    assert_eq!(summary["error_rate"].is_null(), real, "{what}");
    assert_eq!(summary["auc"].is_null(), summary["loss"] != "logistic", "{what}");
    for (part, value) in [("bound", "regret_at_most"), ("risk", "at_most")] {
        let unmet = summary[part]["unmet"].as_array().unwrap();
        assert!(unmet.iter().all(Value::is_string), "{what}");
        assert_eq!(summary[part][value].is_null(), !unmet.is_empty(), "{what}: {}", summary[part]);
    }
    assert!(summary["bound"]["name"].is_string());
    assert!(summary["baseline"].get("constant").is_some());
    assert!(summary["baseline"].get("previous_label").is_some());
    let certificate = &summary["certificate"];
    if certificate.is_null() {
        return;
    }
    assert!(certificate["comparator"].is_string());
    assert!(certificate.get("radius").is_some());
    let gap =
        suffered(summary) - number(&certificate["regret_at_most"]) - number(&certificate["best_at_least"]);
    assert!(gap.abs() <= 1e-12 * suffered(summary).abs().max(1.0), "{what}: {gap}");
}

/// The lower bound is below the loss of a model of the class, computed by `predict`.
fn below(folder: &Folder, summary: &Value, data: &str, averaged: bool, what: &str) {
    // A learner that is not linear may be better than every model of the class.
    if summary["linear"] == false {
        return;
    }
    let certificate = &summary["certificate"];
    let norm = number(&summary[if averaged { "averaged_norm" } else { "model_norm" }]);
    let l2 = certificate["comparator"] == "l2";
    if averaged && l2 && norm > number(&certificate["radius"]) * (1.0 + 1e-12) {
        return;
    }
    let flag = if averaged { "--averaged" } else { "" };
    let told = folder.run(&format!("predict m {data} --quiet --json - {flag}")).ok().json();
    let mut loss = number(&told["average_loss"]);
    if certificate["comparator"] == "ridge" {
        loss += 0.5 * 0.1 * norm * norm;
    }
    let best = number(&certificate["best_at_least"]);
    assert!(best <= loss + 1e-12 * loss.abs().max(1.0), "{what}: {best} > {loss} (averaged: {averaged})");
}

fn unbounded(learner: &str, loss: &str) -> bool {
    let learners = ["ogd", "strongly-convex-ogd", "rda"];
    learners.contains(&learner) && loss == "poisson"
}

fn every_pair(data: &str, reading: &str, text: impl Fn(&str) -> String) {
    let folder = Folder::new();
    let mut certified = 0;
    for (learner, loss) in pairs(&folder) {
        folder.write(data, text(task_of(&loss)));
        let average = averages(&folder, &learner);
        let flags = format!("{} {}", needed(&learner), if average { "--average" } else { "" });
        let what = format!("{learner} with {loss}");
        let line = format!(
            "learn {data} {reading} --learner {learner} --loss {loss} {flags} --model m --json - --quiet"
        );
        let ran = folder.run(&line);
        if ran.code == Some(3) {
            // Learners without a ball may run away where the slope has no bound.
            assert!(ran.err.contains("diverged") && unbounded(&learner, &loss), "{what}: {}", ran.err);
            folder.run("inspect m").ok();
            continue;
        }
        let summary = ran.ok().json();
        check(&summary, &what);
        if !summary["certificate"].is_null() {
            certified += 1;
            below(&folder, &summary, data, false, &what);
            if average {
                below(&folder, &summary, data, true, &what);
            }
        }
    }
    assert!(certified > 50);
}

#[test]
fn no_model_of_any_learner_and_loss_is_better_than_its_certificate_allows() {
    every_pair("a.svm", "", |task| libsvm(200, 3, task));
}

#[test]
fn importance_weights_do_not_break_the_certificate() {
    every_pair("a.vw", "--bits 8", |task| vw(200, 4, task));
}

#[test]
fn weights_count_in_averages_and_not_in_rates() {
    let folder = Folder::new();
    folder.write("a.vw", "1 3 | a\n-1 0 | a\n-1 1 | b\n");
    let flags = "--learner ogd --schedule constant --eta 1 --loss hinge --no-bias";
    let summary = folder.learn(&format!("a.vw {flags}"));
    assert_eq!(summary["examples"], 3);
    assert_eq!(number(&summary["weight"]), 4.0);
    // Rounds: z = 0, loss 1, weight 3, w_a = 3; z = 3 with label -1 and weight 0; z = 0, loss 1, weight 1.
    assert_eq!(number(&summary["average_loss"]), 1.0);
    assert_eq!(summary["mistakes"], 3);
    assert_eq!(number(&summary["error_rate"]), 2.0 / 3.0);
}

#[test]
fn every_comparator_has_a_certificate_that_holds() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(200, 5, "binary"));
    let cases = [
        "--learner adagrad --comparator l1",
        "--learner adagrad --comparator linf",
        "--learner adagrad --comparator l2",
        "--learner exponentiated --comparator l1",
        "--learner exponentiated --comparator simplex --dimension 5",
        "--learner exponentiated --comparator simplex --dimension 5 --radius 2",
        "--learner strongly-convex-ogd --comparator ridge --l2 0.1",
        "--learner ogd --comparator ridge --l2 0.1",
    ];
    for flags in cases {
        let summary = folder.learn(&format!("a.svm --loss logistic {flags} --model m"));
        check(&summary, flags);
        assert!(!summary["certificate"].is_null(), "{flags}");
        below(&folder, &summary, "a.svm", false, flags);
    }
}

#[test]
fn the_radius_says_where_it_comes_from() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(50, 5, "binary"));
    for (flags, from) in [
        ("--learner projected-ogd --radius 2", "flag"),
        ("--learner projected-ogd", "default"),
        ("--learner adagrad", "model"),
    ] {
        let summary = folder.learn(&format!("a.svm {flags}"));
        assert_eq!(summary["certificate"]["radius_from"], from);
        if from == "model" {
            assert_eq!(summary["certificate"]["radius"], summary["model_norm"]);
        }
    }
}
