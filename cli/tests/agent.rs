//! Tests of `callstack agent`: they run the program with a scripted model on loopback.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use callstack_core::{Stack, StackOptions};
use rustix::process::{Pid, Signal, kill_process};
use scripted_model::{Fault, KEY, MODEL, ScriptedModel};
use serde_json::{Value, json};
use tempfile::TempDir;

const WIRES: [&str; 2] = ["openai", "anthropic"];

/// A workspace, a scripted model, and the program that connects them.
struct Scene {
    model: ScriptedModel,
    folder: TempDir,
    wire: &'static str,
}

impl Scene {
    fn new(script: &Value, wire: &'static str) -> Self {
        Self { model: ScriptedModel::serve(script, 0), folder: TempDir::new().unwrap(), wire }
    }

    /// A scene whose script has a step for each tool call.
    fn of_calls(calls: &[(&str, Value)]) -> Self {
        let step = |(name, arguments): &(&str, Value)| json!({"calls": [{"name": name, "arguments": arguments}]});
        let steps: Vec<Value> = calls.iter().map(step).collect();
        Self::new(&json!({ "steps": steps }), "openai")
    }

    /// The results of the run; `None` if it has not ended.
    fn results(&self) -> Option<String> {
        let stack = Stack::open(self.path(".callstack"), StackOptions::default()).unwrap();
        let root = stack.read(|tree| tree.roots()[0]);
        stack.frame(root).unwrap().results
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(["agent", "--model", MODEL, "--base-url", &self.model.base_url, "--wire", self.wire]);
        command.args(["--retry-delay", "1", "--dir"]).arg(self.folder.path()).args(more);
        command.env("PATH", path_with_pytest()).env("NO_PROXY", "127.0.0.1");
        command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().unwrap()
    }

    fn start(&self, more: &[&str]) -> Child {
        self.command(more).spawn().unwrap()
    }

    /// Waits until the model has received this number of requests.
    fn wait_for_requests(&self, count: usize) {
        wait_until(&format!("{count} requests"), || self.model.requests().len() >= count);
    }

    /// The messages of a request, as JSON.
    fn messages(&self, request: usize) -> String {
        self.model.requests()[request]["messages"].to_string()
    }

    /// The answer to the only tool call of a step.
    fn answer(&self, step: usize) -> String {
        let newest = self.model.requests()[step]["messages"].as_array().unwrap().last().unwrap().clone();
        let text = match &newest["content"] {
            Value::String(text) => text.clone(),
            parts => parts.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned(),
        };
        text.split("\n\n<memory>").next().unwrap().to_owned()
    }
}

fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: nothing of the kind within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The search path with a `python` that has pytest: the one of `make test`, or that of the system.
fn path_with_pytest() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin");
    if installed.join("python").exists() { format!("{}:{path}", installed.display()) } else { path }
}

