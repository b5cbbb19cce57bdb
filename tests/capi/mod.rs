//! Tests of the C interface, called from Rust: every function with valid arguments, then with invalid ones.
#![allow(unsafe_code, reason = "the functions under test take pointers")]

mod marks;
mod panics;

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr;
use std::thread::sleep;
use std::time::Duration;

use callstack_core::capi::code::*;
use callstack_core::capi::command::*;
use callstack_core::capi::context::*;
use callstack_core::capi::error::*;
use callstack_core::capi::history::*;
use callstack_core::capi::holding::*;
use callstack_core::capi::host::*;
use callstack_core::capi::limits::*;
use callstack_core::capi::logs::*;
use callstack_core::capi::memory::*;
use callstack_core::capi::query::*;
use callstack_core::capi::stack::*;
use callstack_core::capi::text::*;
use callstack_core::capi::version::*;
use serde_json::{Value, json};

const NONE: CallstackView = CallstackView::NONE;
const NO_TEXT: *mut CallstackText = ptr::null_mut();
const EMPTY: CallstackText = CallstackText { data: ptr::null_mut(), len: 0 };

/// The data of an error object.
#[derive(Debug, PartialEq)]
struct Failed {
    code: CallstackCode,
    message: String,
    details: Value,
}

/// Makes a call that returns only a code. Reads and frees the error.
fn run(call: impl FnOnce(*mut *mut CallstackError) -> CallstackCode) -> Result<(), Failed> {
    let mut error = ptr::null_mut();
    let code = call(&mut error);
    // SAFETY: the error was made by the call, and is freed at the end.
    unsafe {
        assert_eq!(callstack_error_code(error), code, "the error object tells another code");
        if code == CALLSTACK_OK {
            assert!(error.is_null(), "an error object beside CALLSTACK_OK");
            return Ok(());
        }
        let text = |text: *const c_char| CStr::from_ptr(text).to_str().unwrap().to_owned();
        let (name, message) = (text(callstack_error_name(error)), text(callstack_error_message(error)));
        let details = serde_json::from_str(&text(callstack_error_details(error))).unwrap();
        callstack_error_free(&mut error);
        assert!(error.is_null());
        callstack_error_free(&mut error);
        let define = format!("#define CALLSTACK_ERROR_{} {code}\n", name.to_uppercase());
        assert!(include_str!("../../include/callstack.h").contains(&define), "the header has no {define}");
        Err(Failed { code, message, details })
    }
}

/// Makes a call that returns a text. Copies and frees the text.
fn ask(call: impl FnOnce(*mut CallstackText, *mut *mut CallstackError) -> CallstackCode) -> Result<String, Failed> {
    // The previous values of outputs must not matter.
    let mut out = CallstackText { data: ptr::dangling_mut(), len: 77 };
    let outcome = run(|error| call(&mut out, error));
    // SAFETY: the text was made by the call.
    unsafe {
        let text = take(&mut out);
        assert!(outcome.is_ok() || text.is_none(), "a text beside an error");
        outcome.map(|()| text.expect("no text and no error"))
    }
}

/// Copies and frees a text.
unsafe fn take(out: &mut CallstackText) -> Option<String> {
    // SAFETY: a pointer that is not NULL was returned by the library.
    unsafe {
        let bytes = (!out.data.is_null()).then(|| std::slice::from_raw_parts(out.data.cast::<u8>(), out.len).to_vec());
        assert!(out.data.is_null() || *out.data.add(out.len) == 0, "no NUL behind the text");
        callstack_text_free(out);
        assert!(out.data.is_null() && out.len == 0);
        callstack_text_free(out);
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }
}

/// A view of bytes that need not be UTF-8.
fn view(bytes: &(impl AsRef<[u8]> + ?Sized)) -> CallstackView {
    let bytes = bytes.as_ref();
    CallstackView { data: bytes.as_ptr().cast(), len: bytes.len() }
}

/// A view of a text; an empty text is absent.
fn optional(text: &str) -> CallstackView {
    if text.is_empty() { NONE } else { view(text) }
}

/// The texts of a context.
#[derive(Debug, PartialEq)]
struct Parts {
    xml: String,
    stable: String,
    changing: String,
}

/// Makes a call that returns a context. Copies its texts, asks for its report, and frees it. `None` if it is
/// empty.
fn context(
    call: impl FnOnce(*mut CallstackContext, *mut *mut CallstackError) -> CallstackCode,
) -> Result<Option<(Parts, Value)>, Failed> {
    // The previous values of outputs must not matter.
    let old = CallstackView { data: ptr::dangling(), len: 77 };
    let mut out = CallstackContext { xml: old, stable: old, changing: old, tokens: 77, owner: ptr::dangling() };
    let outcome = run(|error| call(&mut out, error));
    // SAFETY: the context was made by the call.
    unsafe {
        let is_empty = out.owner.is_null();
        for text in [out.xml, out.stable, out.changing] {
            assert_eq!((text.data.is_null(), text.len == 0), (is_empty, is_empty), "{out:?}");
        }
        assert!(outcome.is_ok() || is_empty, "a context beside an error");
        outcome?;
        let report = ask(|report, error| callstack_context_report(&out, report, error));
        if is_empty {
            assert_eq!(report.unwrap_err().code, CALLSTACK_ERROR_NULL, "an empty context has no report");
            return Ok(None);
        }
        let report = parsed(report.unwrap());
        assert_eq!(report["tokens"], out.tokens);
        let copy = |text: CallstackView| {
            String::from_utf8(std::slice::from_raw_parts(text.data.cast::<u8>(), text.len).to_vec()).unwrap()
        };
        let parts = Parts { xml: copy(out.xml), stable: copy(out.stable), changing: copy(out.changing) };
        callstack_context_free(&mut out);
        assert!(out.owner.is_null() && out.xml.data.is_null() && out.stable.data.is_null() && out.changing.len == 0);
        assert_eq!(out.tokens, 0);
        callstack_context_free(&mut out);
        Ok(Some((parts, report)))
    }
}

fn xml(stack: *const Callstack, frame: &str, settings: CallstackView) -> Result<String, Failed> {
    // SAFETY: the stack is open, every text has its given length.
    let found = context(|out, error| unsafe { callstack_context(stack, view(frame), settings, out, error) });
    found.map(|found| found.expect("a frame has a context").0.xml)
}

