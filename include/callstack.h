/*
 * callstack.h: a call stack instead of a chat log for LLM agents.
 *
 * Made of src/capi by cbindgen. Do not edit it; edit the comments there.
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
 * Codes. A function that can fail returns a CallstackCode: CALLSTACK_OK (0), or the number of an error. A
 * call that fails has changed nothing, unless its description says otherwise.
 *
 * Errors. If the last argument, `error`, is not NULL, it is set: to NULL if all went well, else to an error
 * that the caller frees with callstack_error_free. What was there before is not freed.
 *
 * Text in. A text is a pointer and a length in bytes. It must be UTF-8, need not end in NUL, and is not kept
 * after the call. NULL with length 0 is the empty text, or where it says so, none. A frame is named by its
 * handle (f3), its ID, or the beginning of an ID that fits no other frame.
 *
 * Text out. Outputs are emptied first (what was in them is not freed) and written last, if all went well.
 * Each may be NULL if it is not wanted, unless its description says otherwise. A CallstackText is freed with
 * callstack_text_free.
 *
 * Records. Objects with several fields are JSON, with the names that the documented files have. A key that
 * is not known is an error, so that a slip is not taken for a wish. Readers should pass over keys that they
 * do not know: later versions may add some.
 *
 * Threads. All functions may be called from any thread at any time, also with one and the same stack; only
 * callstack_close must be the last call with its stack. A text or an error belongs to one thread at a time
 * when it is freed. After fork() a stack belongs to the parent alone.
 *
 * Faults. NULL where there must be something, bytes that are no UTF-8, lengths and numbers that cannot be:
 * an error. No panic of the library reaches the caller. If a command meets one, the stack is broken: later
 * calls answer CALLSTACK_ERROR_BROKEN until it is closed, and what was acknowledged is in its folder. A
 * pointer that was freed, or memory shorter than its length says, is beyond help, as always in C.
 *
 * Versions. callstack_abi() must equal CALLSTACK_ABI. Within a major version functions are only added.
 */


#ifndef CALLSTACK_H
#define CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

/**
 * Number of the interface that this header describes. It changes when a function changes or goes,
 * not when one is added.
 */
#define CALLSTACK_ABI 1

/**
 * A call stack: a tree of frames, in a folder or in memory.
 *
 * Any thread may call any function with it at any time; commands are carried out one after the other,
 * and readers never wait for the disk. Only `callstack_close` must come alone and last. A folder may be
 * open any number of times, in any number of processes.
 */
typedef struct Callstack Callstack;

/**
 * What went wrong in a call that has not answered `CALLSTACK_OK`.
 *
 * It belongs to the caller, who frees it with `callstack_error_free`. Any thread may read it, several
 * at once; its texts live as long as it does.
 */
typedef struct CallstackError CallstackError;

/**
 * A text that the library has made: `len` bytes of UTF-8 at `data`, and a NUL behind them that `len`
 * does not count (the text itself may hold some).
 *
 * The memory belongs to the library. Give the struct to `callstack_text_free` when it has been read,
 * and change neither field before. Any thread may read and free it.
 */
typedef struct {
    /**
     * The first byte; NULL if there is no text.
     */
    char *data;
    /**
     * How many bytes there are.
     */
    size_t len;
} CallstackText;

/**
 * What a call has come to: `CALLSTACK_OK`, or which error. A number is never given to another error;
 * later versions may add some.
 */
typedef int32_t CallstackCode;

/**
 * Where a frame is in its life. In JSON the name stands, such as `"in_progress"`.
 */
typedef int32_t CallstackStatus;

/**
 * All went well.
 */
#define CALLSTACK_OK 0

/**
 * A pointer that must not be NULL is.
 */
#define CALLSTACK_ERROR_NULL 1

/**
 * A length is greater than any text can be.
 */
#define CALLSTACK_ERROR_LENGTH 2

/**
 * A text is not UTF-8.
 */
#define CALLSTACK_ERROR_UTF8 3

/**
 * An error in the library itself. A command that met it has broken the stack.
 */
#define CALLSTACK_ERROR_PANIC 4

/**
 * An earlier command has broken this stack: close it and open it again.
 */
#define CALLSTACK_ERROR_BROKEN 5

/**
 * No frame has this handle, ID or beginning of an ID.
 */
#define CALLSTACK_ERROR_UNKNOWN_FRAME 101

/**
 * Several IDs begin with the text that was given.
 */
#define CALLSTACK_ERROR_AMBIGUOUS_FRAME 102

/**
 * Another frame already has the ID.
 */
#define CALLSTACK_ERROR_DUPLICATE_ID 103

/**
 * A text that must say something is empty.
 */
#define CALLSTACK_ERROR_EMPTY 104

/**
 * The frame cannot go from its status to the one asked for.
 */
#define CALLSTACK_ERROR_TRANSITION 105

/**
 * The parent is finished or invalidated.
 */
#define CALLSTACK_ERROR_PARENT_CLOSED 106

/**
 * The parent is planned, so nothing can be pushed below it.
 */
#define CALLSTACK_ERROR_PARENT_PLANNED 107

/**
 * The frame has its title and criteria already.
 */
#define CALLSTACK_ERROR_IDENTITY_FIXED 108

/**
 * A dependency that can never be satisfied or makes no sense.
 */
#define CALLSTACK_ERROR_DEPENDENCY 109

/**
 * Two imported frames would be above each other.
 */
#define CALLSTACK_ERROR_PARENT_CIRCLE 110

