//! Bytes of the log: small numbers are short, nothing is trusted on the way back.

use noregret::example::{Block, Label};

/// Something in the store is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub String);

pub(crate) fn damaged<T>(what: &str) -> Result<T, Damaged> {
    Err(Damaged(format!("{what} cannot be read: the bytes are not those that were written")))
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_f64(out: &mut Vec<u8>, x: f64) {
    out.extend_from_slice(&x.to_le_bytes());
}

/// Bytes that are being read.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], Damaged> {
        let Some((head, rest)) = self.0.split_at_checked(n) else { return damaged("a record of the log") };
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damaged> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            n |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        damaged("a number of the log")
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let n = self.number()?;
        self.take(usize::try_from(n).unwrap_or(usize::MAX))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damaged> {
        std::str::from_utf8(self.bytes()?).or_else(|_| damaged("a text of the log"))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Damaged> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(f64::from_le_bytes(bytes))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How the values of a row are written.
const ONES: u8 = 0;
const NARROW: u8 = 1;
const WIDE: u8 = 2;
const DECIMAL: u8 = 3;

/// `10^p` for the decimal places that values may have.
const TENS: [f64; 7] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

/// The whole number `m` of which a value is `m / 10^places`, to the bit.
fn scaled(v: f64, places: usize) -> Option<i64> {
    let m = (v * TENS[places] + 0.5_f64.copysign(v)) as i64;
    (m.unsigned_abs() < 1 << 40 && (m as f64 / TENS[places]).to_bits() == v.to_bits()).then_some(m)
}

/// How many decimal places write all values.
fn places(values: &[f64]) -> Option<usize> {
    let mut places = 0;
    for v in values {
        while scaled(*v, places).is_none() {
            places += 1;
            if places == TENS.len() {
                return None;
            }
        }
    }
    values.iter().all(|v| scaled(*v, places).is_some()).then_some(places)
}

/// One row: how many features, the gaps between their indices, their values as short as they go.
pub(crate) fn put_row(out: &mut Vec<u8>, indices: &[u32], values: &[f64]) {
    put_number(out, indices.len() as u64);
    let mut before = 0;
    for &i in indices {
        put_number(out, u64::from(i - before));
        before = i;
    }
    if values.iter().all(|v| *v == 1.0) {
        out.push(ONES);
    } else if let Some(places) = places(values) {
        out.push(DECIMAL);
        out.push(places as u8);
        for m in values.iter().filter_map(|v| scaled(*v, places)) {
            // The sign is the last bit.
            put_number(out, (m << 1 ^ m >> 63).cast_unsigned());
        }
    } else if values.iter().all(|v| f64::from(*v as f32).to_bits() == v.to_bits()) {
        out.push(NARROW);
        put_all(out, values, |v| (v as f32).to_le_bytes());
    } else {
        out.push(WIDE);
        put_all(out, values, f64::to_le_bytes);
    }
}

/// Appends values, with room made for them once.
fn put_all<const N: usize>(out: &mut Vec<u8>, values: &[f64], bytes: impl Fn(f64) -> [u8; N]) {
    let from = out.len();
    out.resize(from + N * values.len(), 0);
    for (place, v) in out[from..].as_chunks_mut().0.iter_mut().zip(values) {
        *place = bytes(*v);
    }
}

/// Appends a row to indices and values.
pub(crate) fn take_row(
    input: &mut Input<'_>,
    indices: &mut Vec<u32>,
    values: &mut Vec<f64>,
) -> Result<(), Damaged> {
    let n = input.number()?;
    if n > input.0.len() as u64 {
        return damaged("a row of the log");
    }
    let mut index = 0;
    for k in 0..n {
        let gap = input.number()?;
        if k > 0 && gap == 0 {
            return damaged("the features of a row of the log");
        }
        index += gap;
        let Ok(i) = u32::try_from(index) else { return damaged("a feature of the log") };
        indices.push(i);
    }
    let kind = input.byte()?;
    let mut ten = 1.0;
    if kind == DECIMAL {
        let Some(found) = TENS.get(usize::from(input.byte()?)) else { return damaged("a row of the log") };
        ten = *found;
    }
    for _ in 0..n {
        let value = match kind {
            ONES => 1.0,
            NARROW => {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(input.take(4)?);
                f64::from(f32::from_le_bytes(bytes))
            }
            WIDE => input.f64()?,
            DECIMAL => {
                let m = input.number()?;
                ((m >> 1).cast_signed() ^ -(m & 1).cast_signed()) as f64 / ten
            }
            _ => return damaged("the values of a row of the log"),
        };
        if !value.is_finite() {
            return damaged("a value of the log");
        }
        values.push(value);
    }
    Ok(())
}

const MISSING: u8 = 0;
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const PLUS: u8 = 3;
const MINUS: u8 = 4;
const ZERO: u8 = 5;

pub(crate) fn put_label(out: &mut Vec<u8>, label: &Label) {
    match label {
        Label::Missing => out.push(MISSING),
        Label::Number(y) if *y == 1.0 => out.push(PLUS),
        Label::Number(y) if *y == -1.0 => out.push(MINUS),
        Label::Number(y) if y.to_bits() == 0 => out.push(ZERO),
        Label::Number(y) => {
            out.push(NUMBER);
            put_f64(out, *y);
        }
        Label::Name(name) => {
            out.push(TEXT);
            put_bytes(out, name.as_bytes());
        }
    }
}

pub(crate) fn take_label(input: &mut Input<'_>) -> Result<Label, Damaged> {
    Ok(match input.byte()? {
        MISSING => Label::Missing,
        PLUS => Label::Number(1.0),
        MINUS => Label::Number(-1.0),
        ZERO => Label::Number(0.0),
        NUMBER => Label::Number(input.f64()?),
        TEXT => Label::Name(input.text()?.into()),
        _ => return damaged("a label of the log"),
    })
}

/// The rows of a block with their raw labels and weights.
pub(crate) fn put_block(out: &mut Vec<u8>, block: &Block<f64>) {
    out.reserve(6 * block.indices.len() + 8 * block.len());
    put_number(out, block.len() as u64);
    out.push(u8::from(!block.weights.is_empty()));
    for k in 0..block.len() {
        let (from, to) = (block.offsets[k], block.offsets[k + 1]);
        put_label(out, &block.raw_labels[k]);
        if let Some(weight) = block.weights.get(k) {
            put_f64(out, *weight);
        }
        put_row(out, &block.indices[from..to], &block.values[from..to]);
    }
}

pub(crate) fn take_block(input: &mut Input<'_>) -> Result<Block<f64>, Damaged> {
    let mut block = Block::new();
    let n = input.number()?;
    let weighted = input.byte()? == 1;
    for _ in 0..n {
        block.raw_labels.push(take_label(input)?);
        if weighted {
            let weight = input.f64()?;
            if !(weight >= 0.0 && weight.is_finite()) {
                return damaged("a weight of the log");
            }
            block.weights.push(weight);
        }
        take_row(input, &mut block.indices, &mut block.values)?;
        block.offsets.push(block.indices.len());
    }
    Ok(block)
}

/// Bytes with their long runs of zeros told by length: most of a young model's state is nothing.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut from = 0;
    while from < words.len() {
        let zeros = words[from..].iter().take_while(|word| **word == [0; 8]).count();
        let some = words[from + zeros..].iter().take_while(|word| **word != [0; 8]).count();
        put_number(&mut out, zeros as u64);
        put_bytes(&mut out, words[from + zeros..from + zeros + some].as_flattened());
        from += zeros + some;
    }
    out.extend_from_slice(rest);
    out
}

/// How many bytes were packed.
pub(crate) fn packed_length(packed: &[u8]) -> u64 {
    Input(packed).number().unwrap_or(0)
}

/// What [`pack`] packed.
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Damaged> {
    let mut input = Input(packed);
    let length = usize::try_from(input.number()?).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    if out.try_reserve_exact(length).is_err() {
        return damaged("a snapshot");
    }
    let whole = length - length % 8;
    while out.len() < whole {
        let zeros = usize::try_from(input.number()?).unwrap_or(usize::MAX);
        if zeros > (whole - out.len()) / 8 {
            return damaged("a snapshot");
        }
        out.resize(out.len() + 8 * zeros, 0);
        let some = input.bytes()?;
        if some.len() > whole - out.len() || (zeros == 0 && some.is_empty()) {
            return damaged("a snapshot");
        }
        out.extend_from_slice(some);
    }
    out.extend_from_slice(input.take(length - whole)?);
    if input.is_empty() { Ok(out) } else { damaged("a snapshot") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label() -> impl Strategy<Value = Label> {
        prop_oneof![
            Just(Label::Missing),
            prop::num::f64::NORMAL.prop_map(Label::Number),
            prop::sample::select(vec![0.0, -0.0, 1.0, -1.0]).prop_map(Label::Number),
            "[a-z]{0,9}".prop_map(|s| Label::Name(s.into())),
        ]
    }

    fn row() -> impl Strategy<Value = Vec<(u32, f64)>> {
        let value = prop_oneof![
            Just(1.0),
            prop::num::f32::NORMAL.prop_map(f64::from),
            prop::num::f64::NORMAL,
            (-10_000_000i64..10_000_000, 0..9).prop_map(|(m, p)| m as f64 / 10_f64.powi(p)),
            (any::<i64>(), 0..7).prop_map(|(m, p)| m as f64 / 10_f64.powi(p)),
        ];
        prop::collection::btree_map(any::<u32>(), value, 0..9).prop_map(|m| m.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_block_comes_back_to_the_bit(rows in prop::collection::vec((row(), label(), 0.0..9.0), 0..20), weighted: bool) {
            let mut block = Block::<f64>::new();
            for (row, label, weight) in &rows {
                block.indices.extend(row.iter().map(|p| p.0));
                block.values.extend(row.iter().map(|p| p.1));
                block.offsets.push(block.indices.len());
                block.raw_labels.push(label.clone());
                if weighted {
                    block.weights.push(*weight);
                }
            }
            let mut bytes = Vec::new();
            put_block(&mut bytes, &block);
            let mut input = Input(&bytes);
            let again = take_block(&mut input).unwrap();
            prop_assert!(input.is_empty());
            prop_assert_eq!(&again.offsets, &block.offsets);
            prop_assert_eq!(&again.indices, &block.indices);
            prop_assert_eq!(&again.weights, &block.weights);
            prop_assert_eq!(&again.raw_labels, &block.raw_labels);
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&again.values), bits(&block.values));
        }

        #[test]
        fn values_of_few_places_are_short(m in prop::collection::vec(-60i64..60, 1..9), places in 1usize..7) {
            let values: Vec<f64> = m.iter().map(|m| *m as f64 / TENS[places]).collect();
            let (indices, mut bytes): (Vec<u32>, _) = ((0..values.len() as u32).collect(), Vec::new());
            put_row(&mut bytes, &indices, &values);
            prop_assert!(bytes.len() <= 3 + 3 * values.len(), "{bytes:?}");
        }

        #[test]
        fn what_is_packed_comes_back(runs in prop::collection::vec((0usize..40, prop::collection::vec(any::<u8>(), 0..40)), 0..9)) {
            let bytes: Vec<u8> = runs.into_iter().flat_map(|(n, more)| [vec![0; n], more].concat()).collect();
            let packed = pack(&bytes);
            prop_assert_eq!(packed_length(&packed), bytes.len() as u64);
            prop_assert_eq!(unpack(&packed), Ok(bytes));
            prop_assert!(packed.is_empty() || unpack(&packed[..packed.len() - 1]).is_err());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (take_block(&mut Input(&bytes)), unpack(&bytes));
        }
    }
}
