// Shows `callstack mcp` at work. An agent is killed in the middle of a frame. Another agent, in a new
// conversation, continues there with the things that the first agent has recorded. Both agents are scripted;
// the server and the stack are real.

import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"

const PROGRAM = resolve(import.meta.dirname, "../target/native/callstack")
const folder = mkdtempSync(join(tmpdir(), "callstack-demo-"))

/** An agent with a server of its own. The server is started in the same way as hosts start it. */
class Agent {
  constructor(name) {
    this.name = name
    this.server = spawn(PROGRAM, ["mcp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] })
    this.lines = createInterface(this.server.stdout)[Symbol.asyncIterator]()
    this.requests = 0
  }

  async request(method, params) {
    const message = { jsonrpc: "2.0", id: ++this.requests, method, params }
    this.server.stdin.write(`${JSON.stringify(message)}\n`)
    const { value, done } = await this.lines.next()
    if (done) throw new Error(`the server of ${this.name} has gone`)
    const answer = JSON.parse(value)
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }

  async begin() {
    const clientInfo = { name: this.name, version: "1" }
    await this.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
    this.server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`)
  }

  async call(tool, given) {
    const params = { name: tool, arguments: given, _meta: { threadId: this.name } }
    const { content, isError } = await this.request("tools/call", params)
    const [{ text }] = content
    if (isError) throw new Error(`${tool}: ${text}`)
    console.log(`\n${this.name} calls ${tool} ${JSON.stringify(given)}\n${text.replace(/^/gm, "  | ")}`)
  }
}

async function main() {
  const first = new Agent("first-agent")
  await first.begin()
  await first.call("push", { title: "Web shop", successCriteria: "Customers can pay" })
  await first.call("plan", {
    frames: [
      { title: "Cart", successCriteria: "Totals with taxes" },
      { title: "Checkout", successCriteria: "Cards are charged", dependsOn: ["Cart"] },
    ],
  })
  await first.call("activate", { frame: "Cart" })
  await first.call("record", {
    decisions: ["Amounts in cents, so that sums are exact"],
    artifacts: ["src/cart.ts"],
    resultsSoFar: "src/cart.ts adds up items; taxes are missing",
  })
  first.server.kill("SIGKILL")
  console.log("\n*** first-agent and its server are killed ***")

  const next = new Agent("next-agent")
  await next.begin()
  await next.call("status", {})
  await next.call("activate", { frame: "Cart", takeOver: true })
  await next.call("pop", { status: "completed", results: "src/cart.ts: total(items, country) in cents, taxes included" })
  await next.call("activate", { frame: "Checkout" })
  next.server.stdin.end()
  console.log("\nnext-agent has seen what the first one knew, and its checkout sees the cart.")
}

try {
  await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
