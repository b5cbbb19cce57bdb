// Requests in the three wire formats (chat completions, responses, Anthropic messages), read into one form.

import type { Message } from "./model.js"

type Json = Record<string, unknown>

/** A request as it comes over the wire. */
export interface Body {
  model: string
  messages?: Json[]
  input?: Json[]
  instructions?: string
  system?: string | Json[]
  tools?: Json[]
}

/** The texts of the system prompt and the messages after it. */
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
  // Responses: a call and its answer are items of their own.
  if (item["type"] === "function_call") return [{ role: "assistant", text: "", calls: [String(item["name"])] }]
  if (item["type"] === "function_call_output") return [{ role: "tool", text: textOf(item["output"]), calls: [] }]
  const content = item["content"]
  // Anthropic: answers are blocks of a user's message.
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

/** System prompt and conversation as they come over the wire, in the order in which a prompt cache sees them. */
export function conversationOf(body: Body): string {
  // Marks of what is to be cached are no part of it.
  const plain = (key: string, value: unknown) => (key === "cache_control" ? undefined : value)
  return JSON.stringify([body.instructions, body.system, body.input ?? body.messages], plain)
}

/** All texts in a piece of content. */
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

/** The tools of a request, with the schemas of their arguments. */
export function toolsOf(body: Body): Map<string, object> {
  const tools = new Map<string, object>()
  for (const tool of body.tools ?? []) {
    const { name, parameters, input_schema } = (tool["function"] as Json | undefined) ?? tool
    tools.set(String(name), (parameters ?? input_schema ?? {}) as object)
  }
  return tools
}