fn script(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/agent/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

fn assert_tests_pass(folder: &Path, count: &str) {
    let mut tests = Command::new("python");
    tests.args(["-m", "pytest", "-q"]).current_dir(folder).env("PATH", path_with_pytest());
    let output = tests.output().expect("python is there; `make test` installs it with pytest");
    assert!(stdout(&output).contains(count), "{}\n{}", stdout(&output), stderr(&output));
}

#[test]
fn the_calculator_of_the_specification_is_built_in_both_wire_formats() {
    for wire in WIRES {
        let scene = Scene::new(&script("calculator-registers"), wire);
        let output = scene.run(&["--memory", "registers", "Build a calculator with tests"]);
        let progress = stderr(&output);
        assert!(output.status.success(), "{wire}: {progress}");
        assert_eq!(stdout(&output), "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.");
        assert_tests_pass(scene.folder.path(), "9 passed");
        assert!(scene.path("calc.py").exists() && scene.path("test_calc.py").exists());
        assert_eq!(scene.model.requests().len(), 11, "{wire}");

        // The tests failed once. The model has seen that only in the frame that ran them.
        assert!(scene.messages(7).contains("1 failed, 8 passed"), "{wire}: {}", scene.messages(7));
        for other in [0, 1, 2, 3, 4, 5, 10] {
            assert!(!scene.messages(other).contains("1 failed"), "{wire}: request {other} sees another conversation");
        }
        // The conversation of a child starts with its briefing, its registers and the system prompt only.
        let child = scene.messages(1);
        assert!(child.contains("Create calc.py with add(a,b)") && child.contains("R3_PHASE: entering: implement-calc"));
        assert!(!child.contains("Two phases"), "{wire}: the child sees what its parent said");
        // The parent continues its conversation with the result.
        let parent = scene.messages(4);
        assert!(parent.contains("Two phases") && parent.contains("Sub-task completed: Create calc.py"), "{parent}");
        assert!(parent.contains("R7_STATUS: calc.py has add, subtract"), "{parent}");

        for shown in
            ["step 7  f3 write-tests, depth 1, about", "| Two phases", "[exit status 1]", "[completed] implement-calc"]
        {
            assert!(progress.contains(shown), "{wire}: the terminal does not show {shown}:\n{progress}");
        }
        // The request has the system prompt and the tools.
        let request = &scene.model.requests()[0];
        assert_eq!(request["tools"].as_array().unwrap().len(), 10);
        let request = request.to_string();
        assert!(request.contains("You are an agent that manages its own working memory"));
        assert!(request.contains("# Workspace") && request.contains("You are a coding agent."));
        for tool in ["read_file(path)", "write_file(path", "list_files(path)", "run_command(command)"] {
            assert!(request.contains(tool), "the system prompt does not name {tool}");
        }
    }
}

#[test]
fn the_agent_with_stack_and_heap_works_in_both_wire_formats() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        let output = scene.run(&["--memory", "heap", "Build a URL shortener with tests"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_tests_pass(scene.folder.path(), "4 passed");
        // The chunk is in every prompt of every frame until it is freed.
        let sees_chunk: Vec<bool> =
            (0..11).map(|request| scene.messages(request).contains("--- api-spec ---")).collect();
        assert_eq!(sees_chunk, [false, true, true, true, true, true, true, true, true, true, false], "{wire}");
        assert!(!scene.messages(3).contains("REGISTERS"));
        assert_eq!(scene.model.requests()[0]["tools"].as_array().unwrap().len(), 9);
    }
}

#[test]
fn a_killed_run_goes_on_with_the_same_messages_to_the_same_end() {
    for (step, wire) in [(1, "openai"), (4, "anthropic"), (7, "openai"), (10, "anthropic"), (11, "openai")] {
        let scene = Scene::new(&script("calculator-registers"), wire);
        scene.model.fail(step, Fault::Hang);
        let mut child = scene.start(&["Build a calculator with tests"]);
        scene.wait_for_requests(step);
        child.kill().unwrap();
        child.wait().unwrap();
        let output = scene.run(&["--resume"]);
        assert!(output.status.success(), "killed at {step}: {}", stderr(&output));
        assert_eq!(stdout(&output), "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.");
        assert_tests_pass(scene.folder.path(), "9 passed");
        let requests = scene.model.requests();
        assert_eq!(requests.len(), 12, "one request was lost, and no other step was done again");
        assert_eq!(requests[step - 1], requests[step], "killed at {step}: the request is another one");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_again_and_again_comes_to_the_same_end() {
    let scene = Scene::new(&script("calculator-registers"), "openai");
    // The first process is always killed in time, because its model never answers.
    scene.model.fail(1, Fault::Hang);
    let mut requests = 0;
    let mut child = scene.start(&["Build a calculator with tests"]);
    for kill in 1..=10 {
        let mut has_ended = false;
        wait_until("a request, or the end", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || scene.model.requests().len() > requests
        });
        if has_ended {
            break;
        }
        // Kills at a different moment of a step each time.
        std::thread::sleep(Duration::from_millis(kill * 17 % 50));
        child.kill().unwrap();
        // The process may have ended the run before it was killed, with or without printing the results.
        child.wait().unwrap();
        if scene.results().is_some() {
            break;
        }
        requests = scene.model.requests().len();
        child = scene.start(&["--resume"]);
    }
    let output = child.wait_with_output().unwrap();
    let expected = "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.";
    assert_eq!(scene.results().as_deref(), Some(expected), "{}", stderr(&output));
    let was_killed = output.status.code().is_none();
    if !was_killed {
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), expected);
    }
    assert_tests_pass(scene.folder.path(), "9 passed");
    // Repeated requests of a step are equal, and one answer of each step is kept.
    let mut seen = std::collections::BTreeMap::new();
    for request in scene.model.requests() {
        let newest = request["messages"].as_array().unwrap().last().unwrap().to_string();
        let (_, step) = newest.rsplit_once("<memory>\\nStep ").unwrap();
        let step: usize = step.split(',').next().unwrap().parse().unwrap();
        // pytest prints a different duration in each run.
        let messages = without_times(&request["messages"].to_string());
        assert_eq!(
            *seen.entry(step).or_insert_with(|| messages.clone()),
            messages,
            "step {step} was asked in another way"
        );
    }
    assert_eq!(seen.len(), 11);
}

