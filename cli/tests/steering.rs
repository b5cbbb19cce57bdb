//! Actions of a person in the program take effect in a running host within a second. The host is a stack with
//! sessions in this process. The program is another process on the same folder.

// Only on Unix: permissions.
#![cfg(unix)]

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{
    FrameRef, FrameStatus, HostSettings, SqliteOptions, SqliteStore, Stack, StackOptions, Store, ToolSet, tools,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host with the session `root`, which performs effects. Its sessions work when the test tells them to.
struct Host {
    folder: TempDir,
    stack: Stack,
    now: Arc<AtomicU64>,
    /// The call in each prompted session that has not ended.
    prompted: BTreeMap<String, u64>,
    prompts: Vec<String>,
    answers: Vec<String>,
    aborted: Vec<String>,
    messages: u32,
}

impl Host {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let now = Arc::new(AtomicU64::new(time));
        let clock = now.clone();
        let options = StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)));
        let stack = Stack::open(folder.path().join(".callstack"), options).unwrap();
        assert_eq!(stack.host().configure(HostSettings::default().tools(ToolSet::all())), []);
        let mut host = Self {
            folder,
            stack,
            now,
            prompted: BTreeMap::new(),
            prompts: Vec::new(),
            answers: Vec::new(),
            aborted: Vec::new(),
            messages: 0,
        };
        host.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        host.message("root", "Build a shop");
        host
    }

    /// A host whose root session runs three children: f2 Cart, f3 Taxes and f4 Mails.
    fn with_children() -> Self {
        let mut host = Self::new();
        for title in ["Cart", "Taxes", "Mails"] {
            let arguments = json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "",
                "background": true});
            host.tool("root", "stack_frame_push", arguments);
        }
        assert_eq!(host.working(), ["cart", "mails", "taxes"]);
        host
    }

    fn tell(&mut self, event: Value) {
        let effects = self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
        self.perform(effects);
    }

    fn message(&mut self, session: &str, text: &str) {
        self.messages += 1;
        let id = format!("m{}", self.messages);
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": "user", "text": text}));
    }

    /// Performs effects. A created session has the title of its frame, in lower case, as its ID. The second
    /// session of a title has `again` after the title.
    fn perform(&mut self, effects: Vec<Effect>) {
        let mut pending: VecDeque<Effect> = effects.into();
        while let Some(effect) = pending.pop_front() {
            let event = match effect {
                Effect::CreateSession { call, title, .. } => {
                    let first = title.to_lowercase();
                    let is_taken = self.stack.resolve(FrameRef::Id(first.clone())).is_ok();
                    let session = if is_taken { format!("{first} again") } else { first };
                    json!({"kind": "callStarted", "call": call, "sessionID": session})
                }
                Effect::Prompt { call, session_id, text, .. } => {
                    assert_eq!(self.prompted.insert(session_id.clone(), call), None, "{session_id} works already");
                    self.prompts.push(text.clone());
                    self.message(&session_id, &text);
                    continue;
                }
                Effect::ReadMessages { session_id } => {
                    let words = json!([{"id": format!("last of {session_id}"), "role": "assistant",
                        "text": format!("{session_id} works a little")}]);
                    json!({"kind": "sessionMessages", "sessionID": session_id, "messages": words})
                }
                Effect::AbortSession { session_id } => {
                    self.prompted.remove(&session_id);
                    self.aborted.push(session_id);
                    continue;
                }
                Effect::Answer { text, .. } => {
                    self.answers.push(text);
                    continue;
                }
                _ => continue,
            };
            pending.extend(self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()));
        }
    }

    /// Calls a tool for an agent.
    fn tool(&mut self, session: &str, name: &str, arguments: Value) {
        let answer = tools::call(&self.stack, session, name, &arguments.to_string());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        self.perform(answer.effects);
    }

    /// The agent of a session asks, and ends its turn.
    fn ask(&mut self, session: &str, question: &str) {
        let arguments = json!({"status": "blocked", "question": question, "results": "", "resultsCompacted": ""});
        self.tool(session, "stack_frame_pop", arguments);
        let call = self.prompted.remove(session).unwrap();
        self.tell(json!({"kind": "callEnded", "call": call}));
    }

    /// A person runs the program. Then a second passes, and the host polls when that is due.
    fn person(&mut self, arguments: &[&str]) -> String {
        let said = run(self.folder.path(), arguments);
        let errors = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "callstack {arguments:?}: {errors}");
        let now = self.now.fetch_add(1_000, Ordering::Relaxed) + 1_000;
        assert!(self.stack.host().deadline().is_some_and(|due| due <= now), "the host looks within a second");
        let effects = self.stack.host().poll();
        self.perform(effects);
        String::from_utf8(said.stdout).unwrap()
    }

    fn working(&self) -> Vec<&str> {
        self.prompted.keys().map(String::as_str).collect()
    }

    fn status(&self, frame: &str) -> FrameStatus {
        self.stack.frame(frame).unwrap().status
    }

    /// The text that the agent of a session has in its next request.
    fn context(&self, session: &str) -> String {
        self.stack.host().context(session).unwrap().unwrap().context.xml.clone()
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.current_dir(folder).env_remove("CALLSTACK_DIR").stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

#[test]
fn an_answer_makes_the_session_go_on() {
    let mut host = Host::with_children();
    host.ask("taxes", "Which VAT rate? The user knows");
    let said = host.person(&["answer", "20 %"]);
    assert!(said.starts_with("answered f3: Taxes\n"), "{said}");
    let prompt = host.prompts.last().unwrap();
    assert!(prompt.contains("Which VAT rate? The user knows\nThe answer: 20 %"), "{prompt}");
    assert_eq!((host.working(), host.status("taxes")), (vec!["cart", "mails", "taxes"], FrameStatus::InProgress));
}

#[test]
fn a_pop_ends_the_session_and_its_parent_gets_the_results() {
    let mut host = Host::with_children();
    host.person(&["pop", "Cart", "--results", "The cart is bought, not built: vendor/cart"]);
    assert_eq!((host.working(), &host.aborted[..]), (vec!["mails", "taxes"], &["cart".to_owned()][..]));
    let context = host.context("root");
    assert!(context.contains("The cart is bought, not built: vendor/cart"), "{context}");
}

#[test]
fn one_of_three_children_is_stopped_and_begun_again() {
    let mut host = Host::with_children();
    let said = host.person(&["stop", "Cart", "--reason", "The prices are wrong"]);
    assert!(said.starts_with("stopped f2 below f1: Cart\n"), "{said}");
    assert_eq!((host.working(), &host.aborted[..]), (vec!["mails", "taxes"], &["cart".to_owned()][..]));
    let context = host.context("root");
    assert!(context.contains("It was stopped: The prices are wrong"), "{context}");

    let said = host.person(&["retry", "Cart", "--note", "Take the prices of this year"]);
    assert!(said.starts_with("planned f5, attempt 2 in place of f2: Cart\n"), "{said}");
    let context = host.context("root");
    assert!(context.contains(r#"id="f5""#), "the new attempt is in the plan: {context}");
    host.tool("root", "stack_frame_activate", json!({"sessionID": "f5", "background": true}));
    assert_eq!(host.working(), ["cart again", "mails", "taxes"]);
    let context = host.context("cart again");
    assert!(context.contains("Take the prices of this year"), "{context}");
}

#[test]
fn everything_that_runs_is_stopped() {
    let mut host = Host::with_children();
    host.person(&["stop", "--all"]);
    assert_eq!((host.working(), host.aborted.len()), (vec![], 3));
    assert!(["f2", "f3", "f4"].iter().all(|frame| host.status(frame) == FrameStatus::Blocked));
}

#[test]
fn an_invalidated_frame_works_no_more() {
    let mut host = Host::with_children();
    host.person(&["invalidate", "Mails", "The provider sends them"]);
    assert_eq!((host.working(), &host.aborted[..]), (vec!["cart", "taxes"], &["mails".to_owned()][..]));
}

#[test]
fn a_plan_and_its_edits_are_in_the_next_request_of_the_parent() {
    let mut host = Host::new();
    host.person(&["plan", "--below", "root", "Schema", "Routes"]);
    let context = host.context("root");
    let place = |context: &str, title: &str| context.find(title).unwrap_or_else(|| panic!("no {title}: {context}"));
    assert!(place(&context, "Schema") < place(&context, "Routes"), "{context}");
    host.person(&["edit", "Routes", "--title", "API routes", "--before", "Schema"]);
    let context = host.context("root");
    assert!(place(&context, "API routes") < place(&context, "Schema"), "{context}");
    host.person(&["push", "Fonts", "--below", "root"]);
    let context = host.context("root");
    assert!(context.contains("Child f4 is in_progress"), "{context}");
}

#[test]
fn decisions_and_the_heap_are_in_the_next_request() {
    let mut host = Host::with_children();
    host.person(&["heap", "alloc", "currency", "Euro cents, as integers", "--frame", "root"]);
    for session in ["root", "cart"] {
        assert!(host.context(session).contains("Euro cents, as integers"), "{}", host.context(session));
    }
    host.person(&["decide", "cart", "No cookies"]);
    assert_eq!(host.stack.frame("cart").unwrap().decisions, ["No cookies"]);
}

#[test]
fn a_stopped_frame_whose_host_has_not_noticed_cannot_be_begun_again() {
    let host = Host::with_children();
    assert!(run(host.folder.path(), &["stop", "Cart"]).status.success());
    let refused = run(host.folder.path(), &["retry", "Cart"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(
        said.contains("next: its host notices within a second that it was stopped; then repeat the command"),
        "{said}"
    );
}

#[test]
fn a_store_that_stays_busy_is_an_unknown_outcome() {
    let folder = TempDir::new().unwrap();
    assert!(run(folder.path(), &["push", "--new", "Build a shop"]).status.success());
    let database = folder.path().join(".callstack/stack.db");
    let mut other = SqliteStore::open(database, SqliteOptions::default()).unwrap();
    other.begin(std::time::Duration::ZERO).unwrap();
    let busy = run(folder.path(), &["push", "Shopping cart", "--json"]);
    other.rollback();
    assert_eq!(busy.status.code(), Some(5), "{busy:?}");
    let said: Value = serde_json::from_slice(&busy.stderr).unwrap();
    assert_eq!((&said["kind"], &said["data"]["code"]), (&json!("error"), &json!("busy")), "{said}");
    assert!(said["data"]["nextStep"].as_str().unwrap().starts_with("`callstack history` shows"), "{said}");
    let tree = run(folder.path(), &["tree"]);
    assert!(String::from_utf8(tree.stdout).unwrap().contains("1 frame:"), "nothing was half done");
}

#[test]
fn a_store_that_is_busy_when_it_is_opened_is_unchanged() {
    let folder = TempDir::new().unwrap();
    let stack = folder.path().join(".callstack");
    fs::create_dir(&stack).unwrap();
    let mut other = SqliteStore::open(stack.join("stack.db"), SqliteOptions::default()).unwrap();
    other.begin(std::time::Duration::ZERO).unwrap();
    let busy = run(folder.path(), &["push", "Shopping cart", "--json"]);
    other.rollback();
    assert_eq!(busy.status.code(), Some(5), "{busy:?}");
    let said: Value = serde_json::from_slice(&busy.stderr).unwrap();
    assert_eq!(said["data"]["code"], "busy", "{said}");
    assert_eq!(said["data"]["nextStep"], "nothing was changed; repeat the command", "{said}");
}

#[test]
fn a_folder_that_may_only_be_read_stays_as_it_is() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    // Root may write everywhere, so another user runs a copy of the program that is in a folder that this
    // user can reach.
    let program = folder.path().join("callstack");
    fs::copy(env!("CARGO_BIN_EXE_callstack"), &program).unwrap();
    assert!(run(folder.path(), &["push", "--new", "Build a shop"]).status.success());
    let stack = folder.path().join(".callstack");
    fs::set_permissions(&stack, Permissions::from_mode(0o555)).unwrap();
    let is_root = fs::write(stack.join("probe"), "").is_ok();
    let _ = fs::remove_file(stack.join("probe"));
    let mut command = match is_root {
        true => Command::new("setpriv"),
        false => Command::new(&program),
    };
    if is_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    let refused = command.current_dir(folder.path()).args(["push", "Shopping cart"]).output();
    let Ok(refused) = refused else {
        println!("skipped: setpriv is missing, so no process with less rights can be started");
        return;
    };
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("it is read-only") && said.contains("next: change the rights"), "{said}");
    fs::set_permissions(&stack, Permissions::from_mode(0o755)).unwrap();
    let tree = run(folder.path(), &["tree"]);
    assert!(String::from_utf8(tree.stdout).unwrap().contains("1 frame:"), "the folder is as it was");
}
