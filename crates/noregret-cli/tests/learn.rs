//! `learn`: what it computes, what it prints and where.

mod support;

use serde_json::Value;
use support::{Folder, libsvm};

/// Four rounds of hinge loss with a constant step of 1/2 and no bias, worked by hand:
///
/// | t | x  | y  | z   | loss | slope | w after     |
/// | 1 | e1 | +1 | 0   | 1    | -1    | (0.5, 0)    |
/// | 2 | e2 | -1 | 0   | 1    | +1    | (0.5, -0.5) |
/// | 3 | e1 | +1 | 0.5 | 0.5  | -1    | (1, -0.5)   |
/// | 4 | e1 | -1 | 1   | 2    | +1    | (0.5, -0.5) |
///
/// S = sum of slope x = (-1, 1); K = sum of (loss - slope z) = 1 + 1 + 1 + 1 = 4; against models of
/// norm at most 1 the best loses at least (4 - sqrt 2)/4.
const FOUR: &str = "+1 1:1\n-1 2:1\n+1 1:1\n-1 1:1\n";
const FOUR_FLAGS: &str =
    "four.svm --learner ogd --schedule constant --eta 0.5 --loss hinge --no-bias --radius 1";

fn four() -> Folder {
    let folder = Folder::new();
    folder.write("four.svm", FOUR);
    folder
}

#[track_caller]
fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
}

#[test]
fn four_rounds_come_out_as_worked_by_hand() {
    let summary = four().learn(FOUR_FLAGS);
    assert_eq!(summary["examples"], 4);
    assert_eq!(summary["nonzeros"], 4);
    assert_eq!(summary["dimension"], 2);
    assert_eq!(summary["loss"], "hinge");
    assert_eq!(summary["learner"], "ogd");
    assert_eq!(summary["mistakes"], 3);
    near(&summary["error_rate"], 0.5);
    near(&summary["average_loss"], 1.125);
    near(&summary["model_norm"], 0.5f64.sqrt());
    let best = (4.0 - 2f64.sqrt()) / 4.0;
    let certificate = &summary["certificate"];
    assert_eq!(certificate["comparator"], "l2");
    assert_eq!(certificate["radius_from"], "flag");
    near(&certificate["radius"], 1.0);
    near(&certificate["best_at_least"], best);
    near(&certificate["regret_at_most"], 1.125 - best);
    // Two labels each: every constant within [-1, 1] loses 1. The label changes in rounds 1 to 4.
    near(&summary["baseline"]["constant"], 1.0);
    near(&summary["baseline"]["previous_label"], 1.0);
    let losses: Vec<f64> =
        summary["history"].as_array().unwrap().iter().map(|r| r["average_loss"].as_f64().unwrap()).collect();
    assert_eq!(losses, [1.0, 1.0, 1.125]);
}

#[test]
fn the_table_goes_to_standard_error_and_the_result_to_standard_output() {
    let ran = four().run(&format!("learn {FOUR_FLAGS}")).ok();
    assert!(ran.err.contains("labels: -1 -> -1, 1 -> +1"), "{}", ran.err);
    let rows: Vec<Vec<&str>> = ran
        .err
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.first().is_some_and(|w| w.parse::<u64>().is_ok()))
        .collect();
    assert_eq!(
        rows,
        [
            ["1", "1.000000", "1.000000", "0.000000", "1.000001", "0.000000"],
            ["2", "1.000000", "1.000000", "0.292893", "0.707107", "0.500000"],
            ["4", "1.125000", "1.250000", "0.646446", "0.478554", "0.500000"],
        ],
        "{}",
        ran.err
    );
    for part in ["average loss       1.125000", "at least 0.646446", "at most 0.478554 (proved)", "mistakes"]
    {
        assert!(ran.out.contains(part), "`{part}` is not in:\n{}", ran.out);
    }
}

#[test]
fn every_number_of_the_table_ends_under_its_heading() {
    let ran = four().run(&format!("learn {FOUR_FLAGS}")).ok();
    let lines: Vec<&str> = ran.err.lines().collect();
    let at = lines.iter().position(|line| line.trim_start().starts_with("examples")).unwrap();
    let ends = |line: &str| -> Vec<usize> {
        let bytes = line.as_bytes();
        let end = |i: usize| bytes[i] != b' ' && bytes[i + 1..].iter().take(2).all(|b| *b == b' ');
        (0..bytes.len()).filter(|&i| end(i)).collect()
    };
    let numbers = ends(lines[at + 2]);
    assert_eq!(numbers.len(), 6);
    assert_eq!(ends(lines[at]), numbers, "{}", ran.err);
    assert!(ends(lines[at + 1]).iter().all(|end| numbers.contains(end)), "{}", ran.err);
}

#[test]
fn rows_come_at_powers_of_two_and_at_the_end() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(100, 1, "binary"));
    let summary = folder.learn("a.svm");
    let at: Vec<u64> =
        summary["history"].as_array().unwrap().iter().map(|r| r["examples"].as_u64().unwrap()).collect();
    assert_eq!(at, [1, 2, 4, 8, 16, 32, 64, 100]);
}

