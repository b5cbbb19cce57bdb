//! `callstack mcp` as a process that the tests address in JSON-RPC: the frames of conversations, hostile
//! messages, many servers at once, and servers that are killed. The tests in `cli/tests/mcp` use the official
//! clients.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::fold::{FoldSettings, FoldedStatus, Wire, fold};
use callstack_core::{
    Actor, Frame, FrameStatus, HolderKind, LogQuery, NewFrame, NewHold, PopStatus, Stack, StackOptions,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The versions of the protocol that hosts send.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A project with its stack, in which servers are started.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.current_dir(&self.folder);
        let inherited = [
            "CALLSTACK_DIR",
            "CLAUDE_CODE_SESSION_ID",
            "CODEX_THREAD_ID",
            "OPENCODE_SESSION_ID",
            "CALLSTACK_MCP_TOKEN",
        ];
        for name in inherited {
            command.env_remove(name);
        }
        command
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(".callstack")
    }

    fn stack(&self) -> Stack {
        Stack::open(self.path(), StackOptions::default().mirror(false)).unwrap()
    }

    fn server(&self, arguments: &[&str]) -> Server {
        let mut command = self.command();
        command.arg("mcp").args(arguments);
        Server::start(command)
    }

    /// A server whose client has sent its greeting.
    fn connected(&self) -> Server {
        let mut server = self.server(&[]);
        server.greet("2025-06-18");
        server
    }
}

/// A server on the standard input and output.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Server {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, requests: 0 }
    }

    fn write(&mut self, line: impl AsRef<[u8]>) {
        // If the server has ended, the test notices that when the answer is missing.
        let _ = self.input.as_mut().unwrap().write_all(&[line.as_ref(), b"\n"].concat());
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server has gone: {}", self.errors());
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("a line that is no message: {line}"))
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        let _ = self.child.stderr.take().map(|mut errors| errors.read_to_string(&mut text));
        text
    }

    /// The whole answer to a request.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.write(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        self.answer_to(id)
    }

    /// The answer to the request with this ID. Messages that the server sends before the answer are left out.
    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.read();
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn greet(&mut self, version: &str) -> Value {
        self.greet_with(version, json!({}))
    }

    fn greet_with(&mut self, version: &str, capabilities: Value) -> Value {
        self.greet_as("test", version, capabilities)
    }

    fn greet_as(&mut self, client: &str, version: &str, capabilities: Value) -> Value {
        let client = json!({ "name": client, "version": "1" });
        let hello = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let result = self.result("initialize", hello);
        self.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        result
    }

    /// Calls a tool in a conversation, and returns the text and whether the call was refused.
    fn call(&mut self, conversation: Option<&str>, tool: &str, arguments: Value) -> (String, bool) {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Some(conversation) = conversation {
            params["_meta"] = json!({ "threadId": conversation });
        }
        let result = self.result("tools/call", params);
        assert!(result["structuredContent"].is_null(), "some hosts would show nothing else: {result}");
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    }

    #[track_caller]
    fn done(&mut self, conversation: Option<&str>, tool: &str, arguments: Value) -> String {
        let (text, is_refused) = self.call(conversation, tool, arguments);
        assert!(!is_refused, "{text}");
        text
    }

    #[track_caller]
    fn refused(&mut self, conversation: Option<&str>, tool: &str, arguments: Value) -> String {
        let (text, is_refused) = self.call(conversation, tool, arguments);
        assert!(is_refused, "{text}");
        text
    }

    fn push(&mut self, conversation: &str, title: &str) -> String {
        self.done(Some(conversation), "push", json!({ "title": title, "successCriteria": "It works" }))
    }

    fn pop(&mut self, conversation: &str, results: &str) -> String {
        self.done(Some(conversation), "pop", json!({ "status": "completed", "results": results }))
    }

    /// Closes the pipe to the server, and returns its exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.exit()
    }

    fn exit(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn ends_with(text: &str, end: &str) {
    assert!(text.ends_with(end), "{text}\nshould end with: {end}");
}

/// A session of Claude Code with a server. The test runs its hooks. The session is in the frame f1.
struct Session {
    project: Project,
    server: Server,
}

impl Session {
    fn new() -> Self {
        Self::of_package(&[("CALLSTACK_WORKER", "callstack:worker")])
    }

    /// A session with the variables of a package.
    fn of_package(variables: &[(&str, &str)]) -> Self {
        let project = Project::new();
        let mut command = project.command();
        command.arg("mcp").env("CLAUDE_CODE_SESSION_ID", "ses").envs(variables.iter().copied());
        let mut server = Server::start(command);
        server.greet("2025-06-18");
        server.done(None, "push", json!({ "title": "Shop", "successCriteria": "It works" }));
        Self { project, server }
    }

    /// Runs a hook, and returns the text that it writes for people.
    fn hook(&self, name: &str, agent: Option<&str>, event: Value) -> String {
        self.run_hook(name, agent, event).1
    }

    /// Runs a hook, and returns the text that it writes for the host, and the text for people.
    fn run_hook(&self, name: &str, agent: Option<&str>, mut event: Value) -> (String, String) {
        event["session_id"] = json!("ses");
        event["agent_id"] = json!(agent);
        let mut command = self.project.command();
        command.env("CLAUDE_PROJECT_DIR", self.project.folder.path());
        let pipes = command.args(["hook", name]).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    /// A call of a tool by a subagent. The hook adds the name of the subagent before the call.
    fn call(&mut self, agent: &str, tool: &str, arguments: Value) -> String {
        self.call_as(Some(agent), tool, arguments)
    }

    /// A call of a tool by the session or by one of its subagents. The hook adds the name of the subagent
    /// before the call.
    fn call_as(&mut self, agent: Option<&str>, tool: &str, arguments: Value) -> String {
        let (said, errors) = self.run_hook("pre-tool-use", agent, json!({ "tool_input": arguments }));
        assert_eq!(errors, "");
        let input = serde_json::from_str::<Value>(&said).unwrap()["hookSpecificOutput"]["updatedInput"].clone();
        let params = json!({ "name": tool, "arguments": input, "_meta": { "claudecode/toolUseId": "toolu_1" } });
        let result = self.server.result("tools/call", params);
        assert!(result["isError"] != true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn named(&self, agent: &str, prompt: &str) {
        let (input, response) = (json!({ "prompt": prompt, "description": agent }), json!({ "agentId": agent }));
        let event = json!({ "tool_name": "Agent", "tool_input": input, "tool_response": response });
        assert_eq!(self.hook("post-tool-use", None, event), "");
    }

    fn frame(&self, frame: &str) -> Frame {
        self.project.stack().frame(frame).unwrap()
    }
}

#[test]
fn a_subagent_that_ends_in_a_part_of_its_task_leaves_its_answer() {
    let mut session = Session::new();
    assert_eq!(session.hook("subagent-start", Some("a"), json!({ "agent_type": "general" })), "");
    ends_with(
        &session.call("a", "push", json!({ "title": "Part", "successCriteria": "It works" })),
        "You are in f3 (Part).",
    );
    assert_eq!(session.hook("subagent-stop", Some("a"), json!({ "last_assistant_message": "My answer" })), "");
    let (made, part) = (session.frame("f2"), session.frame("f3"));
    assert_eq!((made.status, made.results.as_deref()), (FrameStatus::Completed, Some("My answer")));
    assert_eq!((part.status, part.results.unwrap().contains("f2")), (FrameStatus::Completed, true));
}

#[test]
fn a_prompt_that_mentions_a_frame_does_not_hand_it_over() {
    let mut session = Session::new();
    let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
    let prompt = session.server.done(None, "push", task);
    session.hook("subagent-start", Some("docs"), json!({ "agent_type": "general" }));
    session.named("docs", "Review the docs. Leave f2 alone.");
    session.hook("subagent-start", Some("cart"), json!({ "agent_type": "general" }));
    session.named("cart", &prompt);
    session.hook("subagent-stop", Some("docs"), json!({ "last_assistant_message": "Docs are fine" }));
    assert_eq!(session.frame("f2").status, FrameStatus::InProgress);
    assert_eq!(session.frame("f3").results.as_deref(), Some("Docs are fine"));
    session.hook("subagent-stop", Some("cart"), json!({ "last_assistant_message": "cart.rs" }));
    assert_eq!(session.frame("f2").results.as_deref(), Some("cart.rs"));
}

/// One call hands several frames over. Each prompt gets what its subagent needs, and the answer of the
/// subagent becomes the results.
#[test]
fn subagents_of_a_host_with_hooks_need_no_call_of_ours() {
    let mut session = Session::new();
    let frames = ["Cart", "Mail"].map(|title| json!({ "title": title, "successCriteria": format!("{title} works") }));
    let handed = session.call_as(None, "plan", json!({ "frames": frames, "handOver": true }));
    assert!(handed.len() < 700, "the prompts are lines: {handed}");
    for (frame, title) in [("f2", "Cart"), ("f3", "Mail")] {
        let line = format!("Your task on the call stack is frame {frame} ({title}).");
        assert!(handed.contains(&line), "{handed}");
        let input = json!({ "description": title, "prompt": format!("{line} Be brief."), "subagent_type": "general" });
        let (said, errors) =
            session.run_hook("pre-tool-use", None, json!({ "tool_name": "Agent", "tool_input": input }));
        assert_eq!(errors, "");
        let updated = serde_json::from_str::<Value>(&said).unwrap()["hookSpecificOutput"]["updatedInput"].clone();
        let prompt = updated["prompt"].as_str().unwrap().to_owned();
        for part in [&*line, "Be brief.", &format!("<title>{title}</title>"), "is recorded as the results"] {
            assert!(prompt.contains(part), "{part}: {prompt}");
        }
        assert!(!prompt.contains("call pop") && updated["subagent_type"] == "general", "{prompt}");
        session.hook("subagent-start", Some(title), json!({ "agent_type": "general" }));
        let transcript = session.project.folder.path().join(format!("agent-{title}.jsonl"));
        let first = json!({ "type": "user", "message": { "role": "user", "content": prompt } });
        std::fs::write(&transcript, format!("{first}\n")).unwrap();
        let answer = format!("{title} is in src");
        let ended = json!({ "last_assistant_message": answer, "agent_transcript_path": transcript });
        assert_eq!(session.hook("subagent-stop", Some(title), ended), "");
        session.named(title, &prompt);
        let done = session.frame(frame);
        assert_eq!((done.status, done.results), (FrameStatus::Completed, Some(answer)));
    }
    assert_eq!(session.project.stack().read(|tree| tree.len()).unwrap(), 3, "no frame of a wrapper is left behind");
    let (said, _) = session.run_hook(
        "pre-tool-use",
        None,
        json!({ "tool_name": "Agent", "tool_input": { "prompt": "Look around" } }),
    );
    assert_eq!(said, "", "a prompt that hands nothing over stays as it is");
}

/// The worker of the plugin has none of our tools, so its prompt names none. The answer of the hand-over
/// names the worker.
#[test]
fn the_worker_of_the_plugin_is_told_of_no_tools() {
    let mut session = Session::new();
    let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
    let handed = session.call_as(None, "push", task);
    assert!(handed.contains("of the type callstack:worker (it can read, write and run"), "{handed}");
    let line = "Your task on the call stack is frame f2 (Cart).";
    let prompt = |session: &Session, kind: &str| {
        let input = json!({ "description": "Cart", "prompt": line, "subagent_type": kind });
        let (said, _) = session.run_hook("pre-tool-use", None, json!({ "tool_name": "Agent", "tool_input": input }));
        serde_json::from_str::<Value>(&said).unwrap()["hookSpecificOutput"]["updatedInput"]["prompt"].to_string()
    };
    for (kind, has_tools) in [("callstack:worker", false), ("callstack-run:worker", false), ("general-purpose", true)] {
        let told = prompt(&session, kind);
        assert!(told.contains("is recorded as the results of f2"), "{kind}: {told}");
        assert_eq!(told.contains("in your calls of the tools of the MCP server"), has_tools, "{kind}: {told}");
    }
}

/// A worker cannot look up anything. So its prompt is completed even if the agent has not used the
/// exact words.
#[test]
fn the_prompt_of_a_worker_need_not_have_the_very_words() {
    let mut session = Session::new();
    let prompt = |session: &Session, kind: &str, words: &str| {
        let input = json!({ "description": "Cart", "prompt": words, "subagent_type": kind });
        session.run_hook("pre-tool-use", None, json!({ "tool_name": "Agent", "tool_input": input })).0
    };
    let hand_over = |session: &mut Session, title: &str| {
        let task = json!({ "title": title, "successCriteria": "Totals", "handOver": true });
        session.call_as(None, "push", task);
    };
    assert_eq!(prompt(&session, "callstack:worker", "Sum the cart."), "", "nothing waits");
    hand_over(&mut session, "Cart");
    for words in ["Work on frame f2 (Cart), please.", "Do it."] {
        let told = prompt(&session, "callstack:worker", words);
        assert!(told.contains("Your task on the call stack is frame f2 (Cart).") && told.contains(words), "{told}");
        assert_eq!(prompt(&session, "general-purpose", words), "", "another subagent can look it up");
    }
    hand_over(&mut session, "Mail");
    for words in ["Do it.", "Do not touch f3; f2 is another one's."] {
        assert_eq!(prompt(&session, "callstack:worker", words), "", "it is not known which one");
    }
    assert!(prompt(&session, "callstack:worker", "Do f3.").contains("frame f3 (Mail)"));
}

/// If the requests of a subagent fail permanently, its frame has failed. It does not matter whether the frame
/// was handed over or is the subagent's own.
#[test]
fn a_subagent_that_breaks_off_fails_its_frame() {
    let mut session = Session::new();
    session.hook("subagent-start", Some("docs"), json!({ "agent_type": "general" }));
    session.hook("stop-failure", Some("docs"), json!({ "last_assistant_message": "API Error: 400" }));
    let own = session.frame("f2");
    assert_eq!((own.status, own.results.as_deref()), (FrameStatus::Failed, Some("API Error: 400")));
    let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
    session.call_as(None, "push", task);
    let input = json!({ "prompt": "Your task on the call stack is frame f3 (Cart)." });
    let failed = json!({ "tool_name": "Agent", "tool_input": input, "error": "Agent terminated early" });
    session.hook("post-tool-use-failure", None, failed.clone());
    let cart = session.frame("f3");
    assert_eq!((cart.status, cart.results.as_deref()), (FrameStatus::Failed, Some("Agent terminated early")));
    assert_eq!(session.hook("post-tool-use-failure", None, failed), "", "it has failed already");
    // The session itself continues.
    session.hook("stop-failure", None, json!({ "last_assistant_message": "API Error: 500" }));
    assert_eq!(session.frame("f1").status, FrameStatus::InProgress);
}

/// A proxy sees the answers of subagents, but their calls come in the name of the conversation. A call that
/// names the frame of a subagent counts as a call of that subagent.
#[test]
fn calls_of_subagents_without_a_name_are_told_by_their_frame() {
    let project = Project::new();
    let mut command = project.command();
    command.arg("mcp").env("CALLSTACK_CONVERSATION", "qwen/4f0c").env("CALLSTACK_WATCHED", "1");
    let mut server = Server::start(command);
    server.greet("2025-06-18");
    server.done(None, "push", json!({ "title": "Shop", "successCriteria": "It works" }));
    let handed = server.done(None, "push", json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true }));
    assert!(handed.contains("is recorded as the results of f2") && !handed.contains("call pop"), "{handed}");
    // The proxy has seen the first request of the subagent.
    let stack = project.stack();
    let agent = Actor::new(HolderKind::Conversation, "qwen/4f0c/1").caller("qwen/4f0c");
    stack.as_actor(agent.clone()).resume("f2").unwrap();
    ends_with(&server.done(None, "record", json!({ "decisions": ["Integers"], "frame": "f2" })), "f2 (Cart).");
    let part = json!({ "title": "Tax", "successCriteria": "It is right", "frame": "f2" });
    ends_with(&server.done(None, "push", part), "You are in f3 (Tax).");
    ends_with(&server.done(None, "record", json!({ "decisions": ["Net"] })), "You are in f1 (Shop).");
    let settings = callstack_core::Settings::default();
    let stack = project.stack().as_actor(agent);
    callstack_core::tools::conversation::Conversation::new(&stack, &settings)
        .agent_ended("", "Cart::total() sums")
        .unwrap();
    let frames = ["f1", "f2", "f3"].map(|frame| project.stack().frame(frame).unwrap().status);
    assert_eq!(frames, [FrameStatus::InProgress, FrameStatus::Completed, FrameStatus::Completed]);
}

/// A package whose hooks name conversations, but do not report subagents, hands a frame over with everything
/// that the subagent needs.
#[test]
fn without_hooks_for_subagents_the_prompt_is_whole() {
    let mut session = Session::of_package(&[]);
    let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
    let handed = session.call_as(None, "push", task);
    assert!(handed.contains("<title>Cart</title>") && handed.contains("At the end call pop"), "{handed}");
}

/// The text that a hook adds to the conversation.
fn added(said: &str) -> String {
    let said: Value = serde_json::from_str(said).unwrap_or_default();
    said["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// The advice to plan is in the answer with which the frame begins, and nowhere else.
#[test]
fn the_advice_to_plan_is_given_once() {
    let mut session = Session::new();
    let task = json!({ "title": "Cart", "successCriteria": "It sums", "frame": "new" });
    let mut told = session.call_as(None, "push", task).matches("initial-planning priority").count();
    for event in ["user-prompt-submit", "session-start"] {
        let (said, _) = session.run_hook(event, None, json!({}));
        assert!(!added(&said).is_empty(), "{event}");
        told += added(&said).matches("initial-planning priority").count();
    }
    told += session.call_as(None, "context", json!({})).matches("initial-planning priority").count();
    assert_eq!(told, 1, "once");
}

/// A prompt gets the volatile part of a context if it differs from the one that was sent last.
#[test]
fn a_prompt_is_told_only_what_has_changed() {
    let mut session = Session::new();
    let prompted = |session: &Session| added(&session.run_hook("user-prompt-submit", None, json!({})).0);
    assert!(prompted(&session).contains("<stack-now"), "the first prompt");
    assert_eq!(prompted(&session), "", "nothing has changed");
    let stack = session.project.stack();
    stack.add_decision("f1", "Prices are integers").unwrap();
    stack.plan(NewFrame::new("Mail").below("f1")).unwrap();
    let changed = prompted(&session);
    assert!(changed.contains("Mail"), "{changed}");
    assert_eq!(prompted(&session), "", "nothing has changed");
    // After a text about another frame, that text is the one that was sent last.
    session.call_as(None, "push", json!({ "title": "Cart", "successCriteria": "Totals" }));
    assert!(prompted(&session).contains("Cart"), "another frame");
    session.call_as(None, "invalidate", json!({ "frame": "Cart", "reason": "It is bought" }));
    assert!(prompted(&session).contains("<stack-now"), "the first frame again");
    assert_eq!(prompted(&session), "", "nothing has changed");
    // The summary of a compaction replaces the text, and the session start after the compaction sends
    // everything.
    session.hook("pre-compact", None, json!({}));
    assert!(prompted(&session).contains("Mail"), "after a compaction");
    session.hook("pre-compact", None, json!({}));
    let begun = added(&session.run_hook("session-start", None, json!({ "source": "compact" })).0);
    assert!(begun.contains("Mail"), "{begun}");
    assert_eq!(prompted(&session), "", "the beginning has told it");
}

/// Files that a shell changes are artifacts, if the command line names them.
#[test]
fn files_that_bash_changes_are_artifacts() {
    let session = Session::new();
    let run = |command: &str, cwd: &str| {
        let folder = session.project.folder.path().join(cwd);
        let event =
            json!({ "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": {}, "cwd": folder });
        assert_eq!(session.hook("post-tool-use", None, event), "");
    };
    run("git mv old.rs new.rs && cargo test > out.log 2>&1", "");
    run("touch a.ts ../b.ts ../../outside.ts > /tmp/log", "web");
    run("ls -l | grep x", "");
    // The folder in which the shell is after the command.
    run("cd docs && touch guide.md", "docs");
    let artifacts = session.frame("f1").artifacts;
    assert_eq!(artifacts, ["new.rs (renamed from old.rs)", "out.log", "web/a.ts", "b.ts", "docs/guide.md"]);
}

/// A subagent that works without a frame that was handed over gets a description of its frame, within
/// its budget.
#[test]
fn a_subagent_without_a_task_of_ours_gets_the_context_of_its_frame() {
    let session = Session::new();
    let (said, _) = session.run_hook("subagent-start", Some("docs"), json!({ "agent_type": "general" }));
    let told = added(&said);
    assert!(told.starts_with("Your work is frame f2 (general)") && told.contains("<stack-context"), "{told}");
    assert!(told.len() < 1_200 * 6, "{} bytes", told.len());
    // A subagent that is known gets nothing a second time.
    let (said, _) = session.run_hook("subagent-start", Some("docs"), json!({ "agent_type": "general" }));
    assert_eq!(added(&said), "");
}

#[test]
fn the_summary_of_a_compaction_becomes_the_results_so_far() {
    let session = Session::new();
    let summary = "The cart in src/cart.rs sums prices as integers; rounding at line 40 fails for negative amounts; \
        next come the taxes in src/taxes.rs.";
    session.hook("post-compact", None, json!({ "compact_summary": summary }));
    assert_eq!(session.frame("f1").results.as_deref(), Some(summary));
    // A summary that says less changes nothing.
    session.hook("post-compact", None, json!({ "compact_summary": "We talked." }));
    assert_eq!(session.frame("f1").results.as_deref(), Some(summary));
}

/// A subagent that was never reported has its frame at its end, even beside a subagent to which a frame was
/// handed over.
#[test]
fn the_answer_of_a_subagent_without_a_frame_is_kept() {
    let mut session = Session::new();
    session.call_as(None, "push", json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true }));
    session.hook("subagent-start", Some("docs"), json!({ "agent_type": "general" }));
    session.hook("subagent-stop", Some("docs"), json!({ "last_assistant_message": "Docs are fine" }));
    session.named("docs", "Review the docs");
    let (cart, docs) = (session.frame("f2"), session.frame("f3"));
    assert_eq!((cart.status, docs.results.as_deref()), (FrameStatus::InProgress, Some("Docs are fine")));
    // Such a subagent can also call a tool before its end.
    session.hook("subagent-start", Some("mail"), json!({ "agent_type": "general" }));
    ends_with(&session.call("mail", "record", json!({ "decisions": ["Retry"] })), "You are in f4 (subagent).");
    session.named("mail", "Look at the mail");
    let said = json!([{ "type": "text", "text": "Mail works" }]);
    session.hook("subagent-stop", Some("mail"), json!({ "last_assistant_message": said }));
    let mail = session.frame("f4");
    assert_eq!((mail.success_criteria.as_str(), mail.results.as_deref()), ("Look at the mail", Some("Mail works")));
    assert_eq!(session.frame("f2").status, FrameStatus::InProgress);
}

/// Without hooks, the prompt has everything that the subagent needs. The subagent pops the frame by
/// its handle.
#[test]
fn a_subagent_pops_what_was_handed_over_without_entering_it() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    server.done(Some("lead"), "push", json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true }));
    server.done(Some("sub"), "record", json!({ "decisions": ["Integers"], "frame": "f2" }));
    // The subagent splits its work: the part is not its task.
    let part = json!({ "title": "Totals", "successCriteria": "They add up", "frame": "f2" });
    ends_with(&server.done(Some("sub"), "push", part), "You are in f3 (Totals).");
    ends_with(&server.pop("sub", "totals.rs"), "You are in f2 (Cart).");
    let popped = server.done(Some("sub"), "pop", json!({ "status": "completed", "results": "cart.rs", "frame": "f2" }));
    assert!(popped.starts_with("f2 (Cart) is completed. End your turn"), "{popped}");
    ends_with(&server.done(Some("lead"), "status", json!({})), "You are in f1 (Shop).");
}

