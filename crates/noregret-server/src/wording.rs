//! Messages of the library speak of the command's flags; over HTTP the same things are keys of a request.

use serde_json::Value;

/// What is asked for in the query of a request, rather than in its body or when a model is made.
const QUERIES: [&str; 5] = ["format", "label", "weight", "zero-based", "no-header"];

/// Commands that a message advises, and how a client comes to the same.
const COMMANDS: [(&str, &str); 4] = [
    ("`noregret learners`", "`GET /v1/learners`"),
    (
        "say beforehand which is the negative one and which the positive",
        "name both, the negative one first, as `classes` when the model is made",
    ),
    ("`learn --multiclass`", "a model that is made with `multiclass`"),
    (
        "name it in --classes, or leave --classes out to accept new labels",
        "a model that is made without `classes` accepts new ones",
    ),
];

/// A message of the library for whoever sent a request: `--eta` is the key `eta`, `--label` is `?label=`. What else stands
/// in backticks is left alone: it is a name, or something that was found.
pub(crate) fn in_requests(message: &str) -> String {
    let known = COMMANDS.iter().fold(message.to_owned(), |text, (command, way)| text.replace(command, way));
    let mut text = String::with_capacity(known.len() + 16);
    for (k, part) in known.split('`').enumerate() {
        if k > 0 {
            text.push('`');
        }
        let query = part.strip_prefix("--").filter(|name| QUERIES.contains(name));
        if let Some(name) = query.filter(|_| k % 2 == 1) {
            text.extend(["?", name, "="]);
        } else if k % 2 == 1 {
            text.push_str(part);
        } else {
            outside(part, &mut text);
        }
    }
    text
}

/// The same for all texts below a value.
pub(crate) fn reword(value: &mut Value) {
    match value {
        Value::String(text) => *text = in_requests(text),
        Value::Array(list) => list.iter_mut().for_each(reword),
        Value::Object(map) => map.values_mut().for_each(reword),
        _ => {}
    }
}

fn outside(part: &str, text: &mut String) {
    let mut rest = part;
    while let Some(at) = rest.find("--") {
        let (before, flag) = (&rest[..at], &rest[at + 2..]);
        let end = flag.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        let (name, after) = flag.split_at(end.unwrap_or(flag.len()));
        let begins = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        text.push_str(before);
        if !begins || name.is_empty() || name.starts_with('-') {
            text.push_str("--");
            text.push_str(name);
        } else if QUERIES.contains(&name) {
            let value = if matches!(name, "zero-based" | "no-header") { "true`" } else { "`" };
            text.extend(["`?", &name.replace('-', "_"), "=", value]);
        } else {
            text.extend(["`", &name.replace('-', "_"), "`"]);
        }
        rest = after;
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::in_requests;

    #[test]
    fn flags_are_keys_and_what_was_found_stays() {
        for (said, told) in [
            ("a smaller --eta, or scale", "a smaller `eta`, or scale"),
            ("--row-bound: found -1", "`row_bound`: found -1"),
            ("needs --l2 SIGMA", "needs `l2` SIGMA"),
            ("name it with --label", "name it with `?label=`"),
            ("name it with `--label`", "name it with `?label=`"),
            ("use --zero-based", "use `?zero_based=true`"),
            ("found `--eta` -- and a--b", "found `--eta` -- and a--b"),
            ("(see `noregret learners`)", "(see `GET /v1/learners`)"),
            ("", ""),
        ] {
            assert_eq!(in_requests(said), told);
        }
        let said = "use `learn --multiclass`, or --loss square";
        assert_eq!(in_requests(said), "use a model that is made with `multiclass`, or `loss` square");
    }
}
