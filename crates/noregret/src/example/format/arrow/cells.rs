//! Cells of Arrow columns, and columns of numbers and text read as CSV columns of the same names.

use super::Native;
use crate::example::format::csv::{Csv, Role};
use crate::example::format::{Found, Scratch};
use crate::example::number::Number;
use crate::example::text::{self, Fault, Head, Row};
use crate::example::{Block, Label};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

/// What stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Absent,
    /// A whole number, or a truth value.
    Integer(i64),
    /// A whole number of a kind that is never negative.
    Unsigned(u64),
    /// Any number.
    Float(f64),
    /// Text.
    Text(&'a str),
}

/// A column of numbers or text.
pub struct Cells<'a>(Column<'a>);

impl<'a> Cells<'a> {
    /// The cells of an array; none if they are neither numbers nor text.
    pub fn new(array: &'a dyn Array) -> Option<Self> {
        Column::new(array).map(Self)
    }

    /// What stands in a row.
    #[inline]
    pub fn cell(&self, row: usize) -> Cell<'a> {
        self.0.cell(row)
    }
}

impl Cell<'_> {
    /// The number in it, as f64; `None` for text.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(value as f64),
            Self::Unsigned(value) => Some(value as f64),
            Self::Float(value) => Some(value),
            Self::Absent | Self::Text(_) => None,
        }
    }

    /// The label in it.
    pub(super) fn label(self, unlabelled: bool) -> Result<Label, String> {
        let label = match self {
            Self::Text(word) => text::label(text::trim(word.as_bytes()))?,
            cell => match cell.number() {
                None => Label::Missing,
                Some(value) if value.is_finite() => Label::Number(value),
                Some(value) => return Err(format!("the label `{value}` is not finite")),
            },
        };
        if label == Label::Missing && !unlabelled {
            return Err(format!("{}: its cell is empty", text::NO_LABEL));
        }
        Ok(label)
    }

    /// The importance weight in it.
    pub(super) fn weight(self, unlabelled: bool) -> Result<f64, String> {
        match self {
            Self::Absent if unlabelled => Ok(1.0),
            Self::Absent => text::weight(b""),
            Self::Text(word) => text::weight(text::trim(word.as_bytes())),
            cell => {
                let value = cell.number().unwrap_or(f64::NAN);
                if value.is_finite() && value >= 0.0 {
                    Ok(value)
                } else {
                    text::weight(value.to_string().as_bytes())
                }
            }
        }
    }
}

/// The number nearest to an f64, as its shortest decimal would be read: a number halfway between two of the narrower
/// kind goes where its decimal is.
pub(super) fn narrow<V: Number>(wide: f64) -> V {
    let value = V::from_f64(wide);
    let halfway = wide.to_bits() & 0x1fff_ffff == 0x1000_0000 || wide.abs() < f64::from(f32::MIN_POSITIVE);
    if halfway && value.f64() != wide {
        V::parse(format!("{wide:e}").as_bytes()).unwrap_or(value)
    } else {
        value
    }
}

