// Reads requests in three wire formats (chat completions, responses, Anthropic messages) into one form.

import type { Message } from "./model.js"

type Json = Record<string, unknown>

/** The body of a request in any of the three formats. */
export interface Body {
  model: string
  messages?: Json[]
  input?: Json[]
  instructions?: string
  system?: string | Json[]
  tools?: Json[]
}

/** Returns the texts of the system prompt and the messages after it. */
export function messagesOf(body: Body): { system: string[]; messages: Message[] } {
  const system: string[] = []
  const messages: Message[] = []
  if (body.instructions !== undefined) system.push(body.instructions)
  if (typeof body.system === "string") system.push(body.system)
  else for (const block of body.system ?? []) system.push(textOf(block))
  for (const item of body.input ?? body.messages ?? []) {
    if (item["role"] === "system" || item["role"] === "developer") system.push(textOf(item["content"]))
    else messages.push(...read(item))
  }
  return { system, messages }
}

function read(item: Json): Message[] {
  // Responses: a tool call and its answer are separate items.
  if (item["type"] === "function_call") return [{ role: "assistant", text: "", calls: [String(item["name"])] }]
  if (item["type"] === "function_call_output") return [{ role: "tool", text: textOf(item["output"]), calls: [] }]
  const content = item["content"]
  // Anthropic: answers are blocks of a message with the role `user`.
  const blocks = Array.isArray(content) ? (content as Json[]) : []
  const results = blocks.filter(({ type }) => type === "tool_result")
  const messages: Message[] = results.map((block) => ({ role: "tool", text: textOf(block["content"]), calls: [] }))
  const said = Array.isArray(content) ? blocks.filter(({ type }) => type !== "tool_result") : content
  const calls = [
    ...blocks.filter(({ type }) => type === "tool_use").map(({ name }) => String(name)),
    ...((item["tool_calls"] as { function: { name: string } }[] | undefined) ?? []).map((call) => call.function.name),
  ]
  const text = textOf(said)
  if (messages.length === 0 || text !== "") messages.push({ role: roleOf(item), text, calls })
  return messages
}

function roleOf({ role }: { role?: unknown }): Message["role"] {
  if (role === "user" || role === "assistant" || role === "tool") return role
  throw new Error(`a message has the role ${String(role)}`)
}

/** Returns the system prompt and the conversation as sent, in the order in which a prompt cache sees them. */
export function conversationOf(body: Body): string {
  // The marks for caching are not part of the text.
  const plain = (key: string, value: unknown) => (key === "cache_control" ? undefined : value)
  return JSON.stringify([body.instructions, body.system, body.input ?? body.messages], plain)
}

/** Returns all texts in a piece of content, one per line. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content
  if (Array.isArray(content))
    return content
      .map(textOf)
      .filter((text) => text !== "")
      .join("\n")
  if (typeof content !== "object" || content === null) return ""
  const { text, content: inner } = content as Json
  return typeof text === "string" ? text : textOf(inner)
}

/** Returns the tools of a request with the schemas of their arguments. */
export function toolsOf(body: Body): Map<string, object> {
  const tools = new Map<string, object>()
  for (const tool of body.tools ?? []) {
    const { name, parameters, input_schema } = (tool["function"] as Json | undefined) ?? tool
    tools.set(String(name), (parameters ?? input_schema ?? {}) as object)
  }
  return tools
}
