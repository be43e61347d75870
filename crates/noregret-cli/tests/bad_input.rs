//! Bad input: the exit code, the place in the file, and what happens to the model.

mod support;

use support::{Folder, libsvm};

/// Runs `learn` on a file with this text: it must end with code 3 and say where and what.
#[track_caller]
fn refused(name: &str, text: impl AsRef<[u8]>, flags: &str, words: &[&str]) {
    let folder = Folder::new();
    folder.write(name, text);
    let ran = folder.run(&format!("learn {name} {flags}")).exits(3);
    assert_eq!(ran.out, "", "nothing but messages");
    ran.says(words);
}

#[test]
fn numbers_that_are_not_finite_are_refused_where_they_stand() {
    refused("a.svm", "+1 1:1\n-1 1:nan\n", "", &["a.svm:2:6: ", "nan"]);
    refused("a.svm", "+1 1:1\n-1 1:1 2:inf\n", "", &["a.svm:2:10: ", "inf"]);
    refused("a.svm", "+1 1:1\n-1 1:-Infinity\n", "", &["a.svm:2:6: "]);
    refused("a.svm", "+1 1:1e999\n", "", &["a.svm:1:6: ", "1e999"]);
    refused("a.svm", "nan 1:1\n", "--loss square", &["a.svm:1:1: ", "nan"]);
    refused("a.vw", "1 | a:1\n-1 | a:nan\n", "", &["a.vw:2:8: ", "nan"]);
    refused("a.vw", "1 inf | a:1\n", "", &["a.vw:1:3: ", "inf"]);
    refused("a.csv", "x,y\n1,1\nnan,0\n", "--label y", &["a.csv:3:1: ", "nan"]);
    refused("a.jsonl", "{\"x\":1e999,\"y\":1}\n", "--label y", &["a.jsonl:1:"]);
}

#[test]
fn indices_must_ascend_from_one() {
    refused("a.svm", "+1 2:1 1:1\n", "", &["a.svm:1:8: ", "1"]);
    refused("a.svm", "+1 2:1 2:1\n", "", &["a.svm:1:8: ", "2"]);
    refused("a.svm", "+1 0:1\n", "", &["a.svm:1:4: ", "--zero-based"]);
    refused("a.svm", "+1 -3:1\n", "", &["a.svm:1:4: "]);
    refused("a.svm", "+1 x:1\n", "--format libsvm", &["a.svm:1:4: "]);
    refused("a.svm", "+1 3\n", "--format libsvm", &["a.svm:1:4: "]);
}

#[test]
fn a_huge_index_names_the_flags_and_costs_no_memory() {
    refused("a.svm", "+1 4000000000:1\n", "", &["a.svm:1:4: ", "--bits", "--dimension"]);
    refused("a.svm", "+1 99999999999999999999:1\n", "", &["a.svm:1:4: "]);
    // Under a limit of 1 GB of memory for the whole process.
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:1\n-1 4000000000:1\n");
    let program = folder.command("").get_program().to_owned();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 1000000; exec \"$0\" learn a.svm --threads 1"])
        .arg(program)
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    support::Ran::new(&output).exits(3).says(&["a.svm:2:4: ", "--bits"]);
}

#[test]
fn a_label_that_the_loss_cannot_take_is_refused() {
    refused("a.svm", "3 1:1\n-1 1:1\n", "--loss poisson", &["a.svm:2:1: ", "-1", "--loss"]);
    refused(
        "a.svm",
        "1 1:1\n2 1:1\n3 1:1\n",
        "--loss hinge",
        &["a.svm:3:1: ", "third label", "3", "--loss square"],
    );
    refused("a.csv", "y,x\nred,1\n2,1\n", "--label y --loss square", &["a.csv:2:1: ", "red", "number"]);
    refused("a.csv", "y,x\nred,1\ngreen,1\nblue,2\n", "--label y", &["a.csv:4:1: ", "blue", "red", "green"]);
    refused("a.svm", "1 1:1\n 1:1\n", "--format libsvm", &["a.svm:2:"]);
}

#[test]
fn a_file_without_examples_is_refused() {
    refused("a.svm", "", "", &["a.svm:1:1: ", "empty"]);
    refused("a.svm", "\n\n# nothing\n", "", &["a.svm:1:1: "]);
    refused("a.csv", "x,y\n", "--label y", &["a.csv"]);
    refused("unnamed", "", "", &["unnamed:1:1: ", "empty"]);
}