/**
 * A finished or invalidated frame cannot be the active one.
 */
#define CALLSTACK_ERROR_NOT_OPEN 111

/**
 * The token budget does not even hold the least that a context must show.
 */
#define CALLSTACK_ERROR_BUDGET_TOO_SMALL 112

/**
 * A setting, a number or an environment variable is not one of those allowed.
 */
#define CALLSTACK_ERROR_SETTING 113

/**
 * A text is no JSON, or JSON of another shape.
 */
#define CALLSTACK_ERROR_JSON 114

/**
 * A file was written by a newer version of the library.
 */
#define CALLSTACK_ERROR_VERSION 115

/**
 * An event that cannot stand where it stands in a history.
 */
#define CALLSTACK_ERROR_HISTORY 116

/**
 * The folder for a new stack holds one already.
 */
#define CALLSTACK_ERROR_NOT_EMPTY 117

/**
 * A stack in memory does not have what was asked for.
 */
#define CALLSTACK_ERROR_IN_MEMORY 118

/**
 * The operating system refuses a file or folder.
 */
#define CALLSTACK_ERROR_IO 119

/**
 * The disk is full.
 */
#define CALLSTACK_ERROR_DISK_FULL 120

/**
 * The file, its folder or the disk may only be read.
 */
#define CALLSTACK_ERROR_READ_ONLY 121

/**
 * Other processes kept the database to themselves for too long.
 */
#define CALLSTACK_ERROR_BUSY 122

/**
 * A file is not what its name says.
 */
#define CALLSTACK_ERROR_DAMAGED 123

/**
 * The tree holds as many frames as it can.
 */
#define CALLSTACK_ERROR_FULL 124

/**
 * Only the results of a frame that is being worked on can still change.
 */
#define CALLSTACK_ERROR_RESULTS_FIXED 125

/**
 * The session that calls has no frame, and the call names none.
 */
#define CALLSTACK_ERROR_NO_FRAME 126

/**
 * Calls are nested as deep as the settings allow.
 */
#define CALLSTACK_ERROR_TOO_DEEP 127

/**
 * A frame that is at work cannot be started.
 */
#define CALLSTACK_ERROR_RUNNING 128

/**
 * A chunk of that name is in sight already.
 */
#define CALLSTACK_ERROR_CHUNK_EXISTS 129

/**
 * The frame sees no chunk of that name.
 */
#define CALLSTACK_ERROR_UNKNOWN_CHUNK 130

/**
 * A text is longer than it may be.
 */
#define CALLSTACK_ERROR_TOO_LONG 131

/**
 * A text has line breaks or other control characters where one line is expected.
 */
#define CALLSTACK_ERROR_NOT_ONE_LINE 132

/**
 * The frame is no root of a run.
 */
#define CALLSTACK_ERROR_NO_RUN 133

/**
 * The call is not the next one that the run waits for.
 */
#define CALLSTACK_ERROR_OUT_OF_TURN 134

/**
 * A step has one stack operation at most.
 */
#define CALLSTACK_ERROR_SECOND_STACK_OPERATION 135

/**
 * `planned`: sketched, not begun.
 */
#define CALLSTACK_STATUS_PLANNED 0

/**
 * `in_progress`: being worked on.
 */
#define CALLSTACK_STATUS_IN_PROGRESS 1

/**
 * `completed`: finished, with results.
 */
#define CALLSTACK_STATUS_COMPLETED 2

/**
 * `failed`: tried and not achieved; the results hold the lessons.
 */
#define CALLSTACK_STATUS_FAILED 3

/**
 * `blocked`: waits for something from outside.
 */
#define CALLSTACK_STATUS_BLOCKED 4

/**
 * `invalidated`: no longer wanted.
 */
#define CALLSTACK_STATUS_INVALIDATED 5

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Number of the interface that the library has. If it is not `CALLSTACK_ABI`, header and library do
 * not fit, and nothing else may be called.
 */
uint32_t callstack_abi(void);

/**
 * Version of the library, such as `0.1.0`. A constant text, not to be freed.
 */
const char *callstack_version(void);

/**
 * Frees a text and empties the struct, so that freeing it again does nothing. NULL does nothing.
 */
void callstack_text_free(CallstackText *text);

/**
 * The code that the call answered; CALLSTACK_OK for NULL.
 */
CallstackCode callstack_error_code(const CallstackError *error);

/**
 * The code's name, for programs and logs: that of the constant in lower case, without
 * `CALLSTACK_ERROR_`, such as `unknown_frame`. NUL-terminated; empty for NULL.
 */
const char *callstack_error_name(const CallstackError *error);

/**
 * What went wrong and what to do about it, in a sentence that an agent can be shown as it is. UTF-8,
 * NUL-terminated, without NULs inside (they stand as U+FFFD); empty for NULL.
 */
const char *callstack_error_message(const CallstackError *error);

/**
 * The parts of the message as a JSON object, for programs: `{"handle": "f3", "total": 100, "needed":
 * 214}` for `CALLSTACK_ERROR_BUDGET_TOO_SMALL`. NUL-terminated; empty for NULL.
 */
const char *callstack_error_details(const CallstackError *error);

/**
 * Frees an error and sets the pointer to it to NULL, so that freeing it again does nothing. NULL does
 * nothing, nor does a pointer to NULL.
 */
void callstack_error_free(CallstackError **error);

