//! HTTP/2 over TLS: the same models, and clients that do not behave.

mod support;

use axum::http::Request;
use bytes::Bytes;
use h2::client::SendRequest;
use noregret_server::Settings;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use support::Running;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// A server that waits for clients no longer than this.
fn served(
    settings: impl FnOnce(Settings) -> Settings,
) -> (tempfile::TempDir, Running, CertificateDer<'static>) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = (folder.path().join("own.pem"), folder.path().join("own.key"));
    std::fs::write(&files.0, made.cert.pem()).unwrap();
    std::fs::write(&files.1, made.signing_key.serialize_pem()).unwrap();
    let server = Running::start(settings(Settings { tls: Some(files), ..Settings::new(folder.path()) }));
    (folder, server, made.cert.der().clone())
}

type Requests = SendRequest<Bytes>;
type Connection = JoinHandle<Result<(), h2::Error>>;

/// Waits for an end that both sides want. Whoever says its last word second may find the other gone already.
async fn part(connection: Connection) {
    if let Err(error) = connection.await.unwrap() {
        let gone = [std::io::ErrorKind::BrokenPipe, std::io::ErrorKind::ConnectionReset];
        assert!(error.get_io().is_some_and(|error| gone.contains(&error.kind())), "{error}");
    }
}

/// A connection on which the client wants to be sent so many bytes before it has read any.
async fn connect(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    window: u32,
) -> (Requests, Connection) {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
    assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(window).max_concurrent_reset_streams(100_000);
    let (requests, connection) = builder.handshake::<_, Bytes>(tls).await.unwrap();
    (requests, tokio::spawn(connection))
}

fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

async fn ask_with(requests: &Requests, asked: Request<()>, body: &Value) -> Result<(u16, Value), h2::Error> {
    let mut requests = requests.clone().ready().await?;
    let empty = asked.method() == "GET";
    let (answer, mut send) = requests.send_request(asked, empty)?;
    if !empty {
        send.send_data(body.to_string().into(), true)?;
    }
    let answer = answer.await?;
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    let mut all = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        // Of a stream that has ended nothing is held back.
        let _ = body.flow_control().release_capacity(piece.len());
        all.extend_from_slice(&piece);
    }
    Ok((status, serde_json::from_slice(&all).unwrap_or_default()))
}

async fn ask(requests: &Requests, method: &str, path: &str, body: &Value) -> (u16, Value) {
    ask_with(requests, request(method, path, &[]), body).await.unwrap()
}

