//! What whoever looks after a server relies on: tokens, limits, counts, events, and totals that are exact.

#![allow(clippy::format_collect, reason = "small texts")]

mod support;

use noregret_server::Settings;
use noregret_server::auth::{Role, new_token};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;
use support::{Running, Stream, read_answer, served};

#[test]
fn tokens_allow_what_their_roles_do_and_without_them_only_loopback_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let open = Settings { listen: "0.0.0.0:0".parse().unwrap(), ..Settings::new(folder.path()) };
    let refused = Running::try_start(open.clone()).map(drop).unwrap_err();
    assert!(refused.contains("--token-file"), "{refused}");
    let made: Vec<(String, String)> =
        [Role::Read, Role::Learn, Role::Admin].into_iter().map(|role| new_token(role).unwrap()).collect();
    let file = folder.path().join("tokens");
    std::fs::write(&file, made.iter().map(|(_, line)| format!("{line}\n")).collect::<String>()).unwrap();
    let server =
        Running::start(Settings { token_file: Some(file), listen: "127.0.0.1:0".parse().unwrap(), ..open });
    let mut client = server.client();
    let mut ask = |token: Option<&str>, method: &str, path: &str, body: Value| {
        let bearer = token.map(|t| format!("Bearer {t}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(bearer.as_deref().map(|b| ("authorization", b)));
        client.send(method, path, &headers, body.to_string().as_bytes()).unwrap().status
    };
    let [read, learn, admin] = [0, 1, 2].map(|k| Some(made[k].0.as_str()));
    let example = json!({"features": {"a": 1}, "label": 1});
    assert_eq!(ask(None, "GET", "/healthz", json!({})), 200);
    assert_eq!(ask(None, "GET", "/v1/models", json!({})), 401);
    assert_eq!(ask(Some("nrt_bad"), "GET", "/v1/models", json!({})), 401);
    assert_eq!(ask(read, "GET", "/v1/models", json!({})), 200);
    assert_eq!(ask(learn, "PUT", "/v1/models/m", json!({})), 403);
    assert_eq!(ask(admin, "PUT", "/v1/models/m", json!({})), 201);
    assert_eq!(ask(read, "POST", "/v1/models/m/learn", example.clone()), 403);
    assert_eq!(ask(learn, "POST", "/v1/models/m/learn", example.clone()), 200);
    assert_eq!(ask(read, "POST", "/v1/models/m/predict", example), 200);
    assert_eq!(ask(learn, "DELETE", "/v1/models/m", json!({})), 403);
    assert_eq!(ask(admin, "DELETE", "/v1/models/m", json!({})), 204);
    assert_eq!(ask(read, "GET", "/metrics", json!({})), 200);
}

#[test]
fn slow_clients_and_too_many_requests_are_sent_away() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings {
        patience: Duration::from_millis(300),
        most_requests: 2,
        ..Settings::new(folder.path())
    });
    server.client().put("/v1/models/m", &json!({})).ok();
    let hang = |head: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        std::io::BufReader::new(stream)
    };
    let head = "POST /v1/models/m/learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let mut first = hang(head);
    let mut second = hang(head);
    std::thread::sleep(Duration::from_millis(100));
    let busy = server.client().get("/v1/models");
    assert_eq!((busy.status, busy.code().as_str()), (503, "busy"));
    for stream in [&mut first, &mut second] {
        let answer = read_answer(stream).unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (408, "too_slow"));
    }
    // Nor is one waited for who begins with nothing, or as HTTP/2 does.
    for begun in ["POST /v1/mod", "", "P", "PRI * HT"] {
        let mut silent = hang(begun);
        silent.get_ref().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut silent, &mut rest).unwrap_or_else(|e| panic!("{begun:?}: {e}"));
    }
    assert_eq!(server.client().get("/v1/models").status, 200);
}

#[test]
fn metrics_tell_the_numbers_of_the_certificate() {
    let (_folder, server) = served();
    let mut client = server.client();
    client.put("/v1/models/a", &json!({"learner": "projected-ogd", "loss": "hinge", "radius": 5})).ok();
    client.put("/v1/models/b", &json!({"loss": "logistic"})).ok();
    client.put("/v1/models/silent", &json!({})).ok();
    let mut stream = Stream(11);
    for round in 0..3 {
        for model in ["a", "b"] {
            let examples: Vec<Value> = (0..100).map(|_| stream.example()).collect();
            client.post(&format!("/v1/models/{model}/learn"), &json!({ "examples": examples })).ok();
        }
        let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
        let metric = |name: &str, model: &str| {
            let line = format!("noregret_{name}{{model=\"{model}\"}} ");
            metrics.lines().find_map(|l| l.strip_prefix(&line)).map(|v| v.parse::<f64>().unwrap())
        };
        for model in ["a", "b"] {
            let told = client.get(&format!("/v1/models/{model}")).ok();
            let certificate = &told["certificate"];
            assert!(certificate["best_at_least"].is_f64());
            assert_eq!(metric("best_at_least", model), certificate["best_at_least"].as_f64(), "{round}");
            assert_eq!(metric("regret_at_most", model), certificate["regret_at_most"].as_f64());
            assert_eq!(metric("average_loss", model), told["average_loss"].as_f64());
            assert_eq!(metric("examples", model), told["examples"].as_f64());
        }
        assert_eq!((metric("examples", "silent"), metric("best_at_least", "silent")), (Some(0.0), None));
    }
}

