//! The words of texts. One term stands for one thing: `docs/glossary.md` lists the terms, and the words that
//! mean the same and are refused. Words that a newcomer has to read twice are refused in all texts and
//! sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use callstack_core::ToolNames;

use super::source::{documents, files, root};

/// Words that make a sentence hard to read: pronouns without their nouns, and persons where there are rows or
/// processes.
const HARD: [&str; 7] = ["anew", "whoever", "whom", "of which", "nobody", "somebody", "no one"];

/// The terms of the glossary with the words that are refused for the same thing.
fn refused() -> BTreeMap<String, Vec<String>> {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| term"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells
        .map(|cells| {
            let [term, _, words] = cells.as_slice() else { panic!("{cells:?} are not three cells") };
            let words = words.split(", ").filter(|word| !word.is_empty()).map(str::to_owned);
            (term.clone(), words.collect())
        })
        .collect()
}

/// A Markdown text without its blocks of code and its code in the line.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return String::new();
        }
        if is_code {
            return String::new();
        }
        line.split('`').step_by(2).collect::<Vec<_>>().join("…")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// True if a text has a word as a whole word, in upper or lower case.
fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let is_letter =
        |character: Option<char>| character.is_some_and(|character| character.is_alphanumeric() || character == '_');
    text.match_indices(&word)
        .any(|(at, _)| !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + word.len()..].chars().next()))
}

/// The lines of a text with one of the words, each with the place and the word.
fn found(path: &Path, text: &str, words: &[String]) -> Vec<String> {
    let shown = path.strip_prefix(root()).unwrap_or(path).display();
    let lines = text.lines().enumerate().flat_map(|(number, line)| {
        let hits = words.iter().filter(|word| has_word(line, word));
        hits.map(move |word| (number + 1, word, line.trim().chars().take(100).collect::<String>()))
    });
    lines.map(|(number, word, line)| format!("{shown}:{number}: `{word}` in: {line}")).collect()
}

#[test]
fn the_glossary_has_about_thirty_terms_and_defines_each_once() {
    let terms = refused();
    assert!((30..=50).contains(&terms.len()), "{} terms", terms.len());
    let mut single: Vec<&str> = terms.keys().flat_map(|terms| terms.split(", ")).collect();
    let all = single.len();
    single.sort_unstable();
    single.dedup();
    assert_eq!(single.len(), all, "a term is defined twice");
}

#[test]
fn documents_use_the_terms_of_the_glossary() {
    let words: Vec<String> = refused().into_values().flatten().collect();
    assert!(words.len() > 5, "{words:?}");
    let mut problems = Vec::new();
    for path in documents() {
        // Words of other tools are named there as these tools name them.
        let is_about_others = path.ends_with("docs/import.md") || path.ends_with("docs/glossary.md");
        if !is_about_others {
            problems.extend(found(&path, &prose(&fs::read_to_string(&path).unwrap()), &words));
        }
    }
    assert!(problems.is_empty(), "use the terms of docs/glossary.md:\n{}", problems.join("\n"));
}

#[test]
fn texts_of_models_use_the_terms_of_the_glossary() {
    let words: Vec<String> = refused().into_values().flatten().chain(HARD.map(str::to_owned)).collect();
    let tools = callstack_core::tools::list(&ToolNames::default());
    let texts = tools.iter().map(|tool| (tool.name, format!("{}\n{}", tool.description, tool.parameters)));
    let problems: Vec<String> = texts.flat_map(|(name, text)| found(Path::new(name), &text, &words)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_text_has_words_that_are_read_twice() {
    let words = HARD.map(str::to_owned);
    let mut problems = Vec::new();
    for path in documents() {
        problems.extend(found(&path, &prose(&fs::read_to_string(&path).unwrap()), &words));
    }
    let folders = [
        "src",
        "cli/src",
        "postgres/src",
        "native/src",
        "bindings/node/src",
        "bindings/opencode/src",
        "bindings/pi/src",
        "bindings/claude/src",
        "bindings/job/src",
        "bindings/python/src",
        "bindings/generator/src",
        "simulation/src",
        "simulation/tests",
    ];
    for path in files(&folders, &["rs", "ts", "py", "md"]) {
        // Real texts of people and other programs, which the library reads.
        let is_list =
            path.ends_with("src/context/approx/words.rs") || path.components().any(|part| part.as_os_str() == "approx");
        if !is_list {
            problems.extend(found(&path, &fs::read_to_string(&path).unwrap(), &words));
        }
    }
    assert!(problems.is_empty(), "{} places:\n{}", problems.len(), problems.join("\n"));
}
