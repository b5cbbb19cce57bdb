//! Stacks of the C interface: opening, closing, and the access of every other function to a stack.

use std::ffi::c_char;
use std::ptr;

use serde::{Deserialize, Serialize};

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::guard::{Output, caught, guard, put};
use super::text::{CallstackText, optional_record, record, text, to_json};
use crate::context::{self, CacheStatistics};
use crate::error::Error;
use crate::frame::{Handle, Repair, StackState};
use crate::stack::{Stack, StackOptions};
use crate::store::{Durability, LogLimits, MemoryStore, MirrorStatus};

/// A call stack: a tree of frames, in a folder or in memory.
///
/// Any thread may call any function with it at any time; commands run one after the other, and queries do not wait
/// for the disk (exceptions are in their descriptions). Only `callstack_close` must be the last call and must run
/// alone. Any number of processes may open the same folder, each any number of times.
pub struct Callstack {
    stack: Stack,
    /// The parts of the initial state that could not be read.
    unreadable: Vec<Repair>,
}

const _: () = {
    const fn any_thread_may_use_it<T: Send + Sync>() {}
    any_thread_may_use_it::<Callstack>();
    any_thread_may_use_it::<CallstackError>();
};

impl Callstack {
    pub(super) fn new(stack: Stack, unreadable: Vec<Repair>) -> Self {
        Self { stack, unreadable }
    }

    /// Runs the body of a query.
    ///
    /// # Safety
    /// `stack` is null or not closed; `out` and `error` are null or can be written to.
    pub(super) unsafe fn read<O: Output>(
        stack: *const Self,
        out: O,
        error: *mut *mut CallstackError,
        body: impl FnOnce(&Stack) -> Result<O::Value, Failure>,
    ) -> CallstackCode {
        // SAFETY: the caller's promise.
        unsafe { guard(out, error, || body(&Self::working(stack)?.stack)) }
    }

    /// Runs the body of a command. After a panic in a command the stack itself refuses all later calls.
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
                caught(|| body(&callstack.stack)).unwrap_or_else(Err)
            })
        }
    }

    /// Runs the body of a function that makes a stack of another one.
    ///
    /// # Safety
    /// As [`Callstack::read`].
    pub(super) unsafe fn derived(
        stack: *const Self,
        out_stack: *mut *mut Callstack,
        error: *mut *mut CallstackError,
        body: impl FnOnce(&Stack) -> Result<Stack, Failure>,
    ) -> CallstackCode {
        // SAFETY: the caller's promise.
        unsafe { made(out_stack, error, || Ok(Self::new(body(&Self::working(stack)?.stack)?, Vec::new()))) }
    }

    unsafe fn working<'a>(stack: *const Self) -> Result<&'a Self, Failure> {
        // SAFETY: a stack that is not null is not closed.
        let callstack = unsafe { stack.as_ref() }.ok_or(Failure::Null { argument: "stack" })?;
        if callstack.stack.is_broken() {
            return Err(Error::Broken {}.into());
        }
        Ok(callstack)
    }
}

/// A new stack. The caller must pass a pointer for it.
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

/// Runs the body of a function that makes a stack.
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

/// The options of `callstack_open` and `callstack_rebuild`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct FolderOptions {
    durability: Durability,
    busy_timeout: Option<u64>,
    mirror: Option<bool>,
    state_file_frames: Option<usize>,
    finished_frames: Option<usize>,
    counter: Option<String>,
}

impl TryFrom<FolderOptions> for StackOptions {
    type Error = Error;

    fn try_from(options: FolderOptions) -> Result<Self, Error> {
        let defaults = options_with(options.counter.as_deref())?;
        Ok(Self {
            durability: options.durability,
            busy_timeout: options.busy_timeout.unwrap_or(defaults.busy_timeout),
            mirror: options.mirror.unwrap_or(defaults.mirror),
            state_file_frames: options.state_file_frames.unwrap_or(defaults.state_file_frames),
            finished_frames: options.finished_frames.unwrap_or(defaults.finished_frames),
            ..defaults
        })
    }
}

/// The options of `callstack_in_memory`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct MemoryOptions {
    counter: Option<String>,
    history: bool,
}

/// The options of `callstack_from_state`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct StateOptions {
    counter: Option<String>,
}

/// Returns the default options with the token counter of this name.
fn options_with(counter: Option<&str>) -> Result<StackOptions, Error> {
    let options = StackOptions::default();
    Ok(match counter {
        Some(name) => options.counter(context::counter(name)?),
        None => options,
    })
}

/// Reads the required path of a folder.
unsafe fn folder_path<'a>(folder: *const c_char, folder_len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    match unsafe { text("folder", folder, folder_len) }? {
        "" => Err(Error::Empty { field: "folder" }.into()),
        folder => Ok(folder),
    }
}

