//! The sessions in the documents are true: each block of the language `console` is run, and its output is
//! compared.
//!
//! The test gives a line `$ command` to a shell. A line `> …` continues it, and the lines after it are the
//! expected output, of both streams. All blocks of a document are one session of one shell, which begins in
//! an empty folder. A document with the comment `<!-- stack: shop -->` begins with the stack of the history
//! and the logs in `cmd/shop/`, in `.callstack`. A document with the comment `<!-- model: shop -->` has a
//! model that answers from the script `cmd/shop.json`.
//!
//! `[..]` matches any text within a line, and a line `...` matches any lines. `[TIME]`, `[AGO]` and `[ID]`
//! stand for times and generated IDs. UPDATE_SESSIONS=1 writes the output of the commands into the documents.

// Only on Unix: the sessions use its shell.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

use callstack_core::{Stack, StackOptions};
use jsonschema::Validator;
use regex::Regex;
use scripted_model::ScriptedModel;
use serde_json::Value;
use snapbox::filter::NormalizeToExpected;
use snapbox::{IntoData, Redactions};

/// The shell writes this after the output of each command.
const END: &str = "--- end of a command ---";

/// A command of a document, and the place of its expected output in the document.
struct Step {
    command: String,
    /// The lines of the document that contain the output.
    output: std::ops::Range<usize>,
}

#[test]
fn the_sessions_of_the_documents_are_true() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![here.join("../docs/cli.md")];
    let own = fs::read_dir(here.join("tests/cmd")).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(own.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    documents.sort();
    documents.retain(|document| document.exists());
    let differences: Vec<String> = thread::scope(|scope| {
        let checks: Vec<_> = documents.iter().map(|document| scope.spawn(|| check(document))).collect();
        checks.into_iter().filter_map(|check| check.join().unwrap()).collect()
    });
    assert!(differences.is_empty(), "{}\nUPDATE_SESSIONS=1 writes the new output", differences.join("\n"));
}

/// Runs the session of a document. Returns the differences.
fn check(document: &Path) -> Option<String> {
    let text = fs::read_to_string(document).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let steps = steps(&lines);
    if steps.is_empty() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let named = |kind: &str| {
        let name = lines.iter().find_map(|line| line.strip_prefix(kind)?.strip_suffix(" -->"))?;
        Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd").join(name))
    };
    if let Some(stack) = named("<!-- stack: ") {
        build(&stack, &folder.path().join(".callstack"));
    }
    let script = named("<!-- model: ");
    if script.is_some() && cfg!(not(feature = "agent")) {
        return None;
    }
    let model = script.map(|script| {
        let script = fs::read(script.with_extension("json")).unwrap();
        ScriptedModel::serve(&serde_json::from_slice(&script).unwrap(), 0)
    });
    let mut outputs = run(&steps, folder.path(), model.as_ref());
    // A document cannot show that the last line has no end.
    for output in outputs.iter_mut().filter(|output| !output.is_empty() && !output.ends_with('\n')) {
        output.push('\n');
    }
    for (step, output) in steps.iter().zip(&outputs) {
        check_json(&step.command, output);
    }
    let redactions = redactions(folder.path());
    let mut updated: Vec<String> = Vec::new();
    let (mut written, mut differences) = (0, String::new());
    for (step, actual) in steps.iter().zip(&outputs) {
        let expected: String = lines[step.output.clone()].iter().map(|line| format!("{line}\n")).collect();
        let normalized = NormalizeToExpected::new()
            .redact_with(&redactions)
            .normalize(actual.as_str().into_data(), &expected.as_str().into_data())
            .render()
            .unwrap();
        if normalized != expected {
            differences.push_str(&format!(
                "{}:{}: $ {}\nexpected:\n{expected}\nfound:\n{normalized}\n",
                document.display(),
                step.output.start,
                step.command
            ));
        }
        updated.extend(lines[written..step.output.start].iter().map(|line| (*line).to_owned()));
        updated.extend(normalized.lines().map(str::to_owned));
        written = step.output.end;
    }
    updated.extend(lines[written..].iter().map(|line| (*line).to_owned()));
    if std::env::var_os("UPDATE_SESSIONS").is_some() {
        fs::write(document, updated.join("\n") + "\n").unwrap();
        return None;
    }
    Some(differences).filter(|differences| !differences.is_empty())
}

