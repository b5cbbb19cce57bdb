//! The formats of `callstack export`, from committed histories. The documents equal the ones in `formats/`,
//! the readers of other programs understand them, and their sums are the sums of `callstack usage`.
//!
//! UPDATE_GOLDEN=1 writes the documents in `formats/`.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callstack_core::frame::ModelRequest;
use callstack_core::{NewFrame, Stack, StackOptions};
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The stacks of the sessions in `cmd/`.
const STACKS: [&str; 3] = ["flame", "shop", "steered"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the stack of a history, and of its logs, if it has logs.
fn stack(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = here().join("tests/cmd").join(name);
    let history = BufReader::new(File::open(source.join("history.jsonl")).unwrap());
    Stack::rebuild(folder.path(), history, StackOptions::default()).unwrap().close().unwrap();
    if let Ok(logs) = fs::read_dir(source.join("logs")) {
        fs::create_dir(folder.path().join("logs")).unwrap();
        for log in logs {
            let log = log.unwrap().path();
            fs::copy(&log, folder.path().join("logs").join(log.file_name().unwrap())).unwrap();
        }
    }
    folder
}

fn run(stack: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    let output =
        command.args(arguments).env("CALLSTACK_DIR", stack).env("TZ", "UTC").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn export(stack: &Path, format: &str, more: &[&str]) -> Value {
    serde_json::from_str(&run(stack, &[&["export", "--format", format], more].concat())).unwrap()
}

/// The sums of a stack over all models, by the names in the JSON of `callstack usage`.
struct Usage(Value);

impl Usage {
    fn of(stack: &Path) -> Self {
        let envelope: Value = serde_json::from_str(&run(stack, &["usage", "--json"])).unwrap();
        Self(envelope["data"]["total"]["models"].clone())
    }

    fn sum(&self, keys: &[&str]) -> u64 {
        let models = self.0.as_array().unwrap();
        models.iter().flat_map(|model| keys.iter().map(|key| model[*key].as_u64().unwrap())).sum()
    }

    fn input(&self) -> u64 {
        self.sum(&["uncachedInput", "cacheRead", "cacheWrite"])
    }

    fn answers(&self) -> u64 {
        self.sum(&["output", "reasoning"])
    }
}

/// Compares a document with a committed document. The name of the committed document is relative to this
/// package.
fn assert_golden(name: &str, document: &str) {
    let path: PathBuf = here().join(name);
    let document = document.replace(concat!("callstack ", env!("CARGO_PKG_VERSION")), "callstack VERSION");
    let document = document.replace(concat!('"', env!("CARGO_PKG_VERSION"), '"'), "\"VERSION\"");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &document).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(document.lines()).position(|(expected, found)| expected != found);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(document.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    assert!(
        expected == document,
        "{name}:{}: expected\n{}\nfound\n{}\nUPDATE_GOLDEN=1 writes the new document",
        line + 1,
        at(&expected),
        at(&document)
    );
}

fn assert_golden_json(name: &str, document: &Value) {
    assert_golden(name, &(serde_json::to_string_pretty(document).unwrap() + "\n"));
}

/// The history comes from a run of `make demo`. To renew the history, export the events of another run.
#[test]
fn the_picture_of_the_readme_is_the_run_of_the_demo() {
    assert_golden("../docs/demo.svg", &run(stack("demo").path(), &["export", "--format", "svg"]));
}

#[test]
fn documents_are_the_committed_ones() {
    let flame = stack("flame");
    assert_golden("tests/formats/flame.svg", &run(flame.path(), &["export", "--format", "svg"]));
    assert_golden_json("tests/formats/flame.speedscope.json", &export(flame.path(), "speedscope", &[]));
    assert_golden_json("tests/formats/browsers.chrome.json", &export(flame.path(), "chrome", &["--frame", "f21"]));
    assert_golden_json("tests/formats/payment.otlp.json", &export(flame.path(), "otlp", &["--frame", "f6"]));
    assert_golden_json("tests/formats/browsers.atif.json", &export(flame.path(), "atif", &["--frame", "f21"]));
    assert_golden_json("tests/formats/shop.atif.json", &export(stack("shop").path(), "atif", &[]));
}

#[test]
fn a_file_and_an_envelope_have_the_same_document() {
    let flame = stack("flame");
    for format in ["svg", "speedscope", "chrome", "otlp", "atif"] {
        let piped = run(flame.path(), &["export", "--format", format]);
        let file = flame.path().with_extension(format);
        run(flame.path(), &["export", "--format", format, file.to_str().unwrap()]);
        let written = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(written.trim_end(), piped.trim_end(), "{format} in a file and in a pipe");
        let envelope: Value =
            serde_json::from_str(&run(flame.path(), &["export", "--format", format, "--json"])).unwrap();
        let document = &envelope["data"]["document"];
        let expected = if format == "svg" { json!(piped) } else { serde_json::from_str(&piped).unwrap() };
        assert_eq!(*document, expected, "{format} in an envelope");
        assert_eq!(envelope["data"]["format"], format);
    }
}

#[test]
fn speedscope_and_chrome_have_the_sums_of_the_usage() {
    for name in STACKS {
        let stack = stack(name);
        let usage = Usage::of(stack.path());
        let speedscope = export(stack.path(), "speedscope", &[]);
        let tokens = speedscope["profiles"].as_array().unwrap().last().unwrap();
        assert_eq!(tokens["endValue"], usage.input() + usage.answers(), "the tokens of {name}");
        let chrome = export(stack.path(), "chrome", &[]);
        for key in ["uncachedInput", "cacheRead", "cacheWrite", "output", "reasoning"] {
            let events = chrome["traceEvents"].as_array().unwrap().iter();
            let requests: u64 =
                events.filter(|event| event["cat"] == "request").filter_map(|event| event["args"][key].as_u64()).sum();
            assert_eq!(requests, usage.sum(&[key]), "{key} of the requests of {name}");
            assert_eq!(chrome["otherData"]["usage"][key], usage.sum(&[key]), "{key} of the whole trace of {name}");
        }
    }
}

#[test]
fn the_reader_of_opentelemetry_understands_every_value_and_finds_the_sums_of_the_usage() {
    for name in STACKS {
        let stack = stack(name);
        let usage = Usage::of(stack.path());
        let exported = export(stack.path(), "otlp", &[]);
        let read: TracesData = serde_json::from_value(exported.clone()).unwrap();
        let again = serde_json::to_value(&read).unwrap();
        if let Some(difference) = lost(&exported, &again) {
            panic!("the reader has another value than the export of {name} at {difference}");
        }
        let spans: Vec<&Span> = read
            .resource_spans
            .iter()
            .flat_map(|resource| &resource.scope_spans)
            .flat_map(|scope| &scope.spans)
            .collect();
        for kind in ["chat", "invoke_agent"] {
            let sum = |key: &str| -> u64 {
                let own = spans.iter().filter(|span| text(span, "gen_ai.operation.name") == Some(kind));
                own.filter_map(|span| integer(span, key)).sum()
            };
            assert_eq!(sum("gen_ai.usage.input_tokens"), usage.input(), "input of the {kind} spans of {name}");
            assert_eq!(sum("gen_ai.usage.output_tokens"), usage.answers(), "output of the {kind} spans of {name}");
            assert_eq!(
                sum("gen_ai.usage.cache_read.input_tokens"),
                usage.sum(&["cacheRead"]),
                "{kind} spans of {name}"
            );
            assert_eq!(
                sum("gen_ai.usage.cache_creation.input_tokens"),
                usage.sum(&["cacheWrite"]),
                "{kind} spans of {name}"
            );
            assert_eq!(
                sum("gen_ai.usage.reasoning.output_tokens"),
                usage.sum(&["reasoning"]),
                "{kind} spans of {name}"
            );
        }
        for span in spans {
            assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8), "IDs of {}", span.name);
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{} ends before it begins", span.name);
        }
    }
}

