//! `POST /v1/models/{name}/learn`.

use super::App;
use super::body::{self, Format, Piped};
use crate::command::{Command, Key, Learn};
use crate::error::{ErrorBody, Refusal};
use crate::model::{About, Handle, Published};
use crate::parse::{Maker, Parsed, json, text};
use crate::state::{Learned, check_space, meaning};
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use noregret::multiclass::Pupil;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use utoipa::IntoParams;
use xxhash_rust::xxh3::xxh3_64;

/// How the body is written.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// json, ndjson, csv, tsv, libsvm or vw; otherwise the Content-Type says.
    format: Option<String>,
    /// Which column of a CSV is the label.
    label: Option<String>,
    /// Which column of a CSV is the importance.
    weight: Option<String>,
    /// Whether the indices of LIBSVM count from 0.
    zero_based: Option<bool>,
    /// Whether a CSV has no header, and its columns are called 1, 2, 3, ...
    no_header: Option<bool>,
}

impl Asked {
    pub(super) fn format(&self, headers: &HeaderMap) -> Result<Format, Refusal> {
        body::format(self.format.as_deref(), headers)
    }

    pub(super) fn said(&self) -> text::Said {
        text::Said {
            label: self.label.clone(),
            weight: self.weight.clone(),
            zero_based: self.zero_based.unwrap_or(false),
            no_header: self.no_header.unwrap_or(false),
        }
    }
}

/// A piece of a stream becomes durable when its rows take this much memory, or there are so many.
const PIECE_BYTES: usize = 1 << 20;
const PIECE_ROWS: usize = 4096;

/// The key that the client gave the request.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(text) if !text.is_empty() && text.len() <= 255 => Ok(Some(text.to_owned())),
        _ => Err(Refusal::bad("bad_key", "the Idempotency-Key is not a text of 1 to 255 visible characters")),
    }
}

/// Refuses rows that the model would refuse, before they are written.
pub(super) fn check(
    handle: &Handle,
    published: &Published,
    parsed: &Parsed,
    learning: bool,
) -> Result<(), Refusal> {
    let Some(space) = parsed.space else { return Ok(()) };
    check_space(published.about.space(), &published.about.reading.format, space)?;
    if learning {
        let mut labels = published.about.labels.clone();
        for (k, label) in parsed.block.raw_labels.iter().enumerate() {
            meaning(&mut labels, label, &published.engine, handle.most_classes).map_err(|r| r.at(k))?;
        }
    }
    if (!learning || parsed.predict) && parsed.block.len() > most_predictions(&published.engine) {
        return Err(too_many(&published.engine));
    }
    Ok(())
}

/// How many predictions one answer holds at most, and how many scores of several classes.
const PREDICTIONS: usize = 1_000_000;
const SCORES: usize = 100_000;

/// How many predictions one answer holds at most.
pub(super) fn most_predictions(engine: &Pupil) -> usize {
    engine.multiclass().map_or(PREDICTIONS, |several| SCORES / several.classes().max(1))
}

pub(super) fn too_many(engine: &Pupil) -> Refusal {
    Refusal::too_large(
        "too_many",
        format!("more than {} examples, which is all that one answer holds", most_predictions(engine)),
    )
}

/// Refuses JSON where the model multiplies or leaves out columns, which only the readers of text do.
pub(super) fn check_json(about: &About) -> Result<(), Refusal> {
    if about.reading.selection.is_empty() {
        return Ok(());
    }
    Err(Refusal::conflict(
        "other_features",
        "the model multiplies or leaves out columns (interactions, ignore, keep): send it the text it was learned \
         from, such as CSV",
    ))
}

/// Sends pieces of a request one after the other.
pub(super) struct Pieces<'a> {
    app: &'a App,
    handle: &'a Arc<Handle>,
    key: Option<String>,
    sent: u64,
    rows: u64,
    learned: u64,
    answer: Option<String>,
}

impl<'a> Pieces<'a> {
    fn new(app: &'a App, handle: &'a Arc<Handle>, key: Option<String>) -> Self {
        Self { app, handle, key, sent: 0, rows: 0, learned: 0, answer: None }
    }

    /// Places an error of a piece in the request.
    fn place(&self, mut refusal: Refusal) -> Refusal {
        refusal.example = refusal.example.map(|k| k + self.rows);
        if self.learned > 0 {
            refusal.learned = Some(self.learned + refusal.learned.unwrap_or(0));
        }
        refusal
    }

    async fn send(&mut self, parsed: Parsed) -> Result<(), Refusal> {
        let rows = parsed.block.len() as u64;
        let Some(space) = parsed.space.filter(|_| rows > 0) else { return Ok(()) };
        check(self.handle, &self.handle.published.load(), &parsed, true).map_err(|r| self.place(r))?;
        let Parsed { block, names, predict, .. } = parsed;
        let key = self.key.as_ref().map(|key| {
            let mut bytes = vec![u8::from(predict), space as u8];
            crate::codec::put_block(&mut bytes, &block);
            let name = if self.sent == 0 { key.clone() } else { format!("{key}#{}", self.sent) };
            Key { name, digest: xxh3_64(&bytes) }
        });
        let learn = Learn { key, offset: None, space, predict, names, block };
        let answer = self.app.models.submit(self.handle, Command::Learn(learn)).await;
        let answer = answer.map_err(|r| self.place(r))?;
        self.sent += 1;
        self.rows += rows;
        self.learned += rows;
        self.answer = Some(answer);
        Ok(())
    }

