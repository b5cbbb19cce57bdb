//! Errors, repairs and answers repeat only the beginning of a long text.

use callstack_core::frame::NewChunk;
use callstack_core::tools;
use callstack_core::{Error, Frame, NewFrame, Stack, StackOptions, StackState, read_history};

/// The longest message: two ends of 1,000 characters, and our own words.
const LONGEST: usize = 3_000;

fn assert_short(what: &str, error: &Error) {
    let message = error.to_string();
    assert!(message.len() < LONGEST, "{what}: {} bytes", message.len());
}

#[test]
fn errors_repeat_only_the_beginning_of_a_text_of_ten_megabytes() {
    let long = "x".repeat(10 << 20);
    // Longer IDs are refused.
    let id = "x".repeat(Frame::LONGEST_ID - 1);
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.push(NewFrame::new("Long").id(id.clone())).unwrap();
    stack.push(NewFrame::new("Longer").id(format!("{id}y"))).unwrap();
    let child = |id: &str, dependency: &str| NewFrame::new("Child").id(id).below(root).depends_on(dependency);
    let circle = vec![child(&format!("a{id}"), &format!("b{id}")), child(&format!("b{id}"), &format!("a{id}"))];
    let errors = [
        ("unknown_frame", stack.frame(format!("z{long}").as_str()).unwrap_err()),
        ("ambiguous_frame", stack.frame(&id[..900]).unwrap_err()),
        ("duplicate_id", stack.push(NewFrame::new("Again").id(id.clone())).unwrap_err()),
        ("too_long", stack.push(NewFrame::new("Longest").id(long.clone())).unwrap_err()),
        ("dependency", stack.plan_children(root, circle).unwrap_err()),
        ("unknown_chunk", stack.heap(root).chunk(&long).unwrap_err()),
        ("json", StackState::from_json(&format!(r#"{{"version":1,"frames":"{long}"}}"#)).unwrap_err().into()),
        ("json", read_history(format!("{{\"{long}\": 1}}\n").as_bytes()).next().unwrap().unwrap_err()),
    ];
    for (code, error) in &errors {
        assert_eq!(error.code(), *code);
        assert_short(code, error);
    }
    stack.heap(root).allocate(NewChunk::new("rates").content("1")).unwrap();
    assert_short("unknown_chunk", &stack.heap(root).chunk(&long).unwrap_err());
}

#[test]
fn repairs_and_answers_of_tools_repeat_only_the_beginning_of_a_text_of_ten_megabytes() {
    let long = "x".repeat(10 << 20);
    let state = format!(
        r#"{{"version":1,"frames":{{"ses_1":{{"sessionID":"ses_1","status":"{long}","title":"Work","parentSessionID":"{long}",
        "dependsOn":["{long}"],"createdAt":"{long}"}}}},"rootFrameIDs":["{long}"],"activeFrameID":"{long}"}}"#
    );
    let (state, found) = StackState::from_json(&state).unwrap();
    let (stack, inconsistent) = Stack::from_state(state, StackOptions::default());
    assert!(found.len() + inconsistent.len() >= 3, "{found:?} {inconsistent:?}");
    for repair in found.iter().chain(&inconsistent) {
        assert!(repair.to_string().len() < LONGEST, "{} bytes", repair.to_string().len());
    }
    for arguments in
        [format!(r#"{{"frame": "{long}"}}"#), format!(r#"{{"{long}": 1}}"#), format!(r#"{{"frame": ["{long}"]}}"#)]
    {
        let answer = tools::call(&stack, "ses_1", "stack_frame_details", &arguments);
        assert!(answer.is_error);
        assert!(answer.text.unwrap().len() < LONGEST);
    }
}