#[test]
fn a_frame_can_be_handed_over_again() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
    server.done(Some("lead"), "push", task);
    server.done(Some("first"), "activate", json!({ "frame": "f2" }));
    let question = json!({ "status": "blocked", "results": "Half", "question": "Which rate?" });
    server.done(Some("first"), "pop", question);
    let again = json!({ "frame": "f2", "answer": "20 %", "handOver": true });
    assert!(server.done(Some("lead"), "activate", again).contains("Your task on the call stack is frame f2 (Cart)"));
    ends_with(&server.done(Some("second"), "activate", json!({ "frame": "f2" })), "You are in f2 (Cart).");
    server.refused(Some("third"), "activate", json!({ "frame": "f2" }));
}

#[test]
fn long_titles_are_cut_in_answers() {
    let project = Project::new();
    let mut server = project.connected();
    let pushed = server.push("one", &"long ".repeat(2_000));
    assert!(pushed.len() < 900 && pushed.ends_with("…)."), "{pushed}");
}

#[test]
fn every_version_of_the_protocol_is_served() {
    let project = Project::new();
    for version in VERSIONS {
        let mut server = project.server(&[]);
        let hello = server.greet(version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "callstack");
        assert_eq!(server.result("ping", json!({})), json!({}));
        let names: Vec<Value> = server.result("tools/list", json!({}))["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert_eq!(names, ["push", "pop", "plan", "activate", "invalidate", "status", "context", "record"]);
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn the_newest_version_needs_no_greeting() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "threadId": "one",
    });
    let found = server.result("server/discover", json!({ "_meta": meta }));
    assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let arguments = json!({ "title": "Shop", "successCriteria": "All pay" });
    let pushed = server.result("tools/call", json!({ "name": "push", "arguments": arguments, "_meta": meta }));
    ends_with(pushed["content"][0]["text"].as_str().unwrap(), "You are in f1 (Shop).");
    let unknown = json!({ "io.modelcontextprotocol/protocolVersion": "2031-01-01" });
    let answer = server.answer("tools/list", json!({ "_meta": unknown }));
    assert!(answer["error"]["message"].is_string(), "{answer}");
}

#[test]
fn a_client_that_starts_a_server_for_each_conversation_needs_no_name() {
    let project = Project::new();
    let cart = json!({ "title": "Cart", "successCriteria": "It works" });
    let completed = |results: &str| json!({ "status": "completed", "results": results });
    for client in ["gemini-cli-mcp-client", "qwen-cli-mcp-client-callstack", "copilot-cli"] {
        let mut server = project.server(&[]);
        server.greet_as(client, "2025-06-18", json!({}));
        let mut beside = project.server(&[]);
        beside.greet_as(client, "2025-06-18", json!({}));
        let shop = json!({ "title": "Shop", "successCriteria": "It is open" });
        let pushed = server.done(None, "push", shop.clone());
        let shop_frame = pushed.split(' ').next().unwrap().to_owned();
        ends_with(&pushed, &format!("You are in {shop_frame} (Shop)."));
        let begun = beside.done(None, "push", shop);
        assert!(begun.contains("Shop) has begun"), "another conversation begins another task: {begun}");
        server.done(None, "push", cart.clone());
        ends_with(&server.done(None, "pop", completed("cart.rs")), &format!("You are in {shop_frame} (Shop)."));
        beside.done(None, "pop", completed("Another shop"));
        // When a conversation ends together with its server, its frame is free for the next conversation.
        assert_eq!(server.end(), Some(0));
        let mut next = project.server(&[]);
        next.greet_as(client, "2025-06-18", json!({}));
        next.done(None, "activate", json!({ "frame": shop_frame }));
        next.done(None, "pop", completed("The shop"));
    }
}

