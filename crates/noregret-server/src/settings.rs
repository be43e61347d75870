//! What the server is told when it starts.

use crate::source::spec::Spec;
use crate::store::Place;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// When an answer says that something is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk.
    Sync,
    /// Up to half a second before.
    Relaxed,
}

/// Everything that can be set.
#[derive(Clone)]
pub struct Settings {
    /// Where models are kept.
    pub place: Place,
    /// Where to listen.
    pub listen: SocketAddr,
    /// When an answer says that something is learned.
    pub durability: Durability,
    /// How long a prediction waits for its label.
    pub label_ttl: Duration,
    /// How many predictions of a model may wait for their labels.
    pub most_pending: u64,
    /// The file of tokens.
    pub token_file: Option<PathBuf>,
    /// The certificate chain and its key, as PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The origins whose pages may call the API from a browser.
    pub cors: Vec<String>,
    /// The largest body, in bytes; of a stream, its largest record.
    pub most_body: usize,
    /// The most features of an example.
    pub most_features: usize,
    /// The most models.
    pub most_models: usize,
    /// The most memory of a model, in bytes.
    pub most_model_memory: u64,
    /// The most requests at a time.
    pub most_requests: usize,
    /// The most connections at a time.
    pub most_connections: usize,
    /// The most texts (LIBSVM, VW, CSV) that come in at a time. Each has a thread, of which there are 512.
    pub most_texts: usize,
    /// How long a client may let the server wait for the next bytes.
    pub patience: Duration,
    /// How many bytes of requests may wait to be learned.
    pub most_queued: usize,
    /// A snapshot is taken when the log has grown by this many bytes.
    pub snapshot_bytes: u64,
    /// How long requests may go on after the signal to end.
    pub grace: Duration,
    /// Where examples come from besides requests.
    pub sources: Vec<Spec>,
}

impl Settings {
    /// The defaults, for a folder.
    pub fn new(data: &std::path::Path) -> Self {
        Self::at(Place::File(data.join("noregret.redb")))
    }

    /// The defaults, for a store anywhere.
    pub fn at(place: Place) -> Self {
        Self {
            place,
            listen: SocketAddr::from(([127, 0, 0, 1], 7878)),
            durability: Durability::Sync,
            label_ttl: Duration::from_secs(24 * 60 * 60),
            most_pending: 65_536,
            token_file: None,
            tls: None,
            cors: Vec::new(),
            most_body: 16 << 20,
            most_features: 100_000,
            most_models: 1000,
            most_model_memory: 1 << 30,
            most_requests: 1024,
            most_connections: 4096,
            most_texts: 256,
            patience: Duration::from_secs(30),
            most_queued: 64 << 20,
            snapshot_bytes: 16 << 20,
            grace: Duration::from_secs(20),
            sources: Vec::new(),
        }
    }
}
