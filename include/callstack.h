/*
 * callstack.h: the C interface of callstack-core, which gives LLM agents a call stack instead of a chat log.
 *
 * cbindgen generates this file from src/capi. Do not edit it: edit the doc comments there, and cbindgen.toml.
 *
 * A stack is a tree of frames. A frame is one task, with a title, a status and results. The host pushes a
 * frame for a sub-task, pops it with results, and asks for the context of a frame (XML text) before each
 * model call.
 *
 *     Callstack *stack = NULL;
 *     CallstackText handle;
 *     CallstackContext context;
 *     CallstackError *error = NULL;
 *     CallstackView shop = callstack_view("{\"title\": \"Build a shop\", \"sessionID\": \"ses_1\"}");
 *     if (callstack_in_memory(CALLSTACK_NONE, &stack, &error) == CALLSTACK_OK
 *         && callstack_push(stack, shop, &handle, &error) == CALLSTACK_OK
 *         && callstack_context(stack, callstack_view(handle.data), CALLSTACK_NONE, &context, &error)
 *             == CALLSTACK_OK)
 *         fwrite(context.xml.data, 1, context.xml.len, stdout);
 *     else
 *         fprintf(stderr, "%s\n", callstack_error_message(error));
 *
 * THE CONTRACT
 *
 * Return codes. A function that can fail returns a CallstackCode: CALLSTACK_OK (0) on success, otherwise the
 * number of the error. In the lists of errors below, `_JSON` is short for CALLSTACK_ERROR_JSON.
 *
 * Error objects. `error` is the last argument of every function that can fail, and may be NULL. If it is not
 * NULL, the function sets `*error`: to NULL on success, to a new error object on failure. The caller frees
 * the object with callstack_error_free. The previous value of `*error` is overwritten and not freed.
 *
 * Common errors. Every function that can fail can return these; the descriptions do not repeat them: _NULL,
 * _LENGTH and _UTF8 for invalid arguments, _PANIC for a fault in the library, and _BROKEN for a stack in
 * which an earlier command met such a fault.
 *
 * Storage errors. Where a description lists "storage errors", the function can return the numbers from 300 to
 * 599: _BUSY (other threads or processes took longer than `busyTimeout`), _DISCONNECTED, _IO, _DISK_FULL,
 * _READ_ONLY, _DAMAGED, _REPLACED, _VERSION (a newer version of the library has changed the database) and
 * _HISTORY. Commands on a stack in memory return only _BUSY of them, if commands in other threads take longer
 * than 10 seconds.
 *
 * Waiting. `busyTimeout` (see callstack_open) is the limit of one call. It begins with the call and covers
 * everything that the call waits for. callstack_report and callstack_poll do not fail: if they are refused,
 * the effect is a line for the log.
 *
 * A damaged history. If a command or callstack_refresh finds an event that cannot be read or does not fit the
 * events before it (another program or a damaged disk put it there), this and all later commands with the
 * stack return _DAMAGED with the same message, and nothing is written any more. Queries still work with the
 * frames before the damage. callstack_export_history returns the events before the damage; callstack_rebuild
 * makes a new stack of them in another folder. callstack_close frees the stack, and returns _DAMAGED too.
 *
 * Failed calls. A failed call changes neither the frames nor the history. Exceptions:
 *   - If writing fails during the commit itself, the call cannot know whether the commit was kept. The next
 *     command or callstack_refresh reads it from the database, if it was.
 *   - callstack_run_reply, callstack_run_answer and callstack_advance_run append the messages of a run to the
 *     log of their frame before they commit. If the commit fails, the log can contain messages that were not
 *     committed.
 *   - callstack_append_log takes its lines back if the commit fails. The lines stay if that fails too, or if
 *     another process has appended lines after them. An empty log file can stay.
 *   - A file that already has the name of a frame's new log is renamed before the commit, and stays renamed
 *     if the commit fails. If callstack_replace_id fails, the frame's log can keep a second name.
 *   - callstack_advance_run commits each tool call separately. If one fails, the earlier ones stay committed.
 *   - callstack_flush, callstack_close and callstack_export_files can have written some of the files.
 *   - callstack_open and callstack_rebuild can have created the folder and an empty database.
 * A failed command can also make visible what other processes have committed before it.
 *
 * One style. A function takes the stack, at most one subject (a frame, a session, a hold), one record with
 * the rest as JSON, and the outputs. The types in brackets in the descriptions are texts (text), words and
 * records as JSON (all other names): docs/api.md lists their keys.
 *
 * Input texts. A CallstackView is a pointer and a length in bytes. The text must be UTF-8 and need not end in
 * NUL. The library reads it only during the call; the caller keeps ownership. CALLSTACK_NONE (NULL with
 * length 0) is the empty text; where the description says "optional", it means that the argument is absent.
 * NULL with another length is the error _NULL. callstack_view() makes a view of a C string.
 *
 * Frame references. An argument that names a frame (`frame`, `parent`, `run`, the entries of `dependsOn`) is
 * the frame's handle (f and digits, such as f3), its ID, the beginning of its ID, or its title. A text of the
 * form of a handle is never read as an ID, and `id:` before a text means that the rest is a complete ID:
 * `id:f3` is the frame whose ID is f3. Callers that do not choose the IDs of their sessions should write
 * `id:` before them. The beginning of an ID, or a title, must match exactly one frame, else the error is
 * _AMBIGUOUS_FRAME; no match is _UNKNOWN_FRAME. An argument that names a session (`session`, `sessionID`,
 * `caller`, and all IDs in events) is the complete ID of the session, without `id:`.
 *
 * Outputs. A function first empties all its outputs (without freeing their previous content) and fills them
 * at the end, only on success. An output may be NULL if the caller does not need it, unless its description
 * says otherwise. A text output is a CallstackText: the caller frees it with callstack_text_free. A context
 * is a CallstackContext, whose texts are not copied: the caller frees it with callstack_context_free. Both
 * stay valid after the stack is closed.
 *
 * JSON. Records with several fields are JSON texts; their keys are those of the documented files. The library
 * rejects unknown keys in its input with _JSON, so typos are not ignored. Exceptions: callstack_configure
 * returns them as problems; a state and an imported plan keep them; in the `calls` of callstack_run_reply and
 * in the `messages` of callstack_report they are ignored. Callers should ignore unknown keys in the output,
 * because later versions can add keys. Times are milliseconds since the Unix epoch.
 *
 * Threads. Any thread may call any function at any time, also with the same stack. Exception: callstack_close
 * must be the last call with its stack, and no other call with that stack may run at the same time. Commands
 * (functions that take `Callstack *`) run one after the other. Queries (functions that take
 * `const Callstack *`) do not wait for commands or for other processes, unless the description says so. Only
 * one thread may free a text or an error object, and no other thread may read it at that time.
 *
 * Forks. After fork() only the parent process may use or close its stacks; the child opens the folder again.
 * If fork() runs while another thread is inside a function of the library, the child inherits locks that
 * no thread opens: until it calls exec(), it must not call any function of the library. Frames that the
 * parent runs as a host count as running until its forked children have ended too.
 *
 * Panics. No panic of the library reaches the caller; it is returned as _PANIC. After a panic in a query the
 * stack works as before. After a panic in a command the stack is broken: every later call with it returns
 * _BROKEN, until it is closed. All acknowledged commits are in the folder; open it again to continue.
 *
 * The end of the process. Three faults end the whole process (abort) instead of returning a code: memory
 * cannot be allocated; a thread has no room left on its stack; a library that was built with panic = "abort"
 * panics. Two signals of the system do the same: SIGXFSZ, unless the program ignores it, when a file reaches
 * the limit for the size of files; SIGBUS when another program cuts a file of the database that is open.
 * Acknowledged commits survive these faults as they survive kill -9.
 *
 * Undefined behaviour. The library cannot detect a pointer that was freed, or memory that is shorter than the
 * length says.
 *
 * Versions. callstack_abi() must return CALLSTACK_ABI. Within a major version functions are added, and none
 * are changed or removed.
 */


#ifndef CALLSTACK_H
#define CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

/**
 * Version of the C interface that this header describes. It changes when a function is changed or removed,
 * not when one is added.
 */
#define CALLSTACK_ABI 1

