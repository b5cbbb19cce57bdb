// A proxy between OpenCode and the scripted model that sees each request body as it is sent over the wire.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Body } from "../harness/formats.js"

/** A proxy that is listening. */
export interface Recorder {
  /** Its address, for OpenCode's configuration. */
  url: string
  stop(): void
}

/** Starts a proxy in front of a model. `record` is called with each body before the model answers. */
export async function startRecorder(modelUrl: string, record: (body: Body) => void): Promise<Recorder> {
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    record(JSON.parse(body) as Body)
    const headers = {
      "content-type": "application/json",
      "x-session-id": String(request.headers["x-session-id"] ?? ""),
    }
    const answer = await fetch(new URL(request.url ?? "", modelUrl), { method: "POST", headers, body })
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" })
    response.end(await answer.text())
  }
  const server = createServer((request, response) => {
    forward(request, response).catch((error: unknown) => {
      response.writeHead(400, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { message: `the proxy has failed: ${String(error)}`, type: "proxy" } }))
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => server.close().closeAllConnections() }
}
