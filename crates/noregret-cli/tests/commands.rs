//! The other commands: `predict`, `inspect`, `generate`, the registries, `demo`, and the help.

mod support;

use serde_json::Value;
use support::{Folder, libsvm};

fn with_model(flags: &str) -> Folder {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(60, 1, "binary"));
    folder.learn(&format!("a.svm --model m {flags}"));
    folder
}

#[test]
fn predictions_are_labels_as_the_data_writes_them() {
    let folder = Folder::new();
    folder.write("a.csv", "kind,x\nspam,1\nham,-1\nspam,2\nham,-2\n");
    folder.learn("a.csv --label kind --model m");
    let ran = folder.run("predict m a.csv").ok();
    assert_eq!(ran.out, "spam\nham\nspam\nham\n");
    ran.says(&["4 labelled examples", "logistic loss", "error rate 0.000000"]);
}

#[test]
fn scores_read_back_exactly_and_agree_with_probabilities() {
    let folder = with_model("--learner adagrad");
    let scores = folder.run("predict m a.svm --scores --quiet").ok();
    let probabilities = folder.run("predict m a.svm --proba --quiet").ok().numbers();
    let labels = folder.run("predict m a.svm --quiet").ok().numbers();
    let header = folder.run("inspect m --json - --top 100").ok().json();
    let mut weights = [0.0; 5];
    for item in header["heaviest"].as_array().unwrap() {
        let feature: usize = item["feature"].as_str().unwrap().parse().unwrap();
        weights[feature - 1] = item["weight"].as_f64().unwrap();
    }
    let bias = header["bias_weight"].as_f64().unwrap();
    let text = String::from_utf8(folder.read("a.svm")).unwrap();
    for (k, line) in text.lines().enumerate() {
        let z: f64 = scores.numbers()[k];
        assert_eq!(format!("{z:?}"), scores.out.lines().nth(k).unwrap());
        assert!((probabilities[k] - 1.0 / (1.0 + (-z).exp())).abs() < 1e-15);
        assert_eq!(labels[k], if z >= 0.0 { 1.0 } else { -1.0 });
        let mut expected = bias;
        for word in line.split(' ').skip(1) {
            let (i, v) = word.split_once(':').unwrap();
            expected += weights[i.parse::<usize>().unwrap() - 1] * f64::from(v.parse::<f32>().unwrap());
        }
        assert!((z - expected).abs() < 1e-12, "{z} is not {expected}");
    }
    folder.run("predict m a.svm --scores --proba").exits(2).says(&["--scores", "--proba"]);
}

#[test]
fn the_averaged_model_is_another_one_and_must_have_been_kept() {
    let folder = with_model("--average --learner projected-ogd");
    let last = folder.run("predict m a.svm --scores --quiet").ok().out;
    let averaged = folder.run("predict m a.svm --scores --averaged --quiet").ok().out;
    assert_ne!(last, averaged);
    assert!(folder.run("inspect m --averaged").ok().out.contains("heaviest weights"));
    let folder = with_model("");
    folder.run("predict m a.svm --averaged").exits(2).says(&["--average"]);
    folder.run("inspect m --averaged").exits(2).says(&["--average"]);
}

#[test]
fn probabilities_are_for_logistic_loss() {
    let folder = with_model("--loss hinge");
    folder.run("predict m a.svm --proba").exits(2).says(&["--proba", "hinge", "--scores"]);
}

#[test]
fn data_without_labels_is_predicted_without_a_loss() {
    let folder = Folder::new();
    folder.write("a.csv", "y,x\n1,1\n0,-1\n1,2\n");
    folder.write("new.csv", "x\n3\n-3\n");
    folder.learn("a.csv --label y --model m");
    let ran = folder.run("predict m new.csv --json told.json").ok();
    assert_eq!(ran.out, "1\n0\n");
    let told = folder.json("told.json");
    assert_eq!((&told["examples"], &told["labelled"]), (&Value::from(2), &Value::from(0)));
    assert!(told["average_loss"].is_null() && told["error_rate"].is_null());
    folder.write("a.vw", "1 | a\n-1 | b\n");
    folder.write("new.vw", "| a\n| b\n");
    folder.learn("a.vw --model m");
    assert_eq!(folder.run("predict m new.vw --quiet").ok().out, "1\n-1\n");
    folder.write("new.jsonl", "{\"x\":3}\n{\"x\":-3,\"y\":0}\n");
    folder.write("a.jsonl", "{\"x\":1,\"y\":1}\n{\"x\":-1,\"y\":0}\n");
    folder.learn("a.jsonl --label y --model m");
    let ran = folder.run("predict m new.jsonl --json told.json").ok();
    assert_eq!(ran.out, "1\n0\n");
    assert_eq!(folder.json("told.json")["labelled"], 1);
}

