// Reads requests to the Messages API into the form in which scripts and tests look at them.

import type { IncomingHttpHeaders } from "node:http"
import type { Answer } from "./answers.js"

/** A block of a message. It has the fields of its type. */
export interface Block {
  type: string
  text?: string
  id?: string
  name?: string
  input?: unknown
  tool_use_id?: string
  content?: string | Block[]
  is_error?: boolean
  cache_control?: object
}

/** The body of a request, as sent. */
export interface Body {
  model?: string
  stream?: boolean
  max_tokens?: number
  system?: string | Block[]
  messages?: { role: Role; content: string | Block[] }[]
  tools?: { name: string; description?: string; input_schema?: object }[]
  [field: string]: unknown
}

/** The author of a message. The SDK puts messages of the role "system" among the others. */
export type Role = "user" | "assistant" | "system"

/** A message of a request. */
export interface Message {
  role: Role
  /** All its texts, including those of tool results, one below the other. */
  text: string
  blocks: Block[]
}

/** A tool call of an earlier turn. */
export interface ToolUse {
  id: string
  name: string
  input: unknown
}

/** The result of a tool call. */
export interface ToolResult {
  /** The ID of the call. */
  id: string
  /** The name of the tool; empty if the call is not among the messages. */
  name: string
  /** The text, without reminders. */
  text: string
  isError: boolean
}

/** The tokens that are charged for an answer. No token is counted twice. */
export interface Usage {
  /** The tokens of the request that are neither read from a cache nor written to it. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** What the SDK charges for a million tokens of its default model, in US dollars. */
const PRICES: Usage = { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }

/** Returns what the SDK charges for tokens, in US dollars. */
export function priceOf({ input, output, cacheRead, cacheWrite }: Usage): number {
  const { input: i, output: o, cacheRead: r, cacheWrite: w } = PRICES
  return (i * input + o * output + r * cacheRead + w * cacheWrite) / 1_000_000
}

/** A request to the model. */
export interface ModelRequest {
  /** Its number: the first request has 1. */
  number: number
  /** The path, without a query. */
  path: string
  headers: IncomingHttpHeaders
  body: Body
  model: string
  stream: boolean
  /** The SDK's session that the request belongs to; empty if the client names no session. */
  session: string
  /** The blocks of the system prompt, one below the other. */
  system: string
  systemBlocks: string[]
  messages: Message[]
  /** All tool calls among the messages. */
  uses: ToolUse[]
  /** All results of tool calls among the messages. */
  results: ToolResult[]
  /** The results that this request brings for the first time. */
  news: ToolResult[]
  /**
   * The newest message of the role `user`, without reminders: prompts, also several in a row, and the texts
   * of tool results.
   */
  lastUser: string
  /** The names of the tools that the model may call. */
  tools: string[]
  /** True if the request asks for the summary of a compaction. */
  isCompaction: boolean
  /** When the request arrived, in milliseconds since 1970. */
  at: number
  /** When its response ended, or its client gave up. */
  closedAt?: number
  /** True if the connection ended before the whole response was sent. */
  gaveUp?: boolean
  /** The answer of the script. */
  answer?: Answer
  /**
   * The tokens that the client was told for the answer. A stream that was cut off has reported one token of
   * output.
   */
  charged?: Usage
}

/** The data that is read from a request itself. */
type Read = Omit<ModelRequest, "number" | "at" | "closedAt" | "gaveUp" | "answer" | "charged">

/** Reads a request. */
export function readRequest(url: string, headers: IncomingHttpHeaders, body: Body): Read {
  const systemBlocks = typeof body.system === "string" ? [body.system] : (body.system ?? []).map(textOf)
  const messages = (body.messages ?? []).map(({ role, content }) => ({
    role,
    text: textOf(content),
    blocks: typeof content === "string" ? [{ type: "text", text: content }] : content,
  }))
  const uses = usesOf(messages)
  const spoken = messages.filter(({ role }) => role !== "system")
  return {
    path: new URL(url, "http://127.0.0.1").pathname,
    headers,
    body,
    model: body.model ?? "",
    stream: body.stream === true,
    session: String(headers["x-claude-code-session-id"] ?? ""),
    system: systemBlocks.join("\n"),
    systemBlocks,
    messages,
    uses,
    results: resultsOf(messages, uses),
    news: resultsOf(spoken.slice(-1), uses),
    lastUser: withoutReminders(spoken.findLast(({ role }) => role === "user")?.text ?? ""),
    tools: (body.tools ?? []).map(({ name }) => name),
    isCompaction: /your task is to create a detailed summary/i.test(spoken.at(-1)?.text ?? ""),
  }
}

function usesOf(messages: Message[]): ToolUse[] {
  return messages
    .flatMap(({ blocks }) => blocks)
    .filter(({ type }) => type === "tool_use")
    .map(({ id = "", name = "", input }) => ({ id, name, input }))
}

function resultsOf(messages: Message[], uses: ToolUse[]): ToolResult[] {
  return messages
    .flatMap(({ blocks }) => blocks)
    .filter(({ type }) => type === "tool_result")
    .map(({ tool_use_id: id = "", content, is_error }) => ({
      id,
      name: uses.find((use) => use.id === id)?.name ?? "",
      text: withoutReminders(textOf(content)),
      isError: is_error === true,
    }))
}

/** Returns the texts of a piece of content, one below the other. The text of a tool result is that of its own content. */
export function textOf(content: string | Block | Block[] | undefined): string {
  if (content === undefined) return ""
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return content.text ?? textOf(content.content)
  return content
    .map(textOf)
    .filter((text) => text !== "")
    .join("\n")
}

/** Removes the reminders that the SDK adds to prompts and tool results. */
export function withoutReminders(text: string): string {
  return text.replace(/\s*<system-reminder>[\s\S]*?<\/system-reminder>\s*/g, "\n").trim()
}

/**
 * Returns the handle of the frame that a request belongs to, such as `f2`; undefined for a request without a context. The
 * element of the current frame names it: in the system prompt, or in a message with the volatile part of the context.
 */
export function frameOf({ system, messages }: ModelRequest): string | undefined {
  const named = (text: string) => /<current-frame id="(f\d+)"/.exec(text)?.[1]
  return named(system) ?? messages.map(({ text }) => named(text)).findLast((handle) => handle !== undefined)
}
