//! Prints the context of a frame from a file: a Task Master `tasks.json`, a Beads `issues.jsonl` or a
//! `state.json`.
//!
//! `cargo run --example context -- FILE [FRAME] [TOTAL]`
//!
//! FRAME is a handle, an ID or a prefix of an ID; `id:` before it means a complete ID. Without FRAME, the example uses
//! the active frame, or else the first frame in progress that is not a root, or else the first frame that is ready to
//! start, or else the last frame. TOTAL is the token budget.

use std::process::ExitCode;

use callstack_core::tree::outline;
use callstack_core::{
    FrameStatus, OutlineOptions, Settings, Stack, StackOptions, StackState, Tree, context::DetailLevel, import,
};

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let (file, frame, total) = match arguments {
        [file] => (file, None, None),
        [file, frame] => (file, Some(frame), None),
        [file, frame, total] => (file, Some(frame), Some(total)),
        _ => return Err("usage: context FILE [FRAME] [TOTAL]".into()),
    };
    let (budget, problems) = callstack_core::Budget::from_environment();
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    let mut settings = Settings::default().budget(budget);
    if let Some(total) = total {
        settings.budget.total =
            total.parse().map_err(|_| format!("TOTAL is `{total}`, but must be a number of tokens"))?;
    }
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let (tree, problems) = import::read(&text).map_err(|error| format!("{file}: {error}"))?;
    for problem in &problems {
        eprintln!("{file}: {problem}");
    }
    let stack = stack_of(&tree);
    let handle = match frame {
        Some(frame) => stack.resolve(frame).map_err(say)?,
        None => likely_frame(&stack).map_err(say)?.ok_or("the file contains no frames")?,
    };
    let context = stack.context(handle, &settings).map_err(say)?;

    let options = OutlineOptions::default().depth(Some(1)).width(100);
    println!("{}", stack.read(|tree| outline(tree, &options)).flatten().map_err(say)?);
    println!("{}", context.xml);
    println!("Considered for {handle}: {} frames", context.report.entries.len());
    for entry in context.report.entries.iter().filter(|entry| entry.detail_level != DetailLevel::Omitted) {
        println!(
            "  {:>5} {:<18} {:<9} score {:>3.0} {:>4} tokens",
            entry.handle.to_string(),
            format!("{:?}", entry.section),
            format!("{:?}", entry.detail_level),
            entry.score,
            entry.tokens
        );
    }
    println!("{} of {} tokens", context.tokens, settings.budget.total);
    Ok(())
}

fn say(error: callstack_core::Error) -> String {
    error.to_string()
}

fn stack_of(tree: &Tree) -> Stack {
    let state: StackState = tree.state();
    Stack::from_state(state, StackOptions::default()).0
}

fn likely_frame(stack: &Stack) -> callstack_core::Result<Option<callstack_core::Handle>> {
    stack.read(|tree| {
        let below = tree.with_status(FrameStatus::InProgress).find(|frame| tree.node(*frame).parent().is_some());
        tree.active().or(below).or_else(|| tree.ready().next()).or_else(|| tree.handles().last())
    })
}