/**
 * A call stack: a tree of frames, in a folder or in memory.
 *
 * Any thread may call any function with it at any time; commands run one after the other, and queries do not
 * wait for the disk (exceptions are in their descriptions). Only `callstack_close` must be the last call and
 * must run alone. Any number of processes may open the same folder, each any number of times.
 */
typedef struct Callstack Callstack;

/**
 * The error of a failed call.
 *
 * The caller owns it and frees it with `callstack_error_free`. Several threads may read it at the same time.
 * The texts that the functions below return belong to it and are valid until it is freed.
 */
typedef struct CallstackError CallstackError;

/**
 * A text that the library has allocated: `len` bytes of UTF-8 at `data`, followed by a NUL that `len` does
 * not count. The text itself can contain NUL bytes.
 *
 * The caller reads it, does not change the fields, and frees it with `callstack_text_free`. Any thread may
 * read or free it.
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
 * The result of a call: `CALLSTACK_OK` or the number of an error. The hundreds of a number say what can be
 * done about it:
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
 * A text that the caller keeps: `len` bytes of UTF-8 at `data`, which need not end in NUL. Functions take it
 * by value and read it only during the call. NULL with length 0 means that there is no text: the empty text,
 * or an absent argument.
 */
typedef struct {
    /**
     * The first byte.
     */
    const char *data;
    /**
     * The length in bytes.
     */
    size_t len;
} CallstackView;

/**
 * The context of a frame: the XML text that its agent reads before the next model call. Use either `xml`, or
 * `stable` and `changing`: both ways have the same information. The texts belong to the context and are not
 * followed by a NUL.
 *
 * The caller does not change the fields, and frees the context with `callstack_context_free`. Any thread may
 * read it.
 */
typedef struct {
    /**
     * The whole context as one XML document, the stable part first.
     */
    CallstackView xml;
    /**
     * The stable part, for the system prompt. Its bytes change only when a frame is added or its status
     * changes, when a chunk that it shows changes, or when results are delivered or forgotten. So prompt
     * caches stay valid.
     */
    CallstackView stable;
    /**
     * The volatile part. It belongs after the newest message.
     */
    CallstackView changing;
    /**
     * An upper bound of the number of tokens of `xml`, and of `stable` and `changing` together.
     */
    size_t tokens;
    /**
     * What the texts belong to; NULL for an empty context.
     */
    const void *owner;
} CallstackContext;

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
 * The library panicked: a defect of the library, or of a callback of the host. If the function was a
 * command, the stack is broken.
 */
#define CALLSTACK_ERROR_PANIC 4

/**
 * No frame has this handle, this ID, an ID with this beginning, this title, or a title with this beginning.
 */
#define CALLSTACK_ERROR_UNKNOWN_FRAME 101

/**
 * Several frames match: their IDs begin with the text, or their titles are the text or begin with it. The
 * details list up to eight candidates.
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
 * The parent of a frame would be the frame itself or one below it.
 */
#define CALLSTACK_ERROR_PARENT_CIRCLE 109

/**
 * The frame is not in_progress or blocked, so it cannot be the active frame.
 */
#define CALLSTACK_ERROR_NOT_OPEN 110

/**
 * The budget is too small for the required part of the context. The details hold the `needed` one and its
 * `unit`, tokens or bytes.
 */
#define CALLSTACK_ERROR_BUDGET_TOO_SMALL 111

/**
 * The folder for a new stack or an export already contains a stack.
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
 * Another actor works on the frame. The details hold `by`, and `until` when.
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
 * The frame is neither failed nor blocked, or was retried already: then the details hold the `newest`
 * attempt.
 */
#define CALLSTACK_ERROR_NOT_RETRIABLE 129

/**
 * An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away from the one
 * before it.
 */
#define CALLSTACK_ERROR_RETRY_LINK 130

/**
 * The frame is not free for a worker, or its holder cannot keep it. The details hold the `reason`.
 */
#define CALLSTACK_ERROR_NOT_FREE 131

/**
 * Another actor has held the frame since, so what its earlier holder still sends is refused. The details
 * hold `by`, the newest holder, and its `generation`.
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
 * The frame would have more tools than the frames above it. The details hold `tools`, those that are too
 * many, and `above`.
 */
#define CALLSTACK_ERROR_TOOLS_EXCEED 135

/**
 * Frames below the frame that is to be completed are open or planned. The details hold `left`, the first
 * dozen of them.
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
 * Commands of other threads, or other processes in the database or at the lock of a file, took longer than
 * the call waits (`busyTimeout`). The details hold `waited`, in milliseconds: how long the call waited in
 * all.
 */
#define CALLSTACK_ERROR_BUSY 301

/**
 * The server of the stack cannot be reached. `isOutcomeUnknown` in the details says whether the command may
 * have been committed.
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
 * A file does not contain what its name says, or a history has an event that does not fit. It was not
 * changed.
 */
#define CALLSTACK_ERROR_DAMAGED 503

/**
 * The files of the stack were replaced while it was open. Nothing more is written to them: open the stack
 * again.
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

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the C interface that the loaded library implements. If it is not `CALLSTACK_ABI`,
 * the header does not match the library: do not call any other function.
 */
uint32_t callstack_abi(void);

/**
 * Returns the version of the library, such as `0.1.0`. NUL-terminated and static: the caller must not free
 * it.
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
 * Returns the name of the code, for programs and logs: the constant without `CALLSTACK_ERROR_`, in lower
 * case, such as `unknown_frame`. NUL-terminated; empty if `error` is NULL.
 */
const char *callstack_error_name(const CallstackError *error);

/**
 * Returns the message: the cause and what to do about it, in a sentence that can be shown to an agent.
 * UTF-8, NUL-terminated; NUL characters inside the message are replaced by U+FFFD. Empty if `error` is NULL.
 */
const char *callstack_error_message(const CallstackError *error);

/**
 * Returns the values in the message as a JSON object, for programs: `{"handle": "f3", "total": 100,
 * "needed": 214, "unit": "tokens"}` for `CALLSTACK_ERROR_BUDGET_TOO_SMALL`. UTF-8, NUL-terminated; empty if
 * `error` is NULL.
 */
const char *callstack_error_details(const CallstackError *error);

/**
 * Frees an error object and sets the pointer to it to NULL, so a second call does nothing. `error` may be
 * NULL, and may point to NULL.
 */
void callstack_error_free(CallstackError **error);

/**
 * Opens the stack in a folder. Creates the folder and the stack if they do not exist. Files of the original
 * plugin (`state.json`, `frames/`) are imported once, if the folder has no database; the originals are kept
 * in `before-import/`.
 *
 * - `folder` (text): a path, absolute or relative to the working directory. Must not be empty.
 * - `options` (StackOptions, optional): how the stack is stored.
 * - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _EMPTY for the folder, _JSON and _SETTING for the options; _DAMAGED and _VERSION if a file cannot
 * be read or comes from a newer version (the file is not changed); the storage errors.
 */
CallstackCode callstack_open(CallstackView folder,
                             CallstackView options,
                             Callstack **out_stack,
                             CallstackError **error);

/**
 * Makes an empty stack in memory. Nothing is written to the disk.
 *
 * - `options` (MemoryOptions, optional): what the stack keeps.
 * - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _JSON and _SETTING for the options.
 */
CallstackCode callstack_in_memory(CallstackView options, Callstack **out_stack, CallstackError **error);

/**
 * Makes a stack in memory from a state. Unreadable or inconsistent parts of the state are repaired, and no
 * frame is lost: `callstack_info` lists the repairs. A `logPath` that leads outside of a stack's folder is
 * removed, and contexts name a log only after `callstack_set_log_path`.
 *
 * - `state` (StackState): the JSON of `callstack_state` or of a file `state.json`.
 * - `options` (StateOptions, optional): how tokens are counted.
 * - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _JSON if `state` is not a state; _JSON and _SETTING for the options; _VERSION if a newer version
 * wrote the state.
 */
CallstackCode callstack_from_state(CallstackView state,
                                   CallstackView options,
                                   Callstack **out_stack,
                                   CallstackError **error);

/**
 * Makes a stack from an exported history in a folder that has no stack yet: the same frames with the same
 * handles, and the same history.
 *
 * - `folder` (text): a path, as for `callstack_open`.
 * - `history` (text): the text of `callstack_export_history`.
 * - `options` (StackOptions, optional): how the stack is stored.
 * - `out_stack` (Stack): the stack. Must not be NULL. The caller closes it with `callstack_close`.
 *
 * Errors: _NOT_EMPTY if the folder has a `state.json` or a database with events; _JSON (names the line) and
 * _HISTORY (names the event) for the history; _EMPTY for the folder, _JSON and _SETTING for the options; the
 * storage errors.
 */
