use super::*;
use crate::bytes::Input;
use crate::error::Result;
use crate::example::reader::CHUNK_BYTES;
use crate::example::select::Selection;
use crate::example::{Label, Reader};
use arrow_array::builder::{
    FixedSizeListBuilder, Float32Builder, Float64Builder, Int64Builder, LargeListBuilder, ListBuilder,
    UInt32Builder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int64Array, LargeStringArray,
    StringArray, StringViewArray, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use std::path::Path;

/// The same rows as files of every kind: a file, a stream, compressed ones, Parquet.
fn files(folder: &Path, record: &RecordBatch) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    let mut path = |name: &str| {
        all.push(folder.join(name));
        std::fs::File::create(all.last().unwrap()).unwrap()
    };
    let schema = record.schema();
    let half = record.num_rows() / 2;
    let parts = [record.slice(0, half), record.slice(half, record.num_rows() - half)];
    for compression in
        [None, Some(arrow_ipc::CompressionType::LZ4_FRAME), Some(arrow_ipc::CompressionType::ZSTD)]
    {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let file = path(&format!("{compression:?}.arrow"));
        let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
        for part in &parts {
            writer.write(part).unwrap();
        }
        writer.finish().unwrap();
    }
    let mut writer = StreamWriter::try_new(path("stream.arrows"), &schema).unwrap();
    for part in &parts {
        writer.write(part).unwrap();
    }
    writer.finish().unwrap();
    #[cfg(feature = "parquet")]
    {
        let mut writer = ::parquet::arrow::ArrowWriter::try_new(path("a.parquet"), schema, None).unwrap();
        for part in &parts {
            writer.write(part).unwrap();
        }
        writer.close().unwrap();
    }
    all
}

type Row<V> = (Label, f64, Vec<(u32, V)>);

fn read<V: Native>(path: &Path, options: &Options) -> Result<(Vec<Row<V>>, Schema)> {
    let input = Input::Path(path.to_owned());
    let mut reader = Reader::<V>::open_as(vec![input], None, options.clone(), 2, CHUNK_BYTES)?;
    let mut all = Vec::new();
    while let Some(block) = reader.next()? {
        let rows = block.rows();
        for k in 0..block.len() {
            let (from, to) = (rows.offsets[k], rows.offsets[k + 1]);
            let pairs = rows.indices[from..to].iter().copied().zip(rows.values[from..to].iter().copied());
            let weight = rows.weights.get(k).copied().unwrap_or(1.0);
            all.push((block.raw_labels[k].clone(), weight, pairs.collect()));
        }
    }
    Ok((all, reader.schema().clone()))
}

fn record(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

#[test]
fn columns_are_read_as_csv_of_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    // 1 + 2^-24 lies halfway between two f32, and its shortest decimal below it.
    let halfway = 1.0 + 2f64.powi(-24);
    let words: DictionaryArray<Int32Type> = [Some("x"), None, Some("z z"), Some("x")].into_iter().collect();
    let batch = record(vec![
        ("i", Arc::new(Int8Array::from(vec![Some(-3), None, Some(0), Some(7)])) as ArrayRef),
        ("big", Arc::new(Int64Array::from(vec![1 << 40, 16_777_217, -1, 0]))),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 1, 2, 3]))),
        ("f", Arc::new(Float64Array::from(vec![0.1, halfway, 1e-42, 3e-46]))),
        ("g", Arc::new(Float32Array::from(vec![0.1, -0.0, 2.5, 1e-40]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
        ("s", Arc::new(StringArray::from(vec![Some("Rome"), Some(""), None, Some("12")]))),
        ("l", Arc::new(LargeStringArray::from(vec!["a,b", "c\"d", "é", "-1e3"]))),
        ("v", Arc::new(StringViewArray::from(vec!["a longer word than twelve", "short", "", "nanna"]))),
        ("d", Arc::new(words)),
        ("y", Arc::new(StringArray::from(vec!["spam", "ham", "1", "spam"]))),
        ("w", Arc::new(Float32Array::from(vec![1.0, 0.5, 0.0, 2.0]))),
    ]);
    let csv = "i,big,u,f,g,b,s,l,v,d,y,w\n\
        -3,1099511627776,18446744073709551615,0.1,0.1,1,Rome,\"a,b\",a longer word than twelve,x,spam,1\n\
        ,16777217,1,1.0000000596046448,-0,0,,\"c\"\"d\",short,,ham,0.5\n\
        0,-1,2,1e-42,2.5,,,é,,z z,1,0\n\
        7,0,3,3e-46,1e-40,1,12,-1e3,nanna,x,spam,2\n";
    let source = folder.path().join("a.csv");
    std::fs::write(&source, csv).unwrap();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let selections = [
        Selection::default(),
        Selection { interactions: words(&["i*s", "f*g", "s*d*b", "b*b", "l*i"]), ..Selection::default() },
        Selection { interactions: words(&["i*g"]), ignore: words(&["big", "l"]), keep: Vec::new() },
        Selection { interactions: Vec::new(), ignore: Vec::new(), keep: words(&["s", "u"]) },
    ];
    for (bits, selection) in
        [None, Some(10)].into_iter().flat_map(|bits| selections.clone().map(|s| (bits, s)))
    {
        let (label, weight) = (Some("y".into()), Some("w".into()));
        let options = Options { bits, label, weight, selection, ..Options::default() };
        let expected = read::<f32>(&source, &options).unwrap();
        for path in files(folder.path(), &batch) {
            assert_eq!(read::<f32>(&path, &options).unwrap(), expected, "{}", path.display());
        }
    }
}

