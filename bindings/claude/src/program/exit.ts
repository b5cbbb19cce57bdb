// The exit codes of the program: those of the program `callstack`, and some of its own.

import type { Outcome } from "../flame.js"

/** How the program ends. A code never changes its meaning. */
export const Exit = {
  /** The command did what was requested: each root that was run is completed. */
  done: 0,
  /**
   * A root has failed or was stopped, or something other than the request failed: the API, a file, a missing
   * stack.
   */
  failed: 1,
  /** The command line cannot be understood, or has a value that no stack accepts. */
  usage: 2,
  /** A limit was reached before a root was completed. */
  limit: 3,
  /** The stack refused the request, and nothing was changed. */
  refused: 4,
  /** Other processes used the stack for too long. It is not known whether the request was carried out. */
  unknown: 5,
  /** A root waits for a person. */
  waiting: 6,
  /** The terminal was closed. */
  hangup: 129,
  /** The person interrupted the program. */
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

/**
 * The text in the record of a frame if a limit has ended the work on it. The stack has no other sign of the
 * cause, so this is the only place that reads it: each text from its beginning, as the engine, the library
 * and the drivers write it.
 */
const BUDGET = "its budget of [\\d.e-]+ (?:tokens|US dollars) is spent: "
const LIMITS: readonly RegExp[] = [
  `It was stopped: ${BUDGET}`,
  "It was interrupted: its time limit of \\d+ ms was exceeded;",
  ...[
    `f\\d+ may not continue: ${BUDGET}`,
    "Reached maximum number of turns \\(\\d+\\)",
    "its budget is spent: Reached maximum budget ",
    "frame f\\d+ has had its \\d+ turns;",
    "the budget of frame f\\d+ is spent: ",
  ].map((problem) => `It was interrupted: its session ended with an error: ${problem}`),
].map((text) => new RegExp(`^${text}`))

/** Returns the code of a run. If there are several roots, the first one that is not completed decides. */
export function exitOfRun(outcomes: readonly Outcome[]): ExitCode {
  const open = outcomes.find(({ frame }) => frame.status !== "completed")
  if (open === undefined) return Exit.done
  if (open.frame.status !== "blocked") return Exit.failed
  if (open.waiting.length > 0) return Exit.waiting
  return isLimited(open.frame) ? Exit.limit : Exit.failed
}

/** True if a limit has ended the work on a frame. Questions of the frame's own agent are not read. */
function isLimited({ questions }: Outcome["frame"]): boolean {
  const last = questions?.at(-1)
  return last?.interruption === true && LIMITS.some((limit) => limit.test(last.question))
}
