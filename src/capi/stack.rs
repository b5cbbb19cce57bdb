//! Stacks across the border: how they come, how they go, and how every other function gets at one.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::guard::{Output, caught, guard, put};
use super::text::{CallstackText, optional_record, text, to_json};
use crate::context::{Approx, CacheStatistics, Chars4, TokenCounter};
use crate::error::Error;
use crate::frame::{Handle, Repair, StackState};
use crate::stack::{Stack, StackOptions};
use crate::store::{Durability, MemoryStore, MirrorStatus};

/// A call stack: a tree of frames, in a folder or in memory.
///
/// Any thread may call any function with it at any time; commands are carried out one after the other,
/// and readers never wait for the disk. Only `callstack_close` must come alone and last. A folder may be
/// open any number of times, in any number of processes.
pub struct Callstack {
    stack: Stack,
    /// What could not be read in the state that the stack began with.
    unreadable: Vec<Repair>,
    /// A command has panicked, perhaps halfway through.
    is_broken: AtomicBool,
}

const _: () = {
    const fn any_thread_may_use_it<T: Send + Sync>() {}
    any_thread_may_use_it::<Callstack>();
    any_thread_may_use_it::<CallstackError>();
};

impl Callstack {
    pub(super) fn new(stack: Stack, unreadable: Vec<Repair>) -> Self {
        Self { stack, unreadable, is_broken: AtomicBool::new(false) }
    }

    /// Runs a body that only looks.
    ///
    /// # Safety
    /// `stack` is null or not closed yet; `out` and `error` are null or can be written to.
    pub(super) unsafe fn read<O: Output>(
        stack: *const Self,
        out: O,
        error: *mut *mut CallstackError,
        body: impl FnOnce(&Stack) -> Result<O::Value, Failure>,
    ) -> CallstackCode {
        // SAFETY: the caller's promise.
        unsafe { guard(out, error, || body(&Self::working(stack)?.stack)) }
    }

    /// Runs a body that changes something. If it panics, nobody knows how far it came, so nothing is
    /// asked of the stack any more.
    ///
    /// # Safety
    /// As [`Callstack::read`].
    pub(super) unsafe fn write<O: Output>(
        stack: *mut Self,
        out: O,
        error: *mut *mut CallstackError,
        body: impl FnOnce(&Stack) -> Result<O::Value, Failure>,
    ) -> CallstackCode {
        // SAFETY: the caller's promise.
        unsafe {
            guard(out, error, || {
                let callstack = Self::working(stack)?;
                caught(|| body(&callstack.stack)).unwrap_or_else(|failure| {
                    callstack.is_broken.store(true, Ordering::Release);
                    callstack.stack.abandon();
                    Err(failure)
                })
            })
        }
    }

    unsafe fn working<'a>(stack: *const Self) -> Result<&'a Self, Failure> {
        // SAFETY: a stack that is not null is not closed.
        let callstack = unsafe { stack.as_ref() }.ok_or(Failure::Null { argument: "stack" })?;
        if callstack.is_broken.load(Ordering::Acquire) {
            return Err(Failure::Broken {});
        }
        Ok(callstack)
    }
}

/// A new stack for the caller, who must want it.
impl Output for *mut *mut Callstack {
    type Value = Callstack;

    unsafe fn empty(self) {
        // SAFETY: the caller's promise.
        unsafe { put(self, ptr::null_mut()) }
    }

    unsafe fn fill(self, value: Callstack) {
        // SAFETY: the caller's promise.
        unsafe { put(self, Box::into_raw(Box::new(value))) }
    }
}

/// Runs a body that makes a stack.
unsafe fn made(
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
    body: impl FnOnce() -> Result<Callstack, Failure>,
) -> CallstackCode {
    // SAFETY: the caller's promise.
    unsafe {
        guard(out_stack, error, || match out_stack.is_null() {
            true => Err(Failure::Null { argument: "out_stack" }),
            false => body(),
        })
    }
}

/// What a stack in a folder is opened with.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct FolderOptions {
    durability: Durability,
    busy_timeout: Option<u64>,
    mirror: Option<bool>,
    tokens: Tokens,
}

