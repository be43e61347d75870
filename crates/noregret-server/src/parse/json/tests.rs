use super::*;
use crate::parse::LONGEST_PREFIX;
use noregret::example::names::Schema;
use proptest::prelude::*;

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

/// A JSON text that is nearly a request.
fn nearly() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<f64>().prop_map(|x| format!("{x}")),
        any::<f64>().prop_map(|x| format!("{x:e}")),
        any::<i64>().prop_map(|x| x.to_string()),
        (0u32..10_000_000, 0usize..7).prop_map(|(m, k)| format!("{:.k$}", f64::from(m) / 1e3)),
        "-?[0-9]{1,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{0,3})?",
    ];
    let text = prop_oneof!["[a-zé=. ]{0,20}", r#"[a-z\\"\n\x01-]{0,4}"#].prop_map(|t| format!("\"{t}\""));
    let value = prop_oneof![
        4 => number,
        2 => text.clone(),
        1 => prop::sample::select(vec!["true", "false", "null", "[1]", "{}", "nul", ""]).prop_map(str::to_owned),
    ];
    let key = prop_oneof![
        6 => prop::sample::select(vec!["\"features\"", "\"label\"", "\"weight\""]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["\"predict\"", "\"id\"", "\"indices\""]).prop_map(str::to_owned),
        1 => text.clone(),
    ];
    let object = |key: BoxedStrategy<String>, value: BoxedStrategy<String>| {
        prop::collection::vec((key, value, " ?\n?"), 0..5).prop_map(|pairs| {
            let pairs: Vec<String> =
                pairs.iter().map(|(k, v, space)| format!("{k}{space}:{space}{v}")).collect();
            format!("{{{}}}", pairs.join(","))
        })
    };
    let features = object(text.boxed(), value.clone().boxed());
    let part = prop_oneof![3 => features.clone(), 1 => value];
    let example = prop_oneof![
        2 => object(key.boxed(), part.boxed()),
        3 => (features, 0..3).prop_map(|(f, y)| format!("{{\"features\":{f},\"label\": {y}}}")),
    ];
    let list = prop::collection::vec(example.clone(), 0..4)
        .prop_map(|all| format!("{{\"examples\": [{}], \"predict\": true}}", all.join(" ,")));
    (prop_oneof![example, list], 0usize..9, prop::option::of((any::<prop::sample::Index>(), any::<u8>())))
        .prop_map(|(text, cut, spoilt)| {
            let mut bytes = text.into_bytes();
            if let Some((at, byte)) = spoilt.filter(|_| !bytes.is_empty()) {
                let at = at.index(bytes.len());
                bytes[at] = byte & 0x7f;
            }
            if cut == 0 {
                bytes.pop();
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]
    #[test]
    fn what_is_read_quickly_is_what_the_walk_reads(text in nearly(), several: bool, learning: bool) {
        let context = Context { learning, ..context(&|place| place % 2 == 0) };
        let mut maker = Maker::new(&context);
        if quick::read(&mut maker, text.as_bytes(), several).is_some() {
            let mut walk = Walk::new(Maker::new(&context));
            prop_assert!(walk.run(text.as_bytes(), several).is_ok(), "{text}");
            prop_assert_eq!(format!("{:?}", maker.parsed()), format!("{:?}", walk.maker.parsed()));
        } else {
            // Nothing is left behind.
            let mark = Maker::new(&context).mark();
            maker.go_back(mark);
            prop_assert_eq!(format!("{:?}", maker.parsed()), format!("{:?}", Parsed::default()));
        }
    }
}

#[test]
fn the_usual_request_is_read_quickly() {
    let context = context(&|_| false);
    for text in [
        r#"{"features": {"t": 21.5, "city": "Rome", "no": null, "f": false}, "label": 1, "weight": 2}"#,
        r#"{"examples": [{"features": {"a": -1e-3}, "label": "x"}, {"label": true, "features": {}}], "predict": true}"#,
        r#"{"label":1,"features":{"a":1}}"#,
    ] {
        assert!(quick::read(&mut Maker::new(&context), text.as_bytes(), true).is_some(), "{text}");
    }
}

#[test]
fn a_short_text_does_not_stand_for_long_names() {
    let leaves = |count: usize| (0..count).map(|k| format!("\"a{k}\":1")).collect::<Vec<_>>().join(",");
    let nested = |length: usize, count: usize| {
        format!(r#"{{"features": {{"{}": {{{}}}}}, "label": 1}}"#, "k".repeat(length), leaves(count))
    };
    let refusal = read(&nested(LONGEST_PREFIX + 1, 1)).map(drop).unwrap_err();
    assert_eq!((refusal.code, refusal.example), ("bad_feature", Some(0)));
    assert!(refusal.message.contains("1025 bytes, expected at most 1024"), "{}", refusal.message);
    // Nothing is above a name of this length, so that it is as long as its text.
    assert!(read(&format!(r#"{{"features": {{"{}": 1}}, "label": 1}}"#, "k".repeat(9000))).is_ok());
    let text = nested(LONGEST_PREFIX, 20_000);
    let context = Context { most_features: 100_000, ..context(&|_| false) };
    let parsed = body(&context, text.as_bytes()).unwrap();
    let bytes: usize = parsed.names.iter().map(|(_, name)| name.len()).sum();
    assert!(parsed.block.indices.len() > 18_000, "every feature counts");
    assert!(bytes > 1 << 20 && bytes <= (1 << 20) + NAMES_PER_BYTE * text.len(), "{bytes} of names");
}
