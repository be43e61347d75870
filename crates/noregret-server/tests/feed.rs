//! The way of a source into a model: positions and examples are one, however often a batch is given.

mod support;

use noregret::example::Label;
use noregret::report::progress::Told;
use noregret_server::Settings;
use noregret_server::models::Models;
use noregret_server::source::Feed;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use support::{Running, Stream};

/// A model `m`, made over HTTP as everybody makes them.
fn with_model(folder: &Path, request: &Value) {
    Running::in_folder(folder).client().put("/v1/models/m", request).ok();
}

fn open(folder: &Path) -> Arc<Models> {
    Models::open(Settings::new(folder)).unwrap()
}

fn examples(answer: &str) -> (u64, u64) {
    let told: Value = serde_json::from_str(answer).unwrap();
    (told["learned"].as_u64().unwrap(), told["examples"].as_u64().unwrap())
}

fn lines(stream: &mut Stream, count: usize) -> String {
    (0..count).map(|_| stream.example().to_string()).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_learned_once_however_often_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    tokio::task::spawn_blocking(move || with_model(&path, &json!({}))).await.unwrap();
    let models = open(folder.path());
    let feed = Feed::new(models.clone(), "m", "queue").unwrap();
    assert_eq!(feed.position().await.unwrap(), None);
    let mut stream = Stream(1);
    let text = lines(&mut stream, 10);
    let batch = || {
        let (parsed, refused) = feed.parse(text.as_bytes());
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(parsed.block.raw_labels.iter().filter(|l| **l == Label::Missing).count(), 0);
        parsed
    };
    assert_eq!(examples(&feed.learn(batch(), 7).await.unwrap()), (10, 10));
    assert_eq!(feed.position().await.unwrap(), Some(7));
    for position in [7, 3] {
        assert_eq!(examples(&feed.learn(batch(), position).await.unwrap()), (0, 10), "at {position}");
    }
    assert_eq!(feed.position().await.unwrap(), Some(7), "positions never fall");
    // Another source of the same model has a position of its own.
    let other = Feed::new(models.clone(), "m", "file").unwrap();
    assert_eq!(examples(&other.learn(batch(), 7).await.unwrap()), (10, 20));
    // A batch without rows moves the position.
    assert_eq!(examples(&feed.learn(feed.parse(b"").0, u128::MAX).await.unwrap()), (0, 20));
    drop((feed, other));
    tokio::task::spawn_blocking(move || models.finish()).await.unwrap();
    let models = open(folder.path());
    let feed = Feed::new(models.clone(), "m", "queue").unwrap();
    assert_eq!(feed.position().await.unwrap(), Some(u128::MAX), "after a restart");
    tokio::task::spawn_blocking(move || models.finish()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_learned_is_told_and_the_others_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    tokio::task::spawn_blocking(move || with_model(&path, &json!({}))).await.unwrap();
    let models = open(folder.path());
    let feed = Feed::new(models.clone(), "m", "queue").unwrap();
    let mut stream = Stream(2);
    let (one, two) = (stream.example(), stream.example());
    let strange = json!({"indices": [1], "values": [1], "label": "maybe"});
    let (parsed, refused) = feed.parse(format!("{one}\nno example\n{strange}\n{two}\n").as_bytes());
    assert_eq!(refused.iter().map(|(k, r)| (*k, r.code)).collect::<Vec<_>>(), [(1, "bad_json")]);
    let refusal = feed.learn(parsed, 4).await.unwrap_err();
    assert_eq!((refusal.code, refusal.example, refusal.learned), ("bad_label", Some(1), Some(2)));
    assert_eq!(feed.position().await.unwrap(), Some(4), "a source goes on");
    let handle = models.get("m").unwrap();
    assert_eq!(Told::examples(&*handle.published.load().engine), 2);
    assert_eq!(handle.recent_errors()[0].code, "bad_label");
    assert_eq!(Feed::new(models.clone(), "none", "queue").map(drop).unwrap_err().code, "unknown_model");
    models.delete("m").await.unwrap();
    assert!(feed.is_over());
    drop((feed, handle));
    tokio::task::spawn_blocking(move || models.finish()).await.unwrap();
}
