//! One connection, from its first byte to its last.

use crate::stall::{Patient, Unread};
use crate::streams::{Heard, Reason, Streams};
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::service::Service as _;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// How connections are spoken on.
#[derive(Clone)]
pub(crate) struct Connections {
    first: Builder<TokioExecutor>,
    second: Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    router: Router,
    patience: Duration,
}

impl Connections {
    pub(crate) fn new(router: Router, tls: Option<TlsAcceptor>, patience: Duration) -> Self {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(patience)
            .keep_alive_timeout(patience)
            .max_concurrent_streams(128)
            // Who begins requests and takes them back faster than they are looked at is sent away, and so is who makes
            // mistake after mistake.
            .max_pending_accept_reset_streams(32)
            .max_local_error_reset_streams(256)
            .max_header_list_size(16 << 10)
            // What a connection may leave here: sent and not looked at yet, asked for and not taken.
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(1 << 20)
            .max_send_buf_size(64 << 10);
        // Which protocol it is, is known beforehand: to find out, a silent client would be waited for without end.
        Self { first: builder.clone().http1_only(), second: builder.http2_only(), tls, router, patience }
    }

    /// Serves one until it ends, or everything does.
    pub(crate) async fn serve(&self, socket: TcpStream, ending: watch::Receiver<bool>) {
        let socket = Patient::new(socket, self.patience);
        let unread = socket.unread();
        let Some(tls) = &self.tls else { return self.first(socket, unread, ending).await };
        match tokio::time::timeout(self.patience, tls.accept(socket)).await {
            Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                self.second(stream, ending).await;
            }
            Ok(Ok(stream)) => self.first(stream, unread, ending).await,
            Ok(Err(error)) => tracing::debug!(%error, "no TLS"),
            Err(_) => tracing::debug!("no TLS in time"),
        }
    }

    /// HTTP/1.1.
    async fn first<S>(&self, stream: S, unread: Unread, mut ending: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = TowerToHyperService::new(self.router.clone());
        let service = hyper::service::service_fn(move |mut request: Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(unread.clone());
            router.call(request)
        });
        let mut served = std::pin::pin!(self.first.serve_connection(TokioIo::new(stream), service));
        told(tokio::select! {
            done = &mut served => done,
            () = ended(&mut ending) => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        });
    }

    /// HTTP/2.
    async fn second<S>(&self, stream: S, mut ending: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let streams = Streams::new();
        let router = TowerToHyperService::new(self.router.clone());
        let service = hyper::service::service_fn({
            let streams = streams.clone();
            move |request: Request<hyper::body::Incoming>| {
                let (followed, answer) = (streams.begin(), router.call(request.map(Heard::new)));
                async move { answer.await.map(|answer: Response| answer.map(|body| followed.body(body))) }
            }
        });
        let mut served = std::pin::pin!(self.second.serve_connection(TokioIo::new(stream), service));
        let reason = tokio::select! {
            done = &mut served => return told(done),
            () = ended(&mut ending) => None,
            reason = streams.reason(self.patience) => Some(reason),
        };
        if reason == Some(Reason::Stalled) {
            return tracing::debug!("a client does not read what it asked for");
        }
        // No new requests; those under way may end, but for clients that do not read.
        served.as_mut().graceful_shutdown();
        tokio::select! {
            done = &mut served => told(done),
            _ = streams.reason(self.patience) => {}
        }
    }
}

/// Waits for the end of everything.
async fn ended(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await;
}

fn told(done: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = done {
        tracing::debug!(%error, "a connection ended badly");
    }
}
