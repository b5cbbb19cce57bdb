//! A workspace, a scripted model on loopback, and the program that connects them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use callstack_core::{Stack, StackOptions};
use rustix::process::{Pid, Signal, kill_process};
use scripted_model::{KEY, MODEL, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const WIRES: [&str; 2] = ["openai", "anthropic"];

/// A workspace, a scripted model, and the program that connects them.
pub struct Scene {
    pub model: ScriptedModel,
    pub folder: TempDir,
    pub wire: &'static str,
}

impl Scene {
    pub fn new(script: &Value, wire: &'static str) -> Self {
        Self { model: ScriptedModel::serve(script, 0), folder: TempDir::new().unwrap(), wire }
    }

    /// A scene whose script has one step for each tool call.
    pub fn of_calls(calls: &[(&str, Value)]) -> Self {
        let step = |(name, arguments): &(&str, Value)| json!({"calls": [{"name": name, "arguments": arguments}]});
        let steps: Vec<Value> = calls.iter().map(step).collect();
        Self::new(&json!({ "steps": steps }), "openai")
    }

    /// The results of the run; `None` if it has not ended.
    pub fn results(&self) -> Option<String> {
        let stack = Stack::open(self.path(".callstack"), StackOptions::default()).unwrap();
        let root = stack.read(|tree| tree.roots()[0]).unwrap();
        stack.frame(root).unwrap().results
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(["agent", "--model", MODEL, "--base-url", &self.model.base_url, "--wire", self.wire]);
        command.args(["--retry-delay", "1", "--dir"]).arg(self.folder.path()).args(more);
        command.env("PATH", path_with_pytest()).env("NO_PROXY", "127.0.0.1");
        command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another command of the program, for the stack of the workspace.
    pub fn callstack(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(arguments).arg("--stack").arg(self.path(".callstack")).stdin(Stdio::null()).output().unwrap()
    }

    pub fn stack(&self) -> Stack {
        Stack::open(self.path(".callstack"), StackOptions::default()).unwrap()
    }

    pub fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    pub fn start(&self, more: &[&str]) -> Child {
        self.command(more).spawn().unwrap()
    }

    /// Waits until the model has received this number of requests.
    pub fn wait_for_requests(&self, count: usize) {
        wait_until(&format!("{count} requests"), || self.model.requests().len() >= count);
    }

    /// The messages of a request, as JSON.
    pub fn messages(&self, request: usize) -> String {
        self.model.requests()[request]["messages"].to_string()
    }

    /// The newest message of a request, with the memory at its end.
    pub fn newest(&self, request: usize) -> String {
        let newest = self.model.requests()[request]["messages"].as_array().unwrap().last().unwrap().clone();
        match &newest["content"] {
            Value::String(text) => text.clone(),
            parts => {
                let last = parts.as_array().unwrap().last().unwrap();
                last["content"].as_str().or(last["text"].as_str()).unwrap().to_owned()
            }
        }
    }

    /// The answer to the only tool call of a step.
    pub fn answer(&self, step: usize) -> String {
        self.newest(step).split("\n\n<memory>").next().unwrap().to_owned()
    }
}

pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: nothing of the kind within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The search path with a `python` that has pytest: the one of `make test`, or the one of the system.
pub fn path_with_pytest() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin");
    if installed.join("python").exists() { format!("{}:{path}", installed.display()) } else { path }
}

pub fn script(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/agent/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

pub fn assert_tests_pass(folder: &Path, count: &str) {
    let mut tests = Command::new("python");
    tests.args(["-m", "pytest", "-q"]).current_dir(folder).env("PATH", path_with_pytest());
    let output = tests.output().expect("python is there; `make test` installs it with pytest");
    assert!(stdout(&output).contains(count), "{}\n{}", stdout(&output), stderr(&output));
}

/// The processes that were started with this command line.
pub fn running(command: &str) -> Vec<Pid> {
    let is_it = |process: &Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == command
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let id = |process: PathBuf| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?);
    processes.filter(|process| is_it(process)).filter_map(id).collect()
}
