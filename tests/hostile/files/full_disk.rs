//! Disks without free space, and limits to the size of files.

use std::fs;
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use callstack_core::{Error, NewFrame, Stack, StackOptions};
use serde_json::json;
use tempfile::tempdir;

use super::ids;

/// Works with a stack and returns the acknowledged frames, and each error with the step that caused it.
fn work(folder: &Path) -> (Vec<String>, Vec<(&'static str, Error)>) {
    let (mut acknowledged, mut errors) = (Vec::new(), Vec::new());
    let mut note = |step: &'static str, result: Result<(), Error>| {
        let is_done = result.is_ok();
        errors.extend(result.err().map(|error| (step, error)));
        is_done
    };
    let stack = match Stack::open(folder, StackOptions::default()) {
        Ok(stack) => stack,
        Err(error) => {
            note("open", Err(error));
            return (acknowledged, errors);
        }
    };
    for number in 0..8 {
        let id = format!("ses_{number}");
        let frame = NewFrame::new("Work").id(id.clone()).criteria("x".repeat(3_000)).root();
        if note("push", stack.push(frame).map(drop)) {
            note("log", stack.log(id.as_str()).append(&[json!("y".repeat(2_000))]));
            acknowledged.push(id);
        }
    }
    note("flush", stack.files().flush());
    note("export", stack.files().export(folder.join("export")));
    errors.extend(stack.files().status().and_then(|status| status.error).map(|error| ("mirror", error)));
    (acknowledged, errors)
}

/// Writes a file of this size as soon as the space of the removed files is free. A process that another test
/// has just started can have these files open for a moment.
fn fill(path: &Path, size: usize) {
    let is_written = (0..1_000).any(|_| {
        let written = fs::write(path, vec![0; size]);
        if written.is_err() {
            let _ = fs::remove_file(path);
            std::thread::sleep(Duration::from_millis(10));
        }
        written.is_ok()
    });
    assert!(is_written, "{size} bytes find no room");
}

#[test]
fn a_disk_with_any_room_left_says_that_it_is_full() {
    let place = tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        let result = Process::new(arguments[0]).args(&arguments[1..]).arg(place.path()).output();
        result.is_ok_and(|output| output.status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=1m", "none"]) {
        println!("skipped: this machine does not let us mount a small file system");
        return;
    }
    let result = std::panic::catch_unwind(|| {
        let mut steps = std::collections::BTreeSet::new();
        for room in (0..400).step_by(4) {
            let filler = place.path().join("filler");
            let folder = place.path().join("stack");
            let _ = fs::remove_file(&filler);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).unwrap();
            fill(&filler, (1_008 - room) << 10);
            let (acknowledged, errors) = work(&folder);
            for (step, error) in &errors {
                assert_eq!(error.code(), "disk_full", "{room} KB are left, {step}: {error}");
                steps.insert(*step);
            }
            // An empty file takes no space, even while another process has it open.
            fs::write(&filler, "").unwrap();
            let stack = Stack::open(&folder, StackOptions::default()).unwrap();
            assert_eq!(ids(&stack), acknowledged, "{room} KB were left: what was acknowledged, and nothing else");
        }
        let steps: Vec<_> = steps.into_iter().collect();
        assert_eq!(steps, ["export", "flush", "log", "mirror", "open", "push"], "each step met the full disk");
    });
    assert!(mount(&["umount"]), "the file system is gone again");
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

/// The work of the process with a limit. Without a role, as in an ordinary test run, it does nothing.
#[test]
fn a_process_with_a_limit() {
    let Some(folder) = std::env::var_os("STACK_TEST_LIMITED_FOLDER") else { return };
    let (acknowledged, errors) = work(Path::new(&folder));
    acknowledged.iter().for_each(|id| println!("acknowledged: {id}"));
    errors.iter().for_each(|(step, error)| println!("error: {} {step} {error}", error.code()));
}

#[test]
fn a_limit_to_the_size_of_files_says_that_the_disk_is_full() {
    let mut errors = 0;
    for blocks in (0..=120).step_by(6) {
        let folder = tempdir().unwrap();
        // A block has 512 bytes or 1 KB, depending on the shell.
        let output = Process::new("sh")
            .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\" | cat")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "hostile::files::full_disk::a_process_with_a_limit", "--nocapture"])
            .env("STACK_TEST_LIMITED_FOLDER", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("test result: ok"), "{blocks} blocks: {said}");
        for line in said.lines().filter_map(|line| line.strip_prefix("error: ")) {
            assert!(line.starts_with("disk_full "), "{blocks} blocks: {line}");
            errors += 1;
        }
        let acknowledged: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("acknowledged: ")).collect();
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        assert_eq!(ids(&stack), acknowledged, "{blocks} blocks: what was acknowledged, and nothing else");
    }
    assert!(errors > 20, "{errors} errors: the limits were met");
}
