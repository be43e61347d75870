//! Models that were averaged elsewhere, as several machines make them: uploaded, they predict as the library does, go on
//! learning, and survive `kill -9` to the bit.

mod support;

use noregret::engine::{AVERAGING, Config, Engine};
use noregret::example::label::Name;
use noregret::example::names::NameTable;
use noregret::example::{Block, Features, LabelMap};
use noregret::model::{Model, Reading};
use serde_json::{Value, json};
use support::{Client, Stream, child, row};

fn learn(engine: &mut Engine, examples: &[Value]) {
    let rows: Vec<_> = examples.iter().map(row).collect();
    engine.learn_f64(Block::<f64>::from_rows(&rows).rows()).unwrap();
}

fn some(stream: &mut Stream, count: usize) -> Vec<Value> {
    (0..count).map(|_| stream.example()).collect()
}

/// Two rounds of two parts each, from a common start.
fn averaged(learner: &str, stream: &mut Stream) -> Option<Model> {
    let made = ["logistic", "hinge", "square"].map(|loss| Engine::new(Config::new(learner, loss)));
    let mut all = made.into_iter().find_map(Result::ok)?;
    for _ in 0..2 {
        let mut parts = [all.forked().unwrap(), all.forked().unwrap()];
        for (part, count) in parts.iter_mut().zip([30, 50]) {
            learn(part, &some(stream, count));
        }
        let mut next = Engine::average(&[&parts[0], &parts[1]]).unwrap();
        next.follow(&all);
        all = next;
    }
    let labels = LabelMap::Binary { negative: Some(Name::Number(-1.0)), positive: Some(Name::Number(1.0)) };
    let labels = if all.config().loss == "square" { LabelMap::Real } else { labels };
    let reading = Reading { format: "libsvm".to_owned(), ..Reading::default() };
    Some(Model { engine: all, reading, labels, names: NameTable::new() })
}

#[test]
fn an_averaged_model_is_uploaded_goes_on_and_survives() {
    child::serve_if_told();
    let folder = tempfile::tempdir().unwrap();
    let start =
        || child::spawn("an_averaged_model_is_uploaded_goes_on_and_survives", folder.path(), 1 << 30, None);
    let (mut child, address) = start();
    let mut client = Client::new(address);
    let mut stream = Stream(3);
    let mut models = Vec::new();
    for learner in AVERAGING {
        // Those that cannot be made without more settings are averaged like the others.
        let Some(mut model) = averaged(learner, &mut stream) else { continue };
        let path = |what: &str| format!("/v1/models/{learner}{what}");
        let sent = client.request("PUT", &path("/model"), "application/octet-stream", &model.to_bytes());
        assert_eq!((sent.status, sent.ok()["examples"].as_u64()), (201, Some(160)), "{learner}");
        let asked = some(&mut stream, 5);
        let told = client.post(&path("/predict"), &json!({"examples": asked, "id": false})).ok();
        for (example, told) in asked.iter().zip(told["predictions"].as_array().unwrap()) {
            let (indices, values): (Vec<u32>, Vec<f64>) = row(example).1.into_iter().unzip();
            let z = model.engine.predict_f64(Features { indices: &indices, values: &values });
            assert_eq!(told["score"].as_f64(), Some(z), "{learner}");
        }
        let told = client.get(&path("")).ok();
        let certificate = model.engine.certificate().unwrap();
        assert_eq!(told["certificate"]["best_at_least"].as_f64(), Some(certificate.best_at_least));
        assert_eq!(told["bound"]["regret_at_most"], Value::Null, "no theorem speaks of averages");
        for _ in 0..3 {
            let more = some(&mut stream, 20);
            let told = client.post(&path("/learn"), &json!({ "examples": more })).ok();
            learn(&mut model.engine, &more);
            assert_eq!(told["average_loss"].as_f64(), model.engine.average_loss(), "{learner}");
        }
        assert!(client.get(&path("/model")).body == model.to_bytes(), "{learner}: another model");
        models.push((learner, model));
    }
    assert!(models.len() >= 5, "only {} learners were tried", models.len());
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut child, address) = start();
    let mut client = Client::new(address);
    for (learner, model) in &models {
        let file = client.get(&format!("/v1/models/{learner}/model")).body;
        assert!(file == model.to_bytes(), "{learner}: another model after the kill");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    println!("{} learners averaged, uploaded, taught and killed", models.len());
}
