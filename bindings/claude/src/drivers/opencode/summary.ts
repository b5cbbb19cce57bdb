// The summary of a frame's work, as text. Its session is asked for it. OpenCode's models answer without a
// schema.

import type { Summary } from "../../driver.js"
import { askSession, SUMMARY_SCHEMA, type SummaryFields, summaryOf } from "../summary.js"

/** Returns the prompt. `more` is the text that the engine adds. */
export function askForText(more: string): string {
  const fields = JSON.stringify(SUMMARY_SCHEMA.properties)
  return `${askSession(more)}\n\nYou have no tools now. Answer with one JSON object that has these properties, and with nothing else: ${fields}`
}

/** Reads the answer: the first JSON object with a summary in it, or else the text as it is. */
export function readText(text: string): Summary | undefined {
  const whole = text.trim()
  if (whole === "") return undefined
  const fenced = [...whole.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, inside = ""]) => inside)
  for (const place of [...fenced, whole]) {
    for (const { index } of place.matchAll(/\{\s*"/g)) {
      const summary = summaryIn(place.slice(index, place.lastIndexOf("}") + 1))
      if (summary !== undefined) return summary
    }
  }
  return summaryOf(whole)
}

function summaryIn(text: string): Summary | undefined {
  let given: SummaryFields
  try {
    given = JSON.parse(text) as SummaryFields
  } catch {
    return undefined
  }
  if (typeof given.summary !== "string" || given.summary.trim() === "") return undefined
  return summaryOf(given.summary.trim(), given)
}