/// Sends two calls at once, and returns the texts of their answers in the order of the calls.
fn together(server: &mut Server, conversation: Option<&str>, calls: [(&str, Value); 2]) -> [String; 2] {
    let first = server.requests + 1;
    let lines = calls.into_iter().zip(first..).map(|((name, arguments), id)| {
        let meta = conversation.map_or(json!({}), |conversation| json!({ "threadId": conversation }));
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    server.requests += 2;
    server.write(lines);
    let answers = [server.read(), server.read()];
    [first, first + 1].map(|id| {
        let answer = answers.iter().find(|answer| answer["id"] == id).expect("both are answered");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    })
}

#[test]
fn calls_that_are_sent_together_are_done_one_after_the_other() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Part 0");
    for number in 1..100 {
        let pop = ("pop", json!({ "status": "completed", "results": format!("Part {}", number - 1) }));
        let push = ("push", json!({ "title": format!("Part {number}"), "successCriteria": "It works" }));
        let [popped, pushed] = together(&mut server, Some("one"), [pop, push]);
        assert!(popped.starts_with(&format!("f{number} (Part {}) is completed", number - 1)), "{popped}");
        ends_with(&pushed, &format!("You are in f{} (Part {number}).", number + 1));
    }
}

#[test]
fn arguments_that_are_the_text_of_an_object_are_read() {
    let project = Project::new();
    let mut server = project.connected();
    let params = json!({ "name": "status", "arguments": "{\"all\": true}" });
    assert_eq!(server.result("tools/call", params)["isError"], false);
    let answer = server.answer("tools/call", json!({ "name": "status", "arguments": "all" }));
    assert!(answer["error"]["message"].is_string(), "{answer}");
}

#[test]
fn calls_of_a_client_that_shuffles_them_are_done_in_the_order_that_has_a_meaning() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.greet_as("copilot-cli", "2025-06-18", json!({}));
    let push = |title: &str| ("push", json!({ "title": title, "successCriteria": "It works" }));
    let pop = |results: &str| ("pop", json!({ "status": "completed", "results": results }));
    let (name, arguments) = push("Cart");
    server.done(None, name, arguments);
    let [pushed, popped] = together(&mut server, None, [push("Mail"), pop("cart.rs")]);
    assert!(popped.starts_with("f1 (Cart) is completed"), "{popped}");
    ends_with(&pushed, "You are in f2 (Mail).");
    let record = ("record", json!({ "decisions": ["Plain text"] }));
    let [popped, recorded] = together(&mut server, None, [pop("mail.rs"), record]);
    assert!(popped.starts_with("f2 (Mail) is completed"), "{popped}");
    assert!(recorded.starts_with("f2 (Mail): recorded."), "{recorded}");
}

#[test]
fn a_client_with_many_conversations_on_one_server_says_where_each_works() {
    let project = Project::new();
    let mut server = project.server(&[]);
    server.greet_as("claude-ai", "2025-06-18", json!({}));
    server.done(None, "push", json!({ "title": "Shop", "successCriteria": "It is open" }));
    let refused = server.refused(None, "pop", json!({ "status": "completed", "results": "Done" }));
    assert!(refused.contains("Open frames: f1 (Shop)"), "{refused}");
}

#[test]
fn a_conversation_goes_down_and_up_the_tree() {
    let project = Project::new();
    let mut server = project.connected();
    let begun = server.push("one", "Shop");
    assert!(begun.starts_with("f1 (Shop) has begun: work in it now, then finish it with pop.\n"), "{begun}");
    assert!(begun.contains("plan each with plan"), "the first frame of a task is told to plan: {begun}");
    ends_with(&begun, "You are in f1 (Shop).");
    let frames = json!([
        { "title": "Cart", "successCriteria": "Totals are right" },
        { "title": "Checkout", "successCriteria": "Orders are stored", "dependsOn": ["Cart"] },
    ]);
    let planned = server.done(Some("one"), "plan", json!({ "frames": frames }));
    assert_eq!(
        planned,
        "f2 (Cart) is planned.\nf3 (Checkout) is planned.\nBegin with activate f2.\nYou are in f1 (Shop)."
    );
    assert!(server.refused(Some("one"), "activate", json!({ "frame": "Checkout" })).contains("f2"));
    let begun = server.done(Some("one"), "activate", json!({ "frame": "Cart" }));
    assert!(begun.contains("<title>Cart</title>") && begun.contains("<title>Shop</title>"), "{begun}");
    ends_with(&begun, "You are in f2 (Cart).");
    server.done(
        Some("one"),
        "record",
        json!({ "decisions": ["Cents, so that sums are exact"], "artifacts": ["src/cart.rs"] }),
    );
    let popped = server.pop("one", "src/cart.rs adds up");
    assert_eq!(popped, "f2 (Cart) is completed. Next: activate f3 (Checkout).\nYou are in f1 (Shop).");
    let begun = server.done(Some("one"), "activate", json!({ "frame": "f3" }));
    assert!(begun.contains("src/cart.rs adds up"), "it has the results on which it depends: {begun}");
    // Another conversation begins its own task, and a new server knows both tasks.
    ends_with(&server.push("two", "Blog"), "You are in f4 (Blog).");
    assert_eq!(server.end(), Some(0));
    let mut server = project.connected();
    ends_with(&server.done(Some("one"), "status", json!({})), "You are in f3 (Checkout).");
    ends_with(&server.done(Some("two"), "status", json!({})), "You are in f4 (Blog).");
    server.pop("one", "orders.rs");
    ends_with(&server.pop("one", "the shop"), "The task is over.\nYou are in no frame.");
    let stack = project.stack();
    assert_eq!(stack.read(|tree| tree.with_status(FrameStatus::Completed).count()).unwrap(), 3);
    assert_eq!(stack.frame("f2").unwrap().decisions, ["Cents, so that sums are exact"]);
}

#[test]
fn the_task_of_a_frame_is_for_the_agent_that_works_on_it() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    let steps = json!([
        { "title": "Cart", "successCriteria": "Totals are right", "task": "Sum up in whole cents: see src/money.rs" },
        { "title": "Mail", "successCriteria": "It is sent" },
    ]);
    server.done(Some("lead"), "plan", json!({ "frames": steps }));
    let begun = server.done(Some("lead"), "activate", json!({ "frame": "f2" }));
    assert!(begun.contains("Sum up in whole cents"), "{begun}");
    server.pop("lead", "cart.rs");
    let task = json!({ "title": "Pay", "successCriteria": "Orders are paid", "task": "Use the provider of shop.toml", "handOver": true });
    server.done(Some("lead"), "push", task);
    let begun = server.done(Some("agent"), "activate", json!({ "frame": "f4" }));
    assert!(begun.contains("Use the provider of shop.toml"), "{begun}");
    let others = server.done(Some("lead"), "context", json!({ "frame": "f3" }));
    assert!(!others.contains("whole cents") && !others.contains("shop.toml"), "a sibling has no use for it: {others}");
}

#[test]
fn a_completed_frame_that_is_wrong_is_reopened_and_who_has_used_it_is_named() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let frames = json!([
        { "title": "Cart", "successCriteria": "Totals are right" },
        { "title": "Mail", "successCriteria": "It is sent", "dependsOn": ["Cart"] },
    ]);
    server.done(Some("one"), "plan", json!({ "frames": frames }));
    for frame in ["f2", "f3"] {
        server.done(Some("one"), "activate", json!({ "frame": frame }));
        server.pop("one", "19 % of taxes");
    }
    let refused = server.refused(Some("one"), "activate", json!({ "frame": "f2" }));
    assert!(refused.contains("f2 (Cart) is completed: reopen it only if it is wrong"), "{refused}");
    let reopened = server.done(Some("one"), "activate", json!({ "frame": "f2", "answer": "It is 20 %" }));
    assert!(
        reopened.starts_with(
            "f2 (Cart) is in progress: work in it now, then finish it with pop. Its results were used by frames that have begun or \
             ended: f3; look whether they hold.\n"
        ),
        "{reopened}"
    );
    assert!(reopened.contains("It is 20 %"), "{reopened}");
    ends_with(&reopened, "You are in f2 (Cart).");
}

#[test]
fn who_takes_back_what_it_has_handed_over_goes_on_where_it_was() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    for (frame, tool, arguments) in [
        ("f2", "pop", json!({ "status": "completed", "results": "I did it" })),
        ("f3", "invalidate", json!({ "frame": "f3", "reason": "Not needed" })),
    ] {
        let task = json!({ "title": "Cart", "successCriteria": "Totals", "handOver": true });
        server.done(Some("lead"), "push", task);
        server.done(Some(frame), "activate", json!({ "frame": frame }));
        server.done(Some("lead"), "activate", json!({ "frame": frame, "takeOver": true }));
        let ended = server.done(Some("lead"), tool, arguments);
        ends_with(&ended, "You are in f1 (Shop).");
        assert!(!ended.contains("End your turn"), "{ended}");
    }
}

#[test]
fn a_pop_begins_the_next_frame_in_the_same_call() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let frames = json!([
        { "title": "Cart", "successCriteria": "Totals are right" },
        { "title": "Checkout", "successCriteria": "Orders are stored", "dependsOn": ["Cart"] },
        { "title": "Search", "successCriteria": "Words are found" },
        { "title": "Page", "successCriteria": "It is seen", "dependsOn": ["Search"] },
    ]);
    server.done(Some("one"), "plan", json!({ "frames": frames }));
    server.done(Some("one"), "activate", json!({ "frame": "f2" }));
    let pop = |next: Value| json!({ "status": "completed", "results": "done-it", "next": next });
    // Nothing has changed if the next frame cannot begin.
    let refused = server.refused(Some("one"), "pop", pop(json!("Page")));
    assert!(refused.contains("f5") && refused.contains("f4 (Search) is planned"), "{refused}");
    let blocked = json!({ "status": "blocked", "results": "so far", "question": "Which?", "next": true });
    assert!(server.refused(Some("one"), "pop", blocked).contains("left out unless the status is completed or failed"));
    let begun = server.done(Some("one"), "pop", pop(json!(true)));
    assert!(begun.starts_with("f2 (Cart) is completed.\nf3 (Checkout) has begun: work in it now"), "{begun}");
    assert!(
        begun.contains("Orders are stored") && begun.contains("done-it"),
        "its task and the results it needs: {begun}"
    );
    ends_with(&begun, "You are in f3 (Checkout).");
    // By its name, as a text. After that, no frame is left.
    ends_with(&server.done(Some("one"), "pop", pop(json!("f4"))), "You are in f4 (Search).");
    ends_with(&server.done(Some("one"), "pop", pop(json!("true"))), "You are in f5 (Page).");
    let popped = server.done(Some("one"), "pop", pop(json!(true)));
    assert_eq!(
        popped,
        "f5 (Page) is completed. Nothing is left below f1: check its criteria, then pop it.\nYou are in f1 (Shop)."
    );
    assert_eq!(project.stack().read(|tree| tree.with_status(FrameStatus::Completed).count()).unwrap(), 4);
}

#[test]
fn a_pop_begins_no_frame_of_another_agent() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let frames = json!([
        { "title": "Cart", "successCriteria": "Totals are right" },
        { "title": "Checkout", "successCriteria": "Orders are stored" },
    ]);
    server.done(Some("one"), "plan", json!({ "frames": frames }));
    let handed = server.done(Some("one"), "activate", json!({ "frame": "f2", "handOver": true }));
    assert!(handed.contains("for a subagent"), "{handed}");
    server.done(Some("agent"), "activate", json!({ "frame": "f2" }));
    let pop = json!({ "status": "completed", "results": "cart.rs", "next": true });
    let refused = server.refused(Some("agent"), "pop", pop);
    assert!(refused.contains("this frame is all of your task"), "{refused}");
    assert_eq!(project.stack().frame("f3").unwrap().status, FrameStatus::Planned);
}