#[test]
fn a_truncated_gzip_is_refused_after_the_examples_before_the_cut() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(libsvm(100_000, 1, "binary").as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let folder = Folder::new();
    folder.write("a.svm.gz", &bytes[..bytes.len() / 2]);
    let ran = folder.run("learn a.svm.gz --model m").exits(3);
    let ran = ran.says(&["a.svm.gz:", "gzip", "cut off", "model saved to m after"]);
    assert!(!ran.err.contains("after 0 examples"), "{}", ran.err);
    let header = folder.run("inspect m --json -").ok().json();
    assert!(header["examples"].as_u64().unwrap() > 1000);
}

#[test]
fn rubbish_is_refused() {
    let mut dice = support::Dice::new(7);
    let rubbish: Vec<u8> = (0..10_000).map(|_| (dice.roll() * 256.0) as u8).collect();
    refused("a.svm", &rubbish, "", &["a.svm:1:"]);
    refused("rubbish", &rubbish, "", &["rubbish:1:1: ", "--format"]);
    for format in ["libsvm", "vw", "csv", "tsv", "jsonl"] {
        let folder = Folder::new();
        folder.write("rubbish", &rubbish);
        folder.run(&format!("learn rubbish --format {format} --label y")).exits(3).says(&["rubbish:1:"]);
    }
}

#[test]
fn a_line_beyond_the_limit_is_refused() {
    let mut text = b"+1 1:1\n-1 2:1\n+1".to_vec();
    while text.len() < 70_000_000 {
        text.extend_from_slice(b" 1:1 ");
    }
    let folder = Folder::new();
    folder.write("a.svm", &text);
    let ran = folder.run("learn a.svm --threads 1 --model m").exits(3);
    ran.says(&["a.svm:3:", "line", "model saved to m after 2 examples"]);
}

