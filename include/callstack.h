/*
 * callstack.h: the C interface of callstack-core, which gives LLM agents a call stack instead of a chat log.
 *
 * cbindgen generates this file from src/capi. Do not edit it: edit the doc comments there, and cbindgen.toml.
 *
 * A stack is a tree of frames. A frame is one task, with a title, a status and results. The host pushes a frame
 * for a sub-task, pops it with results, and asks for the context of a frame (XML text) before each model call.
 *
 *     Callstack *stack = NULL;
 *     CallstackText handle, xml;
 *     CallstackError *error = NULL;
 *     const char *frame = "{\"title\": \"Build a shop\", \"sessionID\": \"ses_1\"}";
 *     if (callstack_in_memory(NULL, 0, &stack, &error) == CALLSTACK_OK
 *         && callstack_push(stack, frame, strlen(frame), &handle, &error) == CALLSTACK_OK
 *         && callstack_context(stack, handle.data, handle.len, NULL, 0, &xml, NULL, NULL, NULL, &error)
 *                == CALLSTACK_OK)
 *         puts(xml.data);
 *     else
 *         fprintf(stderr, "%s\n", callstack_error_message(error));
 *
 * THE CONTRACT
 *
 * Return codes. A function that can fail returns a CallstackCode: CALLSTACK_OK (0) on success, otherwise the
 * number of the error. In the lists of errors below, `_JSON` is short for CALLSTACK_ERROR_JSON.
 *
 * Error objects. `error` is the last argument of every function that can fail, and may be NULL. If it is not
 * NULL, the function sets `*error`: to NULL on success, to a new error object on failure. The caller frees the
 * object with callstack_error_free. The previous value of `*error` is overwritten and not freed.
 *
 * Common errors. Every function that can fail can return these; the descriptions do not repeat them: _NULL,
 * _LENGTH and _UTF8 for invalid arguments, _PANIC for a fault in the library, and _BROKEN for a stack in which
 * an earlier command met such a fault.
 *
 * Storage errors. Where a description lists "storage errors", the function can return the numbers from 300 to 599: _BUSY (other
 * threads or processes took longer than `busyTimeout`), _DISCONNECTED, _IO, _DISK_FULL, _READ_ONLY, _DAMAGED, _REPLACED, _VERSION
 * (a newer version of the library has changed the database) and _HISTORY. Commands on a stack in memory return only _BUSY of them,
 * if commands in other threads take longer than 10 seconds.
 *
 * Waiting. `busyTimeout` (see callstack_open) is the limit of one call. It begins with the call and covers
 * everything that the call waits for. callstack_event and callstack_poll do not fail: if they are refused, the effect
 * is a line for the log.
 *
 * A damaged history. If a command or callstack_refresh finds an event that cannot be read or does not fit the events
 * before it (another program or a damaged disk put it there), this and all later commands with the stack return
 * _DAMAGED with the same message, and nothing is written any more. Queries go on with the frames before the damage.
 * callstack_export_history returns the events before the damage; callstack_rebuild makes a new stack of them in
 * another folder. callstack_close frees the stack, and returns _DAMAGED too.
 *
 * Failed calls. A failed call changes neither the frames nor the history. Exceptions:
 *   - If writing fails during the commit itself, the call cannot know whether the commit was kept. The next
 *     command or callstack_refresh reads it from the database, if it was.
 *   - callstack_run_reply, callstack_run_answer and callstack_advance_run append the messages of a run to the
 *     log of their frame before they commit. If the commit fails, the log can contain messages that were not
 *     committed.
 *   - callstack_append_log takes its lines back if the commit fails. The lines stay if that fails too, or if another
 *     process has appended lines after them. An empty log file can stay.
 *   - A file that already has the name of a frame's new log is renamed before the commit, and stays renamed if the
 *     commit fails. If callstack_replace_id fails, the frame's log can keep a second name.
 *   - callstack_advance_run commits each tool call separately. If one fails, the earlier ones stay committed.
 *   - callstack_flush, callstack_close and callstack_export_files can have written some of the files.
 *   - callstack_open and callstack_rebuild can have created the folder and an empty database.
 * A failed command can also make visible what other processes have committed before it.
 *
 * Input texts. A text is a pointer and a length in bytes. It must be UTF-8 and need not end in NUL. The library
 * reads it only during the call; the caller keeps ownership. NULL with length 0 is the empty text; where the
 * description says so, it means that the argument is absent. NULL with another length is the error _NULL.
 *
 * Frame references. An argument that names a frame (`frame`, `parent`, `run`, the entries of `dependsOn`) is the
 * frame's handle (f and digits, such as f3), its ID, the beginning of its ID, or its title. A text of the form of a handle is
 * never read as an ID, and `id:` before a text means that the rest is a complete ID: `id:f3` is the frame whose ID is
 * f3. Callers that do not choose the IDs of their sessions should write `id:` before them. The beginning of an ID, or a title, must
 * match exactly one frame, else the error is _AMBIGUOUS_FRAME; no match is _UNKNOWN_FRAME. An argument that names a
 * session (`session`, `sessionID`, `caller`, and all IDs in events) is the complete ID of the session, without `id:`.
 *
 * Outputs. A function first empties all its outputs (without freeing their previous content) and fills them at
 * the end, only on success. An output may be NULL if the caller does not need it, unless its description says
 * otherwise. A text output is a CallstackText: the caller frees it with callstack_text_free. It stays valid after
 * the stack is closed.
 *
 * JSON. Records with several fields are JSON texts; their keys are those of the documented files. The library
 * rejects unknown keys in its input with _JSON, so typos are not ignored. Exceptions: callstack_configure returns
 * them as problems; a state and an imported plan keep them; in the `calls` of callstack_run_reply and in the
 * `messages` of callstack_event they are ignored. Callers should ignore unknown keys in the output, because later
 * versions can add keys. Times are milliseconds since the Unix epoch.
 *
 * Threads. Any thread may call any function at any time, also with the same stack. Exception: callstack_close
 * must be the last call with its stack, and no other call with that stack may run at the same time. Commands
 * (functions that take `Callstack *`) run one after the other. Queries (functions that take `const Callstack *`)
 * do not wait for commands or for other processes, unless the description says so. Only one thread may free a text
 * or an error object, and no other thread may read it at that time.
 *
 * Forks. After fork() only the parent process may use or close its stacks; the child opens the folder again. If fork() runs
 * while another thread is inside a function of the library, the child inherits locks that nobody opens: until it calls
 * exec(), it must not call any function of the library. Frames that the parent runs as a host count as running until its
 * forked children have ended too.
 *
 * Panics. No panic of the library reaches the caller; it is returned as _PANIC. After a panic in a query the stack
 * works as before. After a panic in a command the stack is broken: every later call with it returns _BROKEN, until
 * it is closed. All acknowledged commits are in the folder; open it again to continue.
 *
 * The end of the process. Three faults end the whole process (abort) instead of returning a code: memory cannot be
 * allocated; a thread has no room left on its stack; a library that was built with panic = "abort" panics. Two signals
 * of the system do the same: SIGXFSZ, unless the program ignores it, when a file reaches the limit for the size of files;
 * SIGBUS when another program cuts a file of the database that is open.
 * Acknowledged commits survive these faults as they survive kill -9.
 *
 * Undefined behaviour. The library cannot detect a pointer that was freed, or memory that is shorter than the
 * length says.
 *
 * Versions. callstack_abi() must return CALLSTACK_ABI. Within a major version functions are added, and none are
 * changed or removed.
 */


#ifndef CALLSTACK_H
#define CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

/**
 * Version of the C interface that this header describes. It changes when a function is changed or removed, not
 * when one is added.
 */
#define CALLSTACK_ABI 1

/**
 * A call stack: a tree of frames, in a folder or in memory.
 *
 * Any thread may call any function with it at any time; commands run one after the other, and queries do not wait
 * for the disk (exceptions are in their descriptions). Only `callstack_close` must be the last call and must run
 * alone. Any number of processes may open the same folder, each any number of times.
 */
typedef struct Callstack Callstack;

/**
 * The error of a failed call.
 *
 * The caller owns it and frees it with `callstack_error_free`. Several threads may read it at the same time. The
 * texts that the functions below return belong to it and are valid until it is freed.
 */
typedef struct CallstackError CallstackError;

/**
 * A text that the library has allocated: `len` bytes of UTF-8 at `data`, followed by a NUL that `len` does not count.
 * The text itself can contain NUL bytes.
 *
 * The caller reads it, does not change the fields, and frees it with `callstack_text_free`. Any thread may read or
 * free it.
 */
typedef struct {
    /**
     * The first byte; NULL if there is no text. An empty text has data.
     */
    char *data;
    /**
     * The length in bytes.
     */
    size_t len;
} CallstackText;

/**
 * The result of a call: `CALLSTACK_OK` or the number of an error. The hundreds of a number say what can be done about it:
 *
 * - 0: the call is wrong, such as a NULL pointer, or the library has panicked;
 * - 100: refused. Nothing has changed, and another request can succeed, as the message says;
 * - 200: a value that no stack takes;
 * - 300: others use the stack, or its server cannot be reached for a while. The same call can succeed later;
 * - 400: a file, a folder or a disk does not allow it;
 * - 500: what is stored is damaged, was replaced, or was written by a newer version;
 * - 600: the stack cannot be used like this: within a query, without a folder, or after a panic.
 *
 * Later versions can add numbers; they never reuse one.
 */
typedef int32_t CallstackCode;

/**
 * The status of a frame. In JSON the name is used, such as `"in_progress"`.
 */
typedef int32_t CallstackStatus;

/**
 * The call succeeded.
 */
#define CALLSTACK_OK 0

/**
 * A required pointer was NULL.
 */
#define CALLSTACK_ERROR_NULL 1

/**
 * A length is larger than any text in memory can be (more than half of the address space).
 */
#define CALLSTACK_ERROR_LENGTH 2

/**
 * A text is not valid UTF-8.
 */
#define CALLSTACK_ERROR_UTF8 3

/**
 * The library panicked: a defect of the library, or of a callback of the host. If the function was a command, the stack is broken.
 */
#define CALLSTACK_ERROR_PANIC 4

/**
 * No frame has this ID or handle, or an ID with this beginning.
 */
#define CALLSTACK_ERROR_UNKNOWN_FRAME 101

/**
 * The IDs of several frames begin with the text. The details list up to eight candidates.
 */
#define CALLSTACK_ERROR_AMBIGUOUS_FRAME 102

/**
 * Another frame already has the ID.
 */
#define CALLSTACK_ERROR_DUPLICATE_ID 103

/**
 * The frame cannot change from its current status to the requested one.
 */
#define CALLSTACK_ERROR_TRANSITION 104

/**
 * The parent is completed, failed or invalidated.
 */
#define CALLSTACK_ERROR_PARENT_CLOSED 105

/**
 * The parent is planned, so no frame can be pushed below it.
 */
#define CALLSTACK_ERROR_PARENT_PLANNED 106

/**
 * The title and criteria of the frame are already set and cannot change.
 */
#define CALLSTACK_ERROR_IDENTITY_FIXED 107

/**
 * A dependency on the frame itself, on a frame above or below it, or in a circle.
 */
#define CALLSTACK_ERROR_DEPENDENCY 108

/**
 * Two imported frames name each other as ancestors.
 */
#define CALLSTACK_ERROR_PARENT_CIRCLE 109

/**
 * The frame is not in_progress or blocked, so it cannot be the active frame.
 */
#define CALLSTACK_ERROR_NOT_OPEN 110

/**
 * The budget is too small for the required part of the context. The details hold the `needed` one and its `unit`, tokens
 * or bytes.
 */
#define CALLSTACK_ERROR_BUDGET_TOO_SMALL 111

/**
 * The folder for a new stack already contains one.
 */
#define CALLSTACK_ERROR_NOT_EMPTY 112

/**
 * The tree has the maximum number of frames (4,294,967,295).
 */
#define CALLSTACK_ERROR_FULL 113

/**
 * The frame is not in_progress or blocked, so its results cannot be updated.
 */
#define CALLSTACK_ERROR_RESULTS_FIXED 114

/**
 * The calling session has no frame, and the call names none.
 */
#define CALLSTACK_ERROR_NO_FRAME 115

/**
 * The new frame would be deeper than the setting `maxDepth` allows.
 */
#define CALLSTACK_ERROR_TOO_DEEP 116

/**
 * Somebody else works on the frame. The details hold `by`, and `until` when.
 */
#define CALLSTACK_ERROR_HELD 117

/**
 * The frame, or an unfinished frame below it, already sees a chunk of that name.
 */
