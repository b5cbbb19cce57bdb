//! The wrapper around the body of every function of the C interface: it empties the outputs, runs the body,
//! catches panics, and writes either the outputs or the error object.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::code::{CALLSTACK_OK, CallstackCode};
use super::error::{CallstackError, Failure};
use super::text::CallstackText;

/// The output arguments of a function.
pub(super) trait Output: Copy {
    /// The value that the body of the function returns.
    type Value;

    /// Empties the outputs, so that a failed call leaves no old values there.
    ///
    /// # Safety
    /// Pointers that are not null can be written to.
    unsafe fn empty(self);

    /// Writes the value to the outputs.
    ///
    /// # Safety
    /// As [`Output::empty`].
    unsafe fn fill(self, value: Self::Value);
}

/// A function without outputs.
impl Output for () {
    type Value = ();

    unsafe fn empty(self) {}

    unsafe fn fill(self, (): ()) {}
}

/// A text; no text is made if the pointer is null.
impl Output for *mut CallstackText {
    type Value = String;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { put(self, CallstackText::NONE) }
    }

    unsafe fn fill(self, value: String) {
        if !self.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(self, value.into()) }
        }
    }
}

/// Two outputs.
impl<A: Output, B: Output> Output for (A, B) {
    type Value = (A::Value, B::Value);

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.empty();
            self.1.empty();
        }
    }

    unsafe fn fill(self, value: Self::Value) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.fill(value.0);
            self.1.fill(value.1);
        }
    }
}

/// A flag, 0 or 1.
impl Output for *mut i32 {
    type Value = bool;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { put(self, 0) }
    }

    unsafe fn fill(self, value: bool) {
        // SAFETY: the caller's promise.
        unsafe { put(self, value.into()) }
    }
}

/// A number.
impl Output for *mut u64 {
    type Value = u64;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { put(self, 0) }
    }

    unsafe fn fill(self, value: u64) {
        // SAFETY: the caller's promise.
        unsafe { put(self, value) }
    }
}

/// Writes to a pointer, unless it is null.
///
/// # Safety
/// If the pointer is not null, it can be written to.
pub(super) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) }
    }
}

/// Runs the body of a function. An error or a panic becomes a code and, if the caller passed a pointer for
/// it, an error object.
///
/// # Safety
/// `out` and `error` can be written to where they are not null.
pub(super) unsafe fn guard<O: Output>(
    out: O,
    error: *mut *mut CallstackError,
    body: impl FnOnce() -> Result<O::Value, Failure>,
) -> CallstackCode {
    // SAFETY: the caller's promise.
    unsafe {
        put(error, ptr::null_mut());
        out.empty();
        match caught(|| body().map(|value| out.fill(value))).and_then(|outcome| outcome) {
            Ok(()) => CALLSTACK_OK,
            Err(failure) => {
                let made = CallstackError::from(failure);
                let code = made.code();
                if !error.is_null() {
                    error.write(Box::into_raw(Box::new(made)));
                }
                code
            }
        }
    }
}

/// Runs a body and converts a panic to [`Failure::Panic`].
pub(super) fn caught<T>(body: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| Failure::Panic { cause: cause(&*panic) })
}

fn cause(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason was given").to_owned()
}
