//! Frames that run: limits, waiting, the effect of actions from outside on them, restarts, and their ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::SALVAGED;
use callstack_core::session::autonomy::{AutonomyLevel, AutonomySettings};
use callstack_core::session::calls::CallSettings;
use callstack_core::session::{Effect, HostEvent};
use callstack_core::{
    Command, Error, FrameStatus, Handle, HostSettings, NewFrame, OutlineOptions, PopStatus, Stack, StackOptions,
    ToolSet, tools,
};
use serde_json::{Value, json};
use support::{Queries, options_at};
use tempfile::tempdir;

/// A host with the session `root`, which performs effects. Its sessions work when the test tells them to.
struct Host {
    stack: Stack,
    now: Arc<AtomicU64>,
    settings: HostSettings,
    /// The call in each prompted session that has not ended.
    prompted: BTreeMap<String, u64>,
    prompts: Vec<String>,
    answers: BTreeMap<u64, String>,
    aborted: Vec<String>,
    /// Sessions that were asked for a summary.
    compacting: Vec<String>,
    messages: u32,
}

impl Host {
    fn new() -> Self {
        let now = clock();
        Self::on(Stack::with_options(options_at(&now)), now)
    }

    fn on(stack: Stack, now: Arc<AtomicU64>) -> Self {
        Self::with(stack, now, HostSettings::default().tools(ToolSet::all()))
    }

    fn with(stack: Stack, now: Arc<AtomicU64>, settings: HostSettings) -> Self {
        assert_eq!(stack.host().configure(settings.clone()), []);
        let mut host = Self {
            stack,
            now,
            settings,
            prompted: BTreeMap::new(),
            prompts: Vec::new(),
            answers: BTreeMap::new(),
            aborted: Vec::new(),
            compacting: Vec::new(),
            messages: 0,
        };
        host.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        host.message("root", "user", "Build a shop with taxes");
        host
    }

    fn limited(most: usize) -> Self {
        let now = clock();
        let mut calls = CallSettings::default();
        calls.max_concurrent = most;
        let settings = HostSettings::default().tools(ToolSet::all()).calls(calls);
        Self::with(Stack::with_options(options_at(&now)), now, settings)
    }

    fn tell(&mut self, event: Value) {
        let effects = self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
        self.perform(effects);
    }

    /// Performs effects. A created session has the title of its frame, in lower case, as its ID.
    fn perform(&mut self, effects: Vec<Effect>) {
        let mut pending: VecDeque<Effect> = effects.into();
        while let Some(effect) = pending.pop_front() {
            let event = match effect {
                Effect::CreateSession { call, title, .. } => {
                    json!({"kind": "callStarted", "call": call, "sessionID": title.to_lowercase()})
                }
                Effect::Prompt { call, session_id, text, .. } => {
                    assert_eq!(self.prompted.insert(session_id.clone(), call), None, "{session_id} works already");
                    self.prompts.push(text.clone());
                    self.messages += 1;
                    json!({"kind": "message", "sessionID": session_id, "messageID": format!("m{}", self.messages),
                        "role": "user", "text": text})
                }
                Effect::DescribeSession { session_id } => {
                    json!({"kind": "sessionCreated", "sessionID": session_id, "parentID": "root", "title": "Task"})
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
                Effect::CompactSession { session_id } => {
                    self.compacting.push(session_id);
                    continue;
                }
                Effect::Answer { call, text, .. } => {
                    assert_eq!(self.answers.insert(call, text), None, "call {call} was answered twice");
                    continue;
                }
                Effect::Log { .. } | Effect::CompactionPrompt { .. } => continue,
                other => panic!("{other:?}"),
            };
            pending.extend(self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()));
        }
    }

    fn message(&mut self, session: &str, role: &str, text: &str) {
        self.messages += 1;
        let id = format!("m{}", self.messages);
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": role, "text": text}));
    }

    /// Calls a tool. Returns the call that answers it later, and the text of an answer at once.
    fn call(&mut self, session: &str, name: &str, arguments: Value) -> (Option<u64>, String) {
        let answer = tools::call(&self.stack, session, name, &arguments.to_string());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        self.perform(answer.effects);
        (answer.call, answer.text.unwrap_or_default())
    }

    fn later(&mut self, session: &str, name: &str, arguments: Value) -> u64 {
        let (call, text) = self.call(session, name, arguments);
        call.unwrap_or_else(|| panic!("answered at once: {text}"))
    }

    fn refused(&mut self, session: &str, name: &str, arguments: Value) -> String {
        let answer = tools::call(&self.stack, session, name, &arguments.to_string());
        assert!(answer.is_error, "{answer:?}");
        answer.text.unwrap()
    }

    /// Plans children of the root with these titles. Each child has the dependencies that it needs.
    fn plan(&mut self, children: &[(&str, &[&str])]) {
        let child = |(title, depends_on): &(&str, &[&str])| json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "", "dependsOn": depends_on});
        let children: Vec<Value> = children.iter().map(child).collect();
        self.call("root", "stack_frame_plan_children", json!({"children": children}));
    }

    /// Pushes a frame from a session. It runs in a session with its title, in lower case.
    fn push(&mut self, session: &str, title: &str, background: bool) -> Option<u64> {
        let arguments = json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "",
            "background": background});
        self.call(session, "stack_frame_push", arguments).0
    }

    fn pop(&mut self, session: &str, status: &str) {
        let results = format!("{session} is there");
        let arguments = json!({"status": status, "results": results, "resultsCompacted": "", "anyway": true});
        self.call(session, "stack_frame_pop", arguments);
        self.end(session);
    }

    /// The turn of a prompted session ends.
    fn end(&mut self, session: &str) {
        let call = self.prompted.remove(session).unwrap_or_else(|| panic!("{session} does not work"));
        self.tell(json!({"kind": "callEnded", "call": call}));
    }

    fn summarized(&mut self, session: &str, summary: &str) {
        let messages = match summary {
            "" => json!([]),
            summary => json!([{"id": "s", "role": "assistant", "summary": true, "text": summary}]),
        };
        self.compacting.retain(|compacting| compacting != session);
        self.tell(json!({"kind": "sessionCompacted", "sessionID": session, "messages": messages}));
    }

    /// A second passes, and the host polls if a poll is due.
    fn pass(&mut self) {
        self.now.fetch_add(1_000, Ordering::Relaxed);
        let now = self.now.load(Ordering::Relaxed);
        if self.stack.host().deadline().is_some_and(|deadline| deadline <= now) {
            let effects = self.stack.host().poll();
            self.perform(effects);
        }
    }

    fn working(&self) -> Vec<&str> {
        self.prompted.keys().map(String::as_str).collect()
    }

    fn frame(&self, title: &str) -> callstack_core::Frame {
        let find = |tree: &callstack_core::Tree| tree.handles().find(|frame| tree.node(*frame).title() == title);
        self.stack.frame(self.stack.read(find).unwrap().unwrap_or_else(|| panic!("no frame {title}"))).unwrap()
    }

    fn status(&self, title: &str) -> FrameStatus {
        self.frame(title).status
    }

    fn context(&self, session: &str) -> String {
        self.stack.host().context(session).unwrap().unwrap().context.xml.clone()
    }
}