#define CALLSTACK_ERROR_CHUNK_EXISTS 118

/**
 * The frame sees no chunk of that name.
 */
#define CALLSTACK_ERROR_UNKNOWN_CHUNK 119

/**
 * The frame is not the root frame of a run.
 */
#define CALLSTACK_ERROR_NO_RUN 120

/**
 * The run waits for something else.
 */
#define CALLSTACK_ERROR_OUT_OF_TURN 121

/**
 * A second push_frame or pop_frame in one step of a run.
 */
#define CALLSTACK_ERROR_SECOND_STACK_OPERATION 122

/**
 * The frame is neither completed nor failed, so it has no results to deliver.
 */
#define CALLSTACK_ERROR_NOT_FINISHED 123

/**
 * The frame is not blocked, so it waits for no answer.
 */
#define CALLSTACK_ERROR_NOT_BLOCKED 124

/**
 * The frame has begun or ended, so it cannot be edited; the words of an open one only by a person.
 */
#define CALLSTACK_ERROR_NOT_PLANNED 125

/**
 * The frame cannot stand before a frame with another parent.
 */
#define CALLSTACK_ERROR_NOT_SIBLING 126

/**
 * The planned frame waits for others.
 */
#define CALLSTACK_ERROR_NOT_READY 127

/**
 * The frame waits for the caller, which would wait for it.
 */
#define CALLSTACK_ERROR_WAIT_CIRCLE 128

/**
 * The frame is neither failed nor blocked, or was begun anew already: then the details hold the `newest` attempt.
 */
#define CALLSTACK_ERROR_NOT_RETRIABLE 129

/**
 * An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from the one before it.
 */
#define CALLSTACK_ERROR_RETRY_LINK 130

/**
 * The frame is not free for a worker, or its holder cannot keep it. The details hold the `reason`.
 */
#define CALLSTACK_ERROR_NOT_FREE 131

/**
 * Somebody else has held the frame since, so what its earlier holder still sends is refused. The details hold `by`, the newest holder, and
 * its `generation`.
 */
#define CALLSTACK_ERROR_HOLD_LOST 132

/**
 * There is no command of this person to take back.
 */
#define CALLSTACK_ERROR_NOTHING_TO_UNDO 133

/**
 * The last command of the person cannot be taken back. The details hold the `command` and the `reason`.
 */
#define CALLSTACK_ERROR_NOT_UNDONE 134

/**
 * The frame would have more tools than the frames above it. The details hold `tools`, those that are too many, and `above`.
 */
#define CALLSTACK_ERROR_TOOLS_EXCEED 135

/**
 * Frames below the frame that is to be completed are open or planned. The details hold `left`, the first dozen of them.
 */
#define CALLSTACK_ERROR_PARTS_LEFT 136

/**
 * A required text is empty or has only white space.
 */
#define CALLSTACK_ERROR_EMPTY 201

/**
 * A setting, a number or an environment variable is outside of its allowed values.
 */
#define CALLSTACK_ERROR_SETTING 202

/**
 * A text is not JSON, or JSON of another shape.
 */
#define CALLSTACK_ERROR_JSON 203

/**
 * A text is longer than its limit.
 */
#define CALLSTACK_ERROR_TOO_LONG 204

/**
 * A text that must be one line has line breaks or other control characters.
 */
#define CALLSTACK_ERROR_NOT_ONE_LINE 205

/**
 * Commands of other threads, or other processes in the database or at the lock of a file, took longer than the call
 * waits (`busyTimeout`). The details hold `waited`, in milliseconds: how long the call waited in all.
 */
#define CALLSTACK_ERROR_BUSY 301

/**
 * The server of the stack cannot be reached. `isOutcomeUnknown` in the details says whether the command may have been committed.
 */
#define CALLSTACK_ERROR_DISCONNECTED 302

/**
 * The operating system or SQLite refused an operation on a file or folder.
 */
#define CALLSTACK_ERROR_IO 401

/**
 * The disk is full, or a quota is used up.
 */
#define CALLSTACK_ERROR_DISK_FULL 402

/**
 * The file, its folder or the disk is read-only for this process.
 */
#define CALLSTACK_ERROR_READ_ONLY 403

/**
 * A newer version of the library wrote the file.
 */
#define CALLSTACK_ERROR_VERSION 501

/**
 * An event does not fit the events before it in a history.
 */
#define CALLSTACK_ERROR_HISTORY 502

/**
 * A file does not contain what its name says, or a history has an event that does not fit. It was not changed.
 */
#define CALLSTACK_ERROR_DAMAGED 503

/**
 * The files of the stack were replaced while it was open. Nothing more is written to them: open the stack again.
 */
#define CALLSTACK_ERROR_REPLACED 504

/**
 * An earlier command on this stack returned `CALLSTACK_ERROR_PANIC`: close the stack and open it again.
 */
#define CALLSTACK_ERROR_BROKEN 601

/**
 * The stack is in memory and has no logs, or no history.
 */
#define CALLSTACK_ERROR_IN_MEMORY 602

/**
 * A command was called by code that the library calls while it reads the tree. C programs cannot cause it.
 */
#define CALLSTACK_ERROR_INSIDE_READ 603

/**
 * `planned`: not begun.
 */
#define CALLSTACK_STATUS_PLANNED 0

/**
 * `in_progress`: an agent works on it.
 */
#define CALLSTACK_STATUS_IN_PROGRESS 1

/**
 * `completed`: finished, the criteria are met.
 */
#define CALLSTACK_STATUS_COMPLETED 2

/**
 * `failed`: finished, the criteria are not met; the results say why.
 */
#define CALLSTACK_STATUS_FAILED 3

/**
 * `blocked`: begun, and waiting for something outside of the frame.
 */
#define CALLSTACK_STATUS_BLOCKED 4

/**
 * `invalidated`: removed from the plan.
 */
#define CALLSTACK_STATUS_INVALIDATED 5

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the C interface that the loaded library implements. If it is not `CALLSTACK_ABI`, the
 * header does not match the library: do not call any other function.
 */
uint32_t callstack_abi(void);

/**
 * Returns the version of the library, such as `0.1.0`. NUL-terminated and static: the caller must not free it.
 */
const char *callstack_version(void);

/**
 * Frees a text and empties the struct, so a second call does nothing. `text` may be NULL.
 */
void callstack_text_free(CallstackText *text);

/**
 * Returns the code that the failed call returned; `CALLSTACK_OK` if `error` is NULL.
 */
CallstackCode callstack_error_code(const CallstackError *error);

/**
 * Returns the name of the code, for programs and logs: the constant without `CALLSTACK_ERROR_`, in lower case, such
 * as `unknown_frame`. NUL-terminated; empty if `error` is NULL.
 */
const char *callstack_error_name(const CallstackError *error);

/**
 * Returns the message: the cause and what to do about it, in a sentence that can be shown to an agent. UTF-8,
 * NUL-terminated; NUL characters inside the message are replaced by U+FFFD. Empty if `error` is NULL.
 */
const char *callstack_error_message(const CallstackError *error);

/**
 * Returns the values in the message as a JSON object, for programs: `{"handle": "f3", "total": 100, "needed": 214, "unit":
 * "tokens"}`
 * for `CALLSTACK_ERROR_BUDGET_TOO_SMALL`. UTF-8, NUL-terminated; empty if `error` is NULL.
 */
const char *callstack_error_details(const CallstackError *error);

/**
 * Frees an error object and sets the pointer to it to NULL, so a second call does nothing. `error` may be NULL, and
 * may point to NULL.
 */
void callstack_error_free(CallstackError **error);

/**
 * Opens the stack in a folder. Creates the folder and the stack if they do not exist. Files of the original plugin
 * (state.json, frames/) are imported once, if the folder has no database; the originals are kept in before-import/.
 *
 * - `folder`: a path, absolute or relative to the working directory. Must not be empty.
 * - `options`: NULL, or a JSON object such as `{"durability": "full", "busyTimeout": 2000}`, with any of
 *   - `"durability"`: `"normal"` (the default: acknowledged commits survive the death of the process, but a power
 *     loss can remove the last ones) or `"full"` (acknowledged commits also survive a power loss);
 *   - `"busyTimeout"`: how long a call waits in all, in milliseconds: for commands of other threads, for other processes,
 *     and for the locks of files; then it returns _BUSY. Default 10000;
 *   - `"mirror"`: whether state.json and frames/ are kept up to date beside the database; default true;
 *   - `"stateFileFrames"`: the number of frames above which state.json is left to `callstack_flush` and to other
 *     processes, for programs that make one change and end; default: it is always written;
 *   - `"finishedFrames"`: how many frames of finished trees stay in memory at most; the others are read from the database
 *     when they are asked for; default 4096;
 *   - `"counter"`: the token counter, `"approx"` (default: an estimate), `"chars4"` (a token for four characters), or
 *     `"o200k"` (exact; only if the library was built with the feature `tokenizer`, else the error is _SETTING).
 * - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _EMPTY for the folder, _JSON and _SETTING for the options, and the storage errors. _DAMAGED and _VERSION mean that a
 * file cannot be read or is from a newer version; the file was not changed.
 */
CallstackCode callstack_open(const char *folder,
                             size_t folder_len,
                             const char *options,
                             size_t options_len,
                             Callstack **out_stack,
                             CallstackError **error);

/**
 * Makes an empty stack in memory.
 *
 * - `options`: NULL, or a JSON object such as `{"history": true}`, with any of `"counter"` (as for `callstack_open`)
 *   and `"history"` (whether the stack keeps its events for `callstack_history`; default false).
 * - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _JSON and _SETTING for the options.
 */
CallstackCode callstack_in_memory(const char *options,
                                  size_t options_len,
                                  Callstack **out_stack,
                                  CallstackError **error);

/**
 * Makes a stack in memory from a state. Unreadable or inconsistent parts of the state are repaired, and no frame is
 * lost; `callstack_info` lists the repairs. A `logPath` that leads outside of a stack's folder is removed, and contexts name a
 * log only after `callstack_set_log_path`.
 *
 * - `state`: the JSON of `callstack_state` or of a file state.json.
 * - `options`: NULL, or a JSON object with `"counter"` (as for `callstack_open`).
 * - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _JSON if `state` is not a state, _JSON and _SETTING for the options; _VERSION if a newer version wrote the state.
 */
CallstackCode callstack_from_state(const char *state,
                                   size_t state_len,
                                   const char *options,
                                   size_t options_len,
                                   Callstack **out_stack,
                                   CallstackError **error);

/**
 * Makes a stack from an exported history in a folder that has no stack yet: the same frames with the same handles,
 * and the same history.
 *
 * - `folder`: a path, as for `callstack_open`.
 * - `history`: the text of `callstack_export_history`.
 * - `options`: NULL, or a JSON object as for `callstack_open`.
 * - `out_stack`: the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _NOT_EMPTY if the folder has a state.json or a database with events; _JSON (names the line) and _HISTORY
 * (names the event) for the history; those of `callstack_open`.
 */
CallstackCode callstack_rebuild(const char *folder,
                                size_t folder_len,
                                const char *history,
                                size_t history_len,
                                const char *options,
                                size_t options_len,
                                Callstack **out_stack,
                                CallstackError **error);

/**
 * Flushes the stack as `callstack_flush` does, frees it, and sets the pointer to NULL, so a second call does nothing.
 *
 * - `stack`: the pointer to the stack. May be NULL, and may point to NULL. No other call may use the stack at the
 *   same time or later.
 *
 * The stack is freed in any case, also if the function returns an error. A broken stack is freed without a flush.
 *
 * Errors: those of `callstack_flush`.
 */
CallstackCode callstack_close(Callstack **stack,
                              CallstackError **error);

/**
 * Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power loss, and
 * brings state.json and the files of the frames up to date. A stack in memory has nothing to write.
 *
 * Errors: the storage errors. An error of the files is also in `callstack_info`, as `mirror.error`.
 */
CallstackCode callstack_flush(Callstack *stack,
                              CallstackError **error);

/**
 * Makes visible to queries what other processes have committed since the last command or refresh. Commands do the
 * same by themselves. Takes a few microseconds if there is nothing new.
 *
 * - `out_is_new`: 1 if there was something new, else 0.
 *
 * Errors: the storage errors.
 */
CallstackCode callstack_refresh(Callstack *stack,
                                int32_t *out_is_new,
                                CallstackError **error);