#[test]
fn the_summary_of_predictions_goes_where_it_is_sent() {
    let folder = with_model("");
    let ran = folder.run("predict m a.svm --json -").ok();
    let told = ran.json();
    for key in ["examples", "average_loss", "error_rate"] {
        assert!(!told[key].is_null(), "{key}");
    }
    let ran = folder.run("predict m a.svm --out p.txt --json -").ok();
    assert_eq!(ran.json(), told);
    assert_eq!(String::from_utf8(folder.read("p.txt")).unwrap().lines().count(), 60);
    assert_eq!(folder.run("predict m a.svm --quiet").ok().err, "");
    folder.run("predict m a.svm --out nowhere/p.txt").exits(4).says(&["nowhere/p.txt"]);
    let piped = folder.feed("predict m - --quiet", folder.read("a.svm")).ok().out;
    assert_eq!(piped.as_bytes(), folder.read("p.txt"));
}

#[test]
fn predictions_stop_at_a_bad_record_after_those_before_it() {
    let folder = with_model("");
    folder.write("bad.svm", "+1 1:1\n-1 1:x\n+1 1:1\n");
    let ran = folder.run("predict m bad.svm").exits(3);
    assert_eq!(ran.out.lines().count(), 1);
    ran.says(&["bad.svm:2:6: "]);
}

#[test]
fn predictions_read_the_data_as_it_was_learned() {
    let folder = with_model("--bits 3");
    folder.run("predict m a.svm --bits 4").exits(2).says(&["--bits 4", "3"]);
    folder.run("predict m a.svm --zero-based").exits(2).says(&["--zero-based"]);
    folder.write("a.csv", "y,x\n1,1\n0,2\n");
    folder.run("predict m a.csv --label y").exits(2).says(&["libsvm", "csv"]);
    folder.write("zero.svm", "+1 0:1\n-1 1:1\n");
    folder.learn("zero.svm --zero-based --model zero");
    assert_eq!(folder.run("predict zero zero.svm --quiet").ok().out, "1\n-1\n");
}

#[test]
fn heavy_weights_have_the_names_of_their_features() {
    let folder = Folder::new();
    folder.write("a.csv", "y,age,city\n1,3,Rome\n0,-3,Oslo\n1,2,Rome\n");
    folder.learn("a.csv --label y --model m");
    let ran = folder.run("inspect m").ok();
    for word in ["age", "city=Rome", "city=Oslo", "(bias)", "auto", "logistic", "examples     3 (1 pass)"] {
        assert!(ran.out.contains(word), "`{word}` is not in:\n{}", ran.out);
    }
    for word in ["heaviest weights of ", "descent-slow", "who won when", "mixed by"] {
        assert!(ran.out.contains(word), "`{word}` is not in:\n{}", ran.out);
    }
    folder.write("a.vw", "1 |weather sun:2\n-1 |weather rain\n");
    folder.learn("a.vw --model m");
    let header = folder.run("inspect m --json - --top 1").ok().json();
    assert_eq!(header["heaviest"].as_array().unwrap().len(), 1);
    assert!(folder.run("inspect m").ok().out.contains("weather^sun"));
    folder.write("a.svm", "+1 7:1\n-1 3:2\n");
    folder.learn("a.svm --model m");
    let header = folder.run("inspect m --json -").ok().json();
    let names: Vec<&str> =
        header["heaviest"].as_array().unwrap().iter().map(|i| i["feature"].as_str().unwrap()).collect();
    assert!(names.contains(&"7") && names.contains(&"3"), "{names:?}");
}

#[test]
fn the_json_of_inspect_is_the_header() {
    let folder = with_model("--learner projected-ogd --radius 2 --passes 2");
    let header = folder.run("inspect m --json -").ok().json();
    for key in [
        "program",
        "version",
        "learner",
        "loss",
        "examples",
        "dimension",
        "passes",
        "config",
        "reading",
        "labels",
        "book",
        "tally",
        "model_norm",
        "bias_weight",
        "certificate",
        "heaviest",
    ] {
        assert!(header.get(key).is_some(), "{key}");
    }
    assert_eq!(header["passes"], 2);
    assert_eq!(header["config"]["radius"], 2.0);
    folder.run("inspect m --json h.json").ok();
    assert_eq!(folder.json("h.json"), header);
}

