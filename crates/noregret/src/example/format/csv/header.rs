//! The header of a CSV: the separator, the names, and what each column is.

use std::collections::{HashMap, HashSet};

use super::{Csv, Field, Role, SLOW, Splitter};
use crate::error::UsageError;
use crate::example::format::{OpenError, Opened, Options};
use crate::example::names::Schema;
use crate::example::select::{Naming, Plan};
use crate::example::text::{self, Fault, Limit};

/// The separator that a header uses: a comma if it has one outside quotes, else a tab, else a
/// semicolon.
pub(super) fn separator(header: &[u8]) -> u8 {
    let mut within = false;
    let mut has = [false; 2];
    for &byte in header {
        match byte {
            b'"' => within = !within,
            _ if within => {}
            b',' => return b',',
            b'\t' => has[0] = true,
            b';' => has[1] = true,
            _ => {}
        }
    }
    match has {
        [true, _] => b'\t',
        [_, true] => b';',
        _ => b',',
    }
}

/// Makes a decoder from the header.
pub(super) fn open(options: &Options, beginning: &[u8], separator: Option<u8>) -> Result<Opened, OpenError> {
    let (decoder, header_bytes, header_lines) = read(options, beginning, separator)?;
    Ok(Opened { decoder: Box::new(decoder), header_bytes, header_lines })
}

/// The decoder, and how many bytes and lines the header has.
pub(super) fn read(
    options: &Options,
    beginning: &[u8],
    separator: Option<u8>,
) -> Result<(Csv, usize, u64), OpenError> {
    let mark = text::byte_order_mark(beginning);
    let mut from = mark;
    let mut lines = 0;
    let (record, end, inner) = loop {
        let (end, inner) = Splitter::default().split(beginning, from);
        let record = &beginning[from..end];
        let record = record.strip_suffix(b"\r").unwrap_or(record);
        if !record.is_empty() {
            break (record, end, inner);
        }
        if end >= beginning.len() {
            let message = if options.no_header {
                "the input is empty: expected records"
            } else {
                "the input is empty: expected a header that names the columns"
            };
            let fault = Fault::new(0, message);
            return Err(OpenError::Problem(fault.problem(record, lines)));
        }
        lines += 1;
        from = end + 1;
    };
    let separator = separator.unwrap_or_else(|| self::separator(record));
    let refuse = |fault: Fault| {
        let mut problem = fault.problem(record, lines);
        // The mark is no part of the record, but it is part of the line.
        problem.column += if problem.line == 0 { mark as u64 } else { 0 };
        OpenError::Problem(problem)
    };
    let named = if options.no_header { numbers(record, separator) } else { names(record, separator) };
    let (names, places) = named.map_err(refuse)?;
    let decoder = columns(options, &names, separator, |k, message| refuse(Fault::new(places[k], message)))?;
    if options.no_header {
        return Ok((decoder, from, lines));
    }
    Ok((decoder, (end + 1).min(beginning.len()), lines + inner + 1))
}

/// A reader of rows with these columns. `refuse` makes the error for a column, by its number.
pub(in crate::example::format) fn columns(
    options: &Options,
    names: &[String],
    separator: u8,
    refuse: impl Fn(usize, String) -> OpenError,
) -> Result<Csv, OpenError> {
    let (roles, schema, plan) = roles(options, names, refuse)?;
    let limit = Limit::new(options);
    let place = |role: &Role| match role {
        Role::Feature { place, factors: 0, .. } if limit.allows(*place) => *place,
        _ => SLOW,
    };
    Ok(Csv {
        separator,
        first: if options.no_header { "first record" } else { "header" },
        places: roles.iter().map(place).collect(),
        roles,
        schema,
        limit,
        plan,
        skip: options.skip,
        unlabelled: options.unlabelled,
    })
}

/// The numbers of the columns, from 1, as their names, and where each begins in the first record.
fn numbers(record: &[u8], separator: u8) -> Result<(Vec<String>, Vec<usize>), Fault> {
    let mut places = Vec::new();
    let mut next = Some(0);
    while let Some(at) = next {
        let field = Field::find(record, at, separator)?;
        places.push(field.at());
        next = field.next;
    }
    Ok(((1..=places.len()).map(|k| k.to_string()).collect(), places))
}

