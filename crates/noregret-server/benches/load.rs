//! Load from a process of its own: requests over a number of connections, one at a time on each, for some seconds; the
//! answer is one JSON object. `bench/server/run` starts it beside servers.
#![allow(missing_docs, reason = "a program")]

use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }
}

/// Twenty named features out of a thousand, labelled by a plane.
fn example(random: &mut Random) -> (Vec<(u64, f64)>, bool) {
    let mut pairs: Vec<(u64, f64)> =
        (0..20).map(|_| (random.next() % 1000, (random.unit() * 1000.0).round() / 1000.0)).collect();
    pairs.sort_by_key(|p| p.0);
    pairs.dedup_by_key(|p| p.0);
    let score: f64 = pairs.iter().map(|(i, v)| if i % 2 == 0 { *v } else { -v }).sum();
    (pairs, score > 0.0)
}

fn as_json(random: &mut Random, label: bool) -> Value {
    let (pairs, positive) = example(random);
    let features: serde_json::Map<String, Value> =
        pairs.into_iter().map(|(i, v)| (format!("feature{i}"), json!(v))).collect();
    let mut value = json!({ "features": features });
    if label {
        value["label"] = json!(i32::from(positive));
    }
    value
}

fn http(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn vw(random: &mut Random, batch: usize, label: bool) -> Vec<u8> {
    let mut text = String::new();
    for _ in 0..batch {
        let (pairs, positive) = example(random);
        if label {
            text += if positive { "1" } else { "-1" };
        }
        text += " |";
        for (i, v) in pairs {
            let _ = write!(text, " feature{i}:{v}");
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// Reads one answer; says whether it is a good one.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>, lines: Option<usize>) -> std::io::Result<bool> {
    let mut have = 0;
    loop {
        if let Some(lines) = lines {
            if buffer[..have].split(|b| *b == b'\n').count() > lines {
                return Ok(true);
            }
        } else if let Some(end) = buffer[..have].windows(4).position(|w| w == b"\r\n\r\n") {
            let head = std::str::from_utf8(&buffer[..end]).unwrap_or_default();
            let length = head
                .lines()
                .filter_map(|l| l.split_once(':'))
                .find(|(n, _)| n.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, v)| v.trim().parse::<usize>().ok())
                .unwrap_or(0);
            if have >= end + 4 + length {
                return Ok(head.as_bytes().get(9) == Some(&b'2'));
            }
        }
        if have == buffer.len() {
            buffer.resize(2 * have.max(2048), 0);
        }
        let n = stream.read(&mut buffer[have..]).await?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        have += n;
    }
}

#[derive(Default)]
struct Counts {
    requests: u64,
    errors: u64,
    micros: Vec<u32>,
}

async fn connection(
    address: String,
    bodies: Arc<Vec<Vec<u8>>>,
    from: usize,
    until: Instant,
    lines: Option<usize>,
) -> Counts {
    let mut counts = Counts::default();
    let mut buffer = vec![0; 4096];
    let mut stream = None;
    let mut next = from;
    while Instant::now() < until {
        if stream.is_none() {
            let Ok(fresh) = TcpStream::connect(&address).await else {
                counts.errors += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let _ = fresh.set_nodelay(true);
            stream = Some(fresh);
        }
        let Some(open) = &mut stream else { continue };
        let began = Instant::now();
        next = (next + 1) % bodies.len();
        let done = match open.write_all(&bodies[next]).await {
            Ok(()) => answer(open, &mut buffer, lines).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(true) => {
                counts.requests += 1;
                counts.micros.push(began.elapsed().as_micros() as u32);
            }
            Ok(false) => counts.errors += 1,
            Err(_) => {
                stream = None;
                counts.errors += 1;
            }
        }
    }
    counts
}

fn main() {
    let mut given: HashMap<String, String> = HashMap::new();
    let mut words = std::env::args().skip(1).filter(|w| w != "--bench");
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        given.insert(name.trim_start_matches("--").to_owned(), value);
    }
    let Some(address) = given.get("address").cloned() else {
        println!(
            "usage: load --address HOST:PORT --path PATH --kind learn|predict [--protocol http|vw] [--connections N] [--batch N] [--seconds S]"
        );
        return;
    };
    let number = |name: &str, usual: f64| given.get(name).and_then(|v| v.parse().ok()).unwrap_or(usual);
    let (connections, batch, seconds) =
        (number("connections", 8.0) as usize, number("batch", 1.0) as usize, number("seconds", 5.0));
    let path = given.get("path").map_or("/v1/models/m/learn", String::as_str).to_owned();
    let learning = given.get("kind").is_none_or(|k| k == "learn");
    let plain_ids = given.get("id").is_some_and(|v| v == "false");
    let vw_protocol = given.get("protocol").is_some_and(|p| p == "vw");
    let mut random = Random(42);
    let bodies: Vec<Vec<u8>> = (0..if batch > 10 { 64 } else { 512 })
        .map(|_| {
            if vw_protocol {
                return vw(&mut random, batch, learning);
            }
            let mut body = if batch == 1 {
                as_json(&mut random, learning)
            } else {
                let examples: Vec<Value> = (0..batch).map(|_| as_json(&mut random, learning)).collect();
                json!({ "examples": examples })
            };
            if plain_ids {
                body["id"] = json!(false);
            }
            http(&path, &body)
        })
        .collect();
    let bodies = Arc::new(bodies);
    let lines = vw_protocol.then_some(batch);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(seconds);
    let all: Vec<Counts> = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections)
            .map(|k| tokio::spawn(connection(address.clone(), bodies.clone(), k * 7, until, lines)))
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.push(task.await.unwrap_or_default());
        }
        all
    });
    let took = began.elapsed().as_secs_f64();
    let requests: u64 = all.iter().map(|c| c.requests).sum();
    let errors: u64 = all.iter().map(|c| c.errors).sum();
    let mut micros: Vec<u32> = all.into_iter().flat_map(|c| c.micros).collect();
    micros.sort_unstable();
    let at = |q: f64| {
        micros
            .get(((micros.len() as f64 * q) as usize).min(micros.len().saturating_sub(1)))
            .map(|m| f64::from(*m) / 1000.0)
    };
    println!(
        "{}",
        json!({
            "requests": requests, "errors": errors, "seconds": took,
            "requests_per_second": requests as f64 / took,
            "examples_per_second": (requests * batch as u64) as f64 / took,
            "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0),
        })
    );
}