const WINDOW: u32 = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn models_learn_and_predict_over_http2() {
    let (_folder, server, trusted) = served(|s| s);
    let (requests, connection) = connect(server.address, &trusted, WINDOW).await;
    assert_eq!(ask(&requests, "PUT", "/v1/models/m", &json!({})).await.0, 201);
    // Many at a time on one connection.
    let learning: Vec<_> = (0..50)
        .map(|k| {
            let requests = requests.clone();
            tokio::spawn(async move {
                let example = json!({"features": {"a": 1, "b": k}, "label": k % 2});
                let (status, told) = ask(&requests, "POST", "/v1/models/m/learn", &example).await;
                assert_eq!((status, told["learned"].as_u64()), (200, Some(1)));
            })
        })
        .collect();
    for task in learning {
        task.await.unwrap();
    }
    let example = json!({"features": {"a": 1}});
    let (status, told) = ask(&requests, "POST", "/v1/models/m/predict", &example).await;
    assert_eq!((status, told["predictions"].as_array().map(Vec::len)), (200, Some(1)));
    assert_eq!(ask(&requests, "GET", "/v1/models/m", &json!({})).await.1["examples"], 50);
    // Pages of the server's own may ask, others may not; here the host is no header.
    for (origin, status) in [("https://localhost", 200), ("https://elsewhere.example", 403)] {
        let asked = request("POST", "/v1/models/m/predict", &[("origin", origin)]);
        assert_eq!(ask_with(&requests, asked, &example).await.unwrap().0, status, "{origin}");
    }
    let mut other = request("GET", "/v1/models", &[]);
    *other.uri_mut() = "https://elsewhere.example/v1/models".parse().unwrap();
    assert_eq!(ask_with(&requests, other, &json!({})).await.unwrap().0, 403, "no tokens, another name");
    // The end of the server is told.
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    part(connection).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_not_waited_for_over_http2_either() {
    let patience = Duration::from_millis(500);
    let (_folder, server, trusted) = served(|s| Settings { patience, most_connections: 2, ..s });
    let (requests, connection) = connect(server.address, &trusted, WINDOW).await;
    assert_eq!(ask(&requests, "PUT", "/v1/models/m", &json!({})).await.0, 201);
    // A body that does not come.
    let (answer, mut send) = requests
        .clone()
        .ready()
        .await
        .unwrap()
        .send_request(request("POST", "/v1/models/m/learn", &[]), false)
        .unwrap();
    send.send_data(Bytes::from_static(b"{"), false).unwrap();
    assert_eq!(answer.await.unwrap().status(), 408);
    // Events are read for as long as there are any, and longer than the server waits for anything.
    let events = requests.clone().ready().await.unwrap();
    let (answer, _) = { events }.send_request(request("GET", "/v1/models/m/events", &[]), true).unwrap();
    let mut events = answer.await.unwrap().into_body();
    for k in 0..3 {
        tokio::time::sleep(2 * patience).await;
        let example = json!({"features": {"a": k}, "label": 1});
        assert_eq!(ask(&requests, "POST", "/v1/models/m/learn", &example).await.0, 200);
        let piece = events.data().await.unwrap().unwrap();
        events.flow_control().release_capacity(piece.len()).unwrap();
    }
    drop((events, requests));
    part(connection).await;
    // Clients that want to be sent little, or nothing, and answer pings for ever.
    for window in [0, 10] {
        let (requests, connection) = connect(server.address, &trusted, window).await;
        let mut bodies = Vec::new();
        for _ in 0..20 {
            let ready = requests.clone().ready().await.unwrap();
            let (answer, _) = { ready }.send_request(request("GET", "/openapi.json", &[]), true).unwrap();
            bodies.push(answer.await.unwrap().into_body());
        }
        let ended = tokio::time::timeout(Duration::from_secs(60), connection).await;
        assert!(ended.is_ok(), "window {window}: the connection is still there");
    }
    // Nor is one kept that asks for nothing.
    let (_requests, connection) = connect(server.address, &trusted, WINDOW).await;
    let ended = tokio::time::timeout(Duration::from_secs(60), connection).await;
    assert!(ended.is_ok(), "the connection is still there");
    // All places are free again.
    for _ in 0..2 {
        let (requests, _) = connect(server.address, &trusted, WINDOW).await;
        assert_eq!(ask(&requests, "GET", "/healthz", &json!({})).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_requests_back_again_and_again_is_sent_away() {
    let (_folder, server, trusted) = served(|s| s);
    let (good, _) = connect(server.address, &trusted, WINDOW).await;
    assert_eq!(ask(&good, "PUT", "/v1/models/m", &json!({})).await.0, 201);
    let (requests, connection) = connect(server.address, &trusted, WINDOW).await;
    let mut sent = 0;
    while sent < 50_000 {
        let Ok(mut ready) = requests.clone().ready().await else { break };
        let asked = request("GET", "/v1/models/m", &[]);
        let Ok((answer, mut send)) = ready.send_request(asked, false) else { break };
        send.send_reset(h2::Reason::CANCEL);
        drop(answer);
        sent += 1;
        if sent % 100 == 0 {
            tokio::task::yield_now().await;
        }
        if connection.is_finished() {
            break;
        }
    }
    println!("{sent} requests taken back");
    assert!(sent < 50_000, "nobody sent the client away");
    // It is told why, if it listens before it says more.
    let error = connection.await.unwrap().unwrap_err();
    assert!(error.reason().is_none_or(|why| why == h2::Reason::ENHANCE_YOUR_CALM), "{error}");
    // Others do not notice.
    assert_eq!(ask(&good, "GET", "/v1/models/m", &json!({})).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_streams_than_are_allowed_and_no_larger_headers() {
    let (_folder, server, trusted) = served(|s| s);
    let (requests, _connection) = connect(server.address, &trusted, WINDOW).await;
    assert_eq!(ask(&requests, "PUT", "/v1/models/m", &json!({})).await.0, 201);
    let mut open = Vec::new();
    for _ in 0..128 {
        let ready = requests.clone().ready().await.unwrap();
        open.push({ ready }.send_request(request("POST", "/v1/models/m/learn", &[]), false).unwrap());
    }
    // One more waits until another has ended: the client is told how many may be under way.
    let more = tokio::time::timeout(Duration::from_millis(300), async {
        let ready = requests.clone().ready().await?;
        let (answer, _) = { ready }.send_request(request("GET", "/healthz", &[]), true)?;
        answer.await
    });
    assert!(more.await.is_err(), "a stream beyond the limit was opened");
    drop(open);
    assert_eq!(ask(&requests, "GET", "/healthz", &json!({})).await.0, 200);
    let long = "x".repeat(100_000);
    let asked = request("GET", "/healthz", &[("long", &long)]);
    let refused = ask_with(&requests, asked, &json!({})).await;
    assert!(refused.as_ref().map_or(true, |(status, _)| *status == 431), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_may_end_the_request_and_is_not_told_to_stop() {
    let (_folder, server, trusted) = served(|s| s);
    let (requests, connection) = connect(server.address, &trusted, WINDOW).await;
    for path in ["/v1/models/none/learn", "/v1/nothing", "/v1/models/none/model"] {
        let mut requests = requests.clone().ready().await.unwrap();
        let method = if path.ends_with("model") { "DELETE" } else { "POST" };
        let (answer, mut send) = requests.send_request(request(method, path, &[]), false).unwrap();
        let answer = answer.await.unwrap();
        assert!(matches!(answer.status().as_u16(), 404 | 405));
        let mut body = answer.into_body();
        while let Some(piece) = body.data().await {
            let _ = body.flow_control().release_capacity(piece.unwrap().len());
        }
        let told =
            tokio::time::timeout(Duration::from_millis(200), std::future::poll_fn(|cx| send.poll_reset(cx)));
        assert!(told.await.is_err(), "the stream was reset");
        send.send_data(Bytes::from_static(b"{}"), true).unwrap();
    }
    assert_eq!(ask(&requests, "PUT", "/v1/models/m", &json!({})).await.0, 201);
    drop(requests);
    part(connection).await;
}
