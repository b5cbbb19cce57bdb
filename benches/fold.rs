//! Benchmarks of folding, for each wire: requests of 100 KB and of a megabyte in which thirty frames
//! have ended, the same requests without a frame, and a request of 50 MB, for the growth. `limit`
//! copies the bytes.

use std::hint::black_box;

use callstack_core::fold::{FoldSettings, Wire, fold};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};

/// Number of frames that have ended.
const FRAMES: usize = 30;
/// Steps of each frame: calls of a shell with their outputs.
const STEPS: usize = 5;

/// The output of a command: lines like those of a program, with quotes and line ends, which JSON escapes.
fn output(length: usize, seed: usize) -> String {
    let lines = (0..).map(|line| format!("    let value_{line} = \"module {seed}\"; // {}\n", line * 7919 % 997));
    let mut text = String::with_capacity(length + 64);
    for line in lines {
        if text.len() >= length {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// A call, its arguments and its outcome.
type Step = (&'static str, Value, String);

fn steps(bytes: usize, has_frames: bool) -> Vec<Step> {
    let length = bytes / (FRAMES * STEPS);
    let mut steps = Vec::new();
    for frame in 1..=FRAMES {
        let name = format!("f{frame} (Area {frame})");
        if has_frames {
            steps.push((
                "push",
                json!({ "title": name }),
                format!("{name} has begun: work in it now.\nYou are in {name}."),
            ));
        }
        for step in 0..STEPS {
            steps.push(("Bash", json!({ "command": format!("cat data/{frame}-{step}.txt") }), output(length, frame)));
        }
        if has_frames {
            let results = json!({ "status": "completed", "results": format!("Area {frame} is read; nothing failed.") });
            steps.push(("pop", results, format!("{name} is completed.\nYou are in no frame.")));
        }
    }
    steps
}

/// A request of a wire in which an agent has done these steps.
fn request(wire: Wire, steps: &[Step]) -> String {
    let mut items = Vec::new();
    let is_served = |name: &str| name != "Bash";
    let full = |name: &str, prefix: &str| if is_served(name) { format!("{prefix}{name}") } else { name.to_owned() };
    for (number, (name, arguments, answer)) in steps.iter().enumerate() {
        let id = format!("call_{number}");
        match wire {
            Wire::Anthropic => {
                let call =
                    json!({ "type": "tool_use", "id": id, "name": full(name, "mcp__callstack__"), "input": arguments });
                items.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "I go on." }, call] }));
                let outcome = json!({ "type": "tool_result", "tool_use_id": id, "content": answer });
                items.push(json!({ "role": "user", "content": [outcome] }));
            }
            Wire::Responses => {
                let namespace = if is_served(name) { "mcp__callstack" } else { "" };
                items.push(json!({ "type": "function_call", "call_id": id, "namespace": namespace, "name": name, "arguments": arguments.to_string() }));
                items.push(json!({ "type": "function_call_output", "call_id": id, "output": answer }));
            }
            Wire::Chat => {
                let function = json!({ "name": full(name, "callstack-"), "arguments": arguments.to_string() });
                let calls = json!([{ "id": id, "type": "function", "function": function }]);
                items.push(json!({ "role": "assistant", "content": "I go on.", "tool_calls": calls }));
                items.push(json!({ "role": "tool", "tool_call_id": id, "content": answer }));
            }
            _ => {
                let name = full(name, "mcp_callstack_");
                let call = json!({ "functionCall": { "name": name, "args": arguments }, "thoughtSignature": "c2ln" });
                items.push(json!({ "role": "model", "parts": [call] }));
                let response = json!({ "functionResponse": { "name": name, "response": { "output": answer } } });
                items.push(json!({ "role": "user", "parts": [response] }));
            }
        }
    }
    let key = match wire {
        Wire::Responses => "input",
        Wire::Gemini => "contents",
        _ => "messages",
    };
    let first = match wire {
        Wire::Gemini => json!({ "role": "user", "parts": [{ "text": "Read all areas." }] }),
        _ => json!({ "role": "user", "content": "Read all areas." }),
    };
    items.insert(0, first);
    json!({ "model": "m", key: items }).to_string()
}

fn folds(criterion: &mut Criterion) {
    let settings = FoldSettings::default();
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
        let mut group = criterion.benchmark_group(format!("fold/{wire}"));
        for (name, bytes) in [("100k", 100_000), ("1m", 1_000_000)] {
            for (group_name, has_frames) in [(name.to_owned(), true), (format!("{name}/nothing"), false)] {
                let request = request(wire, &steps(bytes, has_frames));
                group.throughput(Throughput::Bytes(request.len() as u64));
                group.bench_function(BenchmarkId::from_parameter(group_name), |bencher| {
                    bencher.iter(|| fold(wire, black_box(&request), &settings).text.len());
                });
            }
        }
        group.finish();
    }
    let mut group = criterion.benchmark_group("fold/anthropic");
    group.sample_size(10);
    let request = request(Wire::Anthropic, &steps(50_000_000, true));
    group.throughput(Throughput::Bytes(request.len() as u64));
    group.bench_function("50m", |bencher| {
        bencher.iter(|| fold(Wire::Anthropic, black_box(&request), &settings).text.len())
    });
    group.finish();
    let request = self::request(Wire::Anthropic, &steps(1_000_000, true));
    criterion.bench_function("limit/copy/request", |bencher| bencher.iter(|| black_box(&request).clone()));
}

criterion_group!(benches, folds);
criterion_main!(benches);
