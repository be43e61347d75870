//! What `learn` reads: several files, patterns, standard input, compressed files and every format give
//! the same stream where they hold the same examples.

mod support;

use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write;
use support::{Folder, libsvm};

/// The summary without what differs from run to run.
fn timeless(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("seconds").unwrap();
    summary
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A Zstandard frame (RFC 8878) of one raw block: magic number, a descriptor that says that the
/// content size stands in one byte of a single segment, the size, the block's header, the bytes.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let size = u8::try_from(bytes.len()).unwrap();
    let block = (u32::from(size) << 3) | 1;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, size];
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(bytes);
    frame
}

#[test]
fn several_files_patterns_and_standard_input_are_one_stream() {
    let folder = Folder::new();
    let (a, b, c) = (libsvm(50, 1, "binary"), libsvm(60, 2, "binary"), libsvm(70, 3, "binary"));
    folder.write("part-1.svm", &a);
    folder.write("part-2.svm", &b);
    folder.write("part-3.svm", &c);
    let all = format!("{a}{b}{c}");
    folder.write("all.svm", &all);
    let expected = timeless(folder.learn("all.svm"));
    assert_eq!(expected["examples"], 180);
    assert_eq!(timeless(folder.learn("part-1.svm part-2.svm part-3.svm")), expected);
    // The words go to the program as they are, so the pattern is not expanded by a shell.
    assert_eq!(timeless(folder.learn("part-*.svm")), expected);
    assert_eq!(timeless(folder.learn("part-[12].svm part-3.svm")), expected);
    let from_pipe = folder.feed("learn - --quiet --json -", &all).ok().json();
    assert_eq!(timeless(from_pipe), expected);
    let mixed = folder.feed("learn part-1.svm - part-3.svm --quiet --json -", &b).ok().json();
    assert_eq!(timeless(mixed), expected);
    folder.feed("learn - - --quiet", &b).exits(2).says(&["twice"]);
}

#[test]
fn compressed_files_are_recognised_by_content() {
    let folder = Folder::new();
    let text = libsvm(4, 1, "binary");
    folder.write("a.svm", &text);
    let expected = timeless(folder.learn("a.svm"));
    folder.write("a.svm.gz", gzip(text.as_bytes()));
    folder.write("a.svm.zst", zstd(text.as_bytes()));
    folder.write("no-ending", gzip(text.as_bytes()));
    // Two members, cut in the middle of a line.
    let (head, tail) = text.as_bytes().split_at(text.len() / 2);
    folder.write("two.gz", [gzip(head), gzip(tail)].concat());
    for name in ["a.svm.gz", "a.svm.zst", "no-ending", "two.gz"] {
        assert_eq!(timeless(folder.learn(name)), expected, "{name}");
    }
    let piped = folder.feed("learn - --quiet --json -", gzip(text.as_bytes())).ok().json();
    assert_eq!(timeless(piped), expected);
}

