//! Where models are kept: one embedded database, one file.
//!
//! A model is a snapshot and the records of its log since. All that becomes durable together is one transaction with
//! one fsync, whichever models it belongs to; a new snapshot and the end of the log before it are one transaction too.

mod open;

pub use open::{Place, StoreError};

use crate::codec::Damaged;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use xxhash_rust::xxh3::xxh3_64;

/// What is known of the store itself.
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");
/// What is known of each model, as JSON.
const MODELS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("models");
/// Records by model and number, each with its checksum.
const LOG: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("log");
/// Snapshots by model and part.
const SNAPSHOTS: TableDefinition<'_, (u64, u32), &[u8]> = TableDefinition::new("snapshots");

/// How the tables are to be read; a program refuses stores that know more than it does. From 2 on snapshots are packed,
/// values in rows may be decimals, and sources tell how many examples they left out.
const VERSION: u64 = 2;

/// Snapshots are cut into parts, so that the database never has to find room for one huge value.
const PART: usize = 1 << 20;

/// What is kept of a model beside its snapshot and log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// The last record of the log that the snapshot knows; 0 for none.
    pub upto: u64,
    /// How many bytes the snapshot has.
    pub length: u64,
    /// Its checksum.
    pub checksum: u64,
}

/// A change.
pub enum Change {
    /// A record of a model's log.
    Append {
        /// The model.
        model: u64,
        /// Its number, from 1.
        number: u64,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// A model as it is now: made, uploaded, or after so many records, which are not needed any more.
    Snapshot {
        /// The model.
        model: u64,
        /// Its name.
        name: String,
        /// When it was made.
        created: u64,
        /// The last record that it knows.
        upto: u64,
        /// What it is.
        bytes: Vec<u8>,
    },
    /// A model is no more.
    Delete {
        /// The model.
        model: u64,
    },
}

/// The database.
pub struct Store {
    database: Database,
    place: Place,
}

/// A model's number, and what is known of it if that can be read.
pub type Listed = (u64, Result<Record, Damaged>);

/// A model as it is read back.
pub struct Loaded {
    /// What is known of it.
    pub record: Record,
    /// The bytes of its snapshot.
    pub snapshot: Vec<u8>,
    /// The numbers and bytes of the records since.
    pub log: Vec<(u64, Vec<u8>)>,
}

impl Store {
    /// Opens the database, or makes it.
    pub fn open(place: Place) -> Result<Self, StoreError> {
        let database = place.open()?;
        let store = Self { database, place };
        guarded(|| store.prepare())?;
        Ok(store)
    }

    /// Makes the tables, so that reading finds them, unless another program has made them.
    fn prepare(&self) -> Result<(), StoreError> {
        let transaction = self.database.begin_write().map_err(StoreError::failed)?;
        {
            let mut about = transaction.open_table(ABOUT).map_err(StoreError::failed)?;
            let found = about.get("version").map_err(StoreError::failed)?.map(|v| v.value());
            match found {
                Some(version) if version > VERSION => return Err(self.newer(version)),
                Some(VERSION) => {}
                // What older ones wrote is read, and they do not read what is written from now on.
                _ => drop(about.insert("version", VERSION).map_err(StoreError::failed)?),
            }
        }
        transaction.open_table(MODELS).map_err(StoreError::failed)?;
        transaction.open_table(LOG).map_err(StoreError::failed)?;
        transaction.open_table(SNAPSHOTS).map_err(StoreError::failed)?;
        transaction.commit().map_err(StoreError::failed)
    }

    fn newer(&self, version: u64) -> StoreError {
        StoreError::Open {
            place: self.place.to_string(),
            message: format!(
                "a newer noregret has written this store (version {version}, and this program knows {VERSION}): serve \
                 it with that one, or choose another --data"
            ),
        }
    }

    /// Opens it again after a failure.
    pub fn reopen(self) -> Result<Self, (Place, StoreError)> {
        let Self { database, place } = self;
        drop(database);
        Self::open(place.clone()).map_err(|error| (place, error))
    }

    /// Closes it; where it was.
    pub fn into_place(self) -> Place {
        self.place
    }

    /// The number of a model's last record: in its log, or known to its snapshot.
    pub fn last_number(&self, model: u64) -> Result<u64, StoreError> {
        guarded(|| {
            let transaction = self.database.begin_read().map_err(StoreError::failed)?;
            let log = transaction.open_table(LOG).map_err(StoreError::failed)?;
            let last = log.range((model, 0)..=(model, u64::MAX)).map_err(StoreError::failed)?.next_back();
            if let Some(item) = last {
                return Ok(item.map_err(StoreError::failed)?.0.value().1);
            }
            let models = transaction.open_table(MODELS).map_err(StoreError::failed)?;
            let record = models.get(model).map_err(StoreError::failed)?;
            let record = record.and_then(|r| serde_json::from_slice::<Record>(r.value()).ok());
            Ok(record.map_or(0, |record| record.upto))
        })
    }

    /// Whether a change has been made.
    pub fn holds(&self, change: &Change) -> Result<bool, StoreError> {
        let record = |model: u64| -> Result<Option<Record>, StoreError> {
            let found = self.models()?.into_iter().find(|(id, _)| *id == model);
            Ok(found.and_then(|(_, record)| record.ok()))
        };
        Ok(match change {
            Change::Append { model, number, .. } => self.last_number(*model)? >= *number,
            Change::Snapshot { model, upto, .. } => record(*model)?.is_some_and(|r| r.upto == *upto),
            Change::Delete { model } => record(*model)?.is_none(),
        })
    }