fn clock() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(1_700_000_000_000))
}

fn open(folder: &tempfile::TempDir, now: &Arc<AtomicU64>) -> Stack {
    Stack::open(folder.path(), options_at(now)).unwrap()
}

#[test]
fn six_ready_frames_with_a_limit_of_two() {
    let mut host = Host::limited(2);
    host.plan(&[("A", &[]), ("B", &[]), ("C", &[]), ("D", &[]), ("E", &[]), ("F", &["A"])]);
    let call = host.later("root", "stack_frame_activate_ready", json!({}));
    assert_eq!(host.working(), ["a", "b"], "others are queued in their order");
    let (_, status) = host.call("root", "stack_status", json!({}));
    assert!(status.contains("Running now: f2, f3.\nQueued: f4, f5, f6.\n"), "{status}");
    host.pop("b", "completed");
    assert_eq!(host.working(), ["a", "c"]);
    for (session, next) in [("a", "c,d"), ("c", "d,e"), ("d", "e,f"), ("e", "f"), ("f", "")] {
        assert_eq!(host.answers.len(), 0, "{session}");
        host.pop(session, "completed");
        assert_eq!(host.working().join(","), next, "f begins when a is completed");
    }
    let answer = &host.answers[&call];
    for title in ["A", "B", "C", "D", "E", "F"] {
        assert!(
            answer.contains(&format!("({title}) is completed.\nResults: {} is there", title.to_lowercase())),
            "{answer}"
        );
    }
    let context = host.context("root");
    assert!(!context.contains("is there"), "the answer is in the conversation: {context}");
}

#[test]
fn a_failed_frame_stops_those_that_need_it() {
    let mut host = Host::new();
    host.plan(&[("A", &[]), ("B", &["A"]), ("C", &[]), ("D", &["B"])]);
    let call = host.later("root", "stack_frame_activate_ready", json!({}));
    host.pop("a", "failed");
    host.pop("c", "completed");
    let answer = &host.answers[&call];
    assert!(answer.contains("f2 (A) is failed.") && answer.contains("f4 (C) is completed."), "{answer}");
    assert!(answer.contains("f3 (B) has not begun: it waits for f2 (A), which is failed."), "{answer}");
    assert!(answer.contains("f5 (D) has not begun: it waits for f3 (B), which is planned."), "{answer}");
    let call = host.later("root", "stack_frame_activate_ready", json!({}));
    assert!(host.answers[&call].starts_with("f3 (B) has not begun"), "nothing is ready: {}", host.answers[&call]);
}

#[test]
fn a_session_that_waits_leaves_its_place_to_those_that_it_waits_for() {
    let mut host = Host::limited(1);
    let outer = host.push("root", "Outer", false).unwrap();
    let inner = host.push("outer", "Inner", false).unwrap();
    let other = host.push("root", "Other", false).unwrap();
    assert_eq!(host.working(), ["inner", "outer"], "outer waits for inner");
    host.pop("inner", "completed");
    assert!(host.answers.contains_key(&inner));
    assert_eq!(host.working(), ["outer"], "outer works again, so there is no place");
    host.pop("outer", "completed");
    assert_eq!(host.working(), ["other"]);
    host.pop("other", "completed");
    assert!(host.answers.contains_key(&outer) && host.answers.contains_key(&other));
}

#[test]
fn a_background_frame_reports_in_the_next_request() {
    let mut host = Host::new();
    assert_eq!(host.push("root", "Taxes", true), None);
    let context = host.context("root");
    assert!(
        context.contains("Child f2 is running: do other work, or wait for it with stack_frame_activate f2."),
        "{context}"
    );
    host.pop("taxes", "completed");
    let news = "<ended-child id=\"f2\" title=\"Taxes\" status=\"completed\">taxes is there</ended-child>";
    for request in 0..2 {
        let context = host.stack.host().context("root").unwrap().unwrap().context;
        assert!(context.volatile.contains(news), "request {request}: {}", context.volatile);
        assert!(!context.stable.contains("taxes is there"), "once is enough: {}", context.stable);
    }
    host.message("root", "assistant", "Good, the taxes are there");
    let context = host.stack.host().context("root").unwrap().unwrap().context;
    assert!(!context.volatile.contains("<ended-child"), "{}", context.volatile);
    assert!(context.stable.contains("taxes is there"), "a finished child from now on: {}", context.stable);
}

#[test]
fn what_ends_while_the_agent_writes_is_told_in_the_next_request() {
    let mut host = Host::new();
    host.push("root", "Taxes", true);
    host.push("root", "Cart", true);
    host.pop("taxes", "completed");
    host.context("root");
    host.pop("cart", "completed");
    // The request for this message was made before the end of the second frame.
    host.message("root", "assistant", "Good");
    let context = host.context("root");
    assert!(context.contains("title=\"Cart\" status=\"completed\">cart is there</ended-child>"), "{context}");
    assert!(!context.contains("title=\"Taxes\" status=\"completed\">taxes"), "{context}");
}

