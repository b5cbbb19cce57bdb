//! Tests of panics in commands and queries of the C interface. A store and a clock made for these tests
//! provoke the panics.

use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use callstack_core::capi::code::*;
use callstack_core::capi::command::callstack_push;
use callstack_core::capi::error::*;
use callstack_core::capi::query::callstack_state;
use callstack_core::capi::stack::{Callstack, callstack_close, open_with};
use callstack_core::{NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions};
use support::wrapped::{PanicInAppend, Wrapped};

use super::{EMPTY, NONE, view, xml};

/// A stack for C functions.
fn opened(stack: Stack) -> *mut Callstack {
    let mut opened = ptr::null_mut();
    // SAFETY: the text has its length, and the output can be written to.
    let code = unsafe { open_with(view("any"), NONE, &mut opened, ptr::null_mut(), |_, _| Ok(stack)) };
    assert_eq!(code, CALLSTACK_OK);
    opened
}

unsafe fn push(stack: *mut Callstack, frame: &str) -> (CallstackCode, String) {
    // SAFETY: the stack is open, and the error is read before it is freed.
    unsafe {
        let mut error = ptr::null_mut();
        let code = callstack_push(stack, view(frame), ptr::null_mut(), &mut error);
        assert_eq!(callstack_error_code(error), code);
        let message = CStr::from_ptr(callstack_error_message(error)).to_str().unwrap().to_owned();
        callstack_error_free(&mut error);
        (code, message)
    }
}

#[test]
fn a_panic_in_a_command_breaks_the_stack_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let panics = PanicInAppend::default();
    let store = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    let store = Wrapped::new(store, panics.clone());
    let stack = Stack::open_with_store(folder.path(), store, StackOptions::default()).unwrap();
    let mut broken = opened(stack);
    // SAFETY: the stack is closed once, at the end.
    unsafe {
        assert_eq!(push(broken, r#"{"title": "One", "sessionID": "one"}"#), (CALLSTACK_OK, String::new()));
        panics.set(true);
        let (code, message) = push(broken, r#"{"title": "Two", "sessionID": "two"}"#);
        assert_eq!(code, CALLSTACK_ERROR_PANIC);
        assert!(message.contains("provoked by a test"), "{message}");

        panics.set(false);
        let (code, message) = push(broken, r#"{"title": "Three", "sessionID": "three"}"#);
        assert_eq!(code, CALLSTACK_ERROR_BROKEN);
        assert!(message.contains("close it and open it again"), "{message}");
        let mut state = EMPTY;
        assert_eq!(callstack_state(broken, &mut state, ptr::null_mut()), CALLSTACK_ERROR_BROKEN);
        assert!(state.data.is_null());

        // The transaction has ended: other processes can commit even while the broken stack still exists.
        let other = Stack::open(folder.path(), StackOptions::default().busy_timeout(100)).unwrap();
        let ids = |stack: &Stack| {
            stack.read(|tree| tree.handles().map(|handle| tree.frame(handle).session_id).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(ids(&other), ["one"]);
        other.push(NewFrame::new("Two").id("two")).unwrap();
        assert_eq!(callstack_close(&mut broken, ptr::null_mut()), CALLSTACK_OK);
        assert!(broken.is_null());
        other.close().unwrap();
        assert_eq!(ids(&Stack::open(folder.path(), StackOptions::default()).unwrap()), ["one", "two"]);
    }
}

#[test]
fn a_panic_in_a_query_is_an_error_and_the_next_one_works() {
    let left = Arc::new(AtomicU32::new(u32::MAX));
    let count = left.clone();
    let clock = Arc::new(move || {
        assert_ne!(count.fetch_sub(1, Ordering::Relaxed), 0, "provoked by a test");
        7
    });
    let stack = Stack::with_options(StackOptions::default().clock(clock));
    let mut stack = opened(stack);
    // SAFETY: the stack is closed once, at the end; texts are freed.
    unsafe {
        assert_eq!(push(stack, r#"{"title": "One", "sessionID": "one"}"#).0, CALLSTACK_OK);
        left.store(0, Ordering::Relaxed);
        assert_eq!(xml(stack, "one", NONE).unwrap_err().code, CALLSTACK_ERROR_PANIC);
        left.store(u32::MAX, Ordering::Relaxed);
        assert!(xml(stack, "one", NONE).unwrap().contains("<title>One</title>"));
        assert_eq!(callstack_close(&mut stack, ptr::null_mut()), CALLSTACK_OK);
    }
}
