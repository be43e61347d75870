//! `noregret audit` as a user calls it.

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;

fn noregret(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("noregret").unwrap().args(arguments).assert()
}

fn read(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(Path::new(path)).unwrap()).unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        noregret(&["generate", "planted", "--n", "2000", "--d", "5", "--out", &folder.path("data.svm")])
            .success();
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn learn(&self, more: &[&str]) -> (String, Value) {
        let (data, json) = (self.path("data.svm"), self.path("run.json"));
        let mut all = vec!["learn", &data, "--quiet", "--json", &json];
        all.extend(more);
        noregret(&all).success();
        let summary = read(&json);
        (json, summary)
    }

    fn audit(&self, more: &[&str]) -> Value {
        let (data, json) = (self.path("data.svm"), self.path("audit.json"));
        let mut all = vec!["audit", &data, "--quiet", "--json", &json];
        all.extend(more);
        noregret(&all).success();
        read(&json)
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_run_gets_its_regret_between_two_numbers_and_below_its_certificate() {
    let folder = Folder::new();
    for learner in ["projected-ogd", "adagrad", "ftrl", "exponentiated"] {
        let (path, run) = folder.learn(&["--learner", learner]);
        let audit = folder.audit(&["--run", &path]);
        let (low, high) = (number(&audit["best"]["at_least"]), number(&audit["best"]["at_most"]));
        assert!(low <= high && high - low <= 1e-3 * high, "{learner}");
        let lost = number(&run["average_loss"]);
        assert!((number(&audit["regret"]["at_least"]) - (lost - high)).abs() < 1e-12);
        assert!((number(&audit["regret"]["at_most"]) - (lost - low)).abs() < 1e-12);
        assert!(number(&run["certificate"]["best_at_least"]) <= high, "{learner}");
        assert!(number(&audit["certificate_ratio"]) >= 1.0, "{learner}");
        assert_eq!(audit["radius"], run["certificate"]["radius"]);
    }
}

#[test]
fn a_penalised_run_is_audited_with_its_penalty() {
    let folder = Folder::new();
    let (path, _) = folder.learn(&["--learner", "strongly-convex-ogd", "--l2", "0.1"]);
    let audit = folder.audit(&["--run", &path]);
    assert_eq!(audit["comparator"], "ridge");
    assert!(number(&audit["regret"]["at_most"]) >= number(&audit["regret"]["at_least"]));
    assert!(number(&audit["certificate_ratio"]) >= 1.0);
}

#[test]
fn several_radii_make_a_curve_that_falls() {
    let audit = Folder::new().audit(&["--loss", "hinge", "--radius", "4,0.5,1,2"]);
    let curve = audit["curve"].as_array().unwrap();
    assert_eq!(curve.len(), 4);
    for pair in curve.windows(2) {
        assert!(number(&pair[0]["radius"]) < number(&pair[1]["radius"]));
        assert!(number(&pair[1]["best"]["at_least"]) <= number(&pair[0]["best"]["at_most"]));
    }
}

#[test]
fn a_perceptron_gets_its_mistake_bound() {
    let folder = Folder::new();
    let (path, _) = folder.learn(&["--learner", "perceptron"]);
    let audit = folder.audit(&["--run", &path, "--radius", "1,3,10"]);
    assert!(number(&audit["bound"]["mistakes"]) <= number(&audit["bound"]["mistakes_at_most"]));
}

#[test]
fn a_mistake_bound_speaks_of_the_weight_of_the_mistakes() {
    let folder = Folder::new();
    let (data, run, told) = (folder.path("w.csv"), folder.path("w.json"), folder.path("told.json"));
    // Every row is a mistake, the first one counts 0: 40 mistakes, of weight 0.39.
    let rows = (0..40).map(|k| format!("{},{},1\n", k % 2, if k == 0 { "0" } else { "0.01" }));
    std::fs::write(&data, "y,c,x\n".to_owned() + &rows.collect::<String>()).unwrap();
    let columns = ["--label", "y", "--weight", "c", "--no-bias"];
    let learn = ["learn", &data, "--learner", "perceptron", "--loss", "hinge", "--quiet", "--json", &run];
    noregret(&[&learn[..], &columns].concat()).success();
    assert_eq!(read(&run)["mistakes"], 40);
    let audit = ["audit", &data, "--run", &run, "--radius", "0.1,1", "--json", &told];
    let said = noregret(&[&audit[..], &columns[..4]].concat()).success();
    let said = String::from_utf8(said.get_output().stdout.clone()).unwrap();
    assert!(said.contains("mistakes           of weight 0.3900, at most 0.39"), "{said}");
    let bound = &read(&told)["bound"];
    assert!((number(&bound["mistakes"]) - 0.39).abs() < 1e-12, "{bound}");
    assert!(number(&bound["mistakes"]) <= number(&bound["mistakes_at_most"]), "{bound}");
}

#[test]
fn a_perceptron_resumed_after_several_passes_has_no_mistake_bound() {
    let folder = Folder::new();
    let (data, model) = (folder.path("data.svm"), folder.path("p.model"));
    folder.learn(&["--learner", "perceptron", "--passes", "3", "--model", &model]);
    let run = folder.path("resumed.json");
    noregret(&["learn", &data, "--resume", &model, "--quiet", "--json", &run]).success();
    // It has learned from the file twice.
    let told = folder.path("told.json");
    noregret(&["audit", &data, &data, "--run", &run, "--radius", "1,3", "--quiet", "--json", &told])
        .success();
    assert_eq!(read(&told)["bound"], Value::Null);
}

#[test]
fn a_feature_that_no_row_has_is_part_of_the_simplex() {
    let folder = Folder::new();
    let (data, told) = (folder.path("s.svm"), folder.path("s.json"));
    std::fs::write(&data, "1 1:1 2:2\n1 1:1 2:3\n").unwrap();
    // u = (1, 0) loses 1 a row; where there is a third feature, u = (0, 0, 1) loses nothing.
    for (dimension, best) in [("2", 1.0), ("3", 0.0)] {
        let simplex = ["--loss", "linear", "--comparator", "simplex", "--radius", "1", "--no-bias"];
        let audit = ["audit", &data, "--dimension", dimension, "--quiet", "--json", &told];
        noregret(&[&audit[..], &simplex].concat()).success();
        let found = &read(&told)["best"];
        assert!(
            number(&found["at_least"]) <= best && best <= number(&found["at_most"]),
            "{dimension}: {found}"
        );
        assert!(number(&found["at_most"]) - number(&found["at_least"]) < 1e-9, "{dimension}: {found}");
    }
}

#[test]
fn files_that_do_not_fit_are_read_again_with_the_same_answer() {
    let folder = Folder::new();
    let mut held = folder.audit(&["--loss", "logistic", "--radius", "3"]);
    let mut streamed = folder.audit(&["--loss", "logistic", "--radius", "3", "--memory", "0"]);
    assert_eq!((&held["in_memory"], &streamed["in_memory"]), (&Value::Bool(true), &Value::Bool(false)));
    for key in ["in_memory", "seconds"] {
        held[key] = Value::Null;
        streamed[key] = Value::Null;
    }
    assert_eq!(held, streamed);
}

#[test]
fn a_model_is_told_its_loss_and_is_where_the_search_begins() {
    let folder = Folder::new();
    let (data, model, json) = (folder.path("data.svm"), folder.path("m.model"), folder.path("p.json"));
    folder.learn(&["--learner", "projected-ogd", "--model", &model]);
    noregret(&["predict", &model, &data, "--json", &json, "--out", &folder.path("z"), "--quiet"]).success();
    let audit = folder.audit(&["--model", &model, "--radius", "10"]);
    let (told, is) = (number(&audit["model"]["average_loss"]), number(&read(&json)["average_loss"]));
    assert!((told - is).abs() < 1e-9 && told >= number(&audit["best"]["at_least"]));
}

#[test]
fn what_has_no_minimum_is_refused_by_name() {
    let folder = Folder::new();
    let data = folder.path("data.svm");
    let refused = |arguments: &[&str], words: &str| {
        let mut all = vec!["audit", &data];
        all.extend(arguments);
        let told = noregret(&all).code(2).get_output().stderr.clone();
        let told = String::from_utf8(told).unwrap();
        assert!(told.contains(words), "{told}");
    };
    refused(&["--loss", "linear"], "the linear loss has no lower bound");
    refused(&["--loss", "hinge"], "--radius");
    refused(&["--loss", "hinge", "--radius", "inf"], "--radius");
    refused(&["--loss", "no-such", "--radius", "1"], "no-such");
    refused(&["--radius", "1", "--tolerance", "0"], "--tolerance");
    refused(&["--radius", "1", "--plot", "x.gif"], ".svg or .png");
    refused(&["--radius", "1", "--comparator", "ridge", "--l2", "1"], "ridge");
}

#[test]
fn a_run_on_other_data_is_refused() {
    let folder = Folder::new();
    let (path, _) = folder.learn(&["--learner", "projected-ogd"]);
    let other = folder.path("other.svm");
    noregret(&["generate", "planted", "--n", "1999", "--d", "5", "--out", &other]).success();
    noregret(&["audit", &other, "--run", &path]).code(3);
}

#[test]
fn giving_up_early_is_undecided_and_still_true() {
    let folder = Folder::new();
    let (data, json) = (folder.path("data.svm"), folder.path("early.json"));
    noregret(&["audit", &data, "--loss", "hinge", "--radius", "5", "--max-sweeps", "4", "--json", &json])
        .code(5);
    let early = read(&json);
    let whole = folder.audit(&["--loss", "hinge", "--radius", "5"]);
    assert_eq!(early["closed"], false);
    assert!(number(&early["best"]["at_least"]) <= number(&whole["best"]["at_most"]));
    assert!(number(&early["best"]["at_most"]) >= number(&whole["best"]["at_least"]));
}

#[test]
fn pages_and_pictures_are_written() {
    let folder = Folder::new();
    let (page, svg, png) = (folder.path("a.html"), folder.path("a.svg"), folder.path("a.png"));
    folder.audit(&["--loss", "hinge", "--radius", "1,2,3", "--report", &page, "--plot", &svg]);
    folder.audit(&["--loss", "hinge", "--radius", "1,2,3", "--plot", &png]);
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("uPlot") && !text.contains("src=") && !text.contains("{{title}}"));
    assert!(std::fs::read_to_string(svg).unwrap().contains("<polyline"));
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
}