#[test]
fn what_the_tools_answer_can_be_folded() {
    let project = Project::new();
    let mut server = project.connected();
    let calls = [
        ("push", json!({ "title": "Shop", "successCriteria": "It works" })),
        ("push", json!({ "title": "Cart", "successCriteria": "It works" })),
        ("record", json!({ "decisions": ["Cents, so that sums are exact"] })),
        ("plan", json!({ "frames": [{ "title": "Totals", "successCriteria": "They are right" }] })),
        ("activate", json!({ "frame": "f3" })),
        ("status", json!({})),
        ("pop", json!({ "status": "completed", "results": "inner-results" })),
        ("pop", json!({ "status": "completed", "results": "cart-results" })),
        ("push", json!({ "title": "Pay", "successCriteria": "It works" })),
        ("pop", json!({ "status": "blocked", "results": "so-far", "question": "Which rate?" })),
        ("push", json!({ "title": "Search", "successCriteria": "It works" })),
        ("invalidate", json!({ "frame": "f5", "reason": "nobody-searches" })),
    ];
    let mut messages = vec![json!({ "role": "user", "content": "Build the shop." })];
    for (number, (tool, arguments)) in calls.into_iter().enumerate() {
        let answer = server.done(Some("one"), tool, arguments.clone());
        let function = json!({ "name": format!("callstack-{tool}"), "arguments": arguments.to_string() });
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": number.to_string(), "type": "function", "function": function }] }));
        messages.push(json!({ "role": "tool", "tool_call_id": number.to_string(), "content": answer }));
    }
    let request = json!({ "messages": messages }).to_string();
    let folded = fold(Wire::Chat, &request, &FoldSettings::default());
    let found: Vec<(String, FoldedStatus)> =
        folded.report.stretches.iter().map(|stretch| (stretch.frame.to_string(), stretch.status)).collect();
    let expected = [("f2", FoldedStatus::Completed), ("f4", FoldedStatus::Blocked), ("f5", FoldedStatus::Invalidated)];
    assert_eq!(found, expected.map(|(frame, status)| (frame.to_owned(), status)), "{}", folded.text);
    for word in ["cart-results", "Cents, so that sums are exact", "Which rate?", "so-far", "nobody-searches"] {
        assert!(folded.text.contains(word), "{word}: {}", folded.text);
    }
    assert!(!folded.text.contains("inner-results"), "{}", folded.text);
}

#[test]
fn who_has_no_name_is_asked_for_the_frame() {
    let project = Project::new();
    let mut server = project.connected();
    let new = |title: &str, frame: Option<&str>| {
        let mut arguments = json!({ "title": title, "successCriteria": "It works" });
        if let Some(frame) = frame {
            arguments["frame"] = frame.into();
        }
        arguments
    };
    // The first task needs no name.
    ends_with(
        &server.done(None, "push", new("Shop", None)),
        "This was for f1 (Shop): pass \"frame\": \"f1\" to work in it.",
    );
    let refused = server.refused(None, "push", new("Cart", None));
    assert!(refused.contains("\"new\"") && refused.contains("f1 (Shop)"), "{refused}");
    server.done(None, "push", new("Cart", Some("f1")));
    server.done(None, "push", new("Blog", Some("new")));
    for (tool, arguments) in [
        ("pop", json!({ "status": "completed", "results": "Done" })),
        ("context", json!({})),
        ("record", json!({ "decisions": ["One"] })),
        ("plan", json!({ "frames": [{ "title": "A", "successCriteria": "B" }] })),
    ] {
        let refused = server.refused(None, tool, arguments);
        assert!(refused.contains("f2 (Cart)") && refused.contains("frame"), "{tool}: {refused}");
    }
    let stack = project.stack();
    stack
        .read(|tree| {
            assert_eq!(tree.roots().len(), 2, "nothing else was begun");
            assert_eq!(tree.node(tree.node(tree.roots()[0]).children()[0]).title(), "Cart");
        })
        .unwrap();
}

#[test]
fn two_subagents_at_once_do_not_mix() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    for title in ["Cart", "Mail"] {
        let arguments = json!({ "title": title, "successCriteria": "It works", "handOver": true });
        let prompt = server.done(Some("lead"), "push", arguments);
        ends_with(&prompt, "You are in f1 (Shop).");
        assert!(prompt.contains("<title>Shop</title>") && prompt.contains("It works"), "{prompt}");
    }
    // Subagents that the host distinguishes need the handle only once.
    for (agent, frame) in [("a", "f2"), ("b", "f3")] {
        server.done(Some(agent), "activate", json!({ "frame": frame }));
    }
    server.push("a", "Totals");
    server.done(Some("b"), "record", json!({ "artifacts": ["mail.rs"] }));
    ends_with(
        &server.pop("a", "totals.rs"),
        "Nothing is left below f2: check its criteria, then pop it.\nYou are in f2 (Cart).",
    );
    ends_with(
        &server.pop("a", "cart.rs"),
        "f2 (Cart) is completed. End your turn with these results.\nYou are in no frame.",
    );
    ends_with(&server.pop("b", "mail.rs"), "You are in no frame.");
    let status = server.done(Some("lead"), "status", json!({ "of": "f3", "wait": 5 }));
    assert!(status.contains("mail.rs"), "{status}");
    // Subagents that share the name of the agent that started them pass the handle, and do not move
    // that agent.
    server.done(Some("lead"), "push", json!({ "title": "Docs", "successCriteria": "It works", "handOver": true }));
    server.done(Some("lead"), "activate", json!({ "frame": "f5" }));
    ends_with(&server.done(Some("lead"), "status", json!({})), "You are in f1 (Shop).");
    server.done(Some("lead"), "pop", json!({ "status": "completed", "results": "README", "frame": "f5" }));
    ends_with(&server.pop("lead", "the shop"), "You are in no frame.");
    let stack = project.stack();
    assert_eq!(stack.read(|tree| tree.with_status(FrameStatus::Completed).count()).unwrap(), 5);
    assert_eq!(stack.frame("f3").unwrap().artifacts, ["mail.rs"]);
    assert_eq!(stack.frame("f2").unwrap().results.as_deref(), Some("cart.rs"));
}

#[test]
fn questions_and_failures_go_on() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    server.push("one", "Taxes");
    let question = json!({ "status": "blocked", "results": "The rest works", "question": "Which rate?" });
    ends_with(&server.done(Some("one"), "pop", question), "You are in f1 (Shop).");
    assert!(server.refused(Some("one"), "activate", json!({ "frame": "f2" })).contains("Which rate?"));
    assert!(
        server
            .refused(Some("one"), "activate", json!({ "frame": "f2", "note": "Again" }))
            .contains("f2 (Taxes) is blocked")
    );
    let begun = server.done(Some("one"), "activate", json!({ "frame": "f2", "answer": "20 %" }));
    assert!(begun.contains("20 %"), "{begun}");
    server.done(Some("one"), "pop", json!({ "status": "failed", "results": "The service is gone" }));
    let begun = server.done(Some("one"), "activate", json!({ "frame": "f2", "note": "Use the table" }));
    assert!(begun.contains("The service is gone") && begun.contains("Use the table"), "{begun}");
    ends_with(&begun, "You are in f3 (Taxes).");
    for (tool, arguments, expected) in [
        ("pop", json!({ "status": "completed", "results": " " }), "results is empty, but must be what exists now"),
        ("pop", json!({ "status": "done", "results": "x" }), "unknown variant `done`"),
        (
            "pop",
            json!({ "status": "failed", "results": "x", "question": "Why?" }),
            "question is `Why?`, but must be left out unless the status is blocked",
        ),
        ("record", json!({}), "nothing to record"),
        ("record", json!({ "decisions": ["a", " "] }), "nothing was recorded"),
        ("plan", json!({}), "missing field `frames`"),
        ("plan", json!({ "frames": [] }), "frames is empty"),
        ("pop", json!({ "status": "blocked", "results": "x" }), "question is missing"),
        ("activate", json!({ "frame": "f3", "retry": true }), "pop it as failed first"),
        ("status", json!({ "wait": 3 }), "wait needs the frame"),
        ("activate", json!({ "frame": "f9" }), "f3 (Taxes)"),
        (
            "activate",
            json!({ "frame": "f1", "answer": "x" }),
            "an answer is for a blocked or completed frame that resumes",
        ),
        ("push", json!({ "title": "A", "successCriteria": "B", "dependsOn": ["Nothing"] }), "Nothing"),
        ("push", json!({ "title": "A", "successCriteria": "B", "colour": "red" }), "unknown field `colour`"),
    ] {
        let refused = server.refused(Some("one"), tool, arguments.clone());
        assert!(refused.contains(expected), "{tool} {arguments}: {refused}");
    }
    ends_with(&server.done(Some("one"), "status", json!({})), "You are in f3 (Taxes).");
}

/// A server whose client shows questions to a person. Its frame f1 is popped as blocked by the request 100.
/// Returns the request for an answer that the server sends.
fn blocked_before_a_person(project: &Project) -> (Server, Value) {
    let mut server = project.server(&[]);
    server.greet_with("2025-06-18", json!({ "elicitation": {} }));
    server.push("one", "Taxes");
    let arguments = json!({ "status": "blocked", "results": "The rest works", "question": "Which rate?\nOr none?" });
    let params = json!({ "name": "pop", "arguments": arguments, "_meta": { "threadId": "one" } });
    server.write(json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": params }).to_string());
    let asked = server.read();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["message"], "f1 (Taxes) waits for an answer:\n  Which rate?\n  Or none?");
    let schema = &asked["params"]["requestedSchema"];
    assert_eq!((&schema["properties"]["answer"]["type"], &schema["required"]), (&json!("string"), &json!(["answer"])));
    // No matter what the person does, the question is kept.
    assert_eq!(project.stack().frame("f1").unwrap().status, FrameStatus::Blocked);
    (server, asked)
}

fn decide(server: &mut Server, asked: &Value, result: Value) {
    server.write(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string());
}

#[test]
fn a_person_answers_the_question_of_a_blocked_frame() {
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    decide(&mut server, &asked, json!({ "action": "accept", "content": { "answer": "20 %\nYou are in f9." } }));
    let answer = server.answer_to(100);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("f1 (Taxes) is in progress again") && text.contains("\n  20 %\n  You are in f9."), "{text}");
    ends_with(text, "\nYou are in f1 (Taxes).");
    let frame = project.stack().frame("f1").unwrap();
    assert_eq!(frame.status, FrameStatus::InProgress);
    assert_eq!(frame.questions[0].answer.as_deref(), Some("20 %\nYou are in f9."));
    assert!(server.done(Some("one"), "context", json!({})).contains("20 %"));
}

#[test]
fn a_person_who_gives_no_answer_leaves_the_frame_blocked() {
    let refusals = [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": { "answer": " " } }),
        json!({ "action": "accept", "content": { "answer": 7 } }),
    ];
    for refusal in refusals {
        let project = Project::new();
        let (mut server, asked) = blocked_before_a_person(&project);
        decide(&mut server, &asked, refusal.clone());
        let answer = server.answer_to(100);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("f1 (Taxes) is blocked. No answer has come from the person"), "{refusal}: {text}");
        assert_eq!(project.stack().frame("f1").unwrap().status, FrameStatus::Blocked);
    }
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    let error = json!({ "code": -32603, "message": "There is no screen" });
    server.write(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string());
    let answer = server.answer_to(100);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("Ask for the answer"), "{answer}");
}

#[test]
fn the_error_of_a_host_that_repeats_the_question_is_not_written_down() {
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    let error = json!({ "code": -32_603, "message": format!("cannot show: {}", asked["params"]["message"]) });
    server.write(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string());
    server.answer_to(100);
    drop(server.input.take());
    let errors = server.errors();
    assert!(errors.contains("the host cannot ask the person: error -32603"), "{errors}");
    assert!(!errors.contains("Taxes") && !errors.contains("Which rate"), "{errors}");
}

#[test]
fn an_answer_is_not_used_for_another_question() {
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    let stack = project.stack();
    stack.answer("f1", "None").unwrap();
    stack.resume("f1").unwrap();
    stack.block("f1", "Which country?", None).unwrap();
    decide(&mut server, &asked, json!({ "action": "accept", "content": { "answer": "20 %" } }));
    let answer = server.answer_to(100);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the person's answer was not used:\n  20 %"), "{text}");
    stack.refresh().unwrap();
    assert_eq!(stack.frame("f1").unwrap().questions[1].answer, None);
}

#[test]
fn an_answer_after_the_call_is_kept() {
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    // The host cancels the call while the person still thinks.
    let cancelled = json!({ "requestId": 100, "reason": "timeout" });
    server.write(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }).to_string());
    server.done(Some("one"), "status", json!({}));
    decide(&mut server, &asked, json!({ "action": "accept", "content": { "answer": "20 %" } }));
    let stack = project.stack();
    let until = Instant::now() + Duration::from_secs(20);
    while stack.frame("f1").unwrap().pending_answer().is_none() {
        assert!(Instant::now() < until, "the answer is lost");
        thread::sleep(Duration::from_millis(20));
        stack.refresh().unwrap();
    }
    assert!(server.done(Some("one"), "activate", json!({ "frame": "f1" })).contains("20 %"));
}

#[test]
fn the_newest_version_gets_a_question_as_the_answer_to_the_call() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        "threadId": "one",
    });
    let arguments = json!({ "title": "Taxes", "successCriteria": "It works" });
    server.result("tools/call", json!({ "name": "push", "arguments": arguments, "_meta": meta }));
    let arguments = json!({ "status": "blocked", "results": "The rest works", "question": "Which rate?" });
    let call = json!({ "name": "pop", "arguments": arguments, "_meta": meta });
    let asked = server.result("tools/call", call.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["answer"]["method"], "elicitation/create");
    let mut again = |state: &Value, content: Value| {
        let mut repeated = call.clone();
        repeated["requestState"] = state.clone();
        repeated["inputResponses"] = json!({ "answer": content });
        let result = server.result("tools/call", repeated);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(again(&json!("f7/1"), json!({ "action": "decline" })).contains("f7"));
    assert!(again(&json!("nonsense"), json!({})).contains("requestState is not one"));
    assert!(again(&asked["requestState"], json!({ "action": "decline" })).contains("No answer has come"));
    let text = again(&asked["requestState"], json!({ "action": "accept", "content": { "answer": "20 %" } }));
    assert!(text.contains("is in progress again"), "{text}");
    ends_with(&text, "You are in f1 (Taxes).");
    assert_eq!(project.stack().frame("f1").unwrap().questions[0].answer.as_deref(), Some("20 %"));
}

