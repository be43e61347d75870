//! Models of several classes: labels of any names, that may join as they come.

mod support;

use noregret::engine::Config;
use noregret::example::{Block, Classes, Features, Label, LabelMap};
use noregret::model::AnyModel;
use noregret::multiclass::{Multiclass, Pupil};
use noregret_server::Settings;
use serde_json::{Value, json};
use support::{Client, Running, Stream, served};

const SCHEMES: [&str; 3] = ["ovr", "softmax", "perceptron"];
const NAMES: [&str; 4] = ["ant", "bee", "cat", "dog"];

fn example(stream: &mut Stream) -> Value {
    let mut example = stream.example();
    let sign = usize::from(example["label"] == 1);
    example["label"] = json!(NAMES[2 * sign + (stream.next() % 2) as usize]);
    example
}

fn row(example: &Value) -> (Vec<u32>, Vec<f64>) {
    let list = |key: &str| example[key].as_array().unwrap().clone();
    let pairs = list("indices").into_iter().zip(list("values"));
    let pairs = pairs.map(|(i, v)| (i.as_u64().unwrap() as u32, v.as_f64().unwrap()));
    pairs.filter(|(_, v)| *v != 0.0).unzip()
}

/// The same model beside the server.
struct Twin {
    model: Multiclass,
    classes: Classes,
}

impl Twin {
    fn new(scheme: &str, classes: Option<&[&str]>) -> Self {
        let config = if scheme == "ovr" { Config::new("auto", "logistic") } else { Config::new("", "") };
        let model = Multiclass::new(scheme, config, classes.map(<[_]>::len)).unwrap();
        let classes = classes.map_or_else(Classes::open, |names| {
            Classes::closed(names.iter().map(|n| (*n).to_owned())).unwrap()
        });
        Self { model, classes }
    }

    fn place(&mut self, label: &Value) -> usize {
        self.classes.index_of(&Label::Name(label.as_str().unwrap().into())).unwrap().unwrap()
    }

    fn learn(&mut self, example: &Value) {
        let y = self.place(&example["label"]) as f64;
        let (indices, values) = row(example);
        let block = Block::<f64>::from_rows(&[(y, indices.into_iter().zip(values).collect())]);
        self.model.learn_f64(block.rows()).unwrap();
    }

    fn scores(&self, example: &Value) -> Vec<f64> {
        let (indices, values) = row(example);
        let mut z = Vec::new();
        self.model.scores_f64(Features { indices: &indices, values: &values }, &mut z);
        z
    }

    /// Whether a prediction is what this model says.
    fn agrees(&self, told: &Value, example: &Value) {
        let z = self.scores(example);
        let mut shares = z.clone();
        let known = self.model.probabilities(&mut shares);
        let list = told["classes"].as_array().unwrap();
        assert_eq!(list.len(), z.len());
        for (k, class) in list.iter().enumerate() {
            assert_eq!(class["label"], json!(self.classes.names()[k].to_string()));
            assert_eq!(class["score"].as_f64(), Some(z[k]));
            assert_eq!(class["probability"].as_f64(), known.then_some(shares[k]));
        }
        match Multiclass::highest(&z) {
            None => assert!(told["label"].is_null()),
            Some(k) => {
                for key in ["label", "score", "probability"] {
                    assert_eq!(told[key], list[k][key]);
                }
            }
        }
    }

    /// Whether the server's model file is this model.
    fn is(&self, client: &mut Client, name: &str) {
        let file = client.get(&format!("/v1/models/{name}/model"));
        let served = AnyModel::from_bytes(&file.body).unwrap();
        let Pupil::Many(served_model) = served.engine else { panic!("one score") };
        assert_eq!(served.labels, LabelMap::Classes(self.classes.clone()));
        assert_eq!(served_model.examples(), self.model.examples());
        assert_eq!(served_model.average_loss(), self.model.average_loss());
        assert_eq!(served_model.certificate(), self.model.certificate());
        assert_eq!(served_model.tally(), self.model.tally());
        assert_eq!(served_model.late(), self.model.late());
        for k in 0..self.model.classes() {
            assert_eq!(served_model.weights(k), self.model.weights(k), "{name}, class {k}");
        }
    }
}

