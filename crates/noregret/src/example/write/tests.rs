use super::*;
use crate::bytes::Input;
use crate::example::Reader;
use crate::example::format::Options;
use crate::example::reader::CHUNK_BYTES;
use proptest::prelude::*;
use std::path::PathBuf;

/// Formats that keep everything.
const WHOLE: &[&str] = if cfg!(feature = "parquet") { &["arrow", "parquet"] } else { &["arrow"] };

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// All that reading tells of a row.
type Row<V> = (Label, f64, Vec<(u32, V)>);

/// Everything that was read: rows block by block, names, schema, format.
#[derive(Debug, PartialEq)]
struct All<V> {
    blocks: Vec<Vec<Row<V>>>,
    names: Vec<(u32, String)>,
    schema: Schema,
    format: Option<&'static str>,
}

fn rows<V: Native>(block: &Block<V>) -> Vec<Row<V>> {
    raw(block)
        .map(|row| {
            let pairs = row.x.indices.iter().copied().zip(row.x.values.iter().copied());
            (row.label.clone(), row.weight, pairs.collect())
        })
        .collect()
}

fn read<V: Kind>(
    path: &Path,
    options: &Options,
    threads: usize,
    chunk: usize,
) -> crate::error::Result<All<V>> {
    let mut reader =
        Reader::<V>::open_as(vec![Input::Path(path.into())], None, options.clone(), threads, chunk)?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next()? {
        blocks.push(rows(&block));
        reader.recycle(block);
    }
    let names = reader.names().iter().map(|(index, name)| (index, name.to_owned())).collect();
    Ok(All { blocks, names, schema: reader.schema().clone(), format: reader.format_name() })
}

/// Converts, with room for everything that any block needs.
fn convert<V: Kind>(from: &Path, to: &Path, options: &Options, chunk: usize) -> Result<(), String> {
    let tell = |error: &dyn std::fmt::Display| error.to_string();
    let open = || Reader::<V>::open_as(vec![Input::Path(from.into())], None, options.clone(), 2, chunk);
    let mut reader = open().map_err(|e| tell(&e))?;
    let mut layout = Layout::default();
    while let Some(block) = reader.next().map_err(|e| tell(&e))? {
        layout = layout.or(Layout::of(&block));
    }
    let mut reader = open().map_err(|e| tell(&e))?;
    let mut next = reader.next().map_err(|e| tell(&e))?;
    let target = to.to_str().unwrap();
    let subject = Subject {
        format: reader.format_name().unwrap(),
        options: reader.options(),
        schema: reader.schema(),
        layout,
    };
    let refused = |refusal| match refusal {
        Refusal::Io(error) => tell(&error),
        Refusal::Row(row, message) => format!("row {row}: {message}"),
    };
    let mut writer =
        V::open(find(None, target).unwrap(), Out::create(target).unwrap(), subject).map_err(refused)?;
    while let Some(block) = next {
        writer.write(&block).map_err(refused)?;
        next = reader.next().map_err(|e| tell(&e))?;
    }
    writer.finish(reader.names()).unwrap().commit().unwrap();
    Ok(())
}

/// A source of every format with labels of both kinds, weights, hashed names and columns.
fn sources(folder: &Folder) -> Vec<(PathBuf, Options)> {
    let plain = Options::default();
    let csv = Options { label: Some("y".into()), weight: Some("w".into()), ..Options::default() };
    vec![
        (folder.put("a.svm", "+1 1:0.1 3:2e-30\n-1\n0.5 2:7 9:0\n"), plain.clone()),
        (folder.put("b.svm", "spam 1:0.1\nham 3:-1e30\n3 4:4\n"), plain.clone()),
        (folder.put("z.svm", "1 0:0.25 5:1\n"), Options { zero_based: true, ..plain.clone() }),
        (folder.put("fold.svm", "1 3:1 1000003:2\n2 7:1\n"), Options { bits: Some(4), ..plain.clone() }),
        (folder.put("d.svm", "1 1:1 20000000:2\n"), Options { dimension: Some(30000000), ..plain.clone() }),
        (folder.put("v.vw", "1 2.5 'tag|a x:0.5 y |b z\n-1 |a x\n"), plain.clone()),
        (folder.put("t.csv", "y,w,age,city\nyes,1,3,Rome\nno,0.5,,Milan\nyes,2,-0.125,12\n"), csv),
        (folder.put("n.csv", "label,a,b\n1,0.5,2\n2,,\n1,3,\n"), plain.clone()),
        (folder.put("j.jsonl", "{\"y\":1,\"a\":{\"b\":0.5},\"c\":\"d\"}\n{\"y\":2,\"c\":\"e\"}\n"), plain),
    ]
}

