//! Benchmarks commands and opening of stacks on disk.
//!
//! Folders are created in the system's folder for temporary files, or in `CALLSTACK_BENCH_FOLDER`. They are
//! removed only when all benchmarks have ended. On ext4, creating files is slow for minutes in a folder from
//! which many files were removed, and `store/push_mirrored` would measure that.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use callstack_core::{
    Command, Durability, Frame, FrameStatus, Handle, MemoryStore, Mirroring, NewFrame, PopStatus, Results, Stack,
    StackOptions, Tree,
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tempfile::TempDir;
use trees::Texts;

const SIZES: [usize; 3] = [63, 10_000, 100_000];

/// All created folders.
static FOLDERS: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

fn new_folder() -> PathBuf {
    let folder = match std::env::var_os("CALLSTACK_BENCH_FOLDER") {
        Some(place) => TempDir::new_in(place).unwrap(),
        None => TempDir::new().unwrap(),
    };
    let path = folder.path().to_owned();
    FOLDERS.lock().unwrap().push(folder);
    path
}

fn remove_folders(_: &mut Criterion) {
    FOLDERS.lock().unwrap().clear();
}

/// About 3 KB per frame for up to 10,000 frames, and 300 bytes for larger trees.
fn texts(size: usize) -> Texts {
    if size > 10_000 { Texts::Small } else { Texts::Large }
}

/// Returns the exported history of a tree of this size: every frame is pushed, its artifacts and decisions are
/// added one by one, and completed frames are popped.
fn history_of(size: usize, texts: Texts) -> Vec<u8> {
    let finished = trees::full(size, 8, texts);
    let worked = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let frames = finished.read(Tree::state).unwrap().frames;
    for frame in &frames {
        let Frame { session_id, parent_session_id, title, success_criteria, success_criteria_compacted, .. } = frame;
        let new = NewFrame::new(title).id(session_id).criteria(success_criteria);
        let new = new.criteria_compacted(success_criteria_compacted);
        let handle = worked
            .push(match parent_session_id {
                Some(parent) => new.below(parent),
                None => new.root(),
            })
            .unwrap();
        for artifact in &frame.artifacts {
            worked.add_artifact(handle, artifact).unwrap();
        }
        for decision in &frame.decisions {
            worked.add_decision(handle, decision).unwrap();
        }
    }
    for (index, frame) in frames.iter().enumerate().rev().filter(|(_, frame)| frame.status == FrameStatus::Completed) {
        let [results, compacted] = [&frame.results, &frame.results_compacted].map(|text| text.clone().unwrap());
        worked
            .pop(Handle::from_index(index).unwrap(), PopStatus::Completed, Results::new(results).compacted(compacted))
            .unwrap();
    }
    let mut history = Vec::new();
    worked.history().export(&mut history).unwrap();
    history
}

fn open(folder: &PathBuf, options: &StackOptions) -> Stack {
    Stack::open(folder, options.clone()).unwrap()
}

fn folder_of(history: &[u8], options: &StackOptions) -> PathBuf {
    let folder = new_folder();
    Stack::rebuild(&folder, history, options.clone()).unwrap().close().unwrap();
    folder
}

/// Measures pushes below the last frame and its ancestors.
fn pushes(stack: &Stack, size: usize, first: usize, count: usize) -> Duration {
    let last = stack.resolve(trees::id(size - 1)).unwrap();
    let parents: Vec<Handle> =
        std::iter::once(last).chain(stack.read(|tree| tree.ancestors(last).collect::<Vec<_>>()).unwrap()).collect();
    let commands: Vec<Command> = (first..first + count)
        .map(|number| {
            let frame = NewFrame::new("Parse the configuration")
                .id(format!("ses_new_{number:016}"))
                .criteria("All options of the file are read, unknown ones are reported with their line")
                .criteria_compacted("All options read, unknown ones reported")
                .below(parents[number % parents.len()]);
            Command::Push(frame)
        })
        .collect();
    let start = Instant::now();
    for command in commands {
        black_box(stack.execute(command).unwrap());
    }
    start.elapsed()
}

fn push(criterion: &mut Criterion) {
    let without_mirror = StackOptions::default().mirror(false);
    let full = without_mirror.clone().durability(Durability::Full);
    for (name, options) in [
        ("store/push_mirrored", StackOptions::default().mirror(Mirroring::WithCommands)),
        ("store/push", without_mirror),
        ("store/push_full", full),
    ] {
        let mut group = criterion.benchmark_group(name);
        for size in SIZES {
            let history = history_of(size, texts(size));
            let mut stack = open(&folder_of(&history, &options), &options);
            let mut pushed = 0;
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut time = Duration::ZERO;
                    // Long enough to include writes of `state.json` in proportion.
                    let count = (iterations as usize).max(5_000);
                    let mut left = count;
                    while left > 0 {
                        // Start again with the original tree, so that its size remains approximately constant.
                        if pushed >= size.max(1_000) {
                            stack = open(&folder_of(&history, &options), &options);
                            pushed = 0;
                        }
                        let part = left.min(1_000);
                        time += pushes(&stack, size, pushed, part);
                        pushed += part;
                        left -= part;
                    }
                    time.mul_f64(iterations as f64 / count as f64)
                });
            });
            if let Some(status) = stack.files().status() {
                assert_eq!(status.error, None, "the mirror was written");
            }
        }
    }
}

fn opening(criterion: &mut Criterion) {
    let large = ("100000 of 3 KB".to_owned(), 100_000, Texts::Large);
    let cases = SIZES.map(|size| (size.to_string(), size, texts(size))).into_iter().chain([large]);
    let mut group = criterion.benchmark_group("store/open");
    for (name, size, texts) in cases {
        let options = StackOptions::default().mirror(size <= 10_000);
        let folder = folder_of(&history_of(size, texts), &options);
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut time = Duration::ZERO;
                for _ in 0..iterations {
                    let start = Instant::now();
                    let stack = black_box(open(&folder, &options));
                    time += start.elapsed();
                    drop(stack);
                }
                time
            });
        });
    }
}

fn refresh(criterion: &mut Criterion) {
    let stack = open(&new_folder(), &StackOptions::default());
    stack.push(NewFrame::new("Build")).unwrap();
    criterion.benchmark_group("store/refresh").bench_function("nothing_new", |bencher| {
        bencher.iter(|| assert!(!stack.refresh().unwrap()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3)).sample_size(10);
    targets = push, refresh, opening, remove_folders
}
criterion_main!(benches);
