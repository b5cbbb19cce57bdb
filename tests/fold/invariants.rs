//! The invariants of folding, over random conversations of every wire.

use std::fmt;

use callstack_core::fold::{FoldSettings, Wire, fold};
use proptest::prelude::*;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use support::Random;
use support::conversations::{Job, request};

use super::validity::problem;

fn folded(wire: Wire, request: &str) -> String {
    fold(wire, request, &FoldSettings::default()).text.into_owned()
}

fn wires() -> impl Strategy<Value = Wire> {
    (0..Wire::ALL.len()).prop_map(|place| Wire::ALL[place])
}

/// The messages of a request, without the marks of caches, because hosts move these marks.
fn messages(wire: Wire, request: &str) -> Vec<Value> {
    let key = match wire {
        Wire::Responses => "input",
        Wire::Gemini => "contents",
        _ => "messages",
    };
    let request: Value = serde_json::from_str(request).unwrap();
    let mut messages = request.as_array().or_else(|| request[key].as_array()).unwrap().clone();
    messages.iter_mut().for_each(without_marks);
    messages
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.remove("cache_control");
            entries.values_mut().for_each(without_marks);
        }
        Value::Array(values) => values.iter_mut().for_each(without_marks),
        _ => {}
    }
}

/// The pieces of a request that are removed or stay, as bytes, without the marks of caches: everything
/// outside of the messages, and for each message its blocks or the whole message.
fn pieces(wire: Wire, request: &str) -> Vec<String> {
    let request = request.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
    let raw = |text: &str| -> Vec<(String, Box<RawValue>)> {
        let entries: Entries = serde_json::from_str(text).unwrap();
        entries.0
    };
    let list = |text: &str| -> Vec<Box<RawValue>> { serde_json::from_str(text).unwrap_or_default() };
    let mut pieces = Vec::new();
    let mut messages = Vec::new();
    if matches!(wire, Wire::Opencode | Wire::Pi) {
        messages = list(&request);
    } else {
        for (key, value) in raw(&request) {
            match key.as_str() {
                "messages" | "input" | "contents" => messages = list(value.get()),
                _ => pieces.push(format!("{key}: {value}")),
            }
        }
    }
    for message in messages {
        let entries = raw(message.get());
        let blocks = entries.iter().filter(|(key, _)| matches!(key.as_str(), "content" | "parts" | "tool_calls"));
        let is_whole = wire == Wire::Responses || message.get().contains("toolResult");
        let blocks: Vec<_> = blocks.flat_map(|(_, value)| list(value.get())).filter(|_| !is_whole).collect();
        match blocks.is_empty() {
            true => pieces.push(message.get().to_owned()),
            // Blocks without content occur many times with the same bytes.
            false => pieces.extend(
                blocks.iter().map(|block| block.get().to_owned()).filter(|block| !block.contains("step-start")),
            ),
        }
    }
    pieces
}