fn value<'a>(span: &'a Span, key: &str) -> Option<&'a any_value::Value> {
    span.attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?.value.as_ref()
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    match value(span, key)? {
        any_value::Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn integer(span: &Span, key: &str) -> Option<u64> {
    match value(span, key)? {
        any_value::Value::IntValue(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// The path of a value that the second document does not have.
fn lost(expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected.iter().find_map(|(key, value)| {
            let inner = lost(value, found.get(key).unwrap_or(&Value::Null))?;
            Some(format!("{key}.{inner}"))
        }),
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let pairs = expected.iter().zip(found).enumerate();
            pairs.into_iter().find_map(|(place, (expected, found))| Some(format!("{place}.{}", lost(expected, found)?)))
        }
        _ => (expected != found).then(|| format!(" {expected}, read as {found}")),
    }
}

#[test]
fn the_models_of_harbor_understand_trajectories_and_find_the_sums_of_the_usage() {
    let python = here().join("../target/tools/python/bin/python");
    for name in STACKS {
        let stack = stack(name);
        let usage = Usage::of(stack.path());
        let document = run(stack.path(), &["export", "--format", "atif"]);
        let mut reader = Command::new(&python)
            .arg(here().join("tests/formats/read_trajectory.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{error}: `make trajectory-reader` installs the reader"));
        reader.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
        let output = reader.wait_with_output().unwrap();
        assert!(output.status.success(), "the trajectory of {name}: {}", String::from_utf8_lossy(&output.stderr));
        let expected = format!("{} {} {}\n", usage.input(), usage.answers(), usage.sum(&["cacheRead"]));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "the sums of {name}");
    }
}

#[test]
fn the_messages_and_calls_of_a_log_are_steps() {
    let shop = stack("shop");
    let trajectory = export(shop.path(), "atif", &["--frame", "ses_cart"]);
    let steps = trajectory["steps"].as_array().unwrap();
    let calls: Vec<&Value> = steps.iter().filter_map(|step| step["tool_calls"].as_array()).flatten().collect();
    let names: Vec<&Value> = calls.iter().map(|call| &call["function_name"]).collect();
    assert_eq!(names, ["read", "run_command"], "{trajectory:#}");
    assert_eq!(calls[1]["arguments"], json!({"command": "cargo test"}), "the arguments of a run are a text");
    let answered = steps.iter().find(|step| step["tool_calls"][0]["function_name"] == "run_command").unwrap();
    let result = &answered["observation"]["results"][0];
    assert_eq!(*result, json!({"source_call_id": "call_1", "content": "error: the totals are wrong"}));
}

#[test]
fn answers_in_a_log_have_the_metrics_of_their_requests_if_there_are_as_many() {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let frame = stack.push(NewFrame::new("Taxes")).unwrap();
    for (output, failed) in [(10, false), (0, true), (20, false)] {
        stack.record_usage(frame, ModelRequest { output, failed, ..ModelRequest::new("small") }).unwrap();
    }
    let said = |text: &str| json!({"role": "assistant", "text": text});
    stack.log(frame).append(&[said("I look"), json!({"role": "user", "text": "Go on"}), said("Done")]).unwrap();
    let steps = || {
        let trajectory = export(folder.path(), "atif", &[]);
        let steps = trajectory["steps"].as_array().unwrap().clone();
        let answers = steps.into_iter().filter(|step| step["source"] == "agent");
        let mut answers: Vec<(String, Option<u64>)> = answers
            .map(|step| (step["message"].as_str().unwrap().to_owned(), step["metrics"]["completion_tokens"].as_u64()))
            .collect();
        answers.sort();
        answers
    };
    let joined = [(String::new(), Some(0)), ("Done".to_owned(), Some(20)), ("I look".to_owned(), Some(10))];
    assert_eq!(steps(), joined, "the failed request is a step of its own");
    stack.log(frame).append(&[said("Really done")]).unwrap();
    let apart: Vec<Option<u64>> = steps().into_iter().map(|(_, tokens)| tokens).collect();
    assert_eq!(apart, [Some(0), Some(10), Some(20), None, None, None], "it is not known which belong together");
}

#[test]
fn a_log_that_cannot_be_read_is_said_and_the_rest_is_exported() {
    let shop = stack("shop");
    fs::remove_dir_all(shop.path().join("logs")).unwrap();
    fs::create_dir_all(shop.path().join("logs/ses_cart.jsonl")).unwrap();
    let trajectory = export(shop.path(), "atif", &["--frame", "ses_cart"]);
    let notes = trajectory["notes"].as_str().unwrap_or_default();
    assert!(notes.starts_with("The log of the frame cannot be read: "), "{trajectory:#}");
}

#[test]
fn imported_requests_without_times_are_in_the_sums() {
    let (shop, folder) = (stack("shop"), tempfile::tempdir().unwrap());
    let usage = Usage::of(shop.path());
    let state = folder.path().join("state.json");
    run(shop.path(), &["export", state.to_str().unwrap()]);
    let copy = folder.path().join("copy");
    run(&copy, &["import", state.to_str().unwrap(), "--new"]);
    assert_eq!(export(&copy, "chrome", &[])["otherData"]["usage"]["cacheRead"], usage.sum(&["cacheRead"]));
    let speedscope = export(&copy, "speedscope", &[]);
    assert_eq!(speedscope["profiles"].as_array().unwrap().last().unwrap()["endValue"], usage.input() + usage.answers());
    let otlp: TracesData = serde_json::from_value(export(&copy, "otlp", &[])).unwrap();
    let spans = otlp.resource_spans.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans);
    assert_eq!(spans.filter_map(|span| integer(span, "gen_ai.usage.input_tokens")).sum::<u64>(), usage.input());
    let atif = export(&copy, "atif", &[]);
    let embedded = atif["subagent_trajectories"].as_array().unwrap();
    let steps = [&atif].into_iter().chain(embedded).flat_map(|trajectory| trajectory["steps"].as_array().unwrap());
    let imported: Vec<&Value> = steps.filter(|step| step["extra"]["imported"] == true).collect();
    let sum = imported.iter().filter_map(|step| step["metrics"]["prompt_tokens"].as_u64()).sum::<u64>();
    assert_eq!(sum, usage.input(), "{imported:?}");
}

#[cfg(unix)]
#[test]
fn events_are_imported_from_a_file_from_the_standard_input_and_from_a_pipe_with_a_name() {
    let (shop, folder) = (stack("shop"), tempfile::tempdir().unwrap());
    let events = folder.path().join("events.jsonl");
    run(shop.path(), &["export", "--format", "events", events.to_str().unwrap()]);
    let history = fs::read_to_string(&events).unwrap();
    for (name, file) in [("file", events.to_str().unwrap()), ("input", "-"), ("pipe", "/dev/stdin")] {
        let copy = folder.path().join(name);
        let mut program = Command::new(env!("CARGO_BIN_EXE_callstack"))
            .args(["import", "--new", file])
            .env("CALLSTACK_DIR", &copy)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = program.stdin.take().unwrap();
        if name != "file" {
            input.write_all(history.as_bytes()).unwrap();
        }
        drop(input);
        assert!(program.wait().unwrap().success(), "from a {name}");
        let exported = folder.path().join(format!("{name}.jsonl"));
        run(&copy, &["export", "--format", "events", exported.to_str().unwrap()]);
        assert_eq!(fs::read_to_string(exported).unwrap(), history, "from a {name}");
    }
}
