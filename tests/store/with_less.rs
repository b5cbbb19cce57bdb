//! Processes with fewer rights or less disk space: the error says so, and nothing acknowledged is lost. The
//! tests start this program again as such a process, with the tools of Unix.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command as Process;

use callstack_core::{NewFrame, Stack, StackOptions};
use serde_json::json;
use support::Queries;
use tempfile::tempdir;

use super::faults::assert_sound;

/// Starts this program again, to run only [`a_process_with_less`].
fn with_less(shell: &str, role: &str, folder: &Path, as_nobody: bool) -> String {
    let mut process = Process::new("sh");
    process.args(["-c", &format!("{shell} exec \"$0\" --exact store::with_less::a_process_with_less --nocapture")]);
    process.arg(std::env::current_exe().unwrap());
    process.env("STACK_TEST_ROLE", role).env("STACK_TEST_FOLDER", folder);
    if as_nobody {
        process.uid(65_534).gid(65_534);
    }
    match process.output() {
        Ok(output) => String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// The work of the other process. Without a role, as in an ordinary test run, it does nothing.
#[test]
fn a_process_with_less() {
    let (Ok(role), Some(folder)) = (std::env::var("STACK_TEST_ROLE"), std::env::var_os("STACK_TEST_FOLDER")) else {
        return;
    };
    let folder = Path::new(&folder);
    match role.as_str() {
        "fill" => drop(fill(folder)),
        "open" => {
            let error = Stack::open(folder, StackOptions::default()).unwrap_err();
            println!("answer: {}: {error}", error.code());
        }
        other => panic!("no role is called {other}"),
    }
}

/// Pushes until the disk is full, and prints the acknowledged frames.
fn fill(folder: &Path) -> Stack {
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    for number in 0.. {
        let before = stack.state().unwrap();
        let pushed = stack.push(NewFrame::new("Frame").id(format!("ses_{number}")).criteria("x".repeat(3_000)).root());
        match pushed {
            Ok(_) => println!("acknowledged: ses_{number}"),
            Err(error) => {
                assert!(number > 3, "nothing fitted at all: {error}");
                assert_eq!(stack.state().unwrap(), before, "the tree is as before");
                println!("answer: {}: {error}", error.code());
                break;
            }
        }
    }
    stack
}

fn acknowledged(output: &str) -> Vec<&str> {
    output.lines().filter_map(|line| line.strip_prefix("acknowledged: ")).collect()
}

#[test]
fn a_process_that_may_write_no_more_loses_nothing() {
    let folder = tempdir().unwrap();
    // 300 blocks; a block has 512 bytes or 1 KB, depending on the shell.
    let said = with_less("trap '' XFSZ; ulimit -f 300;", "fill", folder.path(), false);
    assert!(!said.contains("panicked"), "{said}");
    if !said.contains("answer: ") {
        println!("skipped: this machine sets no limit to the size of files: {said}");
        return;
    }
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let ids: Vec<String> = stack.state().unwrap().frames.into_iter().map(|frame| frame.session_id).collect();
    assert_eq!(ids, acknowledged(&said), "everything acknowledged is there, and nothing else");
    stack.push(NewFrame::new("More").id("ses_more")).unwrap();
    drop(stack);
    assert_sound(folder.path(), "after a limit");
}

#[test]
fn a_full_disk_is_an_error_and_the_next_command_works_when_there_is_room() {
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
        let filler = place.path().join("filler");
        fs::write(&filler, vec![0; 400 << 10]).unwrap();
        let folder = place.path().join("stack");
        let stack = fill(&folder);
        let frames = stack.state().unwrap().frames.len();
        let error = stack.push(NewFrame::new("More").criteria("x".repeat(30_000)).root()).unwrap_err();
        assert_eq!(error.code(), "disk_full", "{error}");
        assert!(error.to_string().contains("stack.db: the disk is full; free some space"), "{error}");
        assert_eq!(stack.log("ses_0").append(&[json!("x".repeat(900_000))]).unwrap_err().code(), "disk_full");
        assert_eq!(stack.log("ses_0").read(&Default::default()).unwrap().total, 0, "no half of a line is left");
        assert_eq!(stack.state().unwrap().frames.len(), frames);
        fs::remove_file(&filler).unwrap();
        stack.push(NewFrame::new("More").id("ses_more")).unwrap();
        stack.files().flush().unwrap();
        drop(stack);
        assert_eq!(assert_sound(&folder, "after a full disk").frames.len(), frames + 1);
    });
    assert!(mount(&["umount"]), "the file system is gone again");
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_folder_that_may_only_be_read_is_an_error_and_stays_as_it_is() {
    let place = tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let with_history = place.path().join("with_history");
    Stack::open(&with_history, StackOptions::default()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
    let to_import = place.path().join("to_import");
    fs::create_dir(&to_import).unwrap();
    fs::write(to_import.join("state.json"), support::read_data("stack-state/state-scenario-A.json")).unwrap();
    let listing = |folder: &Path| {
        let mut all: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(&path).unwrap_or_default()))
            .collect();
        all.sort();
        all
    };
    let below_a_file = place.path().join("file");
    fs::write(&below_a_file, "").unwrap();
    let error = Stack::open(below_a_file.join("stack"), StackOptions::default()).unwrap_err();
    assert_eq!(error.code(), "io", "{error}");
    for folder in [&with_history, &to_import] {
        let before = listing(folder);
        fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
        // Root can write in spite of the permissions, so another user runs the process.
        let said = with_less("", "open", folder, fs::write(folder.join("probe"), "").is_ok());
        let _ = fs::remove_file(folder.join("probe"));
        if !said.contains("answer: ") {
            println!("skipped: no process with less rights can be started here: {said}");
            return;
        }
        let answer = said.lines().find(|line| line.starts_with("answer: ")).unwrap();
        assert!(answer.starts_with("answer: read_only: cannot write"), "{answer}");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(listing(folder), before, "the folder is as it was");
    }
}
