// The errors of the library.
//
// Generated from api.json: `make api` renews it. Do not edit it.

import type { BudgetUnit, FrameStatus, Handle } from "./types.js"

/**
 * The code of an error of the library.
 *
 * - `null`: A required pointer was NULL.
 * - `length`: A length is larger than any text in memory can be (more than half of the address space).
 * - `utf8`: A text is not valid UTF-8.
 * - `panic`: The library panicked: a defect of the library, or of a callback of the host. If the function was
 * a command, the stack is broken.
 * - `unknown_frame`: No frame has this handle, this ID, an ID with this beginning, this title, or a title
 * with this beginning.
 * - `ambiguous_frame`: Several frames match: their IDs begin with the text, or their titles are the text or
 * begin with it. The details list up to eight candidates.
 * - `duplicate_id`: Another frame already has the ID.
 * - `transition`: The frame cannot change from its current status to the requested one.
 * - `parent_closed`: The parent is completed, failed or invalidated.
 * - `parent_planned`: The parent is planned, so no frame can be pushed below it.
 * - `identity_fixed`: The title and criteria of the frame are already set and cannot change.
 * - `dependency`: A dependency on the frame itself, on a frame above or below it, or in a circle.
 * - `parent_circle`: The parent of a frame would be the frame itself or one below it.
 * - `not_open`: The frame is not in_progress or blocked, so it cannot be the active frame.
 * - `budget_too_small`: The budget is too small for the required part of the context. The details hold the
 * `needed` one and its `unit`, tokens or bytes.
 * - `not_empty`: The folder for a new stack or an export already contains a stack.
 * - `full`: The tree has the maximum number of frames (4,294,967,295).
 * - `results_fixed`: The frame is not in_progress or blocked, so its results cannot be updated.
 * - `no_frame`: The calling session has no frame, and the call names none.
 * - `too_deep`: The new frame would be deeper than the setting `maxDepth` allows.
 * - `held`: Another actor works on the frame. The details hold `by`, and `until` when.
 * - `chunk_exists`: The frame, or an unfinished frame below it, already sees a chunk of that name.
 * - `unknown_chunk`: The frame sees no chunk of that name.
 * - `no_run`: The frame is not the root frame of a run.
 * - `out_of_turn`: The run waits for something else.
 * - `second_stack_operation`: A second push_frame or pop_frame in one step of a run.
 * - `not_finished`: The frame is neither completed nor failed, so it has no results to deliver.
 * - `not_blocked`: The frame is not blocked, so it waits for no answer.
 * - `not_planned`: The frame has begun or ended, so it cannot be edited; the words of an open one only by a
 * person.
 * - `not_sibling`: The frame cannot stand before a frame with another parent.
 * - `not_ready`: The planned frame waits for others.
 * - `wait_circle`: The frame waits for the caller, which would wait for it.
 * - `not_retriable`: The frame is neither failed nor blocked, or was retried already: then the details hold
 * the `newest` attempt.
 * - `retry_link`: An imported frame has a `retryOf` that cannot be, or an edit would move an attempt away
 * from the one before it.
 * - `not_free`: The frame is not free for a worker, or its holder cannot keep it. The details hold the
 * `reason`.
 * - `hold_lost`: Another actor has held the frame since, so what its earlier holder still sends is refused.
 * The details hold `by`, the newest holder, and its `generation`.
 * - `nothing_to_undo`: There is no command of this person to take back.
 * - `not_undone`: The last command of the person cannot be taken back. The details hold the `command` and the
 * `reason`.
 * - `tools_exceed`: The frame would have more tools than the frames above it. The details hold `tools`, those
 * that are too many, and `above`.
 * - `parts_left`: Frames below the frame that is to be completed are open or planned. The details hold
 * `left`, the first dozen of them.
 * - `empty`: A required text is empty or has only white space.
 * - `setting`: A setting, a number or an environment variable is outside of its allowed values.
 * - `json`: A text is not JSON, or JSON of another shape.
 * - `too_long`: A text is longer than its limit.
 * - `not_one_line`: A text that must be one line has line breaks or other control characters.
 * - `busy`: Commands of other threads, or other processes in the database or at the lock of a file, took
 * longer than the call waits (`busyTimeout`). The details hold `waited`, in milliseconds: how long the call
 * waited in all.
 * - `disconnected`: The server of the stack cannot be reached. `isOutcomeUnknown` in the details says whether
 * the command may have been committed.
 * - `io`: The operating system or SQLite refused an operation on a file or folder.
 * - `disk_full`: The disk is full, or a quota is used up.
 * - `read_only`: The file, its folder or the disk is read-only for this process.
 * - `version`: A newer version of the library wrote the file.
 * - `history`: An event does not fit the events before it in a history.
 * - `damaged`: A file does not contain what its name says, or a history has an event that does not fit. It
 * was not changed.
 * - `replaced`: The files of the stack were replaced while it was open. Nothing more is written to them: open
 * the stack again.
 * - `broken`: An earlier command on this stack returned `CALLSTACK_ERROR_PANIC`: close the stack and open it
 * again.
 * - `in_memory`: The stack is in memory and has no logs, or no history.
 * - `inside_read`: A command was called by code that the library calls while it reads the tree. C programs
 * cannot cause it.
 */