/// The names of the columns, none empty and none twice, and where each begins in the record.
fn names(record: &[u8], separator: u8) -> Result<(Vec<String>, Vec<usize>), Fault> {
    let (mut names, mut places) = (Vec::new(), Vec::new());
    let mut buffer = Vec::new();
    let mut known = HashSet::new();
    let mut next = Some(0);
    while let Some(at) = next {
        let field = Field::find(record, at, separator)?;
        let Ok(name) = std::str::from_utf8(field.text(record, &mut buffer)) else {
            return Err(Fault::new(at, format!("the name of column {} is not UTF-8", names.len() + 1)));
        };
        if name.is_empty() {
            let message = format!("the name of column {} is empty: give it one", names.len() + 1);
            return Err(Fault::new(at, message));
        }
        if !known.insert(name.to_owned()) {
            let name = text::excerpt(name.as_bytes());
            let data = text::wide(name.as_bytes()).is_some();
            let hint =
                if data { "; where the first line is data and no header, use --no-header" } else { "" };
            let message = format!("the column `{name}` appears twice: names of columns must differ{hint}");
            return Err(Fault::new(at, message));
        }
        names.push(name.to_owned());
        places.push(field.at());
        next = field.next;
    }
    Ok((names, places))
}

/// What each column is, the schema (the model's, or all columns that are features, then products), and what
/// was made of the selection.
fn roles(
    options: &Options,
    names: &[String],
    refuse: impl Fn(usize, String) -> OpenError,
) -> Result<(Vec<Role>, Schema, Plan), OpenError> {
    let usage = |message: String| OpenError::Usage(UsageError(message));
    let label = text::find_label(options, names, "column")?;
    let weight = match &options.weight {
        Some(asked) => text::find_named(asked, "--weight", options, names, "column")?,
        None => None,
    };
    if label.is_some() && label == weight {
        return Err(usage(format!(
            "the column `{}` cannot be label and weight at once",
            names[label.unwrap_or(0)]
        )));
    }
    let bits = text::bits(options)?;
    let naming = Naming::columns(&Schema::default());
    let mut plan = Plan::new(&options.selection, naming, Limit::new(options)).map_err(OpenError::Usage)?;
    let feature = |k: &usize| Some(*k) != label && Some(*k) != weight;
    let features = (0..names.len()).filter(feature).map(|k| &names[k]);
    let schema = match &options.schema {
        Some(schema) => schema.clone(),
        None => Schema { columns: with_places(&plan, &features.collect::<Vec<_>>()).map_err(usage)?, bits },
    };
    plan.place_by(&schema);
    text::fits(schema.columns.len(), bits).map_err(usage)?;
    let known: HashMap<&str, u32> = schema.columns.iter().map(String::as_str).zip(0..).collect();
    let mut roles = Vec::with_capacity(names.len());
    for (k, name) in names.iter().enumerate() {
        roles.push(if Some(k) == label {
            Role::Label
        } else if Some(k) == weight {
            Role::Weight
        } else if plan.leaves_out(plan.matches(name.as_bytes())) {
            Role::Ignored
        } else if let Some(&place) = known.get(name.as_str()) {
            let factors = plan.factors(plan.matches(name.as_bytes()));
            Role::Feature { place, factors, prefix: format!("{name}=").into_bytes().into() }
        } else {
            let name = text::excerpt(name.as_bytes());
            let message = format!("the column `{name}` is unknown to the model");
            return Err(refuse(k, message));
        });
    }
    Ok((roles, schema, plan))
}

/// The columns that have places: the features that are read, in the header's order, and then the products.
fn with_places(plan: &Plan, features: &[&String]) -> Result<Vec<String>, String> {
    let met = features.iter().fold(0, |met, name| met | plan.matches(name.as_bytes()));
    if let Some(flag) = plan.unmet(met).first() {
        let list = text::list(features);
        return Err(format!("`{flag}`: there is no such column among the features; there are {list}"));
    }
    let read = features.iter().filter(|name| !plan.leaves_out(plan.matches(name.as_bytes())));
    let mut columns: Vec<String> = read.map(|name| (*name).clone()).collect();
    for product in plan.columns() {
        if columns.contains(&product) {
            return Err(format!(
                "`--interactions {product}`: there is a column `{product}` already; leave out the flag, or the \
                 column with --ignore"
            ));
        }
        columns.push(product);
    }
    Ok(columns)
}
