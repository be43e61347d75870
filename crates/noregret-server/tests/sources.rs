//! Examples that come by themselves, while everything is killed in turn: nothing is lost, nothing learned twice, and
//! the order is kept, so that the model equals one that was taught the same over HTTP. With the real `redis-server` and
//! `nats-server` where they are installed.

mod support;

use async_nats::jetstream;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Client, Stream, child};

/// A server that can be killed and started again.
struct Killable {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
    source: String,
}

impl Killable {
    fn start(folder: &Path, source: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let (child, address) = spawn(folder, source);
        let server = Self { child, address, folder: folder.to_owned(), source: source.to_owned() };
        server.client().put("/v1/models/m", &json!({"learner": "auto", "loss": "logistic"})).ok();
        server
    }

    fn client(&self) -> Client {
        Client::new(self.address)
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn again(&mut self) {
        (self.child, self.address) = spawn(&self.folder, &self.source);
    }

    fn examples(&self) -> u64 {
        self.client().get("/v1/models/m").ok()["examples"].as_u64().unwrap()
    }

    /// Waits until so many examples were learned; more would be twice.
    fn wait(&self, expected: usize) {
        let end = Instant::now() + Duration::from_secs(90);
        while self.examples() < expected as u64 {
            if Instant::now() > end {
                let errors = self.client().get("/v1/models/m/errors").json();
                panic!("{} of {expected} examples; {errors}", self.examples());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// That the model learned just these, in this order.
    fn check(&self, examples: &[Value]) {
        self.wait(examples.len());
        std::thread::sleep(Duration::from_millis(500));
        let mut client = self.client();
        client.put("/v1/models/reference", &json!({"learner": "auto", "loss": "logistic"})).ok();
        for part in examples.chunks(200) {
            client.post("/v1/models/reference/learn", &json!({ "examples": part })).ok();
        }
        let (found, expected) = (client.get("/v1/models/m").ok(), client.get("/v1/models/reference").ok());
        for key in ["examples", "average_loss", "mistakes", "model_norm", "certificate", "heaviest"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
    }
}

impl Drop for Killable {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path, source: &str) -> (Child, SocketAddr) {
    let test = "a_followed_file_is_learned_once_through_rotation_cutting_and_kill_9";
    child::spawn(test, folder, 50_000, Some(source))
}

fn examples(count: usize) -> Vec<Value> {
    let mut stream = Stream(7);
    (0..count).map(|_| stream.example()).collect()
}

fn append(path: &Path, examples: &[Value]) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    for example in examples {
        writeln!(file, "{example}").unwrap();
    }
}

#[test]
fn a_followed_file_is_learned_once_through_rotation_cutting_and_kill_9() {
    child::serve_if_told();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("x.jsonl");
    let moved = |k: usize| folder.path().join(format!("x.jsonl.{k}"));
    let all = examples(1800);
    let mut parts = all.chunks(100);
    let mut given = 0;
    let mut write = |path: &Path| {
        append(path, parts.next().unwrap());
        given += 100;
        given
    };
    let mut server = Killable::start(&folder.path().join("data"), &format!("m={}", log.display()));

    // Grows, is killed while it grows, and grows while nobody is there.
    server.wait(write(&log));
    write(&log);
    server.kill();
    write(&log);
    server.again();
    server.wait(write(&log));

    // Moved while it is written to, by somebody who has not noticed yet; then a new one.
    fs::rename(&log, moved(1)).unwrap();
    write(&moved(1));
    server.wait(write(&log));

    // Moved twice while nobody is there: the end of one, all of another, and the one of now.
    server.kill();
    write(&log);
    fs::rename(moved(1), moved(3)).unwrap();
    fs::rename(&log, moved(2)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    write(&log);
    fs::rename(&log, moved(1)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let total = write(&log);
    server.again();
    server.wait(total);

    // Cut: shorter than before, and longer than before.
    server.wait(write(&log));
    File::create(&log).unwrap();
    server.wait(write(&log));
    File::create(&log).unwrap();
    write(&log);
    server.wait(write(&log));

    // Copied and cut while nobody is there, as logrotate's copytruncate does; what was new is in the copy.
    server.kill();
    write(&log);
    fs::copy(&log, folder.path().join("x.jsonl-20260101")).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    File::create(&log).unwrap();
    let total = write(&log);
    server.again();
    server.wait(total);

    // A line that is still being written waits for its end; one that is no example is passed over, and told.
    let last = &all[total..];
    let text = last[0].to_string();
    let mut file = OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(&text.as_bytes()[..10]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    file.write_all(&text.as_bytes()[10..]).unwrap();
    file.write_all(b"\n\n{\"label\": 1\nnonsense\n").unwrap();
    append(&log, &last[1..]);
    server.check(&all);
    let errors = server.client().get("/v1/models/m/errors").ok();
    let told = errors.to_string();
    assert!(told.contains("x.jsonl, byte ") && told.contains("bad_json"), "{told}");
    let model = server.client().get("/v1/models/m").ok();
    assert_eq!(model["refused"], 2, "both lines are counted");
    assert_eq!(
        model["sources"].as_object().unwrap().keys().collect::<Vec<_>>(),
        [&format!("file://{}", log.display())]
    );
}

#[test]
fn a_model_that_is_made_anew_begins_the_file_anew() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("x.jsonl");
    let all = examples(50);
    append(&log, &all);
    let server = Killable::start(&folder.path().join("data"), &format!("m={}", log.display()));
    server.wait(50);
    let mut client = server.client();
    assert_eq!(client.send("DELETE", "/v1/models/m", &[], b"").unwrap().status, 204);
    client.put("/v1/models/m", &json!({"learner": "auto", "loss": "logistic"})).ok();
    server.check(&all);
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server of Debian's, if it is installed, on loopback; killed when dropped.
struct Real {
    program: PathBuf,
    arguments: Vec<String>,
    port: u16,
    child: Child,
}

impl Real {
    fn find(name: &str) -> Option<PathBuf> {
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/bin";
        let found = path.split(':').map(|folder| Path::new(folder).join(name)).find(|p| p.exists());
        if found.is_none() {
            eprintln!("skipped: no {name} here");
        }
        found
    }

    fn start(program: PathBuf, port: u16, arguments: Vec<String>) -> Self {
        let child = Self::spawn(&program, port, &arguments);
        Self { program, arguments, port, child }
    }

    fn spawn(program: &Path, port: u16, arguments: &[String]) -> Child {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "{} does not listen", program.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        child
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn again(&mut self) {
        self.child = Self::spawn(&self.program, self.port, &self.arguments);
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills one side, then the other, then both, while `send` sends the examples in parts of twenty.
fn ordeal(server: &mut Killable, queue: &mut Real, all: &[Value], mut send: impl FnMut(usize, &Value)) {
    for (k, example) in all.iter().enumerate() {
        send(k, example);
        match k {
            200 => server.kill(),
            300 => {
                server.again();
                server.wait(150);
            }
            400 | 900 => {
                queue.kill();
                std::thread::sleep(Duration::from_millis(300));
                queue.again();
            }
            600 => {
                server.kill();
                queue.kill();
                queue.again();
            }
            700 => server.again(),
            800 => {
                server.kill();
                server.again();
            }
            _ => {}
        }
    }
    server.check(all);
}

#[test]
fn a_stream_of_redis_is_learned_once_whoever_is_killed() {
    let Some(program) = Real::find("redis-server") else { return };
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let arguments = format!(
        "--port {port} --bind 127.0.0.1 --requirepass p@ss+word --save  --appendonly yes --appendfsync always --dir"
    );
    let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    arguments.push(folder.path().display().to_string());
    let mut queue = Real::start(program, port, arguments);
    let source = format!("m=redis://:p%40ss+word@127.0.0.1:{port}/0?stream=events");
    let mut server = Killable::start(&folder.path().join("data"), &source);
    let client = redis::Client::open(format!("redis://:p%40ss+word@127.0.0.1:{port}/0")).unwrap();
    let all = examples(1200);
    let mut connection = None;
    let add = |connection: &mut Option<redis::Connection>, id: String, field: &str, text: String| loop {
        let done: redis::RedisResult<String> = match connection {
            Some(open) => redis::cmd("XADD").arg("events").arg(&id).arg(field).arg(&text).query(open),
            None => client.get_connection().map(|open| {
                *connection = Some(open);
                String::new()
            }),
        };
        match done {
            Ok(told) if told.is_empty() => {}
            Ok(_) => return,
            // It had been added, and only the answer was lost.
            Err(error) if error.to_string().contains("equal or smaller") => return,
            Err(_) => {
                *connection = None;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    };
    ordeal(&mut server, &mut queue, &all, |k, example| {
        add(&mut connection, format!("{}-1", k + 1), "example", example.to_string());
        if k == 500 {
            add(&mut connection, format!("{}-2", k + 1), "other", "1".to_owned());
            add(&mut connection, format!("{}-3", k + 1), "example", "{\n}".to_owned());
        }
    });
    let about = server.client().get("/v1/models/m").ok();
    let position = (1200u128 << 64 | 1).to_string();
    assert_eq!(about["sources"][format!("redis://127.0.0.1:{port}/0?stream=events")], position);
}

#[test]
fn a_stream_of_nats_is_learned_once_whoever_is_killed() {
    nats_ordeal(false);
}

#[test]
fn a_work_queue_of_nats_is_learned_once_whoever_is_killed_and_is_empty_then() {
    nats_ordeal(true);
}

fn nats_ordeal(work_queue: bool) {
    use jetstream::stream::{Config, RetentionPolicy};
    let Some(program) = Real::find("nats-server") else { return };
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let arguments = format!("-js -a 127.0.0.1 -p {port} --user me --pass p@ss+word -sd");
    let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    arguments.push(folder.path().display().to_string());
    let mut queue = Real::start(program, port, arguments);
    let source = format!("m=nats://me:p%40ss+word@127.0.0.1:{port}?stream=EVENTS&subject=events.new");
    let mut server = Killable::start(&folder.path().join("data"), &source);
    let all = examples(1200);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let jetstream = runtime.block_on(async {
        let options =
            async_nats::ConnectOptions::with_user_and_password("me".to_owned(), "p@ss+word".to_owned());
        jetstream::new(options.connect(format!("nats://127.0.0.1:{port}")).await.unwrap())
    });
    let config = Config {
        name: "EVENTS".to_owned(),
        subjects: vec!["events.*".to_owned()],
        retention: if work_queue { RetentionPolicy::WorkQueue } else { RetentionPolicy::Limits },
        ..Config::default()
    };
    runtime.block_on(jetstream.create_stream(config)).unwrap();
    ordeal(&mut server, &mut queue, &all, |k, example| {
        runtime.block_on(async {
            if k % 100 == 50 && !work_queue {
                let _ = jetstream.publish("events.other", "not for us".into()).await;
            }
            // By the id the server knows a message that it has stored, where only the answer was lost.
            loop {
                let message = jetstream::message::PublishMessage::build()
                    .message_id(k.to_string())
                    .payload(example.to_string().into());
                let sent = jetstream.send_publish("events.new", message);
                let stored = tokio::time::timeout(Duration::from_secs(2), async { sent.await?.await }).await;
                if matches!(stored, Ok(Ok(_))) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    });
    if work_queue {
        let end = Instant::now() + Duration::from_secs(20);
        let left = || {
            runtime.block_on(async {
                let mut stream = jetstream.get_stream("EVENTS").await.unwrap();
                stream.info().await.unwrap().state.messages
            })
        };
        while left() > 0 {
            assert!(Instant::now() < end, "{} messages are left in the queue", left());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
