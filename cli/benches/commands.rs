//! Times of whole processes on stacks of 10,000 frames, from the start of the program to its end: the minimum
//! of several runs, because everything else that the machine does only adds to them. Hooks of Claude Code and
//! servers of MCP are measured on such a stack whose frames are all in one unfinished tree, on a plan as it is
//! imported, and on a stack of finished trees.
//!
//! cargo bench -p callstack-cli --no-default-features

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callstack_core::{
    Finish, Frame, FrameStatus, NewFrame, NewHold, PopStatus, Priority, Results, Stack, StackOptions,
};
use serde_json::{Value, json};

const FRAMES: usize = 10_000;
const RUNS: usize = 15;

fn main() {
    println!("{FRAMES} frames, minimum of {RUNS} runs, in milliseconds");
    print_row("", ["300 bytes", "2 KB", "imported"]);
    let folder = tempfile::tempdir().unwrap();
    let [small, large, imported] = ["small", "large", "imported"].map(|name| folder.path().join(name));
    build(&small, 300);
    build(&large, 2_000);
    build_imported(&imported);
    let stacks = [&small, &large, &imported];
    for arguments in [
        "tree",
        "tree --all --json",
        "status",
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
        print_row(arguments, stacks.map(|stack| least(|| run_command(stack, arguments))));
    }
    let finished = folder.path().join("finished");
    build_finished(&finished);
    let stacks = [&small, &imported, &finished];
    println!();
    print_row("", ["unfinished", "imported", "finished"]);
    for stack in stacks {
        converse(stack, "push", json!({ "title": "Task", "successCriteria": "It works", "frame": "new" }));
    }
    for hook in ["session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use", "stop"] {
        print_row(&format!("hook {hook}"), stacks.map(|stack| least(|| Some(run_hook(stack, hook)))));
    }
    let first = |stack: &PathBuf| least(|| Some(converse(stack, "status", json!({ "of": "f1" })).0));
    print_row("mcp, to the first answer", stacks.map(first));
    let resident = |stack: &PathBuf| converse(stack, "status", json!({ "of": "f1" })).1;
    print_row("mcp, resident (MB)", stacks.map(resident));
}

fn print_row(name: &str, columns: [impl Display; 3]) {
    let [first, second, third] = columns;
    println!("{name:<32}{first:>12}{second:>12}{third:>12}");
}

/// A plan as other tools have them: headings with tasks, which have priorities and need each other. Workers have done
/// half of them.
fn build_imported(folder: &Path) {
    const TASKS: usize = 20;
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    let frame = |number: usize| {
        let (heading, place) = (number / TASKS, number % TASKS);
        let parent = if place == 0 { "plan".to_owned() } else { format!("task_{}", heading * TASKS) };
        Frame {
            session_id: format!("task_{number}"),
            parent_session_id: Some(parent),
            title: format!("Task {number}"),
            status: FrameStatus::Planned,
            success_criteria: "Totals are right for all rates. ".repeat(9),
            no_work: (place == 0).then(|| "heading".to_owned()),
            priority: Priority::new(number as u64 % 5),
            depends_on: if place > 2 && place % 2 == 1 { vec![format!("task_{}", number - 1)] } else { Vec::new() },
            ..Frame::default()
        }
    };
    let plan = Frame { session_id: "plan".into(), parent_session_id: None, ..frame(0) };
    stack.import([plan].into_iter().chain((0..FRAMES - 1).map(frame)).collect()).unwrap();
    for _ in 0..FRAMES / 2 {
        let hold = stack.work().hold(NewHold::new("worker", 60_000)).unwrap().expect("a task is free");
        stack.work().finish(&hold, Finish::Done("Totals are right for all rates. ".repeat(4).into())).unwrap();
    }
    stack.close().unwrap();
}

/// A stack of finished trees.
fn build_finished(folder: &Path) {
    let stack = Stack::open(folder, StackOptions::default()).unwrap();
    let frame = |number: usize| Frame {
        session_id: format!("old_{number}"),
        parent_session_id: (!number.is_multiple_of(31)).then(|| format!("old_{}", number - number % 31)),
        title: format!("Task {number}"),
        status: FrameStatus::Completed,
        results: Some("Totals are right for all rates. ".repeat(9)),
        ..Frame::default()
    };
    stack.import((0..FRAMES).map(frame).collect()).unwrap();
    stack.close().unwrap();
}

/// The time of a hook of the session `bench`.
fn run_hook(stack: &Path, hook: &str) -> Duration {
    let input = json!({ "file_path": "/project/src/cart.rs" });
    let event = json!({ "session_id": "bench", "tool_name": "Write", "tool_use_id": "t1", "tool_input": input, "cwd": "/project" });
    let start = Instant::now();
    let mut child = program(stack).args(["hook", hook]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    start.elapsed()
}

/// Starts a server, and calls a tool. Returns the time from the start to the answer, and the memory of the
/// server then, in MB.
fn converse(stack: &Path, tool: &str, arguments: Value) -> (Duration, String) {
    let start = Instant::now();
    let mut child = program(stack).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
    let client = json!({ "name": "bench", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answer = answers.nth(1).unwrap().unwrap();
    let time = start.elapsed();
    assert!(answer.contains("\"id\":2") && !answer.contains("\"isError\":true"), "{answer}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let resident =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    drop(input);
    assert!(child.wait().unwrap().success());
    (time, resident.map_or("-".to_owned(), |kilobytes| format!("{:.1}", kilobytes / 1_024.0)))
}

fn program(stack: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.env("CALLSTACK_DIR", stack).env("CLAUDE_CODE_SESSION_ID", "bench");
    command
}

/// The least time of several runs, in milliseconds; `-` if one of them was refused.
fn least(run: impl Fn() -> Option<Duration>) -> String {
    let times: Option<Vec<Duration>> = (0..RUNS).map(|_| run()).collect();
    let least = times.and_then(|times| times.into_iter().min());
    least.map_or_else(|| "-".to_owned(), |least| format!("{:.1}", least.as_secs_f64() * 1_000.0))
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

/// The time of a command. `None` if the program has no such command, or refuses it.
fn run_command(stack: &Path, arguments: &str) -> Option<Duration> {
    let mut command = program(stack);
    command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    command.status().unwrap().success().then(|| start.elapsed())
}
