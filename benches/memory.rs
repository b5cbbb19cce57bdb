//! Benchmarks runs: the messages of a step, and durable pushes and pops.
//!
//! As in `store.rs`, folders are created in the system's folder for temporary files, or in `CALLSTACK_BENCH_FOLDER`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use callstack_core::frame::{MemoryModel, NewChunk, Register, RunSettings, ToolCall};
use callstack_core::memory::{NewRun, Next, Operation, Reply};
use callstack_core::{Handle, Mirroring, Stack, StackOptions};
use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;

fn start(stack: &Stack) -> Handle {
    let settings = RunSettings::default().memory(MemoryModel::Registers);
    stack.start_run(NewRun::new("Build a calculator with tests").settings(settings)).unwrap()
}

fn reply(stack: &Stack, run: Handle, name: &str) -> String {
    let call = ToolCall { name: name.into(), arguments: r#"{"path": "src/calc.py"}"#.into(), ..ToolCall::default() };
    stack.run(run).reply(Reply::new("I look at the file first.", vec![call])).unwrap();
    let Next::Call(call) = stack.run(run).next().unwrap() else { panic!("a call is next") };
    call.id
}

/// Measures the messages of a step. The frame has 100 messages, half of them answers of 2,000 characters. 20
/// chunks fill the heap, and the registers are full.
fn messages(criterion: &mut Criterion) {
    let stack = Stack::in_memory();
    let run = start(&stack);
    for chunk in 0..20 {
        let content = "def add(a, b): ...; tested\n".repeat(9);
        stack
            .heap(run)
            .allocate(NewChunk::new(format!("chunk-{chunk}")).content(content).description("signatures"))
            .unwrap();
    }
    let full = Register::ALL.iter().map(|register| (*register, "a note to work by, ".repeat(60)));
    stack.update_registers(run, full.collect()).unwrap();
    while stack.read(|tree| tree.node(run).conversation().map_or(0, |own| own.messages().len())).unwrap() < 100 {
        let call = reply(&stack, run, "read_file");
        stack.run(run).answer(&call, "def add(a, b):\n    return a + b\n".repeat(63), false).unwrap();
    }
    criterion.bench_function("memory/messages/100", |bencher| {
        bencher.iter(|| black_box(stack.run(black_box(run)).next().unwrap()));
    });
}

fn folder() -> TempDir {
    match std::env::var_os("CALLSTACK_BENCH_FOLDER") {
        Some(place) => TempDir::new_in(place).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

fn push() -> Operation {
    Operation::Push {
        name: "write-tests".into(),
        objective: "Create test_calc.py with pytest tests for all functions of calc.py; all pass".into(),
        context: "calc.py has add, subtract, multiply and divide".into(),
        return_spec: "number of tests, results, problems met".into(),
    }
}

/// Measures a push and a pop including everything that they write to the disk: the events, the logs of the
/// frames, and, in the variant `_mirrored`, the mirror.
fn durable(criterion: &mut Criterion) {
    for (suffix, mirror) in [("", Mirroring::Off), ("_mirrored", Mirroring::WithCommands)] {
        let folder = folder();
        let stack = Stack::open(folder.path(), StackOptions::default().mirror(mirror)).unwrap();
        let run = start(&stack);
        let timed = |name: &str, operation: Operation| {
            let call = reply(&stack, run, name);
            let begin = Instant::now();
            stack.run(run).operate(&call, Ok(operation)).unwrap();
            begin.elapsed()
        };
        let pop = || Operation::Pop {
            result: "9 tests pass, no problems met".into(),
            artifacts: vec!["test_calc.py".into()],
            decisions: Vec::new(),
        };
        let total = |pick: fn(Duration, Duration) -> Duration, count: u64| {
            let times = (0..count).map(|_| {
                let pushed = timed("push_frame", push());
                pick(pushed, timed("pop_frame", pop()))
            });
            times.sum::<Duration>()
        };
        criterion.bench_function(&format!("memory/push{suffix}"), |bencher| {
            bencher.iter_custom(|count| total(|pushed, _| pushed, count));
        });
        criterion.bench_function(&format!("memory/pop{suffix}"), |bencher| {
            bencher.iter_custom(|count| total(|_, popped| popped, count));
        });
    }
}

fn config() -> Criterion {
    // Every iteration adds a frame to the tree. A short benchmark keeps the tree small.
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
}

criterion_group! { name = benches; config = config(); targets = messages, durable }
criterion_main!(benches);
