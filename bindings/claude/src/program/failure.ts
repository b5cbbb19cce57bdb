// What can fail in a command: a code and a message, the next step, and the exit code.

import { CallstackError, type ErrorCode } from "callstack-core"
import { Exit, type ExitCode } from "./exit.js"

/** A failed command. */
export class Failure extends Error {
  override readonly name = "Failure"
  readonly exit: ExitCode
  /** A short name for programs. It never changes. */
  readonly code: string
  /** What to do next, if the message does not say it. */
  readonly nextStep: string | undefined

  constructor(exit: ExitCode, code: string, message: string, { next, cause }: { next?: string; cause?: unknown } = {}) {
    super(message, { cause })
    this.exit = exit
    this.code = code
    this.nextStep = next
  }
}

/** The failures of files, disks and histories are not the request's fault. */
const OUTSIDE: readonly ErrorCode[] = [
  "io",
  "disk_full",
  "read_only",
  "damaged",
  "replaced",
  "disconnected",
  "version",
  "history",
  "in_memory",
  "inside_read",
  "panic",
  "broken",
  "closed",
  "library",
]

/** A value that no stack accepts is a wrong argument. */
const ARGUMENT: readonly ErrorCode[] = ["empty", "not_one_line", "setting"]

/** The next step for errors whose message cannot name it, because the message is for all hosts. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  unknown_frame: "`flame tree` shows the frames with their handles",
  ambiguous_frame: "`flame tree` shows the frames with their handles",
  busy: "`flame tree` shows whether the change was made; if it was not, repeat the command",
  damaged: "`callstack doctor` says what is damaged and what can be saved",
  history: "`callstack doctor` says what is damaged and what can be saved",
  replaced: "`callstack doctor` says what is damaged and what can be saved",
}

/** Returns a failure in the form for a dialogue, where commands are typed without the name of the program. */
export function inDialogue(failure: Failure): Failure {
  const { exit, code, message, nextStep, cause } = failure
  return nextStep === undefined
    ? failure
    : new Failure(exit, code, message, { next: nextStep.replaceAll("`flame ", "`"), cause })
}

/** Returns the message for a person, or for a program, about an error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof CallstackError) {
    const { code, message } = error
    const next = NEXT[code]
    const exit = error.details.isOutcomeUnknown === true ? Exit.unknown : exitOf(code)
    return new Failure(exit, code, message, { cause: error, ...(next !== undefined && { next }) })
  }
  const message = error instanceof Error ? error.message : String(error)
  return new Failure(Exit.failed, "failed", message, { cause: error })
}

function exitOf(code: ErrorCode): ExitCode {
  if (code === "busy") return Exit.unknown
  if (ARGUMENT.includes(code)) return Exit.usage
  return OUTSIDE.includes(code) ? Exit.failed : Exit.refused
}
