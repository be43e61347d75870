//! ^C and SIGTERM end a run cleanly: the model is saved and the summary printed.

#![cfg(unix)]

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Folder, Ran};

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Starts `learn` and waits until its table shows that it learns.
fn start(
    folder: &Folder,
    line: &str,
    stdin: Stdio,
    input: &[u8],
) -> (Child, Option<std::process::ChildStdin>) {
    let mut child =
        folder.command(line).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take();
    if let Some(pipe) = &mut pipe {
        pipe.write_all(input).unwrap();
        pipe.flush().unwrap();
    }
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let learning = |line: &str| line.trim_start().starts_with("1024 ");
    assert!(lines.by_ref().any(|line| learning(&line.unwrap())), "it never began");
    // What else is said must be read, or the program may wait for its reader.
    let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
    drop(rest);
    (child, pipe)
}

/// Sends the signal and checks how the run ends.
fn ends_well(folder: &Folder, child: Child, name: &str) -> Value {
    let began = Instant::now();
    signal(&child, name);
    let output = child.wait_with_output().unwrap();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(2500), "{took:?}");
    let ran = Ran::new(&output).ok();
    assert!(ran.out.contains(", interrupted") && ran.out.contains("average loss"), "{}", ran.out);
    let summary = folder.json("s.json");
    assert_eq!(summary["interrupted"], true);
    let header = folder.run("inspect m --json -").ok().json();
    assert_eq!(header["examples"], summary["examples"]);
    summary
}

#[test]
fn a_run_that_waits_for_a_silent_pipe_ends_at_once() {
    // The reader waits for a full chunk of a megabyte before it hands out rows.
    let text = "+1 1:1 2:0.5\n-1 2:1 3:0.25\n".repeat(60_000);
    for name in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let line = "learn - --format libsvm --model m --json s.json";
        let (child, pipe) = start(&folder, line, Stdio::piped(), text.as_bytes());
        let summary = ends_well(&folder, child, name);
        assert!(summary["examples"].as_u64().unwrap() >= 1024);
        drop(pipe);
    }
}

#[test]
fn a_run_over_a_big_file_ends_early_and_can_be_resumed() {
    let folder = Folder::new();
    folder.write("big.svm", "+1 1:1 2:0.5\n-1 2:1 3:0.25\n".repeat(1_000_000));
    let (child, _) = start(&folder, "learn big.svm --model m --json s.json --passes 50", Stdio::null(), b"");
    let summary = ends_well(&folder, child, "-INT");
    assert!(summary["examples"].as_u64().unwrap() <= 2_000_000);
    folder.write("more.svm", "+1 1:1\n-1 2:1\n");
    let more = folder.learn("more.svm --resume m");
    assert_eq!(more["examples"].as_u64(), summary["examples"].as_u64().map(|n| n + 2));
}

/// Interrupts a run whose input never says anything.
fn interrupt_silent(folder: &Folder, line: &str) -> Ran {
    let mut command = folder.command(line);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pipe = child.stdin.take();
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    Ran::new(&output).ok()
}

#[test]
fn before_the_first_example_there_is_nothing_to_save() {
    let folder = Folder::new();
    let ran = interrupt_silent(&folder, "learn - --format libsvm --model m --json s.json");
    assert!(ran.err.contains("no model saved"), "{}", ran.err);
    assert!(!folder.path("m").exists());
    assert_eq!(folder.json("s.json")["interrupted"], true);
}

#[test]
fn a_resumed_model_is_saved_as_it_was_when_nothing_came() {
    let folder = Folder::new();
    folder.write("a.csv", "y,x,colour\n1,2,red\n0,1,blue\n");
    folder.learn("a.csv --model m");
    interrupt_silent(&folder, "learn - --format csv --resume m --model n").says(&["after 2 examples"]);
    assert!(folder.read("m") == folder.read("n"));
}
