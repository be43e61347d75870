//! Listening, and ending well.

use crate::api::{self, App, Metrics, Room};
use crate::auth::Tokens;
use crate::connection::Connections;
use crate::models::Models;
use crate::settings::Settings;
use crate::source;
use crate::store::StoreError;
use crate::tls;
use axum::Router;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// Why a server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Something that was set does not fit.
    #[error("{0}")]
    Usage(String),
    /// The system refuses.
    #[error("{0}")]
    Refused(String),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    router: Router,
    models: Arc<Models>,
    tls: Option<TlsAcceptor>,
}

impl Server {
    /// Opens the store and begins to listen.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let tokens =
            settings.token_file.as_deref().map(Tokens::read).transpose().map_err(StartError::Usage)?;
        if tokens.is_none() && !settings.listen.ip().is_loopback() {
            return Err(StartError::Usage(format!(
                "without tokens the server listens on loopback alone, not on {}: give it --token-file (and --tls-cert, \
                 --tls-key), or --listen 127.0.0.1:{}",
                settings.listen,
                settings.listen.port()
            )));
        }
        let tls = match &settings.tls {
            None => None,
            Some((chain, key)) => {
                Some(TlsAcceptor::from(tls::config(chain, key).map_err(StartError::Usage)?))
            }
        };
        let (listen, place) = (settings.listen, settings.place.to_string());
        let opened = tokio::task::spawn_blocking(move || Models::open(settings)).await;
        let models =
            opened.map_err(|e| StartError::Refused(format!("{place}: {e}")))?.map_err(|e| match e {
                StoreError::Open { .. } => StartError::Refused(e.to_string()),
                _ => StartError::Refused(format!("{place}: {e}")),
            })?;
        let listener = TcpListener::bind(listen)
            .await
            .map_err(|e| StartError::Refused(format!("cannot listen on {listen}: {e}")))?;
        let requests = Semaphore::new(models.settings().most_requests);
        let app = Arc::new(App {
            models: models.clone(),
            tokens,
            metrics: Metrics::default(),
            requests,
            bodies: Room::new(models.settings().most_queued),
            uploads: Semaphore::new(1),
            readers: Arc::new(Semaphore::new(models.settings().most_texts)),
            started: crate::now(),
        });
        Ok(Self { listener, router: api::router(app), models, tls })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The models, for sources of examples besides HTTP.
    pub fn models(&self) -> &Arc<Models> {
        &self.models
    }

    /// Serves until `end`; then lets requests finish, and leaves the store with fresh snapshots.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let Self { listener, router, models, tls } = self;
        let (patience, grace) = (models.settings().patience, models.settings().grace);
        let sources = source::run::start(&models, models.settings().sources.clone());
        let slots = Arc::new(Semaphore::new(models.settings().most_connections));
        let connections = Connections::new(router, tls, patience);
        let ending = watch::Sender::new(false);
        let mut end = std::pin::pin!(end);
        loop {
            let accept = async {
                let slot = slots.clone().acquire_owned().await;
                (slot, listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                (Ok(slot), accepted) = accept => (slot, accepted),
                () = &mut end => break,
                else => break,
            };
            let socket = match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let _ = socket.set_nodelay(true);
            let (connections, ending) = (connections.clone(), ending.subscribe());
            tokio::spawn(async move {
                connections.serve(socket, ending).await;
                drop(slot);
            });
        }
        drop(listener);
        drop(sources);
        tracing::info!("ending: waiting for requests under way");
        models.health.ending.store(true, std::sync::atomic::Ordering::Relaxed);
        ending.send_replace(true);
        // Every connection listens for the end as long as there is one.
        if tokio::time::timeout(grace, ending.closed()).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
        // On a thread of its own: requests that did not end may keep all others.
        let (tell, finished) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            models.finish();
            let _ = tell.send(());
        });
        if finished.await.is_err() {
            tracing::error!("the store was not closed well");
        }
    }
}
