//! Tests of the program on every system for which it is built. On systems without the shell and the terminals
//! of Unix, these are the only tests of the program.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn callstack(stack: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(arguments).env("CALLSTACK_DIR", stack).stdin(Stdio::null()).output().unwrap()
}

/// The output of a command that must succeed.
fn said(stack: &Path, arguments: &[&str]) -> String {
    let output = callstack(stack, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(stack: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&said(stack, &[arguments, &["--json"]].concat())).unwrap()
}

/// Works on a stack from its beginning to its end, each command in a process of its own.
fn work(stack: &Path) {
    said(stack, &["push", "--new", "Build a shop", "--id", "ses_1", "--criteria", "It sells"]);
    said(stack, &["push", "Cart", "--id", "CON", "--parent", "ses_1"]);
    said(stack, &["pop", "CON", "--results", "The cart is done"]);
    let context = said(stack, &["context", "ses_1"]);
    assert!(context.contains("The cart is done"), "{context}");
    let tree = said(stack, &["tree"]);
    assert!(tree.contains("Build a shop") && tree.contains("Cart"), "{tree}");
    let problems = json(stack, &["doctor"]);
    assert_eq!(problems["kind"], "doctor", "{problems}");
    assert!(stack.join("frames/ses_1.json").is_file());
}

#[test]
fn a_stack_goes_from_push_to_pop() {
    let place = tempfile::tempdir().unwrap();
    work(&place.path().join("stack"));
}

#[test]
fn the_path_of_a_stack_may_be_long() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = place.path().canonicalize().unwrap();
    while folder.as_os_str().len() < 320 {
        folder.push("a-name-that-is-forty-characters-long-xxx");
    }
    work(&folder);
    let told = said(&folder, &["show", "ses_1"]);
    assert!(!told.contains(r"\\?\"), "paths are written as people know them: {told}");
}

#[test]
fn a_folder_with_the_name_of_a_device_works_or_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("CON");
    let output = callstack(&folder, &["push", "--new", "Build", "--id", "ses_1"]);
    let told = String::from_utf8(output.stderr).unwrap();
    match output.status.success() {
        true => assert!(json(&folder, &["show", "ses_1"])["data"].is_object()),
        false => assert!(told.contains("CON"), "{told}"),
    }
}

/// Windows 10 replaces an open file as Unix does. Older file systems and Wine refuse that, and the old file
/// stays unchanged.
#[test]
fn a_written_file_takes_the_place_of_one_that_another_program_reads() {
    let place = tempfile::tempdir().unwrap();
    let stack = place.path().join("stack");
    work(&stack);
    let file = place.path().join("page.html");
    fs::write(&file, "the old page").unwrap();
    let reader = File::open(&file).unwrap();
    let write = ["view", file.to_str().unwrap(), "--force"];
    let output = callstack(&stack, &write);
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(cfg!(windows) && told.contains("page.html"), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "the old page");
        drop(reader);
        said(&stack, &write);
    }
    assert!(fs::read_to_string(&file).unwrap().contains("Build a shop"));
}

#[test]
fn help_says_what_windows_gets_instead_of_the_agent() {
    let place = tempfile::tempdir().unwrap();
    let help = said(place.path(), &["--help"]);
    assert_eq!(help.contains("Windows Subsystem for Linux"), cfg!(windows), "{help}");
    if cfg!(windows) {
        for arguments in [&["agent"][..], &["agent", "--help"], &["agent", "--model", "m", "Build a shop"]] {
            let output = callstack(place.path(), arguments);
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
            assert!(told.contains("no agent on Windows") && told.contains("Windows Subsystem for Linux"), "{told}");
        }
    }
}
