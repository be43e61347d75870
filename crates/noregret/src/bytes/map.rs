//! A whole input at hand: a large file mapped into memory, anything else copied there.
//!
//! Mapping is the one thing in this crate that the compiler cannot check, so it stands alone here. What it gains, in CPU time
//! for going once through a cache of 123 MB that is in the page cache: mapped 16 ms, and 8 ms in every later pass; read
//! piece by piece 21 ms in every pass; read into memory as a whole 134 ms, most of it for fresh pages. Learning from it
//! takes about 80 ms a pass. Small files are copied, because there the danger below would buy nothing.
//!
//! The danger: if another program cuts a mapped file shorter while it is read, the system ends this program with
//! SIGBUS; if it writes into the file, rows may change after they were checked. Both need somebody to change a file in
//! place while it is in use; `noregret convert` never does, as it replaces files whole.
#![allow(unsafe_code, reason = "mapping a file is unsafe, see above")]

use super::{Compression, Input, Source};
use ::bytes::Bytes;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Files below this size are copied.
const SMALLEST: u64 = 1 << 20;

/// All bytes of an input, and which places in them have been checked already.
#[derive(Debug, Default)]
pub struct Whole {
    /// The bytes.
    pub bytes: Bytes,
    checked: Mutex<HashSet<usize>>,
}

impl Whole {
    /// These bytes, unchecked.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), checked: Mutex::default() }
    }

    /// Whether what begins at this place has been checked.
    pub fn is_checked(&self, place: usize) -> bool {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).contains(&place)
    }

    /// Remembers that what begins at this place has been checked.
    pub fn check_off(&self, place: usize) {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    }
}

/// What an input holds: all of it at hand, or one byte after the other.
pub enum Content {
    /// At hand.
    Whole(Arc<Whole>),
    /// One after the other: a pipe, or compressed.
    Stream(Source),
}

impl Content {
    /// The content of an input that has been opened already: a regular file that is not compressed is at hand.
    pub fn of(input: &Input, source: Source) -> io::Result<Self> {
        match input {
            Input::Path(path) if input.size().is_some() && source.compression() == Compression::None => {
                Ok(Self::Whole(Arc::new(Whole::new(whole(path)?))))
            }
            _ => Ok(Self::Stream(source)),
        }
    }

    /// All of it, read to the end where need be.
    pub fn whole(self) -> io::Result<Arc<Whole>> {
        match self {
            Self::Whole(whole) => Ok(whole),
            Self::Stream(mut source) => {
                let mut bytes = Vec::new();
                source.read_to_end(&mut bytes)?;
                Ok(Arc::new(Whole::new(bytes)))
            }
        }
    }
}

/// The bytes of a regular file.
fn whole(path: &Path) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() < SMALLEST {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok(bytes.into());
    }
    // SAFETY: the mapping is private and only ever read, through `Bytes`, which keeps it alive. That the file under it
    // stays as it is cannot be enforced; the module's beginning says what happens otherwise.
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(&file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn open(path: &Path) -> (Content, u64) {
        let input = Input::Path(path.to_owned());
        let counter = Arc::new(AtomicU64::new(0));
        let source = Source::open(&input, counter.clone()).unwrap();
        let content = Content::of(&input, source).unwrap();
        (content, counter.load(Ordering::Relaxed))
    }

    #[test]
    fn a_file_is_at_hand_whether_copied_or_mapped() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0, 5, SMALLEST as usize - 1, SMALLEST as usize, SMALLEST as usize + 4097] {
            let path = folder.path().join("data");
            let bytes: Vec<u8> = (0..size).map(|k| (k % 251) as u8 + 1).collect();
            std::fs::write(&path, &bytes).unwrap();
            let (Content::Whole(whole), _) = open(&path) else { panic!("{size} bytes came as a stream") };
            assert_eq!(whole.bytes, bytes);
        }
    }

    #[test]
    fn what_is_compressed_comes_as_a_stream_and_can_be_gathered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.zst");
        std::fs::write(&path, zstd::encode_all(&b"some bytes"[..], 1).unwrap()).unwrap();
        let (content, _) = open(&path);
        assert!(matches!(content, Content::Stream(_)));
        assert_eq!(content.whole().unwrap().bytes, &b"some bytes"[..]);
    }

    #[test]
    fn places_are_checked_off_once() {
        let whole = Whole::new(vec![1, 2, 3]);
        assert!(!whole.is_checked(2));
        whole.check_off(2);
        assert!(whole.is_checked(2) && !whole.is_checked(1));
    }
}
