//! Examples from a stream of Redis: each entry has one, as JSON, in one of its fields.
//!
//! The position is kept here and not in Redis, so there is no consumer group, nothing to acknowledge, and the stream
//! may be read by others too. An entry's id, milliseconds and a count, is its position.

use super::Feed;
use super::run::MOST_ROWS;
use crate::error::Refusal;
use redis::streams::{StreamInfoStreamReply, StreamReadReply};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, FromRedisValue};
use std::time::Duration;
use url::Url;

/// How long Redis waits for a next entry before it answers that there is none.
const BLOCK: Duration = Duration::from_secs(2);

/// How long an answer may take besides.
const PATIENCE: Duration = Duration::from_secs(10);

fn position(id: &str) -> Option<u128> {
    let (time, count) = id.split_once('-')?;
    Some(u128::from(time.parse::<u64>().ok()?) << 64 | u128::from(count.parse::<u64>().ok()?))
}

fn id(position: u128) -> String {
    format!("{}-{}", (position >> 64) as u64, position as u64)
}

/// Reads on until the model is gone, or something fails.
pub(super) async fn run(feed: &Feed, server: &Url, stream: &str, field: &str) -> Result<(), String> {
    let failed = |e: redis::RedisError| e.to_string();
    let client = Client::open(server.as_str()).map_err(failed)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(BLOCK + PATIENCE));
    let mut connection =
        client.get_multiplexed_async_connection_with_config(&config).await.map_err(failed)?;
    let Ok(begin) = feed.position().await else { return Ok(()) };
    if let Some(begin) = begin
        && let Ok(info) = connection.xinfo_stream::<_, StreamInfoStreamReply>(stream).await
    {
        check(feed, stream, begin, &info);
    }
    let mut last = begin.unwrap_or(0);
    let mut lines = Vec::new();
    let mut ids = Vec::new();
    while !feed.is_over() {
        let reply: Option<StreamReadReply> = redis::cmd("XREAD")
            .arg("COUNT")
            .arg(MOST_ROWS)
            .arg("BLOCK")
            .arg(BLOCK.as_millis() as u64)
            .arg("STREAMS")
            .arg(stream)
            .arg(id(last))
            .query_async(&mut connection)
            .await
            .map_err(failed)?;
        let entries = reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids);
        lines.clear();
        ids.clear();
        for mut entry in entries {
            last = position(&entry.id)
                .ok_or_else(|| format!("found the id `{}`, expected two numbers", entry.id))?;
            ids.push(entry.id);
            let start = lines.len();
            match entry.map.remove(field).map(Vec::<u8>::from_redis_value) {
                Some(Ok(text)) if text.len() <= feed.most_bytes() => lines.extend(text),
                Some(_) => refuse(feed, &ids, "the example is too large, or not a text"),
                None => refuse(
                    feed,
                    &ids,
                    &format!("found no field `{field}`, expected the example in it, as JSON"),
                ),
            }
            // In JSON a newline is as good as a space, and here it would be the end.
            lines[start..].iter_mut().filter(|b| **b == b'\n').for_each(|b| *b = b' ');
            lines.push(b'\n');
        }
        if !ids.is_empty() && !feed.give(&lines, last, |k| format!("entry {} of {stream}", ids[k])).await {
            return Ok(());
        }
    }
    Ok(())
}

fn refuse(feed: &Feed, ids: &[String], message: &str) {
    let entry = ids.last().map(String::as_str).unwrap_or_default();
    feed.leave_out(&Refusal::bad("bad_entry", format!("entry {entry}: {message}")));
}

/// Tells of entries that are gone, or that come too late to be in order.
fn check(feed: &Feed, stream: &str, begin: u128, info: &StreamInfoStreamReply) {
    let note = |message: String| {
        tracing::warn!(stream, message);
        feed.note(&Refusal::unavailable("source_gap", message));
    };
    if let Some(end) = position(&info.last_generated_id)
        && end < begin
    {
        note(format!(
            "the stream {stream} ends at {}, before {}, which was learned: it was made anew, and ids that are not \
             larger are taken for entries that were learned",
            info.last_generated_id,
            id(begin)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_positions_in_their_order() {
        for text in ["0-0", "0-1", "1526919030474-55", "18446744073709551615-18446744073709551615"] {
            assert_eq!(id(position(text).unwrap()), text);
        }
        assert!(position("1526919030474-55") < position("1526919030475-0"));
        assert_eq!((position("7"), position("x-1"), position("-1")), (None, None, None));
    }
}
