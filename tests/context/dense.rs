//! Short results keep the information that later work needs: the names in results of real plans that later
//! frames use again.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use callstack_core::{Frame, import};

/// The length of short results, in characters.
const SHORT: usize = 400;

/// Words that name a thing: identifiers, files, paths.
fn names(text: &str) -> HashSet<String> {
    let words = text.split(|character: char| character.is_whitespace() || "\"'`()[]{}<>,;:|*".contains(character));
    let is_name = |word: &&str| {
        let inner = word.trim_matches('.');
        inner.len() >= 5
            && inner.chars().any(|character| "_/.".contains(character))
            && inner.contains(char::is_alphabetic)
    };
    words.filter(is_name).map(|word| word.trim_matches('.').to_lowercase()).collect()
}

fn said(frame: &Frame) -> String {
    [&*frame.title, &*frame.success_criteria, &*frame.task, frame.results.as_deref().unwrap_or_default()].join("\n")
}

/// Counts the names in long results that later frames use: all of these names, the names that short results
/// keep, and the names that the beginning keeps.
fn kept(frames: &[Frame]) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    for (place, frame) in frames.iter().enumerate() {
        let Some(results) = frame.results.as_deref().filter(|results| results.chars().count() > SHORT) else {
            continue;
        };
        let later: HashSet<String> = frames[place + 1..].iter().flat_map(|later| names(&said(later))).collect();
        let needed: HashSet<String> = names(results).intersection(&later).cloned().collect();
        let beginning: String = results.chars().take(SHORT).collect();
        let within = |text: &str| names(text).intersection(&needed).count();
        counts.0 += needed.len();
        counts.1 += within(frame.results_compacted.as_deref().unwrap_or_default());
        counts.2 += within(&beginning);
    }
    counts
}

#[test]
fn short_results_keep_more_of_the_names_that_are_needed_later_than_the_beginning() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/plans");
    let (mut needed, mut dense, mut beginning) = (0, 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension == "md") {
            continue;
        }
        let plan = import::frames(&fs::read_to_string(&path).unwrap()).unwrap();
        for frame in &plan.frames {
            let short = frame.results_compacted.as_deref().unwrap_or_default();
            assert!(short.chars().count() <= SHORT, "{}: {}", path.display(), frame.title);
        }
        let (of_plan, by_dense, by_beginning) = kept(&plan.frames);
        (needed, dense, beginning) = (needed + of_plan, dense + by_dense, beginning + by_beginning);
    }
    println!("of {needed} names that later frames use, short results keep {dense}, the beginning {beginning}");
    assert!(needed > 100, "the plans have long results: {needed}");
    assert!(dense * 10 >= beginning * 12, "a fifth more than the beginning: {dense} and {beginning} of {needed}");
}