#[test]
fn events_tell_what_is_learned() {
    let (_folder, server) = served();
    let mut client = server.client();
    client.put("/v1/models/m", &json!({})).ok();
    for path in ["/v1/events", "/v1/models/m/events"] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
        let mut next = || {
            lines
                .find_map(|line| serde_json::from_str::<Value>(line.unwrap().strip_prefix("data: ")?).ok())
                .unwrap()
        };
        let first = next();
        let count =
            |v: &Value| v["models"][0]["examples"].as_u64().or(v["point"]["examples"].as_u64()).unwrap();
        client.post("/v1/models/m/learn", &json!({"features": {"a": 1}, "label": 1})).ok();
        let mut later = next();
        while count(&later) == count(&first) {
            later = next();
        }
        assert_eq!(count(&later), count(&first) + 1);
    }
}

#[test]
fn many_clients_on_many_models_lose_nothing() {
    let (_folder, server) = served();
    let mut client = server.client();
    for k in 0..8 {
        client.put(&format!("/v1/models/m{k}"), &json!({"loss": "logistic"})).ok();
    }
    let threads: Vec<_> = (0..64)
        .map(|number| {
            let mut client = server.client();
            std::thread::spawn(move || {
                let mut stream = Stream(number);
                let mut learned = [0; 8];
                for k in 0..12 {
                    let model = ((number + k) % 8) as usize;
                    let examples: Vec<Value> = (0..=k % 5).map(|_| stream.example()).collect();
                    let path = format!("/v1/models/m{model}/learn");
                    let told = client.post(&path, &json!({ "examples": examples })).ok();
                    learned[model] += told["learned"].as_u64().unwrap();
                    let path = format!("/v1/models/m{model}/predict");
                    let told = client.post(&path, &json!({ "examples": examples, "id": k % 2 == 0 })).ok();
                    assert_eq!(told["predictions"].as_array().unwrap().len(), examples.len());
                }
                learned
            })
        })
        .collect();
    let mut totals = [0; 8];
    for thread in threads {
        for (total, learned) in totals.iter_mut().zip(thread.join().unwrap()) {
            *total += learned;
        }
    }
    for (k, total) in totals.iter().enumerate() {
        assert_eq!(client.get(&format!("/v1/models/m{k}")).ok()["examples"], *total);
    }
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    assert!(metrics.contains(&format!("noregret_examples{{model=\"m0\"}} {}", totals[0])), "{metrics}");
}

#[test]
fn large_bodies_wait_for_room_and_small_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings {
        patience: Duration::from_millis(700),
        most_queued: 1 << 20,
        ..Settings::new(folder.path())
    });
    server.client().put("/v1/models/m", &json!({})).ok();
    let head =
        |more: &str| format!("POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\n{more}\r\n\r\n");
    let mut stuck = TcpStream::connect(server.address).unwrap();
    write!(stuck, "{}{{", head("content-length: 1000000")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let text = json!({"features": {"a": "x".repeat(500_000)}, "id": false}).to_string();
    let large = server.client().request("POST", "/v1/models/m/predict", "application/json", text.as_bytes());
    // It waited as long as the first was waited for; whichever was given up first, nobody waits longer.
    assert!([200, 503].contains(&large.status), "{}", large.status);
    let answer = read_answer(&mut std::io::BufReader::new(&stuck)).unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (408, "too_slow"));
    let mut again = TcpStream::connect(server.address).unwrap();
    write!(again, "{}{{", head("content-length: 1000000")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let small = json!({"features": {"a": 1}, "id": false});
    assert_eq!(server.client().post("/v1/models/m/predict", &small).status, 200);
    let mut chunked = TcpStream::connect(server.address).unwrap();
    // The answer may come before all is sent, and then be lost with the connection.
    let _ = write!(chunked, "{}{:x}\r\n{text}\r\n0\r\n\r\n", head("transfer-encoding: chunked"), text.len());
    if let Ok(answer) = read_answer(&mut std::io::BufReader::new(&chunked)) {
        assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    }
    let answer = read_answer(&mut std::io::BufReader::new(&again)).unwrap();
    assert_eq!(answer.status, 408);
    let large = server.client().request("POST", "/v1/models/m/predict", "application/json", text.as_bytes());
    assert_eq!(large.status, 200);
}