impl From<FolderOptions> for StackOptions {
    fn from(options: FolderOptions) -> Self {
        let defaults = StackOptions::default();
        Self {
            durability: options.durability,
            busy_timeout: options.busy_timeout.unwrap_or(defaults.busy_timeout),
            mirror: options.mirror.unwrap_or(defaults.mirror),
            counter: options.tokens.counter(),
            ..defaults
        }
    }
}

/// What a stack in memory is made with.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct MemoryOptions {
    tokens: Tokens,
    history: bool,
}

/// What a stack in memory that begins with a state is made with.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct StateOptions {
    tokens: Tokens,
}

/// The token counters by name.
#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "camelCase")]
enum Tokens {
    #[default]
    Approx,
    Chars4,
    #[cfg(feature = "tokenizer")]
    O200k,
}

impl Tokens {
    fn counter(self) -> Arc<dyn TokenCounter> {
        match self {
            Tokens::Approx => Arc::new(Approx),
            Tokens::Chars4 => Arc::new(Chars4),
            #[cfg(feature = "tokenizer")]
            Tokens::O200k => Arc::new(crate::context::O200k),
        }
    }

    fn stack_options(self) -> StackOptions {
        StackOptions { counter: self.counter(), ..StackOptions::default() }
    }
}

/// The path of a folder, which must be given.
unsafe fn folder_path<'a>(folder: *const c_char, folder_len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    match unsafe { text("folder", folder, folder_len) }? {
        "" => Err(Error::Empty { field: "folder" }.into()),
        folder => Ok(folder),
    }
}

/// Opens the stack of a folder, and makes both if they are not there.
///
/// - `folder`: a path, absolute or relative to the working directory.
/// - `options`: NULL, or a JSON object with any of
///   - `"durability"`: `"normal"` (what was acknowledged survives the death of the process; the default) or
///     `"full"` (a loss of power too);
///   - `"busyTimeout"`: how long a command waits for other processes, in milliseconds; 10000;
///   - `"mirror"`: whether state.json and frames/ are kept up to date beside the database; true;
///   - `"tokens"`: how tokens are counted, `"approx"` or `"chars4"` (or `"o200k"`, if the library was
///     built with the feature `tokenizer`).
/// - `out_stack`: the stack, to be closed with `callstack_close`. Must not be NULL.
///
/// Errors: CALLSTACK_ERROR_DAMAGED and _VERSION if a file cannot be read or is of a newer version (it
/// is then as it was), _READ_ONLY, _DISK_FULL, _BUSY, _IO; _EMPTY for the folder, _JSON for the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_open(
    folder: *const c_char,
    folder_len: usize,
    options: *const c_char,
    options_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let folder = folder_path(folder, folder_len)?;
            let options: FolderOptions = optional_record("options", options, options_len)?;
            Ok(Callstack::new(Stack::open(folder, options.into())?, Vec::new()))
        })
    }
}

/// Makes an empty stack in memory.
///
/// - `options`: NULL, or a JSON object with any of `"tokens"` (as for `callstack_open`) and `"history"`
///   (whether the stack keeps its events, as those in folders do; false).
/// - `out_stack`: the stack, to be closed with `callstack_close`. Must not be NULL.
///
/// Errors: CALLSTACK_ERROR_JSON for the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_in_memory(
    options: *const c_char,
    options_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let MemoryOptions { tokens, history } = optional_record("options", options, options_len)?;
            let stack = match history {
                false => Stack::with_options(tokens.stack_options()),
                true => Stack::with_store(MemoryStore::new(), tokens.stack_options())?,
            };
            Ok(Callstack::new(stack, Vec::new()))
        })
    }
}

