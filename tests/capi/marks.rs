//! Every function that takes JSON takes it with a byte order mark before it, and with the escape of a half of
//! a character.

use std::ptr;

use serde_json::json;

use super::*;

/// Calls a function with JSON that has a mark before it.
fn with_mark<T>(json: &str, call: impl FnOnce(CallstackView) -> T) -> T {
    let json = format!("\u{feff}{json}");
    call(view(&json))
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
        let stack = with_mark(r#"{"counter": "chars4"}"#, |options| {
            made(|out, error| callstack_open(view(&first), options, out, error))
        });
        push(stack, r#"{"title": "Build", "sessionID": "ses_1"}"#).unwrap();
        let state = ask(|out, error| callstack_state(stack, out, error)).unwrap();
        let history = ask(|out, error| callstack_export_history(stack, out, error)).unwrap();
        close(stack);
        let rebuilt = with_mark(&history, |history| {
            with_mark("{}", |options| made(|out, error| callstack_rebuild(view(&again), history, options, out, error)))
        });
        let read = with_mark(&state, |state| {
            with_mark("{}", |options| made(|out, error| callstack_from_state(state, options, out, error)))
        });
        for stack in [rebuilt, read] {
            assert_eq!(ask(|out, error| callstack_state(stack, out, error)).unwrap(), state);
            close(stack);
        }
        let stack =
            with_mark(r#"{"history": true}"#, |options| made(|out, error| callstack_in_memory(options, out, error)));
        close(stack);
    }
}

