//! `--interactions`, `--ignore` and `--keep`: what is multiplied by a flag is as if it had been multiplied in
//! the file, and a model reads rows as it learned them.

mod support;

use serde_json::Value;
use std::fmt::Write as _;
use support::{Dice, Folder, libsvm};

fn timeless(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("seconds").unwrap();
    summary
}

/// The exclusive or of two signs, which no linear model of the signs alone can tell: `plain.csv`, and
/// `written.csv` with the product as a column of its own; `plain.vw` beside them.
fn exclusive_or() -> Folder {
    let folder = Folder::new();
    let mut dice = Dice::new(5);
    let (mut plain, mut written, mut vw) = ("y,a,b,id\n".to_owned(), "y,a,b,a*b\n".to_owned(), String::new());
    for k in 0..400 {
        let mut number = || (dice.roll() * 16.0 - 8.0).floor() / 4.0 + 0.125;
        let (a, b) = (number(), number());
        let y = i8::from(a * b > 0.0);
        writeln!(plain, "{y},{a},{b},row{k}").unwrap();
        writeln!(written, "{y},{a},{b},{}", a * b).unwrap();
        writeln!(vw, "{y} |left x:{a} |right x:{b} |zoo id{k}").unwrap();
    }
    folder.write("plain.csv", plain);
    folder.write("written.csv", written);
    folder.write("plain.vw", vw);
    folder
}

#[test]
fn a_product_by_flag_is_the_product_in_the_file() {
    let folder = exclusive_or();
    let expected = timeless(folder.learn("written.csv --model written"));
    let found = timeless(folder.learn("plain.csv --interactions a*b --ignore id --model flag"));
    assert_eq!(found, expected);
    assert_eq!(timeless(folder.learn("plain.csv --interactions a*b --keep a,b")), expected);
    let scores = folder.run("predict written written.csv --scores").ok().out;
    assert_eq!(folder.run("predict flag plain.csv --scores").ok().out, scores);
    // The product is what tells the classes apart.
    let rate = |name: &str, data: &str| {
        folder.run(&format!("predict {name} {data} --quiet --json -")).ok().json()["error_rate"]
            .as_f64()
            .unwrap()
    };
    assert!(rate("flag", "plain.csv") < 0.1);
    folder.learn("plain.csv --ignore id --model alone");
    assert!(rate("alone", "plain.csv") > 0.2);
}

#[test]
fn products_of_namespaces_do_not_depend_on_threads_or_passes() {
    let folder = exclusive_or();
    let line = "plain.vw --interactions lr,zz --passes 2 --bits 12";
    let expected = timeless(folder.learn(&format!("{line} --threads 1 --model one")));
    assert_eq!(timeless(folder.learn(&format!("{line} --threads 4 --model four"))), expected);
    let scores = folder.run("predict one plain.vw --scores").ok().out;
    assert_eq!(folder.run("predict four plain.vw --scores --threads 3").ok().out, scores);
    folder.learn("plain.vw --interactions lr --ignore z --model names");
    let about = folder.run("inspect names").ok().out;
    for words in ["left^x*right^x", "interactions", "lr", "ignore"] {
        assert!(about.contains(words), "{about}");
    }
    assert!(!about.contains("zoo^"), "{about}");
}

#[test]
fn a_model_reads_rows_as_it_learned_them_and_refuses_flags_that_say_otherwise() {
    let folder = exclusive_or();
    let whole = timeless(folder.learn("plain.csv plain.csv --interactions a*b --ignore id --model whole"));
    folder.learn("plain.csv --interactions a*b --ignore id --model m");
    assert_eq!(timeless(folder.learn("plain.csv --resume m --model again"))["examples"], 800);
    let same = folder.run("predict whole plain.csv --scores").ok().out;
    assert_eq!(folder.run("predict again plain.csv --scores").ok().out, same);
    assert_eq!(
        folder.run("predict m plain.csv --interactions a*b --ignore id --scores").ok().out.lines().count(),
        400
    );
    assert_eq!(whole["examples"], 800);
    for (line, words) in [
        ("predict m plain.csv --interactions a*id", ["--interactions a*id", "a*b"]),
        ("predict m plain.csv --keep a", ["--keep a", "none"]),
        ("predict m plain.csv --ignore a,b", ["--ignore a,b", "id"]),
        ("learn plain.csv --resume m --ignore b", ["--ignore b", "id"]),
        ("audit plain.csv --model m --interactions b*b", ["--interactions b*b", "a*b"]),
    ] {
        folder.run(line).exits(2).says(&words);
    }
}

#[test]
fn a_wrong_name_is_an_error_or_is_told() {
    let folder = exclusive_or();
    folder
        .run("learn plain.csv --interactions a*hour")
        .exits(2)
        .says(&["--interactions hour", "`a`, `b`, `id`"]);
    folder.run("learn plain.csv --ignore hour").exits(2).says(&["--ignore hour", "`id`"]);
    folder.run("learn plain.csv --interactions ab").exits(2).says(&["`ab`", "joined by `*`"]);
    folder
        .run("learn plain.vw --ignore q,z --interactions lr")
        .ok()
        .says(&["--ignore q: nothing in the input"]);
    folder.write("a.jsonl", "{\"y\":1,\"a\":2}\n{\"y\":0,\"a\":3}\n");
    folder.run("learn a.jsonl --interactions a*b").ok().says(&["--interactions b: nothing"]);
    folder.write("a.svm", libsvm(20, 1, "binary"));
    for flag in ["--interactions 1*2", "--ignore 1", "--keep 1"] {
        folder
            .run(&format!("learn a.svm {flag}"))
            .exits(2)
            .says(&["libsvm has numbers for features", &flag[..6]]);
    }
    let help = folder.run("learn --help").ok().out;
    assert!(["--interactions", "--ignore", "--keep"].iter().all(|flag| help.contains(flag)), "{help}");
}

#[test]
fn every_command_that_reads_rows_multiplies() {
    let folder = exclusive_or();
    let json = |line: &str| folder.run(&format!("{line} --quiet --json -")).ok().json();
    let loss = |line: &str| {
        let audit = json(&format!("audit {line} --loss logistic --radius 10"));
        audit["best"]["at_most"].as_f64().unwrap()
    };
    let (by_flag, by_hand) = (loss("plain.csv --interactions a*b --ignore id"), loss("written.csv"));
    assert!(by_flag == by_hand && by_flag < loss("plain.csv --ignore id"));
    let flags = "--interactions a*b --ignore id";
    let compared = json(&format!("compare plain.csv {flags} --learners auto,perceptron"));
    let other = json("compare written.csv --learners auto,perceptron");
    assert_eq!(compared["runs"][0]["average_loss"], other["runs"][0]["average_loss"]);
    let separated = json(&format!("separate plain.csv {flags}"));
    assert_eq!(separated["margin"], json("separate written.csv")["margin"]);
    assert_eq!(separated["separable"], true);
}
