//! The invariants of folding, over random conversations of every wire.

use callstack_core::fold::{FoldSettings, Wire, fold};
use proptest::prelude::*;
use serde_json::Value;
use support::Random;
use support::conversations::{Job, request};

use super::validity::problem;

fn folded(wire: Wire, request: &str) -> String {
    fold(wire, request, &FoldSettings::default()).text.into_owned()
}

fn wires() -> impl Strategy<Value = Wire> {
    (0..Wire::ALL.len()).prop_map(|place| Wire::ALL[place])
}

/// The messages of a request, without the marks of caches, which hosts move.
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

    /// A prompt cache keeps what is before the newest boundary.
    #[test]
    fn a_longer_conversation_begins_as_the_shorter_one(seed in any::<u64>(), rounds in 2usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let of = |end: usize| messages(wire, &folded(wire, &request(wire, &job.rounds[..end])));
        let mut before = of(1);
        for end in 2..=job.rounds.len() {
            let now = of(end);
            // At a boundary, what is before the first frame that is seen otherwise than before.
            let earlier = Job::new(&mut Random::new(seed), end - 1);
            let later = Job::new(&mut Random::new(seed), end);
            let same = match later.first_change(&earlier) {
                // Gemini's calls have no IDs here, by which the place could be found; in Anthropic's the thinking of a turn can come back
                // that is further up.
                Some(_) if matches!(wire, Wire::Gemini | Wire::Anthropic) => 0,
                // The one exception: what a blocked frame returns can move to where it has gone on, and back.
                Some(_) if later.has_gone_on() => 0,
                Some(first) => before.iter().position(|message| message.to_string().contains(&first)).unwrap_or_default(),
                None => before.len(),
            };
            // What the person writes comes into the message of the last outcomes.
            let same = same.saturating_sub(1).min(now.len());
            prop_assert_eq!(&now[..same], &before[..same], "{} after round {}", wire, end);
            before = now;
        }
    }

    #[test]
    fn other_bytes_are_those_of_before(seed in any::<u64>(), rounds in 1usize..40, wire in wires()) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let request = request(wire, &job.rounds);
        let folded = fold(wire, &request, &FoldSettings::default());
        let returned: usize = folded.report.stretches.iter().map(|stretch| 2 * stretch.returned + 64).sum();
        let limit = request.len() + returned;
        prop_assert!(folded.text.len() <= limit);
        if folded.report.stretches.is_empty() {
            prop_assert_eq!(&*folded.text, &*request);
        }
        // Each message that is there twice as a value is there twice as bytes.
        for piece in ["1.50E+2", "\\u00e9"] {
            let (kept, all) = (folded.text.matches(piece).count(), request.matches(piece).count());
            prop_assert!(kept <= all && (kept > 0 || all == 0 || !folded.report.stretches.is_empty()));
        }
        prop_assert!(!folded.text.contains("150.0"));
    }

    #[test]
    fn a_mark_on_the_newest_message_stays_there(seed in any::<u64>(), rounds in 1usize..40) {
        let job = Job::new(&mut Random::new(seed), rounds);
        let folded = folded(Wire::Anthropic, &request(Wire::Anthropic, &job.rounds));
        let folded: Value = serde_json::from_str(&folded).unwrap();
        let last = folded["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap();
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
