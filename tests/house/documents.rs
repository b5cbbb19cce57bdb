//! What documents name exists: functions of the interface, and files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::source::{documents, root};

/// Names of packages and files, and what is only in the crate `callstack-postgres`.
const NO_FUNCTIONS: [&str; 3] = ["core", "postgres", "open_url"];

/// The names of all functions in `api.json`.
fn functions() -> BTreeSet<String> {
    let api: Value = serde_json::from_str(&fs::read_to_string(root().join("api.json")).unwrap()).unwrap();
    let functions = api["functions"].as_array().unwrap();
    functions.iter().map(|function| function["name"].as_str().unwrap().to_owned()).collect()
}

/// The words of lower-case letters, digits and `_` in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'))
}

#[test]
fn functions_of_c_that_documents_name_exist() {
    let header = fs::read_to_string(root().join("include/callstack.h")).unwrap();
    let declared: BTreeSet<&str> = words(&header).collect();
    assert!(declared.contains("callstack_push"), "{declared:?}");
    let mut problems = Vec::new();
    for path in documents() {
        for word in words(&fs::read_to_string(&path).unwrap()) {
            let Some(name) = word.strip_prefix("callstack_") else { continue };
            // Hosts write names of MCP tools with two `_`.
            let is_function = !name.is_empty() && !name.starts_with('_') && !NO_FUNCTIONS.contains(&name);
            if is_function && !declared.contains(word) {
                problems.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "include/callstack.h has no such functions:\n{}", problems.join("\n"));
}

#[test]
fn the_guide_names_functions_of_the_reference() {
    let functions = functions();
    let guide = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let rows = guide.lines().skip_while(|line| *line != "| Rust | reference |").skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').nth(2).unwrap());
    let names: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 20, "{names:?}");
    let unknown: Vec<&&str> = names.iter().filter(|name| !functions.contains(**name) && **name != "next").collect();
    assert!(unknown.is_empty(), "api.json has no functions {unknown:?}");
}

/// The anchors of the headings of a document.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let letters = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn files_and_sections_that_documents_link_to_exist() {
    let mut problems = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains(':')) {
            let (file, section) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap_or(Path::new("")).join(file) };
            let is_there = match section {
                "" => file.exists(),
                section => fs::read_to_string(file).is_ok_and(|text| anchors(&text).contains(section)),
            };
            if !is_there {
                problems.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(problems.is_empty(), "these links lead nowhere:\n{}", problems.join("\n"));
}