/// A text without the durations that pytest prints, and without the note that a command may have run twice.
fn without_times(text: &str) -> String {
    let text = text.replace("\\n[the run was interrupted here, so this command may have run twice]", "");
    let is_of_number = |character: char| character.is_ascii_digit() || character == '.';
    let parts: Vec<&str> = text.split(" in ").map(|part| part.trim_start_matches(is_of_number)).collect();
    parts.join(" in ")
}

#[test]
fn a_command_that_was_killed_with_its_run_is_run_again_and_the_model_is_told() {
    let scene = Scene::of_calls(&[
        ("run_command", json!({"command": "echo started >> starts; test $(wc -l < starts) -gt 1 || sleep 60"})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let mut child = scene.start(&["Start once"]);
    wait_until("the command", || scene.path("starts").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let output = scene.run(&["--resume"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(scene.answer(1).contains("[the run was interrupted here, so this command may have run twice]"));
    assert_eq!(scene.model.requests().len(), 2, "the model is not asked again for what it has said");
    assert_eq!(scene.run(&["--resume"]).status.code(), Some(1), "nothing is left to resume");
}

#[test]
fn an_interrupt_saves_and_ends_what_is_running() {
    let mark = format!("4{}", std::process::id());
    for (kind, calls) in [
        (Signal::INT, [("run_command", json!({ "command": format!("touch running; sleep {mark}") }))]),
        (Signal::TERM, [("run_command", json!({ "command": format!("touch running; sleep {mark} & wait") }))]),
    ] {
        let scene = Scene::of_calls(&calls);
        let child = scene.start(&["Sleep"]);
        wait_until("the command", || scene.path("running").exists());
        signal(&child, kind);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("interrupted; the run is saved.\nTo continue: callstack agent --resume"));
        wait_until("the end of the command", || running(&format!("sleep {mark}")).is_empty());
    }
    // Interrupts while a request is running.
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(3, Fault::Hang);
    let child = scene.start(&["--memory", "heap", "Build"]);
    scene.wait_for_requests(3);
    signal(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(scene.run(&["--resume"]).status.success());
}

/// The processes that were started with this command line.
fn running(command: &str) -> Vec<Pid> {
    let is_it = |process: &Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == command
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let id = |process: PathBuf| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?);
    processes.filter(|process| is_it(process)).filter_map(id).collect()
}

#[test]
fn no_path_leads_out_of_the_workspace() {
    let outside = TempDir::new().unwrap();
    std::fs::write(outside.path().join("secret"), "not for agents").unwrap();
    let secret = outside.path().join("secret").display().to_string();
    let link = format!(
        "ln -s {0} out; ln -s ../{1}/secret up; mkfifo pipe; mkdir folder; ln -s .callstack mine; ln -s folder inner",
        outside.path().display(),
        outside.path().file_name().unwrap().to_string_lossy()
    );
    let calls = [
        ("run_command", json!({ "command": link })),
        ("read_file", json!({ "path": secret })),
        ("read_file", json!({"path": "../secret"})),
        ("read_file", json!({"path": "folder/../../secret"})),
        ("read_file", json!({"path": "out/secret"})),
        ("read_file", json!({"path": "up"})),
        ("write_file", json!({"path": "out/new", "content": "x"})),
        ("write_file", json!({"path": "/new", "content": "x"})),
        ("list_files", json!({"path": "out"})),
        ("list_files", json!({"path": ".."})),
        ("read_file", json!({"path": ".callstack/stack.db"})),
        ("write_file", json!({"path": "mine/stack.db", "content": "x"})),
        ("write_file", json!({"path": "folder/../.callstack/new", "content": "x"})),
        ("read_file", json!({"path": "pipe"})),
        ("write_file", json!({"path": "pipe", "content": "x"})),
        ("read_file", json!({"path": "folder"})),
        ("read_file", json!({"path": "nothing"})),
        ("read_file", json!({"path": "\0"})),
        // Paths inside of the workspace are accepted in any spelling.
        ("write_file", json!({"path": "inner/./deep/new.txt", "content": "fine"})),
        ("list_files", json!({})),
        ("pop_frame", json!({"result": "done"})),
    ];
    let scene = Scene::of_calls(&calls);
    let output = scene.run(&["Escape"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let outside_of_it = "outside of the workspace";
    for (step, expected) in [
        (2, outside_of_it),
        (3, outside_of_it),
        (4, outside_of_it),
        (5, outside_of_it),
        (6, outside_of_it),
        (7, outside_of_it),
        (8, outside_of_it),
        (9, outside_of_it),
        (10, outside_of_it),
        (11, "belongs to the run itself"),
        (12, "belongs to the run itself"),
        (13, "belongs to the run itself"),
        (14, "is not a regular file"),
        (15, "is not a regular file"),
        (16, "is a folder"),
        (17, "does not exist"),
        (18, "`\0`"),
    ] {
        let answer = scene.answer(step);
        assert!(answer.contains(expected), "{} was answered {answer:?}", calls[step - 1].1);
        assert!(!answer.contains("not for agents"));
    }
    assert_eq!(std::fs::read_to_string(scene.path("folder/deep/new.txt")).unwrap(), "fine");
    assert!(scene.answer(20).contains("folder/") && !scene.answer(20).contains(".callstack"), "{}", scene.answer(20));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "something was written outside");
}

#[test]
fn a_command_that_forks_and_hangs_is_killed_with_its_process_group() {
    let mark = format!("5{}", std::process::id());
    let escaped = format!("9{}", std::process::id());
    let command = format!("echo begun; (sleep {mark} & sleep {mark} & wait) & setsid sleep {escaped} & sleep {mark}");
    let scene = Scene::of_calls(&[
        ("run_command", json!({ "command": command })),
        // Background processes of a command are killed with it, and do not delay it.
        ("run_command", json!({ "command": format!("sleep {mark} & echo over") })),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["Hang"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // A process that has left the group keeps the pipe open, and is not waited for.
    let escaped = running(&format!("sleep {escaped}"));
    assert_eq!(escaped.len(), 1);
    kill_process(escaped[0], Signal::KILL).unwrap();
    assert_eq!(scene.answer(1), "begun\n[killed after 30 seconds, with its process group]");
    assert_eq!(scene.answer(2), "over\n[exit status 0]");
    wait_until("the end of all", || running(&format!("sleep {mark}")).is_empty());
}

#[test]
fn output_and_files_of_any_size_are_cut_with_a_note() {
    let scene = Scene::of_calls(&[
        (
            "run_command",
            json!({"command": "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last >&2; exit 3"}),
        ),
        ("run_command", json!({"command": "seq 20000 > numbers; yes | head -c 70000000 > large"})),
        ("read_file", json!({"path": "numbers"})),
        ("read_file", json!({"path": "numbers", "offset": 100_000})),
        ("read_file", json!({"path": "large"})),
        ("run_command", json!({"command": "for i in $(seq 1500); do touch a-file-with-a-long-name-$i; done"})),
        ("list_files", json!({})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["Print"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let answer = scene.answer(1);
    assert!(answer.starts_with("first\nxxx") && answer.ends_with("xxx\nlast\n[exit status 3]"));
    assert!(answer.contains("[… about 49990012 bytes are left out …]"), "{}", &answer[2_400..2_700]);
    assert!(answer.chars().count() < 10_100);
    let answer = scene.answer(3);
    assert!(answer.ends_with("[cut: characters 0 to 10000 of 108894; read on with offset 10000]"), "{answer}");
    assert!(scene.answer(4).ends_with("19999\n20000\n"));
    assert!(scene.answer(5).contains("has 70000000 bytes, too many to read"));
    assert!(scene.answer(7).contains(" more]") && scene.answer(7).len() < 10_100);
}

#[test]
fn commands_see_no_keys() {
    let scene =
        Scene::of_calls(&[("run_command", json!({"command": "env"})), ("pop_frame", json!({"result": "done"}))]);
    let mut command = scene.command(&["Look"]);
    command.env("GITHUB_TOKEN", "ghp_1").env("Db_Password", "hunter2").env("MY_AUTH", "x").env("HIDDEN", KEY);
    let output = command.env("HARMLESS", "visible").env("GIT_AUTHOR_NAME", "Ada").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let environment = scene.answer(1);
    for secret in [KEY, "ghp_1", "hunter2", "MY_AUTH", "API_KEY"] {
        assert!(!environment.contains(secret), "{secret} is in the environment:\n{environment}");
    }
    assert!(["HARMLESS=visible", "GIT_AUTHOR_NAME=Ada", "PATH="].iter().all(|variable| environment.contains(variable)));
}

#[test]
fn a_model_that_goes_in_circles_is_stopped_and_can_go_on() {
    let repeat = |calls: Value| Scene::new(&json!({ "steps": [{ "calls": calls }] }), "openai");
    for (what, scene) in [
        ("the same call", repeat(json!([{"name": "list_files", "arguments": {}}]))),
        ("an unknown tool", repeat(json!([{"name": "fly", "arguments": {}}]))),
        ("nothing", repeat(json!([]))),
    ] {
        let output = scene.run(&["Turn", "--max-repeats", "4"]);
        assert_eq!(output.status.code(), Some(3), "{what}: {}", stderr(&output));
        let expected = "stopped: the model has made the same call 4 times in a row (--max-repeats)\nTo continue:";
        assert!(stderr(&output).contains(expected), "{what}: {}", stderr(&output));
        assert_eq!(scene.model.requests().len(), 4, "{what}");
        assert!(scene.messages(3).contains("You have made the same call 3 times in a row"), "{what}");
        // A resumed run is stopped again after one more request.
        assert_eq!(scene.run(&["--resume", "--max-repeats", "4"]).status.code(), Some(3));
        assert_eq!(scene.model.requests().len(), 5, "{what}");
    }
    let scene = repeat(json!([{"name": "fly", "arguments": {}}]));
    scene.run(&["Fly", "--max-steps", "2"]);
    let answer = scene.answer(1);
    assert!(answer.starts_with("fly: there is no such tool; there are push_frame, pop_frame"), "{answer}");
    assert!(answer.ends_with("read_file, write_file, list_files, run_command"), "{answer}");
}

#[test]
fn the_step_limit_stops_a_run_that_can_go_on() {
    let scene = Scene::new(&script("shortener-heap"), "anthropic");
    let output = scene.run(&["--memory", "heap", "Build", "--max-steps", "4"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("stopped: the limit of 4 steps is reached (--max-steps)"), "{}", stderr(&output));
    assert!(scene.run(&["--resume"]).status.success());
    assert_eq!(scene.model.requests().len(), 11);
    assert_tests_pass(scene.folder.path(), "4 passed");
}

#[test]
fn passing_troubles_are_waited_for() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        scene.model.fail(1, Fault::Status(429, Some(0)));
        scene.model.fail(1, Fault::Status(500, None));
        scene.model.fail(2, Fault::Cut);
        scene.model.fail(5, Fault::Status(529, None));
        let output = scene.run(&["--memory", "heap", "Build"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_eq!(scene.model.requests().len(), 15, "{wire}");
        assert_eq!(stderr(&output).matches("trying again in").count(), 4, "{wire}: {}", stderr(&output));
        assert!(stderr(&output).contains("scripted answers 429: try again later; trying again in 0.0 s"));

        let scene = Scene::new(&script("shortener-heap"), wire);
        (0..3).for_each(|_| scene.model.fail(2, Fault::Status(503, None)));
        let output = scene.run(&["--memory", "heap", "Build", "--retries", "2"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("callstack: scripted answers 503: try again later"), "{}", stderr(&output));
        assert!(scene.run(&["--resume"]).status.success(), "a run that has failed can go on");
    }
}

#[test]
fn a_model_that_falls_silent_is_not_waited_for_for_ever() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(2, Fault::Hang);
    let output = scene.run(&["--memory", "heap", "Build", "--timeout", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("trying again"), "{}", stderr(&output));
}

#[test]
fn wrong_keys_models_and_addresses_are_told_apart() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        let failed = |command: &mut Command| {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{wire}: {}", stderr(&output));
            stderr(&output).lines().last().unwrap().to_owned()
        };
        let message = failed(scene.command(&["x"]).env("OPENAI_API_KEY", "wrong").env("ANTHROPIC_API_KEY", "wrong"));
        let variable = if wire == "openai" { "OPENAI_API_KEY" } else { "ANTHROPIC_API_KEY" };
        let expected = format!("refuses the API key in {variable} (401: Incorrect API key provided)");
        assert!(message.contains(&expected), "{message}");
        let message = failed(&mut scene.command(&["x", "--model", "nobody"]));
        assert!(message.contains("has no model nobody, or is not a model API (404: "), "{message}");
        let nowhere = scene.model.base_url.replace("/v1/", "/v7");
        let message = failed(&mut scene.command(&["x", "--base-url", &nowhere]));
        assert!(message.contains("check --model and --base-url, which usually ends in /v1/"), "{message}");
        let message = failed(&mut scene.command(&["x", "--base-url", "http://127.0.0.1:9/v1/"]));
        assert!(
            message.contains("http://127.0.0.1:9/v1/ cannot be reached") && message.contains("check --base-url"),
            "{message}"
        );
        let message = failed(&mut scene.command(&["x", "--base-url", "localhost"]));
        assert!(message.contains("must begin with http:// or https://"), "{message}");
        let message = failed(&mut scene.command(&["x", "--api-key-env", "NO_SUCH_VARIABLE"]));
        assert!(message.contains("there is no API key: set NO_SUCH_VARIABLE"), "{message}");
        let message = failed(&mut scene.command(&["x", "--dir", "/no/such/folder"]));
        assert!(message.contains("/no/such/folder is not a folder"), "{message}");
    }
}

#[test]
fn arguments_that_are_no_json_are_answered_and_can_be_sent_back() {
    for wire in WIRES {
        let steps = json!([
            {"calls": [{"name": "write_file", "arguments": "{\"path\": \"a"}, {"name": "heap_free", "arguments": "[1]"}]},
            {"calls": [{"name": "pop_frame", "arguments": {"result": "done"}}]},
        ]);
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let output = scene.run(&["x"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let messages = scene.messages(1);
        assert!(messages.contains("write_file: the arguments are not valid JSON"), "{wire}: {messages}");
        assert!(messages.contains("heap_free: the arguments are not a JSON object"), "{wire}: {messages}");
        assert!(messages.contains("unreadable"), "{wire}: the model does not see what it has written: {messages}");
    }
}
