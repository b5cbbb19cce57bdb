// The errors that this package throws.

import type { NativeErrorCode, NativeErrorDetails } from "./generated/errors.js"

/**
 * The code of an error of the library, or of this package. `closed`: the stack was closed.
 * `library`: the native library was not found, cannot be loaded, or has another interface.
 */
export type ErrorCode = NativeErrorCode | "closed" | "library"

/** The values in the message of an error. Which ones there are depends on its code. */
export interface ErrorDetails extends NativeErrorDetails {
  /** `library`: the version of the C interface that the library has. */
  readonly abi?: number
  /** `library`: the architecture of this process. */
  readonly arch?: string
  /** `library`: the places that were searched. */
  readonly looked?: readonly string[]
  /** `library`: the operating system of this process. */
  readonly platform?: string
}

/**
 * Thrown by a call that failed. The call has changed nothing. The message says what to do and can be shown to
 * an agent.
 *
 * ```js
 * try {
 *   stack.activate("f9")
 * } catch (error) {
 *   const isUnknown = error instanceof CallstackError && error.code === "unknown_frame"
 *   if (isUnknown) console.log(error.details.reference)
 * }
 * ```
 */
export class CallstackError extends Error {
  override readonly name = "CallstackError"
  /** The kind of the error, for programs. */
  readonly code: ErrorCode
  /**
   * The values in the message, such as `{ handle: "f3", total: 100, needed: 214, unit: "tokens" }` for
   * `budget_too_small`.
   */
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
