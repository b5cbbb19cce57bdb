// A program that replaces OpenCode and misbehaves: its server listens, and leaves some requests without an
// answer.

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { World } from "./world.js"

/**
 * The fault of the fake: nothing is answered; there are no events; prompts and aborts hang; or prompts and
 * aborts hang and the events end.
 */
export type Fault = "silent" | "no events" | "hangs" | "events end"

const CODE = `#!/usr/bin/env node
const { writeFileSync } = require("node:fs")
const { createServer } = require("node:http")
const { CALLSTACK_FLAME_URL: address, CALLSTACK_FLAME_TOKEN: token, FAULT: fault } = process.env
const hello = () => fetch(address + "/hello", {
  method: "POST",
  headers: { authorization: "Bearer " + token },
  body: JSON.stringify({ directory: process.cwd() }),
})
let events
let hasHadEvents = false
const server = createServer(async (request, response) => {
  if (fault === "silent") return writeFileSync("asked", request.url)
  const { pathname } = new URL(request.url, "http://fake")
  const answer = (value) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
  const asked = request.method + " " + pathname
  if (asked === "GET /config") return hello().then(() => answer({}))
  if (asked === "GET /event") {
    if (fault === "no events" || hasHadEvents) return response.writeHead(500).end()
    hasHadEvents = true
    events = response.writeHead(200, { "content-type": "text/event-stream" })
    return events.write('data: {"type":"server.connected","properties":{}}\\n\\n')
  }
  if (asked === "POST /session") return answer({ id: "ses_1" })
  if (asked === "GET /experimental/tool/ids" || asked === "GET /agent") return answer([])
  if (asked === "GET /mcp") return answer({})
  if (asked === "POST /session/ses_1/message" && fault === "events end") events.end()
})
server.listen(0, "127.0.0.1", () => console.log("listening on http://127.0.0.1:" + server.address().port))
`

/** Writes the program into a world. Returns options of a driver that uses it. */
export function fakeOpenCodeIn({ root }: World, fault: Fault): { program: string; env: Record<string, string> } {
  const program = join(root, "opencode-fake")
  writeFileSync(program, CODE, { mode: 0o755 })
  return { program, env: { FAULT: fault } }
}
