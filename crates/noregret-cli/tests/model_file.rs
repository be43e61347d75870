//! Model files: damage of every kind is refused with a sentence, saving is whole or not at all, and
//! old files are read for ever.

mod support;

use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Instant;
use support::{Folder, Ran, libsvm};
use xxhash_rust::xxh3::xxh3_64;

fn with_model(flags: &str) -> (Folder, Vec<u8>) {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(50, 1, "binary"));
    folder.learn(&format!("a.svm --model m {flags}"));
    let bytes = folder.read("m");
    (folder, bytes)
}

/// Whether `inspect`, `predict` and `learn --resume` refuse a file of these bytes, with these words.
#[track_caller]
fn refused(folder: &Folder, bytes: &[u8], words: &[&str]) {
    folder.write("bad", bytes);
    for line in ["inspect bad", "predict bad a.svm", "learn a.svm --resume bad"] {
        let ran = limited(folder, line).exits(3);
        assert!(ran.err.starts_with("noregret: bad: ") && ran.err.trim_end().len() > 30, "{}", ran.err);
        ran.says(words);
    }
}

/// Runs with at most 1 GB of address space, so that a length that is believed shows.
fn limited(folder: &Folder, line: &str) -> Ran {
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""])
        .arg(folder.command("").get_program())
        .args(line.split_whitespace())
        .args(if line.starts_with("inspect") { &[][..] } else { &["--threads", "1"] })
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    Ran::new(&output)
}

/// A file as the container has it: preamble, header, sections, checksum.
fn build(version: u32, header: &str, length: u64, sections: &[u8]) -> Vec<u8> {
    let mut bytes = b"NOREGRET".to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(sections);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// A file taken apart: its header and the bytes of its sections.
fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    let header = serde_json::from_slice(&bytes[24..24 + length]).unwrap();
    (header, bytes[24 + length..bytes.len() - 8].to_vec())
}

fn rebuilt(header: &Value, sections: &[u8]) -> Vec<u8> {
    let text = header.to_string();
    build(1, &text, text.len() as u64, sections)
}

#[test]
fn a_file_put_together_again_is_the_same_file() {
    let (_, bytes) = with_model("--average");
    let (header, sections) = parts(&bytes);
    assert!(rebuilt(&header, &sections) == bytes);
}

#[test]
fn any_flipped_byte_is_noticed() {
    let (folder, bytes) = with_model("");
    let mut dice = support::Dice::new(1);
    for k in 0..200 {
        let at = if k < 40 { k } else { (dice.roll() * bytes.len() as f64) as usize };
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (k % 8);
        folder.write("bad", &damaged);
        let ran = folder.run("inspect bad").exits(3);
        let fits = match at {
            0..8 => "not a noregret model",
            8..12 => "version",
            _ => "checksum",
        };
        ran.says(&["bad: ", fits]);
    }
}

#[test]
fn a_file_cut_anywhere_is_noticed() {
    let (folder, bytes) = with_model("");
    for k in 0..50 {
        let length = bytes.len() * k / 50;
        folder.write("bad", &bytes[..length]);
        let ran = folder.run("inspect bad").exits(3);
        ran.says(&[if length < 8 { "not a noregret model" } else { "cut off" }]);
    }
    refused(&folder, &bytes[..bytes.len() - 1], &["cut off"]);
    refused(&folder, &[&bytes[..], b"x"].concat(), &["changed"]);
}

#[test]
fn a_newer_version_says_what_to_do() {
    let (folder, bytes) = with_model("");
    let (header, sections) = parts(&bytes);
    let text = header.to_string();
    refused(&folder, &build(2, &text, text.len() as u64, &sections), &["version 2", "newer"]);
    refused(&folder, &build(0, &text, text.len() as u64, &sections), &["version 0"]);
}

#[test]
fn what_is_no_model_says_so() {
    let (folder, _) = with_model("");
    refused(&folder, b"", &["not a noregret model", "learn --model"]);
    refused(&folder, b"+1 1:1\n-1 2:1\n", &["not a noregret model"]);
    // An endless file is not read to its end.
    limited(&folder, "inspect /dev/zero").exits(3).says(&["not a noregret model"]);
}

