//! Error objects of the C interface: a code, a name, a message and details in JSON.

use std::borrow::Cow;
use std::ffi::{CString, c_char};
use std::ptr;

use serde::Serialize;
use serde_json::Value;

use super::code::*;
use crate::error::Error;
use crate::frame::shown_message;

/// The error of a failed call.
///
/// The caller owns it and frees it with `callstack_error_free`. Several threads may read it at the same time.
/// The texts that the functions below return belong to it and are valid until it is freed.
#[derive(Debug)]
pub struct CallstackError {
    code: CallstackCode,
    name: CString,
    message: CString,
    details: CString,
}

/// Returns the code that the failed call returned; `CALLSTACK_OK` if `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_code(error: *const CallstackError) -> CallstackCode {
    // SAFETY: an error that is not null has not been freed.
    unsafe { error.as_ref() }.map_or(CALLSTACK_OK, |error| error.code)
}

/// Returns the name of the code, for programs and logs: the constant without `CALLSTACK_ERROR_`, in lower
/// case, such as `unknown_frame`. NUL-terminated; empty if `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_name(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.name) }
}

/// Returns the message: the cause and what to do about it, in a sentence that can be shown to an agent.
/// UTF-8, NUL-terminated; NUL characters inside the message are replaced by U+FFFD. Empty if `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_message(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.message) }
}

/// Returns the values in the message as a JSON object, for programs: `{"handle": "f3", "total": 100,
/// "needed": 214, "unit": "tokens"}` for `CALLSTACK_ERROR_BUDGET_TOO_SMALL`. UTF-8, NUL-terminated; empty if
/// `error` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_details(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.details) }
}

/// Frees an error object and sets the pointer to it to NULL, so a second call does nothing. `error` may be
/// NULL, and may point to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_free(error: *mut *mut CallstackError) {
    // SAFETY: an error that is not null was made by `guard` and has not been freed.
    unsafe {
        let Some(error) = error.as_mut() else { return };
        if !error.is_null() {
            drop(Box::from_raw(*error));
        }
        *error = ptr::null_mut();
    }
}

unsafe fn text_of(error: *const CallstackError, text: impl FnOnce(&CallstackError) -> &CString) -> *const c_char {
    // SAFETY: an error that is not null has not been freed.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| text(error).as_ptr())
}

/// Why a call failed: an error of the engine, or one of the C interface.
#[derive(Debug, Serialize, thiserror::Error)]
#[serde(untagged)]
pub(super) enum Failure {
    /// An error of the engine.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A required pointer is NULL.
    #[error("`{argument}` is NULL; give a pointer")]
    Null { argument: &'static str },
    /// A length that no object in memory can have.
    #[error(
        "the length of `{argument}` is {len} bytes, more than a text can have; give the length of the text in bytes"
    )]
    Length { argument: &'static str, len: usize },
    /// Bytes that are not UTF-8.
    #[error("`{argument}` is not valid UTF-8 at byte {at}; convert it to UTF-8, and do not cut it inside a character")]
    Utf8 { argument: &'static str, at: usize },
    /// A fault in the library.
    #[error("an error in the library: {cause}; please report it")]
    Panic { cause: String },
}

impl Failure {
    fn code(&self) -> (CallstackCode, &'static str) {
        match self {
            Failure::Engine(error) => {
                let (_, code, number) = error.kind();
                (number, code)
            }
            Failure::Null { .. } => (CALLSTACK_ERROR_NULL, "null"),
            Failure::Length { .. } => (CALLSTACK_ERROR_LENGTH, "length"),
            Failure::Utf8 { .. } => (CALLSTACK_ERROR_UTF8, "utf8"),
            Failure::Panic { .. } => (CALLSTACK_ERROR_PANIC, "panic"),
        }
    }
}

impl CallstackError {
    pub(super) fn code(&self) -> CallstackCode {
        self.code
    }
}

impl From<Failure> for CallstackError {
    fn from(failure: Failure) -> Self {
        let (code, name) = failure.code();
        let mut details = serde_json::to_value(&failure).expect("details have only string keys and finite numbers");
        cut_texts(&mut details);
        let details = details.to_string();
        Self { code, name: c_string(name), message: c_string(&failure.to_string()), details: c_string(&details) }
    }
}

/// Cuts long texts in the details, which can be those of the caller.
fn cut_texts(details: &mut Value) {
    match details {
        Value::String(text) => {
            if let Cow::Owned(cut) = shown_message(text) {
                *text = cut;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(cut_texts),
        Value::Object(values) => values.values_mut().for_each(cut_texts),
        _ => {}
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
