//! The bytes of a model file: a magic word, a version, a JSON header, sections, a checksum. The
//! layout is described in `docs/model-format.md`. No length in the file is trusted: each is checked
//! against the bytes that are there before anything is allocated.

use crate::bytes::Replacement;
use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"NOREGRET";
/// The version this program writes, and the only one there has been.
pub(super) const VERSION: u32 = 1;
const PREAMBLE: usize = 8 + 4 + 4 + 8;
const CHECKSUM: usize = 8;

/// What a section holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Section {
    /// Little-endian f64.
    Numbers(Vec<f64>),
    /// UTF-8 text.
    Text(String),
}

/// A header and named sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Container {
    pub(super) header: Map<String, Value>,
    pub(super) sections: Vec<(String, Section)>,
}

impl Container {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let list: Vec<Value> = self
            .sections
            .iter()
            .map(|(name, section)| match section {
                Section::Numbers(v) => json!({"name": name, "type": "f64", "length": v.len()}),
                Section::Text(t) => json!({"name": name, "type": "utf8", "length": t.len()}),
            })
            .collect();
        let mut header = self.header.clone();
        header.insert("sections".to_owned(), Value::Array(list));
        let header = Value::Object(header).to_string();
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&0u32.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        for (_, section) in &self.sections {
            match section {
                Section::Numbers(numbers) => {
                    bytes.reserve(numbers.len() * 8);
                    for x in numbers {
                        bytes.extend_from_slice(&x.to_le_bytes());
                    }
                }
                Section::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            }
        }
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The first section that could not be read back, because not all of its numbers are finite.
    pub(super) fn unsound(&self) -> Option<&str> {
        let sound = |section: &Section| match section {
            Section::Numbers(numbers) => numbers.iter().all(|x| x.is_finite()),
            Section::Text(_) => true,
        };
        self.sections.iter().find(|(_, section)| !sound(section)).map(|(name, _)| name.as_str())
    }

    /// Reads and checks everything; a message says what is wrong and what to do.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < 8 || &bytes[..8] != MAGIC {
            return Err("this is not a noregret model: a model is written by `noregret learn --model FILE`"
                .to_owned());
        }
        if bytes.len() < PREAMBLE + CHECKSUM {
            return Err(cut_off(bytes.len()));
        }
        let version = u32::from_le_bytes(array(bytes, 8));
        if version != VERSION {
            return Err(format!(
                "the model has format version {version}, and this program (noregret {}) reads version \
                 {VERSION}: use the noregret that wrote it, or a newer one",
                env!("CARGO_PKG_VERSION")
            ));
        }
        let (body, tail) = bytes.split_at(bytes.len() - CHECKSUM);
        if xxh3_64(body) != u64::from_le_bytes(array(tail, 0)) {
            return Err(format!("the checksum does not match: {}", cut_off(bytes.len())));
        }
        let length = u64::from_le_bytes(array(bytes, 16));
        let rest = &body[PREAMBLE..];
        let length = usize::try_from(length)
            .ok()
            .filter(|&l| l <= rest.len())
            .ok_or("the header is longer than the file: it is damaged")?;
        let (header, mut rest) = rest.split_at(length);
        let header: Value =
            serde_json::from_slice(header).map_err(|e| format!("the header cannot be read: {e}"))?;
        let Value::Object(mut header) = header else {
            return Err("the header is not a JSON object".to_owned());
        };
        let list = header.remove("sections").unwrap_or_default();
        let Value::Array(list) = list else {
            return Err("the header does not list its sections".to_owned());
        };
        let mut sections = Vec::new();
        for item in &list {
            let (Some(name), Some(kind), Some(length)) =
                (item["name"].as_str(), item["type"].as_str(), item["length"].as_u64())
            else {
                return Err("a section has no name, type or length".to_owned());
            };
            let size = match kind {
                "f64" => length.checked_mul(8),
                "utf8" => Some(length),
                _ => return Err(format!("section `{name}` has the unknown type `{kind}`")),
            };
            let size = size
                .and_then(|s| usize::try_from(s).ok())
                .filter(|&s| s <= rest.len())
                .ok_or_else(|| format!("section `{name}` is longer than the file: it is damaged"))?;
            let (bytes, tail) = rest.split_at(size);
            rest = tail;
            let section = if kind == "f64" {
                let numbers: Vec<f64> =
                    bytes.chunks_exact(8).map(|c| f64::from_le_bytes(array(c, 0))).collect();
                if numbers.iter().any(|x| !x.is_finite()) {
                    return Err(format!("section `{name}` holds a number that is not finite"));
                }
                Section::Numbers(numbers)
            } else {
                let text = std::str::from_utf8(bytes);
                Section::Text(text.map_err(|_| format!("section `{name}` is not UTF-8"))?.to_owned())
            };
            sections.push((name.to_owned(), section));
        }
        if !rest.is_empty() {
            return Err(format!("{} bytes belong to no section: the file is damaged", rest.len()));
        }
        Ok(Self { header, sections })
    }

    /// Takes the numbers of a section out.
    pub(super) fn take_numbers(&mut self, name: &str) -> Result<Vec<f64>, String> {
        match self.take(name)? {
            Section::Numbers(numbers) => Ok(numbers),
            Section::Text(_) => Err(format!("section `{name}` should hold numbers")),
        }
    }

    /// Takes the text of a section out.
    pub(super) fn take_text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name)? {
            Section::Text(text) => Ok(text),
            Section::Numbers(_) => Err(format!("section `{name}` should hold text")),
        }
    }

    fn take(&mut self, name: &str) -> Result<Section, String> {
        let at = self.sections.iter().position(|(n, _)| n == name);
        let at = at.ok_or_else(|| format!("section `{name}` is missing"))?;
        Ok(self.sections.remove(at).1)
    }

    /// A value of the header, as its type.
    pub(super) fn header<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, String> {
        let value = self.header.get(key).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(|e| format!("`{key}` in the header: {e}"))
    }
}

fn cut_off(length: usize) -> String {
    format!("the file ({length} bytes) was cut off or changed; use a copy that was written whole")
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// Reads a whole file, unless its beginning already says that it is no model: it may be endless.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if bytes == MAGIC {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Whether [`write_atomically`] will find its folder, and may write there.
pub(super) fn can_write(path: &Path) -> std::io::Result<()> {
    Replacement::can_create(path)
}

/// Writes a whole file or nothing.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = Replacement::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}