#[test]
fn hosts_without_a_form_are_not_asked() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let project = Project::new();
        let mut server = project.server(&[]);
        server.greet_with("2025-11-25", capabilities);
        server.push("one", "Taxes");
        let question = json!({ "status": "blocked", "results": "The rest works", "question": "Which rate?" });
        assert!(server.done(Some("one"), "pop", question).contains("Ask for the answer"));
    }
}

#[test]
fn a_wait_tells_its_progress() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let params = json!({ "name": "status", "arguments": { "of": "f1", "wait": 12 }, "_meta": { "threadId": "one", "progressToken": 7 } });
    server.write(json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": params }).to_string());
    let mut last = 0.0;
    for _ in 0..2 {
        let notice = server.read();
        assert_eq!(
            (&notice["method"], &notice["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!(7))
        );
        let progress = notice["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{notice}");
        last = progress;
    }
    assert!(server.answer_to(100)["result"]["isError"] != true);
}

#[test]
fn calls_are_written_down() {
    let project = Project::new();
    let log = project.folder.path().join("mcp.log");
    fs::write(&log, vec![b'x'; 5 << 20]).unwrap();
    let mut server = project.server(&["--log", "mcp.log"]);
    server.greet("2025-06-18");
    server.push("one", "Shop");
    // Refusals, and errors of the protocol, name the frames with their titles.
    server.refused(Some("one"), "activate", json!({ "frame": "f9" }));
    server.refused(Some("two"), "activate", json!({ "frame": "f1" }));
    server.refused(
        Some("one"),
        "push",
        json!({ "title": "Cart", "successCriteria": "It works", "dependsOn": ["Shelf"] }),
    );
    for (method, params) in [
        ("resources/read", json!({ "uri": "stack://frame/Shop" })),
        ("prompts/get", json!({ "name": "resume", "arguments": { "frame": "Shelf" } })),
        ("tools/call", json!({ "name": "Shop", "arguments": { "title": "Cart" } })),
    ] {
        assert!(server.answer(method, params)["error"].is_object(), "{method}");
    }
    for unreadable in [
        r#"{"jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": Shop}"#,
        r#"{"jsonrpc": "Cart", "id": 91, "method": "Shop", "params": "Shelf", "result": "Cart"}"#,
        r#"[{"jsonrpc": "2.0", "id": 92, "method": "Shop", "result": "Cart"}]"#,
    ] {
        server.write(unreadable);
    }
    for id in [90, 91, 92] {
        assert!(server.answer_to(id)["error"].is_object(), "{id}");
    }
    assert_eq!(server.end(), Some(0));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("a message cannot be read: it is not JSON, at line 1 column "), "{text}");
    assert!(text.contains("a message cannot be read: it is JSON of another kind\n"), "{text}");
    assert!(text.contains(" push caller=\"codex/one\"") && text.contains("activate"), "{text}");
    assert!(text.contains("frame=\"f9\" refusal=\"unknown_frame\""), "{text}");
    for word in ["It works", "Shop", "Cart", "Shelf"] {
        assert!(!text.contains(word), "the log has `{word}`: {text}");
    }
    assert!(text.contains("begins") && text.contains("ends"), "{text}");
    assert_eq!(fs::metadata(project.folder.path().join("mcp.log.1")).unwrap().len(), 5 << 20);
    let mut server = project.server(&["--log", "missing/mcp.log"]);
    assert_eq!(server.exit(), Some(1));
    assert!(server.errors().contains("cannot write the log missing/mcp.log"));
}

#[test]
fn one_conversation_works_in_a_frame() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    let arguments = json!({ "title": "Cart", "successCriteria": "It works", "handOver": true });
    server.done(Some("lead"), "push", arguments);
    let status = server.done(Some("lead"), "status", json!({}));
    assert!(status.contains("Handed over to subagents: f2."), "{status}");
    server.done(Some("agent"), "activate", json!({ "frame": "f2" }));
    server.done(Some("agent"), "activate", json!({ "frame": "f2" }));
    for (tool, arguments) in [
        ("activate", json!({ "frame": "f2" })),
        ("invalidate", json!({ "frame": "f2", "reason": "Not needed" })),
        ("pop", json!({ "frame": "f2", "status": "failed", "results": "Too slow" })),
    ] {
        let refused = server.refused(Some("lead"), tool, arguments);
        assert!(refused.contains("another conversation works in f2 (Cart)"), "{refused}");
    }
    let refused = server.refused(Some("lead"), "pop", json!({ "status": "completed", "results": "The shop" }));
    assert!(refused.contains("open or planned below it: f2"), "{refused}");
    server.pop("agent", "cart.rs");
    // The task of the agent has ended: the agent does not begin another task by mistake.
    let refused = server.refused(Some("agent"), "push", json!({ "title": "More", "successCriteria": "It works" }));
    assert!(refused.contains("your task f2 (Cart) is completed: end your turn"), "{refused}");
    server.refused(Some("agent"), "pop", json!({ "status": "completed", "results": "Again" }));
    ends_with(&server.done(Some("agent"), "status", json!({})), "You are in no frame.");
    // Another conversation continues where the first conversation has ended.
    let taken = server.done(Some("next"), "activate", json!({ "frame": "f1", "takeOver": true }));
    ends_with(&taken, "You are in f1 (Shop).");
    server.pop("next", "The shop");
    ends_with(&server.done(Some("lead"), "status", json!({})), "You are in no frame.");
    let refused = server.refused(Some("lead"), "record", json!({ "decisions": ["Late"] }));
    assert!(refused.contains("you were in f1 (Shop), which another actor has set to completed"), "{refused}");
    let other = json!({ "title": "Another shop", "successCriteria": "It sells", "frame": "new" });
    ends_with(&server.done(Some("lead"), "push", other), "You are in f3 (Another shop).");
}

#[test]
fn a_conversation_that_loses_its_frame_hears_of_it_and_does_not_work_in_the_one_above() {
    let project = Project::new();
    let mut server = project.connected();
    // By hand, so no worker holds the frame.
    let by_hand = |arguments: &[&str]| assert!(project.command().args(arguments).output().unwrap().status.success());
    let refused = |server: &mut Server, says: &[&str]| {
        for (tool, arguments) in [
            ("record", json!({ "decisions": ["In the wrong frame"] })),
            ("push", json!({ "title": "Part", "successCriteria": "It works" })),
            ("pop", json!({ "status": "failed", "results": "It was not mine" })),
        ] {
            let refused = server.refused(Some("one"), tool, arguments);
            assert!(says.iter().all(|text| refused.contains(text)), "{tool}: {refused}");
        }
        ends_with(&server.done(Some("one"), "status", json!({})), "You are in no frame.");
    };
    let above = "activate {\"frame\": \"f1\"} resumes the frame above it";
    server.push("one", "Shop");

    // Another conversation has taken the frame over.
    server.push("one", "Cart");
    server.done(Some("two"), "activate", json!({ "frame": "f2", "takeOver": true }));
    refused(&mut server, &["you were in f2 (Cart), and another actor has taken it over", above]);
    server.pop("two", "cart.rs");
    refused(&mut server, &["you were in f2 (Cart), which another actor has set to completed", above]);
    ends_with(&server.done(Some("one"), "activate", json!({ "frame": "f1" })), "You are in f1 (Shop).");

    // A person has ended the frame, while the conversation was in a frame below it.
    server.push("one", "Mail");
    server.push("one", "Rates");
    by_hand(&["pop", "f3", "--anyway", "--results", "mail.rs"]);
    server.done(Some("one"), "record", json!({ "decisions": ["Its own frame is still open"] }));
    let popped = server.done(Some("one"), "pop", json!({ "status": "completed", "results": "rates.rs" }));
    ends_with(&popped, "You are in no frame.");
    refused(&mut server, &["you were in f3 (Mail), which another actor has set to completed", above]);
    server.done(Some("one"), "activate", json!({ "frame": "f1" }));

    // A person has stopped the frame.
    server.push("one", "Orders");
    by_hand(&["stop", "f5", "--reason", "The wrong table"]);
    refused(
        &mut server,
        &[
            "another actor has blocked f5 (Orders), in which you were: It was stopped: The wrong table",
            "end your turn",
            above,
        ],
    );
    let named = server.refused(Some("one"), "record", json!({ "frame": "f5", "decisions": ["Also by its name"] }));
    assert!(named.contains("The wrong table"), "{named}");
    let seen = server.done(Some("one"), "context", json!({ "frame": "f5" }));
    assert!(seen.contains("Orders"), "it can be looked at: {seen}");
    by_hand(&["answer", "f5", "Take the table orders"]);
    refused(&mut server, &["it has an answer: activate {\"frame\": \"f5\"} resumes it"]);
    let begun = server.done(Some("one"), "activate", json!({ "frame": "f5" }));
    assert!(begun.contains("Take the table orders"), "{begun}");
    ends_with(&server.pop("one", "orders.rs"), "You are in f1 (Shop).");

    // After another task has begun, the conversation gets no more messages about the frame.
    server.push("one", "Pages");
    by_hand(&["invalidate", "f6", "Not needed"]);
    server.refused(Some("one"), "record", json!({ "decisions": ["Late"] }));
    server.done(Some("one"), "push", json!({ "title": "Other", "successCriteria": "It works", "frame": "new" }));
    ends_with(&server.pop("one", "other.rs"), "You are in f1 (Shop).");
}

#[test]
fn a_conversation_that_pops_below_the_frame_of_another_does_not_take_that() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("a", "Shop");
    server.push("a", "Cart");
    let below = |title: &str, frame: &str| json!({ "title": title, "successCriteria": "It works", "frame": frame });
    server.refused(Some("b"), "activate", json!({ "frame": "f2" }));
    ends_with(&server.done(Some("b"), "push", below("Rates", "f2")), "You are in f3 (Rates).");
    let popped = server.pop("b", "rates.rs");
    assert_eq!(popped, "f3 (Rates) is completed.\nYou are in no frame.");
    let refused = server.refused(Some("b"), "pop", json!({ "status": "completed", "results": "Taken" }));
    assert!(refused.contains("this conversation is in no frame"), "{refused}");
    // A conversation that has a task of its own returns to that task.
    server.push("b", "Blog");
    server.done(Some("b"), "push", below("Taxes", "f2"));
    let popped = server.pop("b", "taxes.rs");
    assert_eq!(popped, "f5 (Taxes) is completed.\nYou are in f4 (Blog).");
    // The first conversation returns to its own frames, even if it is further below.
    server.push("a", "Totals");
    server.refused(Some("b"), "activate", json!({ "frame": "f2" }));
    server.refused(Some("b"), "pop", json!({ "frame": "f2", "status": "failed", "results": "Taken" }));
    ends_with(&server.pop("a", "totals.rs"), "You are in f2 (Cart).");
    ends_with(&server.pop("a", "cart.rs"), "You are in f1 (Shop).");
    ends_with(&server.pop("a", "The shop"), "The task is over.\nYou are in no frame.");
}

#[test]
fn a_conversation_that_pops_below_the_frame_of_a_worker_does_not_take_that() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("lead", "Shop");
    let plan = json!({ "frames": [{ "title": "Cart", "successCriteria": "It works" }] });
    server.done(Some("lead"), "plan", plan);
    let stack = project.stack();
    let held = stack.work().hold(NewHold::new("anna", 60_000)).unwrap().unwrap();
    assert_eq!(held.handle.to_string(), "f2");
    for (conversation, back) in [("b", "You are in no frame."), ("lead", "You are in f1 (Shop).")] {
        let push = json!({ "title": "Rates", "successCriteria": "It works", "frame": "f2" });
        server.done(Some(conversation), "push", push);
        ends_with(&server.pop(conversation, "rates.rs"), back);
    }
    stack.refresh().unwrap();
    stack.read(|tree| tree.check_holds(&held)).unwrap().unwrap();
    assert_eq!(stack.frame("f2").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn who_takes_its_own_frame_out_of_the_plan_goes_back_too() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("a", "Shop");
    server.push("a", "Cart");
    let gone = server.done(Some("a"), "invalidate", json!({ "frame": "f2", "reason": "Not needed" }));
    ends_with(&gone, "You are in f1 (Shop).");
    ends_with(&server.done(Some("a"), "status", json!({})), "You are in f1 (Shop).");
    server.done(Some("b"), "push", json!({ "title": "Mail", "successCriteria": "Sent", "frame": "f1" }));
    let gone = server.done(Some("b"), "invalidate", json!({ "frame": "f3", "reason": "Not needed" }));
    ends_with(&gone, "You are in no frame.");
}

#[test]
fn a_frame_that_a_person_closes_leads_no_agent_into_the_frame_above() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    server.push("one", "Cart");
    let stack = project.stack();
    stack.pop("f2", PopStatus::Completed, "Done by a person").unwrap();
    for (tool, arguments) in [
        ("pop", json!({ "status": "completed", "results": "Mine" })),
        ("record", json!({ "decisions": ["Mine"] })),
        ("push", json!({ "title": "More", "successCriteria": "It works" })),
    ] {
        let refused = server.refused(Some("one"), tool, arguments);
        assert!(
            refused.contains("you were in f2 (Cart)") && refused.contains("{\"frame\": \"f1\"}"),
            "{tool}: {refused}"
        );
    }
    stack.refresh().unwrap();
    assert_eq!(stack.frame("f1").unwrap().status, FrameStatus::InProgress);
    ends_with(&server.done(Some("one"), "activate", json!({ "frame": "f1" })), "You are in f1 (Shop).");
    // The conversation that has handed a frame over closes that frame, and stays where it is.
    server.done(Some("one"), "push", json!({ "title": "Mail", "successCriteria": "Sent", "handOver": true }));
    let popped = server.done(
        Some("one"),
        "pop",
        json!({ "frame": "f3", "status": "completed", "results": "Not needed after all" }),
    );
    ends_with(&popped, "You are in f1 (Shop).");
    // A push by a subagent with the same name does not move the conversation that handed the frame over.
    server.done(Some("one"), "push", json!({ "title": "Docs", "successCriteria": "Read", "handOver": true }));
    let push = json!({ "title": "Chapter", "successCriteria": "Read", "frame": "f4" });
    ends_with(&server.done(Some("one"), "push", push), "pass \"frame\": \"f5\" to work in it.");
    ends_with(&server.done(Some("one"), "status", json!({})), "You are in f1 (Shop).");
}

