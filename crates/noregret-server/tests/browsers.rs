//! What pages of other sites may ask through somebody's browser: nothing, unless `--cors` lets their site in.

mod support;

use noregret_server::Settings;
use serde_json::json;
use support::{Answer, Running};

const SITE: &str = "https://example.org";

fn ask(server: &Running, method: &str, origin: &str, more: &[(&str, &str)]) -> Answer {
    let body = json!({"features": {"a": 1}, "label": 1}).to_string();
    let mut headers = vec![("origin", origin), ("content-type", "application/json")];
    headers.extend(more);
    let body = if method == "POST" { body.as_bytes() } else { b"" };
    server.client().send(method, "/v1/models/m/learn", &headers, body).unwrap()
}

#[test]
fn a_site_that_is_let_in_may_ask_and_others_may_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings { cors: vec![SITE.to_owned()], ..Settings::new(folder.path()) });
    server.client().put("/v1/models/m", &json!({})).ok();
    let before =
        [("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")];
    let may = ask(&server, "OPTIONS", SITE, &before);
    assert_eq!((may.status, may.header("access-control-allow-origin")), (204, Some(SITE)));
    assert!(may.header("access-control-allow-methods").is_some_and(|m| m.contains("POST")));
    let headers = may.header("access-control-allow-headers").unwrap_or_default();
    for needed in ["authorization", "content-type", "idempotency-key"] {
        assert!(headers.contains(needed), "{headers}");
    }
    let learned = ask(&server, "POST", SITE, &[]);
    assert_eq!(learned.header("access-control-allow-origin"), Some(SITE));
    assert!(learned.header("vary").is_some_and(|v| v.contains("origin")));
    assert_eq!(learned.ok()["learned"], 1);
    // Errors can be read by the page too.
    let bad = server.client().send("POST", "/v1/models/none/learn", &[("origin", SITE)], b"{}").unwrap();
    assert_eq!((bad.status, bad.header("access-control-allow-origin")), (404, Some(SITE)));
    for other in ["https://example.org.evil.example", "http://example.org", "https://example.com", "null"] {
        for method in ["OPTIONS", "POST"] {
            let refused = ask(&server, method, other, if method == "OPTIONS" { &before } else { &[] });
            assert_eq!((refused.status, refused.code().as_str()), (403, "other_origin"), "{method} {other}");
            assert_eq!(refused.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(server.client().get("/v1/models/m").ok()["examples"], 1);
}

#[test]
fn without_tokens_the_server_is_asked_by_no_other_name() {
    // Else a page could let its own name point here, and ask as if it were of this server.
    let folder = tempfile::tempdir().unwrap();
    let server = Running::in_folder(folder.path());
    let port = server.address.port();
    for (host, status) in [
        ("localhost".to_owned(), 200),
        (format!("localhost:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("evil.example".to_owned(), 403),
        (format!("evil.example:{port}"), 403),
    ] {
        let stream = std::net::TcpStream::connect(server.address).unwrap();
        std::io::Write::write_all(
            &mut &stream,
            format!("GET /v1/models HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes(),
        )
        .unwrap();
        let answer = support::read_answer(&mut std::io::BufReader::new(stream)).unwrap();
        assert_eq!(answer.status, status, "{host}");
    }
}