/// Opens the stack in a folder. Creates the folder and the stack if they do not exist. Files of the original plugin
/// (state.json, frames/) are imported once, if the folder has no database; the originals are kept in before-import/.
///
/// - `folder`: a path, absolute or relative to the working directory. Must not be empty.
/// - `options`: NULL, or a JSON object such as `{"durability": "full", "busyTimeout": 2000}`, with any of
///   - `"durability"`: `"normal"` (the default: acknowledged commits survive the death of the process, but a power
///     loss can remove the last ones) or `"full"` (acknowledged commits also survive a power loss);
///   - `"busyTimeout"`: how long a call waits in all, in milliseconds: for commands of other threads, for other processes,
///     and for the locks of files; then it returns _BUSY. Default 10000;
///   - `"mirror"`: whether state.json and frames/ are kept up to date beside the database; default true;
///   - `"stateFileFrames"`: the number of frames above which state.json is left to `callstack_flush` and to other
///     processes, for programs that make one change and end; default: it is always written;
///   - `"finishedFrames"`: how many frames of finished trees stay in memory at most; the others are read from the database
///     when they are asked for; default 4096;
///   - `"counter"`: the token counter, `"approx"` (default: an estimate), `"chars4"` (a token for four characters), or
///     `"o200k"` (exact; only if the library was built with the feature `tokenizer`, else the error is _SETTING).
/// - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _EMPTY for the folder, _JSON and _SETTING for the options, and the storage errors. _DAMAGED and _VERSION mean that a
/// file cannot be read or is from a newer version; the file was not changed.
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
        open_with((folder, folder_len), (options, options_len), out_stack, error, |folder, options| {
            Stack::open(folder, options)
        })
    }
}

/// Opens a stack as `callstack_open` does, but by `open`, which gets the place and the options. For C functions of other crates, whose
/// stacks are in other stores.
///
/// # Safety
/// As the header says of `callstack_open`: each text is null or has so many bytes, `out_stack` and `error` are null or can be written
/// to.
pub unsafe fn open_with(
    (place, place_len): (*const c_char, usize),
    (options, options_len): (*const c_char, usize),
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
    open: impl FnOnce(&str, StackOptions) -> Result<Stack, Error>,
) -> CallstackCode {
    // SAFETY: the caller's promise.
    unsafe {
        made(out_stack, error, || {
            let place = folder_path(place, place_len)?;
            let options: FolderOptions = optional_record("options", options, options_len)?;
            Ok(Callstack::new(open(place, options.try_into()?)?, Vec::new()))
        })
    }
}

/// Makes an empty stack in memory.
///
/// - `options`: NULL, or a JSON object such as `{"history": true}`, with any of `"counter"` (as for `callstack_open`)
///   and `"history"` (whether the stack keeps its events for `callstack_history`; default false).
/// - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _JSON and _SETTING for the options.
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
            let MemoryOptions { counter, history } = optional_record("options", options, options_len)?;
            let options = options_with(counter.as_deref())?;
            let stack = match history {
                false => Stack::with_options(options),
                true => Stack::with_store(MemoryStore::new(), options)?,
            };
            Ok(Callstack::new(stack, Vec::new()))
        })
    }
}

/// Makes a stack in memory from a state. Unreadable or inconsistent parts of the state are repaired, and no frame is
/// lost; `callstack_info` lists the repairs. A `logPath` that leads outside of a stack's folder is removed, and contexts name a
/// log only after `callstack_set_log_path`.
///
/// - `state`: the JSON of `callstack_state` or of a file state.json.
/// - `options`: NULL, or a JSON object with `"counter"` (as for `callstack_open`).
/// - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _JSON if `state` is not a state, _JSON and _SETTING for the options; _VERSION if a newer version wrote the state.
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
            let StateOptions { counter } = optional_record("options", options, options_len)?;
            let (state, unreadable) = StackState::from_json(state).map_err(Error::from)?;
            let options = options_with(counter.as_deref())?;
            Ok(Callstack::new(Stack::from_state(state, options).0, unreadable))
        })
    }
}

/// Makes a stack from an exported history in a folder that has no stack yet: the same frames with the same handles,
/// and the same history.
///
/// - `folder`: a path, as for `callstack_open`.
/// - `history`: the text of `callstack_export_history`.
/// - `options`: NULL, or a JSON object as for `callstack_open`.
/// - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _NOT_EMPTY if the folder has a state.json or a database with events; _JSON (names the line) and _HISTORY
/// (names the event) for the history; those of `callstack_open`.
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
            Ok(Callstack::new(Stack::rebuild(folder, history.as_bytes(), options.try_into()?)?, Vec::new()))
        })
    }
}

