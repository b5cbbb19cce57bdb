// The exit codes of the program: those of the program `callstack`, and some of its own.

import type { Outcome } from "../flame.js"

/** How the program ends. A code never changes its meaning. */
export const Exit = {
  /** The command did what it was asked: each root that was run is completed. */
  done: 0,
  /** A root has failed or was stopped, or something outside of the request failed: the API, a file, a missing stack. */
  failed: 1,
  /** The command line cannot be understood, or has a value that no stack takes. */
  usage: 2,
  /** A limit was reached before a root was completed. */
  limit: 3,
  /** The stack refused the request, and nothing was changed. */
  refused: 4,
  /** Others used the stack for too long. It is not known whether the request was carried out. */
  unknown: 5,
  /** A root waits for a person. */
  waiting: 6,
  /** The terminal was closed. */
  hangup: 129,
  /** The user interrupted the program. */
  interrupted: 130,
  /** The program was told to end. */
  terminated: 143,
} as const

/** An exit code. */
export type ExitCode = (typeof Exit)[keyof typeof Exit]

/** The table of `--help`. */
export const EXIT_HELP = `Exit codes:
  0    done; for a run: its root is completed
  1    a failure: a root that failed or was stopped, the API, files, no stack
  2    wrong arguments
  3    a limit was reached: of tokens, costs, turns or time
  4    refused by the stack; nothing was changed
  5    the stack was busy; the outcome is unknown
  6    a frame waits for a person
  129, 130, 143  ended by SIGHUP, Ctrl-C or SIGTERM; everything was stopped and can be resumed`

/** What the driver and the engine say when a limit ends the work on a frame. */
const LIMIT = /time limit of \d+ ms|maximum number of turns|budget .*is spent|maximum budget/i

/** Returns the code of a run. Of several roots the first that is not completed decides. */
export function exitOfRun(outcomes: readonly Outcome[], isOverspent: boolean): ExitCode {
  const open = outcomes.find(({ frame }) => frame.status !== "completed")
  if (open === undefined) return Exit.done
  if (open.frame.status === "blocked") {
    if (open.waiting.length > 0) return Exit.waiting
    if (isOverspent || LIMIT.test(open.frame.questions?.at(-1)?.question ?? "")) return Exit.limit
  }
  return Exit.failed
}