#[test]
fn a_cache_reads_back_as_what_it_was_made_from() {
    let folder = Folder::new();
    for (source, options) in sources(&folder) {
        for to in WHOLE {
            let cache = folder.path(&format!("cache.{to}"));
            for chunk in [1, CHUNK_BYTES] {
                convert::<f32>(&source, &cache, &options, chunk).unwrap();
                let expected = read::<f32>(&source, &options, 1, chunk).unwrap();
                // What needs room beyond the usual must be allowed again; all else is in the file.
                let said = Options { dimension: options.dimension, ..Options::default() };
                for threads in 1..=3 {
                    let found = read::<f32>(&cache, &said, threads, CHUNK_BYTES).unwrap();
                    assert_eq!(found, expected, "{} as {to}", source.display());
                }
                convert::<f64>(&source, &cache, &options, chunk).unwrap();
                let wide = read::<f64>(&source, &options, 1, chunk).unwrap();
                assert_eq!(read::<f64>(&cache, &said, 2, 1).unwrap(), wide, "{} as {to}", source.display());
            }
        }
    }
}

#[test]
fn a_cache_is_lent_and_not_copied() {
    let folder = Folder::new();
    let source = folder.put("a.svm", "1 1:0.1 3:2\n-1 2:1\n");
    let cache = folder.path("a.arrow");
    convert::<f32>(&source, &cache, &Options::default(), CHUNK_BYTES).unwrap();
    let mut reader =
        Reader::open(vec![Input::Path(cache)], None, Options::default(), 1, CHUNK_BYTES).unwrap();
    for pass in 0..3 {
        let block = reader.next().unwrap().unwrap();
        assert!(block.lent.is_some() && block.indices.is_empty(), "pass {pass}");
        assert_eq!(block.rows().indices, [0, 2, 1]);
        reader.recycle(block);
        assert!(reader.next().unwrap().is_none());
        reader.rewind().unwrap();
    }
}

