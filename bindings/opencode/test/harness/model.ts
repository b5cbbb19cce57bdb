// A scripted model on loopback, in the three wire formats that OpenCode speaks: the only thing that these tests make up.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type Body, conversationOf, messagesOf, toolsOf } from "./formats.js"
import { readJson } from "./json.js"
import { send } from "./replies.js"

/** A message of a request, in any format. */
export interface Message {
  role: "user" | "assistant" | "tool"
  /** All its texts together. */
  text: string
  /** The tools that it calls. */
  calls: string[]
}

/** What a request is for. */
export type Purpose = "work" | "title" | "summary"

/** A request to the model. */
export interface ModelRequest {
  /** The OpenCode session that it belongs to. */
  sessionID: string
  purpose: Purpose
  system: string[]
  messages: Message[]
  /** The tools that it may call, with their schemas. */
  tools: Map<string, object>
  /** System prompt and conversation as they came over the wire. */
  conversation: string
}

/** A call of a tool. */
export interface ToolCall {
  tool: string
  arguments: object
}

/** What the model answers. */
export interface Reply {
  text?: string
  calls?: ToolCall[]
  /** Tokens that the request is said to have had. Default 100. */
  tokens?: number
  /** An HTTP status instead of an answer, with this text. */
  status?: number
  /** What the answer waits for. */
  after?: Promise<unknown>
}

/** What the model does with a request. */
export type Script = (request: ModelRequest) => Reply

/** A model that is listening. */
export interface Model {
  /** Its address, for OpenCode's configuration. */
  url: string
  /** All requests so far. */
  requests: ModelRequest[]
  /** Where the script has thrown. */
  failures: unknown[]
  /** The requests of a session that are work. */
  work(sessionID: string): ModelRequest[]
  stop(): void
}

/** Starts a model that answers by a script. Titles and summaries it makes itself, unless the script does. */
export async function startModel(
  script: Script,
  summary: Script = () => ({ text: "A summary of the work so far" }),
): Promise<Model> {
  const requests: ModelRequest[] = []
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
    send(response, request.url ?? "", body.model, reply, requests.length)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // A script that fails must not look like a model that is slow.
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
 * A script by tasks: what a session's first message says chooses the turns, and how often the model has answered in it
 * chooses the turn. So any number of sessions may work at once.
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

/** A call of a tool, as a turn. */
export function call(tool: string, args: object = {}): Reply {
  return { calls: [{ tool, arguments: args }] }
}

/** What the tool calls of the last turn have answered, in order. */
export function answers(request: ModelRequest | undefined): string[] {
  if (request === undefined) return []
  const last = request.messages.findLastIndex(({ role }) => role === "assistant")
  return request.messages
    .slice(last + 1)
    .filter(({ role }) => role === "tool")
    .map(({ text }) => text)
}