/**
 * Replaces the events of finished trees by their last state, so that the database becomes smaller. Frames, handles, contexts
 * and logs stay as they are. `callstack_history` no longer has these events; `callstack_export_history` writes the frames in their
 * place, so that `callstack_rebuild` still makes the same stack.
 *
 * - `limits`: a JSON object, `{"before": 1795293106903}`: trees in which nothing is unfinished, and whose last event has an
 *   earlier time, in milliseconds since the Unix epoch.
 * - `out_compaction`: a JSON object, `{"trees": 120, "events": 18304, "bytesBefore": 52428800, "bytesAfter": 9437184}`: the
 *   number of trees whose events were removed, the number of these events, and the size of the database in bytes.
 *
 * Takes some seconds for a million events. Most of it does not keep other commands waiting.
 *
 * Errors: _JSON for the limits, _IN_MEMORY if the stack has no database, _DAMAGED if the events do not give the state that the
 * database has; the storage errors. After an error the history is as it was.
 */
CallstackCode callstack_compact_history(Callstack *stack,
                                        const char *limits,
                                        size_t limits_len,
                                        CallstackText *out_compaction,
                                        CallstackError **error);

/**
 * Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
 *
 * - `limits`: a JSON object, `{"before": 1795293106903, "bytes": 500000000}`, with any of
 *   - `"before"`: removes logs to which nothing was appended since this time, in milliseconds since the Unix epoch;
 *   - `"bytes"`: removes the oldest logs, until all together have at most this size.
 * - `out_pruned`: a JSON object, `{"files": 12, "bytes": 340000, "left": 5100000}`: the number of logs that were removed, their
 *   size, and the size of those that are left, in bytes.
 *
 * Errors: _JSON for the limits, _IN_MEMORY if the stack has no folder; the storage errors.
 */
CallstackCode callstack_prune_logs(Callstack *stack,
                                   const char *limits,
                                   size_t limits_len,
                                   CallstackText *out_pruned,
                                   CallstackError **error);

/**
 * Returns figures about the stack, as the last command left them. Does not wait for a command that is running.
 *
 * - `out_info`: a JSON object, `{"revision": 9, "frames": 3, "active": "f2", "cache": {"hits": 5, "misses": 2,
 *   "entries": 2}, "mirror": {"revision": 9, "staleFrames": 0, "error": null}, "repairs": []}`:
 *   - `revision`: number of events that the tree has seen; `frames`: number of frames;
 *   - `active`: handle of the active frame, or null;
 *   - `cache`: statistics of the context cache;
 *   - `mirror`: null if the stack keeps no mirror, else the revision that state.json holds, the number of frames whose
 *     files are out of date, and the message of the last failed write, or null;
 *   - `repairs`: problems in the files or the state from which the stack was made, `[{"frame": "ses_1", "message":
 *     "…"}]`; `frame` can be null.
 */
CallstackCode callstack_info(const Callstack *stack,
                             CallstackText *out_info,
                             CallstackError **error);

/**
 * Makes a new frame with the status in_progress, and makes it the active frame.
 *
 * - `frame`: a JSON object, `{"title": "API routes", "successCriteria": "CRUD works",
 *   "successCriteriaCompacted": "CRUD", "task": "As in docs/api.md. Return the paths.", "priority": 1, "labels": ["backend"],
 *   "assignee": "anna", "limits": {"maxTokens": 90000},
 *   "sessionID": "ses_7", "parent": "f1", "caller": "ses_1", "dependsOn": ["auth"]}`. Only `title` is required.
 *   - `task`: the full instruction, at most 100,000 characters. Only the frame's own context shows it.
 *   - `priority`: from 0, before all others, to 4. Default: that of the frame above, or 2.
 *   - `limits`: what it may do and spend: see `callstack_set_limits`.
 *   - `sessionID`: the ID of the frame, at most 1,000 characters; default: a generated ID of the form `plan-…`.
 *   - `parent`: the frame above the new one, or null for a root. Default: the frame of the session `caller`, or the
 *     nearest one above it, that is in_progress or blocked; if the session has no frame, none (the new frame is a root).
 *     Without `caller` the active frame, if there is one.
 *   - `dependsOn`: references to the frames whose results this frame needs.
 * - `out_handle`: the handle of the frame, such as `f3`.
 *
 * Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME,
 * _DEPENDENCY, _PARENT_CLOSED, _PARENT_PLANNED, _SETTING and _TOOLS_EXCEED for the limits, _FULL; the storage errors.
 */