export type NativeErrorCode =
  | "null"
  | "length"
  | "utf8"
  | "panic"
  | "unknown_frame"
  | "ambiguous_frame"
  | "duplicate_id"
  | "transition"
  | "parent_closed"
  | "parent_planned"
  | "identity_fixed"
  | "dependency"
  | "parent_circle"
  | "not_open"
  | "budget_too_small"
  | "not_empty"
  | "full"
  | "results_fixed"
  | "no_frame"
  | "too_deep"
  | "held"
  | "chunk_exists"
  | "unknown_chunk"
  | "no_run"
  | "out_of_turn"
  | "second_stack_operation"
  | "not_finished"
  | "not_blocked"
  | "not_planned"
  | "not_sibling"
  | "not_ready"
  | "wait_circle"
  | "not_retriable"
  | "retry_link"
  | "not_free"
  | "hold_lost"
  | "nothing_to_undo"
  | "not_undone"
  | "tools_exceed"
  | "parts_left"
  | "empty"
  | "setting"
  | "json"
  | "too_long"
  | "not_one_line"
  | "busy"
  | "disconnected"
  | "io"
  | "disk_full"
  | "read_only"
  | "version"
  | "history"
  | "damaged"
  | "replaced"
  | "broken"
  | "in_memory"
  | "inside_read"

