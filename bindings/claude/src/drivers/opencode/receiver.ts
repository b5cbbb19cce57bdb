// The driver's side of the bridge: a server on loopback that answers the calls of the bridge.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type Address, type CallName, type Calls, LIFE } from "./protocol.js"

/**
 * Answers the calls of the bridge. `signal` is aborted when the bridge does not wait for the answer any more.
 */
export type Handlers = {
  [Name in CallName]: (asks: Calls[Name]["asks"], signal: AbortSignal) => Promise<Calls[Name]["gets"]>
}

/** The length of a token, in bytes. */
const TOKEN_BYTES = 24

/** A call that is refused, with its HTTP status. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Receives the calls of the bridge. */
export class Receiver {
  readonly address: Address
  readonly #server: Server

  private constructor(server: Server, address: Address) {
    this.#server = server
    this.address = address
  }

  /** Listens on a port of loopback. 0: a free port. Default of `token`: a random token. */
  static async listen(handlers: Handlers, port = 0, token = newToken()): Promise<Receiver> {
    const server = createServer((request, response) => void serve(request, response, handlers, token))
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server.off("error", reject) && undefined))
    })
    const { port: own } = server.address() as AddressInfo
    return new Receiver(server, { url: `http://127.0.0.1:${own}`, token })
  }

  /** Ends all connections. */
  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** Returns a random token. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url")
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  handlers: Handlers,
  token: string,
): Promise<void> {
  const gone = new AbortController()
  response.on("close", () => gone.abort())
  try {
    if (!isEqual(request.headers.authorization ?? "", `Bearer ${token}`)) {
      throw new Refusal(401, "the token is not that of this orchestrator")
    }
    const name = request.url?.slice(1) ?? ""
    if (request.method === "GET" && name === LIFE) {
      response.writeHead(200).flushHeaders()
    } else if (request.method === "POST" && isCall(name, handlers)) {
      const gets = await handlers[name]((await readBody(request)) as never, gone.signal)
      answer(response, 200, JSON.stringify(gets))
    } else {
      throw new Refusal(404, `there is no call ${request.method} ${name}`)
    }
  } catch (error) {
    const status = error instanceof Refusal ? error.status : 500
    answer(response, status, error instanceof Error ? error.message : String(error))
  }
}

function isCall(name: string, handlers: Handlers): name is CallName {
  return Object.hasOwn(handlers, name)
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { connection: "close" }).end(text)
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString())
}

/** Compares two texts in a time that does not depend on where they differ. */
function isEqual(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash("sha256").update(text).digest())
  return first !== undefined && second !== undefined && timingSafeEqual(first, second)
}
