//! Times of whole processes on stacks of 10,000 frames, from the start of the program to its end: the minimum of several
//! runs, because everything else that the machine does only adds to them.
//!
//! cargo bench -p callstack-cli --no-default-features

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callstack_core::{NewFrame, PopStatus, Results, Stack, StackOptions};

const FRAMES: usize = 10_000;
const RUNS: usize = 15;

fn main() {
    println!("{FRAMES} frames, minimum of {RUNS} runs, in milliseconds");
    println!("{:<32}{:>10}{:>10}", "", "300 bytes", "2 KB");
    let folder = tempfile::tempdir().unwrap();
    let stacks = [("small", 300), ("large", 2_000)].map(|(name, bytes)| {
        let path = folder.path().join(name);
        build(&path, bytes);
        path
    });
    for arguments in [
        "tree",
        "tree --all --json",
        "ready",
        "show f5000",
        "context f9999",
        "history --limit 10",
        "usage",
        "doctor",
        "push Task",
        "pop --results done",
        "plan One Two Three --chain",
        "edit f9999 --last",
        "decide f1 Reason",
        "stop --all",
        "--version",
    ] {
        let times = stacks.each_ref().map(|stack| milliseconds(arguments, stack));
        println!("{arguments:<32}{:>10}{:>10}", times[0], times[1]);
    }
}

/// A stack of completed and planned frames. `bytes`: the size of the texts of a frame.
fn build(folder: &Path, bytes: usize) {
    let stack = Stack::open(folder, StackOptions::default().mirror(false)).unwrap();
    let text = |share: usize| "Totals are right for all rates. ".repeat(bytes / share / 32 + 1);
    let root = stack.push(NewFrame::new("Build a shop").criteria(text(3))).unwrap();
    let mut parent = root;
    for number in 1..FRAMES {
        if number % 100 == 1 {
            if parent != root {
                stack.pop(parent, PopStatus::Completed, text(2)).unwrap();
            }
            parent = stack.push(NewFrame::new(format!("Part {number}")).criteria(text(3)).below(root)).unwrap();
        } else if number < FRAMES / 2 {
            let task = stack.push(NewFrame::new(format!("Task {number}")).criteria(text(3)).below(parent)).unwrap();
            stack.pop(task, PopStatus::Completed, Results::new(text(2)).compacted(text(6))).unwrap();
        } else {
            stack.plan(NewFrame::new(format!("Task {number}")).criteria(text(3)).below(parent)).unwrap();
        }
    }
    stack.close().unwrap();
    // The files beside the database are those that a host leaves.
    Stack::open(folder, StackOptions::default()).unwrap().close().unwrap();
}

/// `-` if the program has no such command, or refuses it.
fn milliseconds(arguments: &str, stack: &Path) -> String {
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(arguments.split(' ')).env("CALLSTACK_DIR", stack).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        if !command.status().unwrap().success() {
            return "-".to_owned();
        }
        least = least.min(start.elapsed());
    }
    format!("{:.1}", least.as_secs_f64() * 1_000.0)
}
