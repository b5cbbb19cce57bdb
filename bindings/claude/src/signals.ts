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

/** A signal begins its line, also in bold. */
const SIGNAL = /^(\*\*)?(PUSH_FRAME|FRAME_COMPLETE|FRAME_FAILED|FRAME_BLOCKED):(\*\*)?[ \t]*(.*)$/
/** A fence of a code block, also in a list. What stands behind backticks has none. */
const FENCE = /^(?: {0,3}|\s*[-*+] +)(`{3,}(?!.*`)|~{3,})/
/** An element of HTML or XML that begins a line, and its end. */
const OPENED = /^ {0,3}<([A-Za-z][\w-]*)(?:\s[^>]*)?>/

/** A line with a signal. */
interface Found {
  word: string
  /** The rest of the line. */
  rest: string
  /** The number of the line. */
  line: number
}

/**
 * Returns the signals in the last message of a turn. The first one decides: if it ends the frame, it is the only one, and the
 * text behind it, to the end of the message, is its text, whatever that looks like. If it is a push, all pushes count, each
 * with the goal on its line, and no end, because the agent has not seen the results of the children. Code blocks and quoted
 * lines have no signals.
 */
export function signalsIn(text: string): Signal[] {
  const lines = text.split(/\r?\n/)
  const found = signalLines(lines)
  const [first] = found
  const status = first && STATUSES[first.word]
  if (first === undefined || status === undefined) return pushes(found)
  return [{ kind: "pop", status, text: [first.rest, ...lines.slice(first.line + 1)].join("\n").trim() }]
}

function pushes(found: readonly Found[]): Signal[] {
  const goals = found.filter(({ word }) => word === "PUSH_FRAME").map(({ rest }) => rest.trim())
  return goals.filter((goal) => goal !== "").map((goal) => ({ kind: "push", goal }))
}

/** Returns the lines with signals outside of code blocks, elements and quotations with the lines that belong to them. */
function signalLines(lines: readonly string[]): Found[] {
  const found: Found[] = []
  let fence: string | undefined
  let element: string | undefined
  let isQuoted = false
  for (const [line, text] of lines.entries()) {
    const mark = FENCE.exec(text)?.[1]
    isQuoted = text.startsWith(">") || (isQuoted && text.trim() !== "")
    if (fence === undefined) element ??= OPENED.exec(text)?.[1]
    const isCode = fence !== undefined || element !== undefined || isQuoted
    if (element !== undefined && text.includes(`</${element}>`)) element = undefined
    const [, bold, word, closed, rest = ""] = (!isCode && SIGNAL.exec(text)) || []
    // In bold to its end: the mark behind it is none of its words.
    const isBold = bold !== undefined && closed === undefined
    if (word !== undefined) found.push({ word, rest: isBold ? rest.replace(/\*\*\s*$/, "") : rest, line })
    if (mark === undefined) continue
    if (fence === undefined) fence = mark
    else if (mark.startsWith(fence) && text.trim() === mark) fence = undefined
  }
  return found
}
