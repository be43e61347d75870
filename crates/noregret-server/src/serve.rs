//! Listening, and ending well.

use crate::api::{self, App, Metrics, Room};
use crate::auth::Tokens;
use crate::models::Models;
use crate::settings::Settings;
use crate::source;
use crate::tls;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
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
        let listen = settings.listen;
        let opened = tokio::task::spawn_blocking(move || Models::open(settings)).await;
        let models = opened
            .map_err(|e| StartError::Refused(format!("the store: {e}")))?
            .map_err(|e| StartError::Refused(e.to_string()))?;
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
        let connections = Arc::new(Semaphore::new(models.settings().most_connections));
        let graceful = GracefulShutdown::new();
        let mut builder = Builder::new(TokioExecutor::new());
        // Which protocol it is, is known beforehand: to find out, a silent client would be waited for without end.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(patience)
            .keep_alive_timeout(patience)
            .max_concurrent_streams(128);
        let plain = Arc::new(builder.clone().http1_only());
        let second = Arc::new(builder.http2_only());
        let mut end = std::pin::pin!(end);
        loop {
            let accept = async {
                let permit = connections.clone().acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                (Ok(permit), accepted) = accept => (permit, accepted),
                () = &mut end => break,
                else => break,
            };
            let stream: TcpStream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let (plain, second) = (plain.clone(), second.clone());
            let (router, watcher, tls) = (router.clone(), graceful.watcher(), tls.clone());
            tokio::spawn(async move {
                let _permit = permit;
                match tls {
                    None => connection(&plain, stream, router, watcher).await,
                    Some(tls) => match tokio::time::timeout(patience, tls.accept(stream)).await {
                        Ok(Ok(stream)) => {
                            let agreed = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                            connection(if agreed { &second } else { &plain }, stream, router, watcher).await;
                        }
                        Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
                        Err(_) => tracing::debug!("no TLS in time"),
                    },
                }
            });
        }
        drop(listener);
        drop(sources);
        tracing::info!("ending: waiting for requests under way");
        models.health.ending.store(true, std::sync::atomic::Ordering::Relaxed);
        if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
        let finished = tokio::task::spawn_blocking(move || models.finish()).await;
        if finished.is_err() {
            tracing::error!("the store was not closed well");
        }
    }
}

async fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    builder: &Builder<TokioExecutor>,
    stream: S,
    router: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let service = TowerToHyperService::new(router);
    let served = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(%error, "a connection ended badly");
    }
}
