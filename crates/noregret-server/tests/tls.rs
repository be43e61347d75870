//! HTTPS with a certificate made on the spot, and what is said of certificates that do not fit.

mod support;

use noregret_server::Settings;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::{Answer, Running, read_answer};

/// A certificate for `localhost` that signs itself, and its key, as files.
fn certificate(folder: &Path, name: &str) -> (CertificateDer<'static>, (PathBuf, PathBuf)) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    std::fs::write(&files.0, made.cert.pem()).unwrap();
    std::fs::write(&files.1, made.signing_key.serialize_pem()).unwrap();
    (made.cert.der().clone(), files)
}

type Tls = BufReader<StreamOwned<ClientConnection, TcpStream>>;

fn connect(address: SocketAddr, trusted: &CertificateDer<'static>) -> Tls {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    BufReader::new(StreamOwned::new(connection, stream))
}

fn ask(stream: &mut Tls, method: &str, path: &str, body: &str) -> std::io::Result<Answer> {
    let length = body.len();
    write!(
        stream.get_mut(),
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    read_answer(stream)
}

#[test]
fn models_are_served_over_https_and_over_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (trusted, files) = certificate(folder.path(), "own");
    let (other, _) = certificate(folder.path(), "other");
    let patience = Duration::from_millis(500);
    let server = Running::start(Settings { tls: Some(files), patience, ..Settings::new(folder.path()) });
    let mut stream = connect(server.address, &trusted);
    assert_eq!(ask(&mut stream, "PUT", "/v1/models/m", "{}").unwrap().status, 201);
    let example = json!({"features": {"a": 1}, "label": 1}).to_string();
    let learned = ask(&mut stream, "POST", "/v1/models/m/learn", &example).unwrap();
    assert!(learned.header("strict-transport-security").is_some_and(|h| h.contains("max-age")));
    assert_eq!(learned.ok()["learned"], 1);
    // A client that trusts somebody else is not deceived.
    let refused = ask(&mut connect(server.address, &other), "GET", "/healthz", "").map(drop).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidData, "{refused}");
    // Plain HTTP is no TLS, and somebody who says nothing is not waited for.
    for said in ["GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", ""] {
        let mut plain = TcpStream::connect(server.address).unwrap();
        plain.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        plain.write_all(said.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(ask(&mut connect(server.address, &trusted), "GET", "/healthz", "").unwrap().status, 200);
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, own) = certificate(folder.path(), "own");
    let (_, other) = certificate(folder.path(), "other");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate\n").unwrap();
    let none = folder.path().join("none.pem");
    for (chain, key, named) in [
        (&empty, &own.1, "empty.pem: there is no certificate in it"),
        (&none, &own.1, "none.pem"),
        (&own.0, &empty, "empty.pem"),
        (&own.0, &none, "none.pem"),
        (&own.0, &other.1, "other.key"),
    ] {
        let tls = Some((chain.clone(), key.clone()));
        let refused = Running::try_start(Settings { tls, ..Settings::new(folder.path()) });
        let refused = refused.map(drop).unwrap_err();
        assert!(refused.contains(named), "{named}: {refused}");
    }
}
