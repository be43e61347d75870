//! A server killed by `kill -9` under load, again and again: every acknowledged example counted, none twice, the model
//! equal to one that learned them in the order that the answers tell.

mod support;

use noregret::engine::{Config, Engine};
use noregret::example::{Block, Classes, Label};
use noregret::model::AnyModel;
use noregret::multiclass::{Multiclass, Pupil};
use noregret::report::progress::Told;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;
use support::{Client, Stream, child, row};

const MODELS: usize = 3;
const CLIENTS: usize = 6;

/// Small snapshots, so that many are cut short.
fn start(folder: &Path) -> (Child, SocketAddr) {
    child::spawn("what_was_acknowledged_survives_kill_9", folder, 20_000, None)
}

/// The last model tells several classes apart, by names that join as they come.
const SEVERAL: usize = MODELS - 1;
const NAMES: [&str; 4] = ["ant", "bee", "cat", "dog"];

fn example(stream: &mut Stream, model: usize) -> Value {
    let mut example = stream.example();
    if model == SEVERAL {
        let name = 2 * usize::from(example["label"] == 1) + (stream.next() % 2) as usize;
        example["label"] = json!(NAMES[name]);
    }
    example
}

fn fresh(model: usize) -> Pupil {
    let config = Config::new("auto", "logistic");
    if model == SEVERAL {
        return Pupil::Many(Box::new(Multiclass::new("ovr", config, None).unwrap()));
    }
    Pupil::One(Box::new(Engine::new(config).unwrap()))
}

/// An example as a row, names by their places.
fn placed(example: &Value, classes: &mut Classes) -> (f64, Vec<(u32, f64)>) {
    let mut example = example.clone();
    if let Some(name) = example["label"].as_str() {
        let place = classes.index_of(&Label::Name(name.into())).unwrap().unwrap();
        example["label"] = json!(place as f64);
    }
    row(&example)
}

fn weights(pupil: &Pupil) -> Vec<noregret::round::Vector> {
    match pupil {
        Pupil::One(engine) => vec![engine.weights()],
        Pupil::Many(several) => (0..several.classes()).map(|k| several.weights(k)).collect(),
    }
}

/// A request, its answer, and for which model.
struct Done {
    model: usize,
    examples: Vec<Value>,
    answer: Value,
}

/// Sends requests one after the other until told to stop, each until it is answered.
fn client(number: usize, address: &RwLock<SocketAddr>, stop: &AtomicBool, done: &Mutex<Vec<Done>>) {
    let mut stream = Stream(number as u64 + 1);
    let mut connection: Option<(SocketAddr, Client)> = None;
    for k in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let model = (number + k) % MODELS;
        let examples: Vec<Value> = (0..=stream.next() % 20).map(|_| example(&mut stream, model)).collect();
        let key = format!("{number}-{k}");
        let body = json!({ "examples": examples }).to_string();
        let path = format!("/v1/models/m{model}/learn");
        let answer = loop {
            let current = *address.read().unwrap();
            if connection.as_ref().is_none_or(|(at, _)| *at != current) {
                connection = Some((current, Client::new(current)));
            }
            let Some((_, client)) = &mut connection else { continue };
            let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
            match client.send("POST", &path, &headers, body.as_bytes()) {
                Ok(answer) => break answer,
                // Killed: again, with the same key, when it is back.
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let answer = answer.ok();
        assert_eq!(answer["learned"], examples.len());
        done.lock().unwrap().push(Done { model, examples, answer });
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    child::serve_if_told();
    let kills: u64 = std::env::var("NOREGRET_KILLS").ok().and_then(|s| s.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir().unwrap();
    let (mut child, first) = start(folder.path());
    let mut setup = Client::new(first);
    for k in 0..MODELS {
        let multiclass = (k == SEVERAL).then_some("ovr");
        let asked = json!({"learner": "auto", "loss": "logistic", "multiclass": multiclass});
        setup.put(&format!("/v1/models/m{k}"), &asked).ok();
    }
    let address = Arc::new(RwLock::new(first));
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(Mutex::new(Vec::new()));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (address, stop, done) = (address.clone(), stop.clone(), done.clone());
            std::thread::spawn(move || client(number, &address, &stop, &done))
        })
        .collect();
    let mut random = Stream(7);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(20 + random.next() % 150));
        child.kill().unwrap();
        child.wait().unwrap();
        let (again, at) = start(folder.path());
        child = again;
        *address.write().unwrap() = at;
    }
    std::thread::sleep(Duration::from_millis(100));
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    let done = std::mem::take(&mut *done.lock().unwrap());
    let requests = done.len();
    let mut total = 0;
    let at = *address.read().unwrap();
    let mut client = Client::new(at);
    for model in 0..MODELS {
        let mut own: Vec<&Done> = done.iter().filter(|d| d.model == model).collect();
        own.sort_by_key(|d| d.answer["examples"].as_u64());
        let mut engine = fresh(model);
        let mut classes = Classes::open();
        for done in &own {
            let rows: Vec<_> = done.examples.iter().map(|e| placed(e, &mut classes)).collect();
            engine.learn_f64(Block::<f64>::from_rows(&rows).rows()).unwrap();
            assert_eq!(done.answer["examples"], engine.examples(), "an example is missing, or there twice");
            assert_eq!(
                done.answer["average_loss"].as_f64(),
                engine.average_loss(),
                "another order, or another model"
            );
        }
        let file = client.get(&format!("/v1/models/m{model}/model"));
        let served = AnyModel::from_bytes(&file.body).unwrap();
        assert_eq!(served.engine.examples(), engine.examples());
        assert_eq!(weights(&served.engine), weights(&engine), "the weights are not those of a replay");
        assert_eq!(served.engine.certificate(), engine.certificate());
        total += engine.examples();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    println!("{kills} kills, {requests} requests, {total} examples, all there once");
    assert!(total > 0);
}