#[test]
fn flags_that_contradict_a_cache_are_refused() {
    let folder = Folder::new();
    let source = folder.put("a.vw", "1 | a b\n");
    for to in WHOLE {
        let cache = folder.path(&format!("a.{to}"));
        convert::<f32>(&source, &cache, &Options { bits: Some(20), ..Options::default() }, CHUNK_BYTES)
            .unwrap();
        for (said, word) in [
            (Options { bits: Some(18), ..Options::default() }, "--bits 18"),
            (Options { zero_based: true, ..Options::default() }, "--zero-based"),
            (
                Options {
                    schema: Some(Schema { columns: vec!["x".into()], bits: Some(20) }),
                    ..Options::default()
                },
                "features",
            ),
        ] {
            let error = read::<f32>(&cache, &said, 1, CHUNK_BYTES).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let error = read::<f64>(&cache, &Options::default(), 1, CHUNK_BYTES).unwrap_err().to_string();
        assert!(error.contains("--f64"), "{error}");
    }
}

#[test]
fn a_cache_that_asks_for_much_room_needs_a_word() {
    let folder = Folder::new();
    let source = folder.put("a.svm", "1 1:1 20000000:2\n");
    let cache = folder.path("a.arrow");
    let options = Options { dimension: Some(1 << 30), ..Options::default() };
    convert::<f32>(&source, &cache, &options, CHUNK_BYTES).unwrap();
    let error = read::<f32>(&cache, &Options::default(), 1, CHUNK_BYTES).unwrap_err().to_string();
    assert!(error.contains("--dimension 1073741824"), "{error}");
    assert!(read::<f32>(&cache, &options, 1, CHUNK_BYTES).is_ok());
}

#[test]
fn text_keeps_rows_and_refuses_what_it_has_no_place_for() {
    let folder = Folder::new();
    for (from, to, wrong) in [
        ("1 2.5 | a\n", "w.svm", "weight"),
        ("1 2.5 | a\n", "w.csv", "numbers or hashed names"),
        ("1 2.5 | a\n", "w.jsonl", "numbers or hashed names"),
    ] {
        let source = folder.put("w.vw", from);
        let error = convert::<f32>(&source, &folder.path(to), &Options::default(), CHUNK_BYTES).unwrap_err();
        assert!(error.contains(wrong) && error.contains("convert to"), "{error}");
        assert!(!folder.path(to).exists());
    }
    let source = folder.put("t.csv", "y,city\n1,3\n0,Rome\n");
    let error = convert::<f32>(&source, &folder.path("t.tsv"), &Options::default(), CHUNK_BYTES).unwrap_err();
    assert!(error.contains("row 1") && error.contains("hash"), "{error}");
    for label in ["a:b", "a b", "'a", "a|b", ""] {
        let source = folder.put("l.csv", format!("y,a\n\"{label}\",1\n"));
        let options = Options { unlabelled: true, ..Options::default() };
        for to in ["l.svm", "l.vw", "l.tsv", "l.jsonl"] {
            let path = folder.path(to);
            if convert::<f32>(&source, &path, &options, CHUNK_BYTES).is_ok() {
                let written = read::<f32>(&path, &options, 1, CHUNK_BYTES).unwrap();
                assert_eq!(
                    written.blocks[0][0].0,
                    read::<f32>(&source, &options, 1, CHUNK_BYTES).unwrap().blocks[0][0].0
                );
            }
        }
    }
}

#[test]
fn columns_of_numbers_survive_csv_tsv_and_jsonl_under_their_names() {
    let folder = Folder::new();
    let source = folder.put("n.csv", "label,w,\"a,b\",c\n1,2,0.5,2\nx,1,,\n1,0.25,3e-8,\n");
    let options = Options { weight: Some("w".into()), ..Options::default() };
    let expected = read::<f64>(&source, &options, 1, CHUNK_BYTES).unwrap();
    for to in ["n.tsv", "o.csv", "n.jsonl"] {
        let path = folder.path(to);
        convert::<f64>(&source, &path, &options, CHUNK_BYTES).unwrap();
        // JSON lines have places of their own for names unless they are told otherwise.
        let said = Options { schema: Some(expected.schema.clone()), ..options.clone() };
        assert_eq!(read::<f64>(&path, &said, 1, CHUNK_BYTES).unwrap().blocks, expected.blocks, "{to}");
    }
}

fn any_rows() -> impl Strategy<Value = Vec<(bool, Vec<(u32, f32)>)>> {
    let value =
        any::<f32>().prop_filter("finite and not 0, which is not read", |v| v.is_finite() && *v != 0.0);
    let row =
        prop::collection::btree_map(0..5000_u32, value, 0..12).prop_map(|pairs| pairs.into_iter().collect());
    prop::collection::vec((any::<bool>(), row), 1..40)
}

proptest! {
    #[test]
    fn libsvm_to_a_cache_and_back_is_the_same_text(rows in any_rows(), chunk in 1..2000_usize) {
        let folder = Folder::new();
        let mut text = Vec::new();
        for (positive, pairs) in &rows {
            text.extend_from_slice(if *positive { b"1" } else { b"-1" });
            for (index, value) in pairs {
                let _ = write!(text, " {}:", index + 1);
                decimal(&mut text, value);
            }
            text.push(b'\n');
        }
        let source = folder.put("a.svm", &text);
        for to in WHOLE {
            let cache = folder.path(&format!("a.{to}"));
            convert::<f32>(&source, &cache, &Options::default(), chunk).unwrap();
            let back = folder.path("back.svm");
            convert::<f32>(&cache, &back, &Options::default(), CHUNK_BYTES).unwrap();
            prop_assert_eq!(&std::fs::read(&back).unwrap(), &text);
        }
    }
}

/// Every byte of a small cache changed, one bit at a time in turn, and every way to cut it off: an error or the same
/// content, never a panic.
#[test]
fn a_damaged_cache_is_refused_or_reads_the_same() {
    let folder = Folder::new();
    for (k, (source, options)) in sources(&folder).into_iter().enumerate() {
        for to in WHOLE {
            let cache = folder.path(&format!("a.{to}"));
            convert::<f32>(&source, &cache, &options, CHUNK_BYTES).unwrap();
            let said = Options { dimension: options.dimension, ..Options::default() };
            let expected = read::<f32>(&cache, &said, 1, CHUNK_BYTES).unwrap();
            let bytes = std::fs::read(&cache).unwrap();
            let damaged = folder.path(&format!("damaged.{to}"));
            // A few places of each file, other ones for each: all together several hundred.
            for at in (k..bytes.len()).step_by(37) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << ((at + k) % 8);
                std::fs::write(&damaged, &changed).unwrap();
                if let Ok(found) = read::<f32>(&damaged, &said, 1, CHUNK_BYTES) {
                    assert_eq!(found, expected, "{} as {to}: byte {at} changed", source.display());
                }
                let _ = read::<f64>(
                    &damaged,
                    &Options { skip: true, unlabelled: true, ..said.clone() },
                    1,
                    CHUNK_BYTES,
                );
            }
            for length in (0..bytes.len()).step_by(53) {
                std::fs::write(&damaged, &bytes[..length]).unwrap();
                assert!(read::<f32>(&damaged, &said, 1, CHUNK_BYTES).is_err(), "{to}: cut to {length}");
            }
        }
    }
}
