//! A person goes back in the conversation. The turns that were left stay in the tree, as invalidated turns
//! with their costs.

use callstack_core::FrameStatus;
use callstack_core::transcript::{Session, TranscriptForm};
use serde_json::{Value, json};

/// The turns of a session with their statuses.
fn turns(form: TranscriptForm, lines: &[Value]) -> Vec<(String, FrameStatus)> {
    let mut session = Session::new(form, "s");
    for line in lines {
        session.follow_line(0, line.to_string().as_bytes());
    }
    session.settle(true);
    let tree = session.tree();
    let requests: u64 = tree.usage(tree.roots()[0]).total.iter().map(|usage| usage.requests).sum();
    let answers =
        lines.iter().filter(|line| line.pointer("/message/usage").is_some() || line["type"] == "gemini").count();
    assert_eq!(requests, answers as u64, "what was left was paid for");
    let children = tree.children(tree.roots()[0]).iter();
    children.map(|turn| (tree.node(*turn).title().to_owned(), tree.node(*turn).status())).collect()
}

fn claude(uuid: &str, parent: Option<&str>, time: u64, message: Value) -> Value {
    json!({ "type": message["role"], "uuid": uuid, "parentUuid": parent, "sessionId": "5e55104e",
        "timestamp": format!("2026-01-15T10:00:{time:02}Z"), "message": message })
}

