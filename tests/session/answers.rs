//! Blocked frames: what they wait for, who answers them, and how they are resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{
    Error, Event, FrameStatus, HostSettings, NewFrame, OutlineOptions, PopStatus, Results, Settings, Stack,
    StackOptions, StackState, Tree, tools,
};
use serde_json::{Value, json};
use support::{Queries, options_at, set_status};
use tempfile::tempdir;

const QUESTION: &str = "Which VAT rate? Ask the user";

/// A host whose root session `root` has called f2 in the session `child`.
struct Host {
    stack: Stack,
    now: Arc<AtomicU64>,
    call: u64,
}

impl Host {
    fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1_700_000_000_000));
        let stack = Stack::with_options(options_at(&now));
        Self::with(stack, now)
    }

    fn with(stack: Stack, now: Arc<AtomicU64>) -> Self {
        assert_eq!(stack.host().configure(HostSettings::default()), []);
        let mut host = Self { stack, now, call: 0 };
        host.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
        host.message("root", "m1", "Build a shop");
        let arguments = json!({"title": "Taxes", "successCriteria": "Totals have VAT", "successCriteriaCompacted": ""});
        host.call = tools::call(&host.stack, "root", "stack_frame_push", &arguments.to_string()).call.unwrap();
        let effects = host.tell(json!({"kind": "callStarted", "call": host.call, "sessionID": "child"}));
        let [Effect::Prompt { text, .. }] = &effects[..] else { panic!("{effects:?}") };
        host.message("child", "m2", text);
        host
    }

    /// Reports an event. Returns the effects without log lines.
    fn tell(&self, event: Value) -> Vec<Effect> {
        work(self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap()))
    }

    fn message(&self, session: &str, id: &str, text: &str) -> Vec<Effect> {
        self.tell(json!({"kind": "message", "sessionID": session, "messageID": id, "role": "user", "text": text}))
    }

    fn tool(&self, session: &str, name: &str, arguments: Value) -> tools::Answer {
        tools::call(&self.stack, session, name, &arguments.to_string())
    }

    fn good(&self, session: &str, name: &str, arguments: Value) -> String {
        let answer = self.tool(session, name, arguments);
        assert!(!answer.is_error, "{answer:?}");
        answer.text.unwrap()
    }

    /// The child pops itself as blocked, and its session ends. Returns the answer of the call.
    fn blocked(&self) -> String {
        let arguments = json!({"status": "blocked", "question": QUESTION, "results": "Totals without VAT work; src/tax.rs",
            "resultsCompacted": "totals without VAT"});
        let text = self.good("child", "stack_frame_pop", arguments);
        assert_eq!(text, "f2 (Taxes) is blocked. f1 (Shop) learns what it waits for; end your turn now.");
        self.ended(self.call)
    }

    /// The session of a call ends. Returns the answer of the call.
    fn ended(&self, call: u64) -> String {
        let effects = self.tell(json!({"kind": "callEnded", "call": call}));
        let [Effect::ReadMessages { .. }, Effect::Answer { call: answered, text, .. }] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert_eq!(*answered, call);
        text.clone()
    }

    fn done(&self) {
        let arguments = json!({"status": "completed", "results": "VAT of 20 % in src/tax.rs", "resultsCompacted": ""});
        self.good("child", "stack_frame_pop", arguments);
    }

    fn status(&self) -> FrameStatus {
        self.stack.frame("f2").unwrap().status
    }

    fn volatile(&self, session: &str) -> String {
        self.stack.host().context(session).unwrap().unwrap().context.volatile.clone()
    }

    /// Polls if a poll is due.
    fn poll(&self) -> Vec<Effect> {
        self.now.fetch_add(1_000, Ordering::Relaxed);
        work(self.stack.host().poll())
    }
}

fn work(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
}

