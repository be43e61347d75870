use super::*;
use noregret::example::names::Schema;

fn context(has_name: &dyn Fn(u32) -> bool) -> Context<'_> {
    Context {
        schema: Schema { columns: Vec::new(), bits: Some(18) },
        has_name,
        limit: 1 << 24,
        most_features: 5,
        learning: true,
    }
}

fn read(text: &str) -> Result<Parsed, Refusal> {
    body(&context(&|_| false), text.as_bytes())
}

#[test]
fn both_shapes_become_rows() {
    let parsed =
        read(r#"{"features": {"t": 21.5, "city": "Rome", "no": null, "f": false}, "label": 1, "weight": 2}"#)
            .unwrap();
    assert_eq!((parsed.block.len(), parsed.space), (1, Some(Space::Names)));
    assert_eq!(parsed.block.weights, [2.0]);
    let mut names: Vec<_> = parsed.names.iter().map(|(_, n)| &**n).collect();
    names.sort_unstable();
    assert_eq!(names, ["city=Rome", "f", "t"]);
    let parsed = read(r#"{"examples": [{"label": -1, "indices": [17, 3], "values": [0.5, 2]}, {"indices": [], "values": [], "label": "x"}]}"#).unwrap();
    assert_eq!(parsed.block.indices, [3, 17]);
    assert_eq!(parsed.block.values, [2.0, 0.5]);
    assert_eq!(parsed.block.raw_labels, [Label::Number(-1.0), Label::Name("x".into())]);
}

#[test]
fn nested_names_are_joined_as_in_json_lines() {
    let parsed = read(r#"{"features": {"a": {"b": 1, "c": [2, "x"]}}, "label": 1}"#).unwrap();
    let mut names: Vec<_> = parsed.names.iter().map(|(_, n)| &**n).collect();
    names.sort_unstable();
    assert_eq!(names, ["a.b", "a.c.0", "a.c.1=x"]);
}

#[test]
fn what_is_wrong_is_named() {
    let code = |text: &str| {
        let refusal = read(text).map(drop).unwrap_err();
        assert_eq!(refusal.status.as_u16(), 400, "{refusal:?}");
        (refusal.code, refusal.example)
    };
    assert_eq!(code("[]").0, "bad_shape");
    assert_eq!(code("{").0, "bad_json");
    assert_eq!(code("1").0, "bad_shape");
    assert_eq!(code("{}").0, "bad_shape");
    assert_eq!(code(r#"{"examples": []}"#).0, "no_examples");
    assert_eq!(code(r#"{"examples": 3}"#).0, "bad_shape");
    assert_eq!(code(r#"{"features": [1], "label": 1}"#).0, "bad_shape");
    assert_eq!(code(r#"{"features": {}}"#), ("no_label", Some(0)));
    assert_eq!(code(r#"{"features": {}, "label": null}"#), ("no_label", Some(0)));
    assert_eq!(code(r#"{"features": {"a": 1e999}, "label": 1}"#).0, "bad_json");
    assert_eq!(code(r#"{"features": {}, "label": 1, "weight": -1}"#), ("bad_weight", Some(0)));
    assert_eq!(code(r#"{"features": {}, "label": 1, "extra": -1}"#), ("unknown_key", Some(0)));
    assert_eq!(code(r#"{"features": {}, "label": 1, "label": 1}"#), ("bad_shape", Some(0)));
    assert_eq!(code(r#"{"features": {}, "label": [1]}"#).0, "bad_shape");
    assert_eq!(code(r#"{"features": {}, "label": {}}"#).0, "bad_shape");
    assert_eq!(code(r#"{"indices": [1], "values": [], "label": 1}"#), ("bad_feature", Some(0)));
    assert_eq!(code(r#"{"indices": [99999999], "values": [1], "label": 1}"#), ("bad_feature", Some(0)));
    assert_eq!(code(r#"{"indices": [-1], "values": [1], "label": 1}"#).0, "bad_shape");
    assert_eq!(
        code(r#"{"features": {"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}, "label": 1}"#),
        ("too_many_features", Some(0))
    );
    let good = r#"{"features": {"a": 1}, "label": 1}"#;
    assert_eq!(
        code(&format!(r#"{{"examples": [{good}, {good}, {{"features": {{"a": 1}}}}]}}"#)),
        ("no_label", Some(2))
    );
    assert_eq!(code(&format!(r#"{{"examples": [{good}], "label": 1}}"#)).0, "bad_shape");
    let mixed =
        r#"{"examples": [{"features": {"a": 1}, "label": 1}, {"indices": [1], "values": [1], "label": 1}]}"#;
    assert_eq!(code(mixed), ("other_features", Some(1)));
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    assert_eq!(code(&format!(r#"{{"features": {deep}, "label": 1}}"#)).0, "bad_feature");
}
