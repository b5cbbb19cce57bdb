//! Benchmarks commands on small and large trees.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::hint::black_box;
use std::time::{Duration, Instant};

use callstack_core::{
    Frame, FrameStatus, Handle, NewFrame, NewHold, PopStatus, Results, Stack, StackOptions, StackState,
};
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use trees::Texts;

/// Measures `run` on trees of `size` frames, with `size / 10` commands per tree, so that the tree keeps
/// approximately its size. Smaller numbers of commands are not measured: immediately after the creation of a
/// tree they would measure cold CPU caches.
///
/// Trees are not freed, because the allocator would merge the freed blocks during the next measurement.
fn on_trees(criterion: &mut Criterion, name: &str, mut run: impl FnMut(&Stack, u64, u64) -> Duration) {
    let mut group = criterion.benchmark_group(name);
    for size in [1_000, 100_000] {
        let commands = size as u64 / 10;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter_custom(|iterations| {
                let rounds = iterations.div_ceil(commands).min(20);
                let mut time = Duration::ZERO;
                for _ in 0..rounds {
                    let stack = trees::full(size, 8, Texts::Small);
                    time += run(&stack, commands, size as u64);
                    std::mem::forget(stack);
                }
                time.mul_f64(iterations as f64 / (rounds * commands) as f64)
            });
        });
    }
}

fn new_frame(number: u64, parent: Handle) -> NewFrame {
    NewFrame::new("Parse the configuration")
        .id(format!("ses_new_{number:016}"))
        .criteria("All options of the file are read, unknown ones are reported with their line")
        .criteria_compacted("All options read, unknown ones reported")
        .below(parent)
}

/// Returns the frames that can get children: the last frame and its ancestors.
fn parents(stack: &Stack, size: u64) -> Vec<Handle> {
    let last = stack.resolve(trees::id(size as usize - 1)).unwrap();
    let mut parents = stack.read(|tree| tree.ancestors(last).collect::<Vec<_>>()).unwrap();
    parents.push(last);
    parents
}

fn push_and_plan(criterion: &mut Criterion) {
    for (name, add) in [("ops/push", Stack::push as fn(&Stack, NewFrame) -> _), ("ops/plan", Stack::plan)] {
        on_trees(criterion, name, |stack, count, size| {
            let parents = parents(stack, size);
            let frames: Vec<NewFrame> =
                (0..count).map(|number| new_frame(number, parents[number as usize % parents.len()])).collect();
            let start = Instant::now();
            for frame in frames {
                black_box(add(stack, frame).unwrap());
            }
            start.elapsed()
        });
    }
}

fn pop(criterion: &mut Criterion) {
    on_trees(criterion, "ops/pop", |stack, count, size| {
        let parents = parents(stack, size);
        let pushed: Vec<Handle> = (0..count)
            .map(|number| stack.push(new_frame(number, parents[number as usize % parents.len()])).unwrap())
            .collect();
        let start = Instant::now();
        for handle in pushed {
            let results = "The parser reads all options; see src/config.rs";
            black_box(
                stack.pop(handle, PopStatus::Completed, Results::new(results).compacted("src/config.rs")).unwrap(),
            );
        }
        start.elapsed()
    });
}

/// A planned tree with this number of frames, each with eight children.
fn planned(count: usize) -> StackState {
    let frames: Vec<Frame> = (0..count)
        .map(|index: usize| Frame {
            session_id: trees::id(index),
            parent_session_id: index.checked_sub(1).map(|index| trees::id(index / 8)),
            status: FrameStatus::Planned,
            title: "Planned".into(),
            created_at: 1,
            planned_children: Some(
                (index * 8 + 1..=index * 8 + 8).filter(|child| *child < count).map(trees::id).collect(),
            ),
            ..Frame::default()
        })
        .collect();
    StackState { frames, root_frame_ids: vec![trees::id(0)], revision: 1, ..StackState::default() }
}

fn invalidate(criterion: &mut Criterion) {
    let count = 10_000;
    let state = planned(count);
    criterion.benchmark_group("ops/invalidate").bench_function(BenchmarkId::from_parameter(count), |bencher| {
        bencher.iter_batched(
            || Stack::from_state(state.clone(), StackOptions::default()).0,
            |stack| {
                stack.invalidate(trees::id(0).as_str(), "the plan has changed").unwrap();
                stack
            },
            BatchSize::PerIteration,
        );
    });
}

/// The first hold of a process among many planned frames: it makes the index of what is next. The planned
/// frames that have children wait.
fn hold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hold");
    for count in [1_000, 10_000] {
        let state = planned(count);
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter_batched(
                || Stack::from_state(state.clone(), StackOptions::default()).0,
                |stack| {
                    stack.work().hold(NewHold::new("worker", 60_000)).unwrap().unwrap();
                    stack
                },
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3)).sample_size(20);
    targets = push_and_plan, pop, invalidate, hold
}
criterion_main!(benches);
