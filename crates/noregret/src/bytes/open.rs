//! Opening an input: what it is compressed with is told by its first bytes, never by its name.

use super::Input;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What an input is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Nothing.
    None,
    /// Gzip, perhaps of several members.
    Gzip,
    /// Zstandard, perhaps of several frames.
    Zstd,
}

impl Compression {
    fn of(beginning: &[u8]) -> Self {
        match beginning {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // The second is a skippable frame, with which some parallel compressors begin.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// What a file that cannot be read is, by its first bytes.
fn foreign(magic: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 5] = [
        (b"BZh", "bzip2"),
        (b"\xfd7zX", "xz"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    known.iter().find(|(start, _)| magic.starts_with(start)).map(|(_, name)| *name)
}

/// An open input: its bytes, decompressed.
pub struct Source {
    reader: Box<dyn Read + Send>,
    compression: Compression,
    failed: Arc<AtomicBool>,
    ahead: Vec<u8>,
    taken: usize,
    error: Option<io::Error>,
}

impl Source {
    /// Opens `input`; bytes read from it (before decompression) are added to `counter`.
    pub fn open(input: &Input, counter: Arc<AtomicU64>) -> io::Result<Self> {
        match input {
            Input::Path(path) => Self::from_reader(File::open(path)?, counter),
            Input::Stdin => Self::from_reader(io::stdin(), counter),
        }
    }

    /// The same from any reader.
    pub fn from_reader(reader: impl Read + Send + 'static, counter: Arc<AtomicU64>) -> io::Result<Self> {
        let failed = Arc::new(AtomicBool::new(false));
        let mut reader = Counted { reader, counter, failed: failed.clone() };
        let mut magic = [0; 4];
        let mut length = 0;
        while length < magic.len() {
            match read(&mut reader, &mut magic[length..])? {
                0 => break,
                n => length += n,
            }
        }
        if let Some(name) = foreign(&magic[..length]) {
            let message =
                format!("the data is {name}, which is not read here; convert it to text, gzip or zstd first");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let compression = Compression::of(&magic[..length]);
        let whole = io::Cursor::new(magic).take(length as u64).chain(reader);
        let reader: Box<dyn Read + Send> = match compression {
            Compression::None => Box::new(whole),
            Compression::Gzip => {
                let buffered = io::BufReader::with_capacity(1 << 16, whole);
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
            }
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(whole)?),
        };
        let mut source = Self { reader, compression, failed, ahead: Vec::new(), taken: 0, error: None };
        // A byte order mark is no part of the text.
        if source.peek(3) == b"\xef\xbb\xbf" {
            source.taken = 3;
        }
        Ok(source)
    }

    /// What it is compressed with.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether the system failed to read, as opposed to the data being wrong.
    pub(super) fn system_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The first `length` bytes, or all when there are fewer. Reading afterwards begins with them.
    pub fn peek(&mut self, length: usize) -> &[u8] {
        let mut filled = self.ahead.len();
        let length = self.taken + length;
        if filled < length {
            self.ahead.resize(length, 0);
            while filled < length && self.error.is_none() {
                match read(&mut self.reader, &mut self.ahead[filled..]) {
                    Ok(0) => break,
                    Ok(n) => filled += n,
                    Err(error) => self.error = Some(error),
                }
            }
            self.ahead.truncate(filled);
        }
        &self.ahead[self.taken..]
    }
}

impl Source {
    /// Puts bytes before those that come next.
    pub(crate) fn unread(&mut self, bytes: &[u8]) {
        self.ahead.splice(..self.taken, bytes.iter().copied());
        self.taken = 0;
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken < self.ahead.len() {
            let n = buffer.len().min(self.ahead.len() - self.taken);
            buffer[..n].copy_from_slice(&self.ahead[self.taken..self.taken + n]);
            self.taken += n;
            if self.taken == self.ahead.len() {
                self.ahead = Vec::new();
                self.taken = 0;
            }
            return Ok(n);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.reader.read(buffer)
    }
}

/// Reads once, whatever signals arrive meanwhile.
pub(super) fn read(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Counts what is read, and remembers whether reading itself failed: a decompressor's error alone
/// does not tell.
struct Counted<R> {
    reader: R,
    counter: Arc<AtomicU64>,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        match &result {
            Ok(n) => {
                self.counter.fetch_add(*n as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.failed.store(true, Ordering::Relaxed),
        }
        result
    }
}
