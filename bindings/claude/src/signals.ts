// The text signals of agents that do not call the tools of the stack: lines such as `PUSH_FRAME: write the tests`. They are a
// fallback: only the last message of a turn is read, and nothing in it that is quoted.

import type { PopStatus } from "callstack-core"

/** What an agent has asked for in its text. */
export type Signal = { kind: "push"; goal: string } | { kind: "pop"; status: PopStatus; text: string }

/** The words of the signals, and the status of those that end a frame. */
const STATUSES: Readonly<Record<string, PopStatus>> = {
  FRAME_COMPLETE: "completed",
  FRAME_FAILED: "failed",
  FRAME_BLOCKED: "blocked",
}

const SIGNAL = /^(?:\*\*)?(PUSH_FRAME|FRAME_COMPLETE|FRAME_FAILED|FRAME_BLOCKED):(?:\*\*)?[ \t]*(.*)$/
const FENCE = /^ {0,3}(`{3,}|~{3,})/

/**
 * Returns the signals in the last message of a turn: all pushes, or the first signal that ends the frame. An end behind a push
 * is ignored, because the agent has not seen the child's results. Code blocks and quoted lines have no signals. The text of a
 * signal goes on until the next signal; the goal of a push is its line alone.
 */
export function signalsIn(text: string): Signal[] {
  const found = [...parts(text)]
  const pushes = found.filter(({ word }) => word === "PUSH_FRAME").map(({ lines }) => lines[0]?.trim() ?? "")
  const goals = pushes.filter((goal) => goal !== "")
  if (goals.length > 0) return goals.map((goal) => ({ kind: "push", goal }))
  for (const { word, lines } of found) {
    const status = STATUSES[word]
    if (status !== undefined) return [{ kind: "pop", status, text: lines.join("\n").trim() }]
  }
  return []
}

/** Returns each signal with its lines. */
function parts(text: string): { word: string; lines: string[] }[] {
  const found: { word: string; lines: string[] }[] = []
  let fence: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1]
    const signal = fence === undefined ? SIGNAL.exec(line) : null
    if (signal?.[1] !== undefined) found.push({ word: signal[1], lines: [signal[2] ?? ""] })
    else found.at(-1)?.lines.push(line)
    if (mark === undefined) continue
    if (fence === undefined) fence = mark
    else if (mark.startsWith(fence) && line.trim() === mark) fence = undefined
  }
  return found
}