#[test]
fn lengths_are_not_believed() {
    let (folder, bytes) = with_model("");
    let (header, sections) = parts(&bytes);
    let text = header.to_string();
    for length in [u64::MAX, u64::MAX / 2, 1 << 40, text.len() as u64 + 1_000_000] {
        refused(&folder, &build(1, &text, length, &sections), &["header"]);
    }
    refused(&folder, &build(1, &text, text.len() as u64 - 1, &sections), &["header"]);
    for length in [u64::MAX, u64::MAX / 8, 1 << 61, 1 << 40, 10_000_000] {
        let mut header = header.clone();
        header["sections"][0]["length"] = json!(length);
        refused(&folder, &rebuilt(&header, &sections), &["damaged"]);
    }
    let mut short = header.clone();
    short["sections"][0]["length"] = json!(0);
    refused(&folder, &rebuilt(&short, &sections), &["section"]);
}

#[test]
fn a_header_that_cannot_be_true_is_refused() {
    let (folder, bytes) = with_model("");
    let (header, sections) = parts(&bytes);
    for (path, value) in [
        ("/dimension", json!(u64::MAX)),
        ("/dimension", json!(1_000_000_000_000_u64)),
        ("/dimension", json!(2)),
        ("/dimension", json!(-1)),
        ("/config/learner", json!("nobody")),
        ("/config/learner", json!("ridge")),
        ("/config/learner", json!("projected-ogd")),
        ("/config/loss", json!("nothing")),
        ("/config/loss", json!("square")),
        ("/config/bias", json!(false)),
        ("/config/radius", json!(-1)),
        ("/config/delta", json!(null)),
        ("/config/parameters", json!({"eta": -1.0})),
        ("/config/parameters", json!({"eta": "much"})),
        ("/config/parameters", json!({"other": 1.0})),
        ("/book/examples", json!(u64::MAX)),
        ("/book/rounds", json!(u64::MAX)),
        ("/book", json!(null)),
        ("/blocks/0/book/examples", json!(49)),
        ("/blocks/0/book/examples", json!(u64::MAX)),
        ("/blocks/0/start", json!(true)),
        ("/blocks", json!([])),
        ("/blocks", json!(7)),
        ("/tally/rows", json!(u64::MAX)),
        ("/tally", json!({})),
        ("/labels", json!({"task": "real"})),
        ("/labels", json!("two")),
        ("/state", json!(null)),
        ("/passes", json!(u64::MAX)),
        ("/fields", json!(["w"])),
        ("/fields", json!([])),
        ("/arrays", json!(["none"])),
        ("/sections", json!(null)),
        ("/sections/0/type", json!("f32")),
        ("/sections/0/name", json!("other")),
        ("/origin", json!({})),
        ("/base", json!(7)),
        ("/reading", json!(null)),
        ("/reading/schema/bits", json!(99)),
        ("/reading/bits", json!(4_000_000_000_u64)),
    ] {
        let mut changed = header.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path} in {header}")) = value.clone();
        folder.write("bad", rebuilt(&changed, &sections));
        for line in ["inspect bad", "learn a.svm --resume bad"] {
            let ran = limited(&folder, line);
            assert!(!ran.err.contains("panicked"), "{path} {value}: {}", ran.err);
            assert_eq!(ran.code, Some(3), "{path} {value}: {}", ran.err);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let (folder, bytes) = with_model("");
    let (header, sections) = parts(&bytes);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut sections = sections.clone();
        sections[8..16].copy_from_slice(&bad.to_le_bytes());
        refused(&folder, &rebuilt(&header, &sections), &["not finite"]);
    }
    let text = header.to_string().replacen("\"delta\":0.05", "\"delta\":1e999", 1);
    refused(&folder, &build(1, &text, text.len() as u64, &sections), &["header"]);
}

#[test]
fn random_damage_with_a_right_checksum_never_panics() {
    for flags in [
        "--average --learner projected-ogd",
        "--learner ridge",
        "--learner exponentiated",
        "--learner voted-perceptron",
        "--learner kernel-perceptron --kernel linear --budget 5",
        "--learner maxover --budget 5",
        "--learner vaw",
        "--learner arow --matrix full",
    ] {
        let (folder, bytes) = with_model(flags);
        let mut dice = support::Dice::new(3);
        for _ in 0..40 {
            let mut body = bytes[..bytes.len() - 8].to_vec();
            let at = 24 + (dice.roll() * (body.len() - 24) as f64) as usize;
            body[at] = (dice.roll() * 256.0) as u8;
            let checksum = xxh3_64(&body);
            body.extend_from_slice(&checksum.to_le_bytes());
            folder.write("bad", &body);
            for line in ["inspect bad", "predict bad a.svm --quiet", "learn a.svm --resume bad --quiet"] {
                let ran = limited(&folder, line);
                assert!(matches!(ran.code, Some(0 | 2 | 3)), "{line} at {at}: {:?} {}", ran.code, ran.err);
            }
        }
    }
}