    /// Makes changes, all or none of them. They are durable on return, unless `sync` is false.
    pub fn commit(&self, changes: &[Change], sync: bool) -> Result<(), StoreError> {
        guarded(|| {
            let mut transaction = self.database.begin_write().map_err(StoreError::failed)?;
            let durability = if sync { Durability::Immediate } else { Durability::None };
            transaction.set_durability(durability).map_err(StoreError::failed)?;
            {
                let mut models = transaction.open_table(MODELS).map_err(StoreError::failed)?;
                let mut log = transaction.open_table(LOG).map_err(StoreError::failed)?;
                let mut snapshots = transaction.open_table(SNAPSHOTS).map_err(StoreError::failed)?;
                for change in changes {
                    match change {
                        Change::Append { model, number, bytes } => {
                            let length = bytes.len() + 8;
                            let mut place =
                                log.insert_reserve((*model, *number), length).map_err(StoreError::failed)?;
                            let place = place.as_mut();
                            place[..8].copy_from_slice(&checksum(*model, *number, bytes).to_le_bytes());
                            place[8..].copy_from_slice(bytes);
                        }
                        Change::Snapshot { model, name, created, upto, bytes } => {
                            snapshots
                                .retain_in((*model, 0)..=(*model, u32::MAX), |_, _| false)
                                .map_err(StoreError::failed)?;
                            for (k, part) in bytes.chunks(PART).enumerate() {
                                snapshots.insert((*model, k as u32), part).map_err(StoreError::failed)?;
                            }
                            let record = Record {
                                name: name.clone(),
                                created: *created,
                                upto: *upto,
                                length: bytes.len() as u64,
                                checksum: xxh3_64(bytes),
                            };
                            let record = serde_json::to_vec(&record).unwrap_or_default();
                            models.insert(*model, &record[..]).map_err(StoreError::failed)?;
                            log.retain_in((*model, 0)..=(*model, *upto), |_, _| false)
                                .map_err(StoreError::failed)?;
                        }
                        Change::Delete { model } => {
                            models.remove(*model).map_err(StoreError::failed)?;
                            log.retain_in((*model, 0)..=(*model, u64::MAX), |_, _| false)
                                .map_err(StoreError::failed)?;
                            snapshots
                                .retain_in((*model, 0)..=(*model, u32::MAX), |_, _| false)
                                .map_err(StoreError::failed)?;
                        }
                    }
                }
            }
            transaction.commit().map_err(StoreError::failed)
        })
    }

    /// The models there are.
    pub fn models(&self) -> Result<Vec<Listed>, StoreError> {
        guarded(|| {
            let transaction = self.database.begin_read().map_err(StoreError::failed)?;
            let table = transaction.open_table(MODELS).map_err(StoreError::failed)?;
            let mut list = Vec::new();
            for item in table.iter().map_err(StoreError::failed)? {
                let (model, record) = item.map_err(StoreError::failed)?;
                let record = serde_json::from_slice(record.value())
                    .map_err(|e| Damaged(format!("what the store knows of model {}: {e}", model.value())));
                list.push((model.value(), record));
            }
            Ok(list)
        })
    }

    /// The snapshot of a model and what its log holds beyond.
    pub fn load(&self, model: u64, record: &Record) -> Result<Loaded, StoreError> {
        guarded(|| {
            let transaction = self.database.begin_read().map_err(StoreError::failed)?;
            let table = transaction.open_table(SNAPSHOTS).map_err(StoreError::failed)?;
            let mut snapshot = Vec::new();
            for part in table.range((model, 0)..=(model, u32::MAX)).map_err(StoreError::failed)? {
                snapshot.extend_from_slice(part.map_err(StoreError::failed)?.1.value());
            }
            if snapshot.len() as u64 != record.length || xxh3_64(&snapshot) != record.checksum {
                return Err(StoreError::Damaged(format!(
                    "the snapshot of model `{}` ({} bytes) does not have the checksum that was stored with it",
                    record.name,
                    snapshot.len()
                )));
            }
            let log = self.log_after(model, &record.name, record.upto)?;
            Ok(Loaded { record: record.clone(), snapshot, log })
        })
    }

    /// The records of a model's log after one of them.
    pub fn log_after(&self, model: u64, name: &str, upto: u64) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        guarded(|| {
            let transaction = self.database.begin_read().map_err(StoreError::failed)?;
            let table = transaction.open_table(LOG).map_err(StoreError::failed)?;
            let mut log = Vec::new();
            let records = table.range((model, upto + 1)..=(model, u64::MAX)).map_err(StoreError::failed)?;
            for (expected, item) in (upto + 1..).zip(records) {
                let (key, value) = item.map_err(StoreError::failed)?;
                let (number, value) = (key.value().1, value.value());
                if number != expected {
                    return Err(StoreError::Damaged(format!(
                        "record {expected} of the log of model `{name}` is missing: the next one is {number}"
                    )));
                }
                let bytes = value.get(8..).unwrap_or_default();
                let sum = value.get(..8).map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
                if sum != Some(checksum(model, number, bytes)) {
                    return Err(StoreError::Damaged(format!(
                        "record {number} of the log of model `{name}` does not have the checksum that was stored with it"
                    )));
                }
                log.push((number, bytes.to_vec()));
            }
            Ok(log)
        })
    }
}

/// Does something with the database, which trusts its file more than we do: where that is not as it was written, it may panic.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(StoreError::Damaged(format!(
            "it is not as the database wrote it ({text}); put back a copy of the file, or choose another --data"
        )))
    })
}

/// Of a record and the place where it belongs.
fn checksum(model: u64, number: u64, bytes: &[u8]) -> u64 {
    xxh3_64(bytes) ^ xxh3_64(&[model.to_le_bytes(), number.to_le_bytes()].concat())
}
