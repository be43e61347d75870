//! `noregret separate` and `reproduce` from the outside: answers, exit codes, certificates.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The program with these arguments: exit code, standard output, standard error.
fn noregret(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("noregret").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let mut all = arguments.to_vec();
    all.extend(["--json", "-", "--quiet"]);
    let (code, out, err) = noregret(&all);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    fn hard(&self, n: u32) -> String {
        let path = self.path("hard.svm").display().to_string();
        assert_eq!(noregret(&["generate", "hard", "--n", &n.to_string(), "--out", &path]).0, 0);
        path
    }
}

const XOR: &str = "1 1:1 2:1\n1 1:-1 2:-1\n-1 1:1 2:-1\n-1 1:-1 2:1\n";
/// Not separable, and no two rows are opposite.
const TRIANGLE: &str = "1 1:1 2:0.1\n1 1:-0.3 2:1.7\n1 1:-0.9 2:-0.2\n1 1:0.3 2:-0.9\n";

#[test]
fn the_reference_counts_come_out() {
    let folder = Folder::new();
    for (n, mistakes, passes, iterations, rounds) in
        [(3, 21, 12, 57, 7), (5, 341, 172, 1201, 45), (8, 21845, 10924, 109_237, 489)]
    {
        let path = folder.hard(n);
        let (code, found) =
            json(&["separate", &path, "--method", "perceptron", "--no-bias", "--normalize", "none"]);
        assert_eq!((code, &found["separable"]), (0, &Value::Bool(true)));
        assert_eq!(found["mistakes"], mistakes);
        assert_eq!(found["rounds"], passes);
        assert_eq!(found["iterations"], iterations);
        let (code, found) = json(&["separate", &path, "--method", "optimistic", "--no-bias"]);
        assert_eq!(code, 0);
        assert!(found["rounds"].as_u64().unwrap().abs_diff(rounds) <= 1);
        let n = u64::from(n);
        assert_eq!(found["iterations"], n + found["rounds"].as_u64().unwrap() * (2 * n + 3));
        let theorems = found["theorems"].as_array().unwrap();
        assert_eq!(theorems.len(), 4);
        assert!(theorems.iter().all(|t| t["holds"] == true), "{theorems:?}");
    }
}

#[test]
fn exit_codes_and_keys_are_those_promised() {
    let folder = Folder::new();
    let easy = folder.file("easy.svm", "1 1:1\n-1 1:-1 2:0.5\n");
    let (code, found) = json(&["separate", &easy]);
    assert_eq!(code, 0);
    for key in [
        "separable",
        "margin",
        "method",
        "rounds",
        "iterations",
        "mistakes",
        "first_separating_round",
        "seconds",
        "examples",
        "dimension",
        "values",
        "theorems",
    ] {
        assert!(found.get(key).is_some(), "{key}");
    }
    assert_eq!((found["examples"].as_u64(), found["dimension"].as_u64()), (Some(2), Some(2)));
    assert_eq!(found["values"], "f64");
    assert!(found["margin"]["at_least"].as_f64() > Some(0.0));

    let (code, found) = json(&["separate", &folder.file("xor.svm", XOR)]);
    assert_eq!((code, &found["separable"]), (1, &Value::Bool(false)));
    assert_eq!(found["margin"]["at_least"], 0.0);

    let hard = folder.hard(9);
    let (code, found) =
        json(&["separate", &hard, "--method", "perceptron", "--no-bias", "--max-rounds", "5"]);
    assert_eq!((code, &found["separable"], &found["ended"]), (5, &Value::Null, &Value::from("rounds")));
    let (low, high) =
        (found["margin"]["at_least"].as_f64().unwrap(), found["margin"]["at_most"].as_f64().unwrap());
    assert!(low == 0.0 && high > 0.0033, "{low} {high}");
}

