//! The program that was built without the feature `agent`.

// The file everywhere.rs tests what the program says on Windows.
#![cfg(all(unix, not(feature = "agent")))]

use std::process::Command;

#[test]
fn it_says_that_it_has_no_agent_and_how_to_get_one() {
    for arguments in [&["agent"][..], &["agent", "--help"], &["agent", "--model", "m", "Build a shop"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_callstack")).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.starts_with("error: this build of callstack has no agent"), "{arguments:?}: {text}");
        assert!(text.contains("cargo install --path cli"), "{arguments:?}: {text}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_callstack")).args(["agent", "--json", "x"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("\"kind\": \"error\"") && text.contains("has no agent"), "{text}");
    let output = Command::new(env!("CARGO_BIN_EXE_callstack")).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // The help of an option can also have the word at the beginning of a line, further to the right.
    let lists = |name: &str| text.lines().any(|line| line.starts_with(&format!("  {name} ")));
    assert!(!lists("agent") && lists("runs"), "{text}");
}
