//! The layout keeps its promises: every file is registered, imports go one way, files stay short.

use noregret::parameter::Parameter;
use noregret::regret::bound;
use noregret::{generate, learner, loss};
use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files below a folder that end in `.rs`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
    all
}

/// The names of the files of a folder as a registry would spell them.
fn names(folder: &str, besides: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(source().join(folder))
        .unwrap()
        .filter_map(|e| Some(e.unwrap().file_name().to_str()?.strip_suffix(".rs")?.to_owned()))
        .filter(|name| !besides.contains(&name.as_str()))
        .map(|name| name.replace('_', "-"))
        .collect();
    names.sort();
    names
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn every_learner_file_is_registered_under_its_name() {
    let files = names("learner", &["mod", "slots", "iterate", "part", "theorem"]);
    assert_eq!(files, sorted(learner::ENTRIES.iter().map(|e| e.name)));
}

#[test]
fn every_bound_file_is_registered_under_its_name() {
    assert_eq!(names("regret/bound", &["mod"]), sorted(bound::ENTRIES.iter().map(|e| e.name)));
}

#[test]
fn every_learner_names_a_bound_that_exists_and_can_be_found_itself() {
    for entry in learner::ENTRIES {
        assert!(bound::find(entry.bound).is_some(), "{}", entry.name);
        assert!(std::ptr::eq(learner::find(entry.name).unwrap(), *entry));
    }
    assert!(learner::find("no-such").is_err() && bound::find("no-such").is_none());
}

fn check_parameters(owner: &str, parameters: &[Parameter]) {
    for (k, parameter) in parameters.iter().enumerate() {
        assert!(!parameter.meaning.is_empty(), "{owner} --{}", parameter.name);
        assert!(parameters[..k].iter().all(|p| p.name != parameter.name), "{owner} --{}", parameter.name);
        if let Some(default) = parameter.default {
            assert!(parameter.parse(default).is_ok(), "{owner} --{}: {default}", parameter.name);
        }
        assert!(parameter.parse("").is_err(), "{owner} --{}", parameter.name);
    }
}

#[test]
fn every_entry_says_what_it_is_and_its_defaults_parse() {
    for e in learner::ENTRIES {
        for text in [e.name, e.summary, e.update, e.paper, e.bound, e.default_comparator] {
            assert!(!text.trim().is_empty(), "{}", e.name);
        }
        assert!(e.bytes_per_feature.0 >= 8, "{}", e.name);
        if let learner::Losses::Only(names) = e.losses {
            assert!(!names.is_empty() && names.iter().all(|n| loss::find(n).is_ok()), "{}", e.name);
        }
        check_parameters(e.name, e.parameters);
    }
    for e in bound::ENTRIES {
        for text in [e.name, e.statement, e.needs, e.source] {
            assert!(!text.trim().is_empty(), "{}", e.name);
        }
    }
    for e in loss::ENTRIES {
        for text in [e.name, e.formula, e.summary] {
            assert!(!text.trim().is_empty(), "{}", e.name);
        }
        check_parameters(e.name, e.parameters);
    }
    for e in generate::ENTRIES {
        assert!(!e.name.is_empty() && !e.summary.is_empty());
    }
}

/// The modules of the crate that a file imports, its tests aside.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let line = code[..at].rsplit('\n').next().unwrap();
        if line.trim_start().starts_with("//") {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let group = group.split('}').next().unwrap();
            found.extend(group.split(',').map(|g| g.trim().split(':').next().unwrap().to_owned()));
        } else {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn imports_go_one_way_along_the_data() {
    // Besides itself and the neutral `error`, `parameter`, each stage may import these.
    let allowed: [(&str, &[&str]); 6] = [
        ("bytes", &[]),
        ("example", &["bytes"]),
        ("loss", &[]),
        ("learner", &["example", "loss", "round"]),
        ("regret", &["example", "learner", "loss", "round"]),
        ("report", &["example", "learner", "loss", "regret", "round", "engine"]),
    ];
    for (stage, others) in allowed {
        for file in files(&source().join(stage)) {
            for module in imports(&fs::read_to_string(&file).unwrap()) {
                let neutral = ["error", "parameter", stage].contains(&module.as_str());
                let fine = neutral || others.contains(&module.as_str());
                assert!(fine, "{} imports crate::{module}", file.display());
            }
        }
    }
    for module in imports(&fs::read_to_string(source().join("round.rs")).unwrap()) {
        assert!(["example", "learner", "loss", "error"].contains(&module.as_str()), "round.rs: {module}");
    }
}

#[test]
fn no_file_is_longer_than_six_hundred_lines() {
    for file in files(&source()) {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 600, "{}: {lines} lines", file.display());
    }
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    for file in files(&source()).iter().filter(|f| !f.ends_with("tests.rs")) {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.starts_with("//!"), "{}", file.display());
    }
}