#[test]
fn lists_of_any_kind_are_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [&[(u32, f32)]; 3] = [&[(0, 0.5), (7, -2.0)], &[], &[(3, 1e-3)]];
    let labels: ArrayRef = Arc::new(Int64Array::from(vec![1, -1, 1]));
    let expected: Vec<Row<f32>> =
        [1.0, -1.0, 1.0].iter().zip(rows).map(|(y, row)| (Label::Number(*y), 1.0, row.to_vec())).collect();
    let mut large =
        (LargeListBuilder::new(UInt32Builder::new()), LargeListBuilder::new(Float32Builder::new()));
    let mut small = (ListBuilder::new(Int64Builder::new()), ListBuilder::new(Float64Builder::new()));
    for row in rows {
        // In another order, which is no matter.
        for (index, value) in row.iter().rev() {
            small.0.values().append_value(i64::from(*index));
            small.1.values().append_value(f64::from(*value));
        }
        small.0.append(true);
        small.1.append(true);
        for (index, value) in row {
            large.0.values().append_value(*index);
            large.1.values().append_value(*value);
        }
        large.0.append(true);
        large.1.append(true);
    }
    let lists: [(ArrayRef, ArrayRef); 2] = [
        (Arc::new(large.0.finish()), Arc::new(large.1.finish())),
        (Arc::new(small.0.finish()), Arc::new(small.1.finish())),
    ];
    for (indices, values) in lists {
        let batch = record(vec![("indices", indices), ("label", labels.clone()), ("values", values)]);
        for path in files(folder.path(), &batch) {
            assert_eq!(read::<f32>(&path, &Options::default()).unwrap().0, expected, "{}", path.display());
            let mut named = Options::default();
            named.selection.keep.push("a".into());
            let refused = read::<f32>(&path, &named).unwrap_err().to_string();
            assert!(refused.contains("--keep") && refused.contains("lists of numbers"), "{refused}");
        }
        // Folding is as for LIBSVM.
        let folded = Options { bits: Some(2), ..Options::default() };
        let svm = folder.path().join("a.svm");
        std::fs::write(&svm, "1 1:0.5 8:-2\n-1\n1 4:0.001\n").unwrap();
        for path in files(folder.path(), &batch) {
            assert_eq!(read::<f32>(&path, &folded).unwrap(), read::<f32>(&svm, &folded).unwrap());
        }
    }
    let mut indices = FixedSizeListBuilder::new(UInt32Builder::new(), 2);
    let mut values = FixedSizeListBuilder::new(Float64Builder::new(), 2);
    for k in 0..3 {
        indices.values().append_slice(&[k, k + 5]);
        values.values().append_slice(&[1.0, 2.0]);
        indices.append(true);
        values.append(true);
    }
    let batch = record(vec![
        ("indices", Arc::new(indices.finish()) as ArrayRef),
        ("values", Arc::new(values.finish())),
        ("label", labels),
    ]);
    for path in files(folder.path(), &batch) {
        let rows = read::<f64>(&path, &Options::default()).unwrap().0;
        assert_eq!(rows[2].2, [(2, 1.0), (7, 2.0)], "{}", path.display());
    }
}

