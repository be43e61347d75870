//! Text into blocks, from memory: MB and M features a second.
//!
//! `cargo bench --bench parse -- FILE [--format NAME] [--reps N]` reads FILE into memory, cuts it into chunks at
//! newlines and decodes them one after the other into one block, as a worker does. The least time of all
//! repetitions counts.

use noregret::example::Block;
use noregret::example::format::{self, Options, Scratch};
use std::time::Instant;

const CHUNK: usize = 1 << 18;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let (mut file, mut name, mut reps) = (None, "libsvm".to_owned(), 20);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--format" => name = arguments.next().expect("the name of a format"),
            "--reps" => reps = arguments.next().and_then(|a| a.parse().ok()).expect("a number"),
            _ => file = Some(argument),
        }
    }
    let Some(file) = file else {
        println!("no file, nothing to parse");
        return;
    };
    let text = std::fs::read(&file).expect("a file that can be read");
    let entry = format::find(&name).expect("a format");
    let options = Options { bits: (name == "vw").then_some(18), ..Options::default() };
    let Ok(opened) = (entry.open)(&options, &text) else { panic!("a file of this format") };
    let mut best = f64::MAX;
    let mut features = 0;
    let mut block = Block::new();
    let mut scratch = Scratch::default();
    for _ in 0..reps {
        features = 0;
        let mut rest = &text[opened.header_bytes..];
        let start = Instant::now();
        while !rest.is_empty() {
            let end = rest.len().min(CHUNK);
            let end = rest[..end].iter().rposition(|&b| b == b'\n').map_or(end, |newline| newline + 1);
            block.clear();
            let found = opened.decoder.decode(&rest[..end], &mut block, &mut scratch);
            assert!(found.problem.is_none(), "{:?}", found.problem);
            features += block.indices.len();
            rest = &rest[end..];
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (mega, count) = (text.len() as f64 / 1e6, features as f64);
    println!(
        "{features} features, {:.1} ms, {:.0} MB/s, {:.2} ns a feature",
        best * 1e3,
        mega / best,
        best * 1e9 / count
    );
}
