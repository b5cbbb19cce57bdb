//! The content of a request, item by item, for the logs of frames.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::fold::{FoldSettings, Seen, TranscriptItem, Wire, transcript};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::conversations::{Job, Round, pop, push, request, shell};
use support::{Random, assert_golden};

fn items(wire: Wire, rounds: &[Round], seen: &mut Seen) -> Vec<TranscriptItem> {
    transcript(wire, &request(wire, rounds), &FoldSettings::default(), seen).expect("a conversation").items
}

fn ids(items: &[TranscriptItem]) -> Vec<String> {
    items.iter().map(|item| item.entry["id"].as_str().expect("an ID").to_owned()).collect()
}

/// A conversation in two frames.
pub(super) fn shop() -> Vec<Round> {
    vec![
        push("f1", "Shop").words("Build the shop."),
        push("f2", "Cart").text("First the cart."),
        shell("cat src/cart.rs", "struct Cart;").reasoning("What is there?").text("I read what is there."),
        pop("f2", "Cart", "completed", "Cart::total() in src/cart.rs", "f1 (Shop)"),
        shell("cat src/pay.rs", "struct Pay;"),
    ]
}

/// Each wire gives the same items, in the same frames.
#[test]
fn items_are_where_the_conversation_was() {
    for wire in Wire::ALL.iter().copied() {
        let items = items(wire, &shop(), &mut Seen::default());
        let lines = items.iter().map(|item| {
            // The order of keys depends on a feature.
            let mut entry: BTreeMap<String, Value> = serde_json::from_value(item.entry.clone()).unwrap();
            entry.remove("id");
            if let Some(arguments) = entry.get_mut("calls").map(|calls| calls[0]["arguments"].take()) {
                let arguments: BTreeMap<String, Value> = serde_json::from_value(arguments).unwrap();
                entry.insert("arguments".to_owned(), json!(serde_json::to_string(&arguments).unwrap()));
                let call = entry.remove("calls").unwrap();
                entry.insert("name".to_owned(), call[0]["name"].clone());
            }
            let thought = entry.remove("parts").map(|parts| parts[0]["text"].clone());
            entry.extend(thought.map(|thought| ("thought".to_owned(), thought)));
            let frame = item.frame.map_or("–".to_owned(), |frame| frame.to_string());
            format!("{frame} {}\n", serde_json::to_string(&entry).unwrap())
        });
        assert_golden(&format!("fold/{wire}.transcript.txt"), &lines.collect::<String>());
    }
}

#[test]
fn a_mark_of_a_cache_and_a_shortened_outcome_are_no_new_items() {
    let mut seen = Seen::default();
    let body = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "Build.", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file": "a"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "much"}]}]});
    let read = |body: &Value, seen: &mut Seen| {
        transcript(Wire::Anthropic, &body.to_string(), &FoldSettings::default(), seen).unwrap().items
    };
    assert_eq!(read(&body, &mut seen).len(), 3);
    let mut later = body;
    later["messages"][0]["content"][0].as_object_mut().unwrap().remove("cache_control");
    later["messages"][2]["content"][0]["content"] = "[cleared]".into();
    later["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "Build."}));
    later["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Build."}));
    let new = read(&later, &mut seen);
    let said: Vec<_> = new.iter().map(|item| (item.entry["role"].clone(), item.entry["text"].clone())).collect();
    assert_eq!(
        said,
        [(json!("assistant"), json!("Build.")), (json!("user"), json!("Build."))],
        "words said twice are two items"
    );
    for broken in
        ["{", "[]", r#"{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]}"#]
    {
        assert!(transcript(Wire::Anthropic, broken, &FoldSettings::default(), &mut seen).is_none(), "{broken}");
    }
}

/// People write the same words more than once, also after a compaction, and in other conversations.
#[test]
fn words_that_are_said_again_are_other_items() {
    let said = |seen: &mut Seen, texts: &[&str]| {
        let roles = ["user", "assistant"].into_iter().cycle();
        let messages: Vec<Value> =
            roles.zip(texts).map(|(role, text)| json!({"role": role, "content": text})).collect();
        let body = json!({ "messages": messages }).to_string();
        let items = transcript(Wire::Anthropic, &body, &FoldSettings::default(), seen).unwrap().items;
        items.iter().map(|item| item.entry["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let seen = &mut Seen::of("claude/1");
    assert_eq!(said(seen, &["Build.", "Shall I?", "yes"]), ["Build.", "Shall I?", "yes"]);
    assert_eq!(said(seen, &["Build.", "Shall I?", "yes", "Built."]), ["Built."]);
    let compacted = ["The shop is built.", "Delete the old one?", "yes"];
    assert_eq!(said(seen, &compacted), compacted);
    assert_eq!(said(seen, &compacted), [""; 0]);
    let id = |name: &str| {
        let seen = &mut Seen::of(name);
        let body = r#"{"messages": [{"role": "user", "content": "yes"}]}"#;
        ids(&transcript(Wire::Anthropic, body, &FoldSettings::default(), seen).unwrap().items)
    };
    assert_ne!(id("claude/1"), id("claude/2"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each item is reported once, no matter how long the conversation was when it was first read.
    #[test]
    fn each_item_is_told_once(seed in any::<u64>(), rounds in 1usize..40, wire in 0..Wire::ALL.len()) {
        let wire = Wire::ALL[wire];
        let mut random = Random::new(seed);
        let job = Job::new(&mut random, rounds);
        let whole = ids(&items(wire, &job.rounds, &mut Seen::default()));
        prop_assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), whole.len(), "two items have one ID");
        let (mut seen, mut told, mut end) = (Seen::default(), Vec::new(), 0);
        while end < job.rounds.len() {
            end = job.rounds.len().min(end + 1 + random.below(4));
            told.extend(ids(&items(wire, &job.rounds[..end], &mut seen)));
        }
        let (told, whole): (BTreeSet<_>, BTreeSet<_>) = (told.into_iter().collect(), whole.into_iter().collect());
        prop_assert_eq!(told, whole, "{}", wire);
    }
}
