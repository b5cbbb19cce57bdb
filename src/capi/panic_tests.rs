//! Tests of panics in commands and queries. A store and a clock made for these tests provoke the panics.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::code::*;
use super::command::callstack_push;
use super::context::callstack_context;
use super::error::*;
use super::query::callstack_state;
use super::stack::{Callstack, callstack_close};
use super::text::{CallstackText, callstack_text_free};
use crate::error::Result;
use crate::frame::{Event, NewFrame};
use crate::stack::{Stack, StackOptions};
use crate::store::{EventQuery, SqliteOptions, SqliteStore, Store};

/// A store that panics in the middle of a transaction while `panics` is true.
struct Faulty {
    store: SqliteStore,
    panics: Arc<AtomicBool>,
}

impl Store for Faulty {
    fn begin(&mut self, patience: Duration) -> Result<()> {
        self.store.begin(patience)
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.store.read(query, patience, each)
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        self.store.append(events)?;
        assert!(!self.panics.load(Ordering::Relaxed), "provoked by a test");
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.store.commit()
    }

    fn rollback(&mut self) {
        self.store.rollback();
    }

    fn has_news(&mut self, patience: Duration) -> Result<bool> {
        self.store.has_news(patience)
    }

    fn sync(&mut self, patience: Duration) -> Result<()> {
        self.store.sync(patience)
    }
}

fn bytes(text: &str) -> (*const c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

unsafe fn push(stack: *mut Callstack, frame: &str) -> (CallstackCode, String) {
    // SAFETY: the stack is open, and the error is read before it is freed.
    unsafe {
        let mut error = ptr::null_mut();
        let (frame, frame_len) = bytes(frame);
        let code = callstack_push(stack, frame, frame_len, ptr::null_mut(), &mut error);
        assert_eq!(callstack_error_code(error), code);
        let message = CStr::from_ptr(callstack_error_message(error)).to_str().unwrap().to_owned();
        callstack_error_free(&mut error);
        (code, message)
    }
}

#[test]
fn a_panic_in_a_command_breaks_the_stack_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let panics = Arc::new(AtomicBool::new(false));
    let store = SqliteStore::open(folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    let store = Faulty { store, panics: panics.clone() };
    let stack = Stack::open_with_store(folder.path(), store, StackOptions::default()).unwrap();
    let mut broken = Box::into_raw(Box::new(Callstack::new(stack, Vec::new())));
    // SAFETY: the stack is closed once, at the end.
    unsafe {
        assert_eq!(push(broken, r#"{"title": "One", "sessionID": "one"}"#), (CALLSTACK_OK, String::new()));
        panics.store(true, Ordering::Relaxed);
        let (code, message) = push(broken, r#"{"title": "Two", "sessionID": "two"}"#);
        assert_eq!(code, CALLSTACK_ERROR_PANIC);
        assert!(message.contains("provoked by a test"), "{message}");

        panics.store(false, Ordering::Relaxed);
        let (code, message) = push(broken, r#"{"title": "Three", "sessionID": "three"}"#);
        assert_eq!(code, CALLSTACK_ERROR_BROKEN);
        assert!(message.contains("close it and open it again"), "{message}");
        let mut state = CallstackText::NONE;
        assert_eq!(callstack_state(broken, &mut state, ptr::null_mut()), CALLSTACK_ERROR_BROKEN);
        assert!(state.data.is_null());

        // The transaction has ended: other processes can commit even while the broken stack still exists.
        let other = Stack::open(folder.path(), StackOptions { busy_timeout: 100, ..StackOptions::default() }).unwrap();
        let ids = |stack: &Stack| {
            stack.read(|tree| tree.handles().map(|handle| tree.frame(handle).session_id).collect::<Vec<_>>())
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
    let mut stack = Box::into_raw(Box::new(Callstack::new(stack, Vec::new())));
    // SAFETY: the stack is closed once, at the end; texts are freed.
    unsafe {
        assert_eq!(push(stack, r#"{"title": "One", "sessionID": "one"}"#).0, CALLSTACK_OK);
        let context = |out: *mut CallstackText| {
            let (frame, frame_len) = bytes("one");
            let none = ptr::null_mut();
            callstack_context(stack, frame, frame_len, ptr::null(), 0, out, none, none, none, ptr::null_mut())
        };
        let mut xml = CallstackText::NONE;
        left.store(0, Ordering::Relaxed);
        assert_eq!(context(&mut xml), CALLSTACK_ERROR_PANIC);
        assert!(xml.data.is_null());
        left.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(context(&mut xml), CALLSTACK_OK);
        assert!(CStr::from_ptr(xml.data).to_str().unwrap().contains("<title>One</title>"));
        callstack_text_free(&mut xml);
        callstack_text_free(&mut xml);
        assert_eq!(callstack_close(&mut stack, ptr::null_mut()), CALLSTACK_OK);
    }
}