#[test]
fn agents_wait_for_one_any_or_all() {
    let mut host = Host::new();
    for title in ["A", "B", "C"] {
        host.push("root", title, true);
    }
    let any = host.later("root", "stack_wait", json!({"frames": ["f2", "f3"], "any": true}));
    let joined = host.later("root", "stack_frame_activate", json!({"sessionID": "f3"}));
    let all = host.later("root", "stack_wait", json!({}));
    host.pop("b", "completed");
    let answer = &host.answers[&any];
    assert!(answer.starts_with("f3 (B) is completed.") && answer.ends_with("Still running: f2."), "{answer}");
    assert!(
        host.answers[&joined].starts_with("f3 (B) is completed.\nResults: b is there"),
        "{}",
        host.answers[&joined]
    );
    host.pop("a", "failed");
    assert!(!host.answers.contains_key(&all));
    host.pop("c", "completed");
    let answer = &host.answers[&all];
    assert!(answer.contains("f2 (A) is failed.") && answer.contains("f4 (C) is completed."), "{answer}");
    assert!(!host.context("root").contains("<ended-child"), "it has the results already");
    assert_eq!(host.call("root", "stack_wait", json!({})).1, "Nothing runs in the background.");
    let limited = host.push("root", "D", true);
    assert_eq!(limited, None);
    let impatient = host.later("root", "stack_wait", json!({"timeLimit": 1_000}));
    host.pass();
    assert_eq!(host.answers[&impatient], "Still running: f5.");
    assert_eq!(host.working(), ["d"], "the frame goes on");
    let aborted = host.later("root", "stack_wait", json!({}));
    host.tell(json!({"kind": "callAborted", "call": aborted}));
    assert_eq!((host.answers[&aborted].as_str(), host.working()), ("The wait was aborted.", vec!["d"]));
    assert!(host.refused("d", "stack_wait", json!({"frames": ["f1"]})).contains("frame f1 waits for this session"));
}

/// Actions of a person or of another process reach the host within a second.
#[test]
fn what_others_do_takes_effect() {
    for what in ["pop", "invalidate", "stop", "stop_all"] {
        let folder = tempdir().unwrap();
        let now = clock();
        let mut host = Host::on(open(&folder, &now), now.clone());
        let call = host.push("root", "Taxes", false).unwrap();
        let other = open(&folder, &now);
        let expected = match what {
            "pop" => {
                other.pop("taxes", callstack_core::PopStatus::Completed, "I did it myself").unwrap();
                "is completed.\nResults: I did it myself"
            }
            "invalidate" => {
                other.invalidate("taxes", "not needed").unwrap();
                "is invalidated."
            }
            "stop" => {
                assert_eq!(other.stop("f1", "lunch").unwrap(), [handle("f2")]);
                "Results so far: [auto-completed: It was stopped: lunch; it worked for 1 s: 1 message, 0 tool calls] taxes \
                 works a little"
            }
            _ => {
                assert_eq!(other.stop_all("lunch").unwrap(), [handle("f2")]);
                assert_eq!(other.stop_all("lunch").unwrap(), [], "it is stopped already");
                "stack_frame_activate f2 resumes where it stopped"
            }
        };
        host.pass();
        assert_eq!(host.aborted, ["taxes"], "{what}");
        assert!(host.answers[&call].contains(expected), "{what}: {}", host.answers[&call]);
        assert!(host.stack.log("f2").read(&Default::default()).unwrap().total > 0, "{what}: its log is kept");
        assert!(host.stack.frame("f2").unwrap().host().is_none());
        if what.starts_with("stop") {
            let question = host.frame("Taxes").questions.last().unwrap().question.clone();
            assert_eq!(question, "It was stopped: lunch");
            let again = host.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
            assert!(
                host.prompts.last().unwrap().starts_with("Your work on frame f2 was interrupted.\n"),
                "{:?}",
                host.prompts
            );
            host.pop("taxes", "completed");
            assert!(host.answers[&again].starts_with("f2 (Taxes) is completed."));
        }
    }
}

#[test]
fn an_agent_stops_what_runs_below_it() {
    let mut host = Host::new();
    host.push("root", "Taxes", true);
    host.push("taxes", "Rates", true);
    host.push("root", "Cart", true);
    let (_, text) = host.call("root", "stack_frame_stop", json!({"frameID": "f2", "reason": "the rates change"}));
    assert_eq!(text, "Stopped: f2, f3.");
    host.pass();
    assert_eq!((host.working(), host.aborted.len()), (vec!["cart"], 2));
    assert_eq!((host.status("Taxes"), host.status("Rates")), (FrameStatus::Blocked, FrameStatus::Blocked));
    assert!(host.frame("Rates").is_salvaged(), "{:?}", host.frame("Rates").results);
    let (_, text) = host.call("root", "stack_frame_stop", json!({"frameID": "f2", "reason": "again"}));
    assert_eq!(text, "Nothing runs there.");
}

#[test]
fn calls_of_a_host_that_has_ended_are_interrupted() {
    let folder = tempdir().unwrap();
    let now = clock();
    {
        let mut host = Host::on(open(&folder, &now), now.clone());
        for title in ["A", "B", "C"] {
            host.push("root", title, true);
        }
        let neighbour = open(&folder, &now);
        assert_eq!(neighbour.work().interrupted(), [], "the host runs them");
        let begin = r#"{"sessionID": "f2", "background": true}"#;
        let answer = tools::call(&neighbour, "root", "stack_frame_activate", begin);
        assert!(answer.is_error && answer.text.unwrap().contains("f2 is held by"), "never two sessions");
        host.pop("b", "completed");
    }
    let mut host = Host::on(open(&folder, &now), now.clone());
    assert_eq!(host.stack.work().interrupted(), [handle("f2"), handle("f4")]);
    let context = host.context("root");
    assert!(context.contains("Child f2 (A) was interrupted: the host that ran it has ended."), "{context}");
    assert!(context.contains("Child f2 was interrupted: resume it with stack_frame_activate f2."), "{context}");
    assert!(
        host.call("root", "stack_status", json!({})).1.contains("It was interrupted: the host that ran it has ended")
    );
    let call = host.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert_eq!((host.working(), host.stack.work().interrupted()), (vec!["a"], vec![handle("f4")]));
    host.pop("a", "completed");
    assert!(host.answers[&call].starts_with("f2 (A) is completed."));
    assert!(!host.stack.frame("f2").unwrap().is_interrupted());
}

#[test]
fn a_program_without_sessions_records_that_a_host_has_ended() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    host.push("root", "A", true);
    let program = open(&folder, &now);
    program.work().note_interruptions();
    assert!(program.frame("a").unwrap().host().is_some(), "its host lives");
    assert_eq!(program.retry("a", None).unwrap_err().code(), "not_retriable");
    drop(host);
    now.fetch_add(1_000, Ordering::Relaxed);
    program.work().note_interruptions();
    let frame = program.frame("a").unwrap();
    assert!(frame.host().is_none() && frame.is_interrupted(), "{frame:?}");
    assert_eq!(program.retry("a", None).unwrap().attempt, 2);
}

