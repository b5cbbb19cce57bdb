// Sends the answers of a script in the form of the Messages API: as server-sent events or as one JSON document.

import type { ServerResponse } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import type { ModelRequest, Usage } from "./requests.js"

/** A tool call of an answer. */
export interface ToolCall {
  /** The name of the tool, for example `mcp__stack__push`. */
  name: string
  /** The arguments. Default: none. */
  args?: object
  /** The ID of the call. Default: one made from the numbers of the request and of the call. */
  id?: string
}

/** An answer of the model. An empty one is a message without content. */
export interface Answer {
  /** The text; with `status`, the message of the error. */
  text?: string
  thinking?: string
  calls?: ToolCall[]
  /** The tokens that are charged for it. Default: 100 of input, 10 of output. */
  usage?: Partial<Usage>
  /** Why the model stops. Default: `tool_use` with calls, otherwise `end_turn`. */
  stop?: string
  /** An HTTP status of an error, which is sent instead of a message. */
  status?: number
  /** Further headers of an error, for example `retry-after`. */
  headers?: Record<string, string>
  /** Never answers, or sends its content and then nothing more. */
  hang?: "headers" | "stream"
  /** Closes the connection at once, or after its content. */
  drop?: "headers" | "stream"
  /** How long the model waits before it sends anything, in milliseconds. */
  wait?: number
  /** How long the model waits after each event of a stream, in milliseconds. */
  pace?: number
}

interface Content {
  type: string
  text?: string
  thinking?: string
  signature?: string
  id?: string
  name?: string
  input?: object
}

type Event = [type: string, fields: object]

/** The type of an error, by its HTTP status. */
const ERRORS: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  529: "overloaded_error",
}

/** The length of the pieces in which texts and arguments are streamed. */
const PIECE = 60

/** How long a dropped stream stays open after its last event, so that the client can read it. In milliseconds. */
const LINGER = 50

/** Returns a tool call. */
export function call(name: string, args: object = {}): ToolCall {
  return { name, args }
}

/** Sends an answer. Notes in the request which tokens are charged for it. */
export async function send(response: ServerResponse, request: ModelRequest, answer: Answer): Promise<void> {
  if (answer.wait !== undefined) await pause(answer.wait)
  if (answer.status !== undefined) {
    sendError(response, request, answer.status, answer.text ?? "a scripted error", answer.headers)
    return
  }
  if (answer.hang === "headers") return
  if (answer.drop === "headers") {
    response.destroy()
    return
  }
  const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, ...answer.usage }
  if (request.stream) await stream(response, request, answer, usage)
  else {
    request.charged = usage
    sendJson(response, request, 200, messageOf(request, answer, usage))
  }
}

/** Sends an error in the form of the API. */
export function sendError(
  response: ServerResponse,
  request: ModelRequest,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): void {
  const error = { type: ERRORS[status] ?? "api_error", message }
  sendJson(response, request, status, { type: "error", error }, headers)
}

/** Sends a document. */
export function sendJson(
  response: ServerResponse,
  request: ModelRequest,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { ...identity(request), "content-type": "application/json", ...headers })
  response.end(JSON.stringify(body))
}

async function stream(response: ServerResponse, request: ModelRequest, answer: Answer, usage: Usage): Promise<void> {
  response.writeHead(200, {
    ...identity(request),
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
  })
  const isBroken = answer.hang === "stream" || answer.drop === "stream"
  request.charged = { ...usage, output: 1 }
  for (const [type, fields] of eventsOf(messageOf(request, answer, usage), isBroken)) {
    if (response.destroyed) return
    if (type === "message_delta") request.charged = usage
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
    if (answer.pace !== undefined) await pause(answer.pace)
  }
  if (answer.hang === "stream") return
  if (answer.drop === "stream") {
    await pause(LINGER)
    response.destroy()
    return
  }
  response.end()
}

function messageOf(request: ModelRequest, answer: Answer, usage: Usage) {
  return {
    id: `msg_${request.number}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content: contentOf(request, answer),
    stop_reason: answer.stop ?? (answer.calls?.length ? "tool_use" : "end_turn"),
    stop_sequence: null,
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_input_tokens: usage.cacheRead,
      cache_creation_input_tokens: usage.cacheWrite,
    },
  }
}

function contentOf({ number }: ModelRequest, { thinking, text, calls = [] }: Answer): Content[] {
  return [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "scripted" }]),
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...calls.map(({ name, args = {}, id }, index) => ({
      type: "tool_use",
      id: id ?? `toolu_${number}_${index}`,
      name,
      input: args,
    })),
  ]
}

/** Returns the events of a streamed message. A broken stream lacks the end of its last block and of the message. */
function* eventsOf(message: ReturnType<typeof messageOf>, isBroken: boolean): Generator<Event> {
  const { content, usage, stop_reason } = message
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  yield ["message_start", { message: begun }]
  for (const [index, block] of content.entries()) {
    yield ["content_block_start", { index, content_block: emptied(block) }]
    for (const delta of deltasOf(block)) yield ["content_block_delta", { index, delta }]
    if (isBroken && index === content.length - 1) return
    yield ["content_block_stop", { index }]
  }
  if (isBroken) return
  const { output_tokens } = usage
  yield ["message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }]
  yield ["message_stop", {}]
}

/** Returns a block as it is when its stream begins. */
function emptied(block: Content): Content {
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" }
  return block.type === "text" ? { ...block, text: "" } : { ...block, input: {} }
}

function deltasOf({ text, thinking, signature, input }: Content): object[] {
  if (text !== undefined) return piecesOf(text).map((text) => ({ type: "text_delta", text }))
  if (thinking === undefined)
    return piecesOf(JSON.stringify(input)).map((partial_json) => ({ type: "input_json_delta", partial_json }))
  return [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ]
}

function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; start += PIECE) pieces.push(text.slice(start, start + PIECE))
  return pieces
}

function identity({ number }: ModelRequest): Record<string, string> {
  return { "request-id": `req_${number}` }
}

/** Waits. The wait does not keep a process alive after its model was closed. */
async function pause(milliseconds: number): Promise<void> {
  await sleep(milliseconds, undefined, { ref: false })
}
