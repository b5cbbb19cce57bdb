//! Every function that takes JSON takes it with a byte order mark before it, and with the escape of a half of a character.

use std::ffi::c_char;
use std::ptr;

use serde_json::json;

use super::*;

/// Calls a function with JSON that has a mark before it.
fn with_mark<T>(json: &str, call: impl FnOnce(*const c_char, usize) -> T) -> T {
    let json = format!("\u{feff}{json}");
    call(p(&json), json.len())
}

/// Makes a stack by a call.
fn made(call: impl FnOnce(*mut *mut Callstack, *mut *mut CallstackError) -> CallstackCode) -> *mut Callstack {
    let mut stack = ptr::null_mut();
    run(|error| call(&mut stack, error)).unwrap();
    stack
}

#[test]
fn stacks_are_made_of_json_with_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, again) = (path("first"), path("again"));
    // SAFETY: the stacks are open until they are closed, and every text has its given length.
    unsafe {
        let stack = with_mark(r#"{"counter": "chars4"}"#, |options, len| {
            made(|out, error| callstack_open(p(&first), first.len(), options, len, out, error))
        });
        push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap();
        let state = ask(|out, error| callstack_state(stack, out, error)).unwrap();
        let history = ask(|out, error| callstack_export_history(stack, out, error)).unwrap();
        close(stack);
        let rebuilt = with_mark(&history, |history, history_len| {
            with_mark("{}", |options, len| {
                made(|out, error| {
                    callstack_rebuild(p(&again), again.len(), history, history_len, options, len, out, error)
                })
            })
        });
        let read = with_mark(&state, |state, state_len| {
            with_mark("{}", |options, len| {
                made(|out, error| callstack_from_state(state, state_len, options, len, out, error))
            })
        });
        for stack in [rebuilt, read] {
            assert_eq!(ask(|out, error| callstack_state(stack, out, error)).unwrap(), state);
            close(stack);
        }
        let stack = with_mark(r#"{"history": true}"#, |options, len| {
            made(|out, error| callstack_in_memory(options, len, out, error))
        });
        close(stack);
    }
}

