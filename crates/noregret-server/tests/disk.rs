//! Disks that are full, read-only, or torn.

mod support;

use noregret_server::Settings;
use serde_json::{Value, json};
use std::process::Command;
use support::{Running, Stream};

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0"))
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("small");
    std::fs::create_dir(&target).unwrap();
    let mounted = is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"])
            .arg(&target)
            .status()
            .is_ok_and(|s| s.success());
    if !mounted {
        println!("skipped: no small file system can be mounted here");
        return;
    }
    let _mounted = Mounted(target.clone());
    let server = Running::start(Settings { snapshot_bytes: 1 << 40, ..Settings::new(&target) });
    let mut client = server.client();
    client.put("/v1/models/m", &json!({"loss": "logistic"})).ok();
    let mut stream = Stream(1);
    let mut learned = 0;
    let mut refused = None;
    for _ in 0..3000 {
        let examples: Vec<Value> = (0..100).map(|_| stream.example()).collect();
        let answer = client.post("/v1/models/m/learn", &json!({ "examples": examples }));
        if answer.status == 200 {
            learned += 100;
        } else {
            refused = Some((answer.status, answer.code()));
            break;
        }
    }
    assert_eq!(refused, Some((503, "storage_failed".to_owned())), "after {learned}");
    assert_eq!(client.get("/v1/models/m").ok()["examples"], learned);
    assert_eq!(client.post("/v1/models/m/predict", &stream.example()).status, 200);
    let ready = client.get("/readyz");
    assert_eq!((ready.status, ready.code().as_str()), (503, "storage_failed"));
    server.stop();
    let again = Running::try_start(Settings::new(&target));
    if let Ok(server) = again {
        assert_eq!(server.client().get("/v1/models/m").ok()["examples"], learned);
        server.stop();
    }
    // With room again, everything is there.
    let remounted = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&target).status();
    assert!(remounted.unwrap().success());
    let server = Running::in_folder(&target);
    let mut client = server.client();
    assert_eq!(client.get("/v1/models/m").ok()["examples"], learned);
    client.post("/v1/models/m/learn", &stream.example()).ok();
    assert_eq!(client.get("/v1/models/m").ok()["examples"], learned + 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("a-file");
    std::fs::write(&missing, "").unwrap();
    let told = Running::try_start(Settings::new(&missing)).map(drop).unwrap_err();
    assert!(told.contains("a-file"), "{told}");
    let read_only = folder.path().join("read-only");
    std::fs::create_dir(&read_only).unwrap();
    let mounted = is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "ro", "tmpfs"])
            .arg(&read_only)
            .status()
            .is_ok_and(|s| s.success());
    if !mounted {
        println!("skipped: nothing can be mounted read-only here");
        return;
    }
    let _mounted = Mounted(read_only.clone());
    let told = Running::try_start(Settings::new(&read_only)).map(drop).unwrap_err();
    assert!(told.contains("Read-only") && told.contains("read-only"), "{told}");
}

#[test]
fn one_folder_is_served_once() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Running::in_folder(folder.path());
    let told = Running::try_start(Settings::new(folder.path())).map(drop).unwrap_err();
    assert!(told.contains("another process"), "{told}");
}

/// Fills a folder and says how many examples it holds.
fn filled(folder: &std::path::Path) -> u64 {
    let server = Running::in_folder(folder);
    let mut client = server.client();
    client.put("/v1/models/m", &json!({"loss": "logistic"})).ok();
    let mut stream = Stream(1);
    for _ in 0..40 {
        let examples: Vec<Value> = (0..50).map(|_| stream.example()).collect();
        client.post("/v1/models/m/learn", &json!({ "examples": examples })).ok();
    }
    2000
}

#[test]
fn a_file_that_was_cut_off_or_changed_is_told_and_never_served_as_whole() {
    let folder = tempfile::tempdir().unwrap();
    let learned = filled(folder.path());
    let path = folder.path().join("noregret.redb");
    let whole = std::fs::read(&path).unwrap();
    let mut random = Stream(5);
    let (mut told, mut served) = (0, 0);
    for k in 0..60 {
        let mut bytes = whole.clone();
        if k % 2 == 0 {
            let pages = bytes.len() / 4096;
            bytes.truncate(
                bytes.len() - 4096 * (1 + random.next() as usize % (pages - 1))
                    + random.next() as usize % 4096,
            );
        } else {
            for _ in 0..=random.next() % 3 {
                let at = random.next() as usize % bytes.len();
                bytes[at] ^= 1 << (random.next() % 8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match Running::try_start(Settings::new(folder.path())) {
            Err(message) => {
                assert!(message.contains("noregret.redb") && !message.contains("panicked"), "{message}");
                told += 1;
            }
            Ok(server) => {
                let answer = server.client().get("/v1/models/m");
                match answer.status {
                    // Not even its name can be read.
                    404 => {
                        let listed = server.client().get("/v1/models").ok();
                        assert_eq!(listed["models"][0]["state"], "damaged", "{listed}");
                        told += 1;
                    }
                    // Changed where it does not matter.
                    200 => {
                        assert_eq!(answer.ok()["examples"], learned);
                        served += 1;
                    }
                    503 => {
                        assert_eq!(answer.code(), "damaged");
                        told += 1;
                    }
                    other => panic!("{other}: {}", String::from_utf8_lossy(&answer.body)),
                }
            }
        }
    }
    println!("{told} told, {served} served whole");
    assert!(told > 20);
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::in_folder(folder.path());
    server.client().put("/v1/models/m", &json!({})).ok();
    server.stop();
    let file = folder.path().join("noregret.redb");
    let set = |version: u64| {
        let database = redb::Database::open(&file).unwrap();
        let transaction = database.begin_write().unwrap();
        let table = redb::TableDefinition::<&str, u64>::new("about");
        let before =
            transaction.open_table(table).unwrap().insert("version", version).unwrap().map(|v| v.value());
        transaction.commit().unwrap();
        before
    };
    assert_eq!(set(3), Some(2));
    let refused = Running::try_start(Settings::new(folder.path())).map(drop).unwrap_err();
    assert!(refused.contains("newer noregret") && refused.contains("noregret.redb"), "{refused}");
    // An older one is read.
    assert_eq!(set(1), Some(3));
    assert_eq!(Running::in_folder(folder.path()).client().get("/v1/models/m").ok()["examples"], 0);
}