#[test]
fn settings_and_requested_summaries_outlive_the_process() {
    let folder = tempdir().unwrap();
    let now = clock();
    {
        let mut host = Host::on(open(&folder, &now), now.clone());
        host.call("root", "stack_autonomy", json!({"level": "auto", "popThreshold": 77}));
        host.call("root", "stack_config", json!({"addPattern": "^review"}));
        host.call("root", "stack_frame_summarize", json!({"note": "the seed"}));
    }
    let mut host = Host::on(open(&folder, &now), now.clone());
    let settings = host.stack.host().settings();
    assert_eq!((settings.autonomy.level, settings.autonomy.pop_threshold), (AutonomyLevel::Auto, 77));
    assert_eq!(settings.autonomy.push_threshold, AutonomySettings::default().push_threshold);
    assert_eq!(settings.subagents.patterns.last().unwrap(), "^review");
    let (_, pending) = host.call("root", "stack_compaction_info", json!({}));
    assert!(pending.contains("manual_summary") && pending.contains("the seed"), "{pending}");
    host.tell(json!({"kind": "sessionIdle", "sessionID": "root"}));
    assert_eq!(host.compacting, ["root"]);
    host.summarized("root", "Taxes and cart are planned, the seed is 5");
    assert!(host.stack.frame("f1").unwrap().summary_request.is_none());
    host.call("root", "stack_autonomy", json!({"reset": true}));
    let again = Host::on(open(&folder, &now), now.clone());
    let settings = again.stack.host().settings();
    assert_eq!(settings.autonomy, host.settings.autonomy);
    assert_eq!(settings.subagents.patterns.last().unwrap(), "^review", "that was not reset");
    std::fs::write(folder.path().join("settings.json"), "{\"autonomy\": {\"level\": \"wild\"}, \"tools\": \"all\"")
        .unwrap();
    let stack = open(&folder, &now);
    let problems = stack.host().configure(HostSettings::default());
    assert!(problems.len() == 1 && problems[0].to_string().contains("settings.json"), "{problems:?}");
}

#[test]
fn a_session_that_ends_without_a_pop_is_asked_for_a_summary() {
    let mut host = Host::new();
    let call = host.push("root", "Taxes", false).unwrap();
    host.tell(json!({"kind": "toolExecuted", "sessionID": "taxes", "tool": "write", "path": "src/tax.rs"}));
    host.end("taxes");
    assert_eq!((&host.compacting[..], host.answers.len()), (&["taxes".to_owned()][..], 0));
    let summary = "The rates are read from rates.toml; rounding is left";
    host.summarized("taxes", summary);
    let results = host.frame("Taxes").results.unwrap();
    assert!(
        results.starts_with(SALVAGED) && results.ends_with(&format!("artifacts: src/tax.rs] {summary}")),
        "{results}"
    );
    assert!(host.answers[&call].contains(summary), "{}", host.answers[&call]);
    assert_eq!(host.status("Taxes"), FrameStatus::Blocked, "only its agent can say that it is completed");
}

#[test]
fn the_last_words_are_kept_if_the_session_cannot_sum_up() {
    for is_refused in [true, false] {
        let mut host = Host::new();
        let call = host.push("root", "Taxes", false).unwrap();
        host.end("taxes");
        if is_refused {
            host.summarized("taxes", "");
        } else {
            // The host never reports the end of the compaction.
            (0..119).for_each(|_| host.pass());
            assert!(host.answers.is_empty());
            host.pass();
        }
        let answer = &host.answers[&call];
        assert!(
            answer.contains("its session ended without stack_frame_pop;") && answer.contains("] taxes works a little"),
            "{answer}"
        );
    }
}

#[test]
fn a_checkpoint_in_a_called_frame_compacts_its_session_which_goes_on() {
    for is_taken in [true, false] {
        let mut host = Host::new();
        let call = host.push("root", "Taxes", false).unwrap();
        let (_, text) = host.call("taxes", "stack_frame_summarize", json!({"note": "the rates"}));
        assert_eq!(
            text,
            "f2 (Taxes) will be summarized when you end your turn; you then continue it from the summary."
        );
        host.end("taxes");
        assert_eq!(host.compacting, ["taxes"]);
        host.summarized("taxes", if is_taken { "The rates are read, rounding is left" } else { "" });
        assert_eq!(host.working(), ["taxes"], "it goes on");
        let prompt = host.prompts.last().unwrap();
        assert!(prompt.starts_with("The checkpoint is made. Continue frame f2 from there.\n"), "{prompt}");
        let results = host.frame("Taxes").results;
        assert_eq!(results.as_deref(), is_taken.then_some("The rates are read, rounding is left"));
        host.pop("taxes", "completed");
        assert!(host.answers[&call].starts_with("f2 (Taxes) is completed."));
    }
}

#[test]
fn a_compaction_by_the_host_does_not_pop_a_frame_in_the_middle_of_its_work() {
    let now = clock();
    let autonomy = AutonomySettings::default().level(AutonomyLevel::Auto);
    let settings = HostSettings::default().tools(ToolSet::all()).autonomy(autonomy);
    let mut host = Host::with(Stack::with_options(options_at(&now)), now, settings);
    host.push("root", "Taxes", false);
    host.tell(json!({"kind": "message", "sessionID": "taxes", "messageID": "full", "role": "assistant", "text": "",
        "tokens": 199_000, "contextLimit": 200_000}));
    host.tell(json!({"kind": "sessionCompacting", "sessionID": "taxes"}));
    host.summarized("taxes", "The rates are read, rounding is left");
    let frame = host.frame("Taxes");
    assert_eq!(
        (frame.status, frame.results.as_deref()),
        (FrameStatus::InProgress, Some("The rates are read, rounding is left"))
    );
    host.end("taxes");
    host.summarized("taxes", "The rates are read, rounding is left, and more of it");
    assert_eq!(host.status("Taxes"), FrameStatus::Blocked, "a full context does not complete it");
}

#[test]
fn a_person_who_answers_in_the_session_makes_the_parent_learn_the_end() {
    for ends in ["pop", "nothing"] {
        let mut host = Host::new();
        let call = host.push("root", "Taxes", false).unwrap();
        let arguments = json!({"status": "blocked", "question": "Which rate?", "results": "", "resultsCompacted": ""});
        host.call("taxes", "stack_frame_pop", arguments);
        host.end("taxes");
        assert!(host.answers[&call].contains("It waits for: Which rate?"), "{}", host.answers[&call]);
        host.message("taxes", "user", "20 %");
        assert_eq!(host.status("Taxes"), FrameStatus::InProgress);
        match ends {
            "pop" => {
                let arguments = json!({"status": "completed", "results": "taxes is there", "resultsCompacted": ""});
                host.call("taxes", "stack_frame_pop", arguments);
                host.tell(json!({"kind": "sessionIdle", "sessionID": "taxes"}));
                assert!(host.context("root").contains("status=\"completed\">taxes is there</ended-child>"));
            }
            _ => {
                host.tell(json!({"kind": "sessionIdle", "sessionID": "taxes"}));
                host.summarized("taxes", "");
                assert!(host.frame("Taxes").is_salvaged());
                let context = host.context("root");
                assert!(context.contains("Child f2 was interrupted: stack_frame_activate f2 resumes it"), "{context}");
            }
        }
    }
}

