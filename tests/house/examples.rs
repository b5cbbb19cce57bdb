//! The examples that people copy do what their documentation says. (The worker does a whole plan in `store::holding`.)

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs an example with this input. Returns what it wrote, and its messages.
fn run(name: &str, words: &[&str], input: &str) -> (String, String) {
    // Beside the folder of the tests.
    let example = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(example.is_file(), "{} was not built: cargo build --examples", example.display());
    let mut command = Command::new(example);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = command.spawn().unwrap();
    // A program that refuses its words does not read.
    let _ = started.stdin.take().unwrap().write_all(input.as_bytes());
    let output = started.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn the_host_carries_its_conversation_through_frames_and_folds_it() {
    let (written, told) = run("host", &[], "");
    assert!(written.contains("`-- [x] f2 Count the orders"), "{written}");
    let requests: Vec<Vec<usize>> = written
        .lines()
        .filter(|line| line.starts_with("request "))
        .map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect())
        .collect();
    let [.., [before, _], [after, all]] = &requests.iter().map(Vec::as_slice).collect::<Vec<_>>()[..] else {
        panic!("{written}")
    };
    assert!(after < before && after < all, "the last request is not shorter: {written}");
    assert!(told.contains("info: Frame completed \"f2\""), "{told}");
}

#[test]
fn the_agent_works_in_a_frame_with_a_conversation_of_its_own() {
    let (written, _) = run("agent", &[], "");
    assert!(written.contains("step 2 in f2: 1 messages, "), "{written}");
    assert!(written.ends_with("completed: The sum is 42.\n"), "{written}");
}

#[test]
fn a_request_is_folded_and_a_wrong_wire_is_told() {
    let request = r#"{"messages": []}"#;
    assert_eq!(run("fold", &["chat"], request), (request.to_owned(), String::new()));
    let (written, told) = run("fold", &["morse"], request);
    assert!(written.is_empty() && told.starts_with("fold: ") && told.contains("morse"), "{told}");
}