CallstackCode callstack_rebuild(CallstackView folder,
                                CallstackView history,
                                CallstackView options,
                                Callstack **out_stack,
                                CallstackError **error);

/**
 * Flushes the stack as `callstack_flush` does, frees it, and sets the pointer to NULL, so a second call does
 * nothing.
 *
 * - `stack`: the pointer to the stack. May be NULL, and may point to NULL. No other call may use the stack
 *   at the same time or later.
 *
 * The stack is freed in any case, also if the function returns an error. A broken stack is freed without a
 * flush.
 *
 * Errors: those of `callstack_flush`.
 */
CallstackCode callstack_close(Callstack **stack, CallstackError **error);

/**
 * Writes everything to the disk: syncs the database, so that all acknowledged commits survive a power loss,
 * and brings state.json and the files of the frames up to date. A stack in memory has nothing to write.
 *
 * Errors: the storage errors. An error of the files is also in `callstack_info`, as `mirror.error`.
 */
CallstackCode callstack_flush(Callstack *stack, CallstackError **error);

/**
 * Makes visible to queries what other processes have committed since the last command or refresh. Commands
 * do the same automatically. Takes a few microseconds if there is nothing new.
 *
 * - `out_is_new` (flag): whether there was something new.
 *
 * Errors: the storage errors.
 */
CallstackCode callstack_refresh(Callstack *stack, int32_t *out_is_new, CallstackError **error);

/**
 * Replaces the events of finished trees by their last state, so that the database becomes smaller. Frames,
 * handles, contexts and logs stay as they are. `callstack_history` no longer has these events.
 * `callstack_export_history` writes the frames instead of them, so `callstack_rebuild` still makes the same
 * stack.
 *
 * Takes some seconds for a million events. Most of that time other commands do not wait.
 *
 * - `limits` (CompactionLimits): which trees lose their events.
 * - `out_compaction` (HistoryCompaction): what was removed.
 *
 * Errors: _JSON for the limits, _IN_MEMORY if the stack has no database, _DAMAGED if the events do not give
 * the state that the database has; the storage errors. After an error the history is as it was.
 */
CallstackCode callstack_compact_history(Callstack *stack,
                                        CallstackView limits,
                                        CallstackText *out_compaction,
                                        CallstackError **error);

/**
 * Removes old logs of finished frames. Logs of frames that are planned, in progress or blocked stay.
 *
 * - `limits` (LogLimits): which logs are removed.
 * - `out_pruned` (PrunedLogs): what was removed, and what is left.
 *
 * Errors: _JSON for the limits, _IN_MEMORY if the stack has no folder; the storage errors.
 */
CallstackCode callstack_prune_logs(Callstack *stack,
                                   CallstackView limits,
                                   CallstackText *out_pruned,
                                   CallstackError **error);

/**
 * Returns figures about the stack, as the last command left them. Does not wait for a command that is
 * running.
 *
 * - `out_info` (StackInfo): the figures.
 */
CallstackCode callstack_info(const Callstack *stack, CallstackText *out_info, CallstackError **error);

/**
 * Makes a new frame with the status `in_progress`, and makes it the active frame.
 *
 * - `frame` (NewFrame): the frame. Only the title is required.
 * - `out_handle` (Handle): the handle of the frame, such as `f3`.
 *
 * Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task,
 * _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _PARENT_PLANNED, _SETTING and _TOOLS_EXCEED
 * for the limits, _FULL; the storage errors.
 */