#[test]
fn a_blocked_pop_keeps_its_results_and_its_caller_is_told_what_it_waits_for() {
    let host = Host::new();
    assert_eq!(
        host.blocked(),
        "f2 (Taxes) is blocked.\nIt waits for: Which VAT rate? Ask the user\nResults so far: Totals without VAT work; \
         src/tax.rs\nNext: stack_frame_activate f2 with the answer resumes where it stopped, with retry it starts over; \
         stack_frame_invalidate f2 gives it up."
    );
    let frame = host.stack.frame("f2").unwrap();
    assert_eq!(frame.results.as_deref(), Some("Totals without VAT work; src/tax.rs"));
    assert_eq!((frame.waits_for(), frame.pending_answer()), (QUESTION, None));
    let volatile = host.volatile("root");
    assert!(
        volatile.contains("<warning>Child f2 (Taxes) is blocked: Which VAT rate? Ask the user</warning>"),
        "{volatile}"
    );
    let next = "Child f2 is blocked: answer it with stack_frame_activate f2 (answer), or stack_frame_invalidate it.";
    assert!(volatile.contains(next), "{volatile}");
    let outline = host.good("root", "stack_status", json!({}));
    assert!(outline.contains("[?] f2 Taxes\n        Waits for: Which VAT rate? Ask the user\n"), "{outline}");
}

#[test]
fn a_blocked_pop_without_a_question_is_not_salvaged_either() {
    let host = Host::new();
    let arguments =
        json!({"status": "blocked", "results": "Need the VAT rate; ask the user", "resultsCompacted": "VAT rate"});
    host.good("child", "stack_frame_pop", arguments);
    let answer = host.ended(host.call);
    assert!(answer.starts_with("f2 (Taxes) is blocked.\nResults: Need the VAT rate; ask the user\nNext: "), "{answer}");
    assert_eq!(host.stack.frame("f2").unwrap().results.as_deref(), Some("Need the VAT rate; ask the user"));
    assert!(host.volatile("root").contains("Child f2 (Taxes) is blocked: VAT rate</warning>"));
    host.stack.answer("f2", "20 %").unwrap();
    let frame = host.stack.frame("f2").unwrap();
    assert_eq!((frame.results.as_deref(), frame.waits_for()), (None, "Need the VAT rate; ask the user"));
}

