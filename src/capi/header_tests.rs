//! The committed C header is the one that is generated from the sources, and it declares every function that
//! the library exports.
//!
//! `UPDATE_HEADER=1 cargo test --features capi --lib header` rewrites it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/callstack.h"));

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_committed_header_is_the_generated_one() {
    let path = root().join("include/callstack.h");
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, GENERATED).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(GENERATED.lines()).position(|(committed, generated)| committed != generated);
    assert!(
        committed == GENERATED,
        "include/callstack.h is stale from line {} on; UPDATE_HEADER=1 cargo test --features capi --lib header",
        differs.map_or(committed.lines().count().min(GENERATED.lines().count()), |line| line) + 1
    );
}

/// The names that follow `before` in a text, up to `after`.
fn names(text: &str, before: &str, after: char) -> BTreeSet<String> {
    let found = text.split(before).skip(1).map(|rest| rest.split(after).next().unwrap_or_default());
    let is_name = |name: &&str| name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    found.filter(is_name).map(str::to_owned).collect()
}

fn sources(folder: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn the_header_declares_every_exported_function_and_every_constant() {
    let sources = sources(&root().join("src/capi"));
    let functions = names(&sources, "extern \"C\" fn ", '(');
    assert!(functions.len() > 40, "only {} functions were found; has the way to write them changed?", functions.len());
    for function in functions {
        assert!(
            GENERATED.contains(&format!(" {function}(")) || GENERATED.contains(&format!("*{function}(")),
            "{function}"
        );
    }
    let constants = names(&sources, "pub const CALLSTACK_", ':');
    assert!(constants.len() > 30, "only {} constants were found", constants.len());
    for constant in constants {
        assert!(GENERATED.contains(&format!("#define CALLSTACK_{constant} ")), "CALLSTACK_{constant}");
    }
}

#[test]
fn every_code_has_a_number_of_its_own() {
    let mut numbers = BTreeSet::new();
    for line in GENERATED.lines().filter(|line| line.starts_with("#define CALLSTACK_ERROR_")) {
        let number: i32 = line.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(numbers.insert(number), "{line} has the number of another");
    }
    assert!(numbers.len() > 25, "only {} codes were found", numbers.len());
}
