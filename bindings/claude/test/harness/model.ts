// A scripted model on loopback that speaks the Messages API: messages as a stream or as one document, and counts of tokens.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type Answer, send, sendError, sendJson } from "./answers.js"
import { readJson } from "./json.js"
import { type Body, type ModelRequest, readRequest, type Usage } from "./requests.js"

export { type Answer, call, type ToolCall } from "./answers.js"
export {
  type Block,
  type Body,
  frameOf,
  type Message,
  type ModelRequest,
  priceOf,
  type ToolResult,
  type ToolUse,
  type Usage,
  withoutReminders,
} from "./requests.js"

/**
 * Chooses the answer to a request. A promise holds the request back until it is settled. Default: the text `ok`. A script
 * that throws fails its test at the end of the world.
 */
export type Script = (request: ModelRequest, model: Model) => Answer | undefined | Promise<Answer | undefined>

/** A running model. */
export interface Model {
  /** Its address, for ANTHROPIC_BASE_URL. */
  url: string
  /** All requests so far, including those for counts of tokens. */
  requests: ModelRequest[]
  /** The requests for messages so far. */
  readonly asked: ModelRequest[]
  /** The errors that the script has thrown. */
  failures: unknown[]
  /** Returns the sum of what was charged: in total, or in a session. */
  charged(session?: string): Usage
  /** Waits for a request, unless it has arrived already. `limit` is in milliseconds. */
  waitFor(wanted: (request: ModelRequest) => boolean, limit?: number): Promise<ModelRequest>
  /** Stops the model and closes its connections. */
  close(): Promise<void>
}

/** Starts a model that answers by a script. */
export async function startModel(script: Script): Promise<Model> {
  const requests: ModelRequest[] = []
  const failures: unknown[] = []
  /** The functions that look at the requests whenever one has arrived. */
  const waiting = new Set<() => void>()
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      // A client that dies while it sends is not a failure of the script.
      if (incoming.complete) failures.push(error)
      response.destroy()
    })
  })
  const url = await listen(server)

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(incoming)
    const request: ModelRequest = {
      ...readRequest(incoming.url ?? "/", incoming.headers, body),
      number: requests.length + 1,
      at: Date.now(),
    }
    response.on("close", () => {
      request.closedAt = Date.now()
      request.gaveUp = !response.writableFinished
    })
    requests.push(request)
    for (const look of [...waiting]) look()
    if (request.path.endsWith("/count_tokens")) {
      sendJson(response, request, 200, { input_tokens: Math.ceil(JSON.stringify(body).length / 4) })
      return
    }
    if (!isForMessage(request)) {
      sendError(response, request, 404, `the scripted model has no ${request.path}`)
      return
    }
    const answer = await decide(request)
    request.answer = answer
    await send(response, request, answer)
  }

  /** Asks the script. Its error is sent to the client: without an answer, a failing script would look like a slow model. */
  async function decide(request: ModelRequest): Promise<Answer> {
    try {
      return (await script(request, model)) ?? { text: "ok" }
    } catch (error) {
      failures.push(error)
      return { status: 400, text: `the script has failed: ${String(error)}` }
    }
  }

  function waitFor(wanted: (request: ModelRequest) => boolean, limit = 20_000): Promise<ModelRequest> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer)
        waiting.delete(look)
        settle()
      }
      const look = () => {
        try {
          const found = requests.find(wanted)
          if (found !== undefined) end(() => resolve(found))
        } catch (error) {
          end(() => reject(error))
        }
      }
      const late = new Error(`${limit} ms have passed, but the request that the test waits for has not come`)
      const timer = setTimeout(() => end(() => reject(late)), limit)
      waiting.add(look)
      look()
    })
  }

  const model: Model = {
    url,
    requests,
    get asked() {
      return requests.filter(isForMessage)
    },
    failures,
    charged: (session) => sum(requests.filter((request) => session === undefined || request.session === session)),
    waitFor,
    close: () => close(server),
  }
  return model
}

function isForMessage({ path }: ModelRequest): boolean {
  return path.endsWith("/messages")
}

function sum(requests: ModelRequest[]): Usage {
  const total: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  for (const { charged } of requests) {
    total.input += charged?.input ?? 0
    total.output += charged?.output ?? 0
    total.cacheRead += charged?.cacheRead ?? 0
    total.cacheWrite += charged?.cacheWrite ?? 0
  }
  return total
}

/** Reads the body of a request. Requests that check whether the model is there have no body. */
async function readBody(incoming: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === "" ? {} : readJson(text)
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the model does not listen on a port")
  return `http://127.0.0.1:${address.port}`
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