#[test]
fn the_parent_answers_and_the_session_is_prompted_with_question_and_answer() {
    let host = Host::new();
    host.blocked();
    let again = host.tool("root", "stack_frame_activate", json!({"sessionID": "f2", "answer": "20 %"}));
    let effects = work(again.effects);
    let [Effect::Prompt { session_id, caller_id, text, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((session_id.as_str(), caller_id.as_str()), ("child", "root"));
    let begins = "Frame f2 was blocked: Which VAT rate? Ask the user\nThe answer: 20 %\nContinue";
    assert!(text.starts_with(begins) && !text.contains("interrupted"), "{text}");
    assert_eq!(host.status(), FrameStatus::InProgress);

    host.message("child", "m3", text);
    assert_eq!(host.stack.frame("f2").unwrap().questions.len(), 1, "the prompt is no answer");
    let volatile = host.volatile("child");
    let shown = "<answered>\n<question>Which VAT rate? Ask the user</question>\n<answer>20 %</answer>\n</answered>";
    assert!(volatile.contains(shown), "{volatile}");
    host.done();
    assert!(!host.volatile("child").contains("<answered>"), "only until it is finished");
    let answer = host.ended(again.call.unwrap());
    assert!(answer.starts_with("f2 (Taxes) is completed.\nResults: VAT of 20 % in src/tax.rs\n"), "{answer}");
    assert_eq!(host.poll(), []);
}

#[test]
fn a_person_answers_in_the_session_of_the_frame_and_the_parent_learns_how_it_ends() {
    let host = Host::new();
    host.blocked();
    assert_eq!(host.message("child", "m3", ""), []);
    assert_eq!(host.status(), FrameStatus::Blocked, "an empty message is no answer");
    assert_eq!(host.message("child", "m4", "It is 20 %"), []);
    let frame = host.stack.frame("f2").unwrap();
    assert_eq!((frame.status, frame.questions[0].answer.as_deref()), (FrameStatus::InProgress, Some("It is 20 %")));
    assert_eq!(host.poll(), [], "its session works already");
    host.done();
    let context = host.stack.host().context("root").unwrap().unwrap().context.clone();
    let children = context.stable.split_once("<finished-children").unwrap_or_else(|| panic!("{}", context.stable)).1;
    assert!(children.contains("VAT of 20 % in src/tax.rs"), "{children}");
}

#[test]
fn one_of_the_hosts_of_a_folder_goes_on_with_what_another_process_has_answered() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let open = || Stack::open(folder.path(), options_at(&now)).unwrap();
    let host = Host::with(open(), now.clone());
    host.blocked();
    // A second host knows the same sessions.
    let second = Host { stack: open(), now: now.clone(), call: 0 };
    second.stack.host().configure(HostSettings::default());
    second.tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
    second.tell(json!({"kind": "sessionCreated", "sessionID": "child", "parentID": "root", "title": "Taxes"}));
    assert!(host.stack.host().deadline().unwrap() <= now.load(Ordering::Relaxed) + 1_000);
    assert!(second.stack.host().deadline().unwrap() <= now.load(Ordering::Relaxed) + 1_000);
    assert_eq!((host.poll(), second.poll()), (vec![], vec![]));

    let third = open();
    third.answer("f2", "20 %").unwrap();
    assert!(third.outline(&OutlineOptions::default()).unwrap().contains("Answered: 20 %"));
    assert_eq!(third.frame("f2").unwrap().status, FrameStatus::Blocked, "nothing is lost if no host runs");
    let effects = host.poll();
    let [Effect::Prompt { session_id, text, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(session_id == "child" && text.contains("The answer: 20 %"), "{text}");
    assert_eq!(second.poll(), [], "one host goes on with it");
    assert_eq!((host.poll(), host.status()), (vec![], FrameStatus::InProgress));
}

#[test]
fn a_host_that_comes_too_late_does_not_prompt() {
    let folder = tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let open = || Stack::open(folder.path(), options_at(&now)).unwrap();
    let host = Host::with(open(), now.clone());
    host.blocked();
    // This host does not know yet that another process has resumed the frame.
    let other = open();
    let theirs = tools::call(&other, "root", "stack_frame_activate", r#"{"sessionID": "f2"}"#);
    assert!(matches!(&work(theirs.effects)[..], [Effect::Prompt { .. }]));
    let again = host.tool("root", "stack_frame_activate", json!({"sessionID": "f2", "background": true}));
    assert!(again.is_error && again.text.unwrap().contains("f2 is held by"));
    let waiting = host.tool("root", "stack_frame_activate", json!({"sessionID": "f2"}));
    assert_eq!((waiting.is_error, work(waiting.effects)), (false, vec![]), "it waits for the other host");
}

#[test]
fn an_answer_before_the_session_has_ended_continues_the_call() {
    let host = Host::new();
    let arguments = json!({"status": "blocked", "question": QUESTION, "results": "", "resultsCompacted": ""});
    host.good("child", "stack_frame_pop", arguments);
    host.good("root", "stack_frame_answer", json!({"frameID": "f2", "answer": "20 %"}));
    assert_eq!(host.poll(), [], "a call runs it");
    let effects = host.tell(json!({"kind": "callEnded", "call": host.call}));
    let [Effect::Prompt { call, text, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(*call == host.call && text.contains("The answer: 20 %"), "{text}");
    host.done();
    assert!(host.ended(host.call).starts_with("f2 (Taxes) is completed."));
}

#[test]
fn an_answer_to_a_frame_whose_prompt_was_lost_is_in_the_next_prompt() {
    let host = Host::new();
    host.blocked();
    host.stack.answer("f2", "20 %").unwrap();
    host.stack.resume("f2").unwrap();
    let effects = work(host.tool("root", "stack_frame_activate", json!({"sessionID": "f2"})).effects);
    let [Effect::Prompt { text, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.starts_with("Your work on frame f2 was interrupted.\nIt was asked: Which VAT rate?"), "{text}");
    assert!(text.contains("The answer: 20 %\n"), "{text}");
}

#[test]
fn what_cannot_be_answered_is_refused_with_advice_and_nothing_changes() {
    let host = Host::new();
    let revision = || host.stack.read(Tree::revision).unwrap();
    let before = revision();
    let refused = |frame: &str| host.stack.answer(frame, "20 %").unwrap_err().to_string();
    assert_eq!(
        refused("f2"),
        "frame f2 is in_progress and waits for no answer; it runs: write to its session, or wait until it asks"
    );
    let activated = host.tool("root", "stack_frame_activate", json!({"sessionID": "f2", "answer": "20 %"}));
    assert!(activated.is_error, "{activated:?}");
    let popped = host.tool(
        "child",
        "stack_frame_pop",
        json!({"status": "completed", "question": "Which?", "results": "Done",
        "resultsCompacted": ""}),
    );
    assert!(popped.text.unwrap().contains("question is `Which?`, but must be left out unless the status is blocked"));
    assert_eq!(revision(), before);
    host.blocked();
    assert_eq!(host.stack.answer("f2", " ").unwrap_err(), Error::Empty { field: "answer" });
    host.stack.answer("f2", "20 %").unwrap();
    host.stack.answer("f2", "7 % for books").unwrap();
    assert_eq!(host.stack.frame("f2").unwrap().pending_answer(), Some("20 %\n7 % for books"), "none is lost");
}

/// The results so far, the question that the frame waits for, and the results at the end are three
/// separate texts.
#[test]
fn blocking_keeps_the_results_so_far_also_after_an_export() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Root").id("root")).unwrap();
    stack.push(NewFrame::new("Work").id("work").below("root")).unwrap();
    stack.summarize("work", "3 of 5 done").unwrap();
    stack.pop("work", PopStatus::Blocked, "Need the Stripe key").unwrap();
    let frame = stack.frame("work").unwrap();
    assert_eq!((frame.results.as_deref(), frame.waits_for()), (Some("3 of 5 done"), "Need the Stripe key"));

    let (again, repairs) =
        Stack::from_state(StackState::from_json(&stack.state().unwrap().to_json()).unwrap().0, StackOptions::default());
    assert_eq!(repairs, []);
    for stack in [&stack, &again] {
        let xml = |frame: &str| stack.context(frame, &Settings::default()).unwrap().xml.clone();
        assert!(xml("root").contains("Child f2 (Work) is blocked: Need the Stripe key"), "{}", xml("root"));
        stack.answer("work", "sk_test").unwrap();
        stack.resume("work").unwrap();
        stack.push(NewFrame::new("Part").id("part").below("work")).unwrap();
        let part = xml("part");
        assert!(part.contains("<partial-results>3 of 5 done</partial-results>"), "{part}");
        assert!(!part.contains("Stripe"), "{part}");
        assert!(xml("work").contains("<answer>sk_test</answer>"));
    }
    set_status(&stack, "work", FrameStatus::Blocked, None).unwrap();
    let xml = stack.context("root", &Settings::default()).unwrap().xml.clone();
    assert!(xml.contains("is blocked: no reason was given"), "results so far are no reason: {xml}");
    stack.block("work", QUESTION, Some(Results::new("4 of 5 done"))).unwrap();
    assert_eq!(stack.frame("work").unwrap().results.as_deref(), Some("4 of 5 done"));
}

/// Histories of earlier versions have the reason in the results.
#[test]
fn a_frame_that_an_earlier_version_has_blocked_waits_for_what_its_results_say() {
    let mut tree = Tree::new();
    let frame = json!({"sessionID": "work", "status": "in_progress", "title": "Work"});
    let events = [
        json!({"revision": 1, "time": 1, "handle": "f1", "kind": "added", "frame": frame}),
        json!({"revision": 2, "time": 2, "handle": "f1", "kind": "statusChanged", "status": "blocked",
            "results": "Need the key", "resultsCompacted": ""}),
        json!({"revision": 3, "time": 3, "handle": "f1", "kind": "statusChanged", "status": "in_progress"}),
    ];
    let [added, blocked, resumed] = events.map(event);
    tree.replay(&added).unwrap();
    tree.replay(&blocked).unwrap();
    let handle = tree.by_id("work").unwrap();
    assert_eq!(tree.frame(handle).waits_for(), "Need the key");
    tree.replay(&resumed).unwrap();
    let frame = tree.frame(handle);
    assert_eq!((frame.results, frame.questions[0].question.as_str()), (None, "Need the key"), "it is no result");
    for (kind, text, message) in [
        ("answered", "answer", "it answers f1, which is in_progress"),
        ("asked", "question", "it records what f1 waits for, which is in_progress"),
    ] {
        let misfit = event(json!({"revision": 4, "time": 4, "handle": "f1", "kind": kind, text: "here"}));
        let error = tree.replay(&misfit).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// An event of a kind that a later version has added is refused by its name, and it is not read as an event
/// of another kind.
#[test]
fn an_event_of_a_later_version_is_refused_with_its_kind() {
    let folder = tempdir().unwrap();
    let history = concat!(
        r#"{"revision": 1, "time": 1, "handle": "f1", "kind": "added", "frame": {"sessionID": "a", "title": "A"}}"#,
        "\n",
        r#"{"revision": 2, "time": 2, "handle": "f1", "kind": "retried", "question": "Which?"}"#,
    );
    let error = Stack::rebuild(folder.path().join("stack"), history.as_bytes(), StackOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("event 2 has the kind `retried`, which this version does not know"), "{message}");
}

fn event(json: Value) -> Event {
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_loser_of_a_race_and_a_root_with_open_work_are_told_what_is_so() {
    let host = Host::new();
    let error = host.stack.activate("f2").unwrap_err().to_string();
    assert!(error.ends_with("it has begun already: if the work on it is not yours, choose another frame"), "{error}");
    let mut done = json!({"status": "completed", "results": "Done", "resultsCompacted": ""});
    let refused = host.tool("root", "stack_frame_pop", done.clone()).text.unwrap();
    assert_eq!(
        refused,
        "stack_frame_pop: frame f1 is not done: open or planned below it: f2; finish them, or invalidate what is not needed, or end it `anyway`"
    );
    assert_eq!(host.stack.frame("f1").unwrap().status, FrameStatus::InProgress);
    done["anyway"] = json!(true);
    assert_eq!(
        host.good("root", "stack_frame_pop", done),
        "f1 (Shop) is completed. Still open below it: f2. It is the root frame: no other agent finishes or invalidates what \
         is open."
    );
    let volatile = host.volatile("root");
    assert!(volatile.contains("f2 below it is still in_progress. Finish or invalidate it."), "{volatile}");
    assert!(!volatile.contains("its tree is done"), "{volatile}");
}

#[test]
fn a_prompt_that_is_reported_after_the_frame_was_blocked_is_no_answer() {
    let host = Host::new();
    let arguments = json!({"title": "Pay", "successCriteria": "It pays", "successCriteriaCompacted": ""});
    let call = host.tool("root", "stack_frame_push", arguments).call.unwrap();
    let effects = host.tell(json!({"kind": "callStarted", "call": call, "sessionID": "second"}));
    let [Effect::Prompt { text, .. }] = &effects[..] else { panic!("{effects:?}") };
    host.stack.block("f3", QUESTION, None).unwrap();
    host.message("second", "m9", text);
    let frame = host.stack.frame("f3").unwrap();
    assert_eq!((frame.status, frame.pending_answer()), (FrameStatus::Blocked, None));
}