#[test]
fn what_cannot_be_opened_is_an_io_error() {
    let folder = Folder::new();
    let ran = folder.run("learn missing.svm").exits(4);
    assert_eq!(ran.err, "noregret: missing.svm: no such file\n");
    folder.run("learn none-*.svm").exits(4).says(&["none-*.svm", "pattern"]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.run("learn folder").exits(4).says(&["folder", "directory"]);
    folder.write("a.svm", "+1 1:1\n");
    folder.run("learn a.svm missing.svm").exits(4).says(&["missing.svm"]);
    folder.run("predict missing.model a.svm").exits(4).says(&["missing.model"]);
    folder.run("inspect missing.model").exits(4).says(&["missing.model"]);
    folder.run("learn a.svm --resume missing.model").exits(4).says(&["missing.model"]);
}

#[test]
fn usage_errors_list_what_there_is() {
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:1\n");
    for (line, words) in [
        ("learn a.svm --learner sgd", &["sgd", "perceptron", "adagrad"][..]),
        ("learn a.svm --loss l2", &["l2", "logistic", "square"]),
        ("learn a.svm --comparator l3", &["l3", "l2", "simplex"]),
        ("learn a.svm --format xml", &["xml", "libsvm", "jsonl"]),
        ("learn a.svm --no-such-flag", &["--no-such-flag"]),
        ("learn a.svm --radius -1", &["--radius"]),
        ("learn a.svm --radius=-1", &["--radius", "-1", "greater than 0"]),
        ("learn a.svm --radius nan", &["--radius"]),
        ("learn a.svm --delta 2", &["--delta", "between 0 and 1"]),
        ("learn a.svm --learner ogd --eta zero", &["--eta", "zero"]),
        ("learn a.svm --passes 0", &["--passes"]),
        ("learn a.svm --bits 40", &["--bits"]),
        ("learn a.svm --on-error ignore", &["fail", "skip"]),
        ("learn", &["DATA"]),
        ("teach a.svm", &["teach"]),
        ("generate nothing", &["nothing", "planted", "drift"]),
        ("learners nobody", &["nobody", "perceptron"]),
        ("predict", &["MODEL"]),
    ] {
        folder.run(line).exits(2).says(words);
    }
}

#[test]
fn the_model_so_far_is_saved_and_says_how_much_it_has_seen() {
    let folder = Folder::new();
    folder.write("good.svm", "+1 1:1\n-1 2:1\n+1 1:2\n");
    folder.write("bad.svm", "+1 1:1\n-1 2:1\n+1 1:2\n-1 1:x\n+1 3:1\n");
    folder.run("learn good.svm --model good --quiet").ok();
    folder
        .run("learn bad.svm --model bad")
        .exits(3)
        .says(&["bad.svm:4:6: ", "model saved to bad after 3 examples"]);
    assert_eq!(folder.read("good"), folder.read("bad"));
}

#[test]
fn a_resumed_model_survives_a_bad_first_record() {
    let folder = Folder::new();
    folder.write("good.csv", "y,x,colour\n1,2,red\n0,1,blue\n");
    folder.write("bad.csv", "y,x,colour\n1,inf,red\n");
    folder.write("empty.csv", "");
    folder.run("learn good.csv --model m --quiet").ok();
    for bad in ["bad.csv", "empty.csv"] {
        let ran = folder.run(&format!("learn {bad} --resume m --model n")).exits(3);
        ran.says(&[bad, "model saved to n after 2 examples"]);
        assert!(folder.read("m") == folder.read("n"), "{bad}");
        std::fs::remove_file(folder.path("n")).unwrap();
    }
}

#[test]
fn a_model_that_has_seen_nothing_does_not_replace_an_old_one() {
    let folder = Folder::new();
    folder.write("good.svm", "+1 1:1\n");
    folder.write("bad.svm", "+1 1:x\n");
    folder.run("learn good.svm --model m --quiet").ok();
    let before = folder.read("m");
    folder.run("learn bad.svm --model m").exits(3);
    assert_eq!(folder.read("m"), before);
}

#[test]
fn a_learner_that_diverges_says_where_and_what_to_do() {
    let folder = Folder::new();
    let text: Vec<String> = (0..100).map(|k| format!("{} 1:{}\n", k % 7, 100 + k)).collect();
    folder.write("a.svm", text.concat());
    let flags = "--loss square --learner ogd --schedule constant --eta 10";
    let ran = folder.run(&format!("learn a.svm {flags} --model m")).exits(3);
    let ran = ran.says(&["noregret: a.svm:", "diverged", "--eta", "model saved to m after"]);
    let at: u64 = ran.err.split("a.svm:").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    let header = folder.run("inspect m --json -").ok().json();
    assert_eq!(header["examples"].as_u64().unwrap() + 1, at, "{}", ran.err);
}

#[test]
fn the_advice_names_a_flag_that_the_learner_has() {
    let folder = Folder::new();
    folder.write("a.svm", "900 1:100\n5 1:100\n7 1:100\n".repeat(30));
    let flags = "--loss square --learner strongly-convex-ogd --l2 0.001";
    let ran = folder.run(&format!("learn a.svm {flags}")).exits(3).says(&["diverged", "a larger --l2"]);
    assert!(!ran.err.contains("--eta"), "{}", ran.err);
}

#[test]
fn bad_records_are_skipped_counted_and_explained() {
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:1\n-1 1:nan\n-1 2:1\nfoo 1:1\n+1 3:1 2:1\n+1 3:1\n");
    folder.write("b.svm", "+1 1:1\n-1 2:1\n+1 3:1\n");
    let ran = folder.run("learn a.svm --on-error skip --json - --model a").ok();
    assert_eq!(ran.json()["skipped"], 3);
    assert_eq!(ran.json()["examples"], 3);
    let ran = ran.says(&["a.svm:2:6: ", "a.svm:4:1: ", "a.svm:5:", "3 bad records skipped"]);
    assert!(ran.err.contains("foo"), "{}", ran.err);
    folder.run("learn b.svm --model b --quiet").ok();
    assert_eq!(folder.read("a"), folder.read("b"));
    let ran = folder.run("predict a a.svm --on-error skip --json p.json").ok();
    assert_eq!(ran.out.lines().count(), 3);
    assert_eq!(folder.json("p.json")["skipped"], 3);
}

#[test]
fn nothing_but_bad_records_is_no_success() {
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:nan\n-1 1:nan\n");
    folder.run("learn a.svm --on-error skip --model m").exits(3).says(&["a.svm", "skipped"]);
}

#[test]
fn errors_in_later_files_name_that_file_and_its_own_lines() {
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:1\n-1 2:1\n");
    folder.write("b.svm", "+1 1:1\n\n-1 2:?\n");
    folder.run("learn a.svm b.svm").exits(3).says(&["b.svm:3:6: "]);
    folder.feed("learn a.svm -", "+1 1:1\n-1 2:?\n").exits(3).says(&["-:2:6: "]);
}