/**
 * Opens the stack of a folder, and makes both if they are not there.
 *
 * - `folder`: a path, absolute or relative to the working directory.
 * - `options`: NULL, or a JSON object with any of
 *   - `"durability"`: `"normal"` (what was acknowledged survives the death of the process; the default) or
 *     `"full"` (a loss of power too);
 *   - `"busyTimeout"`: how long a command waits for other processes, in milliseconds; 10000;
 *   - `"mirror"`: whether state.json and frames/ are kept up to date beside the database; true;
 *   - `"tokens"`: how tokens are counted, `"approx"` or `"chars4"` (or `"o200k"`, if the library was
 *     built with the feature `tokenizer`).
 * - `out_stack`: the stack, to be closed with `callstack_close`. Must not be NULL.
 *
 * Errors: CALLSTACK_ERROR_DAMAGED and _VERSION if a file cannot be read or is of a newer version (it
 * is then as it was), _READ_ONLY, _DISK_FULL, _BUSY, _IO; _EMPTY for the folder, _JSON for the options.
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
 * - `options`: NULL, or a JSON object with any of `"tokens"` (as for `callstack_open`) and `"history"`
 *   (whether the stack keeps its events, as those in folders do; false).
 * - `out_stack`: the stack, to be closed with `callstack_close`. Must not be NULL.
 *
 * Errors: CALLSTACK_ERROR_JSON for the options.
 */
CallstackCode callstack_in_memory(const char *options,
                                  size_t options_len,
                                  Callstack **out_stack,
                                  CallstackError **error);

/**
 * Makes a stack in memory that begins with a state, JSON as `callstack_state` gives it or as state.json
 * holds it. What was unreadable or inconsistent is mended; `callstack_info` lists it. No frame is lost.
 *
 * `options` is NULL, or a JSON object with `"tokens"` as for `callstack_open`.
 *
 * Errors: CALLSTACK_ERROR_JSON for a text that is no state, _VERSION for one of a newer version.
 */
CallstackCode callstack_from_state(const char *state,
                                   size_t state_len,
                                   const char *options,
                                   size_t options_len,
                                   Callstack **out_stack,
                                   CallstackError **error);

/**
 * Makes the stack of a history in an empty folder: the same frames with the same handles and the same
 * history. `history` is what `callstack_export_history` has written, `options` as for `callstack_open`.
 *
 * Errors: CALLSTACK_ERROR_NOT_EMPTY; _JSON and _HISTORY, which name the line or the event; those of
 * `callstack_open`.
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
 * Flushes the stack and frees it, and sets the pointer to it to NULL, so that closing it again does
 * nothing. NULL does nothing, nor does a pointer to NULL. No other call may be using the stack.
 *
 * The stack is freed whatever the code; an error says what `callstack_flush` could not write.
 */
CallstackCode callstack_close(Callstack **stack, CallstackError **error);

/**
 * Brings everything to the disk: state.json and the frames' files show what the tree shows, and all
 * that was acknowledged survives a loss of power. In memory there is nothing to do.
 */
CallstackCode callstack_flush(Callstack *stack, CallstackError **error);

/**
 * Shows readers what other processes have done since the last command or refresh. Commands see it
 * anyway. When there is nothing new it costs a few microseconds.
 *
 * - `out_is_new`: 1 if there was something new, else 0. May be NULL.
 */
CallstackCode callstack_refresh(Callstack *stack, int32_t *out_is_new, CallstackError **error);

/**
 * How the stack is doing.
 *
 * - `out_info`: a JSON object: `"revision"` (how many events the tree has seen), `"frames"` (how many there
 *   are), `"active"` (a handle or null), `"cache"` (`{"hits", "misses", "entries"}` of contexts),
 *   `"mirror"` (null, or `{"revision", "staleFrames", "error"}`: what state.json holds, how many frames'
 *   files are behind, and why they could not be written, or null), `"repairs"` (what was wrong with the
 *   files or the state that the stack began with: `[{"frame", "message"}]`, where frame may be null).
 */
CallstackCode callstack_info(const Callstack *stack, CallstackText *out_info, CallstackError **error);

/**
 * Makes a frame that is worked on at once, and makes it the active one.
 *
 * - `frame`: a JSON object, `{"title": "API routes", "successCriteria": "CRUD works",
 *   "successCriteriaCompacted": "CRUD", "sessionID": "ses_7", "parent": "f1", "caller": "ses_1",
 *   "dependsOn": ["auth"]}`. All keys but `title` are optional. Without `sessionID` the frame gets an ID
 *   of the form `plan-…`. Without `parent` it goes below the open frame of the session `caller`, if there
 *   is none below the active frame, else it is a root; `"parent": null` makes it a root in any case.
 * - `out_handle`: its handle, such as `f3`. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_JSON; _DUPLICATE_ID, _EMPTY, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _DEPENDENCY;
 * _PARENT_CLOSED, _PARENT_PLANNED; those of the disk.
 */
