// The transcripts that the SDK keeps of its sessions: as messages for the engine, and as text for a summary.

import type { SessionMessage as TranscriptEntry } from "@anthropic-ai/claude-agent-sdk"
import type { SessionMessage } from "callstack-core"

/** The size of a token in bytes, for an estimate from above: texts in English have about four. */
const BYTES_PER_TOKEN = 3
/** The longest text of one part in a transcript for a summary, in characters. */
const LONGEST_PART = 2000

/** The model that the SDK names in messages that it has written itself, such as the words of an error. */
const NO_MODEL = "<synthetic>"

/** A block of a message. */
type Block = Record<string, unknown>

/**
 * Returns the messages of a transcript, without those of the SDK. The blocks of one message of the model are
 * joined.
 */
export function messagesOf(entries: readonly TranscriptEntry[]): SessionMessage[] {
  const messages: (SessionMessage & { parts: Block[] })[] = []
  for (const { type, uuid, message } of entries) {
    if (type === "system") continue
    const { id = uuid, model, content } = message as { id?: string; model?: string; content: unknown }
    if (model === NO_MODEL) continue
    const parts = blocksOf(content)
    const last = messages.at(-1)
    if (type === "assistant" && last?.id === id) {
      last.parts.push(...parts)
      last.text = textOf(last.parts)
    } else {
      messages.push({ id, role: type, text: textOf(parts), parts })
    }
  }
  return messages
}

/**
 * Returns a transcript as text for a model, with at most this number of tokens: the first message, and as
 * many of the newest as fit.
 */
export function formatTranscript(messages: readonly SessionMessage[], tokens: number): string {
  const [first = "", ...rest] = messages.map(({ role, parts }) => {
    const lines = (parts ?? []).map((part) => `${role}: ${describe(part as Block)}`)
    return lines.join("\n")
  })
  let room = tokens * BYTES_PER_TOKEN - Buffer.byteLength(first)
  const kept: string[] = []
  for (const message of rest.reverse()) {
    room -= Buffer.byteLength(message) + 2
    if (room < 0) break
    kept.unshift(message)
  }
  const left = rest.length - kept.length
  return [first, ...(left > 0 ? [`(${left} messages are left out)`] : []), ...kept].join("\n\n")
}

function blocksOf(content: unknown): Block[] {
  return Array.isArray(content) ? (content as Block[]) : [{ type: "text", text: String(content) }]
}

function textOf(parts: readonly Block[]): string {
  return parts.flatMap(({ type, text }) => (type === "text" ? [String(text)] : [])).join("\n")
}

function describe(block: Block): string {
  switch (block["type"]) {
    case "text":
      return cut(String(block["text"]))
    case "tool_use":
      return `calls ${String(block["name"])} ${cut(JSON.stringify(block["input"]))}`
    case "tool_result": {
      const text = cut(textOf(blocksOf(block["content"])))
      return block["is_error"] === true ? `the tool failed: ${text}` : `the tool answered: ${text}`
    }
    default:
      return `(${String(block["type"])})`
  }
}

function cut(text: string): string {
  return text.length <= LONGEST_PART ? text : `${text.slice(0, LONGEST_PART)}…`
}
