use super::*;
use crate::example::Label;
use proptest::prelude::*;
use std::io::Write;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> Input {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Input::Path(path)
    }
}

fn reader(inputs: &[Input], options: &Options, threads: usize, chunk: usize) -> Result<Reader> {
    Reader::open(inputs.to_vec(), None, options.clone(), threads, chunk)
}

type Rows = Vec<(String, u64, Label, Vec<u32>, Vec<u32>)>;

/// All rows with their places (values as bits), and the error at the end.
fn all(reader: &mut Reader) -> (Rows, Option<Error>) {
    let mut rows = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(block)) => {
                assert!(!block.is_empty());
                for k in 0..block.len() {
                    let range = block.offsets[k]..block.offsets[k + 1];
                    rows.push((
                        block.file.to_string(),
                        block.first_line + u64::from(block.lines[k]),
                        block.raw_labels[k].clone(),
                        block.indices[range.clone()].to_vec(),
                        block.values[range].iter().map(|v| v.to_bits()).collect(),
                    ));
                }
                reader.recycle(block);
            }
            Ok(None) => return (rows, None),
            Err(error) => {
                assert!(matches!(reader.next(), Ok(None)));
                return (rows, Some(error));
            }
        }
    }
}

fn text(lines: usize) -> String {
    (0..lines)
        .map(|i| match i % 10 {
            3 => "# a comment\n".to_owned(),
            7 => format!("-1 {}:0.5 {}:{}\r\n", i + 1, i + 9, i * 37),
            _ => format!("+1 1:{}.25 {}:-0.125\n", i % 7, i + 5),
        })
        .collect()
}

#[test]
fn the_stream_is_the_same_for_any_number_of_threads_and_any_size_of_chunk() {
    let folder = Folder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text(700).as_bytes()).unwrap();
    let inputs = [
        folder.file("a.svm", text(500) + "1 3:4"),
        folder.file("b.data", gz.finish().unwrap()),
        folder.file("empty", ""),
        folder.file("c", format!("\n{}1 2:1 x\n1 1:1\n", text(300))),
    ];
    let (expected, error) = all(&mut reader(&inputs, &Options::default(), 1, 1 << 20).unwrap());
    assert_eq!(expected.len(), 450 + 1 + 630 + 270);
    assert_eq!(expected[450].1, 501);
    let error = error.unwrap().to_string();
    let place = format!("{}:302:7: ", inputs[3].name());
    assert!(error.starts_with(&place), "{error}");
    for threads in 1..4 {
        for chunk in [7, 64, 1000, 4096, 1 << 20] {
            let mut reader = reader(&inputs, &Options::default(), threads, chunk).unwrap();
            let (rows, problem) = all(&mut reader);
            assert!(rows == expected, "{threads} threads, chunks of {chunk}");
            assert_eq!(problem.unwrap().to_string(), error);
            assert_eq!(reader.format_name(), Some("libsvm"));
            let mut skipping = Options { skip: true, ..Options::default() };
            skipping.dimension = Some(400);
            let mut reader =
                super::Reader::open(inputs.to_vec(), Some("libsvm"), skipping, threads, chunk).unwrap();
            let (rows, problem) = all(&mut reader);
            assert!(problem.is_none());
            assert_eq!(rows.len() as u64 + reader.skipped(), 450 + 1 + 630 + 272);
            assert!(reader.skipped() > 300);
            assert_eq!(reader.reasons().len(), KEPT_REASONS);
            assert_eq!(reader.reasons()[0].position.line, 397);
            assert_eq!(reader.bytes_read(), reader.bytes_total().unwrap());
        }
    }
}

/// It decides what labels mean.
#[test]
fn the_first_block_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    let input = folder.file("a.svm", text(30_000));
    let first = |threads| {
        let mut reader = reader(std::slice::from_ref(&input), &Options::default(), threads, 1 << 19).unwrap();
        let first = reader.next().unwrap().unwrap();
        assert!(reader.next().unwrap().is_some());
        first.len()
    };
    let expected = first(1);
    assert_eq!((first(2), first(64)), (expected, expected));
}

