//! `learn --multiclass` and what becomes of its models.

mod support;

use std::fmt::Write as _;
use support::Folder;

/// Three kinds of flowers: each has a feature of its own, and a little of the next one's.
fn flowers(n: usize) -> String {
    let names = ["rose", "lily", "oak tree"];
    let mut text = String::from("kind,a,b,c\n");
    for t in 0..n {
        let k = (t * t + t / 3) % if t < 9 { 2 } else { 3 };
        let mut x = [0.1 * (t % 7) as f64, 0.1 * (t % 5) as f64, 0.1 * (t % 3) as f64];
        x[k] += 1.0;
        let _ = writeln!(text, "{},{},{},{}", names[k], x[0], x[1], x[2]);
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("f.csv", flowers(400));
    folder
}

#[test]
fn a_file_behind_the_flag_is_a_file() {
    let folder = folder();
    assert_eq!(folder.learn("--label kind --multiclass f.csv")["multiclass"], "ovr");
    assert_eq!(folder.learn("--label kind --multiclass softmax f.csv")["multiclass"], "softmax");
    folder.run("learn --label kind --multiclass sofmax f.csv").exits(2).says(&["sofmax", "softmax"]);
    // A file of that name is named with its folder.
    folder.write("softmax", flowers(50));
    assert_eq!(folder.learn("f.csv --label kind --multiclass softmax")["multiclass"], "softmax");
}

#[test]
fn labels_of_any_name_are_learned_and_predicted() {
    let folder = folder();
    for how in ["", "ovr", "softmax", "perceptron"] {
        let run = folder.learn(&format!("f.csv --label kind --model m --multiclass {how}"));
        assert_eq!(run["multiclass"], if how.is_empty() { "ovr" } else { how });
        assert_eq!(run["examples"], 400);
        assert!(run["error_rate"].as_f64().unwrap() < 0.15, "{how}: {}", run["error_rate"]);
        let labels: Vec<&str> =
            run["classes"].as_array().unwrap().iter().map(|c| c["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["rose", "lily", "oak tree"]);
        let (loss, best, regret) = (
            run["average_loss"].as_f64().unwrap(),
            run["certificate"]["best_at_least"].as_f64().unwrap(),
            run["certificate"]["regret_at_most"].as_f64().unwrap(),
        );
        assert!(best >= 0.0 && (loss - regret - best).abs() < 1e-9);
        // The confusion matrix holds every row but those whose label was new.
        let confusion: u64 = run["confusion"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|r| r.as_array().unwrap())
            .map(|n| n.as_u64().unwrap())
            .sum();
        assert_eq!(confusion, 399);
        let told = folder.run("predict m f.csv --quiet --json p.json").ok();
        let right =
            told.out.lines().zip(flowers(400).lines().skip(1)).filter(|(a, b)| b.starts_with(*a)).count();
        assert!(right > 360, "{how}: {right}");
        let json = folder.json("p.json");
        assert_eq!(json["error_rate"].as_f64().unwrap(), (400 - right) as f64 / 400.0);
        assert!(json["average_loss"].as_f64().unwrap() < loss);
    }
}

#[test]
fn scores_and_probabilities_stand_beside_their_labels() {
    let folder = folder();
    let parse = |line: &str| -> Vec<(String, f64)> {
        let pair = |cell: &str| {
            let (name, number) = cell.rsplit_once(':').unwrap();
            (name.to_owned(), number.parse().unwrap())
        };
        line.split('\t').map(pair).collect()
    };
    for how in ["ovr", "softmax"] {
        folder.learn(&format!("f.csv --label kind --model m --multiclass {how}"));
        let [labels, scores, proba] = ["", "--scores", "--proba"]
            .map(|flag| folder.run(&format!("predict m f.csv -q {flag}")).ok().out);
        for ((label, scores), proba) in labels.lines().zip(scores.lines()).zip(proba.lines()) {
            let (scores, proba) = (parse(scores), parse(proba));
            let best =
                |list: &[(String, f64)]| list.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0.clone();
            assert_eq!((best(&scores), best(&proba)), (label.to_owned(), label.to_owned()));
            assert!((proba.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(scores.len(), 3);
        }
    }
    folder.learn("f.csv --label kind --model m --multiclass perceptron");
    folder.run("predict m f.csv --proba").exits(2).says(&["--proba", "softmax"]);
    folder.learn("f.csv --label kind --model m --multiclass --learner ftrl --loss hinge");
    folder.run("predict m f.csv --proba").exits(2).says(&["--proba", "hinge"]);
    folder.run("predict m f.csv --averaged").exits(2).says(&["--average"]);
    folder.learn("f.csv --label kind --model m --multiclass --learner ftrl --average");
    let lines = folder.run("predict m f.csv --averaged -q").ok().out;
    assert_eq!(lines.lines().count(), 400);
}

#[test]
fn a_model_of_several_classes_can_be_inspected() {
    let folder = folder();
    for how in ["ovr", "softmax", "perceptron"] {
        folder.learn(&format!("f.csv --label kind --model m --multiclass {how}"));
        let text = folder.run("inspect m").ok().out;
        for words in ["multiclass", "3 classes: rose, lily, oak tree", "heaviest weights of class oak tree"] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        let json = folder.run("inspect m --json -").ok().json();
        assert_eq!(json["classes"][2]["heaviest"][0]["feature"], "c", "{how}");
        assert!(json["certificate"]["best_at_least"].is_number());
    }
}

#[test]
fn resuming_in_the_middle_gives_the_same_file() {
    let folder = folder();
    let text = flowers(400);
    let lines: Vec<&str> = text.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    // The third label is in the second part alone.
    folder.write("one.csv", part(&lines[1..8]));
    folder.write("two.csv", part(&lines[8..]));
    for how in ["ovr", "softmax", "perceptron"] {
        folder.learn(&format!("f.csv --label kind --model whole --multiclass {how}"));
        folder.learn(&format!("one.csv --label kind --model half --multiclass {how}"));
        let run = folder.learn("two.csv --resume half --model joined");
        assert_eq!((&run["examples"], &run["examples_this_run"]), (&400.into(), &393.into()));
        assert!(folder.read("whole") == folder.read("joined"), "{how}");
    }
    folder
        .run("learn two.csv --resume half --multiclass ovr")
        .exits(2)
        .says(&["--multiclass ovr", "perceptron"]);
    folder
        .run("learn two.csv --resume half --multiclass perceptron --classes a,b")
        .exits(2)
        .says(&["--classes"]);
    folder.run("learn two.csv --resume half --eta 1").exits(2).says(&["--eta"]);
}

#[test]
fn labels_named_in_advance_close_the_list() {
    let folder = folder();
    let open = folder.learn("f.csv --label kind --multiclass --learner ftrl");
    folder.write("g.csv", flowers(400).replace("oak tree", "oak"));
    let closed = folder.learn("g.csv --label kind --multiclass --learner ftrl --classes rose,lily,oak");
    for key in ["average_loss", "certificate", "bound", "model_norm"] {
        assert_eq!(open[key], closed[key], "{key}");
    }
    folder
        .run("learn g.csv --label kind --multiclass --classes rose,lily")
        .exits(3)
        .says(&["`oak`, expected one of rose, lily", "--classes"]);
    folder.run("learn g.csv --label kind --multiclass --classes rose,,lily").exits(2).says(&["empty name"]);
    folder.run("learn g.csv --label kind --multiclass --classes a,a").exits(2).says(&["listed twice"]);
    folder.run("learn g.csv --label kind --classes a,b").exits(2).says(&["--multiclass"]);
}

#[test]
fn a_third_label_and_numbers_lead_to_the_right_flag() {
    let folder = folder();
    folder.run("learn f.csv --label kind").exits(3).says(&[
        "third label `oak tree`",
        "--multiclass",
        "--loss square",
    ]);
    // Numbers that are not two are regression.
    folder.write("r.svm", "16 1:1\n40 2:1\n32 1:1 2:1\n13 3:1\n");
    let run = folder.learn("r.svm");
    assert_eq!((&run["loss"], &run["error_rate"]), (&"square".into(), &serde_json::Value::Null));
    assert_eq!(folder.learn("r.svm --multiclass")["classes"].as_array().unwrap().len(), 4);
    // Two labels in all that was read ahead, then others.
    let mut late = String::new();
    for t in 0..250_000 {
        let _ = writeln!(late, "{} {}:1", t % 2, t % 9 + 1);
    }
    for t in 0..10 {
        let _ = writeln!(late, "{t}.5 1:1");
    }
    folder.write("late.svm", late);
    folder.run("learn late.svm --learner ogd").exits(3).says(&[
        "late.svm:250001:1",
        "`0.5`",
        "--loss square",
        "learn --multiclass",
    ]);
    assert_eq!(folder.learn("late.svm --learner ogd --loss square")["examples"], 250_010);
}

#[test]
fn flags_that_mean_nothing_are_refused() {
    let folder = folder();
    for (flags, words) in [
        ("softmax --learner ogd", "--learner does not go with --multiclass softmax"),
        ("softmax --loss hinge", "--loss does not go"),
        ("perceptron --eta 1", "--eta does not go"),
        ("softmax --average", "--average"),
        ("ovr --positive rose", "--positive"),
        ("ovr --loss poisson", "choose one of"),
        ("ovr --learner none", "there is no learner"),
        ("best", "ovr"),
    ] {
        folder.run(&format!("learn f.csv --label kind --multiclass {flags}")).exits(2).says(&[words]);
    }
    folder.run("learn f.csv --label kind --multiclass --model m --json s.json").ok();
    folder.run("audit f.csv --label kind --model m --radius 1").exits(3).says(&["several classes"]);
    folder
        .run("audit f.csv --label kind --run s.json --radius 1")
        .exits(2)
        .says(&["several classes", "--class"]);
    folder
        .run("compare f.csv --label kind --learners ogd --multiclass")
        .exits(2)
        .says(&["learn --multiclass"]);
    folder.run("audit f.csv --label kind --radius 1 --multiclass").exits(2).says(&["--multiclass"]);
}

#[test]
fn several_passes_and_a_page_and_a_generated_stream() {
    let folder = folder();
    folder.run("generate classes --n 2000 --d 6 --k 7 --noise 0.05 --out g.svm").ok();
    folder.run("generate planted --k 3").exits(2).says(&["--k"]);
    for how in ["ovr", "softmax", "perceptron"] {
        let one = folder.learn(&format!("g.svm --multiclass {how}"));
        let three = folder.learn(&format!("g.svm --multiclass {how} --passes 3 --report p.html"));
        for key in ["average_loss", "mistakes", "error_rate", "confusion"] {
            assert_eq!(one[key], three[key], "{how} {key}");
        }
        assert_eq!(one["classes"].as_array().unwrap().len(), 7);
        assert!(String::from_utf8(folder.read("p.html")).unwrap().contains("7 classes"));
        assert!(one["error_rate"].as_f64() < one["baseline"]["majority"].as_f64());
    }
    let text = folder.run("learn g.svm --multiclass").ok();
    assert!(text.out.contains("wrong labels") && text.err.contains("one versus the rest by auto"));
}

#[test]
fn the_audit_of_each_class_confirms_its_certificate() {
    let folder = folder();
    for loss in ["logistic", "square", "hinge"] {
        let line =
            format!("learn f.csv --label kind --multiclass --learner projected-ogd --loss {loss} --radius 2");
        folder.run(&format!("{line} --json s.json")).ok();
        let run = folder.json("s.json");
        let mut sum = 0.0;
        for (k, class) in ["rose", "lily"].iter().enumerate() {
            let audit = folder
                .run(&format!("audit f.csv --label kind --run s.json --class {class} --json - -q"))
                .ok()
                .json();
            let told = &run["classes"][k];
            assert_eq!(told["label"], *class);
            let most = audit["best"]["at_most"].as_f64().unwrap();
            assert!(told["certificate"]["best_at_least"].as_f64().unwrap() <= most, "{loss} {class}");
            let regret = audit["regret"]["at_most"].as_f64().unwrap();
            assert!(
                regret <= told["certificate"]["regret_at_most"].as_f64().unwrap() + 1e-9,
                "{loss} {class}"
            );
            let alone =
                format!("audit f.csv --label kind --class {class} --loss {loss} --radius 2 --json - -q");
            assert_eq!(folder.run(&alone).ok().json()["best"], audit["best"]);
            sum += told["average_loss"].as_f64().unwrap();
        }
        assert!(sum < run["average_loss"].as_f64().unwrap());
    }
    folder
        .run("audit f.csv --label kind --run s.json --class tulip")
        .exits(2)
        .says(&["rose, lily, oak tree"]);
    folder.run("learn f.csv --label kind --multiclass softmax --json s.json").ok();
    folder.run("audit f.csv --label kind --run s.json --class rose").exits(2).says(&["softmax"]);
}
