//! Errors across the border: what went wrong as a code, and as an object that tells more.

use std::ffi::{CString, c_char};
use std::ptr;

use serde::Serialize;

use super::code::*;
use crate::error::Error;

/// What went wrong in a call that has not answered `CALLSTACK_OK`.
///
/// It belongs to the caller, who frees it with `callstack_error_free`. Any thread may read it, several
/// at once; its texts live as long as it does.
#[derive(Debug)]
pub struct CallstackError {
    code: CallstackCode,
    name: CString,
    message: CString,
    details: CString,
}

/// The code that the call answered; CALLSTACK_OK for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_code(error: *const CallstackError) -> CallstackCode {
    // SAFETY: an error that is not null has not been freed.
    unsafe { error.as_ref() }.map_or(CALLSTACK_OK, |error| error.code)
}

/// The code's name, for programs and logs: that of the constant in lower case, without
/// `CALLSTACK_ERROR_`, such as `unknown_frame`. NUL-terminated; empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_name(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.name) }
}

/// What went wrong and what to do about it, in a sentence that an agent can be shown as it is. UTF-8,
/// NUL-terminated, without NULs inside (they stand as U+FFFD); empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_message(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.message) }
}

/// The parts of the message as a JSON object, for programs: `{"handle": "f3", "total": 100, "needed":
/// 214}` for `CALLSTACK_ERROR_BUDGET_TOO_SMALL`. NUL-terminated; empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_error_details(error: *const CallstackError) -> *const c_char {
    // SAFETY: as above.
    unsafe { text_of(error, |error| &error.details) }
}

/// Frees an error and sets the pointer to it to NULL, so that freeing it again does nothing. NULL does
/// nothing, nor does a pointer to NULL.
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

/// Why a call could not be carried out.
#[derive(Debug, Serialize, thiserror::Error)]
#[serde(untagged)]
pub(super) enum Failure {
    /// The engine says no.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A pointer that must not be null.
    #[error("`{argument}` is NULL; give a pointer")]
    Null { argument: &'static str },
    /// A length that no object in memory can have.
    #[error("`{argument}` cannot be {len} bytes long; give the length of the text")]
    Length { argument: &'static str, len: usize },
    /// Bytes that are no text.
    #[error("`{argument}` is not UTF-8 from byte {at} on; convert it, and do not cut inside a character")]
    Utf8 { argument: &'static str, at: usize },
    /// The library's own fault.
    #[error("an error in the library: {cause}; please report it")]
    Panic { cause: String },
    /// The same, in an earlier command. With braces, so that its details are an object too.
    #[error(
        "an earlier command met an error in the library, so this stack cannot be relied on; close it and open it again"
    )]
    Broken {},
}

impl Failure {
    fn code(&self) -> (CallstackCode, &'static str) {
        match self {
            Failure::Engine(error) => (code_of(error), error.code()),
            Failure::Null { .. } => (CALLSTACK_ERROR_NULL, "null"),
            Failure::Length { .. } => (CALLSTACK_ERROR_LENGTH, "length"),
            Failure::Utf8 { .. } => (CALLSTACK_ERROR_UTF8, "utf8"),
            Failure::Panic { .. } => (CALLSTACK_ERROR_PANIC, "panic"),
            Failure::Broken {} => (CALLSTACK_ERROR_BROKEN, "broken"),
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
        let details = serde_json::to_string(&failure).expect("details have only string keys and finite numbers");
        Self { code, name: c_string(name), message: c_string(&failure.to_string()), details: c_string(&details) }
    }
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
