//! A server in the same process, and a client that does what it is told and nothing more.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::format_push_string,
    reason = "each test uses its part"
)]

pub mod child;

use noregret_server::{Server, Settings};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

pub struct Running {
    pub address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A server on a new folder.
pub fn served() -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::in_folder(folder.path());
    (folder, server)
}

impl Running {
    pub fn start(settings: Settings) -> Self {
        Self::try_start(settings).unwrap()
    }

    pub fn try_start(mut settings: Settings) -> Result<Self, String> {
        settings.listen.set_port(0);
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async move {
                match Server::start(settings).await {
                    Ok(server) => {
                        tell.send(server.address().map_err(|e| e.to_string())).unwrap();
                        server.run(async move { drop(ended.await) }).await;
                    }
                    Err(error) => tell.send(Err(error.to_string())).unwrap(),
                }
            });
        });
        let address = told.recv().map_err(|e| e.to_string())??;
        Ok(Self { address, end: Some(end), thread: Some(thread) })
    }

    pub fn in_folder(folder: &Path) -> Self {
        Self::start(Settings::new(folder))
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Ends as SIGTERM does.
    pub fn stop(mut self) {
        self.stop_now();
    }

    fn stop_now(&mut self) {
        if let Some(end) = self.end.take() {
            let _ = end.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop_now();
    }
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The body, if all went well.
    pub fn ok(self) -> Value {
        assert!(self.status < 300, "{}: {}", self.status, String::from_utf8_lossy(&self.body));
        self.json()
    }
}

pub struct Client {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    fn stream(&mut self) -> std::io::Result<&mut BufReader<TcpStream>> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            self.stream = Some(BufReader::new(stream));
        }
        Ok(self.stream.as_mut().unwrap())
    }

    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        let done = self.exchange(&bytes);
        if done.is_err() {
            self.stream = None;
        }
        done
    }

    fn exchange(&mut self, bytes: &[u8]) -> std::io::Result<Answer> {
        let stream = self.stream()?;
        stream.get_mut().write_all(bytes)?;
        let answer = read_answer(stream)?;
        if answer.header("connection").is_some_and(|c| c.eq_ignore_ascii_case("close")) {
            self.stream = None;
        }
        Ok(answer)
    }

    pub fn request(&mut self, method: &str, path: &str, content: &str, body: &[u8]) -> Answer {
        self.send(method, path, &[("content-type", content)], body).unwrap()
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").unwrap()
    }

    pub fn put(&mut self, path: &str, body: &Value) -> Answer {
        self.request("PUT", path, "application/json", body.to_string().as_bytes())
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, "application/json", body.to_string().as_bytes())
    }
}

pub fn read_answer(stream: &mut impl BufRead) -> std::io::Result<Answer> {
    let gone = || std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the connection ended");
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(gone());
    }
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(gone)?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(gone());
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    if let Some(length) = answer.header("content-length").and_then(|l| l.parse::<usize>().ok()) {
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body)?;
    } else if answer.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).map_err(|_| gone())?;
            let mut chunk = vec![0; length + 2];
            stream.read_exact(&mut chunk)?;
            if length == 0 {
                break;
            }
            answer.body.extend_from_slice(&chunk[..length]);
        }
    }
    Ok(answer)
}

/// A deterministic little stream of examples.
pub struct Stream(pub u64);

impl Stream {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1u64 << 31) as f64
    }

    /// A numbered example as JSON.
    pub fn example(&mut self) -> Value {
        let mut indices: Vec<u64> = (0..5).map(|_| self.next() % 50).collect();
        indices.sort_unstable();
        indices.dedup();
        let values: Vec<f64> = indices.iter().map(|_| self.unit() - 0.5).collect();
        let sum: f64 = indices.iter().zip(&values).map(|(i, v)| if i % 2 == 0 { *v } else { -v }).sum();
        serde_json::json!({"indices": indices, "values": values, "label": if sum > 0.0 { 1 } else { -1 }})
    }
}

/// The same as a row.
pub fn row(example: &Value) -> (f64, Vec<(u32, f64)>) {
    let list = |key: &str| example[key].as_array().unwrap().clone();
    let (indices, values) = (list("indices"), list("values"));
    let pairs = indices.iter().zip(&values).map(|(i, v)| (i.as_u64().unwrap() as u32, v.as_f64().unwrap()));
    (example["label"].as_f64().unwrap(), pairs.filter(|(_, v)| *v != 0.0).collect())
}
