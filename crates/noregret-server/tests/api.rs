//! What the API promises: shapes, errors, idempotency, labels that come later, streams, files, tokens.

#![allow(clippy::format_collect, reason = "small texts")]

mod support;

use noregret_server::Settings;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;
use support::{Running, Stream, read_answer, served};

#[test]
fn a_model_is_made_taught_asked_and_deleted() {
    let (_folder, server) = served();
    let mut client = server.client();
    let made =
        client.put("/v1/models/weather", &json!({"loss": "logistic", "learner": "auto", "radius": 10}));
    assert_eq!(made.status, 201);
    assert_eq!(client.put("/v1/models/weather", &json!({"loss": "logistic", "radius": 10})).status, 200);
    assert_eq!(client.put("/v1/models/weather", &json!({"loss": "hinge"})).code(), "exists");
    let rome = json!({"features": {"temperature": 21.5, "city": "Rome"}, "label": 1, "weight": 1});
    let told = client.post("/v1/models/weather/learn", &rome).ok();
    assert_eq!((told["learned"].as_u64(), told["examples"].as_u64()), (Some(1), Some(1)));
    assert!((told["average_loss"].as_f64().unwrap() - 2f64.ln()).abs() < 1e-12);
    let two = json!({"examples": [rome, {"features": {"temperature": -3, "city": "Oslo"}, "label": -1}], "predict": true});
    let told = client.post("/v1/models/weather/learn", &two).ok();
    assert_eq!((told["learned"].as_u64(), told["examples"].as_u64()), (Some(2), Some(3)));
    assert_eq!(told["predictions"].as_array().unwrap().len(), 2);
    assert_eq!(told["predictions"][0]["label"], 1);
    let told = client.post("/v1/models/weather/predict", &json!({"features": {"city": "Rome"}})).ok();
    let one = &told["predictions"][0];
    assert_eq!(one["label"], 1);
    assert!(one["score"].as_f64().unwrap() > 0.0 && one["probability"].as_f64().unwrap() > 0.5);
    assert_eq!(one["id"].as_str().unwrap().len(), 16);
    let quiet =
        client.post("/v1/models/weather/predict", &json!({"features": {"city": "Rome"}, "id": false})).ok();
    assert_eq!(quiet["predictions"][0].get("id"), None);
    let told = client.get("/v1/models/weather").ok();
    assert_eq!(told["examples"], 3);
    for key in ["comparator", "radius", "regret_at_most", "best_at_least", "radius_from"] {
        assert!(told["certificate"].get(key).is_some(), "{key}");
    }
    let names: Vec<&str> =
        told["heaviest"].as_array().unwrap().iter().map(|f| f["feature"].as_str().unwrap()).collect();
    assert!(names.contains(&"city=Rome") && names.contains(&"temperature"), "{names:?}");
    let told = client.get("/v1/models/weather/certificate?radius=2").ok();
    assert_eq!((told["radius"].as_f64(), told["examples"].as_u64()), (Some(2.0), Some(3)));
    assert!(told["best_at_least"].as_f64() <= told["average_loss"].as_f64());
    assert_eq!(client.get("/v1/models/weather/certificate?since=1h").ok()["examples"], 3);
    assert_eq!(client.get("/v1/models/weather/certificate?radius=-1").status, 400);
    assert_eq!(client.get("/v1/models/weather/history").ok()["points"].as_array().unwrap().len(), 2);
    assert_eq!(client.get("/v1/models").ok()["models"][0]["name"], "weather");
    assert_eq!(client.send("DELETE", "/v1/models/weather", &[], b"").unwrap().status, 204);
    assert_eq!(client.get("/v1/models/weather").code(), "unknown_model");
    assert_eq!(client.post("/v1/models/weather/learn", &rome).status, 404);
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Running::start(Settings { most_body: 10_000, most_features: 50, ..Settings::new(folder.path()) });
    let mut client = server.client();
    client.put("/v1/models/m", &json!({})).ok();
    let good = json!({"features": {"a": 1}, "label": 1});
    client.post("/v1/models/m/learn", &good).ok();
    let file = client.get("/v1/models/m/model").body;
    let deep = format!("{{\"features\": {}1{}, \"label\": 1}}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let many: serde_json::Map<String, Value> = (0..60).map(|k| (format!("f{k}"), json!(1))).collect();
    let cases: Vec<(&str, String, u16, &str)> = vec![
        ("learn", "{\"features\"".into(), 400, "bad_json"),
        ("learn", String::new(), 400, "bad_json"),
        ("learn", "[]".into(), 400, "bad_shape"),
        ("learn", json!([good]).to_string(), 400, "bad_shape"),
        ("learn", "{\"examples\": []}".into(), 400, "no_examples"),
        ("learn", "{\"features\": {\"a\": 1e400}, \"label\": 1}".into(), 400, "bad_json"),
        ("learn", "{\"features\": {\"a\": 1e308}, \"label\": 1}".into(), 422, "diverged"),
        ("learn", "{\"features\": {\"a\": NaN}, \"label\": 1}".into(), 400, "bad_json"),
        ("learn", deep, 413, "too_large"),
        (
            "learn",
            format!("{{\"features\": {}1{}, \"label\": 1}}", "{\"a\":".repeat(100), "}".repeat(100)),
            400,
            "bad_feature",
        ),
        ("learn", json!({"features": {"a": 1}, "label": 7}).to_string(), 400, "bad_label"),
        ("learn", json!({"features": {"a": 1}, "label": "x"}).to_string(), 400, "bad_label"),
        ("learn", json!({"features": {"a": 1}}).to_string(), 400, "no_label"),
        ("learn", json!({"features": "a", "label": 1}).to_string(), 400, "bad_shape"),
        ("learn", json!({"features": many, "label": 1}).to_string(), 400, "too_many_features"),
        ("learn", json!({"indices": [1], "values": [1], "label": 1}).to_string(), 409, "other_features"),
        (
            "learn",
            json!({"examples": [good, {"features": {"a": 1}, "label": 3}]}).to_string(),
            400,
            "bad_label",
        ),
        (
            "learn",
            format!("{{\"features\": {{\"a\": \"{}\"}}, \"label\": 1}}", "x".repeat(20_000)),
            413,
            "too_large",
        ),
        ("predict", "7".into(), 400, "bad_shape"),
        ("predict", json!({"indices": [1], "values": [1]}).to_string(), 409, "other_features"),
        ("label", json!({"id": "zz", "label": 1}).to_string(), 400, "bad_id"),
        ("label", json!({"id": "0000000000000001", "label": 1}).to_string(), 404, "unknown_prediction"),
        ("label", json!({"labels": []}).to_string(), 400, "no_labels"),
        ("label", json!({"id": 3}).to_string(), 400, "bad_shape"),
    ];
    for (path, body, status, code) in cases {
        let answer =
            client.request("POST", &format!("/v1/models/m/{path}"), "application/json", body.as_bytes());
        let shown: String = body.chars().take(80).collect();
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path} {shown}: {text}");
        assert!(answer.json()["error"]["message"].as_str().is_some_and(|m| m.len() > 10));
    }
    let example = json!({"examples": [good, good, {"features": {}, "label": 5}]});
    assert_eq!(client.post("/v1/models/m/learn", &example).json()["error"]["example"], 2);
    assert_eq!(client.request("POST", "/v1/models/m/learn", "image/png", b"x").status, 415);
    let long = "n".repeat(1025);
    for (format, text, found) in [
        ("csv", format!("{long},label\nx,1\n"), "line 1: the name of a column has 1025 bytes"),
        ("vw", format!("1 | a\n1 |{long} a b\n"), "line 2: a namespace has more than 1024 bytes"),
        ("libsvm", "1 1:1 ".repeat(2000), "line 1: a line longer than 10000 bytes"),
        (
            "csv",
            format!("a,label\n1,1\n{},1\n", "1".repeat(10_000)),
            "line 3: a line longer than 10000 bytes",
        ),
    ] {
        let path = format!("/v1/models/m/predict?format={format}");
        let refused = client.send("POST", &path, &[], text.as_bytes()).unwrap();
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_input"));
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with(found), "{message}");
    }
    for path in ["/v1/models/%ff", "/v1/models/%ff/learn", "/v1/models/%c3/certificate"] {
        let refused = client.get(path);
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_name"));
    }
    assert_eq!(client.get("/v1/models/%6e%C3%BC").code(), "unknown_model");
    assert_eq!(client.post("/v1/models/none/learn", &good).code(), "unknown_model");
    assert_eq!(client.post("/v1/nothing", &good).code(), "unknown_path");
    assert_eq!(client.post("/v1/models", &good).code(), "unknown_method");
    for bad in [
        json!({"learner": "none"}),
        json!({"loss": 3}),
        json!({"etta": 1}),
        json!({"radius": -1}),
        json!({"bits": 99}),
        json!({"learner": "softmax"}),
        json!({"multiclass": "none"}),
        json!({"classes": ["a", "b", "b"]}),
        json!([]),
    ] {
        let answer = client.put("/v1/models/other", &bad);
        assert_eq!(answer.status, 400, "{bad}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(client.put("/v1/models/..%2Fx", &json!({})).code(), "bad_name");
    assert_eq!(
        client.request("PUT", "/v1/models/up/model", "application/octet-stream", b"NOREGRETjunk").code(),
        "bad_model"
    );
    let cross = [("origin", "https://evil.example"), ("content-type", "application/json")];
    assert_eq!(
        client.send("POST", "/v1/models/m/learn", &cross, good.to_string().as_bytes()).unwrap().status,
        403
    );
    assert_eq!(client.get("/v1/models/m/model").body, file, "a refused request has changed the model");
    assert!(!client.get("/v1/models/m/errors").ok().as_array().unwrap().is_empty());
    let answer = client.get("/v1/models/m");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn the_same_request_with_the_same_key_is_learned_once() {
    let (folder, server) = served();
    let mut client = server.client();
    client.put("/v1/models/m", &json!({"loss": "square"})).ok();
    let headers = [("content-type", "application/json"), ("idempotency-key", "k1")];
    let body = json!({"features": {"a": 1}, "label": 3, "predict": true}).to_string();
    let first = client.send("POST", "/v1/models/m/learn", &headers, body.as_bytes()).unwrap().ok();
    let again = client.send("POST", "/v1/models/m/learn", &headers, body.as_bytes()).unwrap().ok();
    assert_eq!(first, again);
    let other = json!({"features": {"a": 2}, "label": 3}).to_string();
    let answer = client.send("POST", "/v1/models/m/learn", &headers, other.as_bytes()).unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (409, "key_reused"));
    server.stop();
    let server = Running::in_folder(folder.path());
    let mut client = server.client();
    let again = client.send("POST", "/v1/models/m/learn", &headers, body.as_bytes()).unwrap().ok();
    assert_eq!(first, again, "after a restart");
    assert_eq!(client.get("/v1/models/m").ok()["examples"], 1);
}

#[test]
fn labels_may_come_later_and_count_at_the_score_that_was_told() {
    let (folder, server) = served();
    let mut client = server.client();
    client
        .put("/v1/models/m", &json!({"loss": "square", "learner": "ogd", "eta": 0.1, "schedule": "constant"}))
        .ok();
    client.post("/v1/models/m/learn", &json!({"indices": [0], "values": [1], "label": 2})).ok();
    let told = client.post("/v1/models/m/predict", &json!({"indices": [0], "values": [1]})).ok();
    let (score, id) =
        (told["predictions"][0]["score"].as_f64().unwrap(), told["predictions"][0]["id"].clone());
    client.post("/v1/models/m/learn", &json!({"indices": [0], "values": [1], "label": -2})).ok();
    let before =
        client.post("/v1/models/m/predict", &json!({"indices": [0], "values": [1], "id": false})).ok();
    let before = before["predictions"][0]["score"].as_f64().unwrap();
    let loss = client.get("/v1/models/m").ok()["average_loss"].as_f64().unwrap() * 2.0;
    let late = client.post("/v1/models/m/label", &json!({"id": id, "label": 1})).ok();
    let total = late["average_loss"].as_f64().unwrap() * 3.0;
    assert!((total - loss - (score - 1.0).powi(2)).abs() < 1e-12, "the loss of the score that was told");
    let after =
        client.post("/v1/models/m/predict", &json!({"indices": [0], "values": [1], "id": false})).ok();
    let after = after["predictions"][0]["score"].as_f64().unwrap();
    // Step 0.1, slope 2 (z - y) at the old score, |x|^2 = 2 with the bias, from where the model is now.
    assert!((after - (before - 0.1 * 2.0 * (score - 1.0) * 2.0)).abs() < 1e-12);
    assert_eq!(
        client.post("/v1/models/m/label", &json!({"id": id, "label": 1})).code(),
        "unknown_prediction"
    );
    let told = client.get("/v1/models/m").ok();
    assert_eq!((told["labelled"].as_u64(), told["late"].as_u64()), (Some(1), Some(1)));
    assert!(told["bound"]["regret_at_most"].is_null());
    let pending = client.post("/v1/models/m/predict", &json!({"indices": [0], "values": [3]})).ok();
    std::thread::sleep(Duration::from_millis(150));
    server.stop();
    let server =
        Running::start(Settings { label_ttl: Duration::from_millis(50), ..Settings::new(folder.path()) });
    let mut client = server.client();
    let id = &pending["predictions"][0]["id"];
    assert_eq!(client.post("/v1/models/m/label", &json!({"id": id, "label": 1})).ok()["learned"], 1);
    let short = client.post("/v1/models/m/predict", &json!({"indices": [0], "values": [3]})).ok();
    // Nothing is written in between: a record has the time at which it came, not that of the one before it.
    std::thread::sleep(Duration::from_millis(400));
    let told = client.get("/v1/models/m").ok();
    assert_eq!((&told["pending"], &told["expired"]), (&json!(0), &json!(1)), "without waiting for a record");
    let id = &short["predictions"][0]["id"];
    assert_eq!(
        client.post("/v1/models/m/label", &json!({"id": id, "label": 1})).code(),
        "unknown_prediction"
    );
    assert_eq!(client.get("/v1/models/m").ok()["expired"], 1);
}

#[test]
fn streams_of_every_format_are_learned() {
    let (_folder, server) = served();
    let mut client = server.client();
    let lines: String = (0..3000)
        .map(|k| format!("{}\n", json!({"features": {"a": k % 7, "b": "x"}, "label": k % 2})))
        .collect();
    client.put("/v1/models/nd", &json!({})).ok();
    let told = client.request("POST", "/v1/models/nd/learn", "application/x-ndjson", lines.as_bytes()).ok();
    assert_eq!((told["learned"].as_u64(), told["examples"].as_u64()), (Some(3000), Some(3000)));
    let svm: String =
        (0..20_000).map(|k| format!("{} {}:1 {}:0.5\n", k % 2, 1 + k % 9, 20 + k % 5)).collect();
    client.put("/v1/models/svm", &json!({})).ok();
    let told = client.request("POST", "/v1/models/svm/learn", "text/x-libsvm", svm.as_bytes()).ok();
    assert_eq!(told["learned"], 20_000);
    let csv = "a,city,label\n1,Rome,1\n2,Oslo,0\n";
    client.put("/v1/models/csv", &json!({})).ok();
    assert_eq!(client.request("POST", "/v1/models/csv/learn", "text/csv", csv.as_bytes()).ok()["learned"], 2);
    // The same features as a JSON object has.
    let told =
        client.post("/v1/models/csv/learn", &json!({"features": {"a": 1, "city": "Rome"}, "label": 1})).ok();
    assert_eq!(told["examples"], 3);
    let names = |told: Value| {
        let list =
            told["features"].as_array().unwrap().iter().map(|f| f["feature"].as_str().unwrap().to_owned());
        list.collect::<std::collections::BTreeSet<String>>()
    };
    let named = names(client.get("/v1/models/csv/features").ok());
    assert_eq!(named, ["a", "city=Oslo", "city=Rome"].map(str::to_owned).into());
    let predicted =
        client.request("POST", "/v1/models/csv/predict?format=csv", "text/plain", b"a,city\n1,Rome\n").ok();
    assert_eq!(predicted["predictions"][0]["label"], 1);
    client.put("/v1/models/vw", &json!({"classes": [-1, 1]})).ok();
    let told = client.request("POST", "/v1/models/vw/learn", "text/x-vw", b"1 |f a b:2\n-1 2.0 |f c\n").ok();
    assert_eq!(told["examples"], 2);
    let bad = client.request("POST", "/v1/models/svm/learn", "text/x-libsvm", b"1 1:1\n1 1:x\n");
    assert_eq!((bad.status, bad.code().as_str()), (400, "bad_input"));
    assert!(bad.json()["error"]["message"].as_str().unwrap().contains("line 2"));
    assert_eq!(client.get("/v1/models/svm").ok()["examples"], 20_000);
}

#[test]
fn a_chunked_stream_is_learned_while_it_comes_in() {
    let (_folder, server) = served();
    server.client().put("/v1/models/m", &json!({})).ok();
    let stream = TcpStream::connect(server.address).unwrap();
    let mut out = stream.try_clone().unwrap();
    out.write_all(b"POST /v1/models/m/learn?format=libsvm HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    let piece: String =
        (0..4000).map(|k| format!("{} {}:1 {}:0.5\n", k % 2, 1 + k % 9, 20 + k % 5)).collect();
    for _ in 0..20 {
        write!(out, "{:x}\r\n{piece}\r\n", piece.len()).unwrap();
    }
    let mut learned = 0;
    for _ in 0..200 {
        learned = server.client().get("/v1/models/m").ok()["examples"].as_u64().unwrap();
        if learned > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(learned > 0, "nothing is learned before the end");
    out.write_all(b"0\r\n\r\n").unwrap();
    let answer = read_answer(&mut std::io::BufReader::new(stream)).unwrap();
    assert_eq!(answer.ok()["learned"], 80_000);
}

#[test]
fn a_model_file_goes_down_and_up_and_predicts_the_same() {
    let (_folder, server) = served();
    let mut client = server.client();
    client.put("/v1/models/a", &json!({"learner": "projected-ogd", "loss": "hinge"})).ok();
    let mut stream = Stream(3);
    let examples: Vec<Value> = (0..200).map(|_| stream.example()).collect();
    client.post("/v1/models/a/learn", &json!({ "examples": examples })).ok();
    let file = client.get("/v1/models/a/model").body;
    let up = client.request("PUT", "/v1/models/b/model", "application/octet-stream", &file);
    assert_eq!(up.status, 201);
    assert_eq!(
        client.request("PUT", "/v1/models/b/model", "application/octet-stream", &file).code(),
        "exists"
    );
    let again = client.request("PUT", "/v1/models/b/model?replace=true", "application/octet-stream", &file);
    assert_eq!(again.status, 201);
    let more = json!({"examples": [stream.example(), stream.example()], "predict": true});
    let (a, b) =
        (client.post("/v1/models/a/learn", &more).ok(), client.post("/v1/models/b/learn", &more).ok());
    assert_eq!(a, b);
    assert_eq!(client.get("/v1/models/a/model").body, client.get("/v1/models/b/model").body);
    let mut damaged = file.clone();
    damaged[100] ^= 1;
    assert_eq!(
        client.request("PUT", "/v1/models/c/model", "application/octet-stream", &damaged).code(),
        "bad_model"
    );
}

#[test]
fn messages_speak_of_requests_and_not_of_flags() {
    let (_folder, server) = served();
    let mut client = server.client();
    let message = |answer: support::Answer| {
        assert!((400..500).contains(&answer.status), "{}", answer.status);
        answer.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    for (body, expected) in [
        (json!({"learner": "ogd", "schedule": "constant"}), "needs `eta`"),
        (json!({"comparator": "ridge"}), "`comparator` ridge needs `l2`"),
        (json!({"etta": 1}), "`etta`"),
        (json!({"radius": -1}), "`radius`"),
        (json!({"learner": "alma", "loss": "hinge", "average": true}), "`GET /v1/learners`"),
        (json!({"learner": "softmax"}), "say `\"multiclass\": \"softmax\"`"),
        (json!({"multiclass": "some"}), "`multiclass` some: expected one of ovr"),
        (
            json!({"multiclass": "softmax", "average": true}),
            "`average` does not go with `multiclass` softmax",
        ),
    ] {
        let told = message(client.put("/v1/models/none", &body));
        assert!(told.contains(expected), "{body}: {told}");
        assert!(!told.contains("--"), "{body}: {told}");
    }
    client.put("/v1/models/m", &json!({})).ok();
    let example = |label: Value| json!({"features": {"a": 1}, "label": label});
    let told = message(client.post("/v1/models/m/learn", &example(json!("x"))));
    assert!(told.contains("`classes`"), "{told}");
    client.put("/v1/models/ab", &json!({"classes": ["a", "b"]})).ok();
    let told = message(client.post("/v1/models/ab/learn", &example(json!("--c"))));
    assert!(told.contains("`--c`") && told.contains("made with `multiclass`"), "{told}");
    let told = message(client.request("POST", "/v1/models/m/learn", "text/csv", b"a,b\n1,2\n"));
    assert!(told.contains("`?label=`"), "{told}");
    let told = message(client.request("POST", "/v1/models/m/learn", "text/x-libsvm", b"1 0:1\n"));
    assert!(told.contains("`?zero_based=true`"), "{told}");
    let told = message(client.request("POST", "/v1/models/m/learn", "text/csv", b"1,2\n-1,3\n"));
    assert!(told.contains("`?no_header=true`") && told.contains("`?label=` 1"), "{told}");
    let plain = "/v1/models/plain/learn?no_header=true&label=1";
    client.put("/v1/models/plain", &json!({})).ok();
    assert_eq!(client.request("POST", plain, "text/csv", b"1,2\n-1,3\n").ok()["learned"], 2);
    // Flags of the server stay flags: whoever runs it can change them.
    let told = message(client.post("/v1/models/m/label", &json!({"id": "0000000000000001", "label": 1})));
    assert!(told.contains("--label-ttl"), "{told}");
    client.post("/v1/models/m/learn", &example(json!(1))).ok();
    let told = client.get("/v1/models/m").ok();
    for key in ["verdict", "risk", "bound", "mixture"] {
        assert!(!told[key].to_string().contains("--"), "{}", told[key]);
    }
}
