//! Chunks of whole records.

use super::open::read;
use super::{Compression, Source};
use crate::error::{Error, FormatError, Position};
use memchr::{memchr, memchr2_iter, memrchr};
use std::io;

/// A record may have this many bytes. A file that is not text has no newlines, and must not fill
/// the memory before it is refused.
pub const LONGEST_LINE: usize = 64 << 20;

/// Why there is no next chunk. A chunker counts no lines (whoever parses its chunks does that
/// anyway), so whoever knows the line makes the error with [`Failure::at`].
#[derive(Debug)]
pub enum Failure {
    /// The system failed to read.
    Io(io::Error),
    /// The data is wrong in the first line that was not delivered.
    Bad(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Bad(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

impl Failure {
    /// The error, in input `file`, all of whose lines before `line` (from 1) were delivered.
    pub fn at(self, file: &str, line: u64) -> Error {
        match self {
            Failure::Io(source) => Error::Io { path: file.into(), source },
            Failure::Bad(message) => {
                FormatError { position: Position { file: file.to_owned(), line, column: 1 }, message }.into()
            }
        }
    }
}

/// Cuts one input into chunks that end after a newline, or at the end of the input. Every chunk is
/// filled as far as its size allows, so the cuts depend on the bytes alone and not on how they
/// trickle in.
pub struct Chunker {
    source: Source,
    size: usize,
    longest: usize,
    quoted: bool,
    /// The beginning of a record whose end has not been seen.
    carry: Vec<u8>,
    ended: bool,
    failure: Option<Failure>,
}

impl Chunker {
    /// Chunks of about `size` bytes. With `quoted` a newline inside double quotes does not end a
    /// record.
    pub fn new(source: Source, size: usize, quoted: bool) -> Self {
        Self {
            source,
            size: size.clamp(1, LONGEST_LINE),
            longest: LONGEST_LINE,
            quoted,
            carry: Vec::new(),
            ended: false,
            failure: None,
        }
    }

    /// Whether the input is read as it lies, without a decompressor.
    pub fn is_plain(&self) -> bool {
        self.source.compression() == Compression::None
    }

    /// Has the chunks after this one be of about `size` bytes.
    pub fn resize(&mut self, size: usize) {
        self.size = size.clamp(1, self.longest);
    }

    /// Refuses records longer than this many bytes, if that is less than [`LONGEST_LINE`].
    #[must_use]
    pub fn longest(mut self, bytes: usize) -> Self {
        self.longest = bytes.clamp(1, LONGEST_LINE);
        self.size = self.size.min(self.longest);
        self
    }

    /// The next chunk, in `buffer`, whose contents are forgotten; `None` after the last. A failure
    /// comes once, after all complete lines before it.
    pub fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.ended {
            return Ok(None);
        }
        if buffer.capacity() > 4 * self.size {
            buffer = Vec::new();
        }
        let mut filled = self.carry.len();
        // A recycled buffer still has its old length: only what is beyond that must be zeroed.
        buffer.resize(self.size.max(filled + 1), 0);
        buffer[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        let mut ends = RecordEnds::new(self.quoted);
        loop {
            while filled < buffer.len() && !self.ended {
                match read(&mut self.source, &mut buffer[filled..]) {
                    Ok(0) => self.ended = true,
                    Ok(n) => filled += n,
                    Err(error) => {
                        self.failure = Some(self.explain(error));
                        self.ended = true;
                    }
                }
            }
            let end = ends.last(&buffer[..filled]);
            if self.ended && self.failure.is_none() {
                buffer.truncate(filled);
                return Ok((filled > 0).then_some(buffer));
            }
            if end > 0 {
                if self.failure.is_none() {
                    self.carry.extend_from_slice(&buffer[end..filled]);
                }
                buffer.truncate(end);
                return Ok(Some(buffer));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if filled > self.longest {
                self.ended = true;
                let quotes = if self.quoted { " (or a quote is never closed)" } else { "" };
                let most = match self.longest {
                    bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
                    bytes => format!("{bytes} bytes"),
                };
                return Err(Failure::Bad(format!(
                    "a line longer than {most}{quotes}; expected one example a line: is this a text file?"
                )));
            }
            let length = (buffer.len() * 2).min(self.longest + 1);
            buffer.resize(length, 0);
        }
    }

    fn explain(&self, error: io::Error) -> Failure {
        let compression = self.source.compression();
        if compression == Compression::None || self.source.system_failed() {
            return Failure::Io(error);
        }
        let name = compression.name();
        Failure::Bad(if error.kind() == io::ErrorKind::UnexpectedEof {
            format!(
                "the {name} data ends early: the file was cut off, or other bytes follow the {name} data; copy or \
                 download it again"
            )
        } else {
            format!("the {name} data is damaged ({error}); copy or download the file again")
        })
    }
}

/// Looks for the ends of records in a buffer that grows.
struct RecordEnds {
    quoted: bool,
    inside: bool,
    scanned: usize,
    last: usize,
}

impl RecordEnds {
    fn new(quoted: bool) -> Self {
        Self { quoted, inside: false, scanned: 0, last: 0 }
    }

    /// Where the last complete record of `bytes` ends; 0 when there is none.
    fn last(&mut self, bytes: &[u8]) -> usize {
        let fresh = &bytes[self.scanned..];
        if !self.quoted || (!self.inside && memchr(b'"', fresh).is_none()) {
            if let Some(at) = memrchr(b'\n', fresh) {
                self.last = self.scanned + at + 1;
            }
        } else {
            for at in memchr2_iter(b'"', b'\n', fresh) {
                if fresh[at] == b'"' {
                    self.inside = !self.inside;
                } else if !self.inside {
                    self.last = self.scanned + at + 1;
                }
            }
        }
        self.scanned = bytes.len();
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn source(bytes: impl Into<Vec<u8>>) -> Source {
        Source::from_reader(io::Cursor::new(bytes.into()), Arc::default()).unwrap()
    }

    fn chunks(source: Source, size: usize, quoted: bool) -> (Vec<String>, Option<Failure>) {
        let mut chunker = Chunker::new(source, size, quoted);
        let mut found = Vec::new();
        loop {
            match chunker.next(Vec::new()) {
                Ok(Some(chunk)) => found.push(String::from_utf8_lossy(&chunk).into_owned()),
                Ok(None) => return (found, None),
                Err(failure) => {
                    assert!(matches!(chunker.next(Vec::new()), Ok(None)));
                    return (found, Some(failure));
                }
            }
        }
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn lines(n: usize) -> Vec<u8> {
        let digits = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (0..n).flat_map(|i| format!("{} 1:{}\n", i % 2, digits(i)).into_bytes()).collect()
    }

    #[test]
    fn lines_longer_than_was_said_are_refused_and_others_are_not() {
        for length in [1, 99, 100, 101, 5000] {
            let text = format!("a\n{}\nb\n", "x".repeat(length));
            let mut chunker = Chunker::new(source(text.clone()), 1 << 18, false).longest(100);
            let (mut found, mut failure) = (Vec::new(), None);
            loop {
                match chunker.next(Vec::new()) {
                    Ok(Some(chunk)) => found.extend(chunk),
                    Ok(None) => break,
                    Err(error) => failure = Some(error),
                }
            }
            if length <= 100 {
                assert!(failure.is_none() && found == text.as_bytes(), "{length}");
            } else {
                let Some(Failure::Bad(message)) = failure else { panic!("{length}: {failure:?}") };
                assert!(message.starts_with("a line longer than 100 bytes"), "{message}");
                assert_eq!(found, b"a\n");
            }
        }
    }

    #[test]
    fn chunks_end_after_a_newline_or_at_the_end() {
        for size in 1..30 {
            let (found, failure) = chunks(source("one\ntwo\n\nthree"), size, false);
            assert!(failure.is_none());
            assert_eq!(found.concat(), "one\ntwo\n\nthree");
            let (last, others) = found.split_last().unwrap();
            assert!(others.iter().all(|chunk| chunk.ends_with('\n')), "{found:?}");
            assert!(last.ends_with("three"));
        }
        assert!(chunks(source(""), 8, false).0.is_empty());
    }

    #[test]
    fn a_newline_inside_quotes_ends_no_record() {
        for size in 1..30 {
            let (found, _) = chunks(source("a,\"b\nc\"\nd\n\"e\"\"\n\"\n"), size, true);
            assert_eq!(found.concat(), "a,\"b\nc\"\nd\n\"e\"\"\n\"\n");
            assert!(found.iter().all(|chunk| chunk.matches('"').count() % 2 == 0), "{found:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        for size in 1..9 {
            assert_eq!(chunks(source("\u{feff}1 1:1\n"), size, false).0.concat(), "1 1:1\n");
            assert_eq!(chunks(source("\u{feff}"), size, false).0.concat(), "");
            assert_eq!(chunks(source("ab"), size, false).0.concat(), "ab");
        }
    }

    #[test]
    fn compression_is_told_by_content_and_may_come_in_parts() {
        let text = lines(5000);
        let (a, b) = text.split_at(12345);
        let gz = [gzip(a), gzip(b)].concat();
        let zst = [zstd::encode_all(a, 1).unwrap(), zstd::encode_all(b, 1).unwrap()].concat();
        for packed in [gz, zst] {
            let counter = Arc::new(AtomicU64::new(0));
            let length = packed.len() as u64;
            let source = Source::from_reader(io::Cursor::new(packed), counter.clone()).unwrap();
            let (found, failure) = chunks(source, 1000, false);
            assert!(failure.is_none());
            assert_eq!(found.concat().into_bytes(), text);
            assert_eq!(counter.load(Ordering::Relaxed), length);
        }
    }

    #[test]
    fn what_was_cut_off_is_said_after_all_complete_lines() {
        let text = lines(200_000);
        let gz = gzip(&text);
        let zst = zstd::encode_all(&text[..], 1).unwrap();
        for (name, packed) in [("gzip", gz), ("zstd", zst)] {
            let cut = packed[..packed.len() / 2].to_vec();
            let (found, failure) = chunks(source(cut), 1 << 16, false);
            let read = found.concat();
            assert!(text.starts_with(read.as_bytes()));
            assert!(read.ends_with('\n'));
            assert!(read.len() > text.len() / 4, "{} of {}", read.len(), text.len());
            let count = read.lines().count() as u64;
            let error = failure.unwrap().at("data", count + 1);
            let expected = format!("data:{}:1: the {name} data ends early", count + 1);
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn damaged_data_is_said_after_the_lines_before_it() {
        let text = lines(200_000);
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&text).unwrap();
        let mut zst = encoder.finish().unwrap();
        let middle = zst.len() / 2;
        zst[middle..middle + 64].fill(0x35);
        let mut gz = gzip(&text);
        let middle = gz.len() / 2;
        gz[middle..middle + 64].fill(0xff);
        for packed in [zst, gz] {
            let (found, failure) = chunks(source(packed), 1 << 16, false);
            assert!(found.iter().all(|chunk| chunk.ends_with('\n')));
            assert!(matches!(failure, Some(Failure::Bad(message)) if message.contains("damaged")));
        }
    }

    #[test]
    fn a_failing_disk_is_not_called_damaged_data() {
        struct Failing(io::Cursor<Vec<u8>>);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(io::Error::other("the disk is gone")),
                    n => Ok(n),
                }
            }
        }
        let packed = gzip(&lines(1000));
        for bytes in [packed[..packed.len() / 2].to_vec(), b"1 1:1\n1 1:".to_vec()] {
            let source = Source::from_reader(Failing(io::Cursor::new(bytes)), Arc::default()).unwrap();
            let (found, failure) = chunks(source, 64, false);
            assert!(found.iter().all(|chunk| chunk.ends_with('\n')));
            assert!(matches!(failure, Some(Failure::Io(_))));
        }
    }

    #[test]
    fn a_line_of_a_gigabyte_is_refused_without_being_kept() {
        struct Endless(u64, Arc<AtomicU64>);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = (buffer.len() as u64).min(self.0) as usize;
                buffer[..n].fill(b'7');
                self.0 -= n as u64;
                self.1.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
        }
        let taken = Arc::new(AtomicU64::new(0));
        let reader = io::Cursor::new(b"1 1:1\n").chain(Endless(1 << 30, taken.clone()));
        let source = Source::from_reader(reader, Arc::default()).unwrap();
        let (found, failure) = chunks(source, 1 << 20, false);
        assert_eq!(found.concat(), "1 1:1\n");
        let error = failure.unwrap().at("-", 2).to_string();
        assert!(error.starts_with("-:2:1: a line longer than 64 MiB"), "{error}");
        assert!(taken.load(Ordering::Relaxed) <= LONGEST_LINE as u64 + 1);
    }
}
