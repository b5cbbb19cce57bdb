//! Turns of conversations without frames.

use callstack_core::fold::{FoldSettings, TurnSettings, Wire, fold};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::Random;
use support::conversations::{Called, Round, pop, push, request, shell};

use super::validity::problem;

/// Folds turns above this number of tokens.
fn settings(floor: usize) -> FoldSettings {
    FoldSettings::default().turns(Some(TurnSettings::new(floor)))
}

fn read(path: &str, text: &str) -> Round {
    Round { calls: vec![Called::new("Read", json!({ "file_path": path }), text)], ..Round::default() }
}

/// The agent's last answer.
fn answer(text: &str) -> Round {
    Round::default().text(text)
}

/// Turns that read one file of about 400 tokens each.
fn conversation(turns: usize) -> Vec<Round> {
    let turn = |number: usize| {
        let text = format!("nonsense{number} ").repeat(100);
        [
            read(&format!("src/{number}.rs"), &text)
                .words(format!("words{number}"))
                .reasoning(format!("thought{number}"))
                .text(format!("said{number}")),
            answer(&format!("answer{number}")),
        ]
    };
    (0..turns).flat_map(turn).chain([shell("ls", "files").words("now")]).collect()
}

#[test]
fn finished_turns_are_words_and_answers() {
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &conversation(3));
        let settings =
            FoldSettings::default().turns(Some(TurnSettings::new(750).pointer("All of it is in log.jsonl.".into())));
        let folded = fold(wire, &request, &settings);
        assert_eq!(problem(wire, &folded.text), None, "{wire}: {}", folded.text);
        for number in 0..3 {
            for (word, is_left) in
                [("words", true), ("answer", true), ("nonsense", false), ("thought", false), ("said", false)]
            {
                let word = format!("{word}{number}");
                assert_eq!(folded.text.contains(&word), is_left, "{wire}: {word}: {}", folded.text);
            }
        }
        let index = "[Files of the steps that are not shown: src/0.rs, src/1.rs, src/2.rs]";
        assert!(
            folded.text.contains(&format!("answer2\\n\\n{index}\\n\\nAll of it is in log.jsonl.")),
            "{wire}: {}",
            folded.text
        );
        let [turns] = &folded.report.turns[..] else { panic!("{wire}: {:?}", folded.report) };
        assert_eq!(turns.turns, 3, "{wire}");
        assert!(turns.items >= 9 && turns.tokens > 600, "{wire}: {turns:?}");
    }
}

#[test]
fn turns_below_the_floor_and_the_last_one_stay() {
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &conversation(3));
        assert_eq!(fold(wire, &request, &settings(1_000_000)).text, request, "{wire}");
        assert_eq!(fold(wire, &request, &FoldSettings::default()).text, request, "{wire}: off by default");
        let alone = support::conversations::request(wire, &[read("a", "nonsense").words("now"), shell("ls", "files")]);
        assert_eq!(fold(wire, &alone, &settings(0)).text, alone, "{wire}: it is under way");
    }
}

#[test]
fn turns_before_the_first_frame_stay_folded() {
    let mut rounds = conversation(3);
    rounds.push(push("f1", "Shop"));
    rounds.push(shell("ls", "shop-files"));
    rounds.push(pop("f1", "Shop", "completed", "shop-results", ""));
    rounds.push(answer("done").words("more"));
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        let text = fold(wire, &request, &settings(0)).text;
        assert_eq!(problem(wire, &text), None, "{wire}: {text}");
        let gone = ["nonsense0", "nonsense2", "shop-files"];
        assert!(gone.iter().all(|word| !text.contains(word)) && text.contains("shop-results"), "{wire}: {text}");
    }
}

#[test]
fn words_while_the_agent_works_end_no_turn() {
    let rounds = [
        read("a.rs", "first-reading").words("Do the big job."),
        read("b.rs", "second-reading"),
        read("c.rs", "third-reading").words("Also use tabs."),
    ];
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        assert_eq!(fold(wire, &request, &settings(0)).text, request, "{wire}");
    }
}

#[test]
fn of_two_answers_the_last_one_stays() {
    let mut rounds = vec![read("a.rs", "nonsense").words("Look."), answer("first-answer")];
    rounds.push(Round { note: Some("a-note".into()), ..answer("last-answer") });
    rounds.push(shell("ls", "x").words("now"));
    for wire in Wire::ALL.iter().copied() {
        let request = request(wire, &rounds);
        let text = fold(wire, &request, &settings(0)).text;
        assert_eq!(problem(wire, &text), None, "{wire}: {text}");
        assert!(
            text.contains("last-answer") && !text.contains("first-answer") && !text.contains("nonsense"),
            "{wire}: {text}"
        );
    }
}