#[test]
fn an_input_without_examples_is_an_error() {
    let folder = Folder::new();
    for bytes in ["", "\n \n\r\n", "\u{feff}"] {
        for (name, format) in [("x", None), ("x.svm", None), ("x", Some("libsvm"))] {
            let input = folder.file(name, bytes);
            let mut reader = Reader::open(vec![input.clone()], format, Options::default(), 1, 100).unwrap();
            let error = all(&mut reader).1.unwrap();
            let expected = format!("{}:1:1: the input is empty", input.name());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
    let mut reader = reader(&[folder.file("c.svm", "# only\n")], &Options::default(), 1, 9).unwrap();
    assert!(all(&mut reader).1.is_some());
}

#[test]
fn a_file_cut_off_is_an_error_after_its_complete_lines() {
    let folder = Folder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text(20_000).as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let input = folder.file("a.svm.gz", &gz[..gz.len() / 2]);
    let (rows, error) = all(&mut reader(&[input], &Options::default(), 2, 1 << 12).unwrap());
    assert!(rows.len() > 2000);
    let Some(Error::Format(error)) = error else { panic!("{error:?}") };
    assert!(error.message.starts_with("the gzip data ends early"), "{error}");
    let last = rows.last().unwrap().1;
    assert!((last + 1..last + 3).contains(&error.position.line), "{last} {error}");
    let tiny = folder.file("tiny", &gz[..14]);
    let error = all(&mut reader(&[tiny], &Options::default(), 2, 1 << 12).unwrap()).1.unwrap();
    assert!(error.to_string().contains(":1:1: the gzip data ends early"), "{error}");
}

#[test]
fn formats_are_told_by_name_ending_and_content() {
    let folder = Folder::new();
    let unknown = folder.file("x", "what is this?\n");
    let error = all(&mut reader(&[unknown], &Options::default(), 1, 100).unwrap()).1.unwrap();
    assert!(error.to_string().contains(":1:1: ") && error.to_string().contains("--format"));
    let input = folder.file("y.svm", "1 1:1\n");
    let error = Reader::open(vec![input], Some("nonsense"), Options::default(), 1, 100);
    assert!(matches!(error, Err(Error::Usage(error)) if error.0.contains("libsvm")));
    assert!(by_ending(&Input::Path("a/B.SVM.GZ".into())).is_some());
    assert!(by_ending(&Input::Path("a.svm/b".into())).is_none());
    let missing = Input::Path(folder.0.path().join("missing.svm"));
    let error = all(&mut reader(&[missing], &Options::default(), 1, 100).unwrap()).1;
    assert!(matches!(error, Some(Error::Io { .. })));
}

#[test]
fn a_second_pass_reads_the_same_and_standard_input_has_none() {
    let folder = Folder::new();
    let inputs = [folder.file("a", text(300)), folder.file("b", text(100))];
    let mut twice = reader(&inputs, &Options::default(), 2, 500).unwrap();
    let first = all(&mut twice).0;
    twice.rewind().unwrap();
    assert_eq!(all(&mut twice).0, first);
    twice.rewind().unwrap();
    let _ = twice.next().unwrap();
    twice.rewind().unwrap();
    assert_eq!(all(&mut twice).0, first);
    let mut stdin = reader(&[inputs[0].clone(), Input::Stdin], &Options::default(), 1, 500).unwrap();
    assert!(matches!(stdin.rewind(), Err(Error::Usage(_))));
}

#[cfg(unix)]
#[test]
fn a_silent_pipe_is_waited_for_with_patience_and_left_without_hanging() {
    let folder = Folder::new();
    let path = folder.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let input = Input::Path(path.clone());
    let mut silent = reader(&[input], &Options::default(), 2, 100).unwrap();
    assert!(silent.bytes_total().is_none());
    let patience = Duration::from_millis(20);
    assert!(matches!(silent.next_timeout(patience), Ok(Next::Pending)));
    let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(b"1 1:1\n").unwrap();
    assert!(matches!(silent.next_timeout(patience), Ok(Next::Pending)));
    drop(silent);
    drop(writer);
}

#[test]
fn a_consumer_that_stops_early_leaves_nothing_running_for_long() {
    let folder = Folder::new();
    let input = folder.file("a.svm", text(20_000));
    let mut reader = reader(&[input], &Options::default(), 3, 100).unwrap();
    assert!(reader.next().unwrap().is_some());
    let shared = reader.workers.as_ref().map(Workers::watch).unwrap();
    drop(reader);
    let start = Instant::now();
    while shared.strong_count() > 0 {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_file_gives_rows_or_an_error_with_its_place(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        magic in proptest::sample::select(vec![&b""[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"1 1:1\n"]),
        named: bool, skip: bool,
    ) {
        let folder = Folder::new();
        let name = if named { "a.svm" } else { "a" };
        let input = folder.file(name, [magic, &bytes].concat());
        let options = Options { skip, ..Options::default() };
        let mut reader = reader(&[input], &options, 2, 50).unwrap();
        if let (_, Some(error)) = all(&mut reader) {
            // Where not even a label can be found, a flag is asked for.
            prop_assert!(matches!(error, Error::Format(_) | Error::Usage(_)), "{}", error);
        }
    }
}

#[test]
fn the_names_that_are_kept_are_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    // Names of which many share an index, each with others around it from place to place.
    let lines = (0..3000).map(|i| format!("1 |n a{} b{}:0.5 c{}\n", i * 7 % 1009, i / 3, i * i % 4001));
    let input = folder.file("names.vw", lines.collect::<String>());
    let options = Options { bits: Some(9), ..Options::default() };
    let kept = |threads| {
        let mut reader = reader(std::slice::from_ref(&input), &options, threads, 300).unwrap();
        assert!(all(&mut reader).1.is_none());
        reader.names().iter().map(|(index, name)| (index, name.to_owned())).collect::<Vec<_>>()
    };
    let expected = kept(1);
    assert!(expected.len() > 400);
    for round in 0..40 {
        assert_eq!(kept(2 + round % 4), expected);
    }
}
