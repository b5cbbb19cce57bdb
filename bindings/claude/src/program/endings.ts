// How a person ends a frame: with a status and results.

import type { PopStatus } from "callstack-core"

/** The statuses that a pop gives. */
export const POP_STATUSES: readonly PopStatus[] = ["completed", "failed", "blocked"]

/** How a frame is ended. */
export interface Ending {
  status: PopStatus
  /** Empty if no results are given. */
  results: string
}

/** Reads a text: a status, or `completed` if the text begins with no status, and the results. */
export function endingIn(text: string): Ending {
  const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(text.trim()) ?? []
  const status = POP_STATUSES.find((name) => name === word)
  return status === undefined ? { status: "completed", results: text.trim() } : { status, results: rest }
}