#[test]
fn calls_take_json_with_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let stack = open(folder.path().to_str().unwrap(), r#"{"finishedFrames": 0}"#).unwrap();
    let asked =
        |json: &str,
         call: &dyn Fn(*const c_char, usize, *mut CallstackText, *mut *mut CallstackError) -> CallstackCode| {
            with_mark(json, |json, len| ask(|out, error| call(json, len, out, error)))
                .unwrap_or_else(|failed| panic!("{json}: {failed:?}"))
        };
    let done = |json: &str, call: &dyn Fn(*const c_char, usize, *mut *mut CallstackError) -> CallstackCode| {
        with_mark(json, |json, len| run(|error| call(json, len, error)))
            .unwrap_or_else(|failed| panic!("{json}: {failed:?}"));
    };
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        asked(r#"{"title": "Shop \ud83d", "sessionID": "ses_1"}"#, &|json, len, out, error| {
            callstack_push(stack, json, len, out, error)
        });
        let frame = parsed(ask(|out, error| callstack_frame(stack, p("f1"), 2, out, error)).unwrap());
        assert_eq!(frame["title"], "Shop \u{fffd}");
        asked(r#"{"title": "Cart"}"#, &|json, len, out, error| callstack_plan(stack, json, len, out, error));
        let children = asked(r#"[{"title": "Taxes"}]"#, &|json, len, out, error| {
            callstack_plan_children(stack, p("f1"), 2, json, len, out, error)
        });
        assert_eq!(children, r#"["f3"]"#);
        done(r#"{"title": "Basket"}"#, &|json, len, error| callstack_edit(stack, p("f2"), 2, json, len, error));
        done(r#"{"model": "small"}"#, &|json, len, error| callstack_record_usage(stack, p("f1"), 2, json, len, error));
        let plan = r#"{"tasks": [{"id": 1, "title": "Set up"}]}"#;
        let imported = asked(plan, &|json, len, out, error| callstack_import(stack, json, len, out, error));
        assert_eq!(parsed(imported)["problems"], json!([]));
        for query in ["{}", r#"{"relation": "roots"}"#] {
            asked(query, &|json, len, out, error| callstack_frames(stack, json, len, out, error));
        }
        asked("{}", &|json, len, out, error| callstack_outline(stack, json, len, out, error));
        asked(r#"{"limit": 1}"#, &|json, len, out, error| callstack_history(stack, json, len, out, error));
        done(r#"["a line \ud83d"]"#, &|json, len, error| callstack_append_log(stack, p("f1"), 2, json, len, error));
        let page = asked(r#"{"tail": 1}"#, &|json, len, out, error| {
            callstack_read_log(stack, p("f1"), 2, json, len, out, error)
        });
        assert_eq!(parsed(page)["lines"][0]["entry"], "a line \u{fffd}");
        asked(r#"{"budget": {"total": 900}}"#, &|json, len, out, error| {
            callstack_context(stack, p("f1"), 2, json, len, out, NO_TEXT, NO_TEXT, NO_TEXT, error)
        });
        let chunk = r#"{"name": "prices", "content": "cents"}"#;
        done(chunk, &|json, len, error| callstack_allocate_chunk(stack, p("f1"), 2, json, len, error));
        let registers = r#"{"R3_PHASE": "selling"}"#;
        done(registers, &|json, len, error| callstack_update_registers(stack, p("f1"), 2, json, len, error));
        let run = asked(r#"{"task": "Say hello"}"#, &|json, len, out, error| {
            callstack_start_run(stack, json, len, out, error)
        });
        ask(|out, error| callstack_advance_run(stack, p(&run), run.len(), out, error)).unwrap();
        let reply = r#"{"calls": [{"id": "a", "name": "pop_frame", "arguments": "\ufeff{\"result\": \"hello\"}"}]}"#;
        done(reply, &|json, len, error| callstack_run_reply(stack, p(&run), run.len(), json, len, error));
        let over = parsed(ask(|out, error| callstack_advance_run(stack, p(&run), run.len(), out, error)).unwrap());
        assert_eq!(over["results"], "hello");
        let held =
            ask(|out, error| callstack_hold(stack, p("one"), 3, 1_000, NULL, 0, p("f3"), 2, out, error)).unwrap();
        asked(&held, &|json, len, out, error| callstack_renew(stack, json, len, 1_000, out, error));
        let worker = with_mark(&held, |json, len| made(|out, error| callstack_as_actor(stack, json, len, out, error)));
        close(worker);
        let end = r#"{"end": "failed", "results": "no"}"#;
        asked(&held, &|json, len, out, error| callstack_finish(stack, json, len, p(end), end.len(), out, error));
        let problems = asked(r#"{"calls": {"maxDepth": 3}}"#, &|json, len, out, error| {
            callstack_configure(stack, json, len, out, error)
        });
        assert_eq!(problems, "[]");
        let event = r#"{"kind": "sessionCreated", "sessionID": "ses_2", "title": "Shop \ud83d"}"#;
        asked(event, &|json, len, out, error| callstack_event(stack, json, len, out, error));
        asked(r#"{"push": "begin"}"#, &|json, len, out, error| callstack_named_tools(json, len, out, error));
        let decision = r#"{"decision": "Euros"}"#;
        let answer = asked(decision, &|json, len, out, error| {
            callstack_tool(stack, p("ses_1"), 5, p("stack_add_decision"), 18, json, len, out, error)
        });
        assert_eq!(parsed(answer)["isError"], false);
        asked(r#"{"before": 1}"#, &|json, len, out, error| callstack_compact_history(stack, json, len, out, error));
        asked(r#"{"bytes": 0}"#, &|json, len, out, error| callstack_prune_logs(stack, json, len, out, error));
        // serde would read an array as the fields in their order.
        let array = with_mark(r#"["Shop", "It sells"]"#, |json, len| {
            ask(|out, error| callstack_push(stack, json, len, out, error))
        });
        assert!(array.unwrap_err().message.contains("an array, where an object is expected"));
    }
    close(stack);
}
