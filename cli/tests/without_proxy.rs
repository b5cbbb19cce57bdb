//! Tests of the program that was built without the feature `proxy`.
#![cfg(not(feature = "proxy"))]

use std::process::Command;

#[test]
fn it_says_that_it_has_no_proxy_and_how_to_get_one() {
    for arguments in [&["proxy"][..], &["proxy", "--help"], &["run", "claude", "--model", "m"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_callstack")).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.starts_with("error: this build of callstack has no `"), "{arguments:?}: {text}");
        assert!(text.contains("cargo install --path cli"), "{arguments:?}: {text}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_callstack")).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("  proxy ") && !text.contains("  run ") && text.contains("  runs "), "{text}");
}
