//! Texts of the C interface: [`CallstackView`] for texts that the caller keeps, [`CallstackText`] for texts
//! that the library has made.

use std::ffi::c_char;
use std::ptr::{self, NonNull};
use std::slice;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Failure;
use crate::error::Error;
use crate::frame::FrameRef;
use crate::text::{located, without_mark};

/// A text that the library has allocated: `len` bytes of UTF-8 at `data`, followed by a NUL that `len` does
/// not count. The text itself can contain NUL bytes.
///
/// The caller reads it, does not change the fields, and frees it with `callstack_text_free`. Any thread may
/// read or free it.
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

/// A text that the caller keeps: `len` bytes of UTF-8 at `data`, which need not end in NUL. Functions take it
/// by value and read it only during the call. NULL with length 0 means that there is no text: the empty text,
/// or an absent argument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CallstackView {
    /// The first byte.
    pub data: *const c_char,
    /// The length in bytes.
    pub len: usize,
}

impl CallstackView {
    /// No text.
    pub const NONE: Self = Self { data: ptr::null(), len: 0 };

    /// A view of a text.
    pub const fn of(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }

    /// The text. No text is the empty text.
    ///
    /// # Safety
    /// `len` bytes can be read at `data`, if it is not null.
    pub(super) unsafe fn text<'a>(self, argument: &'static str) -> Result<&'a str, Failure> {
        // SAFETY: the caller's promise.
        unsafe { self.optional_text(argument) }.map(Option::unwrap_or_default)
    }

    /// The text, if there is one.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn optional_text<'a>(self, argument: &'static str) -> Result<Option<&'a str>, Failure> {
        let Self { data, len } = self;
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

    /// A reference to a frame, if there is one.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn optional_frame(self, argument: &'static str) -> Result<Option<FrameRef>, Failure> {
        // SAFETY: the caller's promise.
        Ok(unsafe { self.optional_text(argument) }?.map(FrameRef::from))
    }

    /// A record: a JSON object.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn record<T: DeserializeOwned>(self, argument: &'static str) -> Result<T, Failure> {
        // SAFETY: the caller's promise. serde would read an array as the fields in their order.
        from_json(argument, unsafe { self.text(argument) }?, "an object", (b'[', "an array"))
    }

    /// A record. No text gives the defaults.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn optional_record<T: DeserializeOwned + Default>(
        self,
        argument: &'static str,
    ) -> Result<T, Failure> {
        match self.is_none() {
            true => Ok(T::default()),
            // SAFETY: the caller's promise.
            false => unsafe { self.record(argument) },
        }
    }

    /// A list: a JSON array.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn list<T: DeserializeOwned>(self, argument: &'static str) -> Result<Vec<T>, Failure> {
        // SAFETY: the caller's promise. Without this, the first problem would be one within the object.
        from_json(argument, unsafe { self.text(argument) }?, "an array", (b'{', "an object"))
    }

    /// A list, if there is one.
    ///
    /// # Safety
    /// As [`CallstackView::text`].
    pub(super) unsafe fn optional_list<T: DeserializeOwned>(
        self,
        argument: &'static str,
    ) -> Result<Option<Vec<T>>, Failure> {
        // SAFETY: the caller's promise.
        (!self.is_none()).then(|| unsafe { self.list(argument) }).transpose()
    }

    fn is_none(self) -> bool {
        self.data.is_null() && self.len == 0
    }
}

/// True if a list of so many items can be in memory.
pub(super) fn is_possible_list<T>(count: usize) -> bool {
    count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
}

/// The views of a list.
///
/// # Safety
/// `count` views can be read at `first`, if it is not null.
pub(super) unsafe fn views<'a>(
    argument: &'static str,
    first: *const CallstackView,
    count: usize,
) -> Result<&'a [CallstackView], Failure> {
    if !is_possible_list::<CallstackView>(count) {
        return Err(Failure::Length { argument, len: count });
    }
    match first.is_null() {
        true if count == 0 => Ok(&[]),
        true => Err(Failure::Null { argument }),
        // SAFETY: the caller promises that `count` views can be read at `first`, and `count` is possible.
        false => Ok(unsafe { slice::from_raw_parts(first, count) }),
    }
}

/// Reads JSON of one form. `other`: how the form begins that is not meant, and its name.
fn from_json<T: DeserializeOwned>(
    argument: &'static str,
    json: &str,
    expected: &str,
    other: (u8, &str),
) -> Result<T, Failure> {
    match without_mark(json).trim_ascii_start().bytes().next() {
        None => Err(Error::json(argument, format!("it is missing: {expected} is expected")).into()),
        Some(first) if first == other.0 => {
            Err(Error::json(argument, format!("{}, where {expected} is expected", other.1)).into())
        }
        Some(_) => {
            let failed = |error| Error::json(argument, located::<T>(json, &error)).with_source(error).into();
            crate::text::from_json(json).map_err(failed)
        }
    }
}

/// Converts a record to JSON.
pub(super) fn to_json(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records have only string keys and finite numbers")
}
