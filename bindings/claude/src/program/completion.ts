// What the key Tab completes: commands, then handles of the frames that the command can be about, then
// statuses.

import type { Stack } from "callstack-core"
import { COMMANDS } from "./commands.js"
import { POP_STATUSES } from "./endings.js"

/** A possible completion of a text, with its description. */
export interface Candidate {
  text: string
  note: string
}

/** The possible completions of a text before the cursor. */
export interface Completion {
  candidates: Candidate[]
  /** The end of the text that is completed. */
  completed: string
}

/** Completes a text. */
export function complete(stack: Stack, text: string): Completion {
  const words = text.trimStart().split(/\s+/)
  const completed = words.at(-1) ?? ""
  const found = candidates(stack, words.slice(0, -1), completed.startsWith("/"))
  return { candidates: found.filter((candidate) => candidate.text.startsWith(completed)), completed }
}

/** Returns the text that follows in all candidates: nothing if they differ in the next character. */
export function commonStart(candidates: readonly Candidate[]): string {
  const [first, ...others] = candidates.map(({ text }) => text)
  if (first === undefined) return ""
  const differs = [...first].findIndex((character, index) => others.some((text) => [...text][index] !== character))
  return differs < 0 ? first : [...first].slice(0, differs).join("")
}

function candidates(stack: Stack, before: readonly string[], hasSlash: boolean): Candidate[] {
  const [command, ...rest] = before
  if (command === undefined) {
    const slash = hasSlash ? "/" : ""
    return Object.entries(COMMANDS).map(([name, { description }]) => ({ text: `${slash}${name}`, note: description }))
  }
  const name = command.replace(/^\//, "")
  if (name === "help" && rest.length === 0) return candidates(stack, [], false)
  const { frames } = (Object.hasOwn(COMMANDS, name) && COMMANDS[name]) || {}
  const handles = rest.length === 0 && frames !== undefined ? framesOf(stack, frames) : []
  const isPop = name === "pop" && (rest.length === 0 || (rest.length === 1 && /^f\d+$/.test(rest[0] ?? "")))
  return [...handles, ...(isPop ? POP_STATUSES.map((status) => ({ text: status, note: "" })) : [])]
}

function framesOf(stack: Stack, statuses: readonly string[]): Candidate[] {
  return stack
    .frames()
    .filter(({ status }) => statuses.includes(status))
    .map(({ handle, title }) => ({ text: handle, note: title }))
}