    fn answer(self) -> Result<String, Refusal> {
        let Some(answer) = self.answer else {
            return Err(Refusal::bad("no_examples", "the body has no examples, expected at least one"));
        };
        if self.sent == 1 {
            return Ok(answer);
        }
        let mut told: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        told["learned"] = self.learned.into();
        Ok(told.to_string())
    }
}

pub(super) fn json_response(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// Learn examples.
///
/// One example, several (`{"examples": [...]}`), or a stream (NDJSON, CSV, LIBSVM, VW). The answer comes when all are
/// durable. A JSON request is learned whole or not at all; a long stream in pieces, and an error says how many
/// examples were learned before it.
#[utoipa::path(post, path = "/v1/models/{name}/learn", tag = "learning", params(
        ("name" = String, Path, description = "The model"), Asked,
        ("Idempotency-Key" = Option<String>, Header, description = "The same request with the same key is learned once"),
    ),
    request_body(content((super::openapi::LearnRequest = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"), (String = "text/x-libsvm"), (String = "text/x-vw"))),
    responses((status = 200, body = Learned), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn learn(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let Query(asked) = asked.map_err(|e| Refusal::bad("bad_query", e.body_text()))?;
    let handle = app.models.get(&name)?;
    let mut pieces = Pieces::new(&app, &handle, key(&headers)?);
    let settings = app.models.settings();
    match asked.format(&headers)? {
        Format::Json => {
            let text = body::whole(body, settings.most_body, settings.patience, Some(&app.bodies)).await?;
            let about = handle.about();
            check_json(&about)?;
            let parsed = handle
                .with_context(&about, settings.most_features, true, |context| json::body(context, &text))?;
            drop(text);
            pieces.send(parsed).await?;
        }
        Format::Ndjson => lines(&app, &handle, body, &mut pieces).await?,
        Format::Text(format) => {
            let mut parts = read_text(&app, &handle, body, format, asked.said(), true).await?;
            while let Some(part) = parts.recv().await {
                let parsed = part.map_err(|r| pieces.place(r))?;
                pieces.send(parsed).await?;
            }
        }
    }
    Ok(json_response(pieces.answer()?))
}

/// Reads a body by the library's readers, on a thread that may wait, at most two pieces ahead.
pub(super) async fn read_text(
    app: &Arc<App>,
    handle: &Arc<Handle>,
    body: Body,
    format: String,
    said: text::Said,
    learning: bool,
) -> Result<mpsc::Receiver<Result<Parsed, Refusal>>, Refusal> {
    let (send, parts) = mpsc::channel(1);
    let (app, handle) = (app.clone(), handle.clone());
    let patience = app.models.settings().patience;
    let place = tokio::time::timeout(patience, app.readers.clone().acquire_owned()).await.map_err(|_| {
        let message = "as many texts as can be read at a time are coming in; ask again, or send JSON";
        Refusal::unavailable("busy", message)
    })?;
    let body = Piped::new(body, patience);
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let (about, settings) = (handle.about(), app.models.settings());
        let opened = handle.with_context(&about, settings.most_features, learning, |context| {
            text::Reader::open(body, &format, said, &about.reading, context, settings.most_body)
        });
        let mut reader = match opened {
            Ok(Some(reader)) => reader,
            Ok(None) => return,
            Err(refusal) => {
                let _ = send.blocking_send(Err(refusal));
                return;
            }
        };
        loop {
            let part = match reader.next() {
                Ok(None) => return,
                Ok(Some(parsed)) => Ok(parsed),
                Err(refusal) => Err(refusal),
            };
            let last = part.is_err();
            if send.blocking_send(part).is_err() || last {
                return;
            }
        }
    });
    Ok(parts)
}

/// Learns a stream of JSON lines.
async fn lines(
    app: &App,
    handle: &Arc<Handle>,
    mut body: Body,
    pieces: &mut Pieces<'_>,
) -> Result<(), Refusal> {
    let settings = app.models.settings();
    check_json(&handle.about())?;
    let mut buffer: Vec<u8> = Vec::new();
    let mut ended = false;
    loop {
        // Where the whole lines of the buffer end.
        let mut end = 0;
        while !ended && end < PIECE_BYTES {
            let before = buffer.len();
            match body::frame(&mut body, Instant::now() + settings.patience)
                .await
                .map_err(|r| pieces.place(r))?
            {
                Some(data) => buffer.extend_from_slice(&data),
                None => ended = true,
            }
            end = buffer[before..].iter().rposition(|b| *b == b'\n').map_or(end, |k| before + k + 1);
            if buffer.len() - end > settings.most_body {
                return Err(pieces.place(Refusal::too_large(
                    "too_large",
                    format!(
                        "a line has more than {} bytes, which is all that is allowed",
                        settings.most_body
                    ),
                )));
            }
        }
        if ended {
            end = buffer.len();
        }
        while end > 0 && (ended || end >= PIECE_BYTES) {
            let about = handle.about();
            let (parsed, taken) = handle
                .with_context(&about, settings.most_features, true, |context| {
                    let mut maker = Maker::new(context);
                    let mut taken = 0;
                    for line in buffer[..end].split_inclusive(|b| *b == b'\n') {
                        maker = json::line(maker, line)?;
                        taken += line.len();
                        if maker.len() >= PIECE_ROWS || maker.bytes() >= PIECE_BYTES {
                            break;
                        }
                    }
                    Ok((maker.parsed(), taken))
                })
                .map_err(|r| pieces.place(r))?;
            buffer.drain(..taken);
            end -= taken;
            pieces.send(parsed).await?;
        }
        if ended {
            return Ok(());
        }
    }
}
