//! The C function that opens stacks in PostgreSQL. The library that has it also has all functions of
//! `callstack.h`.
#![allow(unsafe_code)]

use callstack_core::Stack;
use callstack_core::capi::code::CallstackCode;
use callstack_core::capi::error::CallstackError;
use callstack_core::capi::stack::{Callstack, open_with};
use callstack_core::capi::text::CallstackView;

use crate::server::OpenUrl;

/// Opens the stack of a URL, `postgres://HOST/DATABASE/STACK`, which is made if it does not exist. Declared
/// in `callstack_postgres.h`.
///
/// - `url` (text): see [`StackUrl`](crate::StackUrl). Must not be empty.
/// - `options` (StackOptions, optional): as for `callstack_open`. `"mirror"` needs the option of the URL with
///   this name.
/// - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _EMPTY and _SETTING for the URL, _JSON and _SETTING for the options, _DISCONNECTED if the server
/// cannot be reached, and the storage errors.
///
/// # Safety
/// Each text is null or has the given number of bytes; `out_stack` and `error` are null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_open_url(
    url: CallstackView,
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { open_with(url, options, out_stack, error, Stack::open_url) }
}
