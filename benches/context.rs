//! Benchmarks contexts: without the cache for several tree sizes, from the cache, with many siblings, with
//! many ancestors. It also benchmarks the copy of a context's bytes, which is the lower limit.

#[allow(dead_code, reason = "each bench uses some of the shapes")]
mod trees;

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use callstack_core::{Handle, Settings, Stack, StackOptions, Tree};
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use trees::Texts;

fn cold(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("context/cold");
    for count in [63, 1_000, 10_000, 100_000, 1_000_000] {
        let texts = if count <= 10_000 { Texts::Large } else { Texts::Small };
        uncached(&mut group, count, || trees::full(count, 8, texts));
    }
}

/// Measures the context of a frame that has the same depth, and as many frames beside and above it, as the one
/// in [`cold`] has, in a tree of only these frames.
fn path(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("context/path");
    for count in [10_000, 1_000_000] {
        let texts = if count <= 10_000 { Texts::Large } else { Texts::Small };
        uncached(&mut group, count, || trees::path(count, 8, texts));
    }
}

/// Measures the context of the last frame of a tree. The tree is created only if this benchmark is selected.
fn uncached(group: &mut BenchmarkGroup<'_, WallTime>, parameter: usize, make: impl Fn() -> Stack) {
    let stack = LazyCell::new(make);
    let settings = Settings::default();
    group.bench_function(BenchmarkId::from_parameter(parameter), |bencher| {
        let frame = stack.read(|tree| tree.handles().last().unwrap()).unwrap();
        bencher.iter(|| stack.context_uncached(black_box(frame), &settings).unwrap());
    });
}

/// Measures the context of another frame each time, all over the tree.
fn tour(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("context/tour");
    let settings = Settings::default();
    for count in [1_000, 100_000] {
        let stack = LazyCell::new(|| trees::full(count, 8, Texts::Small));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            let frames: Vec<Handle> = stack.read(|tree| tree.handles().collect()).unwrap();
            // A step that has no factor in common with the number of frames visits all of them before it
            // visits any frame twice.
            let mut places = (0..).map(|step: usize| step * 38_197 % frames.len());
            bencher.iter(|| stack.context_uncached(frames[places.next().unwrap()], &settings).unwrap());
        });
    }
}

fn shapes(criterion: &mut Criterion) {
    uncached(&mut criterion.benchmark_group("context/wide"), 10_000, || trees::wide(10_000));
    uncached(&mut criterion.benchmark_group("context/deep"), 1_000, || trees::deep(1_000));
}

/// Measures the first context of a tree, when no frame is rendered and no sibling is indexed yet.
fn first(criterion: &mut Criterion) {
    let state = trees::full(63, 8, Texts::Large).read(Tree::state).unwrap();
    let settings = Settings::default();
    criterion.benchmark_group("context/first").bench_function(BenchmarkId::from_parameter(63), |bencher| {
        bencher.iter_batched(
            || Stack::from_state(state.clone(), StackOptions::default()).0,
            |stack| {
                let frame = stack.read(|tree| tree.handles().last().unwrap()).unwrap();
                (stack.context_uncached(frame, &settings).unwrap(), stack)
            },
            BatchSize::LargeInput,
        );
    });
}

fn cached_and_limit(criterion: &mut Criterion) {
    let stack = trees::full(63, 8, Texts::Large);
    let (id, settings) = (trees::id(62), Settings::default());
    let frame = stack.resolve(&id).unwrap();
    let bytes = stack.context(&id, &settings).unwrap().xml.clone();
    println!("the context of 63 frames has {} bytes", bytes.len());
    criterion.benchmark_group("context/cached").bench_function(BenchmarkId::from_parameter(63), |bencher| {
        bencher.iter(|| stack.context(black_box(frame), &settings).unwrap());
    });
    criterion.benchmark_group("limit/copy").bench_function(BenchmarkId::from_parameter(63), |bencher| {
        bencher.iter(|| black_box(&bytes).clone());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = cached_and_limit, cold, path, tour, shapes, first
}
criterion_main!(benches);