/// The entries of an object in their order, with the bytes of the values.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// For each text of the person in a request of Anthropic, whether the model's next message begins with
/// thinking. `None`: there is no next message.
fn turns_with_thinking(request: &str) -> Vec<(String, Option<bool>)> {
    let mut turns: Vec<(String, Option<bool>)> = Vec::new();
    for message in messages(Wire::Anthropic, request) {
        let Some(blocks) = message["content"].as_array() else { continue };
        if message["role"] == "assistant" {
            let first = blocks.iter().find(|block| block["type"] != "compaction");
            if let Some((_, begins @ None)) = turns.last_mut() {
                *begins = Some(first.is_some_and(|block| block["type"] == "thinking"));
            }
        } else {
            let text = |block: &Value| block["text"].as_str().map(str::to_owned);
            let words = blocks.iter().filter_map(text).find(|text| text.starts_with("nonsense"));
            turns.extend(words.map(|words| (words, None)));
        }
    }
    turns
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_finished_frames_have_said_is_gone_and_nothing_else(seed in any::<u64>(), rounds in 1usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        job.check(wire, &folded(wire, &request(wire, &job.rounds)));
    }

    #[test]
    fn providers_accept_it(seed in any::<u64>(), rounds in 1usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let request = request(wire, &job.rounds);
        prop_assert_eq!(problem(wire, &request), None);
        let folded = folded(wire, &request);
        let problem = problem(wire, &folded);
        prop_assert!(problem.is_none(), "{wire}: {problem:?}\n{request}\n{folded}");
    }

    #[test]
    fn it_is_folded_once(seed in any::<u64>(), rounds in 1usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let request = request(wire, &job.rounds);
        let once = folded(wire, &request);
        prop_assert_eq!(&once, &folded(wire, &request));
        let again = fold(wire, &once, &FoldSettings::default());
        prop_assert_eq!(&*again.text, &*once);
        prop_assert!(again.report.stretches.is_empty());
    }

    /// A prompt cache keeps everything before the newest boundary.
    #[test]
    fn a_longer_conversation_begins_as_the_shorter_one(seed in any::<u64>(), rounds in 2usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let of = |end: usize| messages(wire, &folded(wire, &request(wire, &job.rounds[..end])));
        let mut before = of(1);
        for end in 2..=job.rounds.len() {
            let now = of(end);
            // At a boundary, everything stays that is before the first frame that is now shown in
            // another way.
            let earlier = Job::new(&mut Random::new(seed), end - 1);
            let later = Job::new(&mut Random::new(seed), end);
            let same = match later.first_change(&earlier, wire) {
                // With Gemini the calls have no IDs here, so the place cannot be found by an ID. With
                // Anthropic the thinking of a turn that is further up can come back.
                Some(_) if matches!(wire, Wire::Gemini | Wire::Anthropic) => 0,
                // The only exception: the results of a blocked frame can move to the place where the frame
                // was resumed, and back.
                Some(_) if later.has_gone_on() => 0,
                Some(first) => before.iter().position(|message| message.to_string().contains(&first)).unwrap_or_default(),
                None => before.len(),
            };
            // The text of the person is added to the message of the last outcomes.
            let same = same.saturating_sub(1).min(now.len());
            prop_assert_eq!(&now[..same], &before[..same], "{} after round {}", wire, end);
            before = now;
        }
    }

    /// Every piece of a request is in the folded form byte for byte and in its place, or it was removed, or
    /// it is an answer that the report counts.
    #[test]
    fn other_bytes_are_those_of_before(seed in any::<u64>(), rounds in 1usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let request = request(wire, &job.rounds);
        let folded = fold(wire, &request, &FoldSettings::default());
        let returned: usize = folded.report.stretches.iter().map(|stretch| 2 * stretch.returned + 64).sum();
        prop_assert!(folded.text.len() <= request.len() + returned);
        // Where a blocked frame was resumed, thoughts can be removed alone.
        if folded.report.stretches.is_empty() && !(wire == Wire::Anthropic && job.has_gone_on()) {
            prop_assert_eq!(&*folded.text, &*request);
        }
        let (before, after) = (pieces(wire, &request), pieces(wire, &folded.text));
        let (mut place, mut changed) = (0, Vec::new());
        for piece in &after {
            match before[place..].iter().position(|other| other == piece) {
                Some(further) => place += further + 1,
                None => changed.push(piece),
            }
        }
        // If a call stays without its text about the place, this is an answer of the stack, too.
        let is_answer = |piece: &&String| {
            [") is ", ") has begun", ": recorded"].iter().any(|words| piece.contains(words))
        };
        prop_assert!(changed.iter().all(is_answer), "{wire}: {changed:?}");
        prop_assert!(changed.iter().all(|piece| !piece.contains("nonsense") || wire == Wire::Opencode), "{wire}: {changed:?}");
    }

    /// A turn that began with thinking still begins with thinking, if the model is told how much to think.
    #[test]
    fn turns_begin_with_thinking(seed in any::<u64>(), rounds in 1usize..40) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let request = request(Wire::Anthropic, &job.rounds);
        if request.contains("budget_tokens") {
            let before = turns_with_thinking(&request);
            let after = turns_with_thinking(&folded(Wire::Anthropic, &request));
            for (words, begins) in after {
                let began = before.iter().find(|(other, _)| *other == words).map(|(_, began)| *began);
                prop_assert!(began != Some(Some(true)) || begins != Some(false), "behind {words}: {request}");
            }
        }
    }

    #[test]
    fn a_mark_on_the_newest_message_stays_there(seed in any::<u64>(), rounds in 1usize..40) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let folded = folded(Wire::Anthropic, &request(Wire::Anthropic, &job.rounds));
        let folded: Value = serde_json::from_str(&folded).unwrap();
        // A system message that is a text cannot have a mark.
        let last = folded["messages"].as_array().unwrap().iter().rev().find_map(|message| message["content"].as_array()).unwrap();
        prop_assert!(last.iter().any(|block| block["cache_control"].is_object()), "{folded:#}");
    }

    #[test]
    fn what_is_no_request_comes_back(seed in any::<u64>(), rounds in 1usize..12, wire in wires(), changes in 1usize..4) {
        let mut random = Random::new(seed);
        let job = Job::new(&mut random, rounds);
        let mut bytes = request(wire, &job.rounds).into_bytes();
        for _ in 0..changes.min(bytes.len()) {
            let place = random.below(bytes.len());
            match random.below(3) {
                0 if bytes.len() > 1 => drop(bytes.remove(place)),
                1 => bytes[place] = *random.pick(&[&b'"', &b'{', &b'}', &b'[', &b']', &b',', &b'\\', &b'\0', &b' ']),
                _ => bytes.truncate(place.max(1)),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let is_json = serde_json::from_str::<Value>(&text).is_ok();
        let folded = fold(wire, &text, &FoldSettings::default());
        if !is_json {
            prop_assert_eq!(&*folded.text, &*text);
        } else {
            prop_assert!(serde_json::from_str::<Value>(&folded.text).is_ok());
            prop_assert!(problem(wire, &text).is_some() || problem(wire, &folded.text).is_none(), "{text}\n{}", folded.text);
        }
    }
}
