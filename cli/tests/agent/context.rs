//! Conversations near the limit of the model.

use scripted_model::Fault;
use serde_json::{Value, json};

use crate::scene::*;

/// A scene whose agent reads this number of files in one frame. Each file has 10,000 characters.
fn scene_of_reads(reads: usize, wire: &'static str) -> Scene {
    let call = |name: &str, arguments: Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let mut steps: Vec<Value> =
        (0..reads).map(|read| call("read_file", json!({"path": format!("file{read}")}))).collect();
    steps.push(call("pop_frame", json!({"result": "all read"})));
    let scene = Scene::new(&json!({ "steps": steps }), wire);
    for read in 0..reads {
        let line = format!("This is a line of the file number {read}.\n");
        std::fs::write(scene.path(&format!("file{read}")), &line.repeat(300)[..10_000]).unwrap();
    }
    scene
}

fn size(request: &Value) -> usize {
    request.to_string().len() / 4
}

#[test]
fn a_refused_prompt_is_shortened_and_sent_again() {
    for wire in WIRES {
        let scene = scene_of_reads(12, wire);
        scene.model.limit_context(15_000);
        let output = scene.run(&["Read all"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let said = if wire == "openai" { "maximum context length is 15000 tokens" } else { "> 15000 maximum" };
        assert!(stderr(&output).contains(said), "{wire}: {}", stderr(&output));
        let refused = stderr(&output).matches("trying again with a shorter prompt").count();
        assert!((1..=2).contains(&refused), "{wire}: the limit is learned once, and was hit {refused} times");
        assert_eq!(scene.model.requests().len(), 13 + refused, "{wire}");
        let last = scene.model.requests().last().unwrap().clone();
        assert!(size(&last) <= 15_000, "{wire}: {}", size(&last));
        let messages = last["messages"].to_string();
        assert!(messages.contains("If you need them, repeat the call, or ask for a part."), "{wire}");
        assert!(messages.contains("file number 11") && messages.contains("file number 0."), "{wire}");
        // The log has everything that the agent read.
        let log = stdout(&scene.callstack(&["log", "f1", "--raw"]));
        for read in 0..12 {
            let lines = log.matches(&format!("line of the file number {read}.")).count();
            assert!(lines > 200, "{wire}: {lines} lines of file {read} are in the log");
        }
    }
}

#[test]
fn a_known_limit_is_never_reached_and_the_model_is_told_before() {
    for wire in WIRES {
        let scene = scene_of_reads(20, wire);
        scene.model.limit_context(16_000);
        let output = scene.run(&["Read all", "--context-limit", "16000", "--max-tokens", "1000"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_eq!(scene.model.requests().len(), 21, "{wire}: a prompt was refused:\n{}", stderr(&output));
        let is_told = |request: usize| scene.newest(request).contains("\nThis conversation fills ");
        assert!(!is_told(0) && is_told(19), "{wire}");
        let first = (0..21).find(|request| is_told(*request)).unwrap();
        let is_shortened = |request: usize| scene.messages(request).contains("characters are left out here");
        assert!(!is_shortened(first), "{wire}: the model is told before anything is shortened");
        assert!(is_shortened(20), "{wire}");
        assert!(stderr(&output).contains(" messages shortened"), "{wire}: {}", stderr(&output));
        // Most requests begin with the same text as the request before, so that caches keep that text.
        let requests = scene.model.requests();
        let messages = |request: usize| requests[request]["messages"].as_array().unwrap().clone();
        let same = |request: usize| {
            let (before, after) = (messages(request - 1), messages(request));
            let without_marks = |message: &Value| {
                message
                    .to_string()
                    .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
                    .replace(r#""cache_control":{"type":"ephemeral"},"#, "")
            };
            before[..before.len() - 1].iter().zip(&after).all(|(one, other)| without_marks(one) == without_marks(other))
        };
        let lost = (1..21).filter(|request| !same(*request)).count();
        assert!(lost <= 7, "{wire}: the beginning changed {lost} times in 20 steps");
    }
}

#[test]
fn a_conversation_that_cannot_fit_is_an_error_that_says_so() {
    let scene = scene_of_reads(3, "openai");
    scene.model.limit_context(1_000);
    let output = scene.run(&["Read all"]);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "The conversation of f1 does not fit, although all that can be is shortened: use a model with a larger context";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    // The error message of other providers, which names no number.
    let scene = scene_of_reads(6, "openai");
    let words = json!({"error": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}});
    scene.model.fail(6, Fault::Response(400, "application/json", words.to_string()));
    let output = scene.run(&["Read all"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("exceeds the context window of this model.; trying again"), "{}", stderr(&output));
}
