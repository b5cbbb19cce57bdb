//! No matter what is in a file: nothing panics, nothing is counted twice, and the lines that follow are read.

use callstack_core::transcript::{Replay, Session, TranscriptForm};
use proptest::prelude::*;

use super::{FIXTURES, text};

/// The lines of all fixtures that consist of lines.
fn lines() -> Vec<(TranscriptForm, Vec<Vec<u8>>)> {
    let fixtures = FIXTURES.iter().filter(|fixture| !fixture.is_document());
    let lines = |file: &str| text(file).split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    fixtures.map(|fixture| (fixture.form(), lines(fixture.files[0]))).collect()
}

fn requests(session: &Session) -> u64 {
    let tree = session.tree();
    tree.roots().iter().flat_map(|root| tree.usage(*root).total).map(|usage| usage.requests).sum()
}

#[test]
fn lines_of_other_things_are_left_out_and_counted() {
    let mut session = Session::new(TranscriptForm::Claude, "x");
    for line in [
        &b"not json"[..],
        b"{}",
        b"[1, 2]",
        b"null",
        b"\"text\"",
        br#"{"type": 5}"#,
        br#"{"type": "user"}"#,
        br#"{"type": "assistant", "message": {}}"#,
        b"\x00\xff\xfe",
        br#"{"type": "user", "message": {"role": "user", "content": "\ud83d half"}, "timestamp": "no time"}"#,
        br#"{"type": "assistant", "message": {"id": 7, "content": {"a": 1}, "usage": {"input_tokens": -5, "output_tokens": 1e300}}, "timestamp": 1e300}"#,
        b"",
        b"   ",
    ] {
        session.follow_line(0, line);
    }
    session.settle(true);
    assert_eq!(session.facts().unknown, 9);
    assert_eq!(session.facts().turns, 1);
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    session.follow_line(0, deep.as_bytes());
    assert_eq!(session.facts().unknown, 10);
}

#[test]
fn unknown_kinds_of_lines_are_named() {
    let mut session = Session::new(TranscriptForm::Claude, "x");
    for kind in ["hologram", "mode", "api-request-blob", "hologram", "agent-name"] {
        session.follow_line(0, format!("{{\"type\": \"{kind}\"}}").as_bytes());
    }
    let kinds = &session.facts().new_kinds;
    assert_eq!(kinds.iter().map(|(kind, number)| (kind.as_str(), *number)).collect::<Vec<_>>(), [("hologram", 2)]);
    assert_eq!(session.facts().unknown, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lines are dropped, doubled, cut, swapped, and changed in one byte.
    #[test]
    fn no_file_breaks_the_readers(steps in prop::collection::vec((0u8..5, any::<usize>(), any::<usize>()), 1..12), choice in any::<usize>()) {
        let all = lines();
        let (form, mut lines) = all[choice % all.len()].clone();
        let mut whole = Session::new(form, "x");
        lines.iter().for_each(|line| whole.follow_line(0, line));
        whole.settle(true);
        let mut doubled_only = true;
        for (step, at, with) in steps {
            if lines.is_empty() {
                break;
            }
            let (at, other) = (at % lines.len(), with % lines.len());
            match step {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[other].clone()),
                2 => { let keep = with % (lines[at].len() + 1); lines[at].truncate(keep) }
                3 => lines.swap(at, other),
                _ => if let Some(byte) = { let length = lines[at].len().max(1); lines[at].get_mut(with % length) } { *byte = (with >> 8) as u8 },
            }
            doubled_only &= step == 1;
        }
        let mut session = Session::new(form, "x").with_entries(None);
        let mut replay = Replay::new(form);
        for line in &lines {
            session.follow_line(0, line);
            replay.follow_line(line);
        }
        session.settle(true);
        session.settle(true);
        // The times of frames are nested, and the events are a valid history.
        let events = session.take_events();
        let mut tree = callstack_core::Tree::new();
        for event in &events {
            tree.apply(event);
        }
        prop_assert_eq!(tree.state(), session.tree().state());
        if doubled_only && !matches!(form, TranscriptForm::Codex) {
            prop_assert!(requests(&session) <= requests(&whole), "a request is counted twice");
        }
        let replayed = replay.finish();
        prop_assert!(replayed.policies.iter().all(|policy| policy.prompt_tokens <= replayed.prompt_tokens * 2));
    }
}