#[test]
fn several_classes_learn_predict_and_survive_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    // Small, so that snapshots are taken on the way.
    let settings = Settings { snapshot_bytes: 2000, ..Settings::new(folder.path()) };
    let mut server = Running::start(settings.clone());
    let mut twins: Vec<Twin> = SCHEMES.iter().map(|scheme| Twin::new(scheme, None)).collect();
    for scheme in SCHEMES {
        let made = server.client().put(&format!("/v1/models/{scheme}"), &json!({"multiclass": scheme}));
        assert_eq!((made.status, made.ok()["multiclass"].as_str()), (201, Some(scheme)));
        let again = server.client().put(&format!("/v1/models/{scheme}"), &json!({"multiclass": scheme}));
        assert_eq!(again.status, 200);
    }
    let mut stream = Stream(5);
    for round in 0..3 {
        let mut client = server.client();
        for (scheme, twin) in SCHEMES.iter().zip(&mut twins) {
            let path = |what: &str| format!("/v1/models/{scheme}/{what}");
            // Progressive: what was predicted before each was learned.
            let examples: Vec<Value> = (0..20).map(|_| example(&mut stream)).collect();
            let told = client.post(&path("learn"), &json!({"examples": examples, "predict": true})).ok();
            for (example, told) in examples.iter().zip(told["predictions"].as_array().unwrap()) {
                twin.agrees(told, example);
                twin.learn(example);
            }
            assert_eq!(told["average_loss"].as_f64(), twin.model.average_loss());
            // As a stream.
            let lines: Vec<Value> = (0..20).map(|_| example(&mut stream)).collect();
            let text: Vec<String> = lines.iter().map(Value::to_string).collect();
            client.request("POST", &path("learn"), "application/x-ndjson", text.join("\n").as_bytes()).ok();
            for line in &lines {
                twin.learn(line);
            }
            let asked = example(&mut stream);
            let told = client.post(&path("predict"), &asked).ok();
            twin.agrees(&told["predictions"][0], &asked);
            // A label that comes late, when others have been learned and (at first) others have joined.
            let mut kept = Vec::new();
            let (indices, values) = row(&asked);
            let x = Features { indices: &indices, values: &values };
            twin.model.scores_to_keep(x, &mut kept);
            let mut between = example(&mut stream);
            between["label"] = json!(format!("late-{round}"));
            client.post(&path("learn"), &between).ok();
            twin.learn(&between);
            let late = json!(format!("later-{round}"));
            let y = twin.place(&late);
            twin.model.learn_late(x, &kept, y, 2.0).unwrap();
            let id = &told["predictions"][0]["id"];
            let told = client.post(&path("label"), &json!({"id": id, "label": late, "weight": 2})).ok();
            assert_eq!(told["average_loss"].as_f64(), twin.model.average_loss());
            // What it says of itself.
            let told = client.get(&format!("/v1/models/{scheme}")).ok();
            assert_eq!(told["late"], round + 1);
            assert_eq!(told["examples"], twin.model.examples());
            assert_eq!(told["classes"].as_array().unwrap().len(), twin.model.classes());
            assert_eq!(told["bound"]["regret_at_most"], Value::Null, "labels came late");
            let certificate = twin.model.certificate().unwrap();
            assert_eq!(told["certificate"]["best_at_least"].as_f64(), Some(certificate.best_at_least));
            assert!(told["heaviest"][0]["class"].is_string());
            let near = client.get(&path("certificate?radius=2")).ok();
            let near_twin = twin.model.certificate_within(2.0).unwrap();
            assert_eq!(near["best_at_least"].as_f64(), Some(near_twin.best_at_least));
            assert_eq!(client.get(&path("certificate?since=1h")).ok()["examples"], twin.model.examples());
            assert_eq!(client.get(&path("certificate?comparator=linf")).status, 400);
            assert!(!client.get(&path("history")).ok()["points"].as_array().unwrap().is_empty());
            twin.is(&mut client, scheme);
        }
        let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
        assert!(metrics.contains("noregret_best_at_least{model=\"softmax\"}"), "{metrics}");
        drop(client);
        server.stop();
        server = Running::start(settings.clone());
        for (scheme, twin) in SCHEMES.iter().zip(&twins) {
            twin.is(&mut server.client(), scheme);
        }
    }
}

#[test]
fn a_model_file_of_several_classes_goes_up_and_down() {
    let (_folder, server) = served();
    let mut client = server.client();
    let mut stream = Stream(9);
    for scheme in SCHEMES {
        let mut twin = Twin::new(scheme, Some(&NAMES));
        let before: Vec<Value> = (0..30).map(|_| example(&mut stream)).collect();
        for example in &before {
            twin.learn(example);
        }
        let labels = LabelMap::Classes(twin.classes.clone());
        let engine = Pupil::Many(Box::new(twin.model));
        let mut reading = noregret::model::Reading::default();
        "libsvm".clone_into(&mut reading.format);
        let model = AnyModel { engine, reading, labels, names: noregret::example::names::NameTable::new() };
        let path = format!("/v1/models/{scheme}/model");
        let sent = client.request("PUT", &path, "application/octet-stream", &model.to_bytes());
        assert_eq!((sent.status, sent.ok()["examples"].as_u64()), (201, Some(30)));
        assert_eq!(client.get(&path).body, model.to_bytes());
        let Pupil::Many(engine) = model.engine else { panic!() };
        twin.model = *engine;
        let asked = example(&mut stream);
        let told = client.post(&format!("/v1/models/{scheme}/predict"), &asked).ok();
        twin.agrees(&told["predictions"][0], &asked);
        client.post(&format!("/v1/models/{scheme}/learn"), &asked).ok();
        twin.learn(&asked);
        twin.is(&mut client, scheme);
    }
}

