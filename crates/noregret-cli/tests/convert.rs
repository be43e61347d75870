//! `noregret convert`, and learning from what it writes.

mod support;

use std::io::Write as _;
use support::Folder;

/// Text with two labels, weights and names: enough for more than one block when it is repeated.
fn text(rows: usize) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for k in 0..rows {
        let y = if (k * 7) % 5 < 2 { "spam" } else { "ham" };
        let _ = writeln!(
            text,
            "{y} {}:{} {}:{}",
            1 + k % 50,
            (k % 17) as f64 / 8.0 - 1.0,
            60 + k % 13,
            0.1 + k as f64
        );
    }
    text
}

#[test]
fn a_model_from_a_cache_is_the_model_from_the_text() {
    let folder = Folder::new();
    folder.write("a.svm", text(60_000));
    let csv: Vec<String> =
        (0..300).map(|k| format!("{},{},c{}", k % 3 == 0, k as f64 / 7.0, k % 4)).collect();
    folder.write("b.csv", format!("y,n,word\n{}\n", csv.join("\n")));
    let vw = (0..300).map(|k| format!("{} {} |s w{} v:{}", k % 2 * 2 - 1, 1 + k % 3, k % 40, k % 9));
    folder.write("c.vw", vw.collect::<Vec<_>>().join("\n") + "\n");
    for (source, flags) in [("a.svm", ""), ("b.csv", "--bits 12"), ("c.vw", "--bits 20")] {
        for cache in ["cache.arrow", "cache.parquet"] {
            folder.run(&format!("convert {source} {cache} {flags}")).ok();
            for (learner, more) in
                [("auto", ""), ("projected-ogd", "--loss hinge --passes 3"), ("adagrad", "--average")]
            {
                let learn = |data: &str, flags: &str, threads: u32| {
                    let line = format!(
                        "learn {data} {flags} --learner {learner} {more} --threads {threads} --model m --quiet --json -"
                    );
                    let mut summary = folder.run(&line).ok().json();
                    summary["seconds"] = serde_json::Value::Null;
                    (folder.read("m"), summary)
                };
                let expected = learn(source, flags, 2);
                for threads in 1..=3 {
                    let found = learn(cache, "", threads);
                    assert_eq!(found.1, expected.1, "{cache} of {source}, {learner}");
                    assert!(found.0 == expected.0, "{cache} of {source}, {learner}: another model");
                }
            }
            // And either predicts from either.
            let scores = folder.run(&format!("predict m {source} --scores")).ok().out;
            assert_eq!(folder.run(&format!("predict m {cache} --scores")).ok().out, scores);
        }
    }
}

#[test]
fn text_comes_back_as_it_was() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:0.5 3:1e-7\n-1 2:7\n1\n");
    for through in ["a.arrow", "a.parquet"] {
        folder.run(&format!("convert a.svm {through}")).ok();
        folder
            .run(&format!("convert {through} b.svm"))
            .ok()
            .says(&["3 examples with 3 values written to b.svm"]);
        assert_eq!(folder.read("b.svm"), folder.read("a.svm"));
    }
    let piped = folder.feed("convert - - --to vw --quiet", "1 1:0.5\n").ok();
    assert_eq!(piped.out, "1 | 1:0.5\n");
}

#[test]
fn a_cache_goes_through_a_pipe_and_through_gzip() {
    let folder = Folder::new();
    folder.write("a.vw", "1 | a b\n-1 | c\n");
    folder.run("convert a.vw a.arrow").ok();
    folder.run("learn a.arrow --model m --quiet").ok();
    let model = folder.read("m");
    folder.feed("learn - --model m --quiet", folder.read("a.arrow")).ok();
    assert!(folder.read("m") == model);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&folder.read("a.arrow")).unwrap();
    folder.write("a.arrow.gz", packed.finish().unwrap());
    folder.run("learn a.arrow.gz --model m --quiet").ok();
    assert!(folder.read("m") == model);
    let mut damaged = folder.read("a.arrow");
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    folder.feed("learn - --quiet", damaged).exits(3).says(&["-:"]);
}

#[test]
fn the_summary_tells_what_was_written() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:0.5 9:1\nx y\n-1 2:7\n");
    let summary = folder.run("convert a.svm a.arrow --on-error skip --quiet --json -").ok().json();
    assert_eq!(summary["examples"], 2);
    assert_eq!(summary["nonzeros"], 3);
    assert_eq!(summary["dimension"], 9);
    assert_eq!(summary["skipped"], 1);
    assert_eq!(summary["to"], "arrow");
    assert_eq!(summary["values"], "f32");
}

#[test]
fn labels_and_weights_that_come_late_find_their_columns() {
    let folder = Folder::new();
    let mut late = "1 | a\n".repeat(400_000);
    late += "yes 2 | b\n";
    folder.write("a.vw", &late);
    folder.run("convert a.vw a.arrow --quiet").ok();
    folder.run("convert a.arrow b.vw --quiet").ok();
    let back = String::from_utf8(folder.read("b.vw")).unwrap();
    assert!(back.ends_with("\nyes 2 | 163331:1\n"), "{}", &back[back.len() - 40..]);
    folder.feed("convert - b.arrow", &late).exits(3).says(&["-:", "write it to a file first"]);
    assert!(!folder.path("b.arrow").exists());
}

#[test]
fn nothing_is_left_of_what_fails_and_no_input_is_replaced() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:0.5\n-1 bad\n");
    folder.run("convert a.svm b.arrow").exits(3).says(&["a.svm:2:4"]);
    folder.run("convert a.svm a.svm").exits(2).says(&["OUT a.svm would replace the input"]);
    folder.run("convert a.svm b.xyz").exits(2).says(&["--to", "arrow"]);
    folder.run("convert a.svm b.csv --on-error skip").exits(2).says(&["CSV names features", "convert to"]);
    folder.run("convert a.svm nowhere/b.arrow --on-error skip").exits(4);
    let left = std::fs::read_dir(folder.path(".")).unwrap().count();
    assert_eq!(left, 1);
}

#[test]
fn separate_needs_a_cache_of_f64() {
    let folder = Folder::new();
    folder.write("a.svm", "1 1:0.1 2:0.7\n-1 1:0.3\n");
    folder.run("convert a.svm a.arrow").ok();
    folder.run("separate a.arrow").exits(3).says(&["--f64"]);
    folder.run("convert a.svm a.arrow --f64").ok();
    let [text, cache] = ["a.svm", "a.arrow"].map(|data| {
        folder.run(&format!("separate {data} --certificate c --quiet")).ok();
        folder.read("c")
    });
    assert_eq!(text, cache);
}

#[test]
fn audit_and_compare_read_a_cache() {
    let folder = Folder::new();
    folder.write("a.svm", text(500));
    folder.run("convert a.svm a.arrow").ok();
    let [text, cache] = ["a.svm", "a.arrow"].map(|data| {
        let audit = folder.run(&format!("audit {data} --loss hinge --radius 1 --quiet --json -")).ok().json();
        let compare = folder.run(&format!("compare {data} --learners ogd,ftrl --quiet --json -")).ok().json();
        (
            audit["best"].clone(),
            compare["runs"][0]["average_loss"].clone(),
            compare["runs"][1]["certificate"].clone(),
        )
    });
    assert_eq!(text, cache);
}