/// Sparse rows from slices, in the layout of the cache.
fn lists(rows: &[(&[u32], &[f32])]) -> RecordBatch {
    let (mut indices, mut values) =
        (LargeListBuilder::new(UInt32Builder::new()), LargeListBuilder::new(Float32Builder::new()));
    for (i, v) in rows {
        indices.values().append_slice(i);
        indices.append(true);
        values.values().append_slice(v);
        values.append(true);
    }
    record(vec![
        ("label", Arc::new(Float64Array::from(vec![1.0; rows.len()])) as ArrayRef),
        ("indices", Arc::new(indices.finish())),
        ("values", Arc::new(values.finish())),
    ])
}

#[test]
fn what_breaks_the_rules_is_refused_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let good: (&[u32], &[f32]) = (&[5, 6], &[1.0, 2.0]);
    for (bad, word) in [
        ((&[1_u32, 2][..], &[1.0_f32, f32::NAN][..]), "not finite"),
        ((&[1, 2], &[f32::INFINITY, 1.0]), "not finite"),
        ((&[1, 1 << 24], &[1.0, 1.0]), "--dimension"),
        ((&[1, 2, 3], &[1.0, 1.0]), "3 indices and 2 values"),
    ] {
        for path in files(folder.path(), &lists(&[good, good, bad, good])) {
            let error = read::<f32>(&path, &Options::default()).unwrap_err().to_string();
            assert!(error.contains(":3:1: ") && error.contains(word), "{}: {error}", path.display());
            let skip = Options { skip: true, ..Options::default() };
            assert_eq!(read::<f32>(&path, &skip).unwrap().0.len(), 3, "{}", path.display());
        }
    }
    // Indices out of order are brought into it, those of one index summed.
    for path in files(folder.path(), &lists(&[good, (&[9, 2, 9], &[1.0, 2.0, 3.0])])) {
        assert_eq!(read::<f32>(&path, &Options::default()).unwrap().0[1].2, [(2, 2.0), (9, 4.0)]);
    }
}

#[test]
fn cells_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let y: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(2.0)]));
    let a: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, f64::NAN]));
    let wide: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 1e300]));
    let date: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![1, 2, 3]));
    let full: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    for (columns, words) in [
        (vec![("y", full.clone()), ("a", a)], vec![":3:1:", "column `a`", "not finite"]),
        (vec![("y", full.clone()), ("a", wide)], vec![":3:1:", "column `a`", "range of f32"]),
        (vec![("y", y), ("a", full.clone())], vec![":2:1:", "column `y`", "no label"]),
        (vec![("y", full.clone()), ("day", date)], vec!["column `day`", "Date32", "cast it"]),
        (vec![("q", full.clone()), ("a", full)], vec!["--label", "`q`, `a`"]),
    ] {
        for path in files(folder.path(), &record(columns)) {
            let error = read::<f32>(&path, &Options::default()).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{}: {error}", path.display());
        }
    }
}

#[test]
fn damage_and_cuts_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let words: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().map(Some).collect();
    let view = StringViewArray::from(vec!["a longer word than twelve", "short", ""]);
    let columns = record(vec![
        ("y", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0])) as ArrayRef),
        ("s", Arc::new(StringArray::from(vec![Some("Rome"), None, Some("12")]))),
        ("v", Arc::new(view)),
        ("d", Arc::new(words)),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
    ]);
    let sparse = lists(&[(&[1, 2], &[1.0, 2.0]), (&[], &[]), (&[0], &[4.0])]);
    let options = Options { skip: true, unlabelled: true, ..Options::default() };
    for batch in [columns, sparse] {
        for path in files(folder.path(), &batch) {
            let bytes = std::fs::read(&path).unwrap();
            for at in (0..bytes.len()).step_by(7) {
                let mut changed = bytes.clone();
                for value in [bytes[at] ^ (1 << (at % 8)), 0xff, 0] {
                    changed[at] = value;
                    std::fs::write(&path, &changed).unwrap();
                    let _ = read::<f32>(&path, &options);
                }
            }
            for length in (0..bytes.len()).step_by(29) {
                std::fs::write(&path, &bytes[..length]).unwrap();
                let _ = read::<f64>(&path, &options);
            }
        }
    }
}

#[test]
fn the_start_of_the_first_message_is_found_behind_zeros() {
    let mut file = b"ARROW1\0\0".to_vec();
    assert_eq!(message_start(&file), 8);
    file.extend([0; 56]);
    file.extend([0xff; 8]);
    assert_eq!(message_start(&file), 64);
}
