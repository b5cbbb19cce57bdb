//! Links, pipes and folders in place of the stack's files. Version control may contain them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command as Process;

use callstack_core::{NewFrame, Settings, Stack, StackOptions};
use serde_json::json;
use support::folder::{NAMES, STATE, contents, work};
use support::{Queries, in_time};
use tempfile::tempdir;

/// Puts a link, a pipe or a folder at the name in a new folder, with or without files to import.
fn at(folder: &Path, name: &str, has_state: bool, put: impl Fn(&Path)) {
    fs::create_dir_all(folder).unwrap();
    if has_state && name != "state.json" {
        fs::write(folder.join("state.json"), STATE).unwrap();
    }
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    put(&path);
}

#[test]
fn no_link_in_the_folder_leads_outside() {
    for name in NAMES {
        // Links to a file, to a folder, to a file in a folder, and to nothing.
        for target in ["file", "folder", "folder/inner.json", "nothing", "folder/nothing"] {
            for has_state in [false, true] {
                let place = tempdir().unwrap();
                let outside = place.path().join("outside");
                fs::create_dir_all(outside.join("folder")).unwrap();
                fs::write(outside.join("file"), STATE).unwrap();
                fs::write(outside.join("folder/inner.json"), STATE).unwrap();
                fs::write(outside.join("folder/ses_1.jsonl"), "a line\n").unwrap();
                let folder = place.path().join("stack");
                at(&folder, name, has_state, |path| symlink(outside.join(target), path).unwrap());
                let before = contents(&outside);
                let at = folder.clone();
                in_time(&format!("work with {name} -> {target}"), move || work(&at));
                assert_eq!(contents(&outside), before, "{name} -> {target}, with a state: {has_state}");
            }
        }
    }
}

#[test]
fn links_within_the_folder_do_not_mix_its_files() {
    for (name, target) in
        [("logs/ses_1.jsonl", "../stack.db"), ("frames/ses_1.json", "../stack.db"), (".next.tmp", "stack.db")]
    {
        let place = tempdir().unwrap();
        let folder = place.path().join("stack");
        fs::create_dir_all(folder.join("logs")).unwrap();
        at(&folder, name, false, |path| symlink(target, path).unwrap());
        work(&folder);
        let stack = Stack::open(&folder, StackOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(stack.frame("f1").unwrap().results.as_deref(), Some("done"), "{name}: the database works");
    }
}

#[test]
fn texts_behind_a_link_are_not_imported() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("secret.json"), STATE.replace("Old", "Secret")).unwrap();
    let folder = place.path().join("stack");
    at(&folder, "state.json", false, |path| symlink("../secret.json", path).unwrap());
    let error = Stack::open(&folder, StackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("state.json: it is a symbolic link, and links are not followed"), "{error}");

    let folder = place.path().join("other");
    at(&folder, "frames/ses_2.json", true, |path| symlink("../../secret.json", path).unwrap());
    let stack = Stack::open(&folder, StackOptions::default()).unwrap();
    let titles: Vec<String> = stack.state().unwrap().frames.into_iter().map(|frame| frame.title).collect();
    assert_eq!(titles, ["Old"]);
    assert!(
        stack.upkeep().repairs().iter().any(|repair| repair.to_string().contains("symbolic link")),
        "{:?}",
        stack.upkeep().repairs()
    );
}

#[test]
fn a_log_that_is_a_link_is_not_named_to_agents() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("secret"), "a line\n").unwrap();
    for name in ["logs/ses_1.jsonl", "logs"] {
        let folder = place.path().join(name.replace('/', "_"));
        let stack = Stack::open(&folder, StackOptions::default()).unwrap();
        stack.push(NewFrame::new("Work").id("ses_1")).unwrap();
        stack.log("ses_1").append(&[json!("a line")]).unwrap();
        let xml = |stack: &Stack| {
            stack.upkeep().clear_cache(None).unwrap();
            stack.context("ses_1", &Settings::default()).unwrap().xml.to_string()
        };
        assert!(xml(&stack).contains("ses_1.jsonl"));
        fs::rename(folder.join(name), place.path().join("moved")).unwrap();
        symlink(place.path().join("moved"), folder.join(name)).unwrap();
        assert!(!xml(&stack).contains("ses_1.jsonl"), "{name}");
        let error = stack.log("ses_1").append(&[json!("another")]).unwrap_err();
        assert!(error.to_string().contains("it is a symbolic link"), "{name}: {error}");
        drop(stack);
        let _ = fs::remove_dir_all(place.path().join("moved"));
        let _ = fs::remove_file(place.path().join("moved"));
    }
}

#[test]
fn pipes_and_folders_in_place_of_files_are_refused_and_not_waited_for() {
    for name in NAMES {
        for (kind, command) in [("pipe", "mkfifo"), ("folder", "mkdir")] {
            for has_state in [false, true] {
                let place = tempdir().unwrap();
                let folder = place.path().join("stack");
                let make = |path: &Path| assert!(Process::new(command).arg(path).status().unwrap().success());
                at(&folder, name, has_state, make);
                in_time(&format!("work with a {kind} at {name}"), move || work(&folder));
            }
        }
    }
}
