//! Searches with the word index of a store, compared with a look at every frame and log.

use callstack_core::search::SearchQuery;
use callstack_core::{Frame, Handle, LogQuery, NewFrame, PopStatus, Stack};
use serde_json::json;

use crate::Random;

const WORDS: [&str; 14] = [
    "cart",
    "Carts",
    "cartography",
    "pay",
    "Payment",
    "tax",
    "TAXES",
    "Größe",
    "größer",
    "é",
    "invoice",
    "src/cart.rs",
    "42",
    "x1",
];

/// Changes a stack at random and searches after each change. Each search uses another one of the stacks,
/// which all have the same frames.
///
/// # Panics
/// If a search does not find exactly the frames that have the words.
pub fn follow(stacks: &[Stack], steps: usize, seed: u64) {
    let random = &mut Random::new(seed);
    for _ in 0..steps {
        let stack = &stacks[random.below(stacks.len())];
        stack.refresh().unwrap();
        change(stack, random);
        let stack = &stacks[random.below(stacks.len())];
        stack.refresh().unwrap();
        compare(stack, random);
    }
}

/// Searches for words of the tests and for other words. Compares the frames that are found with a look at all
/// frames and logs.
///
/// # Panics
/// As [`follow`].
pub fn compare(stack: &Stack, random: &mut Random) {
    let words: Vec<String> = (0..1 + random.below(3)).map(|_| beginning(random)).collect();
    let query = words.join(" ");
    let logs = random.once_in(2);
    let found = stack.search(&SearchQuery::new(&query).logs(logs).limit(usize::MAX)).unwrap();
    let mut found: Vec<Handle> = found.frames.iter().map(|found| found.handle).collect();
    found.sort();
    let frames = stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap();
    let has_words = |frame: &Handle| has_words(&text_of(stack, *frame, logs), &query);
    let expected: Vec<Handle> = frames.into_iter().filter(has_words).collect();
    assert_eq!(found, expected, "`{query}`, logs: {logs}");
}

fn change(stack: &Stack, random: &mut Random) {
    let frames = stack.read(|tree| tree.handles().collect::<Vec<_>>()).unwrap();
    let some = |random: &mut Random| frames.get(random.below(frames.len())).copied();
    let text = text(random);
    match (random.below(8), some(random)) {
        (0 | 1, _) | (_, None) => {
            let _ = stack.push(NewFrame::new(&text).id(format!("s/{}", random.next())).root()).unwrap();
        }
        (2, Some(parent)) => drop(stack.plan(NewFrame::new("Planned").task(&text).below(parent))),
        (3, Some(frame)) => drop(stack.pop(frame, PopStatus::Completed, &*text)),
        (4, Some(frame)) => drop(stack.add_decision(frame, &text)),
        (5, Some(frame)) => drop(stack.replace_id(frame, format!("s:{}", random.next()))),
        (_, Some(frame)) => {
            let lines: Vec<_> = (0..random.below(4)).map(|_| json!({"key": 1, "deep": [{"text": text}]})).collect();
            stack.log(frame).append(&lines).unwrap();
        }
    }
}

fn text(random: &mut Random) -> String {
    (0..1 + random.below(4)).map(|_| WORDS[random.below(WORDS.len())]).collect::<Vec<_>>().join(", ")
}

/// The beginning of a word.
fn beginning(random: &mut Random) -> String {
    let word = WORDS[random.below(WORDS.len())];
    word.chars().take(1 + random.below(word.chars().count())).collect()
}

fn text_of(stack: &Stack, frame: Handle, logs: bool) -> String {
    let Frame { title, task, results, results_compacted, decisions, .. } = stack.frame(frame).unwrap();
    let mut texts = vec![title, task];
    texts.extend(results.into_iter().chain(results_compacted).chain(decisions));
    if logs {
        let lines = stack.log(frame).read(&LogQuery::default()).unwrap().lines;
        texts.extend(lines.iter().filter_map(|line| line.entry["deep"][0]["text"].as_str().map(str::to_owned)));
    }
    texts.join("\n")
}

fn has_words(text: &str, query: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|character: char| !character.is_alphanumeric());
        parts.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
    };
    let known = words(text);
    words(query).iter().all(|wanted| known.iter().any(|word| word.starts_with(wanted.as_str())))
}