#[test]
fn a_pop_says_what_was_achieved() {
    let mut host = Host::new();
    host.push("root", "Taxes", false);
    for status in ["completed", "failed", "blocked"] {
        let arguments = json!({"status": status, "results": " ", "resultsCompacted": ""});
        let text = host.refused("taxes", "stack_frame_pop", arguments);
        assert!(text.starts_with("stack_frame_pop: results is empty, but must be what exists"), "{text}");
        assert_eq!(host.status("Taxes"), FrameStatus::InProgress);
    }
}

#[test]
fn a_frame_that_was_taken_out_of_the_plan_while_its_session_was_created_does_not_run() {
    let mut host = Host::new();
    host.plan(&[("A", &[])]);
    let answer = tools::call(&host.stack, "root", "stack_frame_activate", r#"{"sessionID": "f2"}"#);
    let call = answer.call.unwrap();
    host.stack.invalidate("f2", "not needed").unwrap();
    host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "a"}));
    assert!(host.answers[&call].contains("is invalidated") && host.prompted.is_empty(), "{:?}", host.answers);
}

#[test]
fn a_question_after_a_salvage_is_a_question() {
    let mut host = Host::new();
    host.push("root", "Taxes", false);
    host.end("taxes");
    host.summarized("taxes", "");
    assert!(host.frame("Taxes").is_salvaged());
    for question in [Some("Which rate?"), None] {
        let call = host.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
        let results = if question.is_some() { "" } else { "Which rate?" };
        let arguments = json!({"status": "blocked", "question": question, "results": results, "resultsCompacted": ""});
        host.call("taxes", "stack_frame_pop", arguments);
        host.end("taxes");
        assert!(!host.frame("Taxes").is_salvaged());
        let answer = &host.answers[&call];
        assert!(answer.contains("It waits for: Which rate?") && answer.contains("f2 with the answer"), "{answer}");
        assert!(host.context("root").contains("Child f2 is blocked: answer it"), "{}", host.context("root"));
    }
}

#[test]
fn a_checkpoint_does_not_limit_the_time_of_a_call() {
    for limit in [0, 600_000] {
        let mut host = Host::new();
        let arguments =
            json!({"title": "Taxes", "successCriteria": "", "successCriteriaCompacted": "", "timeLimit": limit});
        let call = host.later("root", "stack_frame_push", arguments);
        host.call("taxes", "stack_frame_summarize", json!({}));
        host.end("taxes");
        host.summarized("taxes", "The rates are read, rounding is left");
        (0..599).for_each(|_| host.pass());
        assert_eq!((host.working(), host.answers.len()), (vec!["taxes"], 0));
        host.pass();
        assert_eq!(host.answers.contains_key(&call), limit > 0, "its own limit holds");
    }
    let mut host = Host::new();
    host.push("root", "Taxes", false);
    host.call("taxes", "stack_frame_summarize", json!({}));
    host.end("taxes");
    (0..121).for_each(|_| host.pass());
    assert_eq!(host.working(), ["taxes"], "it goes on although the host has never reported the compaction");
}

#[test]
fn a_stop_also_stops_what_is_queued() {
    for all in [true, false] {
        let mut host = Host::limited(1);
        let other = host.push("root", "Other", true);
        assert_eq!(other, None);
        host.plan(&[("A", &[]), ("B", &[])]);
        let call = host.later("root", "stack_frame_activate_ready", json!({}));
        assert_eq!(host.working(), ["other"]);
        match all {
            true => host.stack.stop_all("lunch").unwrap(),
            false => host.stack.stop("f1", "lunch").unwrap(),
        };
        host.pass();
        assert_eq!(host.working(), [""; 0], "{:?}", host.prompts);
        let answer = &host.answers[&call];
        assert!(answer.contains("f3 (A) could not be started: it was stopped: lunch."), "{answer}");
        let again = host.later("root", "stack_frame_activate_ready", json!({}));
        assert_eq!(host.working(), ["a"]);
        host.pop("a", "completed");
        host.pop("b", "completed");
        assert!(host.answers[&again].contains("f4 (B) is completed"));
    }
}

#[test]
fn frames_of_a_parent_that_has_ended_do_not_begin() {
    let mut host = Host::limited(1);
    host.push("root", "Outer", true);
    host.push("outer", "Inner", true);
    host.push("outer", "Later", true);
    host.pop("outer", "completed");
    assert_eq!(host.working(), [""; 0], "its parent is completed");
    let frame = host.frame("Inner");
    assert_eq!(frame.status, FrameStatus::Planned);
}

/// The host makes a session, and meanwhile the frame above ends, or a dependency is reopened.
#[test]
fn what_comes_in_the_way_while_a_session_is_made_is_the_answer() {
    for (comes, reason) in [("the end of the parent", "its parent f1 is failed"), ("a reopening", "it waits for f2")] {
        let stack = Stack::in_memory();
        let _ = stack.host().configure(HostSettings::default().tools(ToolSet::all()));
        let report = |event: Value| stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
        let said =
            json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user", "text": "Build it"});
        let _ = report(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Root"}));
        let _ = report(said);
        let taxes = stack.push(NewFrame::new("Taxes").below("f1")).unwrap();
        stack.pop(taxes, PopStatus::Completed, "19 %").unwrap();
        stack.plan(NewFrame::new("Cart").below("f1").depends_on(taxes)).unwrap();
        let call = tools::call(&stack, "root", "stack_frame_activate_ready", "{}");
        let created = call.effects.iter().find_map(|effect| match effect {
            Effect::CreateSession { call, .. } => Some(*call),
            _ => None,
        });
        match comes {
            "a reopening" => stack.reopen(taxes, "Books have 7 %").map(drop).unwrap(),
            _ => stack.pop("f1", PopStatus::Failed, "There is no money").map(drop).unwrap(),
        }
        let created = created.expect("the host makes a session");
        let effects = report(json!({"kind": "callStarted", "call": created, "sessionID": "cart"}));
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Prompt { .. })), "{comes}: {effects:?}");
        let is_aborted =
            |effect: &Effect| matches!(effect, Effect::AbortSession { session_id } if session_id == "cart");
        assert!(effects.iter().any(is_aborted), "{comes}: {effects:?}");
        let answer = effects.iter().find_map(|effect| match effect {
            Effect::Answer { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert!(answer.is_some_and(|text| text.contains(reason)), "{comes}: {effects:?}");
        assert_eq!(stack.frame("f3").unwrap().status, FrameStatus::Planned, "{comes}");
    }
}

/// As another process does that does not know that the frame above has ended.
#[test]
fn no_call_begins_a_frame_below_one_that_has_ended() {
    let stack = Stack::in_memory();
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let cart = stack.plan(NewFrame::new("Cart").below(shop)).unwrap();
    stack.pop(shop, PopStatus::Failed, "There is no money").unwrap();
    let (caller, host) = ("root".to_owned(), "host".to_owned());
    let frame = cart.into();
    let begin = Command::BeginCall { frame, session_id: None, caller, host, lease: 60_000, limits: Box::default() };
    assert_eq!(stack.execute(begin).unwrap_err().code(), "parent_closed");
    assert_eq!(stack.frame(cart).unwrap().status, FrameStatus::Planned);
}

#[test]
fn what_others_block_keeps_its_results() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    let call = host.push("root", "Taxes", false).unwrap();
    let results = callstack_core::Results::new("Net totals work in src/net.rs, with tests");
    open(&folder, &now).block("taxes", "Which rate?", Some(results)).unwrap();
    host.pass();
    assert_eq!(host.aborted, ["taxes"]);
    let answer = &host.answers[&call];
    assert!(
        answer.contains("It waits for: Which rate?\nResults so far: Net totals work in src/net.rs, with tests\n"),
        "{answer}"
    );
}