#[test]
fn what_does_not_fit_several_classes_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(Settings { most_model_memory: 4 << 20, ..Settings::new(folder.path()) });
    let mut client = server.client();
    for (asked, code, word) in [
        (json!({"learner": "softmax"}), "bad_parameter", "multiclass"),
        (json!({"multiclass": "none"}), "bad_parameter", "softmax"),
        (json!({"multiclass": "softmax", "learner": "auto"}), "bad_parameter", "own"),
        (json!({"multiclass": "softmax", "eta": 1}), "bad_parameter", "own"),
        (json!({"multiclass": "softmax", "l2": 1, "bits": 10}), "bad_parameter", "l2"),
        (json!({"multiclass": "ovr", "loss": "square", "classes": ["a", "a"]}), "bad_parameter", "twice"),
        (json!({"multiclass": "ovr", "classes": ["a"]}), "bad_parameter", "two"),
        (json!({"multiclass": "ovr", "loss": "poisson", "bits": 10}), "bad_parameter", "poisson"),
        (json!({"multiclass": "ovr"}), "too_many_classes", "bits"),
        (json!({"classes": ["a", "b", {}]}), "bad_parameter", "name"),
    ] {
        let answer = client.put("/v1/models/m", &asked);
        assert!((400..500).contains(&answer.status), "{asked}: {}", answer.status);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answer.code(), code, "{asked}: {message}");
        assert!(message.contains(word), "{asked}: {message}");
    }
    client.put("/v1/models/closed", &json!({"classes": ["a", 2, "c"], "bits": 8})).ok();
    client.put("/v1/models/open", &json!({"multiclass": "ovr", "learner": "ogd", "bits": 10})).ok();
    assert_eq!(client.put("/v1/models/open", &json!({"multiclass": "softmax", "bits": 10})).code(), "exists");
    let one = |label: Value| json!({"features": {"x": 1}, "label": label});
    // Nothing seen, nothing predicted.
    let told = client.post("/v1/models/open/predict", &json!({"features": {"x": 1}})).ok();
    assert_eq!(
        (&told["predictions"][0]["label"], &told["predictions"][0]["classes"]),
        (&Value::Null, &json!([]))
    );
    for label in [json!("a"), json!(2), json!("c")] {
        client.post("/v1/models/closed/learn", &one(label.clone())).ok();
        client.post("/v1/models/open/learn", &one(label)).ok();
    }
    let told = client.post("/v1/models/closed/predict", &json!({"features": {"x": 1}})).ok();
    let labels: Vec<&Value> =
        told["predictions"][0]["classes"].as_array().unwrap().iter().map(|c| &c["label"]).collect();
    assert_eq!(labels, [&json!("a"), &json!(2), &json!("c")]);
    let files = ["closed", "open"].map(|name| client.get(&format!("/v1/models/{name}/model")).body);
    let answer = client.post("/v1/models/closed/learn", &one(json!("d")));
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad_label"));
    // A name that joins with an example that cannot be learned does not join.
    let huge = json!({"features": {"x": 1e300}, "label": "new"});
    for name in ["closed", "open"] {
        let huge =
            if name == "closed" { json!({"features": {"x": 1e300}, "label": "a"}) } else { huge.clone() };
        let answer = client.post(&format!("/v1/models/{name}/learn"), &huge);
        assert_eq!((answer.status, answer.code().as_str()), (422, "diverged"));
    }
    let answer = client.post("/v1/models/open/learn", &one(json!("n".repeat(257))));
    assert_eq!((answer.status, answer.code().as_str()), (400, "bad_label"));
    let names: Vec<String> = (0..1001).map(|k| k.to_string()).collect();
    assert_eq!(client.put("/v1/models/m", &json!({"classes": names, "bits": 1})).code(), "too_many_classes");
    let asked: Vec<Value> = (0..40_000).map(|_| json!({"indices": [], "values": []})).collect();
    client.put("/v1/models/asked", &json!({"classes": ["a", "b", "c"], "bits": 8})).ok();
    let answer = client.post("/v1/models/asked/predict", &json!({"examples": asked, "id": false}));
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_many"));
    let many: Vec<Value> = (0..5000).map(|k| one(json!(format!("name-{k}")))).collect();
    let answer = client.post("/v1/models/open/learn", &json!({ "examples": many }));
    assert_eq!((answer.status, answer.code().as_str()), (413, "too_many_classes"));
    for (name, file) in ["closed", "open"].iter().zip(files) {
        assert!(client.get(&format!("/v1/models/{name}/model")).body == file, "{name} has changed");
    }
    // Learned up to one that cannot be, and the names after it have not joined.
    let rows =
        json!({"examples": [one(json!("x")), {"features": {"x": 1e300}, "label": "y"}, one(json!("z"))]});
    let answer = client.post("/v1/models/open/learn", &rows);
    assert_eq!((answer.status, answer.json()["error"]["learned"].as_u64()), (422, Some(1)));
    let classes = client.get("/v1/models/open").ok()["classes"].clone();
    assert_eq!(classes.as_array().unwrap().last().unwrap()["label"], "x");
    drop(client);
    server.stop();
    let server = Running::in_folder(folder.path());
    assert_eq!(server.client().get("/v1/models/open").ok()["classes"], classes);
}