#[test]
fn a_tolerance_closes_the_bracket() {
    let folder = Folder::new();
    let path = folder.hard(8);
    let (code, found) = json(&["separate", &path, "--no-bias", "--tolerance", "0.001"]);
    assert_eq!(code, 0);
    let (low, high) =
        (found["margin"]["at_least"].as_f64().unwrap(), found["margin"]["at_most"].as_f64().unwrap());
    assert!(low < high && high - low <= 0.001 * high, "{low} {high}");
    // The margin of this set is (the length of) what the Perceptron ends with: 0.00676588.
    assert!(low <= 0.006_765_876 && 0.006_765_875 <= high);
}

#[test]
fn odd_inputs_get_sensible_answers() {
    let folder = Folder::new();
    for (text, flags, code) in [
        ("", vec![], 3),
        ("1 1:1\n", vec![], 0),
        ("1 1:1\n", vec!["--no-bias"], 0),
        ("1 1:1e6\n1 1:-1e6 2:3\n1 2:-2\n", vec![], 0),
        ("1\n-1\n", vec![], 1),
        ("1\n", vec!["--no-bias"], 1),
        ("1 1:1\n1 1:-2\n", vec!["--no-bias"], 1),
        ("1 1:1\n-1 1:1\n", vec![], 1),
        ("1 1:3e38\n-1 1:1e-38\n", vec!["--no-bias", "--max-seconds", "2"], 1),
        ("1 1:3e38\n-1 1:-1e-38\n", vec!["--no-bias"], 0),
        ("1 1:1\n2 1:1\n3 1:2\n", vec![], 3),
        ("1 1:1\n", vec!["--tolerance", "-1"], 2),
        ("1 1:1\n", vec!["--method", "nothing"], 2),
    ] {
        let path = folder.file("odd.svm", text);
        let mut arguments = vec!["separate", &path];
        arguments.extend(&flags);
        let (found, out, err) = noregret(&arguments);
        assert_eq!(found, code, "{text:?} {flags:?}\n{out}{err}");
    }
}

/// The two rows are one and the same to the nearest f32, and then not separable.
#[test]
fn rows_are_told_apart_beyond_f32() {
    assert_eq!("0.1".parse::<f32>(), "0.10000000001".parse::<f32>());
    let folder = Folder::new();
    for (name, text) in [
        ("close.svm", "1 1:0.1\n-1 1:0.10000000001\n"),
        ("close.csv", "y,a\n1,0.1\n-1,0.10000000001\n"),
        ("close.jsonl", "{\"y\":1,\"a\":0.1}\n{\"y\":-1,\"a\":0.10000000001}\n"),
        ("close.vw", "1 | a:0.1\n-1 | a:0.10000000001\n"),
    ] {
        let path = folder.file(name, text);
        // Few places for names, as a round takes time in proportion to them.
        let few = if name.ends_with("vw") || name.ends_with("jsonl") { &["--bits", "1"][..] } else { &[] };
        let certificate = folder.path("certificate.json").display().to_string();
        let search = ["separate", &path, "--method", "optimistic", "--certificate", &certificate];
        let (code, found) = json(&[&search[..], few].concat());
        assert_eq!((code, &found["separable"]), (0, &Value::Bool(true)), "{name} {found}");
        // Half the distance of the rows, which is 1e-11, is more than any plane can have.
        let margin = found["margin"]["at_least"].as_f64().unwrap();
        assert!(margin > 0.0 && margin < 5.1e-12, "{name} {margin:e}");
        let (code, found) = json(&[&["separate", &path, "--verify", &certificate][..], few].concat());
        assert_eq!((code, &found["values"]), (0, &Value::from("f64")), "{name}");
        // A change that f32 does not see is another data set.
        let other = folder.file(name, &text.replace("0.10000000001", "0.10000000002"));
        let check = ["separate", &other, "--verify", &certificate];
        assert_eq!(noregret(&[&check[..], few].concat()).0, 3, "{name}");
    }
    let path = folder.file("near.svm", "1 1:0.5\n-1 1:0.50000002\n");
    assert_eq!(json(&["separate", &path]).0, 0);
    // Without a bias both lie on one ray from 0, and their proof is exact in f64 as well.
    let path = folder.file("ray.svm", "1 1:0.1\n-1 1:0.10000000001\n");
    let (code, found) = json(&["separate", &path, "--no-bias"]);
    assert_eq!((code, &found["exact"]), (1, &Value::Bool(true)), "{found}");
}