#[test]
fn every_stream_can_be_generated_and_learned() {
    let folder = Folder::new();
    for (name, flags, learn) in [
        ("hard", "--n 6", "--learner perceptron"),
        ("leader-fails", "--n 50", "--learner follow-the-leader --radius 1"),
        ("planted", "--n 50 --d 3 --noise 0.2", ""),
        ("drift", "--n 50", ""),
        ("rcv1-like", "--n 50", ""),
    ] {
        let text = folder.run(&format!("generate {name} {flags}")).ok().out;
        assert!(text.lines().count() > 0, "{name}");
        let ran = folder.run(&format!("generate {name} {flags} --out g.svm --json -")).ok();
        assert_eq!(folder.read("g.svm"), text.as_bytes(), "{name}");
        assert_eq!(ran.json()["name"], name);
        let summary = folder.learn(&format!("g.svm {learn}"));
        assert_eq!(summary["examples"].as_u64().unwrap() as usize, text.lines().count(), "{name}");
        let again = folder.run(&format!("generate {name} {flags} --seed 1")).ok().out;
        assert_eq!(again, text, "the same seed, the same stream");
    }
    let other = |seed: u32| folder.run(&format!("generate planted --n 5 --seed {seed}")).ok().out;
    assert_ne!(other(1), other(2));
    folder.run("generate planted --json -").exits(2).says(&["--out"]);
    folder.run("generate planted --noise 2").exits(2).says(&["noise"]);
    folder.run("generate planted --noise -1").exits(2).says(&["noise"]);
    folder.run("generate planted --out nowhere/g.svm").exits(4).says(&["nowhere/g.svm"]);
}

#[test]
fn follow_the_leader_loses_every_round_but_one() {
    let folder = Folder::new();
    folder.run("generate leader-fails --n 100 --out g.svm").ok();
    let summary = folder.learn("g.svm --learner follow-the-leader --radius 1 --no-bias");
    let total = summary["average_loss"].as_f64().unwrap() * 100.0;
    assert!((total - 99.0).abs() < 1e-9, "{total}");
}

#[test]
fn the_registries_are_told_whole_or_by_name() {
    let folder = Folder::new();
    for (command, name) in [("learners", "perceptron"), ("losses", "huber"), ("bounds", "ftrl")] {
        let all = folder.run(&format!("{command} --json -")).ok().json();
        let all = all[command].as_array().unwrap().clone();
        let text = folder.run(command).ok().out;
        for entry in &all {
            let name = entry["name"].as_str().unwrap();
            assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
            let one = folder.run(&format!("{command} {name}")).ok().out;
            assert!(one.starts_with(name) && one.lines().count() > 1, "{one}");
        }
        let one = folder.run(&format!("{command} {name} --json -")).ok().json();
        assert_eq!(one[command].as_array().unwrap().len(), 1);
        assert_eq!(one[command][0]["name"], name);
        let ran = folder.run(&format!("{command} {name} --json r.json")).ok();
        assert!(ran.out.starts_with(name));
        assert_eq!(folder.json("r.json"), one);
    }
}

#[test]
fn the_demo_proves_its_certificate() {
    let folder = Folder::new();
    let ran = folder.run("demo --n 1000 --d 5").ok();
    assert!(ran.out.contains("The claim holds"), "{}", ran.out);
    let summary = folder.run("demo --n 1000 --d 5 --noise 0.07 --seed 3 --json - --quiet").ok().json();
    assert_eq!(summary["proof"]["holds"], true);
    let number = |value: &Value| value.as_f64().unwrap();
    let best = number(&summary["certificate"]["best_at_least"]);
    assert!(best <= number(&summary["proof"]["best"]["at_most"]));
    assert!(number(&summary["proof"]["best"]["at_least"]) <= number(&summary["proof"]["best"]["at_most"]));
    assert_eq!(folder.run("demo --n 500 --quiet").ok().err, "");
    assert!(folder.run("demo --n 500 --noise 0.07").ok().err.contains(" 7 %"));
    folder.run("demo --n 0").exits(2).says(&["n"]);
}

