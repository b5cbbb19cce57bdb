//! Tests of the logs of frames: they grow while the sessions work, and agents page through them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{LogQuery, Stack, tools};
use serde_json::{Value, json};
use support::options_at;
use tempfile::TempDir;

const NOW: u64 = 1_700_000_000_000;

/// A host whose stack is in a folder.
struct Host {
    stack: Stack,
    folder: TempDir,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { stack: open(folder.path()), folder }
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        let effects = self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
    }

    /// Reports the session `ses_1` and its first message, whose log has nothing before it.
    fn begun() -> Self {
        let host = Self::new();
        host.tell(json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}));
        host.asked("m1", "Build a shop");
        assert_eq!(host.finished("ses_1", message("m1", "user", "Build a shop")), reading("ses_1"));
        host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": []}));
        host
    }

    fn asked(&self, id: &str, text: &str) -> Vec<Effect> {
        self.tell(json!({"kind": "message", "sessionID": "ses_1", "messageID": id, "role": "user", "text": text}))
    }

    fn finished(&self, session: &str, message: Value) -> Vec<Effect> {
        self.tell(json!({"kind": "messageFinished", "sessionID": session, "message": message}))
    }

    fn entries(&self, frame: &str) -> Vec<Value> {
        let page = self.stack.log(frame).read(&LogQuery::default()).unwrap();
        page.lines.into_iter().map(|line| line.entry).collect()
    }

    fn ids(&self, frame: &str) -> Vec<String> {
        self.entries(frame).iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    }

    /// The answer of the tool for logs.
    fn page(&self, arguments: Value) -> Value {
        let answer = tools::call(&self.stack, "ses_1", "stack_frame_log", &arguments.to_string());
        assert!(!answer.is_error, "{arguments}: {:?}", answer.text);
        let text = answer.text.unwrap();
        assert!(text.len() < 20_000, "{arguments}: {} bytes", text.len());
        serde_json::from_str(&text).unwrap()
    }
}

fn open(folder: &Path) -> Stack {
    Stack::open(folder, options_at(&Arc::new(AtomicU64::new(NOW)))).unwrap()
}

fn reading(session: &str) -> Vec<Effect> {
    vec![Effect::ReadMessages { session_id: session.into() }]
}

fn message(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "text": text, "parts": [{"type": "text", "text": text}]})
}

fn numbers(page: &Value) -> Vec<u64> {
    page["lines"].as_array().unwrap().iter().map(|line| line["line"].as_u64().unwrap()).collect()
}

#[test]
fn a_log_grows_with_each_finished_message_of_an_open_root() {
    let host = Host::begun();
    assert_eq!(host.finished("ses_1", message("m2", "assistant", "The cart")), []);
    let timed = json!({"id": "m3", "role": "assistant", "text": "Pay", "time": 1_600_000_000_000_u64});
    assert_eq!(host.finished("ses_1", timed), []);
    let entries = host.entries("ses_1");
    let seen: Vec<_> = entries.iter().map(|entry| (&entry["id"], &entry["time"])).collect();
    let (now, then) = (json!(NOW), json!(1_600_000_000_000_u64));
    assert_eq!(seen, [(&json!("m1"), &now), (&json!("m2"), &now), (&json!("m3"), &then)]);
    assert_eq!(entries[1]["parts"][0]["text"], "The cart");
}

#[test]
fn no_message_is_in_a_log_twice_however_it_is_reported() {
    let host = Host::begun();
    host.finished("ses_1", message("m2", "assistant", "The cart"));
    host.finished("ses_1", message("m2", "assistant", "The cart"));
    let growing = json!({"id": "m4", "role": "assistant", "text": "Pa", "unfinished": true});
    let all = json!([
        message("m1", "user", "Build a shop"),
        message("m2", "assistant", "The cart"),
        message("m3", "assistant", "Totals"),
        growing
    ]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": all}));
    assert_eq!(host.ids("ses_1"), ["m1", "m2", "m3"], "a message that still grows is not logged");
    host.finished("ses_1", message("m3", "assistant", "Totals"));
    host.finished("ses_1", message("m4", "assistant", "Pay"));
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": all}));
    assert_eq!(host.ids("ses_1"), ["m1", "m2", "m3", "m4"]);
    assert_eq!(host.entries("ses_1")[3]["text"], "Pay");
}

#[test]
fn after_a_restart_a_log_goes_on_with_what_was_missed() {
    let mut host = Host::begun();
    host.finished("ses_1", message("m2", "assistant", "The cart"));
    let folder = host.folder.path().to_owned();
    host.stack = Stack::in_memory();
    host.stack = open(&folder);
    host.tell(json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}));
    host.asked("m4", "Go on");
    assert_eq!(host.finished("ses_1", message("m4", "user", "Go on")), reading("ses_1"));
    assert_eq!(host.finished("ses_1", message("m5", "assistant", "Yes")), [], "it waits for the ones before it");
    let all = json!([
        message("m1", "user", "Build a shop"),
        message("m2", "assistant", "The cart"),
        message("m3", "assistant", "Said while nobody listened"),
        message("m4", "user", "Go on")
    ]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_1", "messages": all}));
    assert_eq!(host.ids("ses_1"), ["m1", "m2", "m3", "m4", "m5"]);
}

