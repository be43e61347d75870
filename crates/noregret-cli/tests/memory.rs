//! What a run holds in memory does not grow with the stream.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Resident memory of a process that belongs to no file, in bytes.
fn anonymous(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Learns a long stream of so many features, and says what was held at the most.
fn most(dimension: u64) -> u64 {
    let mut text = String::new();
    for row in 0..2000_u64 {
        text += if row % 2 == 0 { "1" } else { "-1" };
        for k in 0..50 {
            let place = (k * 1000 + row * 7 % 1000 + 1) * (dimension / 50_000);
            let _ = write!(text, " {place}:0.{:05}", (row * 31 + k * 17) % 99_999);
        }
        text.push('\n');
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_noregret"))
        .args(["learn", "-", "--loss", "hinge", "--learner", "projected-ogd", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut most = 0;
    for _ in 0..24 {
        input.write_all(text.as_bytes()).expect("the command reads");
        most = most.max(anonymous(child.id()));
    }
    drop(input);
    // It sums up.
    while child.try_wait().expect("it can be asked").is_none() {
        most = most.max(anonymous(child.id()));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(child.wait().expect("it ends").success());
    assert!(most > 0, "the child was seen while it read");
    most
}

#[test]
fn learning_takes_twenty_megabytes_and_sixteen_bytes_a_feature_whatever_the_stream_has() {
    for dimension in [50_000, 6_000_000] {
        let (most, allowed) = (most(dimension), (20 << 20) + 16 * dimension);
        assert!(most <= allowed, "{dimension} features: {most} bytes, allowed {allowed}");
    }
}