fn parsed(json: String) -> Value {
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn open(folder: &str, options: &str) -> Result<*mut Callstack, Failed> {
    let mut stack = ptr::null_mut();
    // SAFETY: every text has its given length.
    let call = |error| unsafe { callstack_open(view(folder), optional(options), &mut stack, error) };
    run(call).map(|()| stack)
}

fn in_memory(options: &str) -> *mut Callstack {
    let mut stack = ptr::null_mut();
    // SAFETY: the text has its given length.
    run(|error| unsafe { callstack_in_memory(optional(options), &mut stack, error) }).unwrap();
    stack
}

fn close(mut stack: *mut Callstack) {
    // SAFETY: no other thread uses the stack.
    run(|error| unsafe { callstack_close(&mut stack, error) }).unwrap();
    assert!(stack.is_null());
    // SAFETY: a stack that was closed is a pointer to NULL.
    run(|error| unsafe { callstack_close(&mut stack, error) }).unwrap();
}

fn push(stack: *mut Callstack, frame: impl AsRef<[u8]>) -> Result<String, Failed> {
    // SAFETY: the stack is open, the text has its given length.
    ask(|out, error| unsafe { callstack_push(stack, view(&frame), out, error) })
}

fn frames(stack: *mut Callstack, query: &str) -> Result<Value, Failed> {
    // SAFETY: the stack is open, the text has its given length.
    ask(|out, error| unsafe { callstack_frames(stack, view(query), out, error) }).map(parsed)
}

fn handles(stack: *mut Callstack, query: &str) -> Result<Value, Failed> {
    // SAFETY: the stack is open, the text has its given length.
    ask(|out, error| unsafe { callstack_handles(stack, view(query), out, error) }).map(parsed)
}

fn pop(stack: *mut Callstack, frame: &str, pop: &str) -> Result<Value, Failed> {
    // SAFETY: the stack is open, every text has its given length.
    ask(|out, error| unsafe { callstack_pop(stack, view(frame), view(pop), out, error) }).map(parsed)
}

#[test]
fn commands_and_queries_do_what_the_stack_does() {
    let stack = in_memory("");
    // SAFETY: the stack is open to the end, every text has its given length.
    unsafe {
        assert_eq!(
            push(stack, r#"{"title": "Build", "sessionID": "ses_1", "successCriteria": "It runs"}"#).unwrap(),
            "f1"
        );
        let children = r#"[{"title": "Parser", "sessionID": "parser"}, {"title": "Printer", "dependsOn": ["parser"]}]"#;
        let planned = ask(|out, error| callstack_plan_children(stack, view("f1"), view(children), out, error));
        assert_eq!(parsed(planned.unwrap()), json!(["f2", "f3"]));
        let later = r#"{"title": "Later", "parent": "f1"}"#;
        assert_eq!(ask(|out, error| callstack_plan(stack, view(later), out, error)).unwrap(), "f4");
        assert_eq!(handles(stack, r#"{"relation": "ready"}"#).unwrap(), json!(["f2", "f4"]));

        run(|error| callstack_activate(stack, view("parser"), error)).unwrap();
        assert_eq!(ask(|out, error| callstack_active(stack, out, error)).unwrap(), "f2");
        let mut is_new = 7;
        run(|error| callstack_add_artifact(stack, view("f2"), view("a.rs"), &mut is_new, error)).unwrap();
        let request = r#"{"model": "small", "cacheRead": 9, "output": 4, "failed": true}"#;
        run(|error| callstack_record_usage(stack, view("f2"), view(request), error)).unwrap();
        let sums = json!([{"model": "small", "requests": 1, "failed": 1, "uncachedInput": 0, "cacheRead": 9, "cacheWrite": 0,
                           "output": 4, "reasoning": 0, "duration": 0}]);
        let usage = parsed(ask(|out, error| callstack_usage(stack, view("f1"), out, error)).unwrap());
        assert_eq!(usage, json!({"own": [], "total": sums, "ownCostMicroUsd": 0, "totalCostMicroUsd": 0}));
        let limits = r#"{"maxTokens": 10, "tools": ["Read"]}"#;
        run(|error| callstack_set_limits(stack, view("f1"), view(limits), error)).unwrap();
        let allowed = parsed(ask(|out, error| callstack_allowance(stack, view("f2"), out, error)).unwrap());
        assert_eq!(allowed, json!({"frame": "f2", "tools": ["Read"], "maxTokens": 0}));
        let spent = parsed(ask(|out, error| callstack_overspent(stack, view("f2"), out, error)).unwrap());
        assert_eq!(spent["frame"], "f1");
        let all = parsed(ask(|out, error| callstack_resumption(stack, NONE, out, error)).unwrap());
        assert_eq!(all["now"], json!([]));
        let other = r#"["f9"]"#;
        let unknown = ask(|out, error| callstack_resumption(stack, view(other), out, error)).unwrap_err();
        assert_eq!(unknown.code, CALLSTACK_ERROR_UNKNOWN_FRAME);
        let noted = parsed(ask(|out, error| callstack_note_interruptions(stack, out, error)).unwrap());
        assert_eq!(noted, json!([]));
        let cost = r#"{"conversation": "ses_2", "costMicroUsd": 1200}"#;
        run(|error| callstack_record_cost(stack, view("f2"), view(cost), error)).unwrap();
        let usage = parsed(ask(|out, error| callstack_usage(stack, view("f1"), out, error)).unwrap());
        assert_eq!(usage["totalCostMicroUsd"], 1200);
        let done = r#"{"status": "completed", "results": "done"}"#;
        run(|error| callstack_pop(stack, view("f2"), view(done), NO_TEXT, error)).unwrap();
        let reopened =
            parsed(ask(|out, error| callstack_reopen(stack, view("f2"), view("wrong"), out, error)).unwrap());
        assert_eq!(reopened["handle"], "f2");
        let nothing = ask(|out, error| callstack_undo(stack, out, error)).unwrap_err();
        assert_eq!(nothing.code, CALLSTACK_ERROR_NOTHING_TO_UNDO, "no person has given a command: {nothing:?}");
        let wrong = r#"{"model": "small", "output": -4}"#;
        let refused = run(|error| callstack_record_usage(stack, view("f2"), view(wrong), error)).unwrap_err();
        assert_eq!(refused.code, CALLSTACK_ERROR_JSON, "{refused:?}");
        assert_eq!(is_new, 1);
        run(|error| callstack_add_artifact(stack, view("f2"), view("a.rs"), &mut is_new, error)).unwrap();
        assert_eq!(is_new, 0);
        run(|error| callstack_add_decision(stack, view("f2"), view("LL(1)"), error)).unwrap();
        run(|error| callstack_replace_id(stack, view("parser"), view("ses_2"), error)).unwrap();
        let done = r#"{"status": "completed", "results": "It parses", "resultsCompacted": "parses"}"#;
        let expected = json!({"handle": "f2", "parent": "f1", "active": "f1", "stillOpen": [], "stillPlanned": []});
        assert_eq!(pop(stack, "ses_2", done).unwrap(), expected);

        let frame = parsed(ask(|out, error| callstack_frame(stack, view("f2"), out, error)).unwrap());
        assert_eq!(frame["handle"], "f2");
        assert_eq!(frame["sessionID"], "ses_2");
        assert_eq!((&frame["results"], &frame["resultsCompacted"]), (&json!("It parses"), &json!("parses")));
        assert_eq!((&frame["artifacts"], &frame["decisions"]), (&json!(["a.rs"]), &json!(["LL(1)"])));

        let below = r#"{"parent": "f1"}"#;
        let session = ask(|out, error| callstack_ensure(stack, view("ses_9"), view(below), out, error)).unwrap();
        assert_eq!(session, "f5");
        let identity = r#"{"title": "Docs", "successCriteria": "They are read"}"#;
        run(|error| callstack_identify(stack, view("f5"), view(identity), error)).unwrap();
        pop(stack, "f5", r#"{"status": "blocked", "results": "waits"}"#).unwrap();
        // A frame that is in progress continues; one that has not begun does not.
        run(|error| callstack_resume(stack, view("f5"), error)).unwrap();
        run(|error| callstack_resume(stack, view("f5"), error)).unwrap();
        let failed = run(|error| callstack_resume(stack, view("f4"), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["from"]), (CALLSTACK_ERROR_TRANSITION, &json!("planned")));
        pop(stack, "f5", r#"{"status": "blocked", "results": "waits"}"#).unwrap();
        let question = r#"{"question": "Who reads?"}"#;
        let popped = ask(|out, error| callstack_block(stack, view("f5"), view(question), out, error));
        assert_eq!(parsed(popped.unwrap())["handle"], "f5");
        run(|error| callstack_answer(stack, view("f5"), view("We do"), error)).unwrap();
        let asking = parsed(ask(|out, error| callstack_frame(stack, view("f5"), out, error)).unwrap());
        let [last] = asking["questions"].as_array().unwrap().as_slice() else { panic!("{asking}") };
        assert_eq!((&last["question"], &last["answer"]), (&json!("Who reads?"), &json!("We do")));
        let failed = run(|error| callstack_answer(stack, view("f2"), view("no"), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["status"]), (CALLSTACK_ERROR_NOT_BLOCKED, &json!("completed")));
        run(|error| callstack_set_active(stack, view("f5"), error)).unwrap();
        let half = r#"{"results": "half"}"#;
        run(|error| callstack_summarize(stack, view("f5"), view(half), error)).unwrap();
        let failed = run(|error| callstack_summarize(stack, view("f2"), view(half), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["status"]), (CALLSTACK_ERROR_RESULTS_FIXED, &json!("completed")));
        let edit = r#"{"title": "Docs", "dependsOn": ["f3"], "before": "f2"}"#;
        run(|error| callstack_edit(stack, view("f4"), view(edit), error)).unwrap();
        let edited = parsed(ask(|out, error| callstack_frame(stack, view("f4"), out, error)).unwrap());
        assert_eq!(edited["title"], "Docs");
        assert_eq!(
            handles(stack, r#"{"relation": "children", "frame": "f1"}"#).unwrap(),
            json!(["f4", "f2", "f3", "f5"])
        );
        let failed = run(|error| callstack_edit(stack, view("f2"), view(edit), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["status"]), (CALLSTACK_ERROR_NOT_PLANNED, &json!("completed")));
        let wrong = r#"{"before": "f1"}"#;
        let failed = run(|error| callstack_edit(stack, view("f4"), view(wrong), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["before"]), (CALLSTACK_ERROR_NOT_SIBLING, &json!("f1")));
        let wrong = r#"{"name": "x"}"#;
        let failed = run(|error| callstack_edit(stack, view("f4"), view(wrong), error)).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_JSON);
        let edit = r#"{"dependsOn": [], "before": null}"#;
        run(|error| callstack_edit(stack, view("f4"), view(edit), error)).unwrap();
        let invalidated =
            ask(|out, error| callstack_invalidate(stack, view("f4"), view("no time"), out, error)).unwrap();
        assert_eq!(parsed(invalidated), json!({"invalidated": ["f4"], "stillOpen": [], "dependents": []}));

        let failed = ask(|out, error| callstack_retry(stack, view("f2"), NONE, out, error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["status"]), (CALLSTACK_ERROR_NOT_RETRIABLE, &json!("completed")));

        assert_eq!(handles(stack, "{}").unwrap(), json!(["f1", "f2", "f3", "f4", "f5"]));
        assert_eq!(handles(stack, r#"{"relation": "roots"}"#).unwrap(), json!(["f1"]));
        assert_eq!(handles(stack, r#"{"status": "blocked"}"#).unwrap(), json!(["f5"]));
        assert_eq!(handles(stack, r#"{"relation": "ancestors", "frame": "f3"}"#).unwrap(), json!(["f1"]));
        assert_eq!(handles(stack, r#"{"relation": "subtree", "frame": "f3"}"#).unwrap(), json!(["f3"]));
        let siblings = r#"{"relation": "siblings", "frame": "f3", "status": "completed"}"#;
        assert_eq!(frames(stack, siblings).unwrap(), json!([frame]));
        assert_eq!(ask(|out, error| callstack_resolve(stack, view("ses_9"), out, error)).unwrap(), "f5");

        let outline = ask(|out, error| callstack_outline(stack, NONE, out, error)).unwrap();
        assert!(outline.contains("[x] f2 Parser"), "{outline}");
        let options = r#"{"style": "indented", "root": "f5"}"#;
        let outline = ask(|out, error| callstack_outline(stack, view(options), out, error)).unwrap();
        let first: Vec<_> = outline.lines().take(2).collect();
        assert_eq!(first, ["=== Frame Tree ===", "[blocked] Docs  <-- CURRENT"], "{outline}");
        let info = parsed(ask(|out, error| callstack_info(stack, out, error)).unwrap());
        assert_eq!((&info["frames"], &info["active"], &info["mirror"]), (&json!(5), &json!("f5"), &Value::Null));

        let plan = r#"{"tasks": [{"id": 1, "title": "Set up", "status": "pending"}, 5]}"#;
        let imported = parsed(ask(|out, error| callstack_import_plan(stack, view(plan), out, error)).unwrap());
        assert_eq!(imported["handles"], json!(["f6", "f7"]));
        assert!(!imported["problems"].as_array().unwrap().is_empty(), "{imported}");
        let state = r#"{"frames": {"old_1": {"status": "planned", "title": "Later", "logPath": "/etc/passwd"}}}"#;
        let imported = parsed(ask(|out, error| callstack_import_plan(stack, view(state), out, error)).unwrap());
        let message = "its logPath `/etc/passwd` leads to no log here; left out";
        let problems = imported["problems"].as_array().unwrap();
        assert!(problems.contains(&json!({"place": "old_1", "message": message})), "{imported}");
    }
    close(stack);
}

#[test]
fn the_next_frame_begins_in_the_same_command() {
    let stack = in_memory("");
    push(stack, r#"{"title": "Build"}"#).unwrap();
    for title in ["One", "Two", "Three", "Four"] {
        let plan = json!({"title": title, "parent": "f1"}).to_string();
        // SAFETY: the stack is open, the text has its given length.
        ask(|out, error| unsafe { callstack_plan(stack, view(&plan), out, error) }).unwrap();
    }
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        run(|error| callstack_begin(stack, view("f2"), error)).unwrap();
        let refused = pop(stack, "f2", r#"{"status": "completed", "next": "f1"}"#).unwrap_err();
        assert_eq!(refused.code, CALLSTACK_ERROR_TRANSITION);
        let active = || ask(|out, error| callstack_active(stack, out, error)).unwrap();
        assert_eq!(pop(stack, "f2", r#"{"status": "completed", "next": "f4"}"#).unwrap()["active"], "f4");
        assert_eq!(pop(stack, "f4", r#"{"status": "failed", "results": "x", "next": true}"#).unwrap()["active"], "f3");
        let completion = r#"{"results": "done", "next": "f5"}"#;
        let popped = ask(|out, error| callstack_complete(stack, view("f3"), view(completion), out, error));
        assert_eq!(parsed(popped.unwrap())["active"], "f5");
        let only_one = r#"{"results": "done", "next": true}"#;
        let refused = ask(|out, error| callstack_complete(stack, view("f5"), view(only_one), out, error));
        assert_eq!(refused.unwrap_err().code, CALLSTACK_ERROR_JSON, "the next frame of a completion is named");
        assert_eq!(active(), "f5");
        assert_eq!(pop(stack, "f5", r#"{"status": "completed", "next": true}"#).unwrap()["active"], "f1");
        assert_eq!(pop(stack, "f1", r#"{"status": "completed", "next": null}"#).unwrap()["active"], Value::Null);
    }
    close(stack);
}

#[test]
fn contexts_come_in_the_parts_that_are_wanted() {
    let stack = in_memory("");
    push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap();
    // SAFETY: the stack is open to the end, every text has its given length.
    unsafe {
        let whole = context(|out, error| callstack_context(stack, view("f1"), NONE, out, error));
        let (parts, report) = whole.unwrap().expect("a frame has a context");
        assert!(parts.xml.starts_with("<stack-context>") && parts.xml.contains("<title>Build</title>"), "{parts:?}");
        assert!(parts.stable.starts_with("<stack-context") && parts.changing.starts_with("<stack-now"), "{parts:?}");
        assert_eq!((&report["handle"], &report["entries"][0]["section"]), (&json!("f1"), &json!("current-frame")));
        assert!(report["tokens"].as_u64().unwrap() > 100, "{report}");

        let settings = r#"{"budget": {"total": 400}, "guidance": "none"}"#;
        assert!(xml(stack, "f1", view(settings)).unwrap().len() < parts.xml.len());

        let settings = r#"{"budget": {"total": 1}}"#;
        let failed = xml(stack, "f1", view(settings)).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_BUDGET_TOO_SMALL);
        let needed = failed.details["needed"].as_u64().unwrap();
        assert_eq!(failed.details, json!({"handle": "f1", "total": 1, "needed": needed, "unit": "tokens"}));

        run(|error| callstack_clear_cache(stack, view("f1"), error)).unwrap();
        run(|error| callstack_clear_cache(stack, NONE, error)).unwrap();
        let info = parsed(ask(|out, error| callstack_info(stack, out, error)).unwrap());
        assert_eq!(info["cache"]["entries"], 0);
        let settings = parsed(ask(|out, error| callstack_settings(out, NO_TEXT, error)).unwrap());
        assert_eq!(settings["minimumRelevance"], 30);
    }
    close(stack);
}

#[test]
fn histories_are_compacted_and_logs_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let stack = open(folder.path().to_str().unwrap(), r#"{"finishedFrames": 0}"#).unwrap();
    push(stack, r#"{"title": "Done", "sessionID": "ses_1"}"#).unwrap();
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        run(|error| callstack_append_log(stack, view("f1"), view(r#"["a line"]"#), error)).unwrap();
        pop(stack, "f1", r#"{"status": "completed", "results": "Works"}"#).unwrap();
        let compact = |limits: &'static str| {
            ask(|out, error| callstack_compact_history(stack, view(limits), out, error)).map(parsed)
        };
        assert_eq!(compact(r#"{"before": 1}"#).unwrap()["trees"], 0);
        let compaction = compact(r#"{"before": 9007199254740991}"#).unwrap();
        assert_eq!((&compaction["trees"], compaction["events"].as_u64() > Some(2)), (&json!(1), true), "{compaction}");
        assert!(compaction["bytesAfter"].as_u64() > Some(0), "{compaction}");
        assert_eq!(compact("{}").unwrap_err().code, CALLSTACK_ERROR_JSON);
        let limits = r#"{"bytes": 0}"#;
        let pruned = ask(|out, error| callstack_prune_logs(stack, view(limits), out, error)).map(parsed);
        assert_eq!(pruned.unwrap(), json!({"files": 1, "bytes": 9, "left": 0}));
        let frame = ask(|out, error| callstack_frame(stack, view("f1"), out, error)).map(parsed).unwrap();
        assert_eq!(frame["results"], "Works");
        let mut stack = stack;
        run(|error| callstack_close(&mut stack, error)).unwrap();
    }
}

#[test]
fn a_stack_in_a_folder_lasts_and_its_history_makes_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, again, exported) = (path("first"), path("again"), path("exported"));
    let stack = open(&first, r#"{"durability": "full", "busyTimeout": 50, "counter": "chars4"}"#).unwrap();
    push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap();
    let other = open(&first, "").unwrap();
    push(other, r#"{"title": "Parse", "sessionID": "ses_2"}"#).unwrap();
    // SAFETY: the stacks are open, every text has its given length.
    let (state, history) = unsafe {
        let mut is_new = 0;
        run(|error| callstack_refresh(stack, &mut is_new, error)).unwrap();
        assert_eq!(is_new, 1, "the other handle's push is seen");
        run(|error| callstack_refresh(stack, &mut is_new, error)).unwrap();
        assert_eq!(is_new, 0);

        let entries = r#"[{"role": "user"}, "two"]"#;
        run(|error| callstack_append_log(stack, view("f1"), view(entries), error)).unwrap();
        let query = r#"{"tail": 1}"#;
        let page = ask(|out, error| callstack_read_log(stack, view("f1"), view(query), out, error)).unwrap();
        let expected = json!({"lines": [{"number": 2, "entry": "two"}], "total": 2, "damaged": []});
        assert_eq!(parsed(page), expected);
        run(|error| callstack_set_log_path(stack, view("f2"), view("host.log"), error)).unwrap();

        let query = r#"{"kind": "added", "limit": 1}"#;
        let events = parsed(ask(|out, error| callstack_history(stack, view(query), out, error)).unwrap());
        assert_eq!((&events[0]["revision"], &events[0]["frame"]["title"]), (&json!(1), &json!("Build")));
        assert_eq!(events.as_array().unwrap().len(), 1);

        let mut deadline = 1;
        run(|error| callstack_flush(stack, error)).unwrap();
        run(|error| callstack_deadline(stack, &mut deadline, error)).unwrap();
        assert_eq!(deadline, 0, "everything is written");
        run(|error| callstack_add_decision(stack, view("f1"), view("so"), error)).unwrap();
        run(|error| callstack_poll(stack, NO_TEXT, error)).unwrap();
        run(|error| callstack_export_files(stack, view(&exported), error)).unwrap();
        let state = ask(|out, error| callstack_state(stack, out, error)).unwrap();
        (state, ask(|out, error| callstack_export_history(stack, out, error)).unwrap())
    };
    close(stack);
    close(other);
    assert!(Path::new(&exported).join("state.json").exists());

    // SAFETY: every text has its given length.
    unsafe {
        let mut rebuilt = ptr::null_mut();
        let rebuild =
            |out: &mut *mut Callstack| run(|error| callstack_rebuild(view(&again), view(&history), NONE, out, error));
        rebuild(&mut rebuilt).unwrap();
        assert_eq!(ask(|out, error| callstack_state(rebuilt, out, error)).unwrap(), state);
        close(rebuilt);
        assert_eq!(rebuild(&mut rebuilt).unwrap_err().code, CALLSTACK_ERROR_NOT_EMPTY);
        assert!(rebuilt.is_null(), "outputs are emptied when a call fails");

        let mut read = ptr::null_mut();
        run(|error| callstack_from_state(view(&state), NONE, &mut read, error)).unwrap();
        assert_eq!(ask(|out, error| callstack_state(read, out, error)).unwrap(), state);
        close(read);
        let damaged = r#"{"version": 1, "frames": {"a": {"sessionID": "a", "status": "odd", "parentSessionID": "b"}}}"#;
        run(|error| callstack_from_state(view(damaged), NONE, &mut read, error)).unwrap();
        let info = parsed(ask(|out, error| callstack_info(read, out, error)).unwrap());
        let repairs = info["repairs"].to_string();
        assert!(repairs.contains("`odd` is unknown") && repairs.contains("parent"), "{repairs}");
        close(read);
    }
}

#[test]
fn memory_keeps_a_history_if_asked_to() {
    let stack = in_memory(r#"{"history": true}"#);
    push(stack, r#"{"title": "Build"}"#).unwrap();
    // SAFETY: the stack is open.
    let events = ask(|out, error| unsafe { callstack_history(stack, NONE, out, error) }).unwrap();
    assert_eq!(parsed(events).as_array().unwrap().len(), 2);
    close(stack);
    let stack = in_memory("");
    // SAFETY: as above.
    let refused = ask(|out, error| unsafe { callstack_export_history(stack, out, error) }).unwrap_err();
    assert_eq!(refused.code, CALLSTACK_ERROR_IN_MEMORY);
    close(stack);
}

#[test]
fn workers_hold_frames_and_old_holds_are_refused() {
    let stack = in_memory("");
    // SAFETY: the stacks are open until they are closed, and every text has its given length.
    unsafe {
        let plan = r#"{"title": "Cart", "parent": null}"#;
        ask(|out, error| callstack_plan(stack, view(plan), out, error)).unwrap();
        let left = || parsed(ask(|out, error| callstack_work_left(stack, NONE, out, error)).unwrap());
        assert_eq!(
            left(),
            json!({"free": 1, "held": 0, "later": 0, "waiting": 0, "begun": 0, "blocked": 0, "assigned": 0})
        );
        let hold = |worker: &str, lease: i64, frame: Option<&str>| {
            let request = json!({"name": worker, "lease": lease, "frame": frame}).to_string();
            ask(|out, error| callstack_hold(stack, view(&request), out, error))
        };
        assert_eq!(hold("", 1_000, None).unwrap_err().code, CALLSTACK_ERROR_EMPTY);
        let leases = [0, -1, 86_400_001, i64::from(i32::MIN), i64::MAX];
        for lease in leases {
            let code = if lease < 0 { CALLSTACK_ERROR_JSON } else { CALLSTACK_ERROR_SETTING };
            assert_eq!(hold("one", lease, None).unwrap_err().code, code, "{lease}");
        }
        let first = hold("one", 86_400_000, None).unwrap();
        let first_held = parsed(first.clone());
        assert_eq!(
            (&first_held["handle"], &first_held["name"], &first_held["generation"]),
            (&json!("f1"), &json!("one"), &json!(1))
        );
        assert_eq!(hold("two", 1_000, None).unwrap(), "null");
        let failed = hold("two", 1_000, Some("f1")).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_NOT_FREE);
        assert_eq!(failed.details["reason"], "a worker holds it, and its lease has not ended");
        let renew = |held: &str, lease: i64| {
            let renewal = json!({"lease": lease}).to_string();
            ask(|out, error| callstack_renew(stack, view(held), view(&renewal), out, error))
        };
        assert!(parsed(renew(&first, 1_000).unwrap())["until"].as_u64() < first_held["until"].as_u64());
        assert_eq!(renew(&first, -1).unwrap_err().code, CALLSTACK_ERROR_JSON);
        for wrong in ["", "[]", "{}", "null", r#"{"handle": "f1", "generation": -1}"#, r#"{"handle": 1}"#] {
            assert_eq!(renew(wrong, 1_000).unwrap_err().code, CALLSTACK_ERROR_JSON, "{wrong}");
        }
        assert_eq!(renew(&first, 0).unwrap_err().code, CALLSTACK_ERROR_SETTING);
        let standing = |held: &str| ask(|out, error| callstack_standing(stack, view(held), out, error));
        assert_eq!(standing(&first).unwrap(), r#"{"kind":"held"}"#);
        assert_eq!(standing("[]").unwrap_err().code, CALLSTACK_ERROR_JSON);
        let release = |held: &str| run(|error| callstack_release(stack, view(held), error));
        release(&first).unwrap();
        assert_eq!(renew(&first, 1_000).unwrap_err().code, CALLSTACK_ERROR_NOT_FREE);
        let second = hold("two", 1_000, None).unwrap();
        let as_actor = |held: &str| {
            let mut worker = ptr::null_mut();
            run(|error| callstack_as_actor(stack, view(held), &mut worker, error)).map(|()| worker)
        };
        let [late, right] = [&first, &second].map(|held| as_actor(held).unwrap());
        assert_eq!(standing(&first).unwrap_err().code, CALLSTACK_ERROR_HOLD_LOST);
        let failed = pop(late, "f1", r#"{"status": "completed", "results": "done"}"#).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_HOLD_LOST);
        assert_eq!(failed.details, json!({"handle": "f1", "by": "worker `two`", "generation": 2, "refused": 1}));
        assert_eq!(as_actor("[]").unwrap_err().code, CALLSTACK_ERROR_JSON);
        let nowhere = run(|error| callstack_as_actor(stack, view(&second), ptr::null_mut(), error));
        assert_eq!(nowhere.unwrap_err().code, CALLSTACK_ERROR_NULL);
        // A part that was planned meanwhile is not lost.
        let part = r#"{"title": "Part", "parent": "f1"}"#;
        ask(|out, error| callstack_plan(stack, view(part), out, error)).unwrap();
        let finish =
            |held: &str, end: &str| ask(|out, error| callstack_finish(stack, view(held), view(end), out, error));
        assert_eq!(finish(&second, r#"{"end": "later", "wait": 86400001}"#).unwrap_err().code, CALLSTACK_ERROR_SETTING);
        let done = r#"{"end": "done", "results": "done"}"#;
        let split = parsed(finish(&second, done).unwrap());
        assert!(split["status"] == "in_progress" && split["until"].is_u64(), "{split}");
        assert_eq!(finish(&first, done).unwrap_err().code, CALLSTACK_ERROR_HOLD_LOST);
        for wrong in ["[]", "{}", r#"{"end": "never"}"#, r#"{"end": "done"}"#, r#"{"end": "asks", "results": "x"}"#] {
            assert_eq!(finish(&second, wrong).unwrap_err().code, CALLSTACK_ERROR_JSON, "{wrong}");
        }
        assert_eq!(finish("[]", done).unwrap_err().code, CALLSTACK_ERROR_JSON);
        ask(|out, error| callstack_invalidate(stack, view("f2"), view("no time"), out, error)).unwrap();
        // The frame was put back for its part: the worker holds it again, when its wait of a second is over.
        assert_eq!(finish(&second, done).unwrap_err().code, CALLSTACK_ERROR_NOT_FREE);
        let held = || Some(hold("two", 1_000, None).unwrap()).filter(|held| held != "null");
        let looks = std::iter::repeat_with(held).inspect(|_| sleep(Duration::from_millis(20)));
        let third = looks.take(500).flatten().next().expect("the frame is free after a second");
        assert_eq!(parsed(finish(&third, done).unwrap()), json!({"status": "completed"}));
        assert_eq!(finish(&third, done).unwrap_err().code, CALLSTACK_ERROR_NOT_FREE);
        close(stack);
        // The stack of a worker lasts until it is closed too.
        assert_eq!(handles(right, r#"{"status": "completed"}"#).unwrap(), json!(["f1"]));
        close(right);
        close(late);
    }
}

#[test]
fn versions_are_told() {
    assert_eq!(callstack_abi(), CALLSTACK_ABI);
    // SAFETY: a constant text.
    let version = unsafe { CStr::from_ptr(callstack_version()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn errors_name_the_thing_and_change_nothing() {
    let stack = in_memory("");
    push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap();
    // SAFETY: the stack is open to the end, every text has its given length.
    unsafe {
        let state = || ask(|out, error| callstack_state(stack, out, error)).unwrap();
        let before = state();
        let failed = run(|error| callstack_activate(stack, view("f1"), error)).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_TRANSITION);
        assert!(
            failed.message.starts_with("frame f1 is in_progress and cannot become in_progress"),
            "{}",
            failed.message
        );
        assert_eq!(failed.details, json!({"handle": "f1", "from": "in_progress", "to": "in_progress"}));

        let failed = push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap_err();
        assert_eq!((failed.code, &failed.details["sessionID"]), (CALLSTACK_ERROR_DUPLICATE_ID, &json!("ses_1")));
        let failed = push(stack, r#"{"titel": "Build"}"#).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_JSON);
        assert!(failed.message.contains("unknown field `titel`"), "{}", failed.message);
        let failed = frames(stack, r#"{"relation": "children"}"#).unwrap_err();
        assert_eq!((failed.code, &failed.details["field"]), (CALLSTACK_ERROR_EMPTY, &json!("frame")));
        let failed = frames(stack, r#"{"relation": "cousins"}"#).unwrap_err();
        assert!(failed.message.contains("unknown variant `cousins`"), "{}", failed.message);

        for status in ["planned", "in_progress", "invalidated", "Completed", "", "2"] {
            let failed = pop(stack, "f1", &json!({"status": status}).to_string()).unwrap_err();
            assert_eq!(failed.code, CALLSTACK_ERROR_JSON, "{status}");
            let message = format!("unknown variant `{status}`, expected one of `completed`, `failed`, `blocked`");
            assert!(failed.message.contains(&message), "{}", failed.message);
        }
        for wrong in [r#"{"status": 2}"#, r#"{"results": "no status"}"#, r#"{"status": "failed", "next": 4}"#, "", "[]"]
        {
            assert_eq!(pop(stack, "f1", wrong).unwrap_err().code, CALLSTACK_ERROR_JSON, "{wrong}");
        }
        // A NUL in the name of a frame does not cut the message.
        let failed = run(|error| callstack_activate(stack, view("a\0b"), error)).unwrap_err();
        assert!(failed.message.contains("`a\u{fffd}b`: it is not a handle"), "{}", failed.message);
        assert_eq!(failed.details, json!({"reference": "a\0b"}));
        assert_eq!(state(), before);
        // Without a place for the error object, the call still returns the code.
        assert_eq!(callstack_activate(stack, view("f9"), ptr::null_mut()), CALLSTACK_ERROR_UNKNOWN_FRAME);
    }
    close(stack);
}

#[test]
fn pointers_and_lengths_that_cannot_be_are_errors() {
    let stack = in_memory("");
    // SAFETY: the library checks for NULL and for impossible lengths before it reads.
    unsafe {
        let failed = run(|error| callstack_activate(ptr::null_mut(), view("f1"), error)).unwrap_err();
        assert_eq!((failed.code, failed.message.as_str()), (CALLSTACK_ERROR_NULL, "`stack` is NULL; give a pointer"));
        let failed =
            run(|error| callstack_activate(stack, CallstackView { data: ptr::null(), len: 2 }, error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["argument"]), (CALLSTACK_ERROR_NULL, &json!("frame")));
        let failed =
            run(|error| callstack_activate(stack, CallstackView { len: usize::MAX, ..view("f1") }, error)).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_LENGTH);
        let failed = run(|error| callstack_in_memory(NONE, ptr::null_mut(), error)).unwrap_err();
        assert_eq!((failed.code, &failed.details["argument"]), (CALLSTACK_ERROR_NULL, &json!("out_stack")));
        callstack_text_free(ptr::null_mut());
        callstack_error_free(ptr::null_mut());
        assert_eq!(callstack_close(ptr::null_mut(), ptr::null_mut()), CALLSTACK_OK);
        assert_eq!(callstack_error_code(ptr::null()), CALLSTACK_OK);
        assert!(CStr::from_ptr(callstack_error_message(ptr::null())).is_empty());

        // Outputs may be NULL.
        let frame = r#"{"title": "Build", "sessionID": "ses_1"}"#;
        assert_eq!(callstack_push(stack, view(frame), NO_TEXT, ptr::null_mut()), CALLSTACK_OK);
        assert_eq!(callstack_refresh(stack, ptr::null_mut(), ptr::null_mut()), CALLSTACK_OK);
        assert_eq!(callstack_deadline(stack, ptr::null_mut(), ptr::null_mut()), CALLSTACK_OK);
    }
    close(stack);
}

#[test]
fn contexts_of_several_frames_are_those_of_each_or_none() {
    let stack = in_memory("");
    for title in ["Build", "Test"] {
        push(stack, format!(r#"{{"title": "{title}", "parent": null}}"#)).unwrap();
    }
    let old = CallstackView { data: ptr::dangling(), len: 77 };
    let places = || {
        [0; 2].map(|_| CallstackContext { xml: old, stable: old, changing: old, tokens: 77, owner: ptr::dangling() })
    };
    let frames = [view("f2"), view("f1")];
    // SAFETY: the stack is open to the end, lists have the given lengths, or the library checks them.
    unsafe {
        let call = |frames: &[CallstackView], settings: *const CallstackView, out: *mut CallstackContext| {
            run(|error| callstack_contexts(stack, frames.as_ptr(), frames.len(), settings, out, error))
        };
        for settings in [None, Some(view(r#"{"budget": {"total": 500}, "guidance": "none"}"#))] {
            let mut out = places();
            call(&frames, settings.as_ref().map_or(ptr::null(), ptr::from_ref), out.as_mut_ptr()).unwrap();
            for (place, frame) in out.iter_mut().zip(["f2", "f1"]) {
                let text = std::slice::from_raw_parts(place.xml.data.cast::<u8>(), place.xml.len);
                assert_eq!(text, xml(stack, frame, settings.unwrap_or(NONE)).unwrap().as_bytes());
                callstack_context_free(place);
            }
        }

        let wrong = view(r#"{"budgets": {}}"#);
        for (frames, settings, code) in [
            ([view("f1"), view("f3")], ptr::null(), CALLSTACK_ERROR_UNKNOWN_FRAME),
            ([view("f1"), view(b"\xff")], ptr::null(), CALLSTACK_ERROR_UTF8),
            ([view("f1"), CallstackView { data: ptr::null(), len: 2 }], ptr::null(), CALLSTACK_ERROR_NULL),
            (frames, ptr::from_ref(&wrong), CALLSTACK_ERROR_JSON),
        ] {
            let mut out = places();
            assert_eq!(call(&frames, settings, out.as_mut_ptr()).unwrap_err().code, code);
            assert!(out.iter().all(|place| place.owner.is_null() && place.xml.data.is_null() && place.tokens == 0));
        }

        call(&frames, ptr::null(), ptr::null_mut()).unwrap();
        run(|error| callstack_contexts(stack, ptr::null(), 0, ptr::null(), ptr::null_mut(), error)).unwrap();
        for (count, code) in
            [(1, CALLSTACK_ERROR_NULL), (usize::MAX, CALLSTACK_ERROR_LENGTH), (1 << 60, CALLSTACK_ERROR_LENGTH)]
        {
            let mut out = places();
            let out = if count == 1 { ptr::null_mut() } else { out.as_mut_ptr() };
            let failed =
                run(|error| callstack_contexts(stack, ptr::null(), count, ptr::null(), out, error)).unwrap_err();
            assert_eq!((failed.code, &failed.details["argument"]), (code, &json!("frames")), "{count}");
        }
        let out = ptr::null_mut();
        let failed = run(|error| callstack_contexts(ptr::null(), frames.as_ptr(), 2, ptr::null(), out, error));
        assert_eq!(failed.unwrap_err().code, CALLSTACK_ERROR_NULL);
    }
    close(stack);
}

#[test]
fn texts_that_are_no_utf8_or_cut_are_errors() {
    let stack = in_memory("");
    let failed = push(stack, b"{\"title\": \"caf\xe9\"}").unwrap_err();
    assert_eq!((failed.code, failed.details), (CALLSTACK_ERROR_UTF8, json!({"argument": "frame", "at": 14})));
    let whole = r#"{"title": "café 👩‍👩‍👧 \u0000", "sessionID": "ses_1"}"#.as_bytes();
    for len in 0..whole.len() {
        let code = push(stack, &whole[..len]).unwrap_err().code;
        assert!([CALLSTACK_ERROR_UTF8, CALLSTACK_ERROR_JSON].contains(&code), "{len} bytes: {code}");
    }
    push(stack, whole).unwrap();
    // SAFETY: the stack is open, every text has its given length.
    let frame = parsed(ask(|out, error| unsafe { callstack_frame(stack, view("f1"), out, error) }).unwrap());
    assert_eq!(frame["title"], "café 👩‍👩‍👧 \0");
    close(stack);
}

#[test]
fn huge_and_deep_json_does_no_harm() {
    let stack = in_memory("");
    let title = "A very long title & more ".repeat(10 * 1024 * 1024 / 25);
    push(stack, json!({"title": title, "sessionID": "ses_1"}).to_string()).unwrap();
    // SAFETY: the stack is open to the end, every text has its given length.
    unsafe {
        let frame = parsed(ask(|out, error| callstack_frame(stack, view("f1"), out, error)).unwrap());
        assert_eq!(frame["title"].as_str().unwrap().len(), title.len());
        assert!(xml(stack, "f1", NONE).unwrap().len() < 20_000, "the budget holds");
        for (deep, end) in [("[", "]"), (r#"{"a":"#, "}")] {
            let json = deep.repeat(1_000_000) + "1" + &end.repeat(1_000_000);
            assert_eq!(push(stack, &json).unwrap_err().code, CALLSTACK_ERROR_JSON);
            assert_eq!(frames(stack, &json).unwrap_err().code, CALLSTACK_ERROR_JSON);
            let import = ask(|out, error| callstack_import_plan(stack, view(&json), out, error));
            assert_eq!(import.unwrap_err().code, CALLSTACK_ERROR_JSON);
        }
    }
    close(stack);
}

/// A pointer that threads may share.
#[derive(Clone, Copy)]
struct Shared(*mut Callstack);
// SAFETY: the header promises that any thread may use a stack.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn stack(self) -> *mut Callstack {
        self.0
    }
}

#[test]
fn eight_threads_share_a_stack() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared(open(folder.path().to_str().unwrap(), "").unwrap());
    push(shared.stack(), r#"{"title": "Root", "sessionID": "root"}"#).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                let stack = shared.stack();
                for number in 0..25 {
                    let id = format!("t{thread}_{number}");
                    push(stack, json!({"title": id, "sessionID": id, "parent": "root"}).to_string()).unwrap();
                    // SAFETY: the stack is open, every text has its given length.
                    unsafe {
                        run(|error| callstack_add_decision(stack, view("root"), view(&id), error)).unwrap();
                    }
                    assert!(xml(stack, &id, NONE).unwrap().contains(&id));
                }
            });
        }
    });
    // SAFETY: the stack is open.
    let root = parsed(ask(|out, error| unsafe { callstack_frame(shared.stack(), view("root"), out, error) }).unwrap());
    assert_eq!(root["decisions"].as_array().unwrap().len(), 200);
    assert_eq!(
        frames(shared.stack(), r#"{"relation": "children", "frame": "root"}"#).unwrap().as_array().unwrap().len(),
        200
    );
    close(shared.stack());
}

#[test]
fn closing_one_handle_leaves_the_others_of_the_folder_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let stacks: Vec<_> = (0..4).map(|_| open(path, "").unwrap()).collect();
    for (number, stack) in stacks.iter().enumerate() {
        push(*stack, json!({"title": "Frame", "sessionID": format!("s{number}")}).to_string()).unwrap();
        close(*stack);
        for other in &stacks[number + 1..] {
            // SAFETY: the others are open.
            run(|error| unsafe { callstack_refresh(*other, ptr::null_mut(), error) }).unwrap();
            assert_eq!(frames(*other, "{}").unwrap().as_array().unwrap().len(), number + 1);
        }
    }
    let again = open(path, "").unwrap();
    assert_eq!(handles(again, "{}").unwrap(), json!(["f1", "f2", "f3", "f4"]));
    close(again);
}

#[test]
fn folders_and_options_that_cannot_be_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for options in [
        r#"{"durability": "eternal"}"#,
        r#"{"colour": 1}"#,
        r#"{"busyTimeout": -1}"#,
        r#"{"history": true}"#,
        "[]",
        "nonsense",
    ] {
        let failed = open(path, options).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_JSON, "{options}: {}", failed.message);
        assert!(failed.message.starts_with("options cannot be read: "), "{}", failed.message);
    }
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0, "nothing was made");
    assert_eq!(open("", "").unwrap_err().code, CALLSTACK_ERROR_EMPTY, "an empty path is not a stack in memory");
    assert_eq!(open(&format!("{path}/a\0b"), "").unwrap_err().code, CALLSTACK_ERROR_IO);
    std::fs::write(folder.path().join("file"), "").unwrap();
    let failed = open(&format!("{path}/file/below"), "").unwrap_err();
    assert_eq!(failed.code, CALLSTACK_ERROR_IO, "{}", failed.message);
    std::fs::write(folder.path().join("stack.db"), "no database, however long this text may be").unwrap();
    assert_eq!(open(path, "").unwrap_err().code, CALLSTACK_ERROR_DAMAGED);
}

/// Reports an event in JSON and returns the effects.
fn tell(stack: *mut Callstack, event: Value) -> Result<Value, Failed> {
    let event = event.to_string();
    // SAFETY: the stack is open, the text has its given length.
    ask(|out, error| unsafe { callstack_report(stack, view(&event), out, error) }).map(parsed)
}

fn tool(stack: *mut Callstack, session: &str, name: &str, arguments: &str) -> Result<Value, Failed> {
    let call = json!({"name": name, "arguments": arguments}).to_string();
    // SAFETY: the stack is open, every text has its given length.
    ask(|out, error| unsafe { callstack_tool(stack, view(session), view(&call), out, error) }).map(parsed)
}

/// The effects of one kind.
fn of_kind<'a>(effects: &'a Value, kind: &str) -> Vec<&'a Value> {
    effects.as_array().unwrap().iter().filter(|effect| effect["kind"] == kind).collect()
}

/// The texts of a session's context; `None` if it has no context.
fn session_context(stack: *mut Callstack, session: &str) -> Result<Option<Parts>, Failed> {
    // SAFETY: the stack is open, the text has its given length.
    let found = context(|out, error| unsafe { callstack_session_context(stack, view(session), out, error) });
    Ok(found?.map(|(parts, _)| parts))
}

#[test]
fn a_host_tells_of_its_sessions_and_runs_frames_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let stack = open(folder.path().to_str().unwrap(), "").unwrap();
    let settings = r#"{"calls": {"maxDepth": 2}, "context": {"guidance": "brief"}, "subagents": {"patterns": ["("]}}"#;
    // SAFETY: the stack is open, the text has its given length.
    let problems = ask(|out, error| unsafe { callstack_configure(stack, view(settings), out, error) }).map(parsed);
    assert!(problems.unwrap()[0].as_str().unwrap().starts_with("patterns is `(`"));

    tell(stack, json!({"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"})).unwrap();
    let message = json!({"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user", "text": "Build"});
    let effects = tell(stack, message).unwrap();
    assert_eq!(of_kind(&effects, "log")[0]["message"], "Frame created");
    let mut deadline = 0;
    // SAFETY: the stack is open.
    run(|error| unsafe { callstack_deadline(stack, &mut deadline, error) }).unwrap();
    assert!(deadline > 0, "state.json has never been written, and that is due");

    let Parts { xml, stable, changing } = session_context(stack, "ses_1").unwrap().unwrap();
    assert!(stable.starts_with("<stack-context>") && !stable.contains("when-to-create"), "{stable}");
    assert!(changing.contains("<title>Shop</title>") && xml.contains("<title>Shop</title>"), "{changing}\n{xml}");
    assert_eq!(session_context(stack, "ses_9").unwrap(), None);
    for (session, place) in [("ses_1", "f1"), ("ses_9", "")] {
        // SAFETY: the stack is open, the text has its given length.
        let found = ask(|out, error| unsafe { callstack_place(stack, view(session), out, error) });
        assert_eq!(found.unwrap(), place);
    }
    // SAFETY: the stack is open.
    let effects = ask(|out, error| unsafe { callstack_poll(stack, out, error) }).map(parsed).unwrap();
    assert_eq!(of_kind(&effects, "log")[0]["message"], "Context generated");

    let task = r#"{"title": "Cart", "successCriteria": "Totals are right", "successCriteriaCompacted": "totals"}"#;
    let answer = tool(stack, "ses_1", "stack_frame_push", task).unwrap();
    assert_eq!((&answer["text"], &answer["isError"]), (&Value::Null, &json!(false)));
    let call = &answer["call"];
    let create = of_kind(&answer["effects"], "createSession")[0];
    assert_eq!((&create["call"], &create["parentID"], &create["title"]), (call, &json!("ses_1"), &json!("Cart")));
    let effects = tell(stack, json!({"kind": "callStarted", "call": call, "sessionID": "ses_2"})).unwrap();
    assert!(of_kind(&effects, "prompt")[0]["text"].as_str().unwrap().contains("frame f2: Cart"));
    let done = r#"{"status": "completed", "results": "It adds up", "resultsCompacted": "adds up"}"#;
    assert_eq!(tool(stack, "ses_2", "stack_frame_pop", done).unwrap()["isError"], false);
    let effects = tell(stack, json!({"kind": "callEnded", "call": call})).unwrap();
    let answer = of_kind(&effects, "answer")[0];
    assert!(answer["text"].as_str().unwrap().starts_with("f2 (Cart) is completed.\nResults: It adds up"), "{answer}");

    let refused = tool(stack, "ses_1", "stack_frame_push", "{}").unwrap();
    assert!(refused["isError"] == true && refused["text"].as_str().unwrap().contains("Example: {"));
    // SAFETY: the only arguments are valid outputs.
    let tools = ask(|out, error| unsafe { callstack_tools(ptr::null(), NONE, out, error) }).map(parsed).unwrap();
    assert_eq!(tools.as_array().unwrap().len(), 39);
    assert_eq!(tools[0]["name"], "stack_frame_push");
    // SAFETY: the handle is open, the outputs are valid.
    let offered = || ask(|out, error| unsafe { callstack_tools(stack, NONE, out, error) }).map(parsed).unwrap();
    let names = |tools: Value| tools.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
    assert!(
        names(offered()).contains(&json!("stack_frame_push")) && !names(offered()).contains(&json!("stack_config"))
    );
    let settings = r#"{"tools": ["stack_heap_alloc", "stack_tree"], "context": {"tools": "none"}}"#;
    // SAFETY: the text has its given length, the outputs are valid.
    ask(|out, error| unsafe { callstack_configure(stack, view(settings), out, error) }).unwrap();
    assert_eq!(names(offered()), ["stack_tree", "stack_heap_alloc"]);
    // SAFETY: the stack is open, the text has its given length.
    let all = ask(|out, error| unsafe { callstack_tools(stack, view(r#"{"all": true}"#), out, error) }).map(parsed);
    assert_eq!(all.unwrap(), tools);
    assert!(offered()[1]["description"].as_str().unwrap().contains("until it is freed"));
    close(stack);
}

#[test]
fn descriptions_of_tools_mention_the_names_of_the_host() {
    let asked = |query: CallstackView| {
        // SAFETY: the text has its given length, the outputs are valid.
        ask(|out, error| unsafe { callstack_tools(ptr::null(), query, out, error) }).map(parsed)
    };
    let named = |names: &str| asked(view(&format!(r#"{{"names": {names}}}"#)));
    let tools = asked(NONE).unwrap();
    assert_eq!(asked(view("{}")).unwrap(), tools);
    assert_eq!(named("null").unwrap(), tools);
    assert_eq!(named("{}").unwrap(), tools);

    let names = r#"{"push": "zig", "pop": "zag", "activate": "zog", "planChildren": "zug", "invalidate": "zeg",
        "details": "zib", "tree": "zab", "heapRead": "zob", "heapFree": "zub", "updateRegisters": "zeb", "edit": "zob"}"#;
    for (names, mentioned) in [(names, "until zub."), (r#""none""#, "until it is freed.")] {
        let renamed = named(names).unwrap();
        let renamed = renamed.as_array().unwrap();
        assert_eq!(renamed.len(), 39);
        for (tool, default) in renamed.iter().zip(tools.as_array().unwrap()) {
            assert_eq!(tool["name"], default["name"], "callstack_tool takes the default names");
            assert_eq!(tool["example"], default["example"]);
            let texts = format!("{}{}", tool["description"], tool["parameters"]);
            assert!(!texts.contains("stack_"), "{names}: {texts}");
        }
        let allocate = renamed.iter().find(|tool| tool["name"] == "stack_heap_alloc").unwrap();
        assert!(allocate["description"].as_str().unwrap().contains(mentioned), "{allocate}");
    }

    for names in ["", "{", "[]", "5", r#""some""#, r#"{"posh": "a"}"#, r#"{"push": 5}"#, r#"{"prefix": null}"#] {
        let failed = named(names).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_JSON, "{names}: {}", failed.message);
        assert!(failed.message.starts_with("query cannot be read:"), "{}", failed.message);
    }
    let long = format!(r#"{{"pop": "{}"}}"#, "a".repeat(65));
    let wrong = [(r#"{"push": ""}"#, "tools.push"), (&long, "tools.pop"), (r#"{"prefix": "a\n"}"#, "tools.prefix")];
    for (names, key) in wrong {
        let failed = named(names).unwrap_err();
        assert_eq!((failed.code, &failed.details["name"]), (CALLSTACK_ERROR_SETTING, &json!(key)), "{names}");
    }
}

#[test]
fn chunks_registers_and_runs() {
    let stack = in_memory("");
    push(stack, r#"{"title": "Shop", "sessionID": "ses_1"}"#).unwrap();
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        let chunk = r#"{"name": "prices", "content": "a < b"}"#;
        run(|error| callstack_allocate_chunk(stack, view("f1"), view(chunk), error)).unwrap();
        let again = run(|error| callstack_allocate_chunk(stack, view("f1"), view(chunk), error)).unwrap_err();
        assert_eq!((again.code, &again.details["name"]), (CALLSTACK_ERROR_CHUNK_EXISTS, &json!("prices")));
        let content = r#"{"name": "prices", "content": "cents"}"#;
        run(|error| callstack_write_chunk(stack, view("f1"), view(content), error)).unwrap();
        let chunks = || parsed(ask(|out, error| callstack_chunks(stack, view("f1"), out, error)).unwrap());
        assert_eq!((&chunks()[0]["handle"], &chunks()[0]["chunk"]["content"]), (&json!("f1"), &json!("cents")));
        run(|error| callstack_free_chunk(stack, view("f1"), view("prices"), error)).unwrap();
        assert_eq!(chunks(), json!([]));
        let registers = r#"{"R3_PHASE": "selling"}"#;
        run(|error| callstack_update_registers(stack, view("f1"), view(registers), error)).unwrap();
        let frame = parsed(ask(|out, error| callstack_frame(stack, view("f1"), out, error)).unwrap());
        assert_eq!(frame["registers"], json!({"R3_PHASE": "selling"}));

        let tools = |settings: &str| {
            let query = format!(r#"{{"memory": {settings}}}"#);
            ask(|out, error| callstack_tools(ptr::null(), view(&query), out, error)).map(parsed)
        };
        assert_eq!(tools("{}").unwrap().as_array().unwrap().len(), 6);
        assert_eq!(tools(r#"{"memory": "registers"}"#).unwrap()[6]["name"], "update_registers");
        assert_eq!(tools(r#"{"sharedResults": false}"#).unwrap().as_array().unwrap().len(), 5);
        assert_eq!(tools(r#"{"memory": "disk"}"#).unwrap_err().code, CALLSTACK_ERROR_JSON);

        let new = r#"{"task": "Say hello", "sessionID": "run_1"}"#;
        let handle = ask(|out, error| callstack_start_run(stack, view(new), out, error)).unwrap();
        assert_eq!(handle, "f2");
        let advance = || ask(|out, error| callstack_advance_run(stack, view("f2"), out, error)).map(parsed).unwrap();
        assert_eq!((&advance()["next"], &advance()["step"]), (&json!("ask"), &json!(1)));
        run(|error| callstack_run_tell(stack, view("f2"), view("Be kind"), error)).unwrap();
        assert!(advance()["messages"].to_string().contains("Be kind"));
        let reply = r#"{"calls": [{"id": "a", "name": "greet", "arguments": "{}"},
            {"id": "b", "name": "pop_frame", "arguments": "{\"result\": \"hello\"}"}]}"#;
        run(|error| callstack_run_reply(stack, view("f2"), view(reply), error)).unwrap();
        assert_eq!(advance(), json!({"next": "call", "id": "a", "name": "greet", "arguments": "{}"}));
        let answered = |answer: &str| run(|error| callstack_run_answer(stack, view("f2"), view(answer), error));
        let early = answered(r#"{"call": "b", "answer": "x"}"#).unwrap_err();
        assert_eq!(early.code, CALLSTACK_ERROR_OUT_OF_TURN);
        answered(r#"{"call": "a", "answer": "hi", "isError": true}"#).unwrap();
        assert_eq!(advance(), json!({"next": "over", "status": "completed", "results": "hello"}));
        let late = run(|error| callstack_run_tell(stack, view("f2"), view("go on"), error)).unwrap_err();
        assert_eq!(late.code, CALLSTACK_ERROR_OUT_OF_TURN, "{late:?}");
        let status = parsed(ask(|out, error| callstack_run_status(stack, view("f2"), out, error)).unwrap());
        assert_eq!(parsed(ask(|out, error| callstack_runs(stack, out, error)).unwrap()), json!(["f2"]));
        assert_eq!((&status["steps"], &status["settings"]["maxDepth"]), (&json!(1), &json!(5)));
        let none = ask(|out, error| callstack_run_status(stack, view("f1"), out, error)).unwrap_err();
        assert_eq!(none.code, CALLSTACK_ERROR_NO_RUN);
    }
    close(stack);
}

#[test]
fn events_and_settings_that_cannot_be_are_errors_and_change_nothing() {
    let stack = in_memory("");
    for event in [json!({}), json!([]), json!({"kind": "sessionIdle"}), json!({"kind": "x", "sessionID": "a"})] {
        let failed = tell(stack, event.clone()).unwrap_err();
        assert_eq!(failed.code, CALLSTACK_ERROR_JSON, "{event}");
        assert!(failed.message.starts_with("event cannot be read:"), "{}", failed.message);
    }
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        let configure = |settings: &str| {
            ask(|out, error| callstack_configure(stack, view(settings), out, error)).map(parsed).unwrap()
        };
        for settings in ["{", "[]", "5", r#"{"calls": 5}"#, r#"{"calls": {"maxDepth": -1}}"#, r#"{"call": {}}"#] {
            assert_eq!(configure(settings).as_array().unwrap().len(), 1, "{settings}");
        }
        assert!(
            configure(r#"{"context": {"budget": {"total": 0}}}"#)[0].as_str().unwrap().contains("budget.total is `0`")
        );
        assert_eq!(ask(|out, error| callstack_configure(stack, NONE, out, error)).unwrap(), "[]");
    }
    let answer = tool(stack, "", "stack_frame_posh", "").unwrap();
    assert!(answer["isError"] == true && answer["text"].as_str().unwrap().contains("no such tool"));
    assert_eq!(handles(stack, "{}").unwrap(), json!([]));
    close(stack);
}
