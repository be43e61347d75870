//! Regret since: certificates over recent parts of the stream, as the user meets them.

mod support;

use support::{Folder, libsvm};

fn drift(n: usize) -> Folder {
    let folder = Folder::new();
    folder.run(&format!("generate drift --n {n} --seed 7 --out d.svm")).ok();
    folder
}

#[test]
fn a_change_of_regime_is_seen_in_the_table_and_the_summary() {
    let folder = drift(16_000);
    let flags = "--learner projected-ogd --radius 3 --loss hinge";
    let ran = folder.run(&format!("learn d.svm {flags} --json s.json")).ok();
    let summary = folder.json("s.json");
    let windows = summary["windows"].as_array().unwrap();
    let number = |k: usize, key: &str| windows[k][key].as_f64().unwrap();
    let last = windows.len() - 1;
    assert_eq!((number(0, "from"), number(0, "examples")), (1.0, 16_000.0));
    assert_eq!(windows[0]["best_at_least"], summary["certificate"]["best_at_least"]);
    assert!(last >= 3 && number(last, "from") > 8000.0, "{windows:?}");
    assert!(number(last, "best_at_least") < number(0, "best_at_least") - 0.02, "{windows:?}");
    for (k, window) in windows.iter().enumerate() {
        assert_eq!(number(k, "from") + number(k, "examples"), 16_001.0);
        let difference = number(k, "average_loss") - number(k, "regret_at_most") - number(k, "best_at_least");
        assert!(difference.abs() < 1e-9);
        assert!(ran.out.lines().any(|l| l.trim_start().starts_with(&format!("{} ", window["from"]))));
    }
    assert!(ran.out.contains("regret since"), "{}", ran.out);
}

#[test]
fn windows_go_on_when_a_model_is_resumed() {
    let folder = Folder::new();
    let text = libsvm(5000, 11, "binary");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    folder.write("all.svm", &text);
    for flags in ["", "--windows", "--windows=no", "--learner ftrl", "--learner ridge --loss square"] {
        let whole = folder.learn(&format!("all.svm {flags} --model whole"));
        let told = whole["windows"].as_array().unwrap().len();
        assert_eq!(told > 2, flags != "--windows=no", "{flags}: {told}");
        for cut in [1, 1023, 1024, 2500, 4096] {
            folder.write("first.svm", lines[..cut].concat());
            folder.write("second.svm", lines[cut..].concat());
            folder.learn(&format!("first.svm {flags} --model part"));
            let resumed = folder.learn("second.svm --resume part --model both");
            assert_eq!(resumed["windows"], whole["windows"], "{flags} cut after {cut}");
            assert_eq!(resumed["certificate"], whole["certificate"], "{flags} cut after {cut}");
            assert!(folder.read("whole") == folder.read("both"), "{flags} cut after {cut}");
        }
    }
}

#[test]
fn windows_can_be_turned_on_and_off_at_a_resume() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(2000, 12, "binary"));
    let from = |summary: &serde_json::Value| -> Vec<u64> {
        summary["windows"].as_array().unwrap().iter().map(|w| w["from"].as_u64().unwrap()).collect()
    };
    folder.learn("a.svm --windows=no --model off");
    assert_eq!(from(&folder.learn("a.svm --resume off")), [1]);
    assert_eq!(from(&folder.learn("a.svm --resume off --windows --model on"))[..2], [1, 2001]);
    assert_eq!(from(&folder.learn("a.svm --resume on --windows=no")), [1]);
    folder.run("learn a.svm --windows=maybe").exits(2).says(&["maybe", "yes"]);
    // Without `=` the flag takes no value, and the next word is a file.
    assert!(folder.learn("--windows a.svm")["windows"].is_array());
}

#[test]
fn a_model_from_before_there_were_windows_begins_them_where_it_is_resumed() {
    let folder = Folder::new();
    folder.write("m", include_bytes!("data/format-1.model"));
    folder.write("more.vw", "1 |f sun:1.5 warm\n-1 |f rain |w wind\n".repeat(800));
    let summary = folder.learn("more.vw --resume m");
    let windows = summary["windows"].as_array().unwrap();
    assert_eq!((&windows[0]["from"], &windows[0]["examples"]), (&1.into(), &1605.into()));
    assert_eq!((&windows[1]["from"], &windows[1]["examples"]), (&6.into(), &1600.into()));
}

#[test]
fn the_blocks_of_a_model_add_up_to_its_book() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(3000, 13, "binary"));
    folder.learn("a.svm --model m");
    let header = folder.run("inspect m --json -").ok().json();
    let blocks = header["blocks"].as_array().unwrap();
    let examples = |book: &serde_json::Value| book["examples"].as_u64().unwrap();
    assert!(blocks.len() > 1);
    assert_eq!(blocks.iter().map(|b| examples(&b["book"])).sum::<u64>(), examples(&header["book"]));
}