/// Flushes the stack as `callstack_flush` does, frees it, and sets the pointer to NULL, so a second call does nothing.
///
/// - `stack`: the pointer to the stack. May be NULL, and may point to NULL. No other call may use the stack at the
///   same time or later.
///
/// The stack is freed in any case, also if the function returns an error. A broken stack is freed without a flush.
///
/// Errors: those of `callstack_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_close(stack: *mut *mut Callstack, error: *mut *mut CallstackError) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract; what is not null was made by `Output::fill`.
    unsafe {
        guard((), error, || {
            let Some(place) = stack.as_mut().filter(|place| !place.is_null()) else { return Ok(()) };
            let callstack = Box::from_raw(std::mem::replace(place, ptr::null_mut()));
            if callstack.stack.is_broken() {
                return Ok(());
            }
            Ok(callstack.stack.close()?)
        })
    }
}

/// Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power loss, and
/// brings state.json and the files of the frames up to date. A stack in memory has nothing to write.
///
/// Errors: the storage errors. An error of the files is also in `callstack_info`, as `mirror.error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_flush(stack: *mut Callstack, error: *mut *mut CallstackError) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.flush()?)) }
}

/// Makes visible to queries what other processes have committed since the last command or refresh. Commands do the
/// same by themselves. Takes a few microseconds if there is nothing new.
///
/// - `out_is_new`: 1 if there was something new, else 0.
///
/// Errors: the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_refresh(
    stack: *mut Callstack,
    out_is_new: *mut i32,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, out_is_new, error, |stack| Ok(stack.refresh()?)) }
}

/// The limits of `callstack_compact_history`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompactionLimits {
    before: u64,
}

/// Replaces the events of finished trees by their last state, so that the database becomes smaller. Frames, handles, contexts
/// and logs stay as they are. `callstack_history` no longer has these events; `callstack_export_history` writes the frames in their
/// place, so that `callstack_rebuild` still makes the same stack.
///
/// - `limits`: a JSON object, `{"before": 1795293106903}`: trees in which nothing is unfinished, and whose last event has an
///   earlier time, in milliseconds since the Unix epoch.
/// - `out_compaction`: a JSON object, `{"trees": 120, "events": 18304, "bytesBefore": 52428800, "bytesAfter": 9437184}`: the
///   number of trees whose events were removed, the number of these events, and the size of the database in bytes.
///
/// Takes some seconds for a million events. Most of it does not keep other commands waiting.
///
/// Errors: _JSON for the limits, _IN_MEMORY if the stack has no database, _DAMAGED if the events do not give the state that the
/// database has; the storage errors. After an error the history is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_compact_history(
    stack: *mut Callstack,
    limits: *const c_char,
    limits_len: usize,
    out_compaction: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_compaction, error, |stack| {
            let CompactionLimits { before } = record("limits", limits, limits_len)?;
            Ok(to_json(&stack.compact_history(before)?))
        })
    }
}

/// Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
///
/// - `limits`: a JSON object, `{"before": 1795293106903, "bytes": 500000000}`, with any of
///   - `"before"`: removes logs to which nothing was appended since this time, in milliseconds since the Unix epoch;
///   - `"bytes"`: removes the oldest logs, until all together have at most this size.
/// - `out_pruned`: a JSON object, `{"files": 12, "bytes": 340000, "left": 5100000}`: the number of logs that were removed, their
///   size, and the size of those that are left, in bytes.
///
/// Errors: _JSON for the limits, _IN_MEMORY if the stack has no folder; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_prune_logs(
    stack: *mut Callstack,
    limits: *const c_char,
    limits_len: usize,
    out_pruned: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_pruned, error, |stack| {
            let limits: LogLimits = record("limits", limits, limits_len)?;
            Ok(to_json(&stack.prune_logs(limits)?))
        })
    }
}

/// The record of `callstack_info`.
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

/// Returns figures about the stack, as the last command left them. Does not wait for a command that is running.
///
/// - `out_info`: a JSON object, `{"revision": 9, "frames": 3, "active": "f2", "cache": {"hits": 5, "misses": 2,
///   "entries": 2}, "mirror": {"revision": 9, "staleFrames": 0, "error": null}, "repairs": []}`:
///   - `revision`: number of events that the tree has seen; `frames`: number of frames;
///   - `active`: handle of the active frame, or null;
///   - `cache`: statistics of the context cache;
///   - `mirror`: null if the stack keeps no mirror, else the revision that state.json holds, the number of frames whose
///     files are out of date, and the message of the last failed write, or null;
///   - `repairs`: problems in the files or the state from which the stack was made, `[{"frame": "ses_1", "message":
///     "…"}]`; `frame` can be null.
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
            let (revision, frames, active) = stack.look(|tree| (tree.revision(), tree.len(), tree.active()));
            let repairs = unreadable.iter().chain(stack.repairs()).collect();
            let (cache, mirror) = (stack.cache_statistics(), stack.mirror_status());
            Ok(to_json(&Info { revision, frames, active, cache, mirror, repairs }))
        })
    }
}
