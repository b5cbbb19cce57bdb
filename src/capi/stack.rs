//! Stacks of the C interface: opening, closing, and the access of every other function to a stack.

use std::ptr;

use super::code::CallstackCode;
use super::error::{CallstackError, Failure};
use super::guard::{Output, caught, guard, put};
use super::known_settings::KnownSettings;
use super::record::{CompactionLimits, FolderOptions, MemoryOptions, StackInfo, StateOptions};
use super::text::{CallstackText, CallstackView, to_json};
use crate::error::Error;
use crate::frame::{Repair, StackState};
use crate::stack::{Stack, StackOptions};
use crate::store::{LogLimits, MemoryStore};

/// A call stack: a tree of frames, in a folder or in memory.
///
/// Any thread may call any function with it at any time; commands run one after the other, and queries do not
/// wait for the disk (exceptions are in their descriptions). Only `callstack_close` must be the last call and
/// must run alone. Any number of processes may open the same folder, each any number of times.
pub struct Callstack {
    stack: Stack,
    /// The parts of the initial state that could not be read.
    unreadable: Vec<Repair>,
    /// The settings of contexts that callers have passed last.
    settings: KnownSettings,
}

const _: () = {
    const fn any_thread_may_use_it<T: Send + Sync>() {}
    any_thread_may_use_it::<Callstack>();
    any_thread_may_use_it::<CallstackError>();
};

impl Callstack {
    pub(super) fn new(stack: Stack, unreadable: Vec<Repair>) -> Self {
        Self { stack, unreadable, settings: KnownSettings::default() }
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

    /// Runs the body of a query that makes contexts.
    ///
    /// # Safety
    /// As [`Callstack::read`].
    pub(super) unsafe fn read_contexts<O: Output>(
        stack: *const Self,
        out: O,
        error: *mut *mut CallstackError,
        body: impl FnOnce(&Stack, &KnownSettings) -> Result<O::Value, Failure>,
    ) -> CallstackCode {
        // SAFETY: the caller's promise.
        unsafe {
            guard(out, error, || {
                let callstack = Self::working(stack)?;
                body(&callstack.stack, &callstack.settings)
            })
        }
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

/// Reads the required path of a folder.
unsafe fn folder_path<'a>(folder: CallstackView) -> Result<&'a str, Failure> {
    // SAFETY: the caller promises as much as the callee asks.
    match unsafe { folder.text("folder") }? {
        "" => Err(Error::Empty { field: "folder" }.into()),
        folder => Ok(folder),
    }
}

/// Opens the stack in a folder. Creates the folder and the stack if they do not exist. Files of the original
/// plugin (`state.json`, `frames/`) are imported once, if the folder has no database; the originals are kept
/// in `before-import/`.
///
/// - `folder` (text): a path, absolute or relative to the working directory. Must not be empty.
/// - `options` (StackOptions, optional): how the stack is stored.
/// - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _EMPTY for the folder, _JSON and _SETTING for the options; _DAMAGED and _VERSION if a file cannot
/// be read or comes from a newer version (the file is not changed); the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_open(
    folder: CallstackView,
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { open_with(folder, options, out_stack, error, |folder, options| Stack::open(folder, options)) }
}

/// Opens a stack as `callstack_open` does, but by `open`, which gets the place and the options. For C
/// functions of other crates, whose stacks are in other stores.
///
/// # Safety
/// As the header says of `callstack_open`: each text has the length that it states, `out_stack` and `error`
/// are null or can be written to.
pub unsafe fn open_with(
    place: CallstackView,
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
    open: impl FnOnce(&str, StackOptions) -> Result<Stack, Error>,
) -> CallstackCode {
    // SAFETY: the caller's promise.
    unsafe {
        made(out_stack, error, || {
            let place = folder_path(place)?;
            let options: FolderOptions = options.optional_record("options")?;
            Ok(Callstack::new(open(place, options.try_into()?)?, Vec::new()))
        })
    }
}

/// Makes an empty stack in memory. Nothing is written to the disk.
///
/// - `options` (MemoryOptions, optional): what the stack keeps.
/// - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _JSON and _SETTING for the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_in_memory(
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let memory: MemoryOptions = options.optional_record("options")?;
            let options = memory.stack_options()?;
            let stack = match memory.history {
                false => Stack::with_options(options),
                true => Stack::with_store(MemoryStore::new(), options)?,
            };
            Ok(Callstack::new(stack, Vec::new()))
        })
    }
}

