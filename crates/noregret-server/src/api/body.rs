//! The body of a request: how it is written, and how much of it is waited for.

use crate::error::Refusal;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::io::Read;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};

/// How examples are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Ndjson,
    /// One of the library's.
    Text(String),
}

/// What the request says: a format by name, or its content type.
pub(super) fn format(named: Option<&str>, headers: &HeaderMap) -> Result<Format, Refusal> {
    let content = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/json");
    let content = content.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let name = named.map_or(content.as_str(), |n| n);
    Ok(match name {
        // The last is what curl calls everything.
        "json" | "application/json" | "application/x-www-form-urlencoded" => Format::Json,
        "ndjson"
        | "jsonl"
        | "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines"
        | "application/jsonlines" => Format::Ndjson,
        "csv" | "text/csv" => Format::Text("csv".to_owned()),
        "tsv" | "text/tab-separated-values" => Format::Text("tsv".to_owned()),
        "libsvm" | "text/libsvm" | "text/x-libsvm" | "application/x-libsvm" | "text/svmlight" => {
            Format::Text("libsvm".to_owned())
        }
        "vw" | "text/vw" | "text/x-vw" | "application/x-vw" => Format::Text("vw".to_owned()),
        other => {
            let other: String = other.chars().take(60).collect();
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unknown_format",
                format!(
                    "found `{other}`, expected a Content-Type of application/json, application/x-ndjson, text/csv, \
                     text/tab-separated-values, text/x-libsvm or text/x-vw, or one of these by ?format=json, ndjson, \
                     csv, tsv, libsvm, vw"
                ),
            ));
        }
    })
}

fn slow() -> Refusal {
    Refusal::new(
        StatusCode::REQUEST_TIMEOUT,
        "too_slow",
        "the body did not come in within the time allowed (--patience); send it faster, or in smaller parts",
    )
}

/// The next bytes of a body; none after the last.
pub(super) async fn frame(body: &mut Body, until: Instant) -> Result<Option<Bytes>, Refusal> {
    loop {
        let wait = until.saturating_duration_since(Instant::now());
        let next = tokio::time::timeout(wait, body.frame()).await.map_err(|_| slow())?;
        match next {
            None => return Ok(None),
            Some(Err(error)) => {
                return Err(Refusal::bad("bad_body", format!("the body cannot be read: {error}")));
            }
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Room for bodies that are read whole, in kilobytes. Small ones need none: there are only so many requests.
pub struct Room {
    free: Semaphore,
    all: u32,
}

/// Bodies up to this size need no room.
const SMALL: usize = 64 << 10;

impl Room {
    /// For so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes / 1024).unwrap_or(u32::MAX).clamp(1024, 1 << 28);
        Self { free: Semaphore::new(all as usize), all }
    }

    fn kilobytes(&self, bytes: usize) -> u32 {
        u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(self.all)
    }
}

/// All of a body, and the room it takes.
pub(super) struct Whole<'a> {
    pub(super) bytes: Bytes,
    _room: Option<SemaphorePermit<'a>>,
}

impl std::ops::Deref for Whole<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// All of a body, if it is not too large, and not too slow. One that says how long it is waits for room; one that does
/// not is sent away when there is none.
pub(super) async fn whole(
    mut body: Body,
    most: usize,
    patience: Duration,
    room: Option<&Room>,
) -> Result<Whole<'_>, Refusal> {
    let until = Instant::now() + patience;
    let too_large = || {
        Refusal::too_large(
            "too_large",
            format!(
                "the body has more than {most} bytes, which is all that is allowed (--max-body); send it in parts"
            ),
        )
    };
    let busy = || {
        let message = "large bodies take all the room there is for them (--max-queued); ask again";
        Refusal::unavailable("busy", message)
    };
    let said = usize::try_from(http_body::Body::size_hint(&body).lower()).unwrap_or(usize::MAX);
    if said > most {
        return Err(too_large());
    }
    let mut taken = None;
    if let Some(room) = room.filter(|_| said > SMALL) {
        let permit = tokio::time::timeout(patience, room.free.acquire_many(room.kilobytes(said))).await;
        taken = permit.map_err(|_| busy())?.ok();
    }
    let mut granted = said.max(SMALL);
    let Some(first) = frame(&mut body, until).await? else {
        return Ok(Whole { bytes: Bytes::new(), _room: taken });
    };
    if first.len() > most {
        return Err(too_large());
    }
    let Some(second) = frame(&mut body, until).await? else {
        return Ok(Whole { bytes: first, _room: taken });
    };
    let mut all = BytesMut::with_capacity(said.max(first.len() + second.len()));
    all.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(data) = next {
        let length = all.len() + data.len();
        if length > most {
            return Err(too_large());
        }
        if let Some(room) = room.filter(|_| length > granted) {
            let more = room.free.try_acquire_many(room.kilobytes(length)).map_err(|_| busy())?;
            granted += length;
            match &mut taken {
                None => taken = Some(more),
                Some(permit) => permit.merge(more),
            }
        }
        all.extend_from_slice(&data);
        next = frame(&mut body, until).await?;
    }
    Ok(Whole { bytes: all.freeze(), _room: taken })
}

/// A body as a blocking reader, for the library: what is not read yet is not asked for.
pub(super) struct Piped {
    pieces: mpsc::Receiver<std::io::Result<Bytes>>,
    now: Bytes,
}

impl Piped {
    pub(super) fn new(mut body: Body, patience: Duration) -> Self {
        let (send, pieces) = mpsc::channel(2);
        tokio::spawn(async move {
            loop {
                let piece = match frame(&mut body, Instant::now() + patience).await {
                    Ok(Some(data)) => Ok(data),
                    Ok(None) => return,
                    Err(refusal) if refusal.status == StatusCode::REQUEST_TIMEOUT => {
                        Err(std::io::Error::new(std::io::ErrorKind::TimedOut, refusal.message))
                    }
                    Err(refusal) => Err(std::io::Error::other(refusal.message)),
                };
                let last = piece.is_err();
                if send.send(piece).await.is_err() || last {
                    return;
                }
            }
        });
        Self { pieces, now: Bytes::new() }
    }
}

impl Read for Piped {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.now.is_empty() {
            match self.pieces.blocking_recv() {
                None => return Ok(0),
                Some(piece) => self.now = piece?,
            }
        }
        let n = out.len().min(self.now.len());
        out[..n].copy_from_slice(&self.now.split_to(n));
        Ok(n)
    }
}