#[test]
fn the_hosts_notes_to_the_persons_words_stay() {
    let mut rounds = conversation(1);
    rounds[0].note = Some("what-the-host-says".into());
    rounds[1].note = Some("later-note".into());
    let request = request(Wire::Anthropic, &rounds);
    let folded = fold(Wire::Anthropic, &request, &settings(0)).text;
    assert!(folded.contains("what-the-host-says") && !folded.contains("later-note"), "{folded}");
}

#[test]
fn a_cache_ends_at_the_boundary_if_a_mark_is_free() {
    let request = request(Wire::Anthropic, &conversation(3));
    let marks = |text: &str| -> Vec<bool> {
        let request: Value = serde_json::from_str(text).unwrap();
        let messages = request["messages"].as_array().unwrap();
        messages.iter().map(|message| message["content"].to_string().contains("cache_control")).collect()
    };
    let folded = fold(Wire::Anthropic, &request, &settings(0)).text;
    // One mark is after the last answer, and one is where the host has put it.
    let (places, count) = (marks(&folded), marks(&folded).len());
    assert_eq!(places.iter().filter(|is_marked| **is_marked).count(), 2, "{folded}");
    assert!(places[count - 1] && places[count - 4], "{places:?} {folded}");
    let full = request.replacen(
        "\"system\":",
        "\"tools\":[{\"cache_control\":{}},{\"cache_control\":{}},{\"cache_control\":{}}],\"system\":",
        1,
    );
    let folded = fold(Wire::Anthropic, &full, &settings(0)).text;
    assert_eq!(marks(&folded).into_iter().filter(|is_marked| *is_marked).count(), 1, "{folded}");
}

#[test]
fn settings_of_turns_are_read_from_json() {
    let settings: FoldSettings = serde_json::from_str(r#"{"turns": {"floor": 40000}}"#).unwrap();
    assert_eq!(settings.turns, Some(TurnSettings::new(40_000)));
    assert!(serde_json::from_str::<FoldSettings>(r#"{"turns": {}}"#).is_err());
    assert!(serde_json::from_str::<FoldSettings>(r#"{"turns": {"floor": 1, "keep": 3}}"#).is_err());
}

/// A random conversation without frames.
fn random(random: &mut Random, turns: usize) -> Vec<Round> {
    let mut rounds = Vec::new();
    for turn in 0..turns {
        let steps = random.below(4);
        for step in 0..=steps {
            let mut round = match step == steps && !random.once_in(5) {
                true => answer(&format!("answer{turn}")),
                false => read(&format!("src/{}.rs", random.below(5)), &"nonsense ".repeat(random.below(80))),
            };
            if step == 0 {
                round.words = Some(format!("words{turn}."));
            } else if random.once_in(6) && round.text.is_none() {
                round.words = Some(format!("between{turn}."));
            }
            if random.once_in(3) {
                round.reasoning = Some("thought".into());
            }
            rounds.push(round);
        }
    }
    rounds
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turns_are_folded_validly_once_and_steadily(seed in any::<u64>(), turns in 1usize..12, wire in 0..Wire::ALL.len(), floor in 0usize..600) {
        let (wire, settings) = (Wire::ALL[wire], settings(floor));
        let rounds = random(&mut Random::new(seed), turns);
        let mut before = String::new();
        for end in 1..=rounds.len() {
            let request = request(wire, &rounds[..end]);
            let folded = fold(wire, &request, &settings).text.into_owned();
            let problem = problem(wire, &folded);
            prop_assert!(problem.is_none(), "{wire}: {problem:?}\n{request}\n{folded}");
            prop_assert_eq!(&*fold(wire, &folded, &settings).text, &*folded, "{} {}", wire, request);
            for turn in 0..turns {
                for word in ["words", "between"] {
                    let word = format!("{word}{turn}.");
                    prop_assert_eq!(folded.matches(&word).count(), request.matches(&word).count(), "{} {}", word, folded);
                }
            }
            // Only the words of the person make a boundary.
            let is_boundary = rounds[end - 1].words.is_some();
            if wire == Wire::Chat && !is_boundary && !before.is_empty() {
                let begin = before.trim_end_matches("]}");
                prop_assert!(folded.starts_with(begin), "{before}\n{folded}");
            }
            before = folded;
        }
    }
}