/// Makes a stack in memory from a state. Unreadable or inconsistent parts of the state are repaired, and no
/// frame is lost: `callstack_info` lists the repairs. A `logPath` that leads outside of a stack's folder is
/// removed, and contexts name a log only after `callstack_set_log_path`.
///
/// - `state` (StackState): the JSON of `callstack_state` or of a file `state.json`.
/// - `options` (StateOptions, optional): how tokens are counted.
/// - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _JSON if `state` is not a state; _JSON and _SETTING for the options; _VERSION if a newer version
/// wrote the state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_from_state(
    state: CallstackView,
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let state = state.text("state")?;
            let options: StateOptions = options.optional_record("options")?;
            let (state, unreadable) = StackState::from_json(state).map_err(Error::from)?;
            Ok(Callstack::new(Stack::from_state(state, options.stack_options()?).0, unreadable))
        })
    }
}

/// Makes a stack from an exported history in a folder that has no stack yet: the same frames with the same
/// handles, and the same history.
///
/// - `folder` (text): a path, as for `callstack_open`.
/// - `history` (text): the text of `callstack_export_history`.
/// - `options` (StackOptions, optional): how the stack is stored.
/// - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
///
/// Errors: _NOT_EMPTY if the folder has a `state.json` or a database with events; _JSON (names the line) and
/// _HISTORY (names the event) for the history; _EMPTY for the folder, _JSON and _SETTING for the options; the
/// storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_rebuild(
    folder: CallstackView,
    history: CallstackView,
    options: CallstackView,
    out_stack: *mut *mut Callstack,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        made(out_stack, error, || {
            let folder = folder_path(folder)?;
            let history = history.text("history")?;
            let options: FolderOptions = options.optional_record("options")?;
            Ok(Callstack::new(Stack::rebuild(folder, history.as_bytes(), options.try_into()?)?, Vec::new()))
        })
    }
}

/// Flushes the stack as `callstack_flush` does, frees it, and sets the pointer to NULL, so a second call does
/// nothing.
///
/// - `stack`: the pointer to the stack. May be NULL, and may point to NULL. No other call may use the stack
///   at the same time or later.
///
/// The stack is freed in any case, also if the function returns an error. A broken stack is freed without a
/// flush.
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

/// Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power loss,
/// and brings state.json and the files of the frames up to date. A stack in memory has nothing to write.
///
/// Errors: the storage errors. An error of the files is also in `callstack_info`, as `mirror.error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_flush(stack: *mut Callstack, error: *mut *mut CallstackError) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe { Callstack::write(stack, (), error, |stack| Ok(stack.files().flush()?)) }
}

/// Makes visible to queries what other processes have committed since the last command or refresh. Commands
/// do the same automatically. Takes a few microseconds if there is nothing new.
///
/// - `out_is_new` (flag): whether there was something new.
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

/// Replaces the events of finished trees by their last state, so that the database becomes smaller. Frames,
/// handles, contexts and logs stay as they are. `callstack_history` no longer has these events.
/// `callstack_export_history` writes the frames instead of them, so `callstack_rebuild` still makes the same
/// stack.
///
/// Takes some seconds for a million events. Most of that time other commands do not wait.
///
/// - `limits` (CompactionLimits): which trees lose their events.
/// - `out_compaction` (HistoryCompaction): what was removed.
///
/// Errors: _JSON for the limits, _IN_MEMORY if the stack has no database, _DAMAGED if the events do not give
/// the state that the database has; the storage errors. After an error the history is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_compact_history(
    stack: *mut Callstack,
    limits: CallstackView,
    out_compaction: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_compaction, error, |stack| {
            let CompactionLimits { before } = limits.record("limits")?;
            Ok(to_json(&stack.history().compact(before)?))
        })
    }
}

/// Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
///
/// - `limits` (LogLimits): which logs are removed.
/// - `out_pruned` (PrunedLogs): what was removed, and what is left.
///
/// Errors: _JSON for the limits, _IN_MEMORY if the stack has no folder; the storage errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn callstack_prune_logs(
    stack: *mut Callstack,
    limits: CallstackView,
    out_pruned: *mut CallstackText,
    error: *mut *mut CallstackError,
) -> CallstackCode {
    // SAFETY: the caller keeps the header's contract.
    unsafe {
        Callstack::write(stack, out_pruned, error, |stack| {
            let limits: LogLimits = limits.record("limits")?;
            Ok(to_json(&stack.files().prune_logs(limits)?))
        })
    }
}

/// Returns figures about the stack, as the last command left them. Does not wait for a command that is
/// running.
///
/// - `out_info` (StackInfo): the figures.
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
            let repairs = unreadable.iter().chain(stack.upkeep().repairs()).collect();
            let (cache, mirror) = (stack.upkeep().cache_statistics(), stack.files().status());
            Ok(to_json(&StackInfo { revision, frames, active, cache, mirror, repairs }))
        })
    }
}
