//! Power loss: a disk that forgets, tears and reorders whatever was not synced. Every acknowledged example must be there
//! afterwards, none twice, and the model equal to the bit to one that learned exactly those in order.

use noregret::engine::{Config, Engine};
use noregret::example::label::Name;
use noregret::example::names::NameTable;
use noregret::example::{Block, Classes, Label, LabelMap};
use noregret::model::{ModelOf, Reading};
use noregret::multiclass::{Multiclass, Pupil};
use noregret::report::progress::Told;
use noregret_server::command::{Command, Key, Learn, Space};
use noregret_server::models::Models;
use noregret_server::state::{Held, Learned};
use noregret_server::store::Place;
use noregret_server::{Durability, Settings};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone)]
enum Operation {
    Write(u64, Vec<u8>),
    Length(u64),
}

fn apply(image: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::Length(length) => image.resize(*length as usize, 0),
        Operation::Write(offset, data) => {
            let end = *offset as usize + data.len();
            if image.len() < end {
                image.resize(end, 0);
            }
            image[*offset as usize..end].copy_from_slice(data);
        }
    }
}

/// A disk and what of it is safe.
#[derive(Debug, Default)]
struct Platter {
    safe: Vec<u8>,
    now: Vec<u8>,
    unsafe_yet: Vec<Operation>,
    /// Operations until the power fails.
    left: u64,
}

impl Platter {
    fn step(&mut self) -> io::Result<()> {
        if self.left == 0 {
            return Err(io::Error::other("the power has failed"));
        }
        self.left -= 1;
        Ok(())
    }

    /// What is found when the power is back: of what was not synced any part, in any order, sectors torn.
    fn after(&self, random: &mut Pcg64) -> Vec<u8> {
        let mut image = self.safe.clone();
        let mut operations = self.unsafe_yet.clone();
        if random.random_bool(0.5) {
            for k in (1..operations.len()).rev() {
                operations.swap(k, random.random_range(0..=k));
            }
        }
        let kept = random.random_range(0.0..=1.0);
        for operation in &operations {
            if !random.random_bool(kept) {
                continue;
            }
            match operation {
                Operation::Write(offset, data) if random.random_bool(0.3) => {
                    for (k, sector) in data.chunks(512).enumerate() {
                        if random.random_bool(0.5) {
                            apply(&mut image, &Operation::Write(offset + 512 * k as u64, sector.to_vec()));
                        }
                    }
                }
                other => apply(&mut image, other),
            }
        }
        // A file that was extended and not synced may have any of the lengths.
        image
    }
}

#[derive(Debug, Clone)]
struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    fn new(image: Vec<u8>, left: u64) -> Self {
        Self(Arc::new(Mutex::new(Platter { safe: image.clone(), now: image, unsafe_yet: Vec::new(), left })))
    }

    fn place(&self) -> Place {
        let disk = self.clone();
        Place::Backend(Arc::new(move || Box::new(disk.clone())))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.0.lock().unwrap();
        let from = offset as usize;
        let bytes = platter.now.get(from..from + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.step()?;
        let operation = Operation::Length(len);
        apply(&mut platter.now, &operation);
        platter.unsafe_yet.push(operation);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.step()?;
        let Platter { safe, now, .. } = &mut *platter;
        safe.clone_from(now);
        platter.unsafe_yet.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.step()?;
        let operation = Operation::Write(offset, data.to_vec());
        apply(&mut platter.now, &operation);
        platter.unsafe_yet.push(operation);
        Ok(())
    }
}

const LEARNERS: [(&str, &str); 3] =
    [("auto", "logistic"), ("projected-ogd", "hinge"), ("adagrad", "logistic")];

/// The last model tells several classes apart, which join as they come.
const SEVERAL: usize = MODELS - 1;

fn fresh(which: usize) -> ModelOf<Held> {
    let (reading, names) = (Reading::default(), NameTable::new());
    if which == SEVERAL {
        let several = Multiclass::new("softmax", Config::new("", ""), None).unwrap();
        let engine = Held(Arc::new(Pupil::Many(Box::new(several))));
        return ModelOf { engine, reading, labels: LabelMap::Classes(Classes::open()), names };
    }
    let (learner, loss) = LEARNERS[which % LEARNERS.len()];
    let engine = Arc::new(Pupil::One(Box::new(Engine::new(Config::new(learner, loss)).unwrap())));
    let labels = LabelMap::Binary { negative: Some(Name::Number(-1.0)), positive: Some(Name::Number(1.0)) };
    ModelOf { engine: Held(engine), reading, labels, names }
}

/// The `k`-th request for a model.
fn request(which: usize, k: u64) -> Learn {
    let mut random = Pcg64::seed_from_u64(1000 * which as u64 + k);
    let mut block = Block::<f64>::new();
    for _ in 0..random.random_range(1..4) {
        for i in 0..20u32 {
            if random.random_bool(0.2) {
                block.indices.push(i);
                block.values.push(random.random_range(-1.0..1.0));
            }
        }
        block.offsets.push(block.indices.len());
        block.raw_labels.push(if which == SEVERAL {
            Label::Name(["ant", "bee", "cat", "dog"][random.random_range(0..4)].into())
        } else {
            Label::Number(if random.random_bool(0.5) { 1.0 } else { -1.0 })
        });
    }
    let key = Some(Key { name: format!("request-{k}"), digest: k });
    Learn { key, offset: None, space: Space::Numbers, predict: false, names: Vec::new(), block }
}