/** The values in the message of an error. Which ones there are depends on its code. */
export interface NativeErrorDetails {
  /** `tools_exceed`: The tools of the frames above. */
  readonly above?: readonly string[]
  /** `io`: The operation, such as `read`. */
  readonly action?: string
  /** `damaged`: The advice to the caller. */
  readonly advice?: string
  /** `retry_link`: The ID of the frame that the link names. */
  readonly attempt?: string
  /** `not_sibling`: The frame before which it would stand. */
  readonly before?: Handle
  /**
   * `held`: The actor that has it, such as ``worker `build-1` ``.
   *
   * `hold_lost`: Its newest holder, such as ``worker `build-2` ``. Empty: it has never had a holder.
   */
  readonly by?: string
  /**
   * `ambiguous_frame`: Up to eight of the matching frames, each as `handle (ID)`, or as `handle (title,
   * status)` if the title matches. An ID that has the form of a handle has `id:` before it.
   */
  readonly candidates?: readonly string[]
  /** `not_undone`: The command, such as `pop`. */
  readonly command?: string
  /**
   * `not_ready`: The dependencies that are not completed, or the frame above it that waits or has ended.
   */
  readonly dependencies?: readonly Handle[]
  /** `dependency`: The frame that the entry names, in the same form. */
  readonly dependency?: string
  /**
   * `out_of_turn`: The reply or answer that the run waits for.
   *
   * `setting`: The allowed values.
   */
  readonly expected?: string
  /** `empty`, `too_long`, `not_one_line`: The field's documented name. */
  readonly field?: string
  /**
   * `out_of_turn`: The reply or answer that the caller gave.
   *
   * `version`: The version in the file.
   */
  readonly found?: number | string
  /**
   * `dependency`: The frame that has the entry: its ID, or its handle if the ID was generated, or its title
   * if it is new.
   *
   * `parent_circle`: The frame: its ID, or its handle if the ID was generated.
   *
   * `retry_link`: The ID of the frame that has the link.
   */
  readonly frame?: string
  /** `transition`: Its current status. */
  readonly from?: FrameStatus
  /** `hold_lost`: The generation of that holder; 0 if it has never had a holder. */
  readonly generation?: number
  /**
   * `unknown_frame`: The frame whose ID is the reference, if the reference has the form of a handle and was
   * therefore not read as an ID (see `FrameRef`).
   *
   * `duplicate_id`: The frame that has the ID.
   *
   * `transition`, `identity_fixed`, `not_open`, `budget_too_small`, `results_fixed`, `held`, `no_run`,
   * `not_finished`, `not_blocked`, `not_planned`, `not_ready`, `wait_circle`, `not_retriable`, `not_free`,
   * `hold_lost`, `parts_left`: The frame.
   *
   * `parent_closed`, `parent_planned`: The requested parent.
   *
   * `too_deep`: The frame below which the new one would be.
   *
   * `chunk_exists`: The frame that the chunk belongs to.
   *
   * `unknown_chunk`: The frame that the caller named.
   *
   * `out_of_turn`: The root of the run.
   *
   * `not_sibling`: The frame that is edited.
   *
   * `tools_exceed`: The frame, or for a new frame the frame above it.
   */
  readonly handle?: Handle | null
  /**
   * `disconnected`: False: nothing was changed. True: the command may have been committed or not. The next
   * command, or `refresh`, finds it out from the server.
   */
  readonly isOutcomeUnknown?: boolean
  /** `unknown_chunk`: The names of the chunks that it sees. */
  readonly known?: readonly string[]
  /** `parts_left`: The first dozen of the unfinished frames below it. */
  readonly left?: readonly Handle[]
  /** `too_long`: Its length in characters. */
  readonly length?: number
  /**
   * `full`: The maximum number of frames of a tree.
   *
   * `too_deep`: The maximum depth: how many frames can be above a frame.
   *
   * `too_long`: The limit in characters.
   */
  readonly limit?: number
  /**
   * `not_ready`: What keeps it from beginning, and what to do.
   *
   * `json`: The parser's message with line and column.
   *
   * `disconnected`, `history`: The reason.
   *
   * `io`: The message of the operating system, of SQLite, or of the library.
   *
   * `damaged`: The problem that was found.
   *
   * `replaced`: The difference that was found.
   */
  readonly message?: string
  /**
   * `chunk_exists`: The name.
   *
   * `unknown_chunk`: The name that the caller gave.
   *
   * `second_stack_operation`: The tool that was called.
   *
   * `setting`: Name of the setting or of the environment variable.
   */
  readonly name?: string
  /** `budget_too_small`: The smallest total that is enough now. */
  readonly needed?: number
  /** `not_retriable`: The newest attempt, if the frame was already retried. */
  readonly newest?: Handle | null
  /** `parent_circle`: The parent that it names, in the same form. */
  readonly parent?: string
  /**
   * `not_empty`: The folder, or the URL.
   *
   * `busy`: The database, the file, or for other threads the stack's folder.
   *
   * `disconnected`: The server and the database, or the stack there, without user and password.
   *
   * `io`, `disk_full`, `read_only`: The file or folder.
   *
   * `damaged`: The file, or `the history of` a folder.
   *
   * `replaced`: The database.
   */
  readonly path?: string
  /**
   * `dependency`, `retry_link`: The reason, and what to do.
   *
   * `not_free`: The reason.
   *
   * `not_undone`: Why.
   */
  readonly reason?: string
  /** `unknown_frame`, `ambiguous_frame`: The reference that the caller gave. */
  readonly reference?: string
  /** `hold_lost`: The generation of the refused command. */
  readonly refused?: number
  /** `history`: The event's revision. */
  readonly revision?: number
  /**
   * `duplicate_id`: The ID in question.
   *
   * `no_frame`: The session.
   */
  readonly sessionID?: string
  /**
   * `unknown_frame`: Up to three frames with titles that are much like the reference, each as `handle (title,
   * status)`.
   */
  readonly similar?: readonly string[]
  /**
   * `parent_closed`, `not_open`, `results_fixed`, `not_finished`, `not_blocked`, `not_planned`,
   * `not_retriable`: Its status.
   */
  readonly status?: FrameStatus
  /** `version`: The newest version that this library can read. */
  readonly supported?: number
  /** `transition`: The requested status. */
  readonly to?: FrameStatus
  /** `tools_exceed`: The tools that the frames above do not have. */
  readonly tools?: readonly string[]
  /** `budget_too_small`: The given total. */
  readonly total?: number
  /**
   * `budget_too_small`: What the two numbers count: tokens, or bytes if the budget has its own cap in bytes
   * and this cap is too small.
   */
  readonly unit?: BudgetUnit
  /**
   * `held`: The time until which the actor has it, unless the actor renews its hold, in milliseconds since
   * the Unix epoch. Absent: without an end.
   */
  readonly until?: null | number
  /** `setting`: The value that was found. */
  readonly value?: string
  /** `busy`: How long the call waited in all, in milliseconds. */
  readonly waited?: number
  /**
   * `json`: The text or file that was read.
   *
   * `version`: The file that was read, or `the state`.
   *
   * `in_memory`: The missing part: `logs` or `history`.
   */
  readonly what?: string
}
