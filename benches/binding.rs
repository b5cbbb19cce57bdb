//! Baseline for the benchmarks of the Node and Python packages: the same calls on the same tree, directly in
//! Rust. Prints as JSON, in microseconds, the median time of each call and the time that one of a thousand
//! exceeds: `{"cached": {"median": 0.1, "late": 0.2}, …}`.
//!
//! With a folder as the argument, the benchmark writes the tree (`state.json`) and its stacks to this folder
//! and does not remove them: on ext4, creating files is slow in a folder from which many files were removed.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use callstack_core::{Mirroring, NewFrame, Settings, Stack, StackOptions, Tree};
use serde_json::{Value, json};
use trees::Texts;

/// Number of rounds. The median is that of the rounds.
const ROUNDS: usize = 21;
/// Number of frames whose contexts are made in one call.
const BATCH: usize = 50;

/// Measures rounds of `calls` calls, and then each of `calls` calls by itself.
fn time(calls: usize, mut call: impl FnMut(usize)) -> Value {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let start = Instant::now();
            (0..calls).for_each(|number| call(round * calls + number));
            start.elapsed().as_secs_f64() * 1e6 / calls as f64
        })
        .collect();
    let mut single: Vec<f64> = (0..calls)
        .map(|number| {
            let start = Instant::now();
            call(ROUNDS * calls + number);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    single.sort_by(f64::total_cmp);
    json!({ "median": rounds[ROUNDS / 2], "late": single[calls * 999 / 1000] })
}

/// The times of one of several things that a call does.
fn each(of_all: &Value, count: usize) -> Value {
    let each = |name: &str| of_all[name].as_f64().expect("a time") / count as f64;
    json!({ "median": each("median"), "late": each("late") })
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
    let cold = time(1_000, |_| {
        stack.upkeep().clear_cache(None).unwrap();
        black_box(stack.context(&frame, &settings).unwrap());
    });
    // What `Stack::contexts` does: earlier versions, which are measured too, do not have it.
    let frames = vec![frame.clone(); BATCH];
    let batch = time(1_000, |_| {
        let contexts: Vec<_> = frames.iter().map(|frame| stack.context(frame, &settings).unwrap()).collect();
        drop(black_box(contexts));
    });
    let changing = trees::full(63, 8, Texts::Large);
    let changed = time(1_000, |number| {
        changing.add_decision(&frame, format!("Decision {}", number % 20)).unwrap();
        black_box(changing.context(&frame, &settings).unwrap());
    });
    let record = time(20_000, |_| drop(black_box(stack.frame(&frame).unwrap())));

    let memory = with_root(Stack::in_memory());
    let push_memory = time(1_000, |number| push(&memory, number));
    let open = |name: &str, mirror: Mirroring| {
        with_root(Stack::open(folder.join(name), StackOptions::default().mirror(mirror)).unwrap())
    };
    let bare = open("rust-bare", Mirroring::Off);
    let push_sqlite = time(100, |number| push(&bare, number));
    let mirrored = open("rust-mirrored", Mirroring::WithCommands);
    let push_mirrored = time(100, |number| push(&mirrored, number));
    println!(
        "{}",
        json!({
            "cached": cached, "batch": each(&batch, BATCH), "changed": changed, "cold": cold, "frame": record,
            "pushMemory": push_memory, "pushSqlite": push_sqlite, "pushMirrored": push_mirrored,
        })
    );
}
