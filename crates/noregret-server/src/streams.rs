//! The requests under way on an HTTP/2 connection. There the client says for each of them how much it wants to be sent,
//! and may never want it, while the socket is fine: so what was handed over is followed until it is written.

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Instant;

/// Bodies are handed over in pieces of this size, so that little of them lies where only the client can fetch it.
const PIECE: usize = 32 << 10;

/// Why a connection should end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It has had no request for long enough.
    Idle,
    /// It does not take what it asked for.
    Stalled,
}

/// All requests of a connection.
pub(crate) struct Streams {
    began: Instant,
    open: Mutex<Vec<Weak<Stream>>>,
}

/// One request, until all of its answer is written.
struct Stream {
    /// Pieces that were handed over and are not written.
    unwritten: AtomicUsize,
    /// When that last changed, in milliseconds since the connection began.
    changed: AtomicU64,
    began: Instant,
}

impl Stream {
    fn change(&self) {
        self.changed.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}

impl Streams {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), open: Mutex::default() })
    }

    /// A request begins.
    pub(crate) fn begin(&self) -> Followed {
        let stream = Arc::new(Stream {
            unwritten: AtomicUsize::new(0),
            changed: AtomicU64::new(0),
            began: self.began,
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == open.capacity() {
            open.retain(|stream| stream.strong_count() > 0);
        }
        open.push(Arc::downgrade(&stream));
        Followed(stream)
    }

    /// Waits until there is a reason to end the connection.
    pub(crate) async fn reason(&self, patience: Duration) -> Reason {
        let mut used = Instant::now();
        loop {
            tokio::time::sleep(patience / 4).await;
            let now = self.began.elapsed();
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.retain(|stream| stream.strong_count() > 0);
            if !open.is_empty() {
                used = Instant::now();
            } else if used.elapsed() >= patience {
                return Reason::Idle;
            }
            let stalled = |stream: &Stream| {
                let since = Duration::from_millis(stream.changed.load(Ordering::Relaxed));
                stream.unwritten.load(Ordering::Relaxed) > 0 && now.saturating_sub(since) >= patience
            };
            if open.iter().filter_map(Weak::upgrade).any(|stream| stalled(&stream)) {
                return Reason::Stalled;
            }
        }
    }
}

/// A request that is followed.
pub(crate) struct Followed(Arc<Stream>);

impl Followed {
    /// The body of its answer.
    pub(crate) fn body(self, body: Body) -> Body {
        Body::new(FollowedBody { body, rest: Bytes::new(), stream: self.0 })
    }
}

/// How much of a request that was answered already is read, and for how long, so that its stream ends as others do: there
/// are clients that lose the answer when they are told to send no more.
const REST: usize = 64 << 10;
const REST_WAIT: Duration = Duration::from_secs(1);

/// The body of a request, of which what nobody read is heard out.
pub(crate) struct Heard(Option<Incoming>);

impl Heard {
    pub(crate) fn new(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl http_body::Body for Heard {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.0.as_mut().map_or(Poll::Ready(None), |body| Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        let Some(mut body) = self.0.take().filter(|body| !http_body::Body::is_end_stream(body)) else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let hear = async {
                let mut heard = 0;
                while heard < REST
                    && let Some(Ok(frame)) = body.frame().await
                {
                    heard += frame.data_ref().map_or(0, Bytes::len);
                }
            };
            let _ = tokio::time::timeout(REST_WAIT, hear).await;
        });
    }
}

struct FollowedBody {
    body: Body,
    /// What is left of the last piece of `body`.
    rest: Bytes,
    stream: Arc<Stream>,
}

/// Bytes that tell when they are let go: then they are written, or nobody wants them any more.
struct Handed {
    bytes: Bytes,
    stream: Arc<Stream>,
}

impl AsRef<[u8]> for Handed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.stream.change();
        self.stream.unwritten.fetch_sub(1, Ordering::Relaxed);
    }
}

impl http_body::Body for FollowedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()? else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let size = self.rest.len().min(PIECE);
        let bytes = self.rest.split_to(size);
        let stream = self.stream.clone();
        stream.change();
        stream.unwritten.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(Handed { bytes, stream })))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;

    #[tokio::test]
    async fn what_is_handed_over_and_not_taken_is_a_reason_and_what_is_not_there_is_none() {
        let patience = Duration::from_millis(400);
        let streams = Streams::new();
        let mut body = streams.begin().body(Body::from(vec![7; PIECE + 1]));
        assert_eq!(body.size_hint().exact(), Some(PIECE as u64 + 1));
        // Nothing was handed over yet: it is not the client that is waited for.
        let waited = tokio::time::timeout(3 * patience, streams.reason(patience)).await;
        assert_eq!(waited.ok(), None);
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.len(), PIECE);
        drop(first);
        let second = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((second.len(), body.is_end_stream()), (1, true));
        drop(body);
        assert_eq!(streams.reason(patience).await, Reason::Stalled);
        drop(second);
        assert_eq!(streams.reason(patience).await, Reason::Idle);
    }
}