/// Builds a stack of a history, and of its logs, if it has logs.
fn build(from: &Path, stack: &Path) {
    let history = BufReader::new(File::open(from.join("history.jsonl")).unwrap());
    Stack::rebuild(stack, history, StackOptions::default()).unwrap().close().unwrap();
    let Ok(logs) = fs::read_dir(from.join("logs")) else { return };
    fs::create_dir(stack.join("logs")).unwrap();
    for log in logs {
        let log = log.unwrap().path();
        fs::copy(&log, stack.join("logs").join(log.file_name().unwrap())).unwrap();
    }
}

/// The commands in the blocks of a document.
fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_session = false;
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("```") {
            is_session = *line == "```console";
        } else if !is_session {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: number + 1..number + 1 });
        } else if let Some(step) = steps.last_mut() {
            match line.strip_prefix("> ").filter(|_| step.output.start == number) {
                Some(more) => {
                    step.command.push_str(&format!("\n{more}"));
                    step.output = number + 1..number + 1;
                }
                None => step.output.end = number + 1,
            }
        }
    }
    steps
}

/// Runs the commands in one shell. Returns the output of each. `model`: the model of agents.
fn run(steps: &[Step], folder: &Path, model: Option<&ScriptedModel>) -> Vec<String> {
    let script: String =
        steps.iter().map(|step| format!("{}\nstatus=$?\necho '{END}'\n(exit $status)\n", step.command)).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_callstack"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    // A command that never ends must not stop the tests.
    let mut shell = Command::new("timeout");
    shell.current_dir(folder).env("PATH", path.unwrap()).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    for variable in ["CALLSTACK_DIR", "CALLSTACK_PRICES", "COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        shell.env_remove(variable);
    }
    if let Some(model) = model {
        shell.env("CALLSTACK_MODEL", scripted_model::MODEL).env("CALLSTACK_BASE_URL", &model.base_url);
        shell.env("OPENAI_API_KEY", scripted_model::KEY).env("NO_PROXY", "127.0.0.1");
    }
    let mut shell =
        shell.args(["120", "sh", "-c", "exec sh 2>&1"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
    let output = shell.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let mut outputs: Vec<String> = output.split(&format!("{END}\n")).map(str::to_owned).collect();
    assert_eq!(outputs.pop().as_deref(), Some(""), "the shell ended before the session");
    assert_eq!(outputs.len(), steps.len(), "the outputs of the commands");
    outputs
}

/// Checks that each envelope in an output matches the schema of `callstack schema`.
fn check_json(command: &str, output: &str) {
    let values = serde_json::Deserializer::from_str(output).into_iter::<Value>().map_while(Result::ok);
    for envelope in values.filter(|value| value["schemaVersion"].is_number()) {
        let kind = envelope["kind"].as_str().unwrap();
        let validator =
            VALIDATORS.get(kind).unwrap_or_else(|| panic!("`callstack schema` lacks the kind {kind} of {command}"));
        let problems: Vec<String> = validator.iter_errors(&envelope).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "$ {command}\nis not what `callstack schema {kind}` says: {problems:#?}");
    }
}

/// The schemas of all kinds.
static VALIDATORS: LazyLock<BTreeMap<String, Validator>> = LazyLock::new(|| {
    let output = Command::new(env!("CARGO_BIN_EXE_callstack")).arg("schema").output().unwrap();
    let schemas: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).unwrap();
    schemas.into_iter().map(|(kind, schema)| (kind, jsonschema::validator_for(&schema).unwrap())).collect()
});

/// The values that differ from run to run.
fn redactions(folder: &Path) -> Redactions {
    let mut redactions = Redactions::new();
    let folder = folder.canonicalize().unwrap();
    redactions.insert("[FOLDER]", folder).unwrap();
    redactions.insert("[PORT]", Regex::new(r"127\.0\.0\.1:(?<redacted>\d+)").unwrap()).unwrap();
    redactions.insert("[ID]", Regex::new(r"\b(plan|run|host)-\d{13}-[0-9a-f]{16}\b").unwrap()).unwrap();
    redactions.insert("[AGO]", Regex::new(r"\b(\d+m )?\d+(\.\d+)?(ms|s) ago\b").unwrap()).unwrap();
    // The histories in cmd/ are of 2023 and earlier, and are compared.
    redactions
        .insert(
            "[TIME]",
            Regex::new(r"\b(1[89]\d{11}|17[7-9]\d{10})\b|\b20(2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d(:\d\d)?").unwrap(),
        )
        .unwrap();
    redactions
}