#[test]
fn a_subagent_that_pushes_leaves_the_place_of_its_caller() {
    let mut host = Host::limited(1);
    host.push("root", "Outer", false);
    host.tell(
        json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "outer", "title": "look (@general subagent)"}),
    );
    host.push("sub", "Inner", false);
    assert_eq!(host.working(), ["inner", "outer"], "outer waits for its subagent, which waits for inner");
}

#[test]
fn no_frame_waits_in_a_circle() {
    let mut host = Host::new();
    for title in ["A", "B"] {
        host.push("root", title, true);
    }
    let call = host.later("a", "stack_wait", json!({"frames": ["f3"]}));
    for (tool, arguments) in
        [("stack_wait", json!({"frames": ["f2"]})), ("stack_frame_activate", json!({"sessionID": "f2"}))]
    {
        let text = host.refused("b", tool, arguments);
        assert!(text.contains("frame f2 waits for this session"), "{text}");
    }
    host.tell(json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "b", "title": "plain"}));
    let text = host.refused("sub", "stack_wait", json!({"frames": ["f3"]}));
    assert!(text.contains("frame f3 waits for this session"), "{text}");
    host.pop("b", "completed");
    assert!(host.answers.contains_key(&call));
}

#[test]
fn a_request_for_a_summary_ends_with_the_work() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    let call = host.push("root", "Taxes", false).unwrap();
    host.call("taxes", "stack_frame_summarize", json!({}));
    assert!(host.frame("Taxes").summary_request.is_some());
    host.tell(json!({"kind": "callAborted", "call": call}));
    assert!(host.frame("Taxes").is_salvaged());
    assert!(host.frame("Taxes").summary_request.is_none());
}

