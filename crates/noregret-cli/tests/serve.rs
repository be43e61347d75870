//! `noregret serve` as a process: tokens, logs, mistakes on its command line, and how it ends.

#![cfg(unix)]

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::Folder;

struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start(folder: &Folder, flags: &str) -> Self {
        let line = format!("serve --data models --listen 127.0.0.1:0 {flags}");
        let mut child = folder.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on http://").and_then(|a| a.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            panic!("{first}");
        };
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// The status and the body of one request's answer.
    fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let token = token.map(|t| format!("authorization: Bearer {t}\r\n")).unwrap_or_default();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        answer(&mut stream)
    }

    fn terminate(&self) {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// The exit code, and all that was logged.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let status = text.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, text.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned()))
}

const EXAMPLE: &str = r#"{"features": {"a": 1}, "label": 1}"#;

#[test]
fn requests_under_way_are_answered_before_the_end() {
    let folder = Folder::new();
    let served = Served::start(&folder, "--grace 20s");
    assert_eq!(served.ask("PUT", "/v1/models/m", None, "{}").0, 201);
    // Some have sent half of their bodies when the signal comes, one nothing yet.
    let halves: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = served.connect();
            let length = EXAMPLE.len();
            write!(
                stream,
                "POST /v1/models/m/learn HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&EXAMPLE.as_bytes()[..10]).unwrap();
            stream
        })
        .collect();
    let mut idle = served.connect();
    std::thread::sleep(Duration::from_millis(300));
    served.terminate();
    // Nobody new is let in.
    let until = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(served.address).is_ok() {
        assert!(Instant::now() < until, "it still listens");
        std::thread::sleep(Duration::from_millis(20));
    }
    for mut stream in halves {
        stream.write_all(&EXAMPLE.as_bytes()[10..]).unwrap();
        let (status, body) = answer(&mut stream);
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"learned\":1"), "{body}");
    }
    assert_eq!(answer(&mut idle).0, 0, "who has asked nothing is sent away");
    let (code, log) = served.ended();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("ended"), "{log}");
    let again = Served::start(&folder, "--quiet");
    let (_, told) = again.ask("GET", "/v1/models/m", None, "");
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["examples"], 5);
    again.terminate();
    assert_eq!(again.ended(), (Some(0), String::new()));
}

#[test]
fn a_client_that_never_finishes_does_not_keep_it_from_ending() {
    let folder = Folder::new();
    let served = Served::start(&folder, "--grace 500ms");
    served.ask("PUT", "/v1/models/m", None, "{}");
    let mut stream = served.connect();
    write!(stream, "POST /v1/models/m/learn HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{{")
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    served.terminate();
    let (code, log) = served.ended();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(code, Some(0));
    assert!(log.contains("some requests did not end in time"), "{log}");
}

#[test]
fn logs_are_json_when_they_should_be() {
    let folder = Folder::new();
    let served = Served::start(&folder, "--log-format json --log debug");
    assert_eq!(served.ask("POST", "/v1/models/none/learn", None, EXAMPLE).0, 404);
    served.terminate();
    let (code, log) = served.ended();
    assert_eq!(code, Some(0));
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    let refused = records.iter().find(|r| r["fields"]["code"] == "unknown_model").expect("the refusal");
    assert_eq!((&refused["level"], &refused["fields"]["status"]), (&"DEBUG".into(), &404.into()));
    assert_eq!(refused["fields"]["route"], "/v1/models/{name}/learn");
    assert!(records.iter().any(|r| r["fields"]["message"] == "serving" && r["timestamp"].is_string()));
    assert!(records.iter().any(|r| r["fields"]["message"] == "ended"));
}

#[test]
fn a_new_token_opens_what_its_role_does_and_is_nowhere_to_be_read() {
    let folder = Folder::new();
    let tokens: Vec<String> = ["admin", "read"]
        .iter()
        .map(|role| {
            let ran = folder.run(&format!("serve --new-token {role} --token-file tokens")).ok();
            assert_eq!(ran.err, "");
            ran.out.trim().to_owned()
        })
        .collect();
    let file = String::from_utf8(folder.read("tokens")).unwrap();
    assert_eq!(file.lines().count(), 2);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder.path("tokens")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    for token in &tokens {
        assert!(token.len() > 40 && !file.contains(token), "{token}");
    }
    // Without a file, the line for it is told beside the token.
    let ran = folder.run("serve --new-token learn").ok();
    assert!(ran.err.contains("learn sha256:"), "{}", ran.err);
    let served = Served::start(&folder, "--token-file tokens --quiet");
    assert_eq!(served.ask("PUT", "/v1/models/m", None, "{}").0, 401);
    assert_eq!(served.ask("PUT", "/v1/models/m", Some(&tokens[1]), "{}").0, 403);
    assert_eq!(served.ask("PUT", "/v1/models/m", Some(&tokens[0]), "{}").0, 201);
    assert_eq!(served.ask("GET", "/v1/models/m", Some(&tokens[1]), "").0, 200);
    served.terminate();
    assert_eq!(served.ended().0, Some(0));
}

#[test]
fn mistakes_on_the_command_line_are_named() {
    let folder = Folder::new();
    folder.write("tokens", "admin sha256:abc\n");
    folder.write("empty", "");
    folder.write("file", "");
    for (flags, code, named) in [
        ("", 2, "--data"),
        ("--data d --listen nowhere", 2, "--listen"),
        ("--data d --listen 0.0.0.0:0", 2, "--token-file"),
        ("--data d --token-file none", 2, "none"),
        ("--data d --token-file tokens", 2, "line 1"),
        ("--data d --token-file empty", 2, "--new-token"),
        ("--data d --tls-cert c", 2, "--tls-key"),
        ("--data d --tls-cert c --tls-key k", 2, "c: "),
        ("--data d --max-body 0", 2, "--max-body"),
        ("--data d --patience soon", 2, "--patience"),
        ("--data d --log [", 2, "--log"),
        ("--data d --source m", 2, "--source"),
        ("--data file/d", 4, "file/d"),
        ("--new-token king", 2, "--new-token"),
    ] {
        let ran = folder.run(&format!("serve {flags}"));
        assert_eq!(ran.code, Some(code), "{flags}: {}", ran.err);
        assert!(ran.err.contains(named), "{flags}: {}", ran.err);
    }
}

#[test]
fn a_folder_is_served_by_one() {
    let folder = Folder::new();
    let served = Served::start(&folder, "--quiet");
    let ran = folder.run("serve --data models --listen 127.0.0.1:0");
    assert!(ran.code != Some(0) && ran.err.contains("another process serves this folder"), "{}", ran.err);
    served.terminate();
    assert_eq!(served.ended().0, Some(0));
}