#[test]
fn the_log_of_a_new_frame_of_a_session_begins_with_its_own_messages() {
    let host = Host::begun();
    let results = json!({"status": "completed", "results": "The shop is open", "resultsCompacted": "open"});
    assert!(!tools::call(&host.stack, "ses_1", "stack_frame_pop", &results.to_string()).is_error);
    host.finished("ses_1", message("m2", "assistant", "Done"));
    host.asked("m3", "Build a bank");
    assert_eq!(host.finished("ses_1", message("m3", "user", "Build a bank")), []);
    assert_eq!((host.ids("f1"), host.ids("ses_1")), (vec!["m1".into(), "m2".into()], vec!["m3".into()]));
}

#[test]
fn a_session_without_a_frame_has_no_log_and_one_that_gets_a_frame_late_has_all() {
    let host = Host::begun();
    host.tell(json!({"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "Look"}));
    assert_eq!(host.finished("ses_2", message("c1", "user", "Look around")), []);
    host.tell(json!({"kind": "sessionUpdated", "sessionID": "ses_2", "title": "Look (@general subagent)"}));
    assert_eq!(host.finished("ses_2", message("c2", "assistant", "Hm")), reading("ses_2"));
    let all = json!([message("c1", "user", "Look around"), message("c2", "assistant", "Hm")]);
    host.tell(json!({"kind": "sessionMessages", "sessionID": "ses_2", "messages": all}));
    assert_eq!(host.ids("ses_2"), ["c1", "c2"]);
}

#[test]
fn a_context_names_the_growing_log_only_after_the_conversation_was_replaced() {
    let host = Host::begun();
    let context = || host.stack.host().context("ses_1").unwrap().unwrap().context;
    let before = context();
    host.finished("ses_1", message("m2", "assistant", "The cart"));
    assert_eq!(context().xml, before.xml, "the prompt cache does not notice that the log grows");
    assert!(!before.xml.contains("<log>"));
    host.tell(json!({"kind": "sessionCompacting", "sessionID": "ses_1"}));
    assert!(context().volatile.contains("ses_1.jsonl</log>") && !context().stable.contains("<log>"));
}

#[test]
fn agents_page_through_a_log_and_search_it() {
    let host = Host::begun();
    for number in 2..=60 {
        let text = if number % 10 == 0 { format!("Timeout after {number} s") } else { format!("Step {number}") };
        let tool = json!({"type": "tool", "tool": "bash", "state": {"output": "x".repeat(100)}});
        let parts = json!([{"type": "text", "text": text}, tool]);
        let id = format!("m{number}");
        host.finished("ses_1", json!({"id": id, "role": "assistant", "text": text, "parts": parts}));
    }
    let newest = host.page(json!({}));
    assert_eq!(numbers(&newest), (41..=60).collect::<Vec<_>>());
    assert_eq!((&newest["total"], &newest["next"]), (&json!(60), &json!({"to": 40})));
    assert_eq!(newest["lines"][0]["parts"].as_array().unwrap().len(), 1, "the text is not repeated as a part");
    assert_eq!(numbers(&host.page(json!({"to": 40, "tail": 3}))), [38, 39, 40]);
    let first = host.page(json!({"from": 1}));
    assert_eq!((numbers(&first), &first["next"]), ((1..=20).collect(), &json!({"from": 21})));
    let last = host.page(json!({"from": 55}));
    assert_eq!((numbers(&last), &last["next"]), ((55..=60).collect(), &Value::Null));
    let found = host.page(json!({"search": "TIMEOUT", "tail": 2}));
    assert_eq!((numbers(&found), &found["next"]), (vec![50, 60], &json!({"to": 49})));
    let found = host.page(json!({"frameID": "f1", "search": "timeout", "to": 25}));
    assert_eq!((numbers(&found), &found["next"]), (vec![10, 20], &Value::Null));
    assert_eq!(numbers(&host.page(json!({"search": "never said"}))), [] as [u64; 0]);
}

#[test]
fn an_answer_about_a_log_is_bounded_and_shows_what_was_searched() {
    let host = Host::begun();
    for number in 0..30 {
        let text = format!("{}needle{}", "é ".repeat(40_000), "b ".repeat(40_000));
        host.finished("ses_1", message(&format!("x{number}"), "assistant", &text));
    }
    let found = host.page(json!({"search": "NEEDLE", "tail": 30}));
    assert_eq!(found["lines"].as_array().unwrap().len(), 30);
    assert!(found["lines"][3]["text"].as_str().unwrap().contains("needle"));
    let parts: Vec<Value> = (0..9_000).map(|number| json!({"type": "step", "number": number})).collect();
    host.finished("ses_1", json!({"id": "y", "role": "assistant", "text": "Steps", "parts": parts}));
    let one = host.page(json!({"tail": 1}));
    assert_eq!(one["lines"], json!([{"line": 32, "omitted": "it has too many parts; read the file"}]));
    assert_eq!(numbers(&host.page(json!({"from": 31}))), [31], "the rest comes with the next page");
}

#[test]
fn details_name_the_file_of_a_log_so_that_it_can_be_opened() {
    let host = Host::begun();
    let details = tools::call(&host.stack, "ses_1", "stack_frame_details", r#"{"frameID": "f1"}"#).text.unwrap();
    let details: Value = serde_json::from_str(&details).unwrap();
    let path = Path::new(details["frame"]["logPath"].as_str().unwrap());
    assert!(path.is_absolute() && fs::read_to_string(path).unwrap().contains("Build a shop"));
    assert_eq!(host.page(json!({}))["path"], details["frame"]["logPath"]);
}
