//! `callstack run`, with scripts in place of agents.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::fold::Wire;
use pseudo_terminal::Terminal;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::requests::conversation;
use crate::world::{Message, Upstream, command};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 54\r\n\r\n\
                      {\"usage\":{\"input_tokens\":100,\"output_tokens\":2222222}}";

/// A folder with a home and programs, in which the tests run commands.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        ["home", "bin"].iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
        Self { folder }
    }

    /// Installs an agent: a script that writes its arguments and variables to files.
    fn agent(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path(&format!("bin/{name}"));
        let folder = self.folder.path().display();
        let script =
            format!("#!/bin/sh\nenv >{folder}/variables\nprintf '%s\\n' \"$@\" >{folder}/arguments\n{script}\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.arg("run").args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env("PATH", path).env("HOME", self.path("home"));
        for name in ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "CALLSTACK_DIR"] {
            command.env_remove(name);
        }
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.run(arguments).output().unwrap()
    }

    fn arguments(&self) -> Vec<String> {
        fs::read_to_string(self.path("arguments")).unwrap().lines().map(str::to_owned).collect()
    }

    /// A variable of the agent.
    fn variable(&self, name: &str) -> Option<String> {
        let variables = fs::read_to_string(self.path("variables")).unwrap();
        variables.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
    }

    /// Waits for a file that the agent makes.
    fn wait_for(&self, name: &str) {
        let begun = Instant::now();
        while !self.path(name).exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "there is no {name}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Sends a request to a URL of a proxy.
fn post(url: &str, path: &str, body: &str) -> Message {
    let (address, secret) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "POST /{secret}{path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    Message::read(&mut std::io::BufReader::new(stream), false).unwrap()
}

/// An agent that works until the test ends it. `callstack run` runs during this time.
fn working(machine: &Machine, run: &mut Command) -> Child {
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    machine.wait_for("ready");
    child
}

const WORKS: &str = "trap 'exit 7' TERM; trap 'echo interrupted >>signals' INT; touch ready; \
                     while [ ! -e go ]; do sleep 0.05; done; exit 3";

#[test]
fn an_agent_has_the_stack_and_the_proxy_and_its_exit_code_stays() {
    let upstream = Upstream::saying(ANSWER);
    let machine = Machine::new();
    let copies = "ls -ld \"$(dirname \"${1#--mcp-config=}\")\" >mode; cp \"${1#--mcp-config=}\" mcp.json; cp -r \"${2#--plugin-dir=}\" plugin";
    machine.agent("claude", &format!("{copies}; {WORKS}"));
    let mut run = machine.run(&["--stack", "plan", "claude", "-p", "Do it", "--mcp-config", "own.json"]);
    let child = working(&machine, run.env("ANTHROPIC_BASE_URL", format!("{}/base", upstream.url())));
    let url = machine.variable("ANTHROPIC_BASE_URL").unwrap();
    let (before, after) = conversation(Wire::Anthropic);
    assert!(post(&url, "/v1/messages", &before).text().starts_with("{\"usage\""));
    let [request] = &upstream.seen()[..] else { panic!() };
    assert_eq!((request.first_line(), request.text()), ("POST /base/v1/messages HTTP/1.1", &*after));
    fs::write(machine.path("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
    let line = errors(&output);
    assert!(
        line.starts_with(
            "0 new frames, 0 finished; 1 request, 100 tokens in (0 from a cache) and 2,222,222 out; cost index 100, "
        ) && line.lines().count() == 1,
        "{line}"
    );
    let arguments = machine.arguments();
    assert_eq!(arguments[2], "--allowedTools=mcp__callstack");
    assert!(arguments[3].starts_with("--settings="), "{arguments:?}");
    assert_eq!(arguments[4..], ["-p", "Do it", "--mcp-config", "own.json"]);
    assert!(!PathBuf::from(arguments[0].strip_prefix("--mcp-config=").unwrap()).exists(), "the files are gone");
    let servers: Value = serde_json::from_str(&fs::read_to_string(machine.path("mcp.json")).unwrap()).unwrap();
    let stack = fs::canonicalize(machine.folder.path()).unwrap().join("plan").display().to_string();
    let mut entry = servers["mcpServers"]["callstack"].clone();
    let conversation = entry.as_object_mut().unwrap().remove("env").unwrap()["CALLSTACK_CONVERSATION"].to_string();
    assert!(conversation.starts_with("\"claude/"), "{conversation}");
    let expected = json!({ "command": env!("CARGO_BIN_EXE_callstack"), "args": ["mcp", "--stack", stack], "type": "stdio", "alwaysLoad": true });
    assert_eq!(entry, expected);
    let mode = fs::read_to_string(machine.path("mode")).unwrap();
    assert!(mode.starts_with("drwx------"), "others can read the files of a run: {mode}");
    let hooks = fs::read_to_string(machine.path("plugin/hooks/hooks.json")).unwrap();
    assert!(hooks.contains("hook --of-run session-start"), "{hooks}");
    assert_eq!(machine.variable("CALLSTACK_RUN").as_deref(), Some("1"), "an installed plugin is quiet");
    assert_eq!(machine.variable("CALLSTACK_DIR"), Some(stack));
}

#[test]
fn signals_reach_the_agent_and_the_proxy_outlives_them() {
    let upstream = Upstream::saying(ANSWER);
    let machine = Machine::new();
    machine.agent("ask", WORKS);
    let run = ["--base-url-variable", "MODEL_URL", "--wire", "responses", "--upstream", &upstream.url(), "ask"];
    let mut child = working(&machine, &mut machine.run(&run));
    let process = Pid::from_child(&child);
    kill_process(process, Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "it waits for the agent");
    assert_eq!(post(&machine.variable("MODEL_URL").unwrap(), "/responses", "{}").status(), 200);
    kill_process(process, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    // The exit code of an end by a signal is the number that shells give it.
    machine.agent("dies", "kill -KILL $$");
    let output = machine.output(&["--base-url-variable", "MODEL_URL", "--wire", "chat", "dies"]);
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn arguments_of_codex_have_no_secret() {
    let machine = Machine::new();
    machine.agent("codex", "exit 0");
    machine.put(
        "home/.codex/config.toml",
        "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    assert_eq!(machine.output(&["codex", "exec", "Do it"]).status.code(), Some(0));
    let secret = machine.variable("CALLSTACK_PROXY_SECRET").unwrap();
    let arguments = machine.arguments();
    let has = |part: &str| arguments.iter().any(|argument| argument.starts_with(part));
    assert!(secret.len() >= 32 && !arguments.concat().contains(&secret), "{arguments:?}");
    assert!(has("model_providers.mine.base_url=\"http://127.0.0.1:"), "{arguments:?}");
    assert!(
        has("model_providers.mine.env_http_headers.x-callstack-secret=\"CALLSTACK_PROXY_SECRET\"")
            && !has("model_provider=")
    );
    assert!(has("features.code_mode.direct_only_tool_namespaces=[\"mcp__callstack\"]"), "{arguments:?}");
    assert_eq!(arguments[arguments.len() - 2..], ["exec", "Do it"]);
    // Other built-in providers cannot be given another URL.
    let output = machine.output(&["codex", "-c", "model_provider='ollama'"]);
    assert!(
        errors(&output).contains("nothing is folded, because the URL of the built-in provider ollama cannot be set")
    );
    assert!(!machine.arguments().iter().any(|argument| argument.starts_with("model_providers.")));
    // The provider of OpenAI has no settings of its own: another provider replaces it.
    fs::remove_file(machine.path("home/.codex/config.toml")).unwrap();
    machine.put("home/.codex/config.toml", "[features.code_mode]\ndirect_only_tool_namespaces = [\"mcp__own\"]\n");
    machine.output(&["codex"]);
    let arguments = machine.arguments().join("\n");
    assert!(
        arguments.contains("model_provider=\"callstack\"") && arguments.contains("requires_openai_auth=true"),
        "{arguments}"
    );
}

#[test]
fn claude_shows_the_frame_in_its_status_line_unless_the_person_has_one() {
    let machine = Machine::new();
    machine.agent(
        "claude",
        "for word; do case $word in --settings=*) cp \"${word#--settings=}\" settings.json;; esac; done; exit 0",
    );
    machine.output(&["claude"]);
    let given: Value = serde_json::from_str(&fs::read_to_string(machine.path("settings.json")).unwrap()).unwrap();
    let command = given["statusLine"]["command"].as_str().unwrap();
    assert!(command.ends_with("callstack statusline"), "{given}");
    fs::remove_file(machine.path("settings.json")).unwrap();
    machine.output(&["claude", "--settings", "mine.json"]);
    assert!(!machine.path("settings.json").exists(), "the person gives settings");
    machine.put("home/.claude/settings.json", r#"{"statusLine": {"type": "command", "command": "date"}}"#);
    machine.output(&["claude"]);
    assert!(!machine.path("settings.json").exists(), "the person has a line");
}

#[test]
fn a_base_url_in_the_settings_of_claude_is_the_upstream() {
    let upstream = Upstream::saying(ANSWER);
    let machine = Machine::new();
    machine.agent("claude", &format!("cp \"${{4#--settings=}}\" settings.json; {WORKS}"));
    let settings = json!({ "env": { "ANTHROPIC_BASE_URL": upstream.url() } }).to_string();
    machine.put("home/.claude/settings.json", &format!("// mine\n{settings}"));
    let child = working(&machine, &mut machine.run(&["claude"]));
    let given: Value = serde_json::from_str(&fs::read_to_string(machine.path("settings.json")).unwrap()).unwrap();
    let url = given["env"]["ANTHROPIC_BASE_URL"].as_str().unwrap();
    assert_eq!(Some(url.to_owned()), machine.variable("ANTHROPIC_BASE_URL"));
    assert_eq!(post(url, "/v1/messages", "{}").status(), 200);
    fs::write(machine.path("go"), "").unwrap();
    child.wait_with_output().unwrap();
    assert!(fs::read_to_string(machine.path("home/.claude/settings.json")).unwrap().ends_with(&settings));
}

#[test]
fn gemini_and_qwen_have_the_server_beside_the_settings_of_the_person() {
    let machine = Machine::new();
    machine.agent("gemini", "cp -R \"$GEMINI_CLI_HOME/.gemini\" seen; echo new >\"$GEMINI_CLI_HOME/.gemini/state\"");
    machine.put("home/.gemini/settings.json", r#"{"ui": {"theme": "dark"}, "mcpServers": {"other": {}}}"#);
    machine.put("home/.gemini/tmp/session", "a");
    let output = machine.output(&["gemini", "-p", "Do it"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(machine.path("seen/settings.json")).unwrap()).unwrap();
    assert_eq!(settings["ui"]["theme"], "dark");
    assert_eq!(settings["mcpServers"].as_object().unwrap().len(), 2);
    assert_eq!(settings["mcpServers"]["callstack"]["args"], json!(["mcp"]));
    assert!(machine.variable("GOOGLE_GEMINI_BASE_URL").unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(fs::read_to_string(machine.path("home/.gemini/state")).unwrap(), "new\n");
    assert!(!fs::read_to_string(machine.path("home/.gemini/settings.json")).unwrap().contains("callstack"));

    machine.agent("qwen", "cp \"$QWEN_CODE_SYSTEM_DEFAULTS_PATH\" seen.json");
    assert_eq!(machine.output(&["qwen"]).status.code(), Some(0));
    let defaults: Value = serde_json::from_str(&fs::read_to_string(machine.path("seen.json")).unwrap()).unwrap();
    assert_eq!(defaults["mcpServers"]["callstack"]["trust"], true);
    assert!(machine.variable("OPENAI_BASE_URL").unwrap().starts_with("http://127.0.0.1:"));
}

#[test]
fn copilot_without_a_model_of_the_person_has_the_tools_alone() {
    let machine = Machine::new();
    let path = machine.agent("copilot", "exit 0").display().to_string();
    let output = machine.output(&[&path]);
    assert!(errors(&output).contains("nothing is folded, because requests to GitHub's models cannot be redirected"));
    assert!(machine.arguments()[0].starts_with("--additional-mcp-config=@"));
    let url = "http://127.0.0.1:1/v1";
    machine.run(&["copilot"]).env("COPILOT_PROVIDER_BASE_URL", url).output().unwrap();
    let given = machine.variable("COPILOT_PROVIDER_BASE_URL").unwrap();
    assert!(given != url && given.starts_with("http://127.0.0.1:"), "{given}");
}

#[test]
fn requests_for_the_proxy_take_no_proxy_of_the_network() {
    let machine = Machine::new();
    machine.agent("claude", "exit 0");
    machine.run(&["claude"]).env("HTTP_PROXY", "http://proxy.example").env("NO_PROXY", "a.example").output().unwrap();
    assert_eq!(machine.variable("NO_PROXY").as_deref(), Some("a.example,127.0.0.1"));
    assert_eq!(machine.variable("no_proxy").as_deref(), Some("a.example,127.0.0.1"));
}

#[test]
fn options_behind_the_agent_are_the_agents() {
    let machine = Machine::new();
    machine.agent("claude", "exit 0");
    for given in [&["--help"][..], &["--json", "--stack", "a"], &["-p", "--", "--no-fold"], &["--version"]] {
        let output = machine.output(&[&["claude"], given].concat());
        assert!(
            output.stdout.is_empty() && errors(&output).starts_with("0 new frames, 0 finished; 0 requests"),
            "{given:?}"
        );
        assert_eq!(machine.arguments()[4..], *given);
    }
}

/// Without its stack, an agent would work as before, but nothing of its work would be kept.
#[test]
fn a_stack_that_cannot_be_used_is_refused_before_the_agent_starts() {
    let machine = Machine::new();
    machine.agent("claude", "touch began");
    machine.put("file", "no folder");
    machine.put("broken/stack.db", "no database");
    for stack in ["/proc/nope/x", "file/stack", "broken"] {
        let output = machine.output(&["--stack", stack, "claude"]);
        assert!(!output.status.success() && errors(&output).starts_with("error: "), "{stack}: {}", errors(&output));
        assert!(!machine.path("began").exists(), "{stack}: the agent has begun");
    }
    let output = machine.output(&["--stack", "new/stack", "claude"]);
    assert!(output.status.success() && machine.path("began").exists(), "{}", errors(&output));
    assert!(!machine.path("new").exists(), "nothing is made before it is used");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let machine = Machine::new();
    for (arguments, code, why) in [
        (
            &["claude"][..],
            1,
            "there is no program `claude` in PATH\nnext: install it, or name its path: callstack run /path/to/claude",
        ),
        (&["./codex"], 1, "there is no program ./codex"),
        (&["vim"], 2, "`vim` is not an agent that callstack knows"),
        (&["--nofold", "codex"], 2, "`--nofold` is not an option of `callstack run`, and not an agent"),
        (&["--no-fold", "opencode"], 2, "has a plugin, which folds its requests itself\nnext: leave out --no-fold"),
        (&["--upstream", "http://127.0.0.1:1", "pi"], 2, "--upstream is for agents with a proxy"),
        (&["--base-url-variable", "A", "ask"], 2, "--wire"),
        (&[], 2, "AGENT"),
    ] {
        let output = machine.output(arguments);
        let errors = errors(&output);
        assert!(output.status.code() == Some(code) && errors.contains(why), "{arguments:?}: {errors}");
    }
}

/// `callstack run` of a program that was installed in the folder. So the program cannot find files of the
/// checkout.
fn installed(machine: &Machine, arguments: &[&str]) -> Command {
    let program = machine.path("bin/callstack");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_callstack"), &program).unwrap();
    }
    let mut run = Command::new(program);
    run.arg("run").args(arguments).current_dir(machine.folder.path()).stdin(Stdio::null()).env_clear();
    run.env("PATH", format!("{}:/usr/bin:/bin", machine.path("bin").display())).env("HOME", machine.path("home"));
    run
}

fn install_plugin(machine: &Machine, folder: &str, name: &str) -> String {
    machine.put(&format!("{folder}/package.json"), &json!({ "name": name }).to_string());
    machine.put(&format!("{folder}/dist/index.js"), "");
    fs::canonicalize(machine.path(folder)).unwrap().display().to_string()
}

#[test]
fn agents_with_a_plugin_get_it_for_this_run_and_no_proxy() {
    let machine = Machine::new();
    machine.agent("opencode", "");
    machine.agent("pi", "");
    for (agent, package) in [("opencode", "opencode-callstack"), ("pi", "pi-callstack")] {
        let output = installed(&machine, &[agent]).output().unwrap();
        let next = format!("next: npm install -g {package}; or in a checkout");
        assert!(output.status.code() == Some(1) && errors(&output).contains(&next), "{}", errors(&output));
    }
    let plugin = install_plugin(&machine, "node_modules/opencode-callstack", "opencode-callstack");
    let own = json!({ "model": "own/model", "plugin": ["of-mine"] }).to_string();
    let output =
        installed(&machine, &["opencode", "run", "Do it"]).env("OPENCODE_CONFIG_CONTENT", own).output().unwrap();
    assert_eq!(
        errors(&output),
        "0 new frames, 0 finished; 0 requests, 0 tokens in (0 from a cache) and 0 out; cost index 0\n"
    );
    assert_eq!(machine.arguments(), ["run", "Do it"]);
    let settings: Value = serde_json::from_str(&machine.variable("OPENCODE_CONFIG_CONTENT").unwrap()).unwrap();
    let named = format!("{plugin}/dist/index.js");
    assert_eq!(settings, json!({ "model": "own/model", "plugin": ["of-mine", named] }));
    let stack = fs::canonicalize(machine.folder.path()).unwrap().join(".callstack");
    assert_eq!(machine.variable("CALLSTACK_DIR").unwrap(), stack.display().to_string());
    assert!(!stack.exists());
    let output = installed(&machine, &["opencode"]).env("OPENCODE_CONFIG_CONTENT", "[]").output().unwrap();
    assert!(errors(&output).contains("OPENCODE_CONFIG_CONTENT is not a JSON object"), "{}", errors(&output));

    let plugin = install_plugin(&machine, "node_modules/pi-callstack", "pi-callstack");
    installed(&machine, &["pi", "-p", "Do it"]).env("CALLSTACK_DIR", "plan").output().unwrap();
    assert_eq!(machine.arguments(), ["-e", &plugin, "-p", "Do it"]);
    assert_eq!(machine.variable("CALLSTACK_DIR").unwrap(), stack.with_file_name("plan").display().to_string());
}

#[test]
fn a_plugin_that_settings_name_is_not_loaded_twice() {
    let machine = Machine::new();
    machine.agent("opencode", "");
    machine.agent("pi", "");
    for (file, settings) in [
        ("opencode.json", json!({ "plugin": [["opencode-callstack@0.1.0", { "tools": "all" }]] })),
        ("home/.pi/agent/settings.json", json!({ "packages": [{ "source": "npm:pi-callstack" }] })),
    ] {
        machine.put(file, &settings.to_string());
    }
    for (agent, package) in [("opencode", "opencode-callstack"), ("pi", "pi-callstack")] {
        let output = installed(&machine, &[agent, "go"]).output().unwrap();
        let note = format!("note: {agent} has {package} already, by ");
        assert!(output.status.success() && errors(&output).starts_with(&note), "{}", errors(&output));
        assert_eq!(machine.arguments(), ["go"]);
        assert_eq!(machine.variable("OPENCODE_CONFIG_CONTENT"), None);
        assert!(machine.variable("CALLSTACK_DIR").unwrap().ends_with(".callstack"));
    }
}

#[test]
fn the_agent_is_in_the_foreground_of_the_terminal() {
    let machine = Machine::new();
    let script = "trap 'echo interrupted' INT; test -t 0 && test -t 1 && echo terminal; until read answer; do :; done; echo \"got $answer\"; exit 5";
    let agent = machine.agent("claude", script).display().to_string();
    let home = machine.path("home").display().to_string();
    let program = Path::new(env!("CARGO_BIN_EXE_callstack"));
    let mut terminal = Terminal::start(program, &["run", &agent], &[("HOME", &home)], (100, 20));
    let shows =
        |terminal: &Terminal, text: &str| drop(terminal.wait_until(text, |screen| screen.contents().contains(text)));
    shows(&terminal, "terminal");
    // The interrupt of the terminal reaches both processes: the agent decides whether they end.
    terminal.press("\x03");
    shows(&terminal, "interrupted");
    terminal.press("yes\r");
    shows(&terminal, "got yes");
    shows(&terminal, "0 requests");
    assert_eq!(terminal.ending().code, 5);
}