/// Makes a stack in memory that begins with a state, JSON as `callstack_state` gives it or as state.json
/// holds it. What was unreadable or inconsistent is mended; `callstack_info` lists it. No frame is lost.
///
/// `options` is NULL, or a JSON object with `"tokens"` as for `callstack_open`.
///
/// Errors: CALLSTACK_ERROR_JSON for a text that is no state, _VERSION for one of a newer version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_from_state(
    state: *const c_char,
    state_len: usize,
    options: *const c_char,
    options_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let state = text("state", state, state_len)?;
            let StateOptions { tokens } = optional_record("options", options, options_len)?;
            let (state, unreadable) = StackState::from_json(state).map_err(Error::from)?;
            Ok(Callstack::new(Stack::from_state(state, tokens.stack_options()).0, unreadable))
        })
    }
}

/// Makes the stack of a history in an empty folder: the same frames with the same handles and the same
/// history. `history` is what `callstack_export_history` has written, `options` as for `callstack_open`.
///
/// Errors: CALLSTACK_ERROR_NOT_EMPTY; _JSON and _HISTORY, which name the line or the event; those of
/// `callstack_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_rebuild(
    folder: *const c_char,
    folder_len: usize,
    history: *const c_char,
    history_len: usize,
    options: *const c_char,
    options_len: usize,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let folder = folder_path(folder, folder_len)?;
            let history = text("history", history, history_len)?;
            let options: FolderOptions = optional_record("options", options, options_len)?;
            Ok(Callstack::new(Stack::rebuild(folder, history.as_bytes(), options.into())?, Vec::new()))
        })
    }
}

/// Flushes the stack and frees it, and sets the pointer to it to NULL, so that closing it again does
/// nothing. NULL does nothing, nor does a pointer to NULL. No other call may be using the stack.
///
/// The stack is freed whatever the code; an error says what `callstack_flush` could not write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_close(stack: *mut *mut Callstack, error: *mut *mut CallstackError) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract; what is not null was made by `Output::fill`.
    unsafe {
        guard((), error, || {
            let Some(place) = stack.as_mut().filter(|place| !place.is_null()) else { return Ok(()) };
            let callstack = Box::from_raw(std::mem::replace(place, ptr::null_mut()));
            if callstack.is_broken.into_inner() {
                return Ok(());
            }
            Ok(callstack.stack.close()?)
        })
    }
}

/// Brings everything to the disk: state.json and the frames' files show what the tree shows, and all
/// that was acknowledged survives a loss of power. In memory there is nothing to do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_flush(stack: *mut Callstack, error: *mut *mut CallstackError) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.flush()?)) }
}

/// Shows readers what other processes have done since the last command or refresh. Commands see it
/// anyway. When there is nothing new it costs a few microseconds.
///
/// - `out_is_new`: 1 if there was something new, else 0. May be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_refresh(
    stack: *mut Callstack,
    out_is_new: *mut i32,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_is_new, error, |stack| Ok(stack.refresh()?)) }
}

/// How a stack is doing.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    revision: u64,
    frames: usize,
    active: Option<Handle>,
    cache: CacheStatistics,
    mirror: Option<MirrorStatus>,
    repairs: Vec<&'a Repair>,
}

/// How the stack is doing.
///
/// - `out_info`: a JSON object: `"revision"` (how many events the tree has seen), `"frames"` (how many there
///   are), `"active"` (a handle or null), `"cache"` (`{"hits", "misses", "entries"}` of contexts),
///   `"mirror"` (null, or `{"revision", "staleFrames", "error"}`: what state.json holds, how many frames'
///   files are behind, and why they could not be written, or null), `"repairs"` (what was wrong with the
///   files or the state that the stack began with: `[{"frame", "message"}]`, where frame may be null).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_info(
    stack: *const Callstack,
    out_info: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        let unreadable = stack.as_ref().map_or(&[][..], |callstack| &callstack.unreadable);
        Callstack::read(stack, out_info, error, |stack| {
            let (revision, frames, active) = stack.read(|tree| (tree.revision(), tree.len(), tree.active()));
            let repairs = unreadable.iter().chain(stack.repairs()).collect();
            let (cache, mirror) = (stack.cache_statistics(), stack.mirror_status());
            Ok(to_json(&Info { revision, frames, active, cache, mirror, repairs }))
        })
    }
}