#[test]
fn a_killed_program_leaves_the_old_model_or_the_new_one() {
    let folder = Folder::new();
    // Wide enough that writing takes a while.
    folder.write("old.svm", "+1 1:1 400000:1\n-1 2:1\n");
    folder.write("new.svm", "-1 3:1 500000:1\n+1 1:1\n-1 2:1\n");
    folder.learn("old.svm --model old");
    folder.learn("new.svm --model new");
    let (old, new) = (folder.read("old"), folder.read("new"));
    let began = Instant::now();
    folder.learn("new.svm --model timed");
    let usual = began.elapsed();
    let (mut kept, mut replaced) = (0, 0);
    for k in 0..40_u32 {
        folder.write("m", &old);
        let mut child = folder
            .command("learn new.svm --model m --quiet --threads 1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(usual * k / 36);
        child.kill().unwrap();
        child.wait().unwrap();
        let found = folder.read("m");
        kept += u32::from(found == old);
        replaced += u32::from(found == new);
    }
    assert_eq!(kept + replaced, 40);
    assert!(kept > 0, "never killed in time");
}

#[test]
fn a_place_that_cannot_be_written_is_an_io_error_before_anything_is_read() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(10, 1, "binary"));
    let ran = folder.run("learn a.svm --model nowhere/m").exits(4).says(&["nowhere/m"]);
    assert!(!ran.err.contains("examples"), "it has not begun: {}", ran.err);
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.run("learn a.svm --model folder").exits(4).says(&["folder", "directory"]);
    folder.run("learn a.svm --model folder/").exits(4).says(&["folder/", "directory"]);
    folder.run("learn a.svm --model /proc/m").exits(4).says(&["/proc/m"]);
}

#[test]
fn nothing_but_the_model_is_left_behind() {
    let (folder, _) = with_model("");
    let mut names: Vec<_> = std::fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a.svm", "m"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_device_a_device() {
    use std::os::unix::fs::FileTypeExt;
    let (folder, bytes) = with_model("");
    folder.write("real", "old");
    std::os::unix::fs::symlink("real", folder.path("link")).unwrap();
    folder.learn("a.svm --model link");
    assert!(folder.path("link").is_symlink());
    assert!(folder.read("real") == bytes);
    folder.learn("a.svm --model /dev/null");
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

/// Written by version 0.1.0 with
/// `learn kept.vw --bits 6 --learner projected-ogd --radius 5 --average --loss logistic --model format-1.model`.
const KEPT: &str = "\
1 2 |f sun:1.5 warm |w wind:-0.5
-1 |f rain warm:0.25
1 0.5 |f sun |w wind:2
-1 |f rain:3 |w wind
1 |f sun:0.75 dry
";

#[test]
fn a_file_of_format_1_is_read_with_the_same_predictions() {
    let folder = Folder::new();
    folder.write("kept.vw", KEPT);
    folder.write("m", include_bytes!("data/format-1.model"));
    // Products are summed in another order than they were then: the last digit may differ.
    let same = |flags: &str, then: &str| {
        let now = folder.run(&format!("predict m kept.vw --scores {flags} --quiet")).ok().numbers();
        let then: Vec<f64> = then.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(now.len(), then.len());
        for (a, b) in now.iter().zip(&then) {
            assert!((a - b).abs() <= 4.0 * f64::EPSILON * b.abs(), "{flags}: {a} was {b}");
        }
    };
    same("", include_str!("data/format-1.scores"));
    same("--averaged", include_str!("data/format-1.averaged-scores"));
    let header = folder.run("inspect m --json -").ok().json();
    assert_eq!(header["examples"], 5);
    assert_eq!(header["learner"], "projected-ogd");
    assert_eq!(header["heaviest"][0]["feature"], "f^sun");
    assert_eq!(folder.learn("kept.vw --resume m")["examples"], 10);
}
