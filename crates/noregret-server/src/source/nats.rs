//! Examples from a stream of NATS JetStream: each message is one, as JSON.
//!
//! The position is kept here: when the stream was made, and the sequence of the message, so that the sequences of a
//! stream that is made anew are new ones. Every session makes a consumer of its own that begins after the position, and
//! counts what it is given; a message that was lost on the way ends the session. From a work queue messages are
//! acknowledged when they are learned; a stream with limits keeps them.

use super::Feed;
use super::run::MOST_ROWS;
use crate::error::Refusal;
use async_nats::ConnectOptions;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{Info, RetentionPolicy};
use async_nats::jetstream::{self, Message};
use futures_util::StreamExt;
use std::path::Path;
use std::time::Duration;
use url::Url;

const PATIENCE: Duration = Duration::from_secs(5);

/// A consumer that nobody asks any more is forgotten by the server after this.
const FORGET: Duration = Duration::from_secs(10);

/// How often it is seen whether the model is still there.
const LOOK: Duration = Duration::from_secs(2);

async fn connect(server: &Url, credentials: Option<&Path>) -> Result<async_nats::Client, String> {
    let mut options = ConnectOptions::new().name("noregret").connection_timeout(PATIENCE);
    if let Some(path) = credentials {
        let read = options.credentials_file(path).await;
        options = read.map_err(|e| format!("{}: {e}", path.display()))?;
    }
    // The client does not look for them in the URL.
    if !server.username().is_empty() {
        let user = plain(server.username());
        options = match server.password() {
            Some(password) => options.user_and_password(user, plain(password)),
            None => options.token(user),
        };
    }
    if server.scheme() == "tls" {
        options = options.require_tls(true);
    }
    options.connect(server.as_str()).await.map_err(|e| e.to_string())
}

/// A part of a URL without its percent signs.
fn plain(part: &str) -> String {
    let query = format!("x={}", part.replace('+', "%2B"));
    url::form_urlencoded::parse(query.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Where a stream is read from: after its position, or from its beginning.
fn beginning(feed: &Feed, stream: &str, info: &Info, position: Option<u128>) -> Result<(u64, u64), String> {
    let made = u64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(0);
    let note = |message: String| {
        tracing::warn!(stream, message);
        feed.note(&Refusal::unavailable("source_gap", message));
    };
    let (before, last) = position.map_or((made, 0), |p| ((p >> 64) as u64, p as u64));
    if before > made {
        return Err(format!(
            "the stream {stream} is older than the one whose messages were learned before: its messages cannot be put \
             in order after those; use another name for it"
        ));
    }
    if before < made {
        note(format!("the stream {stream} was made anew; its messages are read from the first"));
        return Ok((made, 0));
    }
    let first = info.state.first_sequence;
    if info.config.retention == RetentionPolicy::Limits && last > 0 && first > last + 1 {
        note(format!(
            "messages {} to {} of {stream} were dropped before they could be learned",
            last + 1,
            first - 1
        ));
    }
    Ok((made, last))
}

/// Reads on until the model is gone, or something fails.
pub(super) async fn run(
    feed: &Feed,
    server: &Url,
    stream: &str,
    subject: Option<&str>,
    credentials: Option<&Path>,
) -> Result<(), String> {
    let client = connect(server, credentials).await?;
    let found = jetstream::new(client).get_stream(stream).await;
    let found = found.map_err(|e| format!("the stream {stream}: {e}"))?;
    let info = found.cached_info().clone();
    let Ok(position) = feed.position().await else { return Ok(()) };
    let (made, mut last) = beginning(feed, stream, &info, position)?;
    let queue = match info.config.retention {
        RetentionPolicy::Limits => false,
        RetentionPolicy::WorkQueue => true,
        RetentionPolicy::Interest => {
            return Err(format!(
                "the stream {stream} drops messages that nobody waits for (interest), and would lose some while the \
                 server is away: use a stream with limits, or a work queue"
            ));
        }
    };
    let consumer = found.create_consumer(pull::Config {
        deliver_policy: if queue {
            DeliverPolicy::All
        } else {
            DeliverPolicy::ByStartSequence { start_sequence: last + 1 }
        },
        ack_policy: if queue { AckPolicy::Explicit } else { AckPolicy::None },
        filter_subject: subject.unwrap_or_default().to_owned(),
        inactive_threshold: FORGET,
        ..pull::Config::default()
    });
    let consumer = consumer.await.map_err(|e| format!("the stream {stream}: {e}"))?;
    let messages = consumer.stream().max_messages_per_batch(MOST_ROWS).heartbeat(LOOK).expires(4 * LOOK);
    let messages = messages.messages().await.map_err(|e| format!("the stream {stream}: {e}"))?;
    let mut batches = messages.ready_chunks(MOST_ROWS);
    let (mut count, mut lines, mut sequences) = (0, Vec::new(), Vec::new());
    while !feed.is_over() {
        let Ok(batch) = tokio::time::timeout(LOOK, batches.next()).await else { continue };
        let Some(batch) = batch else { return Err(format!("the stream {stream} ended")) };
        let mut taken: Vec<Message> = Vec::with_capacity(batch.len());
        lines.clear();
        sequences.clear();
        // What came before something failed is learned; then the session ends.
        let mut fault = None;
        for message in batch {
            match next(message, &mut count) {
                Err(message) => {
                    fault = Some(message);
                    break;
                }
                Ok((sequence, message)) => {
                    if sequence > last {
                        last = sequence;
                        sequences.push(sequence);
                        put(feed, sequence, &message.payload, &mut lines);
                    }
                    taken.push(message);
                }
            }
        }
        let place = |k: usize| format!("message {} of {stream}", sequences[k]);
        if !sequences.is_empty() && !feed.give(&lines, u128::from(made) << 64 | u128::from(last), place).await
        {
            return Ok(());
        }
        if queue {
            for message in &taken {
                message.ack().await.map_err(|e| e.to_string())?;
            }
        }
        if let Some(fault) = fault {
            return Err(format!("the stream {stream}: {fault}"));
        }
    }
    Ok(())
}

/// A message and its sequence in the stream; `count` is of those that this consumer was given.
fn next<E: std::fmt::Display>(
    message: Result<Message, E>,
    count: &mut u64,
) -> Result<(u64, Message), String> {
    let message = message.map_err(|e| e.to_string())?;
    let info = message.info().map_err(|e| e.to_string())?;
    let (sequence, number) = (info.stream_sequence, info.consumer_sequence);
    if number != *count + 1 {
        return Err(format!("found message {number} of the session after {}; beginning again", *count));
    }
    *count = number;
    Ok((sequence, message))
}

fn put(feed: &Feed, sequence: u64, text: &[u8], lines: &mut Vec<u8>) {
    if text.len() <= feed.most_bytes() {
        // In JSON a newline is as good as a space, and here it would be the end.
        lines.extend(text.iter().map(|b| if *b == b'\n' { b' ' } else { *b }));
    } else {
        let message = format!("message {sequence} has {} bytes, which is more than is allowed", text.len());
        feed.leave_out(&Refusal::too_large("too_large", message));
    }
    lines.push(b'\n');
}
