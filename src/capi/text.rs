//! Texts across the border: in as pointer and length, out as [`CallstackText`].

use std::ffi::c_char;
use std::ptr::{self, NonNull};
use std::slice;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Failure;
use crate::error::Error;

/// A text that the library has made: `len` bytes of UTF-8 at `data`, and a NUL behind them that `len`
/// does not count (the text itself may hold some).
///
/// The memory belongs to the library. Give the struct to `callstack_text_free` when it has been read,
/// and change neither field before. Any thread may read and free it.
#[repr(C)]
#[derive(Debug)]
pub struct CallstackText {
    /// The first byte; NULL if there is no text.
    pub data: *mut c_char,
    /// How many bytes there are.
    pub len: usize,
}

/// Frees a text and empties the struct, so that freeing it again does nothing. NULL does nothing.
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

    /// A copy of a text.
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

/// A text of the caller's. NULL with a length of 0 is the empty text.
pub(super) unsafe fn text<'a>(argument: &'static str, data: *const c_char, len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    unsafe { optional_text(argument, data, len) }.map(Option::unwrap_or_default)
}

/// A text of the caller's, or none: NULL with a length of 0.
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

/// A list of the caller's, a JSON array.
pub(super) unsafe fn list<T: DeserializeOwned>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<Vec<T>, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    from_json(argument, unsafe { text(argument, data, len) }?)
}

/// A record of the caller's, a JSON object.
pub(super) unsafe fn record<T: DeserializeOwned>(
    argument: &'static str,
    data: *const c_char,
    len: usize,
) -> Result<T, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    let json = unsafe { text(argument, data, len) }?;
    if json.trim_ascii_start().starts_with('[') {
        // serde would take it for the fields in their order.
        return Err(Error::Json { what: argument, message: "an array, where an object is expected".into() }.into());
    }
    from_json(argument, json)
}

/// A record of the caller's, a JSON object; NULL stands for the defaults.
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
    serde_json::from_str(json).map_err(|error| Error::Json { what: argument, message: error.to_string() }.into())
}

/// A record for the caller, in JSON.
pub(super) fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records have only string keys and finite numbers")
}