macro_rules! kinds {
    ($($name:ident $as:ident $native:ty => $cell:ident),* $(,)?) => {
        /// A column, by what its cells are.
        pub(super) enum Column<'a> {
            $($name(&'a arrow_array::PrimitiveArray<arrow_array::types::$as>),)*
            Boolean(&'a arrow_array::BooleanArray),
            Utf8(&'a arrow_array::StringArray),
            LargeUtf8(&'a arrow_array::LargeStringArray),
            Utf8View(&'a arrow_array::StringViewArray),
            Dictionary(Box<Column<'a>>, Box<Column<'a>>),
            Null,
        }

        impl<'a> Column<'a> {
            /// The column of an array, if its cells are numbers or text.
            pub(super) fn new(array: &'a dyn Array) -> Option<Self> {
                Some(match array.data_type() {
                    $(DataType::$name => Self::$name(array.as_primitive_opt()?),)*
                    DataType::Boolean => Self::Boolean(array.as_boolean_opt()?),
                    DataType::Utf8 => Self::Utf8(array.as_string_opt()?),
                    DataType::LargeUtf8 => Self::LargeUtf8(array.as_string_opt()?),
                    DataType::Utf8View => Self::Utf8View(array.as_string_view_opt()?),
                    DataType::Dictionary(..) => {
                        let whole = array.as_any_dictionary_opt()?;
                        let keys = Box::new(Self::new(whole.keys())?);
                        Self::Dictionary(keys, Box::new(Self::new(whole.values().as_ref())?))
                    }
                    DataType::Null => Self::Null,
                    _ => return None,
                })
            }

            /// What stands in a row.
            #[inline]
            pub(super) fn cell(&self, row: usize) -> Cell<'a> {
                match self {
                    $(Self::$name(array) => {
                        if array.is_null(row) { Cell::Absent } else { Cell::$cell(<$native>::from(array.value(row))) }
                    })*
                    Self::Boolean(array) if array.is_null(row) => Cell::Absent,
                    Self::Boolean(array) => Cell::Integer(i64::from(array.value(row))),
                    Self::Utf8(array) if array.is_null(row) => Cell::Absent,
                    Self::Utf8(array) => Cell::Text(array.value(row)),
                    Self::LargeUtf8(array) if array.is_null(row) => Cell::Absent,
                    Self::LargeUtf8(array) => Cell::Text(array.value(row)),
                    Self::Utf8View(array) if array.is_null(row) => Cell::Absent,
                    Self::Utf8View(array) => Cell::Text(array.value(row)),
                    Self::Dictionary(keys, values) => match keys.cell(row) {
                        Cell::Integer(key) => values.cell(key as usize),
                        Cell::Unsigned(key) => values.cell(key as usize),
                        _ => Cell::Absent,
                    },
                    Self::Null => Cell::Absent,
                }
            }
        }
    };
}

kinds! {
    Int8 Int8Type i64 => Integer,
    Int16 Int16Type i64 => Integer,
    Int32 Int32Type i64 => Integer,
    Int64 Int64Type i64 => Integer,
    UInt8 UInt8Type u64 => Unsigned,
    UInt16 UInt16Type u64 => Unsigned,
    UInt32 UInt32Type u64 => Unsigned,
    UInt64 UInt64Type u64 => Unsigned,
    Float16 Float16Type f64 => Float,
    Float32 Float32Type f64 => Float,
    Float64 Float64Type f64 => Float,
}

/// Whether the cells of a type can be read: numbers, truth values, text, and dictionaries of them.
pub fn is_plain(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(keys, values) => {
            keys.is_dictionary_key_type() && !matches!(**values, DataType::Dictionary(..)) && is_plain(values)
        }
        DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            true
        }
        kind => kind.is_integer() || kind.is_floating(),
    }
}

/// Reads columns as CSV columns of the same names.
pub(super) fn rows<V: Native>(
    csv: &Csv,
    record: &RecordBatch,
    block: &mut Block<V>,
    scratch: &mut Scratch<V>,
) -> Found {
    let columns: Option<Vec<_>> = record.columns().iter().map(|array| Column::new(array.as_ref())).collect();
    let columns = columns.unwrap_or_default();
    let schema = record.schema_ref();
    let found = per_row(record.num_rows(), csv.skip, block, scratch, |k, row| {
        let mut head = Head { label: Label::Missing, label_at: 0, weight: 1.0 };
        for (at, (column, role)) in columns.iter().zip(&csv.roles).enumerate() {
            feature(csv, role, at, column.cell(k), row, &mut head).map_err(|fault| {
                let name = text::excerpt(schema.field(at).name().as_bytes());
                Fault::new(0, format!("column `{name}`: {}", fault.message))
            })?;
        }
        if head.label == Label::Missing && !csv.unlabelled {
            return Err(Fault::new(0, text::NO_LABEL));
        }
        csv.plan.cross(row)?;
        Ok(head)
    });
    // The schema was asked about names already.
    Found { met: u64::MAX, ..found }
}

fn feature<V: Number>(
    csv: &Csv,
    role: &Role,
    at: usize,
    cell: Cell<'_>,
    row: &mut Row<'_, V>,
    head: &mut Head,
) -> Result<(), Fault> {
    match role {
        Role::Ignored => {}
        Role::Label => {
            head.label_at = at;
            head.label = cell.label(csv.unlabelled).map_err(|message| Fault::new(at, message))?;
        }
        Role::Weight => {
            head.weight = cell.weight(csv.unlabelled).map_err(|message| Fault::new(at, message))?;
        }
        Role::Feature { place, prefix, factors } => {
            let value = match cell {
                Cell::Absent => return Ok(()),
                Cell::Text(word) => return csv.cell(role, at, word.as_bytes(), row, head),
                Cell::Integer(value) => V::from_i64(value),
                Cell::Unsigned(value) => V::from_u64(value),
                Cell::Float(value) => finite(value).map_err(|message| Fault::new(at, message))?,
            };
            if value != V::ZERO {
                csv.limit.check(*place, at)?;
                row.place(*place, value);
                let name = &prefix[..prefix.len() - 1];
                row.parts.add(*factors, (*place, value), true, |text| text.extend_from_slice(name));
            }
        }
    }
    Ok(())
}

/// The nearest number of a kind, if it is finite.
pub(super) fn finite<V: Number>(wide: f64) -> Result<V, String> {
    let value = narrow::<V>(wide);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(text::no_number::<V>("the cell", wide.to_string().as_bytes()))
    }
}

/// Reads rows one by one with the loop that reads lines: a row is a line to it.
pub(super) fn per_row<V: Number>(
    rows: usize,
    skip: bool,
    block: &mut Block<V>,
    scratch: &mut Scratch<V>,
    mut read: impl FnMut(usize, &mut Row<'_, V>) -> Result<Head, Fault>,
) -> Found {
    let lines = vec![b'\n'; rows];
    let mut next = 0;
    text::records(
        &lines,
        skip,
        block,
        scratch,
        |_, from| (from, 0),
        |_, _, row| {
            next += 1;
            read(next - 1, row).map(Some)
        },
    )
}