CallstackCode callstack_push(Callstack *stack,
                             CallstackView frame,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes a new frame with the status `planned`. It begins with `callstack_activate` or `callstack_begin`.
 *
 * - `frame` (NewFrame): the frame. Its parent may be planned too.
 * - `out_handle` (Handle): the handle of the frame.
 *
 * Errors: _JSON, _DUPLICATE_ID, _EMPTY for the title or the ID, _TOO_LONG for the ID or the task,
 * _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _SETTING and _TOOLS_EXCEED for the limits,
 * _FULL; the storage errors.
 */
CallstackCode callstack_plan(Callstack *stack,
                             CallstackView frame,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes several planned children of one frame in one commit: all of them or none.
 *
 * - `parent` (FrameRef): the frame above the children.
 * - `children` (NewFrame[]): the children. Their own `parent` and `caller` are ignored. A child may depend
 *   on any other child of the list, by its `sessionID` or its title.
 * - `out_handles` (Handle[]): the handles of the children.
 *
 * Errors: those of `callstack_plan` for any of the children; the message says which child: _JSON,
 * _DUPLICATE_ID, _EMPTY, _TOO_LONG, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY, _PARENT_CLOSED, _SETTING,
 * _TOOLS_EXCEED, _FULL; the storage errors.
 */
CallstackCode callstack_plan_children(Callstack *stack,
                                      CallstackView parent,
                                      CallstackView children,
                                      CallstackText *out_handles,
                                      CallstackError **error);

/**
 * Returns the frame of a session. If the session has no frame, makes a placeholder: a frame with the status
 * `in_progress`, whose title and criteria `callstack_identify` can set later. A placeholder becomes the
 * active frame if no frame is active.
 *
 * - `session` (text): the whole ID of the session.
 * - `placeholder` (Placeholder, optional): what a placeholder is made with.
 * - `out_handle` (Handle): the handle of the frame.
 *
 * Errors: _EMPTY and _TOO_LONG for the ID, _JSON, _UNKNOWN_FRAME and _AMBIGUOUS_FRAME for the parent, _FULL;
 * the storage errors.
 */
CallstackCode callstack_ensure(Callstack *stack,
                               CallstackView session,
                               CallstackView placeholder,
                               CallstackText *out_handle,
                               CallstackError **error);

/**
 * Sets the title and the criteria of a placeholder for good. This works once for each frame. If a
 * placeholder already has criteria, they are also set for good when a frame is pushed, planned or imported
 * below it.
 *
 * - `frame` (FrameRef): the frame.
 * - `identity` (Identity): the title and the criteria.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the title, _IDENTITY_FIXED if the frame is not
 * a placeholder; the storage errors.
 */
CallstackCode callstack_identify(Callstack *stack,
                                 CallstackView frame,
                                 CallstackView identity,
                                 CallstackError **error);

/**
 * Edits a planned frame: its words, its priority and dependencies, its parent, and its order among its
 * siblings. The frames below it move with it. A person (`callstack_as_actor`) can also correct the words and
 * the priority of a frame that is `in_progress` or `blocked`.
 *
 * - `frame` (FrameRef): the frame.
 * - `edit` (FrameEdit): what changes. Every key is optional.
 *
 * Errors: _NOT_PLANNED if the frame has begun or ended and this is not a correction by a person; _TOO_LONG
 * for the task; _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _EMPTY for the title; _PARENT_CLOSED and
 * _PARENT_CIRCLE for the parent; _RETRY_LINK if a next attempt would get another parent; _NOT_SIBLING for
 * `before`; _DEPENDENCY if a frame would wait for itself, or for a frame above or below it; the storage
 * errors.
 */
CallstackCode callstack_edit(Callstack *stack,
                             CallstackView frame,
                             CallstackView edit,
                             CallstackError **error);

/**
 * Begins a planned frame: sets its status to `in_progress` and makes it the active frame. It does not check
 * what the frame depends on: `callstack_begin` does.
 *
 * - `frame` (FrameRef): a frame with the status `planned`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if it is not
 * work, _HELD; the storage errors.
 */
CallstackCode callstack_activate(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Begins a planned frame as `callstack_activate` does, if it has what it needs.
 *
 * - `frame` (FrameRef): a frame with the status `planned`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is not planned, _NOT_READY if something
 * keeps it from beginning (the details hold `dependencies`), _HELD; the storage errors.
 */
CallstackCode callstack_begin(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Gives a frame another ID. Its handle stays the same. Its file, and its log if the library keeps the log,
 * are renamed.
 *
 * - `frame` (FrameRef): the frame.
 * - `session` (text): the new ID. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY and _TOO_LONG for the ID, _DUPLICATE_ID if another frame
 * has the ID; the storage errors.
 */
CallstackCode callstack_replace_id(Callstack *stack,
                                   CallstackView frame,
                                   CallstackView session,
                                   CallstackError **error);

/**
 * Ends the work on a frame and sets its results. If the frame or a frame below it was active, its nearest
 * ancestor that is `in_progress` or `blocked` becomes active; if there is none, no frame is active. A root
 * can be popped too.
 *
 * - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
 * - `pop` (Pop): the new status, the results, and the frame that begins next.
 * - `out_popped` (Popped): the frame, its parent, and what is left below it.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _TRANSITION if the status of the frame does not allow it
 * or `next` is not planned, _NOT_READY if `next` depends on a frame that is not completed then, _HELD; the
 * storage errors.
 */
CallstackCode callstack_pop(Callstack *stack,
                            CallstackView frame,
                            CallstackView pop,
                            CallstackText *out_popped,
                            CallstackError **error);

/**
 * Completes a frame whose work is done. Unlike `callstack_pop`, it refuses while frames below the frame are
 * open or planned.
 *
 * - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
 * - `completion` (Completion): the results, and the frame that begins next.
 * - `out_popped` (Popped): the frame and its parent.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _PARTS_LEFT if frames below it are open or planned,
 * _TRANSITION if the status of the frame does not allow it or `next` is not planned, _NOT_READY if `next`
 * depends on a frame that is not completed then, _HELD; the storage errors.
 */
CallstackCode callstack_complete(Callstack *stack,
                                 CallstackView frame,
                                 CallstackView completion,
                                 CallstackText *out_popped,
                                 CallstackError **error);

/**
 * Blocks a frame: it waits for something from outside. The active frame changes as in `callstack_pop`. The
 * contexts of its parent, of its siblings and of the frames that depend on it show the question.
 *
 * - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
 * - `block` (Block): the question, and the results so far.
 * - `out_popped` (Popped): the frame, its parent, and what is left below it.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _TRANSITION if the status of the frame does not allow it,
 * _HELD; the storage errors.
 */
CallstackCode callstack_block(Callstack *stack,
                              CallstackView frame,
                              CallstackView block,
                              CallstackText *out_popped,
                              CallstackError **error);

/**
 * Answers a blocked frame. The frame stays blocked until it is resumed: by a host that runs its session,
 * when it calls `callstack_poll`; by the agent's tool `stack_frame_activate`; or by `callstack_resume`. The
 * contexts of the frame show the answer until the frame is finished. A second answer to one question is
 * added to the first. A frame that waits before it has begun, as an import leaves it, becomes planned with
 * the answer; if it is not work, it becomes completed.
 *
 * - `frame` (FrameRef): the frame, `blocked`.
 * - `answer` (text): the answer. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_BLOCKED, _EMPTY for the answer; the storage errors.
 */
CallstackCode callstack_answer(Callstack *stack,
                               CallstackView frame,
                               CallstackView answer,
                               CallstackError **error);

/**
 * Resumes an open frame: a blocked frame becomes `in_progress` again. The frame becomes the active frame,
 * and an actor with a name (`callstack_as_actor`) becomes its holder, so of several actors one resumes it.
 *
 * - `frame` (FrameRef): the frame, `blocked` or `in_progress`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION if the frame is neither `blocked` nor `in_progress`,
 * _HELD; the storage errors.
 */
CallstackCode callstack_resume(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Stops the frames that hosts run or workers hold, from a frame downwards, also those of other processes:
 * the frames become blocked, and the reason is what they wait for. A running host notices that at its next
 * poll: it aborts their sessions, keeps what the agents have said last as results so far, and answers the
 * callers. The frames can be resumed like any other blocked frame.
 *
 * - `frame` (FrameRef): this frame and the frames below it.
 * - `reason` (text): for those who resume the frames. Must not be empty.
 * - `out_stopped` (Handle[]): the stopped frames.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason; _HELD if another actor works itself in
 * the frame or below it; the storage errors.
 */
CallstackCode callstack_stop(Callstack *stack,
                             CallstackView frame,
                             CallstackView reason,
                             CallstackText *out_stopped,
                             CallstackError **error);

/**
 * Stops all frames that hosts run or workers hold: see `callstack_stop`. The frames in which other actors work
 * themselves stay as they are, if an actor with a name gives the command.
 *
 * - `reason` (text): for those who resume the frames. Must not be empty.
 * - `out_stopped` (Handle[]): the stopped frames.
 *
 * Errors: _EMPTY for the reason; the storage errors.
 */
CallstackCode callstack_stop_all(Callstack *stack,
                                 CallstackView reason,
                                 CallstackText *out_stopped,
                                 CallstackError **error);

/**
 * Retries a failed or blocked frame: makes a planned frame beside it, with the same title, criteria and
 * dependencies, as its next attempt. A blocked frame fails; it keeps its results and its question. The
 * planned frames below it are invalidated. The context of the new frame shows why the earlier attempts
 * failed. All other contexts show the newest attempt only, and frames that depend on any attempt wait for
 * the newest.
 *
 * - `frame` (FrameRef): the frame, `failed` or `blocked`.
 * - `note` (text, optional): what must be done differently, or the answer to what the frame waits for.
 * - `out_retried` (Retried): the new frame.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_RETRIABLE if the frame is neither failed nor blocked or has
 * a next attempt already, _PARENT_CLOSED, _FULL, _HELD; the storage errors.
 */
CallstackCode callstack_retry(Callstack *stack,
                              CallstackView frame,
                              CallstackView note,
                              CallstackText *out_retried,
                              CallstackError **error);

/**
 * Records that the conversation of the frame's parent has received the results of the frame, for example as
 * the answer to a tool call. Contexts of the parent then do not repeat these results, until
 * `callstack_forget` of the parent (with `"finishedChildren": "forgotten"`, the default). A host that
 * reports events needs not call it for the calls that the library answers.
 *
 * - `frame` (FrameRef): the frame, `completed` or `failed`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_FINISHED; the storage errors.
 */
CallstackCode callstack_deliver(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Records that the conversation of a frame was compacted or has started from the beginning, so that it no
 * longer holds the results of the frame's children. The frame's contexts then show these results. A host
 * that reports events needs not call it after a compaction.
 *
 * - `frame` (FrameRef): the frame.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; the storage errors.
 */
CallstackCode callstack_forget(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Records the results so far of an open frame and leaves its status unchanged, for example before its
 * conversation is compacted. The context of the frame itself shows them. Frames below it see them from the
 * next push or change of a status on.
 *
 * - `frame` (FrameRef): the frame, `in_progress` or `blocked`.
 * - `results` (ResultsSoFar): the results so far.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _RESULTS_FIXED if the frame is not open, _EMPTY for the
 * results; the storage errors.
 */
CallstackCode callstack_summarize(Callstack *stack,
                                  CallstackView frame,
                                  CallstackView results,
                                  CallstackError **error);

/**
 * Reopens a completed frame that turned out to be wrong: it is `in_progress` again and becomes the active
 * frame. Its results become its results so far, and its context shows the reason.
 *
 * - `frame` (FrameRef): the frame, `completed`.
 * - `reason` (text): what is wrong. Must not be empty.
 * - `out_reopened` (Reopened): the frame, and the frames that depend on it.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is not
 * completed, _PARENT_CLOSED if a frame above it has ended, _PARENT_PLANNED if one is planned, _HELD; the
 * storage errors.
 */
CallstackCode callstack_reopen(Callstack *stack,
                               CallstackView frame,
                               CallstackView reason,
                               CallstackText *out_reopened,
                               CallstackError **error);

/**
 * Takes back the last command of the person who gives this command (`callstack_as_actor` with the kind
 * `person`), if nothing has been built on it. Without an actor, it takes back the last command of the
 * persons who have given no name. What the command has added is invalidated. The last 20 commands of persons
 * are remembered.
 *
 * - `out_undone` (Undone): what was taken back.
 *
 * Errors: _NOTHING_TO_UNDO, _NOT_UNDONE (the details hold the reason); the storage errors.
 */
CallstackCode callstack_undo(Callstack *stack, CallstackText *out_undone, CallstackError **error);

/**
 * Takes a frame and the planned frames below it out of the plan: sets their status to `invalidated`. If the
 * frame was active, its nearest ancestor that is `in_progress` or `blocked` becomes active.
 *
 * - `frame` (FrameRef): the frame, in any status except `invalidated`.
 * - `reason` (text): the reason, for people and agents. Must not be empty.
 * - `out_invalidated` (Invalidated): the frames that were invalidated, and those that are concerned.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION if the frame is invalidated
 * already, _HELD; the storage errors.
 */
CallstackCode callstack_invalidate(Callstack *stack,
                                   CallstackView frame,
                                   CallstackView reason,
                                   CallstackText *out_invalidated,
                                   CallstackError **error);

/**
 * Records a file or another resource that the work on a frame has produced. Each artifact is recorded once.
 *
 * - `frame` (FrameRef): the frame, in any status.
 * - `artifact` (text): usually a path. Must not be empty.
 * - `out_is_new` (flag): whether the artifact was not recorded before.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the artifact; the storage errors.
 */
CallstackCode callstack_add_artifact(Callstack *stack,
                                     CallstackView frame,
                                     CallstackView artifact,
                                     int32_t *out_is_new,
                                     CallstackError **error);

/**
 * Records a decision in a frame.
 *
 * - `frame` (FrameRef): the frame, in any status.
 * - `decision` (text): the decision, such as `Use SQLite`. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the decision; the storage errors.
 */
CallstackCode callstack_add_decision(Callstack *stack,
                                     CallstackView frame,
                                     CallstackView decision,
                                     CallstackError **error);

/**
 * Records a request to a model that was made in the session of a frame. Contexts do not change. A host with
 * sessions reports requests with its messages instead: see `callstack_report`.
 *
 * - `frame` (FrameRef): the frame, in any status.
 * - `request` (ModelRequest): the request. Every key is optional.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
 */
CallstackCode callstack_record_usage(Callstack *stack,
                                     CallstackView frame,
                                     CallstackView request,
                                     CallstackError **error);

/**
 * Makes an open frame the active frame.
 *
 * - `frame` (FrameRef): a frame that is `in_progress` or `blocked`. `callstack_activate` begins a planned
 *   one.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN if the frame is neither `in_progress` nor `blocked`;
 * the storage errors.
 */
CallstackCode callstack_set_active(Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Adds the frames of a plan in one commit: all of them or none. A plan that was imported before is brought
 * up to date: the library compares it by its IDs with what it said then, adds new entries, edits changed
 * ones, finishes closed ones, and invalidates removed ones. What was begun in the stack stays, and so does a
 * field that was changed both in the stack and in the plan. A frame that the plan does not let begin is
 * blocked until it is answered, or until a time.
 *
 * - `plan` (text): the text of Task Master's `tasks.json`, of Beads' `issues.jsonl`, of a check list in
 *   Markdown, or of a `state.json`. The library detects the format. A `state.json` only adds frames; each
 *   `logPath` in it is left out and reported as a problem, because the logs stay where the state comes from.
 * - `out_imported` (Imported): the new and the changed frames, and the problems.
 *
 * Errors: _JSON if the plan is in none of the formats, _VERSION if a newer version wrote the `state.json`,
 * _DUPLICATE_ID if a frame that is not from this plan has the same ID, _DEPENDENCY if a change in the stack
 * would make a new entry wait for itself, _FULL; the storage errors.
 */
CallstackCode callstack_import_plan(Callstack *stack,
                                    CallstackView plan,
                                    CallstackText *out_imported,
                                    CallstackError **error);

/**
 * Gives a free frame to a worker, for the length of a lease. If several workers ask at the same time, in any
 * processes, each gets another frame. The frame becomes `in_progress`; the active frame stays the same.
 *
 * First come the frames whose worker has let its lease end or has released them, and blocked frames of
 * workers that were answered; then come planned frames in the order of the plan. A planned frame is free
 * when its dependencies, and those of the planned frames above it, are completed, and when its children are
 * completed or invalidated; unless the frame above it has ended.
 *
 * - `request` (NewHold): the worker, the lease, and which frames it wants.
 * - `out_hold` (Hold, or null): the frame and its holder, if a frame is free now.
 *   `callstack_work_left` says whether that can change.
 *
 * Errors: _JSON, _EMPTY and _TOO_LONG for the name, _SETTING for the lease, _UNKNOWN_FRAME,
 * _AMBIGUOUS_FRAME, _NOT_FREE if the wanted frame is not free; the storage errors.
 */
CallstackCode callstack_hold(Callstack *stack,
                             CallstackView request,
                             CallstackText *out_hold,
                             CallstackError **error);

/**
 * Extends the lease of a holder. A lease that has ended can be renewed as long as no other worker has held
 * the frame since.
 *
 * - `hold` (Hold): what `callstack_hold` has returned.
 * - `renewal` (Renewal): the length of the lease from now on.
 * - `out_hold` (Hold): the hold with its new end.
 *
 * Errors: _HOLD_LOST if another worker has held the frame since; _NOT_FREE if its holder has released it, or
 * if it is not `in_progress` any more: the holder should stop; _SETTING for the lease; _JSON,
 * _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_renew(Callstack *stack,
                              CallstackView hold,
                              CallstackView renewal,
                              CallstackText *out_hold,
                              CallstackError **error);

/**
 * Returns whether a holder still has its frame. A worker asks now and then, for example each second, and
 * stops its work when the frame is not held any more.
 *
 * - `hold` (Hold): what `callstack_hold` has returned.
 * - `out_standing` (Standing): how the frame stands for its holder.
 *
 * Errors: _HOLD_LOST if another worker has held the frame since; _JSON, _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_standing(const Callstack *stack,
                                 CallstackView hold,
                                 CallstackText *out_standing,
                                 CallstackError **error);

/**
 * Releases a frame, so that another worker can have it at once. The frame stays `in_progress`, and this time
 * does not count as a try. Nothing happens if the frame was released already.
 *
 * - `hold` (Hold): what `callstack_hold` has returned.
 *
 * Errors: _HOLD_LOST if another worker has held the frame since; _JSON, _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_release(Callstack *stack, CallstackView hold, CallstackError **error);

/**
 * Ends the work of a holder on its frame in one commit. The frame must be `in_progress`, so what a person
 * stops or plans at this moment is not lost. If frames were planned below the frame, it is put back until
 * they are done, and its results are its results so far.
 *
 * - `hold` (Hold): what `callstack_hold` has returned.
 * - `finish` (Finish): how the work ends.
 * - `out_finished` (Finished): the new status of the frame.
 *
 * Errors: _HOLD_LOST if another worker has held the frame since; _NOT_FREE if the frame is not `in_progress`
 * any more; _SETTING for a time that is too long; _EMPTY, _JSON, _UNKNOWN_FRAME; the storage errors.
 */
CallstackCode callstack_finish(Callstack *stack,
                               CallstackView hold,
                               CallstackView finish,
                               CallstackText *out_finished,
                               CallstackError **error);

/**
 * Returns the same stack for an actor. What other actors hold is theirs: commands of the returned stack that
 * begin, continue, end, block or invalidate such a frame are refused with _HELD. A conversation, or a person
 * with a name, holds what it begins. If the actor is a hold, all commands are refused with _HOLD_LOST when
 * another actor has held that frame since. Commands of `stack` work as before.
 *
 * - `actor` (Actor): what `callstack_hold` has returned, or the kind and the name of the actor. A `worker`
 *   needs a hold.
 * - `out_stack` (Stack): the stack of the actor. The caller closes it, and `stack`, in any order.
 *
 * Errors: _JSON.
 */
CallstackCode callstack_as_actor(Callstack *stack,
                                 CallstackView actor,
                                 Callstack **out_stack,
                                 CallstackError **error);

/**
 * Counts the unfinished frames by what they are for workers. If none is `free`, `held` or `later`, none
 * becomes free unless a person or a host does something.
 *
 * - `below` (FrameRef, optional): only frames below this one. Default: all frames.
 * - `out_left` (WorkLeft): the numbers of frames.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_work_left(const Callstack *stack,
                                  CallstackView below,
                                  CallstackText *out_left,
                                  CallstackError **error);

/**
 * Returns how a host continues frames whose work was interrupted, stopped or answered. Each frame comes
 * after the frames below it, so that it finds their results. A host asks again when a frame that it waits
 * for has ended.
 *
 * - `frames` (FrameRef[], optional): the frames that the host continues. Default: all that are open.
 * - `out_resumption` (Resumption): the frames that can continue now, and later.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON.
 */
CallstackCode callstack_resumption(const Callstack *stack,
                                   CallstackView frames,
                                   CallstackText *out_resumption,
                                   CallstackError **error);

/**
 * Records that frames were interrupted because the lease of their holder has ended. Hosts do this when they
 * poll and at tool calls; a program without sessions can do it before it looks at what runs. If a record is
 * refused, the next call tries again.
 *
 * - `out_frames` (Handle[]): these frames.
 */
CallstackCode callstack_note_interruptions(const Callstack *stack,
                                           CallstackText *out_frames,
                                           CallstackError **error);

/**
 * Sets what a frame may do and spend. Limits that are not given stay as they are.
 *
 * - `frame` (FrameRef): the frame, in any status.
 * - `limits` (FrameLimits): the limits.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for a limit of 0, _TOOLS_EXCEED for tools that
 * the frames above do not have; the storage errors.
 */
CallstackCode callstack_set_limits(Callstack *stack,
                                   CallstackView frame,
                                   CallstackView limits,
                                   CallstackError **error);

/**
 * Records what a conversation of a frame has cost so far, for hosts that know the costs of conversations,
 * but not of requests. It replaces what was recorded of the conversation before. Until the next record,
 * `callstack_usage` estimates the costs of later requests.
 *
 * - `frame` (FrameRef): the frame, in any status.
 * - `cost` (NewCost): the conversation and its cost.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY if the ID of the conversation is blank; the
 * storage errors.
 */
CallstackCode callstack_record_cost(Callstack *stack,
                                    CallstackView frame,
                                    CallstackView cost,
                                    CallstackError **error);

/**
 * Returns what a frame may do and spend now, with the limits of all frames above it. A root without limits
 * of its own has those of the host's settings (`calls.limits`).
 *
 * - `frame` (FrameRef): the frame.
 * - `out_allowance` (Allowance): what is left. What is not limited is absent.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_allowance(const Callstack *stack,
                                  CallstackView frame,
                                  CallstackText *out_allowance,
                                  CallstackError **error);

/**
 * Returns the first frame, from this one upwards, that has spent what it may, together with all frames below
 * it.
 *
 * - `frame` (FrameRef): the frame.
 * - `out_overspent` (Overspent, or null): that frame and the reason, if there is one.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_overspent(const Callstack *stack,
                                  CallstackView frame,
                                  CallstackText *out_overspent,
                                  CallstackError **error);

/**
 * Returns the handle of a frame.
 *
 * - `frame` (FrameRef): a handle, an ID, the beginning of an ID, a title, or the beginning of the title of
 *   an unfinished frame.
 * - `out_handle` (Handle): the handle, such as `f3`.
 *
 * Errors: _UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with `candidates` in the details.
 */
CallstackCode callstack_resolve(const Callstack *stack,
                                CallstackView frame,
                                CallstackText *out_handle,
                                CallstackError **error);

/**
 * Returns the handle of the active frame: the frame on which an agent works.
 *
 * - `out_handle` (Handle, or empty): the handle, if a frame is active.
 */
CallstackCode callstack_active(const Callstack *stack, CallstackText *out_handle, CallstackError **error);

/**
 * Returns the record of a frame.
 *
 * - `frame` (FrameRef): the frame.
 * - `out_frame` (Frame): the record with the handle.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_frame(const Callstack *stack,
                              CallstackView frame,
                              CallstackText *out_frame,
                              CallstackError **error);

/**
 * Returns the records of all frames, or of the frames that match a query.
 *
 * - `query` (FrameQuery, optional): which frames. Default: all.
 * - `out_frames` (Frame[]): the records, in the order of creation, if the query does not have another order.
 *
 * Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs a frame and the query has
 * none.
 */
CallstackCode callstack_frames(const Callstack *stack,
                               CallstackView query,
                               CallstackText *out_frames,
                               CallstackError **error);

/**
 * Returns the handles of all frames, or of the frames that match a query, like `callstack_frames`.
 *
 * - `query` (FrameQuery, optional): which frames. Default: all.
 * - `out_handles` (Handle[]): the handles.
 *
 * Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if the relation needs a frame and the query has
 * none.
 */
CallstackCode callstack_handles(const Callstack *stack,
                                CallstackView query,
                                CallstackText *out_handles,
                                CallstackError **error);

/**
 * Returns the sums of the requests to models: those of a frame, and those of the frame and all frames below
 * it.
 *
 * - `frame` (FrameRef): the frame.
 * - `out_usage` (FrameUsage): the sums.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_usage(const Callstack *stack,
                              CallstackView frame,
                              CallstackText *out_usage,
                              CallstackError **error);

/**
 * Returns all trees in the documented form of `state.json`. `callstack_from_state` reads it.
 *
 * - `out_state` (StackState): the state.
 */
CallstackCode callstack_state(const Callstack *stack, CallstackText *out_state, CallstackError **error);

/**
 * Writes the documented files, `state.json` and `frames/`, to another folder, for other tools or as a copy.
 * `callstack_open` of that folder imports them. The files show the frames at the time of the call. The
 * function does not wait for a command that is running, and no command waits for it.
 *
 * - `folder` (text): a path, absolute or relative to the working directory. Must not be empty. The folder is
 *   created if it does not exist.
 *
 * Errors: _EMPTY for the folder, _NOT_EMPTY if the folder contains a `state.json` or a database; _IO, _DISK_FULL,
 * _READ_ONLY and _BUSY for the files, also for a stack in memory.
 */
CallstackCode callstack_export_files(const Callstack *stack,
                                     CallstackView folder,
                                     CallstackError **error);

/**
 * Returns the trees as text for people.
 *
 * - `options` (OutlineOptions, optional): what the text shows.
 * - `out_outline` (text): several lines.
 *
 * Errors: _JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_outline(const Callstack *stack,
                                CallstackView options,
                                CallstackText *out_outline,
                                CallstackError **error);

/**
 * Frees a context and empties the struct, so a second call does nothing. `context` may be NULL.
 */
void callstack_context_free(CallstackContext *context);

/**
 * Returns the context of a frame: the XML text that its agent reads before the next model call. It never
 * exceeds its budget. A cache answers calls for the same frame and settings while nothing in the context has
 * changed, for up to 30 seconds.
 *
 * - `frame` (FrameRef): the frame.
 * - `settings` (Settings, optional): the budget, and what is shown. Every key is optional.
 * - `out_context` (Context): the context. The caller frees it with `callstack_context_free`.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings; _BUDGET_TOO_SMALL, with the
 * smallest possible budget in the details, as `needed` and `unit` (`"tokens"`: of `total`; `"bytes"`: of
 * `bytes`).
 */
CallstackCode callstack_context(const Callstack *stack,
                                CallstackView frame,
                                CallstackView settings,
                                CallstackContext *out_context,
                                CallstackError **error);

/**
 * Returns the contexts of several frames in one call, each as `callstack_context` returns it.
 *
 * - `frames` (FrameRef[]): the frames. In C the address of `count` views; may be NULL if `count` is 0.
 * - `settings` (Settings, optional): the budget, and what is shown, in all of them. In C the address of the
 *   text; may be NULL.
 * - `out_contexts` (Context[]): the contexts, in the order of the frames. In C the address of `count` contexts.
 *   The caller frees each with `callstack_context_free`. All are empty after an error.
 *
 * Languages that pay for each struct that they pass by value use it for one frame too: it takes addresses.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME and _BUDGET_TOO_SMALL of the first frame whose context fails, as
 * for `callstack_context`; _JSON and _SETTING for the settings.
 */
CallstackCode callstack_contexts(const Callstack *stack,
                                 const CallstackView *frames,
                                 size_t count,
                                 const CallstackView *settings,
                                 CallstackContext *out_contexts,
                                 CallstackError **error);

/**
 * Returns which frames and chunks were considered for a context, and how much of each it shows.
 *
 * - `context` (Context): a context that is not freed and not empty.
 * - `out_report` (ContextReport): the report.
 */
CallstackCode callstack_context_report(const CallstackContext *context,
                                       CallstackText *out_report,
                                       CallstackError **error);

/**
 * Removes the contexts of a frame from the cache.
 *
 * - `frame` (FrameRef, optional): the frame. Default: all frames.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_clear_cache(const Callstack *stack, CallstackView frame, CallstackError **error);

/**
 * Returns the settings of contexts that follow from the environment: the defaults, replaced by the values of
 * the environment variables `STACK_TOKEN_BUDGET_TOTAL`, `STACK_TOKEN_BUDGET_ANCESTORS`,
 * `STACK_TOKEN_BUDGET_SIBLINGS` and `STACK_TOKEN_BUDGET_CURRENT`, in tokens. A variable that is not a whole
 * number of at least 1 leaves the default.
 *
 * - `out_settings` (Settings): the settings.
 * - `out_problems` (text[]): a message for each variable that was ignored.
 */
CallstackCode callstack_settings(CallstackText *out_settings,
                                 CallstackText *out_problems,
                                 CallstackError **error);

/**
 * Returns what has changed in a volatile part, for a conversation that keeps what it was told: a whole new
 * part would leave the older one beside it.
 *
 * - `before` (text): the volatile part that the conversation was told last.
 * - `now` (text): the newest one, of `callstack_session_context` or `callstack_context`.
 * - `out_changes` (text): a block with the elements that are new or different, and the names of those that
 *   are gone; `now` itself if that is not longer; empty if nothing has changed.
 */
CallstackCode callstack_context_changes(CallstackView before,
                                        CallstackView now,
                                        CallstackText *out_changes,
                                        CallstackError **error);

/**
 * Folds a request to a model: takes the stretches of finished frames out of it. In a host whose agent works
 * on all its frames in one conversation, a pushed and popped frame is then a call and its return. The answer
 * of the push becomes what the frame has returned, and everything from there to the answer of the pop is
 * removed. What is not folded keeps its bytes.
 *
 * The result depends on the arguments only. A request without a finished frame, a request that breaks a rule
 * of its wire, and a text that is not a request come back as they are. `docs/fold.md` has the rule.
 *
 * - `wire` (Wire): the form of the request: `anthropic` (Messages), `responses` and `chat` (OpenAI),
 *   `gemini`, `opencode` (the messages of its hook `experimental.chat.messages.transform`), or `pi` (the
 *   messages of its event `context`).
 * - `request` (text): the body of the request as JSON; for `opencode` and `pi` the list of messages.
 * - `settings` (FoldSettings, optional): the host's names of the tools, and what is folded. Every key is
 *   optional.
 * - `out_request` (text): the request that the host sends.
 * - `out_report` (FoldReport): what was removed.
 *
 * Errors: _SETTING for an unknown wire or a name that is not allowed; _JSON if `settings` is not valid JSON,
 * has another shape or an unknown key.
 */
CallstackCode callstack_fold(CallstackView wire,
                             CallstackView request,
                             CallstackView settings,
                             CallstackText *out_request,
                             CallstackText *out_report,
                             CallstackError **error);

/**
 * Allocates a chunk, a named text, on the heap of a frame. The frame and all frames below it see the chunk
 * until it is freed. Contexts show its text verbatim, even after the conversation was compacted.
 *
 * - `frame` (FrameRef): the frame that owns the chunk.
 * - `chunk` (NewChunk): the chunk.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY for the name, _TOO_LONG, _NOT_ONE_LINE,
 * _CHUNK_EXISTS if the frame, or an unfinished frame below it, already sees a chunk of that name; the
 * storage errors.
 */
CallstackCode callstack_allocate_chunk(Callstack *stack,
                                       CallstackView frame,
                                       CallstackView chunk,
                                       CallstackError **error);

/**
 * Replaces the content of a chunk.
 *
 * - `frame` (FrameRef): a frame that sees the chunk.
 * - `content` (ChunkContent): the name of the chunk, and its new content.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _UNKNOWN_CHUNK (the details hold the names that are
 * `known`), _TOO_LONG; the storage errors.
 */
CallstackCode callstack_write_chunk(Callstack *stack,
                                    CallstackView frame,
                                    CallstackView content,
                                    CallstackError **error);

/**
 * Removes a chunk from the heap.
 *
 * - `frame` (FrameRef): a frame that sees the chunk.
 * - `name` (text): the name of the chunk.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK (the details hold the names that are `known`);
 * the storage errors.
 */
CallstackCode callstack_free_chunk(Callstack *stack,
                                   CallstackView frame,
                                   CallstackView name,
                                   CallstackError **error);

/**
 * Returns all chunks that a frame sees. The chunks of its root come first.
 *
 * - `frame` (FrameRef): the frame.
 * - `out_chunks` (VisibleChunk[]): each chunk with the frame that owns it.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_chunks(const Callstack *stack,
                               CallstackView frame,
                               CallstackText *out_chunks,
                               CallstackError **error);

/**
 * Sets registers of a frame: short notes of its agent. From then on the frame uses registers: its contexts
 * show them, and its children inherit some of them when they begin. `callstack_frame` returns them. Values
 * that are too long are cut. Other registers keep their values.
 *
 * - `frame` (FrameRef): the frame.
 * - `registers` (Registers): the registers that change.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; the storage errors.
 */
CallstackCode callstack_update_registers(Callstack *stack,
                                         CallstackView frame,
                                         CallstackView registers,
                                         CallstackError **error);

/**
 * Starts a run: an agent that works on a task and manages its own memory. Its frames are frames of the tree,
 * and its conversations are stored, so the run can continue after the death of the process.
 *
 * The host then repeats: it calls `callstack_advance_run`, does what the answer says, and reports the
 * outcome with `callstack_run_reply` or `callstack_run_answer`.
 *
 * - `run` (NewRun): the task and the settings. Only the task is required.
 * - `out_handle` (Handle): the handle of the root frame. It is the argument `run` of the functions below.
 *
 * Errors: _JSON, _EMPTY for the task, the title or the ID, _DUPLICATE_ID, _TOO_LONG for the ID or the tools,
 * _FULL; the storage errors.
 */
CallstackCode callstack_start_run(Callstack *stack,
                                  CallstackView run,
                                  CallstackText *out_handle,
                                  CallstackError **error);

/**
 * Carries out the tool calls of the model that concern memory, until the run needs the host, and returns
 * what it needs. Until the host has reported that, another call returns the same.
 *
 * - `run` (FrameRef): the root frame of the run.
 * - `out_next` (Next): what the run needs: the answer of a model to a prompt (report it with
 *   `callstack_run_reply`), the answer to a tool call (report it with `callstack_run_answer`), or nothing,
 *   because the run is over.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN if the frame is not the root of a run; _OUT_OF_TURN if
 * another caller advances the run at the same time; the storage errors. Tool calls that were carried out
 * before an error stay committed.
 */
CallstackCode callstack_advance_run(Callstack *stack,
                                    CallstackView run,
                                    CallstackText *out_next,
                                    CallstackError **error);

/**
 * Returns all runs, finished or not, in the order in which they were started.
 *
 * - `out_runs` (Handle[]): the handles of their root frames.
 */
CallstackCode callstack_runs(const Callstack *stack, CallstackText *out_runs, CallstackError **error);

/**
 * Returns the settings and the progress of a run.
 *
 * - `run` (FrameRef): the root frame of the run.
 * - `out_status` (RunStatus): the settings and the progress.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN if the frame is not the root of a run.
 */
CallstackCode callstack_run_status(const Callstack *stack,
                                   CallstackView run,
                                   CallstackText *out_status,
                                   CallstackError **error);

/**
 * Reports the answer of the model to the prompt of `callstack_advance_run`.
 *
 * - `run` (FrameRef): the root frame of the run.
 * - `reply` (Reply): the text and the tool calls of the model.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if tool calls wait for answers or
 * the run is over; the storage errors.
 */
CallstackCode callstack_run_reply(Callstack *stack,
                                  CallstackView run,
                                  CallstackView reply,
                                  CallstackError **error);

/**
 * Adds a message of the user to the conversation of a run's current frame, for example to steer its agent.
 * The next prompt has it after all other messages, also after the answers to tool calls that still wait for
 * one.
 *
 * - `run` (FrameRef): the root frame of the run.
 * - `message` (text): the message. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN, _EMPTY for the message, _OUT_OF_TURN if the run is
 * over; the storage errors.
 */
CallstackCode callstack_run_tell(Callstack *stack,
                                 CallstackView run,
                                 CallstackView message,
                                 CallstackError **error);

/**
 * Reports the answer to the tool call that `callstack_advance_run` has returned.
 *
 * - `run` (FrameRef): the root frame of the run.
 * - `answer` (RunAnswer): the call, and its answer.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN, _OUT_OF_TURN if another tool call is next or the
 * run is over; the storage errors.
 */
CallstackCode callstack_run_answer(Callstack *stack,
                                   CallstackView run,
                                   CallstackView answer,
                                   CallstackError **error);

/**
 * Sets the settings of a host. They replace the environment variables `STACK_…`, which replace the defaults.
 * From then on, effects include lines for the log of the host, and `callstack_poll` is expected to be
 * called.
 *
 * - `settings` (HostSettings, optional): the settings. Every key is optional.
 * - `out_problems` (text[]): a message for each invalid setting. An invalid setting is ignored; it is not an
 *   error of this function.
 */
CallstackCode callstack_configure(Callstack *stack,
                                  CallstackView settings,
                                  CallstackText *out_problems,
                                  CallstackError **error);

/**
 * Reports an event of the host. Changes of frames that follow from it are committed before the function
 * returns. If such a change is refused, or storage fails, the function still succeeds; an effect `log` with
 * the level `warn` reports it.
 *
 * A host reports the events of all its sessions. Events may be repeated, and may come in any order. Events
 * of one stack are processed one after the other.
 *
 * - `event` (HostEvent): the event.
 * - `out_effects` (Effect[]): what the host must do, in this order.
 *
 * Errors: _JSON for an event of another shape.
 */
CallstackCode callstack_report(Callstack *stack,
                               CallstackView event,
                               CallstackText *out_effects,
                               CallstackError **error);

/**
 * Does work that is due: writes the files beside the database in small portions, those of changed frames
 * every 250 ms, and `state.json` if writing costs little compared with the changes, or 5 s after the last
 * change; completes idle subagents; stops calls at their time limit; returns lines for the log. The host
 * calls this function at the time that `callstack_deadline` returns. With the option `mirror:
 * "withCommands"`, commands leave `state.json` to this function from the first call on. A failure to write
 * the files is not an error of this function; `callstack_info` returns it as `mirror.error`.
 *
 * - `out_effects` (Effect[]): what the host must do, in this order. A caller that does not take the effects
 *   loses them, so it must not have reported events.
 */
CallstackCode callstack_poll(Callstack *stack, CallstackText *out_effects, CallstackError **error);

/**
 * Returns the time at which `callstack_poll` has work to do. Does not wait for a command that is running.
 *
 * - `out_deadline` (time, or empty): milliseconds since the Unix epoch, if there is work; in C 0 otherwise.
 */
CallstackCode callstack_deadline(const Callstack *stack, uint64_t *out_deadline, CallstackError **error);

/**
 * Returns tools for agents. `name` in a tool is always its default name, which `callstack_tool` takes.
 *
 * - `stack` (Stack, optional): the tools that this host offers to its agents, after `callstack_configure`.
 *   NULL: all tools, also those that a host does not offer.
 * - `query` (ToolQuery, optional): the host's names of the tools, or the tools of a run.
 * - `out_tools` (Tool[]): the tools, with descriptions and JSON Schemas of their parameters.
 *
 * Errors: _JSON; _SETTING for a name that is empty, longer than 64 characters or has control characters,
 * with the key, such as `tools.push`, in the details as `name`.
 */
CallstackCode callstack_tools(const Callstack *stack,
                              CallstackView query,
                              CallstackText *out_tools,
                              CallstackError **error);

/**
 * Carries out a tool call of the agent of a session. An unknown tool, wrong arguments, a refused command and
 * a storage failure are not errors of this function: the answer tells the agent the reason.
 *
 * - `session` (text): the whole ID of the session.
 * - `call` (ToolRequest): the name of the tool, and the arguments.
 * - `out_answer` (ToolAnswer): the text for the agent, and what the host must do.
 *
 * Errors: _JSON.
 */
CallstackCode callstack_tool(Callstack *stack,
                             CallstackView session,
                             CallstackView call,
                             CallstackText *out_answer,
                             CallstackError **error);

/**
 * Returns the frame in which the conversation of a session is: the session's own frame, or with `{"calls":
 * {"in": "conversation"}}` a frame that it has begun and works on itself.
 *
 * - `session` (text): the whole ID of the session.
 * - `out_handle` (Handle, or empty): the handle, if the session has a frame.
 */
CallstackCode callstack_place(const Callstack *stack,
                              CallstackView session,
                              CallstackText *out_handle,
                              CallstackError **error);

/**
 * Returns the context of the frame of a session, with the settings of `callstack_configure` and the
 * suggestions to its agent.
 *
 * - `session` (text): the whole ID of the session.
 * - `out_context` (Context, or empty): the context; all its texts are absent if the session has no frame, or
 *   if the settings exclude it from contexts.
 *
 * Errors: _BUDGET_TOO_SMALL, as for `callstack_context`.
 */
CallstackCode callstack_session_context(const Callstack *stack,
                                        CallstackView session,
                                        CallstackContext *out_context,
                                        CallstackError **error);

/**
 * Appends entries to the full log of a frame, `logs/{id}.jsonl` in the folder of the stack: all of them or
 * none. Contexts that show the frame in full tell the agent the path of the log.
 *
 * - `frame` (FrameRef): the frame.
 * - `entries` (any[]): the entries. Each becomes one line of JSON.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _IN_MEMORY if the stack has no folder, _JSON (also for an entry
 * that is nested more than 100 levels deep); the storage errors.
 */
CallstackCode callstack_append_log(Callstack *stack,
                                   CallstackView frame,
                                   CallstackView entries,
                                   CallstackError **error);

/**
 * Returns lines of the log of a frame. A frame without a log has no lines. The function reads the file; if
 * there is no file, it first waits for a running command and looks for commits of other processes.
 *
 * - `frame` (FrameRef): the frame.
 * - `query` (LogQuery, optional): which lines. Default: all.
 * - `out_page` (LogPage): the lines.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _IN_MEMORY if the stack has no folder; the storage
 * errors.
 */
CallstackCode callstack_read_log(Callstack *stack,
                                 CallstackView frame,
                                 CallstackView query,
                                 CallstackText *out_page,
                                 CallstackError **error);

/**
 * Sets the path of a frame's full log, for hosts that keep the log themselves. Contexts tell the agent the
 * path while the file exists. The library never writes to the file.
 *
 * - `frame` (FrameRef): the frame.
 * - `path` (text): a path, absolute or relative to the folder of the stack. Must not be empty.
 *
 * Errors: _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the path; the storage errors.
 */
CallstackCode callstack_set_log_path(Callstack *stack,
                                     CallstackView frame,
                                     CallstackView path,
                                     CallstackError **error);

/**
 * Returns events of the history, oldest first, up to the revision that `callstack_info` returns. Does not
 * wait for a command that is running.
 *
 * - `query` (EventQuery, optional): which events. Default: all.
 * - `out_events` (StackEvent[]): the events.
 *
 * Errors: _IN_MEMORY if the stack keeps no history, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _SETTING for an
 * unknown kind; the storage errors.
 */
CallstackCode callstack_history(const Callstack *stack,
                                CallstackView query,
                                CallstackText *out_events,
                                CallstackError **error);

/**
 * Returns the whole history as text, up to the revision that `callstack_info` returns. `callstack_rebuild`
 * reads it. If the history is damaged (_DAMAGED), these are the events before the damage. Does not wait for
 * a command that is running.
 *
 * - `out_history` (text): one event in JSON on each line, as in `callstack_history`. If the history was
 *   compacted, lines come first that only the library reads, with the keys `base` and `baseFrame`: the
 *   frames whose events are gone.
 *
 * Errors: _IN_MEMORY if the stack keeps no history; _HISTORY if another process compacts the history at the
 * same time; the storage errors.
 */
CallstackCode callstack_export_history(const Callstack *stack,
                                       CallstackText *out_history,
                                       CallstackError **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CALLSTACK_H */

#ifndef CALLSTACK_NONE
/* No text: an absent argument, or the empty text. */
#define CALLSTACK_NONE callstack_view(NULL)

/* Returns a view of a C string, which the caller keeps. NULL gives CALLSTACK_NONE. */
static inline CallstackView callstack_view(const char *text) {
    CallstackView view = {text, 0};
    while (text && text[view.len])
        view.len++;
    return view;
}
#endif
