//! Baseline for the benchmark of the Node package: the same calls on the same tree, directly in Rust. Prints the
//! microseconds per call as JSON.
//!
//! With a folder as the argument, the benchmark writes the tree (`state.json`) and its stacks to this folder
//! and does not remove them: on ext4, creating files is slow in a folder from which many files were removed.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use callstack_core::{NewFrame, Settings, Stack, StackOptions, Tree};
use serde_json::json;
use trees::Texts;

/// Number of rounds. The result is the median of the rounds.
const ROUNDS: usize = 21;

/// Returns the duration of a call in microseconds, measured in rounds of `calls` calls.
fn time(calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut rounds = (0..ROUNDS).map(|round| {
        let start = Instant::now();
        (0..calls).for_each(|number| call(round * calls + number));
        start.elapsed().as_secs_f64() * 1e6 / calls as f64
    });
    let mut times: Vec<f64> = rounds.by_ref().collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn push(stack: &Stack, number: usize) {
    let frame = NewFrame::new("Parse the configuration")
        .id(format!("ses_new_{number:016}"))
        .criteria("All options of the file are read, unknown ones are reported with their line")
        .criteria_compacted("All options read, unknown ones reported");
    stack.push(frame.below("root")).unwrap();
}

fn with_root(stack: Stack) -> Stack {
    stack.push(NewFrame::new("Root").id("root").root()).unwrap();
    stack
}

fn main() {
    let stack = trees::full(63, 8, Texts::Large);
    let (frame, settings) = (trees::id(62), Settings::default());
    let own = tempfile::tempdir().unwrap();
    let given = std::env::args().nth(1).filter(|argument| !argument.starts_with('-'));
    let folder = given.map_or_else(|| own.path().to_owned(), PathBuf::from);
    std::fs::write(folder.join("state.json"), stack.read(Tree::state).unwrap().to_json()).unwrap();
    let cached = time(20_000, |_| drop(black_box(stack.context(&frame, &settings).unwrap())));
    let cold = time(5_000, |_| {
        stack.upkeep().clear_cache(None).unwrap();
        black_box(stack.context(&frame, &settings).unwrap());
    });
    let record = time(20_000, |_| drop(black_box(stack.frame(&frame).unwrap())));

    let memory = with_root(Stack::in_memory());
    let push_memory = time(500, |number| push(&memory, number));
    let open = |name: &str, mirror: bool| {
        with_root(Stack::open(folder.join(name), StackOptions::default().mirror(mirror)).unwrap())
    };
    let bare = open("rust-bare", false);
    let push_sqlite = time(100, |number| push(&bare, number));
    let mirrored = open("rust-mirrored", true);
    let push_mirrored = time(100, |number| push(&mirrored, number));
    println!(
        "{}",
        json!({
            "cached": cached, "cold": cold, "frame": record,
            "pushMemory": push_memory, "pushSqlite": push_sqlite, "pushMirrored": push_mirrored,
        })
    );
}