/// A model whose file is larger than what sockets hold.
fn large_model(client: &mut support::Client) -> usize {
    client.put("/v1/models/large", &json!({"learner": "adagrad"})).ok();
    client.post("/v1/models/large/learn", &json!({"indices": [1_500_000], "values": [1], "label": 1})).ok();
    let length = client.get("/v1/models/large/model").body.len();
    assert!(length > 20 << 20, "{length}");
    length
}

#[test]
fn a_client_that_reads_nothing_gives_its_place_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings {
        patience: Duration::from_millis(400),
        most_connections: 1,
        ..Settings::new(folder.path())
    });
    let length = large_model(&mut server.client());
    let mut deaf = TcpStream::connect(server.address).unwrap();
    deaf.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(deaf, "GET /v1/models/large/model HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    // There is one place, and it is taken until the server has waited for long enough.
    assert_eq!(server.client().get("/healthz").status, 200);
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut deaf, &mut rest);
    assert!(!rest.is_empty() && rest.len() < length, "{} of {length} bytes", rest.len());
}

#[test]
fn who_reads_is_not_cut_off_however_little_there_is_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let patience = Duration::from_millis(500);
    let server = Running::start(Settings { patience, ..Settings::new(folder.path()) });
    let mut client = server.client();
    client.put("/v1/models/m", &json!({})).ok();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET /v1/models/m/events HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
    for _ in 0..3 {
        std::thread::sleep(2 * patience);
        server.client().post("/v1/models/m/learn", &json!({"features": {"a": 1}, "label": 1})).ok();
        lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("data: "))).unwrap().unwrap();
    }
}

#[test]
fn slow_texts_keep_nobody_else_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings {
        patience: Duration::from_secs(1),
        grace: Duration::from_millis(100),
        most_texts: 2,
        ..Settings::new(folder.path())
    });
    let mut client = server.client();
    client.put("/v1/models/m", &json!({})).ok();
    let begin = || {
        let mut slow = TcpStream::connect(server.address).unwrap();
        let head = "POST /v1/models/m/learn?format=csv HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
        slow.write_all(format!("{head}c\r\na,label\n1,1\n\r\n").as_bytes()).unwrap();
        slow
    };
    let mut slow = [begin(), begin()];
    let pace = std::thread::spawn(move || {
        // One byte after the other, for longer than anybody is waited for.
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            for slow in &mut slow {
                drop(slow.write_all(b"1\r\n1\r\n"));
            }
        }
    });
    std::thread::sleep(Duration::from_millis(200));
    let text = client.send("POST", "/v1/models/m/predict?format=csv", &[], b"a\n1\n").unwrap();
    assert_eq!((text.status, text.code().as_str()), (503, "busy"));
    let example = json!({"features": {"a": 1}, "label": 1});
    assert_eq!(client.post("/v1/models/m/predict", &example).status, 200);
    let file = client.send("GET", "/v1/models/m/model", &[], b"").unwrap().body;
    assert_eq!(client.send("PUT", "/v1/models/copy/model", &[], &file).unwrap().status, 201);
    server.stop();
    pace.join().unwrap();
}

#[test]
fn who_is_refused_sees_why_also_when_all_is_sent_before_the_answer_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings { most_body: 100_000, ..Settings::new(folder.path()) });
    let mut client = server.client();
    client.put("/v1/models/m", &json!({})).ok();
    let example = "{\"features\": {\"a\": 1}, \"label\": 1}\n";
    let stream = format!("{}{}", example.replace("1}", "7}"), example.repeat(400_000));
    let large = format!("{{\"features\": {{\"a\": \"{}\"}}, \"label\": 1}}", "x".repeat(16 << 20));
    for (path, body, status, code) in [
        ("/v1/models/m/learn", &large, 413, "too_large"),
        ("/v1/models/m/learn?format=ndjson", &stream, 400, "bad_label"),
        ("/v1/models/none/learn", &large, 404, "unknown_model"),
    ] {
        for _ in 0..3 {
            let answer = server.client().send("POST", path, &[], body.as_bytes()).unwrap();
            assert_eq!((answer.status, answer.code().as_str()), (status, code));
        }
    }
}
