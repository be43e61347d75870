//! A server in a process of its own, so that it can be killed: the test program again, told to serve.

use noregret_server::source::spec::Spec;
use noregret_server::{Server, Settings};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "NOREGRET_TEST_FOLDER";
const SNAPSHOT: &str = "NOREGRET_TEST_SNAPSHOT_BYTES";
const SOURCE: &str = "NOREGRET_TEST_SOURCE";

/// Serves until it is killed, if this process was started by [`spawn`]; else does nothing. The first line of the test
/// that `spawn` is given.
pub fn serve_if_told() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut settings = Settings::new(Path::new(&folder));
    settings.listen.set_port(0);
    settings.snapshot_bytes = std::env::var(SNAPSHOT).unwrap().parse().unwrap();
    settings.sources = std::env::var(SOURCE).iter().map(|source| Spec::parse(source).unwrap()).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(settings).await.unwrap();
        println!("\nlistening {}", server.address().unwrap());
        std::io::stdout().flush().unwrap();
        server.run(std::future::pending()).await;
    });
}

/// Starts the test of this name in a new process, where it serves.
pub fn spawn(test: &str, folder: &Path, snapshot_bytes: u64, source: Option<&str>) -> (Child, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(FOLDER, folder)
        .env(SNAPSHOT, snapshot_bytes.to_string());
    if let Some(source) = source {
        command.env(SOURCE, source);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok()?.strip_prefix("listening ")?.parse().ok());
    std::thread::spawn(move || lines.for_each(drop));
    let Some(address) = address else {
        let _ = child.kill();
        panic!("the server does not start");
    };
    (child, address)
}