#[test]
fn a_frame_on_which_a_session_works_is_not_begun_again() {
    let mut host = Host::new();
    host.tell(
        json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "root", "title": "look (@general subagent)"}),
    );
    let text = host.refused("root", "stack_frame_activate", json!({"sessionID": "sub", "retry": true}));
    assert!(text.contains("is held by"), "{text}");
    assert_eq!(host.stack.frame("sub").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn all_that_is_ready_waits_for_what_runs_already() {
    let mut host = Host::new();
    host.plan(&[("A", &[]), ("B", &["A"])]);
    host.call("root", "stack_frame_activate", json!({"sessionID": "f2", "background": true}));
    let call = host.later("root", "stack_frame_activate_ready", json!({}));
    assert_eq!(host.working(), ["a"]);
    host.pop("a", "completed");
    host.pop("b", "completed");
    let answer = &host.answers[&call];
    assert!(answer.contains("f2 (A) is completed.") && answer.contains("f3 (B) is completed."), "{answer}");
}

#[test]
fn a_message_before_the_end_of_a_call_begins_a_frame_of_its_own() {
    let mut host = Host::new();
    let call = host.push("root", "Taxes", false).unwrap();
    let arguments = json!({"status": "completed", "results": "taxes is there", "resultsCompacted": ""});
    host.call("taxes", "stack_frame_pop", arguments);
    host.message("taxes", "user", "Now explain the rates to me");
    host.end("taxes");
    assert!(host.answers[&call].starts_with("f2 (Taxes) is completed."), "{}", host.answers[&call]);
    assert_eq!((host.aborted.len(), host.compacting.len()), (0, 0), "the person's conversation goes on");
    assert_eq!(host.stack.frame("taxes").unwrap().status, FrameStatus::InProgress);
}

#[test]
fn a_person_continues_an_interrupted_frame() {
    let folder = tempdir().unwrap();
    let now = clock();
    Host::on(open(&folder, &now), now.clone()).push("root", "Taxes", true);
    let mut host = Host::on(open(&folder, &now), now.clone());
    host.tell(json!({"kind": "sessionCreated", "sessionID": "taxes", "parentID": "root", "title": "Taxes"}));
    host.message("taxes", "user", "Go on, please, with the rates");
    assert_eq!(host.stack.work().interrupted(), [], "it works again");
    host.tell(json!({"kind": "sessionIdle", "sessionID": "taxes"}));
    host.summarized("taxes", "");
    assert!(host.frame("Taxes").is_salvaged(), "it has ended without a pop");
}

#[test]
fn the_agent_learns_why_a_background_frame_could_not_be_started() {
    let mut host = Host::new();
    let answer = tools::call(
        &host.stack,
        "root",
        "stack_frame_push",
        r#"{"title": "Taxes", "successCriteria": "", "successCriteriaCompacted": "", "background": true}"#,
    );
    let call = answer.effects.iter().find_map(|effect| match effect {
        Effect::CreateSession { call, .. } => Some(*call),
        _ => None,
    });
    host.tell(json!({"kind": "callEnded", "call": call, "error": "no more sessions"}));
    let context = host.context("root");
    assert!(context.contains("status=\"planned\">no more sessions</ended-child>"), "{context}");
}

/// The machine of the host was asleep, or its program was stopped for a while.
#[test]
fn a_host_that_was_taken_for_ended_leaves_the_frame_to_the_other_one() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut first = Host::on(open(&folder, &now), now.clone());
    let call = first.push("root", "Taxes", false).unwrap();
    now.fetch_add(31_000, Ordering::Relaxed);
    let second = open(&folder, &now);
    let answer = tools::call(&second, "root", "stack_frame_activate", r#"{"sessionID": "f2"}"#);
    assert!(!answer.is_error, "{answer:?}");
    first.pass();
    assert_eq!(first.aborted, ["taxes"], "never two at once");
    assert!(first.answers[&call].contains("another host runs it"), "{}", first.answers[&call]);
    assert!(second.frame("f2").unwrap().host().is_some());
}

#[test]
fn a_decision_that_the_disk_does_not_allow_is_carried_out_later() {
    let folder = tempdir().unwrap();
    let now = clock();
    let options = options_at(&now).busy_timeout(30);
    let mut host = Host::on(Stack::open(folder.path(), options).unwrap(), now.clone());
    host.plan(&[("A", &[])]);
    let call = host.later("root", "stack_frame_activate_ready", json!({}));
    host.end("a");
    let lock = std::fs::File::open(folder.path().join("stack.db-write")).unwrap();
    lock.lock().unwrap();
    host.summarized("a", "The rates are read, rounding is left");
    assert_eq!(host.status("A"), FrameStatus::InProgress);
    lock.unlock().unwrap();
    host.pass();
    assert!(host.frame("A").is_salvaged(), "{:?}", host.frame("A"));
    assert!(host.frame("A").host().is_none() && host.answers.contains_key(&call));
}

#[test]
fn a_session_that_works_by_itself_is_not_prompted() {
    let mut host = Host::new();
    host.tell(json!({"kind": "sessionCreated", "sessionID": "other", "title": "Books"}));
    host.message("other", "user", "Write the books of the shop");
    host.tell(
        json!({"kind": "sessionCreated", "sessionID": "sub", "parentID": "root", "title": "look (@general subagent)"}),
    );
    for frame in ["other", "sub"] {
        let text = host.refused("root", "stack_frame_activate", json!({"sessionID": frame, "background": true}));
        assert!(text.contains("is held by"), "{text}");
    }
    assert_eq!(host.prompts, [""; 0]);
}

#[test]
fn a_frame_that_another_process_has_finished_is_answered_with_its_results() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    host.plan(&[("A", &[])]);
    let answer = tools::call(&host.stack, "root", "stack_frame_activate", r#"{"sessionID": "f2"}"#);
    let other = open(&folder, &now);
    other.activate("f2").unwrap();
    other.pop("f2", callstack_core::PopStatus::Completed, "I did it myself").unwrap();
    host.tell(json!({"kind": "callStarted", "call": answer.call, "sessionID": "a"}));
    let text = &host.answers[&answer.call.unwrap()];
    assert!(text.starts_with("f2 (A) is completed.\nResults: I did it myself"), "{text}");
}

#[test]
fn processes_keep_the_settings_of_one_another() {
    let folder = tempdir().unwrap();
    let now = clock();
    let (mut first, mut second) =
        (Host::on(open(&folder, &now), now.clone()), Host::on(open(&folder, &now), now.clone()));
    first.call("root", "stack_autonomy", json!({"level": "auto"}));
    second.call("root", "stack_config", json!({"addPattern": "^review"}));
    let settings = Host::on(open(&folder, &now), now.clone()).stack.host().settings();
    assert_eq!(settings.autonomy.level, AutonomyLevel::Auto);
    assert_eq!(settings.subagents.patterns.last().unwrap(), "^review");
}

#[test]
fn agents_wait_for_frames_that_another_host_runs() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut first = Host::on(open(&folder, &now), now.clone());
    first.push("root", "A", true);
    let mut second = Host::on(open(&folder, &now), now.clone());
    let joined = second.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
    let waiting = second.later("root", "stack_wait", json!({}));
    first.pop("a", "completed");
    second.pass();
    for call in [joined, waiting] {
        assert!(second.answers[&call].starts_with("f2 (A) is completed.\nResults: a is there"), "{:?}", second.answers);
    }
    let never = second.later("root", "stack_wait", json!({"frames": ["f2", "f2"]}));
    assert_eq!(second.answers[&never].matches("is completed").count(), 1);
    second.plan(&[("B", &[])]);
    let planned = second.later("root", "stack_wait", json!({"frames": ["f3"]}));
    assert_eq!(second.answers[&planned], "f3 (B) is planned, and has not begun.");
}

#[test]
fn a_frame_that_was_stopped_is_begun_again_when_its_work_is_recorded() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    host.push("root", "Taxes", true);
    let other = open(&folder, &now);
    other.stop("f2", "lunch").unwrap();
    assert_eq!(other.retry("f2", None).unwrap_err().code(), "held");
    host.pass();
    let again = other.retry("f2", None).unwrap().handle;
    let lesson = other.context(again, &Default::default()).unwrap().stable.clone();
    assert!(lesson.contains("taxes works a little"), "{lesson}");
}

#[test]
fn an_older_library_refuses_a_history_with_calls() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    host.push("root", "Taxes", true);
    let events = host.stack.history().events(&Default::default()).unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.change.kind()).collect();
    assert!(kinds.contains(&"held"), "{kinds:?}");
    let mut unknown = serde_json::to_value(events.last().unwrap()).unwrap();
    unknown["kind"] = "fromTheFuture".into();
    let error = serde_json::from_value::<callstack_core::Event>(unknown).unwrap_err();
    assert!(error.to_string().contains("`fromTheFuture`, which this version does not know"), "{error}");
    // A frame that was read from a state has no call, no matter what its record says.
    let state = host.stack.state().unwrap();
    let (copy, _) = Stack::from_state(state, StackOptions::default());
    assert_eq!(copy.work().interrupted(), [handle("f2")]);
    assert!(copy.outline(&OutlineOptions::default()).is_ok());
    assert_eq!(copy.stop("f9", "lunch").unwrap_err().code(), "unknown_frame");
    assert_eq!(copy.stop("f2", " ").unwrap_err(), Error::Empty { field: "reason" });
}

