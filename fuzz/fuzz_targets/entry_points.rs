//! Fuzzes the functions of the C ABI that take texts, with arbitrary bytes. Each call must return either an
//! answer (valid JSON where the header promises it) or a readable error object, and must not panic. A refused
//! command must not change the tree.

#![no_main]

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr;

use callstack_core::capi::code::{CALLSTACK_ERROR_PANIC, CALLSTACK_OK, CallstackCode};
use callstack_core::capi::command::*;
use callstack_core::capi::context::*;
use callstack_core::capi::error::*;
use callstack_core::capi::fold::*;
use callstack_core::capi::history::*;
use callstack_core::capi::holding::*;
use callstack_core::capi::host::*;
use callstack_core::capi::limits::*;
use callstack_core::capi::memory::*;
use callstack_core::capi::query::*;
use callstack_core::capi::stack::*;
use callstack_core::capi::text::*;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

const NO_CONTEXT: CallstackContext = CallstackContext {
    xml: CallstackView::NONE,
    stable: CallstackView::NONE,
    changing: CallstackView::NONE,
    tokens: 0,
    owner: ptr::null(),
};

fuzz_target!(|data: &[u8]| {
    // SAFETY: all pointers come from this function, and none is used after it was freed.
    unsafe {
        let options = CallstackView::of(r#"{"history": true}"#);
        let mut stack = ptr::null_mut();
        assert_eq!(callstack_in_memory(options, &mut stack, ptr::null_mut()), CALLSTACK_OK);
        let root = CallstackView::of(r#"{"title": "Root", "sessionID": "ses_1"}"#);
        callstack_push(stack, root, ptr::null_mut(), ptr::null_mut());
        // Bytes that never occur in UTF-8 are the separators: 0xff between calls, 0xfe between the texts of a
        // call.
        for call in data.split(|byte| *byte == 0xff).take(32) {
            let Some((which, rest)) = call.split_first() else { continue };
            let mut texts = rest.splitn(3, |byte| *byte == 0xfe);
            let mut next = || texts.next().unwrap_or_default();
            one(stack, *which, [next(), next(), next()]);
        }
        assert_eq!(callstack_close(&mut stack, ptr::null_mut()), CALLSTACK_OK);
    }
});

/// A view of bytes that need not be UTF-8.
fn view(bytes: &[u8]) -> CallstackView {
    CallstackView { data: bytes.as_ptr().cast(), len: bytes.len() }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Makes one call and checks all of its outputs.
unsafe fn one(stack: *mut Callstack, which: u8, texts: [&[u8]; 3]) {
    // SAFETY: the stack is open, the lengths of the texts are right, and the outputs are variables of this
    // function.
    unsafe {
        let before = state(stack);
        let [a, b, c] = texts.map(view);
        // The second and the third text as the fields of a record. In half of the calls the second text is
        // the record itself.
        let record = |first: &str, second: &str| match (which / 36).is_multiple_of(2) {
            true => json!({first: lossy(texts[1]), second: lossy(texts[2])}).to_string().into_bytes(),
            false => texts[1].to_vec(),
        };
        let mut answer = CallstackText { data: ptr::null_mut(), len: 0 };
        let out: *mut CallstackText = &mut answer;
        let mut made = ptr::null_mut();
        let error: *mut *mut CallstackError = &mut made;
        let mut is_json = true;
        let code: CallstackCode = match which % 36 {
            0 => {
                is_json = false;
                callstack_push(stack, a, out, error)
            }
            1 => {
                is_json = false;
                callstack_plan(stack, a, out, error)
            }
            2 => callstack_plan_children(stack, a, b, out, error),
            3 => {
                is_json = false;
                callstack_ensure(stack, a, b, out, error)
            }
            4 => callstack_identify(stack, a, view(&record("title", "successCriteria")), error),
            5 if (which / 36).is_multiple_of(2) => callstack_begin(stack, a, error),
            5 => callstack_activate(stack, a, error),
            6 => callstack_replace_id(stack, a, b, error),
            7 => match which / 36 {
                0 => callstack_resume(stack, a, error),
                1 | 2 => callstack_block(stack, a, view(&record("question", "results")), out, error),
                3 => callstack_answer(stack, a, b, error),
                4 => callstack_reopen(stack, a, b, out, error),
                5 => callstack_retry(stack, a, b, out, error),
                _ => callstack_summarize(stack, a, b, error),
            },
            8 if which / 36 < 6 => {
                let status = ["completed", "failed", "blocked"][usize::from(which / 36 % 3)];
                let (results, compacted, next) = (lossy(texts[1]), lossy(texts[2]), (which / 36 >= 3).then_some(true));
                let pop = json!({"status": status, "results": results, "resultsCompacted": compacted, "next": next});
                callstack_pop(stack, a, CallstackView::of(&pop.to_string()), out, error)
            }
            8 => callstack_pop(stack, a, b, out, error),
            9 => callstack_invalidate(stack, a, b, out, error),
            10 => callstack_add_artifact(stack, a, b, ptr::null_mut(), error),
            11 => callstack_add_decision(stack, a, b, error),
            12 => callstack_import_plan(stack, a, out, error),
            13 => callstack_frame(stack, a, out, error),
            14 if (which / 36).is_multiple_of(2) => callstack_handles(stack, a, out, error),
            14 => callstack_frames(stack, a, out, error),
            15 => {
                is_json = false;
                callstack_outline(stack, a, out, error)
            }
            16 => callstack_history(stack, a, out, error),
            17 => {
                let mut context = NO_CONTEXT;
                let code = callstack_context(stack, a, b, &mut context, error);
                if code == CALLSTACK_OK {
                    let text = std::str::from_utf8(viewed(&context.xml)).expect("contexts are UTF-8");
                    roxmltree::Document::parse(text).expect("contexts are XML");
                    assert_eq!(callstack_context_report(&context, out, ptr::null_mut()), CALLSTACK_OK);
                }
                callstack_context_free(&mut context);
                code
            }
            18 => {
                let mut another = ptr::null_mut();
                let code = callstack_from_state(a, b, &mut another, error);
                callstack_close(&mut another, ptr::null_mut());
                code
            }
            19 => callstack_configure(stack, a, out, error),
            20 => callstack_report(stack, a, out, error),
            21 => callstack_tool(stack, a, view(&record("name", "arguments")), out, error),
            22 => {
                let mut context = NO_CONTEXT;
                let code = callstack_session_context(stack, a, &mut context, error);
                std::str::from_utf8(viewed(&context.stable)).expect("contexts are UTF-8");
                callstack_context_free(&mut context);
                code
            }
            23 => callstack_allocate_chunk(stack, a, b, error),
            24 => callstack_write_chunk(stack, a, view(&record("name", "content")), error),
            25 => callstack_free_chunk(stack, a, b, error),
            26 => callstack_update_registers(stack, a, b, error),
            27 => {
                is_json = false;
                callstack_start_run(stack, a, out, error)
            }
            28 => callstack_advance_run(stack, a, out, error),
            29 => callstack_run_reply(stack, a, b, error),
            30 => callstack_run_answer(stack, a, view(&record("call", "answer")), error),
            31 => callstack_chunks(stack, a, out, error),
            32 => match which / 36 {
                0 => callstack_hold(stack, a, out, error),
                1 => callstack_renew(stack, a, b, out, error),
                2 => callstack_finish(stack, a, b, out, error),
                3 => callstack_set_limits(stack, a, b, error),
                _ => callstack_record_cost(stack, a, b, error),
            },
            33 => callstack_complete(stack, a, view(&record("results", "next")), out, error),
            34 if !(which / 36).is_multiple_of(2) => callstack_tools(stack, a, out, error),
            34 => {
                is_json = false;
                callstack_fold(a, b, c, out, ptr::null_mut(), error)
            }
            _ => callstack_set_active(stack, a, error),
        };
        assert_ne!(code, CALLSTACK_ERROR_PANIC, "call {} panicked", which % 36);
        if code == CALLSTACK_OK {
            assert!(made.is_null(), "a successful call returned an error object");
            let text = std::str::from_utf8(bytes(&answer)).expect("answers are UTF-8");
            if is_json && !answer.data.is_null() {
                serde_json::from_str::<serde_json::Value>(text).expect("answers are JSON");
            }
        } else {
            assert!(answer.data.is_null(), "a failed call returned an answer");
            assert_eq!(callstack_error_code(made), code);
            assert!(!CStr::from_ptr(callstack_error_message(made)).is_empty(), "the error message is empty");
            let details = CStr::from_ptr(callstack_error_details(made));
            serde_json::from_slice::<serde_json::Value>(details.to_bytes()).expect("details are JSON");
            assert_eq!(state(stack), before, "a refused command changed the tree");
        }
        callstack_text_free(out);
        callstack_error_free(error);
    }
}

unsafe fn bytes(text: &CallstackText) -> &[u8] {
    match text.data.is_null() {
        true => &[],
        // SAFETY: the library allocated the text with this length.
        false => unsafe { std::slice::from_raw_parts(text.data.cast(), text.len) },
    }
}

unsafe fn viewed(text: &CallstackView) -> &[u8] {
    match text.data.is_null() {
        true => &[],
        // SAFETY: the text belongs to a context that is not freed.
        false => unsafe { std::slice::from_raw_parts(text.data.cast(), text.len) },
    }
}

unsafe fn state(stack: *const Callstack) -> Vec<u8> {
    // SAFETY: the stack is open, and the output is a variable of this function.
    unsafe {
        let mut state = CallstackText { data: ptr::null_mut(), len: 0 };
        assert_eq!(callstack_state(stack, &mut state, ptr::null_mut()), CALLSTACK_OK);
        let copy = bytes(&state).to_vec();
        callstack_text_free(&mut state);
        copy
    }
}
