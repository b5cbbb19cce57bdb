//! Texts of the C interface: input as pointer and length, output as [`CallstackText`].

use std::ffi::c_char;
use std::ptr::{self, NonNull};
use std::slice;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Failure;
use crate::error::Error;
use crate::text::{located, without_mark};

/// A text that the library has allocated: `len` bytes of UTF-8 at `data`, followed by a NUL that `len` does not count.
/// The text itself can contain NUL bytes.
///
/// The caller reads it, does not change the fields, and frees it with `callstack_text_free`. Any thread may read or
/// free it.
#[repr(C)]
#[derive(Debug)]
pub struct CallstackText {
    /// The first byte; NULL if there is no text. An empty text has data.
    pub data: *mut c_char,
    /// The length in bytes.
    pub len: usize,
}

/// Frees a text and empties the struct, so a second call does nothing. `text` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_text_free(text: *mut CallstackText) {
    // SAFETY: a text that is not empty was made below, with one byte more than `len` says.
    unsafe {
        let Some(text) = text.as_mut() else { return };
        if let Some(data) = NonNull::new(text.data) {
            drop(Box::from_raw(ptr::slice_from_raw_parts_mut(data.as_ptr().cast::<u8>(), text.len + 1)));
        }
        *text = CallstackText::NONE;
    }
}

impl CallstackText {
    pub(super) const NONE: Self = Self { data: ptr::null_mut(), len: 0 };

    /// Copies a text.
    pub(super) fn copy(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        Self::of(bytes)
    }

    fn of(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        bytes.push(0);
        Self { data: Box::into_raw(bytes.into_boxed_slice()).cast(), len }
    }
}

impl From<String> for CallstackText {
    fn from(text: String) -> Self {
        Self::of(text.into_bytes())
    }
}

/// Reads an input text. NULL with length 0 is the empty text.
pub(super) unsafe fn text<'a>(argument: &'static str, data: *const c_char, len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    unsafe { optional_text(argument, data, len) }.map(Option::unwrap_or_default)
}

/// Reads an optional input text. NULL with length 0 is `None`.
pub(super) unsafe fn optional_text<'a>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<Option<&'a str>, Failure> {
    if data.is_null() {
        return if len == 0 { Ok(None) } else { Err(Failure::Null { argument }) };
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::Length { argument, len });
    }
    // SAFETY: the caller promises that `len` bytes can be read at `data`, and `len` is possible.
    let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), len) };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(Failure::Utf8 { argument, at: error.valid_up_to() }),
    }
}

/// Reads a list, a JSON array.
pub(super) unsafe fn list<T: DeserializeOwned>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<Vec<T>, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    from_json(argument, unsafe { text(argument, data, len) }?)
}

/// Reads a record, a JSON object.
pub(super) unsafe fn record<T: DeserializeOwned>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<T, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    let json = unsafe { text(argument, data, len) }?;
    if without_mark(json).trim_ascii_start().starts_with('[') {
        // serde would read an array as the fields in their order.
        return Err(Error::json(argument, "an array, where an object is expected").into());
    }
    from_json(argument, json)
}

/// Reads an optional record, a JSON object. NULL with length 0 gives the defaults.
pub(super) unsafe fn optional_record<T: DeserializeOwned + Default>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<T, Failure> {
    if data.is_null() && len == 0 {
        return Ok(T::default());
    }
    // SAFETY: the caller promises as much as the callee asks.
    unsafe { record(argument, data, len) }
}

fn from_json<T: DeserializeOwned>(argument: &'static str, json: &str) -> Result<T, Failure> {
    let failed = |error| Error::json(argument, located::<T>(json, &error)).with_source(error).into();
    crate::text::from_json(json).map_err(failed)
}

/// Converts a record to JSON.
pub(super) fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records have only string keys and finite numbers")
}
