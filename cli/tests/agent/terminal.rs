//! The output of the program: it has no control characters from other texts, and it does not depend
//! on a reader.

use std::process::Stdio;

use scripted_model::Fault;
use serde_json::json;

use crate::scene::*;

const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{8}\u{202e}";

fn assert_harmless(text: &str) {
    let is_harmful =
        |character: char| character.is_control() && !matches!(character, '\n' | '\t') || character == '\u{202e}';
    let found = text.lines().find(|line| line.contains(is_harmful));
    assert!(found.is_none(), "a control character reaches the terminal: {found:?}");
}

#[test]
fn control_characters_of_models_and_commands_do_not_reach_the_terminal() {
    let push = json!({"name": format!("title{EVIL}"), "objective": format!("objective{EVIL}"), "context": EVIL, "return_spec": ""});
    let steps = json!([
        {"text": format!("text{EVIL}\r\nnext"), "calls": [{"name": "push_frame", "arguments": push}]},
        {"calls": [{"name": "run_command", "arguments": {"command": "printf 'out\\033[2J\\rput\\n\\033]0;owned\\007'"}}]},
        {"calls": [{"name": format!("tool{EVIL}"), "arguments": EVIL}]},
        {"calls": [{"name": "pop_frame", "arguments": {"result": format!("child{EVIL}")}}]},
        {"calls": [{"name": "pop_frame", "arguments": {"result": format!("result{EVIL}")}}]},
    ]);
    for wire in WIRES {
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let words = json!({"error": {"message": format!("busy{EVIL}")}});
        scene.model.fail(1, Fault::Response(503, "application/json", words.to_string()));
        let output = scene.run(&[&format!("task{EVIL}")]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_harmless(&stderr(&output));
        for text in [
            "| text\u{FFFD}]0;owned",
            "title ]0;owned [2J",
            "busy\u{FFFD}",
            "out [2J put",
            "task ]0;owned",
            "refused: tool ]0",
        ] {
            assert!(stderr(&output).contains(text), "{wire}: {text:?} is missing in {}", stderr(&output));
        }
        assert_eq!(stdout(&output), format!("result{EVIL}"), "{wire}: a pipe gets the bytes of the result");
        let words = json!({"error": {"message": format!("no{EVIL}")}});
        scene.model.fail(1, Fault::Response(400, "application/json", words.to_string()));
        let output = scene.run(&["Again"]);
        assert_eq!(output.status.code(), Some(1));
        assert_harmless(&stderr(&output));
        for command in [&["runs", "--all"][..], &["runs", "show", "f1"]] {
            assert_harmless(&stdout(&scene.callstack(command)));
        }
    }
}

#[test]
fn a_note_on_lines_that_are_left_out_takes_less_room_than_they() {
    let print = |lines: usize| ("run_command", json!({ "command": format!("seq {lines}") }));
    let scene = Scene::of_calls(&[print(1), print(2), print(3), ("pop_frame", json!({"result": "done"}))]);
    let text = stderr(&scene.run(&["Count"]));
    for shown in ["    1\n    [exit", "    1\n    2\n    [exit", "    1\n    … 2 lines …\n    [exit"] {
        assert!(text.contains(shown), "{shown:?} is missing in {text}");
    }
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_run() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    let mut command = scene.command(&["--memory", "heap", "Build"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
    assert!(scene.results().is_some());
}