#[test]
fn values_of_any_size_are_borne_or_refused() {
    let folder = Folder::new();
    for (text, flags, expected) in [
        ("1 1:1\n-1 1:1e71\n", vec![], 3),
        ("1 1:1\n-1 1:-1e71\n", vec!["--on-error", "skip"], 0),
        ("1 1:1\n-1 1:1e999\n", vec![], 3),
        ("1 1:1e69\n-1 1:-1e69\n", vec!["--no-bias"], 0),
        ("1 1:1e69\n-1 1:2e69\n", vec!["--no-bias"], 1),
        ("1 1:1e-200\n-1 1:-1e-200\n", vec!["--no-bias", "--normalize", "rows"], 0),
        ("1 1:1e-300\n-1 1:-1e-310\n", vec!["--no-bias"], 3),
        ("1 1:1e-300 2:1\n-1 1:-1e-310 2:-1\n", vec!["--no-bias"], 0),
        ("1 1:1e-300\n1 1:-1e-310\n", vec![], 0),
        ("1 1:1e-65\n-1 1:-2e-65 2:1e-66\n", vec!["--no-bias"], 0),
        ("1 1:1e-65\n-1 1:3e-65\n", vec!["--no-bias"], 1),
    ] {
        let path = folder.file("size.svm", text);
        let mut arguments = vec!["separate", &path];
        arguments.extend(&flags);
        let (code, out, err) = noregret(&arguments);
        assert_eq!(code, expected, "{text:?} {flags:?}\n{out}{err}");
    }
}

#[test]
fn a_certificate_is_checked_in_one_pass() {
    let folder = Folder::new();
    let easy = folder.file("easy.svm", "1 1:1 2:0.2\n-1 1:-1 2:0.5\n1 1:0.3 2:-4\n");
    for (name, text, flags, expected) in [
        ("easy.svm", None, vec![], 0),
        ("easy.svm", None, vec!["--normalize", "rows"], 0),
        ("easy.svm", None, vec!["--no-bias"], 0),
        ("xor.svm", Some(XOR), vec![], 1),
        ("xor.svm", Some(XOR), vec!["--normalize", "rows"], 1),
        ("triangle.svm", Some(TRIANGLE), vec!["--no-bias"], 1),
    ] {
        let path = text.map_or(easy.clone(), |text| folder.file(name, text));
        let certificate = folder.path("certificate.json").display().to_string();
        let mut arguments = vec!["separate", &path, "--certificate", &certificate];
        arguments.extend(&flags);
        let (code, out, err) = noregret(&arguments);
        assert_eq!(code, expected, "{out}{err}");
        let (code, out, err) = noregret(&["separate", &path, "--verify", &certificate]);
        assert_eq!(code, expected, "{flags:?}\n{out}{err}");
        assert!(out.starts_with("Valid"), "{out}");
        let (code, found) = json(&["separate", &path, "--verify", &certificate]);
        assert_eq!((code, &found["valid"]), (expected, &Value::Bool(true)));
    }
}

/// Writes a changed certificate and expects a refusal that says why.
fn assert_refused(path: &str, certificate: &Path, change: impl Fn(&mut Value), reason: &str) {
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(certificate).unwrap()).unwrap();
    change(&mut value);
    let changed = certificate.with_extension("changed");
    std::fs::write(&changed, value.to_string()).unwrap();
    let (code, out, err) = noregret(&["separate", path, "--verify", &changed.display().to_string()]);
    assert_eq!(code, 3, "{reason}: {out}{err}");
    assert!(err.contains(reason), "{reason}: {err}");
}

