//! What commands and opening cost on disk. The folders are made where the system keeps temporary
//! files, unless `CALLSTACK_BENCH_FOLDER` names another place.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::hint::black_box;
use std::time::{Duration, Instant};

use callstack_core::{
    Command, Durability, Frame, FrameStatus, Handle, MemoryStore, NewFrame, PopStatus, Stack, StackOptions,
};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tempfile::TempDir;
use trees::Texts;

const SIZES: [usize; 3] = [63, 10_000, 100_000];

fn folder() -> TempDir {
    match std::env::var_os("CALLSTACK_BENCH_FOLDER") {
        Some(place) => TempDir::new_in(place).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

/// 3 KB a frame up to 10,000 frames, 300 bytes above.
fn texts(size: usize) -> Texts {
    if size > 10_000 { Texts::Small } else { Texts::Large }
}

/// A folder with a tree of this size, and the history that led to it: every frame pushed, its
/// artifacts and decisions added one by one, and popped.
fn folder_of(size: usize, texts: Texts, options: &StackOptions) -> TempDir {
    let finished = trees::full(size, 8, texts);
    let worked = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let frames = finished.state().frames;
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
        worked.pop(Handle::from_index(index).unwrap(), PopStatus::Completed, results, compacted).unwrap();
    }
    let mut history = Vec::new();
    worked.export_history(&mut history).unwrap();
    let folder = folder();
    Stack::rebuild(folder.path(), history.as_slice(), options.clone()).unwrap().close().unwrap();
    folder
}

fn push(criterion: &mut Criterion) {
    let without_mirror = StackOptions { mirror: false, ..StackOptions::default() };
    let full = StackOptions { durability: Durability::Full, ..without_mirror.clone() };
    for (name, options, sizes) in [
        ("store/push", without_mirror, &SIZES[..]),
        ("store/push_mirrored", StackOptions::default(), &SIZES[..]),
        ("store/push_full", full, &SIZES[..1]),
    ] {
        let mut group = criterion.benchmark_group(name);
        for &size in sizes {
            let folder = folder_of(size, texts(size), &options);
            let stack = Stack::open(folder.path(), options.clone()).unwrap();
            let parent = stack.resolve(trees::id(size - 1)).unwrap();
            let parents: Vec<Handle> = std::iter::once(parent).chain(stack.ancestors(parent).unwrap()).collect();
            let mut number = 0;
            group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
                bencher.iter_custom(|iterations| {
                    let commands: Vec<Command> = (0..iterations)
                        .map(|_| {
                            number += 1;
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
                });
            });
            if let Some(status) = stack.mirror_status() {
                assert_eq!(status.error, None, "the mirror was written");
            }
        }
    }
}

fn open(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("store/open");
    for size in SIZES {
        let folder = folder_of(size, texts(size), &StackOptions::default());
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut time = Duration::ZERO;
                for _ in 0..iterations {
                    let start = Instant::now();
                    let stack = black_box(Stack::open(folder.path(), StackOptions::default()).unwrap());
                    time += start.elapsed();
                    drop(stack);
                }
                time
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3)).sample_size(10);
    targets = open, push
}
criterion_main!(benches);