#[test]
fn a_conversation_whose_frame_has_its_id_does_not_climb_by_its_pop() {
    let project = Project::new();
    let stack = project.stack();
    stack.push(NewFrame::new("Shop").id("lead").root()).unwrap();
    for (id, frame, title) in [("one", "f2", "Cart"), ("two", "f3", "Mail")] {
        stack.push(NewFrame::new(title).id(id).below("f1")).unwrap();
        let mut server = project.connected();
        ends_with(&server.done(Some(id), "status", json!({})), &format!("You are in {frame} ({title})."));
        if id == "one" {
            let popped = server.pop(id, "cart.rs");
            ends_with(&popped, "You are in no frame.");
        } else {
            stack.pop(frame, PopStatus::Completed, "Done by a person").unwrap();
        }
        let refused = server.refused(Some(id), "pop", json!({ "status": "completed", "results": "Taken" }));
        assert!(refused.contains("this conversation is in no frame"), "{refused}");
        ends_with(&server.done(Some(id), "status", json!({})), "You are in no frame.");
    }
    stack.refresh().unwrap();
    assert_eq!(stack.frame("f1").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn a_stack_that_is_replaced_is_opened_again() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    std::fs::remove_dir_all(project.path()).unwrap();
    let status = server.done(Some("one"), "status", json!({}));
    assert!(!status.contains("Shop"), "{status}");
    ends_with(&server.push("one", "Blog"), "You are in f1 (Blog).");
    assert_eq!(project.stack().frame("f1").unwrap().title, "Blog");
}

#[test]
fn a_frame_that_a_worker_has_is_left_to_it() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let plan = json!({ "frames": [{ "title": "Cart", "successCriteria": "It works" }], "frame": "f1" });
    server.done(Some("one"), "plan", plan);
    let held = project.stack().work().hold(NewHold::new("anna", 500)).unwrap().unwrap();
    assert_eq!(held.handle.to_string(), "f2");
    let refused = server.refused(Some("one"), "activate", json!({ "frame": "f2" }));
    assert!(refused.contains("worker `anna` runs f2 (Cart)"), "{refused}");
    let refused = server.refused(Some("one"), "activate", json!({ "frame": "f2", "takeOver": true }));
    assert!(refused.contains("worker `anna` runs f2 (Cart)"), "a worker is no conversation: {refused}");
    for (tool, more) in [
        ("pop", json!({ "status": "completed", "results": "stolen", "resultsCompacted": "stolen" })),
        ("invalidate", json!({ "reason": "not needed" })),
    ] {
        let mut arguments = more;
        arguments["frame"] = "f2".into();
        let refused = server.refused(Some("one"), tool, arguments);
        assert!(refused.contains("worker `anna` runs f2 (Cart)"), "{tool}: {refused}");
    }
    thread::sleep(Duration::from_millis(600));
    server.done(Some("one"), "activate", json!({ "frame": "f2" }));
    let stack = project.stack();
    assert_eq!(stack.work().renew(&held, 1_000).unwrap_err().code(), "hold_lost");
    assert_eq!(stack.work().hold(NewHold::new("ben", 1_000)).unwrap(), None);
}

#[test]
fn of_two_servers_that_want_a_frame_at_once_one_gets_it() {
    let project = Project::new();
    let mut servers = [project.connected(), project.connected()];
    servers[0].push("lead", "Shop");
    for round in 0..12 {
        let plan =
            json!({ "frames": [{ "title": format!("Part {round}"), "successCriteria": "It works" }], "frame": "f1" });
        servers[0].done(Some("lead"), "plan", plan);
        let frame = format!("f{}", round + 2);
        for (server, conversation) in servers.iter_mut().zip(["one", "two"]) {
            let params =
                json!({ "name": "activate", "arguments": { "frame": frame }, "_meta": { "threadId": conversation } });
            server
                .write(json!({ "jsonrpc": "2.0", "id": 9_000, "method": "tools/call", "params": params }).to_string());
        }
        let answers: Vec<Value> = servers.iter_mut().map(|server| server.answer_to(9_000)).collect();
        let refused = answers.iter().filter(|answer| answer["result"]["isError"] == true);
        let refused: Vec<&str> =
            refused.map(|answer| answer["result"]["content"][0]["text"].as_str().unwrap()).collect();
        assert!(
            matches!(refused[..], [text] if text.contains("another conversation works in")),
            "{frame}: {answers:?}"
        );
        let winner = if answers[0]["result"]["isError"] == true { 1 } else { 0 };
        let done = json!({ "frame": frame, "status": "completed", "results": "Done" });
        servers[winner].done(Some(["one", "two"][winner]), "pop", done);
    }
}

#[test]
fn optional_arguments_without_text_are_as_none() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let blank =
        json!({ "frame": "", "question": " ", "resultsCompacted": "", "status": "completed", "results": "Done" });
    ends_with(&server.done(Some("one"), "pop", blank), "You are in no frame.");
    let blank =
        json!({ "frame": null, "title": "Blog", "successCriteria": "It works", "successCriteriaCompacted": "" });
    ends_with(&server.done(Some("one"), "push", blank), "You are in f2 (Blog).");
    let refused = server.refused(Some("one"), "push", json!({ "title": "", "successCriteria": "It works" }));
    assert!(refused.contains("title"), "{refused}");
    assert!(server.refused(Some("one"), "status", json!({ "of": "", "wait": 5 })).contains("wait needs the frame"));
}

#[test]
fn a_result_of_one_long_line_is_cut_and_not_left_out() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    server.pop("one", &format!("The shop sells {}", "bread ".repeat(10_000)));
    let shown = server.done(Some("one"), "status", json!({ "of": "f1" }));
    assert!(shown.contains("The shop sells bread") && shown.len() < 30_000, "{} bytes", shown.len());
    assert!(shown.contains(" more bytes; the resource stack://frame/f1 has all"), "{}", &shown[shown.len() - 200..]);
}

#[test]
fn a_handover_that_must_wait_says_how_it_goes_on() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    server.done(Some("one"), "plan", json!({ "frames": [{ "title": "Cart", "successCriteria": "It works" }] }));
    let push = json!({ "title": "Pay", "successCriteria": "It works", "dependsOn": ["f2"], "handOver": true });
    let told = server.done(Some("one"), "push", push);
    assert!(
        told.contains(r#"It waits for f2. Then activate {"frame": "f3", "handOver": true} hands it over."#),
        "{told}"
    );
}

#[test]
fn files_are_named_from_the_folder_of_the_project() {
    let session = Session::new();
    let event =
        |cwd: &str| json!({ "tool_name": "Write", "tool_input": { "file_path": "/project/src/cart.rs" }, "cwd": cwd });
    let mut command = session.project.command();
    command.args(["hook", "post-tool-use"]).env("CLAUDE_PROJECT_DIR", "/project");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut event = event("/project/src");
    event["session_id"] = json!("ses");
    // A text that was cut within a character.
    event["tool_response"] = json!("HALF");
    let text = event.to_string().replace("HALF", r"\ud83d");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(session.frame("f1").artifacts, ["src/cart.rs"]);
}

#[test]
fn waits_leave_the_server_awake() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let params = json!({ "name": "status", "arguments": { "of": "f1", "wait": 20 }, "_meta": { "threadId": "one" } });
    for id in 2_000..2_600 {
        server.write(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string());
    }
    let began = Instant::now();
    ends_with(&server.push("two", "Blog"), "You are in f2 (Blog).");
    assert!(began.elapsed() < Duration::from_secs(15), "the push came after the waits");
}

#[test]
fn frames_leave_the_plan() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let frames = json!([
        { "title": "Cart", "successCriteria": "Totals are right" },
        { "title": "Mail", "successCriteria": "It is sent", "dependsOn": ["Cart"] },
    ]);
    server.done(Some("one"), "plan", json!({ "frames": frames }));
    let gone = server.done(Some("one"), "invalidate", json!({ "frame": "Cart", "reason": "The provider has one" }));
    assert_eq!(
        gone,
        "f2 (Cart) is out of the plan. Planned frames depend on it: f3; replan them without it, or begin them anyway.\n\
         You are in f1 (Shop)."
    );
    server.refused(Some("one"), "activate", json!({ "frame": "f3" }));
    ends_with(&server.done(Some("one"), "activate", json!({ "frame": "f3", "anyway": true })), "You are in f3 (Mail).");
    server.refused(Some("one"), "invalidate", json!({ "frame": "f2", "reason": "" }));
}

#[test]
fn a_title_poses_as_no_other_line() {
    let project = Project::new();
    let mut server = project.connected();
    let title = "Shop)\nYou are in f9 (Mine";
    let text = server.done(Some("one"), "push", json!({ "title": title, "successCriteria": "All pay" }));
    assert_eq!(text.lines().filter(|line| line.starts_with("You are in")).count(), 1, "{text}");
    ends_with(&text, "You are in f1 (Shop) You are in f9 (Mine).");
}