#[test]
fn a_stop_is_recorded_only_where_something_can_run() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Build a shop")).unwrap();
    let done = stack.push(NewFrame::new("Schema").below(root)).unwrap();
    stack.pop(done, PopStatus::Completed, "in db.sql").unwrap();
    let revision = || stack.read(|tree| tree.revision()).unwrap();
    let before = revision();
    assert_eq!(stack.stop(done, "lunch").unwrap(), []);
    assert_eq!(revision(), before, "nothing can be queued in what has ended");
    let planned = stack.plan(NewFrame::new("Routes").below(root)).unwrap();
    let before = revision();
    assert_eq!(stack.stop(planned, "lunch").unwrap(), []);
    assert_eq!(revision(), before + 1, "a host can have queued a planned frame");
    stack.invalidate(root, "no shop").unwrap();
    let before = revision();
    stack.stop_all("lunch").unwrap();
    assert_eq!(revision(), before, "everything has ended");
}

fn handle(text: &str) -> Handle {
    text.parse().unwrap()
}

#[test]
fn each_salvage_keeps_the_newest_words_behind_one_mark() {
    let mut host = Host::new();
    host.push("root", "Taxes", false);
    host.end("taxes");
    host.summarized("taxes", "I have read the twelve flags of the parser and their defaults");
    host.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert!(host.prompts.last().unwrap().contains("I have read the twelve flags"), "{:?}", host.prompts);
    host.end("taxes");
    host.summarized("taxes", "Parser and printer are done and tested, only the docs are missing");
    let results = host.frame("Taxes").results.unwrap();
    assert_eq!(results.matches(SALVAGED).count(), 1, "{results}");
    assert!(results.ends_with("] Parser and printer are done and tested, only the docs are missing"), "{results}");
    let call = host.later("root", "stack_frame_activate", json!({"sessionID": "f2"}));
    host.tell(json!({"kind": "callAborted", "call": call}));
    let results = host.frame("Taxes").results.unwrap();
    assert!(results.ends_with("only the docs are missing\nThen: taxes works a little"), "{results}");
}

/// Pushes a frame that depends on others, from the root.
fn push_after(host: &mut Host, title: &str, depends_on: &[&str]) -> u64 {
    let arguments =
        json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "", "dependsOn": depends_on});
    host.later("root", "stack_frame_push", arguments)
}

#[test]
fn a_pushed_frame_begins_after_its_dependencies_that_run() {
    let mut host = Host::new();
    host.push("root", "A", false);
    let second = push_after(&mut host, "B", &["A"]);
    let third = push_after(&mut host, "C", &["f3"]);
    host.push("root", "D", false);
    assert_eq!(host.working(), ["a", "d"], "what depends on nothing is not held up");
    host.pop("a", "completed");
    assert_eq!(host.working(), ["b", "d"]);
    assert!(host.context("b").contains("a is there"), "{}", host.context("b"));
    host.pop("b", "failed");
    assert_eq!((host.working(), host.status("C")), (vec!["d"], FrameStatus::Planned));
    assert!(host.answers[&second].contains("f3 (B) is failed"), "{}", host.answers[&second]);
    assert!(host.answers[&third].contains("could not be started: it waits for f3"), "{}", host.answers[&third]);
}

#[test]
fn a_push_does_not_wait_for_frames_that_no_session_runs() {
    let mut host = Host::new();
    host.plan(&[("A", &[])]);
    push_after(&mut host, "B", &["A"]);
    assert_eq!(host.working(), ["b"], "A is planned: no session would ever begin it for B");
}

#[test]
fn a_push_that_would_wait_for_its_own_caller_is_refused() {
    let mut host = Host::new();
    for title in ["A", "B"] {
        host.push("root", title, true);
    }
    let arguments = |title: &str, depends_on: &str| json!({"title": title, "successCriteria": "It works", "successCriteriaCompacted": "", "dependsOn": [depends_on]});
    host.later("a", "stack_frame_push", arguments("Below A", "B"));
    let count = host.stack.read(|tree| tree.len()).unwrap();
    let text = host.refused("b", "stack_frame_push", arguments("Below B", "A"));
    assert!(text.contains("frame f2 waits for this session"), "{text}");
    assert_eq!(host.stack.read(|tree| tree.len()).unwrap(), count, "nothing was planned");
    host.pop("b", "completed");
    assert_eq!(host.working(), ["a", "below a"]);
}

#[test]
fn a_queued_frame_that_gets_a_dependency_does_not_begin() {
    let mut host = Host::limited(1);
    host.plan(&[("A", &[]), ("B", &[]), ("C", &[])]);
    for frame in ["f2", "f3"] {
        host.call("root", "stack_frame_activate", json!({"sessionID": frame, "background": true}));
    }
    host.call("root", "stack_frame_edit", json!({"sessionID": "f3", "dependsOn": ["C"]}));
    host.pop("a", "completed");
    assert_eq!((host.working(), host.status("B")), (vec![], FrameStatus::Planned));
    let context = host.context("root");
    assert!(context.contains("title=\"B\" status=\"planned\">it waits for f4</ended-child>"), "{context}");
}

#[test]
fn tools_look_names_up_in_the_newest_tree() {
    let folder = tempdir().unwrap();
    let now = clock();
    let mut host = Host::on(open(&folder, &now), now.clone());
    open(&folder, &now).plan(callstack_core::NewFrame::new("Taxes").below("root")).unwrap();
    host.call("root", "stack_frame_edit", json!({"sessionID": "Taxes", "title": "Rates"}));
    assert_eq!(host.frame("Rates").title, "Rates");
}

#[test]
fn a_frame_below_a_planned_one_is_not_begun() {
    let mut host = Host::new();
    host.plan(&[("Parent", &[]), ("Kid", &[])]);
    host.call("root", "stack_frame_edit", json!({"sessionID": "f3", "parentSessionID": "f2"}));
    let text = host.refused("root", "stack_frame_activate", json!({"sessionID": "f3"}));
    assert!(text.contains("f2") && text.contains("planned"), "{text}");
}

/// The frame is planned as long as it is queued.
#[test]
fn an_activation_waits_for_a_frame_that_is_queued() {
    let stack = Stack::in_memory();
    let calls = CallSettings::default().max_concurrent(1);
    assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
    stack.push(NewFrame::new("Shop").id("root")).unwrap();
    let call = |tool: &str, arguments: Value| tools::call(&stack, "root", tool, &arguments.to_string());
    for title in ["Cart", "Pay"] {
        let task = json!({"title": title, "successCriteria": "x", "successCriteriaCompacted": "x", "background": true});
        assert!(!call("stack_frame_push", task).is_error);
    }
    assert_eq!(stack.frame("f3").unwrap().status, FrameStatus::Planned);
    let waiting = call("stack_frame_activate", json!({"sessionID": "f3"}));
    assert!(!waiting.is_error && waiting.call.is_some(), "{waiting:?}");
}
