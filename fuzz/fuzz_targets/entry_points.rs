//! Fuzzes the functions of the C ABI that take texts, with arbitrary bytes. Each call must return either an answer
//! (valid JSON where the header promises it) or a readable error object, and must not panic. A refused command must
//! not change the tree.

#![no_main]

use std::ffi::{CStr, c_char};
use std::ptr;

use callstack_core::capi::code::{CALLSTACK_ERROR_PANIC, CALLSTACK_OK, CallstackCode};
use callstack_core::capi::command::*;
use callstack_core::capi::context::*;
use callstack_core::capi::error::*;
use callstack_core::capi::fold::*;
use callstack_core::capi::history::*;
use callstack_core::capi::host::*;
use callstack_core::capi::memory::*;
use callstack_core::capi::query::*;
use callstack_core::capi::stack::*;
use callstack_core::capi::text::*;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // SAFETY: all pointers come from this function, and none is used after it was freed.
    unsafe {
        let options = br#"{"history": true}"#;
        let mut stack = ptr::null_mut();
        assert_eq!(callstack_in_memory(text(options).0, options.len(), &mut stack, ptr::null_mut()), CALLSTACK_OK);
        let root = br#"{"title": "Root", "sessionID": "ses_1"}"#;
        callstack_push(stack, text(root).0, root.len(), ptr::null_mut(), ptr::null_mut());
        // Bytes that never occur in UTF-8 are the separators: 0xff between calls, 0xfe between the texts of a call.
        for call in data.split(|byte| *byte == 0xff).take(32) {
            let Some((which, rest)) = call.split_first() else { continue };
            let mut texts = rest.splitn(3, |byte| *byte == 0xfe);
            let mut next = || texts.next().unwrap_or_default();
            one(stack, *which, [next(), next(), next()]);
        }
        assert_eq!(callstack_close(&mut stack, ptr::null_mut()), CALLSTACK_OK);
    }
});

fn text(bytes: &[u8]) -> (*const c_char, usize) {
    (bytes.as_ptr().cast(), bytes.len())
}

/// Makes one call and checks all of its outputs.
unsafe fn one(stack: *mut Callstack, which: u8, texts: [&[u8]; 3]) {
    // SAFETY: the stack is open, the lengths of the texts are right, and the outputs are variables of this function.
    unsafe {
        let before = state(stack);
        let [(a, a_len), (b, b_len), (c, c_len)] = texts.map(text);
        let mut answer = CallstackText { data: ptr::null_mut(), len: 0 };
        let out: *mut CallstackText = &mut answer;
        let mut made = ptr::null_mut();
        let error: *mut *mut CallstackError = &mut made;
        let mut is_json = true;
        let code: CallstackCode = match which % 36 {
            0 => {
                is_json = false;
                callstack_push(stack, a, a_len, out, error)
            }
            1 => {
                is_json = false;
                callstack_plan(stack, a, a_len, out, error)
            }
            2 => callstack_plan_children(stack, a, a_len, b, b_len, out, error),
            3 => {
                is_json = false;
                callstack_ensure(stack, a, a_len, b, b_len, c, c_len, out, error)
            }
            4 => callstack_identify(stack, a, a_len, b, b_len, c, c_len, c, c_len, error),
            5 if (which / 36).is_multiple_of(2) => callstack_begin(stack, a, a_len, error),
            5 => callstack_activate(stack, a, a_len, error),
            6 => callstack_replace_id(stack, a, a_len, b, b_len, error),
            7 => callstack_set_status(stack, a, a_len, i32::from(which / 36) - 2, b, b_len, c, c_len, error),
            8 => callstack_pop(stack, a, a_len, i32::from(which / 36), b, b_len, c, c_len, out, error),
            9 => callstack_invalidate(stack, a, a_len, b, b_len, out, error),
            10 => callstack_add_artifact(stack, a, a_len, b, b_len, ptr::null_mut(), error),
            11 => callstack_add_decision(stack, a, a_len, b, b_len, error),
            12 => callstack_import(stack, a, a_len, out, error),
            13 => callstack_frame(stack, a, a_len, out, error),
            14 => callstack_frames(stack, a, a_len, out, error),
            15 => {
                is_json = false;
                callstack_outline(stack, a, a_len, out, error)
            }
            16 => callstack_history(stack, a, a_len, out, error),
            17 => {
                let mut xml = CallstackText { data: ptr::null_mut(), len: 0 };
                let code = callstack_context(
                    stack,
                    a,
                    a_len,
                    b,
                    b_len,
                    &mut xml,
                    ptr::null_mut(),
                    ptr::null_mut(),
                    out,
                    error,
                );
                if code == CALLSTACK_OK {
                    let text = std::str::from_utf8(bytes(&xml)).expect("contexts are UTF-8");
                    roxmltree::Document::parse(text).expect("contexts are XML");
                }
                callstack_text_free(&mut xml);
                code
            }
            18 => {
                let mut another = ptr::null_mut();
                let code = callstack_from_state(a, a_len, b, b_len, &mut another, error);
                callstack_close(&mut another, ptr::null_mut());
                code
            }
            19 => callstack_configure(stack, a, a_len, out, error),
            20 => callstack_event(stack, a, a_len, out, error),
            21 => callstack_tool(stack, a, a_len, b, b_len, c, c_len, out, error),
            22 => {
                is_json = false;
                callstack_session_context(stack, a, a_len, out, ptr::null_mut(), error)
            }
            23 => callstack_allocate_chunk(stack, a, a_len, b, b_len, error),
            24 => callstack_write_chunk(stack, a, a_len, b, b_len, c, c_len, error),
            25 => callstack_free_chunk(stack, a, a_len, b, b_len, error),
            26 => callstack_update_registers(stack, a, a_len, b, b_len, error),
            27 => {
                is_json = false;
                callstack_start_run(stack, a, a_len, out, error)
            }
            28 => callstack_advance_run(stack, a, a_len, out, error),
            29 => callstack_run_reply(stack, a, a_len, b, b_len, error),
            30 => callstack_run_answer(stack, a, a_len, b, b_len, c, c_len, 0, error),
            31 => callstack_chunks(stack, a, a_len, out, error),
            32 => {
                let status = i32::from(which / 36);
                callstack_pop_and_begin(stack, a, a_len, status, b, b_len, ptr::null(), 0, c, c_len, out, error)
            }
            33 => callstack_complete(stack, a, a_len, b, b_len, ptr::null(), 0, c, c_len, out, error),
            34 => {
                is_json = false;
                callstack_fold(a, a_len, b, b_len, c, c_len, out, ptr::null_mut(), error)
            }
            _ => callstack_set_active(stack, a, a_len, error),
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
