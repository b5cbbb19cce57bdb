// A scripted model on loopback, in the OpenAI chat format: the only thing that these tests make up.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A message of a request, as far as scripts look at it. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool"
  content: unknown
}

/** A request to the model. */
export interface ModelRequest {
  messages: Message[]
  /** Names of the tools that it may call; none when OpenCode wants a title or a summary. */
  tools: string[]
}

/** What the model answers: a text, or a call of a tool. */
export type Reply = { text: string } | { tool: string; arguments: object }

/** What the model does with a request. */
export type Script = (request: ModelRequest) => Reply

/** A model that is listening. */
export interface Model {
  /** Its address, for OpenCode's configuration. */
  url: string
  /** All requests so far. */
  requests: ModelRequest[]
  stop(): void
}

interface Body {
  messages: Message[]
  tools?: { function: { name: string } }[]
}

/** Starts a model that answers by a script. */
export async function startModel(script: Script): Promise<Model> {
  const requests: ModelRequest[] = []
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const asked = { messages: body.messages, tools: (body.tools ?? []).map((tool) => tool.function.name) }
      requests.push(asked)
      answer(response, script(asked))
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, requests, stop: () => server.close().closeAllConnections() }
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Body
}

/** Streams a reply as server-sent events. */
function answer(response: ServerResponse, reply: Reply): void {
  const send = (delta: object, finish: string | null = null) => {
    const chunk = { id: "reply", object: "chat.completion.chunk", created: 0, model: "scripted", choices: [{ index: 0, delta, finish_reason: finish }] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  if ("text" in reply) {
    send({ role: "assistant", content: reply.text })
    send({}, "stop")
  } else {
    const call = { name: reply.tool, arguments: JSON.stringify(reply.arguments) }
    send({ role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }] })
    send({}, "tool_calls")
  }
  response.end("data: [DONE]\n\n")
}