#[test]
fn quiet_says_nothing() {
    let ran = four().run(&format!("learn {FOUR_FLAGS} --quiet")).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn json_goes_to_standard_output_alone_or_to_a_file_beside_the_text() {
    let folder = four();
    let ran = folder.run(&format!("learn {FOUR_FLAGS} --json -")).ok();
    assert_eq!(ran.json()["examples"], 4);
    assert!(ran.err.contains("examples"), "the table is still shown: {}", ran.err);
    let ran = folder.run(&format!("learn {FOUR_FLAGS} --json summary.json")).ok();
    assert!(ran.out.contains("average loss"));
    assert_eq!(folder.json("summary.json")["examples"], 4);
}

#[test]
fn a_json_file_that_cannot_be_written_is_an_io_error_and_the_model_is_saved_all_the_same() {
    let folder = four();
    // A folder that is not there is seen before anything is learned; a disk that is full is not.
    let ran = folder.run(&format!("learn {FOUR_FLAGS} --model m --json nowhere/s.json"));
    ran.exits(4).says(&["nowhere/s.json"]);
    assert!(!folder.path("m").exists());
    if cfg!(target_os = "linux") {
        let ran = folder.run(&format!("learn {FOUR_FLAGS} --model m --json /dev/full"));
        ran.exits(4).says(&["/dev/full"]);
        assert!(folder.path("m").exists());
    }
}

#[test]
fn loss_and_learner_follow_from_the_labels() {
    let folder = Folder::new();
    let cases = [
        ("+1 1:1\n-1 1:2\n", "logistic"),
        ("0 1:1\n1 1:2\n", "logistic"),
        ("7 1:1\n3 1:2\n", "logistic"),
        ("1.5 1:1\n2.5 1:2\n3 1:1\n", "square"),
        ("0.25 1:1\n", "square"),
    ];
    for (text, loss) in cases {
        folder.write("a.svm", text);
        let summary = folder.learn("a.svm");
        assert_eq!(summary["loss"], loss, "{text}");
        assert_eq!(summary["learner"], "auto");
        assert_eq!(summary["mistakes"].is_null(), loss == "square");
        assert_eq!(summary["error_rate"].is_null(), loss == "square");
    }
}

#[test]
fn the_meaning_of_labels_is_announced_and_stored() {
    let folder = Folder::new();
    folder.write("a.csv", "y,x\nspam,1\nham,0\nspam,2\n");
    let ran = folder.run("learn a.csv --label y --model m").ok();
    assert!(ran.err.contains("labels: ham -> -1, spam -> +1"), "{}", ran.err);
    assert!(folder.run("inspect m").ok().out.contains("ham -> -1, spam -> +1"));
    let ran = folder.run("learn a.csv --label y --positive ham --model m").ok();
    assert!(ran.err.contains("labels: spam -> -1, ham -> +1"), "{}", ran.err);
    let header = folder.run("inspect m --json -").ok().json();
    assert_eq!(header["labels"]["positive"], "ham");
}

#[test]
fn a_label_that_comes_late_is_announced_when_it_comes() {
    let folder = Folder::new();
    // More than one block of the same label.
    let mut text = "-1 1:1\n".repeat(200_000);
    text += "+1 1:1\n";
    folder.write("a.svm", text);
    let ran = folder.run("learn a.svm").ok();
    assert!(ran.err.contains("labels: -1 -> -1, 1 -> +1"), "{}", ran.err);
}

#[test]
fn positive_is_refused_where_labels_are_numbers() {
    let folder = four();
    folder.run("learn four.svm --loss square --positive 1").exits(2).says(&["--positive", "square"]);
}

#[test]
fn several_passes_improve_the_model_and_speak_of_the_first() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(300, 1, "binary"));
    let once = folder.learn("a.svm --learner projected-ogd");
    let thrice = folder.learn("a.svm --learner projected-ogd --passes 3");
    assert_eq!(thrice["passes"], 3);
    for key in ["examples", "average_loss", "mistakes", "error_rate", "nonzeros", "bound", "history"] {
        assert_eq!(once[key], thrice[key], "{key}");
    }
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&thrice["last_pass_loss"]) < number(&once["average_loss"]));
    let best = |s: &Value| number(&s["certificate"]["best_at_least"]);
    assert!(best(&thrice) >= best(&once));
    assert!(best(&thrice) <= number(&thrice["last_pass_loss"]));
    let input = libsvm(10, 1, "binary");
    folder.feed("learn - --passes 2", input).exits(2).says(&["--passes", "standard input"]);
}

#[test]
fn learners_that_need_a_flag_name_it() {
    let folder = four();
    folder.run("learn four.svm --learner subgradient").exits(2).says(&["--horizon"]);
    folder.run("learn four.svm --learner strongly-convex-ogd").exits(2).says(&["--l2"]);
    folder.run("learn four.svm --learner ogd --schedule constant").exits(2).says(&["--eta"]);
    let ran = folder.run("learn four.svm --learner perceptron --horizon 4").exits(2);
    ran.says(&["--horizon", "subgradient", "perceptron"]);
}

#[test]
fn nobody_reading_the_output_is_no_failure() {
    let folder = four();
    let mut command = folder.command(&format!("learn {FOUR_FLAGS}"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn no_output_replaces_an_input_or_another_output() {
    let folder = four();
    let name = FOUR_FLAGS.split_whitespace().next().unwrap();
    let before = folder.read(name);
    folder.run(&format!("learn {FOUR_FLAGS} --model {name}")).exits(2).says(&["would replace the input"]);
    folder.run(&format!("learn {FOUR_FLAGS} --json {name}")).exits(2).says(&["would replace the input"]);
    folder.run(&format!("learn {FOUR_FLAGS} --model -")).exits(2).says(&["name one"]);
    folder.write("same", "");
    folder.run(&format!("learn {FOUR_FLAGS} --model same --json same")).exits(2).says(&["name two files"]);
    assert!(folder.read(name) == before);
}

#[test]
fn the_verdict_of_a_small_class_says_that_the_model_is_larger() {
    let folder = Folder::new();
    folder.run("generate planted --n 2000 --out p.svm").ok();
    let verdict = folder.learn("p.svm --learner ogd --radius 0.1")["verdict"].as_str().unwrap().to_owned();
    assert!(verdict.contains("class") && verdict.contains("The model itself is larger"), "{verdict}");
}
