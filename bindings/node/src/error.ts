// The one error that the package throws.

/** What went wrong, for programs. Each is one of the codes of the C header, in lower case. */
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
  | "running"
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
  /** An error in the library itself. */
  | "panic"
  /** An earlier command met an error in the library; close the stack and open it again. */
  | "broken"
  /** The stack has been closed. */
  | "closed"
  /** The native library was not found, cannot be loaded, or does not fit this package. */
  | "library"

/**
 * A call that could not be carried out. It has changed nothing. The message says what to do, and can be shown to an
 * agent as it is.
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
  /** What went wrong, for programs. */
  readonly code: ErrorCode
  /** The parts of the message, such as `{handle: "f3", total: 100, needed: 214}` for `budget_too_small`. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
