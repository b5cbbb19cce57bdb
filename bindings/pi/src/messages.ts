// Converts pi's messages into the form of the engine.

import { homedir } from "node:os"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import type { ContextEvent, SessionEntry } from "@mariozechner/pi-coding-agent"
import type { SessionMessage } from "callstack-core"

/** A message of a conversation. */
export type Message = ContextEvent["messages"][number]

/** An answer of a model. */
export type Answer = Extract<Message, { role: "assistant" }>

/**
 * The ID of a message. pi does not give IDs to its messages before it stores them. The same message has the
 * same ID everywhere.
 */
export function idOf(message: Message): string {
  // The answers to calls of one message can have the same time.
  const who = message.role === "toolResult" ? message.toolCallId : message.role
  return `${who}-${message.timestamp}`
}

/**
 * Returns the text of a message: its text blocks, one per line, or the text that represents it in the model's
 * request.
 */
export function textOf(message: Message): string {
  switch (message.role) {
    case "bashExecution":
      return `$ ${message.command}\n${message.output}`
    case "branchSummary":
    case "compactionSummary":
      return message.summary
    default:
      if (typeof message.content === "string") return message.content
      return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
  }
}

/** Converts a message, with all its blocks for the log. */
export function sessionMessage(message: Message): SessionMessage {
  const blocks = "content" in message && typeof message.content !== "string" ? message.content : [message]
  return {
    id: idOf(message),
    role: message.role,
    text: textOf(message),
    summary: message.role === "compactionSummary",
    time: message.timestamp,
    // Pictures do not belong in a log of texts.
    parts: blocks.map((block) => ("type" in block && block.type === "image" ? { ...block, data: "" } : block)),
  }
}

/** Returns the messages of a branch of a session, without those that pi or extensions have added. */
export function messagesOf(branch: readonly SessionEntry[]): Message[] {
  return branch.flatMap((entry) => (entry.type === "message" ? [entry.message] : []))
}

/**
 * Returns the path of a file that a tool was called with: relative to the project's folder if the file is
 * inside it.
 */
export function pathOf(directory: string, input: Record<string, unknown>): string | undefined {
  const { path } = input
  if (typeof path !== "string" || path === "") return undefined
  // As pi's tools read the path.
  const named = path.startsWith("@") ? path.slice(1) : path
  const expanded = named === "~" || named.startsWith("~/") ? join(homedir(), named.slice(1)) : named
  const file = resolve(directory, expanded)
  const inside = relative(directory, file)
  return inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? file : inside
}