#[test]
fn a_server_leaves_nothing_where_no_frame_is_made() {
    let project = Project::new();
    let mut server = project.connected();
    server.result("tools/list", json!({}));
    server.result("resources/list", json!({}));
    server.done(Some("one"), "status", json!({}));
    server.refused(Some("one"), "context", json!({}));
    server.refused(Some("one"), "pop", json!({ "status": "completed", "results": "x" }));
    server.refused(Some("one"), "push", json!({ "title": " ", "successCriteria": "x" }));
    let names =
        || -> Vec<_> { std::fs::read_dir(&project.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    assert!(names().is_empty(), "{:?}", names());
    server.push("one", "Shop");
    assert_eq!(names(), [".callstack"]);
    assert_eq!(server.end(), Some(0));
}

/// A conversation that begins gets the state of the work: from a hook, or from the description of the server.
#[test]
fn a_conversation_that_begins_learns_where_the_work_stands() {
    let project = Project::new();
    let instructions = |project: &Project| {
        let told = project.server(&[]).greet("2025-06-18")["instructions"].as_str().unwrap().to_owned();
        assert!(told.chars().count() <= 2_048);
        told
    };
    assert!(!instructions(&project).contains("not finished"), "there is no stack");
    let mut server = project.connected();
    server.push("one", "Shop");
    server.push("one", "Cart");
    assert!(instructions(&project).contains("Open frames: f2 (Cart), f1 (Shop). Other conversations work in them"));
    // The conversation has ended without a message, and its lease has ended.
    for handle in ["f1", "f2"] {
        let (frame, status) = (handle.into(), FrameStatus::Blocked);
        let blocked = callstack_core::Command::SetStatus { frame, status, results: None, results_compacted: None };
        project.stack().execute(blocked).unwrap();
        project.stack().resume(handle).unwrap();
    }
    let told = instructions(&project);
    assert!(told.contains(r#"No agent works on f2 (Cart): activate {"frame": "f2"} resumes it"#), "{told}");
    let session = Session { project, server };
    let (begun, _) = session.run_hook("session-start", None, json!({}));
    let begun: Value = serde_json::from_str(&begun).unwrap();
    let context = begun["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("Open frames") && context.contains("<title>Cart</title>"), "{context}");
}

/// The state of the work is described as it is, once, and also for models that do not see the description of
/// a server.
#[test]
fn where_the_work_stands_is_told_as_it_is() {
    let project = Project::new();
    let instructions =
        |project: &Project| project.server(&[]).greet("2025-06-18")["instructions"].as_str().unwrap().to_owned();
    let stack = project.stack();
    stack.plan(NewFrame::new("Ship it").id("ship")).unwrap();
    stack.plan(NewFrame::new("Build").below("ship")).unwrap();
    let told = instructions(&project);
    assert!(
        told.contains(r#"has planned work. The next of the plan is f2 (Build): activate {"frame": "f2"}"#),
        "{told}"
    );
    stack.activate("ship").unwrap();
    stack.activate("Build").unwrap();
    stack.block("Build", "Which colour?", None).unwrap();
    stack.block("ship", "Who pays?", None).unwrap();
    let told = instructions(&project);
    assert!(
        told.contains("Waiting for an answer: f1, f2. f1 asks: Who pays?") && !told.contains("work in them"),
        "{told}"
    );
    stack.answer("Build", "Red").unwrap();
    let told = instructions(&project);
    assert!(told.contains("activate resumes them: f2. Waiting for an answer: f1."), "{told}");
    let first_tool = |client: &str| {
        let mut server = project.server(&[]);
        server.greet_as(client, "2025-06-18", json!({}));
        server.result("tools/list", json!({}))["tools"][0]["description"].as_str().unwrap().to_owned()
    };
    assert!(first_tool("qwen-cli-mcp-client-callstack").contains("Waiting for an answer: f1."));
    assert!(!first_tool("codex-mcp-client").contains("Waiting"));
    // Here a hook describes the state.
    let mut command = project.command();
    command.arg("mcp").env("CALLSTACK_TOLD_BY_HOOKS", "1");
    let told = Server::start(command).greet("2025-06-18")["instructions"].as_str().unwrap().to_owned();
    assert!(!told.contains("Waiting"), "{told}");
}

/// The tool that shows a frame also shows what was said and done in it.
#[test]
fn status_shows_the_log_of_a_frame() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let entries =
        [json!({ "role": "user", "text": "Build it" }), json!({ "role": "assistant", "text": "The disk is full" })];
    project.stack().log("f1").append(&entries).unwrap();
    let mut log = |words: Value| server.done(Some("one"), "status", json!({ "of": "Shop", "log": words }));
    for all in [json!(true), json!("true")] {
        let text = log(all);
        assert!(
            text.contains("Build it") && text.contains("The disk is full") && text.ends_with("You are in f1 (Shop)."),
            "{text}"
        );
    }
    let found = log(json!("DISK"));
    assert!(!found.contains("Build it") && found.contains("The disk is full"), "{found}");
    assert!(log(json!("false")).starts_with("Active: f1 Shop") || !log(json!(false)).contains("Build it"));
    let refused = server.refused(Some("one"), "status", json!({ "log": true }));
    assert!(refused.contains("log needs the frame"), "{refused}");
}

/// The document says how many tokens the definitions cost, with four characters for a token. `UPDATE_DOCS=1`
/// writes the figures.
#[test]
fn the_document_says_what_the_definitions_cost() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let instructions = server.greet("2025-06-18")["instructions"].as_str().unwrap().chars().count() / 4;
    let tools = server.result("tools/list", json!({}))["tools"].clone();
    let of = |tool: &Value| json!({ "name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"] });
    let tools: usize =
        tools.as_array().unwrap().iter().map(|tool| of(tool).to_string().chars().count()).sum::<usize>() / 4;
    let said = format!(
        "The definitions of the 8 standard tools cost {},{:03} tokens in each request, the description of the server {instructions} (at four characters).",
        tools / 1_000,
        tools % 1_000
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mcp.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let old = page.lines().find(|line| line.starts_with("The definitions of the 8")).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page.replace(old, &said)).unwrap();
    } else {
        assert_eq!(old, said, "UPDATE_DOCS=1 writes it");
    }
}

/// Hosts add tools to each request for a server with resources, and Claude Code hides tools that do not say
/// that they are always needed.
#[test]
fn a_server_costs_no_more_than_its_tools() {
    for (arguments, has_resources) in [(&[][..], false), (&["--resources"], true)] {
        let project = Project::new();
        let mut server = project.server(arguments);
        let capabilities = server.greet("2025-06-18")["capabilities"].clone();
        assert_eq!(capabilities["resources"].is_object(), has_resources, "{capabilities}");
        let tools = server.result("tools/list", json!({}))["tools"].clone();
        for tool in tools.as_array().unwrap() {
            assert_eq!(tool["_meta"], json!({ "anthropic/alwaysLoad": true }), "{tool}");
        }
    }
}

#[test]
fn resources_and_prompts_show_frames() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let listed = server.result("resources/list", json!({}))["resources"].clone();
    assert_eq!(listed[0]["uri"], "stack://tree");
    assert_eq!((&listed[1]["uri"], &listed[1]["title"]), (&json!("stack://frame/f1"), &json!("Shop")));
    let templates = server.result("resources/templates/list", json!({}))["resourceTemplates"].clone();
    assert_eq!(templates[1]["uriTemplate"], "stack://frame/{handle}/log");
    let mut read = |uri: &str| server.answer("resources/read", json!({ "uri": uri }));
    assert!(read("stack://tree")["result"]["contents"][0]["text"].as_str().unwrap().contains("f1 Shop"));
    assert!(read("stack://frame/f1")["result"]["contents"][0]["text"].as_str().unwrap().starts_with("<stack-context>"));
    for wrong in ["stack://frame/f9", "stack://frame/Shop", "stack://frame/../../etc/passwd", "file:///etc/passwd", ""]
    {
        assert!(read(wrong)["error"]["message"].is_string(), "{wrong}");
    }
    project.stack().log("f1").append(&[json!({ "text": "Hello" })]).unwrap();
    assert!(read("stack://frame/f1/log")["result"]["contents"][0]["text"].as_str().unwrap().contains("Hello"));
    let names: Vec<Value> = server.result("prompts/list", json!({}))["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    assert_eq!(names, ["plan", "handoff", "resume"]);
    for (name, arguments, expected) in [
        ("plan", json!({ "task": "Build a shop" }), "Task: Build a shop"),
        ("handoff", json!({ "frame": "Shop" }), "f1 (Shop)"),
        ("resume", json!({ "frame": "f1" }), "<stack-context>"),
    ] {
        let prompt = server.result("prompts/get", json!({ "name": name, "arguments": arguments }));
        assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains(expected), "{prompt}");
    }
    assert!(server.answer("prompts/get", json!({ "name": "plan" }))["error"].is_object());
    assert!(server.answer("prompts/get", json!({ "name": "other" }))["error"].is_object());
}

#[test]
fn tools_are_chosen() {
    let project = Project::new();
    let mut server = project.server(&["--tools", "push,heap"]);
    server.greet("2025-06-18");
    server.push("one", "Shop");
    let write = json!({ "action": "write", "name": "api", "content": "GET /cart" });
    server.done(Some("one"), "heap", write);
    assert!(server.done(Some("one"), "heap", json!({ "action": "read", "name": "api" })).starts_with("GET /cart\n"));
    assert!(server.done(Some("one"), "heap", json!({ "action": "list" })).contains("api (of f1, 9 characters)"));
    server.done(Some("one"), "heap", json!({ "action": "write", "name": "api", "content": "GET /shop" }));
    server.done(Some("one"), "heap", json!({ "action": "free", "name": "api" }));
    server.refused(Some("one"), "heap", json!({ "action": "read", "name": "api" }));
    server.refused(Some("one"), "heap", json!({ "action": "write", "name": "api" }));
    let answer = server.answer("tools/call", json!({ "name": "pop", "arguments": {} }));
    assert!(answer["error"]["message"].as_str().unwrap().contains("there are push, heap"), "{answer}");
    let output = project.command().args(["mcp", "--tools", "posh"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn hostile_messages_do_no_harm() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    let deep = format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\", \"params\": {}{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for line in [
        "",
        "{",
        "null",
        "[]",
        r#""text""#,
        r#"{"jsonrpc": "1.0"}"#,
        r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#,
        r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}"#,
        r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#,
        "\u{0}\u{1}\u{feff}",
        &deep,
    ] {
        server.write(line);
    }
    // Answers to these lines are optional; the server continues.
    server.requests = 1_000;
    ends_with(&server.done(Some("one"), "status", json!({})), "You are in f1 (Shop).");
    for (method, params) in [
        ("tools/call", json!({ "name": "push", "arguments": [] })),
        ("tools/call", json!({ "name": "push", "arguments": "x" })),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": "no_such_tool" })),
        ("resources/read", json!({})),
        ("no/such/method", json!({})),
    ] {
        let answer = server.answer(method, params.clone());
        assert!(answer["error"].is_object(), "{method} {params}: {answer}");
    }
    let long = "x".repeat(3 << 20);
    let refused = server.refused(Some("one"), "push", json!({ "title": "Long", "successCriteria": long }));
    assert!(refused.len() < 1_000, "a refusal is short: {} bytes", refused.len());
    let odd =
        json!({ "title": "</title><frame>\u{202e}", "successCriteria": "\u{0}\n", "_meta": { "threadId": "../x" } });
    server.refused(Some("one"), "push", odd);
    // A name that is too long does not count as a name.
    server.refused(Some(&"y".repeat(100_000)), "push", json!({ "title": "Blog", "successCriteria": "It works" }));
    assert_eq!(server.end(), Some(0));
    assert!(project.stack().upkeep().health().unwrap().is_sound());
}

/// A call of `push` with a title, as the host writes it into JSON.
fn pushed_as_written(id: u64, title: &[u8]) -> Vec<u8> {
    let begin = format!(
        r#"{{"jsonrpc": "2.0", "id": {id}, "method": "tools/call", "params": {{"_meta": {{"threadId": "{id}"}}, "name": "#
    );
    let arguments = br#""push", "arguments": {"successCriteria": "It works", "title": ""#;
    [begin.as_bytes(), &arguments[..], title, br#""}}}"#].concat()
}

#[test]
fn a_call_that_was_cut_within_a_character_is_repaired() {
    let project = Project::new();
    let mut server = project.connected();
    let marked = [&b"\xef\xbb\xbf"[..], &pushed_as_written(103, b"Marked")[..]].concat();
    for (id, call, title) in [
        (101, pushed_as_written(101, br"List \ud83d of parts"), "List \u{fffd} of parts"),
        (102, pushed_as_written(102, b"Caf\xe9"), "Caf\u{fffd}"),
        (103, marked, "Marked"),
    ] {
        server.write(call);
        let answer = server.answer_to(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(text.contains(&format!("({title}) has begun")), "{text}");
    }
}

#[test]
fn every_request_with_an_id_gets_an_answer() {
    let project = Project::new();
    let mut server = project.server(&[]);
    let params = |params: &str| format!(r#"{{"jsonrpc": "2.0", "method": "ping", "params": {params}, "id": 7}}"#);
    let (deep, long) =
        (params(&("[".repeat(129) + &"]".repeat(129))), params(&format!("\"{}\"", "x".repeat(16 << 20))));
    let unreadable = [
        (&*deep, -32_700),
        (&*long, -32_600),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"#, -32_700),
        (r#"{"id": 7}"#, -32_600),
        (r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#, -32_600),
    ];
    // The server answers these lines with errors, also before the greeting of the client.
    for (line, code) in unreadable {
        server.write(line);
        let answer = server.answer_to(7);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    server.greet("2025-03-26");
    for (line, code) in unreadable {
        server.write(line);
        assert_eq!(server.answer_to(7)["error"]["code"], code);
    }
    // A batch, which this version of the protocol allows.
    server.write(r#"[{"jsonrpc": "2.0", "id": 8, "method": "ping"}, {"id": 9, "method": 5}]"#);
    let mut answers = [server.read(), server.read()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!(8), &json!({})));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(9), &json!(-32_600)));
    for broken in
        [r#"[{"id": 8, "method": "ping"}, {"id": 9, "method": "ping", }]"#, r#"[{"id": 8}, {"method": "x", "id": 9, "#]
    {
        server.write(broken);
        for id in [8, 9] {
            let answer = server.read();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32_700)), "{broken}");
        }
    }
    server.write(r#"{"method": "ping", "id": "cut""#);
    assert_eq!(server.read()["id"], "cut");
    server.write(r#"{"jsonrpc": "2.0", "id": "last", "method": "ping"}"#);
    assert_eq!(server.read()["id"], "last", "nothing else was answered");
}

#[test]
fn an_answer_of_the_host_that_cannot_be_read_ends_the_wait_for_it() {
    let project = Project::new();
    let (mut server, asked) = blocked_before_a_person(&project);
    server.write(format!(r#"{{"jsonrpc": "2.0", "id": {}, "result": {{"action": }}}}"#, asked["id"]));
    let answer = server.answer_to(100);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("Ask for the answer"), "{answer}");
}

#[test]
fn arguments_that_a_host_has_made_texts_are_answered() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    for (tool, arguments) in [
        ("plan", json!({ "frames": r#"[{"title": "Cart", "successCriteria": "c"}]"# })),
        ("record", json!({ "decisions": r#"["use sqlite"]"# })),
        ("status", json!({ "all": "true" })),
        ("status", json!({ "of": "f1", "wait": "1" })),
    ] {
        server.done(Some("one"), tool, arguments);
    }
    let stack = project.stack();
    assert_eq!(stack.frame("f1").unwrap().decisions, ["use sqlite"]);
    assert_eq!(stack.frame("f2").unwrap().title, "Cart");
    let refused = server.refused(Some("one"), "plan", json!({ "frames": "Cart" }));
    assert!(refused.contains("`frames`: invalid type: string \"Cart\", expected a list"), "{refused}");
}

#[test]
fn many_servers_share_a_stack() {
    let project = Project::new();
    let started = Project::connected(&project);
    drop(started);
    thread::scope(|scope| {
        for number in 0..50 {
            let project = &project;
            scope.spawn(move || {
                let conversation = format!("c{number}");
                let mut server = project.connected();
                server.push(&conversation, &format!("Task {number}"));
                for part in 0..3 {
                    let title = format!("Part {part} of {number}");
                    let pushed = server.push(&conversation, &title);
                    assert!(pushed.contains(&title), "{pushed}");
                    server.pop(&conversation, &format!("Results of {title}"));
                }
                let popped = server.pop(&conversation, "All done");
                ends_with(&popped, "You are in no frame.");
                assert_eq!(server.end(), Some(0));
            });
        }
    });
    let stack = project.stack();
    assert_eq!(stack.read(|tree| tree.with_status(FrameStatus::Completed).count()).unwrap(), 200);
    stack
        .read(|tree| {
            for root in tree.roots() {
                let number = tree.node(*root).title().trim_start_matches("Task ").to_owned();
                for child in tree.node(*root).children() {
                    assert!(
                        tree.node(*child).title().ends_with(&format!(" of {number}")),
                        "{}",
                        tree.node(*child).title()
                    );
                }
            }
        })
        .unwrap();
}

#[test]
#[cfg(unix)]
fn a_killed_server_loses_nothing() {
    let project = Project::new();
    project.connected().push("one", "Shop");
    let mut acknowledged = 0;
    for round in 0..20 {
        let mut server = project.connected();
        for _ in 0..round % 4 {
            server.done(Some("one"), "record", json!({ "decisions": [format!("Decision {acknowledged}")] }));
            acknowledged += 1;
        }
        // In the middle of a call.
        let decision = json!({ "decisions": [format!("Lost or not {round}")] });
        let params = json!({ "name": "record", "arguments": decision, "_meta": { "threadId": "one" } });
        server.write(json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params }).to_string());
        thread::sleep(Duration::from_micros(round * 150));
        server.child.kill().unwrap();
        server.child.wait().unwrap();
    }
    let mut server = project.connected();
    ends_with(&server.done(Some("one"), "status", json!({})), "You are in f1 (Shop).");
    let decisions = project.stack().frame("f1").unwrap().decisions;
    let kept = decisions.iter().filter(|decision| decision.starts_with("Decision ")).count();
    assert_eq!(kept, acknowledged);
}

#[test]
#[cfg(unix)]
fn another_agent_goes_on_where_a_killed_one_has_ended() {
    let project = Project::new();
    let mut server = project.connected();
    server.push("one", "Shop");
    server.push("one", "Cart");
    let record =
        json!({ "decisions": ["Cents, so that sums are exact"], "resultsSoFar": "cart.rs has totals, no taxes yet" });
    server.done(Some("one"), "record", record);
    server.child.kill().unwrap();
    drop(server);
    let mut server = project.connected();
    let status = server.done(Some("two"), "status", json!({}));
    assert!(status.contains("f2 Cart") && status.contains("Open frames: f2 (Cart), f1 (Shop)."), "{status}");
    server.refused(Some("two"), "activate", json!({ "frame": "f2" }));
    let begun = server.done(Some("two"), "activate", json!({ "frame": "f2", "takeOver": true }));
    assert!(begun.contains("no taxes yet") && begun.contains("Cents, so that sums are exact"), "{begun}");
    ends_with(&begun, "You are in f2 (Cart).");
    // The frame to which the first conversation would have returned is still its own, until another
    // conversation takes it over, too.
    ends_with(&server.pop("two", "cart.rs with taxes"), "You are in no frame.");
    let begun = server.done(Some("two"), "activate", json!({ "frame": "f1", "takeOver": true }));
    ends_with(&begun, "You are in f1 (Shop).");
}

#[test]
fn a_server_ends_with_its_client() {
    let project = Project::new();
    assert_eq!(project.connected().end(), Some(0));
    assert_eq!(project.server(&[]).end(), Some(0), "also before the client has said anything");
    // In the middle of a message.
    let mut server = project.connected();
    server.input.as_mut().unwrap().write_all(b"{\"jsonrpc\": \"2.0\", \"id\": 5, \"me").unwrap();
    assert_eq!(server.end(), Some(0));
}

#[test]
#[cfg(unix)]
fn a_signal_ends_a_server() {
    use rustix::process::{Pid, Signal, kill_process};

    let project = Project::new();
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130), (Signal::HUP, 0)] {
        let mut server = project.connected();
        server.push("one", "Shop");
        kill_process(Pid::from_child(&server.child), signal).unwrap();
        assert_eq!(server.exit(), Some(code));
    }
}

/// A server over HTTP.
struct HttpServer {
    child: Child,
    address: String,
    token: String,
}

impl HttpServer {
    fn start(project: &Project) -> Self {
        Self::start_at(project, "127.0.0.1:0")
    }

    fn start_at(project: &Project, address: &str) -> Self {
        let mut command = project.command();
        command.args(["--json", "mcp", "--http", address]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address =
            told["data"]["url"].as_str().unwrap().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        Self { child, address: address.to_owned(), token: told["data"]["token"].as_str().unwrap().to_owned() }
    }

    /// Sends a request with these headers, and returns the status and the body.
    fn send(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut request = format!("POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        // A server that refuses a request may close before it has read the body. Its answer still arrives.
        let may_close =
            |error: &std::io::Error| matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
        let sent = stream.write_all(&[request.as_bytes(), b"\r\n", body].concat());
        assert!(sent.as_ref().err().is_none_or(may_close), "{sent:?}");
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        assert!(read.as_ref().err().is_none_or(may_close), "{read:?}");
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    fn call(&self, changed: &[(&str, &str)], message: &Value) -> (u16, String) {
        self.call_as_written(changed, message.to_string().as_bytes())
    }

    fn call_as_written(&self, changed: &[(&str, &str)], message: &[u8]) -> (u16, String) {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Host", &*self.address),
            ("Authorization", &*bearer),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.retain(|(name, _)| changed.iter().all(|(other, _)| other != name));
        headers.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
        self.send("/mcp", &headers, message)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn http_needs_the_token_and_no_browser() {
    let project = Project::new();
    let server = HttpServer::start(&project);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let (status, body) = server.call(&[("MCP-Protocol-Version", "2025-06-18")], &list);
    assert!(status == 200 && body.contains("\"push\""), "{status} {body}");
    for (headers, expected) in [
        ([("Authorization", "")], 401),
        ([("Authorization", "Bearer wrong")], 401),
        ([("Host", "shop.example.com")], 403),
        ([("Origin", "http://shop.example.com")], 403),
        ([("Origin", "null")], 403),
        ([("MCP-Protocol-Version", "2031-01-01")], 400),
        ([("Content-Type", "text/plain")], 415),
    ] {
        assert_eq!(server.call(&headers, &list).0, expected, "{headers:?}");
    }
    let bearer = format!("Bearer {}", server.token);
    assert_eq!(server.send("/", &[("Host", &server.address), ("Authorization", &bearer)], b"").0, 404);
    let push = json!({ "title": "Shop", "successCriteria": "All pay" });
    let params = json!({ "name": "push", "arguments": push, "_meta": { "vscode.conversationId": "chat" } });
    let (status, body) =
        server.call(&[], &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
    assert!(status == 200 && body.contains("You are in f1 (Shop)."), "{status} {body}");
    let (status, _) =
        server.call(&[], &json!({ "jsonrpc": "2.0", "id": 3, "method": "x", "params": "y".repeat(5 << 20) }));
    assert_eq!(status, 413);
}

#[test]
fn http_answers_what_cannot_be_read() {
    let project = Project::new();
    let server = HttpServer::start(&project);
    let call = pushed_as_written(4, br"List \ud83d of parts");
    let (status, body) = server.call_as_written(&[], &call);
    assert!(status == 200 && body.contains("List \u{fffd} of parts"), "{status} {body}");
    let deep = format!(r#"{{"id": 5, "method": "ping", "params": {}{}}}"#, "[".repeat(200), "]".repeat(200));
    let (status, body) = server.call_as_written(&[], deep.as_bytes());
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &answer["id"], &answer["error"]["code"]), (400, &json!(5), &json!(-32_700)));
    let (status, body) = server.call_as_written(&[], br#"[{"id": 6, "method": "ping"}, {"id": 7, "method": }]"#);
    let answers: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &answers[0]["id"], &answers[1]["id"]), (400, &json!(6), &json!(7)));
    assert_eq!(server.call_as_written(&[], b"nothing").0, 400);
}

#[test]
fn http_is_for_this_machine() {
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
        let output = Project::new().command().args(["mcp", "--http", address]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("other machines"), "{errors}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn http_is_served_at_every_address_of_this_machine() {
    for address in ["127.0.0.2", "127.1.2.3"] {
        let project = Project::new();
        let server = HttpServer::start_at(&project, &format!("{address}:0"));
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        assert_eq!(server.call(&[], &list).0, 200, "the host is {}", server.address);
        assert_eq!(server.call(&[("Host", "shop.example.com")], &list).0, 403);
    }
}

#[test]
fn the_stack_is_the_one_that_is_named() {
    let project = Project::new();
    let other = TempDir::new().unwrap();
    let path: &Path = other.path();
    let mut command = project.command();
    command.args(["mcp", "--stack", path.to_str().unwrap()]);
    let mut server = Server::start(command);
    server.greet("2025-06-18");
    server.push("one", "Shop");
    drop(server);
    assert!(path.join("stack.db").is_file() && !project.path().exists());
}

/// A session that ends releases its frames: another session continues there without takeOver.
#[test]
fn the_frames_of_a_session_that_ends_are_free() {
    let session = Session::new();
    let mut next = session.project.connected();
    next.refused(Some("next"), "activate", json!({ "frame": "f1" }));
    session.hook("session-end", Some("agent"), json!({}));
    next.refused(Some("next"), "activate", json!({ "frame": "f1" }));
    // A field of another type does not keep the frames either.
    session.hook("session-end", None, json!({ "background_tasks": 5, "cwd": ["x"] }));
    let told = session.project.server(&[]).greet("2025-06-18")["instructions"].as_str().unwrap().to_owned();
    assert!(told.contains("No agent works on f1 (Shop)"), "{told}");
    next.done(Some("next"), "activate", json!({ "frame": "f1" }));
}

/// A hook reads the transcript that its event names. What was said and used is recorded once. If a proxy
/// records it, the hook records nothing.
#[test]
fn hooks_record_what_transcripts_say() {
    let session = Session::new();
    let transcript = session.project.folder.path().join("ses.jsonl");
    let line = |line: Value| format!("{line}\n");
    let said = line(json!({
        "type": "user", "timestamp": "2026-01-15T00:00:00Z", "message": { "role": "user", "content": "Build the shop." }
    }));
    let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 70, "output_tokens": 3 });
    let answer = json!({ "id": "m1", "role": "assistant", "model": "large", "content": [{ "type": "text", "text": "I do." }], "usage": usage });
    let answered = line(json!({ "type": "assistant", "timestamp": "2026-01-15T00:00:04Z", "message": answer }));
    fs::write(&transcript, format!("{said}{}", &answered[..40])).unwrap();
    let event = || json!({ "transcript_path": transcript });
    assert_eq!(session.hook("user-prompt-submit", None, event()), "");
    fs::write(&transcript, format!("{said}{answered}{{\n")).unwrap();
    assert!(session.hook("session-end", None, event()).contains("not understood: 1"));
    session.hook("session-end", None, event());
    let raw = session.project.command().args(["log", "f1", "--raw"]).output().unwrap();
    let entries: Vec<Value> =
        String::from_utf8(raw.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<_> = entries.iter().map(|entry| (entry["text"].as_str(), entry["time"].as_u64())).collect();
    assert_eq!(texts, [(Some("Build the shop."), Some(1_768_435_200_000)), (Some("I do."), Some(1_768_435_204_000))]);
    let used = session.project.command().args(["usage", "--json"]).output().unwrap();
    let used: Value = serde_json::from_slice(&used.stdout).unwrap();
    let large = &used["data"]["total"]["models"][0];
    assert_eq!(
        [&large["requests"], &large["uncachedInput"], &large["cacheRead"], &large["output"], &large["duration"]],
        [1, 5, 70, 3, 4_000]
    );
    let more = line(json!({ "type": "user", "message": { "role": "user", "content": "And now?" } }));
    fs::write(&transcript, format!("{said}{answered}{more}")).unwrap();
    let mut watched = session.project.command();
    watched.args(["hook", "session-end"]).env("CALLSTACK_WATCHED", "1").stdin(Stdio::piped());
    let mut child = watched.spawn().unwrap();
    let event = json!({ "session_id": "ses", "transcript_path": transcript });
    child.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let raw = session.project.command().args(["log", "f1", "--raw"]).output().unwrap();
    assert_eq!(String::from_utf8(raw.stdout).unwrap().lines().count(), 2, "the proxy records it");
}

/// A session that was killed did not report its end. The next session reads what the killed session has said.
#[test]
fn the_transcript_of_a_killed_session_is_read_by_the_next_one() {
    let session = Session::new();
    let killed = "0f9d2c41-killed";
    let stack = session.project.stack().as_actor(Actor::new(HolderKind::Conversation, format!("claude/{killed}")));
    let frame = stack.push(NewFrame::new("Left").root()).unwrap();
    let folder = session.project.folder.path().join("transcripts");
    fs::create_dir(&folder).unwrap();
    let line = |role: &str, words: &str| {
        let content = if role == "user" { json!(words) } else { json!([{ "type": "text", "text": words }]) };
        format!(
            "{}\n",
            json!({ "type": role, "timestamp": "2026-01-15T00:00:00Z", "message": { "id": words, "role": role, "content": content } })
        )
    };
    let text = line("user", "Build it.")
        + &line("assistant", "I have begun.")
        + &line("user", "And?")
        + &line("assistant", "Half");
    fs::write(folder.join(format!("{killed}.jsonl")), text).unwrap();
    fs::write(folder.join("other.jsonl"), line("user", "Nobody's")).unwrap();
    for _ in 0..2 {
        session.hook("session-start", None, json!({ "transcript_path": folder.join("new.jsonl") }));
    }
    let page = session.project.stack().log(frame).read(&LogQuery::default()).unwrap();
    let said: Vec<&str> = page.lines.iter().filter_map(|line| line.entry["text"].as_str()).collect();
    assert_eq!(said, ["Build it.", "I have begun.", "And?"], "the last step may not be whole");
}

/// If the project has the tools a second time, the plugin says so once for each session.
#[test]
fn the_plugin_notices_an_entry_of_init() {
    let session = Session::new();
    let (said, _) = session.run_hook("session-start", None, json!({}));
    assert!(!said.contains("set up twice"), "{said}");
    assert!(session.project.command().args(["init", "claude"]).output().unwrap().status.success());
    let (said, errors) = session.run_hook("session-start", None, json!({}));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(said["systemMessage"].as_str().unwrap().contains("callstack init claude --undo"), "{said}");
    assert!(said["hookSpecificOutput"]["additionalContext"].is_string(), "{said} {errors}");
}
