//! Save, resume, and nothing is different: the model files are the same byte for byte.

mod support;

use support::{Folder, averages, libsvm, needed, pairs, task_of, vw};

/// Learns `text` at once and in two parts cut after `cut` lines, and compares.
fn same(folder: &Folder, file: &str, text: &str, cut: usize, flags: &str) {
    let what = format!("{flags} cut after {cut}");
    let at: usize = text.split_inclusive('\n').take(cut).map(str::len).sum();
    let (first, second) = (format!("first-{file}"), format!("second-{file}"));
    folder.write(file, text);
    folder.write(&first, &text[..at]);
    folder.write(&second, &text[at..]);
    let whole = folder.learn(&format!("{file} {flags} --model whole"));
    folder.learn(&format!("{first} {flags} --model part"));
    let resumed = folder.learn(&format!("{second} --resume part --model both"));
    assert!(folder.read("whole") == folder.read("both"), "{what}: the model files differ");
    let lines = text.lines().count();
    assert_eq!(resumed["examples"], lines, "{what}");
    assert_eq!(resumed["examples_this_run"], lines - cut, "{what}");
    for key in ["certificate", "average_loss", "mistakes", "error_rate", "bound", "risk", "baseline", "auc"] {
        assert_eq!(resumed[key], whole[key], "{what}: {key}");
    }
}

#[test]
fn every_learner_resumes_bit_for_bit() {
    let folder = Folder::new();
    let mut seen = Vec::new();
    for (learner, loss) in pairs(&folder) {
        // One loss each is enough, except that some state exists for logistic loss alone.
        if seen.contains(&learner) && loss != "logistic" {
            continue;
        }
        seen.push(learner.clone());
        let text = libsvm(120, 6, task_of(&loss));
        let flags = format!("--learner {learner} --loss {loss} {}", needed(&learner));
        for cut in [1, 37, 64, 119] {
            same(&folder, "a.svm", &text, cut, &flags);
        }
        if averages(&folder, &learner) {
            for cut in [1, 50] {
                same(&folder, "a.svm", &text, cut, &format!("{flags} --average"));
            }
        }
    }
    assert!(seen.len() >= 10);
}

#[test]
fn settings_and_comparators_survive() {
    let folder = Folder::new();
    let text = libsvm(90, 7, "binary");
    for flags in [
        "--learner exponentiated --comparator simplex --dimension 5 --loss logistic",
        "--learner projected-ogd --radius 0.5 --average --loss hinge",
        "--learner ogd --schedule constant --eta 0.25 --loss hinge --no-bias",
        "--learner adagrad --comparator ridge --l2 0.5 --loss logistic",
        "--learner ogd --comparator ridge --l2 0.5 --loss squared-hinge",
        "--learner ftrl --ball no --loss hinge --row-bound 5 --delta 0.01",
        "--learner follow-the-leader --set box --radius 1",
        "--learner adagrad --loss quantile --tau 0.9",
        "--learner ogd --loss huber --huber-delta 0.5",
        "--learner auto --tracking yes --average",
        "--learner auto --loss hinge",
        "--learner auto --loss huber --huber-delta 0.5",
        "--learner auto --loss square --label-bound 3 --average",
        "--learner arow --matrix full --r 0.5 --loss squared-hinge",
        "--learner newton --matrix full --loss logistic --radius 0.5 --beta 0.1",
        "--learner newton --loss square",
        "--learner kernel-perceptron --kernel linear --budget 7",
        "--learner kernel-perceptron --kernel rbf --gamma 0.1 --budget 5 --no-bias",
        "--learner maxover --budget 4 --kappa 2",
        "--learner voted-perceptron --loss perceptron --no-bias",
    ] {
        if folder.run(&format!("learn missing.svm {flags}")).code == Some(2) {
            continue; // The learner does not know its norm, which `ridge` needs.
        }
        same(&folder, "a.svm", &text, 41, flags);
    }
}

#[test]
fn named_features_weights_and_rows_of_weight_zero_survive() {
    let folder = Folder::new();
    for learner in ["auto", "adagrad", "projected-ogd", "exponentiated", "perceptron"] {
        let text = vw(80, 8, "binary");
        same(&folder, "a.vw", &text, 33, &format!("--learner {learner}"));
    }
    // Nothing but a row without weight before the cut.
    let text = "1 0 | a b\n-1 | b c\n1 | a c\n";
    for learner in ["adagrad", "projected-ogd", "exponentiated", "perceptron", "ftrl", "ogd"] {
        same(&folder, "a.vw", text, 1, &format!("--learner {learner}"));
    }
}

#[test]
fn columns_keep_their_places() {
    let folder = Folder::new();
    folder.write("a.csv", "y,x,colour\n1,0.5,red\n0,2,green\n");
    folder.write("b.csv", "colour,y,x\nred,0,1\nblue,1,3\n");
    folder.write("both.csv", "y,x,colour\n1,0.5,red\n0,2,green\n0,1,red\n1,3,blue\n");
    folder.learn("both.csv --label y --model whole");
    folder.learn("a.csv --label y --model part");
    folder.learn("b.csv --resume part --model both");
    let scores = |model: &str| folder.run(&format!("predict {model} both.csv --scores --quiet")).ok().out;
    assert_eq!(scores("whole"), scores("both"));
}

