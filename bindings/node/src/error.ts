// CallstackError, the error that this package throws.

import type { FrameStatus, Handle } from "./types.js"

/**
 * The kind of an error, for programs: the error codes of the C header in lower case, and two of this package:
 * `closed` and `library`.
 */
export type ErrorCode =
  | "unknown_frame"
  | "ambiguous_frame"
  | "duplicate_id"
  | "empty"
  | "transition"
  | "parent_closed"
  | "parent_planned"
  | "identity_fixed"
  | "dependency"
  | "parent_circle"
  | "not_open"
  | "results_fixed"
  | "no_frame"
  | "too_deep"
  | "held"
  | "chunk_exists"
  | "unknown_chunk"
  | "too_long"
  | "not_one_line"
  | "no_run"
  | "out_of_turn"
  | "second_stack_operation"
  | "budget_too_small"
  | "setting"
  | "json"
  | "version"
  | "history"
  | "not_empty"
  | "in_memory"
  | "io"
  | "disk_full"
  | "read_only"
  | "busy"
  | "damaged"
  | "full"
  /** A bug in the library; please report it. */
  | "panic"
  /** An earlier command ended in a `panic`. Close the stack and open it again. */
  | "broken"
  | "replaced"
  | "disconnected"
  | "not_finished"
  | "not_blocked"
  | "wait_circle"
  | "not_retriable"
  | "retry_link"
  | "not_planned"
  | "not_sibling"
  | "not_ready"
  | "parts_left"
  | "not_free"
  | "hold_lost"
  /** There is no command of this person to take back. */
  | "nothing_to_undo"
  /** The last command of the person cannot be taken back. */
  | "not_undone"
  /** The frame would have more tools than the frames above it. */
  | "tools_exceed"
  | "inside_read"
  /** The stack was closed. */
  | "closed"
  /** The native library was not found, cannot be loaded, or has another version of the C interface than this package needs. */
  | "library"

/**
 * The values in the message of a {@link CallstackError}. Each `code` has some of these keys; all others are undefined.
 */
export interface ErrorDetails {
  /** `tools_exceed`: the tools of the frames above. */
  readonly above?: readonly string[]
  /** `io`: what failed, such as `write`. */
  readonly action?: string
  /** `damaged`: what to do. */
  readonly advice?: string
  /** `library`: the version of the C interface that the library has. */
  readonly abi?: number
  /** `library`: the architecture of this process. */
  readonly arch?: string
  /** `not_sibling`: the frame before which the edited one would stand. */
  readonly before?: Handle
  /** `ambiguous_frame`: the frames that match. */
  readonly candidates?: readonly string[]
  /** `retry_link`: the frame that cannot be begun anew. */
  readonly attempt?: string
  /** `panic`: the message of the panic. */
  readonly cause?: string
  /** `not_undone`: what the command was, such as `pop`. */
  readonly command?: string
  /** `not_ready`: the dependencies that are not completed. */
  readonly dependencies?: readonly Handle[]
  /** `dependency`: the frame that cannot be depended on. */
  readonly dependency?: string
  /** `setting`: the values that are allowed. `out_of_turn`: what the run waits for. */
  readonly expected?: string
  /** `empty`, `too_long`, `not_one_line`: the name of the field. */
  readonly field?: string
  /** `version`: the version of the file. `out_of_turn`: what was given instead. */
  readonly found?: number | string
  /** `dependency`, `parent_circle`: the frame that the call is about. */
  readonly frame?: string
  /** `transition`: the present status. */
  readonly from?: FrameStatus
  /** `hold_lost`: the generation of the newest holder. */
  readonly generation?: number
  /** The handle of the frame that the call is about. */
  readonly handle?: Handle
  /** `disconnected`: false if nothing was changed; true if the command may have been committed. */
  readonly isOutcomeUnknown?: boolean
  /** `held`, `hold_lost`: who has the frame now. */
  readonly by?: string
  /** `unknown_chunk`: the names of the chunks that the frame sees. */
  readonly known?: readonly string[]
  /** `parts_left`: the unfinished frames below the frame, a dozen at most. */
  readonly left?: readonly Handle[]
  /** `too_long`: the length, in characters. */
  readonly length?: number
  /** `too_long`: the limit in characters. `too_deep`: in levels. `full`: in frames. */
  readonly limit?: number
  /** `library`: the places that were searched. */
  readonly looked?: readonly string[]
  /** `json`, `history`, `io`, `damaged`: the reason. */
  readonly message?: string
  /** `chunk_exists`, `unknown_chunk`, `setting`, `second_stack_operation`: the name of the chunk, setting or tool. */
  readonly name?: string
  /** `not_retriable`: the newest attempt, if the frame was begun anew already. */
  readonly newest?: Handle
  /** `budget_too_small`: the least budget, in its `unit`. `library`: the version of the C interface that is needed. */
  readonly needed?: number
  /** `parent_circle`: the parent that is below the frame. */
  readonly parent?: string
  /** The file or folder. */
  readonly path?: string
  /** `library`: the operating system of this process. */
  readonly platform?: string
  /** `dependency`, `library`, `not_undone`: the reason. */
  readonly reason?: string
  /** `unknown_frame`, `ambiguous_frame`: the name that was given. */
  readonly reference?: string
  /** `hold_lost`: the generation of the refused command. */
  readonly refused?: number
  /** `history`: the event that does not fit. */
  readonly revision?: number
  /** `duplicate_id`, `no_frame`: the ID. */
  readonly sessionID?: string
  /** `parent_closed`, `not_open`, `results_fixed`: the status of the frame. */
  readonly status?: FrameStatus
  /** `version`: the newest version that this library reads. */
  readonly supported?: number
  /** `transition`: the status that was asked for. */
  readonly to?: FrameStatus
  /** `budget_too_small`: the budget, in its `unit`. */
  readonly total?: number
  /** `budget_too_small`: whether `total` or `bytes` of the budget is too small. */
  readonly unit?: "tokens" | "bytes"
  /** `held`: until when, unless its holder renews that, in milliseconds since the Unix epoch. Null: without an end. */
  readonly until?: number | null
  /** `setting`: the value that was given. */
  readonly value?: string
  /** `busy`: how long the call has waited in all, in milliseconds. */
  readonly waited?: number
  /** `json`, `version`, `in_memory`: the thing that the error is about. */
  readonly what?: string
}

/**
 * Thrown by a call that failed. The call has changed nothing. The message says what to do and can be shown to an agent.
 *
 * ```js
 * try {
 *   stack.activate("f9")
 * } catch (error) {
 *   if (error instanceof CallstackError && error.code === "unknown_frame") console.log(error.details.reference)
 * }
 * ```
 */
export class CallstackError extends Error {
  override readonly name = "CallstackError"
  /** The kind of the error, for programs. */
  readonly code: ErrorCode
  /** The values in the message, such as `{ handle: "f3", total: 100, needed: 214, unit: "tokens" }` for `budget_too_small`. */
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