/// A model that learned the first so many requests.
fn reference(which: usize, requests: u64) -> Vec<u8> {
    let mut model = fresh(which);
    let engine = Arc::get_mut(&mut model.engine.0).unwrap();
    for k in 0..requests {
        let mut block = request(which, k).block;
        let labels = &mut model.labels;
        block.labels = block.raw_labels.iter().map(|l| labels.one(l, &|_| true).unwrap()).collect();
        engine.learn_f64(block.rows()).unwrap();
    }
    if requests > 0 {
        "libsvm".clone_into(&mut model.reading.format);
    }
    model.to_bytes()
}

const MODELS: usize = 3;

fn settings(disk: &Disk, durability: Durability) -> Settings {
    // Small, so that snapshots and the ends of logs are among what is interrupted.
    Settings { snapshot_bytes: 3000, durability, ..Settings::at(disk.place()) }
}

async fn send(models: &Arc<Models>, which: usize, from: u64, to: u64) -> u64 {
    let Ok(handle) = models.get(&format!("m{which}")) else { return from };
    for k in from..to {
        if models.submit(&handle, Command::Learn(request(which, k))).await.is_err() {
            return k;
        }
    }
    to
}

/// One life of a store that ends when the power does, and another one after it. Whether the power failed, how many
/// requests were acknowledged; or what is wrong.
fn life(seed: u64, durability: Durability, runtime: &tokio::runtime::Runtime) -> Result<(bool, u64), String> {
    let mut random = Pcg64::seed_from_u64(seed);
    let start = Disk::new(Vec::new(), u64::MAX);
    runtime.block_on(async {
        let models = Models::open(settings(&start, durability)).unwrap();
        for which in 0..MODELS {
            models.create(&format!("m{which}"), fresh(which), false).await.unwrap();
        }
        tokio::task::spawn_blocking(move || models.finish()).await.unwrap();
    });
    let image = start.0.lock().unwrap().safe.clone();
    let disk = Disk::new(image, random.random_range(0..400));
    let total = 60;
    let acknowledged: Vec<u64> = runtime.block_on(async {
        let Ok(models) = Models::open(settings(&disk, durability)) else { return vec![0; MODELS] };
        let tasks: Vec<_> = (0..MODELS)
            .map(|which| {
                let models = models.clone();
                tokio::spawn(async move { send(&models, which, 0, total).await })
            })
            .collect();
        let mut acknowledged = Vec::new();
        for task in tasks {
            acknowledged.push(task.await.unwrap());
        }
        tokio::task::spawn_blocking(move || models.finish()).await.unwrap();
        acknowledged
    });
    let failed = disk.0.lock().unwrap().left == 0;
    let image = disk.0.lock().unwrap().after(&mut random);
    let disk = Disk::new(image, u64::MAX);
    runtime.block_on(async {
        let models = Models::open(settings(&disk, durability)).map_err(|e| e.to_string())?;
        let mut wrong = Ok(());
        for (which, &known) in acknowledged.iter().enumerate() {
            wrong = wrong.and(check(&models, which, known, total).await);
        }
        tokio::task::spawn_blocking(move || models.finish()).await.map_err(|e| e.to_string())?;
        wrong
    })?;
    Ok((failed, acknowledged.iter().sum()))
}

/// Whether a model is what `known` acknowledged requests make, and goes on as if nothing had happened.
async fn check(models: &Arc<Models>, which: usize, known: u64, total: u64) -> Result<(), String> {
    let handle = models.get(&format!("m{which}")).map_err(|e| e.message)?;
    let bytes = handle.ask(|state| state.model.to_bytes()).await.map_err(|e| e.message)?;
    // The request under way when the power failed may have been written, or not.
    if !(known..=(known + 1).min(total)).any(|n| bytes == reference(which, n)) {
        return Err(format!("model {which} is not what {known} acknowledged requests make"));
    }
    // Asked again, what was learned is not learned twice.
    let from = known.saturating_sub(3);
    let answer = models.submit(&handle, Command::Learn(request(which, from))).await.map_err(|e| e.message)?;
    let told: Learned = serde_json::from_str(&answer).map_err(|e| e.to_string())?;
    let rows = |n: u64| (0..n).map(|k| request(which, k).block.len() as u64).sum::<u64>();
    if from < known && told.examples != rows(from + 1) {
        return Err(format!("model {which} has forgotten what it answered"));
    }
    let sent = send(models, which, from, total).await;
    let bytes = handle.ask(|state| state.model.to_bytes()).await.map_err(|e| e.message)?;
    if sent != total || bytes != reference(which, total) {
        return Err(format!("model {which}: something was learned twice, or not at all"));
    }
    let examples = handle.ask(|state| Told::examples(&**state.engine())).await.map_err(|e| e.message)?;
    if Told::examples(&*handle.published.load().engine) != examples {
        return Err(format!("model {which} is not published as it is"));
    }
    Ok(())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power() {
    let seeds: u64 = std::env::var("NOREGRET_POWER_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1000);
    let runtime = runtime();
    let (mut failures, mut acknowledged) = (0, 0);
    for seed in 0..seeds {
        let (failed, known) =
            life(seed, Durability::Sync, &runtime).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        failures += u64::from(failed);
        acknowledged += known;
    }
    println!("{failures} of {seeds} lives ended by loss of power, {acknowledged} requests acknowledged");
    assert!(failures > seeds / 2, "the power must fail in most lives");
}

/// The test above would notice: a store that answers before it syncs loses what it acknowledged.
#[test]
fn answers_ahead_of_the_disk_are_found_out() {
    let runtime = runtime();
    let lost = (0..40).filter(|seed| life(*seed, Durability::Relaxed, &runtime).is_err()).count();
    assert!(lost > 0, "nothing was lost, so the disk of this test forgets nothing");
}
