// The summary of a frame's work, for all drivers: its shape, the prompt that asks for it, and how its fields
// are read.

import type { Summary } from "../driver.js"

/** The fields of an answer, which may have any values. */
export type SummaryFields = Partial<Record<"summary" | "artifacts" | "decisions", unknown>>

/** The shape of a summary. */
export const SUMMARY_SCHEMA = {
  type: "object",
  properties: {
    summary: {
      type: "string",
      description: "What was done, what exists now and how it is used, what is left, and what stands in the way",
    },
    artifacts: { type: "array", items: { type: "string" }, description: "Paths of files that were made or changed" },
    decisions: {
      type: "array",
      items: { type: "string" },
      description: "Decisions that others must know, one sentence each",
    },
  },
  required: ["summary", "artifacts", "decisions"],
  additionalProperties: false,
} as const

/** Returns the prompt for the session itself. `more` is the text that the engine adds. */
export function askSession(more: string): string {
  return `Your work on this frame has ended without a report. Summarize it for the next agent: it sees your summary and nothing else of this conversation. Do not continue the work.\n\n${more}`
}

/** Returns a summary with the lists of an answer, which may have no fields at all. */
export function summaryOf(text: string, fields?: SummaryFields | null): Summary {
  return { text, artifacts: textsOf(fields?.artifacts), decisions: textsOf(fields?.decisions) }
}

function textsOf(value: unknown): string[] {
  const texts = Array.isArray(value) ? value.filter((text) => typeof text === "string") : []
  return texts.map((text) => text.trim()).filter((text) => text !== "")
}