CallstackCode callstack_push(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes a new frame with the status planned. The arguments are those of `callstack_push`.
 *
 * Errors: those of `callstack_push` without _PARENT_PLANNED, because the parent may be planned too.
 */
CallstackCode callstack_plan(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes several planned children of one frame in one commit: all of them or none.
 *
 * - `parent`: the frame above the children.
 * - `children`: a JSON array of objects as for `callstack_push`, `[{"title": "One"}, {"title": "Two"}]`. Their keys
 *   `parent` and `caller` are ignored. A child may depend on any other child of the list, by its `sessionID` or its title.
 * - `out_handles`: the handles of the children as a JSON array, `["f4", "f5"]`.
 *
 * Errors: those of `callstack_plan`, for any of the children; the message says for which.
 */
CallstackCode callstack_plan_children(Callstack *stack,
                                      const char *parent,
                                      size_t parent_len,
                                      const char *children,
                                      size_t children_len,
                                      CallstackText *out_handles,
                                      CallstackError **error);

/**
 * Returns the frame of a session. If the session has no frame, makes a placeholder: a frame with the status
 * in_progress, whose title and criteria `callstack_identify` can set later. A placeholder becomes the active frame
 * if no frame is active.
 *
 * - `session_id`: the whole ID of the session.
 * - `title`: title of a placeholder; NULL: `Session` and the first 8 characters of the ID.
 * - `parent`: the frame above a placeholder; NULL: none, the placeholder is a root.
 * - `out_handle`: the handle of the frame.
 *
 * Errors: _EMPTY and _TOO_LONG for the ID, _UNKNOWN_FRAME and _AMBIGUOUS_FRAME for the parent, _FULL; the storage errors.
 */
CallstackCode callstack_ensure(Callstack *stack,
                               const char *session_id,
                               size_t session_id_len,
                               const char *title,
                               size_t title_len,
                               const char *parent,
                               size_t parent_len,
                               CallstackText *out_handle,
                               CallstackError **error);

/**
 * Sets the title and the criteria of a placeholder for good. This works once for each frame. Those of a placeholder that
 * has criteria are also set for good when a frame is pushed, planned or imported below it.
 *
 * - `frame`: the frame.
 * - `title`: short name, two to five words.
 * - `success_criteria`: the condition that holds when the frame is done; NULL: none.
 * - `success_criteria_compacted`: a short form for prompts; NULL: the full criteria are used.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the title, _IDENTITY_FIXED if the frame is not a placeholder;
 * the storage errors.
 */
CallstackCode callstack_identify(Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 const char *title,
                                 size_t title_len,
                                 const char *success_criteria,
                                 size_t success_criteria_len,
                                 const char *success_criteria_compacted,
                                 size_t success_criteria_compacted_len,
                                 CallstackError **error);

/**
 * Edits a planned frame. Of one that is in_progress or blocked a person (`callstack_as_actor`) can correct the words and the priority.
 *
 * - `frame`: the frame.
 * - `edit`: JSON: what changes, every key is optional. `{"title": "Routes", "successCriteria": "CRUD works",
 *   "successCriteriaCompacted": "CRUD", "task": "As in docs/api.md", "priority": 1, "labels": ["backend"], "assignee": "anna", "dependsOn": ["f3"], "parent": "f1", "before":
 *   "f4"}`. `priority`: null gives it that of the frame above. `dependsOn` is the whole new
 *   list. `parent` moves the frame and all below it; null makes it a root. `before` moves it before a sibling; null makes it
 *   the last one.
 *
 * Errors: _NOT_PLANNED if it has begun or ended, and this is no correction of a person; _TOO_LONG for the task; _JSON; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _EMPTY for the title;
 * _PARENT_CLOSED and _PARENT_CIRCLE for the parent; _RETRY_LINK if a next attempt would get another
 * parent; _NOT_SIBLING; _DEPENDENCY; the storage errors.
 */
CallstackCode callstack_edit(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             const char *edit,
                             size_t edit_len,
                             CallstackError **error);

/**
 * Begins a planned frame: sets its status to in_progress, and makes it the active frame.
 *
 * - `frame`: a frame with the status planned.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if it is no work; the storage errors.
 */
CallstackCode callstack_activate(Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 CallstackError **error);

/**
 * Begins a planned frame that has what it needs, as `callstack_activate` does.
 *
 * - `frame`: a frame with the status planned.
 *
 * Errors: those of `callstack_activate`; _NOT_READY if something keeps it from beginning. The details hold `dependencies`.
 */
CallstackCode callstack_begin(Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              CallstackError **error);

/**
 * Gives a frame another ID. Its handle does not change. Its file, and its log if the library keeps it, are renamed.
 *
 * - `frame`: the frame.
 * - `session_id`: the new ID. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY and _TOO_LONG for the ID, _DUPLICATE_ID; the storage errors.
 */
CallstackCode callstack_replace_id(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *session_id,
                                   size_t session_id_len,
                                   CallstackError **error);

/**
 * Changes the status of a frame. Allowed are: planned to in_progress; in_progress to blocked; blocked to in_progress
 * or blocked; in_progress and blocked to completed and failed; any status but invalidated to invalidated. A frame that
 * becomes in_progress becomes the active frame; otherwise the active frame changes as in `callstack_pop` or
 * `callstack_invalidate`.
 *
 * - `frame`: the frame.
 * - `status`: one of CALLSTACK_STATUS_….
 * - `results`, `results_compacted`: the results in full, and in a short form for prompts; NULL leaves the present
 *   ones. For CALLSTACK_STATUS_INVALIDATED, `results` is the reason and is required.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status, _EMPTY for the reason; the storage
 * errors.
 */
CallstackCode callstack_set_status(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   CallstackStatus status,
                                   const char *results,
                                   size_t results_len,
                                   const char *results_compacted,
                                   size_t results_compacted_len,
                                   CallstackError **error);

/**
 * Ends the work on a frame and sets its results. If the frame or one below it was active, its nearest ancestor that
 * is in_progress or blocked becomes active, or no frame if there is none. A root can be popped too.
 *
 * - `frame`: the frame, in_progress or blocked.
 * - `status`: CALLSTACK_STATUS_COMPLETED, _FAILED or _BLOCKED. _BLOCKED is `callstack_block` without a question: the
 *   results say what the frame waits for.
 * - `results`: the results in full; NULL is the empty text.
 * - `results_compacted`: a short form for the prompts of other frames; NULL or empty: the full results are used.
 * - `out_popped`: a JSON object, `{"handle": "f3", "parent": "f1", "active": "f1", "stillOpen": [],
 *   "stillPlanned": ["f4"]}`: the frame; its parent, or null; the frame that is active now, or null; the frames
 *   below it that are in_progress or blocked; the frames below it that are planned.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; the storage errors.
 */
CallstackCode callstack_pop(Callstack *stack,
                            const char *frame,
                            size_t frame_len,
                            CallstackStatus status,
                            const char *results,
                            size_t results_len,
                            const char *results_compacted,
                            size_t results_compacted_len,
                            CallstackText *out_popped,
                            CallstackError **error);

/**
 * Pops a frame as `callstack_pop`, and begins a planned one in the same command. That one becomes active.
 *
 * - `frame`, `status`, `results`, `results_compacted`: as in `callstack_pop`.
 * - `next`: the planned frame. NULL: the first planned sibling that can begin then; without one the frame is only popped.
 * - `out_popped`: as in `callstack_pop`, and if a frame has begun, `"next": "f4"`.
 *
 * Errors: those of `callstack_pop`; _NOT_READY if `next` depends on a frame that is not completed then, _TRANSITION if it is not
 * planned. Nothing has changed then.
 */
CallstackCode callstack_pop_and_begin(Callstack *stack,
                                      const char *frame,
                                      size_t frame_len,
                                      CallstackStatus status,
                                      const char *results,
                                      size_t results_len,
                                      const char *results_compacted,
                                      size_t results_compacted_len,
                                      const char *next,
                                      size_t next_len,
                                      CallstackText *out_popped,
                                      CallstackError **error);

/**
 * Completes a frame whose work is done, as `callstack_pop` with completed, unless frames below it are open or planned.
 *
 * - `frame`, `results`, `results_compacted`: as in `callstack_pop`.
 * - `next`: the planned frame that begins in the same command. NULL: none.
 * - `out_popped`: as in `callstack_pop_and_begin`.
 *
 * Errors: those of `callstack_pop`; _PARTS_LEFT if frames below it are open or planned; for `next` those of `callstack_pop_and_begin`.
 * Nothing has changed then.
 */
CallstackCode callstack_complete(Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 const char *results,
                                 size_t results_len,
                                 const char *results_compacted,
                                 size_t results_compacted_len,
                                 const char *next,
                                 size_t next_len,
                                 CallstackText *out_popped,
                                 CallstackError **error);

/**
 * Blocks a frame: it waits for something from outside. The active frame changes as by `callstack_pop`. The contexts of
 * the parent, of the siblings and of the frames that depend on it show the question.
 *
 * - `frame`: the frame, in_progress or blocked.
 * - `question`: what it needs, and from whom. NULL or empty: the results say it.
 * - `results`: the results so far, in full. NULL or empty: the frame keeps those that it has.
 * - `results_compacted`: a short form; NULL or empty: the full results are used.
 * - `out_popped`: as in `callstack_pop`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION; the storage errors.
 */
CallstackCode callstack_block(Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              const char *question,
                              size_t question_len,
                              const char *results,
                              size_t results_len,
                              const char *results_compacted,
                              size_t results_compacted_len,
                              CallstackText *out_popped,
                              CallstackError **error);

/**
 * Answers a blocked frame. It stays blocked until somebody resumes it: a process that runs its session and calls
 * `callstack_poll`, the agent's tool `stack_frame_activate`, or `callstack_set_status` with
 * CALLSTACK_STATUS_IN_PROGRESS. That succeeds once, so of several processes one goes on with the frame. The contexts of the
 * frame show the answer until it is finished. A second answer to one question is added to the first. A frame that has waited to begin, as an
 * import leaves it, is planned then; if it is no work, it is completed.
 *
 * - `frame`: the frame, blocked.
 * - `answer`: the answer. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_BLOCKED, _EMPTY for the answer; the storage errors.
 */
CallstackCode callstack_answer(Callstack *stack,
                               const char *frame,
                               size_t frame_len,
                               const char *answer,
                               size_t answer_len,
                               CallstackError **error);

/**
 * Stops the frames that hosts run or workers have, also those of other processes: they become blocked, with the reason as what they wait
 * for. A running host notices that at its next poll: it aborts their sessions, keeps what they have said last as results
 * so far, and answers the callers. They can be resumed as any other blocked frame.
 *
 * - `frame`: this frame and the frames below it; NULL: all frames.
 * - `reason`: for those who resume them. Must not be empty.
 * - `out_stopped`: a JSON array of the handles of the stopped frames.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason; the storage errors.
 */
CallstackCode callstack_stop(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             const char *reason,
                             size_t reason_len,
                             CallstackText *out_stopped,
                             CallstackError **error);

/**
 * Begins a failed or blocked frame anew: makes a planned frame beside it, with the same title, criteria and dependencies,
 * as its next attempt. A blocked frame fails; it keeps its results and its question. The planned frames below it are
 * invalidated. The context of the new frame shows why the earlier attempts failed; everybody else sees the newest attempt
 * alone, and frames that depend on any attempt wait for the newest.
 *
 * - `frame`: the frame, failed or blocked.
 * - `note`: what must be done differently, or the answer to what the frame waits for. NULL or empty: nothing.
 * - `out_retried`: a JSON object, `{"handle": "f7", "attempt": 2, "invalidated": ["f4"], "stillOpen": []}`: the new frame;
 *   which attempt it is, counted from 1; the invalidated frames; the frames below the earlier attempt that are in_progress
 *   or blocked.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_RETRIABLE, _PARENT_CLOSED, _FULL; the storage errors.
 */
CallstackCode callstack_retry(Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              const char *note,
                              size_t note_len,
                              CallstackText *out_retried,
                              CallstackError **error);

/**
 * Records that the conversation of the frame's parent has received the results of the frame, for example as the answer
 * to a tool call. Contexts of the parent with `"finishedChildren": "forgotten"`, the default, then do not repeat them
 * until `callstack_forget` of the parent. With host events the library does this itself for the calls that it answers.
 *
 * - `frame`: the frame, completed or failed.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_FINISHED; the storage errors.
 */
CallstackCode callstack_deliver(Callstack *stack,
                                const char *frame,
                                size_t frame_len,
                                CallstackError **error);

/**
 * Records that the conversation of a frame was compacted or begun anew, so that it no longer holds the results of the
 * frame's children. The frame's contexts then show them. With host events the library does this itself when a session
 * was compacted.
 *
 * - `frame`: the frame.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; the storage errors.
 */
CallstackCode callstack_forget(Callstack *stack,
                               const char *frame,
                               size_t frame_len,
                               CallstackError **error);

/**
 * Records intermediate results of a frame and leaves its status unchanged, for example before its conversation is
 * compacted. The context of the frame itself shows them; frames below it see them from the next push or change of a
 * status on.
 *
 * - `frame`: the frame, in_progress or blocked.
 * - `results`: the results so far, in full. Must not be empty.
 * - `results_compacted`: a short form; NULL or empty: the full results are used.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _RESULTS_FIXED, _EMPTY for the results; the storage errors.
 */
CallstackCode callstack_summarize(Callstack *stack,
                                  const char *frame,
                                  size_t frame_len,
                                  const char *results,
                                  size_t results_len,
                                  const char *results_compacted,
                                  size_t results_compacted_len,
                                  CallstackError **error);

/**
 * Lets a completed frame that turned out to be wrong go on: it is in_progress again and becomes the active frame. Its results are those so
 * far, and its context shows the reason.
 *
 * - `frame`: the frame, which is completed.
 * - `reason`: what is wrong. Must not be empty.
 * - `out_reopened`: a JSON object, `{"handle": "f2", "waiting": ["f3"], "begun": ["f4"]}`: the frame; the planned frames that depend on it
 *   and wait again; and those that depend on it and have begun.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is not completed, _PARENT_CLOSED if a frame
 * above it has ended, _PARENT_PLANNED if one is planned, _HELD; the storage errors.
 */
CallstackCode callstack_reopen(Callstack *stack,
                               const char *frame,
                               size_t frame_len,
                               const char *reason,
                               size_t reason_len,
                               CallstackText *out_reopened,
                               CallstackError **error);

/**
 * Takes back the last command of a person, if nothing has been built on it. `callstack_as_actor` with the kind `person` gives the commands
 * of a person; without, the last one of those who have given no name is taken back.
 *
 * - `out_undone`: a JSON object, `{"command": "pop", "frames": ["f2"], "removed": []}`: what the command was, the frames that are as they were before, and those that
 *   it had added, which are invalidated.
 *
 * Errors: _NOTHING_TO_UNDO, _NOT_UNDONE; the storage errors.
 */
CallstackCode callstack_undo(Callstack *stack,
                             CallstackText *out_undone,
                             CallstackError **error);

/**
 * Removes a frame and the planned frames below it from the plan: sets their status to invalidated. If the frame was
 * active, its nearest ancestor that is in_progress or blocked becomes active.
 *
 * - `frame`: the frame, in any status but invalidated.
 * - `reason`: the reason, for people and agents. Must not be empty.
 * - `out_invalidated`: a JSON object, `{"invalidated": ["f3", "f4"], "stillOpen": ["f5"], "dependents": ["f6"]}`: the
 *   frame and the planned frames below it; the frames below it that are in_progress or blocked, which are not changed;
 *   and the unfinished frames that depend on an invalidated one.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION; the storage errors.
 */
CallstackCode callstack_invalidate(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *reason,
                                   size_t reason_len,
                                   CallstackText *out_invalidated,
                                   CallstackError **error);

/**
 * Records a file or another resource that the work on a frame has produced. Each artifact is recorded once.
 *
 * - `frame`: the frame, in any status.
 * - `artifact`: usually a path. Must not be empty.
 * - `out_is_new`: 1 if the artifact is new, 0 if it was already recorded.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the artifact; the storage errors.
 */
CallstackCode callstack_add_artifact(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *artifact,
                                     size_t artifact_len,
                                     int32_t *out_is_new,
                                     CallstackError **error);

/**
 * Records a decision in a frame.
 *
 * - `frame`: the frame, in any status.
 * - `decision`: the decision, such as `Use SQLite`. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the decision; the storage errors.
 */
CallstackCode callstack_add_decision(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *decision,
                                     size_t decision_len,
                                     CallstackError **error);

/**
 * Records a request to a model, which was made in the session of a frame. Contexts do not change. A host with sessions
 * reports requests with its messages instead: see `callstack_event`.
 *
 * - `frame`: the frame, in any status.
 * - `request`: a JSON object, `{"model": "claude-sonnet-5", "uncachedInput": 412, "cacheRead": 9120, "cacheWrite": 640,
 *   "cacheWriteHour": 0, "output": 210, "reasoning": 0, "duration": 3480, "messages": 14, "costMicroUsd": 11500, "failed": false}`, each key optional. The numbers of
 *   tokens do not overlap: the prompt has `uncachedInput` + `cacheRead` + `cacheWrite`, the answer `output` +
 *   `reasoning`. `cacheWriteHour` are those of `cacheWrite` that the cache keeps for an hour. `duration` is in milliseconds, `messages` the number of messages in the prompt,
 *   `costMicroUsd` what it has cost in millionths of a US dollar. A record with nothing but a cost is no request.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON for the request; the storage errors.
 */
CallstackCode callstack_record_usage(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *request,
                                     size_t request_len,
                                     CallstackError **error);

/**
 * Makes a frame the active frame.
 *
 * - `frame`: a frame that is in_progress or blocked. `callstack_activate` begins a planned one.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN; the storage errors.
 */
CallstackCode callstack_set_active(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   CallstackError **error);

/**
 * Adds the frames of a plan, or brings those of a plan up to date that was imported before, in one commit: all of them or none.
 *
 * - `plan`: the text of a tasks.json of Task Master, of an issues.jsonl of Beads, of a check list in Markdown, or of a state.json. The
 *   library detects the format. What the plan says must not begin is blocked until it is answered, or until a time.
 *   A plan that was imported before is compared by its IDs with what it said then: new entries are added, changed ones edited, closed ones
 *   finished, removed ones invalidated. What was begun here stays, and so does what was changed here and in the plan.
 * - `out_imported`: a JSON object, `{"handles": ["f2", "f3"], "problems": [{"place": "line 7", "message": "…"}], "changes": [{"frame":
 *   "f4", "id": "app-2", "title": "Cart", "becomes": "finished", "fields": ["status"]}], "conflicts": [{"frame": "f5", "id": "app-3",
 *   "title": "Totals", "field": "title", "file": "…", "stack": "…", "advice": "…"}], "unchanged": 12}`: the
 *   handles of the new frames; the parts of the plan that were unreadable or inconsistent and were left out or
 *   changed; the frames that were there and have changed (`becomes`: `edited`, `planned`, `waiting`, `begun`, `finished`, `invalidated` or
 *   `removed`; `fields`: `title`, `criteria`, `task`, `priority`, `dependsOn`, `parent`, `results`, `status`, `order`); what stays
 *   although the plan says otherwise, with what can be done; and the number of frames that have not changed. A state.json only adds
 *   frames. The logs of a state's frames stay where the state comes from: each `logPath` is left out, and is one of the
 *   problems.
 *
 * Errors: _JSON if the plan is in none of the formats, _VERSION if a newer version wrote the state.json, _DUPLICATE_ID
 * if a frame with the same ID exists that is not from this plan, _DEPENDENCY if what was changed here would make a new entry wait for
 * itself, _FULL; the storage errors.
 */
CallstackCode callstack_import(Callstack *stack,
                               const char *plan,
                               size_t plan_len,
                               CallstackText *out_imported,
                               CallstackError **error);

/**
 * Gives a frame that is free to a worker, for the length of a lease. Of several workers that ask at the same time, in any
 * processes, each gets another frame. The frame becomes in_progress; the active frame stays.
 *
 * First come the frames whose worker has let its lease end or has let them go, and blocked ones of workers that were answered, then
 * planned frames in the order of the plan. A planned frame is free when its dependencies, and those of the planned frames above it, are
 * completed, and when its children are completed or invalidated; unless the frame above it has ended.
 *
 * - `name`: the name of the worker. It should differ from those of others.
 * - `lease`: the length of the lease in milliseconds, from 1 to 86400000.
 * - `below`: only frames below this one; NULL: all frames.
 * - `frame`: exactly this frame; NULL: the first one that is free.
 * - `out_hold`: a JSON object, `{"handle": "f3", "kind": "worker", "name": "build-1", "generation": 2, "until": 1795293166903,
 *   "tries": 1}`: the frame, its holder and the number of that, the end of the lease, and how often workers have begun the frame without
 *   an end since it was planned or last answered; or `null` if no frame is free now.
 *
 * Errors: _EMPTY and _TOO_LONG for the name; _SETTING for the lease; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _NOT_FREE if `frame`
 * is not free; the storage errors.
 */
CallstackCode callstack_hold(Callstack *stack,
                             const char *name,
                             size_t name_len,
                             int32_t lease,
                             const char *below,
                             size_t below_len,
                             const char *frame,
                             size_t frame_len,
                             CallstackText *out_hold,
                             CallstackError **error);

/**
 * Gives a holder more time: the lease ends so many milliseconds from now. A lease that has ended can be renewed as long as
 * nobody else holds the frame.
 *
 * - `hold`: what `callstack_hold` has returned.
 * - `lease`: the length of the lease in milliseconds, from 1 to 86400000.
 * - `out_hold`: the same with the new end.
 *
 * Errors: _HOLD_LOST if somebody else has held the frame since; _NOT_FREE if its holder has let it go, or if it is not in_progress any
 * more; _SETTING for the lease; _JSON; _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_renew(Callstack *stack,
                              const char *hold,
                              size_t hold_len,
                              int32_t lease,
                              CallstackText *out_hold,
                              CallstackError **error);

/**
 * Returns how a frame stands for its holder. A worker looks now and then, for example each second, and stops what it has running when the
 * frame is not held any more.
 *
 * - `hold`: what `callstack_hold` has returned.
 * - `out_standing`: a JSON object, one of these.
 *   - `{"kind": "held"}`: the holder works on it.
 *   - `{"kind": "ended", "status": "completed"}`: it was ended under this hold; or it has `failed`, or is `blocked` with a question.
 *   - `{"kind": "putBack"}`: it was put back for later under this hold.
 *   - `{"kind": "stopped"}`: somebody has stopped it, has taken it out of the plan, or has begun it anew.
 *
 * Errors: _HOLD_LOST if somebody else has held the frame since; _JSON; _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_standing(const Callstack *stack,
                                 const char *hold,
                                 size_t hold_len,
                                 CallstackText *out_standing,
                                 CallstackError **error);

/**
 * Lets a frame go, so that another worker can have it at once. It stays in_progress, and this time does not count as a try. Nothing
 * happens if it was let go already.
 *
 * - `hold`: what `callstack_hold` has returned.
 *
 * Errors: _HOLD_LOST if somebody else has held the frame since; _JSON; _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_release(Callstack *stack,
                                const char *hold,
                                size_t hold_len,
                                CallstackError **error);

/**
 * Ends the work of a holder on its frame, which must be in_progress, all of it in one commit. So what a person stops or plans in this
 * moment is not lost.
 *
 * - `hold`: what `callstack_hold` has returned.
 * - `finish`: a JSON object, one of these. `resultsCompacted`, and what is marked with a question mark, can be left out.
 *   - `{"end": "done", "results": …, "resultsCompacted": …}`: the frame is completed; but if parts are left that were planned below it, the
 *     results are those so far, and it is put back until the parts are done.
 *   - `{"end": "failed", "results": …, "resultsCompacted": …}`
 *   - `{"end": "asks", "question": …, "results"?: …}`: it is blocked, and waits for an answer.
 *   - `{"end": "later", "wait"?: 60000}`: it is put back for so many milliseconds, at most 86400000; without `wait` a second after its
 *     first time, twice as long after each further one, at most a minute.
 * - `out_finished`: a JSON object, `{"status": "completed"}`; for a frame that was put back
 *   `{"status": "in_progress", "until": 1795293166903}`: until when nobody gets it.
 *
 * Errors: _HOLD_LOST if somebody else has held the frame since; _NOT_FREE if it is not in_progress any more; _SETTING for a time that is
 * too long; _EMPTY; _JSON; _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_finish(Callstack *stack,
                               const char *hold,
                               size_t hold_len,
                               const char *finish,
                               size_t finish_len,
                               CallstackText *out_finished,
                               CallstackError **error);

/**
 * Returns the same stack for an actor: its commands that begin, go on with, end, block or invalidate a frame are refused with _HELD if
 * somebody else holds the frame, and a conversation or a person with a name holds what it begins. With a hold all commands are refused with
 * _HOLD_LOST if somebody else has held that frame since. Commands with `stack` work as before.
 *
 * - `actor`: a JSON object: what `callstack_hold` has returned, or `{"kind": "conversation", "name": "codex/1"}`, with `"takesOver": true`
 *   to take frames from persons and conversations, or with `"handsOver": true` if what it begins is the task of a subagent, whose name
 *   nobody knows yet. The kinds are `host`, `worker` (only with a hold), `conversation` and `person`.
 * - `out_stack`: the stack of the actor. The caller closes it, and `stack`, in any order.
 *
 * Errors: _JSON.
 */
CallstackCode callstack_as_actor(Callstack *stack,
                                 const char *actor,
                                 size_t actor_len,
                                 Callstack **out_stack,
                                 CallstackError **error);

/**
 * Counts the unfinished frames, by what they are for workers. If nothing is `free`, `held` or `later`, nothing becomes
 * free unless a person or a host does something.
 *
 * - `below`: only frames below this one; NULL: all frames.
 * - `out_left`: a JSON object, `{"free": 3, "held": 2, "later": 0, "waiting": 40, "begun": 1, "blocked": 0, "assigned": 0}`: frames that a worker can
 *   hold now; that workers hold; that they have put back; that wait for others; that are in progress and no worker's; blocked ones.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_work_left(const Callstack *stack,
                                  const char *below,
                                  size_t below_len,
                                  CallstackText *out_left,
                                  CallstackError **error);

/**
 * Returns how a host goes on with frames whose work was interrupted, stopped or answered. Each comes after those below it, so that it finds
 * their results. A host asks again when something that it waits for has ended.
 *
 * - `frames`: a JSON array of the frames with which it is to go on, `["f1", "f3"]`; NULL: all that are open.
 * - `out_resumption`: a JSON object, `{"now": ["f3"], "later": ["f1"], "running": ["f4"], "asking": ["f5"], "missed": [{"frame": "f1",
 *   "child": "f2"}]}`: those that can go on now, and later; the frames at or below the given ones that hosts run, and that wait for a
 *   person; results that the conversation of a frame does not have, because its child has ended after the interruption.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON.
 */
CallstackCode callstack_resumption(const Callstack *stack,
                                   const char *frames,
                                   size_t frames_len,
                                   CallstackText *out_resumption,
                                   CallstackError **error);

/**
 * Records of the frames whose holders have let their leases end that they were interrupted. Hosts do this at their polls and tool calls; a
 * program without sessions can do it before it looks at what runs. A refused record is tried again by the next look.
 *
 * - `out_frames`: a JSON array of these frames, `["f3"]`.
 */
CallstackCode callstack_note_interruptions(const Callstack *stack,
                                           CallstackText *out_frames,
                                           CallstackError **error);

/**
 * Sets what a frame may do and spend. Limits that are not given stay as they are.
 *
 * - `frame`: the frame, in any status.
 * - `limits`: a JSON object with any of `"model"`, the host's name of the model; `"tools"`, the names of the tools besides those of the
 *   stack, at most those of the frames above (`mcp__shop` stands for all tools of that server); `"maxTurns"` of the model in one prompt;
 *   `"maxTokens"` of all requests and `"maxCostMicroUsd"`, what may be spent in millionths of a US dollar, both for the frame and all
 *   frames below it together.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for a limit of 0, _TOOLS_EXCEED; the storage errors.
 */
CallstackCode callstack_set_limits(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *limits,
                                   size_t limits_len,
                                   CallstackError **error);

/**
 * Records what a conversation of a frame has cost so far, for hosts that learn costs of conversations, and not of requests. It replaces what
 * was recorded of the conversation before. Until the next time, `callstack_usage` estimates the costs of the requests that come.
 *
 * - `frame`: the frame, in any status.
 * - `cost`: a JSON object, `{"conversation": "ses_1", "costMicroUsd": 120000}`: the ID of the conversation, and the cost of all its requests so
 *   far in millionths of a US dollar.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the ID; the storage errors.
 */
CallstackCode callstack_record_cost(Callstack *stack,
                                    const char *frame,
                                    size_t frame_len,
                                    const char *cost,
                                    size_t cost_len,
                                    CallstackError **error);

/**
 * Returns what a frame may do and spend now, with the limits of all frames above it. A root that has none of its own has those of the host's
 * settings (`calls.limits`).
 *
 * - `frame`: the frame.
 * - `out_allowance`: a JSON object, `{"frame": "f3", "model": "claude-sonnet-5", "tools": ["Read"], "maxTurns": 40,
 *   "maxCostMicroUsd": 310000}`; what is not limited is left out, and the cost is what is left.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_allowance(const Callstack *stack,
                                  const char *frame,
                                  size_t frame_len,
                                  CallstackText *out_allowance,
                                  CallstackError **error);

/**
 * Returns the first frame, from this one upwards, that has spent what it may, together with all frames below it.
 *
 * - `frame`: the frame.
 * - `out_overspent`: `null`, or a JSON object, `{"frame": "f1", "reason": "its budget of 90000 tokens is spent: …"}`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_overspent(const Callstack *stack,
                                  const char *frame,
                                  size_t frame_len,
                                  CallstackText *out_overspent,
                                  CallstackError **error);

/**
 * Returns the handle of a frame.
 *
 * - `frame`: the frame: a handle, an ID, the beginning of an ID, a title, or the beginning of one of an unfinished frame.
 * - `out_handle`: the handle, such as `f3`.
 *
 * Errors: _UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with `candidates` in the details.
 */
CallstackCode callstack_resolve(const Callstack *stack,
                                const char *frame,
                                size_t frame_len,
                                CallstackText *out_handle,
                                CallstackError **error);

/**
 * Returns the handle of the active frame: the frame on which an agent works.
 *
 * - `out_handle`: the handle, such as `f3`; the empty text if no frame is active.
 */
CallstackCode callstack_active(const Callstack *stack, CallstackText *out_handle, CallstackError **error);

/**
 * Returns the record of a frame.
 *
 * - `frame`: the frame.
 * - `out_frame`: a JSON object, `{"handle": "f3", "sessionID": "ses_7", "parentSessionID": "ses_1",
 *   "status": "completed", "title": "…", "successCriteria": "…", "successCriteriaCompacted": "…",
 *   "results": "…", "resultsCompacted": "…", "createdAt": 1795293106903, "updatedAt": 1795293106903,
 *   "artifacts": [], "decisions": []}`. `parentSessionID` is absent for a root, and the results are absent before
 *   they are set. Present only if they apply: `dependsOn` (IDs), `logPath`, `invalidationReason`, `invalidatedAt`,
 *   `plannedChildren` (IDs), `placeholder` (true), `task` (the full instruction), `priority` (0 to 4), `begunAt` (of a frame that was planned
 *   before), `correctedAt` (when a person has corrected its words), `limits` (see `callstack_set_limits`), `costs` (see
 *   `callstack_record_cost`), `deliveredAt` and `forgottenAt` (see `callstack_deliver` and
 *   `callstack_forget`), `questions` (see `callstack_block` and `callstack_answer`: `[{"question": "Which VAT rate?",
 *   "askedAt": 1795293106903, "answer": "20 %", "answeredAt": 1795293107000}]`; of a frame that waits to begin with `"unbegun": true`, and
 *   `until` if a time ends the wait), `noWork` (a word for what is no work: `message`, `tag`), `origin` (what the file of
 *   its plan said of it, as checksums),
 *   `holder` (who works on the frame, or did last: `{"kind": "host", "name": "host-…", "generation": 2, "until": 1795293166903, "since":
 *   1795293106903, "caller": "ses_1"}`; of one who has let it go also `"released": {"at": 1795293110000, "how": "interrupted"}`, with
 *   `how` `ended`, `putBack` (and `until`), `interrupted` or `stopped` (and the `reason`)), `summaryRequest` (a summary that was
 *   requested: `{"type": "manual_summary", "note": "…", "requestedAt": 1795293106903}`), `usage` (`own` of
 *   `callstack_usage`), `heap` (the chunks of this frame, each as `chunk` in
 *   `callstack_chunks`), `registers` (an object of the registers that are not empty), and unknown keys of an imported
 *   frame. Times are milliseconds since the Unix epoch.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_frame(const Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              CallstackText *out_frame,
                              CallstackError **error);

/**
 * Returns the sums of the requests to models.
 *
 * - `frame`: the frame.
 * - `out_usage`: a JSON object, `{"own": […], "total": […], "ownCostMicroUsd": 0, "totalCostMicroUsd": 0}`: the requests of the frame itself, and of the frame with all
 *   frames below it. Each list has an entry for each model, `{"model": "claude-sonnet-5", "requests": 12, "failed": 1,
 *   "uncachedInput": 5204, "cacheRead": 88120, "cacheWrite": 6400, "output": 2210, "reasoning": 0, "duration": 41480}`: see
 *   `callstack_record_usage`. The costs are in millionths of a US dollar, as far as the host has told them (`callstack_record_cost`, or with
 *   the requests), and an estimate of what came since.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_usage(const Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              CallstackText *out_usage,
                              CallstackError **error);

/**
 * Returns the frames that have a relation to a frame, or a status.
 *
 * - `query`: NULL for all frames, or a JSON object, `{"relation": "children", "frame": "f1", "status": "planned",
 *   "records": false}`, with any of
 *   - `relation`: `"all"` (default), `"roots"`, `"ready"` (planned frames that can begin, in the order of the plan: those that have what
 *     they and the planned frames above them need, are not below an ended one, and have no parts left),
 *     `"interrupted"` (frames that are in_progress although the host that ran them does not exist any more), or, in relation to `frame`: `"ancestors"`, `"children"`, `"siblings"`, `"subtree"` (the frame and all frames below
 *     it);
 *   - `frame`: the frame of the relation;
 *   - `status`: only frames with this status;
 *   - `records`: whether to return records instead of handles; default false.
 * - `out_frames`: a JSON array of handles, `["f2", "f3"]`, or of objects as in `callstack_frame`. The order is that of
 *   creation; ancestors begin with the parent; a subtree lists parents before their children, depth first.
 *
 * Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs `frame` and it is missing.
 */
CallstackCode callstack_frames(const Callstack *stack,
                               const char *query,
                               size_t query_len,
                               CallstackText *out_frames,
                               CallstackError **error);

/**
 * Returns the whole tree in the documented form of state.json. `callstack_from_state` reads it.
 *
 * - `out_state`: a JSON object, `{"version": 1, "revision": 9, "frames": {"ses_1": {…}}, "activeFrameID": "ses_1",
 *   "rootFrameIDs": ["ses_1"], "updatedAt": 1795293106903}`. The keys of `frames` are the IDs.
 */
CallstackCode callstack_state(const Callstack *stack,
                              CallstackText *out_state,
                              CallstackError **error);

/**
 * Writes the documented files, state.json and frames/, to another folder, for other tools or as a copy.
 * `callstack_open` of that folder imports them. The files show the frames at the time of the call. Does not wait for a
 * command that is running, and no command waits for it.
 *
 * - `folder`: a path, absolute or relative to the working directory. Must not be empty. The folder is created if it
 *   does not exist.
 *
 * Errors: _EMPTY for the folder, _NOT_EMPTY if the folder contains a database stack.db; _IO, _DISK_FULL, _READ_ONLY
 * and _BUSY for the files, also for a stack in memory.
 */
CallstackCode callstack_export_files(const Callstack *stack,
                                     const char *folder,
                                     size_t folder_len,
                                     CallstackError **error);

/**
 * Returns the tree as text for people.
 *
 * - `options`: NULL, or a JSON object such as `{"style": "marked", "root": "f2", "details": false, "depth": 3,
 *   "width": 120}`, with any of
 *   - `style`: `"marked"` (default: branches, a mark for each status, a legend and statistics) or `"indented"`;
 *   - `root`: only this frame and the frames below it; default: all;
 *   - `details`: also criteria, results, artifacts and decisions; default false;
 *   - `own`: the frame of the reader, which is marked instead of the active frame if it is open; default: the active
 *     frame;
 *   - `active`: mark the active frame, or that of the reader, and name it below the frames; default true;
 *   - `depth`: number of levels below the first; default: all;
 *   - `width`: maximum length of a line, in characters; 0 is no limit; default 120.
 * - `out_outline`: the text, several lines.
 *
 * Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_outline(const Callstack *stack,
                                const char *options,
                                size_t options_len,
                                CallstackText *out_outline,
                                CallstackError **error);

/**
 * Returns the context of a frame: the XML text that its agent reads before the next model call. A cache answers calls
 * for the same frame and settings while nothing in the context has changed, for up to 30 seconds.
 *
 * All outputs describe the same revision of the tree. An output that is NULL is not made.
 *
 * - `frame`: the frame.
 * - `settings`: NULL for the defaults, or a JSON object such as `{"budget": {"total": 6000}}`, with any of
 *   - `"budget"`: budgets in tokens; defaults: `{"total": 4000, "ancestors": 1500, "siblings": 1500, "current": 800,
 *     "overhead": 200, "heap": 1500, "children": 1000}`. A context never has more than `total` tokens, nor more than `"bytes"` bytes,
 *     which is six for each token of `total` if it is not given;
 *   - `"minimumRelevance"`: siblings with a lower score are shown as stubs, while the quota of the siblings has room; 0
 *     to 100, default 30;
 *   - `"finishedChildren"`: which finished children are shown, `"all"`, `"forgotten"` (default: those whose results the
 *     frame's conversation does not hold; see `callstack_deliver` and `callstack_forget`) or `"none"`;
 *   - `"guidance"`: the standing advice for agents, `"full"` (default), `"brief"` or `"none"`;
 *   - `"form"`: `"cached"` (default: nothing before what is added changes, for prompt caches) or `"document"`, the form of the
 *     specification, with the ID of the frame as `session` in the opening tag, and the number of siblings that are shown as `count`;
 *   - `"heapCeiling"`: size of the heap, in characters, above which the context warns the agent; default 5000;
 *   - `"tools"`: the host's names of the tools that the text mentions: `{"prefix": "mcp__callstack__", "push":
 *     "begin_task", "heapRead": null}`. `prefix` stands before the default names; `push`, `pop`, `activate`,
 *     `planChildren`, `invalidate`, `details`, `tree`, `heapRead`, `heapFree` and `updateRegisters` replace a name (1 to
 *     64 characters), and null means that there is no such tool. The string `"none"`: the text names no tools.
 * - `out_xml`: the whole context as one XML document.
 * - `out_stable`, `out_volatile`: the same in two XML documents, for hosts with a prompt cache. The stable part
 *   belongs in the system prompt: its bytes change only when a frame is added or its status changes, a chunk that
 *   it shows changes, or results are delivered or forgotten (`callstack_deliver`, `callstack_forget`). The volatile part belongs after the newest message.
 * - `out_report`: a JSON object, `{"tokens": 812, "handle": "f3", "stableTokens": 640, "volatileTokens": 172,
 *   "entries": [{"handle": "f1", "section": "ancestors", "detailLevel": "standard", "score": 100, "tokens": 44}],
 *   "chunks": [{"name": "api", "handle": "f1", "shown": "whole", "tokens": 90}]}`:
 *   - `tokens`, `stableTokens`, `volatileTokens`: upper bounds of the number of tokens;
 *   - `entries`: every frame that was considered; `section` is `"current-frame"`, `"ancestors"`, `"dependencies"`,
 *     `"inherited-dependencies"`, `"earlier-attempts"`, `"ancestor-siblings"`, `"completed-siblings"`,
 *     `"finished-children"` or `"planned-children"`; `detailLevel` is `"omitted"`, `"stub"`, `"compact"`, `"standard"` or
 *     `"full"` or `"whole"`; an omitted frame has `omission`, which is `"irrelevant"`, `"budget"` or `"rank"`; `log` is the path of
 *     its log, if the context names it;
 *   - `chunks`: every chunk that the frame sees; absent if there are none; `shown` is `"omitted"`, `"index"` or
 *     `"whole"`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings; _BUDGET_TOO_SMALL, with the smallest
 * possible budget in the details, as `needed` and `unit` (`"tokens"`: of `total`; `"bytes"`: of `bytes`).
 */
CallstackCode callstack_context(const Callstack *stack,
                                const char *frame,
                                size_t frame_len,
                                const char *settings,
                                size_t settings_len,
                                CallstackText *out_xml,
                                CallstackText *out_stable,
                                CallstackText *out_volatile,
                                CallstackText *out_report,
                                CallstackError **error);

/**
 * Removes the contexts of a frame from the cache.
 *
 * - `frame`: the frame; NULL: all frames.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_clear_cache(const Callstack *stack,
                                    const char *frame,
                                    size_t frame_len,
                                    CallstackError **error);

/**
 * Returns the settings of contexts that follow from the environment: the defaults, replaced by the values of the
 * environment variables STACK_TOKEN_BUDGET_TOTAL, STACK_TOKEN_BUDGET_ANCESTORS, STACK_TOKEN_BUDGET_SIBLINGS and
 * STACK_TOKEN_BUDGET_CURRENT, in tokens.
 *
 * A variable that is not a whole number of at least 1 leaves the default, and the others count.
 *
 * - `out_settings`: a JSON object as `callstack_context` accepts it.
 * - `out_problems`: a JSON array with a message for each variable that was ignored, usually `[]`. NULL if not wanted.
 */
CallstackCode callstack_settings(CallstackText *out_settings,
                                 CallstackText *out_problems,
                                 CallstackError **error);

/**
 * Returns what of a volatile part has changed, for a conversation that keeps what it was told: a whole newer part would leave the older
 * one beside it.
 *
 * - `before`: the volatile part that the conversation was told last.
 * - `now`: the newest one, of `callstack_session_context` or `callstack_context`.
 * - `out_changes`: a block with the elements that are new or different, and the names of those that are no more; `now` itself if that
 *   is not longer; empty if there is nothing to tell.
 */
CallstackCode callstack_context_changes(const char *before,
                                        size_t before_len,
                                        const char *now,
                                        size_t now_len,
                                        CallstackText *out_changes,
                                        CallstackError **error);

/**
 * Returns a request to a model without what its finished frames have said. In a host whose agent works on all its frames in
 * one conversation, that conversation is then as the stack is: a pushed and popped frame is a call and its return. The answer of
 * the push becomes what the frame has returned, and everything from there to the answer of the pop is gone. What is not folded
 * keeps its bytes.
 *
 * The result depends on the arguments alone. A request without a finished frame, one that breaks a rule of its wire, and a text
 * that is no request come back as they are. `docs/fold.md` has the rule.
 *
 * - `wire`: `anthropic` (Messages), `responses` and `chat` (OpenAI), `gemini`, `opencode` (the messages of its hook
 *   `experimental.chat.messages.transform`), or `pi` (the messages of its event `context`).
 * - `request`: the body of the request, or for `opencode` and `pi` the list of messages, as JSON.
 * - `settings`: NULL for the defaults, or a JSON object. Every key is optional: `{"tools": {"push": "begin_task"}, "server":
 *   "callstack", "pointer": "callstack log {frame}"}`. `tools` are the host's names of the tools, where they are neither the
 *   library's own nor those of the MCP server; `server` is the name under which the host knows the MCP server; `pointer` says
 *   how an agent reads all of a finished frame, `{frame}` stands for its handle; `turns`, `{"floor": 40000, "pointer": "…"}`, also
 *   folds the turns of a conversation without frames, when those that are finished have more than `floor` tokens.
 * - `out_request`: the request as it is to be sent.
 * - `out_report`: a JSON object, `{"stretches": [{"frame": "f2", "status": "completed", "items": 21, "bytes": 31054, "tokens":
 *   8120, "returned": 310}], "turns": [{"turns": 3, "items": 60, "bytes": 90120, "tokens": 31044}]}`: what is gone for each frame, and
 *   the length of the text that stands for it, in bytes; what is gone of turns. NULL if not wanted.
 *
 * Errors: _SETTING for an unknown wire or a name that cannot be one; _JSON if `settings` is not valid JSON, has the wrong shape or
 * an unknown key.
 */
CallstackCode callstack_fold(const char *wire,
                             size_t wire_len,
                             const char *request,
                             size_t request_len,
                             const char *settings,
                             size_t settings_len,
                             CallstackText *out_request,
                             CallstackText *out_report,
                             CallstackError **error);

/**
 * Allocates a chunk, a named text, on the heap of a frame. The frame and all frames below it see the chunk until it is
 * freed. Contexts show its text verbatim, even after the conversation has been compacted.
 *
 * - `frame`: the frame that owns the chunk.
 * - `chunk`: a JSON object, `{"name": "api-spec", "content": "add(a, b) -> int", "description": "signatures"}`:
 *   - `name`: one line of 1 to 100 characters;
 *   - `content`: up to 100,000 characters;
 *   - `description`: one line of up to 300 characters; optional.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the name, _TOO_LONG, _NOT_ONE_LINE, _CHUNK_EXISTS if the
 * frame, or an unfinished frame below it, already sees a chunk of that name; the storage errors.
 */
CallstackCode callstack_allocate_chunk(Callstack *stack,
                                       const char *frame,
                                       size_t frame_len,
                                       const char *chunk,
                                       size_t chunk_len,
                                       CallstackError **error);

/**
 * Replaces the content of a chunk.
 *
 * - `frame`: a frame that sees the chunk.
 * - `name`: the name of the chunk.
 * - `content`: the new text, up to 100,000 characters; NULL is the empty text.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK, _TOO_LONG; the storage errors.
 */
CallstackCode callstack_write_chunk(Callstack *stack,
                                    const char *frame,
                                    size_t frame_len,
                                    const char *name,
                                    size_t name_len,
                                    const char *content,
                                    size_t content_len,
                                    CallstackError **error);

/**
 * Removes a chunk from the heap.
 *
 * - `frame`: a frame that sees the chunk.
 * - `name`: the name of the chunk.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK; the storage errors.
 */
CallstackCode callstack_free_chunk(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *name,
                                   size_t name_len,
                                   CallstackError **error);

/**
 * Returns all chunks that a frame sees, those of its root first.
 *
 * - `frame`: the frame.
 * - `out_chunks`: a JSON array, `[{"handle": "f1", "chunk": {"name": "api-spec", "content": "…", "description":
 *   "…", "allocatedAt": 1795293106903, "writtenAt": 1795293106903}}]`. `handle` is the frame that owns the chunk; an
 *   empty description is absent. Chunks that were made in a run also have `allocatedStep` and `writtenStep`, the
 *   numbers of the steps.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_chunks(const Callstack *stack,
                               const char *frame,
                               size_t frame_len,
                               CallstackText *out_chunks,
                               CallstackError **error);

/**
 * Sets registers of a frame: short notes of its agent. From then on the frame uses registers: its contexts show them,
 * and its children inherit some of them when they begin. `callstack_frame` returns them.
 *
 * - `frame`: the frame.
 * - `registers`: a JSON object such as `{"R2_NEXT": "run the tests"}`, with any of `"R0_GOAL"` (up to 240 characters),
 *   `"R1_PLAN"` (980), `"R2_NEXT"` (200), `"R3_PHASE"` (60), `"R4_CONSTRAINTS"` (720), `"R5_ASSUMPTIONS"` (480),
 *   `"R6_OPEN_QUESTIONS"` (600), `"R7_STATUS"` (300). Longer values are cut. Other registers keep their values.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
 */
CallstackCode callstack_update_registers(Callstack *stack,
                                         const char *frame,
                                         size_t frame_len,
                                         const char *registers,
                                         size_t registers_len,
                                         CallstackError **error);

/**
 * Returns the tools with which an agent in a run manages its own memory. The host offers them to the model together
 * with its own tools; `callstack_advance_run` carries them out.
 *
 * - `settings`: the settings of the run, as in `callstack_start_run`, such as `{"memory": "registers"}`; NULL for the
 *   defaults. `callstack_run_status` returns those of a run that is resumed.
 * - `out_tools`: a JSON array as in `callstack_tools`.
 *
 * Errors: _JSON.
 */
CallstackCode callstack_memory_tools(const char *settings,
                                     size_t settings_len,
                                     CallstackText *out_tools,
                                     CallstackError **error);

/**
 * Starts a run: an agent that works on a task and manages its own memory. Its frames are frames of the tree, and its
 * conversations are stored, so the run can continue after the death of the process.
 *
 * The host then repeats: call `callstack_advance_run`, do what it returns, and report the result with
 * `callstack_run_reply` or `callstack_run_answer`.
 *
 * - `run`: a JSON object, `{"task": "Build a calculator", "settings": {"memory": "registers", "maxDepth": 5,
 *   "heapCeiling": 5000, "sharedResults": true, "resultsBudget": 1500, "shortPrompt": false}, "title": "Calculator", "sessionID": "run_1"}`.
 *   Only `task` is required.
 *   - `memory`: `"heap"` (default: frames and heap) or `"registers"` (registers as well);
 *   - `maxDepth`: maximum depth of a frame; the root has depth 0; default 5;
 *   - `heapCeiling`: size of the heap, in characters, above which the agent is warned; default 5000;
 *   - `sharedResults`: whether a frame begins with the criteria of the frames above it and the results of the finished
 *     frames beside it and them, and the agent can record artifacts and decisions and read the logs of frames; default
 *     true;
 *   - `resultsBudget`: maximum size of what a frame sees of others, in tokens; default 1500;
 *   - `shortPrompt`: whether the system prompt has the rules alone, without examples and common mistakes; default false;
 *   - `title`: title of the root frame; default: the beginning of the task;
 *   - `sessionID`: ID of the root frame; default: a generated ID;
 *   - `tools`: the agent's other tools, described in Markdown: a section of the system prompt, up to 100,000 characters,
 *     kept with the run; default: none.
 * - `out_handle`: the handle of the root frame. It is the argument `run` of the functions below.
 *
 * Errors: _JSON, _EMPTY for the task, the title or the ID, _DUPLICATE_ID, _TOO_LONG for the ID or the tools, _FULL; the storage errors.
 */
CallstackCode callstack_start_run(Callstack *stack,
                                  const char *run,
                                  size_t run_len,
                                  CallstackText *out_handle,
                                  CallstackError **error);

/**
 * Carries out the tool calls of the model that concern memory, until the run needs the host, and returns what it
 * needs. Until the host has reported that, a repeated call returns the same.
 *
 * - `run`: the root frame of the run.
 * - `out_next`: a JSON object, one of
 *   - `{"next": "ask", "step": 3, "frame": "f2", "depth": 1, "system": "…", "messages": [{"role": "user", "text":
 *     "…"}, {"role": "assistant", "text": "", "calls": [{"id": "call_1", "name": "read_file", "arguments": "{…}"}]},
 *     {"role": "tool", "call": "call_1", "name": "read_file", "text": "…"}]}`: ask a model with this prompt, and
 *     report its answer with `callstack_run_reply`. A tool message about a failed tool call has `"isError": true`;
 *   - `{"next": "call", "id": "call_1", "name": "read_file", "arguments": "{…}"}`: carry out this tool call of the
 *     model, and report the answer with `callstack_run_answer`;
 *   - `{"next": "over", "status": "completed", "results": "…"}`: the run is finished.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; _OUT_OF_TURN if another caller advances the run at the same time;
 * the storage errors. Tool calls that were carried out before an error stay committed.
 */
CallstackCode callstack_advance_run(Callstack *stack,
                                    const char *run,
                                    size_t run_len,
                                    CallstackText *out_next,
                                    CallstackError **error);

/**
 * Returns all runs, finished or not, in the order in which they were started.
 *
 * - `out_runs`: a JSON array of the handles of their root frames, `["f1", "f7"]`.
 */
CallstackCode callstack_runs(const Callstack *stack, CallstackText *out_runs, CallstackError **error);

/**
 * Returns the position of a run.
 *
 * - `run`: the root frame of the run.
 * - `out_status`: a JSON object, `{"settings": {"memory": "heap", "maxDepth": 5, "heapCeiling": 5000, "sharedResults":
 *   true, "resultsBudget": 1500, "shortPrompt": false}, "steps": 7, "frame": "f3", "depth": 1, "repeats": 1}`: the settings; how many times a
 *   model has answered; the current frame and its depth; how many of the last steps in a row made the same tool calls.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN.
 */
CallstackCode callstack_run_status(const Callstack *stack,
                                   const char *run,
                                   size_t run_len,
                                   CallstackText *out_status,
                                   CallstackError **error);

/**
 * Reports the answer of the model to the prompt of `callstack_advance_run`.
 *
 * - `run`: the root frame of the run.
 * - `reply`: a JSON object, `{"text": "…", "calls": [{"id": "call_1", "name": "heap_free", "arguments":
 *   "{\"name\": \"api\"}"}], "cut": false}`. All keys are optional. `arguments` is the text that the model wrote.
 *   `cut`: true if the answer was cut at its maximum length; its tool calls are then not carried out.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if tool calls wait for answers or the run is
 * over; the storage errors.
 */
CallstackCode callstack_run_reply(Callstack *stack,
                                  const char *run,
                                  size_t run_len,
                                  const char *reply,
                                  size_t reply_len,
                                  CallstackError **error);

/**
 * Adds a message of the user to the conversation of a run's current frame, for example to steer its agent. The next prompt
 * has it behind all other messages, also behind the answers to tool calls that still wait for one.
 *
 * - `run`: the root frame of the run.
 * - `message`: the text. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _EMPTY for the message, _OUT_OF_TURN if the run is over; the storage
 * errors.
 */
CallstackCode callstack_run_tell(Callstack *stack,
                                 const char *run,
                                 size_t run_len,
                                 const char *message,
                                 size_t message_len,
                                 CallstackError **error);

/**
 * Reports the answer to the tool call that `callstack_advance_run` has returned.
 *
 * - `run`: the root frame of the run.
 * - `call`: the ID of the tool call, such as `call_1`.
 * - `answer`: the answer as a text for the model; NULL is the empty text.
 * - `is_error`: 0 if the tool call was carried out; another number if it failed and the answer is the reason.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _OUT_OF_TURN if another tool call is next or the run is over; the
 * storage errors.
 */
CallstackCode callstack_run_answer(Callstack *stack,
                                   const char *run,
                                   size_t run_len,
                                   const char *call,
                                   size_t call_len,
                                   const char *answer,
                                   size_t answer_len,
                                   int32_t is_error,
                                   CallstackError **error);

/**
 * Sets the settings of a host: the defaults, replaced by the environment variables STACK_…, replaced by `settings`.
 * From then on, effects include lines for the log of the host, and commands leave state.json to `callstack_poll`.
 *
 * - `settings`: NULL, or a JSON object such as `{"calls": {"maxDepth": 3}}`, with any of (values are the defaults)
 *   - `"tools"`: the tools that the host offers to its agents, `"standard"`, `"all"`, or a list of names such as
 *     `["standard", "stack_tree"]`; `callstack_offered_tools` returns them. Texts mention no others;
 *   - `"context"`: as in `callstack_context`;
 *   - `"subagents"`: `{"enabled": true, "minDuration": 60000, "minMessageCount": 3, "autoCompleteOnIdle": true,
 *     "idleCompletionDelay": 5000, "injectParentContext": true, "propagateSummaries": true, "patterns": […]}`;
 *     durations in milliseconds, patterns are regular expressions for titles;
 *   - `"autonomy"`: `{"level": "suggest", "pushThreshold": 70, "popThreshold": 80, "suggestInContext": true,
 *     "enabledHeuristics": […]}`; the level is `"manual"`, `"suggest"` or `"auto"`, thresholds are 0 to 100;
 *   - `"calls"`: `{"maxDepth": 5, "timeLimit": 0}`: how many frames can be above a called one, and the time limit of a
 *     call in milliseconds; 0 is no limit.
 * - `out_problems`: a JSON array of messages about invalid settings, `["the settings cannot be read: …"]`.
 *   An invalid setting is ignored; it is not an error of this function.
 */
CallstackCode callstack_configure(Callstack *stack,
                                  const char *settings,
                                  size_t settings_len,
                                  CallstackText *out_problems,
                                  CallstackError **error);

/**
 * Reports an event of the host. Changes that follow for the frames are committed before the function returns. If such
 * a change is refused, or storage fails, the function still succeeds; an effect `log` with the level `warn` reports
 * it.
 *
 * A host reports the events of all its sessions. Events may be repeated, and may come in any order. Events of one
 * stack are processed one after the other.
 *
 * - `event`: a JSON object; `"kind"` names the event, keys with `?` are optional:
 *   - `sessionCreated {sessionID, parentID?, title?}`, `sessionUpdated {sessionID, title}`,
 *     `sessionIdle {sessionID}`, `sessionError {sessionID, message}`, `sessionDeleted {sessionID}`;
 *   - `message {sessionID, messageID, role, text, time?, tokens?, contextLimit?, request?}`: a new message; `role` is
 *     `user` or `assistant`; `tokens` is the size of the session's context, `contextLimit` the maximum, both in tokens;
 *     `request` is the request to the model that the message answers (see `callstack_record_usage`), which is recorded in
 *     the session's frame, also if that is made later;
 *   - `modelRequested {sessionID, requestID, time?, request}`: a request that no message answers: one that has failed and is
 *     repeated, or that for the summary of a compaction;
 *   - `toolExecuted {sessionID, toolCallID?, tool, path?, command?, changes?, failed?, childID?, answer?}`: `path` is the file
 *     with which the tool was called, which counts as written if the tool is known to write files; `command` is the command line
 *     that it has run in a shell, whose redirections, `mv`, `rm` and the like count as changes of files; `changes` is what
 *     the tool did to files, `[{"kind": "written", "path"}, {"kind": "deleted", "path"}, {"kind": "renamed", "from",
 *     "to"}]`; `childID` is the child session in which it has worked, `answer` the answer of that session or, if
 *     the tool has failed, the error message: the frame of that session ends;
 *   - `sessionCompacting {sessionID}`: the host is about to ask for a summary;
 *   - `sessionCompacted {sessionID, messages}`; `sessionMessages {sessionID, messages}`. A message is
 *     `{"id", "role", "text", "summary"?, "unfinished"?, "time"?, "parts"?}`; `time` is in milliseconds since the Unix
 *     epoch;
 *   - `sessionSetBack {sessionID, answers, asked?}`: a person may have set the conversation back to an earlier point, or has opened
 *     it again; `answers` is what the tools of the library have answered in it, oldest first. It is in the frame in which it was
 *     then, or in the nearest open one above; open frames that it has begun since are blocked; `asked` is what the person has
 *     written in it, oldest first: what is gone is no part of the task any more;
 *   - `messageFinished {sessionID, message}`: a message will not change any more; it is appended to the frame's log;
 *   - `callStarted {call, sessionID}`, `callEnded {call, error?}`, `callAborted {call}`.
 * - `out_effects`: a JSON array of what the host must do, in this order, `[{"kind": "describeSession", "sessionID":
 *   "ses_2"}]`; `"kind"` names the effect:
 *   - `log {level, message, data}`: write a line to the log of the host; the level is `debug`, `info` or `warn`;
 *   - `describeSession {sessionID}`: report `sessionCreated`, or `sessionDeleted` if there is no such session;
 *   - `readMessages {sessionID}`: report `sessionMessages`, with an empty list if there is no such session;
 *   - `createSession {call, parentID, title}`: make a session, and report `callStarted`, or `callEnded` with an error;
 *   - `prompt {call, sessionID, callerID, text}`: prompt the session with the model of the session `callerID`, wait
 *     for its end, and report `callEnded`;
 *   - `answer {call, text, title, ended}`: give the text to the tool call that waits for this call; `title` is one line for people,
 *     `ended` the frames of which it tells how they have ended, or what they wait for;
 *   - `abortSession {sessionID}`: stop the work of the session;
 *   - `compactSession {sessionID}`: compact the session, and report `sessionCompacted`, with an empty list of messages
 *     if it cannot be compacted;
 *   - `compactionPrompt {sessionID, text}`: add the text to the prompt that asks for the summary.
 *
 * Errors: _JSON.
 */
CallstackCode callstack_event(Callstack *stack,
                              const char *event,
                              size_t event_len,
                              CallstackText *out_effects,
                              CallstackError **error);

/**
 * Does work that is due: writes state.json if it is out of date and costs little compared with the changes, or 5 s after
 * the last change; completes idle subagents; stops calls at their time limit; returns lines for the log. The host calls this function
 * at the time that `callstack_deadline` returns. From the first call on, commands leave state.json to this function.
 *
 * - `out_effects`: a JSON array as in `callstack_event`. With NULL the same work is done and the effects are lost:
 *   pass NULL only if the host reports no events.
 *
 * A failure to write the files is not an error of this function; `callstack_info` returns it as `mirror.error`.
 */
CallstackCode callstack_poll(Callstack *stack,
                             CallstackText *out_effects,
                             CallstackError **error);

/**
 * Returns the time at which `callstack_poll` has work to do. Does not wait for a command that is running.
 *
 * - `out_deadline`: milliseconds since the Unix epoch; 0 if there is no work.
 */
CallstackCode callstack_deadline(const Callstack *stack, uint64_t *out_deadline, CallstackError **error);

/**
 * Returns the tools that the host registers for its agents: those of the setting `"tools"` of `callstack_configure`, with
 * the names of `"tools"` in `"context"`. Call it after `callstack_configure`.
 *
 * - `out_tools`: a JSON array, `[{"name": "stack_frame_push", "group": "frames", "description": "…",
 *   "parameters": {…}, "example": {…}}]`. `name` is always the default name, which `callstack_tool` takes. `parameters` is
 *   the JSON Schema of an object; `example` is a valid one.
 */
CallstackCode callstack_offered_tools(const Callstack *stack,
                                      CallstackText *out_tools,
                                      CallstackError **error);

/**
 * Returns all tools for agents, also those that a host does not offer, for programs that choose or describe tools. The
 * descriptions mention other tools by the default names; `callstack_named_tools` is for other names.
 *
 * - `out_tools`: a JSON array as in `callstack_offered_tools`.
 */
CallstackCode callstack_tools(CallstackText *out_tools,
                              CallstackError **error);

/**
 * Returns all tools for agents like `callstack_tools`; the descriptions mention other tools by the host's names.
 *
 * - `names`: NULL for the default names, or a JSON object such as `{"prefix": "mcp__callstack__", "push":
 *   "begin_task", "heapRead": null}`, or the JSON string `"none"`, as `"tools"` in `callstack_context`.
 * - `out_tools`: a JSON array as in `callstack_tools`. Only the descriptions, including those inside `parameters`, change.
 *
 * Errors: _JSON if `names` is not valid JSON, has the wrong shape or an unknown key; _SETTING for a name that is empty,
 * longer than 64 characters or has control characters, with the key, such as `tools.push`, in the details as `name`.
 */
CallstackCode callstack_named_tools(const char *names,
                                    size_t names_len,
                                    CallstackText *out_tools,
                                    CallstackError **error);

/**
 * Carries out a tool call of the agent of a session. An unknown tool, wrong arguments, a refused command and a storage
 * failure are not errors of this function: the answer tells the agent the reason.
 *
 * - `session`: the whole ID of the session.
 * - `name`: the name of one of `callstack_tools`. Every one is carried out, also one that the host does not offer to its
 *   agents.
 * - `arguments`: a JSON object; NULL and the empty text are `{}`.
 * - `out_answer`: a JSON object, `{"text": "…", "title": "…", "ended": ["f2"], "isError": false, "effects": […]}`, with effects as in
 *   `callstack_event`. `title` is one line for people: what the call was about, and what became of that; empty if its arguments say
 *   it. `ended` are the frames of which the answer tells how they have ended, or what they wait for. A tool that runs a frame answers later: then the object has `"call": 3` and no `text`, and a
 *   later effect `answer` with the same `call` has the text. If nobody waits for the answer any more, report
 *   `callAborted`.
 */
CallstackCode callstack_tool(Callstack *stack,
                             const char *session,
                             size_t session_len,
                             const char *name,
                             size_t name_len,
                             const char *arguments,
                             size_t arguments_len,
                             CallstackText *out_answer,
                             CallstackError **error);

/**
 * Returns the frame in which the conversation of a session is: the session's own, or with `{"calls": {"in": "conversation"}}`
 * one that it has begun and works on itself.
 *
 * - `session`: the whole ID of the session.
 * - `out_handle`: the handle, such as `f3`; the empty text if the session has no frame.
 */
CallstackCode callstack_place(const Callstack *stack,
                              const char *session,
                              size_t session_len,
                              CallstackText *out_handle,
                              CallstackError **error);

/**
 * Returns the context of the frame of a session, with the settings of `callstack_configure` and the suggestions to its
 * agent.
 *
 * - `session`: the whole ID of the session.
 * - `out_stable`: the stable part, for the system prompt. Its bytes change only when a frame is pushed, popped or
 *   invalidated, or a chunk that it shows changes.
 * - `out_volatile`: the volatile part, for the place after the newest message of this one request.
 *
 * If the session has no frame, or the settings exclude it from contexts, the function succeeds and `data` of both
 * outputs is NULL.
 *
 * Errors: _BUDGET_TOO_SMALL, as for `callstack_context`.
 */
CallstackCode callstack_session_context(const Callstack *stack,
                                        const char *session,
                                        size_t session_len,
                                        CallstackText *out_stable,
                                        CallstackText *out_volatile,
                                        CallstackError **error);

/**
 * Appends entries to the full log of a frame, logs/{id}.jsonl in the folder of the stack: all of them or none.
 * Contexts that show the frame in full tell the agent the path of the log.
 *
 * - `frame`: the frame.
 * - `entries`: a JSON array of any values, `[{"role": "user", "text": "Build a shop"}]`. Each entry becomes one line.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _IN_MEMORY if the stack has no folder, _JSON (also for an entry that is
 * nested more than 100 levels deep); the storage errors.
 */
CallstackCode callstack_append_log(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *entries,
                                   size_t entries_len,
                                   CallstackError **error);

/**
 * Returns lines of the log of a frame. A frame without a log has no lines. This function reads the file; if there is
 * no file, it first waits for a running command and looks for commits of other processes.
 *
 * - `frame`: the frame.
 * - `query`: NULL for all lines, or a JSON object such as `{"from": 1, "to": 50, "search": "error", "tail": 10}`, with
 *   any of
 *   - `"from"`, `"to"`: first and last line, counted from 1; both are included;
 *   - `"search"`: only lines that contain this text in a key or a value; upper and lower case are the same;
 *   - `"tail"`: only the last lines of the selection, this number of them.
 * - `out_page`: a JSON object, `{"lines": [{"number": 1, "entry": {…}}], "total": 1, "damaged": [{"number": 2,
 *   "message": "…"}]}`. `total` is the number of all lines of the log; `damaged` lists the lines in the range that
 *   cannot be read, at most 1000.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _IN_MEMORY if the stack has no folder; the storage errors.
 */
CallstackCode callstack_read_log(Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 const char *query,
                                 size_t query_len,
                                 CallstackText *out_page,
                                 CallstackError **error);

/**
 * Sets the path of a frame's full log, for hosts that keep the log themselves. Contexts tell the agent the path while
 * the file exists; the library never writes to the file.
 *
 * - `frame`: the frame.
 * - `log_path`: a path, absolute or relative to the folder of the stack. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the path; the storage errors.
 */
CallstackCode callstack_set_log_path(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *log_path,
                                     size_t log_path_len,
                                     CallstackError **error);

/**
 * Returns events of the history, oldest first, up to the revision that `callstack_info` returns. Does not wait for a
 * command that is running.
 *
 * - `query`: NULL for all events, or a JSON object such as `{"since": 20, "frame": "f2"}`, with any of
 *   - `"since"`: only events after this revision; default 0;
 *   - `"until"`: only events up to this revision; default: all;
 *   - `"frame"`: only events of this frame;
 *   - `"kind"`: only events of this kind: `added`, `imported`, `dependenciesAdded`, `identified`, `statusChanged`,
 *     `invalidated`, `idReplaced`, `logPathSet`, `logMoved`, `artifactAdded`, `decisionAdded`, `activeChanged`, `summarized`,
 *     `chunkAllocated`, `chunkWritten`, `chunkFreed`, `registersChanged`, `runStarted`, `called`, `messagesAdded`,
 *     `delivered`, `forgotten`, `asked`, `answered`, `held`, `released`, `summaryRequested`, `edited`, `stopped`,
 *     `usageRecorded`, `limitsSet`, `costRecorded`, `transcriptRead`, `reopened`, `commanded`, `undone`, `restored` or
 *     `reimported`;
 *   - `"limit"`: at most this number of events, the oldest ones.
 * - `out_events`: a JSON array, `[{"revision": 7, "time": 1795293106903, "handle": "f2", "kind":
 *   "decisionAdded", "decision": "Use SQLite"}]`.
 *
 * Errors: _IN_MEMORY if the stack keeps no history, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for an unknown
 * kind; the storage errors.
 */
CallstackCode callstack_history(const Callstack *stack,
                                const char *query,
                                size_t query_len,
                                CallstackText *out_events,
                                CallstackError **error);

/**
 * Returns the whole history as text, up to the revision that `callstack_info` returns. `callstack_rebuild` reads it. If
 * the history is damaged (_DAMAGED), these are the events before the damage. Does not wait for a command that is
 * running.
 *
 * - `out_history`: one event in JSON on each line, as in `callstack_history`. If the history was compacted, lines come first that
 *   only the library reads, with the keys `base` and `baseFrame`: the frames whose events are gone.
 *
 * Errors: _IN_MEMORY if the stack keeps no history; _HISTORY if another process compacts the history meanwhile; the storage errors.
 */
CallstackCode callstack_export_history(const Callstack *stack,
                                       CallstackText *out_history,
                                       CallstackError **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CALLSTACK_H */
