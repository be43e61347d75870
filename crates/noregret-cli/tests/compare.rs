//! `noregret compare` as a user calls it.

use assert_cmd::Command;
use serde_json::Value;

fn noregret(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("noregret").unwrap().args(arguments).assert()
}

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    let path = move |name: &str| place.join(name).display().to_string();
    noregret(&["generate", "planted", "--n", "3000", "--d", "6", "--out", &path("data.svm")]).success();
    (folder, path)
}

fn read(path: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn each_run_is_what_learn_says_of_it_alone() {
    let (_folder, path) = folder();
    let (data, json, alone) = (path("data.svm"), path("c.json"), path("a.json"));
    let learners = "adagrad,projected-ogd,ogd:eta=0.1,perceptron,strongly-convex-ogd:l2=0.1";
    noregret(&["compare", &data, "--learners", learners, "--json", &json, "--quiet"]).success();
    let all = read(&json);
    let runs = all["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 5);
    let losses: Vec<f64> = runs.iter().map(|r| r["average_loss"].as_f64().unwrap()).collect();
    assert!(losses.is_sorted(), "{losses:?}");
    for run in runs {
        let name = run["name"].as_str().unwrap();
        let mut parts = name.split(':');
        let mut words: Vec<String> = ["learn", &data, "--json", &alone, "--quiet", "--learner"]
            .into_iter()
            .chain(parts.next())
            .map(str::to_owned)
            .collect();
        words.extend(parts.map(|p| format!("--{p}")));
        noregret(&words.iter().map(String::as_str).collect::<Vec<_>>()).success();
        let other = read(&alone);
        for key in ["average_loss", "mistakes", "certificate", "bound", "risk", "model_norm", "loss"] {
            assert_eq!(run[key], other[key], "{name} {key}");
        }
    }
}

#[test]
fn losses_multiply_learners_and_unknown_words_are_refused() {
    let (_folder, path) = folder();
    let (data, json) = (path("data.svm"), path("c.json"));
    let losses = ["--losses", "hinge,logistic,square"];
    noregret(&["compare", &data, "--learners", "ogd,adagrad", losses[0], losses[1], "--json", &json, "-q"])
        .success();
    assert_eq!(read(&json)["runs"].as_array().unwrap().len(), 6);
    noregret(&["compare", &data, "--learners", "ogd,nobody"]).code(2);
    noregret(&["compare", &data, "--learners", "ogd:eta"]).code(2);
    noregret(&["compare", &data, "--learners", "adagrad", "--horizon", "5"]).code(2);
    noregret(&["compare", &data, "--learners", "ogd", "--plot", "x.pdf"]).code(2);
}

#[test]
fn audited_runs_have_their_regret_below_their_certificate() {
    let (_folder, path) = folder();
    let (data, json, page, plot) = (path("data.svm"), path("c.json"), path("c.html"), path("c.png"));
    let mut all = vec!["compare", &data, "--json", &json, "--quiet"];
    all.extend([
        "--learners",
        "projected-ogd,ftrl,perceptron",
        "--audit",
        "--report",
        &page,
        "--plot",
        &plot,
    ]);
    noregret(&all).success();
    for run in read(&json)["runs"].as_array().unwrap() {
        let certified = run["certificate"]["regret_at_most"].as_f64().unwrap();
        assert!(run["audit"]["regret"]["at_least"].as_f64().unwrap() <= certified);
        assert_eq!(run["audit"]["closed"], true);
        assert!(run["history"].as_array().unwrap().len() > 20);
    }
    assert!(std::fs::read_to_string(page).unwrap().contains("audited best"));
    assert!(std::fs::read(plot).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn learn_writes_the_same_kind_of_page() {
    let (_folder, path) = folder();
    let page = path("l.html");
    noregret(&["learn", &path("data.svm"), "--report", &page, "--quiet"]).success();
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("Average loss over time") && text.contains("\"history\""));
}
