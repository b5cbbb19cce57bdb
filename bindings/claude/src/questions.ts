// The questions of frames that wait for a person.

import type { Frame } from "callstack-core"

/**
 * Returns the open question of a frame that waits for a person; undefined if the frame waits for no person.
 */
export function questionOf({ status, questions, results }: Frame): string | undefined {
  if (status !== "blocked") return undefined
  const last = questions?.at(-1)
  if (last === undefined) return results ?? ""
  return last.interruption === true || last.answer !== undefined ? undefined : last.question
}