/// The options of a help text, each with whether it takes a value.
fn options(help: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for line in help.lines() {
        // An option stands at the margin, after its short form; further right is prose.
        let Some(at) = line.find("--").filter(|at| *at <= 6) else { continue };
        let mut words = line[at + 2..].split_whitespace();
        // `--windows[=<yes|no>]` may stand alone.
        let name = words.next().unwrap().split('[').next().unwrap().to_owned();
        let value =
            words.next().filter(|w| w.starts_with('<')).map(|w| w.trim_matches(['<', '>']).to_owned());
        found.push((name, value));
    }
    found
}

/// The flag that chooses a learner or a loss with this parameter, where one has it.
fn owner(folder: &Folder, parameter: &str) -> String {
    for (registry, flag) in [("learners", "learner"), ("losses", "loss")] {
        let all = folder.run(&format!("{registry} --json -")).ok().json();
        for entry in all[registry].as_array().unwrap() {
            let mut own = entry["parameters"].as_array().unwrap().iter();
            if own.any(|p| p["name"] == parameter) {
                return format!("--{flag} {}", entry["name"].as_str().unwrap());
            }
        }
    }
    String::new()
}

#[test]
fn every_option_of_every_help_text_is_accepted() {
    let folder = with_model("");
    folder.write("a.csv", "1,2\n-1,3\n");
    folder.run("learn a.csv --label 1 --no-header --quiet --model of-columns").ok();
    let commands = ["learn", "predict", "inspect", "generate", "demo", "learners", "losses", "bounds"];
    let mut tried = 0;
    for command in commands {
        let help = folder.run(&format!("{command} --help")).ok().out;
        assert!(help.contains("--json") && help.contains("--quiet") && help.contains("--seed"), "{command}");
        for (name, value) in options(&help) {
            if name == "help" {
                continue;
            }
            let value = match (name.as_str(), value.as_deref()) {
                (_, None) => String::new(),
                ("json" | "model" | "out", _) => "written".to_owned(),
                ("resume", _) => "m".to_owned(),
                ("loss", _) => "hinge".to_owned(),
                ("learner", _) => "ogd".to_owned(),
                ("comparator", _) => "l1".to_owned(),
                ("format", _) => "libsvm".to_owned(),
                ("on-error", _) => "skip".to_owned(),
                (_, Some(words)) if words.contains('|') => words.split('|').next().unwrap().to_lowercase(),
                ("n", _) => "20".to_owned(),
                ("k", _) => "3".to_owned(),
                ("multiclass", _) => "ovr".to_owned(),
                ("classes", _) => "1,-1".to_owned(),
                ("tau" | "noise" | "delta", _) => "0.3".to_owned(),
                ("dimension", _) => "5".to_owned(),
                _ => "1".to_owned(),
            };
            let operand = match command {
                "learn" if name == "no-header" => "a.csv --label 1",
                "predict" if name == "no-header" => "of-columns a.csv",
                "learn" => "a.svm",
                "predict" => "m a.svm",
                "inspect" => "m",
                "generate" if name == "k" => "classes",
                "generate" => "planted",
                "demo" if name != "n" => "--n 200",
                _ => "",
            };
            let owner = match name.as_str() {
                "l2" => "--learner strongly-convex-ogd".to_owned(),
                // Means something to one of the learner's two losses.
                "epsilon" => "--learner passive-aggressive --loss absolute".to_owned(),
                "classes" => "--multiclass".to_owned(),
                _ => owner(&folder, &name),
            };
            let ran = folder.run(&format!("{command} {operand} {owner} --{name} {value}"));
            let known = !ran.err.contains("unexpected argument") && !ran.err.contains("invalid value");
            // Some say that they do not fit this model; all are known.
            let answers = ["contradicts", "--average", "leave the flag out", "is for LIBSVM"];
            let fits = ran.code == Some(0) || answers.iter().any(|answer| ran.err.contains(answer));
            assert!(known && fits, "{command} --{name} {value}: {:?} {}", ran.code, ran.err);
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn without_arguments_the_help_is_shown() {
    let folder = Folder::new();
    let ran = folder.run("").exits(2);
    for word in ["learn", "predict", "demo", "Exit codes"] {
        assert!(ran.err.contains(word), "{}", ran.err);
    }
    assert!(folder.run("--help").ok().out.contains("noregret demo"));
    assert!(folder.run("--version").ok().out.starts_with("noregret "));
}
