//! The body of a request: how it is written, and how much of it is waited for.

use crate::error::Refusal;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use std::io::Read;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

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

/// All of a body, if it is not too large, and not too slow.
pub(super) async fn whole(mut body: Body, most: usize, patience: Duration) -> Result<Bytes, Refusal> {
    let until = Instant::now() + patience;
    let too_large = || {
        Refusal::too_large(
            "too_large",
            format!(
                "the body has more than {most} bytes, which is all that is allowed (--max-body); send it in parts"
            ),
        )
    };
    if http_body::Body::size_hint(&body).lower() > most as u64 {
        return Err(too_large());
    }
    let Some(first) = frame(&mut body, until).await? else { return Ok(Bytes::new()) };
    if first.len() > most {
        return Err(too_large());
    }
    let Some(second) = frame(&mut body, until).await? else { return Ok(first) };
    let mut all = BytesMut::from(&first[..]);
    let mut next = Some(second);
    while let Some(data) = next {
        if all.len() + data.len() > most {
            return Err(too_large());
        }
        all.extend_from_slice(&data);
        next = frame(&mut body, until).await?;
    }
    Ok(all.freeze())
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