CallstackCode callstack_push(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes a frame for later. As `callstack_push`, but the parent may be planned too.
 */
CallstackCode callstack_plan(Callstack *stack,
                             const char *frame,
                             size_t frame_len,
                             CallstackText *out_handle,
                             CallstackError **error);

/**
 * Makes several planned children of one frame, all or none.
 *
 * - `parent`: a handle, an ID, or the beginning of one.
 * - `children`: a JSON array of objects as `callstack_push` takes them; their `parent` is not used. A
 *   child may depend on those before it, by their `sessionID`.
 * - `out_handles`: their handles as a JSON array, `["f4", "f5"]`. May be NULL.
 *
 * Errors: as `callstack_plan`, for any of them.
 */
CallstackCode callstack_plan_children(Callstack *stack,
                                      const char *parent,
                                      size_t parent_len,
                                      const char *children,
                                      size_t children_len,
                                      CallstackText *out_handles,
                                      CallstackError **error);

/**
 * Finds the frame of a session, and makes a placeholder if the session has none.
 *
 * - `session_id`: the session's ID, whole.
 * - `title`: the title of a placeholder; NULL: `Session` and the first 8 characters of the ID.
 * - `parent`: the frame above a placeholder; NULL makes it a root.
 * - `out_handle`: the frame's handle. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_EMPTY, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME; those of the disk.
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
 * Gives a placeholder its title and criteria, once. The criteria may be NULL.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the title, _IDENTITY_FIXED; those
 * of the disk.
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
 * Begins a planned frame, and makes it the active one.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION; those of the disk.
 */
CallstackCode callstack_activate(Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 CallstackError **error);

/**
 * Gives a frame another ID. Its handle stays.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY, _DUPLICATE_ID; those of the disk.
 */
CallstackCode callstack_replace_id(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *session_id,
                                   size_t session_id_len,
                                   CallstackError **error);

/**
 * Changes the status of a frame, if its present one allows it: planned to in_progress, in_progress to
 * blocked and back, both to completed or failed, anything to invalidated.
 *
 * - `status`: one of CALLSTACK_STATUS_….
 * - `results`, `results_compacted`: what was achieved, in full and dense; NULL for none. The reason, if
 *   the frame is invalidated.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; those of
 * the disk.
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
 * Finishes a frame with results. If it was active, or a frame below it, the nearest open frame above
 * becomes active. A root pops too: its tree is done.
 *
 * - `status`: CALLSTACK_STATUS_COMPLETED, _FAILED or _BLOCKED.
 * - `results`, `results_compacted`: what was achieved, in full, and dense for the prompts of others.
 * - `out_popped`: a JSON object, `{"handle": "f3", "parent": "f1", "active": "f1", "stillOpen": [],
 *   "stillPlanned": ["f4"]}`: the frame, its parent and the active frame (or null), the frames below it
 *   that are not finished. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _TRANSITION, _SETTING for the status; those of
 * the disk.
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
 * Records what has been achieved so far by a frame that goes on: before its conversation is shortened, say.
 * The frame's own context shows it; other frames see its results when it is finished.
 *
 * - `results`, `results_compacted`: in full, and dense.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _RESULTS_FIXED, _EMPTY; those of the disk.
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
 * Takes a frame, and what is planned below it, out of the plan.
 *
 * - `out_invalidated`: a JSON object, `{"invalidated": ["f3", "f4"], "stillOpen": [], "dependents": []}`:
 *   the frame and the planned ones below it; those below it that are being worked on, which were not
 *   touched; and unfinished frames that depend on an invalidated one. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY for the reason, _TRANSITION; those of
 * the disk.
 */
CallstackCode callstack_invalidate(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *reason,
                                   size_t reason_len,
                                   CallstackText *out_invalidated,
                                   CallstackError **error);

/**
 * Records a file or another resource that the frame's work produced.
 *
 * - `out_is_new`: 1; 0 if it was recorded already. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
 */
CallstackCode callstack_add_artifact(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *artifact,
                                     size_t artifact_len,
                                     int32_t *out_is_new,
                                     CallstackError **error);

/**
 * Records a decision.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
 */
CallstackCode callstack_add_decision(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *decision,
                                     size_t decision_len,
                                     CallstackError **error);

/**
 * Makes an open frame the active one.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NOT_OPEN; those of the disk.
 */
CallstackCode callstack_set_active(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   CallstackError **error);

/**
 * Adds the frames of a plan, all or none: the text of Task Master's tasks.json, of Beads' issues.jsonl, or
 * of a state.json.
 *
 * - `out_imported`: a JSON object, `{"handles": ["f2", "f3"], "problems": [{"place": "line 7", "message":
 *   "…"}]}`; the problems are what could not be read or did not fit. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_JSON, _VERSION; _DUPLICATE_ID if a frame has the ID of one that is there; those
 * of the disk.
 */
CallstackCode callstack_import(Callstack *stack,
                               const char *plan,
                               size_t plan_len,
                               CallstackText *out_imported,
                               CallstackError **error);

/**
 * The handle of a frame that is named by handle, ID, or a beginning of its ID that fits no other frame.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME; _AMBIGUOUS_FRAME, with the candidates.
 */
CallstackCode callstack_resolve(const Callstack *stack,
                                const char *frame,
                                size_t frame_len,
                                CallstackText *out_handle,
                                CallstackError **error);

/**
 * The handle of the frame being worked on; the empty text if there is none.
 */
CallstackCode callstack_active(const Callstack *stack, CallstackText *out_handle, CallstackError **error);

/**
 * The record of a frame.
 *
 * - `out_frame`: a JSON object, `{"handle": "f3", "sessionID": "ses_7", "parentSessionID": "ses_1",
 *   "status": "completed", "title": "…", "successCriteria": "…", "successCriteriaCompacted": "…",
 *   "results": "…", "resultsCompacted": "…", "createdAt": 1795293106903, "updatedAt": 1795293106903,
 *   "artifacts": [], "decisions": []}`, and where they apply `dependsOn`, `logPath`, `invalidationReason`,
 *   `invalidatedAt`, `plannedChildren`, `placeholder`, `heap` (its chunks, as of `callstack_chunks`),
 *   `registers` (by name, those that are not empty). Times are milliseconds since the Unix epoch.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_frame(const Callstack *stack,
                              const char *frame,
                              size_t frame_len,
                              CallstackText *out_frame,
                              CallstackError **error);

/**
 * The frames that stand in some relation to a frame, or have some status.
 *
 * - `query`: a JSON object, `{"relation": "children", "frame": "f1", "status": "planned", "records":
 *   false}`, every key optional. `relation` is `"all"` (the default), `"roots"`, `"ready"` (planned, and all
 *   that they depend on is completed), or, of `frame`: `"ancestors"` (from the parent up), `"children"`,
 *   `"siblings"`, `"subtree"` (the frame itself, and all below it). `status` keeps only those that have it.
 *   NULL: all.
 * - `out_frames`: a JSON array of handles, `["f2", "f3"]`, in creation order where nothing else is said;
 *   with `records` an array of objects as `callstack_frame` gives them.
 *
 * Errors: CALLSTACK_ERROR_JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY if `frame` is missing.
 */
CallstackCode callstack_frames(const Callstack *stack,
                               const char *query,
                               size_t query_len,
                               CallstackText *out_frames,
                               CallstackError **error);

/**
 * The whole tree as the documented state.json: `{"version": 1, "revision": 9, "frames": {"ses_1": {…}},
 * "activeFrameID": "ses_1", "rootFrameIDs": ["ses_1"], "updatedAt": 1795293106903}`.
 * `callstack_from_state` reads it.
 */
CallstackCode callstack_state(const Callstack *stack, CallstackText *out_state, CallstackError **error);

/**
 * Writes the documented files, state.json and frames/, to another folder: for other tools, or to take
 * along. `callstack_open` imports them there.
 *
 * Errors: CALLSTACK_ERROR_NOT_EMPTY if a stack lives in that folder; those of the disk.
 */
CallstackCode callstack_export_files(const Callstack *stack,
                                     const char *folder,
                                     size_t folder_len,
                                     CallstackError **error);

/**
 * The tree as text for people.
 *
 * - `options`: NULL, or a JSON object with any of `"style"` (`"marked"`: branches, a mark for each status,
 *   legend and statistics; or `"indented"`), `"root"` (only this frame and what is below), `"details"`
 *   (criteria, results, artifacts and decisions too; false), `"depth"` (levels below the first; all),
 *   `"width"` (the longest line in characters, 0 for no limit; 120).
 *
 * Errors: CALLSTACK_ERROR_JSON, _UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_outline(const Callstack *stack,
                                const char *options,
                                size_t options_len,
                                CallstackText *out_outline,
                                CallstackError **error);

/**
 * The context of a frame: what its agent should see before the next model call. Calls for the same
 * frame and settings are answered from a cache while nothing in it has changed.
 *
 * Each part may be NULL if it is not wanted, and costs nothing then. All come from one look at the tree.
 *
 * - `settings`: NULL for the defaults, or a JSON object with any of `"budget"` (tokens: `{"total": 4000,
 *   "ancestors": 1500, "siblings": 1500, "current": 800, "overhead": 200, "heap": 1500}`),
 *   `"minimumRelevance"` (siblings that score less are left out, 0 to 100; 30), `"guidance"` (standing advice:
 *   `"full"`, `"brief"` or `"none"`), `"heapCeiling"` (characters on the heap past which the agent is warned,
 *   5000), `"tools"` (the host's names of the tools that the text mentions: `"prefix"` before the default names, and
 *   `"push"`, `"pop"`, `"activate"`, `"planChildren"`, `"invalidate"`, `"details"`, `"tree"`, `"heapRead"`,
 *   `"heapFree"`, `"updateRegisters"`, each a name of 1 to 64 characters, or null if there is no such tool; or the string
 *   `"none"` for no names at all).
 * - `out_xml`: all of it as one XML document.
 * - `out_stable`, `out_volatile`: the same in two documents, for hosts with prompt caches: the first keeps
 *   its bytes until a frame is pushed, popped or invalidated or a chunk that it shows changes, and belongs
 *   into the system prompt; the second belongs behind the newest message.
 * - `out_report`: a JSON object, `{"tokens": 812, "handle": "f3", "stableTokens": 640, "volatileTokens": 172,
 *   "entries": [{"handle": "f1", "section": "ancestors", "rung": "standard", "score": 100, "tokens": 44}]}`:
 *   upper bounds of the tokens, and every frame that was considered, with `omission` (`"irrelevant"`,
 *   `"budget"` or `"rank"`) if it is left out and `log` if a log is named. `rung` is `"omitted"`, `"stub"`,
 *   `"compact"`, `"standard"` or `"full"`. With chunks on the heap also `"chunks": [{"name": "api", "handle":
 *   "f1", "shown": "whole", "tokens": 90}]`; `shown` is `"omitted"`, `"index"` or `"whole"`.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON and _SETTING for the settings;
 * _BUDGET_TOO_SMALL, with `needed` in the details.
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
 * Forgets the cached contexts of a frame, or with NULL all of them.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_clear_cache(const Callstack *stack,
                                    const char *frame,
                                    size_t frame_len,
                                    CallstackError **error);

/**
 * The default settings of contexts, with what the environment variables STACK_TOKEN_BUDGET_TOTAL,
 * …_ANCESTORS, …_SIBLINGS and …_CURRENT say; JSON as `callstack_context` takes it.
 *
 * Errors: CALLSTACK_ERROR_SETTING for a variable that is no whole number from 1 on.
 */
CallstackCode callstack_settings(CallstackText *out_settings, CallstackError **error);

/**
 * Puts a new chunk on the heap of a frame. It and all frames below it see the chunk until it is freed: their
 * contexts show it word for word, whatever becomes of the conversation.
 *
 * - `chunk`: a JSON object, `{"name": "api-spec", "content": "add(a, b) -> int", "description":
 *   "signatures"}`; the description is optional. A name has up to 100 characters, a description 300, both on
 *   one line, a content 100,000.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _EMPTY, _TOO_LONG, _NOT_ONE_LINE;
 * _CHUNK_EXISTS if a chunk of that name is in sight; those of the disk.
 */
CallstackCode callstack_allocate_chunk(Callstack *stack,
                                       const char *frame,
                                       size_t frame_len,
                                       const char *chunk,
                                       size_t chunk_len,
                                       CallstackError **error);

/**
 * Replaces the content of a chunk that a frame sees.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK, _TOO_LONG; those of the disk.
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
 * Takes a chunk that a frame sees off the heap.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _UNKNOWN_CHUNK; those of the disk.
 */
CallstackCode callstack_free_chunk(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *name,
                                   size_t name_len,
                                   CallstackError **error);

/**
 * All chunks that a frame sees, those of its root first.
 *
 * - `out_chunks`: a JSON array, `[{"handle": "f1", "chunk": {"name": "api-spec", "content": "…", "description":
 *   "…", "allocatedAt": 1795293106903, "writtenAt": 1795293106903}}]`; the handle is that of the frame that the
 *   chunk belongs to. Chunks of runs have `allocatedStep` and `writtenStep`, too.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME.
 */
CallstackCode callstack_chunks(const Callstack *stack,
                               const char *frame,
                               size_t frame_len,
                               CallstackText *out_chunks,
                               CallstackError **error);

/**
 * Puts values into registers of a frame, which uses them from then on: its contexts show them, and its children
 * inherit some when they begin. `callstack_frame` tells what they hold.
 *
 * - `registers`: a JSON object with any of `"R0_GOAL"` (up to 240 characters), `"R1_PLAN"` (980), `"R2_NEXT"`
 *   (200), `"R3_PHASE"` (60), `"R4_CONSTRAINTS"` (720), `"R5_ASSUMPTIONS"` (480), `"R6_OPEN_QUESTIONS"` (600),
 *   `"R7_STATUS"` (300). What is too long is cut. Registers that are not named stay.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; those of the disk.
 */
CallstackCode callstack_update_registers(Callstack *stack,
                                         const char *frame,
                                         size_t frame_len,
                                         const char *registers,
                                         size_t registers_len,
                                         CallstackError **error);

/**
 * The tools by which an agent in a run manages its own memory, for hosts to offer to the model beside their own.
 *
 * - `memory`: `heap` or `registers`, as in `callstack_start_run`.
 * - `out_tools`: a JSON array as of `callstack_tools`.
 *
 * Errors: CALLSTACK_ERROR_SETTING for another memory.
 */
CallstackCode callstack_memory_tools(const char *memory,
                                     size_t memory_len,
                                     CallstackText *out_tools,
                                     CallstackError **error);

/**
 * Starts a run: an agent at work that manages its own memory. Its frames are frames of the tree, and all that is
 * said in them is kept, so that it can go on after the death of the process.
 *
 * - `run`: a JSON object, `{"task": "Build a calculator", "settings": {"memory": "registers", "maxDepth": 5,
 *   "heapCeiling": 5000}, "title": "Calculator", "sessionID": "run_1", "tools": "# Tools\n- search(query): …"}`, all but
 *   the task optional. `memory` is `"heap"` (the default) or `"registers"`. `tools`: the agent's other tools, in
 *   Markdown; a section of the system prompt, up to 100,000 characters, kept with the run.
 * - `out_handle`: the handle of its root frame, which names the run. May be NULL.
 *
 * Errors: CALLSTACK_ERROR_JSON, _EMPTY, _DUPLICATE_ID, _TOO_LONG; those of the disk.
 */
CallstackCode callstack_start_run(Callstack *stack,
                                  const char *run,
                                  size_t run_len,
                                  CallstackText *out_handle,
                                  CallstackError **error);

/**
 * Carries out the calls about memory that are next, and tells what the run needs of the host then. It says the
 * same until that is done.
 *
 * - `out_next`: a JSON object. `{"next": "ask", "step": 3, "frame": "f2", "depth": 1, "system": "…", "messages":
 *   [{"role": "user", "text": "…"}, {"role": "assistant", "text": "", "calls": [{"id": "call_1", "name":
 *   "read_file", "arguments": "{…}"}]}, {"role": "tool", "call": "call_1", "name": "read_file", "text": "…"}]}`:
 *   ask a model, and bring what it says with `callstack_run_reply`. `{"next": "call", "id": "call_1", "name":
 *   "read_file", "arguments": "{…}"}`: do that, and bring the answer with `callstack_run_answer`. `{"next":
 *   "over", "status": "completed", "results": "…"}`: nothing more.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; those of the disk.
 */
CallstackCode callstack_advance_run(Callstack *stack,
                                    const char *run,
                                    size_t run_len,
                                    CallstackText *out_next,
                                    CallstackError **error);

/**
 * Where a run is.
 *
 * - `out_status`: a JSON object, `{"settings": {"memory": "heap", "maxDepth": 5, "heapCeiling": 5000}, "steps": 7,
 *   "frame": "f3", "depth": 1, "repeats": 1}`; `repeats` counts the last steps in a row that made the same calls.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN.
 */
CallstackCode callstack_run_status(const Callstack *stack,
                                   const char *run,
                                   size_t run_len,
                                   CallstackText *out_status,
                                   CallstackError **error);

/**
 * Brings what the model has said.
 *
 * - `reply`: a JSON object, `{"text": "…", "calls": [{"id": "call_1", "name": "heap_free", "arguments":
 *   "{\"name\": \"api\"}"}]}`, both optional. Arguments are a text, as the model wrote it.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON, _NO_RUN; _OUT_OF_TURN if calls wait for answers or the
 * run is over; those of the disk.
 */
CallstackCode callstack_run_reply(Callstack *stack,
                                  const char *run,
                                  size_t run_len,
                                  const char *reply,
                                  size_t reply_len,
                                  CallstackError **error);

/**
 * Brings the answer to the call that `callstack_advance_run` has told of.
 *
 * - `call`: its ID.
 * - `is_error`: not 0 if the answer says why nothing was done.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _NO_RUN; _OUT_OF_TURN if another call is next; those of the
 * disk.
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
 * Puts the settings of a host in force: the defaults, over them what the environment variables STACK_… say,
 * over them `settings`. Calling it also begins the log: lines come as effects.
 *
 * - `settings`: NULL, or a JSON object with any of
 *   - `"context"`: as `callstack_context` takes it;
 *   - `"subagents"`: `{"enabled": true, "minDuration": 60000, "minMessageCount": 3, "autoCompleteOnIdle": true,
 *     "idleCompletionDelay": 5000, "injectParentContext": true, "propagateSummaries": true, "patterns": […]}`;
 *   - `"autonomy"`: `{"level": "suggest", "pushThreshold": 70, "popThreshold": 80, "suggestInContext": true,
 *     "enabledHeuristics": […]}`;
 *   - `"calls"`: `{"maxDepth": 5, "timeLimit": 0}`, the limit in milliseconds, 0 for none.
 * - `out_problems`: a JSON array of texts: what made no sense and does not count. May be NULL.
 */
CallstackCode callstack_configure(Callstack *stack,
                                  const char *settings,
                                  size_t settings_len,
                                  CallstackText *out_problems,
                                  CallstackError **error);

/**
 * Tells what has happened in the host. What follows for the frames is done before this returns; of what is
 * refused the log tells.
 *
 * Events may come twice, and in any order. A host tells of all its sessions; frames, their places, artifacts,
 * results and logs come of that.
 *
 * - `event`: a JSON object; `"kind"` names it, optional keys are marked with `?`:
 *   - `sessionCreated {sessionID, parentID?, title?}`, `sessionUpdated {sessionID, title}`,
 *     `sessionIdle {sessionID}`, `sessionError {sessionID, message}`, `sessionDeleted {sessionID}`;
 *   - `message {sessionID, messageID, role, text, tokens?, contextLimit?}`: role is `user` or `assistant`;
 *   - `toolExecuted {sessionID, tool, path?, failed?}`: path is a file that the tool has written;
 *   - `sessionCompacting {sessionID}`, before a summary is asked for; `sessionCompacted {sessionID, messages}`;
 *     `sessionMessages {sessionID, messages}`. A message is `{"id", "role", "text", "summary"?, "parts"?}`;
 *   - `callStarted {call, sessionID}`, `callEnded {call, error?}`, `callAborted {call}`.
 * - `out_effects`: a JSON array of what the host is to do, in this order; `"kind"` names it:
 *   - `log {level, message, data}`: write a line to the host's log; level is `debug`, `info` or `warn`;
 *   - `describeSession {sessionID}`: answer with `sessionCreated`, or `sessionDeleted` if it is not there;
 *   - `readMessages {sessionID}`: answer with `sessionMessages`, without messages if it is not there;
 *   - `createSession {call, parentID, title}`: answer with `callStarted`, or `callEnded` with an error;
 *   - `prompt {call, sessionID, callerID, text}`: prompt the session with the caller's model, wait, and answer
 *     with `callEnded`;
 *   - `answer {call, text}`: give the tool call that waits for this its answer;
 *   - `abortSession {sessionID}`;
 *   - `compactSession {sessionID}`: answer with `sessionCompacted`, without messages if it cannot be done;
 *   - `compactionPrompt {sessionID, text}`: add the text to what the summary is asked for.
 *
 * Errors: CALLSTACK_ERROR_JSON.
 */
CallstackCode callstack_event(Callstack *stack,
                              const char *event,
                              size_t event_len,
                              CallstackText *out_effects,
                              CallstackError **error);

/**
 * Does what was left for later and is due: writes state.json, if it is behind and 250 ms have passed since it
 * was last written; finishes idle subagents, stops calls at their time limit, hands out lines for the log.
 * Commands write state.json, too; a host that may be idle for long calls this at the time that
 * `callstack_deadline` gives.
 *
 * - `out_effects`: as of `callstack_event`. May be NULL for hosts that report no events.
 */
CallstackCode callstack_poll(Callstack *stack, CallstackText *out_effects, CallstackError **error);

/**
 * When `callstack_poll` will have something to do.
 *
 * - `out_deadline`: milliseconds since the Unix epoch; 0 if nothing is left for later.
 */
CallstackCode callstack_deadline(const Callstack *stack, uint64_t *out_deadline, CallstackError **error);

/**
 * The agent's tools, for hosts to register.
 *
 * - `out_tools`: a JSON array, `[{"name": "stack_frame_push", "group": "frames", "description": "…",
 *   "parameters": {…}, "example": {…}}]`; the parameters are JSON Schema of an object.
 */
CallstackCode callstack_tools(CallstackText *out_tools, CallstackError **error);

/**
 * Calls a tool for the agent of a session. Wrong arguments are no error of this function: the answer says to
 * the agent what is wrong.
 *
 * - `name`: one of `callstack_tools`.
 * - `arguments`: a JSON object; NULL and the empty text stand for `{}`.
 * - `out_answer`: a JSON object, `{"text": "…", "isError": false, "effects": […]}`, effects as of
 *   `callstack_event`. Tools that run a frame answer later: then there is `"call": 3` and no text, and an
 *   effect `answer` with this call will bring it. If nobody waits any more, report `callAborted`.
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
 * The context of a session's frame, made by the settings of `callstack_configure`, with what is suggested to its
 * agent.
 *
 * - `out_stable`: belongs into the system prompt; it keeps its bytes until a frame is pushed, popped or
 *   invalidated. `out_volatile`: belongs behind the newest message of this one request. Both have no data if
 *   the session has no frame, or is to have no context.
 *
 * Errors: CALLSTACK_ERROR_BUDGET_TOO_SMALL, with `needed` in the details.
 */
CallstackCode callstack_session_context(const Callstack *stack,
                                        const char *session,
                                        size_t session_len,
                                        CallstackText *out_stable,
                                        CallstackText *out_volatile,
                                        CallstackError **error);

/**
 * Adds entries to the full log of a frame, all or none, each as a line of JSON: logs/{id}.jsonl in the
 * stack's folder. Contexts that show the frame in full name the file for the agent.
 *
 * - `entries`: a JSON array of anything, `[{"role": "user", "text": "Build a shop"}]`.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME; _IN_MEMORY without a folder; _JSON, also for
 * entries nested more than 100 levels deep; those of the disk.
 */
CallstackCode callstack_append_log(Callstack *stack,
                                   const char *frame,
                                   size_t frame_len,
                                   const char *entries,
                                   size_t entries_len,
                                   CallstackError **error);

/**
 * Reads lines of a frame's log. A frame without a log has none.
 *
 * - `query`: NULL for all of them, or a JSON object with any of `"from"` and `"to"` (line numbers, both
 *   included, from 1), `"search"` (only lines with this text, whatever its case), `"tail"` (of all these
 *   the last so many).
 * - `out_page`: a JSON object, `{"lines": [{"number": 1, "entry": {…}}], "total": 1, "damaged": [{"number":
 *   2, "message": "…"}]}`; `total` counts all lines of the log.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON; _IN_MEMORY without a folder; _IO.
 */
CallstackCode callstack_read_log(const Callstack *stack,
                                 const char *frame,
                                 size_t frame_len,
                                 const char *query,
                                 size_t query_len,
                                 CallstackText *out_page,
                                 CallstackError **error);

/**
 * Names the file that holds a frame's full log, when the host keeps it elsewhere. Contexts name it for
 * the agent as long as it exists; the library never writes to it.
 *
 * - `log_path`: absolute, or relative to the stack's folder.
 *
 * Errors: CALLSTACK_ERROR_UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _EMPTY; those of the disk.
 */
CallstackCode callstack_set_log_path(Callstack *stack,
                                     const char *frame,
                                     size_t frame_len,
                                     const char *log_path,
                                     size_t log_path_len,
                                     CallstackError **error);

/**
 * What has happened, oldest first.
 *
 * - `query`: NULL for everything, or a JSON object with any of `"since"` (only events after this revision),
 *   `"frame"` (only events of this frame), `"kind"`, `"limit"` (the oldest so many).
 * - `out_events`: a JSON array, `[{"revision": 7, "time": 1795293106903, "handle": "f2", "kind":
 *   "decisionAdded", "decision": "Use SQLite"}]`. Kinds are `added`, `imported`, `dependenciesAdded`,
 *   `identified`, `statusChanged`, `invalidated`, `idReplaced`, `logPathSet`, `artifactAdded`,
 *   `decisionAdded`, `activeChanged`, `summarized`, `chunkAllocated`, `chunkWritten`, `chunkFreed`,
 *   `registersChanged`, `runStarted`, `called`, `messagesAdded`.
 *
 * Errors: CALLSTACK_ERROR_IN_MEMORY if the stack keeps no history; _UNKNOWN_FRAME, _AMBIGUOUS_FRAME, _JSON;
 * _SETTING for an unknown kind; those of the disk.
 */
CallstackCode callstack_history(const Callstack *stack,
                                const char *query,
                                size_t query_len,
                                CallstackText *out_events,
                                CallstackError **error);

/**
 * The whole history as text, one event in JSON on each line. `callstack_rebuild` reads it.
 *
 * Errors: CALLSTACK_ERROR_IN_MEMORY if the stack keeps no history; those of the disk.
 */
CallstackCode callstack_export_history(const Callstack *stack,
                                       CallstackText *out_history,
                                       CallstackError **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CALLSTACK_H */