#[test]
fn every_format_tells_the_same_story() {
    let folder = Folder::new();
    folder.write("a.svm", "+1 1:0.5 2:2\n-1 2:1.5\n+1 1:-1\n");
    folder.write("a.vw", "1 | a:0.5 b:2\n-1 | b:1.5\n1 | a:-1\n");
    folder.write("a.csv", "a,b,y\n0.5,2,1\n,1.5,-1\n-1,,1\n");
    folder.write("a.tsv", "a\tb\ty\n0.5\t2\t1\n\t1.5\t-1\n-1\t\t1\n");
    folder.write("a.jsonl", "{\"a\":0.5,\"b\":2,\"y\":1}\n{\"b\":1.5,\"y\":-1}\n{\"a\":-1,\"y\":1}\n");
    let expected = folder.learn("a.svm");
    for (file, format, flags) in [
        ("a.svm", "libsvm", ""),
        ("a.vw", "vw", ""),
        ("a.csv", "csv", "--label y"),
        ("a.tsv", "tsv", "--label y"),
        ("a.jsonl", "jsonl", "--label y"),
    ] {
        folder.write("unnamed", folder.read(file));
        for line in [format!("{file} {flags}"), format!("unnamed --format {format} {flags}")] {
            let summary = folder.learn(&line);
            assert_eq!(summary["format"], format, "{line}");
            for key in ["examples", "nonzeros", "average_loss", "error_rate", "certificate", "mistakes"] {
                assert_eq!(summary[key], expected[key], "{line}: {key}");
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = Folder::new();
    // Several blocks.
    folder.write("a.svm", libsvm(80_000, 1, "binary"));
    let one = timeless(folder.learn("a.svm --threads 1 --model one"));
    let three = timeless(folder.learn("a.svm --threads 3 --model three"));
    assert_eq!(one, three);
    assert_eq!(folder.read("one"), folder.read("three"));
}

#[test]
fn the_order_of_features_in_a_line_does_not_matter_where_any_is_allowed() {
    let folder = Folder::new();
    folder.write("a.vw", "1 | a:0.5 b:2 c:3\n-1 | b:1.5 c:1 a:2\n");
    folder.write("b.vw", "1 | c:3 a:0.5 b:2\n-1 | a:2 b:1.5 c:1\n");
    folder.learn("a.vw --model a");
    folder.learn("b.vw --model b");
    let scores = |line: &str| folder.run(line).ok().out;
    assert_eq!(scores("predict a a.vw --scores --quiet"), scores("predict b b.vw --scores --quiet"));
}

#[test]
fn importance_weights_come_from_a_column_or_a_key_too() {
    let folder = Folder::new();
    folder.write("a.vw", "1 3 | a:0.5\n-1 0.5 | a:2\n");
    folder.write("a.csv", "a,w,y\n0.5,3,1\n2,0.5,-1\n");
    folder.write("a.jsonl", "{\"a\":0.5,\"w\":3,\"y\":1}\n{\"a\":2,\"w\":0.5,\"y\":-1}\n");
    let expected = folder.learn("a.vw");
    for line in ["a.csv --label y --weight w", "a.jsonl --label y --weight w"] {
        let summary = folder.learn(line);
        assert_eq!(summary["weight"], 3.5, "{line}");
        assert_eq!(summary["average_loss"], expected["average_loss"], "{line}");
    }
}

#[test]
fn bits_and_dimension_bound_the_features() {
    let folder = Folder::new();
    folder.write("a.svm", "1 4000000000:1 5:2\n".replace(" 5:2", "") + "-1 7:1\n");
    let summary = folder.learn("a.svm --bits 4");
    assert!(summary["dimension"].as_u64().unwrap() <= 16);
    folder.run("learn a.svm --dimension 10").exits(3).says(&["a.svm:1:3:", "--dimension"]);
    folder.write("b.svm", "1 0:1 3:1\n-1 1:1\n");
    assert_eq!(folder.learn("b.svm --zero-based")["dimension"], 4);
    folder.run("learn b.svm").exits(3).says(&["b.svm:1:3:", "--zero-based"]);
}

#[test]
fn columns_without_a_header_are_called_by_their_numbers() {
    let folder = Folder::new();
    let mut rows = String::new();
    for k in 0..40 {
        rows += if k % 3 == 0 { "1" } else { "-1" };
        let _ = writeln!(rows, ",{}.5,\"x{}\",{}", k % 7, k % 4, k % 5);
    }
    folder.write("plain.csv", &rows);
    folder.write("named.csv", format!("1,2,3,4\n{rows}"));
    folder.write("gaps.csv", format!("\u{feff}\n\n{rows}"));
    let expected = timeless(folder.learn("named.csv --label 1"));
    assert_eq!(expected["examples"], 40);
    for file in ["plain.csv", "gaps.csv"] {
        assert_eq!(timeless(folder.learn(&format!("{file} --label 1 --no-header"))), expected, "{file}");
    }
    let twice = timeless(folder.learn("plain.csv plain.csv --label 1 --no-header"));
    assert_eq!(twice["examples"], 80);
    // A model knows that there was none, and so does a cache.
    folder.run("learn plain.csv --label 1 --no-header --quiet --model m.model").ok();
    folder.run("convert plain.csv c.arrow --label 1 --no-header --quiet").ok();
    folder.run("learn c.arrow --quiet --model c.model").ok();
    assert_eq!(folder.read("m.model"), folder.read("c.model"));
    let scores = folder.run("predict m.model plain.csv --scores --quiet").ok().out;
    assert_eq!(scores.lines().count(), 40);
    assert_eq!(scores, folder.run("predict m.model plain.csv --scores --quiet --no-header").ok().out);
    folder.run("learn m.model.csv --no-header").exits(4);
    folder.run("learn plain.csv --quiet").exits(2).says(&["--no-header"]);
    folder.run("learn plain.csv --no-header --quiet").exits(2).says(&["`1`, `2`, `3`, `4`", "--label"]);
    folder.write("broken.csv", format!("{rows}1,2\n"));
    folder
        .run("learn broken.csv --label 1 --no-header --quiet")
        .exits(3)
        .says(&["broken.csv:41:", "2 fields, the first record 4"]);
    folder.write("a.svm", libsvm(4, 1, "binary"));
    folder.run("learn a.svm --no-header --quiet").exits(2).says(&["CSV and TSV"]);
    folder.write("twice.csv", "1,0,0\n-1,0,1\n");
    folder.run("learn twice.csv --quiet").exits(3).says(&["appears twice", "use --no-header"]);
    folder.write("empty.csv", "\n");
    folder.run("learn empty.csv --label 1 --no-header --quiet").exits(3).says(&["expected records"]);
}
