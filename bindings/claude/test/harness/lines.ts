// The words of sessions, as lines: for the messages of a running session and for those of a transcript.

import { getSessionMessages } from "@anthropic-ai/claude-agent-sdk"
import { type Block, textOf, withoutReminders } from "./requests.js"
import type { World } from "./world.js"

/** A message of the SDK, as far as lines need it. */
interface SdkMessage {
  type: string
  message?: unknown
}

/**
 * Returns the texts, calls and answers, a line for each block. Messages of roles other than user and
 * assistant have no lines.
 */
export function lines(messages: SdkMessage[]): string[] {
  return messages
    .filter(({ type }) => type === "user" || type === "assistant")
    .flatMap(({ type, message }) => {
      const { content } = message as { content: string | Block[] }
      return typeof content === "string" ? [said(type, content)] : content.map((block) => lineOf(type, block))
    })
}

/** Returns the lines of a session's transcript; none if there is no such session. */
export async function transcriptLines({ folder }: World, session: string): Promise<string[]> {
  return lines(await getSessionMessages(session, { dir: folder }))
}

function lineOf(role: string, block: Block): string {
  if (block.type === "text") return said(role, block.text ?? "")
  if (block.type === "tool_use")
    return `call ${(block.name ?? "").replace(/^mcp__\w+?__/, "")} ${JSON.stringify(block.input)}`
  if (block.type === "tool_result") return said(block.is_error === true ? "error" : "answer", textOf(block.content))
  return `${role}: <${block.type}>`
}

function said(role: string, text: string): string {
  return `${role}: ${withoutReminders(text)}`
}
