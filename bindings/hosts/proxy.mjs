// A proxy on the loopback that folds the requests of an agent, for measurements.

import http from "node:http"
import { fold } from "callstack-core"

/** The wire of a request, by its path. */
function wireOf(path) {
  if (path.includes("/messages")) return "anthropic"
  if (path.includes("/responses")) return "responses"
  if (path.includes("/chat/completions")) return "chat"
  return /generatecontent/i.test(path) ? "gemini" : undefined
}

/** Starts it before the server at a URL: `{url, close()}`. */
export async function startProxy(upstream) {
  const { hostname, port, host } = new URL(upstream)
  const server = http.createServer((request, response) => {
    const chunks = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => {
      const wire = request.method === "POST" ? wireOf(request.url) : undefined
      const whole = Buffer.concat(chunks)
      const body = wire ? Buffer.from(fold(wire, whole.toString()).request) : whole
      const { "transfer-encoding": _, ...kept } = request.headers
      const headers = { ...kept, host, "content-length": body.length }
      const forwarded = http.request(
        { hostname, port, path: request.url, method: request.method, headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers)
          answer.pipe(response)
        },
      )
      forwarded.on("error", () => response.destroy())
      forwarded.end(body)
    })
  })
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready))
  const close = () =>
    new Promise((closed) => {
      server.closeAllConnections()
      server.close(closed)
    })
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}
