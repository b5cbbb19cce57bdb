//! What folding would have saved, compared with sessions whose costs are known.

use std::fs;
use std::path::Path;

use callstack_core::frame::ModelUsage;
use callstack_core::transcript::{Replay, Replayed, TranscriptForm};
use serde_json::json;

use super::{FIXTURES, text};

fn replayed(form: TranscriptForm, text: &[u8]) -> Replayed {
    let mut replay = Replay::new(form);
    text.split(|byte| *byte == b'\n').for_each(|line| replay.follow_line(line));
    replay.finish()
}

/// A session of Claude Code, with the prompt cache of the provider: `turns` turns with `calls` calls each.
/// The outcome of each call has this number of words.
fn session(turns: usize, calls: usize, words: usize) -> Vec<u8> {
    let (mut lines, mut at, mut prompt, mut answer) = (Vec::new(), 1_768_471_200_000_u64, 20_000_u64, 0);
    let mut cached = 0;
    for turn in 0..turns {
        at += 30_000;
        let asked = format!("Do part {turn} of the work.");
        lines.push(json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": asked}}));
        prompt += 10;
        for call in 0..=calls {
            answer += 1;
            at += 2_000;
            let is_last = call == calls;
            let block = match is_last {
                true => json!({"type": "text", "text": format!("Part {turn} is done.")}),
                false => {
                    json!({"type": "tool_use", "id": format!("c{answer}"), "name": "Read", "input": {"file_path": format!("/src/module_{turn}_{call}.rs")}})
                }
            };
            let usage = json!({"input_tokens": 3, "cache_read_input_tokens": cached, "cache_creation_input_tokens": prompt - cached - 3, "output_tokens": 40});
            cached = prompt - 3;
            lines.push(json!({"type": "assistant", "timestamp": at, "message": {"id": format!("m{answer}"), "role": "assistant", "model": "claude", "stop_reason": if is_last { "end_turn" } else { "tool_use" }, "content": [block], "usage": usage}}));
            prompt += 40;
            if !is_last {
                at += 500;
                let outcome = format!("fn item_{answer}() {{}} ").repeat(words / 4);
                lines.push(json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{answer}"), "content": outcome}]}}));
                prompt += (words * 2) as u64;
            }
        }
    }
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn the_model_of_the_cache_is_within_two_percent_of_recorded_costs() {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/transcripts/claude.jsonl");
    for (name, text) in [
        ("a real session", fs::read(real).unwrap()),
        ("short turns", session(30, 3, 200)),
        ("long turns", session(6, 30, 800)),
    ] {
        let replayed = replayed(TranscriptForm::Claude, &text);
        for place in 0..2 {
            let (recorded, modelled) = (replayed.recorded_cost[place] as f64, replayed.policies[0].cost[place] as f64);
            assert!((modelled - recorded).abs() <= 0.02 * recorded, "{name}: {modelled} is not {recorded}");
        }
        assert_eq!(replayed.policies[0].prompt_tokens, replayed.prompt_tokens, "{name}");
    }
}

/// A replay counts the requests in the tree, except for the requests that have failed.
#[test]
fn a_replay_has_the_requests_of_the_tree() {
    for fixture in &FIXTURES {
        let session = fixture.read();
        let tree = session.tree();
        let total: ModelUsage =
            tree.roots().iter().flat_map(|root| tree.usage(*root).total).collect::<Vec<_>>().iter().sum();
        let mut sum = Replayed::default();
        match fixture.is_document() {
            true => sum.add(&Replay::of_document(&String::from_utf8(text(fixture.files[0])).unwrap()).unwrap()),
            false => fixture.files.iter().for_each(|file| sum.add(&replayed(fixture.form(), &text(file)))),
        }
        let expected = (total.requests - total.failed, total.input(), total.answer());
        assert_eq!((sum.requests as u64, sum.prompt_tokens, sum.answer_tokens), expected, "{}", fixture.name);
    }
}

#[test]
fn turns_that_fold_save_prompts_and_a_higher_floor_folds_less() {
    let replayed = replayed(TranscriptForm::Claude, &session(30, 10, 800));
    let tokens: Vec<u64> = replayed.policies.iter().map(|policy| policy.prompt_tokens).collect();
    assert!(tokens[1] < tokens[0] / 3, "30 turns: {tokens:?}");
    assert!(tokens[1..].is_sorted(), "{tokens:?}");
    let folds: Vec<usize> = replayed.policies.iter().map(|policy| policy.folds).collect();
    assert_eq!(folds[..2], [0, 29]);
    assert!(folds[1..].is_sorted_by(|a, b| a >= b), "{folds:?}");
    assert!(replayed.policies.iter().all(|policy| policy.peak <= replayed.policies[0].peak));
}

#[test]
fn a_name_that_is_used_after_its_turn_was_folded_is_hidden() {
    let mut text = session(3, 2, 8_000);
    let call = json!({"type": "assistant", "timestamp": 1_768_480_000_000_u64, "message": {"id": "late", "role": "assistant", "model": "claude", "content": [
        {"type": "tool_use", "id": "late", "name": "Read", "input": {"file_path": "/src/module_0_1.rs"}}], "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 90_000}}});
    let words = json!({"type": "user", "timestamp": 1_768_479_990_000_u64, "message": {"role": "user", "content": "And the first module?"}});
    let hidden = |text: &[u8]| -> Vec<usize> {
        replayed(TranscriptForm::Claude, text).policies.iter().map(|policy| policy.hidden).collect()
    };
    assert_eq!(hidden(&text), [0, 0, 0, 0, 0]);
    let before = text.len();
    text.extend(format!("{words}\n").bytes());
    text.extend(format!("{call}\n").bytes());
    let now = hidden(&text);
    assert_eq!(now[..2], [0, 1], "{now:?}");
    // Within its turn, a name is never hidden.
    text.truncate(before);
    for (id, path) in [("late1", "/src/other_module.rs"), ("late2", "/src/other_module.rs")] {
        let mut call = call.clone();
        call["message"]["id"] = id.into();
        call["message"]["content"][0]["input"]["file_path"] = path.into();
        if id == "late1" {
            text.extend(format!("{words}\n").bytes());
        }
        text.extend(format!("{call}\n").bytes());
    }
    assert_eq!(hidden(&text), [0, 0, 0, 0, 0]);
}