#[test]
fn calls_take_json_with_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let stack = open(folder.path().to_str().unwrap(), r#"{"finishedFrames": 0}"#).unwrap();
    let asked =
        |json: &str, call: &dyn Fn(CallstackView, *mut CallstackText, *mut *mut CallstackError) -> CallstackCode| {
            with_mark(json, |json| ask(|out, error| call(json, out, error)))
                .unwrap_or_else(|failed| panic!("{json}: {failed:?}"))
        };
    let done = |json: &str, call: &dyn Fn(CallstackView, *mut *mut CallstackError) -> CallstackCode| {
        with_mark(json, |json| run(|error| call(json, error))).unwrap_or_else(|failed| panic!("{json}: {failed:?}"));
    };
    // SAFETY: the stack is open, every text has its given length.
    unsafe {
        asked(r#"{"title": "Shop \ud83d", "sessionID": "ses_1"}"#, &|json, out, error| {
            callstack_push(stack, json, out, error)
        });
        let frame = parsed(ask(|out, error| callstack_frame(stack, view("f1"), out, error)).unwrap());
        assert_eq!(frame["title"], "Shop \u{fffd}");
        let ensured = asked(r#"{"title": "Basket", "parent": "f1"}"#, &|json, out, error| {
            callstack_ensure(stack, view("ses_3"), json, out, error)
        });
        assert_eq!(ensured, "f2");
        done(r#"{"title": "Counter"}"#, &|json, error| callstack_identify(stack, view("f2"), json, error));
        done(r#"{"results": "half \ud83d"}"#, &|json, error| callstack_summarize(stack, view("f2"), json, error));
        asked(r#"{"question": "Which one?"}"#, &|json, out, error| {
            callstack_block(stack, view("f2"), json, out, error)
        });
        run(|error| callstack_resume(stack, view("f2"), error)).unwrap();
        asked(r#"{"results": "sold"}"#, &|json, out, error| callstack_complete(stack, view("f2"), json, out, error));
        let reopened = ask(|out, error| callstack_reopen(stack, view("f2"), view("unsold"), out, error)).unwrap();
        assert_eq!(parsed(reopened)["handle"], "f2");
        let failed = r#"{"status": "failed", "results": "no \ud83d"}"#;
        asked(failed, &|json, out, error| callstack_pop(stack, view("f2"), json, out, error));
        asked(r#"{"title": "Cart"}"#, &|json, out, error| callstack_plan(stack, json, out, error));
        let children = asked(r#"[{"title": "Taxes"}]"#, &|json, out, error| {
            callstack_plan_children(stack, view("f1"), json, out, error)
        });
        assert_eq!(children, r#"["f4"]"#);
        done(r#"{"title": "Basket"}"#, &|json, error| callstack_edit(stack, view("f3"), json, error));
        done(r#"{"model": "small"}"#, &|json, error| callstack_record_usage(stack, view("f1"), json, error));
        let plan = r#"{"tasks": [{"id": 1, "title": "Set up"}]}"#;
        let imported = asked(plan, &|json, out, error| callstack_import_plan(stack, json, out, error));
        assert_eq!(parsed(imported)["problems"], json!([]));
        for query in ["{}", r#"{"relation": "roots"}"#] {
            asked(query, &|json, out, error| callstack_frames(stack, json, out, error));
            asked(query, &|json, out, error| callstack_handles(stack, json, out, error));
        }
        asked("{}", &|json, out, error| callstack_outline(stack, json, out, error));
        asked(r#"{"limit": 1}"#, &|json, out, error| callstack_history(stack, json, out, error));
        done(r#"["a line \ud83d"]"#, &|json, error| callstack_append_log(stack, view("f1"), json, error));
        let page = asked(r#"{"tail": 1}"#, &|json, out, error| callstack_read_log(stack, view("f1"), json, out, error));
        assert_eq!(parsed(page)["lines"][0]["entry"], "a line \u{fffd}");
        with_mark(r#"{"budget": {"total": 900}}"#, |json| xml(stack, "f1", json)).unwrap();
        let chunk = r#"{"name": "prices", "content": "cents"}"#;
        done(chunk, &|json, error| callstack_allocate_chunk(stack, view("f1"), json, error));
        let content = r#"{"name": "prices", "content": "euros"}"#;
        done(content, &|json, error| callstack_write_chunk(stack, view("f1"), json, error));
        let registers = r#"{"R3_PHASE": "selling"}"#;
        done(registers, &|json, error| callstack_update_registers(stack, view("f1"), json, error));
        let run = asked(r#"{"task": "Say hello"}"#, &|json, out, error| callstack_start_run(stack, json, out, error));
        ask(|out, error| callstack_advance_run(stack, view(&run), out, error)).unwrap();
        let reply = r#"{"calls": [{"id": "a", "name": "greet", "arguments": "{}"},
            {"id": "b", "name": "pop_frame", "arguments": "\ufeff{\"result\": \"hello\"}"}]}"#;
        done(reply, &|json, error| callstack_run_reply(stack, view(&run), json, error));
        ask(|out, error| callstack_advance_run(stack, view(&run), out, error)).unwrap();
        let greeted = r#"{"call": "a", "answer": "hi \ud83d"}"#;
        done(greeted, &|json, error| callstack_run_answer(stack, view(&run), json, error));
        let over = parsed(ask(|out, error| callstack_advance_run(stack, view(&run), out, error)).unwrap());
        assert_eq!(over["results"], "hello");
        let request = r#"{"name": "one", "lease": 1000, "frame": "f4"}"#;
        let held = asked(request, &|json, out, error| callstack_hold(stack, json, out, error));
        let renewal = r#"{"lease": 1000}"#;
        asked(&held, &|json, out, error| callstack_renew(stack, json, view(renewal), out, error));
        asked(renewal, &|json, out, error| callstack_renew(stack, view(&held), json, out, error));
        let worker = with_mark(&held, |json| made(|out, error| callstack_as_actor(stack, json, out, error)));
        close(worker);
        let end = r#"{"end": "failed", "results": "no"}"#;
        asked(&held, &|json, out, error| callstack_finish(stack, json, view(end), out, error));
        let problems =
            asked(r#"{"calls": {"maxDepth": 3}}"#, &|json, out, error| callstack_configure(stack, json, out, error));
        assert_eq!(problems, "[]");
        let event = r#"{"kind": "sessionCreated", "sessionID": "ses_2", "title": "Shop \ud83d"}"#;
        asked(event, &|json, out, error| callstack_report(stack, json, out, error));
        for query in [r#"{"names": {"push": "begin"}}"#, r#"{"memory": {}}"#] {
            asked(query, &|json, out, error| callstack_tools(ptr::null(), json, out, error));
            asked(query, &|json, out, error| callstack_tools(stack, json, out, error));
        }
        // The arguments are an object, or its text, which can have a mark too.
        for arguments in [r#"{"decision": "Euros"}"#, r#""\ufeff{\"decision\": \"Cents\"}""#] {
            let call = format!(r#"{{"name": "stack_add_decision", "arguments": {arguments}}}"#);
            let answer = asked(&call, &|json, out, error| callstack_tool(stack, view("ses_1"), json, out, error));
            assert_eq!(parsed(answer)["isError"], false);
        }
        let frame = parsed(ask(|out, error| callstack_frame(stack, view("f1"), out, error)).unwrap());
        assert_eq!(frame["decisions"], json!(["Euros", "Cents"]));
        asked(r#"{"before": 1}"#, &|json, out, error| callstack_compact_history(stack, json, out, error));
        asked(r#"{"bytes": 0}"#, &|json, out, error| callstack_prune_logs(stack, json, out, error));
        // serde would read an array as the fields in their order.
        let array =
            with_mark(r#"["Shop", "It sells"]"#, |json| ask(|out, error| callstack_push(stack, json, out, error)));
        assert!(array.unwrap_err().message.contains("an array, where an object is expected"));
    }
    close(stack);
}
