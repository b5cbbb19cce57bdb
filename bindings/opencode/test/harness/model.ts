// A scripted model on a local port, in the three wire formats that OpenCode uses. Everything else in these tests is real.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type Body, conversationOf, messagesOf, toolsOf } from "./formats.js"
import { readJson } from "./json.js"
import { send } from "./replies.js"

/** A message of a request, in any format. */
export interface Message {
  role: "user" | "assistant" | "tool"
  /** All its texts, one per line. */
  text: string
  /** The names of the tools that it calls. */
  calls: string[]
}

/** The purpose of a request. */
export type Purpose = "work" | "title" | "summary"

/** A request to the model. */
export interface ModelRequest {
  /** The OpenCode session that it belongs to. */
  sessionID: string
  purpose: Purpose
  system: string[]
  messages: Message[]
  /** The tools that the model may call, with their schemas. */
  tools: Map<string, object>
  /** The system prompt and the conversation as sent. */
  conversation: string
}

/** A tool call. */
export interface ToolCall {
  tool: string
  arguments: object
}

/** The tokens that a reply charges. No token is counted twice. */
export interface Charge {
  uncachedInput: number
  cacheRead: number
  /** Only the format of Anthropic reports it. In the other formats, such tokens are uncached input. */
  cacheWrite: number
  output: number
  /** Only the formats of OpenAI report it. In the format of Anthropic, such tokens are output. */
  reasoning: number
}

/** A reply of the model. */
export interface Reply {
  text?: string
  calls?: ToolCall[]
  /** The tokens that it charges. Default: 100 of uncached input, 10 of output. */
  charge?: Partial<Charge>
  /**
   * An HTTP status to send instead of a reply, with `text` as the error message. A client that repeats the
   * request does so at once.
   */
  status?: number
  /** The reply is sent after this promise. */
  after?: Promise<unknown>
}

/** Chooses the reply to a request. */
export type Script = (request: ModelRequest) => Reply

/** A running model. */
export interface Model {
  /** Its address, for OpenCode's configuration. */
  url: string
  /** All requests so far. */
  requests: ModelRequest[]
  /** What was charged for each request, in the order of the replies; undefined for those that failed. */
  charges: { request: ModelRequest; charge: Charge | undefined }[]
  /** The errors that the script has thrown. */
  failures: unknown[]
  /** Returns the requests of a session with the purpose `work`. */
  work(sessionID: string): ModelRequest[]
  stop(): void
}

/**
 * Starts a model whose replies come from a script. `summary` replies to requests for summaries; titles are
 * always the same.
 */
export async function startModel(
  script: Script,
  summary: Script = () => ({ text: "A summary of the work so far" }),
): Promise<Model> {
  const requests: ModelRequest[] = []
  const charges: Model["charges"] = []
  const failures: unknown[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request)
    const { system, messages } = messagesOf(body)
    const tools = toolsOf(body)
    const isTitle = system.some((text) => /title generator/i.test(text))
    const purpose = isTitle ? "title" : tools.size === 0 ? "summary" : "work"
    const sessionID = String(request.headers["x-session-id"] ?? request.headers["x-session-affinity"] ?? "")
    const asked: ModelRequest = { sessionID, purpose, system, messages, tools, conversation: conversationOf(body) }
    requests.push(asked)
    const reply = purpose === "title" ? { text: "A title" } : purpose === "summary" ? summary(asked) : script(asked)
    await reply.after
    charges.push({ request: asked, charge: send(response, request.url ?? "", body.model, reply, requests.length) })
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // Without a response, a failing script would look like a slow model.
      failures.push(error)
      response.writeHead(400, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { message: `the script has failed: ${String(error)}`, type: "script" } }))
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the model does not listen on a port")
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests,
    charges,
    failures,
    work: (sessionID) => requests.filter((request) => request.purpose === "work" && request.sessionID === sessionID),
    stop: () => server.close().closeAllConnections(),
  }
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return readJson(Buffer.concat(chunks).toString())
}

/** A turn of a script. */
export type Turn = Reply | ((request: ModelRequest) => Reply)

/**
 * Makes a script from tasks. The first message of a session contains the key of its turns, and the number of replies so far
 * is the index of the turn. So any number of sessions may work at the same time.
 */
export function byTask(tasks: Record<string, Turn[]>): Script {
  return (request) => {
    const first = request.messages.find(({ role }) => role === "user")?.text ?? ""
    const turns = Object.entries(tasks).find(([task]) => first.includes(task))?.[1]
    const answered = request.messages.filter(({ role }) => role === "assistant").length
    const turn = turns?.[answered] ?? { text: "Done." }
    return typeof turn === "function" ? turn(request) : turn
  }
}

/** Makes a script whose turns answer the requests of one session, one after the other. */
export function inOrder(turns: Turn[]): Script {
  let answered = 0
  return (request) => {
    const turn = turns[answered++] ?? { text: "Done." }
    return typeof turn === "function" ? turn(request) : turn
  }
}

/** Returns a turn with one tool call. */
export function call(tool: string, args: object = {}): Reply {
  return { calls: [{ tool, arguments: args }] }
}

/** Returns the answers to the tool calls of the last turn, in order; none without a request. */
export function answers(request: ModelRequest | undefined): string[] {
  if (request === undefined) return []
  const last = request.messages.findLastIndex(({ role }) => role === "assistant")
  return request.messages
    .slice(last + 1)
    .filter(({ role }) => role === "tool")
    .map(({ text }) => text)
}