#[test]
fn resuming_twice_is_resuming_once() {
    let folder = Folder::new();
    let text = libsvm(60, 9, "binary");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    folder.write("all.svm", &text);
    folder.learn("all.svm --model whole");
    for (k, part) in lines.chunks(20).enumerate() {
        folder.write("part.svm", part.concat());
        let resume = if k == 0 { "" } else { "--resume m" };
        folder.learn(&format!("part.svm {resume} --model m"));
    }
    assert!(folder.read("whole") == folder.read("m"));
}

#[test]
fn a_model_of_several_passes_goes_on() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(100, 10, "binary"));
    folder.write("b.svm", libsvm(50, 11, "binary"));
    for learner in ["projected-ogd", "adagrad", "perceptron", "exponentiated"] {
        let first = folder.learn(&format!("a.svm --learner {learner} --passes 3 --model m"));
        let summary = folder.learn("b.svm --resume m --model n");
        assert_eq!(first["examples"], 100);
        assert_eq!(summary["examples"], 150);
        assert_eq!(summary["passes"], 3);
        let told = folder.run("predict n a.svm b.svm --json - --quiet").ok().json();
        let best = summary["certificate"]["best_at_least"].as_f64().unwrap();
        assert!(best <= told["average_loss"].as_f64().unwrap() + 1e-12, "{learner}");
        folder.learn("b.svm --resume n --model o");
    }
    folder.run("learn b.svm --resume m --passes 2").exits(2).says(&["--passes", "--resume"]);
}

#[test]
fn a_flag_that_contradicts_the_model_is_named() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(20, 12, "binary"));
    folder.write("a.csv", "y,x,z\n1,0.5,1\n0,2,3\n");
    folder.learn("a.svm --learner projected-ogd --radius 3 --eta 0.5 --loss hinge --model m");
    folder.learn("a.csv --label y --model csv");
    for (line, words) in [
        ("a.svm --resume m --learner ogd", &["--learner ogd", "projected-ogd"][..]),
        ("a.svm --resume m --loss logistic", &["--loss logistic", "hinge"]),
        ("a.svm --resume m --radius 4", &["--radius 4", "3"]),
        ("a.svm --resume m --eta 0.25", &["--eta 0.25", "0.5"]),
        ("a.svm --resume m --gradient-bound 2", &["--gradient-bound 2"]),
        ("a.svm --resume m --horizon 2", &["--horizon", "subgradient"]),
        ("a.svm --resume m --comparator l1", &["--comparator l1", "l2"]),
        ("a.svm --resume m --l2 0.1", &["--l2 0.1", "none"]),
        ("a.svm --resume m --delta 0.1", &["--delta 0.1", "0.05"]),
        ("a.svm --resume m --row-bound 2", &["--row-bound 2", "none"]),
        ("a.svm --resume m --label-bound 2", &["--label-bound 2", "none"]),
        ("a.svm --resume m --average", &["--average contradicts", "no average"]),
        ("a.svm --resume m --no-bias", &["--no-bias contradicts", "a bias"]),
        ("a.svm --resume m --positive=-1", &["--positive -1", "1"]),
        ("a.svm --resume m --zero-based", &["--zero-based contradicts", "from 1"]),
        ("a.svm --resume m --bits 10", &["--bits 10"]),
        ("a.svm --resume m --dimension 10", &["--dimension 10"]),
        ("a.csv --resume csv --label z", &["--label z", "y"]),
        ("a.csv --resume csv --weight z", &["--weight z", "feature"]),
        ("a.csv --resume m --label y", &["libsvm", "csv"]),
        ("a.svm --resume csv", &["named features", "LIBSVM"]),
    ] {
        folder.run(&format!("learn {line}")).exits(2).says(words);
    }
}

#[test]
fn a_flag_that_repeats_the_model_is_welcome() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(20, 12, "binary"));
    folder.learn("a.svm --learner projected-ogd --eta 0.5 --loss hinge --average --no-bias --model m");
    let repeated =
        "--learner projected-ogd --eta 0.50 --loss hinge --average --no-bias --radius 10 --comparator l2";
    folder.learn(&format!("a.svm --resume m --delta 0.05 --positive +1 {repeated}"));
    folder.learn("a.svm --learner ftrl --loss hinge --model m");
    folder.learn("a.svm --resume m --ball yes");
}

#[test]
fn the_table_goes_on_at_the_next_power_of_two() {
    let folder = Folder::new();
    folder.write("a.svm", libsvm(100, 1, "binary"));
    folder.learn("a.svm --model m");
    let summary = folder.learn("a.svm --resume m");
    let at: Vec<u64> =
        summary["history"].as_array().unwrap().iter().map(|r| r["examples"].as_u64().unwrap()).collect();
    assert_eq!(at, [128, 200]);
    let ran = folder.run("learn a.svm --resume m").ok().says(&["resumed after 100 examples"]);
    assert!(ran.out.contains("100 in ") && ran.out.contains("200 with those before"), "{}", ran.out);
}