fn asks(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn answers(id: &str, text: &str) -> Value {
    json!({ "role": "assistant", "id": id, "stop_reason": "end_turn", "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 10, "output_tokens": 2 } })
}

fn expected(turns: [(&str, FrameStatus); 3]) -> Vec<(String, FrameStatus)> {
    turns.into_iter().map(|(title, status)| (title.to_owned(), status)).collect()
}

#[test]
fn a_prompt_behind_an_earlier_line_leaves_the_turns_between_them() {
    use FrameStatus::{Completed, Invalidated};
    let conversation = |last: Option<&str>| {
        turns(
            TranscriptForm::Claude,
            &[
                claude("u1", None, 1, asks("Build the cart.")),
                claude("a1", Some("u1"), 2, answers("m1", "Built.")),
                claude("u2", Some("a1"), 3, asks("Now in Rust.")),
                claude("a2", Some("u2"), 4, answers("m2", "Done in Rust.")),
                claude("u3", last, 5, asks("Now in Go.")),
                claude("a3", Some("u3"), 6, answers("m3", "Done in Go.")),
            ],
        )
    };
    let [first, second, third] = ["Build the cart.", "Now in Rust.", "Now in Go."];
    assert_eq!(conversation(Some("a2")), expected([(first, Completed), (second, Completed), (third, Completed)]));
    assert_eq!(conversation(Some("a1")), expected([(first, Completed), (second, Invalidated), (third, Completed)]));
    // A leaf in another file, or no leaf, changes nothing.
    assert_eq!(
        conversation(Some("elsewhere")),
        expected([(first, Completed), (second, Completed), (third, Completed)])
    );
    assert_eq!(conversation(None), expected([(first, Completed), (second, Completed), (third, Completed)]));
}

#[test]
fn gemini_names_the_line_to_which_the_person_went_back() {
    use FrameStatus::{Completed, Invalidated};
    let said = |id: &str, time: u64, text: &str| json!({ "id": id, "type": "user", "content": text, "timestamp": format!("2026-01-15T10:00:{time:02}Z") });
    let answered = |id: &str, time: u64, text: &str| {
        json!({ "id": id, "type": "gemini", "content": text, "model": "gemini-3",
        "tokens": { "input": 10, "output": 2, "cached": 0, "thoughts": 0, "tool": 0, "total": 12 }, "timestamp": format!("2026-01-15T10:00:{time:02}Z") })
    };
    let conversation = |to: &str| {
        turns(
            TranscriptForm::Gemini,
            &[
                said("u1", 1, "Build the cart."),
                answered("a1", 2, "Built."),
                said("u2", 3, "Now in Rust."),
                answered("a2", 4, "Done in Rust."),
                json!({ "$rewindTo": to }),
                said("u3", 5, "Now in Go."),
                answered("a3", 6, "Done in Go."),
            ],
        )
    };
    let [first, second, third] = ["Build the cart.", "Now in Rust.", "Now in Go."];
    assert_eq!(conversation("u2"), expected([(first, Completed), (second, Invalidated), (third, Completed)]));
    assert_eq!(conversation("u1"), expected([(first, Invalidated), (second, Invalidated), (third, Completed)]));
    assert_eq!(conversation("nobody"), expected([(first, Invalidated), (second, Invalidated), (third, Completed)]));
}

/// Two terminals use one session, or a person goes back and forth: the branch that the last turn continues is
/// the conversation.
#[test]
fn a_branch_to_which_the_person_comes_back_lives_again() {
    use FrameStatus::{Completed, Invalidated};
    let found = turns(
        TranscriptForm::Claude,
        &[
            claude("u1", None, 1, asks("One")),
            claude("a1", Some("u1"), 2, answers("m1", "1")),
            claude("u2", Some("a1"), 3, asks("Two")),
            claude("a2", Some("u2"), 4, answers("m2", "2")),
            claude("u3", Some("a1"), 5, asks("Three")),
            claude("a3", Some("u3"), 6, answers("m3", "3")),
            claude("u4", Some("a2"), 7, asks("Four")),
            claude("a4", Some("u4"), 8, answers("m4", "4")),
        ],
    );
    let statuses: Vec<FrameStatus> = found.into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Completed, Completed, Invalidated, Completed]);
}

#[test]
fn pi_goes_on_behind_the_summary_of_what_was_left() {
    use FrameStatus::{Completed, Invalidated};
    let entry = |id: &str, parent: Option<&str>, time: u64, kind: &str, more: Value| {
        let mut entry =
            json!({ "type": kind, "id": id, "parentId": parent, "timestamp": format!("2026-01-15T10:00:{time:02}Z") });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let asks = |text: &str| json!({ "message": { "role": "user", "content": text } });
    let answers = |text: &str| {
        json!({ "message": { "role": "assistant", "content": [{ "type": "text", "text": text }], "stopReason": "stop",
            "usage": { "input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0 } } })
    };
    let found = turns(
        TranscriptForm::Pi,
        &[
            entry("u1", None, 1, "message", asks("One")),
            entry("a1", Some("u1"), 2, "message", answers("1")),
            entry("u2", Some("a1"), 3, "message", asks("Two")),
            entry("a2", Some("u2"), 4, "message", answers("2")),
            entry("b", Some("a1"), 5, "branch_summary", json!({ "fromId": "a1", "summary": "Two was tried." })),
            entry("u3", Some("b"), 6, "message", asks("Three")),
            entry("a3", Some("u3"), 7, "message", answers("3")),
        ],
    );
    let statuses: Vec<FrameStatus> = found.into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Completed, Invalidated, Completed]);
}

#[test]
fn codex_takes_the_last_turns_back() {
    let mut session = Session::new(TranscriptForm::Codex, "s");
    let event =
        |payload: Value| json!({ "timestamp": "2026-01-15T10:00:00Z", "type": "event_msg", "payload": payload });
    for text in ["One", "Two", "Three"] {
        for payload in [
            json!({ "type": "task_started" }),
            json!({ "type": "user_message", "message": text }),
            json!({ "type": "task_complete", "last_agent_message": "done" }),
        ] {
            session.follow_line(0, event(payload).to_string().as_bytes());
        }
        if text == "Two" {
            let back = event(json!({ "type": "thread_rolled_back", "num_turns": 1 }));
            session.follow_line(0, back.to_string().as_bytes());
        }
    }
    session.settle(true);
    let tree = session.tree();
    let statuses: Vec<FrameStatus> =
        tree.children(tree.roots()[0]).iter().map(|turn| tree.node(*turn).status()).collect();
    assert_eq!(statuses, [FrameStatus::Completed, FrameStatus::Invalidated, FrameStatus::Completed]);
}