#[test]
fn a_separator_that_was_tampered_with_is_refused() {
    let folder = Folder::new();
    let path = folder.hard(6);
    let certificate = folder.path("c.json");
    noregret(&["separate", &path, "--no-bias", "--certificate", &certificate.display().to_string()]);
    let refused =
        |change: &dyn Fn(&mut Value), reason: &str| assert_refused(&path, &certificate, change, reason);
    refused(&|c| c["hyperplane"]["weights"][5][1] = (-1.0).into(), "claim not reached");
    refused(&|c| c["hyperplane"]["weights"][0][1] = 1e300.into(), "claim not reached");
    refused(&|c| c["margin"] = 0.5.into(), "claim not reached");
    refused(&|c| c["margin"] = (-0.5).into(), "margin");
    refused(&|c| c["examples"] = 5.into(), "6");
    refused(&|c| c["dimension"] = 7.into(), "7 features");
    refused(&|c| c["checksum"] = "xxh3:0000000000000000".into(), "checksum");
    refused(&|c| c["hyperplane"]["bias"] = 1.0.into(), "bias");
    refused(&|c| c["hyperplane"]["weights"] = Value::Array(Vec::new()), "zero");
    refused(&|c| c["claim"] = "not-separable".into(), "proof");
    refused(&|c| c["version"] = 2.into(), "version");
    refused(&|c| c["format"] = "something".into(), "not a certificate");
    refused(&|c| c["more"] = 1.into(), "not a certificate");
    // Other data: one value, one label, one row less.
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, reason) in [
        ("1:1\n", "1:1.0000001\n", "checksum"),
        ("-1 1:1 2:-1", "1 1:1 2:-1", "checksum"),
        ("1 1:1\n", "", "rows"),
    ] {
        let other = folder.file("other.svm", &text.replacen(from, to, 1));
        assert_refused(&other, &certificate, |_| {}, reason);
    }
}

#[test]
fn a_proof_that_was_tampered_with_is_refused() {
    let folder = Folder::new();
    let path = folder.file("triangle.svm", TRIANGLE);
    let certificate = folder.path("c.json");
    noregret(&["separate", &path, "--no-bias", "--certificate", &certificate.display().to_string()]);
    let refused =
        |change: &dyn Fn(&mut Value), reason: &str| assert_refused(&path, &certificate, change, reason);
    refused(&|c| c["proof"][0][1] = (-0.1).into(), "negative");
    refused(&|c| c["proof"][0][1] = 0.9.into(), "claim not reached");
    refused(&|c| c["proof"][0][0] = 4.into(), "ascend");
    refused(&|c| c["proof"][2][0] = 4.into(), "row 4");
    refused(&|c| c["proof"] = Value::Array(Vec::new()), "no rows");
    refused(&|c| c["margin"] = 0.0.into(), "claim not reached");
    refused(&|c| c["examples"] = 9.into(), "rows");
    refused(
        &|c| {
            c["proof"][0][1] = 0.9.into();
            c["margin"] = 1.0.into();
        },
        "floor",
    );
    refused(&|c| c["claim"] = "separable".into(), "hyperplane");
}

#[test]
fn the_experiment_of_the_paper_is_run_again() {
    let folder = Folder::new();
    let out = folder.path("figure").display().to_string();
    let (code, found) = json(&["reproduce", "figure-1", "--n", "6", "--out", &out]);
    assert_eq!(code, 0);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[4]["perceptron"]["mistakes"], 341);
    assert!(rows[4]["optimistic"]["rounds"].as_u64().unwrap().abs_diff(45) <= 1);
    assert!(std::fs::read_to_string(folder.path("figure/figure-1.svg")).unwrap().starts_with("<svg"));
    assert_eq!(std::fs::read_to_string(folder.path("figure/figure-1.csv")).unwrap().lines().count(), 7);
}
