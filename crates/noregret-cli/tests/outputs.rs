//! What is written never replaces what is read, and a place that cannot be written is refused before anything is learned.

mod support;

use std::fmt::Write as _;
use support::{Dice, Folder, libsvm};

#[test]
fn nothing_that_is_read_is_replaced() {
    let folder = Folder::new();
    folder.write("d.svm", libsvm(60, 1, "binary"));
    folder.run("learn d.svm --quiet --model m --radius 3 --learner projected-ogd --json run.json").ok();
    folder.run("separate d.svm --quiet --certificate c.json").exits(1);
    for (line, kept) in [
        ("learn d.svm --report d.svm", "d.svm"),
        ("predict m d.svm --out m", "m"),
        ("predict m d.svm --json m", "m"),
        ("inspect m --json m", "m"),
        ("learn d.svm --resume m --json m", "m"),
        ("learn d.svm --resume m --report m", "m"),
        ("audit d.svm --model m --radius 3 --json m", "m"),
        ("audit d.svm --run run.json --json run.json", "run.json"),
        ("separate d.svm --verify c.json --json c.json", "c.json"),
    ] {
        let before = folder.read(kept);
        folder.run(line).exits(2).says(&["would replace", "name another file"]);
        assert!(folder.read(kept) == before, "{line}");
    }
    folder.run("generate planted --n 5 --out x --json x").exits(2).says(&["name two files"]);
    folder.run("learn d.svm --quiet --resume m --model m").ok();
}

#[test]
fn a_folder_that_is_not_there_is_refused_before_anything_is_learned() {
    let folder = Folder::new();
    folder.write("d.svm", libsvm(20, 1, "binary"));
    for flag in ["json", "report", "model"] {
        let ran = folder.run(&format!("learn d.svm --{flag} nowhere/file"));
        assert!(!ran.exits(4).says(&["nowhere"]).err.contains("average"), "{flag}");
    }
}

#[test]
fn a_cache_without_weights_has_none() {
    let folder = Folder::new();
    folder.write("d.csv", "label,a,b\n1,2,3\n-1,1,0\n1,3,1\n");
    folder.run("convert d.csv d.arrow --quiet").ok();
    folder.run("learn d.arrow --weight b --quiet").exits(2).says(&["--weight b", "made with none"]);
}

#[test]
fn a_class_against_the_rest_is_two_classes_and_must_occur() {
    let folder = Folder::new();
    folder.write("d.svm", "1 1:1\n2 1:2\n3 1:3 2:1\n1 2:1\n2 2:2\n3 1:1\n");
    let told = folder.run("audit d.svm --class 2 --radius 5 --quiet --json -").ok().json();
    assert_eq!(told["loss"], "logistic");
    folder.run("audit d.svm --class 9 --radius 5 --quiet").exits(2).says(&["no example has that label"]);
}

/// Counts in the hundreds: one row that is predicted much too high would cost more than all others.
#[test]
fn the_default_learner_learns_counts() {
    let folder = Folder::new();
    let mut text = String::new();
    let mut random = Dice::new(3);
    for _ in 0..2000 {
        let (a, b, c) = (random.roll(), random.roll(), random.roll());
        let rate = (3.0 + 3.0 * a - b).exp();
        let count = (rate * (0.5 + random.roll())).round();
        let _ = writeln!(text, "{count} 1:{a:.4} 2:{b:.4} 3:{c:.4}");
    }
    folder.write("counts.svm", text);
    let told = folder.learn("counts.svm --loss poisson");
    let lost = told["average_loss"].as_f64().unwrap();
    assert!(lost < told["baseline"]["constant"].as_f64().unwrap(), "{lost}");
}
